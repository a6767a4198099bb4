//! The lock service beside acquire and renew: breaking, pruning, owner-wide operations, history, diagnosis.

use std::{fs, slice::from_ref};

use git_agentlock::{
    clock::{Clock as _, ManualClock},
    locks::{Ask, Break, Locks, Loss, Prolong, Release, Renewal, State},
    record::{End, Reason},
    resource::Resource,
    store::{Past, file::diagnose::Ailment},
};

use crate::lib_world::{
    Agents, Disk, KEEP_MS, TTL_MS, area, file, locks, named, noon, on_each_store, owner, prolong, record, released,
    seen, set_changed, ttl,
};

fn reason(text: &str) -> Reason {
    Reason::new(text).expect("a reason")
}

fn break_it(locks: &Locks<'_>, what: &Resource, by: Option<&str>) -> Break {
    let by = by.map(owner);
    let told = locks.break_leases(from_ref(what), by.as_ref(), &reason("gone home")).expect("the store works");
    assert_eq!(told.warnings, [""; 0]);
    told.value.into_iter().next().expect("one answer")
}

fn release_all(locks: &Locks<'_>, who: &str) -> Vec<String> {
    let told = locks.release_all(&owner(who), &|_| true).expect("the store works");
    assert!(told.value.left_out.is_empty());
    let mut names: Vec<String> =
        told.value.releases.into_iter().map(|release| released(release).resource.to_string()).collect();
    names.sort();
    names
}

fn renew_all(locks: &Locks<'_>, who: &str) -> Vec<String> {
    let ask = |resource: &Resource| Ask::Renew(prolong(resource, None));
    let told = locks.renew_all(&owner(who), &ask, 1).expect("the store works");
    let name = |renewal: Renewal| match renewal {
        Renewal::Renewed { lease, .. } => lease.resource.to_string(),
        other => panic!("{other:?}"),
    };
    let mut names: Vec<String> = told.value.renewed.into_iter().map(name).collect();
    names.sort();
    names
}

#[test]
fn break_ends_a_lease_and_its_victim_is_told_by_whom_and_why() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("src/a"));
        let token = locks.take("victim", &what).lease.token;
        match break_it(&locks, &what, Some("boss")) {
            Break::Broken(lease) => assert_eq!((lease.owner, lease.remaining_ms), (owner("victim"), 60_000)),
            other => panic!("{other:?}"),
        }
        assert_eq!(locks.holder(&what), None, "it is free");
        let check = |loss: Loss| match loss {
            Loss::Broken { by, reason: why, .. } => assert_eq!((by, why), (Some(owner("boss")), reason("gone home"))),
            other => panic!("{other:?}"),
        };
        match locks.renewal("victim", &what, None) {
            Renewal::Lost(loss) => check(loss),
            other => panic!("{other:?}"),
        }
        match locks.giving_back("victim", &what, None) {
            Release::Nothing(loss) => check(loss),
            other => panic!("{other:?}"),
        }
        let past = locks.look(&what).past.expect("check tells too");
        assert!(matches!(past.ended.expect("ended").how, End::Broken { .. }));

        let next = locks.take("next", &what);
        assert!(next.lease.token > token);
        assert_eq!(next.stale_owner, None, "it had not expired");
        assert_eq!(record(store, &what).replaced.expect("whom it replaced").owner, owner("victim"));
        assert!(matches!(locks.renewal("victim", &what, None), Renewal::Lost(Loss::TakenOver(_))));
    });
}

#[test]
fn break_leaves_alone_what_is_not_held_by_itself() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        assert!(matches!(break_it(&locks, &file("a"), None), Break::Nothing { covered_by: None }));
        locks.take("A", &area("src"));
        match break_it(&locks, &file("src/a"), None) {
            Break::Nothing { covered_by: Some(lease) } => assert_eq!(lease.resource, area("src")),
            other => panic!("{other:?}"),
        }
        assert_eq!(locks.holder(&file("src/a")).as_deref(), Some("A"));
        clock.advance(TTL_MS);
        assert!(matches!(break_it(&locks, &area("src"), None), Break::Nothing { covered_by: None }), "expired is free");
        assert!(seen(store, &area("src")).is_some(), "and its stale owner is still told");
    });
}

#[test]
fn break_does_not_touch_a_record_that_cannot_be_read() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
    let locks = locks(&disk.store, &clock);
    locks.take("A", &what);
    fs::write(disk.record_path(&what), "").expect("damaged");
    set_changed(&disk.record_path(&what), noon());
    assert!(matches!(break_it(&locks, &what, None), Break::Unknown(_)));
    assert_eq!(disk.record_bytes(&what), b"");
}

#[test]
fn prune_removes_expired_leases_and_no_others() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        let prune = |dry_run| {
            let told = locks.prune(&|_| true, dry_run).expect("the store works");
            assert!(told.value.failed.is_empty());
            told.value.leases.iter().map(|lease| lease.resource.to_string()).collect::<Vec<_>>()
        };
        locks.take("A", &file("old"));
        clock.advance(TTL_MS - 1);
        locks.take("B", &file("young"));
        locks.take("B", &area("broken"));
        break_it(&locks, &area("broken"), None);
        assert_eq!(prune(false), [""; 0], "one millisecond before its expiry it is held");
        clock.advance(1);
        assert_eq!(prune(true), ["old"], "a dry run says what would be");
        assert!(seen(store, &file("old")).is_some(), "and does not do it");
        assert_eq!(prune(false), ["old"]);
        assert_eq!(seen(store, &file("old")), None);
        assert_eq!(locks.holder(&file("young")).as_deref(), Some("B"));
        assert!(seen(store, &area("broken")).is_some(), "who lost it has not been told for long enough");
        clock.advance(KEEP_MS + 1);
        let mut pruned = prune(false);
        pruned.sort();
        assert_eq!(pruned, ["broken/", "young"]);
    });
}

#[test]
fn prune_touches_only_what_is_selected() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &file("a"));
        locks.take("A", &file("b"));
        clock.advance(TTL_MS);
        let told = locks.prune(&|resource| *resource == file("a"), false).expect("the store works");
        assert_eq!(told.value.leases.len(), 1);
        assert!(seen(store, &file("b")).is_some());
    });
}

#[test]
fn release_all_gives_back_exactly_what_is_the_owners() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.granted("A", &[file("a"), area("src"), named("plan:42")]);
        locks.take("A/sub", &file("kin"));
        locks.take("B", &file("b"));
        clock.advance(TTL_MS - 1);
        locks.take("A", &file("later"));
        clock.advance(1);
        assert_eq!(release_all(&locks, "A"), ["a", "later", "plan:42", "src/"], "expired ones too");
        assert_eq!(release_all(&locks, "A"), [""; 0]);
        let left: Vec<_> = locks.listing().leases.into_iter().map(|lease| lease.owner).collect();
        assert_eq!(left, [owner("B"), owner("A/sub")]);
    });
}

#[test]
fn renew_all_prolongs_exactly_the_live_leases_of_the_owner() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &file("expired"));
        clock.advance(1);
        locks.granted("A", &[file("a"), area("src")]);
        locks.take("A/sub", &file("kin"));
        clock.advance(TTL_MS - 1);
        assert_eq!(renew_all(&locks, "A"), ["a", "src/"]);
        clock.advance(1);
        assert_eq!(locks.holder(&file("a")).as_deref(), Some("A"));
        assert_eq!(locks.holder(&file("src/x")).as_deref(), Some("A"), "an area is renewed too");
        assert_eq!(locks.holder(&file("kin")), None, "kin are not the owner");
        assert_eq!(locks.holder(&file("expired")), None, "what has expired is not revived");
        clock.advance(TTL_MS);
        assert_eq!(renew_all(&locks, "A"), [""; 0]);
    });
}

/// A heartbeat of everything must not hide that something is gone.
#[test]
fn renew_all_tells_what_was_lost_and_whether_that_is_news() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        let news = || {
            let ask = |resource: &Resource| Ask::Renew(prolong(resource, None));
            let told = locks.renew_all(&owner("A"), &ask, 1).expect("the store works");
            let mut losses: Vec<(String, String, bool)> = told
                .value
                .losses
                .iter()
                .map(|past| {
                    let how = match &past.loss {
                        Loss::Expired(_) => "expired",
                        Loss::TakenOver(_) => "taken over",
                        Loss::Broken { .. } => "broken",
                        other => panic!("{other:?}"),
                    };
                    (past.resource.to_string(), how.to_owned(), past.is_news)
                })
                .collect();
            losses.sort();
            losses
        };
        let known = |losses: &[(&str, &str, bool)]| {
            losses
                .iter()
                .map(|(what, how, is_news)| ((*what).to_owned(), (*how).to_owned(), *is_news))
                .collect::<Vec<_>>()
        };
        locks.granted("A", &[file("expired"), file("taken")]);
        clock.advance(10_000);
        locks.granted("A", &[file("broken"), file("kept")]);
        locks.take("B", &file("others"));
        assert_eq!(news(), known(&[]));
        clock.advance(TTL_MS - 1);
        assert_eq!(news(), known(&[]));
        locks.granted("A", &[file("brief")]);
        clock.advance(1000);
        assert_eq!(news(), known(&[]));
        break_it(&locks, &file("broken"), Some("boss"));
        clock.advance(1);
        locks.take("A", &file("taken since the loss"));
        assert_eq!(news(), known(&[("broken", "broken", true)]));
        clock.advance(1);
        assert_eq!(news(), known(&[("broken", "broken", false)]), "it was told");
        clock.advance(TTL_MS);
        locks.take("B", &file("taken"));
        let all_gone = news();
        assert!(all_gone.contains(&("taken".to_owned(), "taken over".to_owned(), true)), "{all_gone:?}");
        assert!(all_gone.contains(&("kept".to_owned(), "expired".to_owned(), true)), "{all_gone:?}");
        released(locks.giving_back("A", &file("kept"), None));
        assert!(!news().iter().any(|(what, ..)| what == "kept"), "who gives it back has seen it");
    });
}

/// One loss is news once, whoever takes the resource after it.
#[test]
fn a_loss_is_no_news_again_when_others_take_turns() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        let is_news = || {
            let ask = |resource: &Resource| Ask::Renew(prolong(resource, None));
            let told = locks.renew_all(&owner("L"), &ask, 1).expect("the store works");
            told.value.losses.iter().map(|past| past.is_news).collect::<Vec<_>>()
        };
        locks.take("L", &file("f"));
        clock.advance(TTL_MS - 1);
        locks.take("L", &file("kept"));
        clock.advance(2);
        assert_eq!(is_news(), [true]);
        clock.advance(10);
        for next in ["M", "K"] {
            locks.take(next, &file("f"));
            assert_eq!(is_news(), [false], "taken by {next}");
            clock.advance(10);
            released(locks.giving_back(next, &file("f"), None));
        }
    });
}

#[test]
fn renew_all_asks_what_each_may_have() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.granted("A", &[file("a"), file("b")]);
        clock.advance(1000);
        let ask = |resource: &Resource| {
            if *resource == file("a") {
                Ask::Renew(Prolong { ttl: Some(ttl(TTL_MS * 2)), ..prolong(resource, None) })
            } else {
                Ask::Refuse
            }
        };
        let told = locks.renew_all(&owner("A"), &ask, 1).expect("the store works");
        assert_eq!(told.value.renewed.len(), 1);
        assert_eq!(told.value.refused, [file("b")]);
        assert_eq!(locks.look(&file("b")).holders.len(), 1);
        clock.advance(TTL_MS - 1000);
        assert_eq!(locks.holder(&file("a")).as_deref(), Some("A"));
        assert_eq!(locks.holder(&file("b")), None);
    });
}

#[test]
fn history_tells_who_held_what_when_and_why() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("src/a"));
    let locks = locks(&disk.store, &clock);
    let first = locks.take("A", &what).lease.token;
    locks.take("A", &what);
    locks.renewal("A", &what, None);
    clock.advance(TTL_MS + 5);
    let second = locks.take("B", &what).lease.token;
    break_it(&locks, &what, Some("boss"));
    locks.take("C", &what);
    locks.giving_back("C", &what, None);
    clock.advance(1);
    let history = disk.store.history().expect("a journal");
    let line = |past: &Past| {
        let name = |owner: &Option<git_agentlock::owner::Owner>| {
            owner.as_ref().map(|owner| owner.as_str().to_owned()).unwrap_or_default()
        };
        assert_eq!(past.resource.as_ref(), Some(&what));
        (past.event.clone(), name(&past.owner), name(&past.other), past.at.since(noon()))
    };
    let expected = [
        ("granted", "A", "", 0),
        ("expired", "A", "", 60_005),
        ("taken_over", "B", "A", 60_005),
        ("broken", "B", "boss", 60_005),
        ("granted", "C", "", 60_005),
        ("released", "C", "", 60_005),
    ];
    let expected = expected.map(|(event, who, other, at)| (event.to_owned(), who.to_owned(), other.to_owned(), at));
    assert_eq!(history.iter().map(line).collect::<Vec<_>>(), expected, "renewals are not in it");
    assert_eq!(history[0].token, Some(first));
    assert_eq!(history[2].token, Some(second));
    assert_eq!(history[3].reason, Some(reason("gone home")));
}

#[test]
fn a_torn_or_lost_journal_blocks_nothing() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    locks.take("A", &file("a"));
    let journal = disk.v1().join("journal.jsonl");
    let whole = fs::read(&journal).expect("the journal");
    fs::write(&journal, [whole.as_slice(), b"{\"at\":\"2026-", b"\n\xff\n"].concat()).expect("torn");
    locks.take("B", &file("b"));
    assert_eq!(disk.store.history().expect("readable").len(), 2);
    let half = [fs::read(&journal).expect("the journal").as_slice(), b"{\"at\":\"2026-"].concat();
    fs::write(&journal, half).expect("torn at the end");
    locks.take("D", &file("d"));
    assert_eq!(disk.store.history().expect("readable").len(), 3, "only the torn line is lost");
    fs::remove_file(&journal).expect("removed");
    fs::create_dir(&journal).expect("a directory in its place");
    locks.take("C", &file("c"));
    locks.giving_back("C", &file("c"), None);
    assert_eq!(disk.store.history().expect("readable").len(), 0);
}

#[test]
fn the_journal_is_bounded_by_rotation() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    locks.take("A", &file("a"));
    let line = fs::read(disk.v1().join("journal.jsonl")).expect("the journal");
    let full = line.repeat(1024 * 1024 / line.len() + 1);
    fs::write(disk.v1().join("journal.jsonl"), &full).expect("a full journal");
    locks.take("B", &file("b"));
    locks.take("C", &file("c"));
    assert_eq!(fs::read(disk.v1().join("journal.1.jsonl")).expect("the old one").len(), full.len() + line.len());
    let history = disk.store.history().expect("readable");
    assert_eq!(history.last().and_then(|past| past.owner.clone()), Some(owner("C")));
    fs::write(disk.v1().join("journal.jsonl"), &full).expect("full again");
    locks.take("D", &file("d"));
    let sizes: u64 = ["journal.jsonl", "journal.1.jsonl"]
        .iter()
        .filter_map(|name| fs::metadata(disk.v1().join(name)).ok())
        .map(|meta| meta.len())
        .sum();
    assert!(sizes < 3 * 1024 * 1024, "{sizes}");
}

/// What `diagnose` finds, by kind and file name.
fn ailments(disk: &Disk) -> Vec<String> {
    let name = |path: &std::path::Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let text = |ailment: &Ailment| match ailment {
        Ailment::Damaged { record, .. } => format!("damaged {}", name(&record.place)),
        Ailment::LeftOver(path) => format!("left over {}", name(path)),
        Ailment::Foreign(path) => format!("foreign {}", name(path)),
        Ailment::Permissions { path, .. } => format!("permissions {}", name(path)),
        other => format!("{other:?}"),
    };
    let mut found: Vec<String> = disk.store.diagnose().expect("it can be looked at").iter().map(text).collect();
    found.sort();
    found
}

#[test]
fn a_healthy_store_and_one_that_is_not_there_have_no_ailments() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    assert_eq!(ailments(&disk), [""; 0]);
    assert!(!disk.parent().join("agent-locks").exists());
    let locks = locks(&disk.store, &clock);
    locks.granted("A", &[file("a"), area("src"), named("plan:42")]);
    let before = disk.tree();
    assert_eq!(ailments(&disk), [""; 0]);
    assert_eq!(disk.tree(), before, "looking changes nothing");
}

#[test]
fn diagnosis_names_what_is_wrong_and_mends_what_is_safe() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
    let locks = locks(&disk.store, &clock);
    locks.granted("A", &[what.clone(), file("b")]);
    let damaged = disk.record_path(&what);
    let (shard, record_name) = (disk.shard(&what), damaged.file_name().expect("a name").to_string_lossy().into_owned());
    fs::write(&damaged, "half").expect("damaged");
    set_changed(&damaged, noon());
    fs::write(disk.temp_path(&file("a")), "x").expect("a left-over");
    fs::write(shard.join("notes.txt"), "x").expect("a foreign file");
    fs::write(disk.v1().join("README"), "x").expect("a foreign file");
    let temp_name = disk.temp_path(&what).file_name().expect("a name").to_string_lossy().into_owned();
    let expected = [
        format!("damaged {record_name}"),
        "foreign README".to_owned(),
        "foreign notes.txt".to_owned(),
        format!("left over {temp_name}"),
    ];
    assert_eq!(ailments(&disk), expected);

    assert_eq!(disk.store.clear_left_overs(&[disk.temp_path(&what)]).expect("cleared"), 1);
    let moved = disk
        .store
        .quarantine(what.key(), clock.now().wall, Some(&owner("boss")), Some(&reason("it is junk")))
        .expect("it can be moved")
        .expect("it was damaged");
    assert_eq!(fs::read(moved).expect("nothing is lost"), b"half");
    assert_eq!(ailments(&disk), ["foreign README", "foreign notes.txt"]);
    assert_eq!(locks.holder(&what), None);
    let last = disk.store.history().expect("a journal").pop().expect("noted");
    assert_eq!((last.event.as_str(), last.key, last.other), ("quarantined", what.key(), Some(owner("boss"))));
    let again = disk.store.quarantine(file("b").key(), clock.now().wall, None, None).expect("it can be looked at");
    assert_eq!(again, None, "a healthy record is not moved");
    assert_eq!(locks.holder(&file("b")).as_deref(), Some("A"));
}

#[test]
fn a_live_writers_file_is_no_left_over() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
    locks(&disk.store, &clock).take("A", &what);
    let mutex = fs::File::open(disk.shard(&what).join("mutex")).expect("the shard's mutex");
    #[expect(clippy::disallowed_methods, reason = "a writer at work holds it")]
    mutex.lock().expect("locked");
    fs::write(disk.temp_path(&what), "being written").expect("written");
    assert!(!ailments(&disk).iter().any(|ailment| ailment.starts_with("left over")));
    // Not closed alone: a child that another test is just starting can have the file open, too.
    mutex.unlock().expect("unlocked");
    assert!(ailments(&disk).iter().any(|ailment| ailment.starts_with("left over")));
}

#[test]
fn who_sits_in_the_critical_section_is_named() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
    locks(&disk.store, &clock).take("A", &what);
    let mutex = fs::File::open(disk.v1().join("mutex")).expect("the mutex");
    #[expect(clippy::disallowed_methods, reason = "somebody sits on it")]
    mutex.lock().expect("locked");
    let found = disk.store.diagnose().expect("it can be looked at");
    if cfg!(target_os = "linux") {
        let sits = |ailment: &Ailment| matches!(ailment, Ailment::Sitting { pid, is_stopped: false, .. } if *pid == std::process::id());
        assert!(found.iter().any(sits), "{found:?}");
    }
}

#[test]
fn a_record_in_the_wrong_shard_is_found() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
    let locks = locks(&disk.store, &clock);
    locks.take("A", &what);
    let home = disk.shard(&what);
    let other = disk.v1().join(if home.ends_with("0") { "1" } else { "0" });
    fs::create_dir_all(&other).expect("a shard");
    fs::rename(disk.record_path(&what), other.join(disk.record_path(&what).file_name().expect("a name")))
        .expect("moved");
    let found = disk.store.diagnose().expect("it can be looked at");
    let is_it = |ailment: &Ailment| matches!(ailment, Ailment::Damaged { record, .. } if record.cause.contains("another resource"));
    assert!(found.iter().any(is_it), "{found:?}");
}

#[cfg(unix)]
#[test]
fn permissions_that_keep_fellows_out_are_found_and_restored() {
    use std::os::unix::fs::PermissionsExt as _;
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
    fs::set_permissions(disk.parent(), fs::Permissions::from_mode(0o2775)).expect("a shared directory");
    locks(&disk.store, &clock).take("A", &what);
    assert_eq!(ailments(&disk), [""; 0]);
    let shard = disk.shard(&what);
    fs::set_permissions(&shard, fs::Permissions::from_mode(0o700)).expect("closed");
    let name = shard.file_name().expect("a name").to_string_lossy().into_owned();
    assert_eq!(ailments(&disk), [format!("permissions {name}")]);
    disk.store.restore_permissions(std::slice::from_ref(&shard)).expect("restored");
    assert_eq!(ailments(&disk), [""; 0]);
}

#[test]
fn areas_and_what_is_below_exclude_each_other_both_ways() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &area("src/foo"));
        for free in ["src/foobar", "src/foo.rs", "src/fo", "src/foo-bar", "src/foo bar"] {
            released_again(&locks, &file(free));
            released_again(&locks, &area(free));
        }
        for held in [file("src/foo"), area("src/foo"), file("src/foo/x"), area("src/foo/x/y"), area("src"), area("")] {
            let conflicts = locks.refused("B", from_ref(&held));
            assert_eq!(conflicts[0].holder.owner(), Some(&owner("A")), "{held}");
            assert_eq!(locks.holder(&held).as_deref(), Some("A"), "{held}");
        }
        released(locks.giving_back("A", &area("src/foo"), None));
        locks.take("A", &file("src/foo/x"));
        for held in [area("src/foo"), area("src"), area("")] {
            locks.refused("B", from_ref(&held));
        }
        locks.take("B", &file("src/foo"));
    });
}

fn released_again(locks: &Locks<'_>, what: &Resource) {
    assert_eq!(locks.take("B", what).lease.state, State::Live);
    released(locks.giving_back("B", what, None));
}

#[test]
fn named_resources_are_apart_by_type_and_id_and_never_overlap_paths() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.granted("A", &[named("plan:42"), named("git:index"), area("")]);
        locks.take("B", &named("plan:43"));
        locks.take("B", &named("project:42"));
        assert_eq!(locks.refused("B", &[named("plan:42"), named("plan:44")]).len(), 1);
        assert_eq!(locks.holder(&named("plan:44")), None, "all or nothing");
        assert!(matches!(locks.renewal("A", &named("plan:42"), None), Renewal::Renewed { .. }));
    });
}

#[test]
fn a_glimpse_has_what_could_be_read_until_the_time_was_up() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    assert_eq!(disk.store.glimpse(&mut || false).len(), 0);
    assert!(!disk.parent().join("agent-locks").exists());
    let locks = locks(&disk.store, &clock);
    let all: Vec<_> = (0..5).map(|n| file(&format!("f{n}"))).collect();
    locks.granted("A", &all);
    fs::write(disk.record_path(&all[0]), "damaged").unwrap();
    assert_eq!(disk.store.glimpse(&mut || false).len(), 4, "what cannot be read is left out");
    for time in 0..4 {
        let mut left = time;
        let mut is_over = || {
            left -= 1;
            left < 0
        };
        let seen = disk.store.glimpse(&mut is_over).len();
        assert!(
            seen <= usize::try_from(time).unwrap() && seen + 1 >= usize::try_from(time).unwrap(),
            "{seen} of {time}"
        );
    }
}
