//! The guard's rules on a manual clock: whose lease stands in the way of a commit, what is lost, what is required.

use std::cell::Cell;

use git_agentlock::{
    clock::{Clock as _, ManualClock, Timestamp},
    guard::{Case, Objection, Refusal, require_leases},
    record::Reason,
    resource::{RepoPath, Resource, Scope, Target},
    store::{ReadSet, Store},
};

use crate::lib_world::{Agents as _, KEEP_MS, TTL_MS, area, file, locks, named, on_each_store, owner, released};

const CHANGED: [&str; 4] = ["other", "src/a", "src/b", "srcx"];

fn changed(target: &Target) -> Result<Vec<RepoPath>, ()> {
    let all = CHANGED.iter().map(|path| RepoPath::new(*path).expect("a path"));
    Ok(match target {
        Target::File(path) => all.filter(|other| other == path).collect(),
        Target::Area(path) => all.filter(|other| path.contains(other)).collect(),
        Target::Named(_) => Vec::new(),
    })
}

fn refusals(store: &dyn Store, clock: &ManualClock, who: Option<&str>, remember_lost_ms: Option<u64>) -> Vec<Refusal> {
    let view = store.view(&ReadSet::everything()).expect("the store works");
    let (stores, now, committer) = ([(Scope::implicit(), view)], clock.now(), who.map(owner));
    let case = Case { committer: committer.as_ref(), stores: &stores, now: &now, remember_lost_ms };
    case.refusals(&changed).expect("it can be told")
}

/// `path held by owner`, `path lost to owner`.
fn judged(store: &dyn Store, clock: &ManualClock, who: &str) -> Vec<String> {
    let told = |refusal: Refusal| match refusal.objection {
        Objection::Held(lease) => format!("{} held by {}", refusal.resource, lease.owner),
        Objection::Lost { to, .. } => {
            format!("{} lost to {}", refusal.resource, to.map_or("?".to_owned(), |to| to.to_string()))
        }
        Objection::LeaseRequired => unreachable!("nothing is required here"),
    };
    refusals(store, clock, Some(who), Some(KEEP_MS)).into_iter().map(told).collect()
}

#[test]
fn a_commit_must_not_touch_what_somebody_else_holds() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("B", &file("src/a"));
        locks.take("B", &file("src/unchanged"));
        locks.take("B", &named("plan:1"));
        assert_eq!(judged(store, clock, "A"), ["src/a held by B"]);
        assert!(judged(store, clock, "B").is_empty(), "one's own lease");
        clock.advance(TTL_MS);
        assert!(judged(store, clock, "A").is_empty(), "an expired lease stands in nobody's way");
    });
}

#[test]
fn an_area_stands_for_all_that_is_changed_below_it() {
    on_each_store(|store, clock| {
        locks(store, clock).take("B", &area("src"));
        assert_eq!(judged(store, clock, "A"), ["src/a held by B", "src/b held by B"]);
    });
    on_each_store(|store, clock| {
        locks(store, clock).take("B", &area(""));
        assert_eq!(judged(store, clock, "A").len(), CHANGED.len());
    });
}

#[test]
fn kin_may_commit_for_each_other_siblings_may_not() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("X/agent", &file("src/a"));
        locks.take("Y", &file("src/b"));
        assert!(judged(store, clock, "X").iter().all(|told| !told.contains("src/a")));
        assert_eq!(judged(store, clock, "X/other"), ["src/a held by X/agent", "src/b held by Y"]);
        assert_eq!(judged(store, clock, "Y/z"), ["src/a held by X/agent"]);
    });
}

#[test]
fn without_a_committer_every_lease_stands_in_the_way() {
    on_each_store(|store, clock| {
        locks(store, clock).take("A", &file("src/a"));
        assert_eq!(refusals(store, clock, None, Some(KEEP_MS)).len(), 1);
    });
}

/// A had src/a, which expired; B took it over and gave it back.
fn lose(store: &dyn Store, clock: &ManualClock, taken: &Resource) {
    let locks = locks(store, clock);
    locks.take("A", &file("src/a"));
    clock.advance(TTL_MS);
    locks.take("B", taken);
    clock.advance(1);
    released(locks.giving_back("B", taken, None));
}

#[test]
fn what_was_lost_to_a_takeover_must_be_looked_at_before_it_is_committed() {
    on_each_store(|store, clock| {
        lose(store, clock, &file("src/a"));
        assert_eq!(judged(store, clock, "A"), ["src/a lost to B"]);
        assert!(judged(store, clock, "C").is_empty(), "it is nobody else's loss");
        assert!(refusals(store, clock, Some("A"), None).is_empty(), "by policy it may not matter");
        assert!(refusals(store, clock, None, Some(KEEP_MS)).is_empty());
        locks(store, clock).take("A", &file("src/a"));
        assert!(judged(store, clock, "A").is_empty(), "to acquire it again says that it was looked at");
        released(locks(store, clock).giving_back("A", &file("src/a"), None));
        assert!(judged(store, clock, "A").is_empty(), "and that stays so");
    });
}

#[test]
fn a_loss_to_an_area_is_one_too() {
    on_each_store(|store, clock| {
        lose(store, clock, &area("src"));
        assert_eq!(judged(store, clock, "A"), ["src/a lost to ?"], "src/b was never theirs");
        locks(store, clock).take("A", &area(""));
        assert!(judged(store, clock, "A").is_empty(), "who holds it itself has lost nothing");
    });
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &area("src"));
        clock.advance(TTL_MS);
        locks.take("B", &file("src/a"));
        clock.advance(TTL_MS);
        assert_eq!(judged(store, clock, "A"), ["src/a lost to B", "src/b lost to B"]);
    });
}

#[test]
fn who_has_an_area_again_has_looked_at_all_that_was_lost_in_it() {
    for taken in [file("src/a"), area("src")] {
        on_each_store(|store, clock| {
            lose(store, clock, &taken);
            let locks = locks(store, clock);
            locks.take("C", &area("src/deep"));
            assert!(!judged(store, clock, "A").is_empty());
            locks.take("A", &file("src/b"));
            assert!(!judged(store, clock, "A").is_empty(), "a look at something else is none at this");
            released(locks.giving_back("C", &area("src/deep"), None));
            locks.take("A", &area("src"));
            assert!(judged(store, clock, "A").is_empty());
            released(locks.giving_back("A", &area("src"), None));
            assert!(judged(store, clock, "A").is_empty(), "and that stays so");
        });
    }
}

#[test]
fn a_loss_to_kin_is_none() {
    for taken in [file("src/a"), area("src")] {
        on_each_store(|store, clock| {
            let locks = locks(store, clock);
            locks.take("A", &file("src/a"));
            clock.advance(TTL_MS);
            locks.take("A/agent", &taken);
            assert!(judged(store, clock, "A").is_empty());
            clock.advance(TTL_MS);
            assert!(judged(store, clock, "A").is_empty());
        });
    }
}

#[test]
fn a_loss_is_passed_on_to_the_next_holder_and_forgotten_in_the_end() {
    on_each_store(|store, clock| {
        lose(store, clock, &file("src/a"));
        let locks = locks(store, clock);
        locks.take("C", &file("src/a"));
        assert_eq!(judged(store, clock, "A"), ["src/a held by C"]);
        released(locks.giving_back("C", &file("src/a"), None));
        assert_eq!(judged(store, clock, "A"), ["src/a lost to C"]);
        clock.advance(KEEP_MS);
        assert!(!judged(store, clock, "A").is_empty());
        clock.advance(1);
        assert!(judged(store, clock, "A").is_empty());
    });
}

#[test]
fn a_loss_is_remembered_whoever_took_over_since() {
    on_each_store(|store, clock| {
        let (locks, what) = (locks(store, clock), file("src/a"));
        for who in ["A", "B", "C", "B"] {
            locks.take(who, &what);
            clock.advance(TTL_MS);
        }
        locks.take("D", &what);
        released(locks.giving_back("D", &what, None));
        for who in ["A", "B", "C"] {
            assert_eq!(judged(store, clock, who), ["src/a lost to D"], "{who}");
        }
        locks.take("C", &what);
        released(locks.giving_back("C", &what, None));
        assert!(judged(store, clock, "C").is_empty(), "C has had it back");
        assert_eq!(judged(store, clock, "A"), ["src/a lost to C"], "A has not");
        for n in 0..40 {
            locks.take(&format!("other-{n}"), &what);
            clock.advance(TTL_MS);
        }
        assert!(judged(store, clock, "other-30")[0].contains("lost to"), "as many as there is room for");
    });
}

#[test]
fn an_expired_or_broken_lease_that_nobody_took_over_is_not_lost_to_anybody() {
    on_each_store(|store, clock| {
        let locks = locks(store, clock);
        locks.take("A", &file("src/a"));
        locks.take("A", &file("src/b"));
        let reason = Reason::new("gone").expect("a reason");
        locks.break_leases(&[file("src/b")], Some(&owner("B")), &reason).expect("the store works");
        clock.advance(TTL_MS);
        assert!(judged(store, clock, "A").is_empty());
    });
}

#[test]
fn a_required_lease_is_the_committers_or_their_kins() {
    for (who, holder, held, is_refused) in [
        ("A", "A", file("src/a"), false),
        ("A", "A", area("src"), false),
        ("A", "A/agent", file("src/a"), false),
        ("A", "A", file("src/b"), true),
        ("A", "A", area("srcx"), true),
        ("A/one", "A/two", file("src/b"), true),
    ] {
        on_each_store(|store, clock| {
            locks(store, clock).take(holder, &held);
            let view = store.view(&ReadSet::everything()).expect("the store works");
            let (stores, now, committer) = ([(Scope::implicit(), view)], clock.now(), owner(who));
            let case = Case { committer: Some(&committer), stores: &stores, now: &now, remember_lost_ms: None };
            let mut refusals = Vec::new();
            let path = RepoPath::new("src/a").expect("a path");
            require_leases(&case, &Scope::implicit(), vec![path], &mut refusals);
            let wanted = Refusal { resource: file("src/a"), objection: Objection::LeaseRequired };
            assert_eq!(refusals, if is_refused { vec![wanted] } else { vec![] }, "{who}, {holder} holds {held}");
        });
    }
}

#[test]
fn of_a_path_that_somebody_holds_it_is_not_said_that_a_lease_is_required() {
    on_each_store(|store, clock| {
        locks(store, clock).take("B", &file("src/a"));
        let view = store.view(&ReadSet::everything()).expect("the store works");
        let (stores, now) = ([(Scope::implicit(), view)], clock.now());
        let case = Case { committer: None, stores: &stores, now: &now, remember_lost_ms: None };
        let mut refusals = case.refusals(&changed).expect("it can be told");
        let path = |text: &str| RepoPath::new(text).expect(text);
        require_leases(&case, &Scope::implicit(), vec![path("src/b"), path("src/a")], &mut refusals);
        let told: Vec<_> = refusals.iter().map(|refusal| refusal.resource.to_string()).collect();
        assert_eq!(told, ["src/a", "src/b"]);
        assert!(matches!(refusals[0].objection, Objection::Held(_)));
    });
}

#[test]
fn other_scopes_and_where_case_is_ignored_other_spellings() {
    on_each_store(|store, clock| {
        let elsewhere = Scope { work_tree: "w".into(), ..Scope::implicit() };
        locks(store, clock).take("B", &Resource { scope: elsewhere, ..file("src/a") });
        assert!(judged(store, clock, "A").is_empty(), "another work tree has its own files");
        let folding = Scope { ignore_case: true, ..Scope::implicit() };
        locks(store, clock).take("B", &Resource { scope: folding.clone(), ..file("SRC/A") });
        let view = store.view(&ReadSet::everything()).expect("the store works");
        let (stores, now, a) = ([(folding, view)], clock.now(), owner("A"));
        let case = Case { committer: Some(&a), stores: &stores, now: &now, remember_lost_ms: None };
        let refused = case.refusals(&changed).expect("it can be told");
        assert_eq!(refused.iter().map(|refusal| refusal.resource.to_string()).collect::<Vec<_>>(), ["src/a"]);
    });
}

/// On systems that ignore case by default, many leases must not mean to list all changes many times.
#[test]
fn where_case_is_ignored_changes_are_listed_once() {
    on_each_store(|store, clock| {
        let folding = Scope { ignore_case: true, ..Scope::implicit() };
        for path in ["Src/A", "SRC/B", "other", "SRCX/deep"] {
            locks(store, clock).take("B", &Resource { scope: folding.clone(), ..file(path) });
        }
        locks(store, clock).take("C", &Resource { scope: folding.clone(), ..area("SRCX/Y") });
        let view = store.view(&ReadSet::everything()).expect("the store works");
        let (stores, now, listed) = ([(folding, view)], clock.now(), Cell::new(0));
        let case = Case { committer: None, stores: &stores, now: &now, remember_lost_ms: None };
        let counted = |target: &Target| {
            listed.set(listed.get() + 1);
            changed(target)
        };
        let refused = case.refusals(&counted).expect("it can be told");
        let told: Vec<_> = refused.iter().map(|refusal| refusal.resource.to_string()).collect();
        assert_eq!((told, listed.get()), (vec!["other".to_owned(), "src/a".to_owned(), "src/b".to_owned()], 1));
    });
}

/// Times of a lost lease are those at which it ended, for people.
#[test]
fn a_loss_says_when_the_lease_had_ended() {
    on_each_store(|store, clock| {
        let start: Timestamp = clock.now().wall;
        lose(store, clock, &file("src/a"));
        let found = refusals(store, clock, Some("A"), Some(KEEP_MS));
        let Objection::Lost { ended_at, .. } = &found[0].objection else { panic!("{found:?}") };
        assert_eq!(ended_at.since(start), i64::try_from(TTL_MS).expect("small"));
    });
}
