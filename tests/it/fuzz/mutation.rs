//! From examples to inputs that nobody has thought of: bits, bytes and pieces changed, moved, repeated, and taken from one another.

/// What is at the limits of something, somewhere.
const PIECES: [&[u8]; 24] = [
    b"\0",
    b"\n",
    b"\"",
    b"\\",
    b"/",
    b"..",
    b"[",
    b"{",
    b"}",
    b"**/",
    b"-1",
    b"0",
    b"9007199254740993",
    b"1e999",
    b"\xff",
    b"\xe2\x80\xae",
    b"\xed\xa0\x80",
    b"\x1b[2J",
    b"\\u0000",
    b"null",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x80\x80",
    b":",
];

pub(super) struct Mutator<'s> {
    seeds: &'s [Vec<u8>],
    state: u64,
}

impl<'s> Mutator<'s> {
    pub(super) fn new(seeds: &'s [Vec<u8>], seed: u64) -> Self {
        Self { seeds, state: seed }
    }

    /// SplitMix64.
    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end.max(1) as u64).unwrap()
    }

    /// A piece of some length, the shorter the likelier.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let longest = 1 << self.below(10);
        let start = self.below(len + 1);
        start..(start + 1 + self.below(longest)).min(len).max(start)
    }

    fn seed(&mut self) -> &'s [u8] {
        let at = self.below(self.seeds.len());
        &self.seeds[at]
    }

    pub(super) fn next(&mut self) -> Vec<u8> {
        let mut bytes = self.seed().to_vec();
        for _ in 0..1 << self.below(4) {
            self.change(&mut bytes);
        }
        bytes
    }

    /// One or two bytes of an example are others.
    pub(super) fn next_but_slightly(&mut self) -> Vec<u8> {
        let mut bytes = self.seed().to_vec();
        for _ in 0..1 + self.below(2) {
            let (at, how) = (self.below(bytes.len()), self.below(3));
            self.change_byte(&mut bytes, at, how);
        }
        bytes
    }

    fn change_byte(&mut self, bytes: &mut [u8], at: usize, how: usize) {
        let other = self.number().to_be_bytes()[0];
        bytes.iter_mut().skip(at).take(1).for_each(|byte| match how {
            0 => *byte ^= 1 << (at % 8),
            1 => *byte = byte.wrapping_add(1),
            _ => *byte = other,
        });
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        let range = self.range(bytes.len());
        match self.below(9) {
            how @ 0..3 => self.change_byte(bytes, at, how),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(range)),
            5 => {
                let piece = bytes[range].to_vec();
                let times = 1 << self.below(7);
                bytes.splice(at..at, piece.repeat(times));
            }
            6 => {
                let piece = PIECES[self.below(PIECES.len())];
                let end = if self.below(2) == 0 { at } else { (at + piece.len()).min(bytes.len()) };
                bytes.splice(at..end, piece.iter().copied());
            }
            7 => {
                let other = self.seed();
                let taken = self.range(other.len());
                bytes.splice(range, other[taken].iter().copied());
            }
            _ => {
                let piece: Vec<u8> = bytes.drain(range).collect();
                let to = self.below(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_mutations_and_they_differ() {
    let seeds = [b"one of the seeds".to_vec(), b"another".to_vec(), Vec::new()];
    let some = |seed| {
        let mut mutator = Mutator::new(&seeds, seed);
        (0..200).map(|_| mutator.next()).collect::<Vec<_>>()
    };
    assert_eq!(some(1), some(1));
    assert_ne!(some(1), some(2));
    let different: std::collections::BTreeSet<_> = some(1).into_iter().collect();
    assert!(different.len() > 100, "{}", different.len());
}
