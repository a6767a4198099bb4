//! Every kind of repository and of index that git itself works in.

use std::{fs, path::Path};

use crate::{guard_world::Committer, sandbox::Sandbox};

/// What holds in each of them: held, refused; given back, passes; own, passes; another path, passes.
#[track_caller]
fn judges_like_anywhere(kind: &str) {
    let sandbox = Sandbox::new();
    let Some(top) = sandbox.fixture(kind) else { return };
    let at = sandbox.committer(&top, "A");
    at.judged(0);
    at.hold("B", "src/a");
    if at.git(["rev-parse", "-q", "--verify", "HEAD"]).code() == 0 {
        at.change("src/b");
        at.passes(["commit", "-qam", "another path"]);
        at.change("src/a");
    }
    at.refused(["commit", "-qam", "held"], &["src/a"]).err_has(&["src/a: held by B since"]);
    at.refused(["commit", "-qm", "held", "--only", "src/a"], &["src/a"]);
    at.give_back("B", "src/a");
    at.hold("B", "lib/");
    at.hold("A", "src/");
    at.passes(["commit", "-qam", "mine"]);
    at.cd("src").change("a");
    at.named("C").cd("src").refused(["commit", "-qam", "from below"], &["src/a"]);
    at.agent("A").ok(["release", "--all"]);
    at.named("C").cd("src").passes(["commit", "-qam", "from below"]);
    at.agent("B").ok(["acquire", "--area", "."]);
    at.ok(["rm", "-q", "src/a"]);
    at.refused(["commit", "-qm", "deleted"], &["src/a"]);
    at.judged(1);
    at.cd("src").judged(1);
}

macro_rules! kinds {
    ($($name:ident $kind:literal)*) => {
        $(
            #[test]
            fn $name() {
                judges_like_anywhere($kind);
            }
        )*
    };
}

kinds! {
    c41_a_first_commit "empty"
    c41_a_first_commit_with_sha256 "empty-sha256"
    c41_a_first_commit_with_reftables "empty-reftable"
    c41_an_orphan_branch "orphan"
    c41_an_orphan_work_tree "linked-orphan"
    c44_sha256 "sha256"
    c44_reftables "reftable"
    c44_reftables_of_a_linked_work_tree "linked-reftable"
    c44_sha256_and_reftables "sha256-reftable"
    c44_relative_work_trees "relative-worktrees"
    c44_extensions_and_configuration_of_a_work_tree "worktree-config"
    c44_a_shallow_clone "shallow"
    c44_a_partial_clone_without_contents "partial-blobless"
    c44_a_partial_clone_without_trees "partial-treeless"
    c44_borrowed_objects "alternates"
    c44_a_sparse_index "sparse"
    c44_packed_objects_and_references "packed"
    c44_a_git_directory_that_lies_elsewhere "separate-git-dir"
    c44_a_commit_that_is_replaced "replaced"
    c44_a_detached_head "detached"
    c44_what_git_suggests_for_many_files "many-files"
    c46_a_submodule "submodule"
    c46_a_submodule_of_a_submodule "nested-submodule"
    c46_a_submodule_whose_git_directory_was_moved "absorbed-submodule"
    c46_a_clone_inside_of_another_repository "nested-clone"
    c57_a_linked_work_tree "linked"
    c57_a_linked_work_tree_of_a_bare_repository "bare-linked"
    c76_a_split_index "split-index"
    c76_an_index_of_version_4 "index-v4"
    c74_twenty_thousand_files "big"
}

#[test]
fn c41_an_empty_first_commit_passes_whatever_is_held() {
    for kind in ["empty", "empty-sha256", "empty-reftable", "orphan"] {
        let sandbox = Sandbox::new();
        let Some(top) = sandbox.fixture(kind) else { continue };
        let at = sandbox.committer(&top, "A");
        at.agent("B").ok(["acquire", "--area", "."]);
        at.refused(["commit", "-qm", "all", "--allow-empty"], &["src/a", "src/b"]);
        at.ok(["rm", "-qr", "--cached", "."]);
        at.passes(["commit", "-qm", "nothing", "--allow-empty"]);
    }
}

/// The last commit changed `lib/deep/c`, and the index has one entry for all of `lib/`.
#[test]
fn c76_a_change_inside_of_one_entry_of_a_sparse_index() {
    let sandbox = Sandbox::new();
    let Some(top) = sandbox.fixture("sparse") else { return };
    let at = sandbox.committer(&top, "A");
    for held in ["lib/e", "lib/deep/d", "docs/", "lib/deep/c/", "lib/de/"] {
        at.hold("B", held);
    }
    at.ok(["reset", "-q", "--soft", "HEAD~1"]);
    assert!(at.ok(["ls-files", "--sparse"]).out().lines().any(|line| line == "lib/"), "it is one entry still");
    at.agent("B").ok(["release", "lib/deep/c/"]);
    at.judged(0);
    for (held, blamed) in
        [("lib/deep/c", "lib/deep/c"), ("lib/deep/x", ""), ("lib/", "lib/deep/c"), (".", "lib/deep/c")]
    {
        at.agent("B").ok(["release", "--all"]);
        at.hold("B", held);
        if blamed.is_empty() {
            at.judged(0);
        } else {
            at.refused(["commit", "-qm", "x"], &[blamed]);
        }
        assert!(at.ok(["ls-files", "--sparse"]).out().lines().any(|line| line == "lib/"), "it is one entry still");
    }
    at.agent("B").ok(["release", "--all"]);
    at.passes(["commit", "-qm", "x"]);
}

/// All of a directory that is one entry of the index deleted, and added anew.
#[test]
fn c76_a_directory_outside_of_the_cone_that_comes_and_goes() {
    let sandbox = Sandbox::new();
    let Some(top) = sandbox.fixture("sparse") else { return };
    let at = sandbox.committer(&top, "A");
    at.hold("B", "lib/deep/c");
    at.ok(["rm", "-qr", "--sparse", "--cached", "lib"]);
    at.refused(["commit", "-qm", "deleted"], &["lib/deep/c"]);
    at.ok(["reset", "-q"]);
    let before = at.ok(["rev-parse", "HEAD~2"]).out();
    at.ok(["reset", "-q", "--soft", before.trim()]);
    at.refused(["commit", "-qm", "added"], &["lib/deep/c"]);
}

#[test]
fn c76_deleted_and_replaced_entries_of_a_split_index() {
    let sandbox = Sandbox::new();
    let Some(top) = sandbox.fixture("split-index") else { return };
    let at = sandbox.committer(&top, "A");
    for path in ["src/more3", "src/more4", "src/new"] {
        at.hold("B", path);
    }
    at.change("src/more5");
    at.passes(["commit", "-qam", "another"]);
    at.change("src/more3");
    at.refused(["commit", "-qam", "replaced"], &["src/more3"]);
    at.ok(["reset", "-q", "--hard"]);
    at.ok(["rm", "-q", "src/more4"]);
    at.refused(["commit", "-qm", "deleted"], &["src/more4"]);
    at.ok(["reset", "-q", "--hard"]);
    at.write("src/new", "1\n");
    at.ok(["add", "src/new"]);
    at.refused(["commit", "-qm", "new"], &["src/new"]);
    assert!(
        fs::read_dir(top.join(".git"))
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().starts_with("sharedindex.") })
    );
}

#[test]
fn c76_a_path_that_is_only_announced_is_not_committed() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.write("src/new", "1\n");
    at.ok(["add", "--intent-to-add", "src/new"]);
    at.hold("B", "src/new");
    at.change("src/a");
    at.ok(["add", "src/a"]);
    at.passes(["commit", "-qm", "without it"]);
    at.refused(["commit", "-qam", "with it"], &["src/new"]);
    at.ok(["add", "src/new"]);
    at.refused(["commit", "-qm", "with it"], &["src/new"]);
}

/// Flags that make git not look at the work tree say nothing about what is committed.
#[test]
fn c76_entries_that_git_does_not_look_at_in_the_work_tree() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        at.ok(["update-index", flag, "src/a"]);
        at.change("src/b");
        at.passes(["commit", "-qam", "as before"]);
        let id = at.ok(["rev-parse", "HEAD:src/b"]).out();
        at.ok(["update-index", "--cacheinfo", &format!("100644,{},src/a", id.trim())]);
        at.ok(["update-index", flag, "src/a"]);
        at.refused(["commit", "-qm", "changed in the index"], &["src/a"]);
        at.ok(["read-tree", "HEAD"]);
    }
}

/// Touched, not changed: git compares contents.
#[test]
fn what_is_staged_as_it_was_is_no_change() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    let content = fs::read(top.join("src/a")).unwrap();
    at.change("src/a");
    at.ok(["add", "src/a"]);
    at.judged(1);
    fs::write(top.join("src/a"), content).unwrap();
    at.judged(1);
    at.ok(["add", "src/a"]);
    at.judged(0);
}

fn advance(sandbox: &Sandbox, module: &Path) {
    fs::write(module.join("src/a"), "advanced\n").unwrap();
    sandbox.git(module, &["commit", "-qnam", "advanced"]);
}

#[test]
fn c46_a_link_to_a_commit_is_an_entry_of_the_outer_repository() {
    let sandbox = Sandbox::new();
    let module = sandbox.fixture("submodule").unwrap();
    let top = module.parent().unwrap();
    sandbox.guard_commits(top);
    let (outer, inner) = (sandbox.committer(top, "A"), sandbox.committer(&module, "A"));
    outer.hold("B", "m");
    inner.change("src/b");
    inner.passes(["commit", "-qam", "the inner repository is another one"]);
    outer.refused(["commit", "-qam", "link"], &["m"]);
    outer.ok(["add", "m"]);
    outer.refused(["commit", "-qm", "link"], &["m"]);
    outer.give_back("B", "m");
    outer.passes(["commit", "-qm", "link"]);
    // What is held inside is held in the inner repository, and the link is not inside.
    inner.hold("B", "src/a");
    outer.hold("B", "src/a");
    advance(&sandbox, &module);
    outer.passes(["commit", "-qam", "link"]);
    outer.agent("B").ok(["acquire", "--area", "."]);
    advance_again(&inner);
    outer.refused(["commit", "-qam", "link"], &["m"]);
    outer.ok(["rm", "-qf", "--cached", "m"]);
    outer.refused(["commit", "-qm", "no longer"], &["m"]);
}

fn advance_again(inner: &Committer<'_>) {
    inner.change("src/b");
    inner.passes(["commit", "-qam", "once more"]);
}

#[test]
fn c76_a_link_alone_is_committed_while_something_else_is_staged() {
    let sandbox = Sandbox::new();
    let module = sandbox.fixture("submodule").unwrap();
    let top = module.parent().unwrap();
    sandbox.guard_commits(top);
    let outer = sandbox.committer(top, "A");
    outer.hold("B", "src/a");
    outer.change("src/a");
    outer.ok(["add", "src/a"]);
    advance(&sandbox, &module);
    outer.passes(["commit", "-qm", "link", "--only", "m"]);
    outer.hold("B", "m");
    fs::write(module.join("src/a"), "further\n").unwrap();
    sandbox.git(&module, &["commit", "-qnam", "further"]);
    outer.refused(["commit", "-qm", "link", "--only", "m"], &["m"]);
    outer.refused(["commit", "-qam", "both"], &["m", "src/a"]);
}

/// A tree that this clone never fetched: it cannot be told what the commit changes, unless nobody holds anything.
#[test]
fn c44_a_tree_that_was_never_fetched_is_no_empty_tree() {
    let sandbox = Sandbox::new();
    let Some(top) = sandbox.fixture("partial-treeless") else { return };
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    let parent = at.ok(["rev-parse", "HEAD~1"]).out();
    at.ok(["update-ref", "refs/heads/main", parent.trim()]);
    at.judged(4).err_has(&["git commit --no-verify"]);
    at.give_back("B", "src/a");
    at.judged(0);
}

/// What git refuses to work in, the guard cannot judge in.
#[test]
fn c44_an_extension_that_nobody_knows() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    at.ok(["add", "src/a"]);
    at.ok(["config", "core.repositoryformatversion", "1"]);
    at.ok(["config", "extensions.foo", "1"]);
    assert!(!sandbox.command("git", &top).arg("status").output().unwrap().status.success(), "git refuses");
    at.judged(4).err_has(&["foo", "AGENTLOCK_GUARD=off"]);
}

/// git looks for the shared part in the git directory, wherever the index is; that is more than can be told here.
#[test]
fn c76_a_split_index_away_from_its_shared_part_cannot_be_told() {
    let sandbox = Sandbox::new();
    let Some(top) = sandbox.fixture("split-index") else { return };
    let at = sandbox.committer(&top, "A").env("GIT_INDEX_FILE", sandbox.root().join("index"));
    at.ok(["read-tree", "HEAD"]);
    at.ok(["update-index", "--split-index"]);
    at.change("src/b");
    at.ok(["add", "src/b"]);
    at.judged(0);
    at.hold("B", "src/b");
    at.stopped(4, ["commit", "-qm", "held"]).err_has(&["sharedindex", "git commit --no-verify"]);
}

/// Objects that are where a variable says cannot be found here, and are not taken for none.
#[test]
fn c44_objects_in_a_directory_that_only_the_environment_names_cannot_be_told() {
    for variable in ["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"] {
        let (sandbox, top) = Sandbox::guarded();
        let objects = sandbox.root().join("objects");
        fs::rename(top.join(".git/objects"), &objects).unwrap();
        fs::create_dir(top.join(".git/objects")).unwrap();
        let at = sandbox.committer(&top, "A").env(variable, &objects);
        at.hold("B", "src/a");
        at.change("src/b");
        at.stopped(4, ["commit", "-qam", "another"]).err_has(&["HEAD", "git commit --no-verify"]);
        at.give_back("B", "src/a");
        at.passes(["commit", "-qam", "another"]);
    }
}
