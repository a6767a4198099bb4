//! The journal's lines: one JSON object each, at most [`MAX_LINE`] bytes, so that one `write` appends one whole line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::JournalLine;
use crate::{
    clock::Timestamp,
    owner::Owner,
    record::{Reason, Token, wire::WireResource},
    resource::{Resource, ResourceKey},
};

/// The longest line, its newline included, in bytes.
pub(super) const MAX_LINE: usize = 4096;

#[derive(Serialize)]
struct Wire<'a> {
    at: String,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<WireResource>,
    key: String,
    owner: &'a str,
    token: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// The bytes of one line. What makes it too long is left out: first the reason, then the resource, which its key still names.
pub(super) fn to_bytes(line: &JournalLine, fresh: &BTreeMap<ResourceKey, Token>) -> Vec<u8> {
    let key = line.resource.key();
    let mut wire = Wire {
        at: line.at.to_string(),
        event: line.event.as_str(),
        resource: Some((&line.resource).into()),
        key: key.to_hex(),
        owner: line.owner.as_str(),
        token: line.token.or_else(|| fresh.get(&key).copied()).map_or(0, Token::get),
        other: line.other.as_ref().map(|owner| owner.as_str()),
        reason: line.reason.as_ref().map(|reason| reason.as_str()),
    };
    let render = |wire: &Wire<'_>| {
        let mut bytes = serde_json::to_vec(wire).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    };
    let mut bytes = render(&wire);
    if bytes.len() > MAX_LINE {
        wire.reason = None;
        bytes = render(&wire);
    }
    if bytes.len() > MAX_LINE {
        wire.resource = None;
        bytes = render(&wire);
    }
    bytes
}

/// The line that says that a damaged record was moved away: of a key, since nothing else can be read of it.
pub(super) fn quarantined(at: Timestamp, key: ResourceKey, by: Option<&Owner>, reason: Option<&Reason>) -> Vec<u8> {
    let wire = Wire {
        at: at.to_string(),
        event: "quarantined",
        resource: None,
        key: key.to_hex(),
        owner: "",
        token: 0,
        other: by.map(Owner::as_str),
        reason: reason.map(Reason::as_str),
    };
    let mut bytes = serde_json::to_vec(&wire).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// A line of the journal, read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// When.
    pub at: Timestamp,
    /// What: `granted`, `taken_over`, `expired`, `released`, `broken`, `pruned`, `went_past`, `quarantined`, or what a later version writes.
    pub event: String,
    /// Of which resource; `None` when it was too long for a line, or could not be read. The key names it all the same.
    pub resource: Option<Resource>,
    /// The resource's key.
    pub key: ResourceKey,
    /// Whose lease, when that is known.
    pub owner: Option<Owner>,
    /// Its token.
    pub token: Option<Token>,
    /// Whose lease it replaced, who broke it, or who went past it.
    pub other: Option<Owner>,
    /// Why.
    pub reason: Option<Reason>,
}

#[derive(Deserialize)]
struct WirePast {
    at: String,
    event: String,
    #[serde(default)]
    resource: Option<WireResource>,
    key: String,
    #[serde(default)]
    owner: String,
    #[serde(default)]
    token: u64,
    #[serde(default)]
    other: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

/// Reads one line; `None` for what is none, such as a last line that was torn.
pub(super) fn from_line(line: &[u8]) -> Option<Past> {
    let wire: WirePast = serde_json::from_slice(line).ok()?;
    Some(Past {
        at: wire.at.parse().ok()?,
        event: crate::text::escape(wire.event.as_bytes()),
        resource: wire.resource.and_then(|resource| resource.try_into().ok()),
        key: ResourceKey::from_hex(wire.key.as_bytes())?,
        owner: Owner::new(wire.owner).ok(),
        token: Token::new(wire.token),
        other: wire.other.and_then(|owner| Owner::new(owner).ok()),
        reason: wire.reason.and_then(|reason| Reason::new(reason).ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resource::{RepoPath, Scope, Target},
        store::Event,
    };

    #[test]
    fn a_line_is_never_longer_than_one_write() {
        let path = RepoPath::new([b"\n/".repeat(2047).as_slice(), b"\n"].concat()).expect("a path");
        let line = JournalLine {
            at: Timestamp::from_millis(0),
            event: Event::TakenOver,
            resource: Resource { scope: Scope::implicit(), target: Target::File(path) },
            owner: Owner::new("\"".repeat(255)).expect("an owner"),
            token: None,
            other: Some(Owner::new("\\".repeat(255)).expect("an owner")),
            reason: Some(Reason::new("\u{1}".repeat(1000)).expect("a reason")),
        };
        let bytes = to_bytes(&line, &BTreeMap::new());
        assert!(bytes.len() <= MAX_LINE);
        assert!(bytes.ends_with(b"}\n"));
        assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
    }

    #[test]
    fn a_line_is_read_back_and_a_torn_one_is_not() {
        let line = JournalLine {
            at: Timestamp::from_millis(1_000),
            event: Event::Broken,
            resource: Resource {
                scope: Scope::implicit(),
                target: Target::Area(RepoPath::new(&b"a\xff"[..]).expect("a path")),
            },
            owner: Owner::new("A").expect("an owner"),
            token: Token::new(7),
            other: Some(Owner::new("B").expect("an owner")),
            reason: Some(Reason::new("gone").expect("a reason")),
        };
        let bytes = to_bytes(&line, &BTreeMap::new());
        let past = from_line(&bytes).expect("a line");
        assert_eq!(past.resource.as_ref(), Some(&line.resource));
        assert_eq!((past.event.as_str(), past.token, past.other), ("broken", Token::new(7), line.other));
        assert_eq!(from_line(&bytes[..bytes.len() - 3]), None);
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(bytes: Vec<u8>) {
            let _ = from_line(&bytes);
        }
    }
}
