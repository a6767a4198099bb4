//! `prune`: remove what has expired.

use std::fmt::Write as _;

use clap::Args;

use crate::cli::{context::Context, failure::Failure, output::Output, render::human};

/// Remove the records of expired leases
///
/// They harm nobody: an expired lease is free for anybody to take. Whatever starts a day's work can do this first.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Only say what would be removed
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// In every project of a shared store
    #[arg(long)]
    store: bool,
}

pub(crate) fn run(context: &Context, args: &PruneArgs) -> Result<Output, Failure> {
    let mut output = Output::new("prune");
    let whole = context.whole()?;
    let locks = context.locks(&whole.store, &whole.policy.policy);
    let told = locks.prune(&|resource| whole.is_meant(resource, args.store), args.dry_run)?;
    output.warnings.extend(told.warnings);
    output.has_changed = !args.dry_run;
    if !args.dry_run
        && let Err(error) = whole.store.forget_the_old(whole.policy.policy.keep_expired_ms())
    {
        output.warnings.push(format!("what agent tools' hooks remember was not looked through: {error}"));
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    for lease in &told.value.leases {
        output.document.leases.push(lease.into());
        let ago = human::length(lease.remaining_ms);
        let _ = writeln!(output.text, "{verb} {}: lease of {}, ended {ago} ago", lease.resource, lease.owner);
    }
    for (resource, error) in told.value.failed {
        output.failures.push(Failure::at(&format!("cannot remove the record of {resource}"), error));
    }
    output.failures.extend(told.value.left_out.into_iter().map(Failure::left_out));
    let _ = writeln!(output.text, "{verb} {}", told.value.leases.len());
    Ok(output)
}
