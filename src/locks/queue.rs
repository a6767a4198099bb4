//! Whose turn it is: first come, first served, among those who could be served.
//!
//! A request yields to an older ticket of another owner only when that ticket's *whole* request could be granted at this moment. So a ticket
//! that is still blocked elsewhere blocks nobody, and two tickets can never block each other. The price: a
//! request for much can be overtaken again and again by requests for little.

use std::collections::BTreeSet;

use super::{Conflict, Holder, acquire};
use crate::{
    clock::Now,
    duration::Ttl,
    owner::Owner,
    resource::{Resource, ResourceKey},
    store::{Ticket, View},
};

/// A ticket counts for so long after its waiter was seen alive last, in milliseconds.
pub(super) const ALIVE_MS: u64 = 3000;

/// Where a request that waits stands in the queue. One that does not wait comes after all that do.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) arrived: Now,
    /// The name of its ticket.
    pub(super) name: String,
}

/// Whether the waiter of a ticket is still there, as far as its last poll tells. None outlives a boot.
fn is_alive(ticket: &Ticket, now: &Now) -> bool {
    let boot = |reading: &Now| reading.boot.as_ref().map(|boot| boot.id.clone());
    let is_of_another_boot = boot(&ticket.polled).zip(boot(now)).is_some_and(|(then, now)| then != now);
    !is_of_another_boot && u64::try_from(now.since(&ticket.polled)).is_ok_and(|age| age < ALIVE_MS)
}

fn is_older(ticket: &Ticket, turn: &Turn) -> bool {
    ticket.arrived.since(&turn.arrived).cmp(&0).then_with(|| ticket.name.cmp(&turn.name)).is_lt()
}

/// What a request covers, so that many resources can be compared with many.
struct Footprint {
    own: BTreeSet<ResourceKey>,
    above: BTreeSet<ResourceKey>,
    areas: BTreeSet<ResourceKey>,
}

impl Footprint {
    fn of<'r>(resources: impl Iterator<Item = &'r Resource>) -> Self {
        let mut footprint = Self { own: BTreeSet::new(), above: BTreeSet::new(), areas: BTreeSet::new() };
        for resource in resources {
            footprint.own.insert(resource.key());
            footprint.above.extend(resource.ancestor_keys());
            if resource.is_area() {
                footprint.areas.insert(resource.key());
            }
        }
        footprint
    }

    fn overlaps(&self, resource: &Resource) -> bool {
        let key = resource.key();
        self.own.contains(&key)
            || (resource.is_area() && self.above.contains(&key))
            || resource.ancestor_keys().iter().any(|above| self.areas.contains(above))
    }
}

/// The tickets that may have to be served before this request.
pub(super) fn before_us<'t>(
    queue: impl IntoIterator<Item = &'t Ticket>,
    owner: &Owner,
    turn: Option<&Turn>,
    wants: &[(Resource, Ttl)],
    now: &Now,
) -> Vec<&'t Ticket> {
    let ours = Footprint::of(wants.iter().map(|(resource, _)| resource));
    let overlaps = |ticket: &Ticket| ticket.wants.iter().any(|theirs| ours.overlaps(theirs));
    queue
        .into_iter()
        .filter(|ticket| ticket.owner != *owner && is_alive(ticket, now))
        .filter(|ticket| turn.is_none_or(|turn| ticket.name != turn.name && is_older(ticket, turn)) && overlaps(ticket))
        .collect()
}

/// What this request has to leave to older tickets that could be granted now, by what is seen in `view`.
pub(super) fn conflicts(
    tickets: &[&Ticket],
    wants: &[(Resource, Ttl)],
    view: &View,
    now: &Now,
    longest_ttl: Ttl,
) -> Vec<Conflict> {
    let mut found = Vec::new();
    for ticket in tickets {
        let could_be_granted =
            acquire::conflicts(&ticket.owner, ticket.wants.iter(), view, now, longest_ttl).is_empty();
        if !could_be_granted {
            continue;
        }
        let theirs = Footprint::of(ticket.wants.iter());
        for (ours, _) in wants {
            if theirs.overlaps(ours) {
                let holder = Holder::Waiting { owner: ticket.owner.clone(), since: ticket.arrived.wall };
                found.push(Conflict { wanted: ours.clone(), holder });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{RepoPath, Scope, Target};

    proptest::proptest! {
        #[test]
        fn a_footprint_overlaps_what_one_of_its_resources_overlaps(
            ours in proptest::collection::vec(("([ab]/){0,3}[ab]", proptest::bool::ANY), 0..4),
            theirs in "([ab]/){0,3}[ab]",
            is_area: bool,
        ) {
            let make = |path: &str, is_area: bool| {
                let path = RepoPath::new(path).expect("a path");
                let target = if is_area { Target::Area(path) } else { Target::File(path) };
                Resource { scope: Scope::implicit(), target }
            };
            let ours: Vec<Resource> = ours.iter().map(|(path, is_area)| make(path, *is_area)).collect();
            let theirs = make(&theirs, is_area);
            let expected = ours.iter().any(|ours| ours.overlaps(&theirs));
            proptest::prop_assert_eq!(Footprint::of(ours.iter()).overlaps(&theirs), expected);
        }
    }
}
