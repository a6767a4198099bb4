//! `log`: who held this, when, and why?

use std::{ffi::OsString, fmt::Write as _};

use clap::Args;
use git_agentlock::{
    clock::{Clock as _, Timestamp},
    duration::parse_millis,
    owner::Owner,
    resource::Resource,
    store::Past,
};

use crate::cli::{
    args::Targets, context::Context, failure::Failure, output::Output, owner, render::human, targets, whole::Whole,
};

/// Show what has happened to leases, the oldest first
///
/// The journal is history only: nothing is decided by it, and it keeps the last few thousand events.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only what is about these paths, or areas that contain them or lie in them
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Only what this owner did or suffered
    #[arg(long, short, value_name = "ID")]
    owner: Option<OsString>,
    /// Only since then: a duration before now (2h), or a time (2026-11-30T12:00:00Z)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Of every project in a shared store
    #[arg(long)]
    store: bool,
}

pub(crate) fn run(context: &Context, args: &LogArgs) -> Result<Output, Failure> {
    let mut output = Output::new("log");
    let only = match args.owner.as_deref() {
        Some(name) => owner::of(Some(name))?.map(|known| known.owner),
        None => None,
    };
    let since = args.since.as_deref().map(|text| parse_since(text, context)).transpose()?;
    let (history, whole, about) = if args.paths.is_empty() {
        let whole = context.whole()?;
        (whole.store.history()?, Some(whole), Vec::new())
    } else {
        let targets = Targets::of_paths(args.paths.clone());
        let located = targets::resolve(context, &targets)?.located;
        let store = context.one_store(&located)?;
        (store.history()?, None, located.into_iter().map(|located| located.resource).collect())
    };
    let filter = Filter { owner: only, since, about, whole, whole_store: args.store };
    for past in history.iter().filter(|past| filter.wants(past)) {
        let _ = writeln!(output.text, "{}", line(past));
        output.document.history.get_or_insert_default().push(past.into());
    }
    if output.document.history.get_or_insert_default().is_empty() {
        output.notes.push("nothing has happened here yet".to_owned());
    }
    Ok(output)
}

fn parse_since(text: &str, context: &Context) -> Result<Timestamp, Failure> {
    if let Ok(time) = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse()) {
        return Ok(time);
    }
    let ago = parse_millis(text).map_err(|error| {
        Failure::invalid(format!("--since: {error}"))
            .hint("write how long ago, such as 2h or 1d, or a time (UTC) such as 2026-11-30 or 2026-11-30T12:00:00Z")
    })?;
    Ok(context.clock.now().wall.plus_millis(i64::try_from(ago).unwrap_or(i64::MAX).saturating_neg()))
}

struct Filter {
    owner: Option<Owner>,
    since: Option<Timestamp>,
    about: Vec<Resource>,
    whole: Option<Whole>,
    whole_store: bool,
}

impl Filter {
    fn wants(&self, past: &Past) -> bool {
        let of_owner = |owner: &Owner| past.owner.as_ref() == Some(owner) || past.other.as_ref() == Some(owner);
        self.owner.as_ref().is_none_or(of_owner)
            && self.since.is_none_or(|since| past.at >= since)
            && self.is_about(past)
            && self.is_of_project(past)
    }

    fn is_about(&self, past: &Past) -> bool {
        self.about.is_empty()
            || self.about.iter().any(|resource| match &past.resource {
                Some(other) => other.overlaps(resource),
                None => resource.key() == past.key,
            })
    }

    /// What cannot be told to be of another project is shown.
    fn is_of_project(&self, past: &Past) -> bool {
        let of =
            |whole: &Whole| past.resource.as_ref().is_none_or(|resource| whole.is_meant(resource, self.whole_store));
        self.whole.as_ref().is_none_or(of)
    }
}

fn line(past: &Past) -> String {
    let resource = past.resource.as_ref().map_or_else(|| past.key.to_hex(), ToString::to_string);
    let owner = past.owner.as_ref().map(|owner| format!("  {owner}")).unwrap_or_default();
    let other = match (past.event.as_str(), &past.other) {
        ("taken_over", Some(other)) => format!(", from {other}"),
        (_, Some(other)) => format!(", by {other}"),
        ("broken" | "quarantined" | "went_past", None) => ", by somebody without a name".to_owned(),
        _ => String::new(),
    };
    let reason = past.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}  {:11} {resource}{owner}{other}{reason}", human::moment(past.at), past.event.replace('_', " "))
}
