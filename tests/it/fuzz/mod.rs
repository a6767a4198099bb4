//! Bytes of others, of any kind, in every place that reads them: no panic, no answer that breaks a rule, no work without an end.
//!
//! `fixtures/fuzz/<target>` has small examples, each form that is valid and each way to be wrong; all go through their [`targets`], and so do mutations
//! of them, from a seed. `proof/fuzz.sh SECONDS` goes on for longer. What grows with its input is measured in [`growth`].

mod arguments;
mod corpus;
mod growth;
mod guard;
mod mutation;
mod targets;

use std::{
    fs,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use self::{
    mutation::Mutator,
    targets::{TARGETS, Target, World},
};

/// No input of a few kilobytes needs so much of the processor, however slow it is.
const MOST_WORK: Duration = Duration::from_secs(2);

fn variable(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "how long it is to last is said from outside")]
    std::env::var(name).ok()?.parse().ok()
}

/// What this thread has used of the processor: nobody else who is busy counts.
fn work() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// Keeps the input that did it, when something panics.
struct Witness<'a>(&'a Target, &'a [u8]);

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target").join(format!("fuzz-{}", self.0.name));
            let kept = fs::write(&path, self.1);
            let mut stderr = std::io::stderr();
            let _ =
                writeln!(stderr, "{}: {}\nkept in {}: {kept:?}", self.0.name, self.1.escape_ascii(), path.display());
        }
    }
}

fn try_one(target: &Target, world: &World, input: &[u8]) {
    let _witness = Witness(target, input);
    let start = work();
    (target.judge)(world, input);
    let used = work().saturating_sub(start);
    assert!(used < MOST_WORK, "{}: {used:?}", target.name);
}

/// Every example, then mutations until it is over. Returns how many.
fn fuzz(target: &Target, seed: u64, is_over: impl Fn(usize) -> bool) -> usize {
    let (world, seeds) = (World::new(), corpus::of(target.name));
    for (_, input) in &seeds {
        try_one(target, &world, input);
    }
    let seeds: Vec<Vec<u8>> = seeds.into_iter().map(|(_, input)| input).collect();
    let mut mutator = Mutator::new(&seeds, seed);
    let mut count = 0;
    while !is_over(count) {
        try_one(target, &world, &mutator.next());
        count += 1;
    }
    count
}

#[test]
fn every_example_and_some_hundred_mutations_of_them_are_taken_well() {
    for target in &TARGETS {
        fuzz(target, 1, |count| count >= target.mutations);
    }
}

/// Twenty seconds, unless `AGENTLOCK_FUZZ_SECONDS` says otherwise; `AGENTLOCK_FUZZ_SEED` is the seed, else it is another one each time.
#[test]
#[ignore = "needs time: proof/fuzz.sh SECONDS"]
fn mutations_are_taken_well_for_as_long_as_is_wanted() {
    let seconds = variable("AGENTLOCK_FUZZ_SECONDS").unwrap_or(20);
    let seed = variable("AGENTLOCK_FUZZ_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let share = Duration::from_secs(seconds) / u32::try_from(TARGETS.len() + 1).unwrap();
    let mut told = format!("seed {seed}");
    let tell = |told: &mut String, name: &str, count| *told += &format!(", {name} {count}");
    for target in &TARGETS {
        let start = Instant::now();
        let count = fuzz(target, seed, |_| start.elapsed() >= share);
        tell(&mut told, target.name, count);
    }
    let start = Instant::now();
    let (count, wrote) = guard::beside_git(seed, |_| start.elapsed() >= share);
    tell(&mut told, "indexes beside git", count);
    let _ = writeln!(std::io::stderr(), "{told}, of which git could commit {wrote}");
}

#[test]
fn every_target_has_examples_and_every_example_a_target() {
    let mut names: Vec<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    names.sort();
    assert_eq!(corpus::names(), names);
    for name in &names {
        let seeds = corpus::of(name);
        assert!(seeds.len() >= 3, "{name}: {}", seeds.len());
        assert!(seeds.iter().all(|(_, input)| input.len() <= 16 * 1024), "{name}: examples are small");
    }
}
