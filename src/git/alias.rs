//! What else this program is called in git.

use std::path::Path;

use bstr::BString;

use super::{open_options, upward_options};

/// What an alias of git stands for, seen from a directory; `None` when there is no such alias, or that cannot be told.
#[must_use]
pub fn alias(dir: &Path, name: &str) -> Option<BString> {
    let key = format!("alias.{name}");
    let trust = gix::sec::trust::Mapping { full: open_options(), reduced: open_options() };
    match gix::ThreadSafeRepository::discover_opts(dir, upward_options(), trust) {
        Ok(repository) => repository.to_thread_local().config_snapshot().string(key.as_str()),
        Err(_) => gix::config::File::from_globals().ok()?.string(key.as_str()),
    }
}
