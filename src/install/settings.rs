//! Our entries in the settings of other tools: put in behind what is there, and taken out so that the rest is as it was, byte for byte.
//!
//! All of it is on texts; [`read`] and [`write`](write()) are for files. The form is the one that all of the tools have: `hooks` at the top, events in it, each a list.
//!
//! The text itself tells what was there before: in what we have made there is a blank behind the bracket, in what we have found empty there is none. What
//! we write when there is no file has its hooks first, and nothing else comes to look like it.

use std::path::Path;

use serde_json::Value;

use super::{
    InstallError, dir,
    json::{Content, Member, Node, SyntaxError, scan, skip},
};

/// What is wanted in a tool's settings.
pub struct Wanted<'w> {
    /// Events, each with the entry for it.
    pub entries: Vec<(&'static str, Value)>,
    /// What a new file has beside the hooks.
    pub preamble: &'w [(&'static str, u64)],
    /// Whether a hook is one of ours, of whatever version. A hook is an entry, or one of several in the `hooks` of an entry.
    pub is_ours: &'w dyn Fn(&Value) -> bool,
}

/// What a file becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// It stays as it is.
    Unchanged,
    /// This.
    Text(String),
    /// It goes, being nothing but what we have written.
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

/// Where something of ours is.
struct Place {
    /// The number of the event in `hooks`.
    event: usize,
    /// The number of the entry in the event's list.
    entry: usize,
    /// The number of the hook in the entry, when there are others in it.
    hook: Option<usize>,
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
            list.is_some_and(|list| list.items().iter().any(|item| self.our_part(item) == *entry))
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
            // Without the last line break, which tells that there was a file.
            let text = document(self.preamble, &self.entries);
            return Ok(After::Text(if before.is_some() { text } else { text + "\n" }));
        };
        if self.installed(before)? == Installed::Whole {
            return Ok(After::Unchanged);
        }
        if let Some(end) = self.end_of_own_file(before)? {
            return Ok(After::Text(document(self.preamble, &self.entries) + end));
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
        Ok(match self.end_of_own_file(before)? {
            Some("") => After::Text(String::new()),
            Some(_) => After::Nothing,
            None => After::Text(self.without_ours(before)?),
        })
    }

    /// What is behind the document, if that is one that we, or an earlier version, have written where nothing was.
    fn end_of_own_file<'t>(&self, text: &'t str) -> Result<Option<&'t str>, SettingsError> {
        let root = root(text)?;
        let events = match root.member("hooks").map(|hooks| &hooks.content) {
            Some(Content::Object(events)) => events.as_slice(),
            _ => &[],
        };
        let only = |list: &Node| match list.items() {
            [entry] if self.is_all_ours(entry) => Some(entry.value()),
            _ => None,
        };
        let entries: Option<Vec<_>> =
            events.iter().map(|event| Some((event.key.as_str(), only(&event.value)?))).collect();
        let document = entries.map(|entries| document(self.preamble, &entries));
        let end = document.and_then(|document| text.strip_prefix(document.as_str()));
        Ok(end.filter(|end| matches!(*end, "" | "\n")))
    }

    fn is_all_ours(&self, entry: &Node) -> bool {
        match entry.member("hooks").map(Node::items) {
            Some(hooks) => !hooks.is_empty() && hooks.iter().all(|hook| (self.is_ours)(&hook.value())),
            None => (self.is_ours)(&entry.value()),
        }
    }

    /// An entry without the hooks of others.
    fn our_part(&self, entry: &Node) -> Value {
        let mut value = entry.value();
        if let Some(hooks) = value.get_mut("hooks").and_then(Value::as_array_mut) {
            hooks.retain(|hook| (self.is_ours)(hook));
        }
        value
    }

    fn ours(&self, root: &Node) -> Result<Vec<Place>, SettingsError> {
        let mut found = Vec::new();
        let Some(hooks) = root.member("hooks") else { return Ok(found) };
        let Content::Object(events) = &hooks.content else { return Err(SettingsError::Form("`hooks`".to_owned())) };
        let entries = events.iter().enumerate().flat_map(|(event, member)| {
            member.value.items().iter().enumerate().map(move |(entry, node)| (event, entry, node))
        });
        for (event, entry, node) in entries {
            if self.is_all_ours(node) {
                found.push(Place { event, entry, hook: None });
                continue;
            }
            let hooks = node.member("hooks").map(Node::items).unwrap_or_default().iter().enumerate();
            let ours = hooks.filter(|(_, hook)| (self.is_ours)(&hook.value()));
            found.extend(ours.map(|(hook, _)| Place { event, entry, hook: Some(hook) }));
        }
        Ok(found)
    }

    fn without_ours(&self, before: &str) -> Result<String, SettingsError> {
        let mut text = before.to_owned();
        loop {
            let root = root(&text)?;
            let Some(place) = self.ours(&root)?.into_iter().next() else { return Ok(text) };
            text = remove(&text, &root, &place).ok_or_else(|| SettingsError::Form("`hooks`".to_owned()))?;
        }
    }
}

fn root(text: &str) -> Result<Node, SettingsError> {
    let root = scan(text)?;
    match root.content {
        Content::Object(_) => Ok(root),
        _ => Err(SettingsError::Form("outermost value".to_owned())),
    }
}

/// A whole document in our own order, which a map would not keep. What we add to a file comes last in it: here it is first.
fn document(preamble: &[(&str, u64)], entries: &[(&str, Value)]) -> String {
    let list = |entry: &Value| format!("[\n      {}\n    ]", pretty(entry, "  ", "\n", "      "));
    let events: Vec<String> =
        entries.iter().map(|(event, entry)| format!("    \"{event}\": {}", list(entry))).collect();
    let hooks = format!("  \"hooks\": {{\n{}\n  }}", events.join(",\n"));
    let others = preamble.iter().map(|(key, value)| format!("  \"{key}\": {value}"));
    let members: Vec<String> = [hooks].into_iter().chain(others).collect();
    format!("{{\n{}\n}}", members.join(",\n"))
}

/// A value on one line, down to some depth with blanks inside its brackets.
fn one_line(value: &Value, depth: usize) -> String {
    let inner = |value| one_line(value, depth.saturating_sub(1));
    match value {
        Value::Array(items) if depth > 0 => {
            format!("[ {} ]", items.iter().map(inner).collect::<Vec<_>>().join(","))
        }
        Value::Object(members) if depth > 0 => {
            let members = members.iter().map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), inner(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(","))
        }
        _ => value.to_string(),
    }
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

/// What a level is indented by; `None` when all is on one line.
fn indent_unit<'t>(text: &'t str, root: &Node) -> Option<&'t str> {
    let blanks = |node: &Node| node.spans().first().map(|(start, _)| blanks_before(slice(text, 0, *start)));
    let Some(first) = blanks(root) else { return Some("  ") };
    let in_hooks = || root.member("hooks").and_then(blanks)?.strip_prefix('\n');
    first.strip_prefix('\n').or_else(|| if first.is_empty() { in_hooks() } else { None })
}

/// Puts something into an object or array, behind all that is there, and written as that is.
fn insert(text: &str, root: &Node, place: &Node, key: Option<&str>, value: &Value) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let unit = indent_unit(text, root);
    // The lists and objects that come into being: `hooks` with a list in it, or a list.
    let made = key.map_or(0, |key| if key == "hooks" { 2 } else { 1 });
    let render = |indent: Option<&str>| {
        let value = match (indent, unit) {
            (Some(indent), Some(unit)) => pretty(value, unit, newline, indent),
            _ => one_line(value, made),
        };
        let colon = if indent.is_some() || slice(text, root.start, root.end).contains("\": ") { ": " } else { ":" };
        key.map(|key| format!("{}{colon}", Value::from(key))).unwrap_or_default() + &value
    };
    let (from, to) = (place.start.saturating_add(1), place.end.saturating_sub(1));
    let (head, inside, tail) = (slice(text, 0, from), slice(text, from, to), slice(text, to, text.len()));
    let line = head.rsplit('\n').next().unwrap_or_default();
    let outer: String = line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    let inner = unit.map(|unit| format!("{outer}{unit}"));
    if let Some((start, end)) = place.spans().last() {
        let blanks = blanks_before(slice(text, 0, *start));
        let (separator, added) = match (blanks.strip_prefix('\n'), &inner) {
            (Some(indent), _) => (format!("{newline}{indent}"), render(Some(indent))),
            (None, Some(inner)) if blanks.is_empty() && inside.contains('\n') => {
                (format!("{newline}{inner}"), render(Some(inner)))
            }
            (None, _) => (blanks.to_owned(), render(None)),
        };
        return format!("{},{separator}{added}{}", slice(text, 0, *end), slice(text, *end, text.len()));
    }
    // What is found empty has ours right behind the bracket, and its blanks behind ours.
    let (comments, blanks) = inside.split_at(inside.trim_end().len());
    if comments.is_empty() {
        let indent = inner.filter(|_| made == 1).or_else(|| unit.map(|_| outer));
        return format!("{head}{}{blanks}{tail}", render(indent.as_deref()));
    }
    let inner = inner.as_deref();
    format!("{head}{comments}{newline}{}{}{blanks}{tail}", inner.unwrap_or_default(), render(inner))
}

/// Takes an entry, or a hook out of a mixed one; with the last entry the list, and with the last list `hooks`, if we have made them.
fn remove(text: &str, root: &Node, at: &Place) -> Option<String> {
    let Content::Object(members) = &root.content else { return None };
    let place = members.iter().rposition(|member| member.key == "hooks")?;
    let hooks = members.get(place)?;
    let Content::Object(events) = &hooks.value.content else { return None };
    let event = events.get(at.event)?;
    let list = &event.value;
    Some(if let Some(hook) = at.hook {
        delete(text, list.items().get(at.entry)?.member("hooks")?, hook)
    } else if !is_made_for_one(text, event) {
        delete(text, list, at.entry)
    } else if !is_made_for_one(text, hooks) {
        delete(text, &hooks.value, at.event)
    } else {
        delete(text, root, place)
    })
}

/// Whether a member has but one thing in it, no comment, and the blank of what we make.
fn is_made_for_one(text: &str, member: &Member) -> bool {
    let value = &member.value;
    let &[(start, end)] = value.spans().as_slice() else { return false };
    let head = slice(text, value.start.saturating_add(1), start);
    let tail = slice(text, end, value.end.saturating_sub(1));
    let key = slice(text, member.start, value.start).trim_end().strip_suffix(':');
    let has_comment_before = !key.is_some_and(|key| key.trim_end().ends_with('"'));
    !head.is_empty() && head.trim().is_empty() && tail.trim().is_empty() && !has_comment_before
}

/// What is before something that goes, without the blanks, unless a comment would then take in what is behind.
fn kept<'t>(head: &'t str, tail: &str) -> &'t str {
    let trimmed = head.trim_end();
    let last_line = trimmed.rsplit('\n').next().unwrap_or_default();
    let is_open = last_line.contains("//") && !tail.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    if is_open { head } else { trimmed }
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
            let (comma, tail) = (skip(text, before), slice(text, end, text.len()));
            let between = kept(slice(text, comma.saturating_add(1), start), tail);
            format!("{}{between}{tail}", slice(text, 0, comma))
        }
        (None, Some(&(after, _))) if is_bare(slice(text, end, after)) => without(start, after),
        (None, Some(_)) => without(start, skip(text, end).saturating_add(1)),
        (None, None) => {
            let (from, to) = (place.start.saturating_add(1), place.end.saturating_sub(1));
            let (head, tail) = (slice(text, from, start), slice(text, end, to));
            let is_blank = !head.is_empty() && head.trim().is_empty() && tail.trim().is_empty();
            let tail = if is_blank { "" } else { tail };
            format!("{}{}{tail}{}", slice(text, 0, from), kept(head, tail), slice(text, to, text.len()))
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

    fn is_ours(hook: &Value) -> bool {
        hook["command"].as_str().is_some_and(|command| command.starts_with("ours v"))
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
          },
          "version": 1
        }
        "#);
        assert_eq!(put_in(" \n", 1), text.trim_end());
        assert_eq!(of(1).take_out(text.trim_end()), Ok(After::Text(String::new())));
        assert_eq!(of(1).put_in(Some(&text)), Ok(After::Unchanged));
        assert_eq!(of(1).take_out(&text), Ok(After::Nothing));
        assert_eq!(put_in(&text, 2), text.replace("ours v1", "ours v2"));
        assert_eq!(of(2).take_out(&text), Ok(After::Nothing), "of an earlier version");
        let with_comment = put_in("{\n  // mine\n}\n", 1);
        assert_eq!(of(1).take_out(&with_comment), Ok(After::Text("{\n  // mine\n}\n".to_owned())));
    }

    #[test]
    fn what_is_found_empty_is_filled_readably_and_empty_again_without_ours() {
        insta::assert_snapshot!(put_in("{}\n", 1), @r#"
        {"hooks": {
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
        }}
        "#);
        insta::assert_snapshot!(put_in("{\n  \"hooks\": {}\n}\n", 1), @r#"
        {
          "hooks": {"PreToolUse": [
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
            ]}
        }
        "#);
        insta::assert_snapshot!(put_in("{\"hooks\":{\"PreToolUse\":[]}}", 1), @r#"{"hooks":{"PreToolUse":[{"hooks":[{"command":"ours v1","type":"command"}],"matcher":"Edit|Write"}],"SessionEnd":[ {"hooks":[{"command":"ours v1"}]} ]}}"#);
    }

    #[test]
    fn comments_stay_and_so_does_what_they_are_in() {
        for (with, without) in [
            ("{\"hooks\":{\"Stop\":[ {\"command\":\"ours v1\"} /* a */ ]}}", "{\"hooks\":{\"Stop\":[ /* a */ ]}}"),
            ("{\"hooks\": /* a */ { \"Stop\":[ {\"command\":\"ours v1\"} ] }}", "{\"hooks\": /* a */ {}}"),
            ("{\"hooks\":{ \"Stop\": /* a */[ {\"command\":\"ours v1\"} ] }}", "{\"hooks\":{ \"Stop\": /* a */[] }}"),
            ("{\"hooks\":{\"Stop\":[ // a\n{\"command\":\"ours v1\"}]}}", "{\"hooks\":{\"Stop\":[ // a\n]}}"),
            ("{\"hooks\":{\"Stop\":[1, // a\n{\"command\":\"ours v1\"}]}}", "{\"hooks\":{\"Stop\":[1 // a\n]}}"),
        ] {
            assert_eq!(of(1).take_out(with), Ok(After::Text(without.to_owned())), "{with}");
        }
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
