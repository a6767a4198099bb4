//! What a record means at a given time. Pure: no clock, no disk.
//!
//! A lease of this boot is judged by the boot-time clock, every other by the wall clock. A lease holds while
//! `now < expires`; at that very millisecond it has expired.

use super::{Holder, Lease, State};
use crate::{
    clock::{BootTime, Now, Timestamp},
    duration::Ttl,
    owner::Owner,
    record::{BootDeadline, End, Ended, Record},
    resource::{Resource, ResourceKey},
    store::{Seen, Unreadable, View},
};

/// Shown times follow the recorded ones while the clocks agree to within this many milliseconds.
const CLOCK_NOISE_MS: i64 = 1000;

/// What is left of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It holds for so many more milliseconds (at least one).
    Live {
        /// Milliseconds left.
        remaining_ms: i64,
        /// It ends later than one TTL from now, which cannot be: it was written under another clock.
        from_future: bool,
    },
    /// Its time was up so many milliseconds ago (zero: this very millisecond).
    Expired {
        /// Milliseconds ago.
        since_ms: i64,
    },
    /// It was released or broken.
    Ended,
}

/// How a record stands now.
#[must_use]
pub fn standing(record: &Record, now: &Now) -> Standing {
    match &record.ended {
        Some(Ended { how: End::Expired, at }) => return Standing::Expired { since_ms: now.wall.since(*at).max(0) },
        Some(_) => return Standing::Ended,
        None => {}
    }
    let left = left_ms(record.boot.as_ref(), record.expires_at, now);
    if left <= 0 {
        return Standing::Expired { since_ms: left.saturating_neg() };
    }
    Standing::Live { remaining_ms: left, from_future: left > record.ttl.millis_i64() }
}

/// Whether a lease holds now.
#[must_use]
pub fn is_live(record: &Record, now: &Now) -> bool {
    matches!(standing(record, now), Standing::Live { .. })
}

/// Milliseconds until the end, by the clock that rules over it; not positive when it is over.
pub(super) fn left_ms(deadline: Option<&BootDeadline>, expires_at: Timestamp, now: &Now) -> i64 {
    left_of_this_boot(deadline, now).unwrap_or_else(|| expires_at.since(now.wall))
}

fn left_of_this_boot(deadline: Option<&BootDeadline>, now: &Now) -> Option<i64> {
    let (deadline, boot) = deadline.zip(now.boot.as_ref())?;
    if deadline.id != boot.id {
        return None;
    }
    let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    Some(signed(deadline.deadline_ms).saturating_sub(signed(boot.millis)))
}

/// The boot-time deadline of a lease that ends `left_ms` from now.
#[must_use]
pub fn boot_deadline(now: &Now, left_ms: i64) -> Option<BootDeadline> {
    let at = |boot: &BootTime| boot.millis.saturating_add(u64::try_from(left_ms).unwrap_or(0));
    now.boot.as_ref().map(|boot| BootDeadline { id: boot.id.clone(), deadline_ms: at(boot) })
}

/// Makes a record end one TTL from now, or leaves its end when that is later: a lease is never shortened.
pub fn prolong(record: &mut Record, now: &Now, ttl: Ttl) {
    record.renewed_at = now.wall;
    match standing(record, now) {
        Standing::Live { remaining_ms, from_future: false } if remaining_ms >= ttl.millis_i64() => {
            // The end stays; from now on the clock of this boot watches over it.
            if left_of_this_boot(record.boot.as_ref(), now).is_none() {
                record.boot = boot_deadline(now, remaining_ms);
            }
        }
        _ => {
            record.ttl = ttl;
            set_end(record, now, ttl.millis_i64());
        }
    }
}

/// Brings a record from the future back to one of its own TTLs from now.
pub fn reanchor(record: &mut Record, now: &Now) {
    set_end(record, now, record.ttl.millis_i64());
    record.renewed_at = now.wall;
    record.acquired_at = record.acquired_at.min(now.wall);
}

fn set_end(record: &mut Record, now: &Now, left_ms: i64) {
    record.expires_at = now.wall.plus_millis(left_ms);
    record.boot = boot_deadline(now, left_ms);
}

/// A record as a lease with times to be shown.
#[must_use]
pub fn shown(record: &Record, now: &Now) -> Lease {
    as_lease(record.clone(), now)
}

/// The same, of a record that is of no more use.
#[must_use]
pub fn as_lease(record: Record, now: &Now) -> Lease {
    let standing = standing(&record, now);
    let (state, remaining_ms) = match standing {
        Standing::Live { remaining_ms, .. } => (State::Live, remaining_ms),
        Standing::Expired { since_ms } => (State::Expired, since_ms.saturating_neg()),
        Standing::Ended => (State::Ended, record.expires_at.since(now.wall).min(0)),
    };
    // The wall clock may have been stepped since the lease was written: then every time of it is off by as much.
    let drift = now.wall.plus_millis(remaining_ms).since(record.expires_at);
    let drift = if state == State::Live && drift.saturating_abs() > CLOCK_NOISE_MS { drift } else { 0 };
    Lease {
        resource: record.resource,
        owner: record.owner,
        token: record.token,
        state,
        acquired_at: record.acquired_at.plus_millis(drift),
        renewed_at: record.renewed_at.plus_millis(drift),
        expires_at: record.expires_at.plus_millis(drift),
        remaining_ms,
        boot_deadline: record.boot,
        ttl: record.ttl,
        reason: record.reason,
        replaced: record.replaced,
        ended: record.ended,
        host: record.host,
        pid: record.pid,
    }
}

/// Until when a record that cannot be read counts as held: its file time plus the longest TTL that anybody may have taken.
/// `None`: its file time is not known, so there is no end.
#[must_use]
pub fn held_until(unreadable: &Unreadable, longest_ttl: Ttl) -> Option<Timestamp> {
    unreadable.changed_at.map(|changed| changed.plus(longest_ttl))
}

/// Whether a record that cannot be read still counts as held.
#[must_use]
pub fn is_held(unreadable: &Unreadable, now: &Now, longest_ttl: Ttl) -> bool {
    held_until(unreadable, longest_ttl).is_none_or(|until| now.wall < until)
}

/// Whoever holds what stands at a key, if anybody does.
#[must_use]
pub fn holder(seen: &Seen, now: &Now, longest_ttl: Ttl) -> Option<Holder> {
    match seen {
        Seen::Record(record) => is_live(record, now).then(|| Holder::Lease(Box::new(shown(record, now)))),
        Seen::Unreadable(unreadable) => {
            let until = held_until(unreadable, longest_ttl);
            is_held(unreadable, now, longest_ttl).then(|| Holder::Unknown { record: unreadable.clone(), until })
        }
    }
}

/// The record at a key, when it can be read.
#[must_use]
pub fn record_at(view: &View, key: ResourceKey) -> Option<&Record> {
    match view.get(key)? {
        Seen::Record(record) => Some(record),
        Seen::Unreadable(_) => None,
    }
}

/// What of a view overlaps a resource, or cannot be told not to: each key once. Looks up the resource's own key and those above it; only an area makes it go
/// through the whole view.
#[must_use]
pub fn overlapping<'v>(view: &'v View, resource: &Resource) -> Vec<(ResourceKey, &'v Seen)> {
    let own = resource.key();
    let mut found: Vec<(ResourceKey, &Seen)> = view.get(own).map(|seen| (own, seen)).into_iter().collect();
    let above = resource.ancestor_keys();
    found.extend(above.iter().filter_map(|key| Some((*key, view.get(*key)?))).filter(|(_, seen)| match seen {
        Seen::Record(record) => record.resource.covers(resource),
        Seen::Unreadable(_) => true,
    }));
    if resource.is_area() {
        found.extend(view.iter().filter(|(key, seen)| match seen {
            Seen::Record(record) => *key != own && record.resource.is_within(resource),
            // It could be a record of anything below.
            Seen::Unreadable(_) => *key != own && !above.contains(key),
        }));
    }
    found
}

/// Every record that can be read.
pub fn records(view: &View) -> impl Iterator<Item = &Record> {
    view.iter().filter_map(|(_, seen)| match seen {
        Seen::Record(record) => Some(record.as_ref()),
        Seen::Unreadable(_) => None,
    })
}

/// Every record that cannot be read and may be a live lease.
pub fn unknown<'v>(view: &'v View, now: &Now, longest_ttl: Ttl) -> impl Iterator<Item = &'v Unreadable> {
    view.iter().filter_map(move |(_, seen)| match seen {
        Seen::Record(_) => None,
        Seen::Unreadable(unreadable) => is_held(unreadable, now, longest_ttl).then_some(unreadable),
    })
}

/// Every live lease of exactly this owner.
pub fn live_of<'v>(view: &'v View, owner: &Owner, now: &Now) -> impl Iterator<Item = &'v Record> {
    records(view).filter(move |record| is_live_of(record, owner, now))
}

/// Whether a record is `owner`'s live lease.
#[must_use]
pub fn is_live_of(record: &Record, owner: &Owner, now: &Now) -> bool {
    record.owner == *owner && is_live(record, now)
}

/// Whether a record has been expired or ended for longer than `keep_ms` milliseconds.
#[must_use]
pub fn is_forgotten(record: &Record, now: &Now, keep_ms: u64) -> bool {
    let keep_ms = i64::try_from(keep_ms).unwrap_or(i64::MAX);
    match standing(record, now) {
        Standing::Live { .. } => false,
        Standing::Expired { since_ms } => since_ms > keep_ms,
        Standing::Ended => record.ended.as_ref().is_none_or(|ended| now.wall.since(ended.at) > keep_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::{Clock as _, ManualClock},
        record::Token,
        resource::{RepoPath, Scope, Target},
    };

    const TTL_MS: u64 = 60_000;

    fn noon() -> Timestamp {
        "2026-11-30T12:00:00Z".parse().expect("a time")
    }

    fn granted(clock: &ManualClock) -> Record {
        let now = clock.now();
        let ttl = Ttl::from_millis(TTL_MS).expect("a ttl");
        let path = RepoPath::new("a").expect("a path");
        let mut record = Record {
            resource: Resource { scope: Scope::implicit(), target: Target::File(path) },
            owner: Owner::new("A").expect("an owner"),
            reason: None,
            token: Token::new(1).expect("a token"),
            acquired_at: now.wall,
            renewed_at: now.wall,
            expires_at: now.wall,
            ttl,
            boot: None,
            replaced: None,
            ended: None,
            host: String::new(),
            pid: 1,
        };
        prolong(&mut record, &now, ttl);
        record
    }

    #[test]
    fn a_lease_holds_until_the_millisecond_of_its_expiry() {
        let clock = ManualClock::new(noon());
        let record = granted(&clock);
        clock.advance(TTL_MS - 1);
        assert_eq!(standing(&record, &clock.now()), Standing::Live { remaining_ms: 1, from_future: false });
        clock.advance(1);
        assert_eq!(standing(&record, &clock.now()), Standing::Expired { since_ms: 0 });
    }

    #[test]
    fn a_step_of_the_wall_clock_neither_ends_nor_prolongs_a_lease_of_this_boot() {
        for step in [-86_400_000, 86_400_000, i64::MAX, i64::MIN] {
            let clock = ManualClock::new(noon());
            let record = granted(&clock);
            clock.step_wall(step);
            clock.advance(TTL_MS - 1);
            assert!(is_live(&record, &clock.now()), "stepped by {step}");
            clock.advance(1);
            assert!(!is_live(&record, &clock.now()), "stepped by {step}");
        }
    }

    #[test]
    fn across_reboots_the_wall_clock_rules() {
        let clock = ManualClock::new(noon());
        let record = granted(&clock);
        clock.reboot("boot-2");
        assert_eq!(
            standing(&record, &clock.now()),
            Standing::Live { remaining_ms: 60_000, from_future: false },
            "a restart does not end a lease"
        );
        clock.step_wall(60_000);
        assert_eq!(standing(&record, &clock.now()), Standing::Expired { since_ms: 0 });
    }

    #[test]
    fn a_record_from_the_future_holds_and_can_be_brought_back() {
        let clock = ManualClock::new(noon());
        let mut record = granted(&clock);
        clock.reboot("boot-2");
        clock.step_wall(-1);
        assert_eq!(standing(&record, &clock.now()), Standing::Live { remaining_ms: 60_001, from_future: true });
        clock.step_wall(-86_400_000);
        reanchor(&mut record, &clock.now());
        assert_eq!(standing(&record, &clock.now()), Standing::Live { remaining_ms: 60_000, from_future: false });
        clock.advance(60_000);
        assert!(!is_live(&record, &clock.now()));
    }

    #[test]
    fn a_hostile_boot_deadline_is_from_the_future_not_for_ever() {
        let clock = ManualClock::new(noon());
        let mut record = granted(&clock);
        if let Some(boot) = &mut record.boot {
            boot.deadline_ms = u64::MAX;
        }
        assert!(matches!(standing(&record, &clock.now()), Standing::Live { from_future: true, .. }));
        let _ = shown(&record, &clock.now()).expires_at.to_string();
    }

    #[test]
    fn prolonging_never_shortens() {
        let clock = ManualClock::new(noon());
        let mut record = granted(&clock);
        clock.advance(10_000);
        prolong(&mut record, &clock.now(), Ttl::from_millis(5_000).expect("a ttl"));
        assert_eq!(
            standing(&record, &clock.now()),
            Standing::Live { remaining_ms: 50_000, from_future: false },
            "the later end stays, and still counts as one that could have been granted"
        );
        assert_eq!(record.renewed_at, clock.now().wall);
    }

    #[test]
    fn a_renewal_after_a_restart_is_watched_over_by_the_new_boot() {
        let clock = ManualClock::new(noon());
        let mut record = granted(&clock);
        clock.reboot("boot-2");
        prolong(&mut record, &clock.now(), Ttl::from_millis(1).expect("a ttl"));
        clock.step_wall(86_400_000);
        assert_eq!(standing(&record, &clock.now()), Standing::Live { remaining_ms: 60_000, from_future: false });
    }

    #[test]
    fn shown_times_of_a_live_lease_follow_the_remaining_time() {
        let clock = ManualClock::new(noon());
        let record = granted(&clock);
        assert_eq!(shown(&record, &clock.now()).expires_at, record.expires_at);
        clock.step_wall(3_600_000);
        let lease = shown(&record, &clock.now());
        assert_eq!(lease.expires_at, clock.now().wall.plus_millis(60_000));
        assert_eq!(lease.acquired_at, clock.now().wall);
    }

    #[test]
    fn what_cannot_be_read_is_held_for_the_longest_ttl_after_its_file_time() {
        let clock = ManualClock::new(noon());
        let longest = Ttl::from_millis(3_600_000).expect("a ttl");
        let at = |changed_at| Seen::Unreadable(Unreadable { place: "x".into(), cause: "y".into(), changed_at });
        let held = |seen: &Seen| holder(seen, &clock.now(), longest).is_some();
        assert!(held(&at(Some(noon().plus_millis(-3_599_999)))));
        assert!(!held(&at(Some(noon().plus_millis(-3_600_000)))));
        assert!(held(&at(None)), "without a file time there is no end");
    }

    #[test]
    fn expired_and_ended_records_are_kept_for_a_while() {
        let clock = ManualClock::new(noon());
        let mut record = granted(&clock);
        clock.advance(TTL_MS);
        assert!(!is_forgotten(&record, &clock.now(), 1000));
        clock.advance(1000);
        assert!(!is_forgotten(&record, &clock.now(), 1000));
        clock.advance(1);
        assert!(is_forgotten(&record, &clock.now(), 1000));
        record.ended = Some(Ended { at: clock.now().wall, how: End::Released });
        assert!(!is_forgotten(&record, &clock.now(), 1000));
    }
}
