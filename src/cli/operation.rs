//! What git is doing, as the hook that it runs tells: what the guard is to judge, and in which words.

use std::ffi::OsString;

use git_agentlock::resource::Resource;

use super::render::advice;

/// What git is doing, by the hook that it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A commit is being made.
    Commit,
    /// A merge is being committed; what is merged is not written down yet.
    MergeCommit,
    /// A rebase onto this revision (`None`: onto nothing), of this branch when it is not the current one. What `--onto` names git does not tell its hook.
    Rebase { upstream: Option<String>, branch: Option<String> },
    /// What was `HEAD` or was checked out before, and is now.
    Moved { by: &'static str, from: String, to: String },
    /// A rebase has moved `HEAD`.
    Rebased,
    /// A commit was made.
    Committed,
    /// Nothing that changes files.
    Nothing,
}

/// The hooks of git that a guard can stand in.
const HOOKS: [&str; 8] = [
    "pre-commit",
    "pre-merge-commit",
    "pre-rebase",
    "post-commit",
    "post-applypatch",
    "post-merge",
    "post-rewrite",
    "post-checkout",
];

impl Operation {
    /// Whether there is a rule for a hook; any other is taken for `pre-commit`, the strictest.
    pub(crate) fn is_known(hook: &str) -> bool {
        HOOKS.contains(&hook)
    }

    pub(crate) fn of(hook: &str, arguments: &[OsString]) -> Self {
        let argument = |n: usize| arguments.get(n).map(|text| text.to_string_lossy().into_owned());
        match hook {
            "pre-merge-commit" => Self::MergeCommit,
            "pre-rebase" => {
                let upstream = argument(0).filter(|upstream| upstream != "--root");
                Self::Rebase { upstream, branch: argument(1).filter(|branch| !branch.is_empty()) }
            }
            "post-commit" | "post-applypatch" => Self::Committed,
            // A squash leaves `HEAD` where it is; what it has staged is judged when it is committed.
            "post-merge" if argument(0).as_deref() != Some("1") => {
                Self::Moved { by: "merge", from: "ORIG_HEAD".to_owned(), to: "HEAD".to_owned() }
            }
            // An amended commit is one, and `post-commit` tells of it.
            "post-rewrite" if argument(0).as_deref() == Some("rebase") => Self::Rebased,
            "post-checkout" => match (argument(0), argument(1), argument(2).as_deref()) {
                // A new work tree or clone begins with nothing; the checkout of single files moves nothing.
                (Some(from), Some(to), Some("1")) if from != to && from.bytes().any(|digit| digit != b'0') => {
                    Self::Moved { by: "checkout", from, to }
                }
                _ => Self::Nothing,
            },
            "post-merge" | "post-rewrite" => Self::Nothing,
            _ => Self::Commit,
        }
    }

    /// Whether it has been done already, so that nothing can be refused any more.
    pub(crate) fn is_past(&self) -> bool {
        matches!(self, Self::Moved { .. } | Self::Rebased | Self::Committed)
    }

    /// How to get past a guard that cannot tell; empty when it does not stand in the way.
    pub(crate) fn bypass(&self) -> &'static str {
        match self {
            Self::Commit | Self::MergeCommit => advice::BYPASS,
            Self::Rebase { .. } => advice::BYPASS_OF_REBASE,
            _ => "",
        }
    }

    /// Whether it makes a commit of what is staged: only then it matters what was lost, or needs a lease.
    pub(crate) fn is_commit(&self) -> bool {
        matches!(self, Self::Commit | Self::MergeCommit)
    }

    /// What the refusal of a path begins with.
    pub(crate) fn refused(&self, resource: &Resource) -> String {
        match self {
            Self::Rebase { .. } => format!("the rebase would touch {resource}"),
            Self::Moved { by, .. } => format!("git {by} has changed {resource}"),
            Self::Rebased => format!("git rebase has changed {resource}"),
            Self::Committed => format!("the new commit has changed {resource}"),
            _ => format!("cannot commit {resource}"),
        }
    }
}
