//! Areas, named resources, owner-wide operations, break, prune, doctor and log, through the binary.

use std::{fs, path::Path};

use crate::sandbox::{Sandbox, allow_short_ttls, end_of, records, store_of, tree, wait_until};

fn store(repo: &Path) -> std::path::PathBuf {
    store_of(&repo.join(".git"))
}

#[test]
fn a_directory_locks_itself_and_everything_below() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src"]).out_has(&["acquired src/"]);
    for held in ["src/a", "src/new/deep", "src", "src/", "."] {
        b.expect(1, ["acquire", held]).err_has(&["src/", "held by A"]);
        assert_eq!(b.holder_of(held).as_deref(), Some("A"), "{held}");
    }
    b.ok(["acquire", "srcfoo", "src-x", "src.rs"]);
    a.ok(["release", "src/"]);
    b.ok(["acquire", "src/a"]);
    a.expect(1, ["acquire", "src/"]).err_has(&["src/a is held by B"]);
}

#[test]
fn the_whole_work_tree_has_many_spellings_and_is_one_area() {
    let (sandbox, repo) = Sandbox::with_repo();
    let b = sandbox.agent(&repo, "B");
    let absolute = repo.to_str().unwrap().to_owned();
    for (from, spelling) in [(".", "."), (".", "./"), ("src", ".."), ("src", "../"), (".", absolute.as_str())] {
        let a = sandbox.agent(&repo, "A").cd(from);
        a.ok(["acquire", spelling]).out_has(&["acquired . until"]);
        b.expect(1, ["acquire", "src/a"]);
        b.expect(1, ["acquire", "--area", "."]);
        a.ok(["release", spelling]);
        b.ok(["acquire", "src/a"]);
        b.ok(["release", "src/a"]);
    }
    b.expect(2, ["acquire", ""]);
}

#[test]
fn area_makes_directories_of_what_is_not_there_yet() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "--area", "new", "newer/"]).out_has(&["new/", "newer/"]);
    b.expect(1, ["acquire", "new/x"]);
    a.expect(2, ["acquire", "--area", "src/a"]).err_has(&["not a directory"]);
    b.ok(["acquire", "other"]).err_has(&["other is taken as a file; add `/`"]);
    b.ok(["acquire", "other/x"]);
}

#[test]
fn an_area_says_that_it_does_not_reach_into_other_repositories() {
    let (sandbox, repo) = Sandbox::with_repo();
    fs::create_dir(repo.join("vendor")).unwrap();
    sandbox.git(&repo.join("vendor"), &["init", "-q", "clone"]);
    sandbox.agent(&repo, "A").ok(["acquire", "vendor/"]).err_has(&["a repository of its own", "vendor/clone"]);
    let other = sandbox.agent(&repo.join("vendor/clone"), "B");
    other.ok(["acquire", "x"]);
    assert!(!sandbox.agent(&repo, "A").ok(["acquire", "src/"]).err().contains("repository of its own"));
}

#[test]
fn named_resources_mix_with_paths_and_are_known_by_type_and_id() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a", "--resource", "plan:42", "--resource", "git:index"]).out_has(&["plan:42", "git:index"]);
    b.expect(1, ["acquire", "--resource", "plan:42", "src/b"]).err_has(&["plan:42", "held by A"]);
    b.ok(["acquire", "src/b", "--resource", "plan:4", "--resource", "project:42"]);
    a.cd("src").ok(["check", "--mine", "--resource", "plan:42"]);
    assert_eq!(a.json(0, ["release", "--resource", "plan:42"]).leases[0].resource.name(), "plan:42");
    for bad in ["plan", ":x", "plan:", "p\n:x", &format!("{}:x", "t".repeat(51)), &format!("t:{}", "x".repeat(256))] {
        a.expect(2, ["acquire", "--resource", bad]);
    }
    let other = sandbox.repo("other");
    sandbox.agent(&other, "B").ok(["acquire", "--resource", "git:index"]);
}

#[test]
fn a_refusal_names_everything_that_is_in_the_way() {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.agent(&repo, "B").ok(["acquire", "src/a", "--reason", "one"]);
    sandbox.agent(&repo, "C").ok(["acquire", "--resource", "plan:1", "lib/", "--reason", "two"]);
    let a = sandbox.agent(&repo, "A");
    let document = a.json(1, ["acquire", "free", "src/", "lib/x", "--resource", "plan:1"]);
    let conflicts: Vec<_> = document
        .conflicts
        .iter()
        .map(|conflict| (conflict.wanted.name(), conflict.owner.clone().unwrap(), conflict.reason.clone().unwrap()))
        .collect();
    assert_eq!(
        conflicts,
        [("src/", "B", "one"), ("lib/x", "C", "two"), ("plan:1", "C", "two")].map(|(wanted, who, why)| (
            wanted.to_owned(),
            who.to_owned(),
            why.to_owned()
        ))
    );
    assert_eq!(a.holder_of("free"), None);
}

#[test]
fn release_all_and_renew_all_count_what_they_change() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "A/sub"));
    a.ok(["acquire", "src/a", "lib/", "--resource", "plan:1"]);
    b.ok(["acquire", "src/b"]);
    a.ok(["renew", "--all", "--ttl", "20m"]).out_has(&["3 renewed"]);
    let left: Vec<i64> = a.json(0, ["list", "--owner", "A"]).leases.iter().map(|lease| lease.remaining_ms).collect();
    assert!(left.len() == 3 && left.iter().all(|ms| *ms > 15 * 60_000), "{left:?}");
    a.expect(2, ["renew", "--all", "--ttl", "9h"]).err_has(&["above the maximum"]);
    let document = a.json(0, ["release", "--all"]);
    assert_eq!(document.results.unwrap().len(), 3);
    assert_eq!(a.listed(), ["src/b A/sub"]);
    a.ok(["release", "--all"]).out_has(&["0 released"]);
    a.expect(3, ["renew", "--all"]).err_has(&["holds no lease"]);
    a.expect(2, ["release", "--all", "src/a"]);
    a.expect(2, ["release", "--store"]);
    sandbox.nobody(&repo).expect(2, ["release", "--all"]);
}

#[test]
fn in_a_shared_store_all_means_this_project_unless_the_store_is_asked_for() {
    let sandbox = Sandbox::new();
    let (one, two) = (sandbox.repo("one"), sandbox.repo("two"));
    let shared = sandbox.root().join("locks");
    let in_repo = |repo: &Path| sandbox.agent(repo, "A").env("AGENT_REGISTRY_LOCK_DIR", &shared);
    in_repo(&one).ok(["acquire", "src/a", "src/b"]);
    in_repo(&two).ok(["acquire", "src/a"]);
    assert_eq!(in_repo(&one).listed().len(), 2);
    assert_eq!(in_repo(&one).json(0, ["list", "--store"]).leases.len(), 3);
    in_repo(&one).ok(["renew", "--all"]).out_has(&["2 renewed"]);
    in_repo(&one).ok(["release", "--all"]).out_has(&["2 released"]);
    assert_eq!(in_repo(&two).listed().len(), 1);
    in_repo(&one).ok(["release", "--all", "--store"]).out_has(&["1 released"]);
    assert_eq!(in_repo(&two).listed().len(), 0);
}

#[test]
fn an_old_holder_of_the_same_name_cannot_touch_the_new_lease() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let token = |ran: &crate::sandbox::Document| ran.leases[0].token.to_string();
    let old = token(&a.json(0, ["acquire", "src/a"]));
    a.ok(["release", "src/a"]);
    let new = token(&a.json(0, ["acquire", "src/a"]));
    for command in ["renew", "release", "check"] {
        a.expect(3, [command, "src/a", "--token", &old]);
    }
    assert_eq!(a.holder_of("src/a").as_deref(), Some("A"));
    a.ok(["check", "src/a", "--token", &new]);
    a.ok(["renew", "src/a", "--token", &new]);
    a.ok(["release", "src/a", "--token", &new]);
    a.expect(3, ["check", "src/a", "--token", &new]);
    a.ok(["release", "src/a", "--token", &new]).err_has(&["nothing to release"]);
    a.expect(2, ["renew", "src/a", "--token", "0"]);
}

#[test]
fn after_a_takeover_the_old_holder_is_told_to_whom_it_lost() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.let_expire("src/a");
    b.ok(["acquire", "src/a"]).out_has(&["replaced the expired lease of A"]);
    a.expect(3, ["renew", "src/a"]).err_has(&["lost to B"]);
    a.expect(3, ["release", "src/a"]).err_has(&["lost to B"]);
    a.ok(["release", "--all"]).out_has(&["0 released"]);
    assert_eq!(a.holder_of("src/a").as_deref(), Some("B"));
    b.ok(["release", "src/a"]);
    a.expect(3, ["renew", "src/a"]).err_has(&["lost to B", "ended too"]);
}

#[test]
fn break_needs_a_reason_names_the_victim_and_tells_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (victim, boss) = (sandbox.agent(&repo, "victim"), sandbox.agent(&repo, "boss"));
    victim.ok(["acquire", "src/a"]);
    boss.expect(2, ["break", "src/a"]).err_has(&["--reason"]);
    boss.expect(2, ["break", "src/a", "--reason", ""]);
    boss.ok(["break", "src/a", "--reason", "gone\n\u{1b}[2Jhome"]).out_has(&["victim", "src/a"]);
    victim.expect(3, ["renew", "src/a"]).err_has(&["broken by boss", "gone\\n\\x1b[2Jhome"]);
    victim.ok(["release", "src/a"]).err_has(&["broken by boss"]);
    victim.ok(["check", "src/a"]).out_has(&["free", "broken by boss"]);
    boss.ok(["break", "src/a", "--reason", "again"]).out_has(&["nothing to break"]);
    sandbox.agent(&repo, "next").ok(["acquire", "src/a"]);
    victim.expect(3, ["renew", "src/a"]).err_has(&["lost to next"]);
    sandbox.nobody(&repo).ok(["break", "src/a", "--reason", "nobody in particular"]).out_has(&["next"]);
    victim.ok(["acquire", "lib/"]);
    boss.expect(1, ["break", "lib/x", "--reason", "r"]).err_has(&["lib/ is held by victim", "break the lease on lib/"]);
}

#[test]
fn prune_removes_what_has_expired_and_says_what() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.let_expire("src/a");
    b.ok(["acquire", "src/b"]);
    let before = tree(&store(&repo));
    a.ok(["prune", "--dry-run"]).out_has(&["would remove src/a: lease of A", "would remove 1"]);
    assert_eq!(tree(&store(&repo)), before);
    assert_eq!(a.json(0, ["prune"]).leases[0].owner, "A");
    a.ok(["prune"]).out_has(&["removed 0"]);
    assert_eq!(a.listed(), ["src/b B"]);
}

#[test]
fn a_healthy_doctor_is_silent() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for _ in 0..2 {
        let ran = a.ok(["doctor"]);
        assert_eq!((ran.out(), ran.err()), (String::new(), String::new()));
        assert_eq!(a.json(0, ["doctor"]).findings.unwrap().len(), 0);
        a.ok(["acquire", "src/a", "lib/", "--resource", "plan:1"]);
    }
}

#[test]
fn doctor_finds_names_and_mends() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.let_expire("src/a");
    b.ok(["acquire", "src/b"]);
    let damaged =
        records(&store(&repo)).into_iter().find(|path| fs::read_to_string(path).unwrap().contains("\"B\"")).unwrap();
    fs::write(&damaged, "half a rec").unwrap();
    fs::write(repo.join(".agentlock.toml"), "[ttl]\ndeafult = \"1m\"\n").unwrap();
    let codes = |document: &crate::sandbox::Document| {
        let mut codes: Vec<_> =
            document.findings.clone().unwrap().into_iter().map(|finding| (finding.code, finding.fixed)).collect();
        codes.sort();
        codes
    };
    let known =
        |codes: &[(&str, bool)]| codes.iter().map(|(code, fixed)| ((*code).to_owned(), *fixed)).collect::<Vec<_>>();
    let before = tree(&store(&repo));
    let expected = known(&[("damaged", false), ("policy", false), ("stale", false)]);
    assert_eq!(codes(&a.json(1, ["doctor"])), expected);
    a.expect(1, ["doctor"]).out_has(&["1 expired lease", "git agentlock prune", "ttl.default", "counts as held until"]);
    assert_eq!(tree(&store(&repo)), before, "looking changes nothing");

    assert_eq!(codes(&a.json(1, ["doctor", "--fix"])), expected, "what still counts as held needs a reason");
    assert_eq!(tree(&store(&repo)), before);
    a.expect(2, ["doctor", "--reason", "x"]);
    let fixed = a.json(1, ["doctor", "--fix", "--reason", "B is gone"]);
    assert_eq!(codes(&fixed), known(&[("damaged", true), ("policy", false), ("stale", false)]));
    let quarantine = fs::read_dir(store(&repo).join("quarantine")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_to_string(quarantine).unwrap(), "half a rec", "nothing is lost");
    a.ok(["log"]).out_has(&["quarantined", "by A", "B is gone"]);
    fs::remove_file(repo.join(".agentlock.toml")).unwrap();
    a.ok(["prune"]);
    a.ok(["doctor"]);
    b.ok(["acquire", "src/b"]);
}

#[test]
fn doctor_needs_a_store_that_can_be_looked_at() {
    let (sandbox, repo) = Sandbox::with_repo();
    fs::write(repo.join(".git/agent-locks"), "in the way").unwrap();
    sandbox.nobody(&repo).expect(4, ["doctor"]);
    sandbox.nobody(sandbox.root()).expect(4, ["doctor"]);
}

#[test]
fn doctor_names_leases_of_what_is_gone() {
    let (sandbox, repo) = Sandbox::with_repo();
    let linked = sandbox.root().join("linked");
    sandbox.git(&repo, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    sandbox.agent(&linked, "A").ok(["acquire", "src/a"]);
    sandbox.nobody(&repo).ok(["doctor"]);
    sandbox.git(&repo, &["worktree", "remove", "--force", linked.to_str().unwrap()]);
    sandbox.nobody(&repo).expect(1, ["doctor"]).out_has(&["work tree linked, which is gone"]);
    assert_eq!(sandbox.nobody(&repo).listed(), ["src/a A"], "and it is still listed");

    let shared = sandbox.root().join("locks");
    let moved = sandbox.repo("moved");
    sandbox.agent(&moved, "A").env("AGENT_REGISTRY_LOCK_DIR", &shared).ok(["acquire", "src/a"]);
    fs::rename(&moved, sandbox.root().join("elsewhere")).unwrap();
    let here = sandbox.nobody(&sandbox.repo("here")).env("AGENT_REGISTRY_LOCK_DIR", &shared);
    here.expect(1, ["doctor"]).out_has(&["repository ", "gone or was moved"]);
}

#[test]
fn log_answers_who_held_this_when_and_why() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    assert_eq!(a.ok(["log"]).out(), "");
    assert!(!repo.join(".git/agent-locks").exists(), "looking creates nothing");
    a.ok(["acquire", "src/a", "--reason", "a new parser"]);
    a.ok(["renew", "src/a"]);
    a.ok(["release", "src/a"]);
    b.ok(["acquire", "lib/", "--resource", "plan:1"]);
    let events = |arguments: &[&str]| {
        let past = |past: crate::sandbox::Past| format!("{} {}", past.event, past.resource.unwrap().name());
        a.json(0, [&["log"], arguments].concat()).history.unwrap().into_iter().map(past).collect::<Vec<_>>()
    };
    assert_eq!(events(&[]), ["granted src/a", "released src/a", "granted lib/", "granted plan:1"]);
    assert_eq!(events(&["src/a"]), ["granted src/a", "released src/a"]);
    assert_eq!(events(&["lib/x"]), ["granted lib/"]);
    assert_eq!(events(&["--owner", "B"]), ["granted lib/", "granted plan:1"]);
    assert_eq!(events(&["--since", "1h", "src/"]), ["granted src/a", "released src/a"]);
    assert_eq!(events(&["--since", "2999-01-01T00:00:00Z"]), [""; 0]);
    a.ok(["log", "src/a"]).out_has(&["granted", "src/a", "A: a new parser"]);
    a.expect(2, ["log", "--since", "yesterday"]);
    fs::remove_file(store(&repo).join("journal.jsonl")).unwrap();
    assert_eq!(a.ok(["log"]).out(), "");
    a.ok(["acquire", "src/a"]);
}

#[test]
fn another_work_tree_is_noted_and_does_not_contend() {
    let (sandbox, repo) = Sandbox::with_repo();
    let linked = sandbox.root().join("linked");
    sandbox.git(&repo, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&linked, "B"));
    a.ok(["acquire", "src/a"]);
    b.ok(["acquire", "src/a"]).err_has(&["in the main work tree, src/a is held by A"]);
    a.ok(["acquire", "src/"]).err_has(&["in work tree linked, src/a is held by B"]);
    a.ok(["list"]).out_has(&["WORK TREE", "linked"]);
    b.ok(["list"]).out_has(&["WORK TREE", "(main)"]);
    assert!(!b.ok(["acquire", "lib"]).err().contains("work tree"));

    fs::write(repo.join(".git/agentlock.toml"), "[store]\nscope = \"repository\"\n").unwrap();
    a.ok(["acquire", "shared"]);
    b.expect(1, ["acquire", "shared"]).err_has(&["held by A"]);
}

/// What somebody holds in another work tree is no lock of what is here, so it does not look like one.
#[test]
fn what_is_held_in_another_work_tree_is_not_shown_as_held_here() {
    let (sandbox, repo) = Sandbox::with_repo();
    let linked = sandbox.root().join("linked");
    sandbox.git(&repo, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&linked, "A"));
    a.ok(["acquire", "src/a", "--resource", "plan:1"]);
    assert!(!a.ok(["list"]).out().contains("WORK TREE"));
    b.ok(["list"]).out_has(&["WORK TREE", "(main)"]);
    let words: [&str; 0] = [];
    a.ok(words).out_has(&["    src/a", "    plan:1"]);
    let seen = b.ok(words);
    seen.out_has(&["    plan:1", "In other work trees: 1 more", "git agentlock list"]);
    assert!(!seen.out().contains("src/a"), "{seen:#?}");
    b.ok(["acquire", "src/b"]);
    b.ok(words).out_has(&["    src/b"]);
    let seen = a.ok(words);
    seen.out_has(&["    src/a", "In other work trees: 1 more"]);
    assert!(!seen.out().contains("src/b"), "{seen:#?}");
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nscope = \"repository\"\n").unwrap();
    b.ok(["acquire", "shared"]);
    for agent in [&a, &b] {
        agent.ok(words).out_has(&["    shared"]);
    }
}

#[test]
fn a_record_of_a_removed_work_tree_survives_the_removal_of_others() {
    let (sandbox, repo) = Sandbox::with_repo();
    for name in ["one", "two"] {
        let path = sandbox.root().join(name);
        sandbox.git(&repo, &["worktree", "add", "-q", path.to_str().unwrap()]);
        sandbox.agent(&path, name).ok(["acquire", "src/a"]);
    }
    sandbox.git(&repo, &["worktree", "remove", "--force", sandbox.root().join("one").to_str().unwrap()]);
    sandbox.git(&repo, &["worktree", "prune"]);
    assert_eq!(sandbox.agent(&sandbox.root().join("two"), "x").holder_of("src/a").as_deref(), Some("two"));
}

#[test]
fn killed_half_way_what_is_left_is_listed_and_clears_by_release() {
    let (sandbox, repo) = Sandbox::with_repo();
    allow_short_ttls(&repo);
    let a = sandbox.agent(&repo, "A");
    for _ in 0..20 {
        let mut child = a.command(["acquire", "x1", "x2", "x3", "x4", "x5", "x6"]).spawn().unwrap();
        wait_until("it has begun", || !records(&store(&repo)).is_empty() || child.try_wait().unwrap().is_some());
        let _ = child.kill();
        end_of(&mut child);
        let listed = a.listed();
        let document = a.json(0, ["release", "--all"]);
        assert_eq!(document.leases.len(), listed.len());
        assert_eq!(a.listed(), [""; 0]);
    }
}

/// C10: what lies elsewhere is listed and can be locked; what would need the shard cannot be told.
#[test]
fn a_shard_that_cannot_be_opened_hides_no_other() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "src/a", "src/b", "x1", "x2", "x3", "x4", "x5", "x6"]);
    let all = a.listed().len();
    let shard = records(&store(&repo))[0].parent().unwrap().to_owned();
    let inside = records(&store(&repo)).iter().filter(|path| path.starts_with(&shard)).count();
    fs::rename(&shard, sandbox.root().join("aside")).unwrap();
    fs::write(&shard, "in its place").unwrap();
    let document = a.json(4, ["list"]);
    assert_eq!((document.leases.len(), document.unreadable.unwrap().len()), (all - inside, 1));
    a.expect(4, ["list"]).err_has(&[shard.to_str().unwrap(), "cannot be opened"]);
    sandbox.agent(&repo, "B").expect(4, ["acquire", "new/"]).err_has(&["cannot be opened"]);
    let codes: Vec<i32> = (0..40).map(|n| a.run(["acquire", &format!("other-{n}")]).code()).collect();
    assert!(codes.contains(&0) && codes.iter().all(|code| [0, 4].contains(code)), "{codes:?}");
    a.expect(1, ["doctor", "--fix"]).out_has(&[shard.to_str().unwrap(), "is not a file of git-agentlock"]);
    fs::remove_file(&shard).unwrap();
    fs::rename(sandbox.root().join("aside"), &shard).unwrap();
    a.ok(["doctor"]);
}

/// What the one takes, the other gives back; nothing is counted twice, nothing is left out.
#[test]
fn release_all_counts_right_against_an_owner_that_keeps_acquiring() {
    let (sandbox, repo) = Sandbox::with_repo();
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nfsync = false\n").unwrap();
    let a = sandbox.agent(&repo, "A");
    let script = "for i in $(seq 120); do \"$0\" acquire x$i -q || exit 1; done";
    let mut writer = a.by(["sh", "-c", script]).command([""; 0]).spawn().unwrap();
    let mut released = 0;
    while writer.try_wait().unwrap().is_none() {
        released += a.json(0, ["release", "--all"]).leases.len();
    }
    assert!(end_of(&mut writer).success());
    released += a.json(0, ["release", "--all"]).leases.len();
    assert_eq!(released, 120);
    assert_eq!(a.listed(), [""; 0]);
}

/// Invariant 3 beside a clean-up: whoever wins, a lease that was granted or renewed is not removed.
#[test]
fn prune_never_removes_what_is_renewed_or_taken_over_meanwhile() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    for _ in 0..8 {
        a.let_expire("src/a");
        let prunes: Vec<_> = (0..3).map(|_| a.command(["prune", "-q"]).spawn().unwrap()).collect();
        let taken = b.command(["acquire", "src/a", "-q"]).spawn().unwrap();
        let more: Vec<_> = (0..3).map(|_| a.command(["prune", "-q"]).spawn().unwrap()).collect();
        for child in prunes.into_iter().chain([taken]).chain(more) {
            assert_eq!(crate::sandbox::Ran::wait(child, "prune or acquire".to_owned()).code(), 0);
        }
        assert_eq!(a.holder_of("src/a").as_deref(), Some("B"));
        b.ok(["release", "src/a"]);
    }
}

#[test]
#[ignore = "needs strace"]
fn doctor_notices_locks_that_do_not_exclude() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "src/a"]);
    let by = ["strace", "-qq", "-f", "-o", "/dev/null", "-e", "inject=flock:retval=0", "--"];
    a.by(by).expect(1, ["doctor"]).out_has(&["do not exclude each other"]);
    a.ok(["doctor"]);
}
