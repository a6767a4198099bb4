//! Sessions of agent tools, simulated: the payloads that the tools send, and their shells with the environment that they give.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::{Agent, Ran, Sandbox};

pub(crate) const TOOLS: [&str; 4] = ["claude-code", "codex", "gemini", "cursor"];

/// A session of an agent tool, or a sub-agent in one.
#[derive(Clone)]
pub(crate) struct Session<'s> {
    sandbox: &'s Sandbox,
    pub(crate) hook: Agent<'s>,
    tool: &'static str,
    pub(crate) cwd: PathBuf,
    session: String,
    agent: Option<String>,
}

impl<'s> Session<'s> {
    pub(crate) fn new(sandbox: &'s Sandbox, cwd: &Path, tool: &'static str, session: &str) -> Self {
        let (cwd, session) = (cwd.to_owned(), session.to_owned());
        Self { sandbox, hook: sandbox.nobody(&cwd), tool, cwd, session, agent: None }
    }

    pub(crate) fn sub_agent(&self, agent: &str) -> Self {
        Self { agent: Some(agent.to_owned()), ..self.clone() }
    }

    pub(crate) fn env(&self, name: &str, value: &str) -> Self {
        Self { hook: self.hook.env(name, value), ..self.clone() }
    }

    pub(crate) fn owner(&self) -> String {
        let agent = self.agent.as_ref().map(|agent| format!("/{agent}")).unwrap_or_default();
        format!("{}:{}{agent}", self.tool, self.session)
    }

    pub(crate) fn send(&self, event: &str, more: &Value) -> Ran {
        let session = if self.tool == "cursor" { "conversation_id" } else { "session_id" };
        let mut payload = json!({session: self.session, "cwd": self.cwd, "hook_event_name": event});
        let payload = payload.as_object_mut().unwrap();
        if let Some(agent) = &self.agent {
            payload.insert("agent_id".to_owned(), agent.as_str().into());
        }
        payload.extend(more.as_object().unwrap().clone());
        self.hook.stdin(serde_json::to_vec(payload).unwrap()).run(["agent-hook", self.tool])
    }

    pub(crate) fn before(&self, tool: &str, input: &Value) -> Ran {
        let event = match self.tool {
            "gemini" => "BeforeTool",
            "cursor" => "preToolUse",
            _ => "PreToolUse",
        };
        self.send(event, &json!({"tool_name": tool, "tool_input": input}))
    }

    /// What the tool tells after it has used one of its own tools.
    pub(crate) fn after(&self, tool: &str, more: &Value) -> Ran {
        let event = if self.tool == "gemini" { "AfterTool" } else { "PostToolUse" };
        let mut told = json!({"tool_name": tool});
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.send(event, &told)
    }

    /// What the tool asks before its model reads a file.
    pub(crate) fn reads(&self, path: impl AsRef<Path>) -> Ran {
        let path = self.cwd.join(path);
        let ran = match self.tool {
            "cursor" => self.send("beforeReadFile", &json!({"file_path": path, "content": "", "attachments": []})),
            "gemini" => self.before("read_file", &json!({"file_path": path})),
            _ => self.before("Read", &json!({"file_path": path})),
        };
        let wanted = match self.tool {
            "cursor" => "{\"permission\":\"allow\"}\n",
            "gemini" => "{}\n",
            _ => "",
        };
        assert_eq!((ran.code(), ran.out().as_str()), (0, wanted), "a look is never refused: {ran:#?}");
        ran
    }

    /// Makes a change of a file, from the question before it to the news after it.
    #[track_caller]
    pub(crate) fn changes(&self, path: &str, content: &str) {
        self.edits(path);
        std::fs::write(self.cwd.join(path), content).unwrap();
        self.tells_of_its_edit(path);
    }

    #[track_caller]
    pub(crate) fn tells_of_its_edit(&self, path: &str) {
        let input = json!({"tool_input": {"file_path": self.cwd.join(path)}});
        let ran = match self.tool {
            "cursor" => self.send("afterFileEdit", &json!({"file_path": self.cwd.join(path), "edits": []})),
            "gemini" => self.after("write_file", &input),
            _ => self.after("Write", &input),
        };
        assert_eq!((ran.code(), ran.err().as_str()), (0, ""), "{ran:#?}");
    }

    pub(crate) fn try_edit(&self, path: impl AsRef<Path>) -> Ran {
        let path = self.cwd.join(path);
        match self.tool {
            "codex" => self.try_patch(&[path.to_str().unwrap()]),
            "gemini" => self.before("write_file", &json!({"file_path": path, "content": "x"})),
            _ => self.before("Write", &json!({"file_path": path, "content": "x"})),
        }
    }

    pub(crate) fn try_patch(&self, paths: &[&str]) -> Ran {
        let files: String = paths.iter().map(|path| format!("*** Update File: {path}\n@@\n-1\n+2\n")).collect();
        self.before("apply_patch", &json!({"command": format!("*** Begin Patch\n{files}*** End Patch")}))
    }

    #[track_caller]
    pub(crate) fn edits(&self, path: impl AsRef<Path>) {
        let ran = self.try_edit(path);
        assert_eq!((ran.code(), refusal(&ran)), (0, None), "{ran:#?}");
    }

    /// Expects a refusal that says all this.
    #[track_caller]
    pub(crate) fn is_refused(&self, path: impl AsRef<Path>, texts: &[&str]) {
        let ran = self.try_edit(path);
        let reason = refusal(&ran).unwrap_or_else(|| panic!("not refused: {ran:#?}"));
        assert_eq!(ran.code(), 0, "{ran:#?}");
        for text in texts {
            assert!(reason.contains(text), "no {text:?} in {reason}");
        }
    }

    /// Has the tool's shell run this, in the environment that the tool gives it; the command as the hook wants it.
    pub(crate) fn shell(&self, command: &str) -> Ran {
        let (name, environment): (_, &[(&str, &str)]) = match self.tool {
            "claude-code" => ("Bash", &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", &self.session)]),
            "codex" => {
                let thread = self.agent.as_deref().unwrap_or(&self.session);
                ("Bash", &[("CODEX_CI", "1"), ("CODEX_THREAD_ID", thread)])
            }
            "gemini" => ("run_shell_command", &[("GEMINI_CLI", "1")]),
            _ => ("Shell", &[("CURSOR_AGENT", "1"), ("CURSOR_TRACE_ID", "7")]),
        };
        let ran = self.before(name, &json!({"command": command}));
        let told: Value = serde_json::from_slice(&ran.stdout.0).unwrap_or_default();
        let output = &told["hookSpecificOutput"];
        let told = [&output["updatedInput"]["command"], &output["tool_input"]["command"]];
        let command = told.iter().find_map(|told| told.as_str()).unwrap_or(command).to_owned();
        let mut shell = self.sandbox.command("bash", &self.cwd);
        shell.args(["-c", &command]).envs(environment.iter().copied());
        shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        Ran::of(shell)
    }

    /// Commits a change of a file from its shell.
    pub(crate) fn commits(&self, path: &str, as_it_says: &str) -> bool {
        let change = format!("{as_it_says}echo {} >>{path} && git commit -qm x --only {path}", self.owner());
        let ran = self.shell(&change);
        if ran.code() != 0 {
            ran.err_has(&[&format!("cannot commit {path}: held by ")]);
            self.sandbox.git(&self.cwd, &["restore", path]);
        }
        ran.code() == 0
    }

    pub(crate) fn end(&self) {
        let ran = match (self.tool, &self.agent) {
            ("cursor", None) => self.send("sessionEnd", &json!({"reason": "completed"})),
            (_, None) => self.send("SessionEnd", &json!({"reason": "exit"})),
            (_, Some(_)) => self.send("SubagentStop", &json!({"stop_hook_active": false})),
        };
        assert_eq!((ran.code(), ran.err().as_str()), (0, ""), "{ran:#?}");
    }
}

/// Why an edit was refused.
pub(crate) fn refusal(ran: &Ran) -> Option<String> {
    let told: Value = match ran.stdout.0.as_slice() {
        [] => return None,
        bytes => serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {ran:#?}")),
    };
    let like_claude = &told["hookSpecificOutput"];
    let (verdict, reason) = match (&like_claude["permissionDecision"], &told["decision"], &told["permission"]) {
        (Value::String(verdict), ..) => (verdict, &like_claude["permissionDecisionReason"]),
        (_, Value::String(verdict), _) => (verdict, &told["reason"]),
        (.., Value::String(verdict)) => (verdict, &told["agent_message"]),
        _ => return None,
    };
    assert!(verdict == "deny" || verdict == "allow", "{ran:#?}");
    (verdict == "deny").then(|| reason.as_str().expect("a reason").to_owned())
}
