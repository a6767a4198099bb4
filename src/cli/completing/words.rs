//! Which part of a command line is ours: behind `git-agentlock`, or behind `git`, its options, and our name or an alias for it.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// Options of git, before its command, that are followed by a value of their own.
const WITH_VALUE: [&str; 7] =
    ["-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];

/// What is ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ours {
    /// The words behind our name; the last is the one at the cursor.
    pub(super) words: Vec<OsString>,
    /// Where git was told to go before (`-C`).
    pub(super) directory: PathBuf,
}

/// Takes a command line apart; `None` when the cursor is not behind our name. `alias` tells what an alias of git stands for, seen from a directory.
pub(super) fn ours(line: &[OsString], alias: &dyn Fn(&Path, &str) -> Option<Vec<OsString>>) -> Option<Ours> {
    let (program, rest) = line.split_first()?;
    let mut directory = PathBuf::new();
    let ours = |words: &[OsString], directory| (!words.is_empty()).then(|| Ours { words: words.to_vec(), directory });
    if is_called(program, "git-agentlock") {
        return ours(rest, directory);
    }
    let mut words = rest;
    while let Some((word, after)) = words.split_first() {
        if after.is_empty() {
            break;
        }
        words = after;
        if word == "-C" {
            let (to, after) = after.split_first()?;
            directory.push(to);
            words = after;
        } else if WITH_VALUE.iter().any(|option| word == option) {
            words = after.get(1..)?;
        } else if word == "agentlock" {
            return ours(after, directory);
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            let meant = alias(&directory, word.to_str()?);
            if let Some((name, more)) = meant.as_deref().and_then(<[_]>::split_first)
                && name == "agentlock"
            {
                return ours(&[more, after].concat(), directory);
            }
            break;
        }
    }
    // Completed under another name, as a shell's own alias or function.
    (!is_called(program, "git")).then_some(())?;
    ours(rest, PathBuf::new())
}

fn is_called(program: &OsStr, name: &str) -> bool {
    Path::new(program).file_stem().is_some_and(|stem| stem == name)
}

/// Whether the cursor is behind `run … --`, in somebody else's command line.
pub(super) fn is_in_command(words: &[OsString]) -> bool {
    let before = words.split_last().map_or(&[][..], |(_, before)| before);
    let ours = before.iter().take_while(|word| *word != "--").count();
    before.len() > ours && before.iter().take(ours).any(|word| word == "run")
}

/// What an alias says that git is to run: our name and what comes behind it, when it is about us.
pub(super) fn of_alias(text: &str) -> Option<Vec<OsString>> {
    let words = super::line::Line::of(text.trim_start_matches('!').as_bytes(), b"").words;
    let mut words = words.into_iter().filter_map(|word| String::from_utf8(word).ok()).filter(|word| !word.is_empty());
    let mut first = words.next()?;
    if first == "git" {
        first = words.next()?;
    }
    let name = first.strip_prefix("git-").unwrap_or(&first);
    (name == "agentlock").then(|| std::iter::once(name.to_owned()).chain(words).map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<(String, String)> {
        let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let alias = |_: &Path, name: &str| match name {
            "lock" => of_alias("agentlock"),
            "take" => of_alias("!git agentlock acquire --ttl '1h 30m'"),
            "st" => of_alias("status"),
            _ => None,
        };
        let found = ours(&line, &alias)?;
        let words: Vec<String> = found.words.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
        Some((words.join("|"), found.directory.to_str().unwrap().to_owned()))
    }

    #[test]
    fn what_is_behind_our_name_is_ours() {
        let found = |words: &str, directory: &str| Some((words.to_owned(), directory.to_owned()));
        assert_eq!(split("git-agentlock acq"), found("acq", ""));
        assert_eq!(split("/x/git-agentlock acq a"), found("acq|a", ""));
        assert_eq!(split("git agentlock "), found("", ""));
        assert_eq!(split("git -C d -C e -c x=y --git-dir=z -p agentlock acquire "), found("acquire|", "d/e"));
        assert_eq!(split("git --work-tree agentlock agentlock rel"), found("rel", ""));
        assert_eq!(split("git lock acq"), found("acq", ""));
        assert_eq!(split("git -C d take "), found("acquire|--ttl|1h 30m|", "d"));
        assert_eq!(split("al acq"), found("acq", ""));
        assert_eq!(split("g agentlock acq"), found("acq", ""));
    }

    #[test]
    fn all_else_is_not() {
        for line in
            ["", "git", "git agentlock", "git st ", "git -C", "git -C d", "git status agentlock ", "git-agentlock"]
        {
            assert_eq!(split(line), None, "{line}");
        }
    }
}
