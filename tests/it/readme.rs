//! What the README shows is what happens.

use std::fs;

use crate::sandbox::Sandbox;

fn readme() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap()
}

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let text = readme();
    let mut blocks = Vec::new();
    for after in text.split(&format!("```{language}\n")).skip(1) {
        blocks.push(after.split("\n```").next().unwrap().to_owned());
    }
    blocks
}

/// Words that begin with a digit are times, lengths and tokens, which differ from run to run.
fn without_numbers(line: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let is_number = word.trim_start_matches(['(', '*']).starts_with(|c: char| c.is_ascii_digit());
        match (is_number, words.last()) {
            (true, Some(&"#")) => {}
            (true, _) => words.push("#"),
            (false, _) => words.push(word),
        }
    }
    words.join(" ")
}

#[test]
fn the_transcript_is_what_happens() {
    let (sandbox, repo) = Sandbox::with_repo();
    fs::create_dir_all(repo.join("crates/core")).unwrap();
    for file in ["crates/core/main.rs", "crates/core/search.rs"] {
        fs::write(repo.join(file), "").unwrap();
    }
    sandbox.git(&repo, &["add", "."]);
    sandbox.git(&repo, &["commit", "-qm", "as in the clone"]);
    let transcript = blocks("console").concat();
    let steps: Vec<&str> = transcript.split("$ ").filter(|step| !step.is_empty()).collect();
    assert!(steps.len() >= 6, "acquire, refused, list, renew, release, acquire");
    for step in steps {
        let (command, expected) = step.split_once('\n').unwrap();
        let output = sandbox.command("sh", &repo).args(["-c", command]).output().unwrap();
        let mut told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        match output.status.code() {
            Some(0) => {}
            code => told.push_str(&format!("[{}]\n", code.unwrap())),
        }
        let shown = |text: &str| text.lines().map(without_numbers).collect::<Vec<_>>().join("\n");
        assert_eq!(shown(&told).trim_end(), shown(expected).trim_end(), "{command}");
    }
}

#[test]
fn every_command_is_in_the_readme_and_every_one_in_it_exists() {
    let (sandbox, repo) = Sandbox::with_repo();
    let help = sandbox.nobody(&repo).ok(["-h"]).out();
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"acquire") && commands.len() >= 11, "{commands:?}");
    let text = readme();
    for command in commands.into_iter().filter(|command| *command != "help") {
        assert!(text.contains(&format!("| `{command}")), "{command} is not in the table");
    }
}

#[test]
fn the_two_commands_for_the_set_up_stand_alone() {
    let set_up: Vec<String> = blocks("sh").into_iter().filter(|block| block.starts_with("cargo ")).collect();
    assert_eq!(set_up.len(), 2, "{set_up:?}");
    assert!(set_up[0].starts_with("cargo install --path . --locked && git agentlock setup && git agentlock acquire "));
    assert_eq!(set_up[1], "cargo test --locked", ".ci/run calls it");
}
