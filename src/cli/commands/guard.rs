//! `guard`: may this commit be made?
//!
//! Meant for git's hooks. Modes are read before anything that can fail, and whoever cannot tell refuses, naming the cause and how to get past.

use std::{cell::Cell, ffi::OsString};

use clap::Args;
use git_agentlock::policy::GuardMode;

use crate::cli::{
    args::{Global, OwnerArg},
    context::{Context, OnBadPolicy},
    environment,
    failure::Failure,
    operation::Operation,
    output::Output,
    owner,
    trial::Trial,
};

/// Refuse a commit that touches what others hold; for git's hooks
///
/// Judges what is staged, in the index that git names. Exit code 1: refused; 4: it cannot be told, which refuses too. AGENTLOCK_GUARD=warn makes
/// warnings of it, AGENTLOCK_GUARD=off lets everything pass; else `guard.mode` in the policy decides.
///
/// For pre-rebase it judges what the rebase would touch. For post-commit, post-applypatch, post-merge, post-checkout and post-rewrite it is too late
/// to refuse: what somebody else holds and git has changed is told, and noted in the journal.
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// The hook that asks, by its name in git
    #[arg(long, value_name = "NAME", default_value = "pre-commit")]
    hook: String,
    /// Asked again after another hook has run: say only what refuses, since the rest has been said
    #[arg(long, hide = true)]
    again: bool,
    #[command(flatten)]
    owner: OwnerArg,
    /// What git gave to the hook
    #[arg(value_name = "ARG", allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The one command that makes its context itself: with the mode `off` nothing must be able to fail.
pub(crate) fn run(args: &GuardArgs, global: &Global, umask: u32) -> Output {
    let mut warnings = Vec::new();
    let told = environment::variable("AGENTLOCK_GUARD").and_then(|word| {
        let mode = word.to_str().and_then(GuardMode::parse);
        if mode.is_none() {
            let shown = git_agentlock::text::escape(word.to_string_lossy().as_bytes());
            warnings
                .push(format!("AGENTLOCK_GUARD is '{shown}', which is none of enforce, warn, off: it does not count"));
        }
        mode
    });
    let operation = Operation::of(&args.hook, &args.arguments);
    let mode = Cell::new(told.unwrap_or(GuardMode::Enforce));
    let mut output = Output::new("guard");
    if mode.get() != GuardMode::Off && operation != Operation::Nothing {
        if !Operation::is_known(&args.hook) {
            let shown = git_agentlock::text::escape(args.hook.as_bytes());
            warnings.push(format!("--hook: the guard knows no hook '{shown}', and judges as in pre-commit"));
        }
        let judged = Context::new(global.directory.as_deref(), OnBadPolicy::Warn, umask).and_then(|context| {
            let judged = judge(&context, args, &operation, told, &mode);
            warnings.extend(context.take_warnings());
            judged
        });
        let bypass = operation.bypass();
        output = judged.unwrap_or_else(|failure| {
            let failure = if bypass.is_empty() { failure } else { failure.hint(bypass) };
            Output::failed("guard", failure)
        });
    }
    output.warnings.splice(0..0, warnings);
    if mode.get() == GuardMode::Warn || operation.is_past() {
        let is_made_all_the_same = operation.is_commit() && !output.failures.is_empty();
        only_warn(&mut output);
        let told = is_made_all_the_same.then_some("note: the commit is made all the same: the guard only warns here");
        output.notes.extend(told.map(str::to_owned));
    }
    if args.again && output.failures.is_empty() {
        output = Output::new("guard");
    }
    output
}

/// Says the same, and lets it pass.
fn only_warn(output: &mut Output) {
    for failure in output.failures.drain(..) {
        output.warnings.push(failure.message);
        output.notes.extend(failure.hints.into_iter().map(|hint| format!("hint: {hint}")));
    }
}

fn judge(
    context: &Context,
    args: &GuardArgs,
    operation: &Operation,
    told: Option<GuardMode>,
    mode: &Cell<GuardMode>,
) -> Result<Output, Failure> {
    let repository = context.here("the current directory")?;
    let Some(repository) = repository else { return Err(Failure::no_repository("the current directory")) };
    let policy = context.policy(Some(&repository))?;
    mode.set(told.unwrap_or(policy.policy.guard_mode()));
    let mut output = Output::new("guard");
    if mode.get() == GuardMode::Off {
        return Ok(output);
    }
    let trial = Trial::new(context, &repository, &policy.policy, operation)?;
    if trial.is_about_something() {
        let committer = owner::of(args.owner.owner.as_deref())?.map(|known| known.owner);
        trial.run(committer.as_ref(), &mut output)?;
    }
    context.warn_of_own_store(Some(&repository));
    Ok(output)
}
