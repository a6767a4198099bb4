//! How a tool is told to ask: which of its events, and where that is written down.

use serde_json::{Value, json};

use super::Tool;

/// The file of a tool that lists its hooks.
#[must_use]
pub fn file_name(tool: Tool) -> &'static str {
    match tool {
        Tool::ClaudeCode => ".claude/settings.json",
        Tool::Codex => ".codex/hooks.json",
        Tool::Gemini => ".gemini/settings.json",
        Tool::Cursor => ".cursor/hooks.json",
    }
}

/// The directory for all projects of a user is in their home, unless this variable names another.
#[must_use]
pub fn home_variable(tool: Tool) -> Option<&'static str> {
    match tool {
        Tool::ClaudeCode => Some("CLAUDE_CONFIG_DIR"),
        Tool::Codex => Some("CODEX_HOME"),
        Tool::Gemini | Tool::Cursor => None,
    }
}

/// What a new file has beside its hooks.
#[must_use]
pub fn preamble(tool: Tool) -> &'static [(&'static str, u64)] {
    match tool {
        Tool::Cursor => &[("version", 1)],
        Tool::ClaudeCode | Tool::Codex | Tool::Gemini => &[],
    }
}

/// The command that a tool runs, `program` being how this program is called there.
#[must_use]
pub fn command(tool: Tool, program: &str) -> String {
    format!("{program} {}", ending(tool))
}

/// Whether a hook of a tool's is ours: it runs this program, wherever that is.
#[must_use]
pub fn is_ours(tool: Tool, hook: &Value) -> bool {
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    command.contains("agentlock") && command.trim_end().ends_with(&ending(tool))
}

fn ending(tool: Tool) -> String {
    format!("agent-hook {}", tool.name())
}

/// Each event that matters with the entry to be put under it.
#[must_use]
pub fn entries(tool: Tool, program: &str) -> Vec<(&'static str, Value)> {
    const SECONDS: u64 = 60;
    let command = command(tool, program);
    let hook = match tool {
        Tool::ClaudeCode | Tool::Codex => json!({ "type": "command", "command": command, "timeout": SECONDS }),
        Tool::Gemini => json!({ "name": "git-agentlock", "type": "command", "command": command, "timeout": 60_000 }),
        Tool::Cursor => json!({ "command": command, "timeout": SECONDS }),
    };
    let entry = |matcher: Option<&str>| {
        let mut entry = if tool == Tool::Cursor { hook.clone() } else { json!({ "hooks": [hook] }) };
        if let (Some(matcher), Some(entry)) = (matcher, entry.as_object_mut()) {
            entry.insert("matcher".to_owned(), matcher.into());
        }
        entry
    };
    events(tool).iter().map(|(event, matcher)| (*event, entry(*matcher))).collect()
}

/// The events, and of which of the tool's own tools. What a tool has done cannot be refused any more: it tells what has become of a file, and that
/// the agent is alive. What is read is noted before it is read: a change right after the look at it is then one that the model may not have seen.
fn events(tool: Tool) -> &'static [(&'static str, Option<&'static str>)] {
    match tool {
        Tool::ClaudeCode => &[
            ("PreToolUse", Some("Edit|MultiEdit|Write|NotebookEdit|Bash|Read|NotebookRead")),
            ("PostToolUse", Some("Edit|MultiEdit|Write|NotebookEdit|Bash")),
            ("SessionStart", None),
            ("SessionEnd", None),
            ("SubagentStop", None),
        ],
        // Codex has no event for the end of a session, and no tool for reading.
        Tool::Codex => &[
            ("PreToolUse", Some("apply_patch|Edit|Write|Bash")),
            ("PostToolUse", Some("apply_patch|Edit|Write|Bash")),
            ("SessionStart", None),
            ("SubagentStop", None),
        ],
        Tool::Gemini => &[
            ("BeforeTool", Some("write_file|replace|edit|smart_edit|run_shell_command|read_file")),
            ("AfterTool", Some("write_file|replace|edit|smart_edit|run_shell_command|read_many_files")),
            ("SessionStart", None),
            ("SessionEnd", None),
        ],
        // The events for files and shells are the ones that Cursor has for all of its versions; what completes lines reads too, and is no agent.
        Tool::Cursor => &[
            ("preToolUse", Some("Write|Edit|MultiEdit|StrReplace|Delete|ApplyPatch|EditNotebook|NotebookEdit|Shell")),
            ("beforeReadFile", Some("Read|ReadFile")),
            ("afterFileEdit", None),
            ("afterShellExecution", None),
            ("sessionStart", None),
            ("sessionEnd", None),
            ("subagentStop", None),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_known_again_wherever_the_program_is() {
        for tool in Tool::ALL {
            for program in ["git-agentlock", "'/opt/my tools/git-agentlock'", "git agentlock"] {
                for (event, entry) in entries(tool, program) {
                    let hook = entry.get("hooks").map_or(&entry, |hooks| &hooks[0]);
                    assert!(is_ours(tool, hook), "{event}");
                    let others = Tool::ALL.into_iter().filter(|other| *other != tool);
                    assert!(others.into_iter().all(|other| !is_ours(other, hook)), "{event}");
                }
            }
            let foreign = [json!({}), json!(7), json!({"hooks": []}), json!({"command": "x agent-hook"})];
            assert!(foreign.iter().all(|entry| !is_ours(tool, entry)));
        }
    }
}
