//! What is allowed: the TTL limits, the store's settings and the guard's, from layers of TOML.
//!
//! A policy is the built-in file (`config/policy.toml`) with the layers that a caller read laid over it, key by key.
//! This module is pure: it gets texts and gives a [`Policy`] in which every value knows where it came from.
//!
//! A typo must neither be ignored nor stop everything. So a layer with any problem is skipped whole, and every
//! problem is returned beside the policy: who grants leases refuses on any, who looks or gives back goes on with a
//! warning. One thing is kept of a skipped layer: the local layer's identity keys (`store.scope`, `store.dir`,
//! `store.project`), since without them the tool would look for locks in the wrong place.
//!
//! In reading order: `choice` and `layer` are what a file can say, `read`, `reader`, `rules`, `value` and `keys` read
//! it, `glob` matches, `effective` merges, `order` and `ttl` hold the limits together, `entries` lists them, `error`
//! is what can be wrong.

mod choice;
mod effective;
mod entries;
mod error;
mod glob;
mod keys;
mod layer;
mod order;
mod read;
mod reader;
mod rules;
#[cfg(test)]
mod tests;
mod ttl;
mod value;

use std::path::PathBuf;

pub use choice::{GuardMode, OnError, WorkTreeScope};
pub use effective::Policy;
pub use entries::Entry;
pub use error::{PolicyCause, PolicyError};
pub use glob::Globs;
pub use layer::{LayerKind, Origin};
pub use ttl::{TtlBound, TtlLimits, TtlOutOfBounds};

/// A layer's text is at most this long, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// A layer as the caller found it. A layer whose file does not exist is left out.
#[derive(Debug)]
pub struct LayerSource {
    /// Which of the layers this is.
    pub kind: LayerKind,
    /// The file, as it is to be named in messages.
    pub path: PathBuf,
    /// The file's bytes, or why they could not be read (a directory, permissions).
    pub text: Result<Vec<u8>, std::io::Error>,
}

/// An effective policy, and what was wrong with the layers that are not in it.
#[derive(Debug)]
pub struct Loaded {
    /// The policy of all layers that are in order.
    pub policy: Policy,
    /// Everything that is wrong, layer by layer. Empty when every layer counts.
    pub problems: Vec<PolicyError>,
}

/// The built-in policy, the documented default.
#[must_use]
pub fn embedded() -> &'static str {
    include_str!("../../config/policy.toml")
}

/// Lays `layers` over the built-in policy, in the order of [`LayerKind`].
///
/// Never fails: a layer with a problem is skipped (but for the local layer's identity keys) and its problems are
/// returned. When the merged limits contradict each other (`min <= default <= max`), the latest layer that had a part
/// in it is skipped, until they agree.
#[must_use]
pub fn load(mut layers: Vec<LayerSource>) -> Loaded {
    layers.sort_by_key(|layer| layer.kind);
    let base = effective::built_in();
    let mut problems = Vec::new();
    let mut good: Vec<_> = layers.into_iter().map(|source| read::layer(source, &mut problems)).collect();
    loop {
        let policy = base.with(&good);
        let mut found = order::contradictions(&policy);
        // The earliest first: without it, what a later layer said against it may be right.
        let Some(kind) = found.iter().map(|error| error.kind).min() else { return Loaded { policy, problems } };
        found.retain(|error| error.kind == kind);
        let Some(layer) = good.iter_mut().rfind(|layer| layer.kind == kind && layer.has_limits()) else {
            return Loaded { policy, problems };
        };
        layer.keep_identity_only();
        problems.append(&mut found);
    }
}
