//! What one file says, and where it says it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::{
    choice::{GuardMode, OnError, WorkTreeScope},
    glob::Globs,
};
use crate::{duration::Ttl, text::escape};

/// The layers of a policy; a later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerKind {
    /// `config/policy.toml`, built into the program.
    Embedded,
    /// The user's file, `git-agentlock/policy.toml` in the configuration folder.
    User,
    /// `.agentlock.toml` at the top of the work tree.
    Committed,
    /// `agentlock.toml` in the common git directory. Only this one may say which locks are the same lock.
    Local,
    /// The file that `AGENTLOCK_POLICY` names.
    Explicit,
}

impl LayerKind {
    /// A fixed word for this layer: `embedded`, `user`, `committed`, `local`, `explicit`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::User => "user",
            Self::Committed => "committed",
            Self::Local => "local",
            Self::Explicit => "explicit",
        }
    }

    /// Whether this layer may hold `store.scope`, `store.dir` and `store.project`: the local one may; the built-in
    /// one says what holds without it.
    pub(super) fn may_identify(self) -> bool {
        matches!(self, Self::Embedded | Self::Local)
    }
}

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The layer.
    pub kind: LayerKind,
    /// Its file; empty for the built-in policy.
    pub path: PathBuf,
    /// The line of the key, from 1.
    pub line: usize,
}

/// `PATH, line N`, escaped for a terminal, or `the built-in policy`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LayerKind::Embedded => f.write_str("the built-in policy"),
            _ => write!(f, "{}, line {}", show_path(&self.path), self.line),
        }
    }
}

/// A path, escaped for a terminal.
pub(super) fn show_path(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

/// A value and where it was given.
#[derive(Debug, Clone)]
pub(super) struct Given<T> {
    pub(super) value: T,
    pub(super) origin: Origin,
}

/// What a rule applies to.
#[derive(Debug, Clone)]
pub(super) enum Subject {
    Paths(Given<Globs>),
    Resources(Given<Globs>),
}

/// One `[[ttl.rule]]`.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// Its place among the rules of its file, from 0: that is how messages name it, beside the file.
    pub(super) index: usize,
    pub(super) subject: Subject,
    pub(super) default: Option<Given<Ttl>>,
    pub(super) min: Option<Given<Ttl>>,
    pub(super) max: Option<Given<Ttl>>,
}

/// Everything one file gives. What it does not mention is `None`.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) kind: LayerKind,
    pub(super) default: Option<Given<Ttl>>,
    pub(super) min: Option<Given<Ttl>>,
    pub(super) max: Option<Given<Ttl>>,
    pub(super) keep_expired: Option<Given<u64>>,
    pub(super) rules: Vec<Rule>,
    pub(super) fsync: Option<Given<bool>>,
    pub(super) scope: Option<Given<WorkTreeScope>>,
    pub(super) dir: Option<Given<PathBuf>>,
    pub(super) project: Option<Given<String>>,
    pub(super) mode: Option<Given<GuardMode>>,
    pub(super) require: Option<Given<Globs>>,
    pub(super) lost_leases: Option<Given<bool>>,
    pub(super) on_error: Option<Given<OnError>>,
    pub(super) stale_reads: Option<Given<bool>>,
}

impl Layer {
    /// A layer that says nothing.
    pub(super) fn empty(kind: LayerKind) -> Self {
        Self {
            kind,
            default: None,
            min: None,
            max: None,
            keep_expired: None,
            rules: Vec::new(),
            fsync: None,
            scope: None,
            dir: None,
            project: None,
            mode: None,
            require: None,
            lost_leases: None,
            on_error: None,
            stale_reads: None,
        }
    }

    /// Skips the layer, but for what says where the locks are and which of them are the same.
    pub(super) fn keep_identity_only(&mut self) {
        let (scope, dir, project) = (self.scope.take(), self.dir.take(), self.project.take());
        *self = Self { scope, dir, project, ..Self::empty(self.kind) };
    }

    /// Whether the layer has a say about TTLs.
    pub(super) fn has_limits(&self) -> bool {
        self.default.is_some() || self.min.is_some() || self.max.is_some() || !self.rules.is_empty()
    }
}
