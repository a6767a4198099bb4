//! The lock service: leases on resources, as the people and agents who use them see them.
//!
//! [`rules`] says what a record means at a given time; [`acquire`](Locks::acquire), [`renew`](Locks::renew), [`release`](Locks::release),
//! [`break_leases`](Locks::break_leases) and [`prune`](Locks::prune) are decisions that a [`Store`] runs atomically;
//! [`acquire_waiting`](Locks::acquire_waiting) tries again until its turn comes; [`check`](Locks::check) and [`list`](Locks::list) only
//! look; [`session`] knows what an agent tool's hook remembers of an owner. Contention is a value ([`Acquired::Refused`], [`Renewal::NotOwner`], …); an `Err` means that the store could not tell or could not do.

mod acquire;
mod breaking;
mod inspect;
mod prune;
mod queue;
mod release;
mod renew;
pub mod rules;
pub mod session;
mod wait;

use std::fmt;

pub use acquire::{Acquired, Conflict, Grant, Request};
pub use breaking::Break;
pub use inspect::{Listing, Report};
pub use prune::Pruned;
pub use release::{AllReleased, GiveBack, Release};
pub use renew::{AllRenewed, Ask, Loss, PastLoss, Prolong, Renewal};
pub use wait::{Patience, Waited};

use crate::{
    clock::{Clock, Timestamp},
    duration::Ttl,
    owner::Owner,
    record::{BootDeadline, Ended, Reason, Replaced, Token},
    resource::Resource,
    store::{Store, StoreError, Sweep, Unreadable},
};

/// How long a shard is left alone after it was swept, in milliseconds: an hour.
pub const SWEEP_EVERY_MS: u64 = 3_600_000;

/// The lock service on a store.
pub struct Locks<'a> {
    /// Where the records are.
    pub store: &'a dyn Store,
    /// What time it is. Read by each decision itself, after the store has let it in.
    pub clock: &'a dyn Clock,
    /// The machine's name, written into records for people.
    pub host: String,
    /// The longest TTL that the policy allows anybody: for so long, at least, what cannot be read counts as held.
    pub longest_ttl: Ttl,
    /// How long expired and ended records stay for the sweep, in milliseconds.
    pub keep_expired_ms: u64,
}

/// Whether a lease holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does.
    Live,
    /// Its time was up.
    Expired,
    /// It was released or broken before its time was up.
    Ended,
}

/// A lease as it stands at a given time, with times to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What is locked.
    pub resource: Resource,
    /// By whom.
    pub owner: Owner,
    /// The fencing token of this grant.
    pub token: Token,
    /// Whether it holds.
    pub state: State,
    /// When it was granted.
    pub acquired_at: Timestamp,
    /// When it was renewed last.
    pub renewed_at: Timestamp,
    /// When it ends. For a live lease of this boot: now plus what remains, so a step of the wall clock does not make it wrong.
    pub expires_at: Timestamp,
    /// Milliseconds until it ends; negative when it has ended.
    pub remaining_ms: i64,
    /// When it ends by the boot-time clock, if it was written with one.
    pub boot_deadline: Option<BootDeadline>,
    /// How long it lasts from a renewal.
    pub ttl: Ttl,
    /// Why it is held.
    pub reason: Option<Reason>,
    /// Whom it replaced.
    pub replaced: Option<Replaced>,
    /// How it ended, when that is written down.
    pub ended: Option<Ended>,
    /// The machine that wrote it.
    pub host: String,
    /// The process that wrote it.
    pub pid: u32,
}

impl Lease {
    /// Whether a lease that has just been written has ended already.
    fn has_ended_by(&self, now: &crate::clock::Now) -> bool {
        rules::left_ms(self.boot_deadline.as_ref(), self.expires_at, now) <= 0
    }
}

/// Who holds something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The owner of a live lease.
    Lease(Box<Lease>),
    /// Nobody knows: a record that cannot be read.
    Unknown {
        /// What is there.
        record: Unreadable,
        /// Until when it counts as held; `None` when its file time is not known: until somebody moves it away.
        until: Option<Timestamp>,
    },
    /// Nobody holds it, but somebody has waited for it for longer and can have it now.
    Waiting {
        /// Who.
        owner: Owner,
        /// Since when.
        since: Timestamp,
    },
}

impl Holder {
    /// The owner, when it is known. For [`Holder::Waiting`], who is first in the queue.
    #[must_use]
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Lease(lease) => Some(&lease.owner),
            Self::Waiting { owner, .. } => Some(owner),
            Self::Unknown { .. } => None,
        }
    }
}

/// What an operation on every lease has left out: a lease that it was to change may be there.
#[derive(Debug)]
pub enum LeftOut {
    /// A record that cannot be read.
    Record(Unreadable),
    /// A part of the store that cannot be had.
    Part(StoreError),
}

impl LeftOut {
    /// The records of a view that cannot be read and count as held still, and the parts that could not be had.
    fn of(unreadable: Vec<Unreadable>, parts: Vec<StoreError>) -> Vec<Self> {
        unreadable.into_iter().map(Self::Record).chain(parts.into_iter().map(Self::Part)).collect()
    }
}

/// A result, and what is to be said beside it.
#[derive(Debug)]
pub struct Told<T> {
    /// The result.
    pub value: T,
    /// Warnings, each one line, already safe to show.
    pub warnings: Vec<String>,
}

impl fmt::Debug for Locks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locks")
            .field("host", &self.host)
            .field("longest_ttl", &self.longest_ttl)
            .finish_non_exhaustive()
    }
}

impl Locks<'_> {
    fn sweep(&self, now: &crate::clock::Now) -> Sweep {
        let (now, keep_ms) = (now.clone(), self.keep_expired_ms);
        Sweep { every_ms: SWEEP_EVERY_MS, doomed: Box::new(move |record| rules::is_forgotten(record, &now, keep_ms)) }
    }
}
