//! Resolving a path as the file system would, as far as it exists.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Component, Path, PathBuf},
};

/// A path of which a beginning exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    /// The real path of the longest part that exists. Always a directory.
    pub(super) existing: PathBuf,
    /// The names below it that do not exist.
    pub(super) missing: Vec<OsString>,
}

impl Resolved {
    /// A directory that exists.
    pub(super) fn existing(real: PathBuf) -> Self {
        Self { existing: real, missing: Vec::new() }
    }

    /// The whole path.
    pub(super) fn path(&self) -> PathBuf {
        self.existing.iter().chain(self.missing.iter().map(OsString::as_os_str)).collect()
    }
}

/// Resolves every component of an absolute path: symbolic links are followed, and `..` leaves the directory that was really reached.
///
/// # Errors
/// The system's, when a component cannot be looked at or is no directory.
pub(super) fn resolve(path: &Path) -> io::Result<Resolved> {
    // Mostly all of it exists, and one call does.
    match real_directory(path) {
        Ok(existing) => return Ok(Resolved { existing, missing: Vec::new() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut resolved = Resolved { existing: PathBuf::new(), missing: Vec::new() };
    let mut links = 0_usize;
    walk(&mut resolved, path, &mut links)?;
    Ok(resolved)
}

/// That it cannot be looked at does not mean that it is no directory.
fn real_directory(path: &Path) -> io::Result<PathBuf> {
    let real = std::fs::canonicalize(path)?;
    if std::fs::metadata(&real)?.is_dir() { Ok(real) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

fn walk(resolved: &mut Resolved, path: &Path, links: &mut usize) -> io::Result<()> {
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => {
                if component == Component::RootDir {
                    resolved.missing.clear();
                    resolved.existing = root_of(&resolved.existing);
                }
                resolved.existing.push(component);
            }
            Component::CurDir => {}
            Component::ParentDir => {
                if resolved.missing.pop().is_none() {
                    resolved.existing.pop();
                }
            }
            Component::Normal(name) => descend(resolved, name, links)?,
        }
    }
    Ok(())
}

/// What comes before the root: nothing, or on Windows the drive.
fn root_of(path: &Path) -> PathBuf {
    path.components().take_while(|component| matches!(component, Component::Prefix(_))).collect()
}

fn descend(resolved: &mut Resolved, name: &OsStr, links: &mut usize) -> io::Result<()> {
    if resolved.missing.is_empty() {
        let below = resolved.existing.join(name);
        match real_directory(&below) {
            Ok(real) => {
                resolved.existing = real;
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // A link to a directory that is not there yet leads there all the same.
        if let Ok(target) = std::fs::read_link(&below) {
            *links = links.saturating_add(1);
            if *links > super::locate::MAX_LINKS {
                return Err(io::Error::other("too many symbolic links"));
            }
            return walk(resolved, &target, links);
        }
    }
    resolved.missing.push(name.to_owned());
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn dot_dot_leaves_the_directory_that_was_really_reached() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = std::fs::canonicalize(dir.path()).expect("its real path");
        std::fs::create_dir_all(top.join("a/deep")).expect("directories");
        std::os::unix::fs::symlink("a/deep", top.join("link")).expect("a link");
        let at = |path: &str| resolve(&top.join(path)).expect(path).path();
        assert_eq!(at("link/.."), top.join("a"));
        assert_eq!(at("link/../new/x"), top.join("a/new/x"));
        assert_eq!(at("new/../a/./deep"), top.join("a/deep"));
        assert_eq!(at("new/x/../../link"), top.join("a/deep"));
        std::os::unix::fs::symlink("later/on", top.join("dangling")).expect("a link");
        assert_eq!(at("dangling/x"), top.join("later/on/x"));
        assert_eq!(at("dangling/../y"), top.join("later/y"));
        std::os::unix::fs::symlink(top.join("later"), top.join("absolute")).expect("a link");
        assert_eq!(at("absolute/x"), top.join("later/x"));
        std::fs::write(top.join("file"), "").expect("a file");
        let error = resolve(&top.join("file/x")).expect_err("a file is no directory");
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }
}
