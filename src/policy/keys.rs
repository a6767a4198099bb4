//! The keys a policy file may have, and which of them somebody probably meant.

/// The tables.
pub(super) const TOP: &[&str] = &["ttl", "store", "guard", "agent"];
/// The keys of `[ttl]`.
pub(super) const TTL: &[&str] = &["default", "min", "max", "keep-expired", "rule"];
/// The keys of `[[ttl.rule]]`.
pub(super) const RULE: &[&str] = &["paths", "resources", "default", "min", "max"];
/// The keys of `[store]`.
pub(super) const STORE: &[&str] = &["fsync", "scope", "dir", "project"];
/// The keys of `[guard]`.
pub(super) const GUARD: &[&str] = &["mode", "require", "lost-leases"];
/// The keys of `[agent]`.
pub(super) const AGENT: &[&str] = &["on-error", "stale-reads"];

const TABLES: &[(&str, &[&str])] =
    &[("ttl", TTL), ("ttl.rule", RULE), ("store", STORE), ("guard", GUARD), ("agent", AGENT)];

/// Longer words than this have no near one, and would only cost time.
const LONGEST: usize = 64;

/// The word of `known` that `word` is a slip of.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > LONGEST {
        return None;
    }
    let word = plain(word);
    let distances = known.into_iter().map(|candidate| (distance(&word, &plain(candidate)), candidate));
    distances.filter_map(|(distance, candidate)| Some((distance?, candidate))).min().map(|(_, candidate)| candidate)
}

/// The full name of the key that `name` in `table` (`known` are its keys) is a slip of: a near key of that table, the
/// same key in another table, or, at the top, a near dotted name (`ttl_deafult`).
pub(super) fn nearest_key(table: &str, name: &str, known: &[&'static str]) -> Option<String> {
    if let Some(near) = nearest(name, known.iter().copied()) {
        return Some(dotted(table, near));
    }
    let word = plain(name);
    let all = || TABLES.iter().flat_map(|(table, keys)| keys.iter().map(|key| (*table, *key)));
    if let Some((table, key)) = all().find(|(_, key)| plain(key) == word) {
        return Some(dotted(table, key));
    }
    let names: Vec<String> = all().map(|(table, key)| dotted(table, key)).collect();
    let near = table.is_empty().then(|| nearest(name, names.iter().map(String::as_str)))?;
    near.map(str::to_owned)
}

/// `table.key`, or the key alone at the top.
pub(super) fn dotted(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// Without what people mix up: case, and which sign joins two words.
fn plain(word: &str) -> String {
    word.to_ascii_lowercase().replace('_', "-")
}

/// How many slips apart two words are; `None` when more than a third of the letters would have to differ.
fn distance(a: &str, b: &str) -> Option<usize> {
    let distance = strsim::damerau_levenshtein(a, b);
    (distance.saturating_mul(3) <= a.len().max(b.len())).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_key_that_was_meant() {
        for (table, name, known, meant) in [
            ("ttl", "deafult", TTL, "ttl.default"),
            ("ttl", "keep_expired", TTL, "ttl.keep-expired"),
            ("ttl", "MAX", TTL, "ttl.max"),
            ("ttl.rule[0]", "path", RULE, "ttl.rule[0].paths"),
            ("", "gaurd", TOP, "guard"),
            ("", "ttl_deafult", TOP, "ttl.default"),
            ("", "fsync", TOP, "store.fsync"),
            ("", "ttl.max", TOP, "ttl.max"),
            ("store", "mode", STORE, "guard.mode"),
            ("ttl", "paths", TTL, "ttl.rule.paths"),
        ] {
            assert_eq!(nearest_key(table, name, known).as_deref(), Some(meant), "{table} {name}");
        }
    }

    #[test]
    fn what_is_far_from_everything_finds_nothing() {
        for (table, name, known) in
            [("", "banana", TOP), ("ttl", "foo", TTL), ("store", "abc", STORE), ("ttl", "", TTL), ("", "", TOP)]
        {
            assert_eq!(nearest_key(table, name, known), None, "{table} {name}");
        }
        assert_eq!(nearest(&"x".repeat(1 << 20), TTL.iter().copied()), None);
    }
}
