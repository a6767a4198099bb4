//! A look at what is there for who has no time: what could be read until the time was up, in no order, and no word about the rest.

use super::{
    FileStore, Shard, key_of,
    layout::{GATE, NEWER},
    read_record,
};
use crate::{record::Record, store::Seen};

impl FileStore {
    /// Whether leases may be kept here already, by this version or by a later one. What cannot be looked for may be there.
    #[must_use]
    pub fn may_exist(&self) -> bool {
        // The first change makes the gate.
        let mut made = std::iter::once(self.dir().join(GATE)).chain(NEWER.map(|name| self.base.join(name)));
        made.any(|path| !matches!(path.try_exists(), Ok(false)))
    }

    /// The records that can be read until `is_over`, which is asked before each. Not for decisions: what is missing here may be there.
    pub fn glimpse(&self, is_over: &mut dyn FnMut() -> bool) -> Vec<Record> {
        let mut records = Vec::new();
        let Ok(Some(root)) = self.open() else { return records };
        for shard in Shard::all() {
            let Ok(dir) = root.dir.sub(&shard.dir_name()) else { continue };
            let Ok(names) = dir.names() else { continue };
            for name in names {
                let Some(key) = key_of(shard, &name) else { continue };
                if is_over() {
                    return records;
                }
                if let Ok(Some(Seen::Record(record))) = read_record(&dir, &name, key) {
                    records.push(*record);
                }
            }
        }
        records
    }
}
