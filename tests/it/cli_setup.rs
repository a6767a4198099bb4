//! `setup` puts completions and man pages where they are looked for, and touches nothing that it did not write.

use std::{collections::BTreeSet, fs, path::Path};

use crate::sandbox::{Agent, Sandbox, tree};

fn states(agent: &Agent<'_>, code: i32, words: &[&str]) -> BTreeSet<String> {
    let document = agent.json(code, [&["setup"], words].concat());
    document.files.unwrap().into_iter().map(|file| file.state).collect()
}

fn only(state: &str) -> BTreeSet<String> {
    BTreeSet::from([state.to_owned()])
}

/// What can be told apart of a directory tree: not its times, since directories are made and removed in it.
fn names(dir: &Path) -> Vec<String> {
    tree(dir).into_iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn what_is_put_in_is_taken_out_without_a_trace() {
    let sandbox = Sandbox::new();
    let nobody = sandbox.nobody(sandbox.root());
    let before = names(&sandbox.home());
    assert_eq!(states(&nobody, 0, &["--dry-run"]), only("to-write"));
    assert_eq!(names(&sandbox.home()), before, "only told");
    let ran = nobody.ok(["setup"]);
    ran.out_has(&[
        "completion for bash: written: ",
        "completion for zsh: written: ",
        "completion for fish: written: ",
        "26 man pages: written: ",
    ]);
    ran.err_has(&["for zsh, add to ", ".zshrc before compinit: fpath=(", "for man, add to "]);
    for file in [
        ".local/share/bash-completion/completions/git-agentlock",
        ".local/share/zsh/site-functions/_git-agentlock",
        ".config/fish/conf.d/git-agentlock.fish",
        ".local/share/man/man1/git-agentlock.1",
        ".local/share/man/man1/git-agentlock-hook-install.1",
        ".local/share/man/man5/git-agentlock-policy.5",
    ] {
        let text = fs::read_to_string(sandbox.home().join(file)).unwrap();
        assert!(text.lines().last().unwrap().contains("Written by `git agentlock setup`"), "{file}");
    }
    let after = tree(&sandbox.home());
    assert_eq!(states(&nobody, 0, &[]), only("current"));
    assert_eq!(tree(&sandbox.home()), after, "a second time changes nothing");
    assert_eq!(states(&nobody, 0, &["--uninstall", "--dry-run"]), only("to-remove"));
    assert_eq!(tree(&sandbox.home()), after, "only told");
    nobody.ok(["setup", "--uninstall"]).out_has(&["completion for fish: removed", "26 man pages: removed"]);
    assert_eq!(names(&sandbox.home()), before);
    nobody.ok(["setup", "--uninstall"]).out_has(&["nothing to take out"]);
}

#[test]
fn an_older_version_is_brought_up_to_date_and_taken_out() {
    let sandbox = Sandbox::new();
    let nobody = sandbox.nobody(sandbox.root());
    nobody.ok(["setup"]);
    let file = sandbox.home().join(".local/share/bash-completion/completions/git-agentlock");
    let current = fs::read_to_string(&file).unwrap();
    // As an earlier version would have left it: another text, with its own sum.
    let text = "# older\n";
    let sum = &blake3::hash(text.as_bytes()).to_hex()[..16];
    let older = format!("{text}# Written by `git agentlock setup`, which also takes it out again: {sum} 2\n");
    fs::write(&file, &older).unwrap();
    nobody.ok(["setup"]).out_has(&["completion for bash: brought up to date: "]);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().last().unwrap().split(' ').next_back(), Some("2"));
    assert_eq!(fs::read_to_string(&file).unwrap().lines().next(), current.lines().next());
    fs::write(&file, &older).unwrap();
    nobody.ok(["setup", "--uninstall"]);
    assert!(!file.exists());
}

#[test]
fn what_it_did_not_write_stays_and_is_named() {
    let sandbox = Sandbox::new();
    let nobody = sandbox.nobody(sandbox.root());
    let file = sandbox.home().join(".config/fish/conf.d/git-agentlock.fish");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "# mine\n").unwrap();
    let ran = nobody.expect(4, ["setup"]);
    ran.err_has(&["git-agentlock.fish is left as it is: it was not written by setup", "hint: move it away"]);
    ran.out_has(&["completion for bash: written"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n");
    let page = sandbox.home().join(".local/share/man/man1/git-agentlock.1");
    let changed = fs::read_to_string(&page).unwrap().replace("SYNOPSIS", "MINE");
    fs::write(&page, &changed).unwrap();
    let document = nobody.json(4, ["setup", "--uninstall"]);
    let left: Vec<String> = document
        .files
        .unwrap()
        .into_iter()
        .filter(|file| file.state != "removed" && file.state != "absent")
        .map(|file| format!("{} {}", file.state, file.path))
        .collect();
    assert_eq!(left, [format!("edited {}", page.display()), format!("foreign {}", file.display())]);
    assert_eq!(document.error.unwrap().kind, "file");
    assert_eq!(fs::read_to_string(&page).unwrap(), changed);
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n");
    // A link is the user's, wherever it leads.
    fs::remove_file(&page).unwrap();
    std::os::unix::fs::symlink("/nonexistent/target", &page).unwrap();
    nobody.expect(4, ["setup"]).err_has(&["git-agentlock.1 is left as it is"]);
    assert!(page.is_symlink());
}

#[test]
fn what_cannot_be_written_is_told_and_the_rest_is_done() {
    let sandbox = Sandbox::new();
    let nobody = sandbox.nobody(sandbox.root());
    fs::create_dir_all(sandbox.home().join(".local/share")).unwrap();
    fs::write(sandbox.home().join(".local/share/zsh"), "no directory").unwrap();
    let ran = nobody.expect(4, ["setup"]);
    ran.err_has(&["_git-agentlock", "hint: "])
        .out_has(&["completion for bash: written", "completion for fish: written"]);
    nobody.env("HOME", "").expect(2, ["setup"]).err_has(&["HOME is not set"]);
}

#[test]
fn the_variables_decide_and_what_is_known_is_not_said_again() {
    let sandbox = Sandbox::new();
    let place = |name: &str| sandbox.root().join(name);
    fs::write(
        sandbox.home().join(".zshrc"),
        format!("fpath=({}/zsh/site-functions $fpath)\n", place("data").display()),
    )
    .unwrap();
    let agent =
        sandbox.nobody(sandbox.root()).env("XDG_DATA_HOME", place("data")).env("XDG_CONFIG_HOME", place("config"));
    let agent = agent.env("MANPATH", format!("{}:", place("data/man").display()));
    let ran = agent.ok(["setup"]);
    assert_eq!(ran.err(), "", "nothing is left to do");
    for file in [
        "data/bash-completion/completions/git-agentlock",
        "data/man/man1/git-agentlock.1",
        "config/fish/conf.d/git-agentlock.fish",
    ] {
        assert!(place(file).is_file(), "{file}");
    }
    agent.ok(["setup", "--uninstall"]);
    assert!(!place("data").exists() && !place("config").exists());
}

#[test]
fn a_home_that_cannot_be_written_is_an_error_for_each_directory_and_no_advice() {
    let (sandbox, repo) = Sandbox::with_repo();
    let nobody = sandbox.nobody(&repo).env("HOME", "/proc/1/nope").env("XDG_CONFIG_HOME", "").env("XDG_DATA_HOME", "");
    let ran = nobody.expect(4, ["setup"]);
    ran.err_has(&["cannot create", "XDG_CONFIG_HOME"]);
    assert_eq!(ran.err().matches("man/man1").count(), 1, "{ran:#?}");
    assert!(!ran.err().contains("fpath=") && !ran.err().contains("MANPATH="), "{ran:#?}");
}
