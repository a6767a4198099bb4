//! Many processes that want the same at the same instant.

use std::{collections::BTreeSet, fs, io::Write as _, path::Path, process::Stdio};

use crate::sandbox::{Agent, Ran, Sandbox, records, store_of};

const PROCESSES: usize = 16;
const ROUNDS: usize = 4;

/// Starts one `acquire` for each agent and lets them all go at once: each waits for its paths on stdin.
fn at_once(agents: &[(Agent<'_>, &str)]) -> Vec<Ran> {
    let arguments = ["--json", "acquire", "--pathspec-from-file=-", "--pathspec-file-nul"];
    let mut children: Vec<_> =
        agents.iter().map(|(agent, _)| agent.command(arguments).stdin(Stdio::piped()).spawn().unwrap()).collect();
    for (child, (_, paths)) in children.iter_mut().zip(agents) {
        child.stdin.as_mut().unwrap().write_all(paths.as_bytes()).unwrap();
    }
    for child in &mut children {
        drop(child.stdin.take());
    }
    children.into_iter().map(|child| Ran::wait(child, "\"--json\" acquire".to_owned())).collect()
}

fn racers<'s>(sandbox: &'s Sandbox, repo: &Path, paths: &'s str) -> Vec<(Agent<'s>, &'s str)> {
    (0..PROCESSES).map(|number| (sandbox.agent(repo, &format!("racer-{number}")), paths)).collect()
}

/// The one winner, whom the losers, the record and `check` name.
fn the_winner(ran: &[Ran], agent: &Agent<'_>, path: &str) -> String {
    let winners: Vec<_> = ran.iter().filter(|ran| ran.code() == 0).collect();
    assert_eq!(winners.len(), 1, "{winners:#?}");
    let winner = winners[0].document().leases[0].owner.clone();
    for loser in ran.iter().filter(|ran| ran.code() != 0) {
        assert_eq!(loser.code(), 1, "{loser:#?}");
        assert_eq!(loser.document().conflicts[0].owner.as_ref(), Some(&winner), "a loser is told who won");
    }
    assert_eq!(agent.holder_of(path), Some(winner.clone()));
    winner
}

fn owner_on_disk(repo: &Path) -> String {
    let records = records(&store_of(&repo.join(".git")));
    assert_eq!(records.len(), 1);
    let record: serde_json::Value = serde_json::from_slice(&fs::read(&records[0]).unwrap()).unwrap();
    record["owner"].as_str().unwrap().to_owned()
}

#[test]
fn of_n_processes_that_race_exactly_one_wins_and_the_record_names_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let mut last_token = 0;
    for _ in 0..ROUNDS {
        let racers = racers(&sandbox, &repo, "src/a\0");
        let ran = at_once(&racers);
        let winner = the_winner(&ran, &racers[0].0, "src/a");
        assert_eq!(owner_on_disk(&repo), winner);
        let released = sandbox.agent(&repo, &winner).json(0, ["release", "src/a"]);
        assert!(released.leases[0].token > last_token, "tokens never repeat");
        last_token = released.leases[0].token;
    }
}

#[test]
fn the_very_first_use_of_a_repository_is_a_fair_race_too() {
    let sandbox = Sandbox::new();
    for round in 0..ROUNDS {
        let repo = sandbox.repo(&format!("r{round}"));
        let racers = racers(&sandbox, &repo, "src/a\0");
        let ran = at_once(&racers);
        assert_eq!(owner_on_disk(&repo), the_winner(&ran, &racers[0].0, "src/a"));
    }
}

#[test]
fn of_n_processes_that_race_for_an_expired_lease_exactly_one_wins() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for _ in 0..ROUNDS {
        a.let_expire("src/a");
        let racers = racers(&sandbox, &repo, "src/a\0");
        let ran = at_once(&racers);
        let winner = the_winner(&ran, &a, "src/a");
        assert_eq!(owner_on_disk(&repo), winner);
        let won = ran.iter().find(|ran| ran.code() == 0).unwrap().document();
        assert_eq!(won.leases[0].stale_owner.as_deref(), Some("A"), "and is told whom it replaced");
        sandbox.agent(&repo, &winner).ok(["release", "src/a"]);
    }
}

#[test]
fn processes_on_distinct_paths_all_succeed() {
    let (sandbox, repo) = Sandbox::with_repo();
    let paths: Vec<String> = (0..PROCESSES).map(|number| format!("new/{number}\0")).collect();
    let agents: Vec<_> = paths.iter().map(|path| (sandbox.agent(&repo, "many"), path.as_str())).collect();
    for ran in at_once(&agents) {
        assert_eq!(ran.code(), 0, "{ran:#?}");
    }
    assert_eq!(agents[0].0.listed().len(), PROCESSES);
}

#[test]
fn an_area_and_a_file_in_it_that_race_are_never_both_granted() {
    let (sandbox, repo) = Sandbox::with_repo();
    let paths = ["src/\0", "src/a\0", "./\0", "src/deep/x\0"];
    for _ in 0..ROUNDS {
        let agents: Vec<_> = (0..PROCESSES)
            .map(|number| (sandbox.agent(&repo, &format!("racer-{number}")), paths[number % paths.len()]))
            .collect();
        let ran = at_once(&agents);
        let granted: Vec<_> =
            ran.iter().filter(|ran| ran.code() == 0).map(|ran| ran.document().leases.remove(0)).collect();
        let names: BTreeSet<String> = granted.iter().map(|lease| lease.resource.name()).collect();
        assert_eq!(names.len(), granted.len(), "one owner each: {granted:#?}");
        let is_file = |name: &String| matches!(name.as_str(), "src/a" | "src/deep/x");
        assert!(names.len() == 1 || names.iter().all(is_file), "these overlap: {names:?}");
        for lease in &granted {
            sandbox.agent(&repo, &lease.owner).ok(["release", &lease.resource.name()]);
        }
        assert!(agents[0].0.listed().is_empty());
    }
}

#[test]
fn callers_with_reversed_lists_never_deadlock_and_never_share() {
    let (sandbox, repo) = Sandbox::with_repo();
    let lists = ["a\0b\0c\0d\0e\0", "e\0d\0c\0b\0a\0", "c\0e\0a\0"];
    for _ in 0..ROUNDS {
        let agents: Vec<_> = (0..PROCESSES)
            .map(|number| (sandbox.agent(&repo, &format!("racer-{number}")), lists[number % lists.len()]))
            .collect();
        let ran = at_once(&agents);
        let winners: Vec<_> = ran.iter().filter(|ran| ran.code() == 0).map(Ran::document).collect();
        assert_eq!(winners.len(), 1, "each two of the lists overlap: {ran:#?}");
        let owner = &winners[0].leases[0].owner;
        let held = agents[0].0.listed();
        assert_eq!(held.len(), winners[0].leases.len(), "all or nothing: {held:?}");
        assert!(held.iter().all(|lease| lease.ends_with(&format!(" {owner}"))), "{held:?}");
        sandbox.agent(&repo, owner).ok(["release", "a", "b", "c", "d", "e"]);
    }
}
