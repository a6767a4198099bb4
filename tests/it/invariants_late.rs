//! Invariant 16: time is read late. And what else can happen in the middle of a change.

use std::{
    fs::{self, File},
    slice::from_ref,
    sync::mpsc,
    time::{Duration, Instant},
};

use git_agentlock::{
    clock::{Clock as _, ManualClock, SystemClock},
    locks::{Acquired, Loss, Renewal},
    resource::Resource,
    store::{ReadSet, Store, StoreError, View},
};

use crate::lib_world::{
    Agents, Disk, Eventful, TTL_MS, area, failure, file, in_one_shard, locks, noon, on_each_store, owner, prolong,
    record, released, renewed, request, seen, ttl,
};

/// Somebody sits on the mutex for longer than the lease lasts: the renewal that waited for it is refused.
#[test]
fn invariant_16_a_renewal_that_waited_too_long_is_refused() {
    const SHORT_MS: u64 = 300;
    for name in ["gate", "mutex", "shard"] {
        let (disk, clock, what) = (Disk::new(), SystemClock::new(), file("a"));
        let locks = locks(&disk.store, &clock);
        let Acquired::Granted(_) = locks.ask("A", from_ref(&what), SHORT_MS) else { panic!("free") };
        let before = disk.record_bytes(&what);
        let path = if name == "shard" { disk.shard(&what).join("mutex") } else { disk.v1().join(name) };
        let (locked, is_locked) = mpsc::channel();
        let answer = std::thread::scope(|scope| {
            scope.spawn(move || {
                let held = hold(&path);
                locked.send(()).expect("the test waits");
                // Not by the sleep alone: until the lease has ended by the very clock that judges it.
                std::thread::sleep(Duration::from_millis(SHORT_MS));
                drop(held);
            });
            is_locked.recv().expect("it is locked");
            locks.renewal("A", &what, None)
        });
        assert!(matches!(answer, Renewal::Lost(Loss::Expired(_))), "{name}: {answer:?}");
        assert_eq!(disk.record_bytes(&what), before, "{name}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the test is the one who sits on the mutex")]
fn hold(path: &std::path::Path) -> File {
    let file = File::options().read(true).write(true).open(path).expect("the mutex");
    file.lock().expect("nobody else has it");
    file
}

/// A mutex that stays taken is no contention: it is an error that names it, after the bounded wait.
#[test]
fn invariant_16_a_mutex_that_stays_taken_is_an_error_of_its_own() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
    locks(&disk.store, &clock).take("A", &what);
    let impatient = disk.store.clone().with_patience(Duration::from_millis(50));
    let locks = locks(&impatient, &clock);
    let before = disk.tree();
    for path in [disk.v1().join("gate"), disk.v1().join("mutex"), disk.shard(&what).join("mutex")] {
        let held = hold(&path);
        let start = Instant::now();
        match failure(locks.acquire(&request("B", from_ref(&what), TTL_MS))) {
            StoreError::Busy { path: busy, holder, .. } => {
                assert_eq!(busy, path);
                assert!(holder.is_none_or(|pid| pid == std::process::id()), "{holder:?}");
            }
            other => panic!("{other}"),
        }
        assert!(start.elapsed() >= Duration::from_millis(50));
        assert_eq!(locks.holder(&what).as_deref(), Some("A"), "looking takes no mutex");
        held.unlock().expect("unlocked");
    }
    assert_eq!(disk.tree(), before);
}

/// The lease ends between the decision and the moment before the rename.
#[test]
fn invariant_16_a_renewal_that_comes_too_late_is_abandoned() {
    on_each_store(|store, clock| {
        let what = file("a");
        locks(store, clock).take("A", &what);
        let before = record(store, &what);
        clock.advance(TTL_MS - 1);
        let late = Eventful::new(clock, 2, || clock.advance(1));
        let answer = locks(store, &late).renewal("A", &what, None);
        assert!(matches!(answer, Renewal::Lost(Loss::Expired(_))), "{answer:?}");
        assert_eq!(record(store, &what), before);
        assert_eq!(late.reads(), 3, "decided, asked again, decided anew");
    });
}

/// In a batch, one that ends meanwhile does not take the others with it.
#[test]
fn invariant_16_the_renewals_that_are_in_time_are_done() {
    on_each_store(|store, clock| {
        let (short, long) = (file("a"), file("b"));
        let taking = locks(store, clock);
        taking.ask("A", from_ref(&short), 10_000);
        taking.ask("A", from_ref(&long), TTL_MS);
        let late = Eventful::new(clock, 2, || clock.advance(10_000));
        let items = [prolong(&short, None), prolong(&long, None)];
        let answers = locks(store, &late).renew(&owner("A"), &items, 1).expect("the store works").value;
        match answers.as_slice() {
            [Renewal::Lost(Loss::Expired(_)), Renewal::Renewed { lease, .. }] => assert_eq!(lease.remaining_ms, 60_000),
            answers => panic!("{answers:?}"),
        }
    });
}

#[test]
fn invariant_16_a_lease_is_never_born_expired() {
    on_each_store(|store, clock| {
        let what = file("a");
        let late = Eventful::new(clock, 2, || clock.advance(TTL_MS));
        let grant = locks(store, &late).take("A", &what);
        assert_eq!(grant.lease.remaining_ms, 60_000, "from the second decision on");
        assert_eq!(grant.lease.acquired_at, late.now().wall);
        assert_eq!(record(store, &what).expires_at, late.now().wall.plus_millis(60_000));
        assert_eq!(record(store, &what).token, grant.lease.token);
    });
}

/// One's own lease ends in the middle: it is granted anew, with a new token, not prolonged.
#[test]
fn invariant_16_an_own_lease_that_ends_meanwhile_is_granted_anew() {
    on_each_store(|store, clock| {
        let what = file("a");
        let first = locks(store, clock).take("A", &what).lease.token;
        clock.advance(TTL_MS - 1);
        let late = Eventful::new(clock, 2, || clock.advance(1));
        let grant = locks(store, &late).take("A", &what);
        assert!(grant.fresh && grant.lease.token > first, "{grant:?}");
        assert_eq!(grant.stale_owner, Some(owner("A")));
    });
}

/// A clock that runs so fast that no plan can be carried out in time ends in an error, with nothing changed.
#[test]
fn invariant_16_a_store_that_is_too_slow_grants_nothing() {
    struct Rushing<'c>(&'c ManualClock);
    impl git_agentlock::clock::Clock for Rushing<'_> {
        fn now(&self) -> git_agentlock::clock::Now {
            self.0.advance(TTL_MS);
            self.0.now()
        }
    }
    on_each_store(|store, clock| {
        let rushing = Rushing(clock);
        let failed = failure(locks(store, &rushing).acquire(&request("A", &[file("a"), file("b")], TTL_MS)));
        assert!(matches!(failed, StoreError::TooSlow), "{failed}");
        assert_eq!((seen(store, &file("a")), seen(store, &file("b"))), (None, None));
    });
}

/// Something takes the place of the last of several records right before the renames: the others are put back.
#[test]
fn invariant_11_a_change_that_fails_half_way_is_taken_back() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let all: Vec<Resource> = (0..8).map(|n| file(&format!("f{n}"))).collect();
    locks(&disk.store, &clock).granted("A", &all);
    clock.advance(1000);
    let before: Vec<_> = all.iter().map(|what| disk.record_bytes(what)).collect();
    let path = disk.record_path(&all[7]);
    let obstruct = || {
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("made");
    };
    let clear = || {
        fs::remove_dir(&path).expect("removed");
        fs::write(&path, &before[7]).expect("written");
    };
    let unchanged = |what: &str| {
        assert!(disk.temps().is_empty(), "{what}");
        for (resource, bytes) in all.iter().zip(&before) {
            assert_eq!(fs::read(disk.record_path(resource)).expect("it is still there"), *bytes, "{what}: {resource}");
        }
    };

    let late = Eventful::new(&clock, 2, obstruct);
    let items: Vec<_> = all.iter().map(|what| prolong(what, None)).collect();
    let failed = failure(locks(&disk.store, &late).renew(&owner("A"), &items, 1));
    assert!(matches!(failed, StoreError::Io { .. }), "{failed}");
    clear();
    unchanged("renew");

    let late = Eventful::new(&clock, 2, obstruct);
    let wanted = [all.as_slice(), &[file("new")]].concat();
    let failed = failure(locks(&disk.store, &late).acquire(&request("A", &wanted, TTL_MS)));
    assert!(matches!(failed, StoreError::Io { .. }), "{failed}");
    clear();
    unchanged("acquire");
    assert_eq!(seen(&disk.store, &file("new")), None);
}

/// New names come first, so that what fails for want of room does so before anything old is touched.
#[test]
fn invariant_11_what_is_replaced_is_replaced_last() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let (held, new) = (file("a"), file("new"));
    locks(&disk.store, &clock).take("A", &held);
    clock.advance(1000);
    let before = disk.tree()[&disk.record_path(&held)].clone();
    let obstruct = || fs::create_dir_all(disk.record_path(&new)).expect("made");
    let late = Eventful::new(&clock, 2, obstruct);
    failure(locks(&disk.store, &late).acquire(&request("A", &[held.clone(), new.clone()], TTL_MS)));
    assert_eq!(disk.tree()[&disk.record_path(&held)], before, "the very same file");
}

/// Somebody deletes or replaces the store, or one of its mutexes, while it is being changed: no success is told.
#[test]
fn invariant_11_a_store_that_is_replaced_meanwhile_is_an_error() {
    let new = file("new");
    type Replacing = (&'static str, fn(&Disk));
    let replacings: [Replacing; 3] = [
        ("v1", |disk| fs::rename(disk.v1(), disk.parent().join("moved")).expect("moved")),
        ("mutex", |disk| fs::rename(disk.v1().join("mutex"), disk.parent().join("moved")).expect("moved")),
        ("shard", |disk| {
            let mutex = disk.shard(&file("a")).join("mutex");
            fs::rename(&mutex, disk.parent().join("moved")).expect("moved");
            fs::write(&mutex, b"").expect("another one");
        }),
    ];
    for (name, replace) in replacings {
        for (is_renewal, wants) in [(true, vec![file("a")]), (false, vec![file("a"), new.clone()])] {
            let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
            locks(&disk.store, &clock).take("A", &file("a"));
            clock.advance(1000);
            let before = disk.record_bytes(&file("a"));
            let late = Eventful::new(&clock, 2, || replace(&disk));
            let service = locks(&disk.store, &late);
            let failed = if is_renewal {
                failure(service.renew(&owner("A"), &[prolong(&file("a"), None)], 1))
            } else {
                failure(service.acquire(&request("A", &wants, TTL_MS)))
            };
            assert!(matches!(failed, StoreError::Replaced { .. }), "{name}: {failed}");
            if name == "v1" {
                fs::rename(disk.parent().join("moved"), disk.v1()).expect("moved back");
            }
            assert_eq!(disk.record_bytes(&file("a")), before, "{name}: the old record is back");
            assert_eq!(seen(&disk.store, &new), None, "{name}: the new one is gone");
            assert!(disk.temps().is_empty(), "{name}");
        }
    }
}

/// A mutex that was replaced while somebody waited for it is let go, and the one that is at its place is taken.
#[cfg(target_os = "linux")]
#[test]
fn a_mutex_that_is_replaced_while_it_is_waited_for_is_opened_again() {
    for name in ["gate", "mutex", "shard"] {
        let (disk, what) = (Disk::new(), file("a"));
        locks(&disk.store, &ManualClock::new(noon())).take("A", &what);
        let path = if name == "shard" { disk.shard(&what).join("mutex") } else { disk.v1().join(name) };
        let held = hold(&path);
        std::thread::scope(|scope| {
            let waiting =
                scope.spawn(|| renewed(locks(&disk.store, &ManualClock::new(noon())).renewal("A", &what, None)));
            let deadline = Instant::now() + Duration::from_secs(9);
            while times_open(&path) < 2 {
                assert!(Instant::now() < deadline && !waiting.is_finished(), "{name}: nobody waits for it");
                std::thread::sleep(Duration::from_millis(1));
            }
            fs::remove_file(&path).expect("removed");
            fs::write(&path, b"").expect("another one");
            drop(held);
            waiting.join().expect("it is renewed");
        });
    }
}

/// How many descriptors of this process are of that file.
#[cfg(target_os = "linux")]
fn times_open(path: &std::path::Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").expect("descriptors").flatten();
    open.filter(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == path)).count()
}

/// Deleting the whole store between two commands loses the leases, and nothing else.
#[test]
fn a_deleted_store_is_made_anew_and_tokens_still_grow() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
    let locks = locks(&disk.store, &clock);
    let first = locks.take("A", &what).lease.token;
    fs::remove_dir_all(disk.v1()).expect("deleted");
    assert_eq!(locks.holder(&what), None);
    assert!(matches!(locks.renewal("A", &what, None), Renewal::Lost(Loss::Absent { .. })));
    assert!(!disk.v1().exists(), "a renewal does not make a store");
    clock.advance(1000);
    assert!(locks.take("B", &what).lease.token > first);
}

/// A counter that cannot be read counts as zero; the clock alone makes the tokens grow.
#[test]
fn tokens_grow_without_their_counter() {
    for damage in [&b""[..], b"garbage", &[0; 34], &[0xff; 4096]] {
        let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
        let locks = locks(&disk.store, &clock);
        let first = locks.take("A", &what).lease.token;
        locks.giving_back("A", &what, Some(first));
        fs::write(disk.shard(&what).join("mutex"), damage).expect("written");
        clock.advance(1000);
        let second = locks.take("A", &what).lease.token;
        assert!(second > first);
        clock.step_wall(-100_000_000);
        locks.giving_back("A", &what, Some(second));
        assert!(locks.take("A", &what).lease.token > second, "and the counter counts again");
    }
}

/// A lease goes from an area to a file in it between the reading of the two keys: it never shows as free.
#[test]
fn free_is_said_only_after_two_passes() {
    /// Shows nothing at the first look, and then what there is.
    struct Flickering<'s>(&'s dyn Store, std::cell::Cell<bool>);
    impl Store for Flickering<'_> {
        fn view(&self, read: &ReadSet) -> Result<View, StoreError> {
            if self.1.replace(false) { Ok(View::default()) } else { self.0.view(read) }
        }

        fn change(
            &self,
            _: &ReadSet,
            _: git_agentlock::store::Access,
            _: &mut dyn git_agentlock::store::Decide,
        ) -> Result<git_agentlock::store::Committed, StoreError> {
            panic!("looking changes nothing")
        }

        fn enqueue(&self, _: &git_agentlock::store::Ticket) -> Result<(), StoreError> {
            panic!("looking changes nothing")
        }

        fn dequeue(&self, _: &str) {}
    }
    on_each_store(|store, clock| {
        locks(store, clock).take("A", &area("src"));
        let flickering = Flickering(store, std::cell::Cell::new(true));
        assert_eq!(locks(&flickering, clock).holder(&file("src/a")).as_deref(), Some("A"));
    });
}

/// A short lease is judged by the system's own clocks just so.
#[test]
fn a_short_lease_ends_by_the_system_clock() {
    let (disk, clock, what) = (Disk::new(), SystemClock::new(), file("a"));
    let locks = locks(&disk.store, &clock);
    let Acquired::Granted(grants) = locks.ask("A", from_ref(&what), 30) else { panic!("free") };
    assert_eq!(grants[0].lease.ttl, ttl(30));
    let deadline = Instant::now() + Duration::from_secs(10);
    while locks.holder(&what).is_some() {
        assert!(Instant::now() < deadline, "it never ends");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(locks.take("B", &what).stale_owner, Some(owner("A")));
    assert!(matches!(locks.ask("B", &[file("b")], TTL_MS), Acquired::Granted(_)));
    renewed(locks.renewal("B", &file("b"), None));
}

/// A directory that was once large stays large on some file systems, and is then not looked through; whatever comes into it is seen all the same.
#[test]
fn what_comes_into_a_shard_that_was_once_large_is_seen() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    let listed = || locks.list().expect("listed").leases.len();
    let many = in_one_shard(1500);
    locks.granted("A", &many);
    assert_eq!(listed(), 1500);
    locks.release_all(&owner("A"), &|_| true).expect("released");
    assert_eq!(listed(), 0);
    let shard = disk.shard(&many[0]);
    let stays_large = fs::metadata(&shard).expect("there").len() >= 64 * 1024;
    let noted = fs::metadata(shard.join("mutex")).expect("there").len();
    assert_eq!(noted > 34, stays_large, "{noted} bytes");
    for (round, what) in many.iter().take(3).enumerate() {
        locks.granted("B", from_ref(what));
        assert_eq!(listed(), 1, "round {round}");
        assert_eq!(fs::metadata(shard.join("mutex")).expect("there").len(), 34, "no note is left to come back");
        assert!(matches!(locks.ask("C", &[area("")], TTL_MS), Acquired::Refused(_)), "round {round}");
        released(locks.giving_back("B", what, None));
        assert_eq!(listed(), 0, "round {round}");
    }
}
