//! Removing what has expired: the start-up clean-up of a service.

use super::{Lease, LeftOut, Locks, Told, rules};
use crate::{
    clock::Now,
    record::Record,
    resource::{Resource, ResourceKey},
    store::{Access, Change, Decide, Event, JournalLine, Plan, ReadSet, StoreError, Unreadable, View},
};

/// What was removed.
#[derive(Debug, Default)]
pub struct Pruned {
    /// The leases whose records were removed (or would be).
    pub leases: Vec<Lease>,
    /// Those that could not be.
    pub failed: Vec<(Resource, StoreError)>,
    /// What could not be looked at.
    pub left_out: Vec<LeftOut>,
}

impl Locks<'_> {
    /// Removes the records of expired leases that `select` wants, and those of released and broken ones that have been kept for long enough.
    /// With `dry_run` nothing is changed and the answer says what would be.
    ///
    /// # Errors
    /// [`StoreError`] when the store could not tell or could not do at all.
    pub fn prune(&self, select: &dyn Fn(&Resource) -> bool, dry_run: bool) -> Result<Told<Pruned>, StoreError> {
        let read = ReadSet::everything();
        let mut decision = Decision { locks: self, select, pruned: Vec::new(), unknown: Vec::new() };
        if dry_run {
            decision.decide(&self.store.view(&read)?);
        }
        let committed =
            if dry_run { Default::default() } else { self.store.change(&read, Access::Existing, &mut decision)? };
        let left_out = LeftOut::of(decision.unknown, committed.left_alone);
        let mut pruned = Pruned { left_out, ..Pruned::default() };
        let mut failed: std::collections::BTreeMap<ResourceKey, StoreError> = committed.failed.into_iter().collect();
        for lease in decision.pruned {
            match failed.remove(&lease.resource.key()) {
                Some(error) => pruned.failed.push((lease.resource, error)),
                None => pruned.leases.push(lease),
            }
        }
        Ok(Told { value: pruned, warnings: committed.warnings })
    }

    fn is_prunable(&self, record: &Record, now: &Now) -> bool {
        match rules::standing(record, now) {
            rules::Standing::Live { .. } => false,
            rules::Standing::Expired { .. } => true,
            rules::Standing::Ended => rules::is_forgotten(record, now, self.keep_expired_ms),
        }
    }
}

struct Decision<'d, 's> {
    locks: &'d Locks<'s>,
    select: &'d dyn Fn(&Resource) -> bool,
    pruned: Vec<Lease>,
    unknown: Vec<Unreadable>,
}

impl Decide for Decision<'_, '_> {
    fn decide(&mut self, view: &View) -> Plan {
        let now = self.locks.clock.now();
        let mut plan = Plan::nothing(now.wall);
        self.pruned.clear();
        self.unknown = rules::unknown(view, &now, self.locks.longest_ttl).cloned().collect();
        for record in rules::records(view) {
            if !self.locks.is_prunable(record, &now) || !(self.select)(&record.resource) {
                continue;
            }
            plan.changes.push(Change::Remove(record.resource.key()));
            plan.journal.push(JournalLine::about(record, Event::Pruned, now.wall));
            self.pruned.push(rules::shown(record, &now));
        }
        plan
    }
}
