//! Looking: who holds what. Takes no mutex and changes nothing.

use super::{Holder, Lease, Locks, State, rules};
use crate::{
    clock::Now,
    owner::Owner,
    record::Token,
    resource::{RepoPath, Resource, Scope},
    store::{ReadSet, Seen, StoreError, Unreadable, View},
};

/// How one resource stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was asked about.
    pub resource: Resource,
    /// Everybody whose lease overlaps it, the caller among them.
    pub holders: Vec<Holder>,
    /// The lease that was on exactly this resource last, when it has expired or ended and its record is still there.
    pub past: Option<Lease>,
}

impl Report {
    /// Those of the holders who are not `owner` (all of them when there is no owner).
    pub fn foreign(&self, owner: Option<&Owner>) -> impl Iterator<Item = &Holder> {
        self.holders.iter().filter(move |holder| owner.is_none() || holder.owner() != owner)
    }

    /// The owner's lease that covers the whole resource. With a token, only the lease of that very grant counts.
    #[must_use]
    pub fn lease_of(&self, owner: &Owner, token: Option<Token>) -> Option<&Lease> {
        self.holders.iter().find_map(|holder| match holder {
            Holder::Lease(lease) => (lease.owner == *owner
                && lease.resource.covers(&self.resource)
                && token.is_none_or(|token| token == lease.token))
            .then_some(lease.as_ref()),
            Holder::Unknown { .. } | Holder::Waiting { .. } => None,
        })
    }

    /// The owner of a lease on this resource that has expired and that nobody has taken since.
    #[must_use]
    pub fn stale_owner(&self) -> Option<&Owner> {
        self.past.as_ref().filter(|lease| lease.state == State::Expired).map(|lease| &lease.owner)
    }
}

/// Leases, and what could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Live and expired leases, by scope and path. What was released or broken is not among them.
    pub leases: Vec<Lease>,
    /// Records that could not be read.
    pub unreadable: Vec<Unreadable>,
}

impl Locks<'_> {
    /// How each resource stands, in the order of the request.
    ///
    /// # Errors
    /// [`StoreError`] when the store could not tell.
    pub fn check(&self, resources: &[Resource]) -> Result<Vec<Report>, StoreError> {
        if resources.is_empty() {
            return Ok(Vec::new());
        }
        let read = ReadSet::overlapping(resources);
        let look = || {
            let view = self.store.view(&read)?;
            let now = self.clock.now();
            Ok(resources.iter().map(|resource| self.report(resource, &view, &now)).collect::<Vec<_>>())
        };
        let mut reports = look()?;
        // Between the reading of two keys a lease may have gone from the one that was read later to the one that was read
        // before: only what is found free twice is free.
        if reports.iter().any(|report| report.holders.is_empty()) {
            for (report, again) in reports.iter_mut().zip(look()?) {
                if report.holders.is_empty() {
                    *report = again;
                }
            }
        }
        Ok(reports)
    }

    fn report(&self, resource: &Resource, view: &View, now: &Now) -> Report {
        let in_the_way = rules::overlapping(view, resource).into_iter();
        let holders = in_the_way.filter_map(|(_, seen)| rules::holder(seen, now, self.longest_ttl)).collect();
        let past = rules::record_at(view, resource.key()).filter(|record| !rules::is_live(record, now));
        Report { resource: resource.clone(), holders, past: past.map(|record| rules::shown(record, now)) }
    }

    /// Every lease of the store.
    ///
    /// # Errors
    /// [`StoreError`] when the store could not tell at all; single records that cannot be read are in the listing.
    pub fn list(&self) -> Result<Listing, StoreError> {
        let view = self.store.view(&ReadSet::everything())?;
        let now = self.clock.now();
        let mut listing = Listing::default();
        let mut records = Vec::new();
        for seen in view.into_seen() {
            match seen {
                Seen::Record(record) if !record.was_cut_short() => records.push(record),
                Seen::Record(_) => {}
                Seen::Unreadable(unreadable) => listing.unreadable.push(unreadable),
            }
        }
        // While they are in boxes, of which only the addresses have to be moved.
        records.sort_unstable_by(|a, b| by_scope_and_path(&a.resource).cmp(&by_scope_and_path(&b.resource)));
        listing.leases = records.into_iter().map(|record| rules::as_lease(*record, &now)).collect();
        Ok(listing)
    }
}

/// Files and areas by their paths, then the named ones.
fn by_scope_and_path(resource: &Resource) -> (&Scope, bool, Option<&RepoPath>, &Resource) {
    (&resource.scope, resource.path().is_none(), resource.path(), resource)
}
