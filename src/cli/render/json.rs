//! The JSON documents. Their field names are a contract: tests read them back with `deny_unknown_fields`.

use std::io;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use git_agentlock::{
    locks::{Conflict, Grant, Holder, Lease, State},
    owner::Owner,
    resource::{Project, RepoPath, Target},
    store::{Past, Unreadable},
};
use serde::Serialize;

use super::line::Leases;
use crate::cli::failure::Failure;

/// The one document that a command prints.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Document {
    schema: u32,
    command: String,
    ok: bool,
    /// Whether what was asked about is held now: by the caller after `acquire` and `renew`, by anybody after `check` and `release`.
    pub(crate) locked: bool,
    warnings: Vec<String>,
    /// How the request was understood, and what is good to know beside the result.
    notes: Vec<String>,
    /// The caller's leases that the command is about; for `list` all there are.
    pub(crate) leases: Leases,
    /// What somebody else holds.
    pub(crate) conflicts: Vec<ConflictDoc>,
    /// One answer for each resource, from commands that treat each by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) results: Option<Vec<ResultDoc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<Vec<UnreadableDoc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<OwnerDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<Vec<PolicyDoc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<Vec<TtlDoc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) findings: Option<Vec<FindingDoc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<Vec<PastDoc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hooks: Option<Vec<HookDoc>>,
    /// What `setup` puts where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<FileDoc>>,
    /// The directory in which leases are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<String>,
    error: Option<ErrorDoc>,
}

impl Document {
    pub(crate) fn new(command: &str) -> Self {
        Self { schema: 1, command: command.to_owned(), ..Self::default() }
    }

    pub(crate) fn finish(&mut self, ok: bool, warnings: &[String], notes: &[String], failure: Option<&Failure>) {
        self.ok = ok;
        self.warnings = warnings.to_vec();
        self.notes = notes.to_vec();
        self.error = failure.map(|failure| ErrorDoc {
            kind: failure.kind.as_str(),
            message: failure.message.clone(),
            hints: failure.hints.clone(),
        });
    }

    /// Writes the document as one line.
    pub(crate) fn write_line(&self, to: &mut impl io::Write) -> io::Result<()> {
        super::line::write(self, to)
    }
}

/// A file that `setup` has to do with.
#[derive(Debug, Serialize)]
pub(crate) struct FileDoc {
    /// Its name as people read it.
    pub(crate) path: String,
    /// `written`, `updated`, `current`, `removed`, `absent`, `foreign`, `edited` or `failed`; in a dry run `to-write`, `to-update`, `to-remove`.
    pub(crate) state: &'static str,
}

#[derive(Debug, Serialize)]
struct ErrorDoc {
    kind: &'static str,
    message: String,
    hints: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ResourceDoc {
    File {
        #[serde(flatten)]
        place: PlaceDoc,
    },
    Area {
        #[serde(flatten)]
        place: PlaceDoc,
    },
    Named {
        r#type: String,
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    },
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlaceDoc {
    /// Relative to the top of the work tree (`.` is the top itself); absolute outside of any repository.
    path: String,
    /// The exact bytes, when they are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    work_tree: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

impl From<&git_agentlock::resource::Resource> for ResourceDoc {
    fn from(resource: &git_agentlock::resource::Resource) -> Self {
        let scope = &resource.scope;
        let project = scope.project.label().map(ToString::to_string);
        let place = |path: &RepoPath| {
            let root = if scope.project == Project::Outside && cfg!(not(windows)) { "/" } else { "" };
            let text = match std::str::from_utf8(path.as_bytes()) {
                Ok("") if root.is_empty() => ".".to_owned(),
                Ok(text) => format!("{root}{text}"),
                Err(_) => format!("{root}{path}"),
            };
            let is_text = std::str::from_utf8(path.as_bytes()).is_ok();
            PlaceDoc {
                path: text,
                path_bytes: (!is_text).then(|| STANDARD.encode(path.as_bytes())),
                work_tree: (!scope.work_tree.is_empty()).then(|| scope.work_tree.to_string()),
                project: project.clone(),
            }
        };
        match &resource.target {
            Target::File(path) => Self::File { place: place(path) },
            Target::Area(path) => Self::Area { place: place(path) },
            Target::Named(name) => Self::Named { r#type: name.kind().to_owned(), id: name.id().to_owned(), project },
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct LeaseDoc {
    resource: ResourceDoc,
    owner: String,
    token: u64,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fresh: Option<bool>,
    /// Whose expired lease this one replaced; for an expired lease, its owner.
    stale_owner: Option<String>,
    acquired_at: String,
    renewed_at: String,
    expires_at: String,
    ttl_ms: u64,
    remaining_ms: i64,
    reason: Option<String>,
    host: String,
    pid: u32,
}

impl From<&Lease> for LeaseDoc {
    fn from(lease: &Lease) -> Self {
        Self {
            resource: (&lease.resource).into(),
            owner: lease.owner.as_str().to_owned(),
            token: lease.token.get(),
            state: state_text(lease.state),
            fresh: None,
            stale_owner: (lease.state == State::Expired).then(|| lease.owner.as_str().to_owned()),
            acquired_at: lease.acquired_at.to_string(),
            renewed_at: lease.renewed_at.to_string(),
            expires_at: lease.expires_at.to_string(),
            ttl_ms: lease.ttl.millis(),
            remaining_ms: lease.remaining_ms,
            reason: lease.reason.as_ref().map(|reason| reason.as_str().to_owned()),
            host: lease.host.clone(),
            pid: lease.pid,
        }
    }
}

impl LeaseDoc {
    /// A lease that this very command has ended.
    pub(crate) fn ended(lease: &Lease) -> Self {
        Self { state: state_text(State::Ended), ..lease.into() }
    }
}

impl From<&Grant> for LeaseDoc {
    fn from(grant: &Grant) -> Self {
        Self {
            fresh: Some(grant.fresh),
            stale_owner: grant.stale_owner.as_ref().map(|owner| owner.as_str().to_owned()),
            ..(&grant.lease).into()
        }
    }
}

pub(crate) fn state_text(state: State) -> &'static str {
    match state {
        State::Live => "live",
        State::Expired => "expired",
        State::Ended => "ended",
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct UnreadableDoc {
    place: String,
    cause: String,
    /// Until when it counts as held; null: until somebody moves it away.
    held_until: Option<String>,
}

impl UnreadableDoc {
    pub(crate) fn new(record: &Unreadable, until: Option<git_agentlock::clock::Timestamp>) -> Self {
        Self {
            place: record.place.to_string_lossy().into_owned(),
            cause: record.cause.clone(),
            held_until: until.map(|until| until.to_string()),
        }
    }
}

/// What was wanted, and the lease that stands in the way; for a record that cannot be read, `unreadable` instead of it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ConflictDoc {
    wanted: ResourceDoc,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    lease: Option<LeaseDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<UnreadableDoc>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    queued: Option<QueuedDoc>,
}

/// Somebody who has waited for longer and can have it now.
#[derive(Debug, Clone, Serialize)]
struct QueuedDoc {
    owner: String,
    state: &'static str,
    waiting_since: String,
}

impl ConflictDoc {
    pub(crate) fn new(wanted: &git_agentlock::resource::Resource, holder: &Holder) -> Self {
        let mut conflict = Self { wanted: wanted.into(), lease: None, unreadable: None, queued: None };
        match holder {
            Holder::Lease(lease) => conflict.lease = Some(lease.as_ref().into()),
            Holder::Unknown { record, until } => conflict.unreadable = Some(UnreadableDoc::new(record, *until)),
            Holder::Waiting { owner, since } => {
                let (owner, waiting_since) = (owner.as_str().to_owned(), since.to_string());
                conflict.queued = Some(QueuedDoc { owner, state: "queued", waiting_since });
            }
        }
        conflict
    }
}

impl From<&Conflict> for ConflictDoc {
    fn from(conflict: &Conflict) -> Self {
        Self::new(&conflict.wanted, &conflict.holder)
    }
}

/// What became of one resource.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ResultDoc {
    pub(crate) resource: ResourceDoc,
    /// `free`, `mine`, `held`, `unknown`; `renewed`, `released`, `nothing`; or the kind of an error.
    pub(crate) outcome: &'static str,
    /// The owner of an expired lease that is still there.
    pub(crate) stale_owner: Option<String>,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct OwnerDoc {
    pub(crate) id: String,
    pub(crate) source: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct PolicyDoc {
    pub(crate) key: String,
    /// As TOML.
    pub(crate) value: String,
    pub(crate) layer: &'static str,
    pub(crate) file: Option<String>,
    pub(crate) line: usize,
}

/// The TTL limits that apply to one path.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TtlDoc {
    pub(crate) resource: ResourceDoc,
    pub(crate) default_ms: u64,
    pub(crate) min_ms: u64,
    pub(crate) max_ms: u64,
}

/// Something that `doctor` has found.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FindingDoc {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) remedy: String,
    pub(crate) fixed: bool,
}

/// A hook, as it is after the command.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HookDoc {
    pub(crate) name: &'static str,
    pub(crate) path: String,
    /// `active`, `absent`, `inert`, `edited`, `interrupted`, `displaced`.
    pub(crate) state: &'static str,
    /// Where the hook is that runs after ours.
    pub(crate) chained: Option<String>,
    pub(crate) message: String,
}

/// A line of the journal.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PastDoc {
    at: String,
    event: String,
    /// Null when it was too long for the journal or could not be read.
    resource: Option<ResourceDoc>,
    owner: Option<String>,
    token: Option<u64>,
    /// Whose lease was taken over, or who broke it.
    other: Option<String>,
    reason: Option<String>,
}

impl From<&Past> for PastDoc {
    fn from(past: &Past) -> Self {
        let name = |owner: &Owner| owner.as_str().to_owned();
        Self {
            at: past.at.to_string(),
            event: past.event.clone(),
            resource: past.resource.as_ref().map(Into::into),
            owner: past.owner.as_ref().map(name),
            token: past.token.map(git_agentlock::record::Token::get),
            other: past.other.as_ref().map(name),
            reason: past.reason.as_ref().map(|reason| reason.as_str().to_owned()),
        }
    }
}
