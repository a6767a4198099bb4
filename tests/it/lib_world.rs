//! What the tests of the library share: a store with a clock that is moved by hand, and a look at what lies on the disk.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use git_agentlock::{
    clock::{Clock, ManualClock, Now, Timestamp},
    duration::Ttl,
    locks::{
        Acquired, Conflict, GiveBack, Grant, Holder, Lease, Listing, Locks, Prolong, Release, Renewal, Report, Request,
    },
    owner::Owner,
    record::{Record, Token},
    resource::{NamedId, RepoPath, Resource, Scope, Target},
    store::{
        Access, Change, Decide, Plan, ReadSet, Seen, Store, StoreError, TokenRule, View, file::FileStore,
        memory::MemoryStore,
    },
};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

/// How long leases last here unless a test says otherwise.
pub(crate) const TTL_MS: u64 = 60_000;
pub(crate) const LONGEST_MS: u64 = 3_600_000;
pub(crate) const KEEP_MS: u64 = 86_400_000;
pub(crate) const DAY_MS: i64 = 86_400_000;

pub(crate) fn noon() -> Timestamp {
    "2026-11-30T12:00:00Z".parse().expect("a time")
}

pub(crate) fn ttl(ms: u64) -> Ttl {
    Ttl::from_millis(ms).expect("a ttl")
}

pub(crate) fn owner(name: &str) -> Owner {
    Owner::new(name).expect("an owner")
}

fn in_implicit(target: Target) -> Resource {
    Resource { scope: Scope::implicit(), target }
}

pub(crate) fn file(path: &str) -> Resource {
    in_implicit(Target::File(RepoPath::new(path).expect("a path")))
}

pub(crate) fn area(path: &str) -> Resource {
    in_implicit(Target::Area(RepoPath::new(path).expect("a path")))
}

pub(crate) fn named(name: &str) -> Resource {
    in_implicit(Target::Named(name.parse::<NamedId>().expect("a name")))
}

/// The first `count` files, counted through, whose records lie in one shard.
pub(crate) fn in_one_shard(count: usize) -> Vec<Resource> {
    let in_shard = |resource: &Resource| resource.key().to_hex().starts_with('7');
    (0..).map(|n| file(&format!("f{n}"))).filter(in_shard).take(count).collect()
}

/// The lock service as most tests want it.
pub(crate) fn locks<'a>(store: &'a dyn Store, clock: &'a dyn Clock) -> Locks<'a> {
    Locks { store, clock, host: "box".to_owned(), longest_ttl: ttl(LONGEST_MS), keep_expired_ms: KEEP_MS }
}

/// What agents do, in few words. Warnings are failures here.
pub(crate) trait Agents {
    fn ask(&self, who: &str, what: &[Resource], ms: u64) -> Acquired;
    fn granted(&self, who: &str, what: &[Resource]) -> Vec<Grant>;
    fn take(&self, who: &str, what: &Resource) -> Grant;
    fn refused(&self, who: &str, what: &[Resource]) -> Vec<Conflict>;
    fn renewal(&self, who: &str, what: &Resource, token: Option<Token>) -> Renewal;
    fn giving_back(&self, who: &str, what: &Resource, token: Option<Token>) -> Release;
    fn look(&self, what: &Resource) -> Report;
    fn holder(&self, what: &Resource) -> Option<String>;
    fn listing(&self) -> Listing;
}

pub(crate) fn request(who: &str, what: &[Resource], ms: u64) -> Request {
    let wants = what.iter().map(|resource| (resource.clone(), ttl(ms))).collect();
    Request { owner: owner(who), wants, reason: None, pid: 1 }
}

pub(crate) fn prolong(what: &Resource, token: Option<Token>) -> Prolong {
    Prolong { resource: what.clone(), ttl: None, cap: ttl(LONGEST_MS), token }
}

impl Agents for Locks<'_> {
    fn ask(&self, who: &str, what: &[Resource], ms: u64) -> Acquired {
        let told = self.acquire(&request(who, what, ms)).expect("the store works");
        assert_eq!(told.warnings, [""; 0]);
        told.value
    }

    fn granted(&self, who: &str, what: &[Resource]) -> Vec<Grant> {
        match self.ask(who, what, TTL_MS) {
            Acquired::Granted(grants) => grants,
            Acquired::Refused(conflicts) => panic!("{who} was refused: {conflicts:?}"),
        }
    }

    fn take(&self, who: &str, what: &Resource) -> Grant {
        self.granted(who, std::slice::from_ref(what)).remove(0)
    }

    fn refused(&self, who: &str, what: &[Resource]) -> Vec<Conflict> {
        match self.ask(who, what, TTL_MS) {
            Acquired::Granted(grants) => panic!("{who} was granted: {grants:?}"),
            Acquired::Refused(conflicts) => conflicts,
        }
    }

    fn renewal(&self, who: &str, what: &Resource, token: Option<Token>) -> Renewal {
        let mut told = self.renew(&owner(who), &[prolong(what, token)], 1).expect("the store works");
        assert_eq!((told.warnings.len(), told.value.len()), (0, 1));
        told.value.remove(0)
    }

    fn giving_back(&self, who: &str, what: &Resource, token: Option<Token>) -> Release {
        let item = GiveBack { resource: what.clone(), token };
        let mut told = self.release(&owner(who), &[item]).expect("the store works");
        assert_eq!((told.warnings.len(), told.value.len()), (0, 1));
        told.value.remove(0)
    }

    fn look(&self, what: &Resource) -> Report {
        self.check(std::slice::from_ref(what)).expect("the store works").remove(0)
    }

    /// The owner of what overlaps `what`; `?` when nobody knows.
    fn holder(&self, what: &Resource) -> Option<String> {
        let report = self.look(what);
        assert!(report.holders.len() <= 1, "{:?}", report.holders);
        let name = |holder: &Holder| holder.owner().map_or_else(|| "?".to_owned(), |owner| owner.as_str().to_owned());
        report.holders.first().map(name)
    }

    fn listing(&self) -> Listing {
        self.list().expect("the store works")
    }
}

pub(crate) fn renewed(renewal: Renewal) -> Lease {
    match renewal {
        Renewal::Renewed { lease, .. } => *lease,
        other => panic!("not renewed: {other:?}"),
    }
}

pub(crate) fn released(release: Release) -> Lease {
    match release {
        Release::Released(lease) => *lease,
        other => panic!("not released: {other:?}"),
    }
}

/// Runs a test against each store there is.
pub(crate) fn on_each_store(test: impl Fn(&dyn Store, &ManualClock)) {
    test(&MemoryStore::new(), &ManualClock::new(noon()));
    let disk = Disk::new();
    test(&disk.store, &ManualClock::new(noon()));
}

/// The record at a resource, as the store shows it.
pub(crate) fn seen(store: &dyn Store, what: &Resource) -> Option<Seen> {
    let read = ReadSet { own: vec![what.key()], ..ReadSet::default() };
    store.view(&read).expect("the store works").get(what.key()).cloned()
}

pub(crate) fn record(store: &dyn Store, what: &Resource) -> Record {
    match seen(store, what) {
        Some(Seen::Record(record)) => *record,
        other => panic!("no record of {what}: {other:?}"),
    }
}

/// Writes a record as it is, past all rules, as a later command or another version would.
pub(crate) fn write_record(store: &dyn Store, record: Record) {
    struct Write(Record);
    impl Decide for Write {
        fn decide(&mut self, _: &View) -> Plan {
            let put = Change::Put { record: Box::new(self.0.clone()), token: TokenRule::Keep };
            Plan { changes: vec![put], ..Plan::nothing(noon()) }
        }
    }
    let read = ReadSet::overlapping([&record.resource]);
    store.change(&read, Access::Create, &mut Write(record)).expect("it is written");
}

/// A file store in a directory of its own, that stands where a git directory would.
pub(crate) struct Disk {
    dir: tempfile::TempDir,
    pub(crate) store: FileStore,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let store = FileStore::in_git_dir(dir.path()).with_fsync(false);
        Self { dir, store }
    }

    /// The directory that the store's own is made in.
    pub(crate) fn parent(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn v1(&self) -> PathBuf {
        self.store.dir()
    }

    pub(crate) fn shard(&self, what: &Resource) -> PathBuf {
        self.v1().join(&what.key().to_hex()[..1])
    }

    pub(crate) fn record_path(&self, what: &Resource) -> PathBuf {
        self.shard(what).join(format!("{}.lock", &what.key().to_hex()[1..]))
    }

    pub(crate) fn temp_path(&self, what: &Resource) -> PathBuf {
        self.shard(what).join(format!("tmp-{}", &what.key().to_hex()[1..]))
    }

    pub(crate) fn record_bytes(&self, what: &Resource) -> Vec<u8> {
        fs::read(self.record_path(what)).expect("the record")
    }

    /// Everything on the disk, with what would show that it was touched.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        tree(self.parent(), &mut found);
        found
    }

    /// The temporary files that lie about.
    pub(crate) fn temps(&self) -> Vec<PathBuf> {
        let is_temp = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tmp-"));
        self.tree().into_keys().filter(is_temp).collect()
    }
}

fn tree(dir: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let meta = fs::symlink_metadata(&path).expect("metadata");
        let content = if meta.is_file() { fs::read(&path).expect("readable") } else { Vec::new() };
        let (inode, mode, mtime) = (meta.ino(), meta.mode(), (meta.mtime(), meta.mtime_nsec()));
        if meta.is_dir() {
            tree(&path, found);
        }
        found.insert(path, format!("{inode} {mode:o} {mtime:?} {}", blake3::hash(&content)));
    }
}

/// Sets the file time, also of what cannot be opened.
pub(crate) fn set_changed(path: &Path, at: Timestamp) {
    let time = Timespec { tv_sec: at.millis().div_euclid(1000), tv_nsec: at.millis().rem_euclid(1000) * 1_000_000 };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("the file time is set");
}

/// A clock that does something right before it is read for the n-th time: what happens in the middle of a change.
pub(crate) struct Eventful<'c, F: Fn()> {
    clock: &'c ManualClock,
    at: u32,
    event: F,
    reads: Cell<u32>,
}

impl<'c, F: Fn()> Eventful<'c, F> {
    pub(crate) fn new(clock: &'c ManualClock, at: u32, event: F) -> Self {
        Self { clock, at, event, reads: Cell::new(0) }
    }

    /// How often the clock was read.
    pub(crate) fn reads(&self) -> u32 {
        self.reads.get()
    }
}

impl<F: Fn()> Clock for Eventful<'_, F> {
    fn now(&self) -> Now {
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() == self.at {
            (self.event)();
        }
        self.clock.now()
    }
}

/// The text of a store's refusal.
pub(crate) fn failure<T: std::fmt::Debug>(result: Result<T, StoreError>) -> StoreError {
    result.expect_err("the store cannot do this")
}
