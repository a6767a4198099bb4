//! Records as files, on one machine's local file system.
//!
//! One record is one small file, found by the key of its resource: a request opens the files of its own keys and no
//! others, however many there are. Reading takes no flock. A change holds one for its critical section only, so an flock
//! that dies with its process is just right here; what outlives the process is the record.
//!
//! Who excludes whom: a change locks `gate` exclusively, then `mutex` (shared; exclusively when an area is involved), then lets
//! `gate` go and locks the mutexes of its shards in ascending order. While somebody holds `mutex` shared no area can appear, so a request for a
//! file has to look at its own key and those of the directories above it, and at nothing else.
//!
//! **Limitations.** flock and rename must work as on a local file system; `fsync` is as good as the disk. A record that a later format
//! wrote is not free, but cannot be told either.

mod change;
pub mod diagnose;
mod dir;
mod disk;
mod glimpse;
mod journal;
mod layout;
mod publish;
mod queue;
mod scan;
mod sessions;
mod shard;
mod vacancy;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use self::{
    dir::{Dir, Modes, Open},
    disk::io_error,
    layout::{FORMAT, NEWER, Shard, key_of, record_name},
    scan::Listed,
};
use super::{Access, Committed, Decide, JournalLine, Past, ReadSet, Seen, Store, StoreError, Ticket, Unreadable, View};
use crate::{
    clock::Timestamp,
    record::{Record, RecordError},
    resource::ResourceKey,
};

/// The store of a repository, or of all that share one directory. See the module documentation.
#[derive(Debug, Clone)]
pub struct FileStore {
    /// Where `v1` is.
    base: PathBuf,
    /// The directory whose permissions the store takes over.
    parent: PathBuf,
    fsync: bool,
    patience: Duration,
    /// Permission bits that the directory of a shared store does not get when it is created.
    umask: u32,
}

impl FileStore {
    /// How long a change waits for a mutex before it gives up with [`StoreError::Busy`].
    pub const PATIENCE: Duration = Duration::from_secs(10);

    /// The store inside a repository: `agent-locks/v1` below its common git directory.
    #[must_use]
    pub fn in_git_dir(common_dir: &Path) -> Self {
        Self {
            base: common_dir.join("agent-locks"),
            parent: common_dir.to_owned(),
            fsync: true,
            patience: Self::PATIENCE,
            umask: 0o022,
        }
    }

    /// A store in a directory of its own, `v1` below it; the directory is created by the first `acquire`.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        Self { base: dir.to_owned(), parent: dir.to_owned(), fsync: true, patience: Self::PATIENCE, umask: 0o022 }
    }

    /// Whether a change is durable before its success is told (it is, unless this turns it off).
    #[must_use]
    pub fn with_fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }

    /// Another bounded wait than [`FileStore::PATIENCE`].
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The umask for the directory of a shared store ([`FileStore::at`]), on top of the process's own; 022 unless this says otherwise.
    #[must_use]
    pub fn with_umask(mut self, umask: u32) -> Self {
        self.umask = umask;
        self
    }

    /// The directory that holds everything of this store.
    #[must_use]
    pub fn dir(&self) -> PathBuf {
        self.base.join(FORMAT)
    }

    /// What the journal says has happened, the oldest first. Nothing depends on it; it may be incomplete.
    ///
    /// # Errors
    /// [`StoreError`] when there is a journal that cannot be read.
    pub fn history(&self) -> Result<Vec<Past>, StoreError> {
        self.open()?.map_or(Ok(Vec::new()), |root| journal::read(&root.dir))
    }

    /// Adds to the journal what happened outside of any change. Where there is no store there is nothing to tell of; what cannot be written is lost.
    pub fn note(&self, lines: &[JournalLine]) {
        if let (Ok(Some(root)), Ok(modes)) = (self.open(), self.modes()) {
            journal::append(&root.dir, lines, &BTreeMap::new(), modes);
        }
    }

    /// The base's own name, where it is the store that makes it: then it is no link to somewhere else.
    fn name_in_parent(&self) -> Option<&str> {
        self.base.strip_prefix(&self.parent).ok().and_then(Path::to_str).filter(|name| !name.is_empty())
    }

    /// The permissions for what is made in the store.
    fn modes(&self) -> Result<Modes, StoreError> {
        Dir::open(&self.parent).and_then(|dir| dir.modes()).map_err(io_error("look at", &self.parent))
    }

    /// Opens what exists; `None` when there is no store yet.
    fn open(&self) -> Result<Option<Root>, StoreError> {
        let opened = match self.name_in_parent() {
            Some(name) => Dir::open(&self.parent).and_then(|parent| parent.sub(name)),
            None => Dir::open(&self.base),
        };
        let base = match opened {
            // Not so a link to where nothing is: what is meant is not there to be looked at.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.base.is_symlink() => return Ok(None),
            opened => opened.map_err(|error| not_a_directory(&self.base, error))?,
        };
        refuse_newer(&base)?;
        match base.sub(FORMAT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => {
                let dir = opened.map_err(|error| not_a_directory(&self.dir(), error))?;
                Ok(Some(Root { dir, made_in: Vec::new() }))
            }
        }
    }

    /// Opens the store, making what is missing on the way to it.
    fn open_or_create(&self) -> Result<(Root, Modes), StoreError> {
        if self.base == self.parent {
            dir::create_all(&self.base, 0o777 & !self.umask).map_err(io_error("create the directory", &self.base))?;
        }
        let parent = Dir::open(&self.parent).map_err(|error| not_a_directory(&self.parent, error))?;
        let modes = parent.modes().map_err(io_error("look at", &self.parent))?;
        let mut made_in = Vec::new();
        let base = match self.name_in_parent() {
            None => parent,
            Some(name) => {
                let (base, made) =
                    parent.ensure_sub(name, modes).map_err(|error| not_a_directory(&self.base, error))?;
                made_in.extend(made.then_some(parent));
                base
            }
        };
        refuse_newer(&base)?;
        let (dir, made) = base.ensure_sub(FORMAT, modes).map_err(|error| not_a_directory(&self.dir(), error))?;
        made_in.extend(made.then_some(base));
        Ok((Root { dir, made_in }, modes))
    }
}

/// The open store, and the directories in which something was just made, to be synced later.
#[derive(Debug)]
struct Root {
    dir: Dir,
    made_in: Vec<Dir>,
}

fn refuse_newer(base: &Dir) -> Result<(), StoreError> {
    for name in NEWER {
        let path = base.path_of(name);
        match base.stat(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("look at", &path)(error)),
            Ok(_) => return Err(StoreError::Newer { path }),
        }
    }
    Ok(())
}

fn not_a_directory(path: &Path, source: io::Error) -> StoreError {
    let what = match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => "a symbolic link",
        Ok(meta) if !meta.is_dir() => "no directory",
        _ => return StoreError::Io { op: "open the directory", path: path.to_owned(), source },
    };
    StoreError::Foreign { path: path.to_owned(), what, wanted: "the directory" }
}

impl Root {
    /// Reads all that `read` names. With `quiescent`, nobody else can be changing what is enumerated.
    fn view(&self, read: &ReadSet, quiescent: bool) -> Result<View, StoreError> {
        let mut view = View::default();
        for key in read.own.iter().chain(&read.around) {
            if let Some(seen) = self.read(*key)? {
                view.insert(*key, seen);
            }
        }
        if read.queue {
            // A queue that cannot be read costs those in it their places, and nobody a lock.
            view.queue = self.queue().unwrap_or_default();
        }
        if read.all || !read.below.is_empty() {
            let named: HashSet<ResourceKey> = read.own.iter().chain(&read.around).copied().collect();
            self.enumerate(quiescent, |key, seen| {
                let is_wanted = match &seen {
                    Seen::Record(record) => read.below.iter().any(|area| record.resource.is_within(area)),
                    // It could be a record of what is below.
                    Seen::Unreadable(_) => true,
                };
                if read.all || is_wanted || named.contains(&key) {
                    view.insert(key, seen);
                }
            })?;
        }
        Ok(view)
    }

    /// Every record. A file system may leave a name out of a listing while it is being replaced (btrfs), and a lease may pass from a key whose
    /// shard is listed late to one whose shard was listed early: so all is listed twice, unless nobody can be changing anything.
    fn enumerate(&self, quiescent: bool, mut found: impl FnMut(ResourceKey, Seen)) -> Result<(), StoreError> {
        let mut known: HashSet<ResourceKey> = HashSet::new();
        let mut unopened: BTreeSet<Shard> = BTreeSet::new();
        for _ in 0..if quiescent { 1 } else { 2 } {
            let mut listed = Vec::new();
            for shard in Shard::all().filter(|shard| !unopened.contains(shard)).collect::<Vec<_>>() {
                let dir = match self.dir.sub(&shard.dir_name()) {
                    Ok(dir) => dir,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => {
                        let place = self.dir.path_of(&shard.dir_name());
                        found(shard.whole(), unreadable_shard(place, &error)?);
                        unopened.insert(shard);
                        continue;
                    }
                };
                if vacancy::is_vacant(&dir) {
                    continue;
                }
                let dir = Arc::new(dir);
                let list = |name: &str| {
                    let key = key_of(shard, name).filter(|key| !known.contains(key));
                    listed.extend(key.map(|key| Listed { dir: Arc::clone(&dir), key }));
                };
                dir.each_name(list).map_err(|error| io_error("list", dir.path())(error))?;
            }
            for (key, seen) in scan::read(&listed)? {
                known.insert(key);
                found(key, seen);
            }
        }
        Ok(())
    }

    fn read(&self, key: ResourceKey) -> Result<Option<Seen>, StoreError> {
        // One name after the other, since only the last of a path is kept from being followed as a link.
        let shard = Shard::of(key).dir_name();
        match self.dir.sub(&shard) {
            Ok(dir) => read_record(&dir, &record_name(key), key),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => unreadable_shard(self.dir.path_of(&shard), &error).map(Some),
        }
    }
}

/// A shard that cannot be opened: whatever is in it is not free, and nothing tells for how long.
fn unreadable_shard(place: PathBuf, error: &io::Error) -> Result<Seen, StoreError> {
    if is_our_own_shortage(error) {
        let source = io::Error::new(error.kind(), error.to_string());
        return Err(StoreError::Io { op: "open the directory", path: place, source });
    }
    Ok(Seen::Unreadable(Unreadable { place, cause: cannot("opened", error), changed_at: None }))
}

/// How much is read of a record at first, in bytes.
const WHOLE_RECORD: usize = 1024;

/// What stands at a name. Free is only what is not there; all that cannot be read is not free.
fn read_record(dir: &Dir, name: &str, key: ResourceKey) -> Result<Option<Seen>, StoreError> {
    let unreadable = |cause: String, changed_ms: Option<i64>| {
        let place = dir.path_of(name);
        let changed_at = changed_ms.or_else(|| dir.stat(name).ok()?.changed_ms).map(Timestamp::from_millis);
        Ok(Some(Seen::Unreadable(Unreadable { place, cause, changed_at })))
    };
    let file = match dir.open_file(name, Open::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if is_our_own_shortage(&error) => return Err(io_error("open", &dir.path_of(name))(error)),
        Err(error) => return unreadable(cannot("opened", &error), None),
    };
    // One read gets the whole of nearly every record, and a record knows where it ends. What is anything else is looked at more closely.
    let mut start = [0; WHOLE_RECORD];
    let read = disk::read_once(&file, &mut start).ok().and_then(|count| start.get(..count)).unwrap_or_default();
    if let Ok(record) = parse(read, key) {
        return Ok(Some(Seen::Record(Box::new(record))));
    }
    let stat = dir::stat_file(&file).map_err(|error| io_error("look at", &dir.path_of(name))(error))?;
    if !stat.is_file {
        return unreadable(format!("it is {}", stat.what), stat.changed_ms);
    }
    match disk::read_on(&file, read, Record::MAX_BYTES) {
        Err(error) => unreadable(cannot("read", &error), stat.changed_ms),
        Ok(bytes) => match parse(&bytes, key) {
            Ok(record) => Ok(Some(Seen::Record(Box::new(record)))),
            Err(error) => unreadable(error.to_string(), stat.changed_ms),
        },
    }
}

fn parse(bytes: &[u8], key: ResourceKey) -> Result<Record, RecordError> {
    let record = Record::from_bytes(bytes)?;
    if record.resource.key() == key { Ok(record) } else { Err(RecordError::Misplaced(record.resource.to_string())) }
}

fn cannot(be: &str, error: &io::Error) -> String {
    format!("it cannot be {be}: {}", super::io_cause(error))
}

/// Errors that say something about this process or the whole system, not about the record.
fn is_our_own_shortage(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        [Errno::MFILE, Errno::NFILE, Errno::NOMEM]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
    }
    #[cfg(not(unix))]
    {
        error.kind() == io::ErrorKind::OutOfMemory
    }
}

impl Store for FileStore {
    fn view(&self, read: &ReadSet) -> Result<View, StoreError> {
        match self.open()? {
            Some(root) => root.view(read, false),
            None => Ok(View::default()),
        }
    }

    fn change(&self, read: &ReadSet, access: Access, decision: &mut dyn Decide) -> Result<Committed, StoreError> {
        change::run(self, read, access, decision)
    }

    fn enqueue(&self, ticket: &Ticket) -> Result<(), StoreError> {
        queue::enqueue(self, ticket)
    }

    fn dequeue(&self, name: &str) {
        queue::dequeue(self, name);
    }
}
