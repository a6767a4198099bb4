//! A lease as it is written down.
//!
//! One JSON object on one line, ending with a newline. Readers ignore fields they do not know, so later versions can add
//! some; a version number they do not know makes the whole record unreadable, and what is unreadable is not free.
//! What a record *means* at a given time is decided in [`crate::locks`].

pub(crate) mod wire;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{clock::Timestamp, duration::Ttl, owner::Owner, resource::Resource};

/// A fencing token: grows with every new grant of a resource and never repeats. Below 2^53, so that every JSON reader has it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u64);

impl Token {
    /// The smallest token.
    pub const FIRST: Self = Self(1);
    /// The largest token.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// `None` when the number is zero or above [`Token::MAX`].
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        (1..=Self::MAX.0).contains(&number).then_some(Self(number))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why somebody holds something: 1 to [`Reason::MAX_BYTES`] bytes of any text. Escaped when shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(String);

/// A reason that is empty or over [`Reason::MAX_BYTES`]; the number of bytes given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a reason has 1 to {max} bytes, this one has {0}", max = Reason::MAX_BYTES)]
pub struct ReasonError(pub usize);

impl Reason {
    /// The longest reason, in bytes.
    pub const MAX_BYTES: usize = 1000;

    /// # Errors
    /// [`ReasonError`] when the text is empty or too long.
    pub fn new(text: impl Into<String>) -> Result<Self, ReasonError> {
        let text = text.into();
        if (1..=Self::MAX_BYTES).contains(&text.len()) { Ok(Self(text)) } else { Err(ReasonError(text.len())) }
    }

    /// The text as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Escaped for a terminal.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::text::escape(self.0.as_bytes()))
    }
}

/// When a lease ends on the clock that nobody can set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootDeadline {
    /// The boot during which the lease was written.
    pub id: String,
    /// Milliseconds after that boot.
    pub deadline_ms: u64,
}

/// The lease that this one took over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// Who held it.
    pub owner: Owner,
    /// Its token.
    pub token: Token,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Those of others that had been taken over before, the latest first, and were not had back since: at most
    /// [`Replaced::MAX_BEFORE`], one of each owner, with nothing in their own `before`.
    pub before: Vec<Replaced>,
}

impl Replaced {
    /// So many owners who have lost one resource are remembered, beside the last.
    pub const MAX_BEFORE: usize = 15;

    /// Several, the latest first, as one: of each owner the latest, and nothing of `except`, who has the resource again.
    #[must_use]
    pub fn joined(all: impl IntoIterator<Item = Self>, except: &Owner) -> Option<Self> {
        let mut flat: Vec<Self> = Vec::new();
        for mut replaced in all {
            let before = std::mem::take(&mut replaced.before);
            for one in std::iter::once(replaced).chain(before) {
                if one.owner != *except && flat.iter().all(|known| known.owner != one.owner) {
                    flat.push(one);
                }
            }
        }
        let mut flat = flat.into_iter();
        let latest = flat.next()?;
        Some(Self { before: flat.take(Self::MAX_BEFORE).collect(), ..latest })
    }

    /// The lease of this owner that was taken over.
    #[must_use]
    pub fn of(&self, owner: &Owner) -> Option<&Self> {
        std::iter::once(self).chain(&self.before).find(|replaced| replaced.owner == *owner)
    }
}

/// How a lease ended, as far as that is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Its time was up, and that was seen when somebody was granted what overlaps it. Without this mark a clock that is set back across a
    /// restart could make it look live again.
    Expired,
    /// Its owner gave it back.
    Released,
    /// Somebody else ended it.
    Broken {
        /// Who, when that is known.
        by: Option<Owner>,
        /// Why.
        reason: Reason,
    },
}

/// That a lease has ended, and how. Kept because there is something to tell to the one who lost it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at: Timestamp,
    /// How.
    pub how: End,
}

/// A lease as written down. `host` and `pid` are for people: nothing is ever decided by them (DESIGN invariant 3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What is locked.
    pub resource: Resource,
    /// By whom.
    pub owner: Owner,
    /// Why.
    pub reason: Option<Reason>,
    /// The fencing token of this grant; a renewal keeps it.
    pub token: Token,
    /// When the lease was granted.
    pub acquired_at: Timestamp,
    /// When it was renewed last, or granted.
    pub renewed_at: Timestamp,
    /// When it ends, by the wall clock.
    pub expires_at: Timestamp,
    /// How long it lasts from a renewal.
    pub ttl: Ttl,
    /// When it ends, by the boot-time clock; rules over `expires_at` while that boot lasts.
    pub boot: Option<BootDeadline>,
    /// Whom it replaced.
    pub replaced: Option<Replaced>,
    /// Set when it is written down that the lease has ended; the record is only kept to tell so.
    pub ended: Option<Ended>,
    /// The machine that wrote the record.
    pub host: String,
    /// The process that wrote it, long gone as a rule.
    pub pid: u32,
}

impl Record {
    /// Whether the lease was released or broken before its time was up.
    #[must_use]
    pub fn was_cut_short(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| !matches!(ended.how, End::Expired))
    }
}

/// Why bytes are no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// More than [`Record::MAX_BYTES`].
    #[error("it is larger than {max} bytes", max = Record::MAX_BYTES)]
    TooLarge,
    /// A file of zero bytes.
    #[error("it is empty")]
    Empty,
    /// No newline at the end: it was cut off.
    #[error("it is cut off")]
    Truncated,
    /// Written by a later version.
    #[error("it has format version {0}, which this git-agentlock does not know")]
    Version(u64),
    /// Not the JSON of a record.
    #[error("it is no lease record: {0}")]
    Syntax(String),
    /// A value that no record can have.
    #[error("its field '{field}' is not valid: {cause}")]
    Field {
        /// Which.
        field: &'static str,
        /// Why.
        cause: String,
    },
    /// The record of another resource than the file name says.
    #[error("it is the record of another resource ({0})")]
    Misplaced(String),
}

impl Record {
    /// No more than this is read of a record.
    pub const MAX_BYTES: usize = 64 * 1024;
    const VERSION: u64 = 1;

    /// The bytes of the record, one line.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Numbers, strings and structs only: there is nothing in it that serde_json cannot write.
        let mut bytes = serde_json::to_vec(&wire::Record::from(self)).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Reads what [`Record::to_bytes`] wrote, or what another version did.
    ///
    /// # Errors
    /// [`RecordError`] for everything that is not wholly a valid record. Never panics, whatever the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.is_empty() {
            return Err(RecordError::Empty);
        }
        if bytes.len() > Self::MAX_BYTES {
            return Err(RecordError::TooLarge);
        }
        let syntax = |e: serde_json::Error| RecordError::Syntax(crate::text::escape(e.to_string().as_bytes()));
        // Checked as a whole, no string of it has to be.
        let parsed = match std::str::from_utf8(bytes) {
            Ok(text) => serde_json::from_str::<wire::Record<'_>>(text),
            Err(_) => serde_json::from_slice(bytes),
        };
        match parsed {
            Ok(record) if record.v != Self::VERSION => Err(RecordError::Version(record.v)),
            Ok(_) if !bytes.ends_with(b"\n") => Err(RecordError::Truncated),
            Ok(record) => record.try_into(),
            Err(error) => match serde_json::from_slice::<wire::Version>(bytes) {
                Ok(wire::Version { v }) if v != Self::VERSION => Err(RecordError::Version(v)),
                _ if error.is_eof() => Err(RecordError::Truncated),
                _ => Err(syntax(error)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{Project, RepoPath, Scope, Target};

    fn example() -> Record {
        let time = |text: &str| text.parse().expect("a time");
        Record {
            resource: Resource {
                scope: Scope::implicit(),
                target: Target::File(RepoPath::new("src/auth.rs").expect("a path")),
            },
            owner: Owner::new("kimi-222").expect("an owner"),
            reason: Some(Reason::new("token refresh\n\u{1b}[2J").expect("a reason")),
            token: Token::new(1_790_000_000_124).expect("a token"),
            acquired_at: time("2026-11-30T13:54:00.123Z"),
            renewed_at: time("2026-11-30T13:55:00.123Z"),
            expires_at: time("2026-11-30T14:00:00.123Z"),
            ttl: Ttl::from_millis(300_000).expect("a ttl"),
            boot: Some(BootDeadline { id: "b".to_owned(), deadline_ms: 1_300_000 }),
            replaced: Some(Replaced {
                owner: Owner::new("claude-111").expect("an owner"),
                token: Token::new(7).expect("a token"),
                ended_at: time("2026-11-30T13:50:00Z"),
                before: Vec::new(),
            }),
            ended: Some(Ended {
                at: time("2026-11-30T13:56:00Z"),
                how: End::Broken { by: None, reason: Reason::new("gone home").expect("a reason") },
            }),
            host: "box".to_owned(),
            pid: 4711,
        }
    }

    #[test]
    fn a_record_is_one_line_of_json_and_read_back_whole() {
        let record = example();
        let bytes = record.to_bytes();
        assert_eq!(bytes.iter().filter(|b| **b == b'\n').count(), 1);
        assert_eq!(Record::from_bytes(&bytes), Ok(record));
    }

    /// The format on disk: records written today must be read by every later version.
    #[test]
    fn all_who_lost_a_resource_are_read_back() {
        let mut record = example();
        let Some(replaced) = record.replaced.as_mut() else { panic!("it replaced somebody's") };
        let older = Replaced { owner: Owner::new("older").expect("an owner"), before: Vec::new(), ..replaced.clone() };
        replaced.before = vec![older];
        assert_eq!(Record::from_bytes(&record.to_bytes()), Ok(record));
    }

    #[test]
    fn records_of_version_1_are_read() {
        let stored = include_bytes!("../../fixtures/records/v1/full.lock");
        assert_eq!(Record::from_bytes(stored), Ok(example()));
        assert_eq!(example().to_bytes(), stored);
        let minimal = include_bytes!("../../fixtures/records/v1/minimal-with-unknown-fields.lock");
        let record = Record::from_bytes(minimal).expect("unknown fields are ignored");
        assert_eq!((record.boot, record.replaced, record.ended), (None, None, None));
    }

    #[test]
    fn paths_that_are_not_utf8_are_kept_losslessly() {
        for target in [Target::File, Target::Area] {
            let mut record = example();
            record.resource.target = target(RepoPath::new(&b"latin\xe9/\n\"x"[..]).expect("a path"));
            record.resource.scope.project = Project::GitDir(b"/r\xff/.git".into());
            record.resource.scope.work_tree = "linked".into();
            assert_eq!(Record::from_bytes(&record.to_bytes()), Ok(record));
        }
    }

    #[test]
    fn every_truncation_is_noticed() {
        let bytes = example().to_bytes();
        assert_eq!(Record::from_bytes(b""), Err(RecordError::Empty));
        for end in 1..bytes.len() {
            assert_eq!(Record::from_bytes(&bytes[..end]), Err(RecordError::Truncated), "cut at {end}");
        }
    }

    #[test]
    fn what_is_no_record_says_why() {
        let with = |from: &str, to: &str| {
            let text = String::from_utf8(example().to_bytes()).expect("utf-8");
            assert!(text.contains(from), "{from}");
            Record::from_bytes(text.replace(from, to).as_bytes())
        };
        assert_eq!(with("\"v\":1", "\"v\":2"), Err(RecordError::Version(2)));
        assert_eq!(Record::from_bytes(b"{\"v\":9,\"new\":true}\n"), Err(RecordError::Version(9)));
        assert!(matches!(Record::from_bytes(b"null\n"), Err(RecordError::Syntax(_))));
        assert!(matches!(Record::from_bytes(b"{\"pid\":1}\n"), Err(RecordError::Syntax(_))));
        assert!(matches!(Record::from_bytes(&[0; 100]), Err(RecordError::Syntax(_))));
        assert_eq!(Record::from_bytes(&vec![b' '; 65 * 1024]), Err(RecordError::TooLarge));
        let mut trailing = example().to_bytes();
        trailing.extend_from_slice(b"x\n");
        assert!(matches!(Record::from_bytes(&trailing), Err(RecordError::Syntax(_))));
        for (from, to, field) in [
            ("kimi-222", "a\\nb", "owner"),
            ("\"ttl_ms\":300000", "\"ttl_ms\":0", "ttl_ms"),
            ("\"token\":7", "\"token\":9007199254740992", "token"),
            ("13:55:00.123Z", "nonsense", "renewed_at"),
            ("src/auth.rs", "../etc/passwd", "path"),
        ] {
            match with(from, to) {
                Err(RecordError::Field { field: found, .. }) => assert_eq!(found, field),
                other => panic!("{field}: {other:?}"),
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = Record::from_bytes(&bytes);
        }

        #[test]
        fn no_damage_to_a_record_panics(at in 0_usize..600, byte: u8) {
            let mut bytes = example().to_bytes();
            if let Some(b) = bytes.get_mut(at) {
                *b = byte;
            }
            let _ = Record::from_bytes(&bytes);
        }
    }
}
