//! `acquire`: take leases, all or nothing.

use std::fmt::Write as _;

use clap::Args;
use git_agentlock::{
    duration::{Ttl, parse_millis},
    locks::{Acquired, Conflict, Grant, Holder, Request},
    policy::TtlLimits,
    record::Reason,
    resource::Resource,
};

use crate::cli::{
    args::{OwnerArg, Targets},
    context::{Context, Located},
    exit::Kind,
    failure::Failure,
    output::Output,
    render::human,
    targets,
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
    /// Why, for those who find it held (at most 1,000 bytes)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

pub(crate) fn run(context: &Context, args: AcquireArgs) -> Result<Output, Failure> {
    let mut output = Output::new("acquire");
    let owner_given = args.owner.owner.is_some();
    if targets::looks_like_path_and_session(context, &args.targets.paths, owner_given) {
        output.warnings.push(
            "two paths are locked; if the second is meant as the session, give it as --owner (or AGENTLOCK_OWNER)"
                .to_owned(),
        );
    }
    let owner = Context::required_owner(args.owner.owner.as_deref())?;
    let reason = args.reason.map(parse_reason).transpose()?;
    let named = targets::resolve(context, &args.targets)?;
    let store = context.one_store(&named.located)?;
    let wants = wants(&named.located, args.ttl.as_deref())?;
    let policy = named.located.first().map(|first| &first.policy.policy);
    let Some(policy) = policy else { return Err(Failure::invalid("nothing was named")) };
    output.notes = named.notes;

    let request = Request { owner, wants, reason, pid: std::process::id() };
    let told = context.locks(&store, policy).acquire(&request)?;
    output.warnings.extend(told.warnings);
    match told.value {
        Acquired::Granted(grants) => granted(&mut output, &grants),
        Acquired::Refused(conflicts) => refused(&mut output, &conflicts),
    }
    Ok(output)
}

fn parse_reason(text: String) -> Result<Reason, Failure> {
    Reason::new(text).map_err(|error| Failure::invalid(error.to_string()).hint("shorten it"))
}

/// Each resource with its TTL: the one asked for, if the policy allows it there, else the policy's default for it.
fn wants(located: &[Located], asked: Option<&str>) -> Result<Vec<(Resource, Ttl)>, Failure> {
    let asked = asked.map(parse_ttl).transpose()?;
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

/// Milliseconds. Zero is no TTL, but the bounds say that better.
pub(super) fn parse_ttl(text: &str) -> Result<u64, Failure> {
    parse_millis(text).map_err(|error| {
        Failure::invalid(format!("--ttl: {error}")).hint("write it as 90s, 5m, 1h 30m, 1d, or in plain seconds")
    })
}

pub(super) fn allowed(ms: u64, limits: &TtlLimits<'_>, resource: &Resource) -> Result<Ttl, Failure> {
    let checked = match Ttl::from_millis(ms) {
        Some(ttl) => limits.check(ttl).map_err(|error| error.to_string()),
        None => Err(format!(
            "a TTL of 0 is below the minimum of {} ({} in {})",
            limits.min.value,
            limits.min.key(),
            limits.min.origin
        )),
    };
    checked.map_err(|error: String| {
        Failure::invalid(format!("{resource}: {error}")).hint("choose one within, or change the policy")
    })
}

fn granted(output: &mut Output, grants: &[Grant]) {
    output.has_changed = true;
    output.document.locked = true;
    for grant in grants {
        let lease = &grant.lease;
        output.document.leases.push(grant.into());
        let verb = if grant.fresh { "acquired" } else { "already yours, prolonged:" };
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
            let _ = writeln!(output.text, "  replaced the expired lease of {stale}");
        }
    }
}

fn refused(output: &mut Output, conflicts: &[Conflict]) {
    for conflict in conflicts {
        output.document.conflicts.push(conflict.into());
        let through = match &conflict.holder {
            Holder::Lease(lease) if lease.resource != conflict.wanted => format!("{} is ", lease.resource),
            _ => String::new(),
        };
        let message = format!("cannot acquire {}: {through}{}", conflict.wanted, human::held_by(&conflict.holder));
        output.failures.push(match &conflict.holder {
            Holder::Lease(_) => Failure::new(Kind::Conflict, message),
            Holder::Unknown { .. } => Failure::new(Kind::Damaged, message),
        });
    }
    if let Some(last) = output.failures.last_mut() {
        last.hints.push("nothing was acquired; work on something else, or try again when it is free".to_owned());
    }
}
