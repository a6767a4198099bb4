//! One error type at the edge: what happened, which kind that is, and what to do about it.

use std::io;

use git_agentlock::{
    git::{RepositoryError, attributes::AttributesError, changes::ChangesError, locate::LocateError},
    locks::{LeftOut, Loss},
    policy::{LayerKind, PolicyCause, PolicyError},
    store::StoreError,
};

use super::{exit::Kind, render::human};

/// Something that is told to the user. The message names the thing and the cause, a hint the remedy; both are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

/// Of the other layers, what does not exist says nothing; this one somebody has asked for.
fn is_named_and_absent(problem: &PolicyError) -> bool {
    let is_absent = matches!(&problem.cause, PolicyCause::Unreadable(error) if error.kind() == io::ErrorKind::NotFound);
    problem.kind == LayerKind::Explicit && is_absent
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Outside of any repository, without a shared store.
    pub(crate) fn no_repository(what: &str) -> Self {
        Self::new(Kind::NoRepository, format!("{what} is not in a git repository"))
            .hint("run this in a repository, or name a path in one")
            .hint("to lock things outside of any repository, set AGENT_REGISTRY_LOCK_DIR to an absolute directory for every agent")
    }

    pub(crate) fn policy(problems: &[PolicyError]) -> Self {
        let failure = Self::new(Kind::Policy, format!("the policy cannot be used: {}", Self::problems(problems)));
        let (absent, others): (Vec<_>, Vec<_>) = problems.iter().partition(|problem| is_named_and_absent(problem));
        let hints = [
            (absent, "have AGENTLOCK_POLICY name a file that exists, or unset it"),
            (others, "mend the file, or move it away; `git agentlock policy` shows what applies and from where"),
        ];
        let hints = hints.into_iter().filter(|(about, _)| !about.is_empty());
        Self { hints: hints.map(|(_, hint)| hint.to_owned()).collect(), ..failure }
    }

    /// A failure of the store, at something that was to be done.
    pub(crate) fn at(what: &str, error: StoreError) -> Self {
        let failure = Self::from(error);
        Self { message: format!("{what}: {}", failure.message), ..failure }
    }

    /// What was passed over when all leases were gone through.
    pub(crate) fn left_out(left: LeftOut) -> Self {
        const HINT: &str = "one of the leases that were meant may be there; `git agentlock doctor` tells what is wrong";
        match left {
            LeftOut::Record(record) => {
                let place = git_agentlock::text::escape_path(&record.place);
                Self::new(Kind::Damaged, format!("left out: record {place} cannot be used: {}", record.cause))
                    .hint(HINT)
            }
            LeftOut::Part(error) => Self::at("left out: a part of the store", error).hint(HINT),
        }
    }

    /// That a lease is lost: exit code 3.
    pub(crate) fn lost(what: &str, loss: &Loss) -> Self {
        let kind = match loss {
            Loss::Absent { .. } | Loss::Broken { .. } => Kind::Absent,
            Loss::Expired(_) | Loss::OtherToken(_) | Loss::TakenOver(_) => Kind::Expired,
        };
        let hint = match loss {
            Loss::Absent { covered_by: Some(area) } => format!("name {} instead", area.resource),
            Loss::OtherToken(lease) => format!("use token {}, if you are the one who acquired it again", lease.token),
            _ => "what you protected may have changed: acquire it again, and look at it before you go on".to_owned(),
        };
        Self::new(kind, format!("{what}: {}", human::lost(loss))).hint(hint)
    }

    /// The first few of them, on one line.
    pub(crate) fn problems(problems: &[PolicyError]) -> String {
        const SHOWN: usize = 5;
        let mut lines: Vec<String> = problems.iter().take(SHOWN).map(ToString::to_string).collect();
        let more = problems.len().saturating_sub(SHOWN);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.join("; ")
    }
}

impl Kind {
    /// What to do about a lease of somebody else, or of nobody knows whom.
    pub(crate) fn remedy_of_holder(self) -> &'static str {
        match self {
            Self::NotOwner => {
                "only its owner can; `git agentlock whoami` tells who you are; the lease ends by itself when its time is up"
            }
            _ => "`git agentlock doctor` tells what is wrong with the record, and what to do",
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Busy { .. } => Kind::Busy,
            StoreError::Newer { .. } => Kind::NewerStore,
            _ => Kind::Store,
        };
        let hint = match &error {
            StoreError::Io { source, .. } => io_hint(source),
            StoreError::Busy { .. } => "try again; if a process is stopped there, continue it (kill -CONT) or end it",
            StoreError::Newer { .. } => "use the version of git-agentlock that the others here use",
            StoreError::Replaced { .. } => "no lease was changed; try again",
            StoreError::Foreign { .. } => "move it away, or keep the store elsewhere with AGENT_REGISTRY_LOCK_DIR",
            StoreError::NotUndone { .. } => "release them, or let them expire; `git agentlock list` shows them",
            StoreError::TooSlow => "use a longer TTL",
            StoreError::NoMoreTokens => {
                "`git agentlock doctor` finds damage; remove the shard's `mutex` file while nobody works here"
            }
        };
        Self::new(kind, error.to_string()).hint(hint)
    }
}

fn io_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "make it accessible, or keep the locks elsewhere: set store.dir in agentlock.toml in the git directory, or \
             AGENT_REGISTRY_LOCK_DIR for every agent and in the hooks that ask for locks"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "make room on the disk; nothing was changed, and releasing works meanwhile"
        }
        _ => "no lease was changed; see what is wrong with the file or the disk, and try again",
    }
}

impl From<LocateError> for Failure {
    fn from(error: LocateError) -> Self {
        let message = error.to_string();
        match error {
            LocateError::Empty => Self::invalid(message).hint("name a file, or `.` for the whole work tree"),
            LocateError::Invalid { .. } | LocateError::Unusable { .. } => {
                Self::invalid(message).hint("name an existing file, or one that could exist")
            }
            LocateError::NotADirectory { .. } => {
                Self::invalid(message).hint("leave the `/` or `--area` off to lock the file")
            }
            LocateError::InGitDir { .. } => {
                Self::invalid(message).hint("to take turns at git's index, lock `--resource git:index`")
            }
            LocateError::Bare { .. } => Self::new(Kind::NoRepository, message)
                .hint("run this in a work tree, or lock a named thing with --resource"),
            LocateError::Repository(error) => error.into(),
            LocateError::Io { .. } => Self::new(Kind::Store, message).hint("make the path accessible"),
        }
    }
}

impl From<RepositoryError> for Failure {
    fn from(error: RepositoryError) -> Self {
        let message = error.to_string();
        let hint = match error {
            RepositoryError::NotTrusted { path, .. } => format!(
                "if you trust it: git config --global --add safe.directory {}",
                git_agentlock::text::escape_path(&path)
            ),
            RepositoryError::Unusable { .. } => "see what `git status` says there".to_owned(),
            RepositoryError::Io { .. } => "make the path accessible".to_owned(),
        };
        Self::new(Kind::Repository, message).hint(hint)
    }
}

impl From<ChangesError> for Failure {
    fn from(error: ChangesError) -> Self {
        let message = format!("cannot tell what git changes here: {error}");
        match error {
            ChangesError::Repository(error) => error.into(),
            ChangesError::Index { .. } => Self::new(Kind::Repository, message).hint("see what `git status` says"),
            ChangesError::Commit { .. } | ChangesError::Object { .. } => Self::new(Kind::Repository, message)
                .hint("see what `git fsck` says; in a partial clone, fetch what is missing"),
            ChangesError::Path(_) => Self::new(Kind::Repository, message).hint("take it out of the commit"),
        }
    }
}

impl From<AttributesError> for Failure {
    fn from(error: AttributesError) -> Self {
        Self::new(Kind::Repository, error.to_string()).hint("make the file readable")
    }
}
