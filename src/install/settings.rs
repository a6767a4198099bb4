//! Our entries in the settings of other tools: put in behind what is there, and taken out so that the rest is as it was, byte for byte.
//!
//! All of it is on texts; [`read`] and [`write`](write()) are for files. The form is the one that all of the tools have: `hooks` at the top, events in it, each a list.

use std::path::Path;

use serde_json::Value;

use super::{
    InstallError, dir,
    json::{Content, Node, SyntaxError, scan, skip},
};

/// What is wanted in a tool's settings.
pub struct Wanted<'w> {
    /// Events, each with the entry for it.
    pub entries: Vec<(&'static str, Value)>,
    /// What a new file has beside the hooks.
    pub preamble: &'w [(&'static str, u64)],
    /// Whether an entry is one of ours, of whatever version.
    pub is_ours: &'w dyn Fn(&Value) -> bool,
}

/// What a file becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// It stays as it is.
    Unchanged,
    /// This.
    Text(String),
    /// Nothing is left in it.
    Nothing,
}

/// How much of what is wanted is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// All of it, and nothing else of ours.
    Whole,
    /// Some, or another version of it.
    Partly,
    /// Nothing.
    Not,
}

/// Why settings are left as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// They are no JSON.
    #[error("it is not valid JSON: {0}")]
    Syntax(#[from] SyntaxError),
    /// Something else stands where the hooks belong.
    #[error("its {0} is not of the kind that it should be")]
    Form(String),
}

impl Wanted<'_> {
    /// How much of it is in a text.
    ///
    /// # Errors
    /// [`SettingsError`] when that cannot be told.
    pub fn installed(&self, text: &str) -> Result<Installed, SettingsError> {
        let root = root(text)?;
        let ours = self.ours(&root)?.len();
        let is_there = |(event, entry): &(&'static str, Value)| {
            let list = root.member("hooks").and_then(|hooks| hooks.member(event));
            list.is_some_and(|list| list.items().iter().any(|item| item.value() == *entry))
        };
        Ok(match ours {
            0 => Installed::Not,
            ours if ours == self.entries.len() && self.entries.iter().all(is_there) => Installed::Whole,
            _ => Installed::Partly,
        })
    }

    /// The text with all that is wanted in it; older versions of it go.
    ///
    /// # Errors
    /// [`SettingsError`] when the text cannot be edited.
    pub fn put_in(&self, before: Option<&str>) -> Result<After, SettingsError> {
        let Some(before) = before.filter(|before| !before.trim().is_empty()) else {
            return Ok(After::Text(self.new_file()));
        };
        if self.installed(before)? == Installed::Whole {
            return Ok(After::Unchanged);
        }
        let mut text = self.without_ours(before)?;
        for (event, entry) in &self.entries {
            text = add(&text, event, entry)?;
        }
        Ok(After::Text(text))
    }

    /// The text without anything of ours.
    ///
    /// # Errors
    /// [`SettingsError`] when the text cannot be edited.
    pub fn take_out(&self, before: &str) -> Result<After, SettingsError> {
        if before.trim().is_empty() || self.ours(&root(before)?)?.is_empty() {
            return Ok(After::Unchanged);
        }
        let text = self.without_ours(before)?;
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let is_left_over = bare(&text) == "{}" || bare(&text) == bare(&document(self.preamble, None));
        Ok(if is_left_over { After::Nothing } else { After::Text(text) })
    }

    fn new_file(&self) -> String {
        let mut text = document(self.preamble, Some(&self.entries));
        text.push('\n');
        text
    }

    /// The places of our entries: the event's name, and the number in its list.
    fn ours(&self, root: &Node) -> Result<Vec<(String, usize)>, SettingsError> {
        let mut found = Vec::new();
        let Some(hooks) = root.member("hooks") else { return Ok(found) };
        let Content::Object(events) = &hooks.content else { return Err(SettingsError::Form("`hooks`".to_owned())) };
        for event in events {
            let items = event.value.items().iter().enumerate();
            let ours = items.filter(|(_, item)| (self.is_ours)(&item.value()));
            found.extend(ours.map(|(index, _)| (event.key.clone(), index)));
        }
        Ok(found)
    }

    fn without_ours(&self, before: &str) -> Result<String, SettingsError> {
        let mut text = before.to_owned();
        while let Some((event, index)) = self.ours(&root(&text)?)?.into_iter().next() {
            text = remove(&text, &event, index)?;
        }
        Ok(text)
    }
}

fn root(text: &str) -> Result<Node, SettingsError> {
    let root = scan(text)?;
    match root.content {
        Content::Object(_) => Ok(root),
        _ => Err(SettingsError::Form("outermost value".to_owned())),
    }
}

/// A whole document in our own order, which a map would not keep.
fn document(preamble: &[(&str, u64)], entries: Option<&[(&'static str, Value)]>) -> String {
    let list = |entry: &Value| format!("[\n      {}\n    ]", pretty(entry, "  ", "\n", "      "));
    let events = |entries: &[(&'static str, Value)]| {
        let events: Vec<String> =
            entries.iter().map(|(event, entry)| format!("    \"{event}\": {}", list(entry))).collect();
        format!("  \"hooks\": {{\n{}\n  }}", events.join(",\n"))
    };
    let members = preamble.iter().map(|(key, value)| format!("  \"{key}\": {value}"));
    let members: Vec<String> = members.chain(entries.map(events)).collect();
    if members.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n}}", members.join(",\n")) }
}

/// A value over several lines, to stand behind `indent`.
fn pretty(value: &Value, unit: &str, newline: &str, indent: &str) -> String {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    // Into memory, and maps have texts for keys: nothing can fail.
    let _ = serde::Serialize::serialize(value, &mut serializer);
    String::from_utf8(out).unwrap_or_default().replace('\n', &format!("{newline}{indent}"))
}

/// Adds an entry to an event's list, which comes into being when it is missing.
fn add(text: &str, event: &str, entry: &Value) -> Result<String, SettingsError> {
    let root = root(text)?;
    let list = Value::Array(vec![entry.clone()]);
    Ok(match root.member("hooks") {
        None => {
            insert(text, &root, &root, Some("hooks"), &Value::Object([(event.to_owned(), list)].into_iter().collect()))
        }
        Some(hooks) => match hooks.member(event) {
            None => insert(text, &root, hooks, Some(event), &list),
            Some(known) if matches!(known.content, Content::Array(_)) => insert(text, &root, known, None, entry),
            Some(_) => return Err(SettingsError::Form(format!("`hooks.{event}`"))),
        },
    })
}

/// The blanks at the end of a text, from the last line break on.
fn blanks_before(text: &str) -> &str {
    let blanks = text.get(text.trim_end_matches([' ', '\t', '\r', '\n']).len()..).unwrap_or_default();
    blanks.rfind('\n').and_then(|at| blanks.get(at..)).unwrap_or(blanks)
}

fn slice(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

/// Puts something into an object or array, behind all that is there, and written as that is.
fn insert(text: &str, root: &Node, place: &Node, key: Option<&str>, value: &Value) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let first = root.spans().first().map(|(start, _)| blanks_before(slice(text, 0, *start)));
    let unit = match first {
        Some(blanks) => blanks.strip_prefix('\n'),
        None => Some("  "),
    };
    let render = |indent: Option<&str>| {
        let value = match (indent, unit) {
            (Some(indent), Some(unit)) => pretty(value, unit, newline, indent),
            _ => value.to_string(),
        };
        let colon = if indent.is_some() || slice(text, root.start, root.end).contains("\": ") { ": " } else { ":" };
        key.map(|key| format!("{}{colon}", Value::from(key))).unwrap_or_default() + &value
    };
    if let Some((start, end)) = place.spans().last() {
        let blanks = blanks_before(slice(text, 0, *start));
        let (separator, added) = match blanks.strip_prefix('\n') {
            Some(indent) => (format!("{newline}{indent}"), render(Some(indent))),
            None => (blanks.to_owned(), render(None)),
        };
        return format!("{},{separator}{added}{}", slice(text, 0, *end), slice(text, *end, text.len()));
    }
    let inside = slice(text, place.start.saturating_add(1), place.end.saturating_sub(1)).trim_end();
    let (head, tail) =
        (slice(text, 0, place.start.saturating_add(1)), slice(text, place.end.saturating_sub(1), text.len()));
    let line = head.rsplit('\n').next().unwrap_or_default();
    let outer: String = line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    match unit {
        Some(unit) => {
            let inner = format!("{outer}{unit}");
            format!("{head}{inside}{newline}{inner}{}{newline}{outer}{tail}", render(Some(&inner)))
        }
        None if inside.is_empty() => format!("{head}{}{tail}", render(None)),
        None => format!("{head}{inside}{newline}{}{tail}", render(None)),
    }
}

/// Takes an entry out of its event's list, and with the last one the list, and with the last list `hooks`.
fn remove(text: &str, event: &str, index: usize) -> Result<String, SettingsError> {
    let tree = root(text)?;
    let missing = || SettingsError::Form(format!("`hooks.{event}`"));
    let hooks = tree.member("hooks").ok_or_else(missing)?;
    let list = hooks.member(event).ok_or_else(missing)?;
    let place_of = |object: &Node, key: &str| match &object.content {
        Content::Object(members) => members.iter().rposition(|member| member.key == key),
        _ => None,
    };
    Ok(if list.items().len() > 1 {
        delete(text, list, index)
    } else if hooks.spans().len() > 1 {
        delete(text, hooks, place_of(hooks, event).ok_or_else(missing)?)
    } else {
        delete(text, &tree, place_of(&tree, "hooks").ok_or_else(missing)?)
    })
}

/// Takes one thing out of an object or array, with one comma. Comments stay.
fn delete(text: &str, place: &Node, index: usize) -> String {
    let spans = place.spans();
    let Some(&(start, end)) = spans.get(index) else { return text.to_owned() };
    let before = index.checked_sub(1).and_then(|index| spans.get(index));
    let after = spans.get(index.saturating_add(1));
    let is_bare = |between: &str| between.trim().trim_matches(',').is_empty();
    let without = |from: usize, to: usize| format!("{}{}", slice(text, 0, from), slice(text, to, text.len()));
    match (before, after) {
        (Some(&(_, before)), _) if is_bare(slice(text, before, start)) => without(before, end),
        (Some(&(_, before)), _) => {
            let comma = skip(text, before);
            let from = slice(text, 0, start).trim_end().len();
            let between = slice(text, comma.saturating_add(1), from);
            format!("{}{between}{}", slice(text, 0, comma), slice(text, end, text.len()))
        }
        (None, Some(&(after, _))) if is_bare(slice(text, end, after)) => without(start, after),
        (None, Some(_)) => without(start, skip(text, end).saturating_add(1)),
        (None, None) => {
            let (from, to) = (place.start.saturating_add(1), place.end.saturating_sub(1));
            let (head, tail) = (slice(text, from, start).trim_end(), slice(text, end, to));
            let tail = if head.is_empty() && tail.trim().is_empty() { "" } else { tail };
            format!("{}{head}{tail}{}", slice(text, 0, from), slice(text, to, text.len()))
        }
    }
}

/// The text of a settings file; `None` when there is none.
///
/// # Errors
/// [`InstallError`] when it cannot be read, or is no text.
pub fn read(path: &Path) -> Result<Option<String>, InstallError> {
    dir::read_text(path)
}

/// Makes a settings file what it is to be, in one step. Links are followed, modes kept.
///
/// # Errors
/// [`InstallError`] when the file is not `before` any more, or cannot be written; then it is as it was.
pub fn write(path: &Path, before: Option<&str>, after: &After, umask: u32) -> Result<(), InstallError> {
    match after {
        After::Unchanged => Ok(()),
        After::Text(text) => dir::replace_text(path, before, Some(text), umask),
        After::Nothing => dir::replace_text(path, before, None, umask),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(version: u32) -> Vec<(&'static str, Value)> {
        let entry =
            json!({"matcher": "Edit|Write", "hooks": [{"type": "command", "command": format!("ours v{version}")}]});
        vec![("PreToolUse", entry), ("SessionEnd", json!({"hooks": [{"command": format!("ours v{version}")}]}))]
    }

    fn is_ours(entry: &Value) -> bool {
        entry.to_string().contains("\"ours v")
    }

    fn of(version: u32) -> Wanted<'static> {
        Wanted { entries: wanted(version), preamble: &[("version", 1)], is_ours: &is_ours }
    }

    fn put_in(text: &str, version: u32) -> String {
        match of(version).put_in(Some(text)).expect(text) {
            After::Text(text) => text,
            After::Unchanged => text.to_owned(),
            After::Nothing => panic!("{text}"),
        }
    }

    const THEIRS: [&str; 14] = [
        "{\n  \"model\": \"x\"\n}\n",
        "{\n\t\"b\": 1,\n\t\"a\": [1,\n\t2]\n}",
        "{\"model\":\"x\"}",
        "{\"model\": \"x\", \"b\": {}}\n",
        "{\r\n    \"model\": \"x\"\r\n}\r\n",
        "\u{FEFF}{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": []\n      }\n    ]\n  },\n  \"z\": 1\n}\n",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"command\": \"theirs\"}]}\n    ]\n  }\n}\n",
        "{\n  // a comment\n  \"model\": \"x\" // another\n}\n",
        "{\n  \"hooks\": {\n    /* first */ \"Stop\": [], // last\n    \"PreToolUse\": [ 7 /* odd */ ]\n  }\n}",
        "{ \"hooks\": { \"PreToolUse\": [{\"command\": \"theirs\"}], \"SessionEnd\": [{\"command\": \"theirs\"}] } }",
        "{\n  \"hooks\": {\"PreToolUse\": [{\"command\": \"theirs\"}]},\n  \"z\": [\n  ]\n}\n",
        "{\"hooks\": {\"Stop\": []}, \"hooks\": {\"Stop\": [1]}}",
        "  {\n   \"a\": \"\\u00e9 é \\\" , }\"\n  }  \n\n",
        "{\n  \"a\": 1\n  ,\"b\": 2\n}\n",
    ];

    #[test]
    fn what_is_put_in_comes_out_again_and_the_rest_is_untouched() {
        for before in THEIRS {
            let with = put_in(before, 1);
            let after = scan(&with).expect(&with).value();
            assert_eq!(of(1).installed(&with), Ok(Installed::Whole), "{with}");
            assert_eq!(of(1).put_in(Some(&with)), Ok(After::Unchanged), "{with}");
            for (key, value) in scan(before).expect(before).value().as_object().expect(before) {
                assert!(key == "hooks" || after[key] == *value, "{with}");
            }
            assert_eq!(of(1).take_out(&with), Ok(After::Text(before.to_owned())), "{with}");
            assert_eq!(of(1).take_out(before), Ok(After::Unchanged), "{before}");
        }
    }

    #[test]
    fn another_version_of_ours_is_replaced() {
        for before in THEIRS {
            let old = put_in(before, 1);
            assert_eq!(of(2).installed(&old), Ok(Installed::Partly));
            assert_eq!(put_in(&old, 2), put_in(before, 2), "{old}");
            assert_eq!(of(2).take_out(&old), Ok(After::Text(before.to_owned())), "{old}");
        }
    }

    #[test]
    fn a_new_file_is_one_that_people_can_read_and_goes_when_ours_is_all_there_is() {
        let Ok(After::Text(text)) = of(1).put_in(None) else { panic!("a text") };
        insta::assert_snapshot!(text, @r#"
        {
          "version": 1,
          "hooks": {
            "PreToolUse": [
              {
                "hooks": [
                  {
                    "command": "ours v1",
                    "type": "command"
                  }
                ],
                "matcher": "Edit|Write"
              }
            ],
            "SessionEnd": [
              {
                "hooks": [
                  {
                    "command": "ours v1"
                  }
                ]
              }
            ]
          }
        }
        "#);
        assert_eq!(of(1).put_in(Some(" \n")), Ok(After::Text(text.clone())));
        assert_eq!(of(1).put_in(Some(&text)), Ok(After::Unchanged));
        assert_eq!(of(1).take_out(&text), Ok(After::Nothing));
        assert_eq!(of(1).take_out(&put_in("{}\n", 1)), Ok(After::Nothing));
        let with_comment = put_in("{\n  // mine\n}\n", 1);
        assert_eq!(of(1).take_out(&with_comment), Ok(After::Text("{\n  // mine\n}\n".to_owned())));
    }

    #[test]
    fn entries_that_others_have_put_behind_ours_stay() {
        let with = put_in("{\n  \"model\": \"x\"\n}\n", 1);
        let more = with.replace("      }\n    ],", "      },\n      {\"command\": \"theirs\"} // later\n    ],");
        assert_ne!(more, with);
        let Ok(After::Text(after)) = of(1).take_out(&more) else { panic!("a text") };
        assert_eq!(
            after,
            "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"command\": \"theirs\"} // later\n    ]\n  }\n}\n"
        );
    }

    #[test]
    fn settings_of_another_form_are_not_touched() {
        for text in [
            "[]",
            "7",
            "{\"hooks\": []}",
            "{\"hooks\": {\"PreToolUse\": {}}}",
            "{\"hooks\": null}",
            "{\"a\": 1,}",
            "nonsense",
        ] {
            assert!(of(1).put_in(Some(text)).is_err(), "{text}");
        }
    }
}
