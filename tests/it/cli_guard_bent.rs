//! Configuration, environment and programs that bend what other tools see of git.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::{
    cli_guard_forms::{each_form_is_judged_by_its_own_index, every_kind_of_change_is_seen},
    cli_guard_names::each_name_blocks_itself,
    guard_world::Committer,
    sandbox::{Sandbox, tree},
};

const BENT: &str = r#"
[diff]
	relative = true
	external = /bin/false
	noprefix = true
	mnemonicPrefix = true
	renames = copies
	ignoreSubmodules = all
[color]
	ui = always
[core]
	quotePath = true
	pager = false
	fsmonitor = true
	autocrlf = input
	safecrlf = false
[status]
	showUntrackedFiles = no
	relativePaths = false
[index]
	threads = 4
[commit]
	verbose = true
	status = true
"#;

/// A world in which everything is set that changes what git prints. The runner lets git's own colours pass because of the last variable.
fn bend<'s>(sandbox: &Sandbox, at: &Committer<'s>) -> Committer<'s> {
    let config = sandbox.home().join("gitconfig");
    let text = fs::read_to_string(&config).unwrap();
    // Git itself gives up when the file is not there.
    let order = sandbox.home().join("order");
    fs::write(&order, "src/b\n").unwrap();
    fs::write(&config, format!("{text}{BENT}[diff]\n\torderFile = {}\n", order.display())).unwrap();
    [
        ("LC_ALL", "de_DE.UTF-8"),
        ("LANGUAGE", "de"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_PAGER", "false"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_TRACE", "1"),
        ("GIT_DIFF_OPTS", "-u0"),
        ("CLICOLOR_FORCE", ""),
        ("BENT", "always"),
    ]
    .iter()
    .fold(at.clone(), |at, (name, value)| at.env(name, value))
}

#[test]
fn c42_forms_of_commit_in_a_bent_world() {
    let (sandbox, top) = Sandbox::guarded();
    let at = bend(&sandbox, &sandbox.committer(&top, "A"));
    each_form_is_judged_by_its_own_index(&at);
    each_form_is_judged_by_its_own_index(&at.cd("src"));
}

#[test]
fn c42_kinds_of_change_in_a_bent_world() {
    let (sandbox, top) = Sandbox::guarded();
    every_kind_of_change_is_seen(&bend(&sandbox, &sandbox.committer(&top, "A")));
}

#[test]
fn c42_names_in_a_bent_world() {
    let sandbox = Sandbox::new();
    let top = sandbox.fixture("hostile").unwrap();
    // git writes names into its own trace as they are.
    let at = bend(&sandbox, &sandbox.committer(&top, "A")).env("GIT_TRACE", sandbox.root().join("trace"));
    each_name_blocks_itself(&at);
}

#[test]
fn c42_from_a_subdirectory_all_is_judged_as_from_the_top() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.write("deep/x", "1\n");
    at.write("deep/src/a", "1\n");
    at.ok(["add", "."]);
    at.passes(["commit", "-qm", "deep"]);
    let at = bend(&sandbox, &at);
    at.hold("B", "src/a");
    at.change("deep/src/a");
    at.ok(["add", "deep/src/a"]);
    at.cd("deep").judged(0);
    at.change("src/a");
    at.ok(["add", "src/a"]);
    for below in ["", "src", "deep", "deep/src"] {
        at.cd(below).judged(1).err_has(&["cannot commit src/a: held by B"]);
        // What git sets for hooks and shell aliases is not joined: paths in the index start at the top.
        at.cd(below).env("GIT_PREFIX", "deep/").judged(1).err_has(&["cannot commit src/a: held by B"]);
    }
}

/// C08.
#[test]
fn c08_the_prefix_of_aliases_and_hooks_is_never_added() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.write("src/src/a", "1\n");
    at.write("src/src/b", "1\n");
    at.ok(["add", "."]);
    at.passes(["commit", "-qm", "src/src"]);
    at.ok(["config", "alias.gl", "!git agentlock"]);
    at.hold("B", "src/a");
    let below = at.cd("src");
    below.change("src/a");
    below.ok(["add", "src/a"]);
    assert_eq!(below.git(["gl", "guard"]).code(), 0, "src/src/a is another file");
    below.passes(["commit", "-qm", "src/src/a"]);
    below.change("a");
    below.refused(["commit", "-qam", "src/a"], &["src/a"]);
    below.ok(["add", "a"]);
    for alias in [&["gl", "guard"][..], &["agentlock", "guard"]] {
        let ran = below.git(alias);
        assert_eq!(ran.code(), 1, "{ran:#?}");
        ran.err_has(&["cannot commit src/a: held by B"]);
    }
    // And what a hook asks from there is what it names.
    at.ok(["reset", "-q", "--hard"]);
    at.hold("C", "src/b");
    let hook = top.join(".git/hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\ngit-agentlock check src/b >&2\necho pre-commit $? >>\"$GUARD_SAYS\"\nexit 1\n")
        .unwrap();
    below.change("src/b");
    below.stopped(1, ["commit", "-qam", "x"]).err_has(&["src/b: held by C"]);
}

/// A `git` that does what it should not, and tells that it was called.
fn fake_git(sandbox: &Sandbox, name: &str, does: &str) -> (OsString, PathBuf) {
    let dir = sandbox.root().join(name);
    fs::create_dir(&dir).unwrap();
    let called = dir.join("called");
    let script = format!("#!/bin/sh\necho \"$@\" >>'{}'\n{does}\n", called.display());
    fs::write(dir.join("git"), script).unwrap();
    fs::set_permissions(dir.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths([&dir, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    (path, called)
}

#[test]
fn c76_no_git_is_started_so_that_none_can_fail() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    at.change("src/b");
    at.ok(["add", "src/a"]);
    for (name, does) in [
        ("fails", "exit 128"),
        ("dies", "kill -SEGV $$"),
        ("half", "printf 'src/'; exit 0"),
        ("hangs", "exec sleep 100000"),
    ] {
        let (path, called) = fake_git(&sandbox, name, does);
        let faked = at.env("PATH", path);
        for hook in ["pre-commit", "pre-merge-commit"] {
            faked.agent("A").expect(1, ["guard", "--hook", hook]).err_has(&["cannot commit src/a: held by B"]);
            faked.agent("B").expect(0, ["guard", "--hook", hook]);
        }
        assert!(!called.exists(), "{name}: {}", fs::read_to_string(&called).unwrap());
    }
    at.env("PATH", "").agent("A").expect(1, ["guard"]);
}

/// C71: what starts nothing hands on no variable.
#[test]
#[ignore = "needs strace"]
fn c71_the_guard_starts_no_program() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    at.ok(["add", "src/a"]);
    let log = sandbox.root().join("log");
    let by = ["strace", "-qq", "-f", "-o", log.to_str().unwrap(), "-e", "trace=execve,execveat", "--"];
    at.agent("A").by(by).expect(1, ["guard", "--hook", "pre-commit"]);
    let calls = fs::read_to_string(&log).unwrap();
    assert_eq!(calls.lines().filter(|line| line.contains("execve")).count(), 1, "{calls}");
}

/// The hooks' standard input belongs to whoever reads it next.
#[test]
fn standard_input_is_left_alone() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    at.ok(["add", "src/a"]);
    let mut shell = sandbox.command("/bin/sh", &top);
    shell.args(["-c", "printf 'one\\ntwo\\n' | { git-agentlock guard --hook pre-commit; cat; }"]);
    let output = shell.env("AGENTLOCK_OWNER", "A").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("cannot commit src/a"), "{told}");
}

/// C25: a git directory in which nothing can be written.
#[test]
#[ignore = "needs root and setpriv"]
fn c25_the_guard_works_where_nothing_can_be_written() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    at.ok(["add", "src/a"]);
    let user = at.agent("A").as_user(1000);
    let chmod =
        |mode: &str| assert!(sandbox.command("chmod", &top).args(["-R", mode, ".git"]).status().unwrap().success());
    chmod("a-w");
    let before = tree(&top.join(".git"));
    user.expect(1, ["guard", "--hook", "pre-commit"]).err_has(&["cannot commit src/a: held by B"]);
    user.env("AGENTLOCK_OWNER", "B").expect(0, ["guard"]);
    assert_eq!(tree(&top.join(".git")), before);
    // What cannot be read is not free.
    let store = top.join(".git/agent-locks/v1");
    let shard = fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path()).find(|path| {
        path.is_dir() && fs::read_dir(path).unwrap().any(|file| file.unwrap().path().extension().is_some())
    });
    let shard = shard.unwrap();
    let record = fs::read_dir(&shard).unwrap().map(|file| file.unwrap().path()).find(|path| path.extension().is_some());
    for hidden in [record.unwrap(), shard, store.clone(), store.parent().unwrap().to_owned(), top.join(".git/index")] {
        let mode = fs::metadata(&hidden).unwrap().permissions();
        fs::set_permissions(&hidden, fs::Permissions::from_mode(0o000)).unwrap();
        let ran = user.run(["guard"]);
        assert!([1, 4].contains(&ran.code()), "{}: {ran:#?}", hidden.display());
        ran.err_has(&[hidden.to_str().unwrap(), "git commit --no-verify"]);
        user.env("AGENTLOCK_GUARD", "warn").expect(0, ["guard"]).err_has(&["warning: "]);
        fs::set_permissions(&hidden, mode).unwrap();
    }
    chmod("u+w");
}
