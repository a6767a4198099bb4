//! Values on the command line: durations, tokens, reasons, and what the policy allows of them.

use git_agentlock::{
    duration::{Ttl, parse_millis},
    policy::TtlLimits,
    record::{Reason, Token},
    resource::Resource,
};

use super::failure::Failure;

/// Milliseconds. Zero is no TTL, but the bounds say that better.
pub(crate) fn parse_ttl(text: &str) -> Result<u64, Failure> {
    parse_millis(text).map_err(|error| {
        Failure::invalid(format!("--ttl: {error}")).hint("write it as 90s, 5m, 1h 30m, 1d, or in plain seconds")
    })
}

/// Milliseconds.
pub(crate) fn parse_wait(text: &str) -> Result<u64, Failure> {
    parse_millis(text).map_err(|error| {
        Failure::invalid(format!("--wait: {error}")).hint("write it as 30s, 5m, 1h 30m, or in plain seconds")
    })
}

/// Milliseconds.
pub(crate) fn parse_grace(text: &str) -> Result<i64, Failure> {
    let ms = parse_millis(text).map_err(|error| {
        Failure::invalid(format!("--grace: {error}")).hint("write it as 5s, 1m, or in plain seconds")
    })?;
    Ok(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// The TTL, if the policy allows it for this resource.
pub(crate) fn allowed(ms: u64, limits: &TtlLimits<'_>, resource: &Resource) -> Result<Ttl, Failure> {
    let checked = match Ttl::from_millis(ms) {
        Some(ttl) => limits.check(ttl).map_err(|error| error.to_string()),
        None => Err(format!(
            "a TTL of less than a millisecond is below the minimum of {} ({} in {}); allowed is {} to {}",
            limits.min.value,
            limits.min.key(),
            limits.min.origin,
            limits.min.value,
            limits.max.value
        )),
    };
    checked.map_err(|error: String| {
        Failure::invalid(format!("{resource}: {error}")).hint("choose one within, or change the policy")
    })
}

/// A token as `acquire` prints it.
pub(crate) fn parse_token(text: &str) -> Result<Token, String> {
    let number = text.parse().map_err(|_| "a token is a whole number".to_owned())?;
    Token::new(number).ok_or_else(|| format!("a token is between 1 and {}", Token::MAX))
}

/// The reason, if it is one.
pub(crate) fn parse_reason(text: String) -> Result<Reason, Failure> {
    Reason::new(text).map_err(|error| Failure::invalid(error.to_string()).hint("give one of 1 to 1,000 bytes"))
}
