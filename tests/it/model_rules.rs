//! The contract in fifty lines, and the real service beside it: random requests of several owners while clocks step both ways and the machine is
//! restarted. The model shares nothing with the program: paths are compared here, time is counted here.

use std::collections::{BTreeMap, BTreeSet};

use git_agentlock::{
    clock::{Clock as _, ManualClock},
    locks::{Acquired, GiveBack, Locks, Release, Renewal},
    resource::Resource,
    store::{Store, memory::MemoryStore},
};
use proptest::prelude::*;

use crate::lib_world::{DAY_MS, Disk, area, file, locks, noon, owner, prolong, request};

/// A path, and whether all below it is meant.
type Place = (&'static str, bool);

const PLACES: [Place; 8] = [
    ("a", false),
    ("src", false),
    ("src", true),
    ("src/a", false),
    ("src/deep", true),
    ("src/deep/x", false),
    ("srcx", false),
    ("", true),
];
const OWNERS: [&str; 3] = ["A", "A/sub", "B"];

struct Held {
    who: usize,
    is_area: bool,
    ttl: i64,
    wall_end: i64,
    /// The boot during which it was written, and when it ends, counted from that.
    boot_end: Option<(u32, i64)>,
    /// Somebody was granted what overlaps it after it had ended: it never lives again, whatever the clock says then.
    is_over: bool,
}

/// The time: the wall clock, and the boot with what has passed since, where the system tells of one.
#[derive(Clone, Copy)]
struct Time {
    wall: i64,
    boot: Option<(u32, i64)>,
}

#[derive(Default)]
struct Spec(BTreeMap<&'static str, Held>);

fn overlap((a, a_area): Place, (b, b_area): Place) -> bool {
    let below = |top: &str, path: &str| top.is_empty() || path == top || path.starts_with(&format!("{top}/"));
    a == b || (a_area && below(a, b)) || (b_area && below(b, a))
}

impl Held {
    fn left(&self, now: Time) -> i64 {
        match (self.boot_end, now.boot) {
            _ if self.is_over => 0,
            (Some((boot, end)), Some((this, since))) if boot == this => end - since,
            _ => self.wall_end - now.wall,
        }
    }

    fn end_in(&mut self, ms: i64, now: Time) {
        (self.wall_end, self.boot_end) = (now.wall + ms, now.boot.map(|(boot, since)| (boot, since + ms)));
    }

    /// One TTL from now, unless it ends later than that already, as a lease can.
    fn prolong(&mut self, ttl: i64, now: Time) {
        if (ttl..=self.ttl).contains(&self.left(now)) {
            let left = self.left(now);
            let wall_end = self.wall_end;
            if self.boot_end.map(|(boot, _)| boot) != now.boot.map(|(boot, _)| boot) {
                self.end_in(left, now);
                self.wall_end = wall_end;
            }
        } else {
            self.ttl = ttl;
            self.end_in(ttl, now);
        }
    }
}

impl Spec {
    fn holders(&self, place: Place, now: Time) -> BTreeSet<usize> {
        let live = self.0.iter().filter(|(_, held)| held.left(now) > 0);
        live.filter(|(path, held)| overlap((path, held.is_area), place)).map(|(_, held)| held.who).collect()
    }

    /// The owners in the way; none: granted.
    fn acquire(&mut self, who: usize, wants: &BTreeMap<&'static str, bool>, ttl: i64, now: Time) -> BTreeSet<usize> {
        let wanted = |path: &'static str, held: &Held| {
            held.who != who && wants.iter().any(|(want, is_area)| overlap((want, *is_area), (path, held.is_area)))
        };
        let in_the_way = self.0.iter_mut().filter(|(path, held)| wanted(path, held) && held.left(now) > 0);
        let mut conflicts = BTreeSet::new();
        for (_, held) in in_the_way {
            conflicts.insert(held.who);
            if held.left(now) > held.ttl {
                held.end_in(held.ttl, now);
            }
        }
        if conflicts.is_empty() {
            let passed_over = self.0.iter_mut().filter(|(path, held)| wanted(path, held));
            passed_over.for_each(|(_, held)| held.is_over = true);
            for (path, is_area) in wants {
                match self.0.get_mut(path).filter(|held| held.left(now) > 0) {
                    Some(held) => {
                        held.is_area |= is_area;
                        held.prolong(ttl, now);
                    }
                    None => {
                        let mut held =
                            Held { who, is_area: *is_area, ttl, wall_end: 0, boot_end: None, is_over: false };
                        held.end_in(ttl, now);
                        self.0.insert(path, held);
                    }
                }
            }
        }
        conflicts
    }

    fn renew(&mut self, who: usize, (path, _): Place, now: Time) -> bool {
        let own = self.0.get_mut(path).filter(|held| held.who == who && held.left(now) > 0);
        own.map(|held| held.prolong(held.ttl, now)).is_some()
    }

    fn release(&mut self, who: usize, (path, _): Place) -> bool {
        let is_own = self.0.get(path).is_some_and(|held| held.who == who);
        is_own && self.0.remove(path).is_some()
    }
}

#[derive(Debug, Clone)]
enum Step {
    Acquire { who: usize, what: Vec<usize>, seconds: u64 },
    Renew { who: usize, what: usize },
    Release { who: usize, what: usize },
    Prune,
    Pass { ms: u64 },
    SetWall { ms: i64 },
    Reboot { names_boots: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (who, place) = (|| 0..OWNERS.len(), || 0..PLACES.len());
    let some = proptest::collection::vec(place(), 1..4);
    let step = prop_oneof![
        8 => (who(), some, 1_u64..120).prop_map(|(who, what, seconds)| Step::Acquire { who, what, seconds }),
        4 => (who(), place()).prop_map(|(who, what)| Step::Renew { who, what }),
        3 => (who(), place()).prop_map(|(who, what)| Step::Release { who, what }),
        1 => Just(Step::Prune),
        4 => (0_u64..90_000).prop_map(|ms| Step::Pass { ms }),
        1 => (-2 * DAY_MS..2 * DAY_MS).prop_map(|ms| Step::SetWall { ms }),
        1 => any::<bool>().prop_map(|names_boots| Step::Reboot { names_boots }),
    ];
    proptest::collection::vec(step, 1..60)
}

fn resource((path, is_area): Place) -> Resource {
    if is_area { area(path) } else { file(path) }
}

fn name(who: usize) -> String {
    OWNERS[who].to_owned()
}

/// The real service and the model, with one clock.
struct Both<'b> {
    store: &'b dyn Store,
    clock: ManualClock,
    boots: u32,
    /// What has passed since the boot, where the system tells.
    since: Option<i64>,
    spec: Spec,
    tokens: BTreeMap<&'static str, u64>,
}

impl Both<'_> {
    fn now(&self) -> Time {
        Time { wall: self.clock.now().wall.millis(), boot: self.since.map(|since| (self.boots, since)) }
    }

    fn service(&self) -> Locks<'_> {
        // Nothing is swept: what is no longer kept cannot live again, and the stores sweep different parts at different times.
        Locks { keep_expired_ms: u64::MAX / 4, ..locks(self.store, &self.clock) }
    }

    fn acquire(&mut self, who: usize, what: &[usize], seconds: u64) {
        let wants: Vec<Resource> = what.iter().map(|n| resource(PLACES[*n])).collect();
        let answer = self.service().acquire(&request(OWNERS[who], &wants, seconds * 1000)).unwrap().value;
        let mut merged: BTreeMap<&'static str, bool> = BTreeMap::new();
        for n in what {
            *merged.entry(PLACES[*n].0).or_default() |= PLACES[*n].1;
        }
        let ttl = i64::try_from(seconds * 1000).unwrap();
        let before: BTreeSet<&'static str> = {
            let now = self.now();
            let live = self.spec.0.iter().filter(|(_, held)| held.left(now) > 0 && held.who == who);
            live.map(|(path, _)| *path).collect()
        };
        let now = self.now();
        let expected: BTreeSet<String> = self.spec.acquire(who, &merged, ttl, now).into_iter().map(name).collect();
        match answer {
            Acquired::Granted(grants) => {
                assert!(expected.is_empty(), "granted beside {expected:?}");
                for (grant, path) in
                    grants.iter().map(|grant| (grant, grant.lease.resource.path().unwrap().to_string()))
                {
                    let path =
                        merged.keys().find(|known| **known == path || (known.is_empty() && path == ".")).unwrap();
                    assert_eq!(grant.fresh, !before.contains(path), "fresh is what was not held before: {path}");
                    let token = grant.lease.token.get();
                    let last = self.tokens.insert(path, token).unwrap_or(0);
                    assert!(if grant.fresh { token > last } else { token == last }, "{path}: {last}, then {token}");
                }
            }
            Acquired::Refused(conflicts) => {
                let owners = conflicts.iter().map(|conflict| conflict.holder.owner().unwrap().as_str().to_owned());
                assert_eq!(owners.collect::<BTreeSet<_>>(), expected);
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Acquire { who, what, seconds } => self.acquire(*who, what, *seconds),
            Step::Renew { who, what } => {
                let item = prolong(&resource(PLACES[*what]), None);
                let answer = self.service().renew(&owner(OWNERS[*who]), &[item], 1).unwrap().value.remove(0);
                let now = self.now();
                assert_eq!(matches!(answer, Renewal::Renewed { .. }), self.spec.renew(*who, PLACES[*what], now));
            }
            Step::Release { who, what } => {
                let item = GiveBack { resource: resource(PLACES[*what]), token: None };
                let answer = self.service().release(&owner(OWNERS[*who]), &[item]).unwrap().value.remove(0);
                assert_eq!(matches!(answer, Release::Released(_)), self.spec.release(*who, PLACES[*what]));
            }
            Step::Prune => {
                self.service().prune(&|_| true, false).unwrap();
                let now = self.now();
                self.spec.0.retain(|_, held| held.left(now) > 0);
            }
            Step::Pass { ms } => {
                self.clock.advance(*ms);
                self.since = self.since.map(|since| since + i64::try_from(*ms).unwrap());
            }
            Step::SetWall { ms } => self.clock.step_wall(*ms),
            Step::Reboot { names_boots } => {
                self.boots += 1;
                if *names_boots {
                    self.clock.reboot(&format!("boot-of-{}", self.boots));
                } else {
                    self.clock.forget_boot();
                }
                let boot = self.clock.now().boot;
                self.since = boot.map(|boot| i64::try_from(boot.millis).unwrap());
            }
        }
    }

    fn agrees(&self) {
        for place in PLACES {
            let report = self.service().check(&[resource(place)]).unwrap().remove(0);
            let holders = report.holders.iter().map(|holder| holder.owner().unwrap().as_str().to_owned());
            let expected = self.spec.holders(place, self.now()).into_iter().map(name);
            assert_eq!(holders.collect::<BTreeSet<_>>(), expected.collect::<BTreeSet<_>>(), "{place:?}");
        }
    }
}

fn the_service_keeps_the_contract(store: &dyn Store, steps: &[Step]) {
    let clock = ManualClock::new(noon());
    let since = clock.now().boot.map(|boot| i64::try_from(boot.millis).unwrap());
    let mut both = Both { store, clock, boots: 0, since, spec: Spec::default(), tokens: BTreeMap::new() };
    for step in steps {
        both.step(step);
        both.agrees();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_service_on_the_file_store_keeps_the_contract(steps in steps()) {
        the_service_keeps_the_contract(&Disk::new().store, &steps);
    }

    #[test]
    fn the_service_on_the_store_in_memory_keeps_the_contract(steps in steps()) {
        the_service_keeps_the_contract(&MemoryStore::new(), &steps);
    }
}
