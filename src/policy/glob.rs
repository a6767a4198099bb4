//! Lists of globs: over paths as in `.gitignore`, and over the names of resources.
//!
//! In a list the last glob that matches decides, and `!` makes it an exception. Other than in git, an exception
//! also works below a directory that an earlier glob matched: git gives that up for speed, which does not matter here.

use std::sync::OnceLock;

use bstr::{BStr, ByteSlice as _};
use gix_glob::{
    Pattern,
    pattern::{self, Case},
    wildmatch::Mode,
};

use crate::resource::{NamedId, RepoPath};

/// A list of globs. Compiled when first used: most commands never need them.
#[derive(Debug, Clone, Default)]
pub struct Globs {
    texts: Vec<String>,
    patterns: OnceLock<Vec<Pattern>>,
}

impl Globs {
    /// The texts must have passed [`check_path`] or [`check_name`]; others match nothing.
    pub(super) fn new(texts: Vec<String>) -> Self {
        Self { texts, patterns: OnceLock::new() }
    }

    /// The globs as they were written.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.texts
    }

    /// Whether the list is empty, and so matches nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether the list matches the file at `path`, itself or by a directory above it. Case matters.
    #[must_use]
    pub fn matches(&self, path: &RepoPath) -> bool {
        self.matches_path(path, false)
    }

    /// As [`Globs::matches`], for a directory.
    #[must_use]
    pub fn matches_directory(&self, path: &RepoPath) -> bool {
        self.matches_path(path, true)
    }

    fn matches_path(&self, path: &RepoPath, is_dir: bool) -> bool {
        self.decide(|pattern| {
            // `/` is the top, and all lies below it.
            pattern.text.is_empty()
                || matches_one(pattern, path.as_bytes(), is_dir)
                || directories_above(path).any(|above| matches_one(pattern, above, true))
        })
    }

    fn decide(&self, matches: impl Fn(&Pattern) -> bool) -> bool {
        let patterns = self.patterns.get_or_init(|| self.texts.iter().filter_map(gix_glob::parse).collect());
        patterns.iter().rfind(|pattern| matches(pattern)).is_some_and(|pattern| !pattern.is_negative())
    }

    /// Whether the list, as one of globs over `TYPE:ID`, matches `name`. A slash means nothing here, and `*` matches
    /// it.
    pub(super) fn matches_name(&self, name: &NamedId) -> bool {
        let name = format!("{}:{}", name.kind(), name.id());
        let matches = |glob: &&String| {
            let glob = glob.strip_prefix('!').unwrap_or(glob);
            gix_glob::wildmatch(glob.into(), name.as_str().into(), Mode::empty())
        };
        self.texts.iter().rfind(matches).is_some_and(|glob| !glob.starts_with('!'))
    }
}

fn directories_above(path: &RepoPath) -> impl Iterator<Item = &BStr> {
    let bytes = path.as_bytes();
    bytes.find_iter(b"/").filter_map(|at| bytes.get(..at)).map(|above| above.as_bstr())
}

fn matches_one(pattern: &Pattern, path: &BStr, is_dir: bool) -> bool {
    if let Some(parts) = with_several_any_depths(pattern.text.as_bstr()) {
        return (is_dir || !pattern.mode.contains(pattern::Mode::MUST_BE_DIR))
            && matches_parts(&parts, &path.split(|b| *b == b'/').map(BStr::new).collect::<Vec<_>>());
    }
    let basename = path.rfind_byte(b'/').map(|at| at.saturating_add(1));
    pattern.matches_repo_relative_path(path, basename, Some(is_dir), Case::Sensitive, Mode::NO_MATCH_SLASH_LITERAL)
}

/// The parts of a glob between its slashes, when more than one of them is `**`. Such a glob is not left to gix: as git does, it would try every way
/// of dividing a path among them, which takes for ever on a path that is made for it.
fn with_several_any_depths(glob: &BStr) -> Option<Vec<&BStr>> {
    glob.find_iter(b"**").nth(1)?;
    let mut parts = Vec::new();
    let (mut part, mut rest) = (glob.as_bytes(), glob.as_bytes());
    while let Some(next) = behind_one(rest) {
        let is_slash = matches!(rest, [b'/', ..] | [b'\\', b'/', ..]);
        if is_slash {
            parts.push(part.get(..part.len().saturating_sub(rest.len())).unwrap_or_default().as_bstr());
            part = next;
        }
        rest = next;
    }
    parts.push(part.as_bstr());
    parts.iter().filter(|part| is_any_depth(part)).nth(1).is_some().then_some(parts)
}

fn is_any_depth(part: &BStr) -> bool {
    part.len() > 1 && part.iter().all(|b| *b == b'*')
}

/// What stands between two `**` is of a fixed length. So it is enough to find it where it first can be.
fn matches_parts(parts: &[&BStr], path: &[&BStr]) -> bool {
    let matches = |parts: &[&BStr], path: &[&BStr]| {
        let mut pairs = parts.iter().zip(path);
        pairs.all(|(part, name)| gix_glob::wildmatch(part, name, Mode::NO_MATCH_SLASH_LITERAL))
    };
    let mut path = path;
    let mut pieces = parts.split(|part| is_any_depth(part)).enumerate().peekable();
    while let Some((number, piece)) = pieces.next() {
        let last_start = path.len().checked_sub(piece.len());
        let Some(last_start) = last_start else { return false };
        let mut starts = match (number, pieces.peek()) {
            (0, _) => 0..=0,
            // A `**` at the end wants something.
            (_, None) if piece.is_empty() => return !path.is_empty(),
            (_, None) => last_start..=last_start,
            _ => 0..=last_start,
        };
        let Some(start) = starts.find(|start| path.get(*start..).is_some_and(|path| matches(piece, path))) else {
            return false;
        };
        path = path.get(start.saturating_add(piece.len())..).unwrap_or_default();
    }
    true
}

/// Why `glob` could never match a path; a glob without effect would be a typo that nobody hears of.
pub(super) fn check_path(glob: &str) -> Result<(), &'static str> {
    check(glob)?;
    let rest = glob.strip_prefix('!').unwrap_or(glob);
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if !rest.is_empty() && rest.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("is relative to the top of the work tree, without '.', '..' or '//'");
    }
    Ok(())
}

/// Why `glob` could never match a `TYPE:ID`.
pub(super) fn check_name(glob: &str) -> Result<(), &'static str> {
    check(glob)?;
    if !glob.contains([':', '*', '?', '[']) {
        return Err("matches no TYPE:ID, such as 'plan:*'");
    }
    Ok(())
}

fn check(glob: &str) -> Result<(), &'static str> {
    let rest = glob.strip_prefix('!').unwrap_or(glob);
    if rest.bytes().all(|b| b.is_ascii_whitespace()) {
        Err("is empty")
    } else if glob.len() > RepoPath::MAX_BYTES {
        Err("is longer than any path")
    } else if glob.contains('\0') {
        Err("contains a NUL byte, which no path does")
    } else if !is_complete(glob.as_bytes()) {
        Err("ends inside '[…]' or after a '\\'")
    } else {
        Ok(())
    }
}

/// Whether every `[` has its `]`, and every `\` something behind it.
fn is_complete(glob: &[u8]) -> bool {
    let mut rest = glob;
    while let Some(next) = behind_one(rest) {
        rest = next;
    }
    rest.is_empty()
}

/// What follows the first character, escaped one or class; `None` at the end, and before what is not complete.
fn behind_one(glob: &[u8]) -> Option<&[u8]> {
    match glob {
        [] | [b'\\'] => None,
        [b'[', b'!' | b'^', class @ ..] | [b'[', class @ ..] => behind_class(class),
        [b'\\', _, rest @ ..] | [_, rest @ ..] => Some(rest),
    }
}

/// What follows the `]` that ends a class. The first character always belongs to the class, be it a `]`.
fn behind_class(class: &[u8]) -> Option<&[u8]> {
    let mut rest = if let [b'\\', _, rest @ ..] = class { rest } else { class.get(1..)? };
    loop {
        rest = match rest {
            [] => return None,
            [b']', rest @ ..] => return Some(rest),
            [b'\\', _, rest @ ..] | [_, rest @ ..] => rest,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(texts: &[&str]) -> Globs {
        for text in texts {
            assert_eq!(check_path(text), Ok(()), "{text}");
        }
        Globs::new(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    fn file(globs: &[&str], path: &str) -> bool {
        self::globs(globs).matches(&RepoPath::new(path).expect("normal"))
    }

    fn directory(globs: &[&str], path: &str) -> bool {
        self::globs(globs).matches_directory(&RepoPath::new(path).expect("normal"))
    }

    #[test]
    fn a_glob_without_a_slash_matches_the_name_at_any_depth() {
        for path in ["Cargo.lock", "a/Cargo.lock", "a/b/Cargo.lock"] {
            assert!(file(&["Cargo.lock"], path) && file(&["*.lock"], path) && file(&["**/Cargo.lock"], path), "{path}");
        }
        assert!(!file(&["Cargo.lock"], "Cargo.lock.orig"));
        assert!(!file(&["cargo.lock"], "Cargo.lock"), "case matters");
    }

    #[test]
    fn a_slash_ties_a_glob_to_the_top() {
        assert!(file(&["/a.rs"], "a.rs") && !file(&["/a.rs"], "src/a.rs"));
        assert!(file(&["src/*.rs"], "src/a.rs") && !file(&["src/*.rs"], "x/src/a.rs"));
        assert!(!file(&["src/*.rs"], "src/a/b.rs"), "a star stops at a slash");
        assert!(file(&["src/**/b.rs"], "src/b.rs") && file(&["src/**/b.rs"], "src/x/y/b.rs"));
    }

    #[test]
    fn a_directory_takes_all_below_it() {
        for glob in ["gen", "gen/", "/gen/", "gen/**", "ge?"] {
            assert!(file(&[glob], "gen/deep/a.rs"), "{glob}");
        }
        assert!(directory(&["gen/"], "gen") && directory(&["gen/"], "src/gen") && directory(&["gen/"], "gen/deep"));
        assert!(!file(&["gen/"], "gen"), "a trailing slash means a directory");
        assert!(!file(&["gen/"], "generated/a"), "components are compared");
        assert!(!directory(&["src/gen/"], "src"), "what contains a match does not match");
    }

    #[test]
    fn the_last_glob_that_matches_decides() {
        let list = &["docs/", "!docs/api.md", "docs/api.md/x"];
        assert!(file(list, "docs/a.md") && !file(list, "docs/api.md") && file(list, "docs/api.md/x"));
        assert!(!file(&["*.md", "!docs/"], "docs/a.md"), "an exception takes all below it too");
        assert!(file(&["!a", "a"], "a") && !file(&[], "a"));
    }

    #[test]
    fn the_top_matches_what_matches_anything() {
        for glob in ["/", "*", "**"] {
            assert!(directory(&[glob], "") && file(&[glob], "a/b"), "{glob}");
        }
        assert!(!directory(&["src/"], "") && !directory(&["*.rs"], ""));
        assert!(!file(&["*/"], "a") && file(&["*/"], "a/b"));
    }

    #[test]
    fn paths_are_bytes() {
        let path = RepoPath::new(&b"caf\xe9/b.rs"[..]).expect("normal");
        assert!(globs(&["caf?/"]).matches(&path) && globs(&["*.rs"]).matches(&path));
    }

    #[test]
    fn names_are_matched_whole_and_a_star_matches_anything() {
        let matches = |globs: &[&str], name: &str| {
            Globs::new(globs.iter().map(|text| (*text).to_owned()).collect())
                .matches_name(&name.parse().expect("named"))
        };
        assert!(matches(&["plan:*"], "plan:42") && matches(&["plan:*"], "plan:a/b:c") && matches(&["*"], "git:index"));
        assert!(matches(&["url:*/"], "url:a/") && !matches(&["url:*/"], "url:a"), "a slash is a character");
        assert!(!matches(&["plan:*"], "plans:1") && !matches(&["plan:4"], "plan:42"));
        assert!(!matches(&["plan:*", "!plan:42"], "plan:42") && matches(&["plan:*", "!plan:42"], "plan:43"));
    }

    #[test]
    fn a_glob_that_can_never_match_is_told() {
        for bad in ["", " ", "!", "./a", "../a", "a/../b", "a//b", "//a", "a\0", "[a", "a\\", "[]", "[!]", "[a\\]"] {
            assert!(check_path(bad).is_err(), "{bad:?}");
        }
        for good in ["/", "!/a/", "[]]", "[!]a]", "[!!]", "[[:alpha:]]", "\\[", "a b", "#a", "\\!a", "[\\]]", "..."] {
            assert_eq!(check_path(good), Ok(()), "{good:?}");
        }
        assert!(check_path(&"a".repeat(4097)).is_err());
        assert!(check_name("plan").is_err() && check_name("*").is_ok() && check_name("git:index").is_ok());
    }

    proptest::proptest! {
        /// On what is small, gix tries every way in no time.
        #[test]
        fn globs_with_several_any_depths_match_as_in_git(
            parts in proptest::collection::vec(proptest::sample::select(vec!["**", "**", "***", "a", "b", "*", "?", "a*", "[a/]", "!b", "**a"]), 2..7),
            end in proptest::sample::select(vec!["", "/"]),
            path in "([ab]{1,2}/){0,5}[ab]{1,2}",
            is_dir: bool,
        ) {
            let glob = format!("{}{end}", parts.join("/"));
            if let Some(pattern) = gix_glob::parse(&glob) {
                let path: &BStr = path.as_str().into();
                let basename = path.rfind_byte(b'/').map(|at| at.saturating_add(1));
                let by_gix = pattern.matches_repo_relative_path(path, basename, Some(is_dir), Case::Sensitive, Mode::NO_MATCH_SLASH_LITERAL);
                proptest::prop_assert_eq!(matches_one(&pattern, path, is_dir), by_gix, "{}", glob);
            }
        }

        #[test]
        fn no_glob_panics(glob in "[!/\\[\\]\\\\*?:^a-c-]{0,24}", path in "([a-c\\[\\]*]{1,3}/){0,3}[a-c]{1,3}") {
            let globs = Globs::new(vec![glob]);
            let path = RepoPath::new(path).expect("normal");
            let _ = (globs.matches(&path), globs.matches_directory(&path), globs.matches_name(&"ab:c".parse().expect("named")));
        }
    }
}
