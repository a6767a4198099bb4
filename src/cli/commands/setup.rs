//! `setup`: completions and man pages where the user's shells and `man` look, and out of there again.

use std::fmt::Write as _;

use clap::Args;
use git_agentlock::text::escape_path;

use crate::cli::{
    failure::Failure,
    output::Output,
    render::json::FileDoc,
    setup::{Item, MAN_PAGES, Places, Wish, items, items_to_take_out},
};

/// Put completions and man pages where they are looked for
///
/// For bash (with bash-completion), zsh, fish and man, in your own home. Doing it again brings them up to date. Files that setup did not write, or
/// that were changed since, are left as they are. What you have to add yourself for zsh or man to look there is said.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// Only say what would be done
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Take out what setup has put in
    #[arg(long)]
    uninstall: bool,
}

pub(crate) fn run(args: &SetupArgs, umask: u32) -> Result<Output, Failure> {
    let places = Places::here().ok_or_else(|| {
        Failure::invalid("HOME is not set to an absolute directory, so nobody's shells can be told anything")
            .hint("set HOME, or install for all users: `git agentlock completions SHELL` and `git agentlock man PAGE` print the files")
    })?;
    let wish = if args.uninstall { Wish::TakeOut } else { Wish::Put };
    let items = if args.uninstall { items_to_take_out(&places) } else { items(&places) };
    let mut output = Output::new("setup");
    let mut done: Vec<(&Item, &'static str)> = Vec::with_capacity(items.len());
    for item in &items {
        let state = match item.treat(wish, args.dry_run, umask) {
            Ok(state @ ("foreign" | "edited")) => {
                output.failures.push(item.left_alone(state, wish));
                state
            }
            Ok(state) => state,
            Err(failure) => {
                // Of the many files of a directory that cannot be written each would say the same.
                if !output.failures.contains(&failure) {
                    output.failures.push(failure);
                }
                "failed"
            }
        };
        output.has_changed |= !args.dry_run && matches!(state, "written" | "updated" | "removed");
        done.push((item, state));
    }
    tell(&mut output, &done, args.dry_run);
    let would_be = |state| match state {
        "written" => "to-write",
        "updated" => "to-update",
        "removed" => "to-remove",
        other => other,
    };
    let document = |(item, state): (&Item, &'static str)| FileDoc {
        path: item.path.to_string_lossy().into_owned(),
        state: if args.dry_run { would_be(state) } else { state },
    };
    output.document.files = Some(done.into_iter().map(document).collect());
    if wish == Wish::Put && output.failures.is_empty() {
        output.notes.extend(places.advice());
    }
    Ok(output)
}

/// One line for each completion, and one for all man pages of a directory that went the same way.
fn tell(output: &mut Output, done: &[(&Item, &'static str)], dry_run: bool) {
    let would = if dry_run { "would be " } else { "" };
    let mut told: Vec<(String, usize)> = Vec::new();
    for (item, state) in done {
        let state = match *state {
            "written" => format!("{would}written"),
            "updated" => format!("{would}brought up to date"),
            "removed" => format!("{would}removed"),
            "current" => "up to date".to_owned(),
            _ => continue,
        };
        let place = if item.what == MAN_PAGES { item.path.parent() } else { Some(item.path.as_path()) };
        let line = format!("{}: {state}: {}", item.what, place.map(escape_path).unwrap_or_default());
        match told.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => told.push((line, 1)),
        }
    }
    for (line, count) in told {
        let line = match line.strip_prefix(MAN_PAGES) {
            Some(rest) => format!("{count} man page{}{rest}", if count == 1 { "" } else { "s" }),
            None => line,
        };
        let _ = writeln!(output.text, "{line}");
    }
    if output.text.is_empty() && output.failures.is_empty() {
        output.text.push_str("nothing to take out\n");
    }
}
