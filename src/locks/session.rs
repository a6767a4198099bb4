//! What a hook's memory of an owner means: whether what the owner knows of a file is out of date, and which of its leases have to be renewed.
//!
//! Somebody else can have changed a file only while the owner did not hold it: who holds it all the time, by one grant, has made every change of it, by
//! an edit, a formatter, or a shell. Leases tell that, by their tokens; no clock does. A person whose editor asks nobody is not seen by it while the
//! agent holds the file, which is what the lease says: the file is the agent's.

use super::{Lease, Locks, Renewal, Told};
use crate::{
    clock::Now,
    duration::Ttl,
    owner::Owner,
    record::Token,
    resource::{Resource, ResourceKey},
    store::{Content, Kept, Session, Sight, StoreError},
};

/// So many times in its TTL a lease is renewed while its owner works. What comes between two calls of a hook is then allowed to take two thirds of it.
const RENEWALS_PER_TTL: u64 = 3;

/// What became of a lease that was to be renewed: its resource, the token it had, and how it is kept on; `None`: it is the owner's no longer.
pub type Outcome = (ResourceKey, Token, Option<Kept>);

/// How a lease is to be renewed from now on.
#[must_use]
pub fn kept(lease: &Lease, now: &Now) -> Kept {
    let every_ms = lease.ttl.millis().checked_div(RENEWALS_PER_TTL).unwrap_or(0);
    Kept { token: lease.token, renewed: now.wall, every_ms }
}

/// Whether it is time to renew. A time that lies ahead was written under another clock.
#[must_use]
pub fn is_due(kept: &Kept, now: &Now) -> bool {
    u64::try_from(now.wall.since(kept.renewed)).map_or(true, |since| since >= kept.every_ms)
}

/// Whether what an owner knows of a file is out of date. `still_holds` tells whether it still holds that very grant.
#[must_use]
pub fn is_out_of_date(sight: &Sight, is_now: Content, still_holds: impl FnOnce(Token) -> bool) -> bool {
    let is_same = sight.content == is_now && is_now != Content::Unsettled;
    !is_same && !sight.under.is_some_and(still_holds)
}

impl Locks<'_> {
    /// Whether what an owner knows of a file is out of date.
    ///
    /// # Errors
    /// [`StoreError`] when the store could not tell.
    pub fn is_out_of_date(
        &self,
        owner: &Owner,
        resource: &Resource,
        sight: &Sight,
        is_now: Content,
    ) -> Result<bool, StoreError> {
        // Looked at only when it matters, and then once.
        if !is_out_of_date(sight, is_now, |_| false) {
            return Ok(false);
        }
        let report = self.check(std::slice::from_ref(resource))?;
        let still_holds = |token| report.iter().any(|report| report.lease_of(owner, Some(token)).is_some());
        Ok(is_out_of_date(sight, is_now, still_holds))
    }

    /// Renews what is remembered of an owner's leases, is due, and for which `cap` gives the longest TTL that the policy allows now. Reads and writes
    /// nothing but those. A lease that is another grant by now is left as it is: whoever took it by hand has said for how long.
    ///
    /// # Errors
    /// [`StoreError`]: then none was renewed, and all stay due.
    pub fn renew_due(
        &self,
        session: &Session,
        cap: &dyn Fn(&Resource) -> Option<Ttl>,
        pid: u32,
    ) -> Result<Told<Vec<Outcome>>, StoreError> {
        let now = self.clock.now();
        let due = session.notes().filter_map(|(key, note)| {
            let kept = note.kept.filter(|kept| is_due(kept, &now))?;
            let (resource, cap) = (note.resource.clone(), cap(&note.resource)?);
            Some((key, super::Prolong { resource, ttl: None, cap, token: Some(kept.token) }))
        });
        let (keys, items): (Vec<ResourceKey>, Vec<super::Prolong>) = due.unzip();
        if items.is_empty() {
            return Ok(Told { value: Vec::new(), warnings: Vec::new() });
        }
        let told = self.renew(session.owner(), &items, pid)?;
        let now = self.clock.now();
        let outcomes = keys.into_iter().zip(&items).zip(told.value).filter_map(|((key, item), renewal)| {
            let after = match renewal {
                Renewal::Renewed { lease, .. } => Some(kept(&lease, &now)),
                Renewal::Lost(_) | Renewal::NotOwner(_) => None,
                // It is tried again.
                Renewal::Unknown(_) => return None,
            };
            Some((key, item.token?, after))
        });
        Ok(Told { value: outcomes.collect(), warnings: told.warnings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock as _, ManualClock, Timestamp};

    fn token(number: u64) -> Token {
        Token::new(number).expect("a token")
    }

    #[test]
    fn a_view_is_out_of_date_when_the_file_has_changed_and_was_not_held_meanwhile() {
        let (old, new) = (Content::Hash([1; 16]), Content::Hash([2; 16]));
        let sight = |content, under| Sight { content, under };
        assert!(!is_out_of_date(&sight(old, None), old, |_| false));
        assert!(is_out_of_date(&sight(old, None), new, |_| true), "seen without a lease");
        assert!(is_out_of_date(&sight(old, Some(token(3))), new, |_| false), "that lease has ended");
        assert!(!is_out_of_date(&sight(old, Some(token(3))), new, |held| held == token(3)), "its own doing");
        assert!(is_out_of_date(&sight(old, None), Content::Missing, |_| false));
        assert!(is_out_of_date(&sight(Content::Missing, None), new, |_| false));
        assert!(!is_out_of_date(&sight(Content::Missing, None), Content::Missing, |_| false));
        assert!(is_out_of_date(&sight(Content::Unsettled, None), Content::Unsettled, |_| false), "like nothing");
    }

    #[test]
    fn leases_are_due_after_a_third_of_their_ttl_and_when_the_clock_was_set_back() {
        let clock = ManualClock::new(Timestamp::from_millis(1_000_000));
        let kept = Kept { token: token(1), renewed: clock.now().wall, every_ms: 100 };
        assert!(!is_due(&kept, &clock.now()));
        clock.advance(99);
        assert!(!is_due(&kept, &clock.now()));
        clock.advance(1);
        assert!(is_due(&kept, &clock.now()));
        let ahead = Kept { renewed: clock.now().wall.plus_millis(1), ..kept };
        assert!(is_due(&ahead, &clock.now()));
    }
}
