//! The later side: what is staged in git's index, or what another commit contains.

use std::{collections::HashMap, ops::Range, path::Path};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId, bstr,
    index::{
        File,
        entry::{Flags, Mode},
        extension,
    },
    objs::tree::EntryKind,
};

use super::{
    ChangesError, reason,
    tree::{Tree, Trees},
};

/// What is at a path.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// A file, a symbolic link, a submodule.
    Leaf(Leaf),
    /// An entry with a conflict, or of a kind that there is not. It differs from everything.
    Unmerged,
    /// Something with names below it.
    Directory(Directory),
}

/// What a commit says of a path that is no directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) kind: EntryKind,
    pub(super) id: ObjectId,
}

#[derive(Debug, Clone)]
pub(super) enum Directory {
    /// A tree object.
    Tree(ObjectId),
    /// Some consecutive entries of the index, and the tree that git knows them to be, if it does.
    Entries(Range<usize>, Option<ObjectId>),
}

impl Item {
    pub(super) fn is_directory(&self) -> bool {
        matches!(self, Self::Directory(_))
    }
}

/// Whether two items are known to be the same without looking into directories.
pub(super) fn is_same(a: Option<&Item>, b: Option<&Item>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(Item::Leaf(a)), Some(Item::Leaf(b))) => a == b,
        (Some(Item::Directory(a)), Some(Item::Directory(b))) => a.id().is_some() && a.id() == b.id(),
        _ => false,
    }
}

impl Directory {
    fn id(&self) -> Option<ObjectId> {
        match self {
            Self::Tree(id) => Some(*id),
            Self::Entries(_, id) => *id,
        }
    }
}

/// The state after the change.
pub(super) enum Side {
    Staged(Box<Staged>),
    Committed(Item),
}

impl Side {
    pub(super) fn at(&self, trees: &Trees, path: &BStr) -> Result<Option<Item>, ChangesError> {
        match self {
            Self::Staged(index) => index.at(trees, path),
            Self::Committed(top) => trees.at(top, path),
        }
    }

    /// The names in a directory that is at `path`.
    pub(super) fn children(&self, trees: &Trees, item: &Item, path: &BStr) -> Result<Tree, ChangesError> {
        match (self, item) {
            (Self::Staged(index), Item::Directory(Directory::Entries(range, _))) => {
                Ok(index.children(range.clone(), path))
            }
            _ => trees.children(item).map(|tree| tree.as_ref().clone()),
        }
    }
}

/// git's index, as a commit would take it.
pub(super) struct Staged(Option<File>);

impl Staged {
    /// Reads an index; one that does not exist is empty. Its checksum is not verified, as git itself does not.
    pub(super) fn read(path: &Path, hash: gix::hash::Kind) -> Result<Self, ChangesError> {
        let error = |reason: String| ChangesError::Index { path: path.to_owned(), reason };
        match std::fs::metadata(path) {
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Self(None)),
            Err(source) => return Err(error(source.to_string())),
            Ok(meta) if !meta.is_file() => return Err(error("it is not a regular file".to_owned())),
            Ok(_) => {}
        }
        let index =
            File::at(path, hash, true, Default::default()).map_err(|cause| error(reason(&cause.to_string())))?;
        if !is_in_order(&index) {
            return Err(error("its entries are not in order".to_owned()));
        }
        Ok(Self(Some(index)))
    }

    fn path_of(&self, at: usize) -> &BStr {
        self.0.as_ref().and_then(|index| Some(index.entries().get(at)?.path(index))).unwrap_or_default()
    }

    /// The first entry of `range` whose path does not come before all that begin with `prefix`, and the first behind those.
    fn with_prefix(&self, range: Range<usize>, prefix: &[u8]) -> Range<usize> {
        let Some(index) = &self.0 else { return 0..0 };
        let entries = index.entries().get(range.clone()).unwrap_or_default();
        let begins = entries.partition_point(|entry| entry.path(index).as_bytes() < prefix);
        let within = entries.get(begins..).unwrap_or_default();
        let count = within.partition_point(|entry| entry.path(index).starts_with(prefix));
        let start = range.start.saturating_add(begins);
        start..start.saturating_add(count)
    }

    /// What is at a path; the empty one is the top.
    pub(super) fn at(&self, trees: &Trees, path: &BStr) -> Result<Option<Item>, ChangesError> {
        let Some(index) = &self.0 else { return Ok(None) };
        let all = 0..index.entries().len();
        if path.is_empty() {
            return Ok(Some(Item::Directory(Directory::Entries(all, self.cached(path, index.entries().len())))));
        }
        let own = self.with_prefix(all.clone(), path);
        let below = self.with_prefix(own.clone(), &[path.as_bytes(), b"/"].concat());
        if let Some(item) = self.leaf(own, path) {
            return Ok(Some(item));
        }
        if below.is_empty() {
            return self.in_sparse_directory(trees, path);
        }
        Ok(Some(self.directory(below, &[path.as_bytes(), b"/"].concat())))
    }

    /// The entry of exactly this path, when it is the first of `range`.
    fn leaf(&self, range: Range<usize>, path: &BStr) -> Option<Item> {
        let index = self.0.as_ref()?;
        let entry = index.entries().get(range)?.first().filter(|entry| entry.path(index) == path)?;
        if entry.stage_raw() != 0 {
            return Some(Item::Unmerged);
        }
        let is_intended = entry.flags.contains(Flags::INTENT_TO_ADD);
        let item = |kind| Item::Leaf(Leaf { kind, id: entry.id });
        (!is_intended).then(|| kind_of(entry.mode).map_or(Item::Unmerged, item))
    }

    /// The entries below a directory; a sparse one is a single entry that names its tree.
    fn directory(&self, range: Range<usize>, prefix: &[u8]) -> Item {
        let path = prefix.strip_suffix(b"/").unwrap_or(prefix);
        let id = self.cached(path.as_bstr(), range.len());
        self.sparse(&range, prefix).unwrap_or(Item::Directory(Directory::Entries(range, id)))
    }

    /// A directory of which the index only names the tree, by one entry with a `/` at its end.
    fn sparse(&self, range: &Range<usize>, prefix: &[u8]) -> Option<Item> {
        let entry = self.0.as_ref()?.entries().get(range.start).filter(|entry| entry.mode == Mode::DIR)?;
        (self.path_of(range.start) == prefix).then_some(Item::Directory(Directory::Tree(entry.id)))
    }

    /// What lies in a directory of which the index only names the tree.
    fn in_sparse_directory(&self, trees: &Trees, path: &BStr) -> Result<Option<Item>, ChangesError> {
        let Some(index) = self.0.as_ref().filter(|index| index.is_sparse()) else { return Ok(None) };
        for slash in path.find_iter(b"/") {
            let Some((above, rest)) = path.split_at_checked(slash.saturating_add(1)) else { continue };
            let found = self.with_prefix(0..index.entries().len(), above);
            if let Some(item) = self.sparse(&found, above) {
                return trees.at(&item, rest.as_bstr());
            }
        }
        Ok(None)
    }

    /// The names in the directory at `path`, whose entries are `range`.
    fn children(&self, range: Range<usize>, path: &BStr) -> Tree {
        let prefix = if path.is_empty() { Vec::new() } else { [path.as_bytes(), b"/"].concat() };
        let cached: HashMap<&[u8], &extension::Tree> = self
            .cached_tree(path)
            .map(|tree| tree.children.iter().map(|child| (child.name.as_slice(), child)).collect())
            .unwrap_or_default();
        let mut children = Tree::new();
        let mut at = range.start;
        while at < range.end {
            let entry = self.path_of(at);
            let rest = entry.get(prefix.len()..).unwrap_or_default();
            let name = rest.find_byte(b'/').and_then(|end| rest.get(..end));
            let Some(name) = name else {
                if let Some(item) = self.leaf(at..range.end, entry) {
                    children.insert(rest.into(), item);
                }
                at = at.saturating_add(1);
                continue;
            };
            let below = [prefix.as_slice(), name, b"/"].concat();
            let entries = self.with_prefix(at..range.end, &below);
            at = entries.end.max(at.saturating_add(1));
            let item = match self.sparse(&entries, &below) {
                Some(sparse) => sparse,
                None => {
                    let id = cached.get(name).and_then(|tree| id_of(tree, entries.len()));
                    Item::Directory(Directory::Entries(entries, id))
                }
            };
            children.entry(BString::from(name)).or_insert(item);
        }
        children
    }

    /// The tree that git has noted for a directory in which nothing was staged since.
    fn cached(&self, path: &BStr, entries: usize) -> Option<ObjectId> {
        self.cached_tree(path).and_then(|tree| id_of(tree, entries))
    }

    fn cached_tree(&self, path: &BStr) -> Option<&extension::Tree> {
        let mut tree = self.0.as_ref()?.tree()?;
        for name in path.split_str("/").filter(|name| !name.is_empty()) {
            tree = tree.children.iter().find(|child| child.name.as_slice() == name)?;
        }
        Some(tree)
    }
}

/// Whether a search finds what is there. git makes a commit also of an index where it does not.
fn is_in_order(index: &File) -> bool {
    index.entries().is_sorted_by(|a, b| (a.path(index), a.stage_raw()) < (b.path(index), b.stage_raw()))
}

/// A noted tree counts when it stands for just as many entries as there are.
fn id_of(tree: &extension::Tree, entries: usize) -> Option<ObjectId> {
    let counted = usize::try_from(tree.num_entries?).ok()?;
    (counted == entries).then_some(tree.id)
}

/// As git takes the mode of an entry when it reads it back from the tree that it writes it to.
fn kind_of(mode: Mode) -> Option<EntryKind> {
    const KIND: u32 = 0o170_000;
    match mode.bits() & KIND {
        0o100_000 if mode.bits() & 0o100 != 0 => Some(EntryKind::BlobExecutable),
        0o100_000 => Some(EntryKind::Blob),
        0o120_000 => Some(EntryKind::Link),
        0o160_000 => Some(EntryKind::Commit),
        _ => None,
    }
}
