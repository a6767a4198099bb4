//! Which paths a commit changes: what it would contain, beside each of its parents.
//!
//! No list of all differences is made. Who asks names a file or a directory, and only the trees on the way to it are read; of a directory only
//! those parts that differ. So the cost follows what is asked for, not the size of the repository.
//!
//! A path counts as changed when it differs from *every* parent, in content, kind or mode, or by not being there: what a merge takes over from
//! one side as it is was committed there. Unmerged entries differ from everything; an intent to add (`git add -N`) is no entry, as it is none for `git commit`.
//!
//! **Limitations.** Objects are not fetched: in a partial clone that lacks a tree on the way, [`ChangesError::Object`] says so.

mod side;
mod tree;

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, bstr};

use self::{
    side::{Item, Side, Staged, is_same},
    tree::Trees,
};
use super::{Repository, RepositoryError};
use crate::resource::{RepoPath, Target};

/// No directory that a work tree could have is nested deeper; git stops here too (`core.maxTreeDepth`).
const MAX_DEPTH: usize = 2048;

/// Why it cannot be told what a commit changes. Whoever guards must not take this for "nothing".
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// The repository cannot be used.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The index cannot be read.
    #[error("git's index {} cannot be read: {reason}", crate::text::escape_path(path))]
    Index {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A name does not lead to a commit.
    #[error("{} cannot be resolved to a commit: {reason}", crate::text::escape(name.as_bytes()))]
    Commit {
        /// What was to be resolved, such as `HEAD`.
        name: String,
        /// Why.
        reason: String,
    },
    /// An object cannot be read.
    #[error("the object {id} cannot be read: {reason}")]
    Object {
        /// Which, in hex.
        id: String,
        /// Why.
        reason: String,
    },
    /// Something that no work tree can contain.
    #[error("'{}' in the commit cannot be a path in a work tree", crate::text::escape(.0))]
    Path(BString),
}

/// The commits that the new one will have as parents, beside `HEAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged<'a> {
    /// Those that git has written to `MERGE_HEAD`. When there is no such file, those of these (in hex) that there are: git's sample of a
    /// `pre-merge-commit` hook calls `pre-commit`.
    MergeHeadOr(&'a [String]),
    /// These, in hex: git has not written `MERGE_HEAD` yet.
    These(&'a [String]),
}

/// A state of the files beside one or more earlier ones.
pub struct Changes {
    trees: Trees,
    after: Side,
    /// The trees of the parents; at least one.
    before: Vec<Item>,
}

impl Changes {
    /// What is staged, beside `HEAD` and what is merged into it. `index` is the file that git names (`GIT_INDEX_FILE`), else the repository's own.
    ///
    /// # Errors
    /// [`ChangesError`] when it cannot be read. That there is no index, or no commit yet, is none.
    pub fn staged(repository: &Repository, index: Option<&Path>, merged: Merged<'_>) -> Result<Self, ChangesError> {
        let trees = Trees::open(repository)?;
        let top = repository.work_tree.as_ref().unwrap_or(&repository.git_dir);
        // As for git, a relative one is seen from the top of the work tree, where hooks run.
        let path = index.map_or_else(|| repository.git_dir.join("index"), |index| top.join(index));
        let index = Staged::read(&path, trees.hash())?;
        let mut before = vec![trees.top_of_head()?];
        match merged {
            Merged::These(ids) => before.extend(trees.tops_of(ids)?),
            Merged::MergeHeadOr(ids) => match read_merge_head(&repository.git_dir)? {
                Some(written) => before.extend(trees.tops_of(&trees.that_become_parents(written)?)?),
                None => before.extend(ids.iter().filter_map(|id| trees.top_of_hex(id).ok())),
            },
        }
        Ok(Self { trees, after: Side::Staged(Box::new(index)), before })
    }

    /// What `after` contains, beside what `before` contains. Both are revisions: a commit id in hex, `HEAD`, a branch, `HEAD~1`, …; `None` is an empty directory.
    ///
    /// # Errors
    /// [`ChangesError`] when one of them cannot be resolved.
    pub fn between(repository: &Repository, before: &str, after: Option<&str>) -> Result<Self, ChangesError> {
        let trees = Trees::open(repository)?;
        let before = vec![trees.top_of(before)?];
        let after = match after {
            Some(after) => trees.top_of(after)?,
            None => trees.nothing(),
        };
        Ok(Self { trees, after: Side::Committed(after), before })
    }

    /// What a rebase that is about to end has changed: what `HEAD` contains, beside what it was when the rebase began.
    ///
    /// # Errors
    /// [`ChangesError`] when it cannot be read.
    pub fn of_rebase(repository: &Repository) -> Result<Self, ChangesError> {
        // One directory for each of git's two ways. `ORIG_HEAD` may be of a `git reset` in the midst of it.
        let places = ["rebase-merge/orig-head", "rebase-apply/orig-head"].map(|place| repository.git_dir.join(place));
        let noted = places.iter().find_map(|place| String::from_utf8(read_note(place).ok()?).ok());
        Self::between(repository, noted.as_deref().map_or("ORIG_HEAD", str::trim), Some("HEAD"))
    }

    /// What the commit that was just made has changed: what `HEAD` contains, beside its parents; of an amended commit, beside the one that it has
    /// replaced, as far as the reflog tells.
    ///
    /// # Errors
    /// [`ChangesError`] when they cannot be read.
    pub fn of_last_commit(repository: &Repository) -> Result<Self, ChangesError> {
        let trees = Trees::open(repository)?;
        let after = trees.top_of_head()?;
        let head = trees.head()?;
        let parents = head.map_or(Ok(Vec::new()), |head| trees.parents(head))?;
        let previous = head.and_then(|head| trees.id(&previous_head(&repository.git_dir, &head)?));
        // A new commit has the one before as a parent; an amended one has taken its place.
        let amended = previous.filter(|previous| !previous.is_null() && !parents.contains(previous));
        let mut before = Vec::from_iter(amended.and_then(|amended| trees.top_of_commit("HEAD@{1}", amended).ok()));
        if before.is_empty() {
            for parent in parents {
                before.push(trees.top_of_commit("a parent of HEAD", parent)?);
            }
        }
        if before.is_empty() {
            before.push(trees.nothing());
        }
        Ok(Self { trees, after: Side::Committed(after), before })
    }

    /// Whether the commit being made is a merge.
    #[must_use]
    pub fn is_merge(&self) -> bool {
        self.before.len() > 1
    }

    /// The paths that are changed: of a file itself, of an area it and all below it; none for a named thing.
    ///
    /// # Errors
    /// [`ChangesError`] when it cannot be told.
    pub fn of(&self, target: &Target) -> Result<Vec<RepoPath>, ChangesError> {
        match target {
            Target::File(path) => Ok(if self.is_changed(path.as_bytes())? { vec![path.clone()] } else { Vec::new() }),
            Target::Area(path) => self.at_and_below(path.as_bytes()),
            Target::Named(_) => Ok(Vec::new()),
        }
    }

    /// Whether nothing is at a path afterwards.
    ///
    /// # Errors
    /// [`ChangesError`] when it cannot be told.
    pub fn is_deleted(&self, path: &RepoPath) -> Result<bool, ChangesError> {
        Ok(self.after.at(&self.trees, path.as_bytes())?.is_none())
    }

    fn is_changed(&self, path: &BStr) -> Result<bool, ChangesError> {
        let after = self.after.at(&self.trees, path)?;
        for before in &self.before {
            if are_same_leaf(after.as_ref(), self.trees.at(before, path)?.as_ref()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn at_and_below(&self, path: &BStr) -> Result<Vec<RepoPath>, ChangesError> {
        let mut found = Vec::new();
        self.walk(path, &mut |path| {
            found.push(path);
            ControlFlow::Continue(())
        })?;
        found.sort();
        Ok(found)
    }

    /// The first few of all changed paths that are wanted, in no particular order.
    ///
    /// # Errors
    /// [`ChangesError`] when it cannot be told.
    pub fn some(&self, limit: usize, is_wanted: impl Fn(&RepoPath) -> bool) -> Result<Vec<RepoPath>, ChangesError> {
        let mut found = Vec::new();
        self.walk(BStr::new(""), &mut |path| {
            if found.len() < limit && is_wanted(&path) {
                found.push(path);
            }
            if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        found.sort();
        Ok(found)
    }

    /// Shows every changed path at and below `path`, until `visit` has seen enough.
    fn walk(&self, path: &BStr, visit: &mut dyn FnMut(RepoPath) -> ControlFlow<()>) -> Result<(), ChangesError> {
        let Some((first, others)) = self.before.split_first() else { return Ok(()) };
        let (after, before) = (self.after.at(&self.trees, path)?, self.trees.at(first, path)?);
        let mut visit = |path: &BStr| {
            if !others.is_empty() && !self.is_changed(path)? {
                return Ok(ControlFlow::Continue(()));
            }
            Ok(visit(RepoPath::new(path).map_err(|_| ChangesError::Path(path.to_owned()))?))
        };
        let mut walk = Walk { changes: self, path: path.to_owned(), depth: 0, visit: &mut visit };
        walk.compare(after.as_ref(), before.as_ref()).map(drop)
    }
}

/// Goes through two directories side by side, and down only where they differ.
struct Walk<'w> {
    changes: &'w Changes,
    path: BString,
    depth: usize,
    visit: &'w mut dyn FnMut(&BStr) -> Result<ControlFlow<()>, ChangesError>,
}

impl Walk<'_> {
    fn compare(&mut self, after: Option<&Item>, before: Option<&Item>) -> Result<ControlFlow<()>, ChangesError> {
        if is_same(after, before) {
            return Ok(ControlFlow::Continue(()));
        }
        let is_leaf = |item: Option<&Item>| item.is_some_and(|item| !item.is_directory());
        if (is_leaf(after) || is_leaf(before))
            && !are_same_leaf(after, before)
            && (self.visit)(self.path.as_bstr())?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        let is_directory = |item: &&Item| item.is_directory();
        let (after, before) = (after.filter(is_directory), before.filter(is_directory));
        if after.is_none() && before.is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        if self.depth >= MAX_DEPTH {
            return Err(ChangesError::Path(self.path.clone()));
        }
        let mut children = match after {
            Some(item) => self.changes.after.children(&self.changes.trees, item, self.path.as_bstr())?,
            None => Default::default(),
        };
        let before = before.map(|item| self.changes.trees.children(item)).transpose()?;
        let mut pairs = Vec::new();
        for (name, item) in before.iter().flat_map(|tree| tree.iter()) {
            pairs.push((name.clone(), children.remove(name.as_bstr()), Some(item.clone())));
        }
        pairs.extend(children.into_iter().map(|(name, item)| (name, Some(item), None)));
        let length = self.path.len();
        for (name, after, before) in pairs {
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(&name);
            self.depth = self.depth.saturating_add(1);
            let compared = self.compare(after.as_ref(), before.as_ref());
            self.depth = self.depth.saturating_sub(1);
            self.path.truncate(length);
            if compared?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn are_same_leaf(after: Option<&Item>, before: Option<&Item>) -> bool {
    let leaf = |item: Option<&Item>| item.filter(|item| !item.is_directory()).cloned();
    is_same(leaf(after).as_ref(), leaf(before).as_ref())
}

/// The whole of one of the files in which git keeps a few ids. Nobody waits for a pipe in its place, and what is far longer is none of git's.
fn read_note(path: &Path) -> io::Result<Vec<u8>> {
    const MAX_BYTES: u64 = 1 << 20;
    let mut bytes = Vec::new();
    open_file(path)?.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len <= MAX_BYTES) {
        Ok(bytes)
    } else {
        Err(io::Error::other("it is larger than 1 MiB"))
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// The commits that are being merged, in hex; `None` when no merge is to be concluded.
fn read_merge_head(git_dir: &Path) -> Result<Option<Vec<String>>, ChangesError> {
    let path = git_dir.join("MERGE_HEAD");
    match read_note(&path) {
        Ok(bytes) => Ok(Some(bytes.lines().map(|line| line.trim().to_str_lossy().into_owned()).collect())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ChangesError::Commit { name: "MERGE_HEAD".to_owned(), reason: error.to_string() }),
    }
}

/// What `HEAD` was before it became `head`, in hex, by the last line of its reflog; `None` when that is not known.
fn previous_head(git_dir: &Path, head: &ObjectId) -> Option<String> {
    /// A line has two ids, a name, a time and the first line of a message.
    const ENOUGH: i64 = 64 * 1024;
    let mut file = open_file(&git_dir.join("logs/HEAD")).ok()?;
    file.seek(SeekFrom::End(-ENOUGH)).or_else(|_| file.seek(SeekFrom::Start(0))).ok()?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).ok()?;
    let last = end.lines().next_back()?;
    let mut words = last.split_str(" ");
    let (old, new) = (words.next()?, words.next()?);
    (new == head.to_string().as_bytes()).then(|| old.to_str_lossy().into_owned())
}

/// One line of what gix has to say, safe to show.
fn reason(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    crate::text::escape(text.lines().next().unwrap_or_default().as_bytes())
}

fn object_error(id: ObjectId, error: &dyn std::fmt::Display) -> ChangesError {
    ChangesError::Object { id: id.to_string(), reason: reason(error) }
}
