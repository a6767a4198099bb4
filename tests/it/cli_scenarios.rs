//! What the lock manager that this replaces promised, sentence by sentence. Every call is a process of its own.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::sandbox::{Sandbox, allow_short_ttls, records, store_of, wait_until};

#[test]
fn second_agent_is_refused_and_told_the_owner() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a", "--reason", "refactoring"]);
    b.expect(1, ["acquire", "src/a"]).err_has(&["src/a", "held by A", "refactoring", "hint: "]);
    let refused = b.json(1, ["acquire", "src/a"]);
    assert_eq!(refused.conflicts[0].owner.as_deref(), Some("A"));
    assert_eq!(refused.error.unwrap().kind, "conflict");
    assert!(!refused.locked && refused.leases.is_empty());
}

#[test]
fn owner_keeps_its_lock_after_a_failed_attempt_of_another() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    let granted = a.json(0, ["acquire", "src/a"]);
    let record = fs::read(&records(&store_of(&repo.join(".git")))[0]).unwrap();
    b.expect(1, ["acquire", "src/a"]);
    let still = a.json(0, ["check", "--mine", "src/a"]);
    assert_eq!(still.leases[0].token, granted.leases[0].token);
    assert_eq!(still.leases[0].expires_at, granted.leases[0].expires_at);
    assert_eq!(fs::read(&records(&store_of(&repo.join(".git")))[0]).unwrap(), record, "byte for byte");
}

#[test]
fn distinct_paths_do_not_interfere() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    b.ok(["acquire", "src/b"]);
    b.ok(["acquire", "src/aa", "src/a.rs", "a"]);
    a.ok(["release", "src/a"]);
    assert_eq!(b.holder_of("src/b").as_deref(), Some("B"));
}

#[test]
fn the_owner_acquires_again_from_a_new_process() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let first = a.json(0, ["acquire", "src/a", "--ttl", "1h"]).leases.remove(0);
    // What is told is a time of the wall clock, what counts is the boot-time clock where there is one: they are rounded apart.
    let deadline = || {
        let record = fs::read(&records(&store_of(&repo.join(".git")))[0]).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        record["boot"]["deadline_ms"].as_u64()
    };
    let before = deadline();
    let second = a.json(0, ["acquire", "src/a", "--ttl", "5s"]).leases.remove(0);
    assert_eq!((first.fresh, second.fresh), (Some(true), Some(false)));
    assert_eq!(second.token, first.token, "the same grant");
    assert!(deadline() >= before && second.remaining_ms > 3_000_000, "never shortened");
    assert_ne!(second.pid, first.pid);
    a.ok(["acquire", "src/a"]).out_has(&["already yours"]);
}

#[test]
fn an_expired_lease_is_reported_with_its_stale_owner() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.let_expire("src/a");
    let report = b.json(0, ["check", "src/a"]);
    let result = &report.results.unwrap()[0];
    assert_eq!((result.outcome.as_str(), result.stale_owner.as_deref()), ("free", Some("A")));
    assert!(!report.locked);
    b.ok(["check", "src/a"]).out_has(&["src/a: free (the lease of A expired"]);
    let listed = b.json(0, ["list", "--expired"]).leases.remove(0);
    assert_eq!((listed.state.as_str(), listed.stale_owner.as_deref()), ("expired", Some("A")));
    assert!(listed.remaining_ms <= 0);
}

#[test]
fn an_expired_lease_can_be_taken_and_the_new_owner_is_told_whom_it_replaced() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.let_expire("src/a");
    let token = a.json(0, ["list"]).leases[0].token;
    let taken = b.json(0, ["acquire", "src/a"]).leases.remove(0);
    assert_eq!((taken.fresh, taken.stale_owner.as_deref()), (Some(true), Some("A")));
    assert!(taken.token > token, "tokens grow");
    assert_eq!(a.holder_of("src/a").as_deref(), Some("B"));

    a.let_expire("src/b");
    b.ok(["acquire", "src/b"]).out_has(&["replaced the expired lease of A"]);
}

#[test]
fn owner_heartbeat_resets_the_age() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let granted = a.json(0, ["acquire", "src/a"]).leases.remove(0);
    assert_eq!((granted.ttl_ms, granted.remaining_ms), (300_000, 300_000));
    wait_until("some of the time is gone", || a.json(0, ["check", "src/a"]).leases[0].remaining_ms < 300_000);
    let renewed = a.json(0, ["heartbeat", "src/a"]);
    assert_eq!(renewed.command, "renew");
    assert_eq!(renewed.results.unwrap()[0].outcome, "renewed");
    let lease = &renewed.leases[0];
    assert_eq!((lease.remaining_ms, lease.token), (300_000, granted.token));
    assert!(lease.renewed_at > granted.renewed_at && lease.expires_at > granted.expires_at);
    assert_eq!(lease.acquired_at, granted.acquired_at);
    a.ok(["renew", "src/a", "--ttl", "1h"]).out_has(&["renewed src/a until"]);
}

#[test]
fn foreign_heartbeat_is_refused_and_names_the_owner() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let before = a.json(0, ["list"]).leases.remove(0);
    b.expect(1, ["heartbeat", "src/a"]).err_has(&["cannot renew src/a", "held by A"]);
    let refused = b.json(1, ["renew", "src/a"]);
    assert_eq!(refused.error.unwrap().kind, "not_owner");
    assert_eq!(refused.conflicts[0].owner.as_deref(), Some("A"));
    for kin in ["A/sub", "B/A"] {
        sandbox.agent(&repo, kin).expect(1, ["renew", "src/a"]);
    }
    let after = a.json(0, ["list"]).leases.remove(0);
    assert_eq!((after.expires_at, after.renewed_at), (before.expires_at, before.renewed_at));
}

#[test]
fn heartbeat_on_nothing_fails_and_creates_nothing() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.expect(3, ["heartbeat", "src/a"]).err_has(&["you hold no lease on it"]);
    assert!(!repo.join(".git/agent-locks").exists());
    assert_eq!(a.json(3, ["renew", "src/a"]).error.unwrap().kind, "absent");
    a.ok(["acquire", "src/b"]);
    a.expect(3, ["renew", "src/a"]);
    assert_eq!(a.listed(), ["src/b A"]);
}

#[test]
fn an_expired_lease_is_not_revived_by_a_heartbeat() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.let_expire("src/a");
    let refused = a.json(3, ["renew", "src/a"]);
    assert_eq!(refused.error.unwrap().kind, "expired", "another error than for what was never there");
    a.expect(3, ["renew", "src/a"]).err_has(&["your lease expired"]);
    assert_eq!(a.holder_of("src/a"), None);
}

#[test]
fn renewal_in_time_prevents_expiry() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    allow_short_ttls(&repo);
    // A machine that is too slow to renew in time gets more of it.
    let ends = (0..8).map(|doubled| Duration::from_millis(300 << doubled)).find_map(|ttl| {
        let before = Instant::now();
        let is_taken = a.run(["acquire", "src/a", "--ttl", &format!("{}ms", ttl.as_millis())]).code() == 0;
        let is_renewed = || a.run(["renew", "src/a", "--ttl", "10m"]).code() == 0;
        (is_taken && is_renewed()).then_some(before + ttl + Duration::from_millis(50))
    });
    let ends = ends.expect("a renewal in time");
    wait_until("the first end has passed", || Instant::now() > ends);
    b.expect(1, ["acquire", "src/a"]).err_has(&["held by A"]);
    a.ok(["check", "--mine", "src/a"]);
}

#[test]
fn owner_releases_and_the_path_is_free() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let released = a.json(0, ["release", "src/a"]);
    assert_eq!(released.results.unwrap()[0].outcome, "released");
    assert!(!released.locked);
    assert_eq!(b.holder_of("src/a"), None);
    assert_eq!(b.json(0, ["acquire", "src/a"]).leases[0].stale_owner, None);
    b.ok(["release", "src/a"]).out_has(&["released src/a"]);
}

#[test]
fn foreign_release_is_refused_and_the_lock_is_intact() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    let token = a.json(0, ["acquire", "src/a"]).leases[0].token;
    b.expect(1, ["release", "src/a"]).err_has(&["cannot release src/a", "held by A"]);
    sandbox.agent(&repo, "A/sub").expect(1, ["release", "src/a"]);
    let refused = b.json(1, ["release", "src/a"]);
    assert_eq!((refused.error.unwrap().kind.as_str(), refused.locked), ("not_owner", true));
    assert_eq!(a.json(0, ["check", "--mine", "src/a"]).leases[0].token, token);
}

#[test]
fn release_of_nothing_succeeds() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    assert_eq!(a.json(0, ["release", "src/a"]).results.unwrap()[0].outcome, "nothing");
    assert!(!repo.join(".git/agent-locks").exists(), "and creates nothing");
    a.ok(["acquire", "src/a"]);
    a.ok(["release", "src/a"]);
    a.ok(["release", "src/a"]).err_has(&["nothing to release on src/a"]);
}

#[test]
fn relative_absolute_and_symlinked_spelling_are_one_lock() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    std::os::unix::fs::symlink("src/a", repo.join("link")).unwrap();
    std::os::unix::fs::symlink(&repo, sandbox.root().join("elsewhere")).unwrap();
    let absolute = repo.join("src/a");
    let elsewhere = sandbox.root().join("elsewhere/src/a");
    let spellings = [std::path::Path::new("src/a"), "./src/../src/a".as_ref(), &absolute, &elsewhere, "link".as_ref()];
    for taken in spellings {
        a.ok(["acquire".as_ref(), taken.as_os_str()]);
        for tried in spellings {
            assert_eq!(b.holder_of(tried).as_deref(), Some("A"), "taken as {taken:?}, seen as {tried:?}");
        }
        a.ok(["release".as_ref(), taken.as_os_str()]);
        assert_eq!(b.holder_of("src/a"), None);
    }
}

#[test]
fn same_named_files_in_two_repositories_do_not_collide() {
    let sandbox = Sandbox::new();
    let (one, two) = (sandbox.repo("one"), sandbox.repo("two"));
    let (a, b) = (sandbox.agent(&one, "A"), sandbox.agent(&two, "B"));
    a.ok(["acquire", "src/a"]);
    b.ok(["acquire", "src/a"]);
    assert_eq!(a.listed(), ["src/a A"]);
    assert_eq!(b.listed(), ["src/a B"]);
}

#[test]
fn same_named_files_in_two_repositories_do_not_collide_in_one_shared_directory_either() {
    let sandbox = Sandbox::new();
    let (one, two) = (sandbox.repo("one"), sandbox.repo("two"));
    let shared = sandbox.root().join("L");
    let a = sandbox.agent(&one, "A").env("AGENT_REGISTRY_LOCK_DIR", &shared);
    let b = sandbox.agent(&two, "B").env("AGENT_REGISTRY_LOCK_DIR", &shared);
    a.ok(["acquire", "src/a"]);
    b.ok(["acquire", "src/a"]);
    assert_eq!((a.listed(), b.listed()), (vec!["src/a A".to_owned()], vec!["src/a B".to_owned()]));
    assert_eq!(records(&shared.join("v1")).len(), 2);
    b.expect(1, ["acquire", one.join("src/a").to_str().unwrap()]).err_has(&["held by A"]);
    let whole = b.json(0, ["list", "--store"]).leases;
    let projects: Vec<_> = whole.iter().map(|lease| lease.resource.project.as_deref()).collect();
    let expected = [one.join(".git"), two.join(".git")];
    assert_eq!(projects, expected.iter().map(|path| path.to_str()).collect::<Vec<_>>());
}

#[test]
fn the_variable_is_read_at_every_call_and_its_directory_is_created() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let at = |name: &str| a.env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join(name));
    at("deep/L1").ok(["acquire", "src/a"]);
    assert!(sandbox.root().join("deep/L1/v1").is_dir());
    assert!(!repo.join(".git/agent-locks").exists());
    assert_eq!(at("L2").holder_of("src/a"), None);
    assert_eq!(a.holder_of("src/a"), None);
    assert_eq!(a.env("AGENT_REGISTRY_LOCK_DIR", "").holder_of("src/a"), None, "empty is unset");
    assert_eq!(at("deep/L1").holder_of("src/a").as_deref(), Some("A"));
    assert!(!sandbox.root().join("L2").exists(), "only acquire creates");
    a.env("AGENT_REGISTRY_LOCK_DIR", "L3").expect(2, ["acquire", "src/a"]).err_has(&["not an absolute path"]);
}

#[test]
fn a_shared_directory_beside_live_leases_of_the_repositorys_own_store_is_warned_of() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let b = b.env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("L"));
    for arguments in [["acquire", "src/a"], ["check", "src/a"], ["renew", "src/a"], ["release", "src/a"]] {
        b.ok(arguments).err_has(&["warning: AGENT_REGISTRY_LOCK_DIR is set, but 1 live lease is"]);
    }
    b.ok(["list"]).err_has(&["warning: AGENT_REGISTRY_LOCK_DIR is set, but 1 live lease is"]);
}

#[test]
fn outside_a_repository_it_works_with_the_variable_and_fails_with_a_hint_without() {
    let sandbox = Sandbox::new();
    let outside = sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let (a, b) = (sandbox.agent(&outside, "A"), sandbox.agent(&outside, "B"));
    for arguments in [["acquire", "x"], ["check", "x"], ["renew", "x"], ["release", "x"]] {
        a.expect(4, arguments).err_has(&["'x' is not in a git repository", "hint: ", "AGENT_REGISTRY_LOCK_DIR"]);
        assert_eq!(a.json(4, arguments).error.unwrap().kind, "no_repository");
    }
    a.expect(4, ["list"]).err_has(&["the current directory is not in a git repository"]);
    let shared = sandbox.root().join("L");
    let (a, b) = (a.env("AGENT_REGISTRY_LOCK_DIR", &shared), b.env("AGENT_REGISTRY_LOCK_DIR", &shared));
    let granted = a.json(0, ["acquire", "x"]).leases.remove(0);
    assert_eq!(granted.resource.path.as_deref(), outside.join("x").to_str());
    b.expect(1, ["acquire", outside.join("x").to_str().unwrap()]).err_has(&["held by A"]);
    assert_eq!(b.listed(), [format!("{} A", outside.join("x").display())]);
    a.ok(["release", "x"]);
    b.ok(["acquire", "x"]);
}

#[test]
fn missing_arguments_print_usage_and_never_a_backtrace() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for command in ["acquire", "renew", "release", "check"] {
        a.expect(2, [command]).err_has(&["nothing was named", "hint: name a PATH", "hint: usage: git agentlock"]);
        let document = a.json(2, [command]);
        assert_eq!((document.command.as_str(), document.error.unwrap().kind.as_str()), (command, "invalid"));
    }
    for arguments in [&["acquire", "--ttl"][..], &["acquire", "src/a", "--nope"], &["nope"], &["check", "--token"]] {
        a.expect(2, arguments).err_has(&["error: ", "For more information, try '-h'"]);
        let document = a.json(2, arguments);
        assert_eq!(document.error.unwrap().kind, "invalid");
    }
    sandbox.nobody(&repo).expect(2, ["acquire", "src/a"]).err_has(&["no owner was given", "hint: give --owner"]);
    for help in [&["-h"][..], &["--help"], &["help"], &["help", "acquire"], &["acquire", "--help"]] {
        let ran = a.ok(help);
        ran.out_has(&["Usage: git agentlock"]);
        assert!(ran.stderr.0.is_empty(), "{ran:#?}");
    }
    a.ok(["--version"]).out_has(&["git-agentlock 0."]);
}

#[test]
fn git_runs_it_as_a_command_of_its_own() {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.git(&repo, &["agentlock", "acquire", "src/a", "--owner", "A"]);
    let listed = sandbox.git(&repo.join("src"), &["agentlock", "list", "-z"]);
    assert!(listed.starts_with("live\tA\t") && listed.ends_with("\tsrc/a\0"), "{listed:?}");
    let refused =
        sandbox.command("git", &repo).args(["agentlock", "acquire", "src/a", "--owner", "B"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "git passes the exit code on");
}
