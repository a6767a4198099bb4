//! What can be wrong with a policy file: one line each, with file, line, key and remedy.

use std::path::{Path, PathBuf};

use super::layer::{LayerKind, Origin, show_path};
use crate::{duration::Ttl, text::escape};

/// One thing that is wrong with one layer. It is shown on one line, with everything from outside escaped.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", place(path, *line))]
pub struct PolicyError {
    /// The layer.
    pub kind: LayerKind,
    /// Its file.
    pub path: PathBuf,
    /// The line, from 1, where one can be named.
    pub line: Option<usize>,
    /// What is wrong there.
    pub cause: PolicyCause,
}

impl PolicyError {
    /// The full name of the key, escaped, where the problem is one key's: `ttl.deafult`.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match &self.cause {
            PolicyCause::UnknownKey { key, .. }
            | PolicyCause::WrongType { key, .. }
            | PolicyCause::NotAChoice { key, .. }
            | PolicyCause::Value { key, .. }
            | PolicyCause::Identity { key }
            | PolicyCause::Order { key, .. } => Some(key),
            _ => None,
        }
    }

    /// The key or value that was probably meant.
    #[must_use]
    pub fn nearest(&self) -> Option<&str> {
        match &self.cause {
            PolicyCause::UnknownKey { nearest, .. } => nearest.as_deref(),
            PolicyCause::NotAChoice { nearest, .. } => *nearest,
            _ => None,
        }
    }
}

/// What is wrong. Keys and values in here are escaped already.
#[derive(Debug, thiserror::Error)]
pub enum PolicyCause {
    /// The file is there and cannot be read.
    #[error("cannot be read: {}", escape(.0.to_string().as_bytes()))]
    Unreadable(std::io::Error),
    /// More than [`super::MAX_BYTES`].
    #[error("is larger than 1 MiB")]
    TooLarge,
    /// Not text.
    #[error("is not UTF-8")]
    NotUtf8,
    /// Not TOML; what the parser says.
    #[error("{0}")]
    Syntax(String),
    /// A key or table that does not exist.
    #[error("unknown {what} '{key}'; {}", meant(nearest.as_deref(), known))]
    UnknownKey {
        /// `key` or `table`.
        what: &'static str,
        /// Its full name.
        key: String,
        /// The key that was probably meant.
        nearest: Option<String>,
        /// Every key that may stand there.
        known: &'static [&'static str],
    },
    /// A value of another type.
    #[error("'{key}' must be {expected}, not {found}")]
    WrongType {
        /// The full name of the key.
        key: String,
        /// What the key takes.
        expected: String,
        /// What was given.
        found: &'static str,
    },
    /// A text that is none of the words the key takes.
    #[error("'{key}' cannot be '{found}'; {}", meant(*nearest, known))]
    NotAChoice {
        /// The full name of the key.
        key: String,
        /// What was given.
        found: String,
        /// The word that was probably meant.
        nearest: Option<&'static str>,
        /// Every word the key takes.
        known: Vec<&'static str>,
    },
    /// A value of the right type that is not allowed, or a rule that is not complete.
    #[error("'{key}': {why}")]
    Value {
        /// The full name of the key.
        key: String,
        /// Why not.
        why: String,
    },
    /// A key that says which locks are the same, in a layer that not all contenders need see.
    #[error(
        "'{key}' is for the local policy only (agentlock.toml in the common git directory), which all who share the \
         repository read: contenders with different values would both be granted one lock"
    )]
    Identity {
        /// The full name of the key.
        key: String,
    },
    /// Two limits that contradict each other.
    #[error("'{key}' ({value}) is {side} '{other_key}' ({other_value}{})", from(path, other))]
    Order {
        /// The full name of the limit that came later.
        key: String,
        /// Its value.
        value: Ttl,
        /// `above` or `below`.
        side: &'static str,
        /// The full name of the limit that it contradicts.
        other_key: String,
        /// The value of that.
        other_value: Ttl,
        /// The file of the later limit.
        path: PathBuf,
        /// Where the other was given.
        other: Origin,
    },
}

fn place(path: &Path, line: Option<usize>) -> String {
    let path = show_path(path);
    line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"))
}

fn meant(nearest: Option<&str>, known: &[&str]) -> String {
    match (nearest, known) {
        (Some(nearest), _) => format!("did you mean '{nearest}'?"),
        (None, [only]) => format!("'{only}' is possible here"),
        (None, known) => format!("possible here: {}", known.join(", ")),
    }
}

/// A limit of the same file needs no origin: its line is at hand.
fn from(path: &Path, other: &Origin) -> String {
    if other.path == path { String::new() } else { format!(", from {other}") }
}

/// Text out of a file, escaped, and short enough for one line.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", escape(text.get(..end).unwrap_or_default().as_bytes())),
        None => escape(text.as_bytes()),
    }
}
