//! One shard while it is being changed: its mutex, and the token counter and sweep time that are kept in the mutex file.

use std::{
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    time::Duration,
};

use super::{
    Root,
    dir::{Dir, Modes},
    disk::{Mutex, Share, io_error},
    layout::{MUTEX, Shard, is_temp, key_of},
    not_a_directory, read_record,
};
use crate::{
    clock::Timestamp,
    record::Token,
    store::{Seen, StoreError, Sweep},
};

/// A shard whose mutex is held.
#[derive(Debug)]
pub(super) struct LockedShard {
    pub(super) shard: Shard,
    pub(super) dir: Dir,
    pub(super) mutex: Mutex,
}

/// What the mutex file begins with: two numbers of fixed width, written in place. What cannot be read counts as zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    /// The highest token that was given out here.
    pub(super) counter: u64,
    /// When the shard is to be swept next, in Unix milliseconds.
    pub(super) next_sweep: i64,
}

impl LockedShard {
    /// `None` when the shard does not exist and may not be made.
    pub(super) fn lock(
        root: &mut Root,
        shard: Shard,
        create: bool,
        modes: Modes,
        patience: Duration,
    ) -> Result<Option<Self>, StoreError> {
        let name = shard.dir_name();
        let path = root.dir.path_of(&name);
        let dir = if create {
            let (dir, made) = root.dir.ensure_sub(&name, modes).map_err(|error| not_a_directory(&path, error))?;
            if made {
                root.made_in.push(Dir::open(root.dir.path()).map_err(io_error("open the directory", root.dir.path()))?);
            }
            dir
        } else {
            match root.dir.sub(&name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened.map_err(|error| not_a_directory(&path, error))?,
            }
        };
        let mutex = Mutex::lock(&dir, MUTEX, Share::Exclusive, modes, patience)?;
        Ok(Some(Self { shard, dir, mutex }))
    }

    pub(super) fn ledger(&self) -> Ledger {
        self.written_ledger().unwrap_or_default()
    }

    /// `None` when there is none that can be read.
    pub(super) fn written_ledger(&self) -> Option<Ledger> {
        let mut text = [0; Ledger::WIDTH];
        let mut file = self.mutex.file();
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut text));
        read.ok().and_then(|()| Ledger::parse(&text))
    }

    /// Writes the ledger; `durably` when nothing else would make the tokens grow after a power loss.
    pub(super) fn set_ledger(&self, ledger: Ledger, durably: bool) -> Result<(), StoreError> {
        let mut file = self.mutex.file();
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(ledger.text().as_bytes()))
            .and_then(|()| if durably { file.sync_data() } else { Ok(()) })
            .map_err(io_error("write the token counter in", self.mutex.path()))
    }

    /// Removes what is of no use any more, and what dead writers have left. Returns the records that were removed. Best effort: what cannot be
    /// removed stays for the next time.
    pub(super) fn sweep(&self, sweep: &Sweep) -> Vec<crate::record::Record> {
        let mut removed = Vec::new();
        for name in self.dir.names().unwrap_or_default() {
            if is_temp(&name) {
                let _ = self.dir.unlink(&name);
                continue;
            }
            let Some(key) = key_of(self.shard, &name) else { continue };
            if let Ok(Some(Seen::Record(record))) = read_record(&self.dir, &name, key)
                && (sweep.doomed)(&record)
                && self.dir.unlink(&name).is_ok()
            {
                removed.push(*record);
            }
        }
        removed
    }
}

impl Ledger {
    /// Two numbers of 16 digits, each with one byte behind it.
    pub(super) const WIDTH: usize = 34;

    /// Whether it is time to sweep. A time that lies further ahead than one interval was written under another clock.
    pub(super) fn sweep_is_due(&self, sweep: &Sweep, now: Timestamp) -> bool {
        let every = i64::try_from(sweep.every_ms).unwrap_or(i64::MAX);
        now.millis() >= self.next_sweep || now.plus_millis(every).millis() < self.next_sweep
    }

    pub(super) fn text(self) -> String {
        format!("{:016} {:016}\n", self.counter, self.next_sweep.max(0))
    }

    pub(super) fn parse(text: &[u8; Self::WIDTH]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (counter, next_sweep) = text.strip_suffix('\n')?.split_once(' ')?;
        let counter = counter.parse().ok().filter(|number| *number <= Token::MAX.get())?;
        Some(Self { counter, next_sweep: next_sweep.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_has_a_fixed_width_and_is_read_back() {
        for ledger in [
            Ledger::default(),
            Ledger { counter: Token::MAX.get(), next_sweep: Timestamp::from_millis(i64::MAX).millis() },
            Ledger { counter: 1_790_000_000_000, next_sweep: 1_790_003_600_000 },
        ] {
            let text: [u8; Ledger::WIDTH] = ledger.text().into_bytes().try_into().expect("the width");
            assert_eq!(Ledger::parse(&text), Some(ledger));
        }
        assert_eq!(Ledger::parse(&[0; Ledger::WIDTH]), None);
    }
}
