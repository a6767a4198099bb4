//! Durations as people write them, and the validated time-to-live.
//!
//! One parser serves the command line and the policy file, so `90s`, `5m`, `1h 30m`, `1d` and plain
//! seconds mean the same in both. Everything is whole milliseconds from here on: that is the
//! resolution of the record, and integers cannot be NaN.

use std::{fmt, num::NonZeroU64};

use jiff::{SpanRelativeTo, fmt::friendly::SpanParser};

/// No duration anywhere is longer than this (ten years of 365 days, in milliseconds). With it, sums of a
/// time and a duration stay far inside an `i64`.
pub const LONGEST_MS: u64 = 10 * 365 * 24 * 3600 * 1000;

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Nothing was given.
    #[error("an empty text is no duration")]
    Empty,
    /// The text does not follow the grammar.
    #[error("'{0}' is no duration")]
    Syntax(String),
    /// Durations count forward.
    #[error("'{0}' is negative or relative; a duration counts forward")]
    Negative(String),
    /// More than [`LONGEST_MS`].
    #[error("'{0}' is too long; the longest duration is ten years (3650d)")]
    TooLong(String),
}

/// Reads a duration: `500ms`, `90s`, `5m`, `1h 30m`, `1d`, or plain seconds (`90`, `0.5`).
///
/// Returns whole milliseconds, rounded down. A day has 24 hours. A blank may stand between two units, not inside
/// one and not at the ends.
///
/// # Errors
/// [`DurationError`] says what is wrong with the text; it never panics, whatever the text.
pub fn parse_millis(text: &str) -> Result<u64, DurationError> {
    let shown = || crate::text::escape(text.as_bytes());
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    if text.len() > 64 || !text.is_ascii() || text.trim() != text {
        return Err(DurationError::Syntax(shown()));
    }
    if text.starts_with(['-', '+']) || text.ends_with("ago") {
        return Err(DurationError::Negative(shown()));
    }
    let milliseconds = if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        plain_seconds(text).ok_or_else(|| DurationError::Syntax(shown()))?
    } else {
        with_units(text).ok_or_else(|| DurationError::Syntax(shown()))?
    };
    match u64::try_from(milliseconds) {
        Ok(ms) if ms <= LONGEST_MS => Ok(ms),
        _ => Err(DurationError::TooLong(shown())),
    }
}

/// `90` and `0.5`. Integers only, so that a long row of digits is "too long" and never loses precision.
fn plain_seconds(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    // 64 characters at the most (checked above), of which 38 fit an i128: what is longer saturates.
    let whole = whole.parse::<i128>().unwrap_or(i128::MAX);
    let mut thousandths = 0_i128;
    for place in 0..3 {
        let digit = fraction.as_bytes().get(place).map_or(0, |b| b.saturating_sub(b'0'));
        thousandths = thousandths.saturating_mul(10).saturating_add(digit.into());
    }
    Some(whole.saturating_mul(1000).saturating_add(thousandths))
}

/// The grammar of jiff's "friendly" format without signs and without blanks between number and unit; also without
/// calendar units, whose length depends on the date. An `Err` of the size of the number is "too long", not "syntax".
fn with_units(text: &str) -> Option<i128> {
    let bytes = text.as_bytes();
    let blank_inside_a_unit =
        bytes.windows(3).any(|w| matches!(w, [a, b' ', c] if a.is_ascii_digit() && c.is_ascii_alphabetic()));
    let units_ok = text
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|unit| !unit.is_empty())
        .all(|unit| UNITS.contains(&unit));
    if blank_inside_a_unit || !units_ok || !bytes.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    match SpanParser::new().parse_span(text) {
        Ok(span) => {
            let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
            Some(duration.as_millis())
        }
        // The words were right, so only a number was out of what jiff represents, or the order was wrong.
        Err(_) if number_and_unit(text) => Some(i128::MAX),
        Err(_) => None,
    }
}

/// Every unit a person may write. Months and years are not here: they have no fixed length.
const UNITS: &[&str] = &[
    "ms",
    "msec",
    "msecs",
    "millis",
    "millisecond",
    "milliseconds",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "m",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hr",
    "hrs",
    "hour",
    "hours",
    "d",
    "day",
    "days",
    "w",
    "wk",
    "wks",
    "week",
    "weeks",
    "us",
    "usec",
    "usecs",
    "micros",
    "microsecond",
    "microseconds",
    "ns",
    "nsec",
    "nsecs",
    "nanos",
    "nanosecond",
    "nanoseconds",
];

fn number_and_unit(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(digits..).is_some_and(|unit| UNITS.contains(&unit))
}

/// Shows milliseconds the way they are written in a policy file: `5m`, `1h 30m`, `500ms`. The output is read
/// back by [`parse_millis`] to the same number.
#[must_use]
pub fn show_millis(ms: u64) -> String {
    if ms == 0 {
        return "0s".to_owned();
    }
    let mut rest = ms;
    let mut parts = Vec::new();
    for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] {
        let count = rest.checked_div(size).unwrap_or(0);
        rest = rest.checked_rem(size).unwrap_or(0);
        if count > 0 {
            parts.push(format!("{count}{unit}"));
        }
    }
    parts.join(" ")
}

/// How long a lease lasts, in whole milliseconds: at least one, at most [`LONGEST_MS`]. The bounds that
/// a repository wants (`ttl.min`, `ttl.max`) are the policy's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl(NonZeroU64);

impl Ttl {
    /// A time-to-live of `ms` milliseconds; `None` when that is zero or more than [`LONGEST_MS`].
    #[must_use]
    pub fn from_millis(ms: u64) -> Option<Self> {
        NonZeroU64::new(ms).filter(|ms| ms.get() <= LONGEST_MS).map(Self)
    }

    /// Milliseconds.
    #[must_use]
    pub fn millis(self) -> u64 {
        self.0.get()
    }

    /// Milliseconds, signed, for sums with a time. Exact: the value is at most [`LONGEST_MS`].
    #[must_use]
    pub fn millis_i64(self) -> i64 {
        i64::try_from(self.0.get()).unwrap_or(i64::MAX)
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show_millis(self.millis()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_durations_in_many_ways() {
        for (text, ms) in [
            ("500ms", 500),
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h 30m", 5_400_000),
            ("1h30m", 5_400_000),
            ("1d", 86_400_000),
            ("300", 300_000),
            ("0.5", 500),
            ("2 ", 0),
            ("1.5h", 5_400_000),
            ("0", 0),
            ("0s", 0),
            ("1ns", 0),
            ("5min", 300_000),
            ("2 weeks", 0),
            ("2weeks", 1_209_600_000),
        ] {
            if ms == 0 && text.contains(' ') {
                assert!(matches!(parse_millis(text), Err(DurationError::Syntax(_))), "{text:?}");
            } else {
                assert_eq!(parse_millis(text), Ok(ms), "{text:?}");
            }
        }
    }

    #[test]
    fn nothing_negative_or_relative_or_endless_is_a_duration() {
        use DurationError::{Empty, Negative, Syntax, TooLong};
        type Kind = fn(&DurationError) -> bool;
        let syntax: Kind = |e| matches!(e, Syntax(_));
        let long: Kind = |e| matches!(e, TooLong(_));
        let negative: Kind = |e| matches!(e, Negative(_));
        let empty: Kind = |e| matches!(e, Empty);
        for (text, kind) in [
            ("", empty),
            ("-1", negative),
            ("+5m", negative),
            ("5m ago", negative),
            ("1e309", syntax),
            ("NaN", syntax),
            ("5 m", syntax),
            ("5m30", syntax),
            ("5m ", syntax),
            (" 5m", syntax),
            ("P1D", syntax),
            ("1y", syntax),
            ("1M", syntax),
            ("584542046090y", syntax),
            ("1.2.3", syntax),
            (".", syntax),
            ("5m\0", syntax),
            ("५m", syntax),
            ("99999999999999", long),
            ("99999999999999999999999999999999999999999999999999999999999999", long),
            ("99999999999999h", long),
            ("18446744073709551615s", long),
            ("3651d", long),
        ] {
            let error = parse_millis(text).expect_err(text);
            assert!(kind(&error), "{text:?} gave {error:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_is_read_back(ms in 0..=LONGEST_MS) {
            proptest::prop_assert_eq!(parse_millis(&show_millis(ms)), Ok(ms));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse_millis(&text);
        }
    }
}
