//! `doctor`: is the store healthy?

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf, rc::Rc};

use clap::Args;
use git_agentlock::{
    clock::{Clock as _, Now},
    locks::{Lease, State, rules},
    owner::Owner,
    record::Reason,
    resource::Project,
    store::{Event, Past, Unreadable, file::diagnose::Ailment},
    text::escape_path,
};

use crate::cli::{
    args::OwnerArg,
    context::Context,
    exit::{Exit, Kind},
    failure::Failure,
    hooks::Place,
    output::Output,
    owner,
    render::{human, json::FindingDoc},
    values::parse_reason,
    whole::Whole,
};

/// Look for what is wrong with the store, and say how to mend it
///
/// Exit code 0 and silence when all is well; 1 with one line and one remedy for each finding; 4 when it cannot be looked at.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Mend what is safe to mend: left-over files, permissions; damaged records are moved aside once they no longer count as held
    #[arg(long)]
    fix: bool,
    /// With --fix: also move records aside that still count as held, for this reason
    #[arg(long, value_name = "TEXT", requires = "fix")]
    reason: Option<String>,
    /// Look at the leases of every project of a shared store
    #[arg(long)]
    store: bool,
    #[command(flatten)]
    owner: OwnerArg,
}

/// One finding, and what `--fix` could do about it.
struct Finding {
    code: &'static str,
    message: String,
    remedy: String,
    fixed: bool,
}

impl Finding {
    fn new(code: &'static str, message: String, remedy: impl Into<String>) -> Self {
        Self { code, message, remedy: remedy.into(), fixed: false }
    }
}

pub(crate) fn run(context: &Context, args: DoctorArgs) -> Result<Output, Failure> {
    let by: Option<Owner> = owner::of(args.owner.owner.as_deref())?.map(|known| known.owner);
    let reason = args.reason.map(parse_reason).transpose()?;
    let whole = context.whole_unwarned()?;
    // What there is to warn of is among the findings.
    context.take_warnings();
    let mut findings: Vec<Finding> = Vec::new();
    findings.extend(context.leases_in_own_store(whole.repository.as_deref()).map(|message| {
        Finding::new(
            "two_stores",
            message,
            "let everybody set AGENT_REGISTRY_LOCK_DIR, or nobody; then release those leases",
        )
    }));
    for problem in &whole.policy.problems {
        findings.push(Finding::new(
            "policy",
            problem.to_string(),
            "mend that line; until then nobody can acquire or renew here, and the other commands pass the file over",
        ));
    }
    findings.extend(of_hooks(&whole));
    let fixing = args.fix.then_some(Fixing { by: by.as_ref(), reason: reason.as_ref() });
    let (of_store, failures) = of_store(context, &whole, fixing.as_ref())?;
    findings.extend(of_store);
    findings.extend(of_leases(context, &whole, args.store)?);

    let mut output = Output::new("doctor");
    let has_failed = !failures.is_empty();
    output.failures = failures;
    output.has_changed = findings.iter().any(|finding| finding.fixed);
    let left = findings.iter().filter(|finding| !finding.fixed).count();
    if left > 0 {
        output.verdicts.push(Failure::new(Kind::Findings, format!("{left} finding(s) need attention")));
        output.exit = Some(if has_failed { Exit::CannotTell } else { Exit::No });
    }
    for finding in findings {
        let (mark, remedy) = if finding.fixed { ("fixed", "done") } else { ("finding", "remedy") };
        let _ = writeln!(output.text, "{mark}: {}\n  {remedy}: {}", finding.message, finding.remedy);
        let Finding { code, message, remedy, fixed } = finding;
        output.document.findings.get_or_insert_default().push(FindingDoc { code, message, remedy, fixed });
    }
    output.document.findings.get_or_insert_default();
    Ok(output)
}

const PERMISSIONS: &str = "permissions";

struct Fixing<'f> {
    by: Option<&'f Owner>,
    reason: Option<&'f Reason>,
}

/// What is wrong with the store, mended as far as that is wanted.
fn of_store(
    context: &Context,
    whole: &Whole,
    fixing: Option<&Fixing<'_>>,
) -> Result<(Vec<Finding>, Vec<Failure>), Failure> {
    let ailments = whole.store.diagnose()?;
    let (mut findings, mut failures) = (Vec::new(), Vec::new());
    let mut look_after = |ailment: &Ailment| {
        let mut finding = describe(context, whole, ailment);
        if let Some(fixing) = fixing {
            failures.extend(mend(context, whole, ailment, fixing, &mut finding).err());
        }
        finding
    };
    findings.extend(ailments.iter().map(&mut look_after));
    if findings.iter().any(|finding| finding.fixed && finding.code == PERMISSIONS) {
        // What could not be opened before may hide more; what still cannot be was not a matter of its mode.
        let left = whole.store.diagnose()?;
        for (ailment, finding) in ailments.iter().zip(&mut findings).filter(|(ailment, _)| left.contains(ailment)) {
            *finding = describe(context, whole, ailment);
        }
        findings.extend(left.iter().filter(|ailment| !ailments.contains(ailment)).map(look_after));
    }
    Ok((findings, failures))
}

fn describe(context: &Context, whole: &Whole, ailment: &Ailment) -> Finding {
    match ailment {
        Ailment::Damaged { record, .. } => damaged(record, whole, &context.clock.now()),
        Ailment::LeftOver(path) => Finding::new(
            "left_over",
            format!("{} was left by a process that has ended", escape_path(path)),
            "harmless; `git agentlock doctor --fix` removes it, and in time the program itself does",
        ),
        Ailment::Foreign(path) => Finding::new(
            "foreign",
            format!("{} is not a file of git-agentlock", escape_path(path)),
            "find out who put it there, and move it away",
        ),
        Ailment::Permissions { path, what } => Finding::new(
            PERMISSIONS,
            format!("{}: {what}", escape_path(path)),
            "let its owner run `git agentlock doctor --fix`, or change its mode",
        ),
        Ailment::FileSystem { path, kind } => Finding::new(
            "file_system",
            format!("{} is on {kind}, where locks may not exclude each other", escape_path(path)),
            "keep the store on a local file system: set store.dir, or AGENT_REGISTRY_LOCK_DIR for everybody",
        ),
        Ailment::LocksDoNotExclude(path) => Finding::new(
            "flock",
            format!("two locks on {} do not exclude each other", escape_path(path)),
            "do not rely on leases here; keep the store on another file system",
        ),
        Ailment::Sitting { path, pid, is_stopped } => sitting(path, *pid, *is_stopped),
    }
}

/// Does what is safe about an ailment, and says so in the finding.
fn mend(
    context: &Context,
    whole: &Whole,
    ailment: &Ailment,
    fixing: &Fixing<'_>,
    finding: &mut Finding,
) -> Result<(), Failure> {
    let store = &whole.store;
    match ailment {
        Ailment::Damaged { key, record } => {
            let now = context.clock.now();
            if fixing.reason.is_some() || !is_held(record, whole, &now) {
                let moved = store.quarantine(*key, now.wall, fixing.by, fixing.reason)?;
                finding.fixed = true;
                finding.remedy =
                    moved.map_or("it is gone already".to_owned(), |to| format!("moved to {}", escape_path(&to)));
            }
        }
        Ailment::LeftOver(path) => {
            finding.fixed = store.clear_left_overs(std::slice::from_ref(path))? > 0;
            if finding.fixed {
                "removed".clone_into(&mut finding.remedy);
            }
        }
        Ailment::Permissions { path, .. } if store.restore_permissions(std::slice::from_ref(path)).is_ok() => {
            finding.fixed = true;
            "changed to the mode of the directory that the store lies in".clone_into(&mut finding.remedy);
        }
        _ => {}
    }
    Ok(())
}

fn is_held(record: &Unreadable, whole: &Whole, now: &Now) -> bool {
    rules::is_held(record, now, whole.policy.policy.longest_ttl())
}

fn damaged(record: &Unreadable, whole: &Whole, now: &Now) -> Finding {
    let until = rules::held_until(record, whole.policy.policy.longest_ttl());
    let counts = match until {
        Some(until) if now.wall < until => format!("counts as held until {}", human::moment(until)),
        Some(until) => format!("counted as held until {}", human::moment(until)),
        None => "counts as held".to_owned(),
    };
    let remedy = if is_held(record, whole, now) {
        "wait; or, if nobody works on it, `git agentlock doctor --fix --reason TEXT` moves it aside now"
    } else {
        "`git agentlock doctor --fix` moves it to quarantine/"
    };
    Finding::new("damaged", format!("record {}: {}; it {counts}", escape_path(&record.place), record.cause), remedy)
}

fn sitting(path: &std::path::Path, pid: u32, is_stopped: bool) -> Finding {
    let (state, remedy) = match is_stopped {
        true => (" and is stopped", format!("continue it (`kill -CONT {pid}`), or end it")),
        false => ("", format!("see what process {pid} is; when it ends, the mutex is free")),
    };
    let message = format!("process {pid} sits on the mutex {}{state}; changes have to wait for it", escape_path(path));
    Finding::new("busy", message, remedy)
}

/// Hooks of ours that git would not run, or that cannot do their work. One that was never installed is no finding.
fn of_hooks(whole: &Whole) -> Vec<Finding> {
    let Some(repository) = &whole.repository else { return Vec::new() };
    match Place::of(Rc::clone(repository)).and_then(|place| place.look()) {
        Ok(reports) => reports
            .into_iter()
            .filter(|report| report.is_ailing())
            .map(|report| {
                Finding::new("hook", format!("{}: {}", escape_path(&report.path), report.message), report.remedy)
            })
            .collect(),
        Err(failure) => vec![Finding::new("hook", failure.message, failure.hints.join("; "))],
    }
}

/// What the leases themselves tell.
fn of_leases(context: &Context, whole: &Whole, whole_store: bool) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let leases: Vec<Lease> = context.locks(&whole.store, &whole.policy.policy).list()?.leases;
    // Read late: what was acquired while the leases were listed is not from the future.
    let now = context.clock.now();
    let mine: Vec<&Lease> = leases.iter().filter(|lease| whole.is_meant(&lease.resource, whole_store)).collect();
    let stale: Vec<&&Lease> = mine.iter().filter(|lease| lease.state == State::Expired).collect();
    if !stale.is_empty() {
        let longest_ago = stale.iter().map(|lease| lease.remaining_ms).min().unwrap_or(0);
        findings.push(Finding::new(
            "stale",
            format!(
                "{} expired {} still recorded, the oldest for {}",
                stale.len(),
                if stale.len() == 1 { "lease is" } else { "leases are" },
                human::length(longest_ago)
            ),
            "harmless; `git agentlock prune` removes them",
        ));
    }
    for lease in mine.iter().filter(|lease| lease.state == State::Live) {
        if lease.remaining_ms > lease.ttl.millis_i64() || lease.acquired_at > now.wall {
            findings.push(Finding::new(
                "clock",
                format!("the lease of {} on {} is from the future: a clock was set back", lease.owner, lease.resource),
                "check the clock; the next refused `acquire` brings the lease back to one TTL from then",
            ));
        }
    }
    findings.extend(leases.iter().filter_map(|lease| orphaned(lease, whole)));
    findings.extend(went_past(whole, &mine));
    Ok(findings)
}

/// Changes that git made of what is still held by the same lease, as hooks have noted them: how often, and the last of each path and kind.
fn went_past(whole: &Whole, leases: &[&Lease]) -> Vec<Finding> {
    let is_live = |past: &Past| {
        let is_it = |lease: &&&Lease| {
            Some(&lease.owner) == past.owner.as_ref() && Some(lease.token) == past.token && lease.state == State::Live
        };
        past.event == Event::WentPast.as_str() && leases.iter().any(|lease| is_it(&lease))
    };
    // What the journal cannot tell is no finding: nothing depends on it.
    let history = whole.store.history().unwrap_or_default();
    let mut last: BTreeMap<_, (&Past, usize)> = BTreeMap::new();
    for past in history.iter().filter(|past| is_live(past)) {
        let known = last.entry((past.key, &past.other, &past.reason)).or_insert((past, 0));
        *known = (past, known.1.saturating_add(1));
    }
    let finding = |(past, times): &(&Past, usize)| {
        let by = past.other.as_ref().map_or("somebody without a name".to_owned(), ToString::to_string);
        let what = past.reason.as_ref().map_or("git".to_owned(), ToString::to_string);
        let path = past.resource.as_ref().map_or_else(|| past.key.to_hex(), ToString::to_string);
        let owner = past.owner.as_ref().map(ToString::to_string).unwrap_or_default();
        let when = human::moment(past.at);
        let when = if *times > 1 { format!("{times} times, last at {when}") } else { format!("at {when}") };
        Finding::new(
            "went_past",
            format!("{what} by {by} changed {path} {when}, past the lease of {owner}"),
            format!("see with {owner} that nothing was lost; the finding ends with the lease"),
        )
    };
    last.values().map(finding).collect()
}

/// A live lease whose repository or work tree is no longer where it was. Nobody is told that it is free.
fn orphaned(lease: &Lease, whole: &Whole) -> Option<Finding> {
    if lease.state != State::Live {
        return None;
    }
    let scope = &lease.resource.scope;
    let gone = match &scope.project {
        Project::GitDir(path) => {
            let path = PathBuf::from(bstr::ByteSlice::to_path(path.as_slice()).ok()?);
            (!path.exists()).then(|| format!("repository {}", escape_path(&path)))
        }
        Project::Implicit => {
            let ids = whole.repository.as_ref()?.all_work_tree_ids();
            (!ids.contains(&scope.work_tree))
                .then(|| format!("work tree {}", git_agentlock::text::escape(&scope.work_tree)))
        }
        _ => None,
    }?;
    Some(Finding::new(
        "orphaned",
        format!("the lease of {} on {} belongs to the {gone}, which is gone or was moved", lease.owner, lease.resource),
        "it ends at its expiry; nothing has to be done",
    ))
}
