//! How long a lease on something may last.

use super::{
    effective::Policy,
    layer::{Given, Origin, Rule, Subject},
};
use crate::{duration::Ttl, resource::Target};

/// One of the three limits, and where it was given.
#[derive(Debug, Clone, Copy)]
pub struct TtlBound<'a> {
    /// The limit.
    pub value: Ttl,
    /// Where it was given.
    pub origin: &'a Origin,
    name: &'static str,
    /// The rule it is from, counted within its file.
    rule: Option<usize>,
    /// Whether it was given before another: 0 for `[ttl]`, then the rules.
    rank: usize,
}

impl<'a> TtlBound<'a> {
    fn new(name: &'static str, given: &'a Given<Ttl>) -> Self {
        Self { value: given.value, origin: &given.origin, name, rule: None, rank: 0 }
    }

    pub(super) fn is_of_rule(&self) -> bool {
        self.rule.is_some()
    }

    /// The name of the key: `ttl.max`, or `ttl.rule[0].max` with rules counted within the file of [`Self::origin`].
    #[must_use]
    pub fn key(&self) -> String {
        match self.rule {
            None => format!("ttl.{}", self.name),
            Some(index) => format!("ttl.rule[{index}].{}", self.name),
        }
    }
}

/// The limits of a lease on one target. `min <= default <= max` holds.
#[derive(Debug, Clone, Copy)]
pub struct TtlLimits<'a> {
    /// How long a lease lasts when nobody says.
    pub default: TtlBound<'a>,
    /// The shortest lease.
    pub min: TtlBound<'a>,
    /// The longest lease.
    pub max: TtlBound<'a>,
}

/// A TTL that the policy does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a TTL of {wanted} is {} ({key} in {origin}); allowed is {min} to {max}", side(*wanted, *min, *max))]
pub struct TtlOutOfBounds {
    /// What was asked for.
    pub wanted: Ttl,
    /// The shortest that is allowed.
    pub min: Ttl,
    /// The longest that is allowed.
    pub max: Ttl,
    /// The name of the bound that is violated: `ttl.max`.
    pub key: String,
    /// Where that bound was given.
    pub origin: Origin,
}

fn side(wanted: Ttl, min: Ttl, max: Ttl) -> String {
    if wanted < min { format!("below the minimum of {min}") } else { format!("above the maximum of {max}") }
}

impl<'a> TtlLimits<'a> {
    /// `wanted`, when it lies within the limits.
    ///
    /// # Errors
    /// [`TtlOutOfBounds`] names the limits and where the violated one was given. Nothing is clamped.
    pub fn check(&self, wanted: Ttl) -> Result<Ttl, TtlOutOfBounds> {
        let violated = if wanted < self.min.value {
            self.min
        } else if wanted > self.max.value {
            self.max
        } else {
            return Ok(wanted);
        };
        let (key, origin) = (violated.key(), violated.origin.clone());
        Err(TtlOutOfBounds { wanted, min: self.min.value, max: self.max.value, key, origin })
    }

    /// The limits that `[ttl]` gives.
    pub(super) fn base(policy: &'a Policy) -> Self {
        Self {
            default: TtlBound::new("default", &policy.default),
            min: TtlBound::new("min", &policy.min),
            max: TtlBound::new("max", &policy.max),
        }
    }

    /// These limits with what `rule` gives over them. `rank` is the rule's place among all rules, from 1.
    pub(super) fn with(self, rule: &'a Rule, rank: usize) -> Self {
        let lay = |below: TtlBound<'a>, given: &'a Option<Given<Ttl>>| {
            let given = given.as_ref().map(|given| TtlBound::new(below.name, given));
            given.map_or(below, |bound| TtlBound { rule: Some(rule.index), rank, ..bound })
        };
        Self { default: lay(self.default, &rule.default), min: lay(self.min, &rule.min), max: lay(self.max, &rule.max) }
    }

    /// Each rule agrees with `[ttl]`, but two rules that both match may contradict each other. Then the bound of the
    /// later rule stands, and the default moves inside.
    fn settled(mut self) -> Self {
        if self.min.value > self.max.value {
            if self.min.rank > self.max.rank { self.max = self.min } else { self.min = self.max }
        }
        if self.default.value < self.min.value {
            self.default = self.min;
        }
        if self.default.value > self.max.value {
            self.default = self.max;
        }
        self
    }
}

impl Rule {
    fn matches(&self, target: &Target) -> bool {
        match (&self.subject, target) {
            (Subject::Paths(globs), Target::File(path)) => globs.value.matches(path),
            (Subject::Paths(globs), Target::Area(path)) => globs.value.matches_directory(path),
            (Subject::Resources(globs), Target::Named(name)) => globs.value.matches_name(name),
            _ => false,
        }
    }
}

impl Policy {
    /// The limits of a lease on `target`: for each key, what the last rule that matches and gives that key says, or
    /// else `[ttl]`.
    ///
    /// Paths are relative to the top of the work tree; case matters.
    #[must_use]
    pub fn ttl(&self, target: &Target) -> TtlLimits<'_> {
        let rules = self.rules.iter().zip(1_usize..).filter(|(rule, _)| rule.matches(target));
        rules.fold(TtlLimits::base(self), |limits, (rule, rank)| limits.with(rule, rank)).settled()
    }

    /// The longest TTL that anybody may have been granted: how long an unreadable record has to be believed. A layer that lowers the
    /// maximum, such as one user's own, does not lower this.
    #[must_use]
    pub fn longest_ttl(&self) -> Ttl {
        let of_rules = self.rules.iter().filter_map(|rule| rule.max.as_ref());
        of_rules.map(|max| max.value).fold(self.highest_max, Ttl::max)
    }
}
