//! The invariants of DESIGN §2 about who holds what (1, 3 to 7), against each store.

use std::slice::from_ref;

use git_agentlock::{
    locks::{Acquired, Conflict, GiveBack, Grant, Holder, Locks, Loss, Release, Renewal, State},
    record::{End, Ended, Reason, Token},
    resource::Resource,
    store::Store,
};

use crate::lib_world::{
    Agents, DAY_MS, Disk, LONGEST_MS, TTL_MS, area, file, in_one_shard, locks, named, noon, on_each_store, owner,
    prolong, record, released, renewed, request, seen, ttl, write_record,
};

fn who_stands_in_the_way(conflicts: &[Conflict]) -> Vec<(String, String)> {
    let name = |holder: &Holder| holder.owner().map_or_else(|| "?".to_owned(), ToString::to_string);
    conflicts.iter().map(|conflict| (conflict.wanted.to_string(), name(&conflict.holder))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(what, who)| ((*what).to_owned(), (*who).to_owned())).collect()
}

fn break_lease(store: &dyn Store, what: &Resource, why: &str) {
    let mut broken = record(store, what);
    let how = End::Broken { by: Some(owner("Boss")), reason: Reason::new(why).expect("a reason") };
    broken.ended = Some(Ended { at: noon(), how });
    write_record(store, broken);
}

#[test]
fn invariant_01_one_owner() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("src/a"));
        let grant = locks.take("A", &what);
        assert!(grant.fresh && grant.stale_owner.is_none());
        assert_eq!((grant.lease.state, grant.lease.remaining_ms), (State::Live, 60_000));
        assert_eq!(grant.lease.expires_at, noon().plus_millis(60_000));
        assert_eq!(who_stands_in_the_way(&locks.refused("B", from_ref(&what))), pairs(&[("src/a", "A")]));
        assert_eq!(locks.holder(&what).as_deref(), Some("A"), "and keeps it after somebody else tried");
        assert_eq!(record(store, &what).owner, owner("A"));
        assert!(locks.take("B", &file("src/b")).fresh, "other paths do not interfere");
        assert!(locks.take("B", &named("file:src/a")).fresh, "nor do named things");
    });
}

#[test]
fn invariant_01_an_expired_lease_has_one_new_owner() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        let first = locks.take("A", &what).lease.token;
        clock.advance(TTL_MS);
        let report = locks.look(&what);
        assert!(report.holders.is_empty());
        assert_eq!(report.stale_owner(), Some(&owner("A")));
        let grant = locks.take("B", &what);
        assert!(grant.fresh && grant.lease.token > first);
        assert_eq!(grant.stale_owner, Some(owner("A")));
        let replaced = grant.lease.replaced.expect("it replaced somebody");
        assert_eq!((replaced.owner, replaced.token), (owner("A"), first));
        assert_eq!(who_stands_in_the_way(&locks.refused("A", from_ref(&what))), pairs(&[("a", "B")]));
        assert_eq!(locks.look(&what).stale_owner(), None);
    });
}

/// A file and an area that contains it are one resource too many.
#[test]
fn invariant_02_overlap_in_both_directions() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &area("src/foo"));
        for free in ["src/foobar", "src/foo.rs", "src/fo", "src"] {
            assert!(locks.take("B", &file(free)).fresh, "{free}");
        }
        for taken in [file("src/foo"), file("src/foo/x/y"), area("src/foo/x"), area("src"), area("")] {
            assert!(!locks.refused("C", from_ref(&taken)).is_empty(), "{taken}");
        }
        assert!(locks.take("A", &area("src/foo/x")).fresh, "what lies inside one's own area can be taken too");
        assert_eq!(locks.holder(&file("src/foo/y")).as_deref(), Some("A"));
    });
}

/// Neither a dead process nor another host nor a restart ends a lease; only its time, to the millisecond.
#[test]
fn invariant_03_a_live_lease_is_never_taken() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        locks.take("A", &what);
        for (host, pid) in [("box", u32::MAX), ("box", 1), ("elsewhere", std::process::id()), ("", 0)] {
            let mut changed = record(store, &what);
            (changed.host, changed.pid) = (host.to_owned(), pid);
            write_record(store, changed);
            assert_eq!(locks.refused("B", from_ref(&what)).len(), 1, "{host} {pid}");
        }
        clock.advance(TTL_MS - 1);
        assert_eq!(locks.refused("B", from_ref(&what)).len(), 1, "a millisecond before its end");
        clock.reboot("another boot");
        assert_eq!(locks.refused("B", from_ref(&what)).len(), 1, "after a restart");
        clock.advance(1);
        assert!(locks.take("B", &what).fresh, "at its end");
    });
}

#[test]
fn invariant_04_owner_only() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        locks.take("A", &what);
        let before = record(store, &what);
        clock.advance(1000);
        // Kin are different owners, and so is whoever is spelt differently.
        for other in ["B", "A/sub", "a"] {
            match locks.renewal(other, &what, None) {
                Renewal::NotOwner(holder) => assert_eq!(holder.owner(), Some(&owner("A"))),
                answer => panic!("{other}: {answer:?}"),
            }
            match locks.giving_back(other, &what, None) {
                Release::NotOwner(holder) => assert_eq!(holder.owner(), Some(&owner("A"))),
                answer => panic!("{other}: {answer:?}"),
            }
            assert_eq!(locks.refused(other, from_ref(&what)).len(), 1);
            assert_eq!(record(store, &what), before, "{other} changed something");
        }
        let lease = renewed(locks.renewal("A", &what, None));
        assert_eq!((lease.remaining_ms, lease.token), (60_000, before.token));
        released(locks.giving_back("A", &what, None));
        assert_eq!(locks.holder(&what), None);
    });
}

/// The sub-agent holds it: its session cannot touch it either.
#[test]
fn invariant_04_kin_are_different_owners() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        locks.take("A/sub", &what);
        for other in ["A", "A/other", "A/sub/sub"] {
            assert!(matches!(locks.renewal(other, &what, None), Renewal::NotOwner(_)), "{other}");
            assert!(matches!(locks.giving_back(other, &what, None), Release::NotOwner(_)), "{other}");
            assert_eq!(locks.refused(other, from_ref(&what)).len(), 1, "{other}");
        }
    });
}

/// Who lost a lease to a takeover cannot end the new one, not even with the new one's token.
#[test]
fn invariant_04_a_former_owner_cannot_end_what_was_taken_over() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        let first = locks.take("A", &what).lease.token;
        clock.advance(TTL_MS);
        let second = locks.take("B", &what).lease.token;
        let before = record(store, &what);
        for token in [None, Some(first), Some(second)] {
            match locks.giving_back("A", &what, token) {
                Release::Lost(Loss::TakenOver(lease)) => assert_eq!(lease.owner, owner("B")),
                answer => panic!("{token:?}: {answer:?}"),
            }
            match locks.renewal("A", &what, token) {
                Renewal::Lost(Loss::TakenOver(lease)) => assert_eq!(lease.owner, owner("B")),
                answer => panic!("{token:?}: {answer:?}"),
            }
        }
        assert_eq!(record(store, &what), before);
        released(locks.giving_back("B", &what, Some(second)));
    });
}

#[test]
fn invariant_05_renew_never_creates() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("src/a"));
        let absent = |covered: bool| match locks.renewal("A", &what, None) {
            Renewal::Lost(Loss::Absent { covered_by }) => assert_eq!(covered_by.is_some(), covered),
            answer => panic!("{answer:?}"),
        };
        absent(false);
        assert_eq!(seen(store, &what), None);
        locks.take("A", &area("src"));
        absent(true);
        assert_eq!(seen(store, &what), None, "an area above it is no lease on it");
        released(locks.giving_back("A", &area("src"), None));
        locks.take("B", &area("src"));
        assert!(matches!(locks.renewal("A", &what, None), Renewal::NotOwner(_)), "somebody else's area");
        clock.advance(TTL_MS);
        absent(false);
    });
}

#[test]
fn invariant_05_renew_never_revives() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        let token = locks.take("A", &what).lease.token;
        clock.advance(TTL_MS - 1);
        renewed(locks.renewal("A", &what, Some(token)));
        clock.advance(TTL_MS - 1);
        assert_eq!(locks.holder(&what).as_deref(), Some("A"), "a renewal in time prevents the expiry");
        clock.advance(1);
        let before = record(store, &what);
        for token in [None, Some(token)] {
            match locks.renewal("A", &what, token) {
                Renewal::Lost(Loss::Expired(lease)) => {
                    assert_eq!((lease.state, lease.remaining_ms, lease.token), (State::Expired, 0, before.token));
                }
                answer => panic!("{answer:?}"),
            }
        }
        assert_eq!(record(store, &what), before);
        assert!(matches!(locks.renewal("B", &what, None), Renewal::Lost(Loss::Absent { .. })), "it was never B's");
    });
}

#[test]
fn invariant_05_the_ways_to_lose_a_lease_have_names() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        let first = locks.take("A", &what).lease.token;
        clock.advance(TTL_MS);
        let second = locks.take("A", &what).lease.token;
        match locks.renewal("A", &what, Some(first)) {
            Renewal::Lost(Loss::OtherToken(lease)) => assert_eq!(lease.token, second),
            answer => panic!("{answer:?}"),
        }
        assert!(matches!(locks.giving_back("A", &what, Some(first)), Release::Lost(Loss::OtherToken(_))));
        assert_eq!(locks.holder(&what).as_deref(), Some("A"), "an older grant's token ends nothing");

        break_lease(store, &what, "gone home");
        let before = record(store, &what);
        match locks.renewal("A", &what, None) {
            Renewal::Lost(Loss::Broken { by, reason, lease, at }) => {
                assert_eq!((by, reason.as_str(), at), (Some(owner("Boss")), "gone home", noon()));
                assert_eq!((lease.token, lease.state), (second, State::Ended));
            }
            answer => panic!("{answer:?}"),
        }
        assert!(matches!(locks.giving_back("A", &what, None), Release::Nothing(Loss::Broken { .. })));
        assert!(matches!(locks.giving_back("A", &what, Some(second)), Release::Lost(Loss::Broken { .. })));
        assert_eq!(record(store, &what), before);
        assert_eq!(locks.holder(&what), None, "what was broken is free");

        let grant = locks.take("B", &what);
        assert!(grant.lease.token > second && grant.stale_owner.is_none());
        assert!(matches!(locks.renewal("A", &what, None), Renewal::Lost(Loss::TakenOver(_))));
    });
}

/// The loser is still told after the winner has gone: the release leaves a record that says so.
#[test]
fn invariant_05_a_takeover_is_told_also_after_its_release() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        let first = locks.take("A", &what).lease.token;
        clock.advance(TTL_MS);
        let second = locks.take("B", &what).lease.token;
        released(locks.giving_back("B", &what, None));
        let left = record(store, &what);
        assert_eq!(left.ended.as_ref().map(|ended| &ended.how), Some(&End::Released));
        assert_eq!(left.replaced.as_ref().map(|replaced| &replaced.owner), Some(&owner("A")));
        assert_eq!(locks.holder(&what), None, "it is free");
        assert_eq!(locks.look(&what).stale_owner(), None);
        assert!(locks.listing().leases.is_empty(), "and no lease to list");
        match locks.renewal("A", &what, Some(first)) {
            Renewal::Lost(Loss::TakenOver(lease)) => assert_eq!((lease.owner, lease.state), (owner("B"), State::Ended)),
            answer => panic!("{answer:?}"),
        }
        assert!(matches!(locks.renewal("B", &what, None), Renewal::Lost(Loss::Absent { .. })));
        assert!(matches!(locks.giving_back("B", &what, None), Release::Nothing(Loss::Absent { .. })));

        let third = locks.take("C", &what);
        assert!(third.lease.token > second && third.stale_owner.is_none());
        for token in [None, Some(first)] {
            assert!(
                matches!(locks.renewal("A", &what, token), Renewal::Lost(Loss::TakenOver(_))),
                "nor does C hide it"
            );
        }
        released(locks.giving_back("C", &what, None));
        let fourth = locks.take("A", &what);
        assert_eq!(fourth.lease.replaced, None, "A has it back");
        released(locks.giving_back("A", &what, None));
        assert_eq!(seen(store, &what), None, "there is nothing left to tell");
    });
}

#[test]
fn invariant_06_re_entrant() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        let first = locks.take("A", &what);
        clock.advance(10_000);
        let Acquired::Granted(again) = locks.ask("A", from_ref(&what), 5_000) else { panic!("it is A's own") };
        assert!(!again[0].fresh && again[0].stale_owner.is_none());
        assert_eq!(again[0].lease.token, first.lease.token);
        assert_eq!(again[0].lease.remaining_ms, 50_000, "never shortened");
        assert_eq!(again[0].lease.acquired_at, noon());
        let Acquired::Granted(longer) = locks.ask("A", from_ref(&what), 120_000) else { panic!("it is A's own") };
        assert_eq!((longer[0].fresh, longer[0].lease.remaining_ms), (false, 120_000));
        let lease = renewed(locks.renewal("A", &what, None));
        assert_eq!(lease.remaining_ms, 120_000, "from now on that is its TTL");
        clock.advance(120_000);
        let new = locks.take("A", &what);
        assert!(new.fresh && new.lease.token > first.lease.token, "one's own expired lease is granted anew");
        assert_eq!(new.stale_owner, Some(owner("A")));
        assert_eq!(new.lease.replaced, None, "and is not lost to anybody");
    });
}

#[test]
fn invariant_06_an_area_is_never_narrowed() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        let token = locks.take("A", &area("src")).lease.token;
        let again = locks.take("A", &file("src"));
        assert_eq!((again.fresh, again.lease.token), (false, token));
        assert_eq!((&again.lease.resource, record(store, &file("src")).resource), (&area("src"), area("src")));
        assert_eq!(locks.refused("B", &[file("src/a")]).len(), 1);
        assert_eq!(renewed(locks.renewal("A", &file("src"), None)).resource, area("src"));
        released(locks.giving_back("A", &file("src"), None));

        let token = locks.take("A", &file("src")).lease.token;
        locks.take("B", &file("src/b"));
        assert_eq!(who_stands_in_the_way(&locks.refused("A", &[area("src")])), pairs(&[("src/", "B")]));
        assert_eq!(record(store, &file("src")).resource, file("src"));
        released(locks.giving_back("B", &file("src/b"), None));
        let wider = locks.take("A", &area("src"));
        assert_eq!(
            (wider.fresh, wider.lease.token, &wider.lease.resource),
            (false, token, &area("src")),
            "but widened"
        );
        assert_eq!(locks.refused("B", &[file("src/b")]).len(), 1);
    });
}

#[test]
fn invariant_06_a_reason_is_kept_until_another_is_given() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        let because = |why: Option<&str>| {
            let mut request = request("A", from_ref(&what), TTL_MS);
            request.reason = why.map(|why| Reason::new(why).expect("a reason"));
            locks.acquire(&request).expect("the store works");
            record(store, &what).reason.map(|reason| reason.as_str().to_owned())
        };
        assert_eq!(because(Some("first")).as_deref(), Some("first"));
        assert_eq!(because(None).as_deref(), Some("first"));
        renewed(locks.renewal("A", &what, None));
        assert_eq!(because(Some("second")).as_deref(), Some("second"));
    });
}

#[test]
fn invariant_07_all_or_nothing() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        let held = locks.take("A", &file("held"));
        locks.take("B", &file("b"));
        locks.take("C", &area("c"));
        clock.advance(1000);
        let before = record(store, &file("held"));
        let wanted = [file("new"), file("held"), file("b"), named("x:1"), file("c/deep/x"), file("z")];
        let conflicts = locks.refused("A", &wanted);
        assert_eq!(who_stands_in_the_way(&conflicts), pairs(&[("b", "B"), ("c/deep/x", "C")]), "every conflict");
        for what in [&wanted[0], &wanted[3], &wanted[4], &wanted[5]] {
            assert_eq!(seen(store, what), None, "{what} was not granted");
        }
        assert_eq!(record(store, &file("held")), before, "what was held before stays, with its old end");
        released(locks.giving_back("B", &file("b"), None));
        released(locks.giving_back("C", &area("c"), None));
        let grants = locks.granted("A", &wanted);
        let told = grants.iter().map(|grant| (grant.lease.resource.clone(), grant.fresh));
        assert_eq!(told.collect::<Vec<_>>(), wanted.clone().map(|what| (what.clone(), what != file("held"))));
        assert_eq!(grants[1].lease.token, held.lease.token);
    });
}

#[test]
fn invariant_07_what_is_named_twice_counts_once() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        let grants = locks.granted("A", &[file("a"), file("b"), file("a"), file("a")]);
        assert_eq!(grants.iter().map(|grant| grant.lease.resource.to_string()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(locks.refused("B", &[file("a"), file("a")]).len(), 1);
        let wants = vec![(file("d"), ttl(TTL_MS)), (area("d"), ttl(2 * TTL_MS)), (file("d"), ttl(TTL_MS))];
        let request = git_agentlock::locks::Request { wants, ..request("A", &[], TTL_MS) };
        let Acquired::Granted(grants) = locks.acquire(&request).expect("the store works").value else { panic!("free") };
        assert_eq!(grants.len(), 1, "the wider and longer of all that is said about it");
        assert_eq!((&grants[0].lease.resource, grants[0].lease.remaining_ms), (&area("d"), 120_000));

        let twice = [prolong(&file("a"), None), prolong(&file("a"), None)];
        let renewals = locks.renew(&owner("A"), &twice, 1).expect("the store works").value;
        assert!(renewals.iter().all(|renewal| matches!(renewal, Renewal::Renewed { .. })), "{renewals:?}");
        let twice = [file("a"), file("a")].map(|resource| GiveBack { resource, token: None });
        let releases = locks.release(&owner("A"), &twice).expect("the store works").value;
        assert!(releases.iter().all(|release| matches!(release, Release::Released(_))), "{releases:?}");
    });
}

/// Renewals and releases treat each resource by itself.
#[test]
fn invariant_07_renew_and_release_do_all_that_can_be_done() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.granted("A", &[file("a"), file("d")]);
        locks.take("B", &file("b"));
        clock.advance(1000);
        let what = ["a", "b", "c", "d"].map(file);
        let items = what.each_ref().map(|what| prolong(what, None));
        match locks.renew(&owner("A"), &items, 1).expect("the store works").value.as_slice() {
            [
                Renewal::Renewed { .. },
                Renewal::NotOwner(_),
                Renewal::Lost(Loss::Absent { .. }),
                Renewal::Renewed { .. },
            ] => {}
            answers => panic!("{answers:?}"),
        }
        assert_eq!(locks.look(&what[3]).holders.len(), 1);
        let items = what.clone().map(|resource| GiveBack { resource, token: None });
        match locks.release(&owner("A"), &items).expect("the store works").value.as_slice() {
            [Release::Released(_), Release::NotOwner(_), Release::Nothing(_), Release::Released(_)] => {}
            answers => panic!("{answers:?}"),
        }
        assert_eq!(what.map(|what| locks.holder(&what)), [None, Some("B".to_owned()), None, None]);
    });
}

/// A renewal lasts as long as it was taken for, or as long as it says, within what the policy allows now.
#[test]
fn a_renewal_is_capped_by_the_policy_of_today() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        locks.take("A", &what);
        clock.advance(50_000);
        let renew = |ms: Option<u64>, cap: u64| {
            let item = git_agentlock::locks::Prolong { ttl: ms.map(ttl), cap: ttl(cap), ..prolong(&what, None) };
            match locks.renew(&owner("A"), &[item], 1).expect("the store works").value.remove(0) {
                Renewal::Renewed { lease, capped } => (lease.remaining_ms, capped),
                answer => panic!("{answer:?}"),
            }
        };
        assert_eq!(renew(None, 20_000), (20_000, true));
        assert_eq!(renew(Some(10_000), LONGEST_MS), (20_000, false), "a later end stays");
        assert_eq!(renew(Some(30_000), LONGEST_MS), (30_000, false));
        assert_eq!(renew(None, LONGEST_MS), (30_000, false));
    });
}

#[test]
fn releasing_what_is_not_there_succeeds_and_an_expired_lease_can_be_given_back() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("a"));
        assert!(matches!(locks.giving_back("A", &what, None), Release::Nothing(Loss::Absent { .. })));
        let token = Token::new(5).expect("a token");
        assert!(matches!(locks.giving_back("A", &what, Some(token)), Release::Nothing(Loss::Absent { .. })));
        locks.take("A", &what);
        clock.advance(TTL_MS);
        assert!(matches!(locks.giving_back("B", &what, None), Release::Nothing(_)), "it was never B's");
        assert!(matches!(locks.giving_back("A", &what, Some(token)), Release::Lost(_)));
        assert!(seen(store, &what).is_some());
        released(locks.giving_back("A", &what, None));
        assert_eq!(seen(store, &what), None);
    });
}

/// What is of no use any more is swept by a grant in its shard, not before its time, and by nobody else.
#[test]
fn expired_leases_are_swept_after_the_time_that_the_policy_keeps_them() {
    let (disk, files) = (Disk::new(), in_one_shard(4));
    let clock = git_agentlock::clock::ManualClock::new(noon());
    let locks: Locks<'_> = locks(&disk.store, &clock);
    locks.take("A", &files[0]);
    clock.advance(TTL_MS + u64::try_from(DAY_MS).expect("a day"));
    locks.take("B", &files[1]);
    assert_eq!(locks.listing().leases.len(), 2, "kept for exactly a day");
    clock.advance(git_agentlock::locks::SWEEP_EVERY_MS);
    locks.listing();
    renewed_or_lost(&locks, &files[1]);
    assert!(seen(&disk.store, &files[0]).is_some(), "only a grant sweeps");
    locks.take("B", &files[2]);
    assert_eq!(seen(&disk.store, &files[0]), None);
    assert!(seen(&disk.store, &files[1]).is_some());
}

fn renewed_or_lost(locks: &Locks<'_>, what: &Resource) {
    assert!(matches!(locks.renewal("B", what, None), Renewal::Lost(Loss::Expired(_))));
}

#[test]
fn grants_of_a_request_have_their_own_ttl() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        let wants = vec![(file("a"), ttl(10_000)), (file("b"), ttl(20_000))];
        let request = git_agentlock::locks::Request { wants, ..request("A", &[], TTL_MS) };
        let Acquired::Granted(grants) = locks.acquire(&request).expect("the store works").value else { panic!("free") };
        let left = |grant: &Grant| (grant.lease.remaining_ms, grant.lease.ttl.millis());
        assert_eq!(grants.iter().map(left).collect::<Vec<_>>(), [(10_000, 10_000), (20_000, 20_000)]);
    });
}
