//! Reads `[[ttl.rule]]`, and lists of globs.

use toml::de::{DeTable, DeValue};

use super::{
    error::{PolicyCause, shown},
    glob::{self, Globs},
    keys,
    layer::{Given, Rule, Subject},
    reader::{Field, Reader, fields},
    value::{self, Refused},
};

const GLOBS: &str = "an array of strings (globs)";

impl Reader<'_> {
    pub(super) fn rules(&mut self, field: &Field<'_>) -> Vec<Rule> {
        let expected = "an array of tables ([[ttl.rule]])";
        let Some(items) = field.value.get_ref().as_array() else {
            self.problem(field.offset, Refused::kind(expected, field.value.get_ref()).of(field.key()));
            return Vec::new();
        };
        let mut rules = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let key = format!("{}[{index}]", field.key());
            match item.get_ref() {
                DeValue::Table(table) => rules.extend(self.rule(index, &key, item.span().start, table)),
                other => self.problem(item.span().start, Refused::kind("a table", other).of(key)),
            }
        }
        rules
    }

    fn rule(&mut self, index: usize, name: &str, offset: usize, table: &DeTable<'_>) -> Option<Rule> {
        let (mut paths, mut resources) = (None, None);
        let (mut default, mut min, mut max) = (None, None, None);
        let mut is_known = true;
        for field in fields(name, table) {
            match field.name {
                "paths" => paths = Some(self.globs(&field, glob::check_path)),
                "resources" => resources = Some(self.globs(&field, glob::check_name)),
                "default" => default = Some(self.take(&field, value::ttl)),
                "min" => min = Some(self.take(&field, value::ttl)),
                "max" => max = Some(self.take(&field, value::ttl)),
                _ => {
                    self.unknown(&field, keys::RULE);
                    is_known = false;
                }
            }
        }
        // What seems to be missing may be the key that was misspelt: one message is enough.
        let mut incomplete = |why: &str| {
            if is_known {
                self.problem(offset, PolicyCause::Value { key: name.to_owned(), why: why.to_owned() });
            }
        };
        if default.is_none() && min.is_none() && max.is_none() {
            incomplete("a rule gives at least one of 'default', 'min' and 'max'");
        }
        let subject = match (paths, resources) {
            (Some(paths), None) => paths.map(Subject::Paths),
            (None, Some(resources)) => resources.map(Subject::Resources),
            (None, None) => {
                incomplete("a rule needs 'paths' or 'resources'");
                None
            }
            (Some(_), Some(_)) => {
                incomplete("a rule has 'paths' or 'resources', not both; write two rules");
                None
            }
        };
        Some(Rule { index, subject: subject?, default: default.flatten(), min: min.flatten(), max: max.flatten() })
    }

    /// A list of globs, each of which passes `check`. A list that matches nothing is a slip, but for an empty
    /// `guard.require`.
    pub(super) fn globs(
        &mut self,
        field: &Field<'_>,
        check: fn(&str) -> Result<(), &'static str>,
    ) -> Option<Given<Globs>> {
        let Some(items) = field.value.get_ref().as_array() else {
            self.problem(field.offset, Refused::kind(GLOBS, field.value.get_ref()).of(field.key()));
            return None;
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match glob_of(item.get_ref(), check) {
                Ok(text) => texts.push(text),
                Err(refused) => self.problem(item.span().start, refused.of(format!("{}[{index}]", field.key()))),
            }
        }
        if texts.len() < items.len() {
            return None;
        }
        let why = match texts.first() {
            None if field.name != "require" => "a rule without globs matches nothing",
            Some(_) if texts.iter().all(|text| text.starts_with('!')) => "exceptions ('!') alone match nothing",
            _ => return Some(self.given(field.offset, Globs::new(texts))),
        };
        self.problem(field.offset, PolicyCause::Value { key: field.key(), why: why.to_owned() });
        None
    }
}

fn glob_of(item: &DeValue<'_>, check: fn(&str) -> Result<(), &'static str>) -> Result<String, Refused> {
    let text = item.as_str().ok_or_else(|| Refused::kind("a string (a glob)", item))?;
    check(text).map_err(|why| Refused::Why(format!("'{}' {why}", shown(text))))?;
    Ok(text.to_owned())
}
