//! What is remembered of owners, by the library: leases that are renewed while their owner works, on a clock that is moved by hand; and many at once.

use git_agentlock::{
    clock::{Clock as _, ManualClock},
    duration::Ttl,
    locks::{Locks, session::kept},
    resource::Resource,
    store::{Content, Session, Sight, Store as _, file::FileStore},
};

use crate::lib_world::{Agents, Disk, KEEP_MS, TTL_MS, file, locks, noon, owner, ttl};

const THIRD_MS: u64 = TTL_MS / 3;

/// Takes a lease by the hook, which remembers it.
fn take(locks: &Locks<'_>, store: &FileStore, clock: &ManualClock, who: &str, what: &Resource) {
    let lease = locks.take(who, what).lease;
    let now = clock.now();
    store.remember(&owner(who), KEEP_MS, &mut |session| session.keep(what, kept(&lease, &now))).expect("remembered");
}

fn any(_: &Resource) -> Option<Ttl> {
    Some(ttl(3_600_000))
}

/// What a call of the hook does. Returns how many leases were looked after.
fn call(locks: &Locks<'_>, store: &FileStore, who: &str) -> usize {
    let session = store.session(&owner(who));
    let told = locks.renew_due(&session, &any, 1).expect("the store works");
    let mut change =
        |session: &mut Session| told.value.iter().for_each(|(key, token, kept)| session.settle(*key, *token, *kept));
    store.remember(&owner(who), KEEP_MS, &mut change).expect("remembered");
    told.value.len()
}

#[test]
fn an_owner_that_calls_often_enough_never_loses_what_it_holds() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    take(&locks, &disk.store, &clock, "A", &file("a"));
    let token = locks.take("A", &file("a")).lease.token;
    for _ in 0..20 {
        clock.advance(TTL_MS * 2 / 3 - 1);
        call(&locks, &disk.store, "A");
    }
    locks.refused("B", &[file("a")]);
    assert_eq!(locks.take("A", &file("a")).lease.token, token, "one and the same lease for all that time");
}

#[test]
fn nothing_is_written_before_a_third_of_the_ttl_has_passed() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    take(&locks, &disk.store, &clock, "A", &file("a"));
    clock.advance(THIRD_MS - 1);
    let before = disk.tree();
    assert_eq!(call(&locks, &disk.store, "A"), 0);
    assert_eq!(disk.tree(), before);
    clock.advance(1);
    assert_eq!(call(&locks, &disk.store, "A"), 1);
    let lease = locks.listing().leases.remove(0);
    assert_eq!((lease.renewed_at, lease.remaining_ms), (clock.now().wall, 60_000));
}

#[test]
fn a_lease_that_has_ended_is_neither_revived_nor_asked_for_again() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    for (n, name) in ["expired", "taken over", "given back", "taken again"].into_iter().enumerate() {
        let what = file(&format!("f{n}"));
        take(&locks, &disk.store, &clock, "A", &what);
        match name {
            "given back" => drop(locks.giving_back("A", &what, None)),
            "taken again" => {
                locks.giving_back("A", &what, None);
                locks.take("A", &what);
                clock.advance(THIRD_MS);
            }
            _ => clock.advance(TTL_MS),
        }
        if name == "taken over" {
            locks.take("B", &what);
        }
        clock.advance(if name == "given back" { THIRD_MS } else { 0 });
        let before = locks.listing();
        assert_eq!(call(&locks, &disk.store, "A"), 1, "{name}");
        assert_eq!(locks.listing(), before, "{name}");
        assert_eq!(call(&locks, &disk.store, "A"), 0, "{name}: it is forgotten");
    }
}

#[test]
fn of_a_lease_without_a_limit_nothing_is_renewed_and_nothing_longer_than_its_limit() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    take(&locks, &disk.store, &clock, "A", &file("a"));
    clock.advance(THIRD_MS);
    let session = disk.store.session(&owner("A"));
    assert!(locks.renew_due(&session, &|_| None, 1).expect("the store works").value.is_empty(), "another project's");
    locks.renew_due(&session, &|_| Some(ttl(50_000)), 1).expect("the store works");
    assert_eq!(locks.listing().leases[0].remaining_ms, 50_000);
}

#[test]
fn renewing_reads_nothing_but_what_is_due() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    take(&locks, &disk.store, &clock, "A", &file("a"));
    locks.take("B", &file("b"));
    // A scan would stumble over this.
    let other = disk.record_path(&file("b"));
    std::fs::remove_file(&other).expect("removed");
    std::fs::create_dir(&other).expect("a directory in its place");
    clock.advance(THIRD_MS);
    assert_eq!(call(&locks, &disk.store, "A"), 1);
    assert_eq!(locks.look(&file("a")).holders.len(), 1);
}

#[test]
fn what_many_calls_at_once_remember_is_all_remembered() {
    let disk = Disk::new();
    let sight = Sight { content: Content::Missing, under: None };
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = disk.store.clone();
            scope.spawn(move || {
                for n in 0..20 {
                    let what = file(&format!("{thread}/{n}"));
                    store.remember(&owner("A"), KEEP_MS, &mut |session| session.saw(&what, sight)).expect("remembered");
                }
            });
        }
    });
    assert_eq!(disk.store.session(&owner("A")).notes().count(), 160);
    assert!(disk.temps().is_empty());
    assert_eq!(disk.store.diagnose().expect("it can be looked at"), []);
}

#[test]
fn what_is_remembered_is_no_record() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    let sight = Sight { content: Content::Missing, under: None };
    for who in ["A", "A/x", "B"] {
        disk.store.remember(&owner(who), KEEP_MS, &mut |session| session.saw(&file("a"), sight)).expect("remembered");
    }
    assert!(locks.listing().leases.is_empty() && locks.listing().unreadable.is_empty());
    assert_eq!(locks.prune(&|_| true, false).expect("the store works").value.leases, []);
    assert!(disk.store.view(&git_agentlock::store::ReadSet::everything()).expect("a view").iter().next().is_none());
    disk.store.forget(&|who| *who == owner("A")).expect("forgotten");
    let left = |who: &str| !disk.store.session(&owner(who)).is_empty();
    assert_eq!([left("A"), left("A/x"), left("B")], [false, true, true]);
    let nobody = Disk::new();
    nobody.store.forget(&|_| true).expect("nothing to forget");
    nobody.store.forget_the_old(0).expect("nothing to forget");
    assert!(nobody.store.session(&owner("A")).is_empty() && !nobody.v1().exists(), "looking makes nothing");
}
