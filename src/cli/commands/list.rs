//! `list`: the leases of this project.

use clap::Args;
use git_agentlock::{
    clock::Clock as _,
    locks::{Lease, State, rules},
    resource::{Project, Resource, Target},
};

use crate::cli::{
    args::Global,
    context::Context,
    environment,
    exit::Kind,
    failure::Failure,
    output::Output,
    owner,
    render::{
        json::{self, UnreadableDoc},
        line::Leases,
        table,
    },
};

/// Show the leases of this project
///
/// In the table, `*` marks your own, `!` those with less than a fifth of their TTL left, `x` the expired ones that nobody has taken since.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those of this owner
    #[arg(long, short, value_name = "ID")]
    owner: Option<std::ffi::OsString>,
    /// Only those that have expired
    #[arg(long)]
    expired: bool,
    /// The leases of every project in a shared store
    #[arg(long)]
    store: bool,
    /// For scripts: state, owner, token, expiry, kind, work tree (with --store, project and work tree) and path, with tabs between and NUL at the end, nothing escaped
    #[arg(short = 'z')]
    nul: bool,
}

pub(crate) fn run(context: &Context, args: &ListArgs, global: &Global) -> Result<Output, Failure> {
    let only = match args.owner.as_deref() {
        Some(name) => owner::of(Some(name))?.map(|known| known.owner),
        None => None,
    };
    let own = owner::own();
    let whole = context.whole()?;
    let policy = &whole.policy;
    let listing = context.locks(&whole.store, &policy.policy).list()?;
    let is_wanted = |lease: &Lease| {
        whole.is_meant(&lease.resource, args.store)
            && only.as_ref().is_none_or(|owner| lease.owner == *owner)
            && (!args.expired || lease.state == State::Expired)
    };
    let leases: Vec<Lease> = listing.leases.into_iter().filter(is_wanted).collect();

    let mut output = Output::new("list");
    output.document.locked = !listing.unreadable.is_empty() || leases.iter().any(|lease| lease.state == State::Live);
    if global.json {
        output.document.leases = Leases::All(leases);
    } else if args.nul {
        output.raw = Some(for_scripts(&leases, args.store));
    } else {
        let is_own = |lease: &Lease| own.as_ref() == Some(&lease.owner);
        let is_here = |lease: &Lease| whole.is_meant(&lease.resource, false) && whole.is_here(&lease.resource);
        output.text = match (leases.is_empty(), listing.unreadable.is_empty()) {
            (true, true) => "no leases\n".to_owned(),
            // What there is to say of the others is no list.
            (true, false) => String::new(),
            (false, _) => table::leases(&leases, context.clock.now().wall, is_own, is_here, environment::screen()),
        };
    }
    let mut unreadable = Vec::new();
    for record in &listing.unreadable {
        let until = rules::held_until(record, policy.policy.longest_ttl());
        unreadable.push(UnreadableDoc::new(record, until));
        let place = git_agentlock::text::escape_path(&record.place);
        output.failures.push(
            Failure::new(Kind::Damaged, format!("record {place} cannot be used: {}", record.cause))
                .hint("it counts as held for a while; `git agentlock doctor` tells what to do"),
        );
    }
    output.document.unreadable = Some(unreadable);
    Ok(output)
}

/// Fields separated by tabs, which an owner cannot contain; the path last, since it can contain anything but NUL.
fn for_scripts(leases: &[Lease], with_project: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for lease in leases {
        let (state, owner) = (json::state_text(lease.state), lease.owner.as_str());
        let (kind, work_tree) = (kind(&lease.resource), &lease.resource.scope.work_tree);
        bytes
            .extend_from_slice(format!("{state}\t{owner}\t{}\t{}\t{kind}\t", lease.token, lease.expires_at).as_bytes());
        if with_project {
            bytes.extend_from_slice(lease.resource.scope.project.label().unwrap_or_default());
            bytes.push(b'\t');
        }
        bytes.extend_from_slice(work_tree);
        bytes.push(b'\t');
        bytes.extend_from_slice(&exact(&lease.resource));
        bytes.push(0);
    }
    bytes
}

fn kind(resource: &Resource) -> &'static str {
    match resource.target {
        Target::File(_) => "file",
        Target::Area(_) => "area",
        Target::Named(_) => "named",
    }
}

/// The path itself, not made safe for a terminal; an area with a `/` at its end.
fn exact(resource: &Resource) -> Vec<u8> {
    let root: &[u8] = if resource.scope.project == Project::Outside && cfg!(not(windows)) { b"/" } else { b"" };
    match &resource.target {
        Target::File(path) => [root, path.as_bytes()].concat(),
        Target::Area(path) if path.is_top() => [root, b"."].concat(),
        Target::Area(path) => [root, path.as_bytes(), b"/"].concat(),
        Target::Named(name) => format!("{}:{}", name.kind(), name.id()).into_bytes(),
    }
}
