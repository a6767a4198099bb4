//! What the completion scripts are answered, without a shell: what exists, one's own first, and never a word about what is wrong.

use std::{fs, path::Path};

use crate::sandbox::{Agent, Sandbox, store_of, tree};

/// The values that are offered for a line; the last word is the one at the cursor.
#[track_caller]
fn offered(agent: &Agent<'_>, line: &[&str]) -> Vec<String> {
    let ran = agent.ok([&["completions", "zsh", "--"], line].concat());
    assert_eq!(ran.err(), "");
    let text = String::from_utf8(ran.stdout.0).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

/// What bash is to put in the place of the last word.
#[track_caller]
fn put(agent: &Agent<'_>, line: &str) -> Vec<String> {
    let ran = agent.ok(["completions", "bash", "--", line, " \t\n\"'><=;|&(:"]);
    assert_eq!(ran.err(), "");
    ran.out().lines().map(str::to_owned).collect()
}

fn world() -> (Sandbox, std::path::PathBuf) {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.agent(&repo, "zoe").ok(["acquire", "src/b", "docs/"]);
    sandbox.agent(&repo, "adam").ok(["acquire", "README", "--resource", "plan:1"]);
    sandbox.agent(&repo, "me").ok(["acquire", "src/a", "--resource", "plan:9"]);
    sandbox.agent(&repo, "gone").let_expire("old");
    (sandbox, repo)
}

#[test]
fn leases_are_offered_ones_own_first() {
    let (sandbox, repo) = world();
    let me = sandbox.agent(&repo, "me");
    for command in ["release", "renew", "check", "break", "heartbeat"] {
        assert_eq!(
            offered(&me, &["git", "agentlock", command, ""]),
            ["src/a", "README", "src/b", "docs/"],
            "{command}"
        );
    }
    assert_eq!(offered(&me, &["git-agentlock", "release", "-o", "zoe", ""])[..2], ["src/b", "docs/"]);
    assert_eq!(offered(&me, &["git-agentlock", "release", "--owner=zoe", "src/"]), ["src/b", "src/a"]);
    let ran = me.run(["completions", "fish", "--", "git-agentlock", "release", "REA"]);
    assert!(String::from_utf8(ran.stdout.0).unwrap().contains("README\tadam, "), "who holds it is said");
}

#[test]
fn paths_are_written_from_where_one_is() {
    let (sandbox, repo) = world();
    let me = sandbox.agent(&repo, "me");
    assert_eq!(offered(&me.cd("src"), &["git-agentlock", "release", ""]), ["a", "../README", "b", "../docs/"]);
    assert_eq!(
        offered(&me, &["git", "-C", "src", "agentlock", "release", "../"]),
        ["../src/a", "../README", "../src/b", "../docs/"]
    );
    let outside = me.cd("..");
    assert_eq!(offered(&outside, &["git", "-C", "r", "agentlock", "release", "src/"]), ["src/a", "src/b"]);
    assert_eq!(offered(&outside, &["git-agentlock", "-C", "r", "acquire", "src/"]), ["src/a", "src/b"]);
    assert_eq!(offered(&outside, &["git-agentlock", "-C", ""]), ["home/", "r/", "tmp/"]);
}

#[test]
fn owners_named_things_and_words_of_ours_are_offered() {
    let (sandbox, repo) = world();
    let me = sandbox.agent(&repo, "me");
    assert_eq!(offered(&me, &["git-agentlock", "list", "--owner", ""]), ["me", "adam", "gone", "zoe"]);
    assert_eq!(offered(&me, &["git-agentlock", "acquire", "--owner=z"]), ["--owner=zoe"]);
    assert_eq!(offered(&me, &["git-agentlock", "release", "--resource", ""]), ["plan:9", "plan:1"]);
    assert_eq!(put(&me, "git agentlock release --resource plan:"), ["", "9 ", "1 "]);
    assert_eq!(offered(&me, &["git-agentlock", "ren"]), ["renew"]);
    assert_eq!(offered(&me, &["git-agentlock", "heart"]), ["heartbeat"]);
    assert_eq!(offered(&me, &["git-agentlock", "hook", "install", "pre-m"]), ["pre-merge-commit"]);
    assert_eq!(offered(&me, &["git-agentlock", "agent-hook", "install", "c"]), ["claude-code", "codex", "cursor"]);
    assert_eq!(offered(&me, &["git-agentlock", "completions", "po"]), ["powershell"]);
    assert_eq!(offered(&me, &["git-agentlock", "check", "--mi"]), ["--mine"]);
    assert!(!offered(&me, &["git-agentlock", "completions", "bash", "--"]).iter().any(|offer| offer.contains("line")));
}

#[test]
fn an_alias_of_git_is_known_here_and_everywhere() {
    let (sandbox, repo) = world();
    let me = sandbox.agent(&repo, "me");
    sandbox.git(&repo, &["config", "alias.take", "!git agentlock acquire --ttl '1h 30m'"]);
    sandbox.git(&repo, &["config", "--global", "alias.lock", "agentlock"]);
    assert_eq!(offered(&me, &["git", "take", "src/"]), ["src/a", "src/b"]);
    assert_eq!(offered(&me, &["git", "-C", "src", "lock", "release", "a"]), ["a"]);
    assert_eq!(offered(&me.cd(sandbox.root()), &["git", "lock", "rel"]), ["release"]);
    assert_eq!(offered(&me, &["git", "status", ""]), [""; 0]);
}

#[cfg(unix)]
#[test]
fn hostile_names_are_quoted_or_left_out() {
    use std::os::unix::ffi::OsStrExt as _;
    let (sandbox, repo) = Sandbox::with_repo();
    let me = sandbox.agent(&repo, "me");
    let escape = Path::new("z\x1b[2J");
    let latin = Path::new(std::ffi::OsStr::from_bytes(b"z\xe9"));
    for name in ["y $(touch pwned)", "-n", "--help", "z\nforged"].map(Path::new).into_iter().chain([escape, latin]) {
        fs::write(repo.join(name), "").unwrap();
        me.ok([std::ffi::OsStr::new("acquire"), std::ffi::OsStr::new("--"), name.as_os_str()]);
    }
    me.ok(["acquire", "--resource", "plan:\u{202e}x"]);
    let all = ["./--help", "./-n", "y $(touch pwned)"];
    assert_eq!(offered(&me, &["git-agentlock", "release", ""]), all);
    assert_eq!(offered(&me, &["git-agentlock", "acquire", ""]), ["./--help", "./-n", "src/", "y $(touch pwned)"]);
    assert_eq!(offered(&me, &["git-agentlock", "release", "--", "-"]), ["--help", "-n"]);
    assert_eq!(offered(&me, &["git-agentlock", "release", "z"]), [""; 0]);
    assert_eq!(offered(&me, &["git-agentlock", "release", "--resource", ""]), [""; 0]);
    assert_eq!(put(&me, "git agentlock release y"), ["", r"y\ \$\(touch\ pwned\) "]);
    assert_eq!(put(&me, "git agentlock release 'y"), ["", "y $(touch pwned)"]);
    assert_eq!(put(&me, "git agentlock release \"y"), ["", r"y \$(touch pwned)"]);
    assert_eq!(put(&me, "git agentlock release $HOME/"), ["files"], "that is the shell's");
    assert_eq!(put(&me, "git agentlock run src/a -- ca"), ["command"]);
    assert_eq!(put(&me, "git agentlock release -- -"), ["", "--help ", "-n "]);
}

#[test]
fn nothing_is_said_about_what_is_wrong() {
    let (sandbox, repo) = world();
    let me = sandbox.agent(&repo, "me");
    let outside = me.cd(sandbox.root());
    assert_eq!(offered(&outside, &["git-agentlock", "release", ""]), [""; 0]);
    assert_eq!(offered(&outside, &["git-agentlock", "list", "--owner", ""]), ["me"]);
    assert_eq!(offered(&me, &["git-agentlock", "-C", "nowhere", "release", ""]), [""; 0]);
    assert_eq!(offered(&me, &["git-agentlock", "nothing", ""]).len(), offered(&me, &["git-agentlock", ""]).len());
    assert_eq!(offered(&me.env("AGENT_REGISTRY_LOCK_DIR", "relative"), &["git-agentlock", "release", ""]), [""; 0]);
    fs::write(repo.join(".agentlock.toml"), "nonsense = 1\n").unwrap();
    assert_eq!(offered(&me, &["git-agentlock", "release", "src/"]), ["src/a", "src/b"]);
    for line in [&["git"][..], &["git", "agentlock"], &["git", "-C"], &[""]] {
        assert_eq!(offered(&me, line), [""; 0], "{line:?}");
    }
    assert_eq!(me.ok(["completions", "bash", "--", "git agentlock "]).out(), "\n", "without the breaks of words");
}

#[test]
fn nothing_is_written() {
    let (sandbox, repo) = Sandbox::with_repo();
    let me = sandbox.agent(&repo, "me");
    let line = ["git-agentlock", "release", ""];
    assert_eq!(offered(&me, &line), [""; 0]);
    assert!(!store_of(&repo.join(".git")).exists());
    me.ok(["acquire", "src/a"]);
    let before = tree(&repo.join(".git"));
    assert_eq!(offered(&me, &line), ["src/a"]);
    assert_eq!(offered(&me, &["git-agentlock", "list", "--owner", ""]), ["me"]);
    assert_eq!(tree(&repo.join(".git")), before);
}

#[test]
fn a_linked_work_tree_has_its_own() {
    let (sandbox, repo) = world();
    let me = sandbox.agent(&repo, "me");
    sandbox.git(&repo, &["worktree", "add", "-q", "../w"]);
    let there = me.cd("../w");
    there.ok(["acquire", "src/b"]);
    assert_eq!(offered(&there, &["git-agentlock", "release", ""]), ["src/b"]);
    assert_eq!(offered(&me, &["git-agentlock", "release", "src/"]), ["src/a", "src/b"]);
}
