//! Shards that have become empty while their directory stays large.
//!
//! Some file systems (ext4) never make a directory smaller, and looking through one that once had thousands of names takes its time however few are
//! left. The directory cannot be exchanged for a new one, since its mutex is in it. So whoever removes many records, and finds the shard empty
//! then, notes that in the mutex file, and what lists all leases believes the note. A note is no flag that somebody would have to take back: it
//! names what it was true of, and counts only for as long as both of these are the same:
//!
//! - the shard's token counter, which every grant raises before its record gets a name; and without a grant no record comes into an empty shard;
//! - the time of the directory's last change, which a power loss that brings the counter back does not bring back, and which tells also of what
//!   did not come through this program.

use std::io::{Seek as _, SeekFrom, Write as _};

use super::{
    dir::{Dir, Extent, Open},
    disk,
    layout::{MUTEX, Shard, key_of},
    shard::{Ledger, LockedShard},
};

/// A directory of fewer bytes is looked through faster than a note is read.
const LARGE: u64 = 64 * 1024;
/// The ledger, and behind it one number of 20 digits and one of 39, each with one byte behind it.
const WIDTH: usize = Ledger::WIDTH + 21 + 40;

fn note(ledger: Ledger, extent: &Extent) -> String {
    format!("{:020} {:039}\n", ledger.counter, extent.changed_ns)
}

/// Notes that no record is left, where that is so and worth a note. Best effort.
pub(super) fn note_if_vacant(locked: &LockedShard) {
    note_if_larger(locked, LARGE);
}

fn note_if_larger(locked: &LockedShard, than: u64) {
    let is_large = locked.dir.extent().is_ok_and(|extent| extent.bytes >= than);
    if !is_large || !has_no_record(&locked.dir, locked.shard) {
        return;
    }
    // The mutex is held: since that look nobody can have given the directory a record.
    if let (Some(ledger), Ok(extent)) = (locked.written_ledger(), locked.dir.extent()) {
        let mut file = locked.mutex.file();
        let at = SeekFrom::Start(Ledger::WIDTH as u64);
        let _ = file.seek(at).and_then(|_| file.write_all(note(ledger, &extent).as_bytes()));
    }
}

fn has_no_record(dir: &Dir, shard: Shard) -> bool {
    let mut has_none = true;
    dir.each_name(|name| has_none &= key_of(shard, name).is_none()).is_ok() && has_none
}

/// Whether a shard is known to have no record, without looking through it.
pub(super) fn is_vacant(dir: &Dir) -> bool {
    is_vacant_and_larger(dir, LARGE)
}

fn is_vacant_and_larger(dir: &Dir, than: u64) -> bool {
    let Some(extent) = dir.extent().ok().filter(|extent| extent.bytes >= than) else { return false };
    let mut text = [0; WIDTH];
    let read = dir.open_file(MUTEX, Open::Read).and_then(|file| disk::read_once(&file, &mut text));
    let (Ok(WIDTH), Some((ledger, noted))) = (read, text.split_first_chunk()) else { return false };
    Ledger::parse(ledger).is_some_and(|ledger| noted == note(ledger, &extent).as_bytes())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        time::{Duration, SystemTime},
    };

    use super::*;
    use crate::store::file::FileStore;

    const SOME_RECORD: &str = "000000000000000000000000000000000000000000000000000000000000000.lock";

    struct World {
        locked: LockedShard,
        _dir: tempfile::TempDir,
    }

    /// An empty shard that was last changed long ago, and in which a token was given out.
    fn world() -> World {
        let dir = tempfile::tempdir().expect("a directory");
        let (mut root, modes) = FileStore::at(dir.path()).open_or_create().expect("a store");
        let shard = Shard::all().next().expect("a shard");
        let locked = LockedShard::lock(&mut root, shard, true, modes, Duration::ZERO).expect("free").expect("made");
        let world = World { locked, _dir: dir };
        world.grant(5);
        world.change_at(1000);
        world
    }

    impl World {
        fn grant(&self, counter: u64) {
            self.locked.set_ledger(Ledger { counter, next_sweep: 0 }, false).expect("written");
        }

        fn record(&self) {
            fs::write(self.locked.dir.path_of(SOME_RECORD), "").expect("written");
        }

        fn change_at(&self, seconds: u64) {
            let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).expect("a time");
            File::open(self.locked.dir.path()).and_then(|dir| dir.set_modified(at)).expect("set");
        }

        fn note(&self) {
            note_if_larger(&self.locked, 0);
        }

        fn is_vacant(&self) -> bool {
            is_vacant_and_larger(&self.locked.dir, 0)
        }
    }

    #[test]
    fn a_note_counts_until_the_next_grant() {
        let world = world();
        assert!(!world.is_vacant(), "nobody has looked");
        world.note();
        assert!(world.is_vacant());
        world.grant(6);
        assert!(!world.is_vacant(), "before its record has a name");
        world.note();
        assert!(world.is_vacant());
    }

    #[test]
    fn a_note_does_not_count_when_its_directory_was_changed_and_the_counter_lost() {
        let world = world();
        world.note();
        world.record();
        assert!(!world.is_vacant(), "a file moved there by hand, or a grant whose counter was lost");
    }

    #[test]
    fn a_note_does_not_count_when_tokens_were_given_out_and_the_time_of_the_change_is_the_same() {
        let world = world();
        world.note();
        world.grant(6);
        world.record();
        world.change_at(1000);
        assert!(!world.is_vacant());
    }

    #[test]
    fn what_is_not_empty_gets_no_note() {
        let world = world();
        world.record();
        world.note();
        assert!(!world.is_vacant());
    }

    #[test]
    fn without_a_readable_counter_there_is_no_note() {
        let world = world();
        fs::write(world.locked.mutex.path(), "").expect("written");
        world.note();
        assert!(!world.is_vacant());
    }

    #[test]
    fn a_small_directory_is_looked_through() {
        let world = world();
        world.note();
        assert!(world.is_vacant() && !is_vacant(&world.locked.dir));
        let world = self::world();
        note_if_vacant(&world.locked);
        assert!(!world.is_vacant());
    }
}
