//! The leases of a command, on a clock that is moved by hand: when they are renewed, what counts as a loss, and what is never touched.
//!
//! The command is a play: it waits by moving the clock, and things happen at the times that the test says.

use std::cell::{Cell, RefCell};

use git_agentlock::{
    clock::{Clock as _, ManualClock, Now},
    locks::{Acquired, Grant, Locks, Request},
    record::Reason,
    resource::Resource,
    run::{Command, Ending, Escalation, HowLost, Keeper, Notice, OnLost, Woken, watch},
    store::{Access, Committed, Decide, ReadSet, Store, StoreError, Ticket, View, memory::MemoryStore},
};

use crate::lib_world::{Agents, TTL_MS, area, file, locks, noon, owner, record, request};

const TTL: i64 = TTL_MS.cast_signed();
const THIRD_MS: i64 = TTL / 3;
const GRACE_MS: i64 = 5_000;

type Event<'m> = (u32, Box<dyn Fn(&MemoryStore) + 'm>);

/// A store that cannot write while the test does not let it, and in which something may happen right before a change.
#[derive(Default)]
struct Moody<'m> {
    store: MemoryStore,
    is_broken: Cell<bool>,
    tries: Cell<u32>,
    /// Before which try, and what.
    event: RefCell<Option<Event<'m>>>,
}

impl Store for Moody<'_> {
    fn view(&self, read: &ReadSet) -> Result<View, StoreError> {
        self.store.view(read)
    }

    fn change(&self, read: &ReadSet, access: Access, decision: &mut dyn Decide) -> Result<Committed, StoreError> {
        self.tries.set(self.tries.get() + 1);
        let event = self.event.borrow_mut().take_if(|(at, _)| *at == self.tries.get());
        event.iter().for_each(|(_, event)| event(&self.store));
        match self.is_broken.get() {
            true => Err(StoreError::TooSlow),
            false => self.store.change(read, access, decision),
        }
    }

    fn enqueue(&self, ticket: &Ticket) -> Result<(), StoreError> {
        self.store.enqueue(ticket)
    }

    fn dequeue(&self, name: &str) {
        self.store.dequeue(name);
    }
}

/// What happens, and how long after the start, in milliseconds.
type Scene<'p> = (i64, Box<dyn Fn() + 'p>);

/// A command that runs for a time and does not end when it is asked.
struct Play<'p> {
    clock: &'p ManualClock,
    start: Now,
    ends_at: i64,
    scenes: RefCell<Vec<Scene<'p>>>,
    was_stopped_at: Option<i64>,
    /// What was told, and when.
    told: Vec<(i64, &'static str)>,
}

impl<'p> Play<'p> {
    fn new(clock: &'p ManualClock, ends_at: i64, mut scenes: Vec<Scene<'p>>) -> Self {
        scenes.sort_by_key(|(at, _)| *at);
        let start = clock.now();
        Self { clock, start, ends_at, scenes: RefCell::new(scenes), was_stopped_at: None, told: Vec::new() }
    }

    fn now(&self) -> i64 {
        self.clock.now().since(&self.start)
    }

    fn go_to(&self, at: i64) {
        self.clock.advance(u64::try_from(at - self.now()).unwrap_or(0));
    }
}

impl Command for Play<'_> {
    type Status = i64;

    fn wait(&mut self, ms: u64) -> Woken<i64> {
        let until = self.now() + i64::try_from(ms).unwrap();
        let next = self.scenes.borrow().first().map(|(at, _)| *at).filter(|at| *at <= until.min(self.ends_at));
        if let Some(at) = next {
            self.go_to(at);
            let (_, scene) = self.scenes.borrow_mut().remove(0);
            scene();
            let is_stopped = self.was_stopped_at == Some(at);
            return if is_stopped { Woken::Continued } else { Woken::GoesOn };
        }
        self.go_to(until.min(self.ends_at).max(self.now()));
        if self.now() >= self.ends_at { Woken::Ended(self.now()) } else { Woken::GoesOn }
    }

    fn end(&mut self, how: Ending) {
        self.told.push((self.now(), if how == Ending::Ask { "ask" } else { "kill" }));
        if how == Ending::Kill {
            self.ends_at = self.now();
        }
    }

    fn tell(&mut self, notice: Notice) {
        self.told.push((self.now(), name(&notice)));
    }
}

fn name(notice: &Notice) -> &'static str {
    match notice {
        Notice::Trouble { .. } => "trouble",
        Notice::Unreadable(_) => "unreadable",
        Notice::Recovered => "recovered",
        Notice::Beside(_) => "beside",
        Notice::TakenBack(_) => "taken back",
        Notice::Lost { how: HowLost::Told(_), .. } => "lost: told",
        Notice::Lost { how: HowLost::Held(_), .. } => "lost: held",
        Notice::Lost { how: HowLost::HadByOthers, .. } => "lost: had by others",
        Notice::Lost { how: HowLost::CannotTell, .. } => "lost: cannot tell",
        Notice::EndsIn { .. } => "ends in",
        Notice::Ending(_) => "ending",
        Notice::NotGivenBack { .. } => "not given back",
        Notice::ExpiredBeforeTheEnd(_) => "expired before the end",
    }
}

/// What a command's run came to.
struct Ran {
    told: Vec<(i64, &'static str)>,
    after: Vec<&'static str>,
    ended_at: i64,
}

/// Takes leases, runs the play, and gives them back.
fn run(locks: &Locks<'_>, what: &[Resource], on_lost: OnLost, clock: &ManualClock, mut play: Play<'_>) -> Ran {
    let (request, grants) = granted(locks, what);
    let mut keeper = Keeper::new(locks, &request, &grants);
    let ended_at = watch(&mut keeper, &mut play, Escalation::new(on_lost, GRACE_MS), clock);
    let after = keeper.give_back().iter().map(name).collect();
    Ran { told: play.told, after, ended_at }
}

fn granted(locks: &Locks<'_>, what: &[Resource]) -> (Request, Vec<Grant>) {
    let request = request("A", what, TTL_MS);
    match locks.acquire(&request).expect("the store works").value {
        Acquired::Granted(grants) => (request, grants),
        Acquired::Refused(conflicts) => panic!("{conflicts:?}"),
    }
}

fn scene<'p>(at: i64, what: impl Fn() + 'p) -> Scene<'p> {
    (at, Box::new(what))
}

#[test]
fn leases_are_renewed_each_third_of_their_ttl_and_keep_their_token() {
    let (store, clock) = (MemoryStore::new(), ManualClock::new(noon()));
    let (locks, what) = (locks(&store, &clock), file("a"));
    let seen = RefCell::new(Vec::new());
    let look = || {
        let record = record(&store, &what);
        seen.borrow_mut().push((record.renewed_at.since(noon()), record.token));
    };
    let times = [THIRD_MS - 1, THIRD_MS + 1, 2 * THIRD_MS - 1, 2 * THIRD_MS + 1, 10 * THIRD_MS + 1];
    let play = Play::new(&clock, 11 * THIRD_MS - 1, times.into_iter().map(|at| scene(at, look)).collect());
    let ran = run(&locks, std::slice::from_ref(&what), OnLost::Term, &clock, play);
    let seen = seen.borrow();
    let renewed: Vec<i64> = seen.iter().map(|(at, _)| *at).collect();
    assert_eq!(renewed, [0, THIRD_MS, THIRD_MS, 2 * THIRD_MS, 10 * THIRD_MS]);
    assert!(seen.iter().all(|(_, token)| *token == seen[0].1));
    assert_eq!((ran.told, ran.after, ran.ended_at), (vec![], vec![], 11 * THIRD_MS - 1));
    assert_eq!(locks.holder(&what), None, "given back");
}

#[test]
fn the_shortest_lease_sets_the_pace() {
    let (store, clock) = (MemoryStore::new(), ManualClock::new(noon()));
    let locks = locks(&store, &clock);
    let request = Request {
        wants: vec![(file("a"), crate::lib_world::ttl(3_600_000)), (file("b"), crate::lib_world::ttl(6_000))],
        ..request("A", &[], TTL_MS)
    };
    let Acquired::Granted(grants) = locks.acquire(&request).expect("the store works").value else { panic!("refused") };
    let mut keeper = Keeper::new(&locks, &request, &grants);
    let mut play = Play::new(&clock, 600_000, vec![]);
    watch(&mut keeper, &mut play, Escalation::new(OnLost::Term, GRACE_MS), &clock);
    assert_eq!(play.told, []);
    assert_eq!(keeper.give_back().len(), 0);
}

#[test]
fn a_passing_failure_of_the_store_is_tried_again_and_is_no_loss() {
    let (store, clock) = (Moody::default(), ManualClock::new(noon()));
    let (locks, what) = (locks(&store, &clock), file("a"));
    let tries = Cell::new(0);
    let scenes = vec![
        scene(1, || store.is_broken.set(true)),
        // Right before its end it works again.
        scene(TTL - 1_500, || {
            tries.set(store.tries.get());
            store.is_broken.set(false);
        }),
    ];
    let ran = run(&locks, std::slice::from_ref(&what), OnLost::Term, &clock, Play::new(&clock, 2 * TTL, scenes));
    let told: Vec<&str> = ran.told.iter().map(|(_, what)| *what).collect();
    assert_eq!(told, ["trouble", "recovered"], "each told once: {:?}", ran.told);
    assert_eq!(ran.told[0].0, THIRD_MS);
    assert!(ran.told[1].0 < TTL, "before the lease ends: {:?}", ran.told);
    assert!(tries.get() >= 5, "{}", tries.get());
    assert_eq!(ran.after, [""; 0]);
}

#[test]
fn what_could_not_be_renewed_is_lost_at_its_end_and_not_before() {
    let (store, clock) = (Moody::default(), ManualClock::new(noon()));
    let (locks, what) = (locks(&store, &clock), file("a"));
    let scenes = vec![scene(1, || store.is_broken.set(true))];
    let ran = run(&locks, std::slice::from_ref(&what), OnLost::Term, &clock, Play::new(&clock, 3 * TTL, scenes));
    let end = TTL;
    let expected = [
        (THIRD_MS, "trouble"),
        (end, "lost: cannot tell"),
        (end, "ends in"),
        (end + GRACE_MS, "ending"),
        (end + GRACE_MS, "ask"),
        (end + 2 * GRACE_MS, "ending"),
        (end + 2 * GRACE_MS, "kill"),
    ];
    assert_eq!(ran.told, expected);
    assert_eq!(ran.ended_at, end + 2 * GRACE_MS);
}

#[test]
fn a_loss_is_noticed_within_a_third_of_the_ttl_and_means_what_was_said() {
    for (on_lost, then) in [
        (OnLost::Warn, vec![]),
        (
            OnLost::Term,
            vec![
                (0, "ends in"),
                (GRACE_MS, "ending"),
                (GRACE_MS, "ask"),
                (2 * GRACE_MS, "ending"),
                (2 * GRACE_MS, "kill"),
            ],
        ),
        (OnLost::Kill, vec![(0, "ending"), (0, "kill")]),
    ] {
        for broken_at in [1, THIRD_MS - 1, THIRD_MS + 1, 5 * THIRD_MS + 7] {
            let (store, clock) = (MemoryStore::new(), ManualClock::new(noon()));
            let (locks, what) = (locks(&store, &clock), file("a"));
            let reason = Reason::new("mine now").expect("a reason");
            let take = || {
                locks.break_leases(std::slice::from_ref(&what), None, &reason).expect("the store works");
                locks.take("B", &what);
            };
            let play = Play::new(&clock, 20 * THIRD_MS, vec![scene(broken_at, take)]);
            let ran = run(&locks, &[what.clone(), file("other")], on_lost, &clock, play);
            let (noticed, first) = ran.told[0];
            assert_eq!(first, "lost: told");
            assert!((broken_at..=broken_at + THIRD_MS).contains(&noticed), "{broken_at}: {noticed}");
            let rest: Vec<_> = ran.told[1..].iter().map(|(at, what)| (at - noticed, *what)).collect();
            assert_eq!(rest, then, "told and done once");
            assert_eq!(ran.after, [""; 0]);
            assert_eq!(locks.holder(&file("other")), None, "the rest was kept, and given back");
            if on_lost == OnLost::Warn {
                assert_eq!(ran.ended_at, 20 * THIRD_MS);
            }
        }
    }
}

#[test]
fn a_second_loss_puts_nothing_off() {
    let (store, clock) = (MemoryStore::new(), ManualClock::new(noon()));
    let (locks, what) = (locks(&store, &clock), [file("a"), file("b")]);
    let reason = Reason::new("mine now").expect("a reason");
    let lose =
        |n: usize| drop(locks.break_leases(std::slice::from_ref(&what[n]), None, &reason).expect("the store works"));
    let (request, grants) = granted(&locks, &what);
    let scenes = vec![scene(1, || lose(0)), scene(THIRD_MS + 1, || lose(1))];
    let mut play = Play::new(&clock, 20 * THIRD_MS, scenes);
    let grace = THIRD_MS + 10_000;
    watch(&mut Keeper::new(&locks, &request, &grants), &mut play, Escalation::new(OnLost::Term, grace), &clock);
    let told: Vec<_> = play.told.into_iter().filter(|(_, what)| *what != "ending").collect();
    let expected = [
        (THIRD_MS, "lost: told"),
        (THIRD_MS, "ends in"),
        (2 * THIRD_MS, "lost: told"),
        (THIRD_MS + grace, "ask"),
        (THIRD_MS + 2 * grace, "kill"),
    ];
    assert_eq!(told, expected);
}

/// Lets time pass that nobody has waited for: the machine was suspended.
const SUSPENDED_MS: u64 = 2 * 3_600_000;
const SUSPENDED: i64 = SUSPENDED_MS.cast_signed();

#[test]
fn after_a_suspend_it_takes_back_what_nobody_else_has_had() {
    let (store, clock) = (MemoryStore::new(), ManualClock::new(noon()));
    let (locks, what) = (locks(&store, &clock), file("a"));
    let before = Cell::new(None);
    let scenes = vec![
        scene(5_000, || {
            before.set(Some(record(&store, &what).token));
            clock.advance(SUSPENDED_MS);
        }),
        scene(5_001 + SUSPENDED, || {
            assert_eq!(locks.holder(&what).as_deref(), Some("A"));
            assert!(Some(record(&store, &what).token) > before.get(), "a new grant");
        }),
    ];
    let end = SUSPENDED + 5 * TTL;
    let ran = run(&locks, std::slice::from_ref(&what), OnLost::Kill, &clock, Play::new(&clock, end, scenes));
    assert_eq!(ran.told, [(5_000 + SUSPENDED, "taken back")]);
    assert_eq!((ran.after, ran.ended_at), (vec![], end));
    assert_eq!(locks.holder(&what), None, "by its new token it is given back");
}

#[test]
fn after_a_suspend_what_others_have_or_had_is_lost_and_not_touched() {
    let (inner, outer) = (file("src/a"), area("src"));
    // Who took what meanwhile, whether it still holds it, and how the loss is told.
    for (taken, still_holds, how) in [
        (&inner, true, "lost: told"),
        (&inner, false, "lost: told"),
        (&outer, true, "lost: had by others"),
        (&outer, false, "lost: had by others"),
    ] {
        let (store, clock) = (MemoryStore::new(), ManualClock::new(noon()));
        let locks = locks(&store, &clock);
        let theirs = RefCell::new(None);
        let scenes = vec![scene(5_000, || {
            clock.advance(SUSPENDED_MS);
            locks.take("B", taken);
            if !still_holds {
                locks.giving_back("B", taken, None);
            }
            *theirs.borrow_mut() = still_holds.then(|| record(&store, taken));
        })];
        let end = SUSPENDED + 10_000;
        let ran = run(&locks, std::slice::from_ref(&inner), OnLost::Warn, &clock, Play::new(&clock, end, scenes));
        let told: Vec<&str> = ran.told.iter().map(|(_, what)| *what).collect();
        assert_eq!(told, [how], "{taken} {still_holds}");
        assert_eq!(ran.after, [""; 0]);
        assert_eq!(theirs.into_inner(), still_holds.then(|| record(&store, taken)), "not a bit of it is changed");
        assert_eq!(locks.holder(&inner).as_deref(), still_holds.then_some("B"));
    }
}

#[test]
fn what_somebody_has_had_between_the_look_and_the_grant_is_not_taken_back() {
    let (clock, what) = (ManualClock::new(noon()), file("a"));
    let store = Moody::default();
    let locks = locks(&store, &clock);
    let theirs = |store: &MemoryStore| {
        let locks = crate::lib_world::locks(store, &clock);
        locks.take("B", &what);
        locks.giving_back("B", &what, None);
    };
    // The first change is the grant, the second finds that the lease has expired, the third would have it again.
    *store.event.borrow_mut() = Some((3, Box::new(theirs)));
    let scenes = vec![scene(5_000, || clock.advance(SUSPENDED_MS))];
    let play = Play::new(&clock, SUSPENDED + 10_000, scenes);
    let ran = run(&locks, std::slice::from_ref(&what), OnLost::Warn, &clock, play);
    assert_eq!(ran.told, [(5_000 + SUSPENDED, "lost: had by others")]);
    assert_eq!(locks.holder(&what), None, "what was granted by mistake is given back at once");
}

#[test]
fn who_was_stopped_looks_at_once() {
    let (store, clock) = (MemoryStore::new(), ManualClock::new(noon()));
    let (locks, what) = (locks(&store, &clock), file("a"));
    let renewed = Cell::new(0);
    let scenes = vec![
        scene(5_000, || clock.advance(1_000)),
        scene(6_001, || renewed.set(record(&store, &what).renewed_at.since(noon()))),
    ];
    let mut play = Play::new(&clock, 10_000, scenes);
    play.was_stopped_at = Some(5_000);
    run(&locks, std::slice::from_ref(&what), OnLost::Term, &clock, play);
    assert_eq!(renewed.get(), 6_000, "long before a third has passed");
}

#[test]
fn what_the_owner_held_before_is_renewed_meanwhile_and_left_to_it() {
    let (store, clock) = (MemoryStore::new(), ManualClock::new(noon()));
    let locks = locks(&store, &clock);
    let (before, fresh) = (file("before"), file("fresh"));
    let token = locks.take("A", &before).lease.token;
    let play = Play::new(&clock, 5 * TTL, vec![]);
    let ran = run(&locks, &[before.clone(), fresh.clone()], OnLost::Term, &clock, play);
    assert_eq!((ran.told, ran.after), (vec![], vec![]));
    assert_eq!(locks.holder(&before).as_deref(), Some("A"));
    assert_eq!(record(&store, &before).token, token, "one and the same lease");
    assert_eq!(locks.holder(&fresh), None);
}

#[test]
fn a_later_grant_of_the_same_owner_is_not_given_back() {
    let (store, clock) = (MemoryStore::new(), ManualClock::new(noon()));
    let (locks, what) = (locks(&store, &clock), file("a"));
    let take_anew = || {
        locks.giving_back("A", &what, None);
        locks.take("A", &what);
    };
    let play =
        Play::new(&clock, 2 * TTL, vec![scene(THIRD_MS / 2, take_anew), scene(TTL, || drop(locks.take("A", &what)))]);
    let ran = run(&locks, std::slice::from_ref(&what), OnLost::Warn, &clock, play);
    assert_eq!(ran.told, [(THIRD_MS, "lost: told")]);
    assert_eq!(locks.holder(&what), None, "nobody renews it any more, so it has ended by itself");
    assert_eq!(record(&store, &what).owner, owner("A"));
    assert!(record(&store, &what).ended.is_none(), "and was not given back");
}
