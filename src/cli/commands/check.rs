//! `check`: who holds it?

use std::fmt::Write as _;

use clap::Args;
use git_agentlock::{
    locks::{Holder, Report, State},
    owner::Owner,
    record::{End, Token},
};

use super::renew::parse_token;
use crate::cli::{
    args::{OwnerArg, Targets},
    context::{Context, no_owner},
    exit::{Exit, Kind},
    failure::Failure,
    output::Output,
    render::{
        human,
        json::{ConflictDoc, ResultDoc},
    },
    targets,
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
    let owner = Context::owner(args.owner.owner.as_deref())?.map(|known| known.owner);
    let must_be_mine = args.mine || args.token.is_some();
    if must_be_mine && owner.is_none() {
        return Err(no_owner());
    }
    let named = targets::resolve(context, &args.targets)?;
    let store = context.one_store(&named.located)?;
    let mut output = Output::new("check");
    let Some(first) = named.located.first() else { return Ok(output) };
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
    output.document.leases.extend(mine.map(Into::into));
    output.document.conflicts.extend(foreign.iter().map(|holder| ConflictDoc::new(&report.resource, holder)));
    let is_unknown = foreign.iter().any(|holder| holder.owner().is_none());
    let (outcome, code) = match (mine, foreign.is_empty()) {
        _ if is_unknown => ("unknown", Exit::CannotTell),
        (Some(_), true) => ("mine", Exit::Done),
        (_, false) => ("held", Exit::No),
        (None, true) => ("free", Exit::Done),
    };
    let message = describe(report, &foreign, mine.is_some());
    let _ = writeln!(output.text, "{message}");
    let is_lost = asked.must_be_mine && mine.is_none() && !is_unknown;
    let kind = match code {
        _ if is_lost => Some(Kind::Absent),
        Exit::No => Some(Kind::Conflict),
        Exit::CannotTell => Some(Kind::Damaged),
        _ => None,
    };
    output.verdicts.extend(kind.map(|kind| Failure::new(kind, message.clone())));
    let stale_owner = report.stale_owner().map(|owner| owner.as_str().to_owned());
    let result = ResultDoc { resource: (&report.resource).into(), outcome, stale_owner, message };
    (result, if is_lost { Exit::Lost } else { code })
}

/// One line for each holder, or one that says that it is free; with what there is to tell about the lease before.
fn describe(report: &Report, foreign: &[&Holder], is_mine: bool) -> String {
    let resource = &report.resource;
    let mut lines: Vec<String> = Vec::new();
    for holder in &report.holders {
        let what = match holder {
            Holder::Lease(lease) if lease.resource != *resource => format!("{resource}: {} is ", lease.resource),
            _ => format!("{resource}: "),
        };
        let whose = if foreign.contains(&holder) { String::new() } else { "yours, ".to_owned() };
        let token = match holder {
            Holder::Lease(lease) if !foreign.contains(&holder) => format!("; token {}", lease.token),
            _ => String::new(),
        };
        lines.push(format!("{what}{whose}{}{token}", human::held_by(holder)));
    }
    if lines.is_empty() && !is_mine {
        let past = report.past.as_ref().map(|lease| match (&lease.state, &lease.ended) {
            (State::Expired, _) => {
                format!(" (the lease of {} expired {} ago)", lease.owner, human::length(lease.remaining_ms))
            }
            (_, Some(ended)) => match &ended.how {
                End::Broken { by, reason } => {
                    let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
                    format!(" (the lease of {} was broken{by}: {reason})", lease.owner)
                }
                End::Released => String::new(),
            },
            _ => String::new(),
        });
        lines.push(format!("{resource}: free{}", past.unwrap_or_default()));
    }
    lines.join("\n")
}
