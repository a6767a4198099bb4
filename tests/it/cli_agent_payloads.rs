//! What each agent tool sends, and what it gets: every payload in `fixtures/harness`, in a repository where B holds `src/b` and the area `area`.
//!
//! Beside each payload is what is expected of it: exit code, both streams, and who holds what afterwards. `@REPO@` stands for the repository,
//! `@OUTSIDE@` for a directory in none, `#` for times.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::sandbox::{Agent, Sandbox, store_of};

fn payloads() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for tool in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/harness")).unwrap() {
        let files = fs::read_dir(tool.unwrap().path()).unwrap().map(|file| file.unwrap().path());
        found.extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "json")));
    }
    found.sort();
    assert!(found.len() > 50, "{}", found.len());
    found
}

/// Times and lengths of time differ from run to run.
fn without_times(text: &str) -> String {
    let is_time = |word: &str| word.trim_start_matches('(').starts_with(|c: char| c.is_ascii_digit());
    let words: Vec<String> =
        text.split(' ').map(|word| if is_time(word) { "#".to_owned() } else { word.to_owned() }).collect();
    let mut text = words.join(" ");
    while text.contains("# #") {
        text = text.replace("# #", "#");
    }
    text
}

fn told(agent: &Agent<'_>, tool: &str, payload: &Path, repo: &str, outside: &str) -> String {
    let sent = fs::read_to_string(payload).unwrap().replace("@REPO@", repo).replace("@OUTSIDE@", outside);
    let ran = agent.stdin(sent).run(["agent-hook", tool]);
    let shown = |text: &str| without_times(&text.replace(repo, "@REPO@").replace(outside, "@OUTSIDE@"));
    let own = agent.listed().into_iter().filter(|lease| !lease.ends_with(" B"));
    let own: Vec<String> = own.map(|lease| git_agentlock::text::escape(lease.as_bytes())).collect();
    let mut told = format!("exit {}\n", ran.code());
    for (name, text) in [("stdout", shown(&ran.out())), ("stderr", shown(&ran.err())), ("held", own.join("\n"))] {
        if !text.trim().is_empty() {
            told.push_str(&format!("--- {name}\n{}\n", text.trim_end()));
        }
    }
    told
}

#[test]
fn every_payload_is_answered_as_is_written_beside_it() {
    let mut wrong = Vec::new();
    let (sandbox, repo) = Sandbox::with_repo();
    let outside = sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    for payload in payloads() {
        let _ = fs::remove_dir_all(store_of(&repo.join(".git")));
        sandbox.agent(&repo, "B").ok(["acquire", "src/b", "area/", "--reason", "move the parser"]);
        let tool = payload.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        let agent = sandbox.nobody(&repo);
        let told = told(&agent, &tool, &payload, repo.to_str().unwrap(), outside.to_str().unwrap());
        let expected = payload.with_extension("expected");
        if fs::read_to_string(&expected).ok().as_deref() != Some(&told) {
            wrong.push(format!("{}:\n{told}", payload.display()));
        }
        let untouched = sandbox.agent(&repo, "").listed().into_iter().filter(|lease| lease.ends_with(" B")).count();
        assert_eq!(untouched, 2, "{}", payload.display());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
