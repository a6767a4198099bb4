//! The library without a process around it: keys, records, and the lock service on records in memory and on the disk.
//!
//! `cargo bench --bench library`; the whole processes are timed by the scripts beside this file.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a benchmark that cannot go on ends")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use git_agentlock::{
    clock::SystemClock,
    duration::Ttl,
    locks::{Acquired, GiveBack, Locks, Request},
    owner::Owner,
    record::Record,
    resource::{RepoPath, Resource, Scope, Target},
    store::{ReadSet, Seen, Store, file::FileStore, memory::MemoryStore},
};

const HOUR_MS: u64 = 3_600_000;

fn file(path: &str) -> Resource {
    Resource { scope: Scope::implicit(), target: Target::File(RepoPath::new(path).unwrap()) }
}

fn area(path: &str) -> Resource {
    Resource { scope: Scope::implicit(), target: Target::Area(RepoPath::new(path).unwrap()) }
}

fn request(resources: impl IntoIterator<Item = Resource>) -> Request {
    let ttl = Ttl::from_millis(HOUR_MS).unwrap();
    let wants = resources.into_iter().map(|resource| (resource, ttl)).collect();
    Request { owner: Owner::new("bench").unwrap(), wants, reason: None, pid: 1 }
}

fn locks<'a>(store: &'a dyn Store, clock: &'a SystemClock) -> Locks<'a> {
    let longest_ttl = Ttl::from_millis(HOUR_MS).unwrap();
    Locks { store, clock, host: "box".to_owned(), longest_ttl, keep_expired_ms: HOUR_MS }
}

fn take(locks: &Locks<'_>, request: &Request) {
    assert!(matches!(locks.acquire(request).unwrap().value, Acquired::Granted(_)), "nobody else is there");
}

fn words(c: &mut Criterion) {
    let resource = file("crates/server/src/auth/session.rs");
    c.bench_function("key of a path", |b| b.iter(|| black_box(&resource).key()));
    c.bench_function("keys of the areas around it", |b| b.iter(|| black_box(&resource).ancestor_keys().len()));
    let (store, clock) = (MemoryStore::new(), SystemClock::new());
    take(&locks(&store, &clock), &request([resource.clone()]));
    let view = store.view(&ReadSet::overlapping([&resource])).unwrap();
    let Some(Seen::Record(record)) = view.get(resource.key()) else { panic!("it was taken") };
    let bytes = record.to_bytes();
    c.bench_function("record to bytes", |b| b.iter(|| black_box(record).to_bytes()));
    c.bench_function("record from bytes", |b| b.iter(|| Record::from_bytes(black_box(&bytes))));
}

/// Taken and given back, beside 10,000 other leases.
fn service(c: &mut Criterion, name: &str, store: &dyn Store) {
    let clock = SystemClock::new();
    let locks = locks(store, &clock);
    take(&locks, &request((0..10_000).map(|n| file(&format!("many/{n}.rs")))));
    let one = request([file("src/auth.rs")]);
    let owner = one.owner.clone();
    let given = [GiveBack { resource: file("src/auth.rs"), token: None }];
    c.bench_function(&format!("{name}: acquire and release a file"), |b| {
        b.iter(|| {
            take(&locks, &one);
            locks.release(&owner, &given).unwrap()
        });
    });
    c.bench_function(&format!("{name}: check a file"), |b| b.iter(|| locks.check(&[file("many/5.rs")]).unwrap()));
    c.bench_function(&format!("{name}: check an area"), |b| b.iter(|| locks.check(&[area("other")]).unwrap()));
    c.bench_function(&format!("{name}: list"), |b| b.iter(|| locks.list().unwrap().leases.len()));
}

fn services(c: &mut Criterion) {
    service(c, "in memory", &MemoryStore::new());
    let directory = tempfile::tempdir().unwrap();
    service(c, "on disk, fsync = false", &FileStore::at(directory.path()).with_fsync(false));
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(20);
    targets = words, services
}
criterion_main!(all);
