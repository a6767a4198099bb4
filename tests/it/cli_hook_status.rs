//! What `hook status` and `doctor` say of hooks, also of those that an interrupted installer has left.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::{
    cli_hook::{Bench, write},
    sandbox::{Agent, tree},
};

/// The state and the message of a hook.
#[track_caller]
fn state(agent: &Agent<'_>, code: i32, name: &str) -> (String, String) {
    let document = agent.json(code, ["hook", "status"]);
    let hook = document.hooks.unwrap().into_iter().find(|hook| hook.name == name).unwrap();
    (hook.state, hook.message)
}

/// What `doctor` finds about hooks: message and remedy.
#[track_caller]
fn findings(agent: &Agent<'_>) -> Vec<(String, String)> {
    let document = agent.run(["--json", "doctor"]).document();
    let findings = document.findings.unwrap().into_iter().filter(|finding| finding.code == "hook");
    findings.map(|finding| (finding.message, finding.remedy)).collect()
}

#[test]
fn status_only_looks_and_a_hook_that_was_never_installed_is_no_finding() {
    let bench = Bench::new();
    fs::remove_dir_all(bench.hooks()).unwrap();
    let agent = bench.agent(&bench.repo);
    let before = tree(&bench.repo);
    let ran = agent.expect(1, ["hook", "status"]);
    ran.out_has(&["pre-commit: absent", "pre-merge-commit: absent", "hook install"]);
    assert_eq!(ran.err(), "");
    assert_eq!(findings(&agent), []);
    assert_eq!(tree(&bench.repo), before);
    bench.install(&["pre-commit"]);
    agent.expect(1, ["hook", "status"]);
    bench.install(&[]);
    write(&bench.hook("post-commit"), "#!/bin/sh\n", 0o755);
    let before = tree(&bench.repo);
    let ran = agent.ok(["hook", "status"]);
    ran.out_has(&["pre-commit: active"]);
    assert!(!ran.out().contains("post-commit"), "{ran:#?}");
    assert_eq!(state(&agent, 0, "post-commit").0, "absent");
    assert_eq!(findings(&agent), []);
    assert_eq!(tree(&bench.repo), before);
}

#[test]
fn a_hook_that_git_would_not_run_is_inert() {
    let bench = Bench::new();
    let agent = bench.agent(&bench.repo);
    bench.install(&[]);
    fs::set_permissions(bench.hook("pre-commit"), fs::Permissions::from_mode(0o644)).unwrap();
    let (state_now, message) = state(&agent, 1, "pre-commit");
    assert_eq!(state_now, "inert");
    assert!(message.contains("not executable"), "{message}");
    let found = findings(&agent);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("hook install pre-commit"), "{found:?}");
    bench.install(&[]);
    assert_eq!((state(&agent, 0, "pre-commit").0.as_str(), findings(&agent).len()), ("active", 0));
}

#[test]
fn a_hook_that_hooks_path_overrides_is_told_and_can_be_taken_out() {
    let bench = Bench::new();
    let agent = bench.agent(&bench.repo);
    write(&bench.hook("pre-commit"), "#!/bin/sh\necho mine >&2\n", 0o755);
    bench.install(&[]);
    bench.sandbox.git(&bench.repo, &["config", "core.hooksPath", ".git/others"]);
    let document = agent.json(1, ["hook", "status"]);
    let inert: Vec<_> = document.hooks.unwrap().into_iter().filter(|hook| hook.state == "inert").collect();
    assert_eq!(inert.len(), 2, "{inert:#?}");
    assert!(inert[0].message.contains("core.hooksPath") && inert[0].message.contains(".git/config"), "{inert:#?}");
    let found = findings(&agent);
    assert!(found.len() == 2 && found[0].1.contains("hook uninstall"), "{found:?}");
    bench.uninstall();
    assert_eq!(fs::read_to_string(bench.hook("pre-commit")).unwrap(), "#!/bin/sh\necho mine >&2\n");
    assert_eq!(findings(&agent), []);
}

#[test]
fn a_hook_whose_program_is_gone_is_inert_unless_there_is_one_on_path() {
    let bench = Bench::new();
    bench.install(&[]);
    fs::remove_file(&bench.program).unwrap();
    let agent = bench.sandbox.nobody(&bench.repo);
    let (now, message) = state(&agent, 0, "pre-commit");
    assert_eq!(now, "active");
    assert!(message.contains("is gone; it runs"), "{message}");
    let agent = agent.env("PATH", "/usr/bin:/bin");
    let (now, message) = state(&agent, 1, "pre-commit");
    assert_eq!(now, "inert");
    assert!(message.contains("not on PATH"), "{message}");
    assert_eq!(findings(&agent).len(), 2);
}

#[test]
fn a_chained_hook_that_is_gone_is_missed() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\n", 0o755);
    bench.install(&[]);
    fs::remove_file(bench.hook("pre-commit.agentlock-chained")).unwrap();
    let (now, message) = state(&bench.agent(&bench.repo), 1, "pre-commit");
    assert_eq!(now, "inert");
    assert!(message.contains("the hook that it chained is gone"), "{message}");
    bench.install(&[]);
    assert_eq!(state(&bench.agent(&bench.repo), 0, "pre-commit").0, "active");
}

/// The states in which an installer can be killed, and what each command makes of them.
#[test]
fn what_an_interrupted_installer_left_is_completed_or_taken_back() {
    let text = "#!/bin/sh\necho mine >&2\n";
    for goes_on in ["install", "uninstall"] {
        for left_over in ["", "#!/bin", "#!/bin/sh\n# git-agentlock hook v1: pre-commit\nagent"] {
            let bench = Bench::new();
            let agent = bench.agent(&bench.repo);
            // The hook was renamed, and nothing put in its place.
            write(&bench.hook("pre-commit.agentlock-chained"), text, 0o755);
            fs::write(bench.hook(".agentlock-hook-1-0"), left_over).unwrap();
            assert_eq!(state(&agent, 1, "pre-commit").0, "interrupted");
            assert!(findings(&agent)[0].0.contains("interrupted"));
            agent.ok(["hook", goes_on]);
            if goes_on == "install" {
                assert_eq!(state(&agent, 0, "pre-commit").0, "active");
                assert!(bench.hook("pre-commit.agentlock-chained").exists());
                agent.ok(["hook", "uninstall"]);
            }
            assert_eq!(fs::read_to_string(bench.hook("pre-commit")).unwrap(), text);
            assert!(!bench.hook("pre-commit.agentlock-chained").exists());
            assert!(!bench.hook(".agentlock-hook-1-0").exists());
        }
    }
}

#[test]
fn a_file_of_somebody_else_with_such_a_name_is_not_cleared_away() {
    let bench = Bench::new();
    fs::write(bench.hook(".agentlock-hook-1-0"), "#!/bin/sh\necho precious\n").unwrap();
    bench.install(&[]);
    bench.uninstall();
    assert!(bench.hook(".agentlock-hook-1-0").exists());
}

#[test]
fn the_installed_hook_refuses_a_commit_of_what_somebody_else_holds() {
    let bench = Bench::new();
    bench.install(&["--all"]);
    bench.sandbox.agent(&bench.repo, "B").ok(["acquire", "src/a"]);
    fs::write(bench.repo.join("src/a"), "2\n").unwrap();
    bench.sandbox.git(&bench.repo, &["add", "src/a"]);
    let refused = bench.commit(&[("AGENTLOCK_OWNER", "A")]);
    assert_eq!(refused.code(), 1, "{refused:#?}");
    refused.err_has(&["src/a", "B"]);
    let passed = bench.commit(&[("AGENTLOCK_OWNER", "B")]);
    assert_eq!(passed.code(), 0, "{passed:#?}");
}

#[test]
fn a_repository_in_which_nobody_locks_commits_and_gets_no_directory() {
    let bench = Bench::new();
    bench.install(&[]);
    let ran = bench.commit(&[]);
    assert_eq!((ran.code(), ran.err()), (0, String::new()));
    assert!(!bench.repo.join(".git/agent-locks").exists());
}

#[test]
fn what_a_chained_hook_has_staged_is_judged_too() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\ngit add -u\n", 0o755);
    bench.install(&[]);
    bench.sandbox.agent(&bench.repo, "B").ok(["acquire", "src/a"]);
    fs::write(bench.repo.join("src/a"), "2\n").unwrap();
    fs::write(bench.repo.join("other"), "1\n").unwrap();
    bench.sandbox.git(&bench.repo, &["add", "other"]);
    let refused = bench.commit(&[("AGENTLOCK_OWNER", "A")]);
    assert_eq!(refused.code(), 1, "{refused:#?}");
    refused.err_has(&["src/a", "held by B"]);
    assert_eq!(bench.commit(&[("AGENTLOCK_OWNER", "B")]).code(), 0);
}
