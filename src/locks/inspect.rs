//! Looking: who holds what. Takes no mutex and changes nothing.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use super::{Holder, Lease, Locks, State, rules};
use crate::{
    clock::Now,
    owner::Owner,
    record::{Record, Token},
    resource::{Resource, Scope},
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
        // before: only what is found free twice is free. A store that looks for what is below looks at everything twice.
        if read.below.is_empty() && reports.iter().any(|report| report.holders.is_empty()) {
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
        listing.leases = in_order(records).map(|record| rules::as_lease(*record, &now)).collect();
        Ok(listing)
    }
}

/// By scope; in each the files and areas by their paths, then the named ones.
#[expect(clippy::vec_box, reason = "they come so, and to sort them so moves only addresses")]
fn in_order(records: Vec<Box<Record>>) -> impl Iterator<Item = Box<Record>> {
    struct Entry {
        scope: usize,
        is_named: bool,
        path: Range<usize>,
        record: Box<Record>,
    }
    // Of very many records, what is compared lies close together; the records themselves are all over the memory.
    let mut paths: Vec<u8> = Vec::new();
    let scopes: BTreeSet<&Scope> = records.iter().map(|record| &record.resource.scope).collect();
    let scopes: HashMap<Scope, usize> = scopes.into_iter().cloned().zip(0..).collect();
    let mut entries = Vec::with_capacity(records.len());
    for record in records {
        let start = paths.len();
        paths.extend_from_slice(record.resource.path().map_or(b"", |path| path.as_bytes()));
        entries.push(Entry {
            scope: scopes.get(&record.resource.scope).copied().unwrap_or(0),
            is_named: record.resource.path().is_none(),
            path: start..paths.len(),
            record,
        });
    }
    let path = |entry: &Entry| paths.get(entry.path.clone()).unwrap_or_default();
    entries.sort_unstable_by(|a, b| {
        let order = (a.scope, a.is_named, path(a)).cmp(&(b.scope, b.is_named, path(b)));
        order.then_with(|| a.record.resource.cmp(&b.record.resource))
    });
    entries.into_iter().map(|entry| entry.record)
}
