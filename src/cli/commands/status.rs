//! `git agentlock` without a command: what is held here and by whom, in the manner of `git status`. Looks, and changes nothing.

use std::fmt::Write as _;

use git_agentlock::{
    locks::{Lease, State},
    owner::Owner,
    text::escape_path,
};
use unicode_width::UnicodeWidthStr as _;

use crate::cli::{
    context::Context,
    environment,
    exit::Kind,
    failure::Failure,
    output::Output,
    owner,
    render::{
        human,
        line::Leases,
        table::{Screen, shortened},
    },
    whole::Whole,
};

const USAGE: &str = "\nusage: git agentlock COMMAND [ARGUMENTS]; `git agentlock -h` lists the commands\n";

pub(crate) fn run(context: &Context) -> Result<Output, Failure> {
    let mut output = Output::new("status");
    let whole = match context.whole() {
        Err(failure) if failure.kind == Kind::NoRepository => {
            output.text = format!("Not in a git repository: there is nothing to lease here.\n{USAGE}");
            return Ok(output);
        }
        whole => whole?,
    };
    // Who one is says whose leases are shown first; without a name all are somebody's.
    let own = owner::own();
    let listing = context.locks(&whole.store, &whole.policy.policy).list()?;
    let leases: Vec<Lease> =
        listing.leases.into_iter().filter(|lease| whole.is_meant(&lease.resource, false)).collect();
    output.document.locked = leases.iter().any(|lease| lease.state == State::Live);
    for record in &listing.unreadable {
        let place = escape_path(&record.place);
        output.warnings.push(format!("record {place} cannot be used, and counts as held; see `git agentlock doctor`"));
    }
    let (here, elsewhere): (Vec<&Lease>, Vec<&Lease>) = leases.iter().partition(|lease| whole.is_here(&lease.resource));
    output.text = told(&whole, own.as_ref(), &here, elsewhere.len(), listing.unreadable.is_empty());
    output.document.leases = Leases::All(leases);
    Ok(output)
}

fn told(whole: &Whole, own: Option<&Owner>, leases: &[&Lease], elsewhere: usize, is_all: bool) -> String {
    let mut text = String::new();
    let place = whole.repository.as_deref().map(|here| here.work_tree.as_ref().unwrap_or(&here.common_dir));
    match place {
        Some(place) => _ = writeln!(text, "In {}", escape_path(place)),
        None => _ = writeln!(text, "Outside of any repository, in {}", escape_path(&whole.store.dir())),
    }
    match own {
        Some(own) => _ = writeln!(text, "You are {own}"),
        None => text.push_str("You have no name yet (set AGENTLOCK_OWNER, or give --owner)\n"),
    }
    let part =
        |wanted: &dyn Fn(&Lease) -> bool| leases.iter().copied().filter(|lease| wanted(lease)).collect::<Vec<_>>();
    let is_own = |lease: &Lease| own == Some(&lease.owner);
    let is_live = |lease: &Lease| lease.state == State::Live;
    let left = |lease: &Lease| format!("{} left", human::length(lease.remaining_ms));
    let mine = part(&|lease| is_live(lease) && is_own(lease));
    let others = part(&|lease| is_live(lease) && !is_own(lease));
    let expired = part(&|lease| !is_live(lease));
    section(
        &mut text,
        "Leases that you hold:",
        "\"git agentlock renew --all\" while you work, \"release --all\" when done",
        &mine,
        &|lease| left(lease),
    );
    let head = if own.is_some() { "Leases that others hold:" } else { "Leases:" };
    section(&mut text, head, "\"git agentlock acquire PATH --wait 5m\" to have one next", &others, &|lease| {
        format!("{}, {}{}", lease.owner, left(lease), human::because(lease.reason.as_ref()))
    });
    section(
        &mut text,
        "Leases that have expired:",
        "\"git agentlock acquire PATH\" takes one over",
        &expired,
        &|lease| format!("{}, {} ago", lease.owner, human::length(lease.remaining_ms)),
    );
    if leases.is_empty() && is_all {
        text.push_str("\nNobody holds anything here (take a lease with \"git agentlock acquire PATH\")\n");
    }
    if elsewhere > 0 {
        let _ = writeln!(
            text,
            "\nIn other work trees: {elsewhere} more, which are locks of other files; \"git agentlock list\" shows them"
        );
    }
    text.push_str(USAGE);
    text
}

/// A heading, what can be done about what is below it, and one line for each lease.
fn section(text: &mut String, heading: &str, hint: &str, leases: &[&Lease], what: &dyn Fn(&Lease) -> String) {
    const SHOWN: usize = 20;
    if leases.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{heading}\n  ({hint})");
    let screen = environment::screen();
    let columns = screen.map_or(usize::MAX, |screen| screen.columns);
    let ellipsis = screen.map_or("…", Screen::ellipsis);
    let names = leases.iter().take(SHOWN).map(|lease| lease.resource.to_string());
    let names: Vec<String> =
        names.map(|name| shortened(&name, columns.saturating_sub(4) / 2, true, ellipsis)).collect();
    let width = names.iter().map(|name| name.width()).max().unwrap_or(0).min(40);
    for (name, lease) in names.iter().zip(leases) {
        let blank = " ".repeat(width.saturating_sub(name.width()));
        let line = format!("    {name}{blank}  {}", what(lease));
        let _ = writeln!(text, "{}", shortened(&line, columns, false, ellipsis));
    }
    let more = leases.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "    … and {more} more; \"git agentlock list\" shows all");
    }
}
