//! Waiting for leases, politely: the first try at once, one word to the waiter, then short looks without any mutex.

use super::{Acquired, Conflict, Holder, Locks, Request, Told, acquire, queue::Turn};
use crate::{
    clock::Now,
    store::{ReadSet, StoreError, Ticket},
};

/// How long to sleep between two looks at the most, in milliseconds: what is released is had within 100 ms.
const LOOK_EVERY_MS: u64 = 75;
/// The first try has at least so long, in milliseconds, however short the waiting is to be: what is free is had.
const FIRST_TRY_MS: u64 = 1000;
/// How often the ticket is written anew, in milliseconds; well within the time for which it counts.
const POLL_EVERY_MS: u64 = 1000;

/// How to wait.
pub struct Patience<'w> {
    /// For how long, in milliseconds.
    pub wait_ms: u64,
    /// Told once, before the waiting begins, what is in the way.
    pub begin: &'w mut dyn FnMut(&[Conflict]),
    /// Asked often whether to give up, say because of a signal.
    pub cancelled: &'w dyn Fn() -> bool,
    /// Sleeps for so many milliseconds.
    pub sleep: &'w dyn Fn(u64),
    /// A name for the ticket that no other waiter has; see [`Ticket::is_name`].
    pub ticket_name: String,
}

/// How the waiting ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// By an answer; refused when the time was up.
    Answered(Acquired),
    /// By `cancelled`; nothing was acquired.
    Cancelled,
}

/// Takes the ticket back however the waiting ends.
struct InQueue<'q, 's> {
    locks: &'q Locks<'s>,
    ticket: Ticket,
}

impl Drop for InQueue<'_, '_> {
    fn drop(&mut self) {
        self.locks.store.dequeue(&self.ticket.name);
    }
}

impl Locks<'_> {
    /// Acquires, and waits for what is held. Who came first is served first, among those whose whole request could be granted. No mutex is held while sleeping, and nothing is
    /// granted once the time is up.
    ///
    /// # Errors
    /// As [`Locks::acquire`]; the waiting ends with it.
    pub fn acquire_waiting(&self, request: &Request, patience: Patience<'_>) -> Result<Told<Waited>, StoreError> {
        let start = self.clock.now();
        let in_first_try = |now: &Now| {
            let at_least_ms = patience.wait_ms.max(FIRST_TRY_MS);
            (patience.cancelled)() || (patience.wait_ms > 0 && elapsed_ms(&start, now) >= at_least_ms)
        };
        let first = self.acquire_in_turn(request, None, &in_first_try)?;
        let mut conflicts = match first.value {
            Acquired::Refused(_) if (patience.cancelled)() => {
                return Ok(Told { value: Waited::Cancelled, warnings: first.warnings });
            }
            Acquired::Refused(conflicts) if patience.wait_ms > 0 => conflicts,
            answer => return Ok(Told { value: Waited::Answered(answer), warnings: first.warnings }),
        };
        if !conflicts.is_empty() {
            (patience.begin)(&conflicts);
        }
        let merged = acquire::merged(&request.wants);
        let wants: Vec<_> = merged.into_iter().map(|(resource, _)| resource).collect();
        let ticket = Ticket {
            name: patience.ticket_name,
            owner: request.owner.clone(),
            arrived: start.clone(),
            polled: start.clone(),
            wants,
        };
        let turn = Turn { arrived: start.clone(), name: ticket.name.clone() };
        let mut queued = InQueue { locks: self, ticket };
        let mut warnings = first.warnings;
        // Without a ticket one waits all the same, only without a place in the queue.
        warnings.extend(self.store.enqueue(&queued.ticket).err().map(|error| error.to_string()));

        let is_late = |now: &Now| elapsed_ms(&start, now) >= patience.wait_ms;
        let give_up = |now: &Now| (patience.cancelled)() || is_late(now);
        loop {
            let now = self.clock.now();
            if (patience.cancelled)() {
                return Ok(Told { value: Waited::Cancelled, warnings });
            }
            if is_late(&now) {
                return Ok(Told { value: Waited::Answered(Acquired::Refused(conflicts)), warnings });
            }
            let left = patience.wait_ms.saturating_sub(elapsed_ms(&start, &now));
            (patience.sleep)(until_next_look(&conflicts).min(left).max(1));
            self.poll(&mut queued.ticket);
            let in_the_way = self.look(request, &queued.ticket)?;
            if !in_the_way.is_empty() {
                conflicts = in_the_way;
                continue;
            }
            let told = self.acquire_in_turn(request, Some(&turn), &give_up)?;
            match told.value {
                Acquired::Granted(_) => {
                    warnings.extend(told.warnings);
                    return Ok(Told { value: Waited::Answered(told.value), warnings });
                }
                // Empty: it was given up, which the next round says.
                Acquired::Refused(now_in_the_way) if now_in_the_way.is_empty() => {}
                Acquired::Refused(now_in_the_way) => conflicts = now_in_the_way,
            }
        }
    }

    /// Says in the queue that the waiter is still there. That it cannot be said costs the place, nothing else.
    fn poll(&self, ticket: &mut Ticket) {
        let now = self.clock.now();
        if elapsed_ms(&ticket.polled, &now) >= POLL_EVERY_MS {
            ticket.polled = now;
            let _ = self.store.enqueue(ticket);
        }
    }

    fn look(&self, request: &Request, ticket: &Ticket) -> Result<Vec<Conflict>, StoreError> {
        let view = self.store.view(&ReadSet::overlapping(&ticket.wants))?;
        let now = self.clock.now();
        Ok(acquire::conflicts(&request.owner, ticket.wants.iter(), &view, &now, self.longest_ttl))
    }
}

fn elapsed_ms(start: &Now, now: &Now) -> u64 {
    u64::try_from(now.since(start)).unwrap_or(0)
}

/// Sooner than usual when a lease in the way ends sooner.
fn until_next_look(conflicts: &[Conflict]) -> u64 {
    let soonest = conflicts.iter().filter_map(|conflict| match &conflict.holder {
        Holder::Lease(lease) => u64::try_from(lease.remaining_ms).ok(),
        Holder::Unknown { .. } | Holder::Waiting { .. } => None,
    });
    soonest.min().unwrap_or(LOOK_EVERY_MS).min(LOOK_EVERY_MS)
}
