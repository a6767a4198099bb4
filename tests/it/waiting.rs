//! Waiting, and whose turn it is, on a clock that is moved by hand.

use std::{
    cell::{Cell, RefCell},
    slice::from_ref,
};

use git_agentlock::{
    clock::{Clock, ManualClock},
    locks::{Acquired, Conflict, Holder, Locks, Patience, Renewal, Waited},
    resource::Resource,
    store::{Store, Ticket},
};

use crate::lib_world::{
    Agents, Disk, Eventful, TTL_MS, area, file, locks, noon, on_each_store, owner, released, request,
};

/// A ticket of somebody who waits, seen alive just now.
fn ticket(clock: &ManualClock, name: &str, who: &str, wants: &[Resource]) -> Ticket {
    let (arrived, polled) = (clock.now(), clock.now());
    Ticket { name: name.to_owned(), owner: owner(who), arrived, polled, wants: wants.to_vec() }
}

fn queue(store: &dyn Store, ticket: &Ticket) {
    store.enqueue(ticket).expect("it is queued");
}

/// Waits; `sleep` is what happens meanwhile.
fn wait(
    locks: &Locks<'_>,
    who: &str,
    what: &[Resource],
    wait_ms: u64,
    sleep: &dyn Fn(u64),
    cancelled: &dyn Fn() -> bool,
) -> (Waited, Vec<Vec<Conflict>>) {
    let mut told = Vec::new();
    let mut begin = |conflicts: &[Conflict]| told.push(conflicts.to_vec());
    let patience =
        Patience { wait_ms, begin: &mut begin, cancelled, sleep, ticket_name: format!("t-{}", who.to_lowercase()) };
    let waited = locks.acquire_waiting(&request(who, what, TTL_MS), patience).expect("the store works");
    assert_eq!(waited.warnings, [""; 0]);
    (waited.value, told)
}

fn no_tickets(store: &dyn Store) -> bool {
    let read = git_agentlock::store::ReadSet::only_the_queue();
    store.view(&read).expect("the queue").queue.is_empty()
}

const NEVER: &dyn Fn() -> bool = &|| false;

#[test]
fn what_is_free_is_had_at_once_without_a_word() {
    on_each_store(|store, clock| {
        let (waited, told) = wait(&locks(store, clock), "A", &[file("a")], 1000, &|_| panic!("no sleep"), NEVER);
        assert!(matches!(waited, Waited::Answered(Acquired::Granted(_))));
        assert!(told.is_empty());
    });
}

#[test]
fn a_waiter_is_told_once_and_served_when_the_lease_ends() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &file("a"));
        clock.advance(TTL_MS - 500);
        let (waited, told) = wait(&locks, "B", &[file("a")], 2000, &|ms| clock.advance(ms), NEVER);
        match waited {
            Waited::Answered(Acquired::Granted(grants)) => assert_eq!(grants[0].stale_owner, Some(owner("A"))),
            other => panic!("{other:?}"),
        }
        assert_eq!(clock.now().wall.since(noon()), 60_000, "at the very millisecond of the expiry");
        assert_eq!(told.len(), 1, "one word");
        assert_eq!(told[0][0].holder.owner(), Some(&owner("A")));
        assert!(no_tickets(store));
    });
}

#[test]
fn a_waiter_is_served_within_100_ms_of_a_release() {
    for release_at in (1000..1160).step_by(10) {
        let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
        let locks = locks(&disk.store, &clock);
        locks.take("A", &file("a"));
        let now = || u64::try_from(clock.now().wall.since(noon())).expect("after noon");
        let sleep = |ms: u64| {
            // It is released in the midst of a sleep.
            let before = release_at - now().min(release_at);
            if (1..=ms).contains(&before) {
                clock.advance(before);
                released(locks.giving_back("A", &file("a"), None));
                clock.advance(ms - before);
            } else {
                clock.advance(ms);
            }
        };
        let (waited, _) = wait(&locks, "B", &[file("a")], 5000, &sleep, NEVER);
        assert!(matches!(waited, Waited::Answered(Acquired::Granted(_))));
        assert!(now() - release_at < 100, "released at {release_at}, had at {}", now());
    }
}

#[test]
fn waiting_ends_at_its_deadline_with_nothing_held() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &file("a"));
        let (waited, _) = wait(&locks, "B", &[file("b"), file("a")], 2000, &|ms| clock.advance(ms), NEVER);
        match waited {
            Waited::Answered(Acquired::Refused(conflicts)) => assert_eq!(conflicts[0].wanted, file("a")),
            other => panic!("{other:?}"),
        }
        assert_eq!(clock.now().wall.since(noon()), 2000);
        assert_eq!(locks.holder(&file("b")), None);
        assert!(no_tickets(store));
    });
}

#[test]
fn without_time_to_wait_there_is_one_try_and_no_ticket() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &file("a"));
        let (waited, told) = wait(&locks, "B", &[file("a")], 0, &|_| panic!("no sleep"), NEVER);
        assert!(matches!(waited, Waited::Answered(Acquired::Refused(_))));
        assert!(told.is_empty());
    });
}

#[test]
fn a_step_of_the_wall_clock_neither_ends_the_waiting_nor_prolongs_it() {
    for step in [-86_400_000, 86_400_000] {
        let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
        let locks = locks(&disk.store, &clock);
        locks.take("A", &file("a"));
        let (slept, stepped) = (Cell::new(0), Cell::new(false));
        let sleep = |ms| {
            slept.set(slept.get() + ms);
            clock.advance(ms);
            if !stepped.replace(true) {
                clock.step_wall(step);
            }
        };
        wait(&locks, "B", &[file("a")], 2000, &sleep, NEVER);
        assert_eq!(slept.get(), 2000, "stepped by {step}");
    }
}

#[test]
fn a_cancelled_waiter_holds_nothing_and_leaves_no_ticket() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &file("a"));
        let slept = Cell::new(0);
        let sleep = |ms| {
            slept.set(slept.get() + ms);
            clock.advance(ms);
        };
        let (waited, _) = wait(&locks, "B", &[file("b"), file("a")], 60_000, &sleep, &|| slept.get() > 1500);
        assert_eq!(waited, Waited::Cancelled);
        assert_eq!(locks.holder(&file("b")), None);
        assert!(no_tickets(store));
    });
}

/// Invariant 16: the clock is asked once more right before the grant can be seen.
#[test]
fn invariant_16_nothing_is_granted_past_the_deadline() {
    let last_read = {
        let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
        waiter_with_an_event(&disk, &clock, u32::MAX).1
    };
    // The first reading is the beginning of the waiting; the last one looks back at what was granted.
    for read in 2..last_read {
        let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
        let (waited, _) = waiter_with_an_event(&disk, &clock, read);
        let is_late = clock.now().wall.since(noon()) >= 2000;
        let plain = locks(&disk.store, &clock);
        match waited {
            Waited::Answered(Acquired::Granted(_)) => assert!(!is_late, "read {read}"),
            _ => assert_eq!(plain.holder(&file("b")), None, "read {read}"),
        }
    }
}

/// B waits for two seconds; A releases after one; at the n-th reading of the clock three seconds pass at once.
fn waiter_with_an_event(disk: &Disk, clock: &ManualClock, n: u32) -> (Waited, u32) {
    let plain = locks(&disk.store, clock);
    plain.take("A", &file("a"));
    let eventful = Eventful::new(clock, n, || clock.advance(3000));
    let watched = locks(&disk.store, &eventful);
    let sleep = |ms| {
        clock.advance(ms);
        if clock.now().wall.since(noon()) >= 1000 {
            plain
                .release(&owner("A"), &[git_agentlock::locks::GiveBack { resource: file("a"), token: None }])
                .expect("released");
        }
    };
    let (waited, _) = wait(&watched, "B", &[file("b"), file("a")], 2000, &sleep, NEVER);
    (waited, eventful.reads())
}

#[test]
fn first_come_first_served() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        queue(store, &ticket(clock, "first", "B", from_ref(&what)));
        clock.advance(10);
        let conflicts = locks.refused("C", from_ref(&what));
        match &conflicts[0].holder {
            Holder::Waiting { owner: who, since } => assert_eq!((who, *since), (&owner("B"), noon())),
            other => panic!("{other:?}"),
        }
        assert_eq!(locks.holder(&what), None, "it is not held, only promised");
        locks.take("B", &what);
    });
}

#[test]
fn a_younger_waiter_leaves_it_to_an_older_one() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        locks.take("A", &what);
        let mut older = ticket(clock, "older", "B", from_ref(&what));
        queue(store, &older);
        clock.advance(1);
        let is_released = Cell::new(false);
        let older = RefCell::new(&mut older);
        let sleep = |ms| {
            clock.advance(ms);
            let at = clock.now().wall.since(noon());
            if at >= 1000 && !is_released.replace(true) {
                released(locks.giving_back("A", &what, None));
            }
            if at < 8000 {
                older.borrow_mut().polled = clock.now();
                queue(store, &older.borrow());
            } else {
                store.dequeue("older");
            }
        };
        let (waited, _) = wait(&locks, "C", from_ref(&what), 60_000, &sleep, NEVER);
        assert!(matches!(waited, Waited::Answered(Acquired::Granted(_))));
        let at = clock.now().wall.since(noon());
        assert!((8000..8200).contains(&at), "as long as the older one waits, and no longer: {at}");
    });
}

#[test]
fn a_younger_ticket_does_not_block_an_older_waiter() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        locks.take("A", &what);
        let done = Cell::new(false);
        let sleep = |ms| {
            clock.advance(ms);
            queue(store, &ticket(clock, "younger", "C", from_ref(&what)));
            if !done.replace(true) {
                released(locks.giving_back("A", &what, None));
            }
        };
        let (waited, _) = wait(&locks, "B", from_ref(&what), 5000, &sleep, NEVER);
        assert!(matches!(waited, Waited::Answered(Acquired::Granted(_))));
        assert!(clock.now().wall.since(noon()) < 200);
    });
}

#[test]
fn a_ticket_counts_for_three_seconds_after_its_last_poll() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        queue(store, &ticket(clock, "dead", "B", from_ref(&what)));
        clock.advance(2999);
        locks.refused("C", from_ref(&what));
        clock.advance(1);
        locks.take("C", &what);
    });
}

#[test]
fn a_ticket_of_another_boot_is_dead() {
    on_each_store(|store, clock| {
        queue(store, &ticket(clock, "dead", "B", &[file("a")]));
        clock.reboot("boot-2");
        locks(store, clock).take("C", &file("a"));
    });
}

#[test]
fn a_ticket_that_is_blocked_elsewhere_blocks_nobody() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &file("b"));
        queue(store, &ticket(clock, "large", "B", &[file("a"), file("b")]));
        locks.take("C", &file("a"));
        released(locks.giving_back("C", &file("a"), None));
        released(locks.giving_back("A", &file("b"), None));
        locks.refused("C", &[file("a")]);
        locks.take("C", &file("unrelated"));
    });
}

#[test]
fn tickets_for_areas_and_files_are_respected_both_ways() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        queue(store, &ticket(clock, "area", "B", &[area("src")]));
        locks.refused("C", &[file("src/a")]);
        locks.take("C", &file("other"));
        store.dequeue("area");
        queue(store, &ticket(clock, "file", "B", &[file("src/a")]));
        locks.refused("C", &[area("src")]);
        locks.refused("C", &[area("")]);
        locks.take("C", &file("src/b"));
    });
}

#[test]
fn tickets_block_neither_what_one_holds_nor_renewals_nor_their_own_owner() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &file("a"));
        queue(store, &ticket(clock, "b", "B", &[file("a")]));
        assert!(!locks.take("A", &file("a")).fresh, "re-entrant");
        assert!(matches!(locks.renewal("A", &file("a"), None), Renewal::Renewed { .. }));
        released(locks.giving_back("A", &file("a"), None));
        locks.take("B", &file("a"));
    });
}

#[test]
fn who_holds_what_an_older_waiter_needs_is_not_blocked_by_it() {
    on_each_store(|store, clock| {
        let (locks, x, y) = (locks(store, clock), file("x"), file("y"));
        locks.take("B", &x);
        locks.take("D", &y);
        queue(store, &ticket(clock, "older", "A", &[x.clone(), y.clone()]));
        released(locks.giving_back("D", &y, None));
        locks.take("B", &y);
    });
}

#[test]
fn damaged_and_foreign_files_in_the_queue_are_passed_over() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    queue(&disk.store, &ticket(&clock, "fine", "B", &[file("a")]));
    let dir = disk.v1().join("queue");
    std::fs::write(dir.join("half.ticket"), "{\"v\":1").expect("written");
    std::fs::write(dir.join("README"), "x").expect("written");
    std::fs::create_dir(dir.join("dir.ticket")).expect("a directory");
    locks.refused("C", &[file("a")]);
    locks.take("C", &file("b"));
}
