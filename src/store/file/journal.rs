//! Appending to the journal. Nothing depends on it, so nothing here can fail a change.

use std::{collections::BTreeMap, io::Write as _};

use super::{
    dir::{self, Dir, Modes, Open},
    layout::{JOURNAL, OLD_JOURNAL},
};
use crate::{
    record::Token,
    resource::ResourceKey,
    store::{JournalLine, journal::to_bytes},
};

/// A journal that has grown to this many bytes makes room for a new one; one old one is kept.
const ROTATE_AT: u64 = 1024 * 1024;

/// Appends each line with one `write`, so that lines of several processes do not mix. What cannot be written is lost.
pub(super) fn append(root: &Dir, lines: &[JournalLine], fresh: &BTreeMap<ResourceKey, Token>, modes: Modes) {
    if lines.is_empty() {
        return;
    }
    let created = || root.create_new(JOURNAL, modes).and_then(|_| root.open_file(JOURNAL, Open::Append));
    let Ok(mut file) = root.open_file(JOURNAL, Open::Append).or_else(|_| created()) else { return };
    match dir::stat_file(&file) {
        Ok(stat) if !stat.is_file => return,
        Ok(stat) if stat.len >= ROTATE_AT => rotate(root, &file),
        _ => {}
    }
    for line in lines {
        let _ = file.write(&to_bytes(line, fresh));
    }
}

/// Makes the journal the old one, unless somebody else is just doing so. A line that another process writes meanwhile
/// goes to the old one and is kept.
#[expect(clippy::disallowed_methods, reason = "the journal's own flock, taken without waiting")]
fn rotate(root: &Dir, file: &std::fs::File) {
    let is_the_journal = || {
        let at_path = root.stat(JOURNAL).ok()?.id;
        Some(dir::stat_file(file).ok()?.id == at_path)
    };
    if file.try_lock().is_ok() && is_the_journal() == Some(true) {
        let _ = root.rename(JOURNAL, OLD_JOURNAL);
    }
}
