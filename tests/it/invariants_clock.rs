//! Invariant 15: what the clocks may do to leases, and what not.

use std::slice::from_ref;

use git_agentlock::{
    clock::{ManualClock, Timestamp},
    locks::{Acquired, Holder, Loss, Renewal, State},
    record::Record,
    store::Store,
};

use crate::lib_world::{
    Agents, DAY_MS, TTL_MS, area, file, locks, noon, on_each_store, owner, record, renewed, write_record,
};

fn year(year: u32) -> Timestamp {
    format!("{year}-01-01T00:00:00Z").parse().expect("a time")
}

#[test]
fn invariant_15_a_step_of_the_wall_clock_changes_no_lease_of_this_boot() {
    let to = |year: Timestamp| year.since(noon());
    for step in [DAY_MS, -DAY_MS, to(year(1960)), to(year(2200)), i64::MAX, i64::MIN] {
        on_each_store(|store, clock| {
            let (locks, what) = (locks(store, clock), file("a"));
            let token = locks.take("A", &what).lease.token;
            clock.step_wall(step);
            clock.advance(TTL_MS - 1);
            let Holder::Lease(lease) = locks.look(&what).holders.remove(0) else { panic!("it can be read") };
            assert_eq!((lease.state, lease.remaining_ms), (State::Live, 1), "not ended early: {step}");
            assert_eq!(locks.refused("B", from_ref(&what)).len(), 1, "{step}");
            renewed(locks.renewal("A", &what, Some(token)));
            clock.step_wall(step.saturating_neg());
            clock.advance(TTL_MS - 1);
            assert_eq!(locks.holder(&what).as_deref(), Some("A"), "{step}");
            clock.advance(1);
            assert_eq!(locks.holder(&what), None, "not prolonged: {step}");
            let grant = locks.take("B", &what);
            assert!(grant.lease.token > token);
        });
    }
}

/// Under a clock before 1970 or far ahead leases work as ever.
#[test]
fn invariant_15_any_year_will_do() {
    for start in
        [year(1960), year(1970), year(2200), Timestamp::from_millis(i64::MIN), Timestamp::from_millis(i64::MAX)]
    {
        on_each_store(|store, _| {
            let clock = ManualClock::new(start);
            let (locks, what) = (locks(store, &clock), file("a"));
            let first = locks.take("A", &what).lease.token;
            assert_eq!(locks.refused("B", from_ref(&what)).len(), 1, "{start}");
            clock.advance(TTL_MS - 1);
            renewed(locks.renewal("A", &what, None));
            clock.advance(TTL_MS);
            assert!(matches!(locks.renewal("A", &what, None), Renewal::Lost(Loss::Expired(_))), "{start}");
            assert!(locks.take("B", &what).lease.token > first, "{start}");
            assert_eq!(locks.listing().leases.len(), 1);
        });
    }
}

#[test]
fn invariant_15_shown_times_follow_the_remaining_time() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        locks.take("A", &what);
        clock.step_wall(DAY_MS);
        clock.advance(10_000);
        let Holder::Lease(lease) = locks.look(&what).holders.remove(0) else { panic!("it can be read") };
        assert_eq!(lease.expires_at, noon().plus_millis(DAY_MS + 60_000));
        assert_eq!(lease.acquired_at, noon().plus_millis(DAY_MS));
        assert_eq!(locks.listing().leases[0].expires_at, lease.expires_at);
    });
}

/// Across reboots, and where the system does not name its boots, the wall clock rules.
#[test]
fn invariant_15_across_reboots_the_wall_clock_rules() {
    let restarts: [fn(&ManualClock); 2] = [|clock| clock.reboot("boot-2"), ManualClock::forget_boot];
    for restart in restarts {
        on_each_store(|store, clock| {
            let (locks, what) = (locks(store, clock), file("a"));
            let token = locks.take("A", &what).lease.token;
            clock.advance(20_000);
            restart(clock);
            clock.step_wall(39_999);
            assert_eq!(locks.refused("B", from_ref(&what)).len(), 1);
            let lease = renewed(locks.renewal("A", &what, Some(token)));
            assert_eq!(lease.remaining_ms, 60_000);
            let now_it_is_of = record(store, &what).boot.map(|boot| boot.id);
            assert!(now_it_is_of.is_none_or(|id| id == "boot-2"), "renewed on the clock of today");
            clock.advance(60_000);
            assert_eq!(locks.holder(&what), None);
            assert!(locks.take("B", &what).fresh);
        });
    }
}

#[test]
fn invariant_15_a_lease_of_an_earlier_boot_ends_by_the_wall_clock() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        locks.take("A", &what);
        clock.reboot("boot-2");
        clock.step_wall(60_000);
        assert!(matches!(locks.renewal("A", &what, None), Renewal::Lost(Loss::Expired(_))));
        assert_eq!(locks.take("B", &what).stale_owner, Some("A".parse().expect("an owner")));
    });
}

/// A record from the future is held; the first refused request makes it end one TTL from now, a look does not.
#[test]
fn invariant_15_a_record_from_the_future_is_brought_back_by_the_first_refusal() {
    let to_future: [fn(&ManualClock); 2] = [
        |clock| {
            clock.reboot("boot-2");
            clock.step_wall(-DAY_MS);
        },
        |clock| {
            clock.forget_boot();
            clock.step_wall(-365 * DAY_MS);
        },
    ];
    for set_back in to_future {
        on_each_store(|store, clock| {
            let (locks, what) = (locks(store, clock), file("a"));
            locks.granted("A", &[what.clone(), file("b")]);
            set_back(clock);
            let before = record(store, &what);
            assert_eq!(locks.holder(&what).as_deref(), Some("A"), "it is held");
            locks.listing();
            assert_eq!(record(store, &what), before, "looking changes nothing");

            assert_eq!(locks.refused("B", &[what.clone(), file("c")]).len(), 1);
            let after = record(store, &what);
            assert_eq!((&after.owner, after.token), (&before.owner, before.token));
            clock.advance(TTL_MS - 1);
            assert_eq!(locks.refused("B", from_ref(&what)).len(), 1, "one TTL from the first refusal");
            clock.advance(1);
            assert!(locks.take("B", &what).fresh, "and no longer, whoever asks meanwhile");
            assert_eq!(locks.refused("B", &[file("b")]).len(), 1, "nobody had asked for this one");
        });
    }
}

/// Its own owner brings a record from the future back as well: by renewing it.
#[test]
fn invariant_15_a_renewal_brings_a_record_from_the_future_back() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        locks.take("A", &what);
        clock.reboot("boot-2");
        clock.step_wall(-DAY_MS);
        assert_eq!(renewed(locks.renewal("A", &what, None)).remaining_ms, 60_000);
        clock.advance(TTL_MS);
        assert_eq!(locks.holder(&what), None);
    });
}

fn with(store: &dyn Store, clock: &ManualClock, change: impl Fn(&mut Record)) {
    locks(store, clock).take("A", &file("a"));
    let mut record = record(store, &file("a"));
    change(&mut record);
    write_record(store, record);
}

/// Times that nobody could have meant do not panic, and end one TTL after the first refusal.
#[test]
fn invariant_15_hostile_times_neither_panic_nor_last() {
    let far = Timestamp::from_millis(i64::MAX);
    let hostile: [&dyn Fn(&mut Record); 4] = [
        &|record| record.boot.as_mut().expect("a boot").deadline_ms = u64::MAX,
        &|record| (record.boot, record.expires_at) = (None, far),
        &|record| (record.boot, record.expires_at, record.acquired_at, record.renewed_at) = (None, far, far, far),
        &|record| {
            record.boot = None;
            (record.expires_at, record.acquired_at) = (far, Timestamp::from_millis(i64::MIN));
        },
    ];
    for change in hostile {
        on_each_store(|store, clock| {
            with(store, clock, change);
            let (locks, what) = (locks(store, clock), file("a"));
            assert_eq!(locks.listing().leases.len(), 1);
            assert_eq!(locks.refused("B", from_ref(&what)).len(), 1);
            clock.advance(TTL_MS);
            assert!(matches!(locks.ask("B", from_ref(&what), TTL_MS), Acquired::Granted(_)));
        });
    }
    on_each_store(|store, clock| {
        with(store, clock, |record| {
            record.boot = None;
            record.expires_at = Timestamp::from_millis(i64::MIN);
        });
        assert!(locks(store, clock).take("B", &file("a")).fresh, "long past");
    });
}

/// What had expired when somebody was granted what overlaps it does not live again when the clock is set back across a restart.
#[test]
fn invariant_15_what_was_expired_beside_a_grant_never_lives_again() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("B", &file("a"));
        locks.take("C", &area("src"));
        clock.advance(TTL_MS);
        let area_of_all = locks.take("A", &area(""));
        assert_eq!(area_of_all.stale_owner, None, "its own key was free");
        assert_eq!(locks.look(&file("a")).stale_owner(), Some(&owner("B")), "the stale owner is still told");
        assert!(matches!(locks.renewal("C", &area("src"), None), Renewal::NotOwner(_) | Renewal::Lost(_)));
        clock.reboot("boot-2");
        clock.step_wall(-2 * DAY_MS);
        assert_eq!(locks.holder(&file("a")).as_deref(), Some("A"), "one owner");
        assert_eq!(locks.holder(&file("src/x")).as_deref(), Some("A"));
        assert!(matches!(locks.renewal("B", &file("a"), None), Renewal::Lost(Loss::Expired(_))));
    });
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("B", &area("src"));
        clock.advance(TTL_MS);
        locks.take("A", &file("src/deep/a"));
        clock.forget_boot();
        clock.step_wall(-DAY_MS);
        assert_eq!(locks.holder(&file("src/deep/a")).as_deref(), Some("A"));
        assert_eq!(locks.holder(&file("src/b")), None);
    });
}
