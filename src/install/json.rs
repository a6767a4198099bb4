//! Where things stand in a JSON text, so that one of them can be changed without touching a byte of the rest.
//!
//! Comments are passed over, since some tools allow them in their settings. Everything else has to be JSON as it is written down: what this program
//! does not understand it does not edit.

use serde_json::Value;

/// A value and its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar(Value),
}

/// A member of an object; it starts with its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub(super) start: usize,
    pub(super) key: String,
    pub(super) value: Node,
}

/// Why a text is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct SyntaxError {
    /// From 1.
    pub line: usize,
    /// In bytes, from 1.
    pub column: usize,
    /// What was expected, or is wrong.
    pub what: &'static str,
}

impl Node {
    /// The member with this key; of several the last, as every reader of JSON takes it.
    pub(super) fn member(&self, key: &str) -> Option<&Node> {
        let Content::Object(members) = &self.content else { return None };
        members.iter().rfind(|member| member.key == key).map(|member| &member.value)
    }

    pub(super) fn items(&self) -> &[Node] {
        match &self.content {
            Content::Array(items) => items,
            _ => &[],
        }
    }

    /// The places of what is in an object or array.
    pub(super) fn spans(&self) -> Vec<(usize, usize)> {
        match &self.content {
            Content::Object(members) => members.iter().map(|member| (member.start, member.value.end)).collect(),
            Content::Array(items) => items.iter().map(|item| (item.start, item.end)).collect(),
            Content::Scalar(_) => Vec::new(),
        }
    }

    pub(super) fn value(&self) -> Value {
        match &self.content {
            Content::Object(members) => {
                Value::Object(members.iter().map(|member| (member.key.clone(), member.value.value())).collect())
            }
            Content::Array(items) => Value::Array(items.iter().map(Node::value).collect()),
            Content::Scalar(value) => value.clone(),
        }
    }
}

/// The one value of a text.
pub(super) fn scan(text: &str) -> Result<Node, SyntaxError> {
    let mut scanner = Scanner { text, at: 0, depth: 0 };
    if text.starts_with('\u{FEFF}') {
        scanner.at = '\u{FEFF}'.len_utf8();
    }
    let node = scanner.value()?;
    scanner.skip()?;
    if scanner.at < text.len() { Err(scanner.error("nothing may follow the value")) } else { Ok(node) }
}

/// The place of the first byte from `at` on that is neither blank nor in a comment.
pub(super) fn skip(text: &str, at: usize) -> usize {
    let mut scanner = Scanner { text, at, depth: 0 };
    let _ = scanner.skip();
    scanner.at
}

const DEEPEST: usize = 100;

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    fn step(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    fn error(&self, what: &'static str) -> SyntaxError {
        let before = self.text.get(..self.at).unwrap_or_default();
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.len().saturating_sub(before.rfind('\n').map_or(0, |at| at.saturating_add(1)));
        SyntaxError { line, column: column.saturating_add(1), what }
    }

    fn skip(&mut self) -> Result<(), SyntaxError> {
        loop {
            let blanks = self.rest().bytes().take_while(|byte| b" \t\r\n".contains(byte)).count();
            self.step(blanks);
            if self.rest().starts_with("//") {
                let line = self.rest().find('\n').unwrap_or(self.rest().len());
                self.step(line);
            } else if self.rest().starts_with("/*") {
                let Some(end) = self.rest().find("*/") else { return Err(self.error("the comment does not end")) };
                self.step(end.saturating_add(2));
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<Node, SyntaxError> {
        self.skip()?;
        if self.depth >= DEEPEST {
            return Err(self.error("it is nested too deeply"));
        }
        let start = self.at;
        self.depth = self.depth.saturating_add(1);
        let content = match self.peek() {
            Some(b'{') => Content::Object(self.list(b'}', Self::member)?),
            Some(b'[') => Content::Array(self.list(b']', Self::value)?),
            Some(b'"') => Content::Scalar(Value::String(self.string()?)),
            _ => Content::Scalar(self.word()?),
        };
        self.depth = self.depth.saturating_sub(1);
        Ok(Node { start, end: self.at, content })
    }

    /// What is between two brackets, with commas between.
    fn list<T>(
        &mut self,
        end: u8,
        mut item: impl FnMut(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<Vec<T>, SyntaxError> {
        let mut items = Vec::new();
        self.step(1);
        self.skip()?;
        if self.peek() == Some(end) {
            self.step(1);
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            self.skip()?;
            match self.peek() {
                Some(b',') => self.step(1),
                Some(byte) if byte == end => {
                    self.step(1);
                    return Ok(items);
                }
                _ => return Err(self.error("a comma or the closing bracket is expected")),
            }
        }
    }

    fn member(&mut self) -> Result<Member, SyntaxError> {
        self.skip()?;
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.error("a key in quotes is expected"));
        }
        let key = self.string()?;
        self.skip()?;
        if self.peek() != Some(b':') {
            return Err(self.error("a colon is expected"));
        }
        self.step(1);
        Ok(Member { start, key, value: self.value()? })
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let mut is_escaped = false;
        let end = self.rest().bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        let Some(end) = end else { return Err(self.error("the string does not end")) };
        let length = end.saturating_add(2);
        let text = self.rest().get(..length).unwrap_or_default();
        let Ok(string) = serde_json::from_str(text) else { return Err(self.error("this is no string of JSON")) };
        self.step(length);
        Ok(string)
    }

    fn word(&mut self) -> Result<Value, SyntaxError> {
        let length =
            self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        let text = self.rest().get(..length).unwrap_or_default();
        let Ok(value) = serde_json::from_str(text) else { return Err(self.error("a value is expected")) };
        self.step(length);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_text() {
        let text = "\u{FEFF}// head\n{ \"a\\\"\" : [1, /* , */ {\"b\": null}],\n \"c\": \"}\" }\n";
        let node = scan(text).expect("JSON");
        assert_eq!(node.value(), serde_json::json!({"a\"": [1, {"b": null}], "c": "}"}));
        let array = node.member("a\"").expect("the array");
        assert_eq!(&text[array.start..array.end], "[1, /* , */ {\"b\": null}]");
        let told: Vec<&str> = node.spans().into_iter().map(|(start, end)| &text[start..end]).collect();
        assert_eq!(told, ["\"a\\\"\" : [1, /* , */ {\"b\": null}]", "\"c\": \"}\""]);
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (text, place) in [
            ("", (1, 1)),
            ("{", (1, 2)),
            ("{\"a\": 1,}", (1, 9)),
            ("{\"a\": 1}\n}", (2, 1)),
            ("{\n  a: 1}", (2, 3)),
            ("{\"a\": 'x'}", (1, 7)),
            ("{\"a\": 01}", (1, 7)),
            ("[1 2]", (1, 4)),
            ("{\"a\" 1}", (1, 6)),
            ("\"\\x\"", (1, 1)),
            ("\"open", (1, 1)),
            ("/* open", (1, 1)),
            ("nul", (1, 1)),
        ] {
            let error = scan(text).expect_err(text);
            assert_eq!((error.line, error.column), place, "{text}: {error}");
        }
        assert!(scan(&"[".repeat(100_000)).is_err());
    }

    proptest::proptest! {
        #[test]
        fn what_serde_json_reads_is_read_alike(text in "[\\[\\]{}:, \n\"\\\\a1tru/*-]{0,24}") {
            match (scan(&text), serde_json::from_str::<Value>(&text)) {
                (Ok(node), Ok(value)) => proptest::prop_assert_eq!(node.value(), value),
                // Comments are the one thing that is read here and not there.
                (Ok(_), Err(_)) => proptest::prop_assert!(text.contains("//") || text.contains("/*")),
                (Err(_), Ok(_)) => proptest::prop_assert!(false, "{text}"),
                (Err(_), Err(_)) => {}
            }
        }
    }
}
