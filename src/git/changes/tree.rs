//! The committed side: trees in git's object database, each read once.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, bstr, objs::tree::EntryKind};

use super::{
    ChangesError, object_error, reason,
    side::{Directory, Item, Leaf},
};
use crate::git::{Repository, RepositoryError, reftable};

/// The names in one directory.
pub(super) type Tree = std::collections::BTreeMap<BString, Item>;

/// The repository's objects.
pub(super) struct Trees {
    repository: gix::Repository,
    known: RefCell<HashMap<ObjectId, Rc<Tree>>>,
}

impl Trees {
    /// Opens what [`Repository`] describes. Whether it may be trusted was decided when it was found; only its own configuration is read.
    pub(super) fn open(repository: &Repository) -> Result<Self, ChangesError> {
        let options = gix::open::Options::isolated();
        let opened = gix::open_opts(&repository.git_dir, options).map_err(|error| RepositoryError::Unusable {
            path: repository.git_dir.clone(),
            reason: reason(&error.probable_cause()),
        })?;
        Ok(Self { repository: opened, known: RefCell::default() })
    }

    pub(super) fn hash(&self) -> gix::hash::Kind {
        self.repository.object_hash()
    }

    /// The top directory of `HEAD`; an empty one before the first commit.
    pub(super) fn top_of_head(&self) -> Result<Item, ChangesError> {
        match self.head()? {
            None => Ok(self.nothing()),
            Some(id) => self.top_of_commit("HEAD", id),
        }
    }

    /// An empty directory.
    pub(super) fn nothing(&self) -> Item {
        Item::Directory(Directory::Tree(ObjectId::empty_tree(self.hash())))
    }

    /// The commit of `HEAD`; `None` before the first.
    pub(super) fn head(&self) -> Result<Option<ObjectId>, ChangesError> {
        if self.has_reftable() {
            return self.in_reftable("HEAD");
        }
        let error = |why: String| ChangesError::Commit { name: "HEAD".to_owned(), reason: why };
        let mut head = self.repository.head().map_err(|cause| error(reason(&cause.probable_cause())))?;
        if head.is_unborn() {
            return Ok(None);
        }
        let commit = head.peel_to_commit().map_err(|cause| error(reason(&cause.probable_cause())))?;
        Ok(Some(commit.id))
    }

    /// gix reads no reftables: to it, every branch of such a repository is unborn.
    fn has_reftable(&self) -> bool {
        let format = self.repository.config_snapshot().string("extensions.refStorage");
        format.is_some_and(|format| format.eq_ignore_ascii_case(b"reftable"))
    }

    fn in_reftable(&self, name: &str) -> Result<Option<ObjectId>, ChangesError> {
        let (git_dir, common_dir) = (self.repository.git_dir(), self.repository.common_dir());
        let found = reftable::resolve(git_dir, common_dir, name.into(), self.hash().len_in_bytes());
        let error = |why: String| ChangesError::Commit { name: name.to_owned(), reason: why };
        let id = found.map_err(|cause| error(cause.to_string()))?;
        id.map(|id| ObjectId::try_from(id.as_slice()).map_err(|cause| error(reason(&cause)))).transpose()
    }

    /// The parents of a commit.
    pub(super) fn parents(&self, id: ObjectId) -> Result<Vec<ObjectId>, ChangesError> {
        let commit = self.repository.find_commit(id).map_err(|error| object_error(id, &error.probable_cause()))?;
        Ok(commit.parent_ids().map(gix::Id::detach).collect())
    }

    /// Those of the commits that are merged, in hex, that `git commit` makes parents of: what `HEAD` or another of them contains already it leaves out,
    /// and a path that is as it was there would be called unchanged, although the commit takes it back.
    pub(super) fn that_become_parents(&self, merged: Vec<String>) -> Result<Vec<String>, ChangesError> {
        let Some(head) = self.head()?.filter(|_| !merged.is_empty()) else { return Ok(merged) };
        let ids: Vec<_> = merged.iter().filter_map(|hex| self.id(hex)).collect();
        // Where history is cut off, it may not be known.
        let contains = |newer: ObjectId, older: ObjectId| {
            self.repository.merge_base(newer, older).is_ok_and(|base| base.is_some_and(|base| base == older))
        };
        let is_left_out = |hex: &String| {
            let Some(id) = self.id(hex) else { return false };
            contains(head, id) || ids.iter().any(|other| *other != id && contains(*other, id))
        };
        Ok(merged.into_iter().filter(|hex| !is_left_out(hex)).collect())
    }

    /// An id of this repository's kind of hash: gix does not survive the other.
    pub(super) fn id(&self, hex: &str) -> Option<ObjectId> {
        ObjectId::from_hex(hex.as_bytes()).ok().filter(|id| id.kind() == self.hash())
    }

    /// The top directory of a commit, by its id in hex.
    pub(super) fn top_of_hex(&self, hex: &str) -> Result<Item, ChangesError> {
        let no_id = || ChangesError::Commit { name: hex.to_owned(), reason: "it is no object id here".to_owned() };
        self.top_of_commit(hex, self.id(hex).ok_or_else(no_id)?)
    }

    /// The same of several.
    pub(super) fn tops_of(&self, all: &[String]) -> Result<Vec<Item>, ChangesError> {
        all.iter().map(|id| self.top_of_hex(id)).collect()
    }

    /// The top directory of a revision.
    pub(super) fn top_of(&self, name: &str) -> Result<Item, ChangesError> {
        if name == "HEAD" {
            return self.top_of_head();
        }
        if let Some(id) = self.id(name) {
            return self.top_of_commit(name, id);
        }
        let error = |why: String| ChangesError::Commit { name: name.to_owned(), reason: why };
        let spelt = if self.has_reftable() { self.without_refs(name)? } else { name.to_owned() };
        let found = self.repository.rev_parse_single(spelt.as_str());
        let id = found.map_err(|cause| error(reason(&cause.probable_cause())))?;
        self.top_of_commit(name, id.detach())
    }

    /// A revision with an id in the place of the ref that it begins with (`main~2`), so that gix can follow it where it cannot read refs.
    fn without_refs(&self, name: &str) -> Result<String, ChangesError> {
        let ends = [name.find('~'), name.find('^'), name.find("@{")];
        let (start, way) = name.split_at(ends.into_iter().flatten().min().unwrap_or(name.len()));
        let start = if start == "@" { "HEAD" } else { start };
        for place in ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] {
            if let Some(id) = self.in_reftable(&format!("{place}{start}"))? {
                return Ok(format!("{id}{way}"));
            }
        }
        // The beginning of an id, or nothing that gix knows either.
        Ok(name.to_owned())
    }

    pub(super) fn top_of_commit(&self, name: &str, id: ObjectId) -> Result<Item, ChangesError> {
        let error = |why: String| ChangesError::Commit { name: name.to_owned(), reason: why };
        let object = self.repository.find_object(id).map_err(|cause| error(reason(&cause.probable_cause())))?;
        let commit = object.peel_to_commit().map_err(|cause| error(reason(&cause.probable_cause())))?;
        let tree = commit.tree_id().map_err(|cause| error(reason(&cause.probable_cause())))?;
        Ok(Item::Directory(Directory::Tree(tree.detach())))
    }

    /// What is at a path below a directory.
    pub(super) fn at(&self, top: &Item, path: &BStr) -> Result<Option<Item>, ChangesError> {
        let mut here = top.clone();
        for name in path.split_str("/").filter(|name| !name.is_empty()) {
            let Item::Directory(_) = &here else { return Ok(None) };
            match self.children(&here)?.get(name.as_bstr()) {
                Some(item) => here = item.clone(),
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    /// The names in a directory; none in what is no directory, or not a committed one.
    pub(super) fn children(&self, item: &Item) -> Result<Rc<Tree>, ChangesError> {
        match item {
            Item::Directory(Directory::Tree(id)) => self.read(*id),
            _ => Ok(Rc::default()),
        }
    }

    fn read(&self, id: ObjectId) -> Result<Rc<Tree>, ChangesError> {
        if id.is_empty_tree() {
            return Ok(Rc::default());
        }
        if let Some(tree) = self.known.borrow().get(&id) {
            return Ok(Rc::clone(tree));
        }
        let object = self.repository.find_tree(id).map_err(|error| object_error(id, &error.probable_cause()))?;
        let mut tree = Tree::new();
        for entry in object.iter() {
            let entry = entry.map_err(|error| object_error(id, &error))?;
            let (mode, child) = (entry.mode().kind(), entry.object_id());
            let item = match mode {
                EntryKind::Tree => Item::Directory(Directory::Tree(child)),
                kind => Item::Leaf(Leaf { kind, id: child }),
            };
            tree.insert(entry.filename().to_owned(), item);
        }
        let tree = Rc::new(tree);
        self.known.borrow_mut().insert(id, Rc::clone(&tree));
        Ok(tree)
    }
}
