//! What a tool tells its hook, as far as it is about locks.

use serde_json::{Map, Value};

use super::{Tool, patch, reads};

/// A longer document is not read, in bytes: a file that an edit writes is in it, and no agent writes files like this.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// What the tool is about to do, or has come to.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It is about to change these files, as it spells them.
    Edit(Vec<String>),
    /// It has changed these files, or has tried to.
    Edited(Vec<String>),
    /// It is about to read these files.
    Read(Vec<String>),
    /// It has read these files, which it could not name before.
    HasRead(Vec<String>),
    /// It has done something else: its agent is alive.
    AtWork,
    /// It is about to run a command in a shell. `input` is all that the tool was asked, to be given back changed.
    Shell {
        /// The command.
        command: String,
        /// The tool's whole input.
        input: Map<String, Value>,
    },
    /// A session begins, or goes on.
    SessionStart,
    /// A session is over, and its sub-agents with it.
    SessionEnd,
    /// A sub-agent has done its work.
    AgentEnd,
    /// Nothing that locks have to do with.
    Other,
    /// Something that should be understood, and is not: what is missing.
    Unclear(String),
}

/// One call of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What it is about.
    pub event: Event,
    /// The session, by the tool's id.
    pub session: Option<String>,
    /// The sub-agent in it, by the tool's id; `None` for the session itself.
    pub agent: Option<String>,
    /// The directory from which relative paths are meant.
    pub cwd: Option<String>,
    /// Every directory that the session is about, where the tool tells.
    pub roots: Vec<String>,
}

/// Why a document says nothing.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// It is longer than [`MAX_BYTES`].
    #[error("the tool's document has more than {} MiB", MAX_BYTES >> 20)]
    TooLong,
    /// There is none.
    #[error("the tool has sent nothing on stdin")]
    Empty,
    /// It is no JSON.
    #[error("the tool's document is no JSON: {0}")]
    Malformed(String),
    /// It is JSON, and no object.
    #[error("the tool's document is no JSON object")]
    NoObject,
}

/// Reads what `tool` has sent. A byte order mark before it is passed over.
///
/// # Errors
/// [`PayloadError`] when it is no JSON object of a reasonable size. Whatever is in the object is no error.
pub fn read(tool: Tool, bytes: &[u8]) -> Result<Call, PayloadError> {
    if bytes.len() > MAX_BYTES {
        return Err(PayloadError::TooLong);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii().is_empty() {
        return Err(PayloadError::Empty);
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| PayloadError::Malformed(error.to_string()))?;
    let Value::Object(document) = value else { return Err(PayloadError::NoObject) };
    let (session, agent) = who(tool, &document);
    Ok(Call { event: event(tool, &document), session, agent, cwd: directory(&document), roots: roots(&document) })
}

fn text(document: &Map<String, Value>, name: &str) -> Option<String> {
    document.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

pub(super) fn first(document: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| text(document, name))
}

/// Session and sub-agent. Cursor calls a session a conversation, and tells of a sub-agent which conversation it belongs to.
fn who(tool: Tool, document: &Map<String, Value>) -> (Option<String>, Option<String>) {
    if tool != Tool::Cursor {
        return (text(document, "session_id"), text(document, "agent_id"));
    }
    let own = first(document, &["conversation_id", "session_id"]);
    let agent = first(document, &["subagent_id", "agent_id"]);
    match text(document, "parent_conversation_id") {
        Some(parent) => {
            let child = own.filter(|own| *own != parent);
            (Some(parent), agent.or(child))
        }
        None => (own, agent),
    }
}

/// Cursor does not always tell the current directory, but always the roots of its workspace.
fn directory(document: &Map<String, Value>) -> Option<String> {
    text(document, "cwd")
        .or_else(|| roots(document).into_iter().next())
        .filter(|cwd| cwd.starts_with('/') || cfg!(windows))
}

fn roots(document: &Map<String, Value>) -> Vec<String> {
    let roots = document.get("workspace_roots").and_then(Value::as_array).into_iter().flatten();
    roots.filter_map(Value::as_str).map(|root| root.strip_prefix("file://").unwrap_or(root).to_owned()).collect()
}

fn event(tool: Tool, document: &Map<String, Value>) -> Event {
    let Some(name) = text(document, "hook_event_name") else {
        return Event::Unclear("the tool's document does not say which event it is about (hook_event_name)".to_owned());
    };
    match (tool, name.as_str()) {
        (Tool::ClaudeCode | Tool::Codex, "PreToolUse")
        | (Tool::Gemini, "BeforeTool")
        | (Tool::Cursor, "preToolUse") => tool_use(tool, document),
        (Tool::ClaudeCode | Tool::Codex, "PostToolUse") | (Tool::Gemini, "AfterTool") => after_use(tool, document),
        (Tool::Cursor, "beforeReadFile") => Event::Read(text(document, "file_path").into_iter().collect()),
        (Tool::Cursor, "afterFileEdit") => {
            text(document, "file_path").map_or(Event::AtWork, |path| Event::Edited(vec![path]))
        }
        (Tool::Cursor, "afterShellExecution") => Event::AtWork,
        (Tool::Cursor, "sessionStart") | (_, "SessionStart") => Event::SessionStart,
        (Tool::Cursor, "sessionEnd") | (_, "SessionEnd") => Event::SessionEnd,
        (Tool::Cursor, "subagentStop") | (_, "SubagentStop") => Event::AgentEnd,
        _ => Event::Other,
    }
}

/// The tools of each agent tool that change files.
fn editors(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::ClaudeCode => &["Edit", "MultiEdit", "Write", "NotebookEdit"],
        Tool::Codex => &["apply_patch", "Edit", "Write"],
        Tool::Gemini => &["write_file", "replace", "edit", "smart_edit"],
        Tool::Cursor => {
            &["Write", "Edit", "MultiEdit", "StrReplace", "Delete", "ApplyPatch", "EditNotebook", "NotebookEdit"]
        }
    }
}

fn shells(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::ClaudeCode => &["Bash"],
        Tool::Codex => &["Bash", "shell", "exec_command"],
        Tool::Gemini => &["run_shell_command"],
        Tool::Cursor => &["Shell"],
    }
}

/// The tools of each agent tool that show one file. Codex reads by its shell, and Cursor has an event of its own for it.
fn readers(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::ClaudeCode => &["Read", "NotebookRead"],
        Tool::Gemini => &["read_file"],
        Tool::Codex | Tool::Cursor => &[],
    }
}

/// The tools that are given globs: which files they have shown is told afterwards.
fn searchers(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::Gemini => &["read_many_files"],
        Tool::ClaudeCode | Tool::Codex | Tool::Cursor => &[],
    }
}

/// What a tool was asked. Some versions of Cursor send it as the text of a document.
fn input(document: &Map<String, Value>) -> Map<String, Value> {
    match document.get("tool_input") {
        Some(Value::Object(input)) => input.clone(),
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        _ => Map::new(),
    }
}

/// What a tool has done. Whatever it was, it is no reason to complain: nothing can be refused any more.
fn after_use(tool: Tool, document: &Map<String, Value>) -> Event {
    let name = text(document, "tool_name").unwrap_or_default();
    let has_failed =
        document.get("tool_response").and_then(|response| response.get("error")).is_some_and(|error| !error.is_null());
    let (is_editor, is_searcher) = (editors(tool).contains(&name.as_str()), searchers(tool).contains(&name.as_str()));
    let paths = match is_searcher {
        true if has_failed => Vec::new(),
        true => reads::paths(&input(document), document.get("tool_response")),
        false if is_editor => edited(&input(document)),
        false => Vec::new(),
    };
    match paths {
        paths if paths.is_empty() => Event::AtWork,
        paths if is_searcher => Event::HasRead(paths),
        paths => Event::Edited(paths),
    }
}

fn tool_use(tool: Tool, document: &Map<String, Value>) -> Event {
    let Some(name) = text(document, "tool_name") else {
        return Event::Unclear("the tool's document does not say what is to be used (tool_name)".to_owned());
    };
    if readers(tool).contains(&name.as_str()) {
        return Event::Read(first(&input(document), &NAMES).into_iter().collect());
    }
    let is_editor = editors(tool).contains(&name.as_str());
    if !is_editor && !shells(tool).contains(&name.as_str()) {
        return Event::Other;
    }
    let input = input(document);
    if is_editor {
        return match edited(&input) {
            paths if paths.is_empty() => {
                Event::Unclear(format!("no file is named in what {name} was asked (tool_input)"))
            }
            paths => Event::Edit(paths),
        };
    }
    match text(&input, "command") {
        Some(command) if tool == Tool::Codex && patch::is_patch(&command) => {
            let dir = patch::directory(&command);
            let below = |path: String| dir.as_ref().map_or(path.clone(), |dir| format!("{dir}/{path}"));
            match patch::paths(&command) {
                paths if paths.is_empty() => Event::Shell { command, input },
                paths => Event::Edit(paths.into_iter().map(below).collect()),
            }
        }
        Some(command) => Event::Shell { command, input },
        None => Event::Other,
    }
}

/// The members by which the tools name a file.
pub(super) const NAMES: [&str; 6] =
    ["file_path", "path", "notebook_path", "target_file", "target_notebook", "absolute_path"];

/// The files that an editor is asked to change: by a member that names one, by several edits, or by a patch.
fn edited(input: &Map<String, Value>) -> Vec<String> {
    const PATCHES: [&str; 3] = ["command", "patch", "input"];
    let mut paths: Vec<String> = first(input, &NAMES).into_iter().collect();
    for edit in input.get("edits").and_then(Value::as_array).into_iter().flatten() {
        paths.extend(edit.as_object().and_then(|edit| first(edit, &NAMES)));
    }
    if paths.is_empty() {
        paths.extend(PATCHES.iter().filter_map(|name| text(input, name)).flat_map(|patch| patch::paths(&patch)));
    }
    let mut known = std::collections::BTreeSet::new();
    paths.retain(|path| known.insert(path.clone()));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tool: Tool, document: &Value) -> Call {
        read(tool, document.to_string().as_bytes()).expect("a document")
    }

    #[test]
    fn a_byte_order_mark_and_roots_of_a_workspace_are_understood() {
        let document = serde_json::json!({
            "conversation_id": "c", "session_id": "s", "hook_event_name": "preToolUse", "workspace_roots": ["file:///w/r"],
            "tool_name": "Delete", "tool_input": "{\"file_path\": \"/w/r/a\"}",
        });
        let bytes = [b"\xef\xbb\xbf", document.to_string().as_bytes()].concat();
        let call = read(Tool::Cursor, &bytes).expect("a document");
        assert_eq!(call.event, Event::Edit(vec!["/w/r/a".to_owned()]));
        assert_eq!((call.session.as_deref(), call.agent, call.cwd.as_deref()), (Some("c"), None, Some("/w/r")));
    }

    #[test]
    fn a_sub_agent_of_cursor_belongs_to_its_parent() {
        let stop = |more: Value| {
            let mut document = serde_json::json!({"hook_event_name": "subagentStop", "parent_conversation_id": "p"});
            document.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            let call = of(Tool::Cursor, &document);
            (call.session.unwrap_or_default(), call.agent.unwrap_or_default())
        };
        let told = |session: &str, agent: &str| (session.to_owned(), agent.to_owned());
        assert_eq!(stop(serde_json::json!({"conversation_id": "p"})), told("p", ""));
        assert_eq!(stop(serde_json::json!({"conversation_id": "c"})), told("p", "c"));
        assert_eq!(stop(serde_json::json!({"conversation_id": "p", "subagent_id": "x"})), told("p", "x"));
    }

    #[test]
    fn several_edits_in_one_call_name_every_file_once() {
        let call = of(
            Tool::ClaudeCode,
            &serde_json::json!({"hook_event_name": "PreToolUse", "tool_name": "MultiEdit", "tool_input":
                {"file_path": "/a", "edits": [{"file_path": "/b"}, {"file_path": "/a"}, 7, {"old_string": "x"}]}}),
        );
        assert_eq!(call.event, Event::Edit(vec!["/a".to_owned(), "/b".to_owned()]));
    }

    #[test]
    fn a_patch_in_a_shell_of_codex_is_an_edit() {
        let shell = |command: &str| {
            let input = serde_json::json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}});
            of(Tool::Codex, &input).event
        };
        let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: x\n*** End Patch\nEOF";
        assert_eq!(shell(patch), Event::Edit(vec!["x".to_owned()]));
        assert_eq!(shell(&format!("cd sub && {patch}")), Event::Edit(vec!["sub/x".to_owned()]));
        assert!(matches!(shell("cat x"), Event::Shell { .. }));
    }

    #[test]
    fn what_was_read_or_changed_is_told_afterwards_where_the_tool_tells_it() {
        let after = |tool: Tool, name: &str, more: Value| {
            let event = if tool == Tool::Gemini { "AfterTool" } else { "PostToolUse" };
            let mut document = serde_json::json!({"hook_event_name": event, "tool_name": name});
            document.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            of(tool, &document).event
        };
        let named = || vec!["/a".to_owned()];
        let input = || serde_json::json!({"tool_input": {"file_path": "/a"}});
        assert_eq!(after(Tool::ClaudeCode, "Read", input()), Event::AtWork, "that was told before");
        assert_eq!(after(Tool::ClaudeCode, "Edit", input()), Event::Edited(named()));
        assert_eq!(after(Tool::ClaudeCode, "Bash", input()), Event::AtWork);
        assert_eq!(after(Tool::ClaudeCode, "Read", serde_json::json!({"tool_input": 7})), Event::AtWork);
        let many = || serde_json::json!({"tool_input": {"include": ["/a"]}});
        assert_eq!(after(Tool::Gemini, "read_many_files", many()), Event::HasRead(named()));
        let before = |tool: Tool, event: &str, name: &str| {
            let mut document = serde_json::json!({"hook_event_name": event, "tool_name": name});
            document.as_object_mut().expect("an object").extend(input().as_object().expect("an object").clone());
            of(tool, &document).event
        };
        assert_eq!(before(Tool::ClaudeCode, "PreToolUse", "Read"), Event::Read(named()));
        assert_eq!(before(Tool::Gemini, "BeforeTool", "read_file"), Event::Read(named()));
        assert_eq!(before(Tool::Gemini, "BeforeTool", "read_many_files"), Event::Other);
        assert_eq!(after(Tool::Gemini, "write_file", input()), Event::Edited(named()));
        let failed =
            serde_json::json!({"tool_input": {"file_path": "/a"}, "tool_response": {"error": {"message": "no"}}});
        assert_eq!(after(Tool::Gemini, "read_many_files", failed), Event::AtWork);
        assert_eq!(after(Tool::Codex, "Read", input()), Event::AtWork, "Codex has no such tool");
        let patch = serde_json::json!({"tool_input": {"command": "*** Begin Patch\n*** Delete File: /a\n"}});
        assert_eq!(after(Tool::Codex, "apply_patch", patch), Event::Edited(named()));
        let cursor = |event: &str, more: &str| {
            let document = serde_json::json!({"hook_event_name": event, "conversation_id": "c", more: "/a"});
            of(Tool::Cursor, &document).event
        };
        assert_eq!(cursor("beforeReadFile", "file_path"), Event::Read(named()));
        assert_eq!(cursor("afterFileEdit", "file_path"), Event::Edited(named()));
        assert_eq!(cursor("beforeReadFile", "x"), Event::Read(Vec::new()));
        assert_eq!(cursor("afterShellExecution", "command"), Event::AtWork);
    }

    #[test]
    fn what_is_no_document_is_an_error_and_no_panic() {
        for bytes in
            [&b""[..], b" \n", b"\xef\xbb\xbf", b"nonsense", b"{", b"[]", b"7", b"\xff\xfe{}", b"{\"a\": \"\\ud800\"}"]
        {
            assert!(read(Tool::Codex, bytes).is_err(), "{bytes:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(read(Tool::Codex, deep.as_bytes()).is_err());
        assert!(matches!(read(Tool::Codex, &vec![b' '; MAX_BYTES + 1]), Err(PayloadError::TooLong)));
    }

    fn any_value() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "(PreToolUse|PostToolUse|BeforeTool|AfterTool|preToolUse|beforeReadFile|SubagentStop|Edit|Read|read_many_files|apply_patch|Bash|Shell|--- a ---|[ -~]{0,8}|\\PC{0,4})"
                .prop_map(Value::from),
        ];
        let names = "(hook_event_name|tool_name|tool_input|tool_response|llmContent|include|file_path|command|edits|session_id|agent_id|cwd|workspace_roots|[a-z]{1,3})";
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(names, inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn no_document_panics(value in any_value()) {
            for tool in Tool::ALL {
                let _ = read(tool, value.to_string().as_bytes());
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = read(Tool::Gemini, &bytes);
        }
    }
}
