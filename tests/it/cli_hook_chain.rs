//! What the chained hook does to the commit that the guard has judged, and what the hook says where nothing of ours can be run.

use std::fs;

use crate::{
    cli_hook::{Bench, piped, write},
    sandbox::Ran,
};

fn commit_as_a(bench: &Bench) -> Ran {
    let mut command = bench.sandbox.command("git", &bench.repo);
    command.args(["commit", "-qm", "x"]).env("AGENTLOCK_OWNER", "A");
    Ran::of(piped(command))
}

/// Formatters do this: what they have changed is added, and with it what others have changed.
#[test]
fn what_a_chained_hook_stages_is_judged_too() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\ngit add -u\n", 0o755);
    bench.install(&[]);
    bench.sandbox.agent(&bench.repo, "B").ok(["acquire", "src/a"]);
    for file in ["src/a", "src/b"] {
        fs::write(bench.repo.join(file), "2\n").unwrap();
    }
    bench.sandbox.git(&bench.repo, &["add", "src/b"]);
    let refused = commit_as_a(&bench);
    assert_eq!(refused.code(), 1, "{refused:#?}");
    refused.err_has(&["cannot commit src/a: held by B"]);
    bench.sandbox.agent(&bench.repo, "B").ok(["release", "src/a"]);
    assert_eq!(commit_as_a(&bench).code(), 0);
}

/// git looks at the index again when its hook has ended.
#[test]
fn what_others_stage_while_a_chained_hook_runs_is_judged_too() {
    let bench = Bench::new();
    write(&bench.hook("pre-merge-commit"), "#!/bin/sh\necho 2 >src/b\ngit add src/b\n", 0o755);
    bench.install(&[]);
    bench.sandbox.git(&bench.repo, &["checkout", "-qb", "side"]);
    bench.sandbox.git(&bench.repo, &["commit", "-qm", "side", "--allow-empty", "--no-verify"]);
    bench.sandbox.git(&bench.repo, &["checkout", "-q", "-"]);
    bench.sandbox.agent(&bench.repo, "B").ok(["acquire", "src/b"]);
    let mut command = bench.sandbox.command("git", &bench.repo);
    command.args(["merge", "-q", "--no-ff", "--no-edit", "side"]).env("AGENTLOCK_OWNER", "A");
    let refused = Ran::of(piped(command));
    assert_eq!(refused.code(), 1, "{refused:#?}");
    refused.err_has(&["cannot commit src/b: held by B"]);
}

/// The way out is shown, and pasted: whoever has named a directory must not write into either.
#[test]
fn the_way_out_is_a_command_whatever_the_directories_are_called() {
    for name in ["esc\u{1b}[2J", "x'; touch pasted; '", "new\nerror: line", "\u{202e}"] {
        for has_chained in [false, true] {
            let bench = Bench::new();
            let linked = bench.sandbox.root().join("w");
            let repo = bench.sandbox.repo(&format!("repo {name}"));
            bench.sandbox.git(&repo, &["worktree", "add", "-q", linked.to_str().unwrap()]);
            let hook = repo.join(".git/hooks/pre-commit");
            if has_chained {
                write(&hook, "#!/bin/sh\nexit 0\n", 0o755);
            }
            bench.agent(&repo).ok(["hook", "install"]);
            fs::remove_file(&bench.program).unwrap();
            let short = [("PATH", "/usr/bin:/bin")];
            let refused = bench.commit_in(&linked, &short);
            assert_eq!(refused.code(), 1, "{refused:#?}");
            let text = refused.err();
            assert!(!text.contains(name) && text.lines().count() == 1, "{refused:#?}");
            let (_, remedy) = text.trim_end().rsplit_once("take this hook out: ").unwrap();
            let mut shell = bench.sandbox.command("/bin/sh", &linked);
            let ran = Ran::of(piped({
                shell.args(["-c", remedy]);
                shell
            }));
            assert_eq!(ran.code(), 0, "{ran:#?}");
            assert!(!linked.join("pasted").exists());
            assert_eq!(hook.exists(), has_chained, "{remedy}");
            assert_eq!(bench.commit_in(&linked, &short).code(), 0);
        }
    }
}

#[test]
fn a_guard_that_crashes_is_told_and_can_be_passed_by() {
    let bench = Bench::new();
    bench.install(&["pre-commit"]);
    fs::remove_file(&bench.program).unwrap();
    write(&bench.program, "#!/bin/sh\nkill -SEGV $$\n", 0o755);
    let refused = bench.commit(&[]);
    assert_eq!(refused.code(), 1, "{refused:#?}");
    refused.err_has(&["ended by signal 11", "refused", "AGENTLOCK_GUARD=off", "--no-verify"]);
    let warned = bench.commit(&[("AGENTLOCK_GUARD", "warn")]);
    assert_eq!(warned.code(), 0, "{warned:#?}");
    warned.err_has(&["ended by signal 11"]);
}
