//! The names in a store. They are its format: a change here makes a `v2`.
//!
//! ```text
//! v1/gate  v1/mutex          flock only, never deleted, never replaced
//! v1/a/mutex                 flock, and the shard's token counter, time of its next sweep, and whether it was found empty
//! v1/a/<63 hex>.lock         one record; the shard is the first of the key's 64 hex digits
//! v1/a/tmp-<63 hex>          a record that is being written; left over when nobody holds the shard
//! v1/journal.jsonl  v1/journal.1.jsonl
//! v1/queue/<name>.ticket     a request that waits its turn
//! v1/sessions/<32 hex>.session  v1/sessions/mutex
//!                            what a hook remembers of an owner, by the hash of its name
//! v1/quarantine/             damaged records that were moved away
//! ```

use crate::{owner::Owner, resource::ResourceKey};

/// The directory of this format; what lies beside it is not ours.
pub(super) const FORMAT: &str = "v1";
/// Directories of later formats that are looked for. Nothing beside `v1` is ever listed, so they are asked for by name.
pub(super) const NEWER: [&str; 8] = ["v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"];
pub(super) const GATE: &str = "gate";
pub(super) const MUTEX: &str = "mutex";
pub(super) const JOURNAL: &str = "journal.jsonl";
pub(super) const OLD_JOURNAL: &str = "journal.1.jsonl";

pub(super) const QUEUE: &str = "queue";
pub(super) const QUARANTINE: &str = "quarantine";
pub(super) const SESSIONS: &str = "sessions";

/// One of the 16 directories that records are spread over, so that writers seldom meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shard(char);

impl Shard {
    /// In the order in which their mutexes are taken.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        "0123456789abcdef".chars().map(Self)
    }

    /// Where a key's record is.
    pub(super) fn of(key: ResourceKey) -> Self {
        Self(key.to_hex().chars().next().unwrap_or('0'))
    }

    pub(super) fn dir_name(self) -> String {
        self.0.to_string()
    }

    /// A key that stands for the shard as a whole. No resource has it: that would take a collision of BLAKE3.
    pub(super) fn whole(self) -> ResourceKey {
        let first = u8::try_from(self.0.to_digit(16).unwrap_or(0)).unwrap_or(0);
        let mut key = [0; 32];
        key[0] = first << 4;
        ResourceKey::from_bytes(key)
    }
}

/// Where a record is, and where it is written before it goes there.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) shard: Shard,
    pub(super) record: String,
    pub(super) temp: String,
}

impl Names {
    pub(super) fn of(key: ResourceKey) -> Self {
        let hex = key.to_hex();
        let (_, rest) = hex.split_at(1);
        Self { shard: Shard::of(key), record: [rest, RECORD].concat(), temp: [TEMP, rest].concat() }
    }
}

/// The name of a key's record in its shard.
pub(super) fn record_name(key: ResourceKey) -> String {
    let hex = key.to_hex();
    let (_, rest) = hex.split_at(1);
    [rest, RECORD].concat()
}

const RECORD: &str = ".lock";
const TEMP: &str = "tmp-";

pub(super) fn is_temp(name: &str) -> bool {
    name.starts_with(TEMP)
}

pub(super) fn ticket_file(name: &str) -> String {
    format!("{name}.ticket")
}

pub(super) fn temp_of_ticket(name: &str) -> String {
    format!("{TEMP}{name}")
}

/// The name of a ticket, by that of its file; `None` for any other file.
pub(super) fn ticket_name(file: &str) -> Option<&str> {
    file.strip_suffix(".ticket").filter(|name| crate::store::Ticket::is_name(name))
}

fn digest(owner: &Owner) -> String {
    blake3::hash(owner.as_str().as_bytes()).to_hex().chars().take(32).collect()
}

pub(super) fn session_file(owner: &Owner) -> String {
    format!("{}{SESSION}", digest(owner))
}

pub(super) fn temp_of_session(owner: &Owner) -> String {
    format!("{TEMP}{}", digest(owner))
}

const SESSION: &str = ".session";

pub(super) fn is_session(name: &str) -> bool {
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    name.strip_suffix(SESSION).is_some_and(|digest| digest.len() == 32 && digest.bytes().all(is_hex))
}

/// The key of a record, by its shard and file name; `None` for any other file.
pub(super) fn key_of(shard: Shard, name: &str) -> Option<ResourceKey> {
    let rest = name.strip_suffix(RECORD)?;
    let mut hex = [0; 64];
    let (first, others) = hex.split_first_mut()?;
    *first = u8::try_from(shard.0).ok()?;
    (rest.len() == others.len()).then(|| others.copy_from_slice(rest.as_bytes()))?;
    ResourceKey::from_hex(&hex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{NamedId, Resource, Scope, Target};

    #[test]
    fn names_and_keys_are_each_others_inverse() {
        for id in 0..100 {
            let name = NamedId::new("t", id.to_string()).expect("a name");
            let key = Resource { scope: Scope::implicit(), target: Target::Named(name) }.key();
            let names = Names::of(key);
            assert_eq!(names.record.len(), 63 + 5);
            assert_eq!(key_of(names.shard, &names.record), Some(key));
            assert!(is_temp(&names.temp) && key_of(names.shard, &names.temp).is_none());
        }
    }
}
