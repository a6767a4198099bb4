//! The attribute `agentlock` in `.gitattributes`: files that only who holds a lease on them may commit.
//!
//! It stands beside `lockable` and its like, so it is read as git reads attributes: from the work tree's `.gitattributes` at the top and in each directory on the way to a
//! file, then from `info/attributes`; what is said later and deeper wins, `-agentlock` takes it back, macros count.
//!
//! **Limitations.** Most repositories do not use it, and must not pay for it: only when the `.gitattributes` at the top or `info/attributes` mentions the word (a comment
//! will do) those in directories are looked at. A user's own attribute files say nothing about a repository's rules and do not count. Where git would
//! look into the index for a `.gitattributes` that is not in the work tree (removed, or outside of a sparse checkout), it is not found here.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    rc::Rc,
};

use bstr::{BStr, BString, ByteSlice as _};
use gix_attributes::{
    Search, StateRef,
    search::{MetadataCollection, Outcome},
};
use gix_glob::pattern::Case;

use super::Repository;
use crate::resource::RepoPath;

const ATTRIBUTE: &str = "agentlock";
const FILE: &str = ".gitattributes";
/// git reads no larger attributes file either.
const MAX_BYTES: u64 = 100 * 1024 * 1024;

/// Which paths have the attribute.
pub struct LeaseAttribute {
    top: PathBuf,
    info: Option<Vec<u8>>,
    case: Case,
    /// What applies in a directory. Those without a file of their own share what applies above them.
    known: HashMap<BString, Rc<Applied>>,
}

/// What applies in a directory.
struct Applied {
    /// What its own file and those above it say: what the directories below begin with.
    inherited: Patterns,
    /// The same with `info/attributes`, which has the last word.
    all: Patterns,
}

#[derive(Clone, Default)]
struct Patterns {
    search: Search,
    metadata: MetadataCollection,
}

/// An attributes file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the attributes file {} cannot be read: {source}", crate::text::escape_path(path))]
pub struct AttributesError {
    path: PathBuf,
    source: io::Error,
}

impl LeaseAttribute {
    /// `None` when nothing mentions the attribute.
    ///
    /// # Errors
    /// [`AttributesError`] when a file is there and cannot be read.
    pub fn of(repository: &Repository) -> Result<Option<Self>, AttributesError> {
        let Some(top) = &repository.work_tree else { return Ok(None) };
        let at_top = read(&top.join(FILE))?;
        let info = read(&repository.common_dir.join("info/attributes"))?;
        let is_mentioned = [&at_top, &info].into_iter().flatten().any(|text| text.contains_str(ATTRIBUTE));
        if !is_mentioned {
            return Ok(None);
        }
        let case = if repository.ignore_case { Case::Fold } else { Case::Sensitive };
        let mut attribute = Self { top: top.clone(), info, case, known: HashMap::new() };
        let applied = attribute.applied(Patterns::default(), at_top.as_deref(), Path::new(FILE))?;
        attribute.known.insert(BString::default(), applied);
        Ok(Some(attribute))
    }

    /// Whether a file has it.
    ///
    /// # Errors
    /// [`AttributesError`] when an attributes file on the way cannot be read.
    pub fn is_set(&mut self, path: &RepoPath) -> Result<bool, AttributesError> {
        let path = path.as_bytes();
        let directory = path.rfind_byte(b'/').and_then(|slash| path.get(..slash)).unwrap_or_default();
        let applied = self.directory(directory.as_bstr())?;
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&applied.all.metadata, [ATTRIBUTE]);
        applied.all.search.pattern_matching_relative_path(path, self.case, Some(false), &mut outcome);
        let state = outcome
            .iter_selected()
            .next()
            .map(|found| matches!(found.assignment.state, StateRef::Set | StateRef::Value(_)));
        Ok(state.unwrap_or(false))
    }

    fn directory(&mut self, directory: &BStr) -> Result<Rc<Applied>, AttributesError> {
        if let Some(applied) = self.known.get(directory) {
            return Ok(Rc::clone(applied));
        }
        let above = directory.rfind_byte(b'/').and_then(|slash| directory.get(..slash)).unwrap_or_default();
        let mut applied = self.directory(above.as_bstr())?;
        if let Ok(relative) = directory.to_path() {
            let file = relative.join(FILE);
            if let Some(text) = read(&self.top.join(&file))? {
                applied = self.applied(applied.inherited.clone(), Some(&text), &file)?;
            }
        }
        self.known.insert(directory.to_owned(), Rc::clone(&applied));
        Ok(applied)
    }

    /// What applies in the directory of `file`, which is relative to the top.
    fn applied(&self, above: Patterns, text: Option<&[u8]>, file: &Path) -> Result<Rc<Applied>, AttributesError> {
        let mut inherited = above;
        // Macros count only at the top.
        self.add(&mut inherited, text, file, file == Path::new(FILE))?;
        let mut all = inherited.clone();
        self.add(&mut all, self.info.as_deref(), Path::new("info/attributes"), true)?;
        Ok(Rc::new(Applied { inherited, all }))
    }

    /// `file` is relative to the top; the directory it is in is where its patterns apply.
    fn add(
        &self,
        to: &mut Patterns,
        text: Option<&[u8]>,
        file: &Path,
        allow_macros: bool,
    ) -> Result<(), AttributesError> {
        let Some(text) = text else { return Ok(()) };
        let path = self.top.join(file);
        // Those of `info/attributes` apply from the top.
        let source = if file.ends_with(FILE) { path.clone() } else { self.top.join("attributes") };
        to.search
            .add_patterns_buffer(text, source, Some(&self.top), &mut to.metadata, allow_macros)
            .map_err(|source| AttributesError { path, source })
    }
}

/// A regular file's text; `None` when there is none. As for git, a symbolic link is none.
fn read(path: &Path) -> Result<Option<Vec<u8>>, AttributesError> {
    use io::Read as _;
    let error = |source| AttributesError { path: path.to_owned(), source };
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Err(source) if !matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(error(source));
        }
        _ => return Ok(None),
    }
    let mut text = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text)).map_err(error)?;
    Ok(Some(text))
}
