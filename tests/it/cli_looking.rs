//! Looking changes nothing, works where nothing can be written, and is right while others write.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::sandbox::{Agent, Ran, Sandbox, records, store_of, tree};

fn look_at_everything(agent: &Agent<'_>) {
    for arguments in [
        &["check", "src/a", "src/b", "old", "src/", "new/x"][..],
        &["check", "--mine", "src/a"],
        &["check", "--token", "1", "src/a"],
        &["check", "--resource", "plan:42"],
        &["list"],
        &["list", "-z"],
        &["list", "--expired", "--store"],
        &["policy"],
        &["policy", "src/a"],
        &["whoami"],
        &[],
        &["completions", "zsh", "--", "git", "agentlock", "release", ""],
        &["completions", "zsh", "--", "git-agentlock", "list", "--owner", ""],
        &["completions", "bash"],
        &["man", "acquire"],
        &["setup", "--dry-run"],
        &["acquire"],
        &["acquire", "--ttl", "9h", "src/a"],
    ] {
        agent.run(arguments);
        agent.run([&["--json"], arguments].concat());
    }
}

#[test]
fn looking_creates_nothing_where_there_is_no_store() {
    let (sandbox, repo) = Sandbox::with_repo();
    let shared = sandbox.agent(&repo, "A").env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("L"));
    let before = tree(sandbox.root());
    look_at_everything(&sandbox.agent(&repo, "A"));
    look_at_everything(&sandbox.nobody(&repo));
    look_at_everything(&shared);
    shared.ok(["release", "src/a"]);
    shared.expect(3, ["renew", "src/a"]);
    assert_eq!(tree(sandbox.root()), before);
}

#[test]
fn looking_changes_nothing_of_live_expired_ended_and_broken_records() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.let_expire("old");
    a.let_expire("ended");
    b.ok(["acquire", "ended"]);
    b.ok(["release", "ended"]);
    a.ok(["acquire", "src/a", "lib/"]);
    a.ok(["acquire", "broken"]);
    let store = store_of(&repo.join(".git"));
    let broken = records(&store).into_iter().find(|path| fs::read_to_string(path).unwrap().contains("broken")).unwrap();
    fs::write(&broken, "{").unwrap();
    fs::write(store.join("0/tmp-left-over"), "{").unwrap_or_default();
    let before = tree(sandbox.root());
    assert!(before.len() > 20);
    look_at_everything(&a);
    look_at_everything(&b);
    look_at_everything(&sandbox.nobody(&repo.join("src")));
    assert_eq!(tree(sandbox.root()), before);
}

/// A refused attempt leaves the records of others as they are, too.
#[test]
fn a_refused_attempt_changes_no_record() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let store = store_of(&repo.join(".git"));
    let state = || records(&store).iter().flat_map(|path| tree(path)).collect::<Vec<_>>();
    let before = state();
    for arguments in [["acquire", "src/a"], ["renew", "src/a"], ["release", "src/a"], ["acquire", "src/"]] {
        b.expect(1, arguments);
        assert_eq!(state(), before);
    }
}

#[test]
fn a_listing_beside_a_stream_of_changes_is_always_valid() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    b.ok(["acquire", "steady"]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                let path = format!("x{}", number % 50);
                a.ok(["acquire", &path]);
                a.ok(["release", &path]);
                number += 1;
            }
            number
        });
        for _ in 0..150 {
            let document = b.json(0, ["list"]);
            assert!(
                document.leases.iter().any(|lease| lease.resource.name() == "steady"),
                "a lease that is there all the time"
            );
            assert!(document.unreadable.unwrap().is_empty() && document.leases.len() <= 2);
            assert_eq!(b.json(0, ["check", "steady"]).results.unwrap()[0].outcome, "mine");
        }
        done.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 0);
    });
}

/// A lease that is renewed all the time is never seen as free.
#[test]
fn a_lease_that_is_being_renewed_is_held_at_every_look() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                a.ok(["renew", "src/a"]);
            }
        });
        for _ in 0..150 {
            assert_eq!(b.holder_of("src/a").as_deref(), Some("A"));
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Runs in a mount namespace of its own, where the git directory is read-only.
fn read_only<'s>(agent: &Agent<'s>, git_dir: &Path) -> Agent<'s> {
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
    agent.by(["unshare", "-m", "sh", "-c", script, git_dir.to_str().unwrap()])
}

/// C25. Sandboxes of agents mount `.git` read-only.
#[test]
#[ignore = "needs root and mount namespaces"]
fn on_a_read_only_file_system_looking_works_and_changing_says_what_to_do() {
    let (sandbox, repo) = Sandbox::with_repo();
    let git_dir = repo.join(".git");
    let a = read_only(&sandbox.agent(&repo, "A"), &git_dir);
    a.ok(["check", "src/a"]).out_has(&["src/a: free"]);
    a.ok(["list"]).out_has(&["no leases"]);
    let refused = |ran: Ran| {
        ran.err_has(&["ead-only file system", git_dir.to_str().unwrap(), "store.dir", "AGENT_REGISTRY_LOCK_DIR"]);
    };
    refused(a.expect(4, ["acquire", "src/a"]));
    sandbox.agent(&repo, "A").ok(["acquire", "src/a"]);
    let before = tree(&git_dir);
    a.ok(["check", "--mine", "src/a"]);
    a.ok(["list"]).out_has(&["src/a"]);
    a.ok(["policy"]);
    refused(a.expect(4, ["acquire", "src/b"]));
    refused(a.expect(4, ["renew", "src/a"]));
    refused(a.expect(4, ["release", "src/a"]));
    assert_eq!(tree(&git_dir), before);
    a.env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("L")).ok(["acquire", "src/b"]);
}

#[test]
#[ignore = "needs root and mount namespaces"]
fn a_read_only_work_trees_git_dir_is_no_hindrance_when_the_common_one_can_be_written() {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.git(&repo, &["worktree", "add", "-q", "../w"]);
    let tree = sandbox.root().join("w");
    let a = read_only(&sandbox.agent(&tree, "A"), &repo.join(".git/worktrees/w"));
    a.ok(["acquire", "src/a"]);
    a.ok(["renew", "src/a"]);
    a.ok(["release", "src/a"]);
}
