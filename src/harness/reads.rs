//! Which files a tool has shown to its model that was given globs.
//!
//! It tells in its answer what they stood for: before each file's content stands a line with its name. Only what begins a part of the answer is taken for such a line, since a file may contain anything.

use serde_json::{Map, Value};

use super::payload::{NAMES, first};

/// No more files than this are taken from one call: who reads more has not read them with much care.
const MAX_FILES: usize = 256;

/// The files that were read, each once, as the tool spells them.
pub(super) fn paths(input: &Map<String, Value>, response: Option<&Value>) -> Vec<String> {
    let lists = ["include", "paths"].iter().filter_map(|name| input.get(*name)?.as_array()).flatten();
    let plain =
        lists.filter_map(Value::as_str).filter(|path| !path.is_empty() && !path.contains(['*', '?', '[', '{', '!']));
    let told = response.and_then(|response| response.get("llmContent")).map(parts).unwrap_or_default();
    let named = first(input, &NAMES).into_iter();
    let all = named.chain(plain.map(str::to_owned)).chain(told.into_iter().filter_map(heading).map(str::to_owned));
    let mut known = std::collections::BTreeSet::new();
    all.filter(|path| known.insert(path.clone())).take(MAX_FILES).collect()
}

/// The texts of an answer: one, or several, each alone or in an object.
fn parts(content: &Value) -> Vec<&str> {
    match content {
        Value::Array(parts) => parts.iter().filter_map(part_text).collect(),
        part => part_text(part).into_iter().collect(),
    }
}

fn part_text(part: &Value) -> Option<&str> {
    part.as_str().or_else(|| part.get("text")?.as_str())
}

/// The name in a line `--- NAME ---` that begins a text.
fn heading(part: &str) -> Option<&str> {
    let name = part.trim_start_matches('\n').lines().next()?.strip_prefix("--- ")?.strip_suffix(" ---")?;
    (!name.is_empty() && name != "End of content").then_some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(input: &Value, response: &Value) -> Vec<String> {
        paths(input.as_object().expect("an object"), Some(response))
    }

    #[test]
    fn one_file_is_named_and_of_many_each_has_its_heading() {
        assert_eq!(of(&json!({"absolute_path": "/a"}), &Value::Null), ["/a"]);
        let parts = json!({"llmContent": [
            "--- /r/src/a ---\n\n--- /not/this ---\n", "\n--- /r/b c ---\n\n1\n", {"text": "--- /r/d ---\n"}, "\n--- End of content ---", 7, "x",
        ]});
        assert_eq!(of(&json!({"include": ["src/*", "x.rs", 7, ""]}), &parts), ["x.rs", "/r/src/a", "/r/b c", "/r/d"]);
        assert_eq!(of(&json!({"include": "src/*"}), &json!({"llmContent": "--- /r/a ---\n1"})), ["/r/a"]);
        assert_eq!(of(&json!({}), &json!([])), [""; 0]);
    }

    #[test]
    fn no_call_names_more_than_can_be_looked_at() {
        let many: Vec<String> = (0..1000).map(|n| format!("f{n}")).collect();
        assert_eq!(of(&json!({"paths": many}), &Value::Null).len(), MAX_FILES);
    }
}
