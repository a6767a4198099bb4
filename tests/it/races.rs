//! Invariants 1, 2 and 7 under threads that arrive at the same instant, each with a store of its own; races of processes are tested
//! through the binary.

use std::{
    cell::Cell,
    slice::from_ref,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU32, Ordering},
        mpsc,
    },
    time::Duration,
};

use git_agentlock::{
    clock::ManualClock,
    locks::{Acquired, Locks},
    resource::Resource,
    store::file::FileStore,
};

use crate::lib_world::{Agents, Disk, Eventful, TTL_MS, area, file, locks, noon, owner, record, released};

/// All ask at once, each in its own thread with its own store and clock. Answers who was granted what they asked for.
fn race(disk: &Disk, at_ms: u64, wants: &[Vec<Resource>]) -> Vec<bool> {
    let barrier = Barrier::new(wants.len());
    let start = &barrier;
    std::thread::scope(|scope| {
        let racers: Vec<_> = wants
            .iter()
            .enumerate()
            .map(|(n, wanted)| {
                let parent = disk.parent();
                scope.spawn(move || {
                    let (store, clock) = (FileStore::in_git_dir(parent).with_fsync(false), ManualClock::new(noon()));
                    clock.advance(at_ms);
                    start.wait();
                    match locks(&store, &clock).ask(&racer(n), wanted, TTL_MS) {
                        Acquired::Granted(grants) => {
                            assert!(grants.iter().all(|grant| grant.fresh));
                            true
                        }
                        Acquired::Refused(conflicts) => {
                            assert!(
                                conflicts.iter().all(|conflict| conflict.holder.owner() != Some(&owner(&racer(n))))
                            );
                            false
                        }
                    }
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("no racer fails")).collect()
    })
}

fn racer(n: usize) -> String {
    format!("racer-{n}")
}

/// Exactly one has won; its number.
fn winner(granted: &[bool]) -> usize {
    let winners: Vec<usize> = (0..granted.len()).filter(|n| granted[*n]).collect();
    assert_eq!(winners.len(), 1, "{winners:?}");
    winners[0]
}

#[test]
fn one_of_many_gets_a_free_file() {
    for _ in 0..20 {
        let (disk, what) = (Disk::new(), file("src/a"));
        let granted = race(&disk, 0, &vec![vec![what.clone()]; 12]);
        assert_eq!(record(&disk.store, &what).owner, owner(&racer(winner(&granted))));
    }
}

#[test]
fn one_of_many_takes_over_an_expired_lease() {
    for _ in 0..20 {
        let (disk, what, clock) = (Disk::new(), file("src/a"), ManualClock::new(noon()));
        let first = locks(&disk.store, &clock).take("dead", &what).lease.token;
        let granted = race(&disk, TTL_MS, &vec![vec![what.clone()]; 12]);
        let record = record(&disk.store, &what);
        assert_eq!(record.owner, owner(&racer(winner(&granted))));
        assert!(record.token > first);
        assert_eq!(record.replaced.expect("it took over").owner, owner("dead"));
    }
}

/// Both directions, in a store that is there and in the first use of one.
#[test]
fn a_file_and_an_area_above_it_are_never_both_granted() {
    let wants = [vec![area("src")], vec![file("src/a")]];
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    for round in 0..400 {
        let fresh = Disk::new();
        let disk = if round % 8 == 0 { &fresh } else { &disk };
        let who = winner(&race(disk, 0, &wants));
        let locks = locks(&disk.store, &clock);
        assert_eq!(locks.holder(&file("src/a")), Some(racer(who)));
        assert_eq!(locks.holder(&area("src")), Some(racer(who)));
        released(locks.giving_back(&racer(who), &wants[who][0], None));
    }
}

/// An area that ends is taken by a file in it and by an area above it at once: the record is found under the shared mutex.
#[test]
fn an_expired_area_is_taken_over_by_one_of_those_that_overlap() {
    for _ in 0..60 {
        let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
        locks(&disk.store, &clock).take("dead", &area("src"));
        let wants = [vec![file("src")], vec![area("")], vec![area("src")], vec![file("src"), file("x")]];
        winner(&race(&disk, TTL_MS, &wants));
    }
}

/// Whoever holds something when all have been answered, no two of them overlap.
#[test]
fn no_two_holders_ever_overlap() {
    let wanted =
        [file("src/a"), area("src"), area(""), file("src/deep/x"), area("src/deep"), file("src"), file("other")];
    for round in 0..60 {
        let disk = Disk::new();
        let take = |n: usize| wanted[n % wanted.len()].clone();
        let wants: Vec<_> = (0..10).map(|n| vec![take(n + round), take(n * 3 + 1), take(n)]).collect();
        let granted = race(&disk, 0, &wants);
        assert!(granted.iter().any(|granted| *granted), "somebody is first");
        let leases = locks(&disk.store, &ManualClock::new(noon())).listing().leases;
        for a in &leases {
            for b in &leases {
                assert!(a.owner == b.owner || !a.resource.overlaps(&b.resource), "{a:?} and {b:?}");
            }
        }
    }
}

/// Callers with reversed lists: a deadlock would end as a mutex that stays busy, which is an error.
#[test]
fn reversed_lists_do_not_deadlock() {
    let forward: Vec<Resource> = (0..12).map(|n| file(&format!("f{n}"))).collect();
    let backward: Vec<Resource> = forward.iter().rev().cloned().collect();
    for round in 0..60 {
        let disk = Disk::new();
        let area = if round % 2 == 0 { vec![area("f3"), file("f0")] } else { vec![file("f0"), area("f3")] };
        let granted = race(&disk, 0, &[forward.clone(), backward.clone(), forward.clone(), area]);
        let who = winner(&granted);
        let leases = locks(&disk.store, &ManualClock::new(noon())).listing().leases;
        assert_eq!(leases.len(), if who == 3 { 2 } else { 12 }, "all or nothing");
        assert!(leases.iter().all(|lease| lease.owner == owner(&racer(who))));
    }
}

/// Nobody overtakes at the gate: an area gets its turn beside a stream of requests for files that never pauses.
#[test]
fn a_stream_of_files_does_not_starve_an_area() {
    const AREAS: u32 = 15;
    let (disk, done, granted) = (Disk::new(), AtomicBool::new(false), AtomicU32::new(0));
    let (done, granted) = (&done, &granted);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let parent = disk.parent();
            scope.spawn(move || {
                let (store, clock) = (FileStore::in_git_dir(parent).with_fsync(false), ManualClock::new(noon()));
                let (locks, what) = (locks(&store, &clock), file(&format!("busy/{n}")));
                while !done.load(Ordering::Relaxed) {
                    locks.take(&racer(n), &what);
                    granted.fetch_add(1, Ordering::Relaxed);
                    released(locks.giving_back(&racer(n), &what, None));
                }
            });
        }
        let clock = ManualClock::new(noon());
        let locks = locks(&disk.store, &clock);
        let stop = StopAtEnd(done);
        for _ in 0..AREAS {
            let before = granted.load(Ordering::Relaxed);
            while granted.load(Ordering::Relaxed) < before + 8 {
                std::thread::yield_now();
            }
            locks.take("A", &area("quiet"));
            released(locks.giving_back("A", &area("quiet"), None));
        }
        drop(stop);
    });
}

/// Ends the stream also when the test fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Whoever renews and whoever takes over at the very instant of the expiry agree about who has it.
#[test]
fn a_renewal_and_a_takeover_do_not_both_succeed() {
    for round in 0..100 {
        let (disk, what, clock) = (Disk::new(), file("a"), ManualClock::new(noon()));
        locks(&disk.store, &clock).take("A", &what);
        let barrier = Barrier::new(2);
        let at = |ms: u64| {
            let clock = ManualClock::new(noon());
            clock.advance(ms);
            clock
        };
        let (renewed, taken) = std::thread::scope(|scope| {
            let renewing = scope.spawn(|| {
                let clock = at(TTL_MS - 1);
                barrier.wait();
                matches!(
                    locks(&disk.store, &clock).renewal("A", &what, None),
                    git_agentlock::locks::Renewal::Renewed { .. }
                )
            });
            let clock = at(TTL_MS);
            barrier.wait();
            let answer = locks(&disk.store, &clock).ask("B", from_ref(&what), TTL_MS);
            (renewing.join().expect("it is answered"), matches!(answer, Acquired::Granted(_)))
        });
        assert!(renewed != taken, "round {round}: {renewed} {taken}");
        let expected = if renewed { "A" } else { "B" };
        assert_eq!(record(&disk.store, &what).owner, owner(expected), "round {round}");
    }
}

/// Whoever is shut out stays so for any time: that this one is short makes no test fail.
const A_WHILE: Duration = Duration::from_millis(150);
/// Whoever is let in needs next to no time; this is for a machine that is busy.
const LONG_ENOUGH: Duration = Duration::from_secs(9);

/// One is stopped in the middle of its change, right when it reads its clock for the second time, and another one comes. Answers
/// whether the other one was let in before the first had done.
fn is_let_in(
    disk: &Disk,
    patience: Duration,
    first: (u64, &dyn Fn(&Locks<'_>)),
    second: (u64, &(dyn Fn(&Locks<'_>) + Sync)),
) -> bool {
    let clock_at = |ms| {
        let clock = ManualClock::new(noon());
        clock.advance(ms);
        clock
    };
    let (come, comes) = mpsc::channel::<()>();
    let (answer, answered) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if comes.recv().is_ok() {
                second.1(&locks(&disk.store, &clock_at(second.0)));
                answer.send(()).expect("the first still listens");
            }
        });
        let (clock, let_in) = (clock_at(first.0), Cell::new(false));
        let stopped = Eventful::new(&clock, 2, || {
            come.send(()).expect("the second waits");
            let_in.set(answered.recv_timeout(patience).is_ok());
        });
        first.1(&locks(&disk.store, &stopped));
        assert!(stopped.reads() >= 2);
        if !let_in.get() {
            answered.recv().expect("it is let in afterwards");
        }
        let_in.get()
    })
}

/// Not by luck: whatever overlaps waits until the one who was first has done, and is then refused.
#[test]
fn whoever_overlaps_is_shut_out_until_the_first_has_done() {
    for (mine, theirs) in [
        (file("src/a"), file("src/a")),
        (file("src/a"), area("src")),
        (area("src"), file("src/a")),
        (area("src"), area("src/b")),
        (area("src/b"), area("")),
        (file("src"), area("src")),
    ] {
        let disk = Disk::new();
        let first = |locks: &Locks<'_>| drop(locks.take("A", &mine));
        let second = |locks: &Locks<'_>| drop(locks.refused("B", from_ref(&theirs)));
        assert!(!is_let_in(&disk, A_WHILE, (0, &first), (0, &second)), "{mine} and {theirs}");
    }
}

/// The area is renewed in its last millisecond; a file in it is wanted in the next one.
#[test]
fn the_renewal_of_an_area_shuts_out_what_is_below() {
    let renewals: [&dyn Fn(&Locks<'_>); 2] = [
        &|locks| drop(crate::lib_world::renewed(locks.renewal("A", &area("src"), None))),
        // As a file, so that only the record says that it is an area.
        &|locks| assert!(!locks.take("A", &file("src")).fresh),
    ];
    for renewal in renewals {
        let disk = Disk::new();
        locks(&disk.store, &ManualClock::new(noon())).take("A", &area("src"));
        // In another shard, whose mutex shuts nobody out.
        let other = (0..).map(|n| file(&format!("src/{n}"))).find(|what| disk.shard(what) != disk.shard(&area("src")));
        let below = |locks: &Locks<'_>| drop(locks.refused("B", from_ref(other.as_ref().expect("one"))));
        assert!(!is_let_in(&disk, A_WHILE, (TTL_MS - 1, renewal), (TTL_MS, &below)));
    }
}

/// Requests for files in different places do not wait for each other.
#[test]
fn other_files_are_let_in_meanwhile() {
    let (mine, elsewhere) = (file("src/a"), |n: &u32| file(&format!("f{n}")));
    let disk = Disk::new();
    let other_shard =
        (0..).find(|n| disk.shard(&elsewhere(n)) != disk.shard(&mine)).map(|n| elsewhere(&n)).expect("one");
    let first = |locks: &Locks<'_>| drop(locks.take("A", &mine));
    let second = |locks: &Locks<'_>| drop(locks.take("B", &other_shard));
    assert!(is_let_in(&disk, LONG_ENOUGH, (0, &first), (0, &second)));
}
