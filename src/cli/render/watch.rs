//! What is said while a command runs: on stderr, where the command talks too, so every line says that it is ours.

use git_agentlock::run::{Ending, HowLost, Notice};

use super::human;
use crate::cli::{
    args::Global,
    failure::Failure,
    output::{Beside, say_beside},
};

/// Says what has become of the leases of a command.
pub(crate) fn tell(global: &Global, notice: Notice) {
    let mut hints = Vec::new();
    let mut cause = |error| {
        let failure = Failure::from(error);
        hints = failure.hints;
        failure.message
    };
    let (kind, text) = match notice {
        Notice::Recovered => (Beside::Note, "the leases are renewed again".to_owned()),
        Notice::Trouble { error, lasts_ms } => {
            let lasts = match lasts_ms {
                1.. => format!("they last for another {}; trying again", human::length(lasts_ms)),
                _ => "the first of them has ended".to_owned(),
            };
            (Beside::Warning, format!("the leases cannot be renewed: {}; {lasts}", cause(error)))
        }
        Notice::NotGivenBack { resource, error } => {
            (Beside::Warning, format!("{resource} could not be given back, and ends by itself: {}", cause(error)))
        }
        Notice::Unreadable(holder) => {
            (Beside::Warning, format!("a lease cannot be renewed: {}", human::held_by(&holder)))
        }
        Notice::Beside(text) => (Beside::Warning, text),
        Notice::TakenBack(lease) => (
            Beside::Warning,
            format!(
                "{}: the lease had expired; nobody else has had it since, and it is yours again until {} with token {}",
                lease.resource,
                human::moment(lease.expires_at),
                lease.token
            ),
        ),
        Notice::Lost { resource, how } => (Beside::Warning, format!("the lease on {resource} is lost: {}", lost(&how))),
        Notice::EndsIn { ms } => (Beside::Warning, format!("the command is asked to end in {}", human::length(ms))),
        Notice::Ending(Ending::Ask) => (Beside::Warning, "asking the command to end (SIGTERM)".to_owned()),
        Notice::Ending(Ending::Kill) => (Beside::Warning, "killing the command (SIGKILL)".to_owned()),
        Notice::ExpiredBeforeTheEnd(lease) => (
            Beside::Warning,
            format!(
                "{}: the lease had expired {} before the command ended; nobody else has had it since",
                lease.resource,
                human::length(lease.remaining_ms)
            ),
        ),
    };
    say_beside(global, kind, &text);
    for hint in hints {
        say_beside(global, Beside::Hint, &hint);
    }
}

fn lost(how: &HowLost) -> String {
    match how {
        HowLost::Told(loss) => human::lost(loss),
        HowLost::Held(holder) => human::held_by(holder),
        HowLost::HadByOthers => "it had expired, and somebody else has had it since".to_owned(),
        HowLost::CannotTell => {
            "its time was up while it could not be renewed; who has it now cannot be told".to_owned()
        }
    }
}
