//! Puts hooks into a repository beside what is there, and takes them out again so that everything is as it was.
//!
//! A hook that somebody else has written is never changed: it is renamed in its own directory, which keeps its bytes, mode, times and links, and
//! [`stub`]'s hook, which stands in its place, runs it. What is removed is only what this program wrote, byte for byte; every step is a rename
//! that never replaces, so that neither two installers at once nor a crash between two steps lose anything. All of that is in [`hooks`].
//!
//! What this cannot do: keep another tool from replacing our hook later. [`look::look`] tells.

pub mod block;
mod dir;
pub mod files;
pub mod hooks;
mod json;
pub mod look;
pub mod manager;
pub mod settings;
pub mod stub;

use std::{io, path::PathBuf};

pub use json::SyntaxError;

use crate::text::escape_path;

/// The hooks that can be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Runs before a commit is made.
    PreCommit,
    /// Runs before a clean merge is committed.
    PreMergeCommit,
    /// Runs before a rebase begins.
    PreRebase,
    /// Runs before `git am` commits a patch that it has applied.
    PreApplypatch,
    /// Runs after `git am` has committed a patch.
    PostApplypatch,
    /// Runs after a merge or pull.
    PostMerge,
    /// Runs after a rebase or an amended commit.
    PostRewrite,
    /// Runs after a checkout or switch.
    PostCheckout,
    /// Runs after a commit was made.
    PostCommit,
}

impl Hook {
    /// Every one of them, the default ones first.
    pub const ALL: [Self; 9] = [
        Self::PreCommit,
        Self::PreMergeCommit,
        Self::PreRebase,
        Self::PreApplypatch,
        Self::PostApplypatch,
        Self::PostMerge,
        Self::PostRewrite,
        Self::PostCheckout,
        Self::PostCommit,
    ];

    /// As git calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::PreMergeCommit => "pre-merge-commit",
            Self::PreRebase => "pre-rebase",
            Self::PreApplypatch => "pre-applypatch",
            Self::PostApplypatch => "post-applypatch",
            Self::PostMerge => "post-merge",
            Self::PostRewrite => "post-rewrite",
            Self::PostCheckout => "post-checkout",
            Self::PostCommit => "post-commit",
        }
    }

    /// The hook with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// Whether it is installed when no name is given: those through which every commit goes.
    #[must_use]
    pub fn is_default(self) -> bool {
        matches!(self, Self::PreCommit | Self::PreMergeCommit)
    }

    /// Whether git commits what is staged once it has ended, also what it has staged itself.
    pub(crate) fn is_before_commit(self) -> bool {
        self.is_default() || self == Self::PreApplypatch
    }

    /// Whether git heeds its exit code before anything has happened.
    #[must_use]
    pub fn can_refuse(self) -> bool {
        matches!(self, Self::PreCommit | Self::PreMergeCommit | Self::PreRebase | Self::PreApplypatch)
    }

    /// What a hook that was there before is called while ours stands in its place.
    #[must_use]
    pub fn chained_name(self) -> String {
        format!("{}.agentlock-chained", self.name())
    }
}

/// Why a hook was left as it is. Nothing of the user's was changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The system refused.
    #[error("cannot {what} {}: {source}", escape_path(path))]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory stands where a hook belongs.
    #[error("{} is a directory, where a hook belongs", escape_path(path))]
    InTheWay {
        /// Where.
        path: PathBuf,
    },
    /// The name that the present hook should get is taken.
    #[error("{} cannot be chained: {} exists already", escape_path(hook), escape_path(chained))]
    ChainedExists {
        /// The present hook, which is not ours.
        hook: PathBuf,
        /// What has the name.
        chained: PathBuf,
    },
    /// Our hook was changed by hand.
    #[error("{} was changed by hand since it was installed", escape_path(path))]
    Edited {
        /// The hook.
        path: PathBuf,
    },
    /// A settings file is no text.
    #[error("{} cannot be edited: {reason}", escape_path(path))]
    NoText {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// Something else changes the hook all the time.
    #[error("{} is being changed by somebody else", escape_path(path))]
    Unsettled {
        /// The hook.
        path: PathBuf,
    },
}
