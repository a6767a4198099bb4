//! The leases of a command: renewed together, taken back when nobody else had them, given back when they were granted for it.

use std::collections::BTreeSet;

use crate::{
    clock::Now,
    duration::Ttl,
    locks::{Acquired, Conflict, GiveBack, Grant, Holder, Lease, Locks, Loss, Prolong, Release, Renewal, Request},
    record::Token,
    resource::Resource,
    store::StoreError,
};

/// Something that has to be told about the leases of a command.
#[derive(Debug)]
pub enum Notice {
    /// The store could not renew; it is tried again. Told once, until it works again.
    Trouble {
        /// Why not.
        error: StoreError,
        /// How long the lease that ends first still lasts, in milliseconds; not positive when it has ended.
        lasts_ms: i64,
    },
    /// A record cannot be read, so its lease cannot be renewed; it is tried again. Told once, until it works again.
    Unreadable(Holder),
    /// What could not be renewed is renewed again.
    Recovered,
    /// What the store has to say beside a change that was made.
    Beside(String),
    /// A lease had expired, nobody else has had it since, and it is held again, by another token.
    TakenBack(Box<Lease>),
    /// A lease is lost for good.
    Lost {
        /// On what.
        resource: Resource,
        /// How.
        how: HowLost,
    },
    /// The command is made to end in so many milliseconds.
    EndsIn {
        /// How many.
        ms: i64,
    },
    /// The command is made to end because of a loss.
    Ending(super::Ending),
    /// A lease could not be given back; it ends by itself.
    NotGivenBack {
        /// On what.
        resource: Resource,
        /// Why not.
        error: StoreError,
    },
    /// A lease that was given back had expired before the command ended.
    ExpiredBeforeTheEnd(Box<Lease>),
}

/// How a lease was lost.
#[derive(Debug)]
pub enum HowLost {
    /// As the record tells.
    Told(Loss),
    /// Somebody else holds it, or stands before us in the queue.
    Held(Holder),
    /// It expired, and somebody else has had it since.
    HadByOthers,
    /// Its time was up while it could not be renewed; who has it now cannot be told.
    CannotTell,
}

/// One lease of the command.
#[derive(Debug)]
struct Kept {
    resource: Resource,
    ttl: Ttl,
    token: Token,
    /// Granted for the command; what was the owner's before stays the owner's.
    is_fresh: bool,
    seen: Now,
    /// Milliseconds from `seen` to its end.
    remaining_ms: i64,
    is_lost: bool,
}

/// Keeps the leases of a command.
#[derive(Debug)]
pub struct Keeper<'a> {
    locks: &'a Locks<'a>,
    request: &'a Request,
    kept: Vec<Kept>,
    is_in_trouble: bool,
}

impl<'a> Keeper<'a> {
    /// Of what was granted to a request, right now.
    #[must_use]
    pub fn new(locks: &'a Locks<'a>, request: &'a Request, grants: &[Grant]) -> Self {
        let seen = locks.clock.now();
        let asked = |lease: &Lease| {
            let of = request.wants.iter().filter(|(resource, _)| resource.key() == lease.resource.key());
            of.map(|(_, ttl)| *ttl).max().unwrap_or(lease.ttl)
        };
        let kept = grants.iter().map(|Grant { lease, fresh, .. }| Kept {
            resource: lease.resource.clone(),
            ttl: asked(lease),
            token: lease.token,
            is_fresh: *fresh,
            seen: seen.clone(),
            remaining_ms: lease.remaining_ms,
            is_lost: false,
        });
        Self { locks, request, kept: kept.collect(), is_in_trouble: false }
    }

    /// The shortest TTL of all.
    #[must_use]
    pub fn shortest_ttl(&self) -> Ttl {
        let longest = self.locks.longest_ttl;
        self.kept.iter().map(|kept| kept.ttl).min().unwrap_or(longest)
    }

    /// Milliseconds until the first of the leases ends that are not lost.
    #[must_use]
    pub fn ends_in(&self) -> Option<i64> {
        let now = self.locks.clock.now();
        self.kept.iter().filter(|kept| !kept.is_lost).map(|kept| kept.left_ms(&now)).min()
    }

    /// Renews all that is not lost. Returns what there is to tell, and whether all that is not lost has been renewed.
    pub fn keep(&mut self) -> (Vec<Notice>, bool) {
        let mut notices = Vec::new();
        let items: Vec<Prolong> = self.kept.iter().filter(|kept| !kept.is_lost).map(Kept::prolong).collect();
        if items.is_empty() {
            return (notices, true);
        }
        let is_kept = match self.locks.renew(&self.request.owner, &items, self.request.pid) {
            Ok(told) => {
                notices.extend(told.warnings.into_iter().map(Notice::Beside));
                self.after(told.value, &mut notices)
            }
            Err(error) => {
                self.trouble(error, &mut notices);
                false
            }
        };
        if is_kept && std::mem::take(&mut self.is_in_trouble) {
            notices.push(Notice::Recovered);
        }
        if !is_kept {
            self.give_up_on_what_has_ended(&mut notices);
        }
        (notices, is_kept)
    }

    fn after(&mut self, renewals: Vec<Renewal>, notices: &mut Vec<Notice>) -> bool {
        let now = self.locks.clock.now();
        let renewed: Vec<usize> =
            (0..self.kept.len()).filter(|at| !self.kept.get(*at).is_none_or(|kept| kept.is_lost)).collect();
        let mut is_kept = true;
        for (at, renewal) in renewed.into_iter().zip(renewals) {
            let Some(kept) = self.kept.get_mut(at) else { continue };
            match renewal {
                Renewal::Renewed { lease, .. } => kept.saw(&lease, &now),
                Renewal::Lost(Loss::Expired(lease)) if lease.ended.is_none() => {
                    is_kept &= self.take_back(at, *lease, notices);
                }
                // That it has expired is written down by whoever takes something that overlaps it.
                Renewal::Lost(Loss::Expired(_)) => notices.push(kept.lost(HowLost::HadByOthers)),
                Renewal::Lost(loss) => notices.push(kept.lost(HowLost::Told(loss))),
                Renewal::NotOwner(holder) => notices.push(kept.lost(HowLost::Held(holder))),
                Renewal::Unknown(holder) => {
                    is_kept = false;
                    if !std::mem::replace(&mut self.is_in_trouble, true) {
                        notices.push(Notice::Unreadable(holder));
                    }
                }
            }
        }
        is_kept
    }

    /// A lease that has expired is had again if its record is still the owner's: then nobody else has had it. `false`: that could not be tried.
    fn take_back(&mut self, at: usize, before: Lease, notices: &mut Vec<Notice>) -> bool {
        let Some(kept) = self.kept.get_mut(at) else { return true };
        let request = Request {
            wants: vec![(kept.resource.clone(), kept.ttl)],
            reason: before.reason.clone(),
            ..self.request.clone()
        };
        let told = match self.locks.acquire(&request) {
            Ok(told) => told,
            Err(error) => {
                self.trouble(error, notices);
                return false;
            }
        };
        notices.extend(told.warnings.into_iter().map(Notice::Beside));
        match told.value {
            Acquired::Granted(grants) => {
                let Some(grant) = grants.into_iter().next() else { return true };
                let is_own = !grant.fresh || grant.stale_owner.as_ref() == Some(&request.owner);
                if is_own {
                    kept.saw(&grant.lease, &self.locks.clock.now());
                    notices.push(Notice::TakenBack(Box::new(grant.lease)));
                } else {
                    let back = GiveBack { resource: grant.lease.resource, token: Some(grant.lease.token) };
                    // If this fails it ends by itself; that the lease is lost is what matters.
                    let _ = self.locks.release(&request.owner, &[back]);
                    notices.push(kept.lost(HowLost::HadByOthers));
                }
            }
            Acquired::Refused(conflicts) => {
                let holder = conflicts.into_iter().next().map(|Conflict { holder, .. }| HowLost::Held(holder));
                notices.push(kept.lost(holder.unwrap_or(HowLost::Told(Loss::Expired(Box::new(before))))));
            }
        }
        true
    }

    fn trouble(&mut self, error: StoreError, notices: &mut Vec<Notice>) {
        let lasts_ms = self.ends_in().unwrap_or(0);
        if !std::mem::replace(&mut self.is_in_trouble, true) {
            notices.push(Notice::Trouble { error, lasts_ms });
        }
    }

    /// What could not be renewed in time no longer protects anything, whatever the store will say when it works again.
    fn give_up_on_what_has_ended(&mut self, notices: &mut Vec<Notice>) {
        let now = self.locks.clock.now();
        let ended = self.kept.iter_mut().filter(|kept| !kept.is_lost && kept.left_ms(&now) <= 0);
        notices.extend(ended.map(|kept| kept.lost(HowLost::CannotTell)));
    }

    /// Gives back what was granted for the command and is not lost, by its token: a lease of anybody else, or a later one, is not touched.
    pub fn give_back(&mut self) -> Vec<Notice> {
        let mine = |kept: &&mut Kept| kept.is_fresh && !kept.is_lost;
        let items: Vec<GiveBack> = self.kept.iter_mut().filter(mine).map(|kept| kept.give_back()).collect();
        if items.is_empty() {
            return Vec::new();
        }
        let told = match self.locks.release(&self.request.owner, &items) {
            Ok(told) => told,
            Err(error) => {
                let resource = items.into_iter().next().map(|item| item.resource);
                return resource.map(|resource| Notice::NotGivenBack { resource, error }).into_iter().collect();
            }
        };
        let mut notices: Vec<Notice> = told.warnings.into_iter().map(Notice::Beside).collect();
        let mut seen = BTreeSet::new();
        for (item, release) in items.into_iter().zip(told.value) {
            if seen.insert(item.resource.key()) {
                notices.extend(parting(item.resource, release));
            }
        }
        notices
    }
}

fn parting(resource: Resource, release: Release) -> Option<Notice> {
    match release {
        Release::Released(lease) if lease.remaining_ms <= 0 => Some(Notice::ExpiredBeforeTheEnd(lease)),
        // The command has given it back itself.
        Release::Released(_) | Release::Nothing(Loss::Absent { .. }) => None,
        Release::Nothing(loss) | Release::Lost(loss) => Some(Notice::Lost { resource, how: HowLost::Told(loss) }),
        Release::NotOwner(holder) => Some(Notice::Lost { resource, how: HowLost::Held(holder) }),
        Release::Unknown(holder) => Some(Notice::Unreadable(holder)),
        Release::Failed { resource, source: error } => Some(Notice::NotGivenBack { resource, error }),
    }
}

impl Kept {
    fn left_ms(&self, now: &Now) -> i64 {
        self.remaining_ms.saturating_sub(now.since(&self.seen))
    }

    fn saw(&mut self, lease: &Lease, now: &Now) {
        self.token = lease.token;
        self.seen = now.clone();
        self.remaining_ms = lease.remaining_ms;
    }

    fn prolong(&self) -> Prolong {
        Prolong { resource: self.resource.clone(), ttl: Some(self.ttl), cap: self.ttl, token: Some(self.token) }
    }

    fn give_back(&self) -> GiveBack {
        GiveBack { resource: self.resource.clone(), token: Some(self.token) }
    }

    fn lost(&mut self, how: HowLost) -> Notice {
        self.is_lost = true;
        Notice::Lost { resource: self.resource.clone(), how }
    }
}

/// The tokens of grants, as the command is told them: separated by blanks, in the order of the request.
#[must_use]
pub fn tokens(grants: &[Grant]) -> String {
    grants.iter().map(|grant| grant.lease.token.to_string()).collect::<Vec<_>>().join(" ")
}
