//! The judge: from histories alone, and with an overlap rule of its own, it says whether anything happened that must not.
//!
//! **What is certain.** A lease is certainly held from the moment after the first call that told of it returned, until the moment that the lease was
//! given as its end, or the moment before the first call was made that ended it (or may have: of a racer that was killed in the middle of
//! a release or a break nobody knows). A lease that is told of again under the same token was never interrupted. That its racer was killed does not end
//! a lease. Whatever truly happened, the certain time lies inside of the true one; so if certain times of two owners intersect, both held at once.

use std::collections::BTreeMap;

use crate::history::{Act, Answer, Deed, Held, MS};

/// What must not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Two owners held what overlaps.
    Overlap(String),
    /// A token was granted twice, or is not higher than one that was granted before.
    Token(String),
    /// A lease was told of after it had been ended.
    Revived(String),
    /// What was held all the time was not seen.
    Unseen(String),
    /// An operation took longer than it may.
    Endless(String),
    /// An answer that may not be given.
    Failed(String),
}

/// How long an operation may take beyond what it was to wait for others: the bounded wait for a mutex, and all that it stood still.
const SLACK_MS: u64 = 15_000;

/// One certain interval.
#[derive(Debug)]
struct Span<'h> {
    start: u64,
    end: u64,
    what: &'h str,
    owner: &'h str,
    token: u64,
}

#[derive(Debug, Default)]
struct Spans<'h> {
    /// Nobody else can have held it.
    held: Vec<Span<'h>>,
    /// Whoever looks has to see it. That is less: a renewal is decided before the end and may be seen after it. Nobody can come in between, since the
    /// mutex is held; but who looks then sees a lease that is over, and is over unless the renewal comes.
    shown: Vec<Span<'h>>,
}

#[derive(Debug)]
struct Lease<'h> {
    owner: &'h str,
    /// Every time that it was told of: when asked, when told, and what.
    evidence: Vec<(u64, u64, &'h Held)>,
}

/// A path's file and area have one history, since they always exclude each other.
type Identity<'h> = (&'h str, u64);

fn place(what: &str) -> &str {
    what.trim_end_matches('/')
}

/// The rule, by components of paths.
fn overlap(a: &str, b: &str) -> bool {
    if a.contains(':') || b.contains(':') {
        return a == b;
    }
    let is_area = |what: &str| what == "." || what.ends_with('/');
    let parts = |what: &str| -> Vec<String> {
        what.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
    };
    let (above, below) = (parts(a), parts(b));
    above == below || (is_area(a) && below.starts_with(&above)) || (is_area(b) && above.starts_with(&below))
}

/// All faults in these histories, in no particular order.
pub(crate) fn faults(acts: &[Act]) -> Vec<Fault> {
    let mut faults = answers(acts);
    let leases = leases(acts, &mut faults);
    tokens(acts, &mut faults);
    let spans = spans(acts, &leases, &mut faults);
    faults.extend(overlaps(spans.held));
    faults.extend(unseen(acts, spans.shown));
    faults
}

/// How much was certain: the number of intervals, and their length together.
pub(crate) fn certain(acts: &[Act]) -> (usize, u64) {
    let mut ignored = Vec::new();
    let leases = leases(acts, &mut ignored);
    let spans = spans(acts, &leases, &mut ignored);
    (spans.held.len(), spans.held.iter().map(|span| span.end - span.start).sum())
}

fn answers(acts: &[Act]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for act in acts {
        let took_ms = (act.over_by - act.begun.at) / MS;
        if took_ms > act.begun.wait_ms + SLACK_MS {
            faults.push(Fault::Endless(format!("{took_ms} ms: {act:?}")));
        }
        if let Some(Answer::Failed(why)) = act.told.as_ref().map(|told| &told.answer) {
            faults.push(Fault::Failed(format!("{why}: {:?}", act.begun)));
        }
    }
    faults
}

fn held(act: &Act) -> impl Iterator<Item = (u64, &Held)> {
    let told = act.told.as_ref().and_then(|told| match &told.answer {
        Answer::Holds(held) => Some((told.at, held)),
        _ => None,
    });
    told.into_iter().flat_map(|(at, held)| held.iter().map(move |held| (at, held)))
}

fn leases<'h>(acts: &'h [Act], faults: &mut Vec<Fault>) -> BTreeMap<Identity<'h>, Lease<'h>> {
    let mut leases: BTreeMap<Identity<'h>, Lease<'h>> = BTreeMap::new();
    for act in acts {
        for (at, held) in held(act) {
            let owner = act.begun.owner.as_str();
            let identity = (place(&held.what), held.token);
            let lease = leases.entry(identity).or_insert_with(|| Lease { owner, evidence: Vec::new() });
            if lease.owner != owner {
                faults.push(Fault::Token(format!("{identity:?} is both {}'s and {owner}'s", lease.owner)));
            }
            lease.evidence.push((act.begun.at, at, held));
        }
    }
    for lease in leases.values_mut() {
        lease.evidence.sort_by_key(|(_, told_at, _)| *told_at);
    }
    leases
}

/// Of each resource: of two grants, one of which was told before the other was asked for, the later has the higher token.
fn tokens(acts: &[Act], faults: &mut Vec<Fault>) {
    let mut of_place: BTreeMap<&str, Vec<(u64, u64, u64)>> = BTreeMap::new();
    for act in acts {
        for (at, held) in held(act).filter(|(_, held)| held.fresh) {
            of_place.entry(place(&held.what)).or_default().push((act.begun.at, at, held.token));
        }
    }
    for (place, mut by_begin) in of_place {
        let mut by_end = by_begin.clone();
        by_begin.sort_unstable();
        by_end.sort_unstable_by_key(|(_, told_at, _)| *told_at);
        let (mut before, mut highest) = (by_end.into_iter().peekable(), 0);
        for (asked_at, _, token) in &by_begin {
            while let Some((_, _, earlier)) = before.next_if(|(_, told_at, _)| told_at <= asked_at) {
                highest = earlier.max(highest);
            }
            if *token <= highest {
                faults.push(Fault::Token(format!("{place}: {token} was granted after {highest}")));
            }
        }
        let mut tokens: Vec<u64> = by_begin.iter().map(|(_, _, token)| *token).collect();
        tokens.sort_unstable();
        let twice = tokens.windows(2).filter(|pair| pair[0] == pair[1]);
        faults.extend(twice.map(|pair| Fault::Token(format!("{place}: {} was granted twice", pair[0]))));
    }
}

/// When a lease may have been ended by an operation that did not say what it ended; not when what was told of the lease later shows that it was not.
fn doubt(act: &Act, place_of_lease: &str, lease: &Lease<'_>) -> Option<u64> {
    let begun = &act.begun;
    let could = (begun.deed == Deed::Break || begun.owner == lease.owner)
        && (begun.what.is_empty() || begun.what.iter().any(|what| place(what) == place_of_lease));
    let first_asked = lease.evidence.iter().map(|(asked_at, ..)| *asked_at).min()?;
    let survived = lease.evidence.iter().any(|(asked_at, ..)| *asked_at >= act.over_by);
    (could && act.over_by > first_asked && !survived).then_some(begun.at)
}

fn spans<'h>(acts: &'h [Act], leases: &BTreeMap<Identity<'h>, Lease<'h>>, faults: &mut Vec<Fault>) -> Spans<'h> {
    let mut ended: BTreeMap<Identity<'h>, (u64, u64)> = BTreeMap::new();
    let mut doubts = Vec::new();
    for act in acts.iter().filter(|act| matches!(act.begun.deed, Deed::Release | Deed::Break)) {
        match act.told.as_ref().map(|told| &told.answer) {
            Some(Answer::Ended(which)) => {
                for (what, token) in which {
                    let window = ended.entry((place(what), *token)).or_insert((act.begun.at, act.over_by));
                    *window = (window.0.min(act.begun.at), window.1.min(act.over_by));
                }
            }
            _ => doubts.push(act),
        }
    }
    let mut spans = Spans::default();
    for ((place, token), lease) in leases {
        let known = ended.get(&(*place, *token));
        let doubtful = doubts.iter().filter_map(|act| doubt(act, place, lease));
        let by_itself = lease.evidence.iter().map(|(_, _, held)| held.until).max();
        let end = doubtful.chain(known.map(|known| known.0)).chain(by_itself).min().unwrap_or(0);
        let mut kinds: Vec<&str> = Vec::new();
        for (asked_at, told_at, held) in &lease.evidence {
            if known.is_some_and(|known| *asked_at > known.1) {
                faults.push(Fault::Revived(format!("{held:?} of {} was told of after its end", lease.owner)));
            }
            // Once for the file and once for the area that it may have become.
            let span = |end| Span { start: *told_at, end, what: &held.what, owner: lease.owner, token: *token };
            if *told_at < end && !kinds.contains(&held.what.as_str()) {
                kinds.push(&held.what);
                spans.held.push(span(end));
            }
            spans.shown.push(span(end.min(held.until)));
        }
    }
    spans
}

/// Goes through the time once: whatever begins is held against all that lasts.
fn overlaps(mut spans: Vec<Span<'_>>) -> Vec<Fault> {
    spans.sort_by_key(|span| span.start);
    let (mut faults, mut lasting) = (Vec::new(), Vec::<&Span<'_>>::new());
    for span in &spans {
        lasting.retain(|other| other.end > span.start);
        let in_the_way = lasting.iter().filter(|other| other.owner != span.owner && overlap(other.what, span.what));
        faults.extend(in_the_way.map(|other| Fault::Overlap(format!("{other:?} and {span:?}"))));
        lasting.push(span);
    }
    faults
}

/// The same for looks.
fn unseen(acts: &[Act], mut spans: Vec<Span<'_>>) -> Vec<Fault> {
    spans.sort_by_key(|span| span.start);
    let mut looks: Vec<Look<'_>> = acts.iter().filter_map(Look::of).collect();
    looks.sort_by_key(|look| look.act.begun.at);
    let (mut faults, mut lasting) = (Vec::new(), Vec::<&Span<'_>>::new());
    let mut next = spans.iter().peekable();
    for look in looks {
        let begun_at = look.act.begun.at;
        lasting.extend(std::iter::from_fn(|| next.next_if(|span| span.start < begun_at)));
        lasting.retain(|span| span.end > begun_at);
        faults.extend(look.unseen(&lasting));
    }
    faults
}

/// Somebody looked.
struct Look<'h> {
    act: &'h Act,
    told_at: u64,
    seen: &'h [(String, u64)],
}

impl<'h> Look<'h> {
    fn of(act: &'h Act) -> Option<Self> {
        let told = act.told.as_ref()?;
        let Answer::Saw(seen) = &told.answer else { return None };
        Some(Self { act, told_at: told.at, seen })
    }

    /// What was asked about, was held before and after the look, and was not seen.
    fn unseen(&self, lasting: &[&Span<'_>]) -> Vec<Fault> {
        let what = &self.act.begun.what;
        let was_asked = |span: &Span<'_>| what.is_empty() || what.iter().any(|what| overlap(what, span.what));
        let was_seen = |span: &Span<'_>| {
            self.seen.iter().any(|(what, token)| (place(what), *token) == (place(span.what), span.token))
        };
        let missed = lasting.iter().filter(|span| span.end > self.told_at && was_asked(span) && !was_seen(span));
        missed.map(|span| Fault::Unseen(format!("{span:?} by {:?}", self.act))).collect()
    }
}

mod tests {
    use super::{Fault, certain, faults, overlap};
    use crate::history::{Act, Answer, Begun, Deed, Held, MS, Told};

    fn act(at: u64, owner: &str, deed: Deed, what: &[&str], told: Option<(u64, Answer)>) -> Act {
        let what = what.iter().map(|what| (*what).to_owned()).collect();
        let begun = Begun { at, deed, owner: owner.to_owned(), what, wait_ms: 0 };
        let told = told.map(|(at, answer)| Told { at, answer });
        let over_by = told.as_ref().map_or(at + 5, |told| told.at);
        Act { begun, told, over_by }
    }

    fn holds(at: u64, owner: &str, deed: Deed, what: &str, token: u64, until: u64) -> Act {
        let fresh = deed == Deed::Acquire;
        let held = Held { what: what.to_owned(), token, until, fresh, took_over: false };
        act(at, owner, deed, &[what], Some((at + 1, Answer::Holds(vec![held]))))
    }

    fn granted(at: u64, owner: &str, what: &str, token: u64, until: u64) -> Act {
        holds(at, owner, Deed::Acquire, what, token, until)
    }

    fn ended(at: u64, owner: &str, deed: Deed, what: &str, token: u64) -> Act {
        act(at, owner, deed, &[what], Some((at + 5, Answer::Ended(vec![(what.to_owned(), token)]))))
    }

    fn is_overlap(found: &[Fault]) -> bool {
        matches!(found, [Fault::Overlap(_)])
    }

    #[test]
    fn a_planted_overlap_is_found() {
        assert!(is_overlap(&faults(&[granted(10, "A", "a", 1, 100), granted(50, "B", "a", 2, 200)])));
        assert!(is_overlap(&faults(&[granted(50, "B", "d/x", 2, 200), granted(10, "A", "d/", 1, 100)])));
        assert!(is_overlap(&faults(&[granted(10, "A", "d/x/y", 1, 100), granted(50, "B", "d/", 2, 200)])));
        assert_eq!(faults(&[granted(10, "A", "a", 1, 100), granted(99, "B", "a", 2, 200)]), []);
        assert_eq!(faults(&[granted(10, "A", "a", 1, 100), granted(50, "A", "a", 2, 200)]), [], "one owner");
        assert_eq!(faults(&[granted(10, "A", "a", 1, 100), granted(50, "B", "ab", 2, 200)]), []);
    }

    #[test]
    fn resources_overlap_by_components() {
        for (a, b) in [("a", "a"), ("a", "a/"), ("a/", "a/b"), (".", "a"), (".", "a/b/"), ("a/", "a/b/c/")] {
            assert!(overlap(a, b) && overlap(b, a), "{a} {b}");
        }
        for (a, b) in [("a", "b"), ("a/", "ab"), ("a", "a/b"), (".", "plan:1"), ("a/b/", "a/c"), ("plan:1", "plan:2")] {
            assert!(!overlap(a, b) && !overlap(b, a), "{a} {b}");
        }
    }

    #[test]
    fn a_renewal_makes_one_long_interval() {
        let renewed = holds(90, "A", Deed::Renew, "a", 1, 300);
        assert!(is_overlap(&faults(&[granted(10, "A", "a", 1, 100), renewed.clone(), granted(150, "B", "a", 2, 400)])));
        let between = granted(60, "B", "a", 2, 70);
        assert!(is_overlap(&faults(&[granted(10, "A", "a", 1, 50), renewed, between])), "it was interrupted");
    }

    #[test]
    fn a_lease_is_certain_until_it_may_have_been_ended() {
        let after = granted(55, "B", "a", 2, 200);
        for deed in [Deed::Release, Deed::Break] {
            let by = if deed == Deed::Break { "C" } else { "A" };
            let first = granted(10, "A", "a", 1, 100);
            assert_eq!(faults(&[first.clone(), ended(50, by, deed, "a", 1), after.clone()]), []);
            assert!(is_overlap(&faults(&[first.clone(), ended(57, by, deed, "a", 1), after.clone()])), "too late");
            assert!(
                is_overlap(&faults(&[first.clone(), ended(50, by, deed, "a", 7), after.clone()])),
                "of another grant"
            );
            assert_eq!(faults(&[first.clone(), act(50, by, deed, &["a"], None), after.clone()]), [], "who knows");
            assert_eq!(faults(&[first.clone(), act(50, by, deed, &[], None), after.clone()]), [], "of all");
            assert!(is_overlap(&faults(&[first.clone(), act(50, by, deed, &["b"], None), after.clone()])), "elsewhere");
            assert!(is_overlap(&faults(&[first.clone(), act(2, by, deed, &["a"], None), after.clone()])), "before");
            let still = holds(60, "A", Deed::Renew, "a", 1, 100);
            let found = faults(&[first, act(50, by, deed, &["a"], None), still, after.clone()]);
            assert!(is_overlap(&found), "it had no effect");
        }
        let foreign = act(50, "C", Deed::Release, &["a"], None);
        assert!(is_overlap(&faults(&[granted(10, "A", "a", 1, 100), foreign, after])), "only the owner releases");
    }

    #[test]
    fn a_file_that_became_an_area_excludes_what_is_below_from_then_on() {
        let widened = holds(40, "A", Deed::Renew, "d/", 1, 100);
        let file = granted(10, "A", "d", 1, 100);
        assert_eq!(faults(&[file.clone(), widened.clone(), granted(20, "B", "d/x", 2, 30)]), []);
        assert!(is_overlap(&faults(&[file, widened, granted(50, "B", "d/x", 2, 60)])));
    }

    #[test]
    fn a_token_that_repeats_or_falls_is_found() {
        let first = granted(10, "A", "a", 7, 20);
        for token in [7, 6] {
            let found = faults(&[first.clone(), granted(30, "A", "a", token, 40)]);
            assert!(!found.is_empty() && found.iter().all(|fault| matches!(fault, Fault::Token(_))), "{found:?}");
        }
        assert_eq!(faults(&[first.clone(), granted(30, "A", "a", 8, 40)]), []);
        assert_eq!(faults(&[first.clone(), granted(30, "A", "b", 6, 40)]), [], "each resource counts for itself");
        assert_eq!(faults(&[granted(10, "A", "b", 8, 20), granted(10, "A", "b", 9, 20)]), [], "at the same time");
        let found = faults(&[first, holds(15, "B", Deed::Renew, "a", 7, 16)]);
        assert!(matches!(found[..], [Fault::Token(_)]), "of another owner: {found:?}");
    }

    #[test]
    fn a_lease_that_lives_on_after_its_end_is_found() {
        let renewed = holds(60, "A", Deed::Renew, "a", 1, 100);
        let found = faults(&[granted(10, "A", "a", 1, 100), ended(50, "A", Deed::Release, "a", 1), renewed]);
        assert!(matches!(found[..], [Fault::Revived(_)]), "{found:?}");
    }

    #[test]
    fn what_is_held_all_the_time_has_to_be_seen() {
        let look = |deed, what: &[&str], seen: &[(&str, u64)]| {
            let seen = seen.iter().map(|(what, token)| ((*what).to_owned(), *token)).collect();
            let look = act(20, "B", deed, what, Some((30, Answer::Saw(seen))));
            faults(&[granted(10, "A", "d/", 1, 100), look])
        };
        assert_eq!(look(Deed::Check, &["d/x"], &[("d/", 1)]), []);
        assert_eq!(look(Deed::Check, &["e"], &[]), []);
        assert!(matches!(look(Deed::Check, &["d/x"], &[])[..], [Fault::Unseen(_)]));
        assert!(matches!(look(Deed::List, &[], &[("d/", 2)])[..], [Fault::Unseen(_)]));
        let late_renewal = holds(15, "A", Deed::Renew, "d/", 1, 200);
        let mut renewed = vec![granted(10, "A", "d/", 1, 18), late_renewal];
        renewed[1].told.as_mut().unwrap().at = 40;
        for (at, expected) in [(20, 0), (50, 1)] {
            renewed.push(act(at, "B", Deed::Check, &["d/x"], Some((at + 10, Answer::Saw(Vec::new())))));
            assert_eq!(faults(&renewed).len(), expected, "at {at}");
        }
        let ends_meanwhile = act(20, "B", Deed::List, &[], Some((100, Answer::Saw(Vec::new()))));
        assert_eq!(faults(&[granted(10, "A", "d/", 1, 100), ends_meanwhile]), []);
    }

    #[test]
    fn what_takes_too_long_or_fails_is_found() {
        let slow = act(1, "A", Deed::Prune, &[], Some((20_000 * MS, Answer::Done)));
        assert!(matches!(faults(&[slow])[..], [Fault::Endless(_)]));
        let failed = act(1, "A", Deed::Prune, &[], Some((2, Answer::Failed("disk".to_owned()))));
        assert!(matches!(faults(&[failed])[..], [Fault::Failed(_)]));
        assert_eq!(certain(&[granted(10, "A", "a", 1, 100)]), (1, 89));
    }
}
