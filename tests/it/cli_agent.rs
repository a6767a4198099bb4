//! Sessions of agent tools, as rows of the payloads that the tools send: who edits, who is refused, who commits, and what is left at the end.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    agent_session::{Session, TOOLS, refusal},
    sandbox::{Sandbox, records, store_of},
};

#[test]
fn two_sessions_never_edit_one_file_and_the_second_is_told_all_it_needs() {
    for tool in TOOLS {
        let (sandbox, repo) = Sandbox::with_repo();
        let (one, two) = (Session::new(&sandbox, &repo, tool, "s-1"), Session::new(&sandbox, &repo, tool, "s-2"));
        one.edits("src/a");
        one.edits("src/a");
        let wait = format!("git agentlock acquire --wait 90s --owner '{tool}:s-2' -- '{}/src/a'", repo.display());
        let texts = [&format!("src/a: held by {tool}:s-1 since "), " until ", "s left)", "read the file anew", &wait];
        two.is_refused("src/a", &texts);
        two.edits("src/b");
        one.end();
        two.edits("src/a");
        assert_eq!(sandbox.nobody(&repo).listed(), [format!("src/a {tool}:s-2"), format!("src/b {tool}:s-2")]);
        two.end();
        assert!(records(&store_of(&repo.join(".git"))).is_empty(), "{tool}");
    }
}

#[test]
fn an_edit_prolongs_the_lease_of_the_one_before_and_keeps_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let session = Session::new(&sandbox, &repo, "claude-code", "s");
    let lease = || sandbox.nobody(&repo).json(0, ["list"]).leases.remove(0);
    session.edits("src/a");
    let first = lease();
    session.edits("src/a");
    let again = lease();
    assert_eq!((again.token, &again.acquired_at), (first.token, &first.acquired_at));
    assert!(again.renewed_at > first.renewed_at && again.expires_at > first.expires_at, "{again:?}");
    session.send("PostToolUse", &json!({"tool_name": "Write", "tool_input": {"file_path": repo.join("src/a")}}));
    session.send("Stop", &json!({}));
    assert_eq!(lease().token, first.token, "not one edit but the work is protected");
}

#[test]
fn a_sub_agent_commits_what_it_edits_and_not_what_its_siblings_do() {
    for tool in ["claude-code", "codex"] {
        let (sandbox, repo) = Sandbox::guarded();
        let session = Session::new(&sandbox, &repo, tool, "s");
        let (x, y) = (session.sub_agent("agent-x"), session.sub_agent("agent-y"));
        x.edits("src/a");
        y.is_refused("src/a", &[&format!("held by {tool}:s/agent-x since")]);
        session.is_refused("src/a", &[&format!("{tool}:s/agent-x is a sub-agent of yours")]);
        session.edits("src/b");
        x.is_refused("src/b", &[&format!("{tool}:s is the session that started you")]);
        assert!(x.commits("src/a", ""), "{tool}");
        assert!(!y.commits("src/a", ""), "{tool}: a sibling");
        assert!(session.commits("src/a", ""), "{tool}: kin");
        assert!(x.commits("src/b", ""), "{tool}: kin");
        let stranger = Session::new(&sandbox, &repo, tool, "other");
        assert!(!stranger.commits("src/a", ""), "{tool}");
        x.end();
        y.edits("src/a");
        assert_eq!(x.shell("git agentlock whoami").out(), format!("{tool}:s/agent-x (from AGENTLOCK_OWNER)\n"));
    }
}

#[test]
fn a_session_commits_what_it_edits_in_the_environment_that_its_tool_gives() {
    for tool in TOOLS {
        let (sandbox, repo) = Sandbox::guarded();
        let (one, two) = (Session::new(&sandbox, &repo, tool, "s-1"), Session::new(&sandbox, &repo, tool, "s-2"));
        // What cannot be done for a shell is told to the model once, as something to begin a command with.
        let told = |session: &Session<'_>| {
            let ran = session
                .send(if tool == "cursor" { "sessionStart" } else { "SessionStart" }, &json!({"source": "startup"}));
            let told: Value = serde_json::from_slice(&ran.stdout.0).unwrap_or_default();
            let words = told["additional_context"].as_str().map(|text| text.split('`').nth(1).unwrap().to_owned());
            words.map(|words| format!("{words}; ")).unwrap_or_default()
        };
        assert_eq!(!told(&one).is_empty(), tool == "cursor");
        one.edits("src/a");
        two.edits("src/b");
        assert!(one.commits("src/a", &told(&one)), "{tool}");
        assert!(!two.commits("src/a", &told(&two)), "{tool}");
        assert!(two.commits("src/b", &told(&two)), "{tool}");
    }
}

#[test]
fn a_session_that_ends_gives_back_its_own_and_its_sub_agents_leases_and_no_others() {
    let (sandbox, repo) = Sandbox::with_repo();
    let session = Session::new(&sandbox, &repo, "claude-code", "s");
    let names = ["a", "b", "c", "d", "e"];
    let sub_agent = session.sub_agent("x");
    for (who, name) in [&session, &sub_agent, &session.sub_agent("y")].into_iter().zip(names) {
        who.edits(format!("new/{name}"));
    }
    Session::new(&sandbox, &repo, "claude-code", "s2").edits("new/d");
    Session::new(&sandbox, &repo, "codex", "s").edits("new/e");
    sub_agent.end();
    let held = || sandbox.nobody(&repo).listed();
    let others = ["new/d claude-code:s2", "new/e codex:s"];
    assert_eq!(held(), [&["new/a claude-code:s", "new/c claude-code:s/y"][..], &others].concat());
    session.end();
    assert_eq!(held(), others);
    session.end();
    assert_eq!(held(), others);
}

#[test]
fn the_name_in_the_environment_of_the_tool_comes_first() {
    let (sandbox, repo) = Sandbox::guarded();
    let named = Session::new(&sandbox, &repo, "gemini", "s").env("AGENTLOCK_OWNER", "me");
    named.edits("src/a");
    named.sub_agent("x").edits("src/b");
    assert_eq!(sandbox.nobody(&repo).listed(), ["src/a me", "src/b me/x"]);
    let ran = named.before("run_shell_command", &json!({"command": "git commit"}));
    assert_eq!(ran.out(), "{}\n", "its shells have the name already");
    named.end();
    assert!(sandbox.nobody(&repo).listed().is_empty());
}

#[test]
fn an_edit_of_several_files_takes_all_or_none() {
    let (sandbox, repo) = Sandbox::with_repo();
    let other = sandbox.repo("other");
    let session = Session::new(&sandbox, &repo, "codex", "s");
    sandbox.agent(&repo, "B").ok(["acquire", "src/b"]);
    let far = other.join("src/a");
    let ran = session.try_patch(&["src/a", "src/b", far.to_str().unwrap()]);
    assert!(refusal(&ran).is_some_and(|reason| reason.contains("none of the files was changed")), "{ran:#?}");
    assert_eq!(sandbox.nobody(&repo).listed(), ["src/b B"]);
    // Two repositories have two stores: what the first has granted is taken back when the second refuses.
    session.edits(repo.join("src/a"));
    sandbox.agent(&repo, "B").ok(["release", "--all"]);
    sandbox.agent(&other, "B").ok(["acquire", "src/a"]);
    let ran = session.try_patch(&["src/a", "src/b", far.to_str().unwrap()]);
    assert!(refusal(&ran).is_some_and(|reason| reason.contains("held by B")), "{ran:#?}");
    assert_eq!(sandbox.nobody(&repo).listed(), ["src/a codex:s"], "what was held before stays");
    sandbox.agent(&other, "B").ok(["release", "--all"]);
    assert_eq!(refusal(&session.try_patch(&["src/a", "src/b", far.to_str().unwrap()])), None);
    assert_eq!(sandbox.nobody(&other).listed(), ["src/a codex:s"]);
}

#[test]
fn a_hook_whose_own_directory_is_gone_works_where_the_tool_says() {
    let (sandbox, repo) = Sandbox::with_repo();
    let gone = sandbox.root().join("gone");
    fs::create_dir(&gone).unwrap();
    let payload = json!({"session_id": "s", "cwd": repo, "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "src/a"}});
    let script = format!("rmdir '{}'; printf %s '{payload}' | git-agentlock agent-hook claude-code", gone.display());
    let output = sandbox.command("sh", &gone).args(["-c", &script]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0));
    assert_eq!(sandbox.nobody(&repo).listed(), ["src/a claude-code:s"]);
    // Who does not say where, speaks from where the hook runs.
    let payload = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "b"}});
    let hook = sandbox.nobody(sandbox.root()).stdin(payload.to_string());
    assert_eq!(hook.ok(["-C", "r/src", "agent-hook", "claude-code"]).out(), "");
    assert_eq!(sandbox.nobody(&repo).listed(), ["src/a claude-code:s", "src/b claude-code:s"]);
    let payload = json!({"session_id": "s", "hook_event_name": "SessionEnd"});
    sandbox.nobody(&repo).stdin(payload.to_string()).ok(["agent-hook", "claude-code"]);
    assert!(sandbox.nobody(&repo).listed().is_empty());
}

/// Makes the store of a repository one that cannot be used.
fn break_store(repo: &Path) {
    let store = store_of(&repo.join(".git"));
    let _ = fs::remove_dir_all(&store);
    fs::create_dir_all(store.parent().unwrap()).unwrap();
    fs::write(&store, "not a directory").unwrap();
}

#[test]
fn when_it_cannot_be_told_who_holds_a_file_the_policy_decides() {
    let (sandbox, repo) = Sandbox::with_repo();
    let session = Session::new(&sandbox, &repo, "claude-code", "s");
    let policy = |text: &str| fs::write(repo.join(".git/agentlock.toml"), text).unwrap();
    session.edits("src/a");
    break_store(&repo);
    session.is_refused("src/a", &["cannot tell who holds", "agent.on-error", "the edit was refused"]);
    policy("[agent]\non-error = \"allow\"\n");
    let ran = session.try_edit("src/a");
    let told: Value = serde_json::from_slice(&ran.stdout.0).unwrap();
    assert!(told["systemMessage"].as_str().is_some_and(|text| text.contains("let through without a lock")), "{ran:#?}");
    assert_eq!((ran.code(), refusal(&ran)), (0, None));
    ran.err_has(&["warning: git agentlock cannot tell who holds"]);
    policy("[agent]\non-error = \"block\"\n");
    session.is_refused("src/a", &["cannot tell who holds"]);
    session.edits(sandbox.root().join("elsewhere"));
}

#[test]
fn a_record_that_cannot_be_read_counts_as_held_unless_the_policy_wants_it_otherwise() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (one, two) =
        (Session::new(&sandbox, &repo, "claude-code", "s"), Session::new(&sandbox, &repo, "claude-code", "s2"));
    one.edits("src/a");
    fs::write(&records(&store_of(&repo.join(".git")))[0], "noise").unwrap();
    two.is_refused(
        "src/a",
        &["cannot tell who holds", "unknown owner", "git agentlock doctor", "the edit was refused"],
    );
    two.edits("src/b");
    fs::write(repo.join(".git/agentlock.toml"), "[agent]\non-error = \"allow\"\n").unwrap();
    let ran = two.try_edit("src/a");
    assert_eq!((ran.code(), refusal(&ran)), (0, None));
    ran.err_has(&["let through without a lock"]);
}

#[test]
fn a_bad_policy_refuses_edits_only_where_leases_are_kept() {
    let (sandbox, repo) = Sandbox::with_repo();
    let session = Session::new(&sandbox, &repo, "gemini", "s");
    fs::write(repo.join(".agentlock.toml"), "[ttl]\ndefualt = \"5m\"\n").unwrap();
    let ran = session.try_edit("src/a");
    assert_eq!((ran.code(), refusal(&ran)), (0, None));
    ran.err_has(&["warning: git agentlock cannot tell", ".agentlock.toml", "let through without a lock"]);
    assert!(!store_of(&repo.join(".git")).exists());
    fs::remove_file(repo.join(".agentlock.toml")).unwrap();
    sandbox.agent(&repo, "B").ok(["acquire", "src/b"]);
    fs::write(repo.join(".agentlock.toml"), "[ttl]\ndefualt = \"5m\"\n").unwrap();
    session.is_refused("src/a", &[".agentlock.toml", "defualt"]);
    let relative = session.env("AGENT_REGISTRY_LOCK_DIR", "locks");
    relative.is_refused("src/a", &["AGENT_REGISTRY_LOCK_DIR", "not an absolute path"]);
    let control = Session::new(&sandbox, &repo, "gemini", "s").env("AGENTLOCK_OWNER", "a\tb");
    control.is_refused("src/a", &["the owner from AGENTLOCK_OWNER cannot be used"]);
}

#[test]
fn a_refusal_that_cannot_be_printed_still_refuses() {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.agent(&repo, "B").ok(["acquire", "src/a"]);
    let payload = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "src/a"}});
    let script = format!("printf %s '{payload}' | git-agentlock agent-hook claude-code >/dev/full");
    let output = sandbox.command("sh", &repo).args(["-c", &script]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("src/a: held by B"), "{told}");
}

#[test]
fn the_shells_of_a_session_are_given_its_name_once() {
    let (sandbox, repo) = Sandbox::with_repo();
    for (tool, variable) in
        [("claude-code", "CLAUDE_ENV_FILE"), ("codex", "CODEX_ENV_FILE"), ("codex", "CLAUDE_ENV_FILE")]
    {
        let file = sandbox.root().join("env");
        let session = Session::new(&sandbox, &repo, tool, "it's").env(variable, file.to_str().unwrap());
        let start = |session: &Session<'_>| {
            let ran = session.send("SessionStart", &json!({"source": "startup"}));
            assert_eq!((ran.code(), ran.out().as_str(), ran.err().as_str()), (0, "", ""), "{ran:#?}");
        };
        start(&session.env("AGENTLOCK_OWNER", "me"));
        assert!(!file.exists(), "it reaches the shells by itself");
        fs::write(&file, "export X=1").unwrap();
        start(&session);
        start(&session);
        let name = format!("'{tool}:it'\\''s'");
        let line = format!("export AGENTLOCK_OWNER={name} AGENTLOCK_HOOK_OWNER={name}\n");
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("export X=1\n{line}"));
        // Where one file serves several sessions, the last one's line counts.
        let other = Session::new(&sandbox, &repo, tool, "other").env(variable, file.to_str().unwrap());
        start(&other);
        start(&session);
        assert!(fs::read_to_string(&file).unwrap().ends_with(&format!(":other'\n{line}")));
        let script = format!(". '{}'; git agentlock whoami", file.display());
        let output = sandbox.command("sh", &repo).args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{tool}:it's (from AGENTLOCK_OWNER)\n"));
        fs::remove_file(&file).unwrap();
        let unwritable = session.env(variable, "/nonexistent/env").send("SessionStart", &json!({}));
        assert_eq!(unwritable.code(), 0);
        unwritable.err_has(&["warning: AGENTLOCK_OWNER cannot be written to /nonexistent/env"]);
    }
}

/// A tool that is started from a shell of another one's, or of its own, finds the other's name in its environment.
#[test]
fn an_agent_that_is_started_from_an_agents_shell_does_not_end_what_that_one_holds() {
    for (outer, inner) in [("claude-code", "claude-code"), ("claude-code", "codex"), ("gemini", "claude-code")] {
        let (sandbox, repo) = Sandbox::guarded();
        let parent = Session::new(&sandbox, &repo, outer, "p");
        let name = format!("{outer}:p");
        let nested = |id: &str| {
            let session = Session::new(&sandbox, &repo, inner, id);
            session.env("AGENTLOCK_OWNER", &name).env("AGENTLOCK_HOOK_OWNER", &name)
        };
        parent.edits("src/a");
        let (one, two) = (nested("n1"), nested("n2"));
        one.edits("src/b");
        two.is_refused("src/b", &[&format!("held by {outer}:p/{inner}:n1 since")]);
        assert!(parent.commits("src/b", &format!("export AGENTLOCK_OWNER={name}; ")), "kin");
        one.end();
        two.end();
        assert_eq!(sandbox.nobody(&repo).listed(), [format!("src/a {name}")], "{outer}, {inner}");
        // What a person has named is so named.
        let named = Session::new(&sandbox, &repo, inner, "n3").env("AGENTLOCK_OWNER", "me");
        named.env("AGENTLOCK_HOOK_OWNER", &name).edits("src/b");
        assert_eq!(sandbox.nobody(&repo).holder_of("src/b").as_deref(), Some("me"));
    }
}

#[test]
fn an_agent_in_a_run_does_not_give_back_what_that_holds_for_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let me = sandbox.agent(&repo, "me");
    let payload = json!({"session_id": "s", "cwd": repo, "hook_event_name": "SessionEnd"});
    let script = format!(
        "git agentlock acquire -q src/b && printf '%s' '{payload}' | git agentlock agent-hook claude-code && git agentlock list -z | tr '\\0' '\\n' | cut -f 7"
    );
    let ran = me.ok(["run", "src/a", "--", "sh", "-c", &script]);
    assert_eq!((ran.out().as_str(), ran.err().as_str()), ("src/a\n", ""), "{ran:#?}");
    assert_eq!(me.listed(), [""; 0]);
}

#[test]
fn a_session_of_several_roots_gives_back_in_all_of_them() {
    let (sandbox, repo) = Sandbox::with_repo();
    let other = sandbox.repo("other");
    let session = Session::new(&sandbox, &repo, "cursor", "s");
    session.edits("src/a");
    session.edits(other.join("src/a"));
    assert_eq!(sandbox.nobody(&other).listed(), ["src/a cursor:s"]);
    session.send("sessionEnd", &json!({"workspace_roots": [repo, other]}));
    for place in [&repo, &other] {
        assert_eq!(sandbox.nobody(place).listed(), [""; 0]);
    }
}

#[test]
fn what_a_document_holds_beyond_reason_is_let_through() {
    let (sandbox, repo) = Sandbox::with_repo();
    let session = Session::new(&sandbox, &repo, "claude-code", "s");
    let content = "x".repeat(10 << 20);
    let big = session.before("Write", &json!({"file_path": repo.join("src/a"), "content": content}));
    assert_eq!((big.code(), big.err().as_str()), (0, ""));
    assert_eq!(sandbox.nobody(&repo).listed(), ["src/a claude-code:s"]);
    let huge = sandbox.nobody(&repo).stdin(vec![b' '; (16 << 20) + 100_000]).run(["agent-hook", "claude-code"]);
    assert_eq!(huge.code(), 0);
    huge.err_has(&["more than 16 MiB", "let through"]);
}

#[test]
fn nothing_but_the_answer_is_on_stdout() {
    let (sandbox, repo) = Sandbox::with_repo();
    let agent = sandbox.nobody(&repo).stdin("{}");
    assert_eq!(agent.ok(["--quiet", "agent-hook", "cursor"]).out(), "{}\n", "it is waited for");
    assert_eq!(agent.ok(["agent-hook", "claude-code"]).out(), "");
    let nobody = sandbox.nobody(&repo);
    nobody.expect(2, ["--json", "agent-hook", "claude-code"]);
    nobody.expect(2, ["agent-hook"]).err_has(&["no agent tool was named", "claude-code"]);
}

#[test]
fn sessions_that_edit_the_same_files_at_once_take_turns_and_leave_nothing_behind() {
    edit_the_same_files_at_once(Duration::ZERO);
}

#[test]
#[ignore = "needs a minute"]
fn sessions_that_edit_the_same_files_for_a_minute_take_turns_and_leave_nothing_behind() {
    edit_the_same_files_at_once(Duration::from_secs(60));
}

/// Two sessions edit every file once a round, one from each end, and go on with another round until the time is over.
fn edit_the_same_files_at_once(time: Duration) {
    const FILES: usize = 20;
    let (sandbox, repo) = Sandbox::with_repo();
    let started = Instant::now();
    let editing: Mutex<HashMap<String, String>> = Mutex::default();
    let round = |session: &Session<'_>, round: usize, backwards: bool| {
        let mut todo: Vec<String> = (0..FILES).map(|n| format!("src/f{n}")).collect();
        if backwards {
            todo.reverse();
        }
        while !todo.is_empty() {
            let mut mine = Vec::new();
            todo.retain(|path| {
                let ran = session.try_edit(path);
                if refusal(&ran).is_some() {
                    return true;
                }
                assert_eq!(ran.code(), 0, "{ran:#?}");
                let before = editing.lock().unwrap().insert(path.clone(), session.owner());
                assert!(before.is_none(), "{path} is edited by {before:?} and {}", session.owner());
                let file = repo.join(path);
                let text = fs::read_to_string(&file).unwrap_or_default();
                fs::write(&file, format!("{text}{} {round}\n", session.owner())).unwrap();
                mine.push(path.clone());
                false
            });
            let mut editing = editing.lock().unwrap();
            mine.iter().for_each(|path| drop(editing.remove(path)));
            drop(editing);
            session.end();
        }
    };
    let run = |tool: &'static str, name: &str, backwards: bool| {
        let session = Session::new(&sandbox, &repo, tool, name);
        let mut rounds = 0;
        while rounds == 0 || started.elapsed() < time {
            round(&session, rounds, backwards);
            rounds += 1;
        }
        assert!(time.is_zero() || rounds > 1, "there was no second round");
        (0..rounds).map(move |round| format!("{} {round}", session.owner())).collect::<Vec<String>>()
    };
    let mut edits = std::thread::scope(|scope| {
        let one = scope.spawn(|| run("claude-code", "s-1", false));
        let two = scope.spawn(|| run("gemini", "s-2", true));
        [one.join().unwrap(), two.join().unwrap()].concat()
    });
    edits.sort();
    for n in 0..FILES {
        let text = fs::read_to_string(repo.join(format!("src/f{n}"))).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, edits, "every edit happens in the end, and once");
    }
    assert!(sandbox.nobody(&repo).listed().is_empty());
    assert!(records(&store_of(&repo.join(".git"))).is_empty());
}
