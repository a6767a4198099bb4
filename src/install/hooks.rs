//! Installing, removing and looking at one hook.
//!
//! Three names matter: the hook's own, the chained one's, and `NAME.legacy`, to which the pre-commit framework moves what it finds. A crash can
//! leave a chained hook without a hook; whatever is done next completes it or takes it back.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    Hook, InstallError,
    dir::{self, Entry, Turn, failed},
    look::{Names, about},
    stub::Stub,
};

/// How often what others change in the meantime is looked at again.
const ATTEMPTS: usize = 100;

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'w> {
    /// The hooks directory.
    pub dir: &'w Path,
    /// The program that hooks shall run, by an absolute path.
    pub binary: &'w Path,
    /// The user's umask.
    pub umask: u32,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was not there.
    Installed,
    /// It was of an older version, or told another program.
    Refreshed,
    /// It was gone while the chained one was there.
    Completed,
    /// It was there already.
    Unchanged,
    /// It is gone.
    Removed,
    /// There was none of ours.
    Absent,
}

/// A hook after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What was done.
    pub done: Done,
    /// The hook.
    pub path: PathBuf,
    /// The hook that was there before: while ours is installed, the chained one.
    pub chained: Option<PathBuf>,
    /// A version of ours that was changed by hand, and is kept under this name.
    pub kept: Option<PathBuf>,
    /// What a tool had written before it was installed again, kept under this name: its new hook is chained instead.
    pub outdated: Option<PathBuf>,
    /// A hook that waits to be put back, but its name is taken by one that is not ours.
    pub stranded: Option<PathBuf>,
}

impl Outcome {
    fn nothing(path: PathBuf) -> Self {
        Self { done: Done::Absent, path, chained: None, kept: None, outdated: None, stranded: None }
    }
}

/// Installs a hook, and chains what is there.
///
/// # Errors
/// [`InstallError`]; then everything is as it was.
pub fn install(wish: &Wish<'_>, hook: Hook) -> Result<Outcome, InstallError> {
    dir::ensure(wish.dir, wish.umask)?;
    let turn = Turn::take(wish.dir);
    if turn.is_some() {
        dir::clear_left_overs(wish.dir);
    }
    let names = Names::new(wish.dir, hook);
    let mut outdated = None;
    for attempt in 0..ATTEMPTS {
        let is_last_word = attempt > 0;
        match try_install(wish, hook, &names, is_last_word) {
            Err(InstallError::ChainedExists { .. }) if outdated.is_none() && is_outdated(&names) => {
                outdated = keep(&names.chained, &names.hook, "agentlock-outdated")?;
            }
            done => {
                let Some(done) = done? else { continue };
                dir::sync(wish.dir);
                // It is done; what cannot be looked at any more is taken to be there as it was.
                let is_chained = dir::entry(&names.chained).map_or(true, |entry| entry.is_of_user());
                let chained = is_chained.then_some(names.chained);
                return Ok(Outcome { done, chained, outdated, ..Outcome::nothing(names.hook) });
            }
        }
    }
    Err(InstallError::Unsettled { path: names.hook })
}

/// Whether the tool whose hook was chained has been installed again, over ours.
fn is_outdated(names: &Names) -> bool {
    let manager = about(&names.chained).manager;
    manager.is_some() && manager == about(&names.hook).manager
}

/// `None`: something has changed meanwhile, or was tidied up.
fn try_install(wish: &Wish<'_>, hook: Hook, names: &Names, is_last_word: bool) -> Result<Option<Done>, InstallError> {
    let chained = dir::entry(&names.chained)?;
    let present = dir::entry(&names.hook)?;
    for (entry, path) in [(&present, &names.hook), (&chained, &names.chained)] {
        if *entry == Entry::Directory {
            return Err(InstallError::InTheWay { path: path.clone() });
        }
    }
    if matches!(chained, Entry::Ours { .. }) {
        take_ours(wish.dir, &names.chained, None)?;
        return Ok(None);
    }
    let has_chained = chained.is_of_user() || present == Entry::Foreign;
    let text = Stub { hook, has_chained, binary: wish.binary.to_owned() }.render();
    match present {
        Entry::Edited => Err(InstallError::Edited { path: names.hook.clone() }),
        Entry::Foreign if chained.is_of_user() && is_last_word => {
            Err(InstallError::ChainedExists { hook: names.hook.clone(), chained: names.chained.clone() })
        }
        Entry::Foreign if chained.is_of_user() => Ok(None),
        Entry::Ours { text: old, .. } if old == text && dir::is_executable(&names.hook) => Ok(Some(Done::Unchanged)),
        Entry::Ours { .. } => refresh(wish, names, &text),
        Entry::Foreign => chain(wish, names, &text),
        _ => {
            let new = dir::prepare(wish.dir, &text, wish.umask)?;
            let done = if has_chained { Done::Completed } else { Done::Installed };
            place(&new, &names.hook).map(|is_placed| is_placed.then_some(done))
        }
    }
}

fn chain(wish: &Wish<'_>, names: &Names, text: &[u8]) -> Result<Option<Done>, InstallError> {
    // On a full disk it ends here, before anything was moved.
    let new = dir::prepare(wish.dir, text, wish.umask)?;
    if let Err(error) = dir::rename_new(&names.hook, &names.chained) {
        let _ = dir::remove(&new);
        return match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists => Ok(None),
            _ => Err(failed("rename", &names.hook)(error)),
        };
    }
    let placed = place(&new, &names.hook);
    if placed.is_err() {
        let _ = dir::rename_new(&names.chained, &names.hook);
    }
    placed.map(|is_placed| is_placed.then_some(Done::Installed))
}

/// Whether the name was free.
fn place(new: &Path, hook: &Path) -> Result<bool, InstallError> {
    let Err(error) = dir::rename_new(new, hook) else { return Ok(true) };
    let _ = dir::remove(new);
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(false) } else { Err(failed("create", hook)(error)) }
}

/// Puts the newest text in the place of an older one, without a moment in which there is none.
fn refresh(wish: &Wish<'_>, names: &Names, text: &[u8]) -> Result<Option<Done>, InstallError> {
    let new = dir::prepare(wish.dir, text, wish.umask)?;
    if let Err(error) = dir::swap(&new, &names.hook) {
        let _ = dir::remove(&new);
        return if error.kind() == io::ErrorKind::NotFound {
            Ok(None)
        } else {
            Err(failed("replace", &names.hook)(error))
        };
    }
    match dir::entry(&new)? {
        Entry::Nothing => Ok(Some(Done::Refreshed)),
        Entry::Ours { .. } => dir::remove(&new).map(|()| Some(Done::Refreshed)),
        // Somebody has put another hook there at that very moment: it goes back.
        _ => {
            dir::swap(&new, &names.hook).map_err(failed("put back", &names.hook))?;
            take_ours(wish.dir, &new, None).map(|_| None)
        }
    }
}

/// Takes a hook of ours away, and puts what it had chained in its place; `false` when it is another one by now. Under a name that nobody else
/// knows it is looked at once more, so that nothing else is ever removed. On an error both are as they were. Should this end between two
/// steps, the chained hook is found without a hook, and put back by the next attempt.
fn take_ours(dir: &Path, path: &Path, chained: Option<&Path>) -> Result<bool, InstallError> {
    let taken = dir::unused_name(dir);
    match dir::rename_new(path, &taken) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        renamed => renamed.map_err(failed("remove", path))?,
    }
    match remove_taken(&taken, path, chained) {
        Ok(false) => dir::rename_new(&taken, path).map(|()| false).map_err(failed("put back", &taken)),
        Err(error) => {
            let _ = dir::rename_new(&taken, path);
            Err(error)
        }
        done => done,
    }
}

/// `false`, with nothing done, when it is none of ours.
fn remove_taken(taken: &Path, path: &Path, chained: Option<&Path>) -> Result<bool, InstallError> {
    if !matches!(dir::entry(taken)?, Entry::Ours { .. }) {
        return Ok(false);
    }
    let back = match chained {
        Some(chained) => put_back(chained, path)?.then_some(chained),
        None => None,
    };
    dir::remove(taken).map(|()| true).inspect_err(|_| {
        if let Some(chained) = back {
            let _ = dir::rename_new(path, chained);
        }
    })
}

/// Takes a hook of ours out, and puts back what it had chained.
///
/// # Errors
/// [`InstallError`]; then the hook is as it was.
pub fn uninstall(dir: &Path, hook: Hook) -> Result<Outcome, InstallError> {
    let names = Names::new(dir, hook);
    let mut outcome = Outcome::nothing(names.hook.clone());
    if !dir::is_there(dir)? {
        return Ok(outcome);
    }
    let turn = Turn::take(dir);
    if turn.is_some() {
        dir::clear_left_overs(dir);
    }
    for _ in 0..ATTEMPTS {
        let is_done = match try_uninstall(dir, &names, &mut outcome) {
            // It was only to be seen whether there is more of ours.
            Err(InstallError::Io { what: dir::LOOK | dir::READ, .. })
                if outcome.done == Done::Removed && outcome.kept.is_none() =>
            {
                true
            }
            is_done => is_done?,
        };
        if is_done {
            if outcome.done == Done::Removed {
                dir::sync(dir);
            }
            return Ok(outcome);
        }
    }
    Err(InstallError::Unsettled { path: names.hook })
}

/// Whether nothing of ours is left; one step after the other, so that each begins with what is really there.
fn try_uninstall(dir: &Path, names: &Names, outcome: &mut Outcome) -> Result<bool, InstallError> {
    let chained = dir::entry(&names.chained)?;
    let present = dir::entry(&names.hook)?;
    if matches!(chained, Entry::Ours { .. }) {
        take_ours(dir, &names.chained, None)?;
        return Ok(false);
    }
    match present {
        Entry::Ours { .. } => {
            let is_taken = take_ours(dir, &names.hook, chained.is_of_user().then_some(&*names.chained))?;
            if is_taken {
                outcome.done = Done::Removed;
                outcome.chained = chained.is_of_user().then(|| names.hook.clone());
            }
            Ok(false)
        }
        Entry::Edited => {
            outcome.kept = keep(&names.hook, &names.hook, "agentlock-edited")?;
            outcome.done = Done::Removed;
            Ok(false)
        }
        Entry::Nothing if chained.is_of_user() => {
            if put_back(&names.chained, &names.hook)? {
                outcome.done = Done::Removed;
                outcome.chained = Some(names.hook.clone());
            }
            Ok(false)
        }
        Entry::Foreign | Entry::Directory => of_another_tool(dir, names, &chained, outcome),
        _ => Ok(true),
    }
}

/// The hook's name is taken by another hook. The pre-commit framework moves ours to `NAME.legacy` and calls it there; what ours had chained would
/// be in that place without us, unless it is the framework's own from an earlier installation, which would call itself.
fn of_another_tool(dir: &Path, names: &Names, chained: &Entry, outcome: &mut Outcome) -> Result<bool, InstallError> {
    let is_callable = chained.is_of_user() && about(&names.chained).manager.is_none();
    let waiting = is_callable.then_some(&*names.chained);
    if !matches!(dir::entry(&names.legacy)?, Entry::Ours { .. }) {
        outcome.stranded = chained.is_of_user().then(|| names.chained.clone());
        return Ok(true);
    }
    if take_ours(dir, &names.legacy, waiting)? && outcome.done == Done::Absent {
        outcome.done = Done::Removed;
        outcome.path.clone_from(&names.legacy);
        outcome.chained = waiting.map(|_| names.legacy.clone());
    }
    Ok(false)
}

/// `false` when somebody else was faster, with either name.
fn put_back(chained: &Path, path: &Path) -> Result<bool, InstallError> {
    match dir::rename_new(chained, path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => Ok(false),
        renamed => renamed.map(|()| true).map_err(failed("put back", chained)),
    }
}

/// Moves a file to a name that is free, made of the hook's own, and tells it.
fn keep(path: &Path, hook: &Path, suffix: &str) -> Result<Option<PathBuf>, InstallError> {
    for n in 1..ATTEMPTS {
        let mut name = hook.as_os_str().to_owned();
        name.push(if n == 1 { format!(".{suffix}") } else { format!(".{suffix}-{n}") });
        let kept = PathBuf::from(name);
        match dir::rename_new(path, &kept) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            renamed => return renamed.map(|()| Some(kept)).map_err(failed("rename", path)),
        }
    }
    Err(InstallError::Unsettled { path: path.to_owned() })
}
