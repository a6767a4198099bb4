//! Giving leases back.

use std::collections::BTreeSet;

use super::{
    Holder, Lease, LeftOut, Locks, Told,
    renew::{Loss, NotOwn, own_lease},
    rules,
};
use crate::{
    clock::Now,
    owner::Owner,
    record::{End, Ended, Record, Token},
    resource::{Resource, ResourceKey},
    store::{Access, Change, Decide, Event, JournalLine, Plan, ReadSet, StoreError, Unreadable, View},
};

/// One lease to be given back.
#[derive(Debug, Clone)]
pub struct GiveBack {
    /// Of what.
    pub resource: Resource,
    /// Only if it is still this very grant.
    pub token: Option<Token>,
}

/// What became of one lease that was to be given back.
#[derive(Debug)]
pub enum Release {
    /// It was given back. A lease that had expired is given back too, as long as nobody has taken it.
    Released(Box<Lease>),
    /// There was nothing of the caller's; what there is to tell about it.
    Nothing(Loss),
    /// The caller asked for a certain grant, and that one is gone. Nothing was changed.
    Lost(Loss),
    /// Somebody else holds it. Nothing was changed.
    NotOwner(Holder),
    /// Its record cannot be read. Nothing was changed.
    Unknown(Holder),
    /// The record could not be removed.
    Failed {
        /// Of which resource.
        resource: Resource,
        /// Why.
        source: StoreError,
    },
}

/// What became of the leases of an owner.
#[derive(Debug)]
pub struct AllReleased {
    /// Those that there were, in no particular order.
    pub releases: Vec<Release>,
    /// What could not be looked at.
    pub left_out: Vec<LeftOut>,
}

impl Locks<'_> {
    /// Gives back each lease for itself; the answers are in the order of the request. Needs no space on the disk.
    ///
    /// # Errors
    /// [`StoreError`] when the store could not tell or could not do at all.
    pub fn release(&self, owner: &Owner, items: &[GiveBack]) -> Result<Told<Vec<Release>>, StoreError> {
        let read = ReadSet::covering(items.iter().map(|item| &item.resource));
        let told = self.run_release(owner, &Items::These(items), &read)?;
        Ok(Told { value: told.value.releases, warnings: told.warnings })
    }

    /// Gives back every lease that is exactly this owner's and that `select` wants, expired ones too.
    ///
    /// # Errors
    /// As [`Locks::release`].
    pub fn release_all(
        &self,
        owner: &Owner,
        select: &dyn Fn(&Resource) -> bool,
    ) -> Result<Told<AllReleased>, StoreError> {
        self.run_release(owner, &Items::All(select), &ReadSet::everything())
    }

    fn run_release(&self, owner: &Owner, items: &Items<'_>, read: &ReadSet) -> Result<Told<AllReleased>, StoreError> {
        let (outcome, given_back, unknown) = (Vec::new(), BTreeSet::new(), Vec::new());
        let mut decision = Decision { locks: self, owner, items, outcome, given_back, unknown };
        let committed = self.store.change(read, Access::Existing, &mut decision)?;
        let mut releases = decision.outcome;
        for (key, source) in committed.failed {
            for release in &mut releases {
                if let Release::Released(lease) = release
                    && lease.resource.key() == key
                {
                    *release = Release::Failed { resource: lease.resource.clone(), source };
                    break;
                }
            }
        }
        let left_out = LeftOut::of(decision.unknown, committed.left_alone);
        Ok(Told { value: AllReleased { releases, left_out }, warnings: committed.warnings })
    }
}

/// Which leases: those that are named, or all of the owner that are wanted.
enum Items<'d> {
    These(&'d [GiveBack]),
    All(&'d dyn Fn(&Resource) -> bool),
}

impl Items<'_> {
    fn in_view(&self, view: &View, owner: &Owner) -> Vec<GiveBack> {
        match self {
            Self::These(items) => items.to_vec(),
            Self::All(select) => rules::records(view)
                .filter(|record| record.owner == *owner && !record.was_cut_short() && select(&record.resource))
                .map(|record| GiveBack { resource: record.resource.clone(), token: None })
                .collect(),
        }
    }
}

struct Decision<'d, 's> {
    locks: &'d Locks<'s>,
    owner: &'d Owner,
    items: &'d Items<'d>,
    outcome: Vec<Release>,
    given_back: BTreeSet<ResourceKey>,
    unknown: Vec<Unreadable>,
}

impl Decide for Decision<'_, '_> {
    fn decide(&mut self, view: &View) -> Plan {
        let now = self.locks.clock.now();
        let mut plan = Plan::nothing(now.wall);
        self.outcome.clear();
        self.given_back.clear();
        self.unknown = rules::unknown(view, &now, self.locks.longest_ttl).cloned().collect();
        for item in &self.items.in_view(view, self.owner) {
            let own = own_lease(view, &item.resource, self.owner, item.token, &now, self.locks.longest_ttl);
            let release = match own {
                Ok(record) => self.give_back(record, &now, &mut plan),
                Err(NotOwn::Lost(loss)) => self.of_lost(loss, item, view, &now, &mut plan),
                Err(NotOwn::Foreign(holder @ Holder::Unknown { .. })) => Release::Unknown(holder),
                Err(NotOwn::Foreign(holder)) => Release::NotOwner(holder),
            };
            self.outcome.push(release);
        }
        plan
    }
}

impl Decision<'_, '_> {
    fn of_lost(&mut self, loss: Loss, item: &GiveBack, view: &View, now: &Now, plan: &mut Plan) -> Release {
        match &loss {
            Loss::Expired(lease) if item.token.is_none_or(|token| token == lease.token) => {
                match rules::record_at(view, item.resource.key()) {
                    Some(record) => self.give_back(record, now, plan),
                    None => Release::Nothing(loss),
                }
            }
            Loss::TakenOver(lease) if lease.state == super::State::Live => Release::Lost(loss),
            Loss::OtherToken(_) => Release::Lost(loss),
            // Nothing there is what was wanted, also by who repeats a release whose answer was lost.
            Loss::Absent { .. } => Release::Nothing(loss),
            _ if item.token.is_some() => Release::Lost(loss),
            _ => Release::Nothing(loss),
        }
    }

    /// A lease that had replaced somebody's leaves a record behind that tells that one; any other is removed.
    fn give_back(&mut self, record: &Record, now: &Now, plan: &mut Plan) -> Release {
        let key = record.resource.key();
        if self.given_back.insert(key) {
            plan.changes.push(match record.replaced {
                Some(_) => {
                    let mut ended = record.clone();
                    ended.ended = Some(Ended { at: now.wall, how: End::Released });
                    Change::End(Box::new(ended))
                }
                None => Change::Remove(key),
            });
            plan.journal.push(JournalLine::about(record, Event::Released, now.wall));
        }
        Release::Released(Box::new(rules::shown(record, now)))
    }
}
