//! When to renew: a third of the shortest TTL after the last time, and sooner when that failed.
//!
//! Times are milliseconds since the start of the command, by the clock that judges the leases.

use crate::duration::Ttl;

/// The first try after one that failed comes this soon at the latest.
const LATEST_RETRY_MS: i64 = 1000;
/// The share of an interval after which a failed try is repeated for the first time.
const SHARE_OF_INTERVAL: i64 = 8;

/// When the leases of a command are to be renewed.
#[derive(Debug, Clone)]
pub struct Schedule {
    interval_ms: i64,
    retry_ms: i64,
    due: i64,
}

impl Schedule {
    /// For leases of which the shortest lasts so long.
    #[must_use]
    pub fn new(shortest: Ttl) -> Self {
        let interval_ms = shortest.millis_i64().checked_div(3).unwrap_or(1).max(1);
        Self { interval_ms, retry_ms: Self::first_retry(interval_ms), due: interval_ms }
    }

    fn first_retry(interval_ms: i64) -> i64 {
        interval_ms.checked_div(SHARE_OF_INTERVAL).unwrap_or(1).clamp(1, LATEST_RETRY_MS)
    }

    /// When the next renewal is due.
    #[must_use]
    pub fn due(&self) -> i64 {
        self.due
    }

    /// They were renewed.
    pub fn kept(&mut self, now: i64) {
        self.retry_ms = Self::first_retry(self.interval_ms);
        self.due = now.saturating_add(self.interval_ms);
    }

    /// They could not be renewed. Tries again, twice as late each time, but never past half of the time that is left until the first of them ends, in
    /// `ends_in` milliseconds: what works again shortly before that is not to be found out when it is too late. At that moment it is tried, too.
    pub fn failed(&mut self, now: i64, ends_in: Option<i64>) {
        let wait = match ends_in.filter(|left| *left > 0) {
            Some(left) => self.retry_ms.min(left.midpoint(0).max(Self::first_retry(self.interval_ms))).min(left),
            None => self.retry_ms,
        };
        self.due = now.saturating_add(wait);
        self.retry_ms = self.retry_ms.saturating_mul(2).min(self.interval_ms);
    }

    /// The process was stopped: nobody knows for how long.
    pub fn hurry(&mut self, now: i64) {
        self.due = self.due.min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(ms: u64) -> Schedule {
        Schedule::new(Ttl::from_millis(ms).expect("a ttl"))
    }

    #[test]
    fn renewals_come_at_a_third_of_the_ttl_whatever_it_is() {
        for ms in [1, 2, 10, 1000, 3000, 600_000, 315_360_000_000] {
            let mut schedule = schedule(ms);
            let third = i64::try_from(ms / 3).expect("small").max(1);
            assert_eq!(schedule.due(), third, "{ms}");
            schedule.kept(1_000_000);
            assert_eq!(schedule.due(), 1_000_000 + third, "{ms}");
        }
    }

    #[test]
    fn what_failed_is_tried_again_several_times_before_the_lease_ends() {
        for ms in [300, 5000, 300_000, 3_600_000] {
            let mut schedule = schedule(ms);
            let (end, mut tries) = (i64::try_from(ms).expect("small"), 0);
            while schedule.due() < end {
                let now = schedule.due();
                schedule.failed(now, Some(end - now));
                assert!(schedule.due() > now, "{ms}: time goes on");
                tries += 1;
            }
            assert!(tries >= 5, "{ms}: {tries}");
            assert_eq!(schedule.due(), end, "{ms}: and when it ends");
        }
    }

    #[test]
    fn the_last_try_that_can_succeed_comes_shortly_before_the_end() {
        for ms in [5000, 60_000, 300_000, 3_600_000] {
            let mut schedule = schedule(ms);
            let (end, mut last) = (i64::try_from(ms).expect("small"), 0);
            while schedule.due() < end {
                last = schedule.due();
                schedule.failed(last, Some(end - last));
            }
            assert!(end - last <= LATEST_RETRY_MS, "{ms}: {last}");
        }
    }

    #[test]
    fn who_was_stopped_renews_at_once() {
        let mut schedule = schedule(60_000);
        schedule.hurry(5);
        assert_eq!(schedule.due(), 5);
        schedule.kept(6);
        schedule.hurry(30_000);
        assert_eq!(schedule.due(), 20_006, "never later than it is due");
    }
}
