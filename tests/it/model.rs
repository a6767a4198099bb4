//! Any sequence of requests: the file store answers as the store in memory does, and what must always hold does hold.

use git_agentlock::{
    clock::{Clock as _, ManualClock},
    locks::{GiveBack, Locks, State},
    record::Token,
    resource::Resource,
    store::{ReadSet, Seen, Store, memory::MemoryStore},
};
use proptest::prelude::*;

use crate::lib_world::{DAY_MS, Disk, area, file, locks, named, noon, owner, prolong, request};

/// What one agent does, or what happens to the clocks.
#[derive(Debug, Clone)]
enum Step {
    Acquire { who: usize, what: Vec<usize>, seconds: u64 },
    Renew { who: usize, what: Vec<usize>, with_token: bool },
    Release { who: usize, what: Vec<usize>, with_token: bool },
    Pass { ms: u64 },
    SetWall { ms: i64 },
    Reboot { names_boots: bool },
}

const OWNERS: [&str; 3] = ["A", "A/sub", "B"];

fn resources() -> [Resource; 8] {
    [
        file("a"),
        file("src"),
        area("src"),
        file("src/a"),
        area("src/deep"),
        file("src/deep/x"),
        area(""),
        named("plan:1"),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || proptest::collection::vec(0..resources().len(), 1..4);
    let who = || 0..OWNERS.len();
    let step = prop_oneof![
        6 => (who(), some(), 1_u64..120).prop_map(|(who, what, seconds)| Step::Acquire { who, what, seconds }),
        3 => (who(), some(), any::<bool>()).prop_map(|(who, what, with_token)| Step::Renew { who, what, with_token }),
        3 => (who(), some(), any::<bool>()).prop_map(|(who, what, with_token)| Step::Release { who, what, with_token }),
        4 => (0_u64..90_000).prop_map(|ms| Step::Pass { ms }),
        1 => (-2 * DAY_MS..2 * DAY_MS).prop_map(|ms| Step::SetWall { ms }),
        1 => any::<bool>().prop_map(|names_boots| Step::Reboot { names_boots }),
    ];
    proptest::collection::vec(step, 1..40)
}

/// The token that the record there has, for those who ask with one.
fn token_at(store: &dyn Store, what: &Resource, with_token: bool) -> Option<Token> {
    let read = ReadSet { own: vec![what.key()], ..ReadSet::default() };
    let view = store.view(&read).expect("a view");
    let Some(Seen::Record(record)) = view.get(what.key()) else { return None };
    with_token.then_some(record.token)
}

/// Does the step, and tells the answer. Tokens are left out: the stores count each in their own way.
fn answer(locks: &Locks<'_>, step: &Step) -> String {
    let all = resources();
    let told = match step {
        Step::Acquire { who, what, seconds } => {
            let what: Vec<Resource> = what.iter().map(|n| all[*n].clone()).collect();
            format!("{:?}", locks.acquire(&request(OWNERS[*who], &what, seconds * 1000)).expect("the store works"))
        }
        Step::Renew { who, what, with_token } => {
            let item = |n: &usize| prolong(&all[*n], token_at(locks.store, &all[*n], *with_token));
            let items: Vec<_> = what.iter().map(item).collect();
            format!("{:?}", locks.renew(&owner(OWNERS[*who]), &items, 1).expect("the store works"))
        }
        Step::Release { who, what, with_token } => {
            let token = |n: &usize| token_at(locks.store, &all[*n], *with_token);
            let items = what.iter().map(|n| GiveBack { resource: all[*n].clone(), token: token(n) });
            let items: Vec<_> = items.collect();
            format!("{:?}", locks.release(&owner(OWNERS[*who]), &items).expect("the store works"))
        }
        Step::Pass { .. } | Step::SetWall { .. } | Step::Reboot { .. } => String::new(),
    };
    without_tokens(&told)
}

fn without_tokens(text: &str) -> String {
    let mut parts = text.split("Token(");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        told.push_str("Token(");
        told.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    told
}

/// A clock that is set in both directions, also across reboots.
struct Clocks {
    manual: ManualClock,
    boots: u32,
}

impl Clocks {
    fn pass(&mut self, step: &Step) {
        match step {
            Step::Pass { ms } => self.manual.advance(*ms),
            Step::SetWall { ms } => self.manual.step_wall(*ms),
            Step::Reboot { names_boots } => {
                self.boots += 1;
                if *names_boots {
                    self.manual.reboot(&format!("boot-of-{}", self.boots));
                } else {
                    self.manual.forget_boot();
                }
            }
            _ => {}
        }
    }
}

/// No two owners hold what overlaps, and all ways to look agree.
fn holds(locks: &Locks<'_>) {
    let leases = locks.list().expect("the store works").leases;
    let live: Vec<_> = leases.iter().filter(|lease| lease.state == State::Live).collect();
    for a in &live {
        for b in &live {
            assert!(a.owner == b.owner || !a.resource.overlaps(&b.resource), "{a:?} and {b:?}");
        }
    }
    for what in resources() {
        let report = locks.check(std::slice::from_ref(&what)).expect("the store works").remove(0);
        let listed = live.iter().filter(|lease| lease.resource.overlaps(&what)).count();
        assert_eq!(report.holders.len(), listed, "check and list agree about {what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_file_store_answers_as_the_model_does(steps in steps()) {
        let (disk, memory) = (Disk::new(), MemoryStore::new());
        let mut clocks = Clocks { manual: ManualClock::new(noon()), boots: 0 };
        // Nothing is swept, since the stores sweep different parts at different times.
        let mut highest = vec![0_u64; resources().len()];
        for step in &steps {
            clocks.pass(step);
            let clock = &clocks.manual;
            let on_disk = Locks { keep_expired_ms: u64::MAX / 4, ..locks(&disk.store, clock) };
            let in_memory = Locks { keep_expired_ms: u64::MAX / 4, ..locks(&memory, clock) };
            prop_assert_eq!(answer(&on_disk, step), answer(&in_memory, step), "{:?} at {:?}", step, clock.now());
            let listed = |locks: &Locks<'_>| without_tokens(&format!("{:?}", locks.list().expect("the store works")));
            prop_assert_eq!(listed(&on_disk), listed(&in_memory));
            holds(&on_disk);
            for (what, highest) in resources().iter().zip(&mut highest) {
                let token = token_at(&disk.store, what, true).map_or(0, Token::get);
                prop_assert!(token == 0 || token >= *highest, "the token of {} fell", what);
                *highest = token.max(*highest);
            }
        }
        prop_assert!(disk.temps().is_empty());
    }
}
