//! `break`: end somebody else's lease.

use std::fmt::Write as _;

use clap::Args;
use git_agentlock::{locks::Break, owner::Owner, resource::Resource};

use crate::cli::{
    args::{OwnerArg, Targets},
    context::Context,
    exit::Kind,
    failure::Failure,
    output::Output,
    owner,
    render::{
        human,
        json::{ConflictDoc, LeaseDoc, ResultDoc},
    },
    targets,
    values::parse_reason,
};

/// End somebody else's lease, with a reason that its owner is told
///
/// A last resort for people: the owner goes on working until it looks. It is told by whom and why, as long as nobody has been granted the
/// resource anew. Leases end by themselves when their time is up.
#[derive(Debug, Args)]
pub(crate) struct BreakArgs {
    #[command(flatten)]
    targets: Targets,
    /// Why (at most 1,000 bytes); the one who held it is told
    #[arg(long, value_name = "TEXT", required = true)]
    reason: String,
    #[command(flatten)]
    owner: OwnerArg,
}

pub(crate) fn run(context: &Context, args: BreakArgs) -> Result<Output, Failure> {
    let by: Option<Owner> = owner::of(args.owner.owner.as_deref())?.map(|known| known.owner);
    let reason = parse_reason(args.reason)?;
    let named = targets::resolve(context, &args.targets)?;
    let Some(first) = named.located.first() else { return Ok(Output::nothing_to_do("break")) };
    let store = context.one_store(&named.located)?;
    let resources: Vec<Resource> = named.located.iter().map(|located| located.resource.clone()).collect();
    let mut output = Output::new("break");
    let locks = context.locks(&store, &first.policy.policy);
    let told = locks.break_leases(&resources, by.as_ref(), &reason)?;
    output.warnings.extend(told.warnings);
    for (resource, broken) in resources.iter().zip(told.value) {
        if matches!(broken, Break::Nothing { covered_by: None }) {
            output.notes.extend(human::below(&locks, resource));
        }
        let result = one(&mut output, resource, broken);
        output.document.results.get_or_insert_default().push(result);
    }
    Ok(output)
}

fn one(output: &mut Output, resource: &Resource, broken: Break) -> ResultDoc {
    let what = format!("cannot break the lease on {resource}");
    let (outcome, message) = match broken {
        Break::Broken(lease) => {
            output.has_changed = true;
            output.document.leases.push(LeaseDoc::ended(&lease));
            let left = human::length(lease.remaining_ms);
            let message = format!("broke the lease of {} on {}; it had {left} left", lease.owner, lease.resource);
            let _ = writeln!(output.text, "{message}");
            ("broken", message)
        }
        Break::Nothing { covered_by: None } => {
            let message = format!("nothing to break: {resource} has no lease of its own");
            let _ = writeln!(output.text, "{message}");
            ("nothing", message)
        }
        Break::Nothing { covered_by: Some(area) } => {
            let failure = Failure::new(
                Kind::Conflict,
                format!("{what}: it has none of its own; {} is held by {}", area.resource, area.owner),
            );
            output.fail(failure.hint(format!("break the lease on {} instead", area.resource)))
        }
        Break::Unknown(holder) => {
            output.document.locked = true;
            output.document.conflicts.push(ConflictDoc::new(resource, &holder));
            let failure = Failure::new(Kind::Damaged, format!("{what}: {}", human::held_by(&holder)));
            output.fail(failure.hint("`git agentlock doctor --fix --reason TEXT` moves the record aside"))
        }
        Break::Failed(error) => {
            output.document.locked = true;
            output.fail(Failure::at(&what, error))
        }
    };
    ResultDoc { resource: resource.into(), outcome, stale_owner: None, message }
}
