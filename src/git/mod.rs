//! Where a path belongs: which repository, which work tree, which path in it.
//!
//! The one module that uses gix (but for the globs of the policy); none of its types leave it. No git process is started. What `GIT_*` variables mean is
//! gix' business; whether they count is decided in [`locate`].

mod alias;
pub mod attributes;
pub mod changes;
mod hooks;
pub mod locate;
mod path;
mod plain;
pub mod reftable;
mod unlocatable;

use std::{
    io,
    path::{Path, PathBuf},
};

pub use self::{
    alias::alias,
    hooks::{Configured, HooksPath},
};
use crate::resource::RepoPath;
use bstr::BString;
use gix::{
    discover::upwards,
    sec::{Permission, trust::DefaultForLevel as _},
};

/// What of a repository matters for locks. All paths are real ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Repository {
    /// The git directory that all work trees share; the store lies in it.
    pub common_dir: PathBuf,
    /// The git directory of this work tree.
    pub git_dir: PathBuf,
    /// The top of the work tree; `None` in a bare repository.
    pub work_tree: Option<PathBuf>,
    /// The id of a linked work tree (`.git/worktrees/ID`); empty for the main one.
    pub work_tree_id: BString,
    /// `core.ignorecase`.
    pub ignore_case: bool,
    /// `core.precomposeunicode`.
    pub precompose_unicode: bool,
}

impl Repository {
    /// The directories from one that this is the repository of up to the top of the work tree, both included.
    fn way_up_from<'d>(&'d self, dir: &'d Path) -> impl Iterator<Item = &'d Path> {
        let is_gits = dir.starts_with(&self.git_dir) || dir.starts_with(&self.common_dir);
        let top = self.work_tree.as_deref().filter(|_| !is_gits);
        dir.ancestors().take_while(move |above| top.is_some_and(|top| above.starts_with(top)))
    }

    /// The ids of all work trees, the main one's (empty) first. Best effort: what cannot be listed is left out.
    #[must_use]
    pub fn all_work_tree_ids(&self) -> Vec<BString> {
        let linked = std::fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten();
        let linked = linked.filter_map(|entry| crate::resource::path_bytes(Path::new(&entry.ok()?.file_name())));
        std::iter::once(BString::default()).chain(linked).collect()
    }
}

/// Why a repository cannot be used. None of these means that there is none.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// It belongs to somebody else, and git refuses to use it.
    #[error("git does not trust the repository at {}: {reason}", crate::text::escape_path(path))]
    NotTrusted {
        /// Where it was looked for.
        path: PathBuf,
        /// What git's rules say.
        reason: String,
    },
    /// It is damaged, or of a kind that this program does not know.
    #[error("the repository at {} cannot be opened: {reason}", crate::text::escape_path(path))]
    Unusable {
        /// Where it was looked for.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A path of it cannot be resolved.
    #[error("cannot resolve {}: {source}", crate::text::escape_path(path))]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The repository that `dir` lies in, found from the directory alone; `Ok(None)` when there is none.
///
/// # Errors
/// [`RepositoryError`] when there is one that cannot be used.
pub fn discover(dir: &Path, ignore_environment: bool) -> Result<Option<Repository>, RepositoryError> {
    if let Some(plain) = plain::repository(dir, upward_options()) {
        return Ok(Some(plain));
    }
    let mut options = open_options();
    if ignore_environment {
        options = options.modify_permissions(|permissions| permissions.env.git_prefix = Permission::Deny);
    }
    let trust = gix::sec::trust::Mapping { full: options.clone(), reduced: options };
    usable(dir, gix::ThreadSafeRepository::discover_opts(dir, upward_options(), trust), None)
}

/// The repository that `GIT_DIR`, `GIT_WORK_TREE` and their like describe, seen from `dir`.
///
/// # Errors
/// [`RepositoryError`] when the variables describe none that can be used.
pub fn from_environment(dir: &Path, environment: &locate::Environment) -> Result<Option<Repository>, RepositoryError> {
    let mut options = open_options();
    if environment.names_git_dir {
        options = options.bail_if_untrusted(false).filter_config_section(|_| true);
    }
    let trust = gix::sec::trust::Mapping { full: options.clone(), reduced: options };
    let common_dir = environment.common_dir.as_deref();
    let opened = gix::ThreadSafeRepository::discover_with_environment_overrides_opts(dir, upward_options(), trust);
    usable(dir, opened, common_dir.map(|common| dir.join(common)).as_deref())
}

/// The first few other repositories below a directory (not itself one of them), as paths. Best effort: what cannot be listed is passed over.
#[must_use]
pub fn repositories_below(dir: &Path, limit: usize) -> Vec<PathBuf> {
    /// Whoever has more directories than this in one area will not miss the note.
    const MAX_DIRECTORIES: usize = 20_000;
    let mut found = Vec::new();
    let mut to_visit = vec![dir.to_owned()];
    let mut visited = 0_usize;
    while let Some(current) = to_visit.pop() {
        visited = visited.saturating_add(1);
        if found.len() >= limit || visited > MAX_DIRECTORIES {
            break;
        }
        let mut below = Vec::new();
        let mut is_repository = false;
        for entry in std::fs::read_dir(&current).into_iter().flatten().flatten() {
            if entry.file_name() == gix::discover::DOT_GIT_DIR {
                is_repository = current != dir;
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(entry.path());
            }
        }
        if is_repository {
            found.push(current);
        } else {
            to_visit.extend(below);
        }
    }
    found.sort();
    found
}

trait ModifyPermissions {
    fn modify_permissions(self, change: impl FnOnce(&mut gix::open::Permissions)) -> Self;
}

impl ModifyPermissions for gix::open::Options {
    fn modify_permissions(self, change: impl FnOnce(&mut gix::open::Permissions)) -> Self {
        let mut permissions = gix::open::Permissions::default_for_level(gix::sec::Trust::Full);
        change(&mut permissions);
        self.permissions(permissions)
    }
}

/// As git does: a repository of somebody else is refused unless `safe.directory` names it.
fn open_options() -> gix::open::Options {
    gix::open::Options::default_for_level(gix::sec::Trust::Full).bail_if_untrusted(true)
}

fn upward_options() -> upwards::Options<'static> {
    upwards::Options { match_ceiling_dir_or_error: false, ..upwards::Options::default() }.apply_environment()
}

fn usable(
    dir: &Path,
    opened: gix::Result<gix::ThreadSafeRepository>,
    common_dir: Option<&Path>,
) -> Result<Option<Repository>, RepositoryError> {
    let repository = match opened {
        Ok(repository) => repository.to_thread_local(),
        Err(error) if is_none_there(&error) => return Ok(None),
        Err(error) => return Err(why_not(dir, &error)),
    };
    let real = |path: &Path| {
        std::fs::canonicalize(path).map_err(|source| RepositoryError::Io { path: path.to_owned(), source })
    };
    let unusable = |reason: String| RepositoryError::Unusable { path: dir.to_owned(), reason };
    if let Some(name) = unknown_extension(&repository) {
        return Err(unusable(format!("unknown repository extension '{}'", crate::text::escape(name.as_bytes()))));
    }
    let git_dir = real(repository.git_dir())?;
    let common_dir = real(common_dir.unwrap_or_else(|| repository.common_dir()))?;
    configuration_was_read(&repository, &common_dir)?;
    let work_tree = match configured_work_tree(&repository).filter(|_| git_dir == common_dir) {
        Some(work_tree) => Some(real(&git_dir.join(work_tree))?),
        None => repository.workdir().map(real).transpose()?,
    };
    let config = repository.config_snapshot();
    Ok(Some(Repository {
        work_tree_id: work_tree_id(&git_dir, &common_dir),
        common_dir,
        git_dir,
        work_tree,
        ignore_case: local_boolean(config.plumbing(), "ignorecase"),
        precompose_unicode: local_boolean(config.plumbing(), "precomposeunicode"),
    }))
}

/// The work tree that `core.worktree` names in the repository's own configuration, unless a variable names another. gix heeds it only where `core.bare` is
/// there too; git does so anyhow.
fn configured_work_tree(repository: &gix::Repository) -> Option<PathBuf> {
    use gix::config::Source;
    let config = repository.config_snapshot();
    let core = || config.plumbing().sections_by_name("core").into_iter().flatten();
    let is_told =
        core().any(|section| section.meta().source == Source::EnvOverride && section.contains_value_name("worktree"));
    // Not what is included: git looks for this one in the file itself.
    let is_own =
        |meta: &gix::config::file::Metadata| matches!(meta.source, Source::Local | Source::Worktree) && meta.level == 0;
    let own = core().filter(|section| is_own(section.meta()));
    let named = own.filter_map(|section| section.value("worktree")).last()?;
    let is_bare = config.boolean("core.bare") == Some(true);
    gix::path::from_bstring(named).ok().filter(|_| !is_told && !is_bare)
}

/// The id of a linked work tree; empty for a main one.
fn work_tree_id(git_dir: &Path, common_dir: &Path) -> BString {
    let id = git_dir.strip_prefix(common_dir.join("worktrees")).ok();
    id.and_then(crate::resource::path_bytes).unwrap_or_default()
}

/// gix passes over a configuration that cannot be read. Git does not, and what stands there decides which names are one file.
fn configuration_was_read(repository: &gix::Repository, common_dir: &Path) -> Result<(), RepositoryError> {
    let config = repository.config_snapshot();
    if config.plumbing().sections().any(|section| section.meta().source == gix::config::Source::Local) {
        return Ok(());
    }
    let path = common_dir.join("config");
    match std::fs::read(&path) {
        Ok(text) if !text.contains(&b'[') => Ok(()),
        Ok(_) => Err(RepositoryError::Unusable { path, reason: "it could not be read".to_owned() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(RepositoryError::Io { path, source }),
    }
}

/// A `core` boolean of the repository's own configuration. It decides which names are one file, so it must be the same for all who share
/// the repository: what a user or a single work tree has set elsewhere does not count. `git init` writes it there.
fn local_boolean(config: &gix::config::File, key: &str) -> bool {
    let sections = config.sections_by_name("core").into_iter().flatten();
    let local = sections.filter(|section| section.meta().source == gix::config::Source::Local);
    let values = local.filter(|section| section.contains_value_name(key)).map(|section| section.value_implicit(key));
    match values.last().flatten() {
        None => false,
        // A key without a value is true.
        Some(None) => true,
        Some(Some(value)) => gix::config::Boolean::try_from(value).is_ok_and(|value| value.0),
    }
}

/// An extension that git itself refuses: of a repository of format version 1, all it does not know.
fn unknown_extension(repository: &gix::Repository) -> Option<String> {
    const KNOWN: [&str; 9] = [
        "noop",
        "noop-v1",
        "preciousobjects",
        "partialclone",
        "worktreeconfig",
        "objectformat",
        "compatobjectformat",
        "refstorage",
        "relativeworktrees",
    ];
    let config = repository.config_snapshot();
    if config.integer("core.repositoryFormatVersion") != Some(1) {
        return None;
    }
    let sections = config.plumbing().sections_by_name("extensions")?;
    let local = sections.filter(|section| section.meta().source == gix::config::Source::Local);
    let mut names = local.flat_map(|section| section.value_names().collect::<Vec<_>>());
    names.find(|name| !KNOWN.contains(&name.to_ascii_lowercase().as_str()))
}

fn is_none_there(error: &gix::Error) -> bool {
    matches!(
        error.downcast_any_ref::<upwards::Error>(),
        Some(
            upwards::Error::NoGitRepository { .. }
                | upwards::Error::NoGitRepositoryWithinCeiling { .. }
                | upwards::Error::NoGitRepositoryWithinFs { .. }
        )
    )
}

fn why_not(dir: &Path, error: &gix::Error) -> RepositoryError {
    let (path, reason) = (dir.to_owned(), first_line(error));
    // What gix says of a repository that is there and belongs to somebody else. It names the path that `safe.directory` has to name.
    let cause = error.probable_cause().to_string();
    if let Some((about, _)) = cause.rsplit_once("\" is considered unsafe as it's not owned by the current user") {
        let path = about.split_once('"').map_or(path, |(_, named)| named.into());
        return RepositoryError::NotTrusted { path, reason: "it is owned by somebody else".to_owned() };
    }
    let is_untrusted =
        matches!(error.downcast_any_ref::<upwards::Error>(), Some(upwards::Error::NoTrustedGitRepository { .. }))
            || error.to_string().contains("safe.directory")
            || error.probable_cause().to_string().contains("safe.directory");
    if is_untrusted { RepositoryError::NotTrusted { path, reason } } else { RepositoryError::Unusable { path, reason } }
}

/// What is at the bottom of an error, on one line, safe to show.
fn first_line(error: &gix::Error) -> String {
    let cause = error.probable_cause().to_string();
    crate::text::escape(cause.lines().next().unwrap_or_default().as_bytes())
}

/// A path as a repository with `core.precomposeunicode` spells it; others it leaves as they are.
#[must_use]
pub fn composed(path: &RepoPath) -> RepoPath {
    let bytes = gix::utils::str::precompose_bstr(path.as_bytes().into()).into_owned();
    // Composing makes neither slashes nor dots.
    RepoPath::new(bytes).unwrap_or_else(|_| path.clone())
}

/// The paths in a file for `--pathspec-from-file`, as git reads it: one a line, perhaps quoted, or with `nul` one up to each NUL, as it is.
///
/// # Errors
/// The number, from 1, of the first line whose quoting is broken.
pub fn paths_in(file: &bstr::BStr, nul: bool) -> Result<Vec<BString>, usize> {
    use bstr::ByteSlice as _;
    if nul {
        return Ok(file.split(|b| *b == 0).filter(|path| !path.is_empty()).map(BString::from).collect());
    }
    let mut paths = Vec::new();
    for (number, line) in file.lines().enumerate() {
        if !line.is_empty() {
            paths.push(unquote(line.as_bstr()).ok_or(number.saturating_add(1))?);
        }
    }
    Ok(paths)
}

/// Undoes git's C-style quoting (`"caf\303\251"`), as in the lines of `--pathspec-from-file`. What does not begin with a quote is itself.
///
/// Returns `None` when the quoting is broken.
#[must_use]
pub fn unquote(line: &bstr::BStr) -> Option<BString> {
    if !line.starts_with(b"\"") {
        return Some(line.to_owned());
    }
    let (path, consumed) = gix::quote::ansi_c::undo(line).ok()?;
    (consumed == line.len()).then(|| path.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pathspec_files_are_read_as_git_reads_them() {
        let lines = |text: &str| paths_in(text.into(), false);
        assert_eq!(lines("a\r\nb c\n\n\"caf\\303\\251\"\n"), Ok(vec!["a".into(), "b c".into(), "café".into()]));
        assert_eq!(lines("a\n\"b\n"), Err(2));
        assert_eq!(paths_in(b"a\nb\0\"c\"\0".into(), true), Ok(vec!["a\nb".into(), "\"c\"".into()]));
        assert_eq!(lines(""), Ok(vec![]));
    }
}
