//! A sign of life from work that takes longer than a second: on stderr, only on a terminal, and gone when the work is done.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{Builder, JoinHandle},
    time::Duration,
};

/// What is done sooner is done at once.
const SILENT: Duration = Duration::from_secs(1);

/// Told of until this is dropped.
pub(super) struct Progress {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// `name`: of the command that is at work.
    pub(super) fn of(name: &'static str) -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let (done, is_done) = mpsc::channel();
        let tell = move || {
            let mut seconds = 0_u64;
            let mut shown = String::new();
            while is_done.recv_timeout(SILENT) == Err(RecvTimeoutError::Timeout) {
                seconds = seconds.saturating_add(1);
                shown = format!("\rgit agentlock {name}: at work for {seconds} s");
                let _ = io::stderr().write_all(shown.as_bytes());
            }
            if !shown.is_empty() {
                let blank = " ".repeat(shown.len());
                let _ = io::stderr().write_all(format!("\r{blank}\r").as_bytes());
            }
        };
        // Without a thread it is done in silence.
        let thread = Builder::new().spawn(tell).ok()?;
        Some(Self { done: Some(done), thread: Some(thread) })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
