//! `policy`: what is allowed here, and who says so?

use std::{ffi::OsString, fmt::Write as _};

use clap::Args;
use git_agentlock::{
    policy::{Entry, LayerKind, Policy},
    resource::Resource,
};

use crate::cli::{
    args::Targets,
    context::Context,
    exit::Kind,
    failure::Failure,
    output::Output,
    render::json::{PolicyDoc, TtlDoc},
    targets,
};

/// Show the effective policy, and where each value comes from
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// Also the TTL limits of these paths
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
}

pub(crate) fn run(context: &Context, args: PolicyArgs) -> Result<Output, Failure> {
    let mut output = Output::new("policy");
    let targets = Targets::of_paths(args.paths);
    let (policy, located) = if targets.paths.is_empty() {
        let repository = match context.here("the current directory") {
            Err(failure) if failure.kind == Kind::NoRepository => None,
            found => found?,
        };
        (context.policy(repository.as_ref())?, Vec::new())
    } else {
        let located = targets::resolve(context, &targets)?.located;
        let Some(first) = located.first() else { return Ok(output) };
        (std::rc::Rc::clone(&first.policy), located)
    };
    show(&mut output, &policy.policy.entries());
    for one in &located {
        show_ttl(&mut output, &one.policy.policy, &one.resource);
    }
    if let Ok(whole) = context.whole() {
        let dir = whole.store.dir();
        let _ = writeln!(output.text, "leases are kept in {}", git_agentlock::text::escape_path(&dir));
        output.document.store = Some(dir.to_string_lossy().into_owned());
    }
    if !policy.problems.is_empty() {
        let mut failure = Failure::policy(&policy.problems);
        failure.hints = vec!["mend the file, or move it away; what is shown is in effect without it".to_owned()];
        output.failures.push(failure);
        // The failure says it; the warning would say it twice.
        context.take_warnings();
    }
    Ok(output)
}

fn show(output: &mut Output, entries: &[Entry]) {
    let said: Vec<String> = entries.iter().map(|entry| format!("{} = {}", entry.key, entry.value)).collect();
    let width = said.iter().map(|line| line.chars().count()).max().unwrap_or(0).min(60);
    for (entry, line) in entries.iter().zip(&said) {
        let _ = writeln!(output.text, "{line:width$}  # {}", entry.origin);
    }
    output.document.policy = Some(entries.iter().map(document).collect());
}

fn document(entry: &Entry) -> PolicyDoc {
    let origin = &entry.origin;
    PolicyDoc {
        key: entry.key.clone(),
        value: entry.value.clone(),
        layer: origin.kind.as_str(),
        file: (origin.kind != LayerKind::Embedded).then(|| origin.path.to_string_lossy().into_owned()),
        line: origin.line,
    }
}

fn show_ttl(output: &mut Output, policy: &Policy, resource: &Resource) {
    let limits = policy.ttl(&resource.target);
    let (default, min, max) = (limits.default.value, limits.min.value, limits.max.value);
    let _ = writeln!(output.text, "{resource}: TTL {default} unless given, {min} to {max}");
    output.document.ttl.get_or_insert_default().push(TtlDoc {
        resource: resource.into(),
        default_ms: default.millis(),
        min_ms: min.millis(),
        max_ms: max.millis(),
    });
}
