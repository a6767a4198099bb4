//! strace: which system calls a run makes, and a run in which one of them is where it dies, fails or stops.
//!
//! strace counts the calls of each name by themselves, so a point is a name and a number. A kill acts before the call; a stop acts when the
//! call is done.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::scenes::Scene;
use crate::sandbox::{Agent, Ran};

/// A call that a run makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    /// Counted by name, from 1.
    pub(super) number: usize,
    /// The arguments, as strace shows them.
    pub(super) text: String,
}

/// What is done to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Kill,
    Fail(&'static str),
    Stop,
}

fn traced<'s>(agent: &Agent<'s>, scene: &Scene, log: &Path, what: &[&str]) -> Agent<'s> {
    let umask: &[&str] = if scene.umask { &["sh", "-c", "umask 077; exec \"$@\"", "sh"] } else { &[] };
    let strace = ["strace", "-qq", "-f", "-o", log.to_str().unwrap()];
    agent.by([umask, &strace, what, &["--"]].concat())
}

/// All calls of a run but the one that starts the program.
pub(super) fn calls(agent: &Agent<'_>, scene: &Scene, dir: &Path, arguments: &[String]) -> (Ran, Vec<Call>) {
    let log = dir.join("calls");
    let ran = traced(agent, scene, &log, &[]).run(arguments);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in fs::read_to_string(&log).unwrap().lines() {
        let Some((name, text)) = line.split_once(' ').and_then(|(_, rest)| rest.trim_start().split_once('(')) else {
            continue;
        };
        assert!(!name.contains(' ') || line.contains("---") || line.contains("+++"), "a thread or a child: {line}");
        if name.contains(' ') {
            continue;
        }
        let number = counts.entry(name.to_owned()).or_default();
        *number += 1;
        calls.push(Call { name: name.to_owned(), number: *number, text: text.to_owned() });
    }
    calls.retain(|call| call.name != "execve");
    (ran, calls)
}

/// The same agent with a fault at this call, and the log that tells of it.
pub(super) fn with_fault<'s>(
    agent: &Agent<'s>,
    scene: &Scene,
    dir: &Path,
    call: &Call,
    fault: Fault,
) -> (Agent<'s>, PathBuf) {
    let log = dir.join("fault");
    let _ = fs::remove_file(&log);
    let what = match fault {
        Fault::Kill => "signal=KILL".to_owned(),
        Fault::Fail(error) => format!("error={error}"),
        Fault::Stop => "signal=STOP".to_owned(),
    };
    let (trace, inject) = (format!("trace={}", call.name), format!("inject={}:{what}:when={}", call.name, call.number));
    (traced(agent, scene, &log, &["-e", &trace, "-e", &inject]), log)
}

/// Whether the call was made at all.
pub(super) fn has_acted(ran: &Ran, log: &Path, fault: Fault) -> bool {
    match fault {
        Fault::Kill => ran.code() == 128 + 9,
        Fault::Fail(_) => fs::read_to_string(log).unwrap().contains("(INJECTED)"),
        Fault::Stop => stopped(log).is_some(),
    }
}

/// The process that has stopped.
pub(super) fn stopped(log: &Path) -> Option<u32> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let line = text.lines().find(|line| line.ends_with("--- stopped by SIGSTOP ---"))?;
    line.split_once(' ')?.0.parse().ok()
}
