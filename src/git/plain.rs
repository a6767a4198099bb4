//! The repository that needs no second look: one's own, with a work tree and nothing unusual in its configuration.
//!
//! gix opens a repository for all that can be done with one: it reads every configuration file there is, looks for packs, replaced objects and refs. To
//! tell where a file belongs takes none of that. So gix finds the repository, and reads the one file that decides; whatever is unusual is left
//! to the whole way, as is everything that fails: the reasons are told there.

use std::path::{Path, PathBuf};

use gix::{
    config::{File, Source, file::Metadata},
    discover::{path::from_plain_file, upwards, upwards_opts},
    sec::Trust,
};

use super::{Repository, local_boolean, work_tree_id};

/// The ordinary repository that `dir` lies in; `None` when it has to be opened to tell.
pub(super) fn repository(dir: &Path, options: upwards::Options<'_>) -> Option<Repository> {
    // Trusted: git directory and work tree are one's own, so that no `safe.directory` is asked for.
    let (found, Trust::Full) = upwards_opts(dir, options).ok()? else { return None };
    let (git_dir, work_tree) = found.into_repository_and_work_tree_directories();
    let (git_dir, work_tree) = real(&git_dir, &work_tree?)?;
    let common_dir = match from_plain_file(&git_dir.join("commondir")) {
        None => git_dir.clone(),
        Some(common) => std::fs::canonicalize(git_dir.join(common.ok()?)).ok()?,
    };
    let text = std::fs::read(common_dir.join("config")).ok()?;
    let config = File::from_bytes_no_includes(&text, Metadata::from(Source::Local), Default::default()).ok()?;
    is_ordinary(&config).then(|| Repository {
        work_tree_id: work_tree_id(&git_dir, &common_dir),
        common_dir,
        git_dir,
        work_tree: Some(work_tree),
        ignore_case: local_boolean(&config, "ignorecase"),
        precompose_unicode: false,
    })
}

/// The real paths of both. A directory that lies in the work tree as itself, not by a link, has the real path that it has there.
fn real(git_dir: &Path, work_tree: &Path) -> Option<(PathBuf, PathBuf)> {
    let real_tree = std::fs::canonicalize(work_tree).ok()?;
    let inside = git_dir.strip_prefix(work_tree).ok().filter(|inside| *inside == Path::new(".git"));
    let in_tree = inside.map(|inside| real_tree.join(inside));
    let in_tree = in_tree.filter(|dir| std::fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir()));
    let real_git_dir = in_tree.map_or_else(|| std::fs::canonicalize(git_dir).ok(), Some)?;
    Some((real_git_dir, real_tree))
}

/// Whether nothing in a repository's configuration changes what it is, or where its files are.
fn is_ordinary(config: &File) -> bool {
    const TELLS_MORE: [&str; 3] = ["include", "includeif", "extensions"];
    let mut sections = config.sections();
    let mut core = config.sections_by_name("core").into_iter().flatten();
    matches!(config.integer("core.repositoryformatversion"), Ok(Some(0)))
        && ["core.bare", "core.precomposeunicode"]
            .iter()
            .all(|key| !matches!(config.boolean(*key), Ok(Some(true)) | Err(_)))
        && !core.any(|section| section.contains_value_name("worktree"))
        && !sections
            .any(|section| TELLS_MORE.iter().any(|name| section.header().name().eq_ignore_ascii_case(name.as_bytes())))
}
