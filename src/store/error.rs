//! Why a store could not tell or could not do.

use std::{io, path::PathBuf};

use crate::resource::Resource;

/// Why a store could not tell or could not do. None of these means that somebody else holds something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused an operation.
    #[error("cannot {op} {}: {}", crate::text::escape_path(path), io_cause(source))]
    Io {
        /// What was tried, as a verb.
        op: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A mutex stayed taken for the whole bounded wait.
    #[error("the mutex {} was busy for {} s{}", crate::text::escape_path(path), waited_s, holder_text(*holder))]
    Busy {
        /// The mutex file.
        path: PathBuf,
        /// How long was waited, in seconds.
        waited_s: u64,
        /// The process that sits on it, when the system tells.
        holder: Option<u32>,
    },
    /// A later version of this program keeps its records beside.
    #[error("a newer git-agentlock uses this store: {}", crate::text::escape_path(path))]
    Newer {
        /// The directory of the newer format.
        path: PathBuf,
    },
    /// The store was deleted or replaced while it was being changed; the change was taken back.
    #[error("the store was deleted or replaced meanwhile: {}", crate::text::escape_path(path))]
    Replaced {
        /// The file that is no longer the one that was locked.
        path: PathBuf,
    },
    /// Something stands where the store wants to be.
    #[error("{} is {what}, not {wanted} of a lock store", crate::text::escape_path(path))]
    Foreign {
        /// Where.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// A change failed and could not be taken back; these resources are held by the caller although it failed.
    #[error("{cause}; what was done of it could not be taken back, so these stay held: {}", resource_list(held))]
    NotUndone {
        /// What stays held.
        held: Vec<Resource>,
        /// Why the change failed.
        cause: Box<StoreError>,
    },
    /// A counter or a record has the highest token there is, which no clock leads to: something wrote it there.
    #[error("the token counter is at its end; something has written a token into the store that was never given out")]
    NoMoreTokens,
    /// The decision was out of date each time the store came to carry it out.
    #[error("the store is too slow: a lease of this length ends before it can be written")]
    TooSlow,
}

pub(crate) fn io_cause(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
    crate::text::escape(text.as_bytes())
}

fn holder_text(holder: Option<u32>) -> String {
    holder.map(|pid| format!(" (process {pid} sits on it)")).unwrap_or_default()
}

fn resource_list(resources: &[Resource]) -> String {
    resources.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
