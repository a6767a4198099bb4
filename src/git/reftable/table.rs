//! One file of a reftable: what its header and footer say, and the way from a name to the block that has it.
//!
//! Only the blocks on that way are read. None is longer than 16 MiB, since that is what a block can say of itself, and the way leads only
//! backwards in the file, so whatever the bytes are, the memory is bounded and the search ends.

use std::io::{self, Read, Seek, SeekFrom};

use super::block::{Block, Value};

/// What is wrong with a table that cannot be as git has written it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damage(pub(super) &'static str);

/// Why a table does not answer.
#[derive(Debug)]
pub(super) enum Flaw {
    Io(io::Error),
    Damaged(Damage),
    /// It is of a later version of the format.
    Version(u8),
}

impl From<Damage> for Flaw {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl From<io::Error> for Flaw {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

const MAGIC: &[u8] = b"REFT";
const CUT_SHORT: Damage = Damage("it is shorter than it says");
const OVERLAP: Damage = Damage("its index leads to a block that reaches over the index");
const ASTRAY: Damage = Damage("its index leads to a block that has not what it should");

/// An open table.
#[derive(Debug)]
pub(super) struct Table<F> {
    file: F,
    hash_len: usize,
    /// The first block begins with the file's header.
    header_len: u64,
    /// To what blocks are padded; 0 when they are not.
    block_size: u64,
    /// The root of the index of refs; 0 when there is none.
    ref_index: u64,
    /// Where the blocks end and the footer begins.
    end: u64,
}

impl<F: Read + Seek> Table<F> {
    /// Reads header and footer. The ids in the table must be of `hash_len` bytes.
    pub(super) fn open(mut file: F, hash_len: usize) -> Result<Self, Flaw> {
        let [m0, m1, m2, m3, version, s0, s1, s2] = read_array(&mut file, SeekFrom::Start(0))?;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(Damage("it does not begin like a reftable").into());
        }
        let (header_len, footer_len) = match version {
            1 => (24_usize, 68_usize),
            2 => (28, 72),
            _ => return Err(Flaw::Version(version)),
        };
        let size = file.seek(SeekFrom::End(0))?;
        let end = size.checked_sub(wide(footer_len)).filter(|end| *end >= wide(header_len)).ok_or(CUT_SHORT)?;
        let header = read(&mut file, 0, header_len)?;
        let footer = read(&mut file, end, footer_len)?;
        let rest = footer.strip_prefix(header.as_slice()).ok_or(Damage("its header and its footer differ"))?;
        let (summed, sum) = footer.split_last_chunk::<4>().ok_or(CUT_SHORT)?;
        if crc32(summed) != u32::from_be_bytes(*sum) {
            return Err(Damage("the checksum of its footer is wrong").into());
        }
        let its_hash_len = match header.get(24..) {
            None | Some([] | b"sha1") => 20,
            Some(b"s256") => 32,
            Some(_) => return Err(Damage("it names an unknown hash").into()),
        };
        if its_hash_len != hash_len {
            return Err(Damage("it is of another hash than the repository").into());
        }
        let ref_index = rest.first_chunk().map(|position| u64::from_be_bytes(*position)).ok_or(CUT_SHORT)?;
        let block_size = u64::from(u32::from_be_bytes([0, s0, s1, s2]));
        Ok(Self { file, hash_len, header_len: wide(header_len), block_size, ref_index, end })
    }

    /// Hands what this table says about a ref to `tell`; `None` when it does not mention it.
    pub(super) fn find<T>(&mut self, name: &[u8], tell: impl FnOnce(Value<'_>) -> T) -> Result<Option<T>, Flaw> {
        let Some((block, is_sure)) = self.block_for(name)? else { return Ok(None) };
        match block.seek_ref(name, self.hash_len)? {
            Some((true, value)) => Ok(Some(tell(value))),
            None if is_sure => Err(ASTRAY.into()),
            Some((false, _)) | None => Ok(None),
        }
    }

    /// The one block of refs that can have the name, and whether it must have that name or a later one.
    fn block_for(&mut self, name: &[u8]) -> Result<Option<(Block, bool)>, Flaw> {
        if self.ref_index == 0 {
            return Ok(self
                .scan(0, b'r', |block, hash_len| Ok(block.seek_ref(name, hash_len)?.is_some()))?
                .map(|block| (block, false)));
        }
        // The uppermost level can be several blocks, one behind the other.
        let top = self.scan(self.ref_index, b'i', |block, _| Ok(block.seek_index(name)?.is_some()))?;
        let (Some(mut block), mut at) = (top, self.ref_index) else { return Ok(None) };
        loop {
            let below = block.seek_index(name)?.ok_or(ASTRAY)?;
            if below >= at {
                return Err(Damage("its index does not lead backwards").into());
            }
            block = self.block(below)?.ok_or(ASTRAY)?;
            // Else a table could be made of blocks that reach over each other, and each byte be read as often as there are blocks.
            if below.saturating_add(block.len) > at {
                return Err(OVERLAP.into());
            }
            at = below;
            match block.kind {
                b'r' => return Ok(Some((block, true))),
                b'i' => {}
                _ => return Err(ASTRAY.into()),
            }
        }
    }

    /// The first of the blocks of a kind, from a position on, that is what is looked for.
    fn scan(
        &mut self,
        from: u64,
        kind: u8,
        is_it: impl Fn(&Block, usize) -> Result<bool, Flaw>,
    ) -> Result<Option<Block>, Flaw> {
        let mut at = from;
        while let Some(block) = self.block(at)?.filter(|block| block.kind == kind) {
            if is_it(&block, self.hash_len)? {
                return Ok(Some(block));
            }
            at = self.after(at, block.len)?;
        }
        Ok(None)
    }

    /// The block at a position; `None` when the blocks end before.
    fn block(&mut self, at: u64) -> Result<Option<Block>, Flaw> {
        let skipped = if at == 0 { self.header_len } else { 0 };
        let start = at.saturating_add(skipped);
        if start >= self.end {
            return Ok(None);
        }
        let body = start.saturating_add(4);
        if body > self.end {
            return Err(CUT_SHORT.into());
        }
        let [kind, l0, l1, l2] = read_array(&mut self.file, SeekFrom::Start(start))?;
        match kind {
            b'r' | b'i' => {}
            // Objects, the reflog, padding.
            b'o' | b'g' | 0 => return Ok(Some(Block::unread(kind))),
            _ => return Err(Damage("it has a block of an unknown type").into()),
        }
        let len = u32::from_be_bytes([0, l0, l1, l2]);
        let block_end = at.saturating_add(len.into());
        let body_len = block_end.checked_sub(body).filter(|_| block_end <= self.end).ok_or(CUT_SHORT)?;
        let body_len = usize::try_from(body_len).map_err(|_| CUT_SHORT)?;
        Ok(Some(Block::new(kind, len.into(), read(&mut self.file, body, body_len)?)?))
    }

    /// Where the next block is: behind the padding, if this one is padded.
    fn after(&mut self, at: u64, len: u64) -> Result<u64, Flaw> {
        let block_end = at.saturating_add(len);
        let Some(padded) = len.checked_next_multiple_of(self.block_size).filter(|_| block_end < self.end) else {
            return Ok(block_end);
        };
        let [next] = read_array(&mut self.file, SeekFrom::Start(block_end))?;
        Ok(if next == 0 { at.saturating_add(padded) } else { block_end })
    }
}

fn wide(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

fn read_array<const N: usize>(file: &mut (impl Read + Seek), from: SeekFrom) -> Result<[u8; N], Flaw> {
    file.seek(from)?;
    let mut bytes = [0; N];
    file.read_exact(&mut bytes).map_err(cut_short)?;
    Ok(bytes)
}

/// The caller has seen to it that `len` is less than the file's length.
fn read(file: &mut (impl Read + Seek), from: u64, len: usize) -> Result<Vec<u8>, Flaw> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = vec![0; len];
    file.read_exact(&mut bytes).map_err(cut_short)?;
    Ok(bytes)
}

fn cut_short(error: io::Error) -> Flaw {
    if error.kind() == io::ErrorKind::UnexpectedEof { CUT_SHORT.into() } else { error.into() }
}

/// The checksum of zlib and git. A footer is short, so no table is needed.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A table of version 1 or 2 around blocks, with a sound footer.
    fn table(version: u8, block_size: u8, blocks: &[u8], ref_index: u64) -> Vec<u8> {
        let mut header = [MAGIC, &[version, 0, 0, block_size], &[0; 16]].concat();
        if version == 2 {
            header.extend(b"s256");
        }
        let mut footer = [&header[..], &ref_index.to_be_bytes(), &[0; 32]].concat();
        footer.extend(crc32(&footer).to_be_bytes());
        [&header[..], blocks, &footer].concat()
    }

    fn block(kind: u8, skipped: usize, records: &[u8]) -> Vec<u8> {
        // One restart point, which nobody looks at.
        let mut block = [&[kind, 0, 0, 0], records, &[0, 0, 4, 0, 1]].concat();
        block[3] = u8::try_from(block.len().saturating_add(skipped)).expect("a short block");
        block
    }

    fn open(bytes: Vec<u8>, hash_len: usize) -> Result<Table<Cursor<Vec<u8>>>, Flaw> {
        Table::open(Cursor::new(bytes), hash_len)
    }

    /// The target of a symbolic ref, and `""` for a deleted one.
    fn target(table: &mut Table<Cursor<Vec<u8>>>, name: &str) -> Option<String> {
        let tell = |value: Value<'_>| match value {
            Value::Symbolic(target) => String::from_utf8_lossy(target).into_owned(),
            other => {
                assert_eq!(other, Value::Deleted);
                String::new()
            }
        };
        table.find(name.as_bytes(), tell).expect("a sound table")
    }

    /// Two blocks of refs, and behind them an index that names the last ref of each, at position 55.
    fn two_blocks() -> (Vec<u8>, Vec<u8>) {
        let refs =
            [block(b'r', 24, b"\x00\x0ba\x00\x01A\x00\x0bc\x00\x01C"), block(b'r', 0, b"\x00\x08e\x00")].concat();
        let index = block(b'i', 0, b"\x00\x08c\x00\x00\x08e\x2d");
        (refs, index)
    }

    #[test]
    fn the_checksum_is_that_of_zlib() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn blocks_that_are_not_padded_are_found_with_an_index_and_without() {
        let (refs, index) = two_blocks();
        let position = u64::try_from(24 + refs.len()).expect("a position");
        for bytes in [table(1, 0, &refs, 0), table(1, 0, &[refs.clone(), index].concat(), position)] {
            let mut table = open(bytes, 20).expect("a sound table");
            for (name, expected) in [("a", Some("A")), ("c", Some("C")), ("e", Some(""))] {
                assert_eq!(target(&mut table, name).as_deref(), expected);
            }
            for absent in ["", "Z", "b", "d", "f"] {
                assert_eq!(target(&mut table, absent), None);
            }
        }
    }

    #[test]
    fn padding_is_passed_over() {
        let mut refs = block(b'r', 24, b"\x00\x0ba\x00\x01A");
        refs.resize(100 - 24, 0);
        refs.extend(block(b'r', 0, b"\x00\x0bb\x00\x01B"));
        let mut table = open(table(1, 100, &refs, 0), 20).expect("a sound table");
        assert_eq!(target(&mut table, "a").as_deref(), Some("A"));
        assert_eq!(target(&mut table, "b").as_deref(), Some("B"));
        assert_eq!(target(&mut table, "c"), None);
    }

    #[test]
    fn a_table_without_refs_mentions_none() {
        for blocks in [&b""[..], b"g\0\0\x20compressed"] {
            assert_eq!(target(&mut open(table(1, 0, blocks, 0), 20).expect("a sound table"), "a"), None);
            assert_eq!(target(&mut open(table(2, 0, blocks, 0), 32).expect("a sound table"), "a"), None);
        }
        assert!(matches!(open(table(2, 0, b"", 0), 20), Err(Flaw::Damaged(_))));
    }

    #[test]
    fn an_index_that_leads_nowhere_or_in_a_circle_is_damage() {
        let damage = |records: &[u8]| {
            let bytes = table(1, 0, &[block(b'r', 24, b"\x00\x08a\x00"), block(b'i', 0, records)].concat(), 37);
            match open(bytes, 20).expect("a sound footer").find(b"b", |_| ()) {
                Err(Flaw::Damaged(Damage(what))) => what,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(damage(b"\x00\x08b\x25"), "its index does not lead backwards");
        assert_eq!(damage(b"\x00\x08b\x7f"), "its index does not lead backwards");
        assert_eq!(damage(b"\x00\x08b\x00"), ASTRAY.0);
    }

    #[test]
    fn an_index_that_leads_to_a_block_that_reaches_over_it_is_damage() {
        let (refs, lower, upper) =
            (block(b'r', 24, b"\x00\x08a\x00"), block(b'i', 0, b"\x00\x08a\x00"), block(b'i', 0, b"\x00\x08a\x25"));
        let position = u64::try_from(24 + refs.len() + lower.len()).expect("a position");
        let find = |lower: &[u8]| {
            open(table(1, 0, &[&refs, lower, &upper].concat(), position), 20)
                .expect("a sound footer")
                .find(b"a", |_| ())
        };
        assert!(matches!(find(&lower), Ok(Some(()))));
        let mut longer = lower.clone();
        longer[3] = u8::try_from(lower.len() + upper.len()).expect("a short block");
        assert!(matches!(find(&longer), Err(Flaw::Damaged(OVERLAP))));
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_bytes_are_there_is_an_answer(bytes: Vec<u8>, version in 1_u8..3, name: Vec<u8>) {
            for bytes in [bytes.clone(), [MAGIC, &[version], &bytes].concat()] {
                if let Ok(mut table) = open(bytes, 20) {
                    let _ = table.find(&name, |_| ());
                }
            }
        }

        #[test]
        fn whatever_the_blocks_are_there_is_an_answer(
            bytes in proptest::collection::vec(proptest::prop_oneof![0_u8..32, proptest::prelude::any::<u8>()], 0..300),
            kinds in proptest::collection::vec((0_usize..300, proptest::sample::select(b"riog\0".to_vec()), 5_u8..60), 0..8),
            ref_index in 0_u64..300,
            block_size: u8,
            name in "[a-c]{0,3}",
        ) {
            let mut blocks = bytes;
            for (at, kind, len) in kinds {
                if let Some(head) = blocks.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                    *head = [kind, 0, 0, len];
                }
            }
            let mut table = open(table(1, block_size, &blocks, ref_index), 20).expect("a sound footer");
            let _ = table.find(name.as_bytes(), |_| ());
        }
    }
}
