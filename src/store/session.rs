//! What is remembered of an owner from one call of an agent tool's hook to the next: what it knows files to contain, and which leases are renewed
//! for it while it works.
//!
//! Hints, never locks. What is lost of it costs a warning that would have been right, or a renewal; so it needs not survive a crash, has a bound, and
//! bytes that are none count as nothing.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use crate::{
    clock::Timestamp,
    owner::Owner,
    record::{Token, wire::WireResource},
    resource::{Resource, ResourceKey},
};

/// What a file contained at some time, as far as two of them have to be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// There was no file.
    Missing,
    /// The first half of the BLAKE3 hash of all of it.
    Hash([u8; 16]),
    /// Of a file too large to be read for this: its length in bytes, and its file time in nanoseconds since 1970.
    Large {
        /// The length.
        len: u64,
        /// The file time.
        changed_ns: u64,
    },
    /// It was just being changed, so that nobody knows what of it was seen: the same as nothing that is looked at later.
    Unsettled,
}

/// What the owner knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// What it contained.
    pub content: Content,
    /// The owner's own lease that covered it then, if there was one.
    pub under: Option<Token>,
}

/// A lease of the owner's that is renewed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The token of the grant: another one is not this lease.
    pub token: Token,
    /// When it was renewed last, or granted.
    pub renewed: Timestamp,
    /// After how many milliseconds it is to be renewed again.
    pub every_ms: u64,
}

/// All that is remembered about one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Which.
    pub resource: Resource,
    /// What the owner has seen of it last.
    pub sight: Option<Sight>,
    /// The lease on exactly this that is renewed.
    pub kept: Option<Kept>,
    /// Later notes have higher numbers.
    age: u64,
}

/// What is remembered of one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    owner: Owner,
    notes: BTreeMap<ResourceKey, Note>,
    /// The highest age of all.
    youngest: u64,
}

/// Bytes that are no session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is nothing that is remembered of an owner")]
pub struct SessionError;

#[derive(Serialize, Deserialize)]
struct Wire {
    v: u64,
    owner: String,
    notes: Vec<WireNote>,
}

#[derive(Serialize, Deserialize)]
struct WireNote {
    resource: WireResource,
    age: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<WireContent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    under: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<(u64, i64, u64)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireContent {
    Missing,
    Hash(String),
    Large(u64, u64),
    Unsettled,
}

impl Session {
    /// So many resources are remembered; of more, those go first that have no lease to renew, the oldest first.
    pub const MAX_NOTES: usize = 1024;
    /// No more than this is written, or read.
    pub const MAX_BYTES: usize = 2 * 1024 * 1024;
    const VERSION: u64 = 1;

    /// Of an owner of whom nothing is remembered.
    #[must_use]
    pub fn new(owner: Owner) -> Self {
        Self { owner, notes: BTreeMap::new(), youngest: 0 }
    }

    /// Of whom.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// What is remembered about a resource.
    #[must_use]
    pub fn note(&self, key: ResourceKey) -> Option<&Note> {
        self.notes.get(&key)
    }

    /// All of it, by key.
    pub fn notes(&self) -> impl Iterator<Item = (ResourceKey, &Note)> {
        self.notes.iter().map(|(key, note)| (*key, note))
    }

    /// Remembers what the owner has seen.
    pub fn saw(&mut self, resource: &Resource, sight: Sight) {
        self.noted(resource).sight = Some(sight);
    }

    /// Forgets what the owner has seen of a resource.
    pub fn unsee(&mut self, key: ResourceKey) {
        self.amend(key, |note| note.sight = None);
    }

    /// Remembers a lease that is to be renewed.
    pub fn keep(&mut self, resource: &Resource, kept: Kept) {
        self.noted(resource).kept = Some(kept);
    }

    /// What has become of a lease that was to be renewed; `None`: it is the owner's no longer. Of a later grant this says nothing.
    pub fn settle(&mut self, key: ResourceKey, token: Token, kept: Option<Kept>) {
        self.amend(key, |note| {
            if note.kept.is_some_and(|known| known.token == token) {
                note.kept = kept;
            }
        });
    }

    /// The note about a resource, as the youngest of all.
    fn noted(&mut self, resource: &Resource) -> &mut Note {
        self.youngest = self.youngest.saturating_add(1);
        let age = self.youngest;
        let empty = || Note { resource: resource.clone(), sight: None, kept: None, age };
        let note = self.notes.entry(resource.key()).or_insert_with(empty);
        note.age = age;
        note
    }

    fn amend(&mut self, key: ResourceKey, change: impl FnOnce(&mut Note)) {
        if let Some(note) = self.notes.get_mut(&key) {
            change(note);
            if note.sight.is_none() && note.kept.is_none() {
                self.notes.remove(&key);
            }
        }
    }

    /// Forgets what is of least use, until so many are left.
    fn shrink_to(&mut self, count: usize) {
        let too_many = self.notes.len().saturating_sub(count);
        if too_many > 0 {
            let mut order: Vec<_> =
                self.notes.iter().map(|(key, note)| (note.kept.is_some(), note.age, *key)).collect();
            order.sort_unstable();
            order.into_iter().take(too_many).for_each(|(.., key)| drop(self.notes.remove(&key)));
        }
    }

    /// The bytes, one line of JSON, within the bounds: what does not fit into them is forgotten.
    pub fn to_bytes(&mut self) -> Vec<u8> {
        self.shrink_to(Self::MAX_NOTES);
        loop {
            let notes = self.notes.values().map(WireNote::from).collect();
            let wire = Wire { v: Self::VERSION, owner: self.owner.as_str().to_owned(), notes };
            let mut bytes = serde_json::to_vec(&wire).unwrap_or_default();
            bytes.push(b'\n');
            if bytes.len() <= Self::MAX_BYTES || self.notes.is_empty() {
                return bytes;
            }
            self.shrink_to(self.notes.len().saturating_mul(3) >> 2);
        }
    }

    /// Reads what [`Session::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`SessionError`] for everything else. Single notes that are none are left out.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SessionError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(SessionError);
        }
        let wire: Wire = serde_json::from_slice(bytes.trim_end()).map_err(|_| SessionError)?;
        let owner = Owner::new(wire.owner).ok().filter(|_| wire.v == Self::VERSION).ok_or(SessionError)?;
        let notes = wire.notes.into_iter().take(Self::MAX_NOTES).filter_map(Note::from_wire);
        let notes: BTreeMap<_, _> = notes.map(|note| (note.resource.key(), note)).collect();
        let youngest = notes.values().map(|note| note.age).max().unwrap_or(0);
        Ok(Self { owner, notes, youngest })
    }
}

impl From<&Note> for WireNote {
    fn from(note: &Note) -> Self {
        Self {
            resource: (&note.resource).into(),
            age: note.age,
            seen: note.sight.map(|sight| sight.content.into()),
            under: note.sight.and_then(|sight| sight.under).map(Token::get),
            kept: note.kept.map(|kept| (kept.token.get(), kept.renewed.millis(), kept.every_ms)),
        }
    }
}

impl Note {
    fn from_wire(wire: WireNote) -> Option<Self> {
        let content = wire.seen.and_then(WireContent::content);
        let kept = wire.kept.and_then(|(token, renewed, every_ms)| {
            Some(Kept { token: Token::new(token)?, renewed: Timestamp::from_millis(renewed), every_ms })
        });
        let sight = content.map(|content| Sight { content, under: wire.under.and_then(Token::new) });
        Some(Self { resource: wire.resource.try_into().ok()?, sight, kept, age: wire.age })
    }
}

impl From<Content> for WireContent {
    fn from(content: Content) -> Self {
        match content {
            Content::Missing => Self::Missing,
            Content::Hash(hash) => Self::Hash(format!("{:032x}", u128::from_be_bytes(hash))),
            Content::Large { len, changed_ns } => Self::Large(len, changed_ns),
            Content::Unsettled => Self::Unsettled,
        }
    }
}

impl WireContent {
    fn content(self) -> Option<Content> {
        Some(match self {
            Self::Missing => Content::Missing,
            Self::Hash(hex) => Content::Hash(u128::from_str_radix(&hex, 16).ok()?.to_be_bytes()),
            Self::Large(len, changed_ns) => Content::Large { len, changed_ns },
            Self::Unsettled => Content::Unsettled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{RepoPath, Scope, Target};

    fn file(path: impl Into<Vec<u8>>) -> Resource {
        Resource { scope: Scope::implicit(), target: Target::File(RepoPath::new(path.into()).expect("a path")) }
    }

    fn kept(token: u64) -> Kept {
        Kept { token: Token::new(token).expect("a token"), renewed: Timestamp::from_millis(7), every_ms: 100 }
    }

    fn sight(byte: u8) -> Sight {
        Sight { content: Content::Hash([byte; 16]), under: Token::new(9) }
    }

    fn session() -> Session {
        Session::new(Owner::new("claude-code:s/a").expect("an owner"))
    }

    #[test]
    fn what_is_remembered_is_read_back_whole() {
        let mut session = session();
        session.saw(&file(&b"latin\xe9\n"[..]), sight(1));
        session.keep(&file("src/a"), kept(3));
        for (n, content) in
            [Content::Missing, Content::Unsettled, Content::Large { len: 1 << 40, changed_ns: u64::MAX }]
                .into_iter()
                .enumerate()
        {
            session.saw(&file(format!("f{n}")), Sight { content, under: None });
        }
        let bytes = session.to_bytes();
        assert_eq!(bytes.iter().filter(|b| **b == b'\n').count(), 1);
        assert_eq!(Session::from_bytes(&bytes), Ok(session));
        for bytes in [
            &b""[..],
            b"{}",
            b"null",
            b"{\"v\":2,\"owner\":\"A\",\"notes\":[]}",
            b"{\"v\":1,\"owner\":\"\",\"notes\":[]}",
        ] {
            assert_eq!(Session::from_bytes(bytes), Err(SessionError));
        }
        let odd =
            b"{\"v\":1,\"owner\":\"A\",\"notes\":[{\"resource\":{\"kind\":\"file\",\"path\":\"../x\"},\"age\":1}]}";
        assert!(Session::from_bytes(odd).expect("the rest counts").is_empty());
    }

    #[test]
    fn a_later_grant_is_not_settled_by_what_became_of_an_earlier_one() {
        let (mut session, what) = (session(), file("a"));
        let (key, now) = (what.key(), kept(3).token);
        session.keep(&what, kept(3));
        session.settle(key, kept(2).token, None);
        assert_eq!(session.note(key).and_then(|note| note.kept), Some(kept(3)));
        session.settle(key, now, Some(Kept { every_ms: 5, ..kept(3) }));
        assert_eq!(session.note(key).and_then(|note| note.kept).map(|kept| kept.every_ms), Some(5));
        session.saw(&what, sight(1));
        session.settle(key, now, None);
        assert_eq!(session.note(key).map(|note| (note.kept, note.sight)), Some((None, Some(sight(1)))));
        session.unsee(key);
        assert!(session.is_empty(), "nothing is left of it");
    }

    #[test]
    fn what_is_of_least_use_is_forgotten_first() {
        let mut session = session();
        session.keep(&file("leased"), kept(1));
        (0..Session::MAX_NOTES).for_each(|n| session.saw(&file(format!("f{n}")), sight(1)));
        session.saw(&file("f0"), sight(2));
        let bytes = session.to_bytes();
        assert_eq!(session.notes().count(), Session::MAX_NOTES);
        assert!(session.note(file("leased").key()).is_some(), "the oldest, and held");
        assert!(session.note(file("f1").key()).is_none(), "the oldest that was only looked at");
        assert!(session.note(file("f0").key()).is_some(), "looked at again");
        assert_eq!(Session::from_bytes(&bytes), Ok(session.clone()));
        let long = "x".repeat(4000);
        (0..Session::MAX_NOTES).for_each(|n| session.saw(&file(format!("{n}{long}")), sight(1)));
        assert!(session.to_bytes().len() <= Session::MAX_BYTES);
        assert!(session.note(file("leased").key()).is_some() && session.notes().count() > 100);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = Session::from_bytes(&bytes);
        }

        #[test]
        fn no_damage_panics(at in 0_usize..300, byte: u8) {
            let mut session = session();
            session.saw(&file("a"), sight(1));
            session.keep(&file("b"), kept(1));
            let mut bytes = session.to_bytes();
            if let Some(b) = bytes.get_mut(at) {
                *b = byte;
            }
            let _ = Session::from_bytes(&bytes);
        }
    }
}
