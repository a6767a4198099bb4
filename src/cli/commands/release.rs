//! `release`: give leases back.

use std::fmt::Write as _;

use clap::Args;
use git_agentlock::{
    locks::{AllReleased, GiveBack, Loss, Release},
    owner::Owner,
    record::Token,
    resource::Resource,
};

use crate::cli::{
    args::{AllArgs, OwnerArg, Targets},
    context::Context,
    exit::Kind,
    failure::Failure,
    output::Output,
    render::{
        human,
        json::{ConflictDoc, LeaseDoc, ResultDoc},
    },
    targets,
    values::parse_token,
};

/// Give your leases back
///
/// Each resource by itself. To release what is not there is a success; to release what somebody else holds is not.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    owner: OwnerArg,
    /// Only if it is still the lease with this token
    #[arg(long, value_name = "N", value_parser = parse_token)]
    token: Option<Token>,
    #[command(flatten)]
    all: AllArgs,
}

pub(crate) fn run(context: &Context, args: &ReleaseArgs) -> Result<Output, Failure> {
    let owner = targets::owner(context, args.owner.owner.as_deref(), &args.targets.paths)?;
    if args.all.all {
        return all(context, &owner, args.all.store);
    }
    let named = targets::resolve(context, &args.targets)?;
    let Some(first) = named.located.first() else { return Ok(Output::nothing_to_do("release")) };
    let store = context.one_store(&named.located)?;
    let give_back = |resource: &Resource| GiveBack { resource: resource.clone(), token: args.token };
    let items: Vec<GiveBack> = named.located.iter().map(|located| give_back(&located.resource)).collect();
    let mut output = Output::new("release");
    let locks = context.locks(&store, &first.policy.policy);
    let told = locks.release(&owner, &items)?;
    output.warnings.extend(told.warnings);
    for (item, release) in items.iter().zip(told.value) {
        if matches!(release, Release::Nothing(Loss::Absent { .. })) {
            output.notes.extend(human::below(&locks, &item.resource));
        }
        let result = one(&mut output, &item.resource, release);
        output.document.results.get_or_insert_default().push(result);
    }
    Ok(output)
}

/// Every lease of the owner: the shutdown of a session.
fn all(context: &Context, owner: &Owner, whole_store: bool) -> Result<Output, Failure> {
    let mut output = Output::new("release");
    let whole = context.whole()?;
    let locks = context.locks(&whole.store, &whole.policy.policy);
    let told = locks.release_all(owner, &|resource| whole.is_meant(resource, whole_store))?;
    output.warnings.extend(told.warnings);
    output.document.results = Some(Vec::new());
    let mut released = 0_usize;
    let AllReleased { releases: mut all, left_out } = told.value;
    all.sort_by_key(|release| match release {
        Release::Released(lease) => Some(lease.resource.clone()),
        _ => None,
    });
    for release in all {
        let resource = match &release {
            Release::Released(lease) => {
                released = released.saturating_add(1);
                lease.resource.clone()
            }
            Release::Failed { resource, .. } => resource.clone(),
            // Only one's own records were asked for.
            _ => continue,
        };
        let result = one(&mut output, &resource, release);
        output.document.results.get_or_insert_default().push(result);
    }
    output.failures.extend(left_out.into_iter().map(Failure::left_out));
    let _ = writeln!(output.text, "{released} released");
    Ok(output)
}

fn one(output: &mut Output, resource: &Resource, release: Release) -> ResultDoc {
    let what = format!("cannot release {resource}");
    let (outcome, message) = match release {
        Release::Released(lease) => {
            output.has_changed = true;
            output.document.leases.push(LeaseDoc::ended(&lease));
            let late = if lease.remaining_ms > 0 { "" } else { " (it had expired)" };
            let message = format!("released {}{late}", lease.resource);
            let _ = writeln!(output.text, "{message}");
            ("released", message)
        }
        Release::Nothing(loss) => {
            let message = format!("nothing to release on {resource}: {}", human::lost(&loss));
            match loss {
                Loss::Absent { .. } => output.notes.push(message.clone()),
                _ => output.warnings.push(message.clone()),
            }
            ("nothing", message)
        }
        Release::Lost(loss) => output.fail(Failure::lost(&what, &loss)),
        Release::NotOwner(holder) | Release::Unknown(holder) => {
            output.document.locked = true;
            output.document.conflicts.push(ConflictDoc::new(resource, &holder));
            let kind = if holder.owner().is_some() { Kind::NotOwner } else { Kind::Damaged };
            let failure = Failure::new(kind, format!("{what}: {}", human::held_by(&holder)));
            output.fail(failure.hint(kind.remedy_of_holder()))
        }
        Release::Failed { source: error, .. } => {
            output.document.locked = true;
            output.fail(Failure::at(&what, error))
        }
    };
    ResultDoc { resource: resource.into(), outcome, stale_owner: None, message }
}
