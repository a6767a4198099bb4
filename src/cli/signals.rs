//! Signals as a value to be asked for: who waits looks at it between two looks at the locks.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// From now on the signals that ask a program to end only leave a note.
pub(crate) struct Signals {
    caught: Arc<AtomicUsize>,
}

impl Signals {
    pub(crate) fn catch() -> Self {
        let caught = Arc::new(AtomicUsize::new(0));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, hang_up()] {
            if let Ok(number) = usize::try_from(signal) {
                let _ = signal_hook::flag::register_usize(signal, Arc::clone(&caught), number);
            }
        }
        Self { caught }
    }

    /// The number of the last signal that came.
    pub(crate) fn caught(&self) -> Option<u8> {
        u8::try_from(self.caught.load(Ordering::Relaxed)).ok().filter(|number| *number != 0)
    }
}

#[cfg(unix)]
fn hang_up() -> i32 {
    signal_hook::consts::SIGHUP
}

#[cfg(not(unix))]
fn hang_up() -> i32 {
    signal_hook::consts::SIGTERM
}
