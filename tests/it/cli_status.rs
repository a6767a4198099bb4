//! `git agentlock` alone says what is held here and by whom, and changes nothing.

use crate::sandbox::{Sandbox, tree};

#[test]
fn it_says_what_is_held_here_and_by_whom() {
    let (sandbox, repo) = Sandbox::with_repo();
    let me = sandbox.agent(&repo, "me");
    let empty = me.ok([""; 0]);
    empty.out_has(&["You are me\n", "Nobody holds anything here", "\nusage: git agentlock COMMAND"]);
    assert!(!repo.join(".git/agent-locks").exists(), "nothing was made");
    me.ok(["acquire", "src/a"]);
    sandbox.agent(&repo, "kimi").ok(["acquire", "src/b", "--reason", "the parser"]);
    sandbox.agent(&repo, "gone").let_expire("old");
    let before = tree(&repo.join(".git"));
    let ran = me.ok([""; 0]);
    let text = ran.out();
    let (own, rest) = text.split_once("Leases that others hold:").unwrap();
    let (others, expired) = rest.split_once("Leases that have expired:").unwrap();
    assert!(
        own.contains(&format!("In {}\n", repo.display()))
            && own.contains("    src/a  ")
            && own.contains("release --all"),
        "{text}"
    );
    assert!(others.contains("    src/b  kimi, ") && others.contains(" left: the parser\n"), "{text}");
    assert!(expired.contains("    old  gone, ") && expired.contains(" ago\n"), "{text}");
    assert_eq!(tree(&repo.join(".git")), before);
    sandbox.nobody(&repo).ok([""; 0]).out_has(&["You have no name yet", "\nLeases:\n", "    src/a  me, "]);
}

#[test]
fn for_programs_it_is_a_document() {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.agent(&repo, "me").ok(["acquire", "src/a"]);
    let document = sandbox.nobody(&repo).json(0, [""; 0]);
    assert_eq!((document.command.as_str(), document.locked, document.leases.len()), ("status", true, 1));
}

#[test]
fn outside_of_any_repository_it_says_so_and_how_to_go_on() {
    let sandbox = Sandbox::new();
    let ran = sandbox.nobody(sandbox.root()).ok([""; 0]);
    ran.out_has(&["Not in a git repository", "usage: git agentlock COMMAND"]);
    assert_eq!(ran.err(), "");
}

#[test]
fn hostile_text_stays_text_and_many_leases_stay_few_lines() {
    let (sandbox, repo) = Sandbox::with_repo();
    let paths: Vec<String> = (0..40).map(|n| format!("f{n}\x1b[2J\nforged")).collect();
    let words: Vec<&str> = std::iter::once("acquire").chain(paths.iter().map(String::as_str)).collect();
    sandbox.agent(&repo, "me").ok(words);
    let ran = sandbox.agent(&repo, "other").ok([""; 0]);
    ran.out_has(&["… and 20 more", "f0\\x1b[2J\\nforged"]);
    assert!(ran.out().lines().count() < 30);
}
