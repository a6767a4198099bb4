//! From a TOML value to what a key takes.

use std::path::{Path, PathBuf};

use toml::de::{DeInteger, DeValue};

use super::{
    choice::Choice,
    error::{PolicyCause, shown},
    keys,
};
use crate::duration::{DurationError, Ttl, parse_millis};

const DURATION: &str = "a duration (\"5m\", \"1h 30m\", or a whole number of seconds)";

/// Why a value is refused, without the key, which the caller knows.
pub(super) enum Refused {
    Type { expected: String, found: &'static str },
    Choice { found: String, nearest: Option<&'static str>, known: Vec<&'static str> },
    Why(String),
}

impl Refused {
    /// The value is not `expected`.
    pub(super) fn kind(expected: impl Into<String>, found: &DeValue<'_>) -> Self {
        Self::Type { expected: expected.into(), found: kind_of(found) }
    }

    /// The cause, with the full name of the key.
    pub(super) fn of(self, key: String) -> PolicyCause {
        match self {
            Self::Type { expected, found } => PolicyCause::WrongType { key, expected, found },
            Self::Choice { found, nearest, known } => PolicyCause::NotAChoice { key, found, nearest, known },
            Self::Why(why) => PolicyCause::Value { key, why },
        }
    }
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// A duration in milliseconds, 0 or more.
pub(super) fn millis(value: &DeValue<'_>) -> Result<u64, Refused> {
    let parsed = match value {
        DeValue::String(text) => parse_millis(text),
        DeValue::Integer(number) => seconds(number),
        _ => return Err(Refused::kind(DURATION, value)),
    };
    parsed.map_err(|error| Refused::Why(error.to_string()))
}

fn seconds(number: &DeInteger<'_>) -> Result<u64, DurationError> {
    let digits = number.as_str();
    let text = || shown(digits);
    match u128::from_str_radix(digits.strip_prefix('+').unwrap_or(digits), number.radix()) {
        Ok(seconds) => parse_millis(&seconds.to_string()),
        Err(_) if digits.starts_with('-') => Err(DurationError::Negative(text())),
        Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => Err(DurationError::TooLong(text())),
        // The TOML parser lets `0x` pass.
        Err(_) => Err(DurationError::Syntax(text())),
    }
}

/// A duration that a lease can have.
pub(super) fn ttl(value: &DeValue<'_>) -> Result<Ttl, Refused> {
    let zero = || Refused::Why("a lease lasts longer than 0".to_owned());
    Ttl::from_millis(millis(value)?).ok_or_else(zero)
}

/// `true` or `false`.
pub(super) fn boolean(value: &DeValue<'_>) -> Result<bool, Refused> {
    value.as_bool().ok_or_else(|| Refused::kind("true or false", value))
}

/// One of the words of `C`.
pub(super) fn choice<C: Choice>(value: &DeValue<'_>) -> Result<C, Refused> {
    let words = || C::WORDS.iter().map(|(word, _)| *word);
    let text = value.as_str().ok_or_else(|| {
        let words: Vec<String> = words().map(|word| format!("\"{word}\"")).collect();
        Refused::kind(words.join(" or "), value)
    })?;
    C::from_word(text).ok_or_else(|| Refused::Choice {
        found: shown(text),
        nearest: keys::nearest(text, words()),
        known: words().collect(),
    })
}

/// An absolute path.
pub(super) fn dir(value: &DeValue<'_>) -> Result<PathBuf, Refused> {
    let text = value.as_str().ok_or_else(|| Refused::kind("an absolute path in a string", value))?;
    if !Path::new(text).is_absolute() {
        let why = "is no absolute path; all who share the repository must mean one directory, wherever they are";
        return Err(Refused::Why(format!("'{}' {why}", shown(text))));
    }
    if text.contains('\0') {
        return Err(Refused::Why("a path cannot contain a NUL byte".to_owned()));
    }
    Ok(text.into())
}

/// A label of 1 to 255 bytes without control characters.
pub(super) fn project(value: &DeValue<'_>) -> Result<String, Refused> {
    let text = value.as_str().ok_or_else(|| Refused::kind("a string", value))?;
    if !(1..=255).contains(&text.len()) {
        return Err(Refused::Why(format!("a project has 1 to 255 bytes, this one has {}", text.len())));
    }
    if text.chars().any(char::is_control) {
        return Err(Refused::Why("a project cannot contain control characters".to_owned()));
    }
    Ok(text.to_owned())
}
