//! Running a decision: mutexes, then the decision, then a change that is prepared whole before any of it can be seen.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    FileStore, Root,
    dir::{Dir, Modes, Open},
    disk::{Mutex, Share, holders, io_error, read_up_to, write_new},
    layout::{GATE, MUTEX, Names, Shard},
    publish::{Step, StepKind},
    shard::{Ledger, LockedShard},
    vacancy,
};
use crate::{
    record::Record,
    store::{Access, Change, Committed, Decide, Plan, ReadSet, StoreError, TokenRule, View, next_token},
};

/// How often a plan may turn out to be out of date before the store gives up.
const ROUNDS: usize = 3;
/// From so many records on, syncing the whole file system is cheaper than syncing each file.
const SYNC_ONE_BY_ONE: usize = 64;

pub(super) fn run(
    store: &FileStore,
    read: &ReadSet,
    access: Access,
    decision: &mut dyn Decide,
) -> Result<Committed, StoreError> {
    // An area in the request is known from the start; one that is only found in a record makes the request start again.
    let mut share = if read.below.is_empty() { Share::Shared } else { Share::Exclusive };
    let mut made_in = Vec::new();
    loop {
        let Some(mut section) = Section::enter(store, read, access, share)? else {
            // Where there is no store there is nothing to change: the decision is told so.
            let plan = decision.decide(&View::default());
            let nothing = plan.changes.is_empty().then(Committed::default);
            return nothing.ok_or_else(|| StoreError::Replaced { path: store.dir() });
        };
        section.root.made_in.append(&mut made_in);
        match section.decide_and_apply(read, decision)? {
            Outcome::Done(committed) => {
                let left_alone = section.left_alone.into_values().collect();
                return Ok(Committed { left_alone, ..committed });
            }
            Outcome::NeedsExclusive => {
                share = Share::Exclusive;
                made_in.append(&mut section.root.made_in);
            }
        }
    }
}

enum Outcome {
    Done(Committed),
    /// A record turned out to be an area's, or to lie in a shard that was not asked for.
    NeedsExclusive,
}

/// The critical section: everything that is locked, until it is dropped.
pub(super) struct Section<'s> {
    pub(super) store: &'s FileStore,
    pub(super) root: Root,
    pub(super) modes: Modes,
    share: Share,
    pub(super) mutex: Mutex,
    pub(super) shards: BTreeMap<Shard, LockedShard>,
    /// Shards that could not be locked when everything was asked for.
    left_alone: BTreeMap<Shard, StoreError>,
}

/// Who holds the gate only waits for `mutex`: the one to be named is who sits there.
fn blame_the_sitter(error: StoreError, dir: &Dir) -> StoreError {
    let sitter = || holders(&dir.path_of(MUTEX)).first().copied();
    match error {
        StoreError::Busy { path, waited_s, holder } => StoreError::Busy { path, waited_s, holder: sitter().or(holder) },
        other => other,
    }
}

impl<'s> Section<'s> {
    fn enter(store: &'s FileStore, read: &ReadSet, access: Access, share: Share) -> Result<Option<Self>, StoreError> {
        let create = access == Access::Create;
        let (mut root, modes) = if create {
            store.open_or_create()?
        } else {
            let Some(root) = store.open()? else { return Ok(None) };
            (root, store.modes()?)
        };
        // The turnstile: who waits for `mutex` keeps everybody behind it waiting, so a stream of others cannot starve it.
        let gate = Mutex::lock(&root.dir, GATE, Share::Exclusive, modes, store.patience);
        let gate = gate.map_err(|error| blame_the_sitter(error, &root.dir))?;
        let mutex = Mutex::lock(&root.dir, MUTEX, share, modes, store.patience)?;
        drop(gate);
        let mut shards = BTreeMap::new();
        let wanted: BTreeSet<Shard> = match read.all {
            true => Shard::all().collect(),
            false => read.own.iter().map(|key| Shard::of(*key)).collect(),
        };
        let mut left_alone = BTreeMap::new();
        for shard in wanted {
            match LockedShard::lock(&mut root, shard, create && !read.all, modes, store.patience) {
                Ok(locked) => shards.extend(locked.map(|locked| (shard, locked))),
                // Whoever wants everything gets what there is.
                Err(error @ (StoreError::Io { .. } | StoreError::Foreign { .. })) if read.all => {
                    left_alone.insert(shard, error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Self { store, root, modes, share, mutex, shards, left_alone }))
    }

    fn decide_and_apply(&mut self, read: &ReadSet, decision: &mut dyn Decide) -> Result<Outcome, StoreError> {
        let mut view = self.root.view(read, true)?;
        view.retain(|key| !self.left_alone.contains_key(&Shard::of(key)));
        for _ in 0..ROUNDS {
            let mut plan = decision.decide(&view);
            if plan.changes.is_empty() {
                return Ok(Outcome::Done(Committed::default()));
            }
            if self.share == Share::Shared && !self.may_do_shared(&plan) {
                return Ok(Outcome::NeedsExclusive);
            }
            self.lock_further_shards(&plan)?;
            let ledgers = self.assign_tokens(&mut plan)?;
            let steps = self.prepare(&plan, &view)?;
            let ready = self.write_ledgers(&plan, &ledgers).and_then(|due| self.still_in_place().map(|()| due));
            let due = ready.inspect_err(|_| self.discard(&steps))?;
            if decision.still_holds() {
                return self.publish(plan, &steps, &due).map(Outcome::Done);
            }
            self.discard(&steps);
        }
        Err(StoreError::TooSlow)
    }

    /// Under the shared mutex no area may appear or be prolonged, and only the shards that are locked may change.
    fn may_do_shared(&self, plan: &Plan) -> bool {
        plan.changes.iter().all(|change| {
            let is_area_put = matches!(change, Change::Put { record, .. } if record.resource.is_area());
            !is_area_put && self.shards.contains_key(&Shard::of(change.key()))
        })
    }

    /// With the exclusive mutex nobody else is in any shard, so their order does not matter.
    fn lock_further_shards(&mut self, plan: &Plan) -> Result<(), StoreError> {
        for change in &plan.changes {
            let shard = Shard::of(change.key());
            if !self.shards.contains_key(&shard)
                && let Some(locked) = LockedShard::lock(&mut self.root, shard, true, self.modes, self.store.patience)?
            {
                self.shards.insert(shard, locked);
            }
        }
        Ok(())
    }

    pub(super) fn shard(&self, names: &Names) -> Result<&LockedShard, StoreError> {
        let missing = || StoreError::Replaced { path: self.root.dir.path_of(&names.shard.dir_name()) };
        self.shards.get(&names.shard).ok_or_else(missing)
    }

    /// Fills in fresh tokens. Returns the ledgers that have to be written before the records can be seen.
    fn assign_tokens(&self, plan: &mut Plan) -> Result<BTreeMap<Shard, Ledger>, StoreError> {
        let mut ledgers = BTreeMap::new();
        let at = plan.at;
        for change in &mut plan.changes {
            let Change::Put { record, token: TokenRule::Fresh } = change else { continue };
            let shard = Shard::of(record.resource.key());
            let Some(locked) = self.shards.get(&shard) else { continue };
            let ledger: &mut Ledger = ledgers.entry(shard).or_insert_with(|| locked.ledger());
            // The decision leaves the token of the record it replaces in place.
            let token = next_token(ledger.counter, record.token, at)?;
            record.token = token;
            ledger.counter = token.get();
        }
        Ok(ledgers)
    }

    /// Writes every new record under a temporary name in its own shard, complete and durable.
    fn prepare(&self, plan: &Plan, view: &View) -> Result<Vec<Step>, StoreError> {
        let one_by_one = plan.changes.len() <= SYNC_ONE_BY_ONE;
        let mut steps: Vec<Step> = Vec::with_capacity(plan.changes.len());
        for change in &plan.changes {
            match self.prepare_one(change, view, one_by_one && self.store.fsync) {
                Ok(step) => steps.push(step),
                Err(error) => {
                    self.discard(&steps);
                    return Err(error);
                }
            }
        }
        if !one_by_one && self.store.fsync {
            self.sync_written(&steps).inspect_err(|_| self.discard(&steps))?;
        }
        // New names first, replacements last: a disk that is full shows before anything old is touched.
        steps.sort_by_key(|step| (step.kind, step.replaces));
        Ok(steps)
    }

    fn prepare_one(&self, change: &Change, view: &View, sync: bool) -> Result<Step, StoreError> {
        let key = change.key();
        let names = Names::of(key);
        let shard = self.shard(&names)?;
        let (mut kind, record): (_, Option<&Record>) = match change {
            Change::Put { record, .. } => (StepKind::Put, Some(record)),
            Change::End(record) => (StepKind::End, Some(record)),
            Change::Remove(_) => (StepKind::Remove, None),
        };
        let replaces = view.get(key).is_some();
        // What cannot be read cannot be put back either; then undoing leaves the name free.
        let before = (replaces && kind == StepKind::Put)
            .then(|| shard.dir.open_file(&names.record, Open::Read))
            .and_then(|file| read_up_to(&file.ok()?, Record::MAX_BYTES).ok());
        let mut written = None;
        if let Some(record) = record {
            match write_new(&shard.dir, &names.temp, &record.to_bytes(), self.modes, sync) {
                Ok(id) => written = Some(id),
                // No room to tell how it ended: it ends all the same.
                Err(_) if kind == StepKind::End => kind = StepKind::Remove,
                Err(error) => return Err(io_error("write", &shard.dir.path_of(&names.temp))(error)),
            }
        }
        let resource = record.map(|record| record.resource.clone());
        Ok(Step { names, key, resource, kind, replaces, before, written })
    }

    /// The batch's one sync: everything that was written to this file system so far. Where there is no such call, each file is synced.
    fn sync_written(&self, steps: &[Step]) -> Result<(), StoreError> {
        if let Some(synced) = self.root.dir.sync_file_system() {
            return synced.map_err(io_error("sync the file system of", self.root.dir.path()));
        }
        for step in steps.iter().filter(|step| step.kind != StepKind::Remove) {
            let dir = &self.shard(&step.names)?.dir;
            dir.open_file(&step.names.temp, Open::ReadWrite)
                .and_then(|file| file.sync_all())
                .map_err(io_error("sync", &dir.path_of(&step.names.temp)))?;
        }
        Ok(())
    }

    /// The counter goes before the record, so that a token that was seen is never given out again. Returns the shards to be swept.
    fn write_ledgers(&self, plan: &Plan, ledgers: &BTreeMap<Shard, Ledger>) -> Result<Vec<Shard>, StoreError> {
        let mut due = Vec::new();
        for (shard, ledger) in ledgers {
            let Some(locked) = self.shards.get(shard) else { continue };
            let mut ledger = *ledger;
            if let Some(sweep) = plan.sweep.as_ref().filter(|sweep| ledger.sweep_is_due(sweep, plan.at)) {
                due.push(*shard);
                let every = i64::try_from(sweep.every_ms).unwrap_or(i64::MAX);
                ledger.next_sweep = plan.at.plus_millis(every).millis();
            }
            // While the clock is ahead of the counter, the clock alone makes tokens grow, also after a power loss.
            let unix_ms = u64::try_from(plan.at.millis()).unwrap_or(0);
            let leads_the_clock = ledger.counter > unix_ms.saturating_add(1);
            locked.set_ledger(ledger, self.store.fsync && leads_the_clock)?;
            vacancy::clear(locked)?;
        }
        Ok(due)
    }
}
