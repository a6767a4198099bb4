//! Leases that are held for as long as a command runs.
//!
//! [`Keeper`] renews them, takes back what had merely expired, and in the end gives back what was granted for the command; [`Schedule`] says when,
//! [`Escalation`] what a loss means for the command, [`Relay`] which signals are for it. [`watch`] brings them together around a [`Command`], which is whatever can be
//! waited for, ended, and told. All in one thread: nothing is done at intervals, and nothing of ours is left when the process is killed.

mod escalation;
mod keeper;
mod relay;
mod schedule;

pub use escalation::{Ending, Escalation, OnLost};
pub use keeper::{HowLost, Keeper, Notice, tokens};
pub use relay::{Came, Kin, Relay, Sender};
pub use schedule::Schedule;

use crate::clock::{Clock, Now};

/// Nothing is waited for longer than this at once, in milliseconds.
const LONGEST_WAIT_MS: i64 = 3_600_000;

/// What came of waiting for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken<S> {
    /// It has ended, like this.
    Ended(S),
    /// It goes on. This process was stopped meanwhile, so it may be late.
    Continued,
    /// It goes on.
    GoesOn,
}

/// A command that runs.
pub trait Command {
    /// How it ended.
    type Status;

    /// Waits until it has ended, for so many milliseconds at the most; may return earlier.
    fn wait(&mut self, ms: u64) -> Woken<Self::Status>;

    /// Makes it end.
    fn end(&mut self, how: Ending);

    /// Says what has become of the leases.
    fn tell(&mut self, notice: Notice);
}

/// Keeps the leases while the command runs. Returns how it ended; nothing is given back yet.
pub fn watch<C: Command>(
    keeper: &mut Keeper<'_>,
    command: &mut C,
    mut escalation: Escalation,
    clock: &dyn Clock,
) -> C::Status {
    let start = clock.now();
    let mut schedule = Schedule::new(keeper.shortest_ttl());
    loop {
        let now = clock.now().since(&start);
        if schedule.due() <= now {
            keep(keeper, command, &mut schedule, &mut escalation, &|| clock.now(), &start);
        }
        let now = clock.now().since(&start);
        while let Some(ending) = escalation.take(now) {
            command.tell(Notice::Ending(ending));
            command.end(ending);
        }
        let next = escalation.due().map_or(schedule.due(), |due| due.min(schedule.due()));
        let wait = next.saturating_sub(now).clamp(0, LONGEST_WAIT_MS);
        match command.wait(u64::try_from(wait).unwrap_or(0)) {
            Woken::Ended(status) => return status,
            Woken::Continued => schedule.hurry(clock.now().since(&start)),
            Woken::GoesOn => {}
        }
    }
}

fn keep<C: Command>(
    keeper: &mut Keeper<'_>,
    command: &mut C,
    schedule: &mut Schedule,
    escalation: &mut Escalation,
    clock: &dyn Fn() -> Now,
    start: &Now,
) {
    let (notices, is_kept) = keeper.keep();
    let now = clock().since(start);
    match is_kept {
        true => schedule.kept(now),
        false => schedule.failed(now, keeper.ends_in()),
    }
    let is_lost = notices.iter().any(|notice| matches!(notice, Notice::Lost { .. }));
    notices.into_iter().for_each(|notice| command.tell(notice));
    if is_lost && escalation.lost(now) {
        let ms = escalation.due().map_or(0, |due| due.saturating_sub(now));
        if ms > 0 {
            command.tell(Notice::EndsIn { ms });
        }
    }
}
