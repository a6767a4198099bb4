//! Making a prepared change visible, then durable; and taking it back when that fails.

use std::collections::BTreeSet;

use super::{
    change::Section,
    dir::FileId,
    disk::{io_error, write_new},
    journal,
    layout::{Names, Shard},
    vacancy,
};
use crate::{
    resource::{Resource, ResourceKey},
    store::{Change, Committed, Event, JournalLine, Late, Plan, StoreError, TokenRule},
};

/// So many removals may have emptied shards that were large.
const MANY: usize = 256;

/// A record that is written and has no name yet, or a removal.
pub(super) struct Step {
    pub(super) names: Names,
    pub(super) key: ResourceKey,
    pub(super) resource: Option<Resource>,
    pub(super) kind: StepKind,
    /// Whether something stood there before.
    pub(super) replaces: bool,
    /// What stood there, byte for byte, to be put back.
    pub(super) before: Option<Vec<u8>>,
    /// The file that was written.
    pub(super) written: Option<FileId>,
}

/// In the order in which steps are done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StepKind {
    Put,
    End,
    Remove,
}

impl Section<'_> {
    /// Removes what was prepared and never got a name.
    pub(super) fn discard(&self, steps: &[Step]) {
        for step in steps.iter().filter(|step| step.kind != StepKind::Remove) {
            if let Ok(shard) = self.shard(&step.names) {
                let _ = shard.dir.unlink(&step.names.temp);
            }
        }
    }

    /// Makes the change visible, then durable; tells success only when the store is still the one that was locked.
    pub(super) fn publish(&self, plan: Plan, steps: &[Step], due: &[Shard]) -> Result<Committed, StoreError> {
        let mut committed = Committed::default();
        for (position, step) in steps.iter().enumerate() {
            let Err(error) = self.perform(step) else { continue };
            if step.kind == StepKind::Put {
                self.discard(steps.get(position..).unwrap_or_default());
                return Err(self.undo(steps.get(..position).unwrap_or_default(), error));
            }
            committed.failed.push((step.key, error));
        }
        if let Err(error) = self.sync_directories(steps) {
            if plan.late == Late::Undo {
                return Err(self.undo(steps, error));
            }
            committed.warnings.push(format!("done, but it may not survive a power loss: {error}"));
        }
        if let Err(error) = self.still_in_place() {
            if steps.iter().any(|step| step.kind == StepKind::Put) {
                return Err(self.undo(steps, error));
            }
            // What was to end has ended, in the store that was there.
            committed.warnings.push(format!("done, but {error}"));
        }
        for change in &plan.changes {
            if let Change::Put { record, token: TokenRule::Fresh } = change {
                committed.tokens.insert(record.resource.key(), record.token);
            }
        }
        self.note_vacancies(steps);
        self.write_history(plan, due, &committed);
        Ok(committed)
    }

    fn perform(&self, step: &Step) -> Result<(), StoreError> {
        let dir = &self.shard(&step.names)?.dir;
        let path = || dir.path_of(&step.names.record);
        let unlink = || match dir.unlink(&step.names.record) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error("remove", &path())(error)),
            _ => Ok(()),
        };
        match step.kind {
            StepKind::Remove => unlink(),
            StepKind::Put if step.replaces => {
                dir.rename(&step.names.temp, &step.names.record).map_err(io_error("write", &path()))
            }
            StepKind::Put => match dir.rename_new(&step.names.temp, &step.names.record) {
                // Nobody may have written it while the mutexes are held: they are no longer the ones that others take.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    Err(StoreError::Replaced { path: path() })
                }
                renamed => renamed.map_err(io_error("write", &path())),
            },
            StepKind::End => dir.rename(&step.names.temp, &step.names.record).or_else(|_| {
                let _ = dir.unlink(&step.names.temp);
                unlink()
            }),
        }
    }

    /// The names: at most 16 directories, however many records there are. That is less than syncing the file system, which would also wait
    /// for whatever else on the machine is being written.
    fn sync_directories(&self, steps: &[Step]) -> Result<(), StoreError> {
        if !self.store.fsync {
            return Ok(());
        }
        let touched: BTreeSet<Shard> = steps.iter().map(|step| step.names.shard).collect();
        let shards = touched.iter().filter_map(|shard| self.shards.get(shard)).map(|shard| &shard.dir);
        for dir in shards.chain(&self.root.made_in) {
            dir.sync().map_err(io_error("sync the directory", dir.path()))?;
        }
        Ok(())
    }

    /// After many removals: what a few of them leave of a large directory is not worth looking for.
    fn note_vacancies(&self, steps: &[Step]) {
        let removals = steps.iter().filter(|step| step.kind == StepKind::Remove);
        if removals.clone().count() >= MANY {
            let shards: BTreeSet<Shard> = removals.map(|step| step.names.shard).collect();
            shards.iter().filter_map(|shard| self.shards.get(shard)).for_each(vacancy::note_if_vacant);
        }
    }

    pub(super) fn still_in_place(&self) -> Result<(), StoreError> {
        for mutex in std::iter::once(&self.mutex).chain(self.shards.values().map(|shard| &shard.mutex)) {
            if !mutex.is_in_place()? {
                return Err(StoreError::Replaced { path: mutex.path().to_owned() });
            }
        }
        Ok(())
    }

    /// Takes back what has been published, last first. Returns the error to be told.
    fn undo(&self, done: &[Step], cause: StoreError) -> StoreError {
        let mut held = Vec::new();
        for step in done.iter().rev().filter(|step| step.kind == StepKind::Put) {
            let undone = self.shard(&step.names).and_then(|shard| {
                let path = shard.dir.path_of(&step.names.record);
                match shard.dir.stat(&step.names.record) {
                    Ok(stat) if Some(stat.id) == step.written => {}
                    // It is gone, or somebody else's by now.
                    _ => return Ok(()),
                }
                match &step.before {
                    Some(bytes) => write_new(&shard.dir, &step.names.temp, bytes, self.modes, false)
                        .and_then(|_| shard.dir.rename(&step.names.temp, &step.names.record)),
                    _ => shard.dir.unlink(&step.names.record),
                }
                .map_err(io_error("take back", &path))
            });
            if undone.is_err() {
                held.extend(step.resource.clone());
            }
        }
        if held.is_empty() { cause } else { StoreError::NotUndone { held, cause: Box::new(cause) } }
    }

    fn write_history(&self, mut plan: Plan, due: &[Shard], committed: &Committed) {
        if let Some(sweep) = &plan.sweep {
            for removed in due.iter().filter_map(|shard| self.shards.get(shard)).flat_map(|shard| shard.sweep(sweep)) {
                plan.journal.push(JournalLine::about(&removed, Event::Pruned, plan.at));
            }
        }
        let failed: BTreeSet<ResourceKey> = committed.failed.iter().map(|(key, _)| *key).collect();
        plan.journal.retain(|line| !failed.contains(&line.resource.key()));
        journal::append(&self.root.dir, &plan.journal, &committed.tokens, self.modes);
    }
}
