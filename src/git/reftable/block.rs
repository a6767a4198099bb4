//! The records of one block: names in ascending order, each told as what differs from the one before, and their values.

use super::table::{Damage, Flaw};

/// What a table says about a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'b> {
    /// It is gone, whatever older tables say.
    Deleted,
    /// The id that it has.
    Id(&'b [u8]),
    /// The name of the ref that it stands for.
    Symbolic(&'b [u8]),
}

/// A block without its head and its tail (the restart points: a block is read from its beginning).
#[derive(Debug)]
pub(super) struct Block {
    /// `r` for refs, `i` for an index; of others nothing is read.
    pub(super) kind: u8,
    /// How long it is in the file, from its position there to its padding.
    pub(super) len: u64,
    records: Vec<u8>,
}

impl Block {
    /// A block of a kind that is passed over.
    pub(super) fn unread(kind: u8) -> Self {
        Self { kind, len: 0, records: Vec::new() }
    }

    /// `body` is what follows the four bytes of the head.
    pub(super) fn new(kind: u8, len: u64, mut body: Vec<u8>) -> Result<Self, Damage> {
        const TOO_SHORT: Damage = Damage("a block is shorter than its list of restart points");
        let (_, count) = body.split_last_chunk::<2>().ok_or(TOO_SHORT)?;
        let tail = usize::from(u16::from_be_bytes(*count)).saturating_mul(3).saturating_add(2);
        body.truncate(body.len().checked_sub(tail).ok_or(TOO_SHORT)?);
        Ok(Self { kind, len, records: body })
    }

    /// In a block of refs: the first name that is not before the wanted one, whether it is the wanted one, and its value.
    pub(super) fn seek_ref(&self, name: &[u8], hash_len: usize) -> Result<Option<(bool, Value<'_>)>, Flaw> {
        Ok(self.seek(name, |rest, kind| ref_value(rest, kind, hash_len))?)
    }

    /// In a block of an index: the position of the block below that has the wanted name, if any has.
    pub(super) fn seek_index(&self, name: &[u8]) -> Result<Option<u64>, Flaw> {
        Ok(self.seek(name, |rest, _| rest.varint())?.map(|(_, position)| position))
    }

    fn seek<'b, T>(
        &'b self,
        wanted: &[u8],
        value: impl Fn(&mut Bytes<'b>, u8) -> Result<T, Damage>,
    ) -> Result<Option<(bool, T)>, Damage> {
        let mut rest = Bytes(&self.records);
        let mut name = Vec::new();
        while !rest.0.is_empty() {
            let kind = next_name(&mut rest, &mut name)?;
            let value = value(&mut rest, kind)?;
            if name.as_slice() >= wanted {
                return Ok(Some((name == wanted, value)));
            }
        }
        Ok(None)
    }
}

/// Makes the name of the one before that of the next record, and returns the three bits that say what follows.
fn next_name(rest: &mut Bytes<'_>, name: &mut Vec<u8>) -> Result<u8, Damage> {
    let shared = rest.length()?;
    let word = rest.varint()?;
    let suffix = rest.take(usize::try_from(word >> 3).map_err(|_| CUT_SHORT)?)?;
    let replaced = name.get(shared..).ok_or(Damage("a name shares more than there is with the one before"))?;
    // A search relies on the order. An empty name is none either.
    if suffix <= replaced {
        return Err(Damage("names are not in ascending order"));
    }
    name.truncate(shared);
    name.extend_from_slice(suffix);
    Ok(word.to_be_bytes()[7] & 7)
}

fn ref_value<'b>(rest: &mut Bytes<'b>, kind: u8, hash_len: usize) -> Result<Value<'b>, Damage> {
    // When it was changed, which only reflogs need.
    rest.varint()?;
    match kind {
        0 => Ok(Value::Deleted),
        1 => Ok(Value::Id(rest.take(hash_len)?)),
        2 => {
            let id = rest.take(hash_len)?;
            // What the tag points to in the end.
            rest.take(hash_len)?;
            Ok(Value::Id(id))
        }
        3 => {
            let len = rest.length()?;
            Ok(Value::Symbolic(rest.take(len)?))
        }
        _ => Err(Damage("a ref has a value of an unknown type")),
    }
}

const CUT_SHORT: Damage = Damage("a record reaches past the end of its block");

/// What is still to be read.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, len: usize) -> Result<&'b [u8], Damage> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(CUT_SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number in git's offset encoding: each byte but the last adds one, so that no number has two spellings.
    fn varint(&mut self) -> Result<u64, Damage> {
        let mut value = 0_u64;
        loop {
            let (&byte, rest) = self.0.split_first().ok_or(CUT_SHORT)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            let next = value.checked_add(1).and_then(|value| value.checked_mul(1 << 7));
            value = next.ok_or(Damage("a number is too large"))?;
        }
    }

    fn length(&mut self) -> Result<usize, Damage> {
        usize::try_from(self.varint()?).map_err(|_| CUT_SHORT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(records: &[u8]) -> Block {
        Block { kind: b'r', len: 0, records: records.to_vec() }
    }

    fn damage<T: std::fmt::Debug>(result: Result<T, Flaw>) -> &'static str {
        match result {
            Err(Flaw::Damaged(Damage(what))) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_are_read_as_in_packs() {
        for (bytes, value) in [
            (&[0_u8][..], 0),
            (&[0x7f], 0x7f),
            (&[0x80, 0x00], 0x80),
            (&[0xff, 0x7f], 0x407f),
            (&[0x80, 0x80, 0x00], 0x4080),
            (&[0x80, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0x7f], u64::MAX),
        ] {
            assert_eq!(Bytes(bytes).varint().expect("a number"), value, "{bytes:x?}");
        }
        assert!(Bytes(&[0x80]).varint().is_err());
        assert!(Bytes(&[0x80, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xff, 0x00]).varint().is_err());
        assert!(Bytes(&[0xff; 64]).varint().is_err());
    }

    #[test]
    fn names_are_put_together_and_compared() {
        // `ab` is deleted, `ac` is of two bytes, `acd` of two and peeled, `b` stands for `x`.
        let block = block(b"\x00\x10ab\x00\x01\x09c\x00\x11\x11\x02\x0ad\x00\x22\x22\x33\x33\x00\x0bb\x00\x01x");
        let seek = |name: &[u8]| block.seek_ref(name, 2).expect("a sound block");
        assert_eq!(seek(b"ab"), Some((true, Value::Deleted)));
        assert_eq!(seek(b"ac"), Some((true, Value::Id(b"\x11\x11"))));
        assert_eq!(seek(b"acd"), Some((true, Value::Id(b"\x22\x22"))));
        assert_eq!(seek(b"b"), Some((true, Value::Symbolic(b"x"))));
        assert_eq!(seek(b"a"), Some((false, Value::Deleted)));
        assert_eq!(seek(b"ad"), Some((false, Value::Symbolic(b"x"))));
        assert_eq!(seek(b"c"), None);
    }

    #[test]
    fn what_does_not_fit_together_is_damage() {
        let seek = |records: &[u8]| damage(block(records).seek_ref(b"z", 2));
        assert_eq!(seek(b"\x01\x08a\x00"), "a name shares more than there is with the one before");
        assert_eq!(seek(b"\x00\x08b\x00\x00\x08a\x00"), "names are not in ascending order");
        assert_eq!(seek(b"\x00\x08a\x00\x00\x08a\x00"), "names are not in ascending order");
        assert_eq!(seek(b"\x00\x00\x00"), "names are not in ascending order");
        assert_eq!(seek(b"\x00\x0ca\x00"), "a ref has a value of an unknown type");
        for cut in [&b"\x00"[..], b"\x00\x10a", b"\x00\x08a", b"\x00\x09a\x00\x01", b"\x00\x0aa\x00\x01\x01\x01"] {
            assert_eq!(seek(cut), CUT_SHORT.0, "{cut:x?}");
        }
        assert_eq!(seek(b"\x00\x0ba\x00\x05x"), CUT_SHORT.0);
        assert!(Block::new(b'r', 0, vec![0, 0, 0, 1]).is_err());
        assert!(Block::new(b'r', 0, vec![0]).is_err());
    }
}
