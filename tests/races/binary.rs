//! Operations through the real binary: a process each, as agents do it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    history::{Answer, Deed, Held, MS, now},
    racer::{Door, Tokens},
    requests::Request,
    sandbox::{self, BINARY, Document},
};

pub(crate) struct Binary {
    repo: PathBuf,
}

impl Binary {
    pub(crate) fn open(repo: &Path) -> Self {
        Self { repo: repo.to_owned() }
    }
}

fn arguments(request: &Request, tokens: &Tokens) -> Vec<String> {
    let word = match request.deed {
        Deed::Acquire => "acquire",
        Deed::Renew => "renew",
        Deed::Release => "release",
        Deed::Break => "break",
        Deed::Prune => "prune",
        Deed::Check => "check",
        Deed::List => "list",
    };
    let mut arguments = vec!["--json".to_owned(), word.to_owned()];
    for what in &request.what {
        arguments.extend(what.contains(':').then(|| "--resource".to_owned()));
        arguments.push((*what).to_owned());
    }
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    match request.deed {
        Deed::Acquire => {
            // Starting a process takes about as long as the shortest of these.
            option("--ttl", format!("{}ms", request.ttl_ms * 5));
            option("--wait", format!("{}ms", request.wait_ms));
        }
        Deed::Renew | Deed::Release if request.what.is_empty() => arguments.push("--all".to_owned()),
        Deed::Renew | Deed::Release if request.with_token && request.what.len() == 1 => {
            if let Some(token) = tokens.get(request.what[0]) {
                option("--token", token.to_string());
            }
        }
        Deed::Break => option("--reason", "a race".to_owned()),
        _ => {}
    }
    arguments
}

fn name(resource: &sandbox::Resource) -> String {
    let name = resource.name();
    if name == "./" { ".".to_owned() } else { name }
}

/// The codes that a command may end with here.
fn may_end_with(deed: Deed, code: Option<i32>) -> bool {
    let allowed: &[i32] = match deed {
        Deed::Acquire | Deed::Break | Deed::Check => &[0, 1],
        Deed::Renew | Deed::Release => &[0, 1, 3],
        Deed::Prune | Deed::List => &[0],
    };
    code.is_some_and(|code| allowed.contains(&code))
}

/// Nobody is told the clock that leases are judged by; but what remains is counted from within the call.
fn holds(document: &Document, asked_at: u64) -> Answer {
    let one = |lease: &sandbox::Lease| {
        let remaining_ms = u64::try_from(lease.remaining_ms).unwrap_or(0);
        let until = (asked_at / MS + remaining_ms) * MS;
        let (fresh, took_over) = (lease.fresh == Some(true), lease.stale_owner.is_some());
        Held { what: name(&lease.resource), token: lease.token, until, fresh, took_over }
    };
    Answer::Holds(document.leases.iter().map(one).collect())
}

fn answer(deed: Deed, document: &Document, asked_at: u64) -> Answer {
    let pair = |lease: &sandbox::Lease| (name(&lease.resource), lease.token);
    let is_live = |lease: &&sandbox::Lease| lease.state == "live";
    match deed {
        Deed::Acquire | Deed::Renew => holds(document, asked_at),
        Deed::Release | Deed::Break => Answer::Ended(document.leases.iter().map(pair).collect()),
        Deed::Prune => Answer::Done,
        Deed::Check | Deed::List => {
            let foreign = document
                .conflicts
                .iter()
                .filter_map(|conflict| Some((name(conflict.resource.as_ref()?), conflict.token?)));
            Answer::Saw(document.leases.iter().filter(is_live).map(pair).chain(foreign).collect())
        }
    }
}

impl Door for Binary {
    fn ask(&mut self, owner: &str, request: &Request, tokens: &Tokens) -> Answer {
        let mut command = Command::new(BINARY);
        // Whoever asks without a name is told of all that is held.
        let owner = if request.deed == Deed::Check { "" } else { owner };
        command.args(arguments(request, tokens)).current_dir(&self.repo).env("AGENTLOCK_OWNER", owner);
        let asked_at = now();
        // Stderr stays that of the racer, which lasts until this process too is gone.
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let Ok(document) = serde_json::from_str::<Document>(&text) else {
            return Answer::Failed(format!("{}: {text:?}", output.status));
        };
        let is_unknown = document.conflicts.iter().any(|conflict| conflict.unreadable.is_some());
        match output.status.code() {
            Some(4) if text.contains("too slow") => Answer::TooSlow,
            code if !may_end_with(request.deed, code) || is_unknown => {
                Answer::Failed(format!("{}: {text}", output.status))
            }
            _ => answer(request.deed, &document, asked_at),
        }
    }
}
