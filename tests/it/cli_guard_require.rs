//! Files that only an owner with a lease on them may commit: by the policy, and by git's attributes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{guard_world::Committer, sandbox::Sandbox};

fn requiring(globs: &str) -> (Sandbox, PathBuf) {
    let (sandbox, top) = Sandbox::guarded();
    require(&top, globs);
    (sandbox, top)
}

fn require(top: &Path, globs: &str) {
    fs::write(top.join(".git/agentlock.toml"), format!("[guard]\nrequire = {globs}\n")).unwrap();
}

/// The exact command is shown; the runner's `refused` looks for the path.
#[track_caller]
fn needs_a_lease(at: &Committer<'_>, arguments: &[&str], paths: &[&str]) {
    let ran = at.refused(arguments, paths);
    ran.err_has(&["git agentlock acquire"]);
    let acquires = ran.err().lines().any(|line| line.contains("git agentlock acquire") && line.contains(paths[0]));
    assert!(acquires, "the command names the path: {ran:#?}");
}

#[test]
fn a_file_that_the_policy_names_needs_a_lease_of_the_committers_own() {
    let (sandbox, top) = requiring(r#"["src/a"]"#);
    let at = sandbox.committer(&top, "A");
    at.change("src/b");
    at.passes(["commit", "-qam", "another file"]);
    at.change("src/a");
    needs_a_lease(&at, &["commit", "-qam", "x"], &["src/a"]);
    at.agent("A").ok(["acquire", "src/b"]);
    needs_a_lease(&at, &["commit", "-qam", "x"], &["src/a"]);
    at.agent("A").ok(["acquire", "src/a"]);
    at.passes(["commit", "-qam", "x"]);
    at.agent("A").ok(["release", "--all"]);
    at.change("src/a");
    at.agent("A").let_expire("src/a");
    require(&top, r#"["src/a"]"#);
    needs_a_lease(&at, &["commit", "-qam", "x"], &["src/a"]);
    at.agent("A").ok(["acquire", "src/"]);
    at.passes(["commit", "-qam", "an area does, too"]);
}

#[test]
fn where_no_lock_was_ever_taken_a_required_one_is_missing() {
    let (sandbox, top) = requiring(r#"["*.lock"]"#);
    let at = sandbox.committer(&top, "A");
    at.write("deep/x.lock", "1\n");
    at.ok(["add", "."]);
    needs_a_lease(&at, &["commit", "-qm", "x"], &["deep/x.lock"]);
    at.named("").refused(["commit", "-qm", "x"], &["deep/x.lock"]).err_has(&["AGENTLOCK_OWNER"]);
    assert!(!top.join(".git/agent-locks").exists());
    at.env("AGENTLOCK_GUARD", "warn").judged(0).err_has(&["warning: cannot commit deep/x.lock: "]);
    at.env("AGENTLOCK_GUARD", "off").judged(0);
}

#[test]
fn the_globs_are_those_of_gitignore() {
    let (sandbox, top) = requiring(r#"["lib/", "!lib/free", "*.toml", "/top", "a/**/z"]"#);
    let at = sandbox.committer(&top, "A");
    for path in ["lib/free", "src/lib.rs", "deep/top", "a/b/y", "libs"] {
        at.write(path, "1\n");
    }
    at.ok(["add", "."]);
    at.passes(["commit", "-qm", "not named"]);
    let named = ["a/b/c/z", "deep/x.toml", "lib/deep/x", "top"];
    for path in named {
        at.write(path, "1\n");
    }
    at.ok(["add", "."]);
    needs_a_lease(&at, &["commit", "-qm", "x"], &named);
    at.agent("A").ok(["acquire", "a/b/c/z", "lib/", "top"]);
    needs_a_lease(&at, &["commit", "-qm", "x"], &["deep/x.toml"]);
}

#[test]
fn deletions_and_both_sides_of_renamings_count() {
    let (sandbox, top) = requiring(r#"["src/a", "new"]"#);
    let at = sandbox.committer(&top, "A");
    for (what, blamed) in [
        (&["rm", "-q", "src/a"][..], &["src/a"][..]),
        (&["mv", "src/a", "elsewhere"], &["src/a"]),
        (&["mv", "src/b", "new"], &["new"]),
        (&["mv", "src/a", "new"], &["new", "src/a"]),
        (&["update-index", "--chmod=+x", "src/a"], &["src/a"]),
    ] {
        at.ok(what);
        needs_a_lease(&at, &["commit", "-qm", "x"], blamed);
        at.ok(["reset", "-q", "--hard"]);
    }
    at.ok(["mv", "src/a", "new"]);
    at.agent("A").ok(["acquire", "src/a", "new"]);
    at.passes(["commit", "-qm", "both"]);
}

#[test]
fn a_first_commit_needs_leases_as_well() {
    let sandbox = Sandbox::new();
    let top = sandbox.fixture("empty").unwrap();
    require(&top, r#"["src/a"]"#);
    let at = sandbox.committer(&top, "A");
    needs_a_lease(&at, &["commit", "-qm", "x"], &["src/a"]);
    at.agent("A").ok(["acquire", "src/a"]);
    at.passes(["commit", "-qm", "x"]);
}

/// What the other branch brings is not the merger's work here either.
#[test]
fn a_merge_needs_leases_for_what_differs_from_every_parent() {
    let sandbox = Sandbox::new();
    let top = sandbox.fixture("clean-merge").unwrap();
    require(&top, r#"["src/c"]"#);
    let at = sandbox.committer(&top, "A");
    at.passes(["merge", "-q", "--no-edit", "f"]);
    at.ok(["reset", "-q", "--hard", "HEAD~1"]);
    require(&top, r#"["src/a"]"#);
    needs_a_lease(&at, &["merge", "-q", "--no-edit", "f"], &["src/a"]);
}

#[test]
fn what_another_holds_and_what_is_required_is_told_once() {
    let (sandbox, top) = requiring(r#"["src/*"]"#);
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    at.change("src/b");
    at.refused(["commit", "-qam", "x"], &["src/a", "src/b"]).err_has(&["src/a: held by B since"]);
}

#[test]
fn hostile_names_that_need_a_lease_are_shown_as_a_command_that_works() {
    let (sandbox, top) = requiring(r#"["*"]"#);
    let at = sandbox.committer(&top, "A");
    // Names that a shell would take apart, or that look like options.
    for name in ["a b", "it's", "$HOME", "-n", "`id`", "#x", "*"] {
        at.write(name, "1\n");
        at.ok(["--literal-pathspecs", "add", "--", name]);
        let ran = at.refused(["commit", "-qm", "x"], &[name]);
        let error = ran.err();
        let from = error.find("git agentlock acquire").expect("the command");
        let command = error[from..].lines().next().unwrap().split(" (").next().unwrap();
        let command = command.trim_end_matches(['`', '.']);
        let mut shell = sandbox.command("/bin/sh", &top);
        let output = shell.args(["-c", command]).env("AGENTLOCK_OWNER", "A").output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        at.passes(["commit", "-qm", "x"]);
    }
}

fn attributes(at: &Committer<'_>, file: &str, text: &str) {
    at.write(file, text);
    if !file.starts_with(".git/") {
        at.ok(["add", file]);
        at.ok(["commit", "-qnm", "attributes"]);
    }
}

#[test]
fn an_attribute_of_git_names_files_too() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    attributes(&at, ".gitattributes", "*.psd agentlock lockable\nfree.psd -agentlock\nunsaid.psd !agentlock\n");
    for name in ["src/free.psd", "unsaid.psd", "x.png"] {
        at.write(name, "1\n");
    }
    at.ok(["add", "."]);
    at.passes(["commit", "-qm", "not named"]);
    at.write("src/x.psd", "1\n");
    at.ok(["add", "."]);
    needs_a_lease(&at, &["commit", "-qm", "x"], &["src/x.psd"]);
    at.agent("A").ok(["acquire", "src/x.psd"]);
    at.passes(["commit", "-qm", "x"]);
    at.agent("A").ok(["release", "--all"]);
    at.ok(["rm", "-q", "src/x.psd"]);
    needs_a_lease(&at, &["commit", "-qm", "x"], &["src/x.psd"]);
}

#[test]
fn attributes_deeper_down_and_in_the_git_directory_count_more() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    attributes(&at, ".gitattributes", "src/** agentlock\n");
    attributes(&at, "src/.gitattributes", "b -agentlock\n.gitattributes -agentlock\n");
    at.change("src/b");
    at.passes(["commit", "-qam", "not asked for"]);
    at.change("src/a");
    needs_a_lease(&at, &["commit", "-qam", "x"], &["src/a"]);
    attributes(&at, ".git/info/attributes", "src/a -agentlock\n");
    at.passes(["commit", "-qam", "the git directory's count most"]);
    attributes(&at, ".git/info/attributes", "/src/b agentlock\n");
    at.change("src/b");
    needs_a_lease(&at, &["commit", "-qam", "x"], &["src/b"]);
}

/// What is committed decides, not what lies about in the work tree of somebody who removed the line.
#[test]
fn attributes_in_the_git_directory_alone_are_enough() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.write(".git/info/attributes", "src/a agentlock\n");
    at.change("src/a");
    needs_a_lease(&at, &["commit", "-qam", "x"], &["src/a"]);
    at.change("src/b");
    at.passes(["commit", "-qm", "b", "--only", "src/b"]);
    assert!(!top.join(".git/agent-locks").exists());
}

/// Only in the work tree git does not follow them.
#[test]
fn attributes_in_the_git_directory_may_be_a_link() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.write(".git/the-teams", "src/a agentlock\n");
    std::os::unix::fs::symlink("../the-teams", top.join(".git/info/attributes")).unwrap();
    at.change("src/a");
    needs_a_lease(&at, &["commit", "-qam", "x"], &["src/a"]);
}
