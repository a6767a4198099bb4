//! Chance that can be had again: numbers that follow from a seed.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// One stream of numbers for each list of parts.
    pub(crate) fn of(parts: &[u64]) -> Self {
        let mut chance = Self(0x0A9E_2171_0C4B_55ED);
        for part in parts {
            chance.0 ^= part.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            chance.0 = chance.next();
        }
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end`, without `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A number from `from` to `end`, without `end`.
    pub(crate) fn within(&mut self, from: u64, end: u64) -> u64 {
        from + self.below(end - from)
    }

    /// True `times` times in a hundred.
    pub(crate) fn percent(&mut self, times: u64) -> bool {
        self.below(100) < times
    }

    pub(crate) fn one_of<'t, T>(&mut self, things: &'t [T]) -> &'t T {
        let at = usize::try_from(self.below(things.len() as u64)).unwrap();
        &things[at]
    }
}
