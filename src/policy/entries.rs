//! The policy in effect as a list, for `git agentlock policy`.

use super::{
    choice::Choice as _,
    effective::Policy,
    glob::Globs,
    layer::{Given, Origin, Rule, Subject},
};
use crate::{duration::show_millis, text::escape};

/// One key, its value, and where that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The full name: `ttl.default`, `ttl.rule[0].max` (counted over all layers).
    pub key: String,
    /// The value as TOML, on one line, safe for a terminal.
    pub value: String,
    /// Where it was given.
    pub origin: Origin,
}

impl Policy {
    /// Every key that has a value, in the order of `config/policy.toml`, then the rules in the order in which they
    /// apply.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let fixed = [
            Some(entry("ttl.default", &self.default, |ttl| string(&ttl.to_string()))),
            Some(entry("ttl.min", &self.min, |ttl| string(&ttl.to_string()))),
            Some(entry("ttl.max", &self.max, |ttl| string(&ttl.to_string()))),
            Some(entry("ttl.keep-expired", &self.keep_expired, |ms| string(&show_millis(*ms)))),
            Some(entry("store.fsync", &self.fsync, bool::to_string)),
            Some(entry("store.scope", &self.scope, |scope| string(scope.word()))),
            self.dir.as_ref().map(|dir| entry("store.dir", dir, |dir| string(&dir.to_string_lossy()))),
            self.project.as_ref().map(|project| entry("store.project", project, |project| string(project))),
            Some(entry("guard.mode", &self.mode, |mode| string(mode.word()))),
            Some(entry("guard.require", &self.require, array)),
            Some(entry("guard.lost-leases", &self.lost_leases, bool::to_string)),
            Some(entry("agent.on-error", &self.on_error, |on_error| string(on_error.word()))),
            Some(entry("agent.stale-reads", &self.stale_reads, bool::to_string)),
        ];
        let rules = self.rules.iter().enumerate().flat_map(|(index, rule)| of_rule(index, rule));
        fixed.into_iter().flatten().chain(rules).collect()
    }
}

fn of_rule(index: usize, rule: &Rule) -> impl Iterator<Item = Entry> {
    let key = |name: &str| format!("ttl.rule[{index}].{name}");
    let subject = match &rule.subject {
        Subject::Paths(globs) => entry(key("paths"), globs, array),
        Subject::Resources(globs) => entry(key("resources"), globs, array),
    };
    let limits = [("default", &rule.default), ("min", &rule.min), ("max", &rule.max)].into_iter();
    let limits = limits.filter_map(move |(name, given)| {
        let given = given.as_ref()?;
        Some(entry(format!("ttl.rule[{index}].{name}"), given, |ttl| string(&ttl.to_string())))
    });
    std::iter::once(subject).chain(limits)
}

fn entry<T>(key: impl Into<String>, given: &Given<T>, show: impl Fn(&T) -> String) -> Entry {
    Entry { key: key.into(), value: show(&given.value), origin: given.origin.clone() }
}

fn array(globs: &Globs) -> String {
    let items: Vec<String> = globs.as_slice().iter().map(|glob| string(glob)).collect();
    format!("[{}]", items.join(", "))
}

/// A TOML string in which whatever a terminal might act on is spelt out. (`text::escape` alone would not be TOML.)
fn string(text: &str) -> String {
    let mut out = String::from('"');
    let mut buffer = [0; 4];
    for c in text.chars() {
        let plain: &str = c.encode_utf8(&mut buffer);
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ if escape(plain.as_bytes()) == plain => out.push(c),
            _ => out.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_string_is_toml_and_safe_to_show(text in "(\\PC|[\\x00-\\x1f\\u{80}-\\u{9f}\\u{202E}\"\\\\]){0,20}") {
            let shown = string(&text);
            proptest::prop_assert_eq!(&escape(shown.replace('\\', "").as_bytes()), &shown.replace('\\', ""));
            let back: toml::Table = format!("a = {shown}").parse().expect("TOML");
            proptest::prop_assert_eq!(back.get("a").and_then(toml::Value::as_str), Some(text.as_str()));
        }
    }
}
