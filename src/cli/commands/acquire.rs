//! `acquire`: take leases, all or nothing.

use std::fmt::Write as _;

use clap::Args;
use git_agentlock::{
    duration::Ttl,
    locks::{Acquired, Conflict, Grant, Holder, Locks, Patience, Request, Told, Waited},
    owner::Owner,
    resource::Resource,
};

use crate::cli::{
    args::{Global, OwnerArg, Targets},
    context::{Context, Located},
    exit::Kind,
    failure::Failure,
    output::{self, Output},
    owner,
    render::human,
    signals::Signals,
    targets,
    values::{allowed, parse_reason, parse_ttl, parse_wait},
};

/// Take leases, all or nothing
///
/// What you already hold is prolonged and keeps its token. An expired lease of somebody else is taken over, and you are told whose it was.
/// Renew within half of the TTL; release when done.
#[derive(Debug, Args)]
pub(crate) struct AcquireArgs {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    owner: OwnerArg,
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

pub(crate) fn run(context: &Context, args: AcquireArgs, global: &Global) -> Result<Output, Failure> {
    let mut output = Output::new("acquire");
    let owner_given = args.owner.owner.is_some();
    let like_origin = targets::looks_like_path_and_session(context, &args.targets.paths, owner_given);
    let owner = owner::required(args.owner.owner.as_deref()).map_err(|failure| match like_origin {
        true => failure.hint("if the second path is meant as the session, give it as --owner"),
        false => failure,
    })?;
    if like_origin {
        output.warnings.push(
            "two paths are locked; if the second is meant as the session, give it as --owner (or AGENTLOCK_OWNER)"
                .to_owned(),
        );
    }
    let reason = args.reason.map(parse_reason).transpose()?;
    let wait_ms = args.wait.as_deref().map(parse_wait).transpose()?.unwrap_or(0);
    let asked = args.ttl.as_deref().map(parse_ttl).transpose()?;
    let named = targets::resolve(context, &args.targets)?;
    let Some(first) = named.located.first() else { return Ok(Output::nothing_to_do("acquire")) };
    let policy = &first.policy.policy;
    let store = context.one_store(&named.located)?;
    let wants = wants(&named.located, asked)?;

    let request = Request { owner, wants, reason, pid: std::process::id() };
    let locks = context.locks(&store, policy);
    let told = if wait_ms == 0 {
        let told = locks.acquire(&request)?;
        Told { value: Some(told.value), warnings: told.warnings }
    } else {
        wait(&locks, &request, wait_ms, global, &mut output.signal)?
    };
    output.warnings.extend(told.warnings);
    match told.value {
        Some(Acquired::Granted(grants)) => {
            granted(&mut output, &grants, asked);
            output.notes.extend(named.notes);
            // What nobody would be told is not looked for.
            if global.json || !global.quiet {
                output.notes.extend(context.notes_of_other_repositories(&named.located));
                note_other_work_trees(context, &named.located, &locks, &request.owner, &mut output);
                note_nested_repositories(&named.located, &mut output);
            }
        }
        Some(Acquired::Refused(conflicts)) => refused(&mut output, &conflicts),
        None => {
            output
                .failures
                .push(Failure::new(Kind::Conflict, "interrupted while waiting").hint("nothing was acquired"));
        }
    }
    Ok(output)
}

/// `None`: a signal came; nothing is held then.
fn wait(
    locks: &Locks<'_>,
    request: &Request,
    wait_ms: u64,
    global: &Global,
    signal: &mut Option<u8>,
) -> Result<Told<Option<Acquired>>, Failure> {
    let signals = Signals::catch();
    let mut begin = |conflicts: &[Conflict]| {
        for conflict in conflicts {
            output::say_now(global, &format!("waiting for {}: {}", conflict.wanted, in_the_way(conflict)));
        }
    };
    let chance = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), request.pid);
    let patience = Patience {
        wait_ms,
        begin: &mut begin,
        cancelled: &|| signals.caught().is_some(),
        sleep: &|ms| std::thread::sleep(std::time::Duration::from_millis(ms)),
        ticket_name: format!("{}-{chance:016x}", request.pid),
    };
    let told = locks.acquire_waiting(request, patience)?;
    let value = match told.value {
        Waited::Answered(answer) => Some(answer),
        Waited::Cancelled => {
            *signal = signals.caught();
            None
        }
    };
    Ok(Told { value, warnings: told.warnings })
}

/// Linked work trees have their own files, so their locks are apart; that somebody works on the same path there is still good to know.
fn note_other_work_trees(
    context: &Context,
    located: &[Located],
    locks: &Locks<'_>,
    owner: &Owner,
    output: &mut Output,
) {
    let elsewhere = context.in_other_work_trees(located);
    // A note only: when it cannot be told, the grant stands as it is.
    for report in locks.check(&elsewhere).unwrap_or_default() {
        for holder in report.foreign(Some(owner)) {
            if let Holder::Lease(lease) = holder {
                let name = git_agentlock::text::escape(&lease.resource.scope.work_tree);
                let tree = if name.is_empty() { "the main work tree".to_owned() } else { format!("work tree {name}") };
                output.notes.push(format!("note: in {tree}, {} is {}", lease.resource, human::held_by(holder)));
            }
        }
    }
}

/// An area ends where another repository begins.
fn note_nested_repositories(located: &[Located], output: &mut Output) {
    const SHOWN: usize = 3;
    for dir in located.iter().filter_map(Located::area_dir) {
        let nested = git_agentlock::git::repositories_below(&dir, SHOWN);
        if let [first, ..] = nested.as_slice() {
            let more = if nested.len() < SHOWN { "" } else { " and perhaps more" };
            let shown = git_agentlock::text::escape_path(first);
            output.notes.push(format!("note: not locked, being a repository of its own: {shown}{more}"));
        }
    }
}

/// Each resource with its TTL: the one asked for (in milliseconds), if the policy allows it there, else the policy's default for it.
fn wants(located: &[Located], asked: Option<u64>) -> Result<Vec<(Resource, Ttl)>, Failure> {
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

fn granted(output: &mut Output, grants: &[Grant], asked: Option<u64>) {
    output.has_changed = true;
    output.document.locked = true;
    for grant in grants {
        let lease = &grant.lease;
        output.document.leases.push(grant.into());
        if asked.and_then(|asked| i64::try_from(asked).ok()).is_some_and(|asked| lease.remaining_ms > asked) {
            output.notes.push(human::lasts_longer(lease));
        }
        let verb = match (grant.fresh, grant.widened) {
            (true, _) => "acquired",
            (false, false) => "already yours:",
            (false, true) => "already yours, now with all below:",
        };
        let half = lease.ttl.millis_i64().checked_div(2).unwrap_or(0);
        let _ = writeln!(
            output.text,
            "{verb} {} until {} ({}); renew within {}; token {}",
            lease.resource,
            human::moment(lease.expires_at),
            human::length(lease.remaining_ms),
            human::length(half),
            lease.token
        );
        if let Some(stale) = &grant.stale_owner {
            let whose = if *stale == lease.owner {
                "your own expired lease".to_owned()
            } else {
                format!("the expired lease of {stale}")
            };
            let _ = writeln!(output.text, "  replaced {whose}");
        }
    }
}

fn refused(output: &mut Output, conflicts: &[Conflict]) {
    if conflicts.is_empty() {
        let failure = Failure::new(Kind::Conflict, "the time to wait was up before the leases could be written");
        output.failures.push(failure.hint("nothing was acquired; try again"));
    }
    for conflict in conflicts {
        output.document.conflicts.push(conflict.into());
        let message = format!("cannot acquire {}: {}", conflict.wanted, in_the_way(conflict));
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

/// Who holds it; or what it overlaps, and who holds that.
fn in_the_way(conflict: &Conflict) -> String {
    let through = match &conflict.holder {
        Holder::Lease(lease) if lease.resource != conflict.wanted => format!("{} is ", lease.resource),
        _ => String::new(),
    };
    format!("{through}{}", human::held_by(&conflict.holder))
}
