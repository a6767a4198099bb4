//! The exit codes, and which kind of error has which (DESIGN §3).

use std::process::ExitCode;

/// The exit codes of every command but `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; free or mine.
    Done = 0,
    /// Somebody else holds it, or you are not the owner.
    No = 1,
    /// Usage, an invalid value, no owner.
    Usage = 2,
    /// A lease is lost.
    Lost = 3,
    /// Could not tell or could not do.
    CannotTell = 4,
}

impl Exit {
    /// The graver of two: 2, 4, 3, 1, 0 in this order.
    pub(crate) fn graver(self, other: Self) -> Self {
        let gravity = |exit| match exit {
            Self::Usage => 4,
            Self::CannotTell => 3,
            Self::Lost => 2,
            Self::No => 1,
            Self::Done => 0,
        };
        if gravity(other) > gravity(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The exit code that stands for a signal that ended a program.
pub(crate) fn of_signal(signal: u8) -> u8 {
    signal.saturating_add(128)
}

/// What went wrong, as `error.kind` in JSON says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Conflict,
    NotOwner,
    Findings,
    /// The guard does not let a commit pass, though nobody else holds what is in it.
    Refused,
    Expired,
    Absent,
    Invalid,
    NoRepository,
    Repository,
    Policy,
    Damaged,
    Busy,
    NewerStore,
    Store,
    Output,
    Inactive,
    Hook,
    /// A file that was to be put somewhere could not be.
    File,
    /// A command that was to be run could not be.
    Command,
}

impl Kind {
    #[cfg(test)]
    const ALL: [Self; 19] = [
        Self::Conflict,
        Self::NotOwner,
        Self::Findings,
        Self::Refused,
        Self::Expired,
        Self::Absent,
        Self::Invalid,
        Self::NoRepository,
        Self::Repository,
        Self::Policy,
        Self::Damaged,
        Self::Busy,
        Self::NewerStore,
        Self::Store,
        Self::Output,
        Self::Inactive,
        Self::Hook,
        Self::File,
        Self::Command,
    ];

    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Conflict | Self::NotOwner | Self::Findings | Self::Refused | Self::Inactive => Exit::No,
            Self::Invalid => Exit::Usage,
            Self::Expired | Self::Absent => Exit::Lost,
            Self::NoRepository
            | Self::Repository
            | Self::Policy
            | Self::Damaged
            | Self::Busy
            | Self::NewerStore
            | Self::Store
            | Self::Output
            | Self::Hook
            | Self::File
            | Self::Command => Exit::CannotTell,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::NotOwner => "not_owner",
            Self::Findings => "findings",
            Self::Refused => "refused",
            Self::Expired => "expired",
            Self::Absent => "absent",
            Self::Invalid => "invalid",
            Self::NoRepository => "no_repository",
            Self::Repository => "repository",
            Self::Policy => "policy",
            Self::Damaged => "damaged",
            Self::Busy => "busy",
            Self::NewerStore => "newer_store",
            Self::Store => "store",
            Self::Output => "output",
            Self::Inactive => "inactive",
            Self::Hook => "hook",
            Self::File => "file",
            Self::Command => "command",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_error_has_its_exit_code() {
        let table: String = Kind::ALL.iter().map(|kind| format!("{} {}\n", kind.exit() as u8, kind.as_str())).collect();
        insta::assert_snapshot!(table, @"
        1 conflict
        1 not_owner
        1 findings
        1 refused
        3 expired
        3 absent
        2 invalid
        4 no_repository
        4 repository
        4 policy
        4 damaged
        4 busy
        4 newer_store
        4 store
        4 output
        1 inactive
        4 hook
        4 file
        4 command
        ");
    }

    #[test]
    fn the_gravest_code_wins_in_the_order_2_4_3_1_0() {
        let order = [Exit::Usage, Exit::CannotTell, Exit::Lost, Exit::No, Exit::Done];
        for (i, a) in order.iter().enumerate() {
            for (j, b) in order.iter().enumerate() {
                assert_eq!(a.graver(*b), order[i.min(j)]);
            }
        }
    }
}
