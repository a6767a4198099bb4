//! What is done to a command whose lease is lost: nothing, or the end of it, asked for first.
//!
//! Times are milliseconds since the start of the command.

/// What a lost lease means for the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLost {
    /// It is told on stderr, and the command goes on.
    Warn,
    /// After a grace the command is asked to end, after another one it is killed.
    Term,
    /// The command is killed at once.
    Kill,
}

/// How a command is made to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// `SIGTERM`: it may clean up.
    Ask,
    /// `SIGKILL`.
    Kill,
}

/// What is still to be done to the command.
#[derive(Debug, Clone)]
pub struct Escalation {
    on_lost: OnLost,
    grace_ms: i64,
    has_begun: bool,
    next: Option<(i64, Ending)>,
}

impl Escalation {
    /// With so many milliseconds between the warning and `SIGTERM`, and between that and `SIGKILL`.
    #[must_use]
    pub fn new(on_lost: OnLost, grace_ms: i64) -> Self {
        Self { on_lost, grace_ms, has_begun: false, next: None }
    }

    /// A lease is lost. Only the first loss counts: `false` for any other.
    pub fn lost(&mut self, now: i64) -> bool {
        if self.has_begun {
            return false;
        }
        self.has_begun = true;
        self.next = match self.on_lost {
            OnLost::Warn => None,
            OnLost::Term => Some((now.saturating_add(self.grace_ms), Ending::Ask)),
            OnLost::Kill => Some((now, Ending::Kill)),
        };
        true
    }

    /// When something is to be done.
    #[must_use]
    pub fn due(&self) -> Option<i64> {
        self.next.map(|(due, _)| due)
    }

    /// What is to be done now.
    pub fn take(&mut self, now: i64) -> Option<Ending> {
        let (_, ending) = self.next.filter(|(due, _)| *due <= now)?;
        self.next = match ending {
            Ending::Ask => Some((now.saturating_add(self.grace_ms), Ending::Kill)),
            Ending::Kill => None,
        };
        Some(ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_all_or_the_end_comes_in_steps() {
        let mut warn = Escalation::new(OnLost::Warn, 100);
        warn.lost(5);
        assert_eq!((warn.due(), warn.take(i64::MAX)), (None, None));

        let mut term = Escalation::new(OnLost::Term, 100);
        assert_eq!(term.take(i64::MAX), None, "nothing is lost");
        term.lost(5);
        term.lost(90);
        assert_eq!((term.due(), term.take(104)), (Some(105), None));
        assert_eq!((term.take(110), term.due()), (Some(Ending::Ask), Some(210)));
        assert_eq!((term.take(110), term.take(210)), (None, Some(Ending::Kill)));
        assert_eq!((term.due(), term.take(i64::MAX)), (None, None));

        let mut kill = Escalation::new(OnLost::Kill, 100);
        kill.lost(5);
        assert_eq!((kill.take(5), kill.take(i64::MAX)), (Some(Ending::Kill), None));
    }
}
