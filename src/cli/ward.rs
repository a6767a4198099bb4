//! A command that runs in our charge: waited for, with the signals that are meant for it passed on, and stopped and continued together with us.
//!
//! It stays in our process group, so the terminal is its own: keys, job control and the size of the window come to it as if we were not there.
//! Ctrl-Z we leave to the command first (an editor puts the terminal in order before it stops) and stop when it has stopped, for the shell to see.

use std::{io, process::Child};

use git_agentlock::run::{Came, Command, Ending, Kin, Notice, Relay, Sender, Woken};
use nix::unistd::{getpgrp, getppid, getsid};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGTERM, SIGTSTP};

use super::{catcher::Catcher, child};

/// The command in our charge.
pub(crate) struct Ward<'w> {
    process: Child,
    pid: Pid,
    /// Tells of the end too where there is such a thing: `SIGCHLD` may have been blocked by who started us.
    end: Option<rustix::fd::OwnedFd>,
    catcher: &'w Catcher,
    relay: Relay,
    /// Ctrl-Z was pressed, and we have not been continued since.
    told_to_stop: bool,
    clock: &'w dyn Fn() -> i64,
    tell: &'w dyn Fn(Notice),
}

impl<'w> Ward<'w> {
    /// `clock` counts milliseconds.
    pub(crate) fn new(
        process: Child,
        catcher: &'w Catcher,
        clock: &'w dyn Fn() -> i64,
        tell: &'w dyn Fn(Notice),
    ) -> Self {
        let pid = Pid::from_child(&process);
        Self { end: end_of(pid), process, pid, catcher, relay: Relay::default(), told_to_stop: false, clock, tell }
    }

    fn send(&self, signal: i32) {
        // It has not been waited for yet, so the number is still its own.
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = kill_process(self.pid, signal);
        }
    }

    fn kin(&self) -> Kin {
        // All of these are 0 where they are outside of our PID namespace, which rustix' functions take for impossible. A group outside can only be
        // inherited, so two of them are the same.
        let child = nix::unistd::Pid::from_raw(self.pid.as_raw_pid());
        Kin {
            in_our_group: nix::unistd::getpgid(Some(child)) == Ok(getpgrp()),
            leads_session: getsid(None).is_ok_and(|leader| leader == nix::unistd::getpid()),
            parent: getppid().as_raw(),
        }
    }

    /// Passes on what is meant for the command. Whether we were continued.
    fn pass_on(&mut self, came: Vec<Came>) -> bool {
        let mut continued = false;
        for came in came {
            match came.signal {
                SIGCHLD => continue,
                SIGCONT => (continued, self.told_to_stop) = (true, false),
                SIGTSTP if came.from == Sender::Terminal => self.told_to_stop = true,
                _ => {}
            }
            if came.signal != SIGCONT && self.relay.passes_on(came, self.kin(), (self.clock)()) {
                self.send(came.signal);
                // What is stopped would not hear of it.
                if [SIGTERM, SIGHUP].contains(&came.signal) && self.is_stopped() {
                    self.send(SIGCONT);
                }
            }
        }
        continued
    }

    /// Whether the command is stopped. Asked without taking note of it, so that it is true for as long as it is so.
    fn is_stopped(&self) -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid), options).is_ok_and(|status| status.is_some_and(|status| status.stopped()))
    }

    /// Stops with the command when somebody is there who will continue us: the shell whose terminal we are in front of. Whether that has happened.
    fn stop_too(&mut self) -> bool {
        let stops = (self.told_to_stop || is_in_front()) && !self.kin().leads_session;
        if stops {
            let _ = kill_process(getpid(), Signal::STOP);
            // Here we have been continued. What was noted of that is taken now: later it would be taken for an answer to the next Ctrl-Z.
            let came = self.catcher.take();
            self.pass_on(came);
            self.go_on();
        }
        stops
    }

    /// Continues the command with us, unless Ctrl-Z was pressed again.
    fn go_on(&self) {
        if !self.told_to_stop && self.is_stopped() {
            self.send(SIGCONT);
        }
    }
}

impl Command for Ward<'_> {
    type Status = io::Result<u8>;

    fn wait(&mut self, ms: u64) -> Woken<Self::Status> {
        match self.process.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return Woken::Ended(Ok(child::exit_code(status))),
            Err(error) => return Woken::Ended(Err(error)),
        }
        if self.catcher.wait(self.end.as_ref(), ms).is_err() {
            // Not to turn in circles when there is no waiting.
            std::thread::sleep(std::time::Duration::from_millis(ms.min(100)));
        }
        let came = self.catcher.take();
        let continued = self.pass_on(came);
        if continued {
            self.go_on();
        }
        if continued || (self.is_stopped() && self.stop_too()) {
            return Woken::Continued;
        }
        Woken::GoesOn
    }

    fn end(&mut self, how: Ending) {
        let signal = match how {
            Ending::Ask => Signal::TERM,
            Ending::Kill => Signal::KILL,
        };
        let _ = kill_process(self.pid, signal);
        // What is stopped does not hear that it is asked.
        let _ = kill_process(self.pid, Signal::CONT);
    }

    fn tell(&mut self, notice: Notice) {
        (self.tell)(notice);
    }
}

#[cfg(target_os = "linux")]
fn end_of(pid: Pid) -> Option<rustix::fd::OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_of(_: Pid) -> Option<rustix::fd::OwnedFd> {
    None
}

/// Whether our process group is the one that the terminal listens to. Groups outside of our PID namespace cannot be told apart: then it is not.
fn is_in_front() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    nix::unistd::tcgetpgrp(&terminal).is_ok_and(|group| group.as_raw() != 0 && group == getpgrp())
}
