//! What racers ask for. The requests follow from the seed alone: given it, every racer asks for the same in the same order.

use crate::{chance::Chance, history::Deed};

/// Names that contain each other, names that only look as if, the same place as file and as area, and things without a place.
const UNIVERSE: [&str; 14] = [
    "work/a",
    "work/",
    "work/b",
    "work/deep/x",
    "work/deep/",
    "plan:1",
    "work",
    "works",
    "work-a",
    "lib/",
    "lib/z",
    ".",
    "work/deep/y",
    "git:index",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) deed: Deed,
    /// None: all of the owner's (or, for prune and list, of the store's).
    pub(crate) what: Vec<&'static str>,
    pub(crate) ttl_ms: u64,
    pub(crate) wait_ms: u64,
    /// With the token that the racer was told last for each resource.
    pub(crate) with_token: bool,
    /// How long to rest afterwards.
    pub(crate) rest_us: u64,
}

/// An endless list of requests.
pub(crate) struct Requests {
    chance: Chance,
    universe: &'static [&'static str],
    /// What was asked for last, and is therefore most likely held.
    last: Vec<&'static str>,
}

impl Requests {
    /// `seed` is the round's: all racers of a round want the same few things.
    pub(crate) fn of(seed: u64, racer: u64, life: u64) -> Self {
        let size = Chance::of(&[seed]).within(3, UNIVERSE.len() as u64 + 1);
        let universe = &UNIVERSE[..usize::try_from(size).unwrap()];
        Self { chance: Chance::of(&[seed, racer, life]), universe, last: Vec::new() }
    }

    fn some(&mut self) -> Vec<&'static str> {
        let count = *self.chance.one_of(&[1, 1, 1, 1, 2, 3]);
        let mut some: Vec<&str> = Vec::new();
        for _ in 0..count {
            let one = *self.chance.one_of(self.universe);
            // Everything at once keeps all others out.
            let is_wanted = !some.contains(&one) && (one != "." || self.chance.percent(20));
            some.extend(is_wanted.then_some(one));
        }
        if some.is_empty() { vec![self.universe[0]] } else { some }
    }

    /// Mostly what was asked for last.
    fn own(&mut self) -> Vec<&'static str> {
        if self.last.is_empty() || self.chance.percent(15) { self.some() } else { self.last.clone() }
    }

    fn ttl_ms(&mut self) -> u64 {
        match self.chance.below(100) {
            0..60 => self.chance.within(1, 6),
            60..90 => self.chance.within(6, 30),
            90..99 => self.chance.within(30, 150),
            _ => 500,
        }
    }

    fn rest_us(&mut self) -> u64 {
        match self.chance.below(100) {
            0..70 => 0,
            70..95 => self.chance.below(400),
            _ => self.chance.below(8000),
        }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let (deed, what) = match self.chance.below(100) {
            0..44 => {
                self.last = self.some();
                (Deed::Acquire, self.last.clone())
            }
            44..57 => (Deed::Renew, self.own()),
            57..60 => (Deed::Renew, Vec::new()),
            60..76 => (Deed::Release, self.own()),
            76..79 => (Deed::Release, Vec::new()),
            79..82 => (Deed::Break, self.some()),
            82..85 => (Deed::Prune, Vec::new()),
            85..96 => (Deed::Check, self.some()),
            _ => (Deed::List, Vec::new()),
        };
        let waits = deed == Deed::Acquire && self.chance.percent(15);
        let wait_ms = if waits { self.chance.within(1, 40) } else { 0 };
        let with_token = self.chance.percent(30);
        Some(Request { deed, what, ttl_ms: self.ttl_ms(), wait_ms, with_token, rest_us: self.rest_us() })
    }
}

mod tests {
    use super::Requests;

    #[test]
    fn the_same_seed_makes_the_same_requests() {
        let first = |seed, racer, life| Requests::of(seed, racer, life).take(500).collect::<Vec<_>>();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        for other in [first(2, 2, 3), first(1, 3, 3), first(1, 2, 4)] {
            assert_ne!(first(1, 2, 3), other);
        }
    }
}
