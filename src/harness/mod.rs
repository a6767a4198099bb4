//! Translates between agent tools and the lock service: what a tool's hook is told on stdin, and what the tool wants to hear.
//!
//! Coding agents ask before they edit when their tool asks for them: the tools run a command before each use of one of their own tools, give it a
//! JSON document, and heed its answer. The documents differ; what matters in them is the same for all: which files are to be changed, by whom,
//! where, what the model has seen of them, and when a session is over. [`payload`] reads that, [`answer`] writes the verdict in the tool's own contract, [`patch`] knows the patches
//! of `apply_patch`, [`shell`] writes for shells, [`registration`] says how a tool is told to ask.
//!
//! All of it is pure. Everything in a document comes from a model or from whoever talks to it: nothing of it is trusted, and what is not
//! understood is let through, since a lock is no reason to stop the work of a tool that has learnt something new.

pub mod answer;
pub mod patch;
pub mod payload;
mod reads;
pub mod registration;
pub mod shell;

use crate::owner::{Owner, OwnerError};

/// The agent tools whose hooks are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
}

impl Tool {
    /// Every one of them.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Cursor];

    /// As the command line calls it, and what goes before a session's id in its owner.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
        }
    }

    /// As people call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
        }
    }

    /// The tool with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Whether what an agent's shell is given names its session to this program, so that the shell's owner is the hook's.
    #[must_use]
    pub fn names_its_session_to_shells(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex)
    }

    /// Whether its hooks are told which files it reads. Codex reads by its shell: what it has seen there, nobody tells.
    #[must_use]
    pub fn tells_what_it_reads(self) -> bool {
        match self {
            Self::ClaudeCode | Self::Gemini | Self::Cursor => true,
            Self::Codex => false,
        }
    }

    /// Whether a hook may change the command that a shell is about to run, without deciding for the user whether it may run.
    #[must_use]
    pub fn can_rewrite_commands(self) -> bool {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Gemini => cfg!(unix),
            Self::Cursor => false,
        }
    }
}

/// The owner that an agent acts as.
///
/// `given` is what `AGENTLOCK_OWNER` says: the hooks of a tool and its shells inherit it alike. Without it the session has a name of its own. A
/// sub-agent is a sub-owner of its session, so that two of them are strangers to each other and both are kin to the session. Ids that are no part
/// of an owner are replaced by their hash, so that different ones stay different.
///
/// # Errors
/// [`OwnerError`] when the name of a sub-agent does not fit behind that of its session.
pub fn owner(
    tool: Tool,
    given: Option<&Owner>,
    session: Option<&str>,
    agent: Option<&str>,
) -> Result<Option<Owner>, OwnerError> {
    let base = match (given, session) {
        (Some(given), _) => given.clone(),
        (None, Some(session)) => {
            let name = |id: &str| Owner::new(format!("{}:{id}", tool.name()));
            name(session).or_else(|_| name(&digest(session)))?
        }
        (None, None) => return Ok(None),
    };
    let Some(agent) = agent else { return Ok(Some(base)) };
    let ending = |id: &str| format!("/{id}");
    if base.as_str().ends_with(&ending(agent)) {
        return Ok(Some(base));
    }
    let below = |id: &str| Owner::new(format!("{base}{}", ending(id), base = base.as_str()));
    match below(agent) {
        Ok(owner) if !agent.contains('/') => Ok(Some(owner)),
        _ => below(&digest(agent)).map(Some),
    }
}

/// Whether a lease of `holder` ends with the session of `owner`: the session's own, and those of its sub-agents.
#[must_use]
pub fn ends_with(owner: &Owner, holder: &Owner) -> bool {
    owner.is_kin(holder) && holder.as_str().len() >= owner.as_str().len()
}

/// The name that an agent's hook goes by when it finds one in its environment that a hook has exported: its own, or that of an agent from whose shell
/// it was started. The latter it is not: it is a sub-owner of that, so that neither ends what the other holds, and both may commit it.
///
/// # Errors
/// [`OwnerError`] when its session has no name, or one that does not fit behind that of the other.
pub fn started_by(tool: Tool, given: &Owner, session: Option<&str>) -> Result<Owner, OwnerError> {
    let Some(own) = owner(tool, None, session, None)? else { return Ok(given.clone()) };
    let below = format!("/{}", own.as_str());
    if ends_with(&own, given) {
        Ok(own)
    } else if given.as_str().ends_with(&below) {
        Ok(given.clone())
    } else {
        Owner::new(format!("{}{below}", given.as_str()))
    }
}

/// 32 hexadecimal digits for an id of any length and content.
fn digest(id: &str) -> String {
    blake3::hash(id.as_bytes()).to_hex().chars().take(32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: Option<&str>, session: Option<&str>, agent: Option<&str>) -> String {
        let given = given.map(|name| Owner::new(name).expect(name));
        let owner = owner(Tool::ClaudeCode, given.as_ref(), session, agent).expect("an owner");
        owner.map(|owner| owner.as_str().to_owned()).unwrap_or_default()
    }

    #[test]
    fn a_sub_agent_is_a_sub_owner_of_its_session() {
        assert_eq!(of(None, Some("s-1"), None), "claude-code:s-1");
        assert_eq!(of(None, Some("s-1"), Some("a1")), "claude-code:s-1/a1");
        assert_eq!(of(Some("me"), Some("s-1"), None), "me");
        assert_eq!(of(Some("me"), Some("s-1"), Some("a1")), "me/a1");
        assert_eq!(of(Some("me/a1"), Some("s-1"), Some("a1")), "me/a1", "its shell was told already");
        assert_eq!(of(None, None, None), "");
        assert_eq!(of(None, None, Some("a1")), "");
    }

    #[test]
    fn who_is_started_from_an_agents_shell_is_a_sub_owner_of_it() {
        let name = |name: &str| Owner::new(name).expect(name);
        let of = |given: &str, session| started_by(Tool::Codex, &name(given), session).expect("an owner");
        assert_eq!(of("codex:s", Some("s")), name("codex:s"), "its own name");
        assert_eq!(of("codex:s/a1", Some("s")), name("codex:s"), "its own sub-agent's shell");
        assert_eq!(of("claude-code:s", Some("s")), name("claude-code:s/codex:s"));
        assert_eq!(of("codex:p/a1", Some("s")), name("codex:p/a1/codex:s"));
        assert_eq!(of("codex:p/codex:s", Some("s")), name("codex:p/codex:s"), "its own name, which it was told");
        assert_eq!(of("codex:p", None), name("codex:p"));
        assert!(started_by(Tool::Codex, &name(&"y".repeat(250)), Some("session")).is_err());
    }

    #[test]
    fn ids_that_are_no_owners_stay_apart() {
        let long = "x".repeat(300);
        let odd = ["a\nb", "a\tb", "a ", "a/b", "a/c", &long];
        let mut agents: Vec<String> = odd.iter().map(|id| of(None, Some("s"), Some(id))).collect();
        assert!(agents.iter().all(|owner| owner.strip_prefix("claude-code:s/").is_some_and(|id| id.len() == 32)));
        agents.sort();
        agents.dedup();
        assert_eq!(agents.len(), odd.len());
        assert_eq!(of(None, Some("a\nb"), None).len(), "claude-code:".len() + 32);
        assert_ne!(of(None, Some("a\nb"), None), of(None, Some("a\tb"), None));
        let given = Owner::new("y".repeat(253)).expect("an owner");
        assert!(owner(Tool::Codex, Some(&given), None, Some("a1")).is_err(), "two sub-agents must not become one");
    }

    #[test]
    fn a_session_ends_with_its_sub_agents_and_not_the_other_way_round() {
        let name = |name: &str| Owner::new(name).expect(name);
        assert!(ends_with(&name("s"), &name("s")));
        assert!(ends_with(&name("s"), &name("s/a")));
        assert!(!ends_with(&name("s/a"), &name("s")));
        assert!(!ends_with(&name("s/a"), &name("s/b")));
        assert!(!ends_with(&name("s"), &name("st")));
    }
}
