//! From what somebody typed to the one identity of a file or directory (DESIGN §5).
//!
//! Relative, absolute, `./`, `..` and symlinked spellings of one file are one place, whether it exists yet or not. The repository
//! is found from the path, not from the current directory. `GIT_DIR` and its like count only for paths inside the work tree
//! that they describe, and not for what lies in another repository below it.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    rc::Rc,
};

use bstr::{BStr, ByteSlice as _};

pub use super::unlocatable::LocateError;
use super::{
    Repository, RepositoryError, discover, from_environment,
    path::{Resolved, resolve},
    unlocatable::why_not,
};
use crate::resource::{RepoPath, ResourceError, Target, path_bytes};

/// No file system takes a longer name, in bytes. For names that exist the system says so itself.
#[cfg(unix)]
const MAX_NAME_BYTES: usize = 255;
/// How many symbolic links, one pointing to the next, are followed.
pub(super) const MAX_LINKS: usize = 40;

/// A file or directory, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The repository; `None` outside of any.
    pub repository: Option<Rc<Repository>>,
    /// What it is in that repository's work tree; outside, the path is absolute, without the leading `/`.
    pub target: Target,
    /// How the path was understood, where that may not be what was meant.
    pub taken: Taken,
}

/// How a path was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// As it was named.
    AsNamed,
    /// As a file, only because nothing is there yet.
    NewFile,
    /// As a file in a directory that is not there yet either.
    NewFileInNewDirectory,
    /// As a link, without what it leads to: that belongs to another repository, or to none.
    LinkToElsewhere,
    /// As the outer repository's entry for another repository, not as what is in that.
    EntryOfRepository,
}

/// Finds places, as seen from one directory. Remembers what it has found, so that many paths cost little more than one.
#[derive(Debug)]
pub struct Locator {
    cwd: PathBuf,
    environment: Option<Environment>,
    environment_repository: OnceCell<Option<Rc<Repository>>>,
    known: RefCell<HashMap<PathBuf, Option<Rc<Repository>>>>,
    parents: RefCell<HashMap<PathBuf, Resolved>>,
}

/// That `GIT_DIR`, `GIT_WORK_TREE` or `GIT_COMMON_DIR` is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// The value of `GIT_COMMON_DIR`.
    pub common_dir: Option<PathBuf>,
    /// Whether `GIT_DIR` is set: then git does not ask whose the repository is.
    pub names_git_dir: bool,
}

impl Locator {
    /// A locator for paths as seen from `cwd`, which is absolute. `environment` when variables describe a repository.
    #[must_use]
    pub fn new(cwd: PathBuf, environment: Option<Environment>) -> Self {
        let (known, parents) = (RefCell::default(), RefCell::default());
        Self { cwd, environment, environment_repository: OnceCell::new(), known, parents }
    }

    /// The repository of the current directory; variables decide first. `Ok(None)` outside of any.
    ///
    /// # Errors
    /// [`RepositoryError`] when there is one that cannot be used.
    pub fn repository_here(&self) -> Result<Option<Rc<Repository>>, RepositoryError> {
        match self.environment_repository()? {
            Some(repository) => Ok(Some(repository)),
            None => self.repository_of(&self.cwd),
        }
    }

    /// Where a path belongs. `as_area`: it is meant as a directory, also without a `/` at the end.
    ///
    /// A symbolic link is its own place and that of what it points to; both are returned, the link first, as far as they
    /// belong to one project.
    ///
    /// # Errors
    /// [`LocateError`].
    pub fn locate(&self, given: &BStr, as_area: bool) -> Result<Vec<Place>, LocateError> {
        if given.is_empty() {
            return Err(LocateError::Empty);
        }
        let invalid = |source| LocateError::Invalid { path: given.to_owned(), source };
        if given.find_byte(0).is_some() {
            return Err(invalid(ResourceError::Nul));
        }
        if given.len() > RepoPath::MAX_BYTES {
            return Err(invalid(ResourceError::PathTooLong(given.len())));
        }
        let path = given
            .to_path()
            .map_err(|_| LocateError::Unusable { path: given.to_owned(), reason: "it is not Unicode" })?;
        let mut places = Vec::new();
        self.follow(given, &self.cwd.join(path), as_area || names_a_directory(given), &mut places)?;
        Ok(places)
    }

    fn follow(&self, given: &BStr, path: &Path, as_area: bool, places: &mut Vec<Place>) -> Result<(), LocateError> {
        let mut path = path.to_owned();
        let mut as_area = as_area;
        for _ in 0..MAX_LINKS {
            let (place, next) = match self.one(given, &path, as_area) {
                // What a link points to counts only as far as it is something of this project that could be locked.
                Err(error) if !places.is_empty() && error.is_about_the_path() => return Ok(()),
                found => found?,
            };
            if places.contains(&place) {
                return Ok(());
            }
            // A place of another project belongs to others; the link may lead back from there.
            if places.first().is_none_or(|first: &Place| is_one_project(first, &place)) {
                places.push(place);
            } else if let Some(link) = places.first_mut() {
                link.taken = Taken::LinkToElsewhere;
            }
            let Some(next) = next else { return Ok(()) };
            as_area = as_area || names_a_directory(&path_bytes(&next).unwrap_or_default());
            path = next;
        }
        Err(LocateError::Unusable { path: given.to_owned(), reason: "its symbolic links lead in a circle" })
    }

    /// One place, and where it points to when it is a symbolic link.
    fn one(&self, given: &BStr, path: &Path, as_area: bool) -> Result<(Place, Option<PathBuf>), LocateError> {
        let look = |error: io::Error| why_not(given, error);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            // `/`, or a path that ends with `..`.
            return self.directory(given, &resolve(path).map_err(look)?).map(|place| (place, None));
        };
        let above = self.resolved(parent).map_err(look)?;
        let whole = above.path().join(name);
        let found = match above.missing.is_empty() {
            true => std::fs::symlink_metadata(&whole).map(Some).or_else(none_if_missing).map_err(look)?,
            false => None,
        };
        match found {
            None => {
                let taken = match (as_area, above.missing.is_empty()) {
                    (true, _) => Taken::AsNamed,
                    (false, true) => Taken::NewFile,
                    (false, false) => Taken::NewFileInNewDirectory,
                };
                let place = self.place(given, &whole, &above.existing, as_area, taken)?;
                Ok((place, None))
            }
            Some(meta) if meta.is_symlink() && as_area => {
                let real = resolve(&whole).map_err(look)?;
                self.directory(given, &real).map(|place| (place, None))
            }
            Some(meta) if meta.is_symlink() => {
                let points_to = std::fs::read_link(&whole).map_err(look)?;
                let place = self.place(given, &whole, &above.existing, false, Taken::AsNamed)?;
                Ok((place, Some(above.existing.join(points_to))))
            }
            Some(meta) if meta.is_dir() && as_area => {
                self.directory(given, &Resolved::existing(whole)).map(|place| (place, None))
            }
            Some(meta) if meta.is_dir() => {
                self.bare_directory(given, &whole, &above.existing).map(|place| (place, None))
            }
            Some(_) if as_area => Err(LocateError::NotADirectory { path: given.to_owned() }),
            Some(_) => self.place(given, &whole, &above.existing, false, Taken::AsNamed).map(|place| (place, None)),
        }
    }

    /// Many paths of one request have their directories in common.
    fn resolved(&self, parent: &Path) -> io::Result<Resolved> {
        if let Some(known) = self.parents.borrow().get(parent) {
            return Ok(known.clone());
        }
        let resolved = resolve(parent)?;
        self.parents.borrow_mut().insert(parent.to_owned(), resolved.clone());
        Ok(resolved)
    }

    /// A directory that was named as one: the whole of it.
    fn directory(&self, given: &BStr, real: &Resolved) -> Result<Place, LocateError> {
        self.place(given, &real.path(), &real.existing, true, Taken::AsNamed)
    }

    /// A directory that was named without a `/`: an area, unless it is the top of another work tree. Then it is the outer
    /// repository's entry for it, such as the link to a submodule's commit.
    fn bare_directory(&self, given: &BStr, real: &Path, parent: &Path) -> Result<Place, LocateError> {
        let is_top = |repository: &Rc<Repository>| repository.work_tree.as_deref() == Some(real);
        if std::fs::symlink_metadata(real.join(".git")).is_ok()
            && self.repository_of(real)?.as_ref().is_some_and(is_top)
            && let Some(outer) = self.repository_of(parent)?
            && outer.work_tree.as_deref().is_some_and(|top| real.starts_with(top))
        {
            return self.place(given, real, parent, false, Taken::EntryOfRepository);
        }
        self.directory(given, &Resolved::existing(real.to_owned()))
    }

    fn place(
        &self,
        given: &BStr,
        real: &Path,
        look_from: &Path,
        is_area: bool,
        taken: Taken,
    ) -> Result<Place, LocateError> {
        let repository = self.repository_for(real, look_from)?;
        let in_git_dir = || LocateError::InGitDir { path: given.to_owned() };
        let below = match &repository {
            None => real.strip_prefix("/").unwrap_or(real),
            Some(repository) => {
                let is_gits = real.starts_with(&repository.git_dir) || real.starts_with(&repository.common_dir);
                match &repository.work_tree {
                    Some(top) if !is_gits || top.starts_with(&repository.common_dir) => {
                        real.strip_prefix(top).map_err(|_| in_git_dir())?
                    }
                    None if !is_gits || repository.git_dir.file_name() != Some(".git".as_ref()) => {
                        return Err(LocateError::Bare { path: given.to_owned() });
                    }
                    _ => return Err(in_git_dir()),
                }
            }
        };
        let mut bytes = path_bytes(below)
            .ok_or_else(|| LocateError::Unusable { path: given.to_owned(), reason: "it is not Unicode" })?;
        #[cfg(unix)]
        if bytes.split_str("/").any(|part| part.len() > MAX_NAME_BYTES) {
            return Err(LocateError::Unusable { path: given.to_owned(), reason: "a name in it is too long" });
        }
        if bytes.split_str("/").any(|part| part.eq_ignore_ascii_case(b".git")) {
            return Err(in_git_dir());
        }
        if repository.as_ref().is_some_and(|repository| repository.precompose_unicode) {
            bytes = gix::utils::str::precompose_bstr(bytes.as_bstr().into()).into_owned();
        }
        let path = RepoPath::new(bytes).map_err(|source| LocateError::Invalid { path: given.to_owned(), source })?;
        let target = if is_area { Target::Area(path) } else { Target::File(path) };
        Ok(Place { repository, target, taken })
    }

    /// The repository of a path: the one that variables describe, when the path is in its work tree and in none below it.
    fn repository_for(&self, real: &Path, look_from: &Path) -> Result<Option<Rc<Repository>>, RepositoryError> {
        let found = self.repository_of(look_from)?;
        let Some(described) = self.environment_repository()? else { return Ok(found) };
        let Some(top) = described.work_tree.as_deref().filter(|top| real.starts_with(top)) else { return Ok(found) };
        // The same repository with another top would give one file two names.
        let is_below = |repository: &Rc<Repository>| {
            repository.common_dir == described.common_dir
                || repository.work_tree.as_deref().is_some_and(|inner| inner != top && inner.starts_with(top))
        };
        Ok(found.filter(is_below).or(Some(described)))
    }

    fn environment_repository(&self) -> Result<Option<Rc<Repository>>, RepositoryError> {
        let Some(environment) = &self.environment else { return Ok(None) };
        if let Some(known) = self.environment_repository.get() {
            return Ok(known.clone());
        }
        let found = from_environment(&self.cwd, environment)?.map(Rc::new);
        Ok(self.environment_repository.get_or_init(|| found).clone())
    }

    /// The repository that an existing directory lies in.
    fn repository_of(&self, dir: &Path) -> Result<Option<Rc<Repository>>, RepositoryError> {
        if let Some(known) = self.known.borrow().get(dir) {
            return Ok(known.clone());
        }
        let found = match self.inherited(dir) {
            Some(repository) => Some(repository),
            None => discover(dir, self.environment.is_some())?.map(Rc::new),
        };
        let mut known = self.known.borrow_mut();
        if let Some(repository) = &found {
            // The way up has led through these, and none of them is the top of another.
            for passed in repository.way_up_from(dir) {
                known.entry(passed.to_owned()).or_insert_with(|| found.clone());
            }
        }
        known.insert(dir.to_owned(), found.clone());
        Ok(found)
    }

    /// The repository of the directory above, when it is known and nothing here looks like another one.
    fn inherited(&self, dir: &Path) -> Option<Rc<Repository>> {
        let known = self.known.borrow().get(dir.parent()?).cloned()??;
        let is_inside = known.work_tree.as_deref().is_some_and(|top| dir.starts_with(top) && dir != top);
        let is_other = [".git", "HEAD"].iter().any(|name| std::fs::symlink_metadata(dir.join(name)).is_ok());
        let is_gits = dir.starts_with(&known.git_dir) || dir.starts_with(&known.common_dir);
        (is_inside && !is_other && !is_gits).then_some(known)
    }
}

fn is_one_project(a: &Place, b: &Place) -> bool {
    match (&a.repository, &b.repository) {
        (Some(a), Some(b)) => a.common_dir == b.common_dir,
        (None, None) => true,
        _ => false,
    }
}

/// Whether the spelling alone says that a directory is meant.
fn names_a_directory(path: &[u8]) -> bool {
    let ends = |end: &[u8]| path == end || path.ends_with(&[b"/", end].concat());
    path.ends_with(b"/") || ends(b".") || ends(b"..") || (cfg!(windows) && path.ends_with(b"\\"))
}

fn none_if_missing<T>(error: io::Error) -> io::Result<Option<T>> {
    if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) }
}
