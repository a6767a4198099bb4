//! Why a path cannot be located.

use std::io;

use bstr::{BStr, BString};

use super::RepositoryError;
use crate::resource::ResourceError;

/// Why a path cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// An empty path.
    #[error("an empty path names nothing")]
    Empty,
    /// Bytes that are no path.
    #[error("'{}' is not a usable path: {source}", crate::text::escape(path))]
    Invalid {
        /// What was given.
        path: BString,
        /// Why.
        source: ResourceError,
    },
    /// A part of it has too many bytes, or links lead in a circle.
    #[error("'{}' is not a usable path: {reason}", crate::text::escape(path))]
    Unusable {
        /// What was given.
        path: BString,
        /// Why.
        reason: &'static str,
    },
    /// A file stands where a directory is meant.
    #[error("'{}' is not a directory", crate::text::escape(path))]
    NotADirectory {
        /// What was given.
        path: BString,
    },
    /// Git's own files.
    #[error("'{}' is inside the git directory, which is git's own", crate::text::escape(path))]
    InGitDir {
        /// What was given.
        path: BString,
    },
    /// A path in a repository without a work tree.
    #[error("'{}' is in a bare repository, which has no files to lock", crate::text::escape(path))]
    Bare {
        /// What was given.
        path: BString,
    },
    /// The repository cannot be used.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The path cannot be looked at.
    #[error("cannot look at '{}': {source}", crate::text::escape(path))]
    Io {
        /// What was given.
        path: BString,
        /// What the system said.
        source: io::Error,
    },
}

impl LocateError {
    /// Whether the path itself cannot be locked; otherwise it could not be looked at.
    pub(super) fn is_about_the_path(&self) -> bool {
        !matches!(self, Self::Repository(_) | Self::Io { .. })
    }
}

pub(super) fn why_not(given: &BStr, source: io::Error) -> LocateError {
    let path = given.to_owned();
    match source.kind() {
        io::ErrorKind::NotADirectory => LocateError::NotADirectory { path },
        io::ErrorKind::InvalidFilename => LocateError::Unusable { path, reason: "a name in it is too long" },
        _ if is_link_circle(&source) => LocateError::Unusable { path, reason: "its symbolic links lead in a circle" },
        _ => LocateError::Io { path, source },
    }
}

fn is_link_circle(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    return {
        let _ = error;
        false
    };
}
