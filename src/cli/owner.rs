//! Who is asking: by option, by variable, or by the session of an agent tool. Never by process.

use std::ffi::{OsStr, OsString};

use git_agentlock::owner::Owner;

use super::{environment::variable, failure::Failure};

/// Agent tools that export the id of their session, and the name that goes before it.
const AGENT_TOOLS: [(&str, &str); 5] = [
    ("CLAUDE_CODE_SESSION_ID", "claude-code"),
    ("CODEX_THREAD_ID", "codex"),
    ("GEMINI_SESSION_ID", "gemini"),
    ("COPILOT_AGENT_SESSION_ID", "copilot"),
    ("OPENCODE_SESSION_ID", "opencode"),
];

/// An owner, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownOwner {
    pub(crate) owner: Owner,
    pub(crate) source: &'static str,
}

/// The owner by option, by variable, by the session of an agent tool; `Ok(None)` when there is none.
pub(crate) fn of(option: Option<&OsStr>) -> Result<Option<KnownOwner>, Failure> {
    if let Some(name) = option {
        return known_owner(name.to_owned(), "", "--owner").map(Some);
    }
    if let Some(name) = variable("AGENTLOCK_OWNER") {
        return known_owner(name, "", "AGENTLOCK_OWNER").map(Some);
    }
    let session = AGENT_TOOLS.iter().find_map(|(name, tool)| Some((variable(name)?, *tool, *name)));
    session.map(|(id, tool, name)| known_owner(id, tool, name)).transpose()
}

/// Who one is, for who only looks: a name that cannot be used is none.
pub(crate) fn own() -> Option<Owner> {
    Some(of(None).ok()??.owner)
}

/// The owner that `AGENTLOCK_OWNER` names; `Ok(None)` when it is not set.
pub(crate) fn by_variable() -> Result<Option<Owner>, Failure> {
    let known = variable("AGENTLOCK_OWNER").map(|name| known_owner(name, "", "AGENTLOCK_OWNER")).transpose()?;
    Ok(known.map(|known| known.owner))
}

/// The owner, for commands that cannot do without.
pub(crate) fn required(option: Option<&OsStr>) -> Result<Owner, Failure> {
    match of(option)? {
        Some(known) => Ok(known.owner),
        None => Err(none_given()),
    }
}

fn known_owner(name: OsString, tool: &str, source: &'static str) -> Result<KnownOwner, Failure> {
    let bad = |why: String| {
        Failure::invalid(format!("the owner from {source} cannot be used: {why}"))
            .hint("an owner is 1 to 255 bytes of UTF-8 without control characters, such as claude-7f3a")
    };
    let name = name.into_string().map_err(|_| bad("it is not UTF-8".to_owned()))?;
    let name = if tool.is_empty() { name } else { format!("{tool}:{name}") };
    let owner = Owner::new(name).map_err(|error| bad(error.to_string()))?;
    Ok(KnownOwner { owner, source })
}

pub(crate) fn none_given() -> Failure {
    Failure::invalid("no owner was given")
        .hint("give --owner ID, or set AGENTLOCK_OWNER for the whole session of the agent")
        .hint("every session needs a name of its own, and keeps it: process ids do not do")
}
