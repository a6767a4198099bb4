//! `hook`: put the guard into the hooks that git runs, beside what is there.

use std::{ffi::OsString, fmt::Write as _, path::Path};

use clap::{Args, Subcommand};
use git_agentlock::{
    install::{
        Hook,
        hooks::{self, Done, Outcome, Wish},
        look::{self, State},
        manager,
    },
    policy::GuardMode,
    text::{escape, escape_path},
};

use crate::cli::{
    context::Context,
    environment::variable,
    exit::Kind,
    failure::Failure,
    hooks::{self as shared, Place},
    output::Output,
};

/// Put the guard into git's hooks, or take it out again
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Install hooks that ask the guard; a hook that is there already runs after it
    ///
    /// Without a NAME: pre-commit and pre-merge-commit, through which commits go. What is there is renamed to NAME.agentlock-chained and gets
    /// the same arguments, input and environment; `uninstall` puts it back as it was. pre-rebase refuses a rebase that would touch what others
    /// hold, pre-applypatch guards what `git am` applies; post-commit, post-applypatch, post-merge, post-rewrite and post-checkout only tell what
    /// went past the guard.
    Install(Which),
    /// Take the hooks out again, and put back what was there
    ///
    /// Without a NAME: every one that is ours. Nothing there = success.
    Uninstall(Which),
    /// Tell which hooks git really runs; changes nothing
    ///
    /// Exit code 0 when both pre-commit and pre-merge-commit are active, 1 when one is not installed or would not be run.
    Status,
}

/// Which hooks, and where.
#[derive(Debug, Args)]
struct Which {
    /// pre-commit, pre-merge-commit, pre-rebase, pre-applypatch, post-applypatch, post-merge, post-rewrite, post-checkout, post-commit
    #[arg(value_name = "NAME")]
    names: Vec<OsString>,
    /// Every hook there is
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Also in a directory that other repositories use too
    #[arg(long)]
    machine_wide: bool,
}

pub(crate) fn run(context: &Context, args: HookArgs) -> Result<Output, Failure> {
    match args.action {
        Action::Install(args) => {
            let is_wanted = |hook: &Hook| args.all || hook.is_default();
            let hooks = parse(&args.names)?.unwrap_or_else(|| Hook::ALL.into_iter().filter(is_wanted).collect());
            install(context, &hooks, args.machine_wide)
        }
        Action::Uninstall(args) => {
            let hooks = parse(&args.names)?.unwrap_or_else(|| Hook::ALL.to_vec());
            uninstall(context, &hooks, args.machine_wide)
        }
        Action::Status => status(context),
    }
}

/// `None` when none is named.
fn parse(names: &[OsString]) -> Result<Option<Vec<Hook>>, Failure> {
    let mut hooks = Vec::new();
    for name in names {
        let Some(hook) = name.to_str().and_then(Hook::named) else {
            let known: Vec<_> = Hook::ALL.into_iter().map(Hook::name).collect();
            let said = escape(name.as_encoded_bytes());
            return Err(Failure::invalid(format!("'{said}' is no hook that can be installed"))
                .hint(format!("these can: {}", known.join(", "))));
        };
        if !hooks.contains(&hook) {
            hooks.push(hook);
        }
    }
    Ok((!hooks.is_empty()).then_some(hooks))
}

fn install(context: &Context, wanted: &[Hook], machine_wide: bool) -> Result<Output, Failure> {
    let place = Place::here(context)?;
    refuse_husky(&place, wanted)?;
    if !machine_wide {
        refuse_shared(&place)?;
    }
    let binary = shared::program()?;
    let wish = Wish { dir: &place.used.dir, binary: &binary, umask: context.umask };
    if wish.dir.exists() && !wish.dir.is_dir() {
        let what = format!("{}, which is not a directory", place.reason());
        return Err(Failure::new(Kind::Hook, what).hint("unset core.hooksPath, or name a directory"));
    }
    let mut output = Output::new("hook");
    for &hook in wanted {
        match hooks::install(&wish, hook) {
            Ok(outcome) => tell_installed(&mut output, hook, &outcome),
            Err(error) => output.failures.push(shared::failure(&error)),
        }
    }
    if let Some(own) = place.overridden().filter(|_| output.failures.is_empty()) {
        take_out_inert(&mut output, &own, wanted);
    }
    output.document.hooks.get_or_insert_default();
    if output.failures.is_empty() {
        tell_how_to_go_on(&mut output, &place, wanted);
    }
    Ok(output)
}

/// Ours where git does not look any more has done its work: the one where git looks takes its place.
fn take_out_inert(output: &mut Output, dir: &Path, wanted: &[Hook]) {
    for &hook in wanted {
        if look::look(dir, hook).is_ok_and(|seen| is_ours(&seen.state)) {
            match hooks::uninstall(dir, hook) {
                Ok(outcome) => tell_uninstalled(output, hook, &outcome),
                Err(error) => output.failures.push(shared::failure(&error)),
            }
        }
    }
}

fn tell_installed(output: &mut Output, hook: Hook, outcome: &Outcome) {
    let verb = match outcome.done {
        Done::Unchanged => "already installed",
        Done::Refreshed => "brought up to date",
        _ => "installed",
    };
    output.has_changed |= outcome.done != Done::Unchanged;
    let mut message = format!("{verb}: {}", escape_path(&outcome.path));
    if let Some(chained) = &outcome.chained {
        let about = look::about(chained);
        let what = if about.is_executable { "then runs" } else { "which is not executable, so git did not run it:" };
        let _ = write!(message, "; {what} what was there, now {}", shown_name(chained));
        tell_about(output, hook, about);
    }
    if let Some(outdated) = &outcome.outdated {
        output.warnings.push(format!(
            "a tool has written the {} hook anew: its new one is chained, and the one that was chained is kept as {}",
            hook.name(),
            escape_path(outdated)
        ));
    }
    let _ = writeln!(output.text, "{message}");
    let document = shared::document(hook, &outcome.path, "active", outcome.chained.as_deref(), message);
    output.document.hooks.get_or_insert_default().push(document);
}

fn tell_about(output: &mut Output, hook: Hook, about: look::About) {
    let name = hook.name();
    if about.asks_for_its_name {
        output.warnings.push(format!(
            "the {name} hook that was there asks for its own name, which is now {}: see whether it still does its work",
            hook.chained_name()
        ));
    }
    if let Some(manager) = about.manager {
        output.notes.push(format!(
            "note: the {name} hook that was there is {}'s, which puts its own in this place when it is installed again: better call \
             `git-agentlock guard --hook {name}` from {}",
            manager.name(),
            manager.configuration()
        ));
    }
}

fn tell_how_to_go_on(output: &mut Output, place: &Place, wanted: &[Hook]) {
    if place.repository.work_tree.is_none() {
        output.notes.push(
            "note: this repository is bare; git runs these hooks only for commits in work trees that are linked to it"
                .to_owned(),
        );
    }
    let git_dirs = [&place.repository.common_dir, &place.repository.git_dir];
    let real = std::fs::canonicalize(&place.used.dir).unwrap_or_else(|_| place.used.dir.clone());
    let is_tracked_place = place.repository.work_tree.as_ref().is_some_and(|top| real.starts_with(top));
    if is_tracked_place && !git_dirs.iter().any(|dir| real.starts_with(dir)) {
        output.warnings.push(format!(
            "{} is in the work tree: what was changed there shows in `git status`, and whoever commits it gives it to everybody",
            escape_path(&place.used.dir)
        ));
    }
    output.notes.push(
        "set AGENTLOCK_OWNER wherever commits are made: without a name, every lease counts as somebody else's"
            .to_owned(),
    );
    let others: Vec<_> = Hook::ALL.into_iter().filter(|hook| !hook.is_default() && !wanted.contains(hook)).collect();
    if !others.is_empty() {
        let names: Vec<_> = others.into_iter().map(Hook::name).collect();
        output.notes.push(format!("there are also, by name or with --all: {}", names.join(", ")));
    }
}

/// husky finds the user's hook by the name of its own, so nothing can be chained there without breaking it silently.
fn refuse_husky(place: &Place, wanted: &[Hook]) -> Result<(), Failure> {
    let Some(of_user) = manager::husky(&place.used.dir) else { return Ok(()) };
    let mut failure = Failure::new(
        Kind::Hook,
        format!("{} belongs to husky, which writes it anew at each install", escape_path(&place.used.dir)),
    );
    for hook in wanted {
        let (name, file) = (hook.name(), escape_path(&of_user.join(hook.name())));
        failure = failure.hint(format!(
            "add this line to {file}: git-agentlock guard --hook {name} \"$@\" </dev/null || {}",
            if hook.can_refuse() { "exit $?" } else { "true" }
        ));
    }
    Err(failure)
}

fn refuse_shared(place: &Place) -> Result<(), Failure> {
    if !place.repository.is_shared(&place.used) {
        return Ok(());
    }
    let message = format!("{}, which other repositories may use too", place.reason());
    Err(Failure::new(Kind::Hook, message)
        .hint("`--machine-wide` does it for all of them")
        .hint("`git config core.hooksPath \"$(git rev-parse --path-format=absolute --git-common-dir)/hooks\"` gives this repository its own"))
}

fn uninstall(context: &Context, wanted: &[Hook], machine_wide: bool) -> Result<Output, Failure> {
    let place = Place::here(context)?;
    let mut output = Output::new("hook");
    let own = place.overridden();
    for dir in own.iter().chain([&place.used.dir]) {
        let is_used = *dir == place.used.dir;
        for &hook in wanted {
            // What was taken out of the other directory is told all the same.
            if is_used
                && !machine_wide
                && look::look(dir, hook).is_ok_and(|seen| is_ours(&seen.state))
                && let Err(failure) = refuse_shared(&place)
            {
                output.failures.push(failure);
                break;
            }
            match hooks::uninstall(dir, hook) {
                Ok(outcome) => tell_uninstalled(&mut output, hook, &outcome),
                Err(error) => output.failures.push(shared::failure(&error)),
            }
        }
    }
    output.document.hooks.get_or_insert_default();
    if output.text.is_empty() && output.failures.is_empty() {
        output.text.push_str("nothing to uninstall\n");
    }
    Ok(output)
}

fn is_ours(state: &State) -> bool {
    !matches!(state, State::Absent | State::Foreign)
}

fn tell_uninstalled(output: &mut Output, hook: Hook, outcome: &Outcome) {
    if let Some(kept) = &outcome.kept {
        output.warnings.push(format!("{} was changed by hand, and is kept as {}", hook.name(), escape_path(kept)));
    }
    if let Some(stranded) = &outcome.stranded {
        output.warnings.push(format!(
            "the {} hook is not ours any more, so what ours had chained stays in {}: move it back yourself, if it is still wanted",
            hook.name(),
            escape_path(stranded)
        ));
    }
    if outcome.done != Done::Removed {
        return;
    }
    output.has_changed = true;
    let back = if outcome.chained.is_some() { "; what was there before is back" } else { "" };
    let message = format!("removed: {}{back}", escape_path(&outcome.path));
    let _ = writeln!(output.text, "{message}");
    let document = shared::document(hook, &outcome.path, "absent", None, message);
    output.document.hooks.get_or_insert_default().push(document);
}

fn status(context: &Context) -> Result<Output, Failure> {
    let place = Place::here(context)?;
    let mut output = Output::new("hook");
    let reports = place.look()?;
    let told = |report: &&shared::Report| report.state != "absent" || report.hook.is_default();
    let width = |text: fn(&shared::Report) -> &str| {
        reports.iter().filter(told).map(|report| text(report).len()).max().unwrap_or(0)
    };
    let (names, states) = (width(|report| report.hook.name()), width(|report| report.state));
    for report in reports.iter().filter(told) {
        let (name, state) = (report.hook.name(), report.state);
        let then = report.chained.as_deref().map(|chained| format!(", then runs {}", shown_name(chained)));
        let _ = writeln!(output.text, "{name:names$}  {state:states$}  {}{}", report.message, then.unwrap_or_default());
        if !report.remedy.is_empty() {
            let _ = writeln!(output.text, "{:names$}  {:states$}  remedy: {}", "", "", report.remedy);
        }
    }
    let _ = writeln!(output.text, "\nhooks: {}\nmode:  {}", place.reason(), mode(context, &place)?);
    output.document.hooks = Some(reports.iter().map(shared::Report::document).collect());
    let is_active = |hook: Hook| reports.iter().any(|report| report.hook == hook && report.state == "active");
    let inactive: Vec<_> = Hook::ALL.into_iter().filter(|hook| hook.is_default() && !is_active(*hook)).collect();
    if !inactive.is_empty() {
        let names: Vec<_> = inactive.into_iter().map(Hook::name).collect();
        let verdict = Failure::new(Kind::Inactive, format!("not active: {}", names.join(", ")));
        output.exit = Some(verdict.kind.exit());
        output.verdicts.push(verdict.hint("`git agentlock hook install` installs them"));
    }
    Ok(output)
}

/// What the guard does when the hooks ask it, and who says so.
fn mode(context: &Context, place: &Place) -> Result<String, Failure> {
    if let Some(mode) = variable("AGENTLOCK_GUARD").and_then(|word| GuardMode::parse(word.to_str()?)) {
        return Ok(format!("{}, by AGENTLOCK_GUARD", mode.as_str()));
    }
    let policy = context.policy(Some(&place.repository))?;
    Ok(format!("{}, by guard.mode in the policy", policy.policy.guard_mode().as_str()))
}

fn shown_name(path: &Path) -> String {
    path.file_name().map(|name| escape(name.as_encoded_bytes())).unwrap_or_default()
}
