//! Which signals that come to this process are passed on to the command.
//!
//! What a terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z) goes to its whole foreground group, so a command in our group has it already: passed on, it would
//! come twice, and many programs take a second one for impatience. What somebody sends to us alone is meant for the command.

/// The number of `SIGHUP` on every Unix.
const HANG_UP: i32 = 1;
/// How long after a signal of the terminal the same one from the parent counts as passed on by it, in milliseconds.
const SAME_SIGNAL_MS: i64 = 1000;

/// Who sent a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The kernel: a key at the terminal, or the end of the terminal.
    Terminal,
    /// A process.
    Process(i32),
}

/// A signal that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Came {
    /// Its number.
    pub signal: i32,
    /// Who sent it.
    pub from: Sender,
}

/// How this process and the command are related to what is around them at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kin {
    /// Whether the command is in our process group.
    pub in_our_group: bool,
    /// Whether we lead the session of the terminal: then its end is told to us alone.
    pub leads_session: bool,
    /// Our parent.
    pub parent: i32,
}

/// Decides what is passed on.
#[derive(Debug, Clone, Default)]
pub struct Relay {
    /// What the terminal has sent last, and when.
    from_terminal: Option<(i32, i64)>,
}

impl Relay {
    /// Whether a signal is passed on.
    pub fn passes_on(&mut self, came: Came, kin: Kin, now: i64) -> bool {
        match came.from {
            Sender::Terminal => {
                self.from_terminal = Some((came.signal, now));
                !kin.in_our_group || (came.signal == HANG_UP && kin.leads_session)
            }
            // git, called as `git agentlock`, stands between us and the shell, and sends us what the terminal has sent to it.
            Sender::Process(pid) => {
                let is_again =
                    |(signal, at): (i32, i64)| signal == came.signal && now.saturating_sub(at) <= SAME_SIGNAL_MS;
                pid != kin.parent || !self.from_terminal.is_some_and(is_again)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPT: i32 = 2;
    const KIN: Kin = Kin { in_our_group: true, leads_session: false, parent: 7 };

    fn came(signal: i32, from: Sender) -> Came {
        Came { signal, from }
    }

    #[test]
    fn what_the_terminal_sends_the_command_has_already() {
        let mut relay = Relay::default();
        for signal in [INTERRUPT, 3, 20, HANG_UP] {
            assert!(!relay.passes_on(came(signal, Sender::Terminal), KIN, 0), "{signal}");
            let elsewhere = Kin { in_our_group: false, ..KIN };
            assert!(relay.passes_on(came(signal, Sender::Terminal), elsewhere, 0), "{signal}");
        }
    }

    #[test]
    fn the_end_of_the_terminal_is_told_to_the_leader_of_its_session_alone() {
        let leader = Kin { leads_session: true, ..KIN };
        assert!(Relay::default().passes_on(came(HANG_UP, Sender::Terminal), leader, 0));
        assert!(!Relay::default().passes_on(came(INTERRUPT, Sender::Terminal), leader, 0));
    }

    #[test]
    fn what_a_process_sends_is_passed_on_each_time() {
        let mut relay = Relay::default();
        for sender in [7, 8] {
            assert!(relay.passes_on(came(15, Sender::Process(sender)), KIN, 0));
            assert!(relay.passes_on(came(15, Sender::Process(sender)), KIN, 1));
        }
    }

    #[test]
    fn what_git_passes_on_of_the_terminals_is_not_passed_on_again() {
        let mut relay = Relay::default();
        assert!(!relay.passes_on(came(INTERRUPT, Sender::Terminal), KIN, 100));
        assert!(!relay.passes_on(came(INTERRUPT, Sender::Process(7)), KIN, 101));
        assert!(relay.passes_on(came(INTERRUPT, Sender::Process(8)), KIN, 101), "somebody else");
        assert!(relay.passes_on(came(15, Sender::Process(7)), KIN, 101), "another signal");
        assert!(relay.passes_on(came(INTERRUPT, Sender::Process(7)), KIN, 1101), "later");
    }
}
