//! Invariant 9: what cannot be read is not free, does not stand in the way of anything else, and ends some day.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::Path,
    slice::from_ref,
};

use git_agentlock::{
    clock::ManualClock,
    locks::{GiveBack, Holder, Locks, Release, Renewal},
    resource::Resource,
    store::{Seen, StoreError, Unreadable, memory::MemoryStore},
};
use rustix::fs::{CWD, FileType, Mode};

use crate::lib_world::{
    Agents, Disk, LONGEST_MS, TTL_MS, area, failure, file, locks, noon, owner, prolong, request, seen, set_changed,
};

type Damage = (&'static str, fn(&Path, &[u8]));

/// Ways in which what stands at a record's name is no record.
const DAMAGES: [Damage; 14] = [
    ("0 bytes", |path, _| fs::write(path, b"").expect("written")),
    ("first half", |path, whole| fs::write(path, &whole[..whole.len() / 2]).expect("written")),
    ("no newline", |path, whole| fs::write(path, &whole[..whole.len() - 1]).expect("written")),
    ("trailing garbage", |path, whole| fs::write(path, [whole, b"{}\n"].concat()).expect("written")),
    ("null", |path, _| fs::write(path, b"null\n").expect("written")),
    ("wrong type", |path, _| fs::write(path, b"{\"v\":1,\"owner\":[],\"token\":\"x\"}\n").expect("written")),
    ("a number", |path, _| fs::write(path, b"4711\n").expect("written")),
    ("NUL bytes", |path, whole| fs::write(path, vec![0; whole.len()]).expect("written")),
    ("another version", |path, _| fs::write(path, b"{\"v\":2}\n").expect("written")),
    ("not UTF-8", |path, _| fs::write(path, b"\xff\xfe\x1b[2J\n").expect("written")),
    ("5 MB of noise", |path, _| {
        let noise: Vec<u8> = (0..5_000_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
        fs::write(path, noise).expect("written");
    }),
    ("a FIFO", |path, _| rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("made")),
    ("a symbolic link", |path, whole| {
        // Even to a good record: the store does not follow links.
        let elsewhere = path.with_file_name("elsewhere");
        fs::write(&elsewhere, whole).expect("written");
        symlink(elsewhere, path).expect("linked");
    }),
    ("a directory", |path, _| fs::create_dir(path).expect("made")),
];

/// `src/a` was A's, and now something else is at its place, with this moment's file time.
fn damaged(disk: &Disk, locks: &Locks<'_>, damage: Damage) -> Resource {
    let what = file("src/a");
    locks.take("A", &what);
    locks.take("A", &file("other"));
    let path = disk.record_path(&what);
    let whole = disk.record_bytes(&what);
    fs::remove_file(&path).expect("removed");
    damage.1(&path, &whole);
    set_changed(&path, noon());
    what
}

#[test]
fn invariant_09_unreadable_is_not_free() {
    for damage in DAMAGES {
        let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
        let locks = locks(&disk.store, &clock);
        let (name, what) = (damage.0, damaged(&disk, &locks, damage));
        let before = disk.tree();
        let ends = noon().plus_millis(i64::try_from(LONGEST_MS).expect("fits"));
        clock.advance(LONGEST_MS - 1);
        match locks.look(&what).holders.as_slice() {
            [Holder::Unknown { record, until }] => {
                assert_eq!((*until, &record.place), (Some(ends), &disk.record_path(&what)), "{name}");
                assert!(
                    !record.cause.is_empty() && !record.cause.contains(char::is_control),
                    "{name}: {}",
                    record.cause
                );
            }
            holders => panic!("{name}: {holders:?}"),
        }
        // Not even its former owner: nobody knows whose it is.
        for who in ["A", "B"] {
            let conflicts = locks.refused(who, &[file("free"), what.clone()]);
            assert!(matches!(conflicts.as_slice(), [one] if one.holder.owner().is_none()), "{name}: {conflicts:?}");
            assert!(matches!(locks.renewal(who, &what, None), Renewal::Unknown(_)), "{name}");
            assert!(matches!(locks.giving_back(who, &what, None), Release::Unknown(_)), "{name}");
        }
        let listing = locks.listing();
        assert_eq!(listing.unreadable.len(), 1, "{name}");
        assert_eq!(
            listing.leases.iter().map(|lease| lease.resource.to_string()).collect::<Vec<_>>(),
            ["other"],
            "{name}"
        );
        let mut after = disk.tree();
        // A refused request may make the shard it wants and lock mutexes; what is there stays as it was.
        after.retain(|path, _| before.contains_key(path) && path.extension().is_some());
        assert!(after.iter().all(|(path, state)| before[path] == *state), "{name}");

        clock.advance(1);
        assert_eq!(locks.holder(&what), None, "{name} is believed no longer");
        assert_eq!(locks.listing().unreadable.len(), 1, "{name} is still reported");
    }
}

#[test]
fn invariant_09_what_is_unreadable_for_long_enough_can_be_taken() {
    for damage in DAMAGES {
        let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
        let locks = locks(&disk.store, &clock);
        let (name, what) = (damage.0, damaged(&disk, &locks, damage));
        clock.advance(LONGEST_MS);
        if name == "a directory" {
            // Only a person can tell what is in it.
            let failed = failure(locks.acquire(&request("B", &[file("free"), what.clone()], TTL_MS)));
            assert!(matches!(failed, StoreError::Io { .. }), "{failed}");
            assert_eq!(locks.holder(&file("free")), None, "all or nothing");
            assert!(disk.record_path(&what).is_dir() && disk.temps().is_empty());
            continue;
        }
        let grant = locks.take("B", &what);
        assert!(grant.fresh && grant.stale_owner.is_none(), "{name}");
        assert_eq!(locks.holder(&what).as_deref(), Some("B"), "{name}");
        assert!(locks.listing().unreadable.is_empty(), "{name}");
        assert!(disk.record_path(&what).symlink_metadata().expect("there").is_file(), "{name}");
    }
}

/// It may be an area above what is wanted, and it may be anything below an area; it is nothing beside.
#[test]
fn invariant_09_unreadable_may_be_an_area_above_or_a_file_below() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    let what = damaged(&disk, &locks, DAMAGES[0]);
    for taken in [file("src/a/below"), area("src/a"), area("src"), area("elsewhere")] {
        let conflicts = locks.refused("B", from_ref(&taken));
        assert!(conflicts.iter().any(|conflict| conflict.holder.owner().is_none()), "{taken}");
        assert_eq!(locks.holder(&taken).as_deref(), Some("?"), "{taken}");
    }
    for free in [file("src"), file("src/ab"), file("src/b")] {
        assert!(locks.take("B", &free).fresh, "{free}");
    }
    assert!(matches!(locks.renewal("A", &file("src/a/below"), None), Renewal::NotOwner(_) | Renewal::Unknown(_)));
    assert!(matches!(seen(&disk.store, &what), Some(Seen::Unreadable(_))));
}

/// One damaged record in a batch of renewals and releases keeps none of the others from being done.
#[test]
fn invariant_09_the_other_records_of_a_call_are_handled() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    let what = damaged(&disk, &locks, DAMAGES[4]);
    clock.advance(1000);
    let items = [prolong(&what, None), prolong(&file("other"), None)];
    let renewals = locks.renew(&owner("A"), &items, 1).expect("the store works").value;
    assert!(matches!(renewals.as_slice(), [Renewal::Unknown(_), Renewal::Renewed { .. }]), "{renewals:?}");
    let items = [what, file("other")].map(|resource| GiveBack { resource, token: None });
    let releases = locks.release(&owner("A"), &items).expect("the store works").value;
    assert!(matches!(releases.as_slice(), [Release::Unknown(_), Release::Released(_)]), "{releases:?}");
}

/// A good record at another resource's name is nobody's lease on that resource.
#[test]
fn invariant_09_a_misplaced_record_is_unreadable() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    locks.granted("A", &[file("a"), file("b")]);
    fs::copy(disk.record_path(&file("a")), disk.record_path(&file("b"))).expect("copied");
    // The same name in another shard is another key's.
    let wrong_shard = if disk.shard(&file("a")).ends_with("0") { "1" } else { "0" };
    fs::create_dir_all(disk.v1().join(wrong_shard)).expect("made");
    let name = disk.record_path(&file("a")).file_name().expect("a name").to_owned();
    fs::copy(disk.record_path(&file("a")), disk.v1().join(wrong_shard).join(name)).expect("copied");

    let Some(Seen::Unreadable(unreadable)) = seen(&disk.store, &file("b")) else { panic!("it is not b's") };
    assert!(unreadable.cause.contains("another resource (a)"), "{}", unreadable.cause);
    let listing = locks.listing();
    assert_eq!((listing.leases.len(), listing.unreadable.len()), (1, 2));
    assert_eq!(locks.holder(&file("a")).as_deref(), Some("A"));
}

/// What has another form of name than a record has is none of ours.
#[test]
fn invariant_09_names_that_are_no_records_are_ignored() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    locks.take("A", &file("a"));
    let shard = disk.shard(&file("a"));
    let hex = file("a").key().to_hex();
    let odd = ["README", ".lock", "x.lock", &format!("{}.LOCK", &hex[1..]), &format!("{hex}.lock"), &hex[1..]];
    for name in odd {
        fs::write(shard.join(name), b"garbage").expect("written");
    }
    fs::write(shard.join(std::ffi::OsStr::from_bytes(b"\xff.lock")), b"garbage").expect("written");
    fs::create_dir(disk.v1().join("g")).expect("made");
    fs::create_dir(disk.v1().join("10")).expect("made");
    fs::write(disk.v1().join("note.lock"), b"garbage").expect("written");
    let mut before = disk.tree();
    before.retain(|path, _| odd.iter().any(|name| path.ends_with(name)) || path.ends_with("note.lock"));
    assert_eq!(before.len(), odd.len() + 1);
    let names: BTreeSet<_> = disk.tree().into_keys().collect();
    clock.advance(TTL_MS + 90_000_000);
    assert!(locks.listing().unreadable.is_empty());
    locks.take("B", &file("a"));
    let after = disk.tree();
    assert!(before.iter().all(|(path, state)| after[path] == *state), "a sweep leaves them");
    assert_eq!(after.into_keys().collect::<BTreeSet<_>>(), names);
}

/// Without a file time nobody can say until when: it is held until a person moves it away.
#[test]
fn invariant_09_without_a_file_time_there_is_no_end() {
    let (store, clock, what) = (MemoryStore::new(), ManualClock::new(noon()), file("a"));
    let unreadable = Unreadable { place: "somewhere".into(), cause: "broken".to_owned(), changed_at: None };
    store.plant(what.key(), Seen::Unreadable(unreadable));
    let locks = locks(&store, &clock);
    clock.advance(1000 * LONGEST_MS);
    assert_eq!(locks.holder(&what).as_deref(), Some("?"));
    assert_eq!(locks.refused("A", from_ref(&what)).len(), 1);
}
