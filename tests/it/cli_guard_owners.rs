//! Whose lease is foreign: kin, nobody, areas, work trees, two stores; and leases that were lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    guard_world::{Committer, is_blamed},
    sandbox::{Sandbox, wait_until},
};

fn world() -> (Sandbox, PathBuf) {
    Sandbox::guarded()
}

fn stage(at: &Committer<'_>, path: &str) {
    at.change(path);
    at.ok(["add", path]);
}

fn local(top: &Path, text: &str) {
    fs::write(top.join(".git/agentlock.toml"), text).unwrap();
}

#[test]
fn own_leases_and_those_of_kin_pass_and_those_of_siblings_do_not() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    stage(&at, "src/a");
    for (holder, committer, may) in [
        ("A", "A", true),
        ("A/x", "A", true),
        ("A/x/y", "A", true),
        ("A", "A/x", true),
        ("A", "A/x/y", true),
        ("A/x", "A/y", false),
        ("A/x", "A/xy", false),
        ("A", "AB", false),
        ("AB", "A", false),
        ("A", "B", false),
        ("a", "A", false),
    ] {
        at.hold(holder, "src/a");
        let ran = at.named(committer).judged(i32::from(!may));
        is_blamed("error", &ran, if may { &[] } else { &["src/a"] });
        at.give_back(holder, "src/a");
    }
    at.hold("A/x", "src/a");
    at.named("A/y").refused(["commit", "-qm", "sibling"], &["src/a"]);
    at.passes(["commit", "-qm", "parent"]);
}

#[test]
fn the_owner_is_found_as_everywhere_else() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "");
    at.hold("codex:7", "src/a");
    stage(&at, "src/a");
    at.env("CODEX_THREAD_ID", "8").judged(1);
    at.env("CODEX_THREAD_ID", "7").judged(0);
    at.env("CODEX_THREAD_ID", "7").named("A").judged(1);
    at.agent("A").ok(["guard", "--owner", "codex:7"]);
    at.agent("A").ok(["guard", "--hook", "pre-commit", "-o", "codex:7"]);
    at.env("CODEX_THREAD_ID", "7").passes(["commit", "-qm", "x"]);
}

#[test]
fn without_an_owner_every_lease_on_a_staged_path_refuses_and_the_variable_is_named() {
    let (sandbox, top) = world();
    let nobody = sandbox.committer(&top, "");
    stage(&nobody, "src/a");
    nobody.passes(["commit", "-qm", "nothing is held"]);
    nobody.hold("B", "src/b");
    stage(&nobody, "src/a");
    nobody.passes(["commit", "-qm", "another path is held"]);
    nobody.hold("A", "src/a");
    stage(&nobody, "src/a");
    nobody.refused(["commit", "-qm", "held"], &["src/a"]).err_has(&["held by A", "AGENTLOCK_OWNER"]);
    nobody.named("A").passes(["commit", "-qm", "mine"]);
}

#[test]
fn ended_leases_do_not_refuse() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    stage(&at, "src/a");
    at.agent("B").let_expire("src/a");
    at.agent("B").let_expire("src/");
    at.judged(0);
    at.hold("C", "src/a");
    at.judged(1);
    at.give_back("C", "src/a");
    at.judged(0);
    at.hold("C", "src/a");
    at.agent("D").ok(["break", "src/a", "--reason", "C is gone"]);
    at.judged(0);
}

/// C28, C27.
#[test]
fn areas_cover_all_below_also_the_whole_work_tree() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    at.write("src/deep/er/x", "1\n");
    at.write("other", "1\n");
    at.ok(["add", "."]);
    for (area, blamed) in [
        ("src/", &["src/deep/er/x"][..]),
        ("src/deep/", &["src/deep/er/x"]),
        ("src/deep/er/", &["src/deep/er/x"]),
        ("src/deep/e/", &[]),
        ("sr/", &[]),
        (".", &["other", "src/deep/er/x"]),
    ] {
        at.agent("B").ok(["acquire", "--area", area]);
        let ran = at.judged(i32::from(!blamed.is_empty()));
        is_blamed("error", &ran, blamed);
        at.agent("B").ok(["release", "--all"]);
    }
    at.agent("B").ok(["acquire", "--area", "."]);
    at.refused(["commit", "-qm", "x"], &["other", "src/deep/er/x"]);
    at.named("B").passes(["commit", "-qm", "x"]);
}

/// A directory that becomes a file, and the reverse, under an area.
#[test]
fn an_area_at_the_path_of_a_file_holds_that_file() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    at.agent("B").ok(["acquire", "--area", "src"]);
    fs::remove_dir_all(top.join("src")).unwrap();
    at.write("src", "a file now\n");
    at.ok(["add", "-A"]);
    at.refused(["commit", "-qm", "x"], &["src", "src/a", "src/b"]);
    at.named("B").passes(["commit", "-qm", "x"]);
    fs::remove_file(top.join("src")).unwrap();
    at.write("src/new", "a directory again\n");
    at.ok(["add", "-A"]);
    at.refused(["commit", "-qm", "x"], &["src", "src/new"]);
}

#[test]
fn work_trees_contend_by_the_policys_scope() {
    let sandbox = Sandbox::new();
    let linked = sandbox.fixture("linked").unwrap();
    let main = linked.with_file_name("main");
    let (here, there) = (sandbox.committer(&linked, "A"), sandbox.committer(&main, "A"));
    there.hold("B", "src/a");
    stage(&here, "src/a");
    here.passes(["commit", "-qm", "their files are other files"]);
    here.hold("C", "src/b");
    stage(&there, "src/b");
    there.passes(["commit", "-qm", "and the reverse"]);
    for (at, path) in [(&here, "src/b"), (&there, "src/a")] {
        stage(at, path);
        at.refused(["commit", "-qm", "its own"], &[path]);
        at.ok(["reset", "-q", "--hard"]);
    }
    there.agent("B").ok(["release", "--all"]);
    there.agent("C").ok(["release", "--all"]);
    local(&main, "[store]\nscope = \"repository\"\n");
    there.hold("B", "src/a");
    for at in [&here, &there] {
        stage(at, "src/a");
        at.refused(["commit", "-qm", "one path is one lock"], &["src/a"]);
    }
    here.hold("C", "src/b");
    there.ok(["reset", "-q", "--hard"]);
    stage(&there, "src/b");
    there.refused(["commit", "-qm", "the reverse"], &["src/b"]);
}

#[test]
fn a_shared_store_and_the_repositorys_own_are_both_read() {
    let (sandbox, top) = world();
    let own = sandbox.committer(&top, "A");
    let shared = own.env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("L"));
    own.hold("B", "src/a");
    stage(&own, "src/a");
    shared.refused(["commit", "-qm", "x"], &["src/a"]).err_has(&["src/a: held by B", "warning: "]);
    stage(&own, "src/b");
    shared.hold("C", "src/b");
    shared.refused(["commit", "-qm", "x"], &["src/a", "src/b"]).err_has(&["src/b: held by C"]);
    own.give_back("B", "src/a");
    shared.refused(["commit", "-qm", "x"], &["src/b"]);
    own.passes(["commit", "-qm", "who does not know of the shared store"]);
}

#[test]
fn a_store_that_variable_and_policy_both_name_is_read_once() {
    let (sandbox, top) = world();
    let dir = sandbox.root().join("L");
    local(&top, &format!("[store]\ndir = \"{}\"\n", dir.display()));
    let at = sandbox.committer(&top, "A").env("AGENT_REGISTRY_LOCK_DIR", &dir);
    at.hold("B", "src/a");
    stage(&at, "src/a");
    let refused = at.refused(["commit", "-qm", "x"], &["src/a"]);
    assert_eq!(refused.err().matches("src/a: held by B").count(), 1, "{refused:#?}");
}

#[test]
fn a_shared_store_keeps_repositories_apart() {
    let (sandbox, top) = world();
    let other = sandbox.fixture("linked").unwrap();
    let lock_dir = sandbox.root().join("L");
    let here = sandbox.committer(&top, "A").env("AGENT_REGISTRY_LOCK_DIR", &lock_dir);
    let there = sandbox.committer(&other, "A").env("AGENT_REGISTRY_LOCK_DIR", &lock_dir);
    there.hold("B", "src/a");
    there.agent("B").ok(["acquire", "--resource", "plan:1"]);
    stage(&here, "src/a");
    here.passes(["commit", "-qm", "x"]);
    stage(&there, "src/a");
    there.refused(["commit", "-qm", "x"], &["src/a"]);
}

/// A had a lease, which ended; B took it over, worked, and gave it back.
fn lost_by_a(at: &Committer<'_>) {
    at.agent("A").let_expire("src/a");
    at.hold("B", "src/a");
    at.give_back("B", "src/a");
}

#[test]
fn a_lease_that_was_lost_to_a_takeover_is_told_until_it_is_acquired_again() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    stage(&at, "src/a");
    lost_by_a(&at);
    at.refused(["commit", "-qm", "x"], &["src/a"]).err_has(&["B", "git agentlock acquire"]);
    let document = at.judged_json(1);
    assert!(!document.ok && document.error.is_some(), "{document:?}");
    at.env("AGENTLOCK_GUARD", "warn").judged(0).err_has(&["warning: cannot commit src/a: "]);
    // Nobody else has lost anything.
    for other in ["B", "C", ""] {
        at.named(other).judged(0);
    }
    // What is not staged does not count.
    at.change("src/b");
    at.passes(["commit", "-qm", "x", "--only", "src/b"]);
    at.hold("A", "src/a");
    at.judged(0);
    at.give_back("A", "src/a");
    at.passes(["commit", "-qm", "looked at"]);
}

#[test]
fn a_lost_lease_that_another_holds_is_told_once() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    stage(&at, "src/a");
    at.agent("A").let_expire("src/a");
    at.judged(0);
    at.hold("B", "src/a");
    at.refused(["commit", "-qm", "x"], &["src/a"]).err_has(&["held by B since"]);
}

#[test]
fn a_lease_that_expired_and_that_nobody_took_is_not_lost() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    stage(&at, "src/a");
    at.agent("A").let_expire("src/a");
    at.passes(["commit", "-qm", "x"]);
    // Nor is one that was given back before the other came.
    at.hold("A", "src/b");
    at.give_back("A", "src/b");
    at.hold("B", "src/b");
    at.give_back("B", "src/b");
    stage(&at, "src/b");
    at.passes(["commit", "-qm", "y"]);
}

#[test]
fn a_lease_that_was_lost_to_an_area_is_told() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    stage(&at, "src/a");
    at.agent("A").let_expire("src/a");
    at.hold("B", "src/");
    at.refused(["commit", "-qm", "x"], &["src/a"]).err_has(&["src/ is held by B"]);
    at.give_back("B", "src/");
    at.refused(["commit", "-qm", "x"], &["src/a"]);
    at.hold("A", "src/a");
    at.passes(["commit", "-qm", "x"]);
}

#[test]
fn an_area_says_that_one_has_looked_as_well() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    stage(&at, "src/a");
    lost_by_a(&at);
    at.agent("A/kin").ok(["acquire", "src/"]);
    at.refused(["commit", "-qm", "kin have not looked for A"], &["src/a"]);
    at.give_back("A/kin", "src/");
    at.hold("A", "src/");
    at.passes(["commit", "-qm", "x"]);
}

#[test]
fn the_policy_may_say_that_lost_leases_do_not_count() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    stage(&at, "src/a");
    lost_by_a(&at);
    at.judged(1);
    local(&top, "[guard]\nlost-leases = false\n");
    at.passes(["commit", "-qm", "x"]);
}

#[test]
fn a_lost_lease_is_forgotten_after_the_time_that_ended_records_are_kept() {
    let (sandbox, top) = world();
    let at = sandbox.committer(&top, "A");
    stage(&at, "src/a");
    lost_by_a(&at);
    local(&top, "[ttl]\nmin = \"1ms\"\nkeep-expired = \"1h\"\n");
    at.judged(1);
    local(&top, "[ttl]\nmin = \"1ms\"\nkeep-expired = \"1ms\"\n");
    wait_until("it is forgotten", || at.agent("A").run(["guard"]).code() == 0);
    at.passes(["commit", "-qm", "x"]);
}
