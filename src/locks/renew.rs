//! Putting the expiry of leases off: by their owner only, and only while they hold.

use std::collections::BTreeSet;

use super::{Holder, Lease, LeftOut, Locks, Told, rules};
use crate::{
    clock::{Now, Timestamp},
    duration::Ttl,
    owner::Owner,
    record::{End, Ended, Reason, Record, Token},
    resource::{Resource, ResourceKey},
    store::{Access, Change, Decide, Late, Plan, ReadSet, Seen, StoreError, TokenRule, Unreadable, View},
};

/// One lease to be renewed.
#[derive(Debug, Clone)]
pub struct Prolong {
    /// Of what.
    pub resource: Resource,
    /// For how long from now; `None`: as long as it was taken for, within `cap`.
    pub ttl: Option<Ttl>,
    /// The longest TTL that the policy allows here now.
    pub cap: Ttl,
    /// Only if it is still this very grant.
    pub token: Option<Token>,
}

/// Why a lease is the caller's no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// There is no lease. When an area that contains the path is the caller's, it is named.
    Absent {
        /// The caller's lease that covers the path.
        covered_by: Option<Box<Lease>>,
    },
    /// It has expired and nobody has taken it since.
    Expired(Box<Lease>),
    /// The caller holds it again, by a later grant than the token says.
    OtherToken(Box<Lease>),
    /// Somebody took it over. That lease may have ended too meanwhile.
    TakenOver(Box<Lease>),
    /// Somebody ended it.
    Broken {
        /// The lease as it was.
        lease: Box<Lease>,
        /// Who, when known.
        by: Option<Owner>,
        /// When.
        at: Timestamp,
        /// Why.
        reason: Reason,
    },
}

/// What became of one renewal.
#[derive(Debug)]
pub enum Renewal {
    /// It holds for longer now.
    Renewed {
        /// The lease.
        lease: Box<Lease>,
        /// The TTL it was taken for is more than the policy allows now; it got what is allowed.
        capped: bool,
    },
    /// It is lost. Nothing was changed.
    Lost(Loss),
    /// Somebody else holds it, and did not take it from the caller. Nothing was changed.
    NotOwner(Holder),
    /// Its record cannot be read. Nothing was changed.
    Unknown(Holder),
}

/// What became of the leases of an owner.
#[derive(Debug)]
pub struct AllRenewed {
    /// Those that were renewed, in no particular order.
    pub renewed: Vec<Renewal>,
    /// Those that may not be renewed as was asked; they hold as long as before.
    pub refused: Vec<Resource>,
    /// Those that were lost, as far as there is still something to tell.
    pub losses: Vec<PastLoss>,
    /// What could not be looked at.
    pub left_out: Vec<LeftOut>,
}

/// How one of the owner's leases is to be renewed.
#[derive(Debug, Clone)]
pub enum Ask {
    /// So.
    Renew(Prolong),
    /// It may not be renewed as was asked.
    Refuse,
    /// It is not meant.
    PassOver,
}

/// A lease that its owner has lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastLoss {
    /// On what.
    pub resource: Resource,
    /// How.
    pub loss: Loss,
    /// Whether it was lost after one of the owner's other leases was renewed or acquired last. A renewal of all leases tells a loss as news once.
    pub is_news: bool,
}

/// Everything of the owner's that has expired, was broken, or was taken over.
fn losses(view: &View, owner: &Owner, now: &Now, is_meant: &dyn Fn(&Resource) -> bool) -> Vec<PastLoss> {
    let last_seen = rules::live_of(view, owner, now).map(|record| record.renewed_at).min();
    let mut losses = Vec::new();
    for record in rules::records(view).filter(|record| is_meant(&record.resource)) {
        let shown = || Box::new(rules::shown(record, now));
        let is_own = record.owner == *owner;
        let (loss, at) = match (rules::standing(record, now), &record.ended) {
            (rules::Standing::Live { .. }, _) if is_own => continue,
            (rules::Standing::Expired { .. }, _) if is_own => (Loss::Expired(shown()), record.expires_at),
            (_, Some(Ended { at, how: End::Broken { by, reason } })) if is_own => {
                let (by, reason) = (by.clone(), reason.clone());
                (Loss::Broken { lease: shown(), by, at: *at, reason }, *at)
            }
            // Lost when its own time was up, whoever took it since.
            _ if !is_own => match record.replaced.as_ref().and_then(|replaced| replaced.of(owner)) {
                Some(replaced) => (Loss::TakenOver(shown()), replaced.ended_at),
                None => continue,
            },
            _ => continue,
        };
        let is_news = last_seen.is_none_or(|seen| at >= seen);
        losses.push(PastLoss { resource: record.resource.clone(), loss, is_news });
    }
    losses
}

impl Locks<'_> {
    /// Renews each lease for itself; the answers are in the order of the request.
    ///
    /// Never creates a lease and never revives one that has ended. A later end than the one asked for stays.
    ///
    /// # Errors
    /// [`StoreError`] when the store could not tell or could not do; then none was renewed.
    pub fn renew(&self, owner: &Owner, items: &[Prolong], pid: u32) -> Result<Told<Vec<Renewal>>, StoreError> {
        let read = ReadSet::covering(items.iter().map(|item| &item.resource));
        let told = self.run_renewal(owner, &Items::These(items), pid, &read)?;
        Ok(Told { value: told.value.renewed, warnings: told.warnings })
    }

    /// Renews every live lease that is exactly this owner's and that `ask` wants renewed (it answers with how, and is asked more than once). What the owner has lost is told too.
    ///
    /// # Errors
    /// As [`Locks::renew`].
    pub fn renew_all(
        &self,
        owner: &Owner,
        ask: &dyn Fn(&Resource) -> Ask,
        pid: u32,
    ) -> Result<Told<AllRenewed>, StoreError> {
        self.run_renewal(owner, &Items::All(ask), pid, &ReadSet::everything())
    }

    fn run_renewal(
        &self,
        owner: &Owner,
        items: &Items<'_>,
        pid: u32,
        read: &ReadSet,
    ) -> Result<Told<AllRenewed>, StoreError> {
        let mut decision = Decision {
            locks: self,
            owner,
            items,
            pid,
            outcome: Vec::new(),
            before: Vec::new(),
            renewed: BTreeSet::new(),
            losses: Vec::new(),
            refused: Vec::new(),
            unknown: Vec::new(),
        };
        let committed = self.store.change(read, Access::Existing, &mut decision)?;
        let mut renewed = decision.outcome;
        self.say_what_has_ended(&mut renewed);
        let left_out = LeftOut::of(decision.unknown, committed.left_alone);
        let value = AllRenewed { renewed, refused: decision.refused, losses: decision.losses, left_out };
        Ok(Told { value, warnings: committed.warnings })
    }

    /// A disk so slow that a lease has ended by the time its renewal is written: that is no success.
    fn say_what_has_ended(&self, renewals: &mut [Renewal]) {
        if !renewals.iter().any(|renewal| matches!(renewal, Renewal::Renewed { .. })) {
            return;
        }
        let now = self.clock.now();
        for renewal in renewals {
            if let Renewal::Renewed { lease, .. } = renewal
                && lease.has_ended_by(&now)
            {
                *renewal = Renewal::Lost(Loss::Expired(lease.clone()));
            }
        }
    }
}

/// Which leases: those that are named, or all of the owner that are wanted.
enum Items<'d> {
    These(&'d [Prolong]),
    All(&'d dyn Fn(&Resource) -> Ask),
}

impl Items<'_> {
    fn in_view(&self, view: &View, owner: &Owner, now: &Now) -> Vec<Prolong> {
        match self {
            Self::These(items) => items.to_vec(),
            Self::All(ask) => rules::live_of(view, owner, now)
                .filter_map(|record| match ask(&record.resource) {
                    Ask::Renew(item) => Some(item),
                    Ask::Refuse | Ask::PassOver => None,
                })
                .collect(),
        }
    }
}

struct Decision<'d, 's> {
    locks: &'d Locks<'s>,
    owner: &'d Owner,
    items: &'d Items<'d>,
    pid: u32,
    outcome: Vec<Renewal>,
    before: Vec<Record>,
    renewed: BTreeSet<ResourceKey>,
    losses: Vec<PastLoss>,
    refused: Vec<Resource>,
    unknown: Vec<Unreadable>,
}

impl Decide for Decision<'_, '_> {
    fn decide(&mut self, view: &View) -> Plan {
        let now = self.locks.clock.now();
        let mut plan = Plan { late: Late::Stand, ..Plan::nothing(now.wall) };
        self.outcome.clear();
        self.before.clear();
        self.renewed.clear();
        self.unknown = rules::unknown(view, &now, self.locks.longest_ttl).cloned().collect();
        if let Items::All(ask) = self.items {
            self.losses = losses(view, self.owner, &now, &|resource| !matches!(ask(resource), Ask::PassOver));
            let own = rules::live_of(view, self.owner, &now).map(|record| &record.resource);
            self.refused = own.filter(|resource| matches!(ask(resource), Ask::Refuse)).cloned().collect();
        }
        for item in &self.items.in_view(view, self.owner, &now) {
            let renewal = match own_lease(view, &item.resource, self.owner, item.token, &now, self.locks.longest_ttl) {
                Ok(record) => self.prolonged(record, item, &now, &mut plan),
                Err(NotOwn::Lost(loss)) => Renewal::Lost(loss),
                Err(NotOwn::Foreign(holder @ Holder::Unknown { .. })) => Renewal::Unknown(holder),
                Err(NotOwn::Foreign(holder)) => Renewal::NotOwner(holder),
            };
            self.outcome.push(renewal);
        }
        plan
    }

    fn still_holds(&mut self) -> bool {
        let now = self.locks.clock.now();
        self.before.iter().all(|record| rules::is_live(record, &now))
    }
}

impl Decision<'_, '_> {
    fn prolonged(&mut self, before: &Record, item: &Prolong, now: &Now, plan: &mut Plan) -> Renewal {
        let mut record = before.clone();
        let ttl = item.ttl.unwrap_or_else(|| record.ttl.min(item.cap));
        let capped = item.ttl.is_none() && record.ttl > item.cap;
        rules::prolong(&mut record, now, ttl);
        record.host.clone_from(&self.locks.host);
        record.pid = self.pid;
        let lease = Box::new(rules::shown(&record, now));
        let key = record.resource.key();
        // A resource that is named twice is renewed once.
        if self.renewed.insert(key) {
            plan.changes.push(Change::Put { record: Box::new(record), token: TokenRule::Keep });
            self.before.push(before.clone());
        }
        Renewal::Renewed { lease, capped }
    }
}

pub(super) enum NotOwn {
    Lost(Loss),
    Foreign(Holder),
}

/// The owner's live lease on exactly this resource's path or name, or what is there instead.
pub(super) fn own_lease<'v>(
    view: &'v View,
    resource: &Resource,
    owner: &Owner,
    token: Option<Token>,
    now: &Now,
    longest_ttl: Ttl,
) -> Result<&'v Record, NotOwn> {
    let shown = |record: &Record| Box::new(rules::shown(record, now));
    let record = match view.get(resource.key()) {
        None => return Err(not_there(view, resource, owner, now, longest_ttl)),
        Some(seen @ Seen::Unreadable(unreadable)) => {
            let until = rules::held_until(unreadable, longest_ttl);
            let unknown = Holder::Unknown { record: unreadable.clone(), until };
            return Err(NotOwn::Foreign(rules::holder(seen, now, longest_ttl).unwrap_or(unknown)));
        }
        Some(Seen::Record(record)) => record,
    };
    if record.owner != *owner {
        let replaced = record.replaced.as_ref().and_then(|replaced| replaced.of(owner));
        let was_replaced = replaced.is_some_and(|replaced| token.is_none_or(|token| token <= replaced.token));
        return Err(match rules::standing(record, now) {
            _ if was_replaced => NotOwn::Lost(Loss::TakenOver(shown(record))),
            rules::Standing::Live { .. } if token.is_some() => NotOwn::Lost(Loss::TakenOver(shown(record))),
            rules::Standing::Live { .. } => NotOwn::Foreign(Holder::Lease(shown(record))),
            _ => not_there(view, resource, owner, now, longest_ttl),
        });
    }
    match (rules::standing(record, now), &record.ended) {
        (rules::Standing::Live { .. }, _) if token.is_none_or(|token| token == record.token) => Ok(record),
        (rules::Standing::Live { .. }, _) => Err(NotOwn::Lost(Loss::OtherToken(shown(record)))),
        (_, Some(ended)) => match &ended.how {
            End::Expired => Err(NotOwn::Lost(Loss::Expired(shown(record)))),
            End::Released => Err(not_there(view, resource, owner, now, longest_ttl)),
            End::Broken { by, reason } => Err(NotOwn::Lost(Loss::Broken {
                lease: shown(record),
                by: by.clone(),
                at: ended.at,
                reason: reason.clone(),
            })),
        },
        _ => Err(NotOwn::Lost(Loss::Expired(shown(record)))),
    }
}

/// Nothing at the resource's own key that counts. An area above it may be somebody else's, or the caller's own.
fn not_there(view: &View, resource: &Resource, owner: &Owner, now: &Now, longest_ttl: Ttl) -> NotOwn {
    let mut covered_by = None;
    for key in resource.ancestor_keys() {
        match view.get(key) {
            Some(Seen::Record(record)) if record.resource.covers(resource) && rules::is_live(record, now) => {
                let lease = Box::new(rules::shown(record, now));
                if lease.owner != *owner {
                    return NotOwn::Foreign(Holder::Lease(lease));
                }
                covered_by = Some(lease);
            }
            Some(seen @ Seen::Unreadable(_)) => {
                if let Some(holder) = rules::holder(seen, now, longest_ttl) {
                    return NotOwn::Foreign(holder);
                }
            }
            _ => {}
        }
    }
    NotOwn::Lost(Loss::Absent { covered_by })
}
