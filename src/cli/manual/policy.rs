//! The page of the policy file, made from the built-in policy: its comments are the text.

use git_agentlock::policy;

use super::roff::Text;

const LAYERS: &str = "Every value comes from the last of these that gives it:";

pub(super) fn render() -> String {
    let mut text = Text::new("git-agentlock-policy", "5");
    text.section("NAME");
    text.paragraph("git-agentlock-policy - what git-agentlock allows, in TOML");
    text.section("SYNOPSIS");
    for file in ["$XDG_CONFIG_HOME/git-agentlock/policy.toml", ".agentlock.toml", "$GIT_COMMON_DIR/agentlock.toml"] {
        text.paragraph(file);
        text.line(".br");
    }
    text.paragraph("$AGENTLOCK_POLICY");
    text.section("DESCRIPTION");
    text.paragraph(LAYERS);
    for (name, meaning) in [
        ("embedded", "The built-in policy, which is shown below."),
        ("user", "$XDG_CONFIG_HOME/git-agentlock/policy.toml (~/.config when the variable is not set)."),
        ("committed", ".agentlock.toml at the top of the work tree: for the team."),
        ("local", "agentlock.toml in the common git directory: for all who share this clone."),
        ("explicit", "The file that the variable AGENTLOCK_POLICY names."),
    ] {
        text.entry(name, meaning);
    }
    text.next_paragraph();
    text.paragraph("A file has only the keys that are to differ. It is read anew by every command.");
    text.paragraph("An unknown key or a bad value is an error with file, line and the nearest right key:");
    text.paragraph("acquire and renew refuse then, the other commands go on without that file, and warn.");
    text.next_paragraph();
    text.paragraph(
        "A duration is a text such as \"500ms\", \"90s\", \"5m\", \"1h 30m\" or \"1d\", or a whole number of seconds;",
    );
    text.paragraph("ten years at most.");
    text.section("KEYS");
    for part in parts() {
        part.write(&mut text);
    }
    text.section("EXAMPLES");
    text.paragraph("Short leases, longer ones for generated files, and a file that only who holds it may commit:");
    text.verbatim(EXAMPLE);
    text.section("SEE ALSO");
    text.paragraph("git-agentlock(1), git-agentlock-policy(1), git-agentlock-guard(1)");
    text.into_page()
}

/// A test reads this as a policy.
pub(super) const EXAMPLE: &str = "\
[ttl]
default = \"2m\"

[[ttl.rule]]
paths = [\"**/*.lock\", \"generated/\"]
default = \"10m\"

[guard]
require = [\"Cargo.lock\"]";

/// A piece of the built-in policy.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// `[name]`.
    Table(String),
    /// Keys that belong together, one a line, and what is said about them.
    Keys { keys: Vec<String>, about: String },
    /// What is said about no key in particular.
    Said(String),
}

impl Part {
    fn write(&self, text: &mut Text) {
        match self {
            Self::Table(name) => text.subsection(name),
            Self::Said(said) => {
                text.next_paragraph();
                text.paragraph(said);
            }
            Self::Keys { keys, about } => text.entry(&keys.join(", "), about),
        }
    }
}

/// What has been read of a part.
#[derive(Default)]
struct Reader {
    parts: Vec<Part>,
    keys: Vec<String>,
    about: Vec<&'static str>,
}

impl Reader {
    fn end(&mut self) {
        let about = std::mem::take(&mut self.about).join("\n");
        let keys = std::mem::take(&mut self.keys);
        if !keys.is_empty() {
            self.parts.push(Part::Keys { keys, about });
        } else if !about.is_empty() {
            self.parts.push(Part::Said(about));
        }
    }
}

/// The built-in policy behind its head, piece by piece. A key that is commented out has no default.
fn parts() -> Vec<Part> {
    let whole = policy::embedded();
    let body = whole.split_once("\n\n").map_or(whole, |(_, body)| body);
    let mut reader = Reader::default();
    for line in body.lines() {
        let bare = line.strip_prefix('#').map_or(line, str::trim_start);
        let is_name = |key: &str| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        if bare.starts_with('[') && bare.ends_with(']') {
            // What is said right above a table is about what is in it.
            let before = std::mem::take(&mut reader.about);
            reader.end();
            reader.parts.push(Part::Table(bare.to_owned()));
            reader.about = before;
        } else if bare.split_once(" = ").is_some_and(|(key, _)| is_name(key)) {
            reader.keys.push(bare.to_owned());
        } else {
            if !reader.keys.is_empty() || bare.is_empty() {
                reader.end();
            }
            if !bare.is_empty() {
                reader.about.push(bare);
            }
        }
    }
    reader.end();
    reader.parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_policy_is_explained() {
        let explained: Vec<String> = parts()
            .into_iter()
            .filter_map(|part| match part {
                Part::Keys { keys, about } => {
                    assert!(!about.is_empty(), "{keys:?}");
                    Some(keys)
                }
                _ => None,
            })
            .flatten()
            .map(|key| key.split(' ').next().unwrap().to_owned())
            .collect();
        let given = policy::load(Vec::new()).policy.entries();
        assert!(given.len() > 8, "{given:?}");
        let given = given.iter().map(|entry| entry.key.rsplit('.').next().unwrap());
        for key in given.chain(["paths", "resources", "dir", "project"]) {
            assert!(explained.iter().any(|explained| explained == key), "{key}: {explained:?}");
        }
    }

    #[test]
    fn the_example_is_a_policy() {
        let layer = policy::LayerSource {
            kind: policy::LayerKind::Committed,
            path: "example".into(),
            text: Ok(EXAMPLE.as_bytes().to_vec()),
        };
        assert_eq!(policy::load(vec![layer]).problems.len(), 0);
    }
}
