//! A lease as it is written down.
//!
//! One JSON object on one line, ending with a newline. Readers ignore fields they do not know, so later versions can add
//! some; a version number they do not know makes the whole record unreadable, and what is unreadable is not free.
//! What a record *means* at a given time is decided in [`crate::locks`].

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bstr::BString;
use serde::{Deserialize, Serialize};

use crate::{
    clock::Timestamp,
    duration::Ttl,
    owner::{Owner, OwnerError},
    resource::{NamedId, Project, RepoPath, Resource, ResourceError, Scope, Target},
};

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
}

/// How a lease ended before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
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
    /// Set when the lease has ended and the record is only kept to tell so.
    pub ended: Option<Ended>,
    /// The machine that wrote the record.
    pub host: String,
    /// The process that wrote it, long gone as a rule.
    pub pid: u32,
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
        match serde_json::from_slice::<wire::Record>(bytes) {
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

/// The shape on disk. Bytes that are not UTF-8 are kept as base64, so nothing is lost.
pub(crate) mod wire {
    use super::*;

    #[derive(Deserialize)]
    pub(super) struct Version {
        pub(super) v: u64,
    }

    #[derive(Serialize, Deserialize)]
    pub(super) struct Record {
        pub(super) v: u64,
        resource: WireResource,
        owner: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        token: u64,
        acquired_at: String,
        renewed_at: String,
        expires_at: String,
        ttl_ms: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        boot: Option<BootDeadline>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<WireReplaced>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended: Option<WireEnded>,
        #[serde(default)]
        host: String,
        #[serde(default)]
        pid: u32,
    }

    #[derive(Serialize, Deserialize)]
    struct WireReplaced {
        owner: String,
        token: u64,
        ended_at: String,
    }

    #[derive(Serialize, Deserialize)]
    struct WireEnded {
        at: String,
        how: How,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum How {
        Released,
        Broken,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Bytes {
        Text(String),
        Base64 { base64: String },
    }

    impl Bytes {
        fn is_empty(&self) -> bool {
            matches!(self, Self::Text(text) if text.is_empty())
        }
    }

    impl Default for Bytes {
        fn default() -> Self {
            Self::Text(String::new())
        }
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum WireProject {
        GitDir(Bytes),
        Label(String),
        Outside,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        File,
        Area,
        Named,
    }

    /// Flat, with `kind` first, so that a person reading the file sees at once what it is about.
    #[derive(Serialize, Deserialize)]
    pub(crate) struct WireResource {
        kind: Kind,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<Bytes>,
        #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
        type_: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<WireProject>,
        #[serde(default, skip_serializing_if = "Bytes::is_empty")]
        work_tree: Bytes,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ignore_case: bool,
    }

    fn field<E: fmt::Display>(field: &'static str) -> impl Fn(E) -> RecordError {
        move |cause| RecordError::Field { field, cause: crate::text::escape(cause.to_string().as_bytes()) }
    }

    fn owner(name: String) -> Result<Owner, RecordError> {
        Owner::new(name).map_err(field::<OwnerError>("owner"))
    }

    fn token(number: u64) -> Result<Token, RecordError> {
        Token::new(number).ok_or_else(|| field("token")(number))
    }

    fn time(name: &'static str, text: &str) -> Result<Timestamp, RecordError> {
        text.parse().map_err(field::<jiff::Error>(name))
    }

    fn reason(text: String) -> Result<Reason, RecordError> {
        Reason::new(text).map_err(field("reason"))
    }

    fn to_wire(bytes: &[u8]) -> Bytes {
        match std::str::from_utf8(bytes) {
            Ok(text) => Bytes::Text(text.to_owned()),
            Err(_) => Bytes::Base64 { base64: STANDARD.encode(bytes) },
        }
    }

    fn from_wire(name: &'static str, bytes: Bytes) -> Result<BString, RecordError> {
        match bytes {
            Bytes::Text(text) => Ok(text.into()),
            Bytes::Base64 { base64 } => STANDARD.decode(base64).map(Into::into).map_err(field(name)),
        }
    }

    impl From<&Resource> for WireResource {
        fn from(resource: &Resource) -> Self {
            let (kind, path, name) = match &resource.target {
                Target::File(path) => (Kind::File, Some(path), None),
                Target::Area(path) => (Kind::Area, Some(path), None),
                Target::Named(name) => (Kind::Named, None, Some(name)),
            };
            Self {
                kind,
                path: path.map(|path| to_wire(path.as_bytes())),
                type_: name.map(|name| name.kind().to_owned()),
                id: name.map(|name| name.id().to_owned()),
                project: match &resource.scope.project {
                    Project::Implicit => None,
                    Project::GitDir(path) => Some(WireProject::GitDir(to_wire(path))),
                    Project::Label(label) => Some(WireProject::Label(label.clone())),
                    Project::Outside => Some(WireProject::Outside),
                },
                work_tree: to_wire(&resource.scope.work_tree),
                ignore_case: resource.scope.ignore_case,
            }
        }
    }

    impl TryFrom<WireResource> for Resource {
        type Error = RecordError;

        fn try_from(wire: WireResource) -> Result<Self, RecordError> {
            let path = |path: Option<Bytes>| {
                let bytes = from_wire("path", path.ok_or_else(|| field("path")("missing"))?)?;
                RepoPath::new(bytes).map_err(field::<ResourceError>("path"))
            };
            let target = match wire.kind {
                Kind::File => Target::File(path(wire.path)?),
                Kind::Area => Target::Area(path(wire.path)?),
                Kind::Named => {
                    let name = NamedId::new(wire.type_.unwrap_or_default(), wire.id.unwrap_or_default());
                    Target::Named(name.map_err(field::<ResourceError>("id"))?)
                }
            };
            let project = match wire.project {
                None => Project::Implicit,
                Some(WireProject::GitDir(path)) => Project::GitDir(from_wire("git_dir", path)?),
                Some(WireProject::Label(label)) => Project::Label(label),
                Some(WireProject::Outside) => Project::Outside,
            };
            let work_tree = from_wire("work_tree", wire.work_tree)?;
            Ok(Self { scope: Scope { project, work_tree, ignore_case: wire.ignore_case }, target })
        }
    }

    impl From<&super::Record> for Record {
        fn from(record: &super::Record) -> Self {
            Self {
                v: super::Record::VERSION,
                resource: (&record.resource).into(),
                owner: record.owner.as_str().to_owned(),
                reason: record.reason.as_ref().map(|reason| reason.as_str().to_owned()),
                token: record.token.get(),
                acquired_at: record.acquired_at.to_string(),
                renewed_at: record.renewed_at.to_string(),
                expires_at: record.expires_at.to_string(),
                ttl_ms: record.ttl.millis(),
                boot: record.boot.clone(),
                replaced: record.replaced.as_ref().map(|replaced| WireReplaced {
                    owner: replaced.owner.as_str().to_owned(),
                    token: replaced.token.get(),
                    ended_at: replaced.ended_at.to_string(),
                }),
                ended: record.ended.as_ref().map(WireEnded::from),
                host: record.host.clone(),
                pid: record.pid,
            }
        }
    }

    impl From<&Ended> for WireEnded {
        fn from(ended: &Ended) -> Self {
            let (how, by, reason) = match &ended.how {
                End::Released => (How::Released, None, None),
                End::Broken { by, reason } => (How::Broken, by.as_ref(), Some(reason)),
            };
            Self {
                at: ended.at.to_string(),
                how,
                by: by.map(|owner| owner.as_str().to_owned()),
                reason: reason.map(|reason| reason.as_str().to_owned()),
            }
        }
    }

    impl TryFrom<WireEnded> for Ended {
        type Error = RecordError;

        fn try_from(wire: WireEnded) -> Result<Self, RecordError> {
            let how = match wire.how {
                How::Released => End::Released,
                How::Broken => End::Broken {
                    by: wire.by.map(owner).transpose()?,
                    reason: reason(wire.reason.unwrap_or_default())?,
                },
            };
            Ok(Self { at: time("ended.at", &wire.at)?, how })
        }
    }

    impl TryFrom<Record> for super::Record {
        type Error = RecordError;

        fn try_from(wire: Record) -> Result<Self, RecordError> {
            let replaced = |wire: WireReplaced| {
                Ok(Replaced {
                    owner: owner(wire.owner)?,
                    token: token(wire.token)?,
                    ended_at: time("replaced.ended_at", &wire.ended_at)?,
                })
            };
            Ok(Self {
                resource: wire.resource.try_into()?,
                owner: owner(wire.owner)?,
                reason: wire.reason.map(reason).transpose()?,
                token: token(wire.token)?,
                acquired_at: time("acquired_at", &wire.acquired_at)?,
                renewed_at: time("renewed_at", &wire.renewed_at)?,
                expires_at: time("expires_at", &wire.expires_at)?,
                ttl: Ttl::from_millis(wire.ttl_ms).ok_or_else(|| field("ttl_ms")(wire.ttl_ms))?,
                boot: wire.boot,
                replaced: wire.replaced.map(replaced).transpose()?,
                ended: wire.ended.map(Ended::try_from).transpose()?,
                host: wire.host,
                pid: wire.pid,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn records_of_version_1_are_read() {
        let stored = include_bytes!("../fixtures/records/v1/full.lock");
        assert_eq!(Record::from_bytes(stored), Ok(example()));
        assert_eq!(example().to_bytes(), stored);
        let minimal = include_bytes!("../fixtures/records/v1/minimal-with-unknown-fields.lock");
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
