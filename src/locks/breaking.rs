//! Ending somebody else's lease: a person's last resort, with a reason that the victim is told.

use std::collections::BTreeSet;

use super::{Holder, Lease, Locks, Told, rules};
use crate::{
    clock::Now,
    owner::Owner,
    record::{End, Ended, Reason, Record},
    resource::{Resource, ResourceKey},
    store::{Access, Change, Decide, Event, JournalLine, Plan, ReadSet, Seen, StoreError, View},
};

/// What became of one lease that was to be broken.
#[derive(Debug)]
pub enum Break {
    /// It has ended. Its record stays for a while and tells the one who held it.
    Broken(Box<Lease>),
    /// There is no live lease on exactly this; when an area that contains it is held, that one is named.
    Nothing {
        /// The lease that covers it.
        covered_by: Option<Box<Lease>>,
    },
    /// Its record cannot be read. Nothing was changed.
    Unknown(Holder),
    /// It could not be ended.
    Failed(StoreError),
}

impl Locks<'_> {
    /// Ends the lease on each resource, whoever holds it; the answers are in the order of the request.
    ///
    /// # Errors
    /// [`StoreError`] when the store could not tell or could not do at all.
    pub fn break_leases(
        &self,
        resources: &[Resource],
        by: Option<&Owner>,
        reason: &Reason,
    ) -> Result<Told<Vec<Break>>, StoreError> {
        let read = ReadSet::covering(resources);
        let mut decision =
            Decision { locks: self, resources, by, reason, outcome: Vec::new(), broken: BTreeSet::new() };
        let committed = self.store.change(&read, Access::Existing, &mut decision)?;
        let mut value = decision.outcome;
        for (key, error) in committed.failed {
            let is_it = |one: &&mut Break| matches!(one, Break::Broken(lease) if lease.resource.key() == key);
            if let Some(one) = value.iter_mut().find(is_it) {
                *one = Break::Failed(error);
            }
        }
        Ok(Told { value, warnings: committed.warnings })
    }
}

struct Decision<'d, 's> {
    locks: &'d Locks<'s>,
    resources: &'d [Resource],
    by: Option<&'d Owner>,
    reason: &'d Reason,
    outcome: Vec<Break>,
    broken: BTreeSet<ResourceKey>,
}

impl Decide for Decision<'_, '_> {
    fn decide(&mut self, view: &View) -> Plan {
        let now = self.locks.clock.now();
        let mut plan = Plan::nothing(now.wall);
        self.outcome.clear();
        self.broken.clear();
        for resource in self.resources {
            let key = resource.key();
            let one = match view.get(key) {
                Some(Seen::Record(record)) if rules::is_live(record, &now) => self.end(record, &now, &mut plan),
                Some(seen @ Seen::Unreadable(_)) => match rules::holder(seen, &now, self.locks.longest_ttl) {
                    Some(holder) => Break::Unknown(holder),
                    None => Break::Nothing { covered_by: None },
                },
                _ => Break::Nothing { covered_by: covering(resource, view, &now) },
            };
            self.outcome.push(one);
        }
        plan
    }
}

impl Decision<'_, '_> {
    fn end(&mut self, record: &Record, now: &Now, plan: &mut Plan) -> Break {
        let lease = Box::new(rules::shown(record, now));
        if !self.broken.insert(record.resource.key()) {
            return Break::Broken(lease);
        }
        let mut ended = record.clone();
        let how = End::Broken { by: self.by.cloned(), reason: self.reason.clone() };
        ended.ended = Some(Ended { at: now.wall, how });
        plan.changes.push(Change::End(Box::new(ended)));
        plan.journal.push(JournalLine {
            at: now.wall,
            event: Event::Broken,
            resource: record.resource.clone(),
            owner: record.owner.clone(),
            token: Some(record.token),
            other: self.by.cloned(),
            reason: Some(self.reason.clone()),
        });
        Break::Broken(lease)
    }
}

fn covering(resource: &Resource, view: &View, now: &Now) -> Option<Box<Lease>> {
    let above = resource.ancestor_keys().into_iter().filter_map(|key| rules::record_at(view, key));
    let mut live = above.filter(|record| record.resource.covers(resource) && rules::is_live(record, now));
    live.next().map(|record| Box::new(rules::shown(record, now)))
}
