//! Reads the keys of a parsed file into a layer, and notes everything that is wrong with them.

use std::path::Path;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    error::{PolicyCause, PolicyError, shown},
    glob, keys,
    layer::{Given, Layer, LayerKind, Origin},
    read::Lines,
    value::{self, Refused},
};

/// A key in a table.
pub(super) struct Field<'t> {
    table: &'t str,
    pub(super) name: &'t str,
    pub(super) offset: usize,
    pub(super) value: &'t Spanned<DeValue<'t>>,
}

impl Field<'_> {
    /// Its full name.
    pub(super) fn key(&self) -> String {
        keys::dotted(self.table, self.name)
    }
}

/// The keys of a table, which is called `table`.
pub(super) fn fields<'t>(table: &'t str, content: &'t DeTable<'t>) -> impl Iterator<Item = Field<'t>> {
    content.iter().map(move |(key, value)| Field { table, name: key.get_ref(), offset: key.span().start, value })
}

/// Collects what is wrong while a file is read, so that all of it can be told.
pub(super) struct Reader<'a> {
    kind: LayerKind,
    path: &'a Path,
    lines: Lines,
    problems: Vec<PolicyError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(kind: LayerKind, path: &'a Path, lines: Lines) -> Self {
        Self { kind, path, lines, problems: Vec::new() }
    }

    pub(super) fn into_problems(self) -> Vec<PolicyError> {
        self.problems
    }

    pub(super) fn problem(&mut self, offset: usize, cause: PolicyCause) {
        let line = Some(self.lines.at(offset));
        self.problems.push(PolicyError { kind: self.kind, path: self.path.to_owned(), line, cause });
    }

    pub(super) fn given<T>(&self, offset: usize, value: T) -> Given<T> {
        let origin = Origin { kind: self.kind, path: self.path.to_owned(), line: self.lines.at(offset) };
        Given { value, origin }
    }

    pub(super) fn take<T>(
        &mut self,
        field: &Field<'_>,
        read: fn(&DeValue<'_>) -> Result<T, Refused>,
    ) -> Option<Given<T>> {
        match read(field.value.get_ref()) {
            Ok(value) => Some(self.given(field.offset, value)),
            Err(refused) => {
                self.problem(field.offset, refused.of(field.key()));
                None
            }
        }
    }

    pub(super) fn unknown(&mut self, field: &Field<'_>, known: &'static [&'static str]) {
        /// Nobody reads on for so long, and of a file that is no policy at all every line would cost time.
        const MOST_ADVICE: usize = 100;
        let may_be_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let is_bare = !field.name.is_empty() && field.name.chars().all(may_be_bare);
        let name = if is_bare { shown(field.name) } else { format!("\"{}\"", shown(field.name)) };
        let cause = PolicyCause::UnknownKey {
            what: if field.value.get_ref().is_table() { "table" } else { "key" },
            key: keys::dotted(field.table, &name),
            nearest: (self.problems.len() < MOST_ADVICE)
                .then(|| keys::nearest_key(field.table, field.name, known))
                .flatten(),
            known,
        };
        self.problem(field.offset, cause);
    }

    pub(super) fn document(&mut self, root: &DeTable<'_>) -> Layer {
        let mut layer = Layer::empty(self.kind);
        for table in fields("", root) {
            let read = match table.name {
                "ttl" => Self::ttl,
                "store" => Self::store,
                "guard" => Self::guard,
                "agent" => Self::agent,
                _ => {
                    self.unknown(&table, keys::TOP);
                    continue;
                }
            };
            match table.value.get_ref() {
                DeValue::Table(content) => {
                    fields(table.name, content).for_each(|field| read(self, &field, &mut layer));
                }
                other => self.problem(table.offset, Refused::kind("a table", other).of(table.key())),
            }
        }
        layer
    }

    fn ttl(&mut self, field: &Field<'_>, layer: &mut Layer) {
        match field.name {
            "default" => layer.default = self.take(field, value::ttl),
            "min" => layer.min = self.take(field, value::ttl),
            "max" => layer.max = self.take(field, value::ttl),
            "keep-expired" => layer.keep_expired = self.take(field, value::millis),
            "rule" => layer.rules = self.rules(field),
            _ => self.unknown(field, keys::TTL),
        }
    }

    fn store(&mut self, field: &Field<'_>, layer: &mut Layer) {
        match field.name {
            "fsync" => layer.fsync = self.take(field, value::boolean),
            "scope" | "dir" | "project" if !self.kind.may_identify() => {
                self.problem(field.offset, PolicyCause::Identity { key: field.key() });
            }
            "scope" => layer.scope = self.take(field, value::choice),
            "dir" => layer.dir = self.take(field, value::dir),
            "project" => layer.project = self.take(field, value::project),
            _ => self.unknown(field, keys::STORE),
        }
    }

    fn guard(&mut self, field: &Field<'_>, layer: &mut Layer) {
        match field.name {
            "mode" => layer.mode = self.take(field, value::choice),
            "require" => layer.require = self.globs(field, glob::check_path),
            "lost-leases" => layer.lost_leases = self.take(field, value::boolean),
            _ => self.unknown(field, keys::GUARD),
        }
    }

    fn agent(&mut self, field: &Field<'_>, layer: &mut Layer) {
        match field.name {
            "on-error" => layer.on_error = self.take(field, value::choice),
            "stale-reads" => layer.stale_reads = self.take(field, value::boolean),
            _ => self.unknown(field, keys::AGENT),
        }
    }
}
