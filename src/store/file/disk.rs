//! The dangerous calls: flock with a bounded wait, and files that are complete and durable before they have a name.

use std::{
    fs::{File, TryLockError},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::dir::{self, Dir, FileId, Modes, Open};
use crate::store::StoreError;

/// How often a mutex file may be found replaced right after it was locked.
const REOPENINGS: usize = 8;

pub(super) fn io_error(op: &'static str, path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |source| StoreError::Io { op, path: path.to_owned(), source }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    Shared,
    Exclusive,
}

/// A mutex file with its flock held. Letting it go is closing the file: the kernel does it also for a process that is killed.
#[derive(Debug)]
pub(super) struct Mutex {
    file: File,
    path: PathBuf,
}

impl Mutex {
    /// Takes the flock of `name` in `dir`, creating the file when it is missing.
    pub(super) fn lock(
        dir: &Dir,
        name: &str,
        share: Share,
        modes: Modes,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let path = dir.path_of(name);
        for _ in 0..REOPENINGS {
            let file = open_or_create(dir, name, modes).map_err(io_error("open the mutex", &path))?;
            flock(&file, share, patience, &path)?;
            let mutex = Self { file, path: path.clone() };
            if mutex.is_in_place()? {
                return Ok(mutex);
            }
        }
        Err(StoreError::Replaced { path })
    }

    /// Whether the file at the path is still the one that is locked here. If not, somebody else may hold "the same" mutex.
    pub(super) fn is_in_place(&self) -> Result<bool, StoreError> {
        let locked = dir::stat_file(&self.file).map_err(io_error("look at the mutex", &self.path))?.id;
        match dir::id_at(&self.path) {
            Ok(at_path) => Ok(at_path == locked),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_error("look at the mutex", &self.path)(error)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, for what a shard keeps in it.
    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

fn open_or_create(dir: &Dir, name: &str, modes: Modes) -> io::Result<File> {
    // Twice, since another process may create the file between the two calls.
    for _ in 0..2 {
        match dir.open_file(name, Open::ReadWrite) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.and_then(only_a_file),
        }
        match dir.create_new(name, modes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
    dir.open_file(name, Open::ReadWrite).and_then(only_a_file)
}

fn only_a_file(file: File) -> io::Result<File> {
    let stat = dir::stat_file(&file)?;
    if stat.is_file { Ok(file) } else { Err(io::Error::other(format!("it is {}", stat.what))) }
}

#[expect(clippy::disallowed_methods, reason = "the one door to flock")]
fn try_flock(file: &File, share: Share) -> Result<(), TryLockError> {
    // What the race tests have to find out (tests/races).
    if cfg!(agentlock_no_mutex) {
        return Ok(());
    }
    match share {
        Share::Shared => file.try_lock_shared(),
        Share::Exclusive => file.try_lock(),
    }
}

/// Waits politely: soon at first, then with growing pauses of random length, so that many waiters do not march in step.
fn flock(file: &File, share: Share, patience: Duration, path: &Path) -> Result<(), StoreError> {
    const LONGEST_PAUSE: Duration = Duration::from_millis(5);
    let start = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        match try_flock(file, share) {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(io_error("take the mutex", path)(error));
            }
            Err(_) if start.elapsed() >= patience => {
                let holder = dir::stat_file(file).map(|stat| holder::of(stat.id)).unwrap_or_default().first().copied();
                return Err(StoreError::Busy { path: path.to_owned(), waited_s: patience.as_secs(), holder });
            }
            Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(jittered(pause));
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Between half and the whole of `pause`. The standard library's hash keys are its only source of chance.
fn jittered(pause: Duration) -> Duration {
    let chance = RandomState::new().build_hasher().finish() % 1024;
    #[expect(clippy::cast_precision_loss, reason = "a number below 1024")]
    pause.mul_f64(0.5 + chance as f64 / 2048.0)
}

/// Whether nobody holds a mutex at this moment. Looks only; a missing one is free.
pub(super) fn is_free(dir: &Dir, name: &str) -> bool {
    match dir.open_file(name, Open::Read) {
        Ok(file) => !matches!(try_flock(&file, Share::Shared), Err(TryLockError::WouldBlock)),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Whether two descriptors exclude each other on this file; `None` when that cannot be tried now.
pub(super) fn excludes(dir: &Dir, name: &str) -> Option<bool> {
    let (first, second) = (dir.open_file(name, Open::Read).ok()?, dir.open_file(name, Open::Read).ok()?);
    try_flock(&first, Share::Exclusive).ok()?;
    Some(matches!(try_flock(&second, Share::Exclusive), Err(TryLockError::WouldBlock)))
}

/// The processes that hold an flock on a file, as far as the system tells.
pub(super) fn holders(path: &Path) -> Vec<u32> {
    dir::id_at(path).map(holder::of).unwrap_or_default()
}

/// Whether a process is stopped (by a signal or a debugger), as far as the system tells.
pub(super) fn is_stopped(pid: u32) -> bool {
    // 4711 (name) T …; the name may contain anything, also `)`.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

/// The kind of the file system at a path, when locks may not hold there.
pub(super) fn unreliable_file_system(path: &Path) -> Option<&'static str> {
    #[cfg(target_os = "linux")]
    {
        let kind = rustix::fs::statfs(path).ok()?.f_type;
        super::diagnose::unreliable(u64::try_from(kind).ok()?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        None
    }
}

/// Who holds an flock, as far as the system tells.
mod holder {
    use super::dir::FileId;

    #[cfg(target_os = "linux")]
    pub(super) fn of((device, inode): FileId) -> Vec<u32> {
        // The list is not read in one piece, so while locks come and go elsewhere an entry can slip through: nobody is said to hold
        // it only after several looks.
        const LOOKS: usize = 5;
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let wanted = format!("{major:02x}:{minor:02x}:{inode}");
        (0..LOOKS).map(|_| holders_of(&wanted)).find(|holders| !holders.is_empty()).unwrap_or_default()
    }

    #[cfg(target_os = "linux")]
    fn holders_of(wanted: &str) -> Vec<u32> {
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        // 1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF; a line with `->` is a waiter.
        let held = locks.lines().filter(|line| !line.contains("->"));
        held.filter_map(|line| {
            let mut fields = line.split_whitespace();
            (fields.nth(1)? == "FLOCK").then_some(())?;
            let pid = fields.nth(2)?.parse().ok()?;
            (fields.next()? == wanted).then_some(pid)
        })
        .collect()
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_: FileId) -> Vec<u32> {
        Vec::new()
    }
}

/// Writes a whole new file; which file it is. On failure nothing of it stays. May only be called by who holds the mutex that guards this name: then
/// a file that is already there was left by a writer that is dead.
pub(super) fn write_new(dir: &Dir, name: &str, bytes: &[u8], modes: Modes, sync: bool) -> io::Result<FileId> {
    let created = match dir.create_new(name, modes) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            dir.unlink(name).and_then(|()| dir.create_new(name, modes))
        }
        created => created,
    };
    // It can fail after the file was made: when its mode cannot be set.
    let written = created.and_then(|mut file| {
        file.write_all(bytes)?;
        if sync {
            file.sync_all()?;
        }
        dir::stat_file(&file).map(|stat| stat.id)
    });
    written.inspect_err(|_| {
        let _ = dir.unlink(name);
    })
}

/// What one read gets.
pub(super) fn read_once(mut file: &File, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Reads on behind `start`, up to `limit` bytes in all and one more, by which the caller sees that there is more.
pub(super) fn read_on(file: &File, start: &[u8], limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = start.to_owned();
    let rest = limit.saturating_add(1).saturating_sub(bytes.len());
    file.take(rest as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads at most `limit` bytes and one more, by which the caller sees that there is more.
pub(super) fn read_up_to(file: &File, limit: usize) -> io::Result<Vec<u8>> {
    read_on(file, &[], limit)
}
