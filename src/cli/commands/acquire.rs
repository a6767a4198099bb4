//! `acquire`: take leases, all or nothing.

use std::fmt::Write as _;

use clap::Args;
use git_agentlock::locks::{Acquired, Grant, Request};

use crate::cli::{
    args::{Global, OwnerArg, Targets},
    context::Context,
    exit,
    failure::Failure,
    output::{self, Output},
    render::human,
    signals::Signals,
    taking::{self, Terms, Wanted},
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
    #[command(flatten)]
    terms: Terms,
}

impl AcquireArgs {
    /// Whether what is held is waited for.
    pub(crate) fn waits(&self) -> bool {
        self.terms.waits()
    }
}

pub(crate) fn run(context: &Context, args: &AcquireArgs, global: &Global) -> Result<Output, Failure> {
    let mut output = Output::new("acquire");
    let owner_given = args.owner.owner.is_some();
    let like_origin = targets::looks_like_path_and_session(context, &args.targets.paths, owner_given);
    let owner = targets::owner(context, args.owner.owner.as_deref(), &args.targets.paths)?;
    if like_origin {
        output.warnings.push(
            "two paths are locked; if the second is meant as the session, give it as --owner (or AGENTLOCK_OWNER)"
                .to_owned(),
        );
    }
    let Wanted { reason, wait_ms, ttl_ms: asked } = args.terms.read()?;
    let named = targets::resolve(context, &args.targets)?;
    let Some(first) = named.located.first() else { return Ok(Output::nothing_to_do("acquire")) };
    let policy = &first.policy.policy;
    let store = context.one_store(&named.located)?;
    let wants = taking::wants(&named.located, asked)?;

    let request = Request { owner, wants, reason, pid: std::process::id() };
    let locks = context.locks(&store, policy);
    let signals = (wait_ms > 0).then(Signals::catch);
    let caught = || signals.as_ref().and_then(Signals::caught);
    let say = |text: &str| output::say_now(global, text);
    let told = taking::acquire(&locks, &request, wait_ms, &say, &|| caught().is_some())?;
    output.code = caught().filter(|_| told.value.is_none()).map(exit::of_signal);
    output.warnings.extend(told.warnings);
    match told.value {
        Some(Acquired::Granted(grants)) => {
            granted(&mut output, &grants, asked);
            output.notes.extend(named.notes);
            // What nobody would be told is not looked for.
            if global.json || !global.quiet {
                output.notes.extend(taking::notes(context, &named.located, &locks, &request.owner));
            }
        }
        Some(Acquired::Refused(conflicts)) => taking::refused(&mut output, &conflicts),
        None => output.failures.push(taking::interrupted()),
    }
    Ok(output)
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
        if let Some(replaced) = taking::replaced(grant) {
            let _ = writeln!(output.text, "  {replaced}");
        }
    }
}
