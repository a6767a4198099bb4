//! Signals with their senders, for who stands before a command and passes on what is meant for it.
//!
//! A signal that was ignored when this program started stays so: whoever started it (`nohup`, a shell without job control that starts something in the
//! background) wants the command to ignore it too, and a handler of ours would become the default in the command.

use std::{cell::RefCell, io, os::unix::net::UnixStream};

use git_agentlock::run::{Came, Sender};
use signal_hook::{
    consts::{SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH},
    iterator::{backend::SignalDelivery, exfiltrator::WithOrigin},
};

/// What asks a program to end.
const TO_END: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
/// What else is meant for the command, or tells of it, once there is one.
const OF_COMMAND: [i32; 7] = [SIGALRM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD];

/// From now on signals only leave a note.
#[derive(Debug)]
pub(crate) struct Catcher {
    delivery: RefCell<SignalDelivery<UnixStream, WithOrigin>>,
    ignored: u64,
    asked_to_end: RefCell<Option<i32>>,
}

impl Catcher {
    /// Catches what asks to end.
    pub(crate) fn new() -> io::Result<Self> {
        let ignored = ignored_signals();
        let (read, write) = UnixStream::pair()?;
        let to_end = TO_END.into_iter().filter(|signal| !is_in(ignored, *signal));
        let delivery = SignalDelivery::with_pipe(read, write, WithOrigin::default(), to_end)?;
        Ok(Self { delivery: RefCell::new(delivery), ignored, asked_to_end: RefCell::default() })
    }

    /// Catches also what is meant for a command.
    pub(crate) fn catch_all(&self) -> io::Result<()> {
        let handle = self.delivery.borrow().handle();
        // To be told of the end of a child also when children were ignored.
        let wanted = OF_COMMAND.into_iter().filter(|signal| *signal == SIGCHLD || !is_in(self.ignored, *signal));
        wanted.into_iter().try_for_each(|signal| handle.add_signal(signal))
    }

    /// What has come since this was asked last.
    pub(crate) fn take(&self) -> Vec<Came> {
        let came = |origin: signal_hook::low_level::siginfo::Origin| Came {
            signal: origin.signal,
            from: origin.process.map_or(Sender::Terminal, |process| Sender::Process(process.pid)),
        };
        self.delivery.borrow_mut().pending().map(came).collect()
    }

    /// The signal by which somebody has asked to end, before there is a command that it could be meant for.
    pub(crate) fn asked_to_end(&self) -> Option<u8> {
        let came = self.take().into_iter().find(|came| TO_END.contains(&came.signal));
        let mut asked = self.asked_to_end.borrow_mut();
        if asked.is_none() {
            *asked = came.map(|came| came.signal);
        }
        asked.and_then(|signal| u8::try_from(signal).ok())
    }

    /// Waits for a signal, or until `and` can be read, for so many milliseconds at the most.
    pub(crate) fn wait(&self, and: Option<&rustix::fd::OwnedFd>, ms: u64) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let delivery = self.delivery.borrow();
        let mut wanted = vec![PollFd::new(delivery.get_read(), PollFlags::IN)];
        wanted.extend(and.map(|fd| PollFd::new(fd, PollFlags::IN)));
        let whole = std::time::Duration::from_millis(ms);
        let timeout = Timespec {
            tv_sec: i64::try_from(whole.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: whole.subsec_nanos().into(),
        };
        match poll(&mut wanted, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_in(mask: u64, signal: i32) -> bool {
    let bit = u32::try_from(signal).ok().and_then(|signal| signal.checked_sub(1)).and_then(|n| 1_u64.checked_shl(n));
    bit.is_some_and(|bit| mask & bit != 0)
}

/// One bit for each signal that is ignored, the lowest for signal 1. Where the system does not tell: none.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_bit_is_signal_one() {
        assert!(is_in(0b1, 1) && is_in(0b10, 2) && is_in(1 << 63, 64));
        assert!(!is_in(0b1, 2) && !is_in(u64::MAX, 0) && !is_in(u64::MAX, 65) && !is_in(u64::MAX, -1));
    }
}
