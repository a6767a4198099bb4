//! Sentences and tables for people. Everything of others that goes in is escaped.

use git_agentlock::{
    clock::Timestamp,
    duration::show_millis,
    locks::{Holder, Lease, Locks, Loss, State},
    record::Reason,
    resource::Resource,
};

/// A length of time as people like it: the two largest units, no finer than seconds above a minute.
pub(crate) fn length(ms: i64) -> String {
    let ms = ms.unsigned_abs();
    match ms {
        0..1000 => format!("{ms}ms"),
        1000..86_400_000 => show_millis(round_down(ms, 1000)),
        86_400_000.. => show_millis(round_down(ms, 3_600_000)),
    }
}

fn round_down(ms: u64, unit: u64) -> u64 {
    ms.saturating_sub(ms.checked_rem(unit).unwrap_or(0))
}

/// `2026-11-30 13:59:00Z`.
pub(crate) fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let (seconds, _) = text.split_once('.').unwrap_or((&text, ""));
    format!("{}Z", seconds.replace('T', " "))
}

pub(crate) fn because(reason: Option<&Reason>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

/// `since … until … (4m 12s left): reason`.
pub(crate) fn span(lease: &Lease) -> String {
    let (since, until) = (moment(lease.acquired_at), moment(lease.expires_at));
    let left = length(lease.remaining_ms);
    format!("since {since} until {until} ({left} left){}", because(lease.reason.as_ref()))
}

/// That a lease was not made shorter.
pub(crate) fn lasts_longer(lease: &Lease) -> String {
    format!("note: {} lasts longer than that already, and a lease is never shortened", lease.resource)
}

/// `held by claude-111 since … until … (4m 12s left): reason`.
pub(crate) fn held_by(holder: &Holder) -> String {
    match holder {
        Holder::Lease(lease) => format!("held by {} {}", lease.owner, span(lease)),
        Holder::Waiting { owner, since } => format!("left to {owner}, who has waited for it since {}", moment(*since)),
        Holder::Unknown { record, until } => {
            let until = until.map_or("until it is moved away".to_owned(), |until| format!("until {}", moment(until)));
            format!(
                "record {} cannot be used: {}; it counts as held by an unknown owner {until}",
                git_agentlock::text::escape_path(&record.place),
                record.cause
            )
        }
    }
}

/// Who holds what is wanted; or what it overlaps, and who holds that.
pub(crate) fn in_the_way(wanted: &Resource, holder: &Holder) -> String {
    let through = match holder {
        Holder::Lease(lease) if lease.resource != *wanted => format!("{} is ", lease.resource),
        _ => String::new(),
    };
    format!("{through}{}", held_by(holder))
}

/// That a directory has no lease of its own though there are some below it: naming it does not mean those.
pub(crate) fn below(locks: &Locks<'_>, resource: &Resource) -> Option<String> {
    const SHOWN: usize = 3;
    let reports = locks.check(std::slice::from_ref(resource)).ok().filter(|_| resource.is_area())?;
    let below = reports.iter().flat_map(|report| &report.holders).filter_map(|holder| match holder {
        Holder::Lease(lease) => Some(lease.resource.to_string()),
        Holder::Unknown { .. } | Holder::Waiting { .. } => None,
    });
    let below: Vec<String> = below.filter(|name| *name != resource.to_string()).collect();
    let shown = below.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let more = if below.len() > SHOWN { ", …" } else { "" };
    (!below.is_empty()).then(|| {
        format!("note: {resource} means the lease on the directory itself; there are leases below it: {shown}{more}")
    })
}

/// Why a lease is the caller's no longer.
pub(crate) fn lost(loss: &Loss) -> String {
    match loss {
        Loss::Absent { covered_by: None } => "you hold no lease on it".to_owned(),
        Loss::Absent { covered_by: Some(area) } => {
            format!("you hold no lease on it alone; your lease on {} covers it", area.resource)
        }
        Loss::Expired(lease) => {
            format!("your lease expired at {} ({} ago)", moment(lease.expires_at), length(lease.remaining_ms))
        }
        Loss::OtherToken(lease) => {
            format!(
                "it is not the lease with that token; you have held it since {} with token {}",
                moment(lease.acquired_at),
                lease.token
            )
        }
        Loss::TakenOver(lease) => {
            let now = if lease.state == State::Live { "" } else { ", whose lease has ended too" };
            format!("your lease was lost to {} at {}{now}", lease.owner, moment(lease.acquired_at))
        }
        Loss::Broken { by, at, reason, .. } => {
            let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            format!("your lease was broken{by} at {}: {reason}", moment(*at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short() {
        for (ms, text) in [(0, "0ms"), (999, "999ms"), (61_500, "1m 1s"), (-61_500, "1m 1s"), (90_061_000, "1d 1h")] {
            assert_eq!(length(ms), text);
        }
        assert!(!length(i64::MIN).is_empty());
    }
}
