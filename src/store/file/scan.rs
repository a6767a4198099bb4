//! Reading very many records: by every processor at once, since nearly all of the time goes into opening files.

use std::{
    sync::Arc,
    thread::{self, Builder, ScopedJoinHandle},
};

use super::{dir::Dir, layout::record_name, read_record};
use crate::{
    resource::ResourceKey,
    store::{Seen, StoreError},
};

/// Fewer than so many records are read faster than a thread is started for them.
const MANY: usize = 2_000;

/// A record that a listing has shown. Its name is made again: there may be very many.
pub(super) struct Listed {
    pub(super) dir: Arc<Dir>,
    pub(super) key: ResourceKey,
}

type Found = Vec<(ResourceKey, Seen)>;

/// What stands at these names, but for those that have gone.
pub(super) fn read(listed: &[Listed]) -> Result<Found, StoreError> {
    let workers = if listed.len() < MANY { 1 } else { thread::available_parallelism().map_or(1, Into::into) };
    let (own, others) = listed.split_at(listed.len().div_ceil(workers));
    thread::scope(|scope| {
        let started: Vec<(&[Listed], Option<ScopedJoinHandle<'_, _>>)> = others
            .chunks(own.len().max(1))
            .map(|part| (part, Builder::new().spawn_scoped(scope, move || read_part(part)).ok()))
            .collect();
        let mut all = read_part(own)?;
        for (part, worker) in started {
            // Where none could be started it is done here.
            all.extend(match worker.map(ScopedJoinHandle::join) {
                Some(Ok(found)) => found?,
                _ => read_part(part)?,
            });
        }
        Ok(all)
    })
}

fn read_part(listed: &[Listed]) -> Result<Found, StoreError> {
    let read = |one: &Listed| {
        let seen = read_record(&one.dir, &record_name(one.key), one.key).transpose()?;
        Some(seen.map(|seen| (one.key, seen)))
    };
    listed.iter().filter_map(read).collect()
}
