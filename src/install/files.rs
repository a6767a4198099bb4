//! Whole files of ours in directories of the user's: completions, man pages.
//!
//! The last line of each tells that it is ours, what was above it, and how many directories were made for it. So a file of any earlier version is
//! known again, and so is one that somebody has changed by hand since: that one, like every other file, is left as it is.

use std::path::Path;

use super::{InstallError, dir};

const MARK: &str = "Written by `git agentlock setup`, which also takes it out again: ";

/// A file that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'w> {
    /// Where.
    pub path: &'w Path,
    /// What is in it.
    pub text: &'w str,
    /// How a line begins that nobody reads.
    pub comment: &'w str,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Absent,
    /// What is wanted.
    Current,
    /// Ours, from another version.
    Older,
    /// Ours once, changed by hand.
    Edited,
    /// Somebody else's.
    Foreign,
}

/// A file of ours, as it was found.
struct Found {
    standing: Standing,
    whole: String,
    /// How many directories were made for it.
    made: usize,
}

/// What stands where a file is wanted.
///
/// # Errors
/// [`InstallError`] when that cannot be told.
pub fn look(wanted: &Wanted<'_>) -> Result<Standing, InstallError> {
    Ok(find(wanted)?.standing)
}

/// Puts a file where nothing is, or an older one of ours. Whatever else is there stays. Returns what stood there before.
///
/// # Errors
/// [`InstallError`]; then what was there is there still.
pub fn put(wanted: &Wanted<'_>, umask: u32) -> Result<Standing, InstallError> {
    let found = find(wanted)?;
    let (before, made) = match found.standing {
        Standing::Absent => (None, missing_directories(wanted.path)),
        Standing::Older => (Some(found.whole.as_str()), found.made),
        Standing::Current | Standing::Edited | Standing::Foreign => return Ok(found.standing),
    };
    dir::replace_text(wanted.path, before, Some(&marked(wanted, made)), umask)?;
    Ok(found.standing)
}

/// Takes a file of ours out, of whatever version, with the directories that were made for it and are empty now. Returns what stood there before.
///
/// # Errors
/// [`InstallError`]; then it is there still.
pub fn take_out(wanted: &Wanted<'_>) -> Result<Standing, InstallError> {
    let found = find(wanted)?;
    if matches!(found.standing, Standing::Current | Standing::Older) {
        dir::replace_text(wanted.path, Some(&found.whole), None, 0)?;
        dir::remove_empty(wanted.path.ancestors().skip(1).take(found.made));
    }
    Ok(found.standing)
}

fn find(wanted: &Wanted<'_>) -> Result<Found, InstallError> {
    let of_others = |standing| Found { standing, whole: String::new(), made: 0 };
    if dir::is_link(wanted.path) {
        return Ok(of_others(Standing::Foreign));
    }
    let whole = match dir::read_text(wanted.path) {
        Ok(None) => return Ok(of_others(Standing::Absent)),
        // What is no text was not written by us.
        Err(InstallError::NoText { .. }) => return Ok(of_others(Standing::Foreign)),
        whole => whole?.unwrap_or_default(),
    };
    let Some((text, sum, made)) = unmarked(&whole) else {
        let standing = if whole.contains(MARK) { Standing::Edited } else { Standing::Foreign };
        return Ok(of_others(standing));
    };
    let standing = match (sum == sum_of(text), text == wanted.text) {
        (false, _) => Standing::Edited,
        (true, true) => Standing::Current,
        (true, false) => Standing::Older,
    };
    Ok(Found { standing, made, whole })
}

fn marked(wanted: &Wanted<'_>, made: usize) -> String {
    format!("{}{} {MARK}{} {made}\n", wanted.text, wanted.comment, sum_of(wanted.text))
}

/// The text above the last line, and what that says.
fn unmarked(whole: &str) -> Option<(&str, &str, usize)> {
    let end = whole.strip_suffix('\n')?;
    let (text, _) = whole.split_at_checked(end.rfind('\n').map_or(0, |at| at.saturating_add(1)))?;
    let (_, said) = end.get(text.len()..)?.split_once(MARK)?;
    let (sum, made) = said.split_once(' ')?;
    Some((text, sum, made.parse().ok()?))
}

fn sum_of(text: &str) -> String {
    let mut sum = blake3::hash(text.as_bytes()).to_hex().to_string();
    sum.truncate(16);
    sum
}

fn missing_directories(path: &Path) -> usize {
    path.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists()).count()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn wanted<'w>(path: &'w Path, text: &'w str) -> Wanted<'w> {
        Wanted { path, text, comment: "#" }
    }

    #[test]
    fn what_is_put_is_known_again_and_goes_without_a_trace() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("x/y/a"), dir.path().join("x/y/b"));
        assert_eq!(put(&wanted(&a, "old\n"), 0o022).unwrap(), Standing::Absent);
        assert_eq!(put(&wanted(&b, ""), 0o022).unwrap(), Standing::Absent);
        assert_eq!(look(&wanted(&a, "old\n")).unwrap(), Standing::Current);
        assert_eq!(put(&wanted(&a, "new\n"), 0o022).unwrap(), Standing::Older);
        assert!(fs::read_to_string(&a).unwrap().starts_with("new\n# Written by"));
        assert_eq!(put(&wanted(&a, "new\n"), 0o022).unwrap(), Standing::Current);
        assert_eq!(take_out(&wanted(&b, "other\n")).unwrap(), Standing::Older);
        assert_eq!(take_out(&wanted(&a, "new\n")).unwrap(), Standing::Current);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "the directories are gone too");
        assert_eq!(take_out(&wanted(&a, "new\n")).unwrap(), Standing::Absent);
    }

    #[test]
    fn what_is_not_ours_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        put(&wanted(&path, "text\n"), 0o022).unwrap();
        let ours = fs::read_to_string(&path).unwrap();
        for (text, standing) in [
            (ours.replace("text", "mine"), Standing::Edited),
            (format!("{ours}more\n"), Standing::Edited),
            (ours.trim_end().to_owned(), Standing::Edited),
            ("somebody's\n".to_owned(), Standing::Foreign),
            (String::new(), Standing::Foreign),
        ] {
            fs::write(&path, &text).unwrap();
            assert_eq!(put(&wanted(&path, "text\n"), 0o022).unwrap(), standing, "{text}");
            assert_eq!(take_out(&wanted(&path, "text\n")).unwrap(), standing, "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(put(&wanted(&path, "text\n"), 0o022).unwrap(), Standing::Foreign);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(put(&wanted(&path, "text\n"), 0o022).unwrap(), Standing::Foreign);
    }

    #[test]
    fn directories_that_were_there_or_are_in_use_stay() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("old")).unwrap();
        let path = dir.path().join("old/new/f");
        put(&wanted(&path, "text\n"), 0o022).unwrap();
        fs::write(dir.path().join("old/new/other"), "").unwrap();
        take_out(&wanted(&path, "text\n")).unwrap();
        assert!(dir.path().join("old/new/other").exists());
        fs::remove_file(dir.path().join("old/new/other")).unwrap();
        fs::remove_dir(dir.path().join("old/new")).unwrap();
        put(&wanted(&path, "text\n"), 0o022).unwrap();
        take_out(&wanted(&path, "text\n")).unwrap();
        assert!(dir.path().join("old").is_dir() && !dir.path().join("old/new").exists());
    }
}
