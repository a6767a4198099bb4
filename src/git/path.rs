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
    match std::fs::canonicalize(path) {
        Ok(existing) if existing.is_dir() => return Ok(Resolved { existing, missing: Vec::new() }),
        Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut resolved = Resolved { existing: PathBuf::new(), missing: Vec::new() };
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => resolved.existing.push(component),
            Component::CurDir => {}
            Component::ParentDir => {
                if resolved.missing.pop().is_none() {
                    resolved.existing.pop();
                }
            }
            Component::Normal(name) => descend(&mut resolved, name)?,
        }
    }
    Ok(resolved)
}

fn descend(resolved: &mut Resolved, name: &OsStr) -> io::Result<()> {
    if resolved.missing.is_empty() {
        match std::fs::canonicalize(resolved.existing.join(name)) {
            Ok(real) if real.is_dir() => {
                resolved.existing = real;
                return Ok(());
            }
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
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
        std::fs::write(top.join("file"), "").expect("a file");
        let error = resolve(&top.join("file/x")).expect_err("a file is no directory");
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }
}
