//! Appending to the journal. Nothing depends on it, so nothing here can fail a change.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
};

use super::{
    dir::{self, Dir, Modes, Open},
    disk::{io_error, read_up_to},
    layout::{JOURNAL, OLD_JOURNAL},
};
use crate::{
    clock::Timestamp,
    owner::Owner,
    record::{Reason, Token},
    resource::ResourceKey,
    store::{
        JournalLine, Past, StoreError,
        journal::{from_line, quarantined, to_bytes},
    },
};

/// A journal that has grown to this many bytes makes room for a new one; one old one is kept.
const ROTATE_AT: u64 = 1024 * 1024;
/// So many bytes of a batch are written at once.
const PIECE: usize = 16 * 1024;
/// A batch of many leases may make a journal larger than that; no more than this is read of one.
const READ_AT_MOST: usize = 64 * 1024 * 1024;

/// Appends whole lines with one `write`, so that those of several processes do not mix; a batch in pieces. What cannot be written is lost.
pub(super) fn append(root: &Dir, lines: &[JournalLine], fresh: &BTreeMap<ResourceKey, Token>, modes: Modes) {
    if lines.is_empty() {
        return;
    }
    write(root, lines.iter().map(|line| to_bytes(line, fresh)), modes);
}

/// Notes that a damaged record was moved away.
pub(super) fn append_quarantined(
    root: &Dir,
    at: Timestamp,
    key: ResourceKey,
    by: Option<&Owner>,
    reason: Option<&Reason>,
    modes: Modes,
) {
    write(root, std::iter::once(quarantined(at, key, by, reason)), modes);
}

fn write(root: &Dir, lines: impl Iterator<Item = Vec<u8>>, modes: Modes) {
    // Another process may create it at the same moment.
    let created = || {
        let _ = root.create_new(JOURNAL, modes);
        root.open_file(JOURNAL, Open::Append)
    };
    let Ok(mut file) = root.open_file(JOURNAL, Open::Append).or_else(|_| created()) else { return };
    match dir::stat_file(&file) {
        Ok(stat) if !stat.is_file => return,
        Ok(stat) if stat.len >= ROTATE_AT => rotate(root, &file),
        _ => {}
    }
    let mut piece = Vec::new();
    for line in lines {
        piece.extend_from_slice(&line);
        if piece.len() >= PIECE {
            write_lines(&mut file, &piece);
            piece.clear();
        }
    }
    write_lines(&mut file, &piece);
}

fn write_lines(file: &mut File, lines: &[u8]) {
    // A writer that was killed may have left half a line; only that one is to be lost.
    let begin: &[u8] = if lines.is_empty() || ends_with_a_line(file) { b"" } else { b"\n" };
    let _ = file.write(&[begin, lines].concat());
}

fn ends_with_a_line(mut file: &File) -> bool {
    let mut last = [b'\n'];
    // Nothing before the beginning: an empty journal.
    let read = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last));
    read.is_err() || last == *b"\n"
}

/// The whole history, the oldest first. Lines that cannot be read are left out.
pub(super) fn read(root: &Dir) -> Result<Vec<Past>, StoreError> {
    let mut history = Vec::new();
    for name in [OLD_JOURNAL, JOURNAL] {
        let path = root.path_of(name);
        let file = match root.open_file(name, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(io_error("open the journal", &path))?,
        };
        if !dir::stat_file(&file).is_ok_and(|stat| stat.is_file) {
            continue;
        }
        let bytes = read_up_to(&file, READ_AT_MOST).map_err(io_error("read the journal", &path))?;
        history.extend(bytes.split(|b| *b == b'\n').filter_map(from_line));
    }
    Ok(history)
}

/// Makes the journal the old one, unless somebody else is just doing so. A line that another process writes meanwhile
/// goes to the old one and is kept.
#[expect(clippy::disallowed_methods, reason = "the journal's own flock, taken without waiting")]
fn rotate(root: &Dir, file: &File) {
    let is_the_journal = || {
        let at_path = root.stat(JOURNAL).ok()?.id;
        Some(dir::stat_file(file).ok()?.id == at_path)
    };
    if file.try_lock().is_ok() && is_the_journal() == Some(true) {
        let _ = root.rename(JOURNAL, OLD_JOURNAL);
    }
}
