//! The verdict in each tool's own contract.
//!
//! A refusal is a document on stdout with exit code 0. Where that cannot be written, exit code 2 refuses in all four contracts; every other code
//! would let the edit pass.

use serde_json::{Map, Value, json};

use super::Tool;

/// What the hook has come to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Nothing is in the way, and nothing is to be said.
    Pass,
    /// It was only a look at a file, which is never refused.
    Look,
    /// Let through, and the user should know this.
    Warn(String),
    /// The edit must not be made; why, for the model to read.
    Deny(String),
    /// The shell is to get this input instead.
    Rewrite(Map<String, Value>),
    /// The model should know this from the beginning of the session.
    Tell(String),
}

/// What is to be written on stdout: a JSON document, or nothing.
#[must_use]
pub fn document(tool: Tool, verdict: &Verdict) -> Option<Value> {
    match tool {
        Tool::ClaudeCode | Tool::Codex => like_claude(tool, verdict),
        Tool::Gemini => Some(gemini(verdict)),
        Tool::Cursor => Some(cursor(verdict)),
    }
}

fn like_claude(tool: Tool, verdict: &Verdict) -> Option<Value> {
    let before_tool = |output: Value| {
        let mut output = output;
        if let Some(output) = output.as_object_mut() {
            output.insert("hookEventName".to_owned(), "PreToolUse".into());
        }
        json!({ "hookSpecificOutput": output })
    };
    Some(match verdict {
        Verdict::Pass | Verdict::Look => return None,
        Verdict::Warn(text) => json!({ "systemMessage": text }),
        Verdict::Deny(reason) => {
            before_tool(json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }))
        }
        // Codex takes a changed input only together with `allow`, by which it does not skip its own questions; Claude Code would, so to that one
        // nothing is said about permission.
        Verdict::Rewrite(input) if tool == Tool::Codex => {
            before_tool(json!({ "permissionDecision": "allow", "updatedInput": input }))
        }
        Verdict::Rewrite(input) => before_tool(json!({ "updatedInput": input })),
        Verdict::Tell(text) => {
            json!({ "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": text } })
        }
    })
}

fn gemini(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Pass | Verdict::Look => json!({}),
        Verdict::Warn(text) => json!({ "systemMessage": text }),
        Verdict::Deny(reason) => json!({ "decision": "deny", "reason": reason }),
        // What is given here is laid over what the model has asked for.
        Verdict::Rewrite(input) => {
            let command = input.get("command").cloned().unwrap_or_default();
            json!({ "hookSpecificOutput": { "hookEventName": "BeforeTool", "tool_input": { "command": command } } })
        }
        Verdict::Tell(text) => {
            json!({ "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": text } })
        }
    }
}

/// Cursor wants a document in every case, and takes one that it does not know for a refusal.
fn cursor(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Deny(reason) => {
            let in_short = reason.lines().next().unwrap_or_default();
            json!({ "permission": "deny", "user_message": in_short, "agent_message": reason })
        }
        Verdict::Tell(text) => json!({ "additional_context": text }),
        // Its event for reading knows no other answers than these.
        Verdict::Look => json!({ "permission": "allow" }),
        Verdict::Pass | Verdict::Warn(_) | Verdict::Rewrite(_) => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_is_answered_in_its_own_contract() {
        let input = json!({"command": "export …; git commit", "timeout": 7});
        let input = input.as_object().expect("an object").clone();
        let verdicts = [
            Verdict::Pass,
            Verdict::Look,
            Verdict::Warn("careful".to_owned()),
            Verdict::Deny("held by B".to_owned()),
            Verdict::Rewrite(input),
            Verdict::Tell("you are A".to_owned()),
        ];
        let mut told = String::new();
        for tool in Tool::ALL {
            for verdict in &verdicts {
                let document = document(tool, verdict).map(|document| document.to_string());
                told.push_str(&format!("{} {}\n", tool.name(), document.unwrap_or("(nothing)".to_owned())));
            }
        }
        insta::assert_snapshot!(told, @r#"
        claude-code (nothing)
        claude-code (nothing)
        claude-code {"systemMessage":"careful"}
        claude-code {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"held by B"}}
        claude-code {"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"export …; git commit","timeout":7}}}
        claude-code {"hookSpecificOutput":{"additionalContext":"you are A","hookEventName":"SessionStart"}}
        codex (nothing)
        codex (nothing)
        codex {"systemMessage":"careful"}
        codex {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"held by B"}}
        codex {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"export …; git commit","timeout":7}}}
        codex {"hookSpecificOutput":{"additionalContext":"you are A","hookEventName":"SessionStart"}}
        gemini {}
        gemini {}
        gemini {"systemMessage":"careful"}
        gemini {"decision":"deny","reason":"held by B"}
        gemini {"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"export …; git commit"}}}
        gemini {"hookSpecificOutput":{"additionalContext":"you are A","hookEventName":"SessionStart"}}
        cursor {}
        cursor {"permission":"allow"}
        cursor {}
        cursor {"agent_message":"held by B","permission":"deny","user_message":"held by B"}
        cursor {}
        cursor {"additional_context":"you are A"}
        "#);
    }
}
