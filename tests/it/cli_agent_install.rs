//! The settings of agent tools: what is put in, that it is what the tools run, and that the rest stays as it was.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::sandbox::{Agent, Sandbox, tree};

const TOOLS: [(&str, &str); 4] = [
    ("claude-code", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("cursor", ".cursor/hooks.json"),
];

fn states(agent: &Agent<'_>) -> Vec<String> {
    let hooks = agent.run(["--json", "agent-hook", "status"]).document().hooks.unwrap();
    hooks
        .into_iter()
        .filter(|hook| hook.state != "absent")
        .map(|hook| format!("{} {}", hook.name, hook.state))
        .collect()
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Every command in a tool's settings.
fn commands(value: &Value) -> Vec<String> {
    match value {
        Value::Object(object) => {
            let own = object.get("command").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(object.values().flat_map(commands)).collect()
        }
        Value::Array(items) => items.iter().flat_map(commands).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn what_is_installed_is_what_the_tool_then_runs_and_it_comes_out_again() {
    for (tool, name) in TOOLS {
        let (sandbox, repo) = Sandbox::with_repo();
        let (agent, file) = (sandbox.nobody(&repo.join("src")), repo.join(name));
        agent.expect(1, ["agent-hook", "status"]).out_has(&["absent"]);
        agent.ok(["agent-hook", "install", tool]).out_has(&["installed in", name]).err_has(&["note: "]);
        let text = fs::read_to_string(&file).unwrap();
        let settings: Value = serde_json::from_str(&text).unwrap();
        assert!(settings["hooks"].as_object().unwrap().len() >= 3, "{text}");
        assert_eq!(settings.get("version"), (tool == "cursor").then_some(&json!(1)));
        let commands = commands(&settings);
        assert!(commands.iter().all(|command| *command == format!("git-agentlock agent-hook {tool}")), "{commands:?}");
        sandbox.agent(&repo, "B").ok(["acquire", "src/a"]);
        let (event, session) = match tool {
            "gemini" => ("BeforeTool", "session_id"),
            "cursor" => ("preToolUse", "conversation_id"),
            _ => ("PreToolUse", "session_id"),
        };
        let (editor, input) = match tool {
            "codex" => ("apply_patch", json!({"command": "*** Begin Patch\n*** Delete File: src/a\n"})),
            "gemini" => ("replace", json!({"file_path": "src/a"})),
            _ => ("Write", json!({"file_path": "src/a"})),
        };
        let entry = settings["hooks"][event].as_array().unwrap().first().unwrap();
        assert!(entry["matcher"].as_str().unwrap().split('|').any(|name| name == editor));
        let matches = |event: &str, name: &str| {
            let matcher = settings["hooks"][event][0]["matcher"].as_str().unwrap_or_default();
            matcher.split('|').any(|word| word == name)
        };
        let tells_what_it_reads = match tool {
            "gemini" => matches("BeforeTool", "read_file") && matches("AfterTool", "read_many_files"),
            "cursor" => matches("beforeReadFile", "Read"),
            "codex" => matches("PostToolUse", "Bash"),
            _ => matches("PreToolUse", "Read") && matches("PostToolUse", "Write"),
        };
        assert!(tells_what_it_reads, "{text}");
        let payload =
            json!({session: "s", "cwd": repo, "hook_event_name": event, "tool_name": editor, "tool_input": input});
        let script = format!("printf %s '{payload}' | {}", commands[0]);
        let output = sandbox.command("sh", &repo).args(["-c", &script]).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.contains("deny") && told.contains("held by B"), "{tool}: {told} {script}");
        let before = tree(&repo);
        agent.ok(["agent-hook", "install", tool]).out_has(&["already installed"]);
        assert_eq!(states(&agent), [format!("{tool} active")]);
        agent.ok(["agent-hook", "status"]);
        assert_eq!(tree(&repo), before);
        agent.ok(["agent-hook", "uninstall", tool]).out_has(&["removed"]);
        assert!(!file.exists());
        agent.ok(["agent-hook", "uninstall", tool]).out_has(&["nothing to uninstall"]);
    }
}

#[test]
fn not_a_byte_of_what_is_there_changes_nor_its_mode_nor_a_link() {
    let theirs = "{\n    \"model\": \"opus\",\n    \"permissions\": { \"allow\": [\"Bash(ls)\"] },\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\"matcher\": \
                  \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"./check.sh\"}]}\n        ]\n    },\n    \"env\": {\"A\": \"\\u00e9\"}\n}\n";
    let (sandbox, repo) = Sandbox::with_repo();
    let agent = sandbox.nobody(&repo);
    let (real, link) = (repo.join("dotfiles/claude.json"), repo.join(".claude/settings.json"));
    write(&real, theirs);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(repo.join(".claude")).unwrap();
    symlink("../dotfiles/claude.json", &link).unwrap();
    agent.ok(["agent-hook", "install", "claude-code"]);
    let with = fs::read_to_string(&real).unwrap();
    for line in theirs.lines().filter(|line| !line.contains("./check.sh")) {
        assert!(with.contains(line), "{line} in {with}");
    }
    let settings: Value = serde_json::from_str(&with).unwrap();
    let before = &settings["hooks"]["PreToolUse"];
    assert_eq!(before[0]["hooks"][0]["command"], "./check.sh", "theirs runs first, as before");
    assert_eq!(before[1]["hooks"][0]["command"], "git-agentlock agent-hook claude-code");
    // An older version of ours, wherever the program was, is brought up to date.
    fs::write(&real, with.replace("git-agentlock agent-hook", "/old/git-agentlock agent-hook")).unwrap();
    assert_eq!(states(&agent), ["claude-code edited"]);
    agent.ok(["agent-hook", "install", "claude-code"]).out_has(&["brought up to date"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), with);
    agent.ok(["agent-hook", "uninstall", "claude-code"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), theirs);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o7777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(repo.join("dotfiles")).unwrap().count(), 1, "nothing is left behind");
}

/// What was installed before there were events for reading: each event with its matcher.
const EARLIER: [(&str, &[(&str, &str)]); 4] = [
    (
        "claude-code",
        &[
            ("PreToolUse", "Edit|MultiEdit|Write|NotebookEdit|Bash"),
            ("SessionStart", ""),
            ("SessionEnd", ""),
            ("SubagentStop", ""),
        ],
    ),
    ("codex", &[("PreToolUse", "apply_patch|Edit|Write|Bash"), ("SessionStart", ""), ("SubagentStop", "")]),
    (
        "gemini",
        &[
            ("BeforeTool", "write_file|replace|edit|smart_edit|run_shell_command"),
            ("SessionStart", ""),
            ("SessionEnd", ""),
        ],
    ),
    (
        "cursor",
        &[
            ("preToolUse", "Write|Edit|MultiEdit|StrReplace|Delete|ApplyPatch|EditNotebook|NotebookEdit"),
            ("sessionStart", ""),
            ("sessionEnd", ""),
            ("subagentStop", ""),
        ],
    ),
];

#[test]
fn settings_of_the_earlier_version_are_known_and_brought_up_to_date() {
    for ((tool, name), (_, events)) in TOOLS.into_iter().zip(EARLIER) {
        let (sandbox, repo) = Sandbox::with_repo();
        let (agent, file) = (sandbox.nobody(&repo), repo.join(name));
        agent.ok(["agent-hook", "install", tool]);
        let fresh: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let entry = |event: &str, matcher: &str| {
            let mut entry = fresh["hooks"][event][0].clone();
            if !matcher.is_empty() {
                entry["matcher"] = matcher.into();
            }
            json!([entry])
        };
        let hooks: serde_json::Map<String, Value> =
            events.iter().map(|(event, matcher)| ((*event).to_owned(), entry(event, matcher))).collect();
        let theirs = json!({"a": [1, 2], "version": 1});
        let mut earlier = theirs.clone();
        earlier["hooks"] = Value::Object(hooks);
        write(&file, &serde_json::to_string_pretty(&earlier).unwrap());
        assert_eq!(states(&agent), [format!("{tool} edited")]);
        agent.ok(["agent-hook", "install", tool]).out_has(&["brought up to date"]);
        let after: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((&after["hooks"], &after["a"]), (&fresh["hooks"], &theirs["a"]));
        assert_eq!(states(&agent), [format!("{tool} active")]);
        agent.ok(["agent-hook", "uninstall", tool]);
        assert_eq!(serde_json::from_str::<Value>(&fs::read_to_string(&file).unwrap()).unwrap(), theirs);
    }
}

/// What may be in a settings file before there is anything of ours, or next to nothing.
const BARE: [&str; 16] = [
    "",
    "{}",
    "{}\n",
    "{ }\n",
    "{\n}\n",
    "{\r\n}\r\n",
    "{\"hooks\":{}}",
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": {\n  }\n}\n",
    "{\"version\":1}",
    "{\n  \"version\": 1\n}\n",
    "{\n  \"version\": 1,\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": {},\n  \"version\": 1\n}\n",
    "{\"hooks\":{\"EVENT\":[/* keep me */]}}",
    "{\n  \"hooks\": {\n    \"EVENT\": [ /* keep me */ ] // and me\n  }\n}\n",
    "{\n  \"hooks\": {\n    // keep me\n    \"EVENT\": []\n  }\n}\n",
];

#[test]
fn a_file_that_was_there_is_there_again_after_uninstall_with_all_that_was_in_it() {
    for (tool, name) in TOOLS {
        let (sandbox, repo) = Sandbox::with_repo();
        let (agent, file) = (sandbox.nobody(&repo), repo.join(name));
        let event = match tool {
            "gemini" => "BeforeTool",
            "cursor" => "preToolUse",
            _ => "PreToolUse",
        };
        for before in BARE {
            let before = before.replace("EVENT", event);
            write(&file, &before);
            agent.ok(["agent-hook", "install", tool]);
            assert_eq!(states(&agent), [format!("{tool} active")]);
            agent.ok(["agent-hook", "install", tool]).out_has(&["already installed"]);
            agent.ok(["agent-hook", "uninstall", tool]).out_has(&["removed from"]);
            assert_eq!(fs::read_to_string(&file).ok(), Some(before), "{tool}");
        }
    }
}

#[test]
fn a_hook_that_somebody_has_put_beside_ours_stays_and_ours_is_not_put_in_twice() {
    let theirs = r#"{"type": "command", "command": "my-linter"}"#;
    for (tool, name) in TOOLS.into_iter().filter(|(tool, _)| *tool != "cursor") {
        let (sandbox, repo) = Sandbox::with_repo();
        let (agent, file) = (sandbox.nobody(&repo), repo.join(name));
        let ours = format!("git-agentlock agent-hook {tool}");
        agent.ok(["agent-hook", "install", tool]);
        let text = fs::read_to_string(&file).unwrap();
        let end = text.find("          }\n        ]").unwrap() + "          }".len();
        let mixed = format!("{},\n          {theirs} // mine{}", &text[..end], &text[end..]);
        fs::write(&file, &mixed).unwrap();
        assert_eq!(states(&agent), [format!("{tool} active")]);
        agent.ok(["agent-hook", "install", tool]).out_has(&["already installed"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), mixed);
        // Of another version, it is replaced, and theirs is where it was.
        fs::write(&file, mixed.replace("git-agentlock agent-hook", "/old/git-agentlock agent-hook")).unwrap();
        assert_eq!(states(&agent), [format!("{tool} edited")]);
        agent.ok(["agent-hook", "install", tool]).out_has(&["brought up to date"]);
        let after = fs::read_to_string(&file).unwrap();
        assert_eq!(after.matches(&ours).count(), text.matches(&ours).count(), "{after}");
        assert!(
            after.contains(&format!("[\n          {theirs} // mine\n        ]")) && !after.contains("/old/"),
            "{after}"
        );
        for with in [&mixed, &after] {
            fs::write(&file, with).unwrap();
            agent.ok(["agent-hook", "uninstall", tool]).out_has(&["removed from"]);
            let left = fs::read_to_string(&file).unwrap();
            let start = text[..end].rfind("          {\n").unwrap();
            let head = format!("{}          {theirs} // mine\n        ]", &text[..start]);
            assert!(left.starts_with(&head) && !left.contains("agentlock agent-hook"), "{left}");
        }
    }
}

#[test]
fn settings_that_are_no_json_are_refused_and_left_alone() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (agent, file) = (sandbox.nobody(&repo), repo.join(".gemini/settings.json"));
    for text in ["{\"a\": 1,}", "not json", "[]", "{\"hooks\": []}", "{\"hooks\": {\"BeforeTool\": 7}}"] {
        write(&file, text);
        let ran = agent.expect(4, ["agent-hook", "install", "gemini"]);
        ran.err_has(&[".gemini/settings.json cannot be edited", "hint: "]);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
    agent.expect(4, ["agent-hook", "install", "gemini"]).err_has(&["not UTF-8"]);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    agent.expect(4, ["agent-hook", "uninstall", "gemini"]).err_has(&["not a regular file"]);
    agent.expect(1, ["agent-hook", "status"]).out_has(&["inert"]);
}

#[test]
fn a_dry_run_prints_what_would_be_and_changes_nothing() {
    let (sandbox, repo) = Sandbox::with_repo();
    let agent = sandbox.nobody(&repo);
    let before = tree(&repo);
    let told = agent.ok(["agent-hook", "install", "cursor", "--dry-run"]).out();
    assert_eq!(tree(&repo), before);
    agent.ok(["agent-hook", "install", "cursor"]);
    assert_eq!(fs::read_to_string(repo.join(".cursor/hooks.json")).unwrap(), told);
    agent.ok(["agent-hook", "uninstall", "cursor", "--dry-run"]).err_has(&["would be removed"]);
    assert!(repo.join(".cursor/hooks.json").exists());
}

#[test]
fn the_settings_of_the_user_are_where_the_tool_looks_for_them() {
    let (sandbox, repo) = Sandbox::with_repo();
    let elsewhere = sandbox.root().join("elsewhere");
    let agent = sandbox.nobody(&repo);
    for (tool, name) in TOOLS {
        agent.ok(["agent-hook", "install", tool, "--user"]);
        let text = fs::read_to_string(sandbox.home().join(name)).unwrap();
        assert!(
            commands(&serde_json::from_str(&text).unwrap())[0].starts_with('/'),
            "what is started from a desktop has another PATH"
        );
        assert!(!repo.join(name).exists());
    }
    assert_eq!(states(&agent), TOOLS.map(|(tool, _)| format!("{tool} active")));
    for (tool, variable, name) in
        [("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"), ("codex", "CODEX_HOME", "hooks.json")]
    {
        agent.env(variable, &elsewhere).ok(["agent-hook", "install", tool, "--user"]);
        assert!(elsewhere.join(name).exists());
    }
    let outside: PathBuf = sandbox.root().join("tmp");
    let agent = sandbox.nobody(&outside);
    agent.ok(["agent-hook", "uninstall", "gemini", "--user"]);
    agent.expect(4, ["agent-hook", "install", "gemini"]).err_has(&["not in a git repository"]);
    agent.env("HOME", "").expect(4, ["agent-hook", "install", "gemini", "--user"]).err_has(&["HOME"]);
    agent
        .expect(2, ["agent-hook", "install", "windsurf"])
        .err_has(&["'windsurf'", "claude-code, codex, gemini, cursor"]);
    agent.expect(2, ["agent-hook", "install", "codex", "--user", "--project"]);
    agent.expect(2, ["agent-hook", "claude-code", "install"]);
}

#[test]
fn instructions_are_printed_or_kept_up_to_date_in_a_file() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (agent, file) = (sandbox.nobody(&repo), repo.join("AGENTS.md"));
    let text = agent.ok(["instructions"]).out();
    for word in ["acquire", "renew --all", "release --all", "AGENTLOCK_OWNER", "--wait", "agent-hook status"] {
        assert!(text.contains(word), "{word}");
    }
    fs::write(&file, "# Ours\n").unwrap();
    agent.ok(["instructions", "--write", "AGENTS.md"]).out_has(&["written into"]);
    let with = fs::read_to_string(&file).unwrap();
    assert!(with.starts_with("# Ours\n\n<!-- git-agentlock begin") && with.contains(text.trim()));
    let before = tree(&repo);
    agent.ok(["instructions", "--write", "AGENTS.md"]).out_has(&["already in"]);
    assert_eq!(tree(&repo), before);
    fs::write(&file, with.replace("release --all", "old words") + "## More\n").unwrap();
    agent.ok(["instructions", "--write", "AGENTS.md"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), with.clone() + "## More\n");
    fs::write(&file, with.split("<!-- git-agentlock end").next().unwrap()).unwrap();
    agent.expect(4, ["instructions", "--write", "AGENTS.md"]).err_has(&["not their end"]);
    agent.cd("src").ok(["instructions", "--write", "new/CLAUDE.md"]);
    assert!(repo.join("src/new/CLAUDE.md").exists());
}
