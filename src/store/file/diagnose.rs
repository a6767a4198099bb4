//! What is wrong with a store, found by looking only; and the few repairs that are safe.

use std::{collections::BTreeSet, io, path::PathBuf, time::Duration};

use super::{
    FileStore, Root,
    dir::{Dir, Modes},
    disk::{self, Mutex, Share, io_error},
    journal,
    layout::{
        GATE, JOURNAL, MUTEX, OLD_JOURNAL, QUARANTINE, QUEUE, SESSIONS, Shard, is_session, is_temp, key_of, ticket_name,
    },
    not_a_directory, read_record,
};
use crate::{
    clock::Timestamp,
    owner::Owner,
    record::Reason,
    resource::ResourceKey,
    store::{Seen, StoreError, Unreadable},
};

/// How long a mutex may be held before it is worth a word.
const LONG_HELD: Duration = Duration::from_millis(300);

/// Something about a store that should not be so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ailment {
    /// A record that cannot be read, or lies in the wrong place.
    Damaged {
        /// The key that its place stands for.
        key: ResourceKey,
        /// What is there.
        record: Unreadable,
    },
    /// A file that a writer left who is gone.
    LeftOver(PathBuf),
    /// A file or directory that no version of this program writes.
    Foreign(PathBuf),
    /// Permissions that keep those out who share the directory in which the store lies, or this user.
    Permissions {
        /// Of what.
        path: PathBuf,
        /// What is wrong with them.
        what: String,
    },
    /// A file system on which locks and renames may not do what they promise.
    FileSystem {
        /// Where.
        path: PathBuf,
        /// Its kind.
        kind: &'static str,
    },
    /// Two descriptors could lock one file exclusively at the same time.
    LocksDoNotExclude(PathBuf),
    /// A process that has sat in the critical section for long.
    Sitting {
        /// On which mutex.
        path: PathBuf,
        /// Which process.
        pid: u32,
        /// Whether it is stopped.
        is_stopped: bool,
    },
}

impl FileStore {
    /// Looks at everything in the store and changes nothing. Empty when all is well, or when there is no store.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be looked at.
    pub fn diagnose(&self) -> Result<Vec<Ailment>, StoreError> {
        let mut found = Vec::new();
        let lies_in = if self.base.exists() { &self.base } else { &self.parent };
        found.extend(
            disk::unreliable_file_system(lies_in).map(|kind| Ailment::FileSystem { path: lies_in.clone(), kind }),
        );
        let Some(root) = self.open()? else { return Ok(found) };
        let modes = self.modes()?;
        examine_root(&root, modes, &mut found)?;
        for shard in Shard::all() {
            match root.dir.sub(&shard.dir_name()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => found.push(unopenable(root.dir.path_of(&shard.dir_name()), error)),
                Ok(dir) => examine_shard(&dir, shard, modes, &mut found)?,
            }
        }
        examine_locks(&root, &mut found);
        Ok(found)
    }

    /// Removes files that dead writers have left. Returns how many.
    ///
    /// # Errors
    /// [`StoreError`] when a mutex cannot be taken.
    pub fn clear_left_overs(&self, files: &[PathBuf]) -> Result<usize, StoreError> {
        let Some(root) = self.open()? else { return Ok(0) };
        let modes = self.modes()?;
        let mut removed = 0_usize;
        for path in files {
            let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
                continue;
            };
            let dir = Dir::open(dir).map_err(io_error("open the directory", dir))?;
            // In the queue a file is its waiter's alone, so there is no mutex.
            let is_in_queue = dir.path() == root.dir.path_of(QUEUE);
            let _held = if is_in_queue {
                None
            } else {
                Some(Mutex::lock(&dir, MUTEX, Share::Exclusive, modes, self.patience)?)
            };
            removed = removed.saturating_add(usize::from(dir.unlink(name).is_ok()));
        }
        Ok(removed)
    }

    /// Moves a damaged record into `quarantine/`, if it is still damaged; tells where to. Noted in the journal.
    ///
    /// # Errors
    /// [`StoreError`] when that cannot be done; then nothing was changed.
    pub fn quarantine(
        &self,
        key: ResourceKey,
        at: Timestamp,
        by: Option<&Owner>,
        reason: Option<&Reason>,
    ) -> Result<Option<PathBuf>, StoreError> {
        let Some(root) = self.open()? else { return Ok(None) };
        let modes = self.modes()?;
        let gate = Mutex::lock(&root.dir, GATE, Share::Exclusive, modes, self.patience)?;
        let _mutex = Mutex::lock(&root.dir, MUTEX, Share::Exclusive, modes, self.patience)?;
        drop(gate);
        if !matches!(root.read(key)?, Some(Seen::Unreadable(_))) {
            return Ok(None);
        }
        let path = root.dir.path_of(QUARANTINE);
        let (quarantine, _) = root.dir.ensure_sub(QUARANTINE, modes).map_err(|error| not_a_directory(&path, error))?;
        let names = super::layout::Names::of(key);
        let shard = root.dir.sub(&names.shard.dir_name()).map_err(io_error("open the directory", root.dir.path()))?;
        let name = format!("{}-{}.lock", at.millis(), key.to_hex());
        let moved = shard.move_to(&names.record, &quarantine, &name);
        moved.map_err(io_error("move aside", &shard.path_of(&names.record)))?;
        let _ = quarantine.sync().and_then(|()| shard.sync());
        journal::append_quarantined(&root.dir, at, key, by, reason, modes);
        Ok(Some(quarantine.path_of(&name)))
    }

    /// Gives files and directories of the store the permissions that the directory has in which the store lies.
    ///
    /// # Errors
    /// [`StoreError`] for the first that cannot be changed.
    pub fn restore_permissions(&self, paths: &[PathBuf]) -> Result<(), StoreError> {
        let modes = self.modes()?;
        for path in paths {
            super::dir::set_mode(path, modes).map_err(io_error("change the permissions of", path))?;
        }
        Ok(())
    }
}

fn examine_root(root: &Root, modes: Modes, found: &mut Vec<Ailment>) -> Result<(), StoreError> {
    examine_permissions(&root.dir, &[GATE, MUTEX, JOURNAL, OLD_JOURNAL], modes, found);
    for name in root.dir.names().map_err(io_error("list", root.dir.path()))? {
        let is_ours = [GATE, MUTEX, JOURNAL, OLD_JOURNAL, QUEUE, QUARANTINE, SESSIONS].contains(&name.as_str())
            || Shard::all().any(|shard| shard.dir_name() == name);
        if !is_ours {
            found.push(Ailment::Foreign(root.dir.path_of(&name)));
        }
    }
    for (name, files) in [(QUEUE, &[][..]), (QUARANTINE, &[]), (SESSIONS, &[MUTEX])] {
        match root.dir.sub(name) {
            Ok(dir) => examine_permissions(&dir, files, modes, found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => found.push(unopenable(root.dir.path_of(name), error)),
        }
    }
    if let Ok(queue) = root.dir.sub(QUEUE) {
        for name in queue.names().map_err(io_error("list", queue.path()))? {
            if !is_temp(&name) && ticket_name(&name).is_none() {
                found.push(Ailment::Foreign(queue.path_of(&name)));
            } else if super::queue::is_left_over(&queue, &name) == Some(true) {
                found.push(Ailment::LeftOver(queue.path_of(&name)));
            }
        }
    }
    if let Ok(sessions) = root.dir.sub(SESSIONS) {
        for name in sessions.names().map_err(io_error("list", sessions.path()))? {
            if is_temp(&name) {
                found.extend(left_over(&sessions, &name));
            } else if name != MUTEX && !is_session(&name) {
                found.push(Ailment::Foreign(sessions.path_of(&name)));
            }
        }
    }
    Ok(())
}

/// A temporary file, unless its writer is at work: that one holds the mutex.
fn left_over(dir: &Dir, name: &str) -> Option<Ailment> {
    let is_left = dir.exists(name) && disk::is_free(dir, MUTEX) && dir.exists(name);
    is_left.then(|| Ailment::LeftOver(dir.path_of(name)))
}

fn examine_shard(dir: &Dir, shard: Shard, modes: Modes, found: &mut Vec<Ailment>) -> Result<(), StoreError> {
    examine_permissions(dir, &[MUTEX], modes, found);
    for name in dir.names().map_err(io_error("list", dir.path()))? {
        if name == MUTEX {
            continue;
        }
        if is_temp(&name) {
            found.extend(left_over(dir, &name));
            continue;
        }
        match key_of(shard, &name) {
            None => found.push(Ailment::Foreign(dir.path_of(&name))),
            Some(key) => {
                if let Some(Seen::Unreadable(record)) = read_record(dir, &name, key)? {
                    found.push(Ailment::Damaged { key, record });
                }
            }
        }
    }
    Ok(())
}

/// The directory itself and the named files in it: usable by this user, and by all whom the directory around lets in.
fn examine_permissions(dir: &Dir, files: &[&str], modes: Modes, found: &mut Vec<Ailment>) {
    let mut check = |path: PathBuf, wanted: u32| {
        if let Some(what) = super::dir::permission_problem(&path, wanted) {
            found.push(Ailment::Permissions { path, what });
        }
    };
    check(dir.path().to_owned(), modes.dir);
    let mut foreign = Vec::new();
    for name in files {
        match dir.stat(name) {
            Ok(stat) if stat.is_file => check(dir.path_of(name), modes.file),
            Ok(_) => foreign.push(Ailment::Foreign(dir.path_of(name))),
            Err(_) => {}
        }
    }
    found.extend(foreign);
}

/// What stands where a directory of the store should be and cannot be opened as one.
fn unopenable(path: PathBuf, error: io::Error) -> Ailment {
    match not_a_directory(&path, error) {
        StoreError::Foreign { path, .. } => Ailment::Foreign(path),
        error => Ailment::Permissions { what: error.to_string(), path },
    }
}

fn examine_locks(root: &Root, found: &mut Vec<Ailment>) {
    if disk::excludes(&root.dir, GATE) == Some(false) {
        found.push(Ailment::LocksDoNotExclude(root.dir.path_of(GATE)));
    }
    let below = Shard::all().map(Shard::dir_name).chain([SESSIONS.to_owned()]);
    let shards = below.map(|name| root.dir.path_of(&name).join(MUTEX));
    let mutexes: Vec<PathBuf> = [root.dir.path_of(GATE), root.dir.path_of(MUTEX)].into_iter().chain(shards).collect();
    let before = sitting(&mutexes);
    if before.is_empty() {
        return;
    }
    // A change takes milliseconds: who is still there after a while does not get on.
    std::thread::sleep(LONG_HELD);
    for (path, pid) in sitting(&mutexes).intersection(&before) {
        let is_stopped = disk::is_stopped(*pid);
        found.push(Ailment::Sitting { path: path.clone(), pid: *pid, is_stopped });
    }
}

fn sitting(mutexes: &[PathBuf]) -> BTreeSet<(PathBuf, u32)> {
    let holders = |path: &PathBuf| disk::holders(path).into_iter().map(|pid| (path.clone(), pid)).collect::<Vec<_>>();
    mutexes.iter().flat_map(holders).collect()
}

/// The kind of file system at a path, when locks may not hold there.
pub(super) fn unreliable(magic: u64) -> Option<&'static str> {
    match magic {
        0x6969 => Some("NFS"),
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => Some("SMB"),
        0x6573_5546 => Some("FUSE"),
        0x0102_1997 => Some("9p"),
        0x5346_414F => Some("AFS"),
        0x00C3_6400 => Some("Ceph"),
        0x0BD0_0BD3 => Some("Lustre"),
        _ => None,
    }
}
