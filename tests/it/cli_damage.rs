//! Stores and records that are not as they should be. What cannot be read is not free, and what is not ours is not touched.

use std::{
    fs::{self, File},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::sandbox::{Agent, Sandbox, records, store_of, tree};

/// A repository in which A holds `src/a`, whose record is about to be damaged, and B holds `src/b`.
fn with_record(name: &str) -> (Sandbox, PathBuf, PathBuf) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo(name);
    sandbox.agent(&repo, "A").ok(["acquire", "src/a"]);
    let record = records(&store_of(&repo.join(".git"))).remove(0);
    sandbox.agent(&repo, "B").ok(["acquire", "src/b"]);
    (sandbox, repo, record)
}

/// That everybody says "cannot tell" about `src/a`, that nothing is changed by asking, and that the rest works.
#[track_caller]
fn is_not_free_and_nothing_else_suffers(sandbox: &Sandbox, repo: &Path, record: &Path, cause: &str) {
    let (a, b) = (sandbox.agent(repo, "A"), sandbox.agent(repo, "B"));
    let before = tree(record);
    let place = record.file_name().unwrap().to_str().unwrap();
    for agent in [&a, &b] {
        for command in ["check", "acquire", "renew", "release"] {
            let ran = agent.expect(4, [command, "src/a"]);
            let told = if command == "check" { ran.out() } else { ran.err() };
            assert!(
                told.contains(place) && told.contains(cause) && told.contains("unknown owner"),
                "{cause}: {ran:#?}"
            );
            assert!(!told.contains(": free"), "{ran:#?}");
            let document = agent.json(4, [command, "src/a"]);
            assert_eq!(document.error.as_ref().unwrap().kind, "damaged");
            let unreadable = document.conflicts[0].unreadable.as_ref().unwrap();
            assert!(unreadable.place.ends_with(place) && unreadable.held_until.is_some(), "{unreadable:?}");
        }
        let listed = agent.expect(4, ["list"]);
        listed.out_has(&["src/b"]).err_has(&[place, cause, "hint: "]);
        let listed = agent.json(4, ["list"]);
        assert_eq!(
            (listed.leases.len(), listed.unreadable.unwrap().len()),
            (1, 1),
            "the others are listed all the same"
        );
    }
    assert_eq!(tree(record), before, "{cause}: not touched");
    // An area cannot know whether it is in there.
    b.expect(4, ["acquire", "other/"]);
    b.expect(4, ["check", "other/"]);
    b.ok(["renew", "src/b"]);
    b.ok(["acquire", "src/c"]);
    b.ok(["release", "src/c"]);
    b.ok(["check", "src/b"]);
}

#[test]
fn a_record_that_cannot_be_used_counts_as_held_by_somebody_unknown() {
    let (sandbox, repo, record) = with_record("r");
    let good = fs::read(&record).unwrap();
    let other = fs::read(records(&store_of(&repo.join(".git"))).iter().find(|path| **path != record).unwrap()).unwrap();
    let text = String::from_utf8(good.clone()).unwrap();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        text.replacen(from, to, 1).into_bytes()
    };
    let damages: Vec<(Vec<u8>, &str)> = vec![
        (Vec::new(), "it is empty"),
        (good[..good.len() / 2].to_vec(), "it is cut off"),
        (good[..good.len() - 1].to_vec(), "it is cut off"),
        ([&good[..], b"{}\n"].concat(), "it is no lease record"),
        (b"null\n".to_vec(), "it is no lease record"),
        (b"[]\n".to_vec(), "it is no lease record"),
        (b"pid 4711\n".to_vec(), "it is no lease record"),
        (vec![0; 512], "it is no lease record"),
        (b"noise".repeat(1_000_000), "it is larger than 65536 bytes"),
        (other, "it is the record of another resource"),
        (with("\"v\":1", "\"v\":2"), "it has format version 2"),
        (with("\"owner\":\"A\"", "\"owner\":\"\""), "its field 'owner' is not valid"),
        (with("\"owner\":\"A\"", "\"owner\":\"\\u001b[2J\""), "its field 'owner' is not valid"),
        (with("\"ttl_ms\":300000", "\"ttl_ms\":18446744073709551615"), "its field 'ttl_ms' is not valid"),
        (with("\"ttl_ms\":300000", "\"ttl_ms\":0"), "its field 'ttl_ms' is not valid"),
        (with("\"ttl_ms\":300000", "\"ttl_ms\":-1"), "it is no lease record"),
        (with("\"expires_at\":\"", "\"expires_at\":\"9"), "its field 'expires_at' is not valid"),
    ];
    for (bytes, cause) in damages {
        fs::write(&record, &bytes).unwrap();
        is_not_free_and_nothing_else_suffers(&sandbox, &repo, &record, cause);
    }
    fs::write(&record, good).unwrap();
    sandbox.agent(&repo, "A").ok(["release", "src/a"]);
}

#[test]
#[ignore = "needs root and setpriv"]
fn what_could_not_be_opened_is_looked_at_once_it_can() {
    let (sandbox, repo, record) = with_record("r");
    let shard = record.parent().unwrap();
    let left = shard.join(format!("tmp-{}", "7".repeat(63)));
    fs::write(&left, "left").unwrap();
    fs::set_permissions(shard, fs::Permissions::from_mode(0o000)).unwrap();
    let a = sandbox.agent(&repo, "A").as_user(1000);
    let findings = a.json(0, ["doctor", "--fix"]).findings.unwrap();
    let told: Vec<_> = findings.iter().map(|finding| (finding.code.as_str(), finding.fixed)).collect();
    assert_eq!(told, [("permissions", true), ("left_over", true)]);
    assert!(!left.exists());
    a.ok(["doctor"]);
}

/// Whoever asks for all of theirs is not told that it is done while one may be left.
#[test]
fn what_cannot_be_read_may_be_one_of_all() {
    let (sandbox, repo, record) = with_record("r");
    let (b, c) = (sandbox.agent(&repo, "B"), sandbox.agent(&repo, "C"));
    let mutex = record.with_file_name("mutex");
    let good = fs::read(&mutex).unwrap();
    fs::write(&record, "garbage").unwrap();
    let all_say = |told: &[&str]| {
        b.expect(4, ["renew", "--all"]).err_has(told).out_has(&["renewed src/b", "1 renewed"]);
        c.expect(4, ["renew", "--all"]).err_has(told);
        c.expect(4, ["prune"]).err_has(told).out_has(&["removed 0"]);
        c.expect(4, ["release", "--all"]).err_has(told).out_has(&["0 released"]);
        assert!(c.json(4, ["release", "--all"]).error.unwrap().message.starts_with("left out: "));
    };
    let place = record.file_name().unwrap().to_str().unwrap();
    all_say(&["error: left out: record ", place, "it is no lease record", "hint: one of the leases that were meant"]);
    c.expect(4, ["prune", "--dry-run"]).err_has(&["left out"]);

    fs::remove_file(&mutex).unwrap();
    fs::create_dir(&mutex).unwrap();
    all_say(&[
        "error: left out: a part of the store: cannot open the mutex ",
        "hint: one of the leases that were meant",
    ]);
    assert_eq!(fs::read(&record).unwrap(), b"garbage");
    fs::remove_dir(&mutex).unwrap();
    fs::write(&mutex, good).unwrap();

    // A record that nobody can hold any more is none of theirs.
    #[expect(clippy::disallowed_methods, reason = "a file time has to be set")]
    let long_ago = SystemTime::now() - Duration::from_secs(3601);
    File::options().write(true).open(&record).unwrap().set_modified(long_ago).unwrap();
    b.ok(["renew", "--all"]);
    b.ok(["release", "--all"]).out_has(&["1 released"]);
    b.ok(["prune"]);
}

#[test]
fn something_else_in_the_place_of_a_record_is_not_free_and_nobody_waits_for_it() {
    let (sandbox, repo, record) = with_record("r");
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    is_not_free_and_nothing_else_suffers(&sandbox, &repo, &record, "it is a directory");
    fs::remove_dir(&record).unwrap();
    assert!(sandbox.command("mkfifo", &repo).arg(&record).status().unwrap().success());
    is_not_free_and_nothing_else_suffers(&sandbox, &repo, &record, "it is a FIFO");
    fs::remove_file(&record).unwrap();
    let victim = sandbox.root().join("victim");
    fs::write(&victim, "mine").unwrap();
    symlink(&victim, &record).unwrap();
    is_not_free_and_nothing_else_suffers(&sandbox, &repo, &record, "it cannot be opened");
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
}

#[test]
fn an_unreadable_record_is_free_when_the_longest_ttl_after_its_file_time_is_over() {
    let (sandbox, repo, record) = with_record("r");
    let b = sandbox.agent(&repo, "B");
    fs::write(&record, "").unwrap();
    b.expect(4, ["acquire", "src/a"]);
    #[expect(clippy::disallowed_methods, reason = "a file time has to be set")]
    let long_ago = SystemTime::now() - Duration::from_secs(3601);
    File::options().write(true).open(&record).unwrap().set_modified(long_ago).unwrap();
    b.ok(["check", "src/a"]).out_has(&["src/a: free"]);
    b.expect(4, ["list"]).err_has(&["it is empty"]);
    b.ok(["acquire", "src/a"]);
    assert_eq!(b.listed(), ["src/a B", "src/b B"]);
}

/// A lease that says it ends later than one TTL from now counts as held; the first refused `acquire` brings it back.
#[test]
fn records_with_absurd_times_neither_panic_nor_hold_for_ever() {
    let (sandbox, repo, record) = with_record("r");
    let b = sandbox.agent(&repo, "B");
    let good = fs::read_to_string(&record).unwrap();
    let value: serde_json::Value = serde_json::from_str(&good).unwrap();
    for (expires, deadline) in [("9999-12-30T00:00:00.000Z", u64::MAX), ("1970-01-01T00:00:00.000Z", u64::MAX)] {
        let mut value = value.clone();
        value["expires_at"] = expires.into();
        if value["boot"].is_object() {
            value["boot"]["deadline_ms"] = deadline.into();
        }
        fs::write(&record, format!("{value}\n")).unwrap();
        for arguments in [&["check", "src/a"][..], &["list"], &["renew", "src/a"], &["--json", "list"]] {
            let ran = b.run(arguments);
            assert!(matches!(ran.code(), 0 | 1), "{ran:#?}");
        }
        if expires.starts_with('9') || value["boot"].is_object() {
            b.expect(1, ["acquire", "src/a"]).err_has(&["held by A"]);
            let left = b.json(1, ["check", "src/a"]).conflicts[0].remaining_ms.unwrap();
            assert!(left <= 300_000, "re-anchored to now plus its TTL: {left}");
        }
    }
    let mut ancient = value.clone();
    ancient["expires_at"] = "-009999-01-01T00:00:00Z".into();
    ancient["boot"] = serde_json::Value::Null;
    fs::write(&record, format!("{ancient}\n")).unwrap();
    for arguments in [&["check", "src/a"][..], &["list"], &["--json", "list"], &["acquire", "src/a"]] {
        assert!(matches!(b.run(arguments).code(), 0 | 4));
    }
}

/// C60: nothing is decided by pid or host.
#[test]
fn a_dead_pid_or_another_host_never_frees_a_live_lease() {
    let (sandbox, repo, record) = with_record("r");
    let b = sandbox.agent(&repo, "B");
    let value: serde_json::Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    for (pid, host) in [(1, "vm"), (0, ""), (u32::MAX, "elsewhere"), (std::process::id(), "vm")] {
        let mut value = value.clone();
        (value["pid"], value["host"]) = (pid.into(), host.into());
        fs::write(&record, format!("{value}\n")).unwrap();
        b.expect(1, ["acquire", "src/a"]).err_has(&["held by A"]);
    }
    let mut rebooted = value.clone();
    rebooted["boot"] = serde_json::json!({"id": "another boot", "deadline_ms": 1});
    fs::write(&record, format!("{rebooted}\n")).unwrap();
    b.expect(1, ["acquire", "src/a"]).err_has(&["held by A"]);
}

#[test]
fn what_another_tool_keeps_in_the_folder_is_never_read_listed_or_moved() {
    let (sandbox, repo) = Sandbox::with_repo();
    let folder = repo.join(".git/agent-locks");
    fs::create_dir_all(folder.join("a")).unwrap();
    fs::write(folder.join("a/x.lock"), "theirs").unwrap();
    fs::write(folder.join("src-a.json"), "{\"owner\":\"them\"}").unwrap();
    fs::write(folder.join("mutex"), "").unwrap();
    let theirs = || -> Vec<String> {
        let mut all = tree(&folder.join("a"));
        all.extend(tree(&folder.join("src-a.json")));
        all.extend(tree(&folder.join("mutex")));
        all
    };
    let before = theirs();
    let a = sandbox.agent(&repo, "A");
    assert!(a.listed().is_empty());
    assert_eq!(a.holder_of("src/a"), None);
    a.ok(["acquire", "src/a"]);
    assert_eq!(a.listed(), ["src/a A"]);
    a.ok(["renew", "src/a"]);
    a.ok(["release", "src/a"]);
    assert_eq!(theirs(), before);
}

#[test]
fn something_that_is_no_directory_where_the_store_wants_to_be_is_named() {
    for place in ["agent-locks", "agent-locks/v1", "agent-locks/v1/link"] {
        let (sandbox, repo) = Sandbox::with_repo();
        let a = sandbox.agent(&repo, "A");
        let place = repo.join(".git").join(place);
        let what = if place.ends_with("link") {
            let v1 = place.parent().unwrap();
            fs::create_dir_all(v1.parent().unwrap()).unwrap();
            symlink(sandbox.root(), v1).unwrap();
            "is a symbolic link"
        } else {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(&place, "theirs").unwrap();
            "is no directory"
        };
        let before = tree(sandbox.root());
        for arguments in
            [&["acquire", "src/a"][..], &["renew", "src/a"], &["release", "src/a"], &["check", "src/a"], &["list"]]
        {
            a.expect(4, arguments).err_has(&[what, "of a lock store", "hint: "]);
            assert_eq!(a.json(4, arguments).error.unwrap().kind, "store");
        }
        assert_eq!(tree(sandbox.root()), before);
    }
}

#[test]
fn a_newer_store_format_beside_ours_is_refused_by_everybody() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "src/a"]);
    for newer in ["v2", "v3"] {
        let place = repo.join(".git/agent-locks").join(newer);
        fs::create_dir(&place).unwrap();
        let before = tree(&repo);
        for arguments in
            [&["acquire", "src/b"][..], &["renew", "src/a"], &["release", "src/a"], &["check", "src/b"], &["list"]]
        {
            a.expect(4, arguments).err_has(&["a newer git-agentlock uses this store", newer, "hint: "]);
            assert_eq!(a.json(4, arguments).error.unwrap().kind, "newer_store");
        }
        assert_eq!(tree(&repo), before);
        fs::remove_dir(&place).unwrap();
    }
    a.ok(["release", "src/a"]);
}

#[test]
fn planted_links_in_place_of_mutexes_and_temp_files_lead_nowhere() {
    let (sandbox, repo, record) = with_record("r");
    let a = sandbox.agent(&repo, "A");
    let store = store_of(&repo.join(".git"));
    let victim = sandbox.root().join("victim");
    fs::write(&victim, "mine").unwrap();
    let shard = record.parent().unwrap();
    for mutex in [store.join("gate"), store.join("mutex"), shard.join("mutex")] {
        let aside = sandbox.root().join("aside");
        fs::rename(&mutex, &aside).unwrap();
        symlink(&victim, &mutex).unwrap();
        a.expect(4, ["acquire", "src/a"]).err_has(&["cannot open the mutex", "hint: no lease was changed"]);
        a.expect(4, ["release", "src/a"]);
        fs::rename(&aside, &mutex).unwrap();
    }
    let temp = shard.join(format!("tmp-{}", record.file_stem().unwrap().to_str().unwrap()));
    symlink(&victim, &temp).unwrap();
    a.ok(["renew", "src/a"]);
    assert!(!temp.exists() && fs::symlink_metadata(&record).unwrap().is_file());
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    assert_eq!(sandbox.agent(&repo, "B").holder_of("src/a").as_deref(), Some("A"));
}

#[test]
fn a_store_that_was_deleted_is_made_anew_and_tokens_still_grow() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    let before = a.json(0, ["acquire", "src/a"]).leases[0].token;
    fs::remove_dir_all(repo.join(".git/agent-locks")).unwrap();
    let after = b.json(0, ["acquire", "src/a"]).leases[0].token;
    assert!(after > before, "{after} is not above {before}");
    a.expect(1, ["renew", "src/a"]).err_has(&["held by B"]);
}

/// C10, C25. With a user's permissions: root may do everything.
fn users<'s>(sandbox: &'s Sandbox, repo: &Path) -> (Agent<'s>, Agent<'s>) {
    let agent = |owner: &str| sandbox.agent(repo, owner).as_user(1000);
    (agent("A"), agent("B"))
}

#[test]
#[ignore = "needs root and setpriv"]
fn what_may_not_be_read_is_not_free() {
    let (sandbox, repo, record) = with_record("r");
    let (a, b) = users(&sandbox, &repo);
    let store = store_of(&repo.join(".git"));
    for place in [&record, record.parent().unwrap(), &store, store.parent().unwrap()] {
        let mode = fs::metadata(place).unwrap().permissions();
        fs::set_permissions(place, fs::Permissions::from_mode(0o000)).unwrap();
        for agent in [&a, &b] {
            for arguments in
                [&["check", "src/a"][..], &["acquire", "src/a"], &["renew", "src/a"], &["release", "src/a"]]
            {
                let ran = agent.expect(4, arguments);
                let told = ran.out() + &ran.err();
                assert!(told.contains("ermission denied") && told.contains(place.to_str().unwrap()), "{ran:#?}");
                assert!(!told.contains(": free"), "{ran:#?}");
            }
        }
        b.expect(4, ["list"]);
        fs::set_permissions(place, mode).unwrap();
    }
    assert_eq!(b.holder_of("src/a").as_deref(), Some("A"));
    a.ok(["release", "src/a"]);
}

#[test]
#[ignore = "needs root and setpriv"]
fn a_store_that_may_not_be_written_is_an_error_with_a_remedy_and_can_be_looked_at() {
    let (sandbox, repo, record) = with_record("r");
    let (a, b) = users(&sandbox, &repo);
    let store = store_of(&repo.join(".git"));
    let shut = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
    shut(record.parent().unwrap());
    let before = tree(&store);
    for arguments in [["acquire", "src/a"], ["renew", "src/a"]] {
        a.expect(4, arguments).err_has(&[
            "ermission denied",
            "hint: ",
            "AGENT_REGISTRY_LOCK_DIR",
            store.to_str().unwrap(),
        ]);
    }
    a.expect(4, ["release", "src/a"]).err_has(&["cannot release src/a", "ermission denied"]);
    assert_eq!(b.holder_of("src/a").as_deref(), Some("A"));
    b.ok(["list"]);
    assert_eq!(tree(&store), before);

    let fresh = sandbox.repo("fresh");
    let (a, _) = users(&sandbox, &fresh);
    shut(&fresh.join(".git"));
    a.ok(["check", "src/a"]).out_has(&["src/a: free"]);
    a.ok(["list"]).out_has(&["no leases"]);
    a.expect(4, ["acquire", "src/a"]).err_has(&["ermission denied", "store.dir"]);
    a.ok(["release", "src/a"]);
}

#[test]
#[ignore = "needs root and setpriv"]
fn a_record_written_by_one_user_never_locks_a_fellow_out_of_a_shared_repository() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo_of("r", &["--shared=0666"]);
    fs::write(sandbox.home().join("gitconfig"), "[safe]\n\tdirectory = *\n").unwrap();
    sandbox.agent(&repo, "A").by(["sh", "-c", "umask 077; exec \"$@\"", "sh"]).ok(["acquire", "src/a"]);
    let (a, b) = users(&sandbox, &repo);
    assert!(sandbox.command("chown", &repo).args(["-R", "0:0", ".git"]).status().unwrap().success());
    assert_eq!(b.holder_of("src/a").as_deref(), Some("A"));
    b.ok(["acquire", "src/b"]);
    a.ok(["renew", "src/a"]);
    a.ok(["release", "src/a"]);
    sandbox.agent(&repo, "B").ok(["release", "src/b"]);
}
