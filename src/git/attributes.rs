//! The attribute `agentlock` in `.gitattributes`: files that only who holds a lease on them may commit.
//!
//! It stands beside `lockable` and its like, so it is read as git reads attributes: from the work tree's `.gitattributes` at the top and in each directory on the way to a
//! file, then from `info/attributes`; what is said later and deeper wins, `-agentlock` takes it back, macros count.
//!
//! **Limitations.** Most repositories do not use it, and must not pay for it: only when the `.gitattributes` at the top or `info/attributes` mentions the word (a comment
//! will do) those in directories are looked at. A user's own attribute files say nothing about a repository's rules and do not count.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
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
    /// What applies in a directory, without `info/attributes`.
    known: HashMap<BString, (Search, MetadataCollection)>,
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
        // Only in a work tree a symbolic link is not followed: whoever can write in the git directory is trusted.
        let info = repository.common_dir.join("info/attributes");
        let info = read(&std::fs::canonicalize(&info).unwrap_or(info))?;
        let is_mentioned = [&at_top, &info].into_iter().flatten().any(|text| text.contains_str(ATTRIBUTE));
        if !is_mentioned {
            return Ok(None);
        }
        let case = if repository.ignore_case { Case::Fold } else { Case::Sensitive };
        let mut attribute = Self { top: top.clone(), info, case, known: HashMap::new() };
        let mut metadata = MetadataCollection::default();
        let mut search = Search::default();
        attribute.add(&mut search, &mut metadata, at_top, Path::new(FILE), true)?;
        attribute.known.insert(BString::default(), (search, metadata));
        Ok(Some(attribute))
    }

    /// Whether a file has it.
    ///
    /// # Errors
    /// [`AttributesError`] when an attributes file on the way cannot be read.
    pub fn is_set(&mut self, path: &RepoPath) -> Result<bool, AttributesError> {
        let path = path.as_bytes();
        let directory = path.rfind_byte(b'/').and_then(|slash| path.get(..slash)).unwrap_or_default();
        let (mut search, mut metadata) = self.directory(directory.as_bstr())?;
        self.add(&mut search, &mut metadata, self.info.clone(), Path::new("info/attributes"), true)?;
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&metadata, [ATTRIBUTE]);
        search.pattern_matching_relative_path(path, self.case, Some(false), &mut outcome);
        let state = outcome
            .iter_selected()
            .next()
            .map(|found| matches!(found.assignment.state, StateRef::Set | StateRef::Value(_)));
        Ok(state.unwrap_or(false))
    }

    fn directory(&mut self, directory: &BStr) -> Result<(Search, MetadataCollection), AttributesError> {
        if let Some((search, metadata)) = self.known.get(directory) {
            return Ok((search.clone(), metadata.clone()));
        }
        let above = directory.rfind_byte(b'/').and_then(|slash| directory.get(..slash)).unwrap_or_default();
        let (mut search, mut metadata) = self.directory(above.as_bstr())?;
        if let Ok(relative) = directory.to_path() {
            let file = relative.join(FILE);
            let text = read(&self.top.join(&file))?;
            self.add(&mut search, &mut metadata, text, &file, false)?;
        }
        self.known.insert(directory.to_owned(), (search.clone(), metadata.clone()));
        Ok((search, metadata))
    }

    /// `file` is relative to the top; the directory it is in is where its patterns apply.
    fn add(
        &self,
        search: &mut Search,
        metadata: &mut MetadataCollection,
        text: Option<Vec<u8>>,
        file: &Path,
        allow_macros: bool,
    ) -> Result<(), AttributesError> {
        let Some(text) = text else { return Ok(()) };
        let path = self.top.join(file);
        // Those of `info/attributes` apply from the top.
        let source = if file.ends_with(FILE) { path.clone() } else { self.top.join("attributes") };
        search
            .add_patterns_buffer(&text, source, Some(&self.top), metadata, allow_macros)
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
