//! A project with all that is locked in it: what `list` shows, and what can be asked about a lease without naming a path.

use std::rc::Rc;

use git_agentlock::{
    git::Repository,
    policy::{Loaded, WorkTreeScope},
    resource::{Project, Resource},
    store::file::FileStore,
};

/// All of a project, or of its store.
pub(crate) struct Whole {
    pub(crate) repository: Option<Rc<Repository>>,
    pub(crate) policy: Rc<Loaded>,
    pub(crate) store: FileStore,
    pub(crate) project: Project,
}

impl Whole {
    /// Whether a resource is meant: of this project, or any when the whole store is.
    pub(crate) fn is_meant(&self, resource: &Resource, whole_store: bool) -> bool {
        whole_store || resource.scope.project == self.project
    }

    /// Whether a resource of this project is what the same words would name here: a named thing, or a path of this work tree.
    pub(crate) fn is_here(&self, resource: &Resource) -> bool {
        let here = match self.policy.policy.scope() {
            WorkTreeScope::WorkTree => self.repository.as_deref().map(|here| &here.work_tree_id),
            WorkTreeScope::Repository => None,
        };
        resource.path().is_none()
            || here.map_or(resource.scope.work_tree.is_empty(), |id| *id == resource.scope.work_tree)
    }
}
