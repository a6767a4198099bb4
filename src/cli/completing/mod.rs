//! What could stand at the cursor of a command line, for the shells' completion.
//!
//! The scripts in `completions/` hand the command line over and show what comes back; all that has to be known is known here. clap's own engine
//! walks the command tree; what exists right now (leases, owners, named things, files) is in [`offers`]. Whoever presses TAB waits, so little
//! is read once the time is up, and nothing that goes wrong is ever told.

mod line;
mod offers;
mod tree;
mod words;

use std::{
    ffi::OsString,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use self::{line::Line, offers::World, words::Ours};
use super::environment;

/// For how long leases and directories are read. People notice 150 ms; what is left is for starting and for the shell.
const TIME_TO_READ: Duration = Duration::from_millis(80);
/// So many leases or entries of a directory are read however late it is: what is few is not left out because the machine was busy.
const READ_ANYWAY: usize = 500;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
    #[value(name = "powershell")]
    Power,
    Elvish,
}

/// Something that could stand there, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Offer {
    value: String,
    help: Option<String>,
}

/// The first line says who is to complete: `files` that the shell shall do it with names of files, `command` that it shall do it for the command
/// behind `--`, else it is empty. Then one offer a line: bash gets what is to be put in the place of the word, the others a value and, behind a
/// tab, what it is.
pub(crate) fn answer(shell: Shell, asked: &[OsString]) -> String {
    const NAMES_OF_FILES: &str = "files\n";
    let (line, last) = match (shell, asked) {
        (Shell::Bash, [raw, breaks]) => {
            let line = Line::of(raw.as_encoded_bytes(), breaks.as_encoded_bytes());
            let words: Option<Vec<OsString>> = line.words.into_iter().map(to_os_string).collect();
            (words.unwrap_or_default(), line.last)
        }
        (Shell::Bash, _) => return "\n".to_owned(),
        (_, words) => (words.to_vec(), None),
    };
    let Some(ours) = words::ours(&line, &alias) else { return "\n".to_owned() };
    if words::is_in_command(&ours.words) {
        return "command\n".to_owned();
    }
    let is_home = ours.words.last().is_some_and(|word| word.as_encoded_bytes().starts_with(b"~"));
    if is_home || (shell == Shell::Bash && last.is_none()) {
        return NAMES_OF_FILES.to_owned();
    }
    let mut answer = "\n".to_owned();
    for Offer { value, help } in offers_for(ours) {
        let text = match (&last, help) {
            (Some(last), _) => last.replacement(&value),
            (None, Some(help)) => Some(format!("{value}\t{help}")),
            (None, None) => Some(value),
        };
        if let Some(text) = text {
            answer.push_str(&text);
            answer.push('\n');
        }
    }
    answer
}

fn offers_for(ours: Ours) -> Vec<Offer> {
    let end = Instant::now().checked_add(TIME_TO_READ);
    let is_over = is_over(move || end.is_some_and(|end| Instant::now() >= end));
    let world = World::of(&ours.words, ours.directory, Box::new(is_over));
    tree::offers(&ours.words, &Arc::new(world))
}

/// Whether reading is to end, asked before each thing that is read.
fn is_over(time_is_up: impl Fn() -> bool) -> impl Fn() -> bool {
    let asked = AtomicUsize::new(0);
    move || asked.fetch_add(1, Ordering::Relaxed) >= READ_ANYWAY && time_is_up()
}

fn alias(dir: &Path, name: &str) -> Option<Vec<OsString>> {
    let dir = environment::working_directory(Some(dir).filter(|dir| !dir.as_os_str().is_empty())).ok()?;
    words::of_alias(&git_agentlock::git::alias(&dir, name)?.to_string())
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "not every system's arguments are bytes")]
fn to_os_string(bytes: Vec<u8>) -> Option<OsString> {
    Some(std::os::unix::ffi::OsStringExt::from_vec(bytes))
}

#[cfg(not(unix))]
fn to_os_string(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_few_is_read_however_late_it_is() {
        let is_over = is_over(|| true);
        assert_eq!((0..2 * READ_ANYWAY).take_while(|_| !is_over()).count(), READ_ANYWAY);
    }
}
