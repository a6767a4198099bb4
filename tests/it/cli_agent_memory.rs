//! What a hook remembers between two calls: an agent is told once that a file has changed since it has read it, and keeps its leases while it works.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    agent_session::{Session, refusal},
    sandbox::{Agent, Sandbox, end_of, store_of},
};

/// Those that tell what they read.
const READERS: [&str; 3] = ["claude-code", "gemini", "cursor"];

fn sessions_of(repo: &Path) -> PathBuf {
    store_of(&repo.join(".git")).join("sessions")
}

/// The files in which owners are remembered.
fn remembered(repo: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(sessions_of(repo)).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "session")).collect();
    found.sort();
    found
}

/// Rewrites all that is remembered of owners.
fn rewrite(repo: &Path, change: impl Fn(&mut Value)) {
    for file in remembered(repo) {
        let mut document: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        change(&mut document);
        fs::write(&file, document.to_string()).unwrap();
    }
}

/// Makes all leases that are remembered due, as if they had been taken long ago.
fn make_due(repo: &Path) {
    rewrite(repo, |document| {
        for note in document["notes"].as_array_mut().unwrap() {
            if let Some(kept) = note.get_mut("kept") {
                kept[1] = 0.into();
            }
        }
    });
}

/// Of each lease what it is on, its token, and when it was renewed last.
fn renewals(agent: &Agent<'_>) -> Vec<(String, u64, String)> {
    let leases = agent.json(0, ["list"]).leases.into_iter();
    leases.map(|lease| (lease.resource.path.unwrap(), lease.token, lease.renewed_at)).collect()
}

/// Makes a file look as if it had last been changed so long before now.
fn age(path: &Path, by: Duration) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let changed = file.metadata().unwrap().modified().unwrap();
    file.set_modified(changed - by).unwrap();
}

const A_MINUTE: Duration = Duration::from_secs(60);
const TWO_DAYS: Duration = Duration::from_secs(2 * 86_400);

#[test]
fn an_agent_is_told_once_that_a_file_has_changed_since_it_has_read_it() {
    for tool in READERS {
        let (sandbox, repo) = Sandbox::with_repo();
        let (one, two) = (Session::new(&sandbox, &repo, tool, "s-1"), Session::new(&sandbox, &repo, "codex", "s-2"));
        assert_eq!(one.reads("src/a").err(), "", "where there is no store yet");
        one.reads("src/b");
        two.edits("src/a");
        fs::write(repo.join("src/a"), "two was here\n").unwrap();
        one.is_refused("src/a", &["src/a: held by codex:s-2"]);
        sandbox.agent(&repo, "codex:s-2").ok(["release", "--all"]);
        one.is_refused(
            "src/a",
            &[
                "refuses this edit once (the file was not changed)",
                "src/a has changed since you have read it (of all others, codex:s-2 held it last)",
                "Read it again",
            ],
        );
        assert_eq!(
            sandbox.nobody(&repo).listed(),
            [format!("src/a {tool}:s-1")],
            "nobody changes it while it is read again"
        );
        one.edits("src/a");
        one.edits("src/b");
        // Whoever reads again, as it was told, is not refused at all.
        sandbox.agent(&repo, &format!("{tool}:s-1")).ok(["release", "--all"]);
        fs::write(repo.join("src/a"), "two was here again\n").unwrap();
        one.reads("src/a");
        one.edits("src/a");
        fs::remove_file(repo.join("src/b")).unwrap();
        sandbox.agent(&repo, &format!("{tool}:s-1")).ok(["release", "--all"]);
        one.is_refused("src/b", &["src/b has changed since you have read it"]);
        one.edits("src/b");
    }
}

#[test]
fn the_same_content_is_no_change_whatever_became_of_the_file() {
    let (sandbox, repo) = Sandbox::with_repo();
    let one = Session::new(&sandbox, &repo, "claude-code", "s-1");
    one.reads("src/a");
    let content = fs::read(repo.join("src/a")).unwrap();
    fs::remove_file(repo.join("src/a")).unwrap();
    fs::write(repo.join("src/a"), content).unwrap();
    one.edits("src/a");
}

#[test]
fn its_own_edits_and_what_happens_while_it_holds_a_file_are_its_own_doing() {
    for tool in READERS {
        let (sandbox, repo) = Sandbox::with_repo();
        let one = Session::new(&sandbox, &repo, tool, "s-1");
        one.reads("src/a");
        for n in 0..3 {
            one.changes("src/a", &format!("{n}\n"));
            fs::write(repo.join("src/a"), format!("{n}, formatted\n")).unwrap();
        }
        // A tool that does not tell of its edits, or an edit that has failed.
        for n in 0..3 {
            one.edits("src/a");
            fs::write(repo.join("src/a"), format!("{n} again\n")).unwrap();
        }
        one.tells_of_its_edit("src/a");
        let by_hand = sandbox.agent(&repo, &format!("{tool}:s-1"));
        by_hand.ok(["release", "--all"]);
        one.edits("src/a");
        by_hand.ok(["release", "--all"]);
        fs::write(repo.join("src/a"), "somebody\n").unwrap();
        one.is_refused("src/a", &["has changed since"]);
    }
}

#[test]
fn who_holds_the_directory_above_holds_the_file() {
    let (sandbox, repo) = Sandbox::with_repo();
    let one = Session::new(&sandbox, &repo, "claude-code", "s-1");
    let by_hand = sandbox.agent(&repo, "claude-code:s-1");
    by_hand.ok(["acquire", "src/"]);
    one.reads("src/a");
    fs::write(repo.join("src/a"), "by its own shell\n").unwrap();
    one.edits("src/a");
    by_hand.ok(["release", "src/a"]);
    one.reads("src/a");
    by_hand.ok(["release", "src/"]);
    fs::write(repo.join("src/a"), "by anybody\n").unwrap();
    one.is_refused("src/a", &["has changed since"]);
}

#[test]
fn kin_are_others() {
    let (sandbox, repo) = Sandbox::with_repo();
    let session = Session::new(&sandbox, &repo, "claude-code", "s");
    let sub_agent = session.sub_agent("x");
    session.reads("src/a");
    sub_agent.changes("src/a", "x\n");
    sub_agent.end();
    session.is_refused("src/a", &["claude-code:s/x held it last"]);
    session.changes("src/a", "s\n");
}

#[test]
fn what_was_being_changed_while_many_files_were_read_has_to_be_read_again() {
    let (sandbox, repo) = Sandbox::with_repo();
    let one = Session::new(&sandbox, &repo, "gemini", "s-1");
    let other = sandbox.agent(&repo, "B");
    for (is_settled, is_refused) in [(false, true), (true, false)] {
        other.ok(["acquire", "src/a"]);
        fs::write(repo.join("src/a"), format!("{is_settled}\n")).unwrap();
        if is_settled {
            age(&repo.join("src/a"), A_MINUTE);
        }
        one.after("read_many_files", &json!({"tool_input": {"include": ["src/a"]}}));
        other.ok(["release", "src/a"]);
        assert_eq!(refusal(&one.try_edit("src/a")).is_some(), is_refused);
        sandbox.agent(&repo, "gemini:s-1").ok(["release", "--all"]);
    }
}

#[test]
fn of_several_files_those_are_named_that_have_changed_and_none_is_edited() {
    let (sandbox, repo) = Sandbox::with_repo();
    let other = sandbox.repo("other");
    let one = Session::new(&sandbox, &repo, "claude-code", "s-1");
    let far = other.join("src/a");
    for path in [repo.join("src/a"), repo.join("src/b"), far.clone()] {
        one.reads(path);
    }
    fs::write(repo.join("src/b"), "new\n").unwrap();
    fs::write(&far, "new\n").unwrap();
    let edits =
        json!({"file_path": repo.join("src/a"), "edits": [{"file_path": repo.join("src/b")}, {"file_path": far}]});
    let reason = refusal(&one.before("MultiEdit", &edits)).expect("refused");
    assert!(reason.contains("none of the files was changed") && reason.contains("src/b has changed"), "{reason}");
    assert!(!reason.contains("src/a has changed since you have read it\nsrc/b"), "{reason}");
    assert_eq!(sandbox.nobody(&repo).listed(), ["src/a claude-code:s-1", "src/b claude-code:s-1"]);
    assert_eq!(refusal(&one.before("MultiEdit", &edits)), None, "once");
}

#[test]
fn many_files_that_are_read_at_once_are_all_noted() {
    let (sandbox, repo) = Sandbox::with_repo();
    let one = Session::new(&sandbox, &repo, "gemini", "s-1");
    let heading = format!("--- {}/src/a ---\n\n1\n", repo.display());
    let response = json!({"llmContent": [heading, "\n--- End of content ---"], "returnDisplay": ""});
    let ran = one
        .after("read_many_files", &json!({"tool_input": {"include": ["src/*", "src/b"]}, "tool_response": response}));
    assert_eq!((ran.code(), ran.out().as_str(), ran.err().as_str()), (0, "{}\n", ""));
    for path in ["src/a", "src/b"] {
        fs::write(repo.join(path), "new\n").unwrap();
        one.is_refused(path, &["has changed since"]);
    }
}

#[test]
fn nobody_is_told_to_read_again_where_reads_cannot_be_seen_or_the_policy_does_not_want_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let codex = Session::new(&sandbox, &repo, "codex", "s-1");
    codex.edits("src/a");
    codex.after("apply_patch", &json!({"tool_input": {"command": "*** Begin Patch\n*** Update File: src/a\n"}}));
    sandbox.agent(&repo, "codex:s-1").ok(["release", "--all"]);
    fs::write(repo.join("src/a"), "new\n").unwrap();
    codex.edits("src/a");
    sandbox.agent(&repo, "codex:s-1").ok(["release", "--all"]);
    let one = Session::new(&sandbox, &repo, "claude-code", "s-1");
    one.reads("src/a");
    fs::write(repo.join(".agentlock.toml"), "[agent]\nstale-reads = false\n").unwrap();
    fs::write(repo.join("src/a"), "newer\n").unwrap();
    one.edits("src/a");
    fs::remove_file(repo.join(".agentlock.toml")).unwrap();
    one.edits("src/a");
}

#[test]
fn a_look_is_never_in_the_way_whatever_stands_there() {
    for tool in READERS {
        let (sandbox, repo) = Sandbox::with_repo();
        let one = Session::new(&sandbox, &repo, tool, "s-1");
        for quiet in ["src", ".git/config", "../outside", "/etc/hostname", "gone", "new/deep/file"] {
            assert_eq!(one.reads(quiet).err(), "", "{quiet}");
        }
        rustix::fs::mknodat(rustix::fs::CWD, repo.join("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        one.reads("fifo").err_has(&["note: ", "not a regular file"]);
        std::os::unix::fs::symlink("src/a", repo.join("link")).unwrap();
        one.reads("link");
        fs::write(repo.join("src/a"), "new\n").unwrap();
        one.is_refused("link", &["link has changed since", "src/a has changed since"]);
        let large = repo.join("large");
        let file = fs::File::create(&large).unwrap();
        file.set_len(1 << 40).unwrap();
        age(&large, A_MINUTE);
        one.reads("large");
        file.set_len((1 << 40) + 1).unwrap();
        age(&large, A_MINUTE);
        one.is_refused("large", &["has changed since"]);
        one.edits("large");
        fs::write(repo.join(".agentlock.toml"), "[ttl]\ndefualt = \"5m\"\n").unwrap();
        one.reads("src/a");
        fs::remove_file(repo.join(".agentlock.toml")).unwrap();
        let sessions = sessions_of(&repo);
        fs::remove_dir_all(&sessions).unwrap();
        fs::write(&sessions, "not a directory").unwrap();
        one.reads("src/a").err_has(&["note: ", "is not remembered"]);
        let ran = one.try_edit("src/b");
        assert_eq!((ran.code(), refusal(&ran)), (0, None), "{ran:#?}");
    }
}

#[test]
fn a_look_alone_is_no_reason_to_block_an_edit_that_cannot_be_judged() {
    let (sandbox, repo) = Sandbox::with_repo();
    let one = Session::new(&sandbox, &repo, "gemini", "s-1");
    one.reads("src/a");
    fs::write(repo.join(".agentlock.toml"), "[ttl]\ndefualt = \"5m\"\n").unwrap();
    let ran = one.try_edit("src/a");
    assert_eq!((ran.code(), refusal(&ran)), (0, None), "nobody has taken a lease here");
}

/// Adds a line to a file as an agent does: from what it has read, which may have been a while ago.
fn add_a_line(session: &Session<'_>, path: &Path, line: &str) {
    let read = || {
        session.reads(path);
        fs::read_to_string(path).unwrap()
    };
    let mut known = read();
    let mut refused = 0;
    loop {
        match refusal(&session.try_edit(path)) {
            None => break,
            Some(why) if why.contains("has changed since") => known = read(),
            // It does not look again: what it knows gets old.
            Some(why) => assert!(why.contains("held by"), "{why}"),
        }
        refused += 1;
        assert!(refused < 2000, "nobody ever lets it in");
        std::thread::sleep(Duration::from_millis(2));
    }
    fs::write(path, format!("{known}{line}\n")).unwrap();
    session.tells_of_its_edit(path.to_str().unwrap());
}

#[test]
fn nothing_is_undone_by_agents_that_edit_what_they_have_read_a_while_ago() {
    const LINES: usize = 12;
    let (sandbox, repo) = Sandbox::with_repo();
    let path = repo.join("src/a");
    fs::write(&path, "").unwrap();
    let work = |tool: &'static str| {
        let session = Session::new(&sandbox, &repo, tool, "s");
        let by_hand = sandbox.agent(&repo, &session.owner());
        for n in 0..LINES {
            add_a_line(&session, &path, &format!("{tool} {n}"));
            by_hand.ok(["release", "--all"]);
        }
    };
    std::thread::scope(|scope| READERS.into_iter().for_each(|tool| drop(scope.spawn(move || work(tool)))));
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!((lines.len(), text.lines().count()), (3 * LINES, 3 * LINES), "{text}");
}

/// The repository in which an agent works, while it edits in another one.
#[test]
fn an_agent_keeps_its_leases_at_home_while_it_edits_elsewhere() {
    let (sandbox, home) = Sandbox::with_repo();
    let elsewhere = sandbox.repo("elsewhere");
    let one = Session::new(&sandbox, &home, "claude-code", "s-1");
    let look = || renewals(&sandbox.nobody(&home));
    one.edits("src/a");
    let is_renewed = |act: &dyn Fn()| {
        let before = look();
        make_due(&home);
        act();
        assert_ne!(look(), before, "renewed");
    };
    is_renewed(&|| one.edits(elsewhere.join("src/b")));
    is_renewed(&|| drop(one.reads(elsewhere.join("src/b"))));
}

/// To open it would let the one at its other end go on, into nothing.
#[test]
fn a_pipe_is_not_opened_to_look_at_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let one = Session::new(&sandbox, &repo, "claude-code", "s-1");
    assert!(sandbox.command("mkfifo", &repo).arg("pipe").status().unwrap().success());
    let mut writer = sandbox.command("sh", &repo).args(["-c", "echo waited >pipe; touch written"]).spawn().unwrap();
    one.reads("pipe");
    one.try_edit("pipe").err_has(&["pipe cannot be looked at: it is not a regular file"]);
    assert!(writer.try_wait().unwrap().is_none() && !repo.join("written").exists(), "it waits still");
    assert_eq!(fs::read_to_string(repo.join("pipe")).unwrap(), "waited\n");
    assert!(end_of(&mut writer).success());
}

/// The leases are given back before; what is remembered is no reason to keep a tool from ending.
#[test]
fn the_end_of_a_session_waits_no_longer_for_its_memory_than_any_other_call() {
    let (sandbox, repo) = Sandbox::with_repo();
    let one = Session::new(&sandbox, &repo, "claude-code", "s-1");
    one.edits("src/a");
    let mutex = fs::File::options().write(true).open(sessions_of(&repo).join("mutex")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "somebody who does not let it go")]
    mutex.lock().unwrap();
    let ran = one.send("SessionEnd", &json!({"reason": "exit"}));
    mutex.unlock().unwrap();
    ran.err_has(&["was busy for 1 s"]);
    assert_eq!(sandbox.nobody(&repo).listed(), [""; 0]);
}

#[test]
fn an_agent_keeps_its_leases_while_it_works_on_something_else() {
    for tool in crate::agent_session::TOOLS {
        let (sandbox, repo) = Sandbox::with_repo();
        let one = Session::new(&sandbox, &repo, tool, "s-1");
        let look = || renewals(&sandbox.nobody(&repo));
        one.edits("src/a");
        let shell = || match tool {
            "gemini" => one.before("run_shell_command", &json!({"command": "make"})),
            "cursor" => one.before("Shell", &json!({"command": "make"})),
            _ => one.before("Bash", &json!({"command": "make"})),
        };
        let after_shell = || match tool {
            "gemini" => one.after("run_shell_command", &json!({"tool_input": {"command": "make"}})),
            "cursor" => one.send("afterShellExecution", &json!({"command": "make", "output": ""})),
            _ => one.after("Bash", &json!({"tool_input": {"command": "make"}})),
        };
        // Codex reads by its shell.
        let read = || {
            if tool != "codex" {
                one.reads("src/b");
            } else {
                after_shell();
            }
        };
        let steps: [&dyn Fn(); 4] = [&|| drop(shell()), &|| drop(after_shell()), &read, &|| one.edits("src/b")];
        for (n, step) in steps.into_iter().enumerate() {
            let before = look();
            step();
            assert_eq!(look()[0], before[0], "{tool} {n}: not yet due");
            make_due(&repo);
            step();
            assert_eq!((look()[0].1, look()[0].2 > before[0].2), (before[0].1, true), "{tool} {n}: due");
        }
        sandbox.agent(&repo, "B").expect(1, ["acquire", "src/a"]);
        make_due(&repo);
        let before = look();
        Session::new(&sandbox, &repo, tool, "s-2").reads("src/b");
        assert_eq!(look(), before, "{tool}: those of others are not its own");
    }
}

#[test]
fn a_session_is_at_work_while_its_sub_agent_is() {
    let (sandbox, repo) = Sandbox::with_repo();
    let session = Session::new(&sandbox, &repo, "claude-code", "s");
    let (x, y) = (session.sub_agent("x"), session.sub_agent("y"));
    session.edits("src/a");
    y.edits("src/b");
    make_due(&repo);
    let before = renewals(&sandbox.nobody(&repo));
    x.reads("src/c");
    let after = renewals(&sandbox.nobody(&repo));
    assert!(after[0].2 > before[0].2, "the session waits for it");
    assert_eq!(after[1], before[1], "nothing is known of its sibling");
}

#[test]
fn leases_that_were_taken_by_hand_end_when_their_taker_has_said() {
    let (sandbox, repo) = Sandbox::with_repo();
    let one = Session::new(&sandbox, &repo, "claude-code", "s");
    let by_hand = sandbox.agent(&repo, "claude-code:s");
    by_hand.ok(["acquire", "src/b", "--ttl", "30s"]);
    one.edits("src/a");
    // The same owner, and another grant.
    by_hand.ok(["release", "src/a"]);
    by_hand.ok(["acquire", "src/a", "--ttl", "30s"]);
    let before = renewals(&by_hand);
    make_due(&repo);
    one.reads("src/c");
    assert_eq!(renewals(&by_hand), before);
    by_hand.ok(["release", "--all"]);
    one.edits("src/a");
    by_hand.ok(["release", "--all"]);
    make_due(&repo);
    one.reads("src/c");
    assert!(by_hand.listed().is_empty(), "what was given back does not come again");
}

#[test]
fn what_is_remembered_goes_with_the_session_or_by_its_age_and_troubles_nobody() {
    let (sandbox, repo) = Sandbox::with_repo();
    let session = Session::new(&sandbox, &repo, "claude-code", "s");
    let other = Session::new(&sandbox, &repo, "claude-code", "s2");
    let agent = sandbox.nobody(&repo);
    for who in [&session, &session.sub_agent("x"), &other] {
        who.reads("src/a");
    }
    assert!(agent.listed().is_empty());
    agent.ok(["doctor"]);
    agent.ok(["guard"]);
    assert_eq!(remembered(&repo).len(), 3);
    session.sub_agent("x").end();
    assert_eq!(remembered(&repo).len(), 2);
    session.reads("src/a");
    session.end();
    assert_eq!(remembered(&repo).len(), 1);
    session.reads("src/a");
    remembered(&repo).iter().for_each(|path| age(path, TWO_DAYS));
    agent.ok(["prune", "--dry-run"]);
    assert_eq!(remembered(&repo).len(), 2);
    agent.ok(["prune"]);
    assert_eq!(remembered(&repo).len(), 0);
    other.reads("src/a");
    remembered(&repo).iter().for_each(|path| age(path, TWO_DAYS));
    session.reads("src/a");
    assert_eq!(remembered(&repo).len(), 1, "whoever comes anew clears away what is old");
    let sessions = sessions_of(&repo);
    fs::write(sessions.join("theirs"), "x").unwrap();
    fs::write(sessions.join("tmp-0123"), "x").unwrap();
    agent.expect(1, ["doctor"]).out_has(&["sessions/theirs", "sessions/tmp-0123"]);
    agent.run(["doctor", "--fix"]);
    assert!(!sessions.join("tmp-0123").exists() && sessions.join("theirs").exists());
}

#[test]
fn noise_in_place_of_what_was_remembered_counts_as_nothing() {
    let (sandbox, repo) = Sandbox::with_repo();
    let one = Session::new(&sandbox, &repo, "claude-code", "s");
    one.reads("src/a");
    let file = remembered(&repo).remove(0);
    let victim = sandbox.root().join("victim");
    fs::write(&victim, "theirs").unwrap();
    let plant: [&dyn Fn(); 4] = [
        &|| fs::write(&file, "").unwrap(),
        &|| fs::write(&file, vec![b'['; 5 << 20]).unwrap(),
        &|| fs::write(&file, "{\"v\":1,\"owner\":\"B\",\"notes\":[]}").unwrap(),
        &|| std::os::unix::fs::symlink(&victim, &file).unwrap(),
    ];
    for plant in plant {
        fs::write(repo.join("src/a"), "old\n").unwrap();
        fs::remove_file(&file).unwrap();
        plant();
        one.edits("src/a");
        sandbox.agent(&repo, "claude-code:s").ok(["release", "--all"]);
        fs::write(repo.join("src/a"), "new\n").unwrap();
        one.is_refused("src/a", &["has changed since"]);
        sandbox.agent(&repo, "claude-code:s").ok(["release", "--all"]);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
    }
}
