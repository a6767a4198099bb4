//! What is in a hooks directory, without changing anything.

use std::path::{Path, PathBuf};

use super::{
    Hook, InstallError,
    dir::{self, Entry},
    manager::{self, Manager},
};

/// The names that matter.
pub(super) struct Names {
    pub(super) hook: PathBuf,
    pub(super) chained: PathBuf,
    pub(super) legacy: PathBuf,
}

impl Names {
    pub(super) fn new(dir: &Path, hook: Hook) -> Self {
        let legacy = format!("{}.legacy", hook.name());
        Self { hook: dir.join(hook.name()), chained: dir.join(hook.chained_name()), legacy: dir.join(legacy) }
    }
}

/// A hook that is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Which.
    pub hook: Hook,
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What is there.
    pub state: State,
    /// The chained hook, when there is one.
    pub chained: Option<PathBuf>,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Ours, and git runs it, with this program.
    Active(PathBuf),
    /// Nothing.
    Absent,
    /// Only somebody else's hook.
    Foreign,
    /// Ours, but it is not executable.
    NotExecutable,
    /// Ours, but the hook that it chained is gone.
    ChainedGone,
    /// Ours, changed by hand.
    Edited,
    /// The chained hook without a hook: an installer was interrupted.
    Interrupted,
    /// Somebody else's hook, while one that ours had chained is still there, or ours was moved aside.
    Displaced,
}

/// What can be said about a hook that is, or is about to be, chained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// A tool writes it anew now and then.
    pub manager: Option<Manager>,
    /// It asks for its own name.
    pub asks_for_its_name: bool,
    /// git ran it, and so do we.
    pub is_executable: bool,
}

/// Looks into a hook.
#[must_use]
pub fn about(path: &Path) -> About {
    let text = dir::read(path).unwrap_or_default();
    About {
        manager: Manager::of(&text),
        asks_for_its_name: manager::asks_for_its_name(&text),
        is_executable: dir::is_executable(path),
    }
}

/// Whether a hook that is not ours asks the guard by itself.
#[must_use]
pub fn asks_the_guard(path: &Path) -> bool {
    dir::read(path).is_ok_and(|text| manager::asks_the_guard(&text))
}

/// Whether a program could be run from a hook.
#[must_use]
pub fn is_program(path: &Path) -> bool {
    dir::is_executable(path)
}

/// Looks at a hook, and changes nothing.
///
/// # Errors
/// [`InstallError::Io`] when it cannot be looked at.
pub fn look(dir: &Path, hook: Hook) -> Result<Seen, InstallError> {
    let names = Names::new(dir, hook);
    let chained = dir::entry(&names.chained)?.is_of_user();
    let state = match dir::entry(&names.hook)? {
        Entry::Ours { .. } if !dir::is_executable(&names.hook) => State::NotExecutable,
        Entry::Ours { stub, .. } if stub.has_chained && !chained => State::ChainedGone,
        Entry::Ours { stub, .. } => State::Active(stub.binary),
        Entry::Edited => State::Edited,
        Entry::Nothing if chained => State::Interrupted,
        Entry::Nothing => State::Absent,
        Entry::Foreign | Entry::Directory => match dir::entry(&names.legacy)? {
            Entry::Ours { .. } => State::Displaced,
            _ if chained => State::Displaced,
            _ => State::Foreign,
        },
    };
    Ok(Seen { hook, path: names.hook, state, chained: chained.then_some(names.chained) })
}
