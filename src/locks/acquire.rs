//! Taking leases: all of a request or none of it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Holder, Lease, Locks, Told,
    queue::{self, Turn},
    rules,
};
use crate::{
    clock::Now,
    duration::Ttl,
    owner::Owner,
    record::{End, Ended, Reason, Record, Replaced, Token},
    resource::{Resource, ResourceKey},
    store::{Access, Change, Decide, Event, JournalLine, Late, Plan, ReadSet, Seen, StoreError, TokenRule, View},
};

/// What is wanted: resources, each with the TTL it is to have.
#[derive(Debug, Clone)]
pub struct Request {
    /// For whom.
    pub owner: Owner,
    /// What, and for how long each.
    pub wants: Vec<(Resource, Ttl)>,
    /// Why. A renewal without a reason keeps the old one.
    pub reason: Option<Reason>,
    /// The process on whose behalf the record is written, for people.
    pub pid: u32,
}

/// A lease that was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The lease.
    pub lease: Lease,
    /// Whether it is new. `false`: it was the owner's already, keeps its token, and lasts at least as long as before.
    pub fresh: bool,
    /// Whether it was on the file at this path before, and is on the directory and all below now.
    pub widened: bool,
    /// Whose expired lease it replaced.
    pub stale_owner: Option<Owner>,
}

/// Why a resource cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// What was wanted.
    pub wanted: Resource,
    /// Who holds it, or something that overlaps it.
    pub holder: Holder,
}

/// The answer to a [`Request`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// Everything was granted, in the order of the request, each resource once.
    Granted(Vec<Grant>),
    /// Nothing was granted; everything that stands in the way.
    Refused(Vec<Conflict>),
}

impl Locks<'_> {
    /// Takes leases on all resources of the request, or on none.
    ///
    /// A resource that the owner already holds is prolonged: it keeps its token and is never shortened or narrowed. An expired lease
    /// is replaced, whoever held it. What overlaps a live lease of somebody else is refused, kin included.
    ///
    /// # Errors
    /// [`StoreError`] when the store could not tell or could not do; then nothing was granted, unless it is [`StoreError::NotUndone`].
    pub fn acquire(&self, request: &Request) -> Result<Told<Acquired>, StoreError> {
        self.acquire_in_turn(request, None, &|_| false)
    }

    /// As [`Locks::acquire`], at a place in the queue. When `give_up` says so, right before the grant at the latest, it is refused without a conflict.
    pub(super) fn acquire_in_turn(
        &self,
        request: &Request,
        turn: Option<&Turn>,
        give_up: &dyn Fn(&Now) -> bool,
    ) -> Result<Told<Acquired>, StoreError> {
        let wants = merged(&request.wants);
        let mut read = ReadSet::overlapping(wants.iter().map(|(resource, _)| resource));
        // Only older tickets count, so those that are there now are all that can matter.
        let queue = self.store.view(&ReadSet::only_the_queue())?.queue;
        let tickets = match queue.as_slice() {
            [] => Vec::new(),
            queue => queue::before_us(queue, &request.owner, turn, &wants, &self.clock.now()),
        };
        read.look_at(tickets.iter().flat_map(|ticket| &ticket.wants));
        read.queue = !tickets.is_empty();
        let mut decision = Decision {
            locks: self,
            request,
            wants: &wants,
            known: tickets.iter().map(|ticket| ticket.name.as_str()).collect(),
            turn,
            give_up,
            outcome: None,
            held_before: Vec::new(),
            soonest: None,
        };
        let changed = self.store.change(&read, Access::Create, &mut decision);
        match (changed, decision.outcome) {
            (Ok(committed), Some(Judged::Grant(mut grants))) => {
                for grant in &mut grants {
                    if let Some(token) = committed.tokens.get(&grant.lease.resource.key()) {
                        grant.lease.token = *token;
                    }
                }
                let now = self.clock.now();
                let (ended, live): (Vec<&Grant>, Vec<&Grant>) =
                    grants.iter().partition(|grant| grant.lease.has_ended_by(&now));
                if !ended.is_empty() {
                    let held: Vec<Resource> = live.iter().map(|grant| grant.lease.resource.clone()).collect();
                    let cause = StoreError::TooSlow;
                    return Err(if held.is_empty() {
                        cause
                    } else {
                        StoreError::NotUndone { held, cause: Box::new(cause) }
                    });
                }
                Ok(Told { value: Acquired::Granted(grants), warnings: committed.warnings })
            }
            (changed, Some(Judged::Refuse(conflicts))) => {
                // The refusal stands, whether or not a record from the future could be brought back to the present.
                let warnings = changed.err().map(|error| error.to_string()).into_iter().collect();
                Ok(Told { value: Acquired::Refused(conflicts), warnings })
            }
            (Err(error), _) => Err(error),
            // Every store decides before it answers; a store that does not has granted nothing.
            (Ok(_), None) => Ok(Told { value: Acquired::Refused(Vec::new()), warnings: Vec::new() }),
        }
    }
}

/// Each key once, in the order of the request: a path given twice, or as a file and as an area, is one want, the wider and longer of the two.
pub(super) fn merged(wants: &[(Resource, Ttl)]) -> Vec<(Resource, Ttl)> {
    let mut at: BTreeMap<ResourceKey, usize> = BTreeMap::new();
    let mut merged: Vec<(Resource, Ttl)> = Vec::new();
    for (resource, ttl) in wants {
        let known = at.get(&resource.key()).and_then(|position| merged.get_mut(*position));
        match known {
            Some(known) => {
                if resource.is_area() {
                    known.0 = resource.clone();
                }
                known.1 = known.1.max(*ttl);
            }
            None => {
                at.insert(resource.key(), merged.len());
                merged.push((resource.clone(), *ttl));
            }
        }
    }
    merged
}

enum Judged {
    Grant(Vec<Grant>),
    Refuse(Vec<Conflict>),
}

struct Decision<'d, 's> {
    locks: &'d Locks<'s>,
    request: &'d Request,
    wants: &'d [(Resource, Ttl)],
    /// The tickets whose resources are in the read set; later ones are not older than this request.
    known: BTreeSet<&'d str>,
    turn: Option<&'d Turn>,
    give_up: &'d dyn Fn(&Now) -> bool,
    outcome: Option<Judged>,
    /// The owner's own leases that the plan prolongs; they must not have ended when it is carried out.
    held_before: Vec<Record>,
    /// Of what the plan grants, the lease that ends first.
    soonest: Option<Record>,
}

impl Decide for Decision<'_, '_> {
    fn decide(&mut self, view: &View) -> Plan {
        let now = self.locks.clock.now();
        self.held_before.clear();
        self.soonest = None;
        let wanted = self.wants.iter().map(|(resource, _)| resource);
        let mut conflicts = conflicts(&self.request.owner, wanted, view, &now, self.locks.longest_ttl);
        if conflicts.is_empty() {
            conflicts = self.older_requests(view, &now);
        }
        if !conflicts.is_empty() || (self.give_up)(&now) {
            let plan = reanchored(&conflicts, view, &now);
            self.outcome = Some(Judged::Refuse(conflicts));
            return plan;
        }
        let mut plan = Plan { late: Late::Undo, sweep: Some(self.locks.sweep(&now)), ..Plan::nothing(now.wall) };
        let mut grants = Vec::with_capacity(self.wants.len());
        for (resource, ttl) in self.wants {
            let before = rules::record_at(view, resource.key());
            let own = before.filter(|record| rules::is_live_of(record, &self.request.owner, &now));
            let (grant, change, lines) = match own {
                Some(record) => self.again(record, resource, *ttl, &now),
                None => self.fresh(before, resource, *ttl, &now),
            };
            if let Change::Put { record, .. } = &change
                && self.soonest.as_ref().is_none_or(|soonest| record.expires_at < soonest.expires_at)
            {
                self.soonest = Some(Record::clone(record));
            }
            grants.push(grant);
            plan.changes.push(change);
            plan.journal.extend(lines);
        }
        self.settle(view, &now, &mut plan);
        self.outcome = Some(Judged::Grant(grants));
        plan
    }

    /// No lease is born expired, and none that has ended is prolonged.
    fn still_holds(&mut self) -> bool {
        let now = self.locks.clock.now();
        if matches!(self.outcome, Some(Judged::Grant(_))) && (self.give_up)(&now) {
            return false;
        }
        self.held_before.iter().chain(&self.soonest).all(|record| rules::is_live(record, &now))
    }
}

impl Decision<'_, '_> {
    /// Settles what overlaps the grant at other keys. Of leases of others that have expired it is written down that they have: a clock that is set
    /// back across a restart must not make them live again beside the new one. And whoever lost what is granted now has it again: what told of
    /// that loss has nothing to tell any more.
    fn settle(&self, view: &View, now: &Now, plan: &mut Plan) {
        let me = &self.request.owner;
        let mut done: BTreeSet<ResourceKey> = self.wants.iter().map(|(wanted, _)| wanted.key()).collect();
        for (wanted, _) in self.wants {
            for (key, seen) in rules::overlapping(view, wanted) {
                let Seen::Record(record) = seen else { continue };
                if rules::is_live(record, now) || done.contains(&key) {
                    continue;
                }
                let is_covered = wanted.covers(&record.resource);
                let is_expired = record.ended.is_none() && record.owner != *me;
                let was_lost_by_me = record.replaced.as_ref().is_some_and(|replaced| replaced.of(me).is_some());
                let has_told = matches!(&record.ended, Some(Ended { how: End::Expired, .. })) && record.owner == *me;
                if is_covered && has_told {
                    done.insert(key);
                    plan.changes.push(Change::Remove(key));
                } else if is_expired || (is_covered && was_lost_by_me) {
                    done.insert(key);
                    let mut settled = record.as_ref().clone();
                    if is_expired {
                        plan.journal.push(expired(record, now));
                        settled.ended = Some(Ended { at: now.wall, how: End::Expired });
                    }
                    if is_covered {
                        settled.replaced = Replaced::joined(settled.replaced, me);
                    }
                    plan.changes.push(Change::End(Box::new(settled)));
                }
            }
        }
    }

    /// What is free, but is another's turn. What the owner holds already is not asked for again.
    fn older_requests(&self, view: &View, now: &Now) -> Vec<Conflict> {
        let known = view.queue.iter().filter(|ticket| self.known.contains(ticket.name.as_str()));
        let before = queue::before_us(known, &self.request.owner, self.turn, self.wants, now);
        queue::conflicts(&before, self.wants, view, now, self.locks.longest_ttl)
    }

    /// The owner's own lease, prolonged; widened when the area at its path is wanted, never narrowed.
    fn again(
        &mut self,
        before: &Record,
        resource: &Resource,
        ttl: Ttl,
        now: &Now,
    ) -> (Grant, Change, Vec<JournalLine>) {
        self.held_before.push(before.clone());
        let mut record = before.clone();
        let widened = resource.is_area() && !before.resource.is_area();
        if widened {
            record.resource = resource.clone();
        }
        rules::prolong(&mut record, now, ttl);
        if let Some(reason) = &self.request.reason {
            record.reason = Some(reason.clone());
        }
        self.sign(&mut record);
        let grant = Grant { lease: rules::shown(&record, now), fresh: false, widened, stale_owner: None };
        let line = widened.then(|| JournalLine::about(&record, Event::Granted, now.wall));
        (grant, Change::Put { record: Box::new(record), token: TokenRule::Keep }, line.into_iter().collect())
    }

    fn fresh(
        &self,
        before: Option<&Record>,
        resource: &Resource,
        ttl: Ttl,
        now: &Now,
    ) -> (Grant, Change, Vec<JournalLine>) {
        let replaced = before.and_then(|before| lost_by(before, &self.request.owner));
        let stale_owner = before.filter(|before| !before.was_cut_short()).map(|before| before.owner.clone());
        let mut record = Record {
            resource: resource.clone(),
            owner: self.request.owner.clone(),
            reason: self.request.reason.clone(),
            token: before.map_or(Token::FIRST, |before| before.token),
            acquired_at: now.wall,
            renewed_at: now.wall,
            expires_at: now.wall,
            ttl,
            boot: None,
            replaced,
            ended: None,
            host: String::new(),
            pid: 0,
        };
        rules::prolong(&mut record, now, ttl);
        self.sign(&mut record);
        let mut lines: Vec<JournalLine> =
            before.filter(|before| before.ended.is_none()).map(|before| expired(before, now)).into_iter().collect();
        lines.push(JournalLine {
            at: now.wall,
            event: if stale_owner.is_some() { Event::TakenOver } else { Event::Granted },
            resource: resource.clone(),
            owner: record.owner.clone(),
            token: None,
            other: stale_owner.clone(),
            reason: record.reason.clone(),
        });
        let grant = Grant { lease: rules::shown(&record, now), fresh: true, widened: false, stale_owner };
        (grant, Change::Put { record: Box::new(record), token: TokenRule::Fresh }, lines)
    }

    fn sign(&self, record: &mut Record) {
        record.host.clone_from(&self.locks.host);
        record.pid = self.request.pid;
    }
}

/// Everything that stands in the way of `owner`. Each pair of what is wanted and who holds it once.
pub(super) fn conflicts<'r>(
    owner: &Owner,
    wants: impl Iterator<Item = &'r Resource>,
    view: &View,
    now: &Now,
    longest_ttl: Ttl,
) -> Vec<Conflict> {
    let mut found = Vec::new();
    for wanted in wants {
        let in_the_way = rules::overlapping(view, wanted).into_iter();
        let holders = in_the_way.filter_map(|(_, seen)| rules::holder(seen, now, longest_ttl));
        let foreign = holders.filter(|holder| holder.owner() != Some(owner));
        found.extend(foreign.map(|holder| Conflict { wanted: wanted.clone(), holder }));
    }
    found
}

/// That a lease has expired is noticed when it is taken over.
fn expired(before: &Record, now: &Now) -> JournalLine {
    JournalLine::about(before, Event::Expired, now.wall)
}

/// Who lost the resource and has not had it back, now that the new owner has it: the owner of an expired or broken lease (not of one that was
/// given back), and all whom *that* one had replaced.
fn lost_by(before: &Record, new_owner: &Owner) -> Option<Replaced> {
    let ended_at = match &before.ended {
        None => Some(before.expires_at),
        Some(Ended { how: End::Broken { .. } | End::Expired, at }) => Some(*at),
        Some(Ended { how: End::Released, .. }) => None,
    };
    let itself = ended_at.map(|ended_at| {
        let (owner, token) = (before.owner.clone(), before.token);
        Replaced { owner, token, ended_at, before: Vec::new() }
    });
    Replaced::joined(itself.into_iter().chain(before.replaced.clone()), new_owner)
}

/// The first refused request brings a record from the future back to now plus its TTL, so that it ends some day.
fn reanchored(conflicts: &[Conflict], view: &View, now: &Now) -> Plan {
    let mut plan = Plan::nothing(now.wall);
    let mut done = BTreeSet::new();
    for conflict in conflicts {
        let Holder::Lease(lease) = &conflict.holder else { continue };
        let Some(record) = rules::record_at(view, lease.resource.key()) else { continue };
        if let rules::Standing::Live { from_future: true, .. } = rules::standing(record, now)
            && done.insert(record.resource.key())
        {
            let mut record = record.clone();
            rules::reanchor(&mut record, now);
            plan.changes.push(Change::Put { record: Box::new(record), token: TokenRule::Keep });
        }
    }
    plan
}
