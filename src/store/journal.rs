//! The journal's lines: one JSON object each, at most [`MAX_LINE`] bytes, so that one `write` appends one whole line.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Event, JournalLine};
use crate::{
    record::{Token, wire::WireResource},
    resource::ResourceKey,
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
        event: match line.event {
            Event::Granted => "granted",
            Event::TakenOver => "taken_over",
            Event::Released => "released",
            Event::Broken => "broken",
            Event::Pruned => "pruned",
        },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Timestamp,
        owner::Owner,
        record::Reason,
        resource::{RepoPath, Resource, Scope, Target},
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
}
