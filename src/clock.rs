//! What time it is: the wall clock for people, the boot-time clock for judging leases.
//!
//! The wall clock can be stepped in either direction, so a lease of this boot is judged by the time since boot,
//! which only moves forward and also counts while the machine is suspended (`Instant` does not, on Linux). Across reboots and
//! hosts only the wall clock is left. This is the one module that asks the system for the time.

use std::{cell::OnceCell, fmt, str::FromStr};

use crate::duration::Ttl;

/// An instant of the wall clock, in whole milliseconds since 1970 (UTC), between the years 0 and 9999 (what RFC 3339 can tell).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 0000-01-01T00:00:00Z.
    const FIRST: i64 = -62_167_219_200_000;
    /// 9999-12-30T00:00:00Z: a day short of the end, for any offset.
    const LAST: i64 = 253_402_128_000_000;

    /// Milliseconds since 1970, brought into the range.
    #[must_use]
    pub fn from_millis(ms: i64) -> Self {
        Self(ms.clamp(Self::FIRST, Self::LAST))
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn millis(self) -> i64 {
        self.0
    }

    /// The instant `ms` milliseconds later (earlier when negative), at the end of the range at the most.
    #[must_use]
    pub fn plus_millis(self, ms: i64) -> Self {
        Self::from_millis(self.0.saturating_add(ms))
    }

    /// The instant one TTL later.
    #[must_use]
    pub fn plus(self, ttl: Ttl) -> Self {
        self.plus_millis(ttl.millis_i64())
    }

    /// Milliseconds from `earlier` to this instant; negative when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// RFC 3339 in UTC with milliseconds: `2026-11-30T13:54:00.123Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => f.write_str("0000-00-00T00:00:00.000Z"),
        }
    }
}

/// Reads RFC 3339; anything finer than a millisecond is cut off.
impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|time| Self::from_millis(time.as_millisecond()))
    }
}

/// A point on the boot-time clock: which boot, and how long after its start, suspended time included.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BootTime {
    /// The kernel's random name of this boot.
    pub id: String,
    /// Milliseconds since the boot.
    pub millis: u64,
}

/// Both clocks, read together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Now {
    /// The wall clock.
    pub wall: Timestamp,
    /// The boot-time clock; `None` where the system does not name its boots.
    pub boot: Option<BootTime>,
}

impl Now {
    /// Milliseconds from `earlier` to this reading, negative when that is later: by the boot-time clock within one boot, which nobody can set;
    /// else by the wall clock.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> i64 {
        match (&self.boot, &earlier.boot) {
            (Some(now), Some(then)) if now.id == then.id => {
                let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
                signed(now.millis).saturating_sub(signed(then.millis))
            }
            _ => self.wall.since(earlier.wall),
        }
    }
}

/// Where the time comes from. Decisions ask it themselves, as late as they can (DESIGN invariant 16).
pub trait Clock {
    /// The time now. Never fails and never goes back on the boot-time clock within one boot.
    fn now(&self) -> Now;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Now {
        (**self).now()
    }
}

/// The system's clocks.
#[derive(Debug, Default)]
pub struct SystemClock {
    boot_id: OnceCell<Option<String>>,
}

impl SystemClock {
    /// A reader of the system's clocks. Nothing is read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one door to the wall clock")]
    fn now(&self) -> Now {
        let wall = Timestamp::from_millis(jiff::Timestamp::now().as_millisecond());
        let boot = self.boot_id.get_or_init(system::boot_id).clone();
        let boot = boot.and_then(|id| system::boot_millis().map(|millis| BootTime { id, millis }));
        Now { wall, boot }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::time::{ClockId, clock_gettime};

    /// A short file of the kernel's, which gives the whole of it at once.
    fn read(path: &str) -> Option<String> {
        use std::io::Read as _;
        let mut text = [0; 256];
        let count = std::fs::File::open(path).and_then(|mut file| file.read(&mut text)).ok()?;
        String::from_utf8(text.get(..count)?.to_vec()).ok()
    }

    pub(super) fn boot_id() -> Option<String> {
        let id = read("/proc/sys/kernel/random/boot_id")?;
        let id = id.trim();
        (1..=64).contains(&id.len()).then(|| id.to_owned())
    }

    pub(super) fn boot_millis() -> Option<u64> {
        let time = clock_gettime(ClockId::Boottime);
        let (seconds, nanos) = (i128::from(time.tv_sec), i128::from(time.tv_nsec));
        let offset = *NAMESPACE_OFFSET_NS.get_or_init(namespace_offset_ns);
        let ns = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?.checked_sub(offset)?;
        u64::try_from(ns.checked_div(1_000_000)?).ok()
    }

    static NAMESPACE_OFFSET_NS: std::sync::OnceLock<i128> = std::sync::OnceLock::new();

    /// In a time namespace the clock is set off against that of the machine, under the same boot id.
    fn namespace_offset_ns() -> i128 {
        let offsets = read("/proc/self/timens_offsets").unwrap_or_default();
        let of_boottime = |line: &str| {
            let mut fields = line.split_whitespace();
            (fields.next()? == "boottime").then_some(())?;
            let (seconds, nanos) = (fields.next()?.parse::<i128>().ok()?, fields.next()?.parse::<i128>().ok()?);
            seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
        };
        offsets.lines().find_map(of_boottime).unwrap_or(0)
    }
}

/// Elsewhere the wall clock rules alone.
#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn boot_id() -> Option<String> {
        None
    }

    pub(super) fn boot_millis() -> Option<u64> {
        None
    }
}

/// A clock that stands still until it is moved, for tests.
#[derive(Debug)]
pub struct ManualClock {
    now: std::cell::RefCell<Now>,
}

impl ManualClock {
    /// A clock at this wall time, 1,000 seconds into a boot called `boot-1`.
    #[must_use]
    pub fn new(wall: Timestamp) -> Self {
        let boot = Some(BootTime { id: "boot-1".to_owned(), millis: 1_000_000 });
        Self { now: std::cell::RefCell::new(Now { wall, boot }) }
    }

    /// Time passes: both clocks move on by `ms` milliseconds.
    pub fn advance(&self, ms: u64) {
        let mut now = self.now.borrow_mut();
        now.wall = now.wall.plus_millis(i64::try_from(ms).unwrap_or(i64::MAX));
        if let Some(boot) = &mut now.boot {
            boot.millis = boot.millis.saturating_add(ms);
        }
    }

    /// Somebody sets the wall clock; no time passes.
    pub fn step_wall(&self, ms: i64) {
        let mut now = self.now.borrow_mut();
        now.wall = now.wall.plus_millis(ms);
    }

    /// The machine starts again, under another boot id; the wall clock does not move.
    pub fn reboot(&self, id: &str) {
        self.now.borrow_mut().boot = Some(BootTime { id: id.to_owned(), millis: 10_000 });
    }

    /// The system stops naming its boots.
    pub fn forget_boot(&self) {
        self.now.borrow_mut().boot = None;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        self.now.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_in_utc_with_milliseconds() {
        let time: Timestamp = "2026-11-30T14:54:00.123456+01:00".parse().expect("valid");
        assert_eq!(time.to_string(), "2026-11-30T13:54:00.123Z");
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn no_arithmetic_on_times_overflows() {
        let end = Timestamp::from_millis(i64::MAX);
        assert_eq!(end.plus_millis(i64::MAX), end);
        assert_eq!(Timestamp::from_millis(i64::MIN).plus_millis(i64::MIN), Timestamp::from_millis(i64::MIN));
        assert!(end.to_string().starts_with("9999-"));
        assert!(end.since(Timestamp::from_millis(i64::MIN)) > 0);
        assert_eq!(end.to_string().parse::<Timestamp>().expect("read back"), end);
    }

    #[test]
    fn the_boot_time_clock_moves_forward_only() {
        let clock = SystemClock::new();
        let first = clock.now();
        let second = clock.now();
        if let (Some(first), Some(second)) = (first.boot, second.boot) {
            assert_eq!(first.id, second.id);
            assert!(first.millis <= second.millis);
        }
    }
}
