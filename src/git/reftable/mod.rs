//! Refs of a repository that was made with `--ref-format=reftable`, which gix cannot read: which commit `HEAD` is.
//!
//! Refs are kept in a stack of tables, each a file that is never changed; `tables.list` names them, the oldest first. What a newer table says
//! of a ref, also that it is gone, hides the older ones. The format is described in git's `Documentation/technical/reftable`.
//!
//! **Limitations**: nothing but the value of a ref is read: no reflogs, no search by id. `MERGE_HEAD` and `FETCH_HEAD` are files also in such
//! a repository, and not found here. Blocks have no checksums, so damage is noticed only where the bytes no longer fit together.

mod block;
mod table;

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice as _};

use self::{
    block::Value,
    table::{Flaw, Table},
};

/// Why a ref cannot be resolved. A ref that is not there is no error.
#[derive(Debug, thiserror::Error)]
pub enum ReftableError {
    /// The system does not let it be read.
    #[error("cannot read the refs in {}: {source}", crate::text::escape_path(path))]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not as git writes it.
    #[error("the refs in {} are damaged: {what}; see what `git for-each-ref` says", crate::text::escape_path(path))]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// It is of a version that is not known here.
    #[error(
        "the refs in {} are of version {version} of the reftable format, and only 1 and 2 are known; a newer release may know it",
        crate::text::escape_path(path)
    )]
    UnknownVersion {
        /// Which file.
        path: PathBuf,
        /// What it says of itself.
        version: u8,
    },
    /// Symbolic refs that lead on and on.
    #[error("the ref {} leads through too many symbolic refs; `git symbolic-ref` sets it", crate::text::escape(name))]
    TooManyLinks {
        /// Where it began.
        name: BString,
    },
    /// A ref that stands for one of another work tree.
    #[error("the ref {} is of another work tree than this, and is not looked up", crate::text::escape(name))]
    OtherWorkTree {
        /// Which.
        name: BString,
    },
}

/// The object id that a ref has in the end, as bytes; `None` when there is no such ref, or it stands for one that is not there (an unborn branch).
///
/// `git_dir` is the git directory of the work tree, `common_dir` the one that all work trees share; they are the same in the main work tree.
/// `hash_len` is the length of the repository's object ids in bytes, 20 or 32.
///
/// # Errors
/// [`ReftableError`] when the tables cannot be read or make no sense.
pub fn resolve(
    git_dir: &Path,
    common_dir: &Path,
    name: &BStr,
    hash_len: usize,
) -> Result<Option<Vec<u8>>, ReftableError> {
    /// As many refs as git looks at one after the other.
    const MAX_REFS: usize = 5;
    // Each directory is opened once, so that all that is read there is of one time.
    let (mut own, mut shared) = (None, None);
    let mut current = name.to_owned();
    for _ in 0..MAX_REFS {
        let (dir, stack) = match place(current.as_bstr())? {
            Place::Own if git_dir != common_dir => (git_dir, &mut own),
            Place::Own | Place::Shared => (common_dir, &mut shared),
        };
        let stack = match stack {
            Some(stack) => stack,
            none => none.insert(Stack::open(&dir.join("reftable"), hash_len)?),
        };
        match stack.find(current.as_bstr())? {
            None => return Ok(None),
            Some(Found::Id(id)) => return Ok(Some(id)),
            Some(Found::Symbolic(target)) => current = target,
        }
    }
    Err(ReftableError::TooManyLinks { name: name.to_owned() })
}

/// In whose tables a ref is.
enum Place {
    /// Those of the work tree.
    Own,
    Shared,
}

/// As git's `parse_worktree_ref` has it.
fn place(name: &BStr) -> Result<Place, ReftableError> {
    let begins_with = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning.as_bytes()));
    if begins_with(&["main-worktree/", "worktrees/"]) {
        return Err(ReftableError::OtherWorkTree { name: name.to_owned() });
    }
    let is_root = name.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'));
    let is_own = is_root || begins_with(&["refs/worktree/", "refs/bisect/", "refs/rewritten/"]);
    Ok(if is_own { Place::Own } else { Place::Shared })
}

enum Found {
    Id(Vec<u8>),
    Symbolic(BString),
}

/// The tables of one directory, all of them open.
struct Stack {
    /// The newest first.
    tables: Vec<(PathBuf, Table<File>)>,
}

impl Stack {
    fn open(dir: &Path, hash_len: usize) -> Result<Self, ReftableError> {
        let list = dir.join("tables.list");
        Self::open_listed(dir, hash_len, || read_list(&list))
    }

    /// Tables that were joined into another are removed, perhaps between looking at the list and opening them. Then the list is another by now.
    fn open_listed(
        dir: &Path,
        hash_len: usize,
        mut list: impl FnMut() -> Result<Vec<String>, ReftableError>,
    ) -> Result<Self, ReftableError> {
        /// Nobody joins tables that often while one list is read.
        const MAX_TRIES: usize = 50;
        let mut names = list()?;
        let mut tries = 1_usize;
        loop {
            let error = match Self::open_all(dir, hash_len, &names) {
                Err(ReftableError::Io { path, source }) if source.kind() == io::ErrorKind::NotFound => {
                    ReftableError::Io { path, source }
                }
                done => return done,
            };
            let newer = list()?;
            if newer == names || tries >= MAX_TRIES {
                return Err(error);
            }
            names = newer;
            tries = tries.saturating_add(1);
        }
    }

    fn open_all(dir: &Path, hash_len: usize, names: &[String]) -> Result<Self, ReftableError> {
        let open = |name: &String| {
            let path = dir.join(name);
            let opened = File::open(&path).map_err(Flaw::from).and_then(|file| Table::open(file, hash_len));
            match opened {
                Ok(table) => Ok((path, table)),
                Err(flaw) => Err(of_file(path, flaw)),
            }
        };
        Ok(Self { tables: names.iter().rev().map(open).collect::<Result<_, _>>()? })
    }

    fn find(&mut self, name: &BStr) -> Result<Option<Found>, ReftableError> {
        for (path, table) in &mut self.tables {
            let found = table.find(name, |value| match value {
                Value::Deleted => None,
                Value::Id(id) => Some(Found::Id(id.to_owned())),
                Value::Symbolic(target) => Some(Found::Symbolic(target.into())),
            });
            if let Some(found) = found.map_err(|flaw| of_file(path.clone(), flaw))? {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

fn of_file(path: PathBuf, flaw: Flaw) -> ReftableError {
    match flaw {
        Flaw::Io(source) => ReftableError::Io { path, source },
        Flaw::Damaged(damage) => ReftableError::Damaged { path, what: damage.0.to_owned() },
        Flaw::Version(version) => ReftableError::UnknownVersion { path, version },
    }
}

fn read_list(path: &Path) -> Result<Vec<String>, ReftableError> {
    /// Git keeps a stack to a few tables.
    const MAX_LEN: u64 = 1 << 20;
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_LEN.saturating_add(1)).read_to_end(&mut text));
    let len = read.map_err(|source| ReftableError::Io { path: path.to_owned(), source })?;
    let damaged = |what: &str| ReftableError::Damaged { path: path.to_owned(), what: what.to_owned() };
    if u64::try_from(len).map_or(true, |len| len > MAX_LEN) {
        return Err(damaged("it is too long"));
    }
    text.lines().map(|line| table_name(line).ok_or_else(|| damaged("it names what cannot be a table"))).collect()
}

/// A name in the list, if it is one of a file in the same directory.
fn table_name(line: &[u8]) -> Option<String> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_name = !line.is_empty() && !line.starts_with(b".") && line.iter().all(is_plain);
    is_name.then(|| String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_gone_is_looked_for_in_a_newer_list() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = |lists: &[&[&str]]| {
            let mut lists = lists.iter();
            let next = || {
                let names = lists.next().expect("the list is read no more often");
                Ok(names.iter().map(|name| (*name).to_owned()).collect())
            };
            Stack::open_listed(dir.path(), 20, next).map(|stack| stack.tables.len())
        };
        assert_eq!(open(&[&["a"], &["b"], &["c"], &[]]).expect("no tables are left"), 0);
        let error = open(&[&["a"], &["b"], &["b"]]).expect_err("b is named and is not there");
        assert!(matches!(error, ReftableError::Io { path, .. } if path.ends_with("b")));
        let endless: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let endless: Vec<[&str; 1]> = endless.iter().map(|name| [name.as_str()]).collect();
        let endless: Vec<&[&str]> = endless.iter().map(<[&str; 1]>::as_slice).collect();
        assert!(open(&endless).is_err());
    }
}
