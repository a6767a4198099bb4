//! The one door to the environment: variables, the current directory, the machine's name.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{exit::Kind, failure::Failure, render::table::Screen};

/// A variable that is set and not empty.
#[expect(clippy::disallowed_methods, reason = "the one door to the environment")]
pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The commits that git is about to merge: during `pre-merge-commit` only the names of the variables `GITHEAD_<id>` tell.
pub(super) fn merged_heads() -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "the one door to the environment")]
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    // What is no object id is not git's. A parent less makes the guard stricter, never milder.
    let is_id = |name: &String| matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    names.filter_map(|name| name.strip_prefix("GITHEAD_").map(str::to_owned)).filter(is_id).collect()
}

/// Whether git is merging, as it tells the hooks that it runs then.
pub(super) fn is_merging() -> bool {
    let action = variable("GIT_REFLOG_ACTION").map(|action| action.to_string_lossy().into_owned());
    action.is_some_and(|action| ["merge", "pull"].iter().any(|word| action.split_whitespace().next() == Some(word)))
}

/// What `HOME` is said to be when there is none, and when it is empty. Nobody has such a home, so that it is known again.
const NO_HOME: &str = "/nonexistent/git-agentlock/unset";
const EMPTY_HOME: &str = "/nonexistent/git-agentlock/empty";

/// The environment of this process is one's own; what a command that is started from here gets back, `None` meaning that the variable is not set.
pub(super) fn to_give_back() -> Option<(&'static str, Option<&'static str>)> {
    let home = variable("HOME")?;
    match home.to_str() {
        Some(NO_HOME) => Some(("HOME", None)),
        Some(EMPTY_HOME) => Some(("HOME", Some(""))),
        _ => None,
    }
}

/// The user's own directory, when there is one.
pub(super) fn home() -> Option<PathBuf> {
    let home = variable("HOME").filter(|home| home != NO_HOME && home != EMPTY_HOME);
    home.map(PathBuf::from).filter(|home| home.is_absolute())
}

/// A directory that a variable names, by an absolute path as the XDG base directories have to be.
pub(super) fn directory(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute())
}

/// The directories of a list such as `PATH`; an empty one stands for the system's own.
pub(super) fn directories(name: &str) -> Vec<PathBuf> {
    variable(name).map(|list| std::env::split_paths(&list).collect()).unwrap_or_default()
}

/// The file of this program.
pub(super) fn program() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// A statically linked program must not look users up: the system's modules for that (LDAP, systemd) are made for another copy of the C library and crash
/// in it. The one lookup is for the home of who has no `HOME`; to git such a user has none, so here too, by starting once more with a home that is not there.
#[cfg(all(unix, target_feature = "crt-static"))]
pub(super) fn look_up_no_home(arguments: &[OsString]) {
    use std::os::unix::process::CommandExt as _;
    if variable("HOME").is_some() {
        return;
    }
    if let (Ok(program), Some((name, rest))) = (std::env::current_exe(), arguments.split_first()) {
        // It returns only when that cannot be done; then there is nothing better than to go on.
        #[expect(clippy::disallowed_methods, reason = "the one door to the environment")]
        let home = std::env::var_os("HOME").map_or(NO_HOME, |_| EMPTY_HOME);
        let _ = std::process::Command::new(program).arg0(name).args(rest).env("HOME", home).exec();
    }
}

#[cfg(not(all(unix, target_feature = "crt-static")))]
pub(super) fn look_up_no_home(_arguments: &[OsString]) {}

/// The current directory, or the one that `-C` names.
pub(super) fn working_directory(directory: Option<&Path>) -> Result<PathBuf, Failure> {
    #[expect(clippy::disallowed_methods, reason = "the one door to the environment")]
    let cwd = std::env::current_dir().map_err(|error| {
        Failure::new(Kind::Store, format!("the current directory cannot be told: {error}"))
            .hint("change to one that exists")
    })?;
    let Some(directory) = directory else { return Ok(cwd) };
    let wanted = cwd.join(directory);
    match std::fs::canonicalize(&wanted) {
        Ok(real) if real.is_dir() => Ok(real),
        found => {
            let cause = found.err().map_or_else(|| "it is not a directory".to_owned(), |error| error.to_string());
            let shown = git_agentlock::text::escape_path(directory);
            Err(Failure::invalid(format!("cannot change to '{shown}' (-C): {cause}"))
                .hint("give a directory that exists"))
        }
    }
}

/// Makes a directory the current one. Who is started in a directory that is gone can work in another one only from there.
pub(super) fn enter(directory: &Path) {
    // When that fails, what is to be done there fails and says so.
    let _ = std::env::set_current_dir(directory);
}

/// The terminal that stdout is, when it is one of which the width is known.
#[cfg(unix)]
pub(super) fn screen() -> Option<Screen> {
    let stdout = std::io::stdout();
    let size =
        std::io::IsTerminal::is_terminal(&stdout).then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    let columns = usize::from(size.ws_col);
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    let locale = locale.to_string_lossy().to_ascii_lowercase().replace('-', "");
    let is_dumb = variable("TERM").is_none_or(|term| term == "dumb");
    (columns > 0).then(|| Screen { columns, is_unicode: locale.contains("utf8") && !is_dumb })
}

#[cfg(not(unix))]
pub(super) fn screen() -> Option<Screen> {
    None
}

#[cfg(unix)]
pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
pub(super) fn host_name() -> String {
    variable("COMPUTERNAME").map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
