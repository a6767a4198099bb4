//! Where hooks go: where git looks for them, however it was told (cases 46 and 57), and nowhere else.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use crate::{
    cli_hook::{Bench, piped, write},
    sandbox::{Ran, tree, wait_until},
};

/// Installs, and lets git say whether the guard has a word in the next commit.
#[track_caller]
fn guards_commits_in(bench: &Bench, work_tree: &Path) {
    bench.double();
    let refused = bench.commit_in(work_tree, &[("GUARD", "1")]);
    assert_eq!(refused.code(), 1, "{refused:#?}");
    refused.err_has(&["guard refuses"]);
    bench.real();
}

#[test]
fn the_configured_directory_is_found_as_git_finds_it() {
    let bench = Bench::new();
    let git = |arguments: &[&str]| bench.sandbox.git(&bench.repo, arguments);
    let inside = bench.repo.join("h i");
    fs::create_dir(bench.repo.join("sub")).unwrap();
    for value in ["h i", "./h i/", "sub/../h i", inside.to_str().unwrap(), "~/../r/h i"] {
        git(&["config", "core.hooksPath", value]);
        bench.agent(&bench.repo.join("src")).ok(["hook", "install"]).err_has(&["is in the work tree"]);
        assert!(inside.join("pre-commit").is_file() && !bench.hook("pre-commit").exists(), "{value}");
        bench.agent(&bench.repo.join("src")).ok(["hook", "status"]);
        guards_commits_in(&bench, &bench.repo);
        bench.agent(&bench.repo).ok(["hook", "uninstall"]);
        assert!(!inside.join("pre-commit").exists(), "{value}");
        git(&["config", "--unset", "core.hooksPath"]);
    }
}

#[test]
fn an_included_file_the_environment_and_the_command_line_count() {
    let bench = Bench::new();
    fs::write(bench.repo.join(".git/more"), "[core]\n\thooksPath = .git/included\n").unwrap();
    bench.sandbox.git(&bench.repo, &["config", "include.path", "more"]);
    bench.install(&[]);
    assert!(bench.repo.join(".git/included/pre-commit").is_file());
    guards_commits_in(&bench, &bench.repo);
    let agent = bench.agent(&bench.repo).env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.hooksPath");
    agent.env("GIT_CONFIG_VALUE_0", ".git/by-environment").ok(["hook", "install"]);
    assert!(bench.repo.join(".git/by-environment/pre-commit").is_file());
    let mut command = bench.sandbox.command("git", &bench.repo);
    command.args(["-c", "core.hooksPath=.git/it's", "agentlock", "hook", "install"]);
    assert_eq!(Ran::of(piped(command)).code(), 0);
    assert!(bench.repo.join(".git/it's/pre-commit").is_file());
}

#[test]
fn each_work_tree_can_have_its_own_directory() {
    let bench = Bench::new();
    let git = |arguments: &[&str]| bench.sandbox.git(&bench.repo, arguments);
    git(&["worktree", "add", "-q", "../linked"]);
    git(&["config", "extensions.worktreeConfig", "true"]);
    let linked = bench.sandbox.root().join("linked");
    bench.sandbox.git(&linked, &["config", "--worktree", "core.hooksPath", "own"]);
    bench.agent(&linked).ok(["hook", "install"]);
    assert!(linked.join("own/pre-commit").is_file() && !bench.hook("pre-commit").exists());
    guards_commits_in(&bench, &linked);
    bench.agent(&bench.repo).expect(1, ["hook", "status"]);
    bench.agent(&linked).ok(["hook", "status"]);
}

#[test]
fn one_directory_serves_all_work_trees() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\necho mine >&2\n", 0o755);
    let before = fs::metadata(bench.hook("pre-commit")).unwrap().modified().unwrap();
    bench.sandbox.git(&bench.repo, &["worktree", "add", "-q", "../linked"]);
    let linked = bench.sandbox.root().join("linked");
    bench.install(&[]);
    guards_commits_in(&bench, &linked);
    bench.agent(&linked).ok(["hook", "status"]);
    bench.agent(&linked).ok(["hook", "uninstall"]);
    assert_eq!(fs::metadata(bench.hook("pre-commit")).unwrap().modified().unwrap(), before);
    assert!(!bench.hook("pre-commit.agentlock-chained").exists());
    bench.agent(&linked).ok(["hook", "install"]);
    guards_commits_in(&bench, &bench.repo);
}

#[test]
fn a_submodule_has_its_hooks_in_the_repository_around_it() {
    let bench = Bench::new();
    bench.sandbox.repo("library");
    bench.sandbox.git(&bench.repo, &["submodule", "add", "-q", "../library", "m"]);
    bench.sandbox.git(&bench.repo, &["commit", "-qm", "m"]);
    let module = bench.repo.join("m");
    bench.agent(&module).ok(["hook", "install"]);
    assert!(bench.repo.join(".git/modules/m/hooks/pre-commit").is_file());
    assert!(!bench.hook("pre-commit").exists());
    guards_commits_in(&bench, &module);
    bench.commit(&[]);
    bench.agent(&bench.repo).expect(1, ["hook", "status"]);
}

#[test]
fn in_a_bare_repository_it_says_for_whom_hooks_run() {
    let bench = Bench::new();
    bench.sandbox.git(bench.sandbox.root(), &["clone", "-q", "--bare", "r", "bare.git"]);
    let bare = bench.sandbox.root().join("bare.git");
    bench.agent(&bare).ok(["hook", "install"]).err_has(&["this repository is bare"]);
    assert!(bare.join("hooks/pre-commit").is_file());
    bench.sandbox.git(&bare, &["worktree", "add", "-q", "../from-bare", "main"]);
    guards_commits_in(&bench, &bench.sandbox.root().join("from-bare"));
}

#[test]
fn a_directory_of_other_repositories_too_is_refused_unless_told() {
    let bench = Bench::new();
    let shared = bench.sandbox.home().join("hooks");
    write(&shared.join("pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
    let config = bench.sandbox.home().join("gitconfig");
    for (place, value, says) in [
        ("--global", "~/hooks", config.to_str().unwrap()),
        ("--local", shared.to_str().unwrap(), ".git/config"),
        ("--local", "../home/hooks", ".git/config"),
    ] {
        bench.sandbox.git(&bench.repo, &["config", place, "core.hooksPath", value]);
        let before = tree(&shared);
        let ran = bench.agent(&bench.repo).expect(4, ["hook", "install"]);
        ran.err_has(&["core.hooksPath", says, "--machine-wide", "git config core.hooksPath"]);
        assert_eq!(tree(&shared), before, "{place} {value}");
        bench.install(&["--machine-wide"]);
        guards_commits_in(&bench, &bench.repo);
        bench.agent(&bench.repo).expect(4, ["hook", "uninstall"]).err_has(&["--machine-wide"]);
        bench.agent(&bench.repo).ok(["hook", "uninstall", "--machine-wide"]);
        bench.sandbox.git(&bench.repo, &["config", place, "--unset", "core.hooksPath"]);
    }
    // A relative path in the configuration of all names another directory in each.
    bench.sandbox.git(&bench.repo, &["config", "--global", "core.hooksPath", ".git/mine"]);
    bench.install(&[]);
    assert!(bench.repo.join(".git/mine/pre-commit").is_file());
}

#[test]
fn what_was_taken_out_is_told_also_when_the_shared_directory_is_refused() {
    let bench = Bench::new();
    bench.install(&[]);
    bench.sandbox.git(&bench.repo, &["config", "--global", "core.hooksPath", "~/hooks"]);
    bench.install(&["--machine-wide"]);
    let ran = bench.agent(&bench.repo).expect(4, ["hook", "uninstall"]);
    ran.out_has(&["removed: ", ".git/hooks/pre-commit", ".git/hooks/pre-merge-commit"]);
    assert_eq!(ran.err().matches("--machine-wide").count(), 1, "{ran:#?}");
    assert!(!bench.hook("pre-commit").exists() && bench.sandbox.home().join("hooks/pre-commit").exists());
}

#[test]
fn a_hooks_directory_that_leads_out_of_the_repository_counts_as_shared() {
    let bench = Bench::new();
    let shared = bench.sandbox.root().join("shared");
    fs::rename(bench.hooks(), &shared).unwrap();
    symlink(&shared, bench.hooks()).unwrap();
    bench.agent(&bench.repo).expect(4, ["hook", "install"]).err_has(&["other repositories may use"]);
    assert!(!shared.join("pre-commit").exists());
    bench.install(&["--machine-wide"]);
    guards_commits_in(&bench, &bench.repo);
}

#[test]
fn no_hooks_at_all_is_told_as_such() {
    let bench = Bench::new();
    bench.sandbox.git(&bench.repo, &["config", "core.hooksPath", "/dev/null"]);
    bench.agent(&bench.repo).expect(4, ["hook", "install", "--machine-wide"]).err_has(&["is not a directory"]);
    bench.agent(&bench.repo).expect(1, ["hook", "status"]);
    bench.agent(&bench.repo).ok(["hook", "uninstall"]);
}

#[test]
fn husky_keeps_its_hooks_and_gets_a_line_instead() {
    let bench = Bench::new();
    let dispatcher = "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n";
    let h =
        "n=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\n";
    let husky = bench.repo.join(".husky/_");
    write(&husky.join("h"), h, 0o644);
    for name in ["pre-commit", "pre-merge-commit"] {
        write(&husky.join(name), dispatcher, 0o755);
    }
    bench.sandbox.git(&bench.repo, &["config", "core.hooksPath", ".husky/_"]);
    let before = tree(&husky);
    let document = bench.agent(&bench.repo).json(4, ["hook", "install"]);
    assert_eq!(tree(&husky), before);
    bench.agent(&bench.repo).expect(1, ["hook", "status"]);
    // Each line that is told, put where it is told.
    for hint in document.error.unwrap().hints {
        let (file, line) = hint.strip_prefix("add this line to ").unwrap().split_once(": ").unwrap();
        write(Path::new(file), format!("{line}\necho mine >&2\n"), 0o644);
    }
    bench.agent(&bench.repo).ok(["hook", "status"]).out_has(&[".husky/pre-commit asks the guard"]);
    bench.double();
    let mut commit = bench.sandbox.command("git", &bench.repo);
    let path = format!("{}:/usr/bin:/bin", bench.program.parent().unwrap().display());
    commit.args(["commit", "--allow-empty", "-qm", "x"]).env("PATH", path);
    commit.env("GUARD", "1");
    let refused = Ran::of(piped(commit));
    assert_eq!((refused.code(), refused.err().contains("mine")), (1, false), "{refused:#?}");
}

#[test]
fn lefthooks_hook_is_chained_with_a_note() {
    let bench = Bench::new();
    write(
        &bench.hook("pre-commit"),
        "#!/bin/sh\ncall_lefthook() { echo left >&2; }\ncall_lefthook run pre-commit \"$@\"\n",
        0o755,
    );
    bench.install(&[]).err_has(&["lefthook's", "lefthook.yml"]);
    bench.double();
    bench.commit(&[]).err_has(&["left"]);
}

#[test]
#[ignore = "needs root, to be somebody else"]
fn a_directory_that_cannot_be_written_is_named_and_left() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
    bench.install(&["pre-merge-commit"]);
    let before = tree(&bench.hooks());
    let agent = bench.sandbox.nobody(&bench.repo).as_user(1234);
    fs::set_permissions(bench.hooks(), fs::Permissions::from_mode(0o555)).unwrap();
    for action in ["install", "uninstall"] {
        let ran = agent.expect(4, ["hook", action]);
        ran.err_has(&[".git/hooks", "make the directory writable"]);
    }
    let names = |tree: &[String]| tree.iter().skip(1).cloned().collect::<Vec<_>>();
    assert_eq!(names(&tree(&bench.hooks())), names(&before));
    fs::set_permissions(bench.hooks(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn hooks_are_as_executable_as_the_umask_and_a_shared_repository_want_it() {
    for (umask, shared, mode) in [("022", None, 0o755), ("077", None, 0o700), ("077", Some("group"), 0o770)] {
        let bench = Bench::new();
        let repo = match shared {
            Some(shared) => bench.sandbox.repo_of("shared", &[&format!("--shared={shared}")]),
            None => bench.repo.clone(),
        };
        let script = format!("umask {umask}; exec \"$@\"");
        bench.agent(&repo).by(["sh", "-c", &script, "sh"]).ok(["hook", "install"]);
        let found = fs::metadata(repo.join(".git/hooks/pre-commit")).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found & 0o770, mode & 0o770, "{umask} {shared:?}: {found:o}");
        fs::remove_dir_all(repo.join(".git/hooks")).unwrap();
        bench.agent(&repo).by(["sh", "-c", &script, "sh"]).ok(["hook", "install"]);
        let found = fs::metadata(repo.join(".git/hooks")).unwrap().permissions().mode() & 0o777;
        assert_eq!(found & 0o770, mode & 0o770, "{umask} {shared:?}: {found:o}");
    }
}

#[test]
fn outside_of_a_repository_it_says_so() {
    let bench = Bench::new();
    for action in ["install", "uninstall", "status"] {
        bench.agent(bench.sandbox.root()).expect(4, ["hook", action]).err_has(&["not in a git repository"]);
    }
}

#[test]
fn installers_at_once_lose_nothing() {
    let bench = Bench::new();
    let text = "#!/bin/sh\necho mine >&2\n";
    write(&bench.hook("pre-commit"), text, 0o755);
    for round in 0..40 {
        // Installers beside each other, and every other time somebody who takes it out again.
        let mut actions = vec!["install"; 4];
        if round % 2 == 1 {
            actions.extend(["uninstall"; 2]);
        }
        let agent = bench.agent(&bench.repo);
        let children: Vec<_> =
            actions.iter().map(|action| agent.command(["hook", action, "pre-commit"]).spawn().unwrap()).collect();
        for child in children {
            let ran = Ran::wait(child, format!("round {round}"));
            assert_eq!(ran.code(), 0, "{ran:#?}");
        }
        bench.install(&["pre-commit"]);
        let chained = fs::read_to_string(bench.hook("pre-commit.agentlock-chained"));
        assert_eq!(chained.ok().as_deref(), Some(text), "round {round}");
        if round % 3 == 0 {
            bench.uninstall();
            assert_eq!(fs::read_to_string(bench.hook("pre-commit")).unwrap(), text);
            assert!(!bench.hook("pre-commit.agentlock-chained").exists());
        }
    }
    wait_until("nothing is left over", || {
        fs::read_dir(bench.hooks()).unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().starts_with('.'))
    });
}
