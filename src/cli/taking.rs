//! Taking leases, as `acquire` and `run` do it: the terms, the waiting, and what is said about a grant or a refusal.

use clap::Args;
use git_agentlock::{
    duration::Ttl,
    locks::{Acquired, Conflict, Grant, Holder, Locks, Patience, Request, Told, Waited},
    owner::Owner,
    record::Reason,
    resource::Resource,
};

use super::{
    context::{Context, Located},
    exit::Kind,
    failure::Failure,
    output::Output,
    render::human,
    values::{allowed, parse_reason, parse_ttl, parse_wait},
};

/// On which terms leases are wanted.
#[derive(Debug, Args)]
pub(crate) struct Terms {
    /// How long the leases last: 90s, 5m, 1h 30m, or plain seconds [default: the policy's]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    ttl: Option<String>,
    /// Wait for so long for what is held [default: not at all]; Ctrl-C ends it with nothing held
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    wait: Option<String>,
    /// Why, for those who find it held (at most 1,000 bytes)
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// The same, read.
pub(crate) struct Wanted {
    pub(crate) reason: Option<Reason>,
    /// Milliseconds; 0: not at all.
    pub(crate) wait_ms: u64,
    /// Milliseconds, when a TTL was asked for.
    pub(crate) ttl_ms: Option<u64>,
}

impl Terms {
    pub(crate) fn waits(&self) -> bool {
        self.wait.is_some()
    }

    pub(crate) fn read(&self) -> Result<Wanted, Failure> {
        Ok(Wanted {
            reason: self.reason.clone().map(parse_reason).transpose()?,
            wait_ms: self.wait.as_deref().map(parse_wait).transpose()?.unwrap_or(0),
            ttl_ms: self.ttl.as_deref().map(parse_ttl).transpose()?,
        })
    }
}

/// Acquires; what is held is waited for, and said once through `say`. `None`: it was cancelled; nothing is held then.
pub(crate) fn acquire(
    locks: &Locks<'_>,
    request: &Request,
    wait_ms: u64,
    say: &dyn Fn(&str),
    cancelled: &dyn Fn() -> bool,
) -> Result<Told<Option<Acquired>>, Failure> {
    if wait_ms == 0 {
        let told = locks.acquire(request)?;
        return Ok(Told { value: Some(told.value), warnings: told.warnings });
    }
    let mut begin = |conflicts: &[Conflict]| {
        for conflict in conflicts {
            say(&format!("waiting for {}: {}", conflict.wanted, human::in_the_way(&conflict.wanted, &conflict.holder)));
        }
    };
    let chance = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), request.pid);
    let patience = Patience {
        wait_ms,
        begin: &mut begin,
        cancelled,
        sleep: &|ms| std::thread::sleep(std::time::Duration::from_millis(ms)),
        ticket_name: format!("{}-{chance:016x}", request.pid),
    };
    let told = locks.acquire_waiting(request, patience)?;
    let value = match told.value {
        Waited::Answered(answer) => Some(answer),
        Waited::Cancelled => None,
    };
    Ok(Told { value, warnings: told.warnings })
}

/// Whose expired lease was replaced.
pub(crate) fn replaced(grant: &Grant) -> Option<String> {
    let stale = grant.stale_owner.as_ref()?;
    Some(match *stale == grant.lease.owner {
        true => "replaced your own expired lease".to_owned(),
        false => format!("replaced the expired lease of {stale}"),
    })
}

/// What is good to know beside a grant.
pub(crate) fn notes(context: &Context, located: &[Located], locks: &Locks<'_>, owner: &Owner) -> Vec<String> {
    let mut notes = context.notes_of_other_repositories(located);
    notes.extend(notes_of_other_work_trees(context, located, locks, owner));
    notes.extend(notes_of_nested_repositories(located));
    notes
}

/// Linked work trees have their own files, so their locks are apart; that somebody works on the same path there is still good to know.
fn notes_of_other_work_trees(context: &Context, located: &[Located], locks: &Locks<'_>, owner: &Owner) -> Vec<String> {
    let mut notes = Vec::new();
    let elsewhere = context.in_other_work_trees(located);
    // A note only: when it cannot be told, the grant stands as it is.
    for report in locks.check(&elsewhere).unwrap_or_default() {
        for holder in report.foreign(Some(owner)) {
            if let Holder::Lease(lease) = holder {
                let name = git_agentlock::text::escape(&lease.resource.scope.work_tree);
                let tree = if name.is_empty() { "the main work tree".to_owned() } else { format!("work tree {name}") };
                notes.push(format!("note: in {tree}, {} is {}", lease.resource, human::held_by(holder)));
            }
        }
    }
    notes
}

/// An area ends where another repository begins.
fn notes_of_nested_repositories(located: &[Located]) -> Vec<String> {
    const SHOWN: usize = 3;
    let mut notes = Vec::new();
    for dir in located.iter().filter_map(Located::area_dir) {
        let nested = git_agentlock::git::repositories_below(&dir, SHOWN);
        if let [first, ..] = nested.as_slice() {
            let more = if nested.len() < SHOWN { "" } else { " and perhaps more" };
            let shown = git_agentlock::text::escape_path(first);
            notes.push(format!("note: not locked, being a repository of its own: {shown}{more}"));
        }
    }
    notes
}

/// Each resource with its TTL: the one asked for (in milliseconds), if the policy allows it there, else the policy's default for it.
pub(crate) fn wants(located: &[Located], asked: Option<u64>) -> Result<Vec<(Resource, Ttl)>, Failure> {
    let mut wants = Vec::with_capacity(located.len());
    for one in located {
        let limits = one.policy.policy.ttl(&one.resource.target);
        let ttl = match asked {
            None => limits.default.value,
            Some(ms) => allowed(ms, &limits, &one.resource)?,
        };
        wants.push((one.resource.clone(), ttl));
    }
    Ok(wants)
}

/// That a signal came before there was an answer.
pub(crate) fn interrupted() -> Failure {
    Failure::new(Kind::Conflict, "interrupted while waiting").hint("nothing was acquired")
}

/// Tells everything that stands in the way.
pub(crate) fn refused(output: &mut Output, conflicts: &[Conflict]) {
    if conflicts.is_empty() {
        let failure = Failure::new(Kind::Conflict, "the time to wait was up before the leases could be written");
        output.failures.push(failure.hint("nothing was acquired; try again"));
    }
    for conflict in conflicts {
        output.document.conflicts.push(conflict.into());
        let message =
            format!("cannot acquire {}: {}", conflict.wanted, human::in_the_way(&conflict.wanted, &conflict.holder));
        output.failures.push(match &conflict.holder {
            Holder::Lease(_) | Holder::Waiting { .. } => Failure::new(Kind::Conflict, message),
            Holder::Unknown { .. } => Failure::new(Kind::Damaged, message),
        });
    }
    let is_damaged = output.failures.iter().any(|failure| failure.kind == Kind::Damaged);
    if let Some(last) = output.failures.last_mut() {
        last.hints.push("nothing was acquired; work on something else, or wait for it with --wait 5m".to_owned());
        last.hints.extend(is_damaged.then(|| Kind::Damaged.remedy_of_holder().to_owned()));
    }
}
