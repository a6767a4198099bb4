//! `renew`, also called `heartbeat`: put the expiry off.

use std::fmt::Write as _;

use clap::Args;
use git_agentlock::{
    duration::Ttl,
    locks::{AllRenewed, Ask, PastLoss, Prolong, Renewal},
    owner::Owner,
    record::Token,
    resource::Resource,
};

use crate::cli::{
    args::{AllArgs, OwnerArg, Targets},
    context::{Context, Located},
    exit::Kind,
    failure::Failure,
    output::Output,
    render::{
        human,
        json::{ConflictDoc, ResultDoc},
    },
    targets,
    values::{allowed, parse_token, parse_ttl},
};

/// Put the expiry of your leases off
///
/// Each resource by itself. A lease that has ended is not revived: that is an error, since somebody else may have had it meanwhile.
#[derive(Debug, Args)]
pub(crate) struct RenewArgs {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    owner: OwnerArg,
    /// How long from now [default: as long as the lease was taken for]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    ttl: Option<String>,
    /// Only if it is still the lease with this token
    #[arg(long, value_name = "N", value_parser = parse_token)]
    token: Option<Token>,
    #[command(flatten)]
    all: AllArgs,
}

pub(crate) fn run(context: &Context, args: &RenewArgs) -> Result<Output, Failure> {
    let owner = targets::owner(context, args.owner.owner.as_deref(), &args.targets.paths)?;
    let asked = args.ttl.as_deref().map(parse_ttl).transpose()?;
    if args.all.all {
        return all(context, &owner, asked, args.all.store);
    }
    let named = targets::resolve(context, &args.targets)?;
    let Some(first) = named.located.first() else { return Ok(Output::nothing_to_do("renew")) };
    let store = context.one_store(&named.located)?;
    let mut items = Vec::with_capacity(named.located.len());
    for Located { resource, policy, .. } in &named.located {
        let limits = policy.policy.ttl(&resource.target);
        let ttl = asked.map(|ms| allowed(ms, &limits, resource)).transpose()?;
        items.push(Prolong { resource: resource.clone(), ttl, cap: limits.max.value, token: args.token });
    }
    let mut output = Output::new("renew");
    let told = context.locks(&store, &first.policy.policy).renew(&owner, &items, std::process::id())?;
    output.warnings.extend(told.warnings);
    output.document.locked = true;
    for (item, renewal) in items.iter().zip(&told.value) {
        let result = one(&mut output, item, renewal);
        output.document.results.get_or_insert_default().push(result);
    }
    Ok(output)
}

/// Every lease of the owner. One whose TTL the policy does not allow is an error for it alone.
fn all(context: &Context, owner: &Owner, asked: Option<u64>, whole_store: bool) -> Result<Output, Failure> {
    let mut output = Output::new("renew");
    let whole = context.whole()?;
    let limits = |resource: &Resource| whole.policy.policy.ttl(&resource.target);
    let ask = |resource: &Resource| {
        let cap = limits(resource).max.value;
        match asked.map(|ms| allowed(ms, &limits(resource), resource)).transpose() {
            _ if !whole.is_meant(resource, whole_store) => Ask::PassOver,
            Ok(ttl) => Ask::Renew(Prolong { resource: resource.clone(), ttl, cap, token: None }),
            Err(_) => Ask::Refuse,
        }
    };
    let told = context.locks(&whole.store, &whole.policy.policy).renew_all(owner, &ask, std::process::id())?;
    output.warnings.extend(told.warnings);
    let AllRenewed { mut renewed, refused, losses, left_out } = told.value;
    output.document.locked = !renewed.is_empty();
    output.document.results = Some(Vec::new());
    renewed.sort_by_key(|renewal| match renewal {
        Renewal::Renewed { lease, .. } => Some(lease.resource.clone()),
        _ => None,
    });
    for renewal in &renewed {
        let Renewal::Renewed { lease, .. } = renewal else { continue };
        let cap = limits(&lease.resource).max.value;
        let item =
            Prolong { resource: lease.resource.clone(), ttl: asked.and_then(Ttl::from_millis), cap, token: None };
        let result = one(&mut output, &item, renewal);
        output.document.results.get_or_insert_default().push(result);
    }
    let why = |resource: &Resource| asked.and_then(|ms| allowed(ms, &limits(resource), resource).err());
    output.failures.extend(refused.iter().filter_map(why));
    for PastLoss { resource, loss, is_news } in losses {
        let failure = Failure::lost(&format!("not renewed: {resource}"), &loss);
        // What was lost before the last renewal was told then, or is an older session's.
        match is_news {
            true => {
                let (outcome, message) = output.fail(failure);
                let result = ResultDoc { resource: (&resource).into(), outcome, stale_owner: None, message };
                output.document.results.get_or_insert_default().push(result);
            }
            false => output.warnings.push(failure.message),
        }
    }
    output.failures.extend(left_out.into_iter().map(Failure::left_out));
    if renewed.is_empty() && output.failures.is_empty() {
        let message = format!("{owner} holds no lease that could be renewed");
        output.failures.push(
            Failure::new(Kind::Absent, message).hint("acquire again, and look at what you protected before you go on"),
        );
    }
    let _ = writeln!(output.text, "{} renewed", renewed.len());
    Ok(output)
}

fn one(output: &mut Output, item: &Prolong, renewal: &Renewal) -> ResultDoc {
    let resource = &item.resource;
    let (outcome, message) = match renewal {
        Renewal::Renewed { lease, capped } => {
            output.has_changed = true;
            output.document.leases.push(lease.as_ref().into());
            if *capped {
                output.warnings.push(format!("{resource}: the policy now allows {} at most", item.cap));
            }
            if item.ttl.is_some_and(|asked| lease.remaining_ms > asked.millis_i64()) {
                output.notes.push(human::lasts_longer(lease));
            }
            let (until, resource) = (human::moment(lease.expires_at), &lease.resource);
            let message = format!(
                "renewed {resource} until {until} ({}); token {}",
                human::length(lease.remaining_ms),
                lease.token
            );
            let _ = writeln!(output.text, "{message}");
            ("renewed", message)
        }
        Renewal::Lost(loss) => output.fail(Failure::lost(&format!("cannot renew {resource}"), loss)),
        Renewal::NotOwner(holder) | Renewal::Unknown(holder) => {
            output.document.conflicts.push(ConflictDoc::new(resource, holder));
            let message = format!("cannot renew {resource}: {}", human::held_by(holder));
            let kind = if holder.owner().is_some() { Kind::NotOwner } else { Kind::Damaged };
            output.fail(Failure::new(kind, message).hint(kind.remedy_of_holder()))
        }
    };
    output.document.locked &= outcome == "renewed";
    ResultDoc { resource: resource.into(), outcome, stale_owner: None, message }
}
