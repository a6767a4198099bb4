//! Shards that have become empty while their directory stays large.
//!
//! Some file systems (ext4) never make a directory smaller, and looking through one that once had thousands of names takes its time however few are
//! left. The directory cannot be exchanged for a new one, since its mutex is in it. So whoever removes many records, and finds the shard empty
//! then, notes that in the mutex file, and what lists all leases believes the note.
//!
//! Without a grant no record comes into an empty shard, and a grant takes the note away, durably, before its record gets a name. Should somebody else
//! have done something there, an older version of this program or a backup that was laid over it, the note counts only for as long as two things
//! are what they were: the shard's token counter, which every grant raises first, and the time of the directory's last change, which nobody can set.

use std::io::{self, Seek as _, SeekFrom, Write as _};

use super::{
    dir::{Dir, Extent, Open},
    disk::{self, io_error},
    layout::{MUTEX, Shard, key_of},
    shard::{Ledger, LockedShard},
};
use crate::store::StoreError;

/// A directory of fewer bytes is looked through faster than a note is read.
const LARGE: u64 = 64 * 1024;
/// The ledger, and behind it one number of 20 digits and one of 39, each with one byte behind it.
const WIDTH: usize = Ledger::WIDTH + 21 + 40;

fn note(ledger: Ledger, extent: Extent) -> String {
    format!("{:020} {:039}\n", ledger.counter, extent.changed_ns)
}

/// Whether a mutex file says of a directory like this that no record is in it.
fn says_vacant(text: &[u8; WIDTH], extent: Extent) -> bool {
    let Some((ledger, noted)) = text.split_first_chunk() else { return false };
    Ledger::parse(ledger).is_some_and(|ledger| noted == note(ledger, extent).as_bytes())
}

/// Notes that no record is left, where that is so and worth a note. Best effort.
pub(super) fn note_if_vacant(locked: &LockedShard) {
    note_if_larger(locked, LARGE);
}

fn note_if_larger(locked: &LockedShard, than: u64) {
    // Before the look: what comes in meanwhile without asking for the mutex changes the time.
    let (Ok(extent), Some(ledger)) = (locked.dir.extent(), locked.written_ledger()) else { return };
    if extent.bytes >= than && has_no_record(&locked.dir, locked.shard) {
        let mut file = locked.mutex.file();
        let at = SeekFrom::Start(Ledger::WIDTH as u64);
        let _ = file.seek(at).and_then(|_| file.write_all(note(ledger, extent).as_bytes()));
    }
}

/// Takes the note away, so that a power loss does not bring it back. Costs a look at the mutex file where there is none.
pub(super) fn clear(locked: &LockedShard) -> Result<(), StoreError> {
    let width = Ledger::WIDTH as u64;
    let cleared = || -> io::Result<()> {
        let file = locked.mutex.file();
        if file.metadata()?.len() > width {
            file.set_len(width)?;
            file.sync_data()?;
        }
        Ok(())
    };
    cleared().map_err(io_error("write the token counter in", locked.mutex.path()))
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
    matches!(read, Ok(WIDTH)) && says_vacant(&text, extent)
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;
    use crate::store::file::FileStore;

    const SOME_RECORD: &str = "000000000000000000000000000000000000000000000000000000000000000.lock";

    struct World {
        locked: LockedShard,
        _dir: tempfile::TempDir,
    }

    /// An empty shard in which a token was given out.
    fn world() -> World {
        let dir = tempfile::tempdir().expect("a directory");
        let (mut root, modes) = FileStore::at(dir.path()).open_or_create().expect("a store");
        let shard = Shard::all().next().expect("a shard");
        let locked = LockedShard::lock(&mut root, shard, true, modes, Duration::ZERO).expect("free").expect("made");
        let world = World { locked, _dir: dir };
        world.count(5);
        world
    }

    impl World {
        fn count(&self, counter: u64) {
            self.locked.set_ledger(Ledger { counter, next_sweep: 0 }, false).expect("written");
        }

        fn record(&self) {
            fs::write(self.locked.dir.path_of(SOME_RECORD), "").expect("written");
        }

        fn note(&self) {
            note_if_larger(&self.locked, 0);
        }

        fn is_vacant(&self) -> bool {
            is_vacant_and_larger(&self.locked.dir, 0)
        }
    }

    #[test]
    fn a_note_counts_until_it_is_taken_away() {
        let world = world();
        assert!(!world.is_vacant(), "nobody has looked");
        clear(&world.locked).expect("nothing to do");
        world.note();
        assert!(world.is_vacant());
        clear(&world.locked).expect("written");
        assert!(!world.is_vacant());
        assert_eq!(fs::metadata(world.locked.mutex.path()).expect("there").len(), Ledger::WIDTH as u64);
        world.note();
        assert!(world.is_vacant());
    }

    #[test]
    fn a_note_does_not_count_when_tokens_were_given_out() {
        let world = world();
        world.note();
        world.count(6);
        assert!(!world.is_vacant(), "by who knows of no notes");
    }

    #[test]
    fn a_note_does_not_count_when_something_has_come_into_the_directory() {
        let world = world();
        world.note();
        // However coarse the file system's times are.
        let start = std::time::Instant::now();
        while world.is_vacant() {
            assert!(start.elapsed() < Duration::from_secs(30), "it is never seen");
            world.record();
            fs::remove_file(world.locked.dir.path_of(SOME_RECORD)).expect("removed");
        }
    }

    #[test]
    fn a_note_is_about_one_counter_and_one_time() {
        let (ledger, extent) = (Ledger { counter: 5, next_sweep: 7 }, Extent { bytes: 1, changed_ns: 9 });
        let text = |noted: Ledger| -> [u8; WIDTH] {
            [ledger.text(), note(noted, extent)].concat().into_bytes().try_into().expect("the width")
        };
        assert!(says_vacant(&text(ledger), extent));
        assert!(!says_vacant(&text(Ledger { counter: 4, ..ledger }), extent));
        assert!(!says_vacant(&text(ledger), Extent { changed_ns: 10, ..extent }));
        assert!(says_vacant(&text(ledger), Extent { bytes: 2, ..extent }));
        assert!(!says_vacant(&[0; WIDTH], extent));
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
