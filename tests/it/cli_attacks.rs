//! What somebody who tried to break it found: each as a test, named after what must not happen.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use crate::sandbox::{Ran, Sandbox, records, store_of};

fn store(repo: &Path) -> PathBuf {
    store_of(&repo.join(".git"))
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Identity is the same for all who share the repository, whatever each has configured.
#[test]
fn a_users_own_configuration_makes_no_second_lock_of_a_file() {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.agent(&repo, "A").ok(["acquire", "src/a"]);
    fs::write(sandbox.home().join("gitconfig"), "[core]\n\tignorecase = true\n\tprecomposeunicode\n").unwrap();
    let b = sandbox.agent(&repo, "B");
    b.expect(1, ["acquire", "src/a"]);
    b.env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.ignorecase")
        .env("GIT_CONFIG_VALUE_0", "true")
        .expect(1, ["acquire", "src/a"]);
    sandbox.git(&repo, &["config", "extensions.worktreeConfig", "true"]);
    sandbox.git(&repo, &["config", "--worktree", "core.ignorecase", "true"]);
    b.expect(1, ["acquire", "src/a"]);
    sandbox.git(&repo, &["config", "--worktree", "--unset", "core.ignorecase"]);
    let own = fs::read_to_string(repo.join(".git/config")).unwrap();
    fs::write(repo.join(".git/config"), format!("{own}[core]\n\tignorecase\n")).unwrap();
    sandbox.agent(&repo, "A").ok(["acquire", "SRC/A"]);
    b.expect(1, ["acquire", "Src/a"]).err_has(&["held by A"]);
}

#[test]
fn a_link_that_leads_to_another_work_tree_or_out_and_back_locks_what_it_leads_to() {
    let (sandbox, repo) = Sandbox::with_repo();
    let linked = sandbox.root().join("w");
    sandbox.git(&repo, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    symlink("../w/src/a", repo.join("to-other")).unwrap();
    symlink(repo.join("src/b"), sandbox.root().join("out")).unwrap();
    symlink("../out", repo.join("out-and-back")).unwrap();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "to-other", "out-and-back"]);
    sandbox.agent(&linked, "B").expect(1, ["acquire", "src/a"]);
    b.expect(1, ["acquire", "src/b"]);
    b.ok(["acquire", "src/a"]);
    a.ok(["release", "to-other", "out-and-back"]);
    sandbox.agent(&linked, "B").ok(["acquire", "src/a"]);
}

/// What is not locked with a link, and which repository a path belongs to, is said.
#[test]
fn links_and_paths_to_other_repositories_are_noted() {
    let (sandbox, repo) = Sandbox::with_repo();
    let other = sandbox.repo("other");
    symlink("../other/src/a", repo.join("elsewhere")).unwrap();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "elsewhere"]).err_has(&["elsewhere leads out of this repository", "not locked with it"]);
    let document = a.json(0, ["acquire", "../other/src/b"]);
    assert!(document.notes.iter().any(|note| note.contains(other.to_str().unwrap())), "{:?}", document.notes);
    assert!(a.json(0, ["acquire", "src/a"]).notes.is_empty());
    sandbox.agent(&other, "B").ok(["acquire", "src/a"]);
}

#[test]
fn a_link_to_a_directory_that_is_not_there_yet_leads_there_all_the_same() {
    let (sandbox, repo) = Sandbox::with_repo();
    symlink("target", repo.join("link")).unwrap();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "link/x"]);
    b.expect(1, ["acquire", "target/x"]);
    fs::create_dir(repo.join("target")).unwrap();
    a.ok(["renew", "link/x"]);
    b.ok(["acquire", "--area", "nope/x/.."]);
    symlink("later", repo.join("dangling")).unwrap();
    b.ok(["acquire", "dangling/"]);
    a.expect(1, ["acquire", "later/y"]);
}

#[test]
fn another_top_for_the_same_repository_makes_no_second_name_of_a_file() {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.agent(&repo, "A").ok(["acquire", "src/a"]);
    let b =
        sandbox.agent(&repo.join("src"), "B").env("GIT_DIR", repo.join(".git")).env("GIT_WORK_TREE", repo.join("src"));
    b.expect(1, ["acquire", "a"]).err_has(&["src/a", "held by A"]);
}

#[test]
fn doctor_mends_nothing_through_a_planted_link() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "src/a"]);
    let (key, dir) = (sandbox.root().join("key"), sandbox.root().join("victim"));
    fs::write(&key, "secret").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    fs::remove_file(store(&repo).join("mutex")).unwrap();
    symlink(&key, store(&repo).join("mutex")).unwrap();
    let free = (0..16).map(|n| store(&repo).join(format!("{n:x}"))).find(|shard| !shard.exists()).unwrap();
    symlink(&dir, &free).unwrap();
    let ran = a.expect(1, ["doctor", "--fix"]);
    ran.out_has(&["mutex is not a file of git-agentlock", free.to_str().unwrap()]);
    assert_eq!((mode(&key), mode(&dir)), (0o400, 0o700));
    assert!(!ran.out().contains("fixed"));
}

#[test]
fn doctor_sees_what_stands_where_a_mutex_or_the_queue_should_be() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for name in ["mutex", "gate"] {
        a.ok(["acquire", "src/a"]);
        let path = store(&repo).join(name);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        a.expect(4, ["acquire", "src/a"]);
        a.expect(1, ["doctor"]).out_has(&[path.to_str().unwrap()]);
        fs::remove_dir(&path).unwrap();
    }
    fs::write(store(&repo).join("queue"), "in the way").unwrap();
    a.expect(1, ["doctor"]).out_has(&["queue is not a file of git-agentlock"]);
}

/// A ticket is a hint: a queue that cannot be read costs nobody a lock.
#[test]
fn a_damaged_queue_stops_nobody() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    fs::write(store(&repo).join("queue"), "in the way").unwrap();
    b.ok(["acquire", "src/b"]);
    b.expect(1, ["acquire", "src/a", "--wait", "100ms"]).err_has(&["queue"]);
}

#[test]
fn a_policy_of_ones_own_does_not_free_what_cannot_be_read() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "src/a"]);
    let record = records(&store(&repo)).remove(0);
    fs::write(&record, "half").unwrap();
    let short = sandbox.root().join("short.toml");
    fs::write(&short, "[ttl]\nmin = \"1ms\"\ndefault = \"1ms\"\nmax = \"1ms\"\n").unwrap();
    let b = sandbox.agent(&repo, "B").env("AGENTLOCK_POLICY", &short);
    b.expect(4, ["acquire", "src/a"]);
    b.expect(1, ["doctor", "--fix"]);
    assert_eq!(fs::read_to_string(&record).unwrap(), "half");
}

#[test]
fn a_token_is_never_given_out_twice_also_at_the_end_of_the_numbers() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "src/a"]);
    let mutex = records(&store(&repo))[0].with_file_name("mutex");
    a.ok(["release", "src/a"]);
    fs::write(&mutex, "9007199254740991 0000000000000000\n").unwrap();
    a.expect(4, ["acquire", "src/a"]).err_has(&["token counter is at its end"]);
    fs::write(&mutex, "9007199254740990 0000000000000000\n").unwrap();
    assert_eq!(a.json(0, ["acquire", "src/a"]).leases[0].token, 9_007_199_254_740_991);
    a.ok(["release", "src/a"]);
    a.expect(4, ["acquire", "src/a"]);
}

#[test]
fn a_shared_store_behind_a_link_to_nothing_is_not_free() {
    let (sandbox, repo) = Sandbox::with_repo();
    symlink(sandbox.root().join("unmounted"), sandbox.root().join("locks")).unwrap();
    let a = sandbox.agent(&repo, "A").env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("locks"));
    a.expect(4, ["check", "src/a"]);
    a.expect(4, ["acquire", "src/a"]);
}

#[test]
#[ignore = "needs root and time namespaces"]
fn a_time_namespace_neither_ends_a_lease_nor_prolongs_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let inside = b.by(["unshare", "--time", "--boottime", "100000", "--"]);
    inside.expect(1, ["acquire", "src/a"]);
    inside.ok(["acquire", "src/b"]);
    let left = a.json(1, ["check", "src/b"]).conflicts[0].remaining_ms.unwrap();
    assert!((1..=300_000).contains(&left), "{left}");
}

/// The store is taken away under a writer: what others have been granted since is not touched, and what is told is true.
#[test]
#[ignore = "needs strace"]
fn taking_back_destroys_nothing_of_others_and_a_release_that_happened_is_told() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    let slow = |what: &str| {
        let inject = format!("inject={what}");
        ["strace", "-qq", "-f", "-o", "/dev/null", "-e", &inject, "--"].map(str::to_owned)
    };
    a.ok(["acquire", "src/a"]);
    let shard = records(&store(&repo))[0].parent().unwrap().to_owned();
    a.ok(["release", "src/a"]);
    let writer = a.by(slow("fsync:delay_enter=2000000:when=1")).command(["acquire", "src/a"]).spawn().unwrap();
    let temp =
        || fs::read_dir(&shard).unwrap().flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("tmp-"));
    crate::sandbox::wait_until("it is being written", temp);
    fs::remove_file(shard.join("mutex")).unwrap();
    fs::remove_file(store(&repo).join("mutex")).unwrap();
    b.ok(["acquire", "src/a"]);
    assert_eq!(crate::sandbox::Ran::wait(writer, "a slow writer".to_owned()).code(), 4);
    b.ok(["check", "src/a", "--mine"]);

    let slow_release = b.by(slow("fsync:delay_enter=1000000:when=1")).command(["release", "src/a"]).spawn().unwrap();
    crate::sandbox::wait_until("it is released", || records(&store(&repo)).is_empty());
    fs::remove_file(store(&repo).join("mutex")).unwrap();
    let ran = crate::sandbox::Ran::wait(slow_release, "a slow release".to_owned());
    assert_eq!(ran.code(), 0, "{ran:?}");
    ran.err_has(&["warning: done, but the store was deleted or replaced"]);
}

/// The same at the last moments: between the last look and the rename, and between the rename and the sync.
#[test]
#[ignore = "needs strace"]
fn what_others_were_granted_meanwhile_is_neither_overwritten_nor_taken_back() {
    let (sandbox, repo) = Sandbox::with_repo();
    crate::sandbox::allow_short_ttls(&repo);
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let shard = records(&store(&repo))[0].parent().unwrap().to_owned();
    a.ok(["release", "src/a"]);
    let temps =
        || fs::read_dir(&shard).unwrap().flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("tmp-"));
    let take_mutexes_away = || {
        fs::remove_file(shard.join("mutex")).unwrap();
        fs::remove_file(store(&repo).join("mutex")).unwrap();
    };
    let log = sandbox.root().join("strace.log");
    let by = |what: &str| {
        let inject = format!("inject={what}");
        ["strace", "-qq", "-f", "-o", log.to_str().unwrap(), "-e", "trace=renameat2,fsync", "-e", &inject, "--"]
            .map(str::to_owned)
    };
    // strace writes the call down when it begins, which is when the delay begins.
    let begun =
        |call: &str, times: usize| fs::read_to_string(&log).is_ok_and(|text| text.matches(call).count() >= times);

    let writer = a.by(by("renameat2:delay_enter=5000000:when=1")).command(["acquire", "src/a"]).spawn().unwrap();
    crate::sandbox::wait_until("it is about to be named", || begun("renameat2(", 1) && temps());
    take_mutexes_away();
    b.ok(["acquire", "src/a"]);
    assert_eq!(crate::sandbox::Ran::wait(writer, "a slow writer".to_owned()).code(), 4);
    b.ok(["check", "src/a", "--mine"]);
    b.ok(["release", "src/a"]);

    fs::remove_file(&log).unwrap();
    let slow = a.by(by("fsync:delay_enter=8000000:when=2"));
    let writer = slow.command(["acquire", "src/a", "--ttl", "500ms"]).spawn().unwrap();
    crate::sandbox::wait_until("it is about to be synced", || begun("fsync(", 2));
    take_mutexes_away();
    crate::sandbox::wait_until("it has expired", || b.run(["acquire", "src/a", "--ttl", "1m"]).code() == 0);
    assert_eq!(crate::sandbox::Ran::wait(writer, "a slow writer".to_owned()).code(), 4);
    b.ok(["check", "src/a", "--mine"]);
}

/// The disk takes longer than the lease lasts.
#[test]
#[ignore = "needs strace"]
fn no_success_is_told_of_a_lease_that_has_already_ended() {
    let (sandbox, repo) = Sandbox::with_repo();
    crate::sandbox::allow_short_ttls(&repo);
    let a = sandbox.agent(&repo, "A");
    let by = ["strace", "-qq", "-f", "-o", "/dev/null", "-e", "inject=fsync:delay_enter=1500000:when=2", "--"];
    a.by(by).expect(4, ["acquire", "src/a", "--ttl", "1s"]).err_has(&["too slow"]);
    assert_eq!(a.holder_of("src/a"), None);
    a.ok(["acquire", "src/b", "--ttl", "1m"]);
    a.by(by).ok(["renew", "src/b", "--ttl", "1s"]);
}

/// In a statically linked program the system's lookup of users can crash, and a user who is in no list makes it look everywhere.
#[test]
#[ignore = "needs root and setpriv, to be somebody whom the system does not know"]
fn who_has_no_home_and_no_entry_among_the_users_can_lock_and_commit() {
    let (sandbox, repo) = Sandbox::with_repo();
    let agent = sandbox.agent(&repo, "A").as_user(54321);
    for arguments in [&["acquire", "src/a"][..], &["check", "src/a"], &["guard"], &["list"]] {
        let mut command = agent.command(arguments);
        command.env_remove("HOME").env_remove("XDG_CONFIG_HOME").env_remove("GIT_CONFIG_GLOBAL");
        command.env_remove("GIT_CONFIG_NOSYSTEM");
        let ran = Ran::of(command);
        assert_eq!(ran.code(), 0, "{ran:#?}");
    }
}
