//! What goes past the guard: git runs no hook there that could refuse. It is told, and noted; a rebase is refused before it begins.

use std::path::PathBuf;

use crate::{guard_world::Committer, sandbox::Sandbox};

const PAST: [&str; 4] = ["post-commit", "post-merge", "post-checkout", "post-rewrite"];

/// `main` with `src/a` and `src/b`, and a branch `f` that has changed `src/a`, checked out `main`; every hook asks the guard; B holds `src/a`.
fn watched() -> (Sandbox, PathBuf) {
    let (sandbox, top) = Sandbox::guarded();
    for name in PAST.iter().chain(&["pre-rebase"]) {
        sandbox.guard_hook(&top, name);
    }
    let a = sandbox.committer(&top, "A");
    for arguments in [&["checkout", "-q", "-b", "f"][..], &["commit", "-qam", "f"], &["checkout", "-q", "main"]] {
        if arguments[0] == "commit" {
            a.change("src/a");
        }
        a.git(arguments);
    }
    a.hold("B", "src/a");
    (sandbox, top)
}

/// The events in the journal that went past a lease: path, owner, by whom, by what.
fn noted(committer: &Committer<'_>) -> Vec<String> {
    let history = committer.agent("A").json(0, ["log"]).history.unwrap();
    let past = history.into_iter().filter(|past| past.event == "went_past");
    past.map(|past| {
        let (owner, other) = (past.owner.unwrap(), past.other.unwrap_or_default());
        format!("{} of {owner} by {other}: {}", past.resource.unwrap().name(), past.reason.unwrap())
    })
    .collect()
}

#[track_caller]
fn went_past(committer: &Committer<'_>, by: &str, arguments: &[&str]) {
    let ran = committer.git(arguments);
    assert!(ran.status.success(), "nothing is refused any more: {ran:#?}");
    ran.err_has(&["src/a: held by B", "went past the guard"]);
    assert_eq!(noted(committer), [format!("src/a of B by A: git {by}")]);
    let found = committer.agent("A").json(1, ["doctor"]).findings.unwrap();
    assert_eq!(found.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>(), ["went_past"]);
    committer.give_back("B", "src/a");
    committer.agent("A").ok(["doctor"]);
}

#[test]
fn a_fast_forward_is_told_and_noted() {
    let (sandbox, top) = watched();
    went_past(&sandbox.committer(&top, "A"), "merge", &["merge", "-q", "f"]);
}

#[test]
fn a_checkout_that_changes_what_somebody_holds_is_told_and_noted() {
    let (sandbox, top) = watched();
    went_past(&sandbox.committer(&top, "A"), "checkout", &["checkout", "-q", "f"]);
}

#[test]
fn a_cherry_pick_is_told_and_noted() {
    let (sandbox, top) = watched();
    went_past(&sandbox.committer(&top, "A"), "commit", &["cherry-pick", "f"]);
}

#[test]
fn a_commit_without_hooks_is_told_and_noted() {
    let (sandbox, top) = watched();
    let a = sandbox.committer(&top, "A");
    a.change("src/a");
    went_past(&a, "commit", &["commit", "-q", "--no-verify", "-am", "x"]);
}

#[test]
fn a_patch_is_refused_before_it_is_committed_or_told_afterwards() {
    let (sandbox, top) = watched();
    let a = sandbox.committer(&top, "A");
    let patch = a.git(["format-patch", "-1", "-o", "..", "f"]).out();
    sandbox.guard_hook(&top, "pre-applypatch");
    let refused = a.git(["am", patch.trim()]);
    assert!(!refused.status.success());
    refused.err_has(&["cannot commit src/a: held by B", "git am --abort"]);
    a.ok(["am", "--abort"]);
    std::fs::remove_file(top.join(".git/hooks/pre-applypatch")).unwrap();
    sandbox.guard_hook(&top, "post-applypatch");
    went_past(&a, "commit", &["am", "-q", patch.trim()]);
}

#[test]
fn an_amended_commit_stands_beside_the_one_that_it_replaces() {
    let (sandbox, top) = watched();
    let a = sandbox.committer(&top, "A");
    a.give_back("B", "src/a");
    let before = std::fs::read_to_string(top.join("src/a")).unwrap();
    a.change("src/a");
    a.git(["commit", "-qam", "a"]);
    a.hold("B", "src/a");
    a.write("src/a", &before);
    went_past(&a, "commit", &["commit", "-q", "--no-verify", "-a", "--amend", "--allow-empty", "-m", "as it was"]);
}

#[test]
fn much_that_changes_in_one_area_is_one_event() {
    let (sandbox, top) = watched();
    let a = sandbox.committer(&top, "A");
    for n in 0..100 {
        a.write(format!("many/{n}"), "1\n");
    }
    a.git(["add", "."]);
    a.git(["commit", "-qm", "many"]);
    a.agent("B").ok(["acquire", "--area", "many"]);
    let ran = a.git(["checkout", "-q", "HEAD~1"]);
    ran.err_has(&["git checkout has changed many/: held by B", "went past the guard"]);
    assert_eq!(ran.err().lines().count(), 2, "{ran:#?}");
    assert_eq!(noted(&a), ["many/ of B by A: git checkout"]);
    let found = a.agent("A").json(1, ["doctor"]).findings.unwrap();
    assert_eq!(found.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>(), ["went_past"]);
}

#[test]
fn a_rebase_without_hooks_is_told_and_noted() {
    let (sandbox, top) = watched();
    let a = sandbox.committer(&top, "A");
    a.git(["checkout", "-q", "-b", "g"]);
    a.change("src/b");
    a.git(["commit", "-qam", "b"]);
    let ran = a.git(["rebase", "-q", "--no-verify", "f"]);
    assert!(ran.status.success(), "{ran:#?}");
    assert!(noted(&a).contains(&"src/a of B by A: git rebase".to_owned()), "{:?}", noted(&a));
}

/// `ORIG_HEAD` is whatever the last `git reset` has left there.
#[test]
fn a_rebase_is_told_from_where_it_began_whatever_was_reset_meanwhile() {
    for backend in ["--exec=git reset -q --hard", "--apply"] {
        let (sandbox, top) = watched();
        let a = sandbox.committer(&top, "A");
        a.git(["checkout", "-q", "-b", "g"]);
        a.change("src/b");
        a.git(["commit", "-qam", "b"]);
        let ran = a.git(["rebase", "-q", "--no-verify", backend, "f"]);
        assert!(ran.status.success(), "{ran:#?}");
        ran.err_has(&["git rebase has changed src/a: held by B"]);
    }
}

#[test]
fn what_nobody_else_holds_goes_past_nobody() {
    let (sandbox, top) = watched();
    let b = sandbox.committer(&top, "B");
    for arguments in [&["merge", "-q", "f"][..], &["checkout", "-q", "HEAD~1"], &["checkout", "-q", "main"]] {
        let ran = b.git(arguments);
        assert!(ran.status.success() && ran.err().is_empty(), "one's own lease: {ran:#?}");
    }
    b.change("src/b");
    b.git(["commit", "-qam", "b"]);
    let a = b.named("A");
    let amended = a.git(["commit", "-q", "--amend", "-m", "another message"]);
    assert!(amended.status.success() && amended.err().is_empty(), "src/a is as it was: {amended:#?}");
    assert!(noted(&a).is_empty());
}

#[test]
fn single_files_new_work_trees_and_squashes_move_nothing() {
    let (sandbox, top) = watched();
    let a = sandbox.committer(&top, "A");
    a.change("src/b");
    for arguments in [
        &["checkout", "-q", "--", "src/b"][..],
        &["worktree", "add", "-q", "../linked", "f"],
        &["checkout", "-q", "-b", "same"],
        &["merge", "-q", "--squash", "f"],
    ] {
        let ran = a.git(arguments);
        assert!(ran.status.success() && !ran.err().contains("held by"), "{ran:#?}");
    }
    assert!(noted(&a).is_empty());
    assert!(!a.git(["commit", "-qm", "squashed"]).status.success(), "the squash is judged when it is committed");
}

#[test]
fn a_rebase_over_what_somebody_holds_is_refused_before_anything_is_touched() {
    let (sandbox, top) = watched();
    let a = sandbox.committer(&top, "A");
    a.git(["checkout", "-q", "-b", "g"]);
    a.change("src/b");
    a.git(["commit", "-qam", "b"]);
    let before = sandbox.git(&top, &["rev-parse", "HEAD"]);
    for arguments in
        [&["rebase", "f"][..], &["rebase", "--root"], &["rebase", "-f", "main", "f"], &["pull", "--rebase", ".", "f"]]
    {
        let ran = a.git(arguments);
        assert!(!ran.status.success(), "{arguments:?}: {ran:#?}");
        ran.err_has(&["the rebase would touch src/a: held by B"]);
        assert_eq!(sandbox.git(&top, &["rev-parse", "HEAD"]), before, "{arguments:?}");
        assert_eq!(sandbox.git(&top, &["status", "--porcelain"]), "", "{arguments:?}");
        assert!(!top.join(".git/rebase-merge").exists() && !top.join(".git/rebase-apply").exists());
    }
    let other = a.git(["rebase", "-q", "HEAD~1"]);
    assert!(other.status.success(), "it touches src/b only: {other:#?}");
    assert!(a.env("AGENTLOCK_GUARD", "off").git(["rebase", "-q", "f"]).status.success());
}

#[test]
fn a_rebase_is_judged_however_the_revision_is_spelt_also_where_refs_are_in_tables() {
    for kind in ["plain", "reftable"] {
        let sandbox = Sandbox::new();
        let Some(top) = sandbox.fixture(kind) else { continue };
        let a = sandbox.committer(&top, "A");
        for path in ["src/a", "src/b"] {
            a.change(path);
            a.ok(["commit", "-qam", path]);
        }
        a.hold("B", "src/a");
        let short = a.ok(["rev-parse", "--short", "HEAD~1"]).out();
        for harmless in ["HEAD~1", "main^", "main~1^0", "heads/main~1", short.trim(), "@", "@~1"] {
            a.agent("A").ok(["guard", "--hook", "pre-rebase", harmless]);
        }
        for over_it in ["HEAD~2", "refs/heads/main~2", "main^^", "@~2", &format!("{}~1", short.trim())] {
            a.agent("A").expect(1, ["guard", "--hook", "pre-rebase", over_it]).err_has(&["src/a: held by B"]);
        }
        for unknown in ["no-such~1", "HEAD~9", "@{-9}", ""] {
            a.agent("A").expect(4, ["guard", "--hook", "pre-rebase", unknown]);
        }
    }
}

#[test]
fn a_rebase_onto_nobody_knows_what_is_refused_with_the_way_past() {
    let (sandbox, top) = watched();
    let a = sandbox.agent(&top, "A");
    a.expect(4, ["guard", "--hook", "pre-rebase", "no-such-branch"])
        .err_has(&["no-such-branch", "git rebase --no-verify"]);
    a.env("AGENTLOCK_GUARD", "warn").ok(["guard", "--hook", "pre-rebase", "no-such-branch"]).err_has(&["warning:"]);
}

#[test]
fn who_tells_afterwards_never_fails() {
    let (sandbox, top) = watched();
    let a = sandbox.agent(&top, "A");
    for arguments in [
        &["guard", "--hook", "post-checkout", "nonsense", "HEAD", "1"][..],
        &["guard", "--hook", "post-merge"],
        &["guard", "--hook", "post-merge", "0"],
        &["guard", "--hook", "post-rewrite", "rebase"],
        &["guard", "--hook", "post-rewrite"],
        &["guard", "--hook", "post-commit", "--owner", " "],
        &["guard", "--hook", "post-checkout"],
    ] {
        a.ok(arguments);
    }
    let nowhere = sandbox.root().join("nowhere");
    std::fs::create_dir(&nowhere).unwrap();
    a.cd(&nowhere).ok(["guard", "--hook", "post-commit"]).err_has(&["warning:"]);
    a.env("AGENTLOCK_GUARD", "off").ok(["guard", "--hook", "post-checkout", "nonsense", "HEAD", "1"]);
}
