//! `check`: who holds it?

use std::fmt::Write as _;

use clap::Args;
use git_agentlock::{
    locks::{Holder, Lease, Report, State},
    owner::Owner,
    record::{End, Ended, Token},
};

use crate::cli::{
    args::{OwnerArg, Targets},
    context::Context,
    exit::{Exit, Kind},
    failure::Failure,
    output::Output,
    owner,
    render::{
        human,
        json::{ConflictDoc, ResultDoc},
    },
    targets,
    values::parse_token,
};

/// Say who holds it, since when and until when
///
/// Exit code 0: free or mine (without an owner: free); 1: somebody else's. Changes nothing.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    owner: OwnerArg,
    /// Exit code 3 unless I hold it
    #[arg(long)]
    mine: bool,
    /// Exit code 3 unless I still hold the lease with this token
    #[arg(long, value_name = "N", value_parser = parse_token)]
    token: Option<Token>,
}

pub(crate) fn run(context: &Context, args: &CheckArgs) -> Result<Output, Failure> {
    let owner = owner::of(args.owner.owner.as_deref())?.map(|known| known.owner);
    let must_be_mine = args.mine || args.token.is_some();
    if must_be_mine && owner.is_none() {
        return Err(owner::none_given());
    }
    let named = targets::resolve(context, &args.targets)?;
    let Some(first) = named.located.first() else { return Ok(Output::nothing_to_do("check")) };
    let store = context.one_store(&named.located)?;
    let mut output = Output::new("check");
    output.notes = named.notes;
    let resources: Vec<_> = named.located.iter().map(|located| located.resource.clone()).collect();
    let reports = context.locks(&store, &first.policy.policy).check(&resources)?;
    let asked = Asked { owner: owner.as_ref(), must_be_mine, token: args.token };
    let mut exit = Exit::Done;
    for report in &reports {
        let (result, code) = one(&mut output, report, &asked);
        exit = exit.graver(code);
        output.document.results.get_or_insert_default().push(result);
    }
    output.exit = Some(exit);
    Ok(output)
}

struct Asked<'a> {
    owner: Option<&'a Owner>,
    must_be_mine: bool,
    token: Option<Token>,
}

fn one(output: &mut Output, report: &Report, asked: &Asked<'_>) -> (ResultDoc, Exit) {
    let foreign: Vec<&Holder> = report.foreign(asked.owner).collect();
    let mine = asked.owner.and_then(|owner| report.lease_of(owner, asked.token));
    output.document.locked |= !report.holders.is_empty();
    if let Some(lease) = mine {
        output.document.leases.push(lease.into());
    }
    output.document.conflicts.extend(foreign.iter().map(|holder| ConflictDoc::new(&report.resource, holder)));
    let is_unknown = foreign.iter().any(|holder| holder.owner().is_none());
    let (outcome, code) = match (mine, foreign.is_empty()) {
        _ if is_unknown => ("unknown", Exit::CannotTell),
        (Some(_), true) => ("mine", Exit::Done),
        (_, false) => ("held", Exit::No),
        (None, true) => ("free", Exit::Done),
    };
    let is_lost = asked.must_be_mine && mine.is_none() && !is_unknown;
    let mut message = describe(report, &foreign, asked.owner);
    if is_lost {
        let what = asked.token.map_or("not yours".to_owned(), |token| format!("not the lease with token {token}"));
        message = format!("{}: {what}\n{message}", report.resource);
    }
    let _ = writeln!(output.text, "{message}");
    let kind = match code {
        _ if is_lost => Some(lost_kind(report, asked.owner)),
        Exit::No => Some(Kind::Conflict),
        Exit::CannotTell => Some(Kind::Damaged),
        _ => None,
    };
    output.verdicts.extend(kind.map(|kind| Failure::new(kind, message.clone())));
    let stale_owner = report.stale_owner().map(|owner| owner.as_str().to_owned());
    let result = ResultDoc { resource: (&report.resource).into(), outcome, stale_owner, message };
    (result, if is_lost { Exit::Lost } else { code })
}

/// Whether the lease has ended, or there never was one.
fn lost_kind(report: &Report, owner: Option<&Owner>) -> Kind {
    let had_it = |lease: &Lease| Some(&lease.owner) == owner && lease.state == State::Expired;
    let lost_it = |lease: &Lease| {
        lease.replaced.as_ref().zip(owner).is_some_and(|(replaced, owner)| replaced.of(owner).is_some())
    };
    let is_another_grant = owner.is_some_and(|owner| report.lease_of(owner, None).is_some());
    let is_taken = report.holders.iter().any(|holder| matches!(holder, Holder::Lease(lease) if lost_it(lease)));
    let is_past = report.past.as_ref().is_some_and(|lease| had_it(lease) || lost_it(lease));
    if is_another_grant || is_taken || is_past { Kind::Expired } else { Kind::Absent }
}

/// One line for each holder, or one that says that it is free; with what there is to tell about the lease before.
fn describe(report: &Report, foreign: &[&Holder], owner: Option<&Owner>) -> String {
    let resource = &report.resource;
    let mut lines: Vec<String> = Vec::new();
    for holder in &report.holders {
        let what = match holder {
            Holder::Lease(lease) if lease.resource != *resource => format!("{resource}: {} is ", lease.resource),
            _ => format!("{resource}: "),
        };
        lines.push(match holder {
            Holder::Lease(lease) if !foreign.contains(&holder) => {
                format!("{what}yours {}; token {}", human::span(lease), lease.token)
            }
            _ => format!("{what}{}", human::held_by(holder)),
        });
    }
    if lines.is_empty() {
        let past = report.past.as_ref().map(|lease| past(lease, owner));
        lines.push(format!("{resource}: free{}", past.unwrap_or_default()));
    }
    lines.join("\n")
}

fn past(lease: &Lease, owner: Option<&Owner>) -> String {
    let whose =
        if owner == Some(&lease.owner) { "your lease".to_owned() } else { format!("the lease of {}", lease.owner) };
    match (&lease.state, &lease.ended) {
        (State::Expired, _) => format!(" ({whose} expired {} ago)", human::length(lease.remaining_ms)),
        (_, Some(Ended { how: End::Broken { by, reason }, .. })) => {
            let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            format!(" ({whose} was broken{by}: {reason})")
        }
        _ => String::new(),
    }
}
