//! Finds limits that contradict each other once the layers are merged.

use super::{
    effective::Policy,
    error::{PolicyCause, PolicyError},
    ttl::{TtlBound, TtlLimits},
};

/// Every violation of `min <= default <= max`, in `[ttl]` and in each rule laid over it. Each is told at the later of
/// the two values. While `[ttl]` itself is not in order, the rules laid over it are not judged.
pub(super) fn contradictions(policy: &Policy) -> Vec<PolicyError> {
    let base = TtlLimits::base(policy);
    let found = pairs(&base, false);
    if !found.is_empty() {
        return found;
    }
    let rules = policy.rules.iter().zip(1_usize..);
    rules.flat_map(|(rule, rank)| pairs(&base.with(rule, rank), true)).collect()
}

/// The contradictions in `limits`; with `of_rule`, those only that a rule has part in.
fn pairs(limits: &TtlLimits<'_>, of_rule: bool) -> Vec<PolicyError> {
    let TtlLimits { default, min, max } = *limits;
    let counts = |(low, high): &(TtlBound<'_>, TtlBound<'_>)| {
        low.value > high.value && (!of_rule || low.is_of_rule() || high.is_of_rule())
    };
    // When min and max already contradict each other, the default cannot be right, and need not be told.
    if let Some((low, high)) = Some((min, max)).filter(counts) {
        return vec![contradiction(low, high)];
    }
    [(min, default), (default, max)].into_iter().filter(counts).map(|(low, high)| contradiction(low, high)).collect()
}

/// `low` should be the lower one.
fn contradiction(low: TtlBound<'_>, high: TtlBound<'_>) -> PolicyError {
    let place = |bound: &TtlBound<'_>| (bound.origin.kind, bound.origin.line);
    let low_is_later = place(&low) > place(&high);
    let (later, other) = if low_is_later { (low, high) } else { (high, low) };
    let cause = PolicyCause::Order {
        key: later.key(),
        value: later.value,
        side: if low_is_later { "above" } else { "below" },
        other_key: other.key(),
        other_value: other.value,
        path: later.origin.path.clone(),
        other: other.origin.clone(),
    };
    let origin = later.origin;
    PolicyError { kind: origin.kind, path: origin.path.clone(), line: Some(origin.line), cause }
}
