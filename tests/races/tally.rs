//! The races themselves, and the numbers that they are told by.

use std::{
    fmt,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::Write as _,
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::{
    chance::Chance,
    checker::{self, Fault},
    contest::{Course, Round},
    history::{Answer, Deed, MS},
    racer::Way,
};

/// One race at a time: each is to have the machine for itself.
static MACHINE: Mutex<()> = Mutex::new(());

/// Until when to race.
#[derive(Clone, Copy)]
enum Until {
    Operations(usize),
    Seconds(u64),
}

#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    operations: usize,
    grants: usize,
    renewals: usize,
    takeovers: usize,
    ended: usize,
    looks: usize,
    too_slow: usize,
    cut_off: usize,
    kills: u64,
    stops: u64,
    intervals: usize,
    certain_ms: u64,
    longest_ms: u64,
    faults: Vec<(u64, Fault)>,
    failures: Vec<(u64, String)>,
    took: Duration,
}

impl Tally {
    fn add(&mut self, seed: u64, round: Round) {
        self.rounds += 1;
        self.operations += round.acts.len();
        for act in &round.acts {
            self.longest_ms = self.longest_ms.max((act.over_by - act.begun.at) / MS);
            match act.told.as_ref().map(|told| &told.answer) {
                None => self.cut_off += 1,
                Some(Answer::Holds(held)) if act.begun.deed == Deed::Acquire => {
                    self.grants += held.iter().filter(|held| held.fresh).count();
                    self.takeovers += held.iter().filter(|held| held.took_over).count();
                }
                Some(Answer::Holds(held)) => self.renewals += held.len(),
                Some(Answer::Ended(ended)) => self.ended += ended.len(),
                Some(Answer::Saw(_)) => self.looks += 1,
                Some(Answer::TooSlow) => self.too_slow += 1,
                Some(Answer::Done | Answer::Failed(_)) => {}
            }
        }
        self.kills += round.kills;
        self.stops += round.stops;
        let (intervals, length) = checker::certain(&round.acts);
        self.intervals += intervals;
        self.certain_ms += length / MS;
        self.faults.extend(checker::faults(&round.acts).into_iter().map(|fault| (seed, fault)));
        self.failures.extend(round.failures.into_iter().map(|failure| (seed, failure)));
    }

    /// What is looked for: anything that is wrong; without mutexes all kinds of things are, and only an overlap is proof.
    fn has_found_it(&self) -> bool {
        let is_wrong = !self.faults.is_empty() || !self.failures.is_empty();
        if cfg!(agentlock_no_mutex) { self.overlaps() > 0 } else { is_wrong }
    }

    fn overlaps(&self) -> usize {
        self.faults.iter().filter(|(_, fault)| matches!(fault, Fault::Overlap(_))).count()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} operations in {} rounds, {:.0} s: {} grants, {} of them takeovers, {} renewals, {} released or broken, {} looks, \
             {} too slow, {} cut off; {} kills, {} stops; {} certain intervals of {:.1} s together; longest operation {} ms; \
             overlaps {}, other faults {}",
            self.operations,
            self.rounds,
            self.took.as_secs_f64(),
            self.grants,
            self.takeovers,
            self.renewals,
            self.ended,
            self.looks,
            self.too_slow,
            self.cut_off,
            self.kills,
            self.stops,
            self.intervals,
            Duration::from_millis(self.certain_ms).as_secs_f64(),
            self.longest_ms,
            self.overlaps(),
            self.faults.len() - self.overlaps() + self.failures.len()
        )
    }
}

#[expect(clippy::disallowed_methods, reason = "how long and with which seed is said in the environment")]
fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value:?} is no number")))
}

/// Rounds of a fresh store each, until it is enough or something is wrong.
fn race(name: &str, way: Way, until: Until) -> Tally {
    let _machine = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seed = setting("AGENTLOCK_RACES_SEED").unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 32);
    let (start, mut tally) = (Instant::now(), Tally::default());
    let (largest, most_racers) = if way == Way::Library { (5000, 10) } else { (600, 8) };
    loop {
        let left = match until {
            Until::Operations(wanted) => wanted.saturating_sub(tally.operations),
            Until::Seconds(seconds) if start.elapsed().as_secs() < seconds => largest,
            Until::Seconds(_) => 0,
        };
        if left == 0 || tally.has_found_it() {
            break;
        }
        let seed = seed.wrapping_add(tally.rounds);
        let racers = Chance::of(&[seed, 0]).within(2, most_racers);
        tally.add(seed, Course::new(way, seed).run(racers, left.min(largest)));
    }
    tally.took = start.elapsed();
    // Not captured: whoever runs the tests is to see the numbers.
    let _ = writeln!(std::io::stderr(), "{name}, seed {seed}: {tally}");
    tally
}

#[track_caller]
fn nothing_is_wrong(tally: &Tally) {
    let few = |all: &[String]| all.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    let faults: Vec<String> = tally.faults.iter().map(|(seed, fault)| format!("seed {seed}: {fault:?}")).collect();
    let failures: Vec<String> =
        tally.failures.iter().map(|(seed, failure)| format!("seed {seed}: {failure}")).collect();
    assert!(faults.is_empty() && failures.is_empty(), "{}\n{}", few(&faults), few(&failures));
    assert!(tally.grants > 0 && tally.takeovers > 0 && tally.intervals > 0, "the race was about something");
}

#[test]
#[cfg(not(agentlock_no_mutex))]
fn a_few_thousand_operations_of_the_library_never_overlap() {
    nothing_is_wrong(&race("library", Way::Library, Until::Operations(10_000)));
}

#[test]
#[cfg(not(agentlock_no_mutex))]
fn some_hundred_operations_of_the_binary_never_overlap() {
    nothing_is_wrong(&race("binary", Way::Binary, Until::Operations(600)));
}

/// Three quarters of the time for the library, the rest for the binary, when a time is given.
#[test]
#[ignore = "needs minutes"]
#[cfg(not(agentlock_no_mutex))]
fn a_hundred_thousand_operations_never_overlap() {
    let seconds = setting("AGENTLOCK_RACES_SECONDS");
    let until = |share: u64, operations| match seconds {
        Some(seconds) => Until::Seconds(seconds * share / 4),
        None => Until::Operations(operations),
    };
    nothing_is_wrong(&race("library", Way::Library, until(3, 100_000)));
    nothing_is_wrong(&race("binary", Way::Binary, until(1, 5_000)));
}

/// Only where the library was built without its mutexes.
#[test]
#[cfg(agentlock_no_mutex)]
fn without_mutexes_the_overlap_is_found() {
    let tally = race("library without mutexes", Way::Library, Until::Operations(50_000));
    assert!(tally.overlaps() > 0, "{tally}");
}

/// The proof that the proof can fail.
#[test]
#[ignore = "needs a build of its own"]
#[cfg(not(agentlock_no_mutex))]
fn a_build_without_mutexes_is_found_out() {
    let _machine = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["test", "--locked", "--target-dir", "target/no-mutex", "--test", "races", "without_mutexes"]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).env("RUSTFLAGS", "--cfg agentlock_no_mutex");
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    let output = cargo.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
    let numbers = stderr.lines().filter(|line| line.starts_with("library without mutexes"));
    let _ = writeln!(std::io::stderr(), "{}", numbers.collect::<Vec<_>>().join("\n"));
}
