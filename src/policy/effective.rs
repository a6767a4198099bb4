//! The policy in effect: the built-in one, with what the layers say laid over it.

use std::path::{Path, PathBuf};

use super::{
    choice::{GuardMode, OnError, WorkTreeScope},
    glob::Globs,
    layer::{Given, Layer, LayerKind, Origin, Rule},
};
use crate::duration::Ttl;

/// A policy in effect. Every value knows where it was given.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(super) default: Given<Ttl>,
    pub(super) min: Given<Ttl>,
    pub(super) max: Given<Ttl>,
    /// The highest maximum of any layer.
    pub(super) highest_max: Ttl,
    pub(super) keep_expired: Given<u64>,
    pub(super) rules: Vec<Rule>,
    pub(super) fsync: Given<bool>,
    pub(super) scope: Given<WorkTreeScope>,
    pub(super) dir: Option<Given<PathBuf>>,
    pub(super) project: Option<Given<String>>,
    pub(super) mode: Given<GuardMode>,
    pub(super) require: Given<Globs>,
    pub(super) lost_leases: Given<bool>,
    pub(super) on_error: Given<OnError>,
    pub(super) stale_reads: Given<bool>,
}

/// The policy of the built-in file alone. It is written down a second time, so that no call has to read the file; a test holds the two together.
pub(super) fn built_in() -> Policy {
    let max = ttl(60 * 60 * 1000);
    Policy {
        default: given(15, ttl(5 * 60 * 1000)),
        min: given(18, ttl(5 * 1000)),
        max: given(19, max),
        highest_max: max,
        keep_expired: given(21, 24 * 60 * 60 * 1000),
        rules: Vec::new(),
        fsync: given(39, true),
        scope: given(45, WorkTreeScope::WorkTree),
        dir: None,
        project: None,
        mode: given(58, GuardMode::Enforce),
        require: given(61, Globs::default()),
        lost_leases: given(64, true),
        on_error: given(70, OnError::Block),
        stale_reads: given(73, true),
    }
}

fn ttl(ms: u64) -> Ttl {
    Ttl::from_millis(ms).unwrap_or_else(|| unreachable!("a test has looked at it"))
}

fn given<T>(line: usize, value: T) -> Given<T> {
    Given { value, origin: Origin { kind: LayerKind::Embedded, path: PathBuf::new(), line } }
}

/// A policy, when `layer` gives every key that must have a value.
#[cfg(test)]
pub(super) fn complete(layer: Layer) -> Option<Policy> {
    Some(Policy {
        default: layer.default?,
        min: layer.min?,
        highest_max: layer.max.as_ref()?.value,
        max: layer.max?,
        keep_expired: layer.keep_expired?,
        rules: layer.rules,
        fsync: layer.fsync?,
        scope: layer.scope?,
        dir: layer.dir,
        project: layer.project,
        mode: layer.mode?,
        require: layer.require?,
        lost_leases: layer.lost_leases?,
        on_error: layer.on_error?,
        stale_reads: layer.stale_reads?,
    })
}

fn set<T: Clone>(value: &mut Given<T>, given: Option<&Given<T>>) {
    if let Some(given) = given {
        value.clone_from(given);
    }
}

impl Policy {
    /// This policy with `layers` over it; later ones win, and their rules come last.
    pub(super) fn with(&self, layers: &[Layer]) -> Self {
        let mut policy = self.clone();
        for layer in layers {
            set(&mut policy.default, layer.default.as_ref());
            set(&mut policy.min, layer.min.as_ref());
            set(&mut policy.max, layer.max.as_ref());
            policy.highest_max = layer.max.as_ref().map_or(policy.highest_max, |max| policy.highest_max.max(max.value));
            set(&mut policy.keep_expired, layer.keep_expired.as_ref());
            policy.rules.extend_from_slice(&layer.rules);
            set(&mut policy.fsync, layer.fsync.as_ref());
            set(&mut policy.scope, layer.scope.as_ref());
            policy.dir = layer.dir.clone().or(policy.dir);
            policy.project = layer.project.clone().or(policy.project);
            set(&mut policy.mode, layer.mode.as_ref());
            set(&mut policy.require, layer.require.as_ref());
            set(&mut policy.lost_leases, layer.lost_leases.as_ref());
            set(&mut policy.on_error, layer.on_error.as_ref());
            set(&mut policy.stale_reads, layer.stale_reads.as_ref());
        }
        policy
    }

    /// How long an expired or ended record stays before a sweep removes it, in milliseconds (`ttl.keep-expired`).
    #[must_use]
    pub fn keep_expired_ms(&self) -> u64 {
        self.keep_expired.value
    }

    /// Whether leases are to survive a power loss (`store.fsync`).
    #[must_use]
    pub fn fsync(&self) -> bool {
        self.fsync.value
    }

    /// Whether linked work trees contend (`store.scope`).
    #[must_use]
    pub fn scope(&self) -> WorkTreeScope {
        self.scope.value
    }

    /// Where the store is, an absolute path, when not in the common git directory (`store.dir`).
    #[must_use]
    pub fn store_dir(&self) -> Option<&Path> {
        self.dir.as_ref().map(|dir| dir.value.as_path())
    }

    /// What the repository is called in a shared store (`store.project`): 1 to 255 bytes, no control characters.
    #[must_use]
    pub fn project(&self) -> Option<&str> {
        self.project.as_ref().map(|project| project.value.as_str())
    }

    /// What the commit guard does (`guard.mode`).
    #[must_use]
    pub fn guard_mode(&self) -> GuardMode {
        self.mode.value
    }

    /// The files that only an owner with a lease may commit (`guard.require`).
    #[must_use]
    pub fn guard_require(&self) -> &Globs {
        &self.require.value
    }

    /// Whether the guard refuses a commit whose author's lease was lost (`guard.lost-leases`).
    #[must_use]
    pub fn lost_leases(&self) -> bool {
        self.lost_leases.value
    }

    /// What an agent tool's hook does when it cannot tell who holds a file (`agent.on-error`).
    #[must_use]
    pub fn agent_on_error(&self) -> OnError {
        self.on_error.value
    }

    /// Whether the edit of a file is refused once that was changed since the agent has read it (`agent.stale-reads`).
    #[must_use]
    pub fn stale_reads(&self) -> bool {
        self.stale_reads.value
    }

    /// Whether somebody has said what the hook does when it cannot tell, and not only the built-in policy.
    #[must_use]
    pub fn gives_agent_on_error(&self) -> bool {
        self.on_error.origin.kind != super::LayerKind::Embedded
    }
}
