//! The guard judges the commit being made and no other: every form of `git commit`, every kind of change, from every kind of place.

use crate::{
    guard_world::Committer,
    sandbox::{Sandbox, tree},
};

fn start_over(at: &Committer<'_>) {
    at.ok(["reset", "-q", "--hard"]);
}

/// C01, at the top of a work tree or in its `src`.
#[track_caller]
pub(crate) fn each_form_is_judged_by_its_own_index(at: &Committer<'_>) {
    let is_below = at.cwd().ends_with("src");
    let (a, b) = if is_below { ("a", "b") } else { ("src/a", "src/b") };
    at.hold("B", a);
    let forms = [
        &["commit", "-qam", "all"][..],
        &["commit", "-qm", "only", "--only", a],
        &["commit", "-qm", "path", "--", a],
        &["commit", "-qm", "include", "--include", a],
    ];
    for form in forms {
        at.change(a);
        at.refused(form, &["src/a"]).err_has(&["held by B since ", "git commit --only"]);
        start_over(at);
    }
    at.change(a);
    at.ok(["add", a]);
    at.refused(["commit", "-qm", "staged"], &["src/a"]);
    // The reverse: what is staged is held, what is committed is not.
    at.change(b);
    at.refused(["commit", "-qm", "include", "--include", b], &["src/a"]);
    at.passes(["commit", "-qm", "only", "--only", b]);
    at.change(b);
    at.passes(["commit", "-qm", "path", "--", b]);
    at.refused(["commit", "-qm", "staged"], &["src/a"]);
    start_over(at);
    at.change(b);
    at.passes(["commit", "-qam", "all"]);
    at.give_back("B", a);
}

fn from_top_and_below(at: &Committer<'_>) {
    each_form_is_judged_by_its_own_index(at);
    each_form_is_judged_by_its_own_index(&at.cd("src"));
}

#[test]
fn c01_each_form_of_commit_in_a_main_work_tree() {
    let (sandbox, top) = Sandbox::guarded();
    from_top_and_below(&sandbox.committer(&top, "A"));
}

#[test]
fn c01_each_form_of_commit_in_a_linked_work_tree() {
    let sandbox = Sandbox::new();
    let top = sandbox.fixture("linked").unwrap();
    from_top_and_below(&sandbox.committer(&top, "A"));
}

#[test]
fn c01_each_form_of_commit_in_a_submodule() {
    let sandbox = Sandbox::new();
    let top = sandbox.fixture("submodule").unwrap();
    from_top_and_below(&sandbox.committer(&top, "A"));
}

#[test]
fn c01_an_index_of_the_callers_own_is_the_one_that_counts() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    at.ok(["add", "src/a"]);
    for index in [sandbox.root().join("index").into_os_string(), ".git/other-index".into()] {
        let other = at.env("GIT_INDEX_FILE", &index);
        other.ok(["read-tree", "HEAD"]);
        other.change("src/b");
        other.ok(["add", "src/b"]);
        other.judged(0);
        other.passes(["commit", "-qm", "other"]);
        other.ok(["add", "src/a"]);
        other.judged(1);
        other.refused(["commit", "-qm", "other"], &["src/a"]);
    }
    // Of that index nothing is left in the repository's own one, which still holds the change of `src/a`, and lacks those of `src/b`.
    at.refused(["commit", "-qm", "own"], &["src/a"]);
}

/// `GIT_DIR` and `GIT_WORK_TREE` say which repository it is, from wherever it is called.
#[test]
fn a_commit_from_elsewhere_is_judged_in_its_own_repository() {
    let (sandbox, top) = Sandbox::guarded();
    let other = sandbox.repo("other");
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    let elsewhere = sandbox.committer(&other, "A");
    let (git_dir, tree) =
        (format!("--git-dir={}", top.join(".git").display()), format!("--work-tree={}", top.display()));
    elsewhere.ok([&git_dir, &tree, "add", "src/a"]);
    let ran = elsewhere.git([&git_dir, &tree, "commit", "-qm", "x"]);
    assert_eq!((ran.code(), elsewhere.said()), (1, vec!["pre-commit 1".to_owned()]), "{ran:#?}");
    elsewhere.env("GIT_DIR", top.join(".git")).env("GIT_WORK_TREE", &top).judged(1);
    elsewhere.judged(0);
    sandbox.guard_commits(&other);
    elsewhere.change("src/a");
    elsewhere.passes(["commit", "-qam", "in other"]);
}

/// C02, at the top of a work tree.
#[track_caller]
pub(crate) fn every_kind_of_change_is_seen(at: &Committer<'_>) {
    type Change = fn(&Committer<'_>);
    let changes: [(&str, Change); 10] = [
        ("renamed", |at| drop(at.ok(["mv", "src/a", "src/z"]))),
        ("renamed into another directory", |at| {
            at.write("lib/x", "1\n");
            at.ok(["mv", "src/a", "lib/a"]);
        }),
        ("deleted", |at| drop(at.ok(["rm", "-q", "src/a"]))),
        ("no longer tracked", |at| drop(at.ok(["rm", "-q", "--cached", "src/a"]))),
        ("another type", |at| {
            std::fs::remove_file(at.cwd().join("src/a")).unwrap();
            std::os::unix::fs::symlink("b", at.cwd().join("src/a")).unwrap();
        }),
        ("another mode", |at| drop(at.ok(["update-index", "--chmod=+x", "src/a"]))),
        ("overwritten by another", |at| drop(at.ok(["mv", "-f", "src/b", "src/a"]))),
        ("copied over", |at| {
            at.write("src/b", "another\n");
            std::fs::copy(at.cwd().join("src/b"), at.cwd().join("src/a")).unwrap();
        }),
        ("a directory now", |at| {
            std::fs::remove_file(at.cwd().join("src/a")).unwrap();
            at.write("src/a/b", "1\n");
            at.ok(["add", "src"]);
        }),
        ("gone with its directory, which is a file now", |at| {
            std::fs::remove_dir_all(at.cwd().join("src")).unwrap();
            at.write("src", "1\n");
            at.ok(["add", "src"]);
        }),
    ];
    at.hold("B", "src/a");
    for (what, change) in changes {
        change(at);
        let index_only = ["no longer tracked", "another mode"].contains(&what);
        at.refused(["commit", if index_only { "-qm" } else { "-qam" }, what], &["src/a"]).err_has(&["held by B"]);
        at.ok(["reset", "-q", "--hard"]);
        at.ok(["clean", "-qfd"]);
    }
    at.give_back("B", "src/a");
    // The new side of a renaming, and a name that nobody has had before.
    at.hold("B", "src/z");
    at.ok(["mv", "src/a", "src/z"]);
    at.refused(["commit", "-qm", "renamed to"], &["src/z"]);
    start_over(at);
    at.write("src/z", "new\n");
    at.ok(["add", "src/z"]);
    at.refused(["commit", "-qm", "new"], &["src/z"]);
    at.give_back("B", "src/z");
    start_over(at);
}

#[test]
fn c02_renames_deletions_types_and_modes() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    every_kind_of_change_is_seen(&at);
    for renames in ["copies", "false"] {
        at.ok(["config", "diff.renames", renames]);
        every_kind_of_change_is_seen(&at);
    }
}

#[test]
fn c59_another_agents_staged_file_is_not_swept_up() {
    let (sandbox, top) = Sandbox::guarded();
    let (a, b) = (sandbox.committer(&top, "A"), sandbox.committer(&top, "B"));
    b.agent("B").ok(["acquire", "src/b", "--reason", "parser work"]);
    b.change("src/b");
    b.ok(["add", "src/b"]);
    a.change("src/a");
    a.ok(["add", "src/a"]);
    let ran = a.refused(["commit", "-qm", "x"], &["src/b"]);
    ran.err_has(&["held by B since ", " until ", " left): parser work", "git commit --only"]);
    a.passes(["commit", "-qm", "x", "--only", "src/a"]);
    b.passes(["commit", "-qm", "y"]);
}

#[test]
fn c59_all_conflicts_are_told_not_only_the_first() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.hold("C", "src/b");
    at.hold("D", "lib/");
    at.hold("D", "untouched");
    at.change("src/a");
    at.change("src/b");
    at.write("lib/deep/x", "1\n");
    at.write("lib/y", "1\n");
    at.ok(["add", "."]);
    at.refused(["commit", "-qm", "x"], &["src/a", "src/b", "lib/deep/x", "lib/y"]).err_has(&[
        "src/a: held by B",
        "src/b: held by C",
        "lib/deep/x: lib/ is held by D",
    ]);
}

#[test]
fn c63_amending_counts_what_changes_against_the_commit_that_is_amended() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    for message in ["one", "two", "three"] {
        at.change("src/a");
        at.passes(["commit", "-qam", message]);
    }
    at.hold("B", "src/a");
    at.passes(["commit", "-q", "--amend", "-m", "new words"]);
    at.passes(["commit", "-q", "--allow-empty", "-m", "nothing"]);
    at.change("src/b");
    at.passes(["commit", "-qa", "--amend", "-m", "more of src/b"]);
    at.change("src/a");
    at.refused(["commit", "-qa", "--amend", "-m", "more of src/a"], &["src/a"]);
    start_over(&at);
    at.ok(["reset", "-q", "--soft", "HEAD~2"]);
    at.refused(["commit", "-qm", "squashed"], &["src/a"]);
}

#[test]
fn c63_a_rebase_that_amends_words_is_not_wedged() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    for message in ["one", "two"] {
        at.change("src/a");
        at.passes(["commit", "-qam", message]);
    }
    at.hold("B", "src/a");
    at.ok(["rebase", "-q", "--exec", "git commit -q --amend --allow-empty -m again", "HEAD~2"]);
    assert_eq!(at.said(), ["pre-commit 0", "pre-commit 0"]);
    assert!(!top.join(".git/rebase-merge").exists());
}

#[test]
fn a_refused_commit_leaves_index_files_and_store_as_they_are() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    at.ok(["add", "src/a"]);
    let (store, work) = (tree(&top.join(".git/agent-locks")), tree(&top.join("src")));
    let staged = sandbox.git(&top, &["ls-files", "--stage"]);
    at.refused(["commit", "-qm", "x"], &["src/a"]);
    assert_eq!((tree(&top.join(".git/agent-locks")), tree(&top.join("src"))), (store, work));
    assert_eq!(sandbox.git(&top, &["ls-files", "--stage"]), staged);
    at.ok(["commit", "-qm", "x", "--no-verify"]);
    assert_eq!(at.said(), [""; 0]);
}
