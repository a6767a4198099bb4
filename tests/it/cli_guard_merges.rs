//! Merges: only what differs from every parent is the merger's own work, the same in `git merge` and in the `git commit` that concludes one.

use std::path::Path;

use crate::{guard_world::Committer, sandbox::Sandbox};

fn is_merging(top: &Path) -> bool {
    top.join(".git/MERGE_HEAD").exists()
}

fn merging(kind: &str) -> (Sandbox, std::path::PathBuf) {
    let sandbox = Sandbox::new();
    let top = sandbox.fixture(kind).unwrap();
    (sandbox, top)
}

#[track_caller]
fn passes_in(at: &Committer<'_>, hook: &str, arguments: &[&str]) {
    at.passes(arguments);
    assert_eq!(at.said(), [format!("{hook} 0")]);
}

#[test]
fn c07_a_clean_merge_brings_in_what_one_side_changed() {
    for held in ["src/c", "src/b", "src/untouched", "onlyin/"] {
        let (sandbox, top) = merging("clean-merge");
        let at = sandbox.committer(&top, "A");
        at.hold("B", held);
        passes_in(&at, "pre-merge-commit", &["merge", "-q", "--no-edit", "f"]);
        assert!(!is_merging(&top));
    }
}

#[test]
fn c07_a_clean_merge_of_what_both_sides_changed_is_refused() {
    let (sandbox, top) = merging("clean-merge");
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.refused(["merge", "-q", "--no-edit", "f"], &["src/a"]);
    assert_eq!(at.said(), ["pre-merge-commit 1"]);
    assert!(is_merging(&top), "git can conclude it");
    // The same rule, for the commit that concludes it.
    at.refused(["commit", "-q", "--no-edit"], &["src/a"]);
    at.refused(["merge", "--continue"], &["src/a"]);
    assert!(is_merging(&top));
    at.give_back("B", "src/a");
    passes_in(&at, "pre-commit", &["commit", "-q", "--no-edit"]);
    assert_eq!(at.ok(["rev-list", "--parents", "-1", "HEAD"]).out().split_whitespace().count(), 3);
}

#[test]
fn c07_an_area_over_a_merge_counts_what_both_sides_changed() {
    let (sandbox, top) = merging("clean-merge");
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/");
    at.refused(["merge", "-q", "--no-edit", "f"], &["src/a"]);
    at.refused(["commit", "-q", "--no-edit"], &["src/a"]);
}

#[test]
fn c07_strategies_and_more_than_two_parents() {
    let (sandbox, top) = merging("clean-merge");
    let at = sandbox.committer(&top, "A");
    for branch in ["g", "h"] {
        at.ok(["checkout", "-q", "-b", branch, "main"]);
        at.write(branch, "1\n");
        at.ok(["add", branch]);
        at.passes(["commit", "-qm", branch]);
    }
    at.ok(["checkout", "-q", "main"]);
    at.write("main", "1\n");
    at.ok(["add", "main"]);
    at.passes(["commit", "-qm", "main"]);
    at.hold("B", "g");
    at.hold("B", "src/a");
    passes_in(&at, "pre-merge-commit", &["merge", "-q", "--no-edit", "g", "h"]);
    // The result is this side's own.
    passes_in(&at, "pre-merge-commit", &["merge", "-q", "--no-edit", "-s", "ours", "f"]);
}

#[test]
fn c07_a_fast_forward_runs_no_hook() {
    let (sandbox, top) = merging("clean-merge");
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/b");
    at.ok(["checkout", "-q", "-b", "old", "HEAD~1"]);
    at.ok(["merge", "-q", "--ff", "main"]);
    assert_eq!(at.said(), [""; 0]);
}

#[test]
fn c40_a_resolved_conflict_does_not_blame_for_what_the_other_branch_brings() {
    let (sandbox, top) = merging("conflict");
    let at = sandbox.committer(&top, "A");
    at.hold("B", "onlyf");
    at.hold("B", "src/b");
    at.write("src/a", "both\n");
    at.ok(["add", "src/a"]);
    at.judged(0);
    passes_in(&at, "pre-commit", &["commit", "-q", "--no-edit"]);
}

#[test]
fn c40_an_edit_by_hand_during_a_merge_is_refused() {
    for by in [&["commit", "-q", "--no-edit"][..], &["commit", "-qa", "--no-edit"], &["merge", "--continue"]] {
        let (sandbox, top) = merging("conflict");
        let at = sandbox.committer(&top, "A");
        at.hold("B", "onlyf");
        at.write("src/a", "both\n");
        at.change("onlyf");
        at.ok(["add", "."]);
        at.refused(by, &["onlyf"]);
        assert!(is_merging(&top), "{by:?}");
        at.judged(1);
    }
}

/// The other hole: a clean result that is stopped, changed by hand, and then committed.
#[test]
fn c40_an_edit_by_hand_of_a_clean_merge_is_refused() {
    let (sandbox, top) = merging("clean-merge");
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/c");
    at.ok(["merge", "-q", "--no-commit", "f"]);
    at.judged(0);
    at.change("src/c");
    at.ok(["add", "src/c"]);
    at.refused(["commit", "-q", "--no-edit"], &["src/c"]);
    at.ok(["rm", "-qf", "src/c"]);
    at.refused(["commit", "-q", "--no-edit"], &["src/c"]);
    assert!(is_merging(&top));
}

#[test]
fn c40_a_conflict_in_what_is_held_may_be_settled_for_one_side_only_as_it_is() {
    for (side, is_mixed) in [("--ours", false), ("--theirs", false), ("", true)] {
        let (sandbox, top) = merging("conflict");
        let at = sandbox.committer(&top, "A");
        at.hold("B", "src/a");
        if is_mixed {
            at.write("src/a", "mixed\n");
        } else {
            at.ok(["checkout", "-q", side, "src/a"]);
        }
        at.ok(["add", "src/a"]);
        if is_mixed {
            at.refused(["commit", "-q", "--no-edit"], &["src/a"]);
        } else {
            at.passes(["commit", "-q", "--no-edit"]);
        }
    }
}

/// While it is not resolved, git makes no commit. Whoever asks is told that the path is held.
#[test]
fn c76_an_index_in_conflict_is_judged() {
    let (sandbox, top) = merging("conflict");
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/b");
    at.judged(0);
    at.hold("C", "src/a");
    at.judged(1).err_has(&["src/a: held by C"]);
}

/// One parent only: what the other branch changed is this commit's change.
#[test]
fn a_squashed_merge_a_pick_and_a_revert_are_commits_like_any_other() {
    let (sandbox, top) = merging("clean-merge");
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/c");
    at.ok(["merge", "-q", "--squash", "f"]);
    at.refused(["commit", "-qm", "squashed"], &["src/c"]);
    at.ok(["reset", "-q", "--hard"]);
    at.ok(["cherry-pick", "--no-commit", "f"]);
    at.refused(["commit", "-qm", "picked"], &["src/c"]);
    at.ok(["reset", "-q", "--hard"]);
    at.hold("C", "src/b");
    at.ok(["revert", "--no-commit", "HEAD"]);
    at.refused(["commit", "-qm", "reverted"], &["src/b"]);
}

#[test]
fn a_pick_that_stops_is_concluded_under_the_guard() {
    let (sandbox, top) = merging("conflict");
    let at = sandbox.committer(&top, "A");
    at.ok(["merge", "--abort"]);
    at.hold("B", "onlyf");
    assert_eq!(at.git(["cherry-pick", "f"]).code(), 1);
    at.write("src/a", "both\n");
    at.ok(["add", "src/a"]);
    at.refused(["cherry-pick", "--continue"], &["onlyf"]);
    assert!(top.join(".git/CHERRY_PICK_HEAD").exists());
    at.give_back("B", "onlyf");
    at.passes(["cherry-pick", "--continue"]);
}

/// git's sample of the hook calls `pre-commit`, which then judges a merge that is not written down yet.
#[test]
fn a_merge_that_is_judged_by_pre_commit_is_judged_as_a_merge() {
    let (sandbox, top) = merging("clean-merge");
    std::fs::copy(top.join(".git/hooks/pre-commit"), top.join(".git/hooks/pre-merge-commit")).unwrap();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/c");
    passes_in(&at, "pre-commit", &["merge", "-q", "--no-edit", "f"]);
    let (sandbox, top) = merging("clean-merge");
    std::fs::copy(top.join(".git/hooks/pre-commit"), top.join(".git/hooks/pre-merge-commit")).unwrap();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.refused(["pull", "-q", "--no-rebase", "--no-edit", ".", "f"], &["src/a"]);
    assert_eq!(at.said(), ["pre-commit 1"]);
}

/// The variables that name the heads are looked at during a merge only, where git has set them itself.
#[test]
fn heads_in_the_environment_open_no_hole_elsewhere() {
    let (sandbox, top) = merging("clean-merge");
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/c");
    at.ok(["merge", "-q", "--squash", "f"]);
    let f = at.ok(["rev-parse", "f"]).out();
    let planted = at.env(format!("GITHEAD_{}", f.trim()), "f");
    planted.refused(["commit", "-qm", "squashed"], &["src/c"]);
    // What names no object is no parent.
    let odd = at.env("GITHEAD_", "x").env("GITHEAD_nonsense", "x").env("GITHEAD_zz", "");
    odd.ok(["reset", "-q", "--hard"]);
    odd.passes(["merge", "-q", "--no-edit", "f"]);
}
