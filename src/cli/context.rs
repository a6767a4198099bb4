//! The world around a command: repositories, policies, stores.

use std::{
    cell::RefCell,
    collections::HashMap,
    path::{Path, PathBuf},
    rc::Rc,
};

use git_agentlock::{
    clock::SystemClock,
    git::{
        Repository,
        locate::{Environment, Locator, Place, Taken},
    },
    locks::Locks,
    policy::{Loaded, OnError, Policy, WorkTreeScope, load},
    resource::{NamedId, Project, Resource, Scope, Target, path_bytes},
    store::file::FileStore,
};

use super::{
    environment::{host_name, variable, working_directory},
    failure::Failure,
    policy_files,
    whole::Whole,
};

/// Whether a bad policy file stops the command or only costs a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnBadPolicy {
    Refuse,
    Warn,
}

pub(crate) struct Context {
    pub(crate) cwd: PathBuf,
    pub(crate) clock: SystemClock,
    locator: Locator,
    lock_dir: Option<PathBuf>,
    on_bad_policy: OnBadPolicy,
    pub(crate) umask: u32,
    policies: RefCell<HashMap<Option<Rc<Repository>>, Rc<Loaded>>>,
    warnings: RefCell<Vec<String>>,
}

/// A resource with the store and policy that are responsible for it.
#[derive(Clone)]
pub(crate) struct Located {
    pub(crate) resource: Resource,
    pub(crate) store_dir: PathBuf,
    pub(crate) policy: Rc<Loaded>,
    repository: Option<Rc<Repository>>,
}

impl Located {
    /// The directory of an area in a work tree.
    pub(crate) fn area_dir(&self) -> Option<PathBuf> {
        self.resource.is_area().then(|| self.place()).flatten()
    }

    /// Where what is locked is.
    pub(crate) fn place(&self) -> Option<PathBuf> {
        let top = self.repository.as_deref().map_or(Some(Path::new("/")), |here| here.work_tree.as_deref())?;
        let path: &[u8] = self.resource.path()?.as_bytes().as_ref();
        Some(top.join(bstr::ByteSlice::to_path(path).ok()?))
    }
}

impl Context {
    pub(crate) fn new(directory: Option<&Path>, on_bad_policy: OnBadPolicy, umask: u32) -> Result<Self, Failure> {
        let cwd = working_directory(directory)?;
        let lock_dir = variable("AGENT_REGISTRY_LOCK_DIR").map(PathBuf::from);
        if let Some(dir) = lock_dir.as_ref().filter(|dir| !dir.is_absolute()) {
            let shown = git_agentlock::text::escape_path(dir);
            return Err(Failure::invalid(format!(
                "AGENT_REGISTRY_LOCK_DIR is '{shown}', which is not an absolute path"
            ))
            .hint("agents in different directories would each have a store of their own; give the full path"));
        }
        let describes = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"].iter().any(|name| variable(name).is_some());
        let environment = describes.then(|| Environment {
            common_dir: variable("GIT_COMMON_DIR").map(PathBuf::from),
            names_git_dir: variable("GIT_DIR").is_some(),
        });
        Ok(Self {
            locator: Locator::new(cwd.clone(), environment),
            cwd,
            clock: SystemClock::new(),
            lock_dir,
            on_bad_policy,
            umask,
            policies: RefCell::default(),
            warnings: RefCell::default(),
        })
    }

    /// Says something beside the result, once.
    pub(crate) fn warn(&self, warning: impl Into<String>) {
        let warning = warning.into();
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub(crate) fn take_warnings(&self) -> Vec<String> {
        self.warnings.take()
    }

    /// The resources that one path stands for: its own, and when it is a symbolic link also what it points to.
    pub(crate) fn locate(&self, path: &[u8], area: bool) -> Result<Vec<(Located, Taken)>, Failure> {
        let places = self.locator.locate(path.into(), area)?;
        self.warn_of_prefix(path);
        places
            .into_iter()
            .map(|Place { repository, target, taken }| {
                if repository.is_none() && self.lock_dir.is_none() {
                    return Err(Failure::no_repository(&format!("'{}'", git_agentlock::text::escape(path))));
                }
                Ok((self.located(repository, target)?, taken))
            })
            .collect()
    }

    /// A named thing of the project of the current directory.
    pub(crate) fn named(&self, name: NamedId) -> Result<Located, Failure> {
        let repository = self.here("the current directory")?;
        self.located(repository, Target::Named(name))
    }

    /// The project of the current directory; `None` outside of any repository, when there is a shared store.
    pub(crate) fn here(&self, what: &str) -> Result<Option<Rc<Repository>>, Failure> {
        match self.locator.repository_here()? {
            None if self.lock_dir.is_none() => Err(Failure::no_repository(what)),
            repository => Ok(repository),
        }
    }

    fn located(&self, repository: Option<Rc<Repository>>, target: Target) -> Result<Located, Failure> {
        let policy = self.policy(repository.as_ref())?;
        let scope = self.scope(repository.as_deref(), &policy.policy, &target);
        let store_dir = self.store_dir(repository.as_deref(), &policy.policy);
        Ok(Located { resource: Resource { scope, target }, store_dir, policy, repository })
    }

    fn scope(&self, repository: Option<&Repository>, policy: &Policy, target: &Target) -> Scope {
        let Some(repository) = repository else {
            return Scope { project: Project::Outside, ..Scope::implicit() };
        };
        let is_named = matches!(target, Target::Named(_));
        let work_tree = match policy.scope() {
            WorkTreeScope::WorkTree if !is_named => repository.work_tree_id.clone(),
            _ => Default::default(),
        };
        let project = self.project(repository, policy);
        Scope { project, work_tree, ignore_case: repository.ignore_case && !is_named }
    }

    /// The store and project of the current directory, for commands that are about all that is there.
    pub(crate) fn whole(&self) -> Result<Whole, Failure> {
        let whole = self.whole_unwarned()?;
        self.warn_of_own_store(whole.repository.as_deref());
        Ok(whole)
    }

    /// The same, for who looks at the repository's own store itself.
    pub(crate) fn whole_unwarned(&self) -> Result<Whole, Failure> {
        let repository = self.here("the current directory")?;
        let policy = self.policy(repository.as_ref())?;
        let store = self.open_store(repository.as_deref(), &policy.policy);
        let project = repository.as_deref().map_or(Project::Outside, |here| self.project(here, &policy.policy));
        Ok(Whole { repository, policy, store, project })
    }

    /// How the store knows this project.
    pub(crate) fn project(&self, repository: &Repository, policy: &Policy) -> Project {
        if self.lock_dir.is_none() && policy.store_dir().is_none() {
            return Project::Implicit;
        }
        match policy.project() {
            Some(label) => Project::Label(label.to_owned()),
            None => Project::GitDir(path_bytes(&repository.common_dir).unwrap_or_default()),
        }
    }

    fn store_dir(&self, repository: Option<&Repository>, policy: &Policy) -> PathBuf {
        self.open_store(repository, policy).dir()
    }

    pub(crate) fn open_store(&self, repository: Option<&Repository>, policy: &Policy) -> FileStore {
        let store = match (self.lock_dir.as_deref().or(policy.store_dir()), repository) {
            (Some(dir), _) => FileStore::at(dir),
            (None, Some(repository)) => FileStore::in_git_dir(&repository.common_dir),
            // `here` and `locate` have refused this already.
            (None, None) => FileStore::at(&self.cwd),
        };
        store.with_fsync(policy.fsync()).with_umask(self.umask)
    }

    /// The stores that count for a commit, and what the work tree's files are called in each: the one in use, and when that is a shared one by
    /// variable also the one that is used where the variable is not set.
    pub(crate) fn guarded(&self, repository: &Repository, policy: &Policy) -> Vec<(FileStore, Scope)> {
        let any_file = Target::File(git_agentlock::resource::RepoPath::top());
        let scope = self.scope(Some(repository), policy, &any_file);
        let mut stores = vec![(self.open_store(Some(repository), policy), scope.clone())];
        // Named by both, it is one store all the same.
        if self.lock_dir.as_deref().is_some_and(|dir| policy.store_dir() != Some(dir)) {
            let own = match policy.store_dir() {
                Some(dir) => (FileStore::at(dir), scope),
                None => (FileStore::in_git_dir(&repository.common_dir), Scope { project: Project::Implicit, ..scope }),
            };
            stores.push(own);
        }
        stores
    }

    /// The directory in which the user called git, from the top of the work tree: a hook runs at the top, whatever that was.
    pub(crate) fn prefix(&self, repository: &Repository) -> git_agentlock::resource::RepoPath {
        let below = |top: &PathBuf| path_bytes(std::fs::canonicalize(&self.cwd).ok()?.strip_prefix(top).ok()?);
        let prefix = match variable("GIT_PREFIX") {
            Some(prefix) => path_bytes(Path::new(&prefix)),
            None => repository.work_tree.as_ref().and_then(below),
        };
        let prefix = prefix.map(|prefix| prefix.strip_suffix(b"/").unwrap_or(&prefix).to_vec()).unwrap_or_default();
        git_agentlock::resource::RepoPath::new(prefix).unwrap_or(git_agentlock::resource::RepoPath::top())
    }

    /// The effective policy of a project. Layers that cannot be used are an error or a warning, as the command wants it.
    pub(crate) fn policy(&self, repository: Option<&Rc<Repository>>) -> Result<Rc<Loaded>, Failure> {
        let key = repository.cloned();
        let known = self.policies.borrow().get(&key).cloned();
        let loaded =
            known.unwrap_or_else(|| Rc::new(load(policy_files::layers(repository.map(|repository| &**repository)))));
        if !loaded.problems.is_empty() {
            match self.on_bad_policy {
                OnBadPolicy::Refuse => return Err(Failure::policy(&loaded.problems)),
                OnBadPolicy::Warn => {
                    self.warn(format!("a policy file is passed over: {}", Failure::problems(&loaded.problems)));
                }
            }
        }
        self.policies.borrow_mut().insert(key, Rc::clone(&loaded));
        Ok(loaded)
    }

    /// Whether an agent tool's edit is to be refused when it cannot be told who holds the file. When nobody has said so it is where leases are kept:
    /// who has never taken any must not be kept from their work. `place` is a directory of the repository.
    pub(crate) fn refuses_on_error(directory: Option<&Path>, umask: u32) -> bool {
        let context = Self::new(directory, OnBadPolicy::Warn, umask).ok();
        let repository = context.as_ref().and_then(|context| context.locator.repository_here().ok().flatten());
        let policy = load(policy_files::layers(repository.as_deref())).policy;
        if policy.agent_on_error() == OnError::Allow || policy.gives_agent_on_error() {
            return policy.agent_on_error() == OnError::Block;
        }
        let lock_dir = variable("AGENT_REGISTRY_LOCK_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
        let known = lock_dir.as_deref().or(policy.store_dir()).map(FileStore::at);
        let found = known.or_else(|| match repository {
            Some(repository) => Some(FileStore::in_git_dir(&repository.common_dir)),
            None => git_dir_above(directory?).map(|git_dir| FileStore::in_git_dir(&git_dir)),
        });
        found.is_some_and(|store| store.may_exist())
    }

    /// The lock service on a store.
    pub(crate) fn locks<'a>(&'a self, store: &'a FileStore, policy: &Policy) -> Locks<'a> {
        Locks {
            store,
            clock: &self.clock,
            host: host_name(),
            longest_ttl: policy.longest_ttl(),
            keep_expired_ms: policy.keep_expired_ms(),
        }
    }

    /// All resources of one request must live in one store: two stores cannot grant together.
    pub(crate) fn one_store(&self, all: &[Located]) -> Result<FileStore, Failure> {
        let Some(first) = all.first() else {
            return Err(Failure::invalid("nothing was named").hint("name a PATH, or --resource TYPE:ID"));
        };
        if let Some(other) = all.iter().find(|other| other.store_dir != first.store_dir) {
            let text = |located: &Located| {
                format!("{} ({})", located.resource, git_agentlock::text::escape_path(&located.store_dir))
            };
            return Err(Failure::invalid(format!(
                "the resources of one request must live in one store: {} and {} do not",
                text(first),
                text(other)
            ))
            .hint("make one request for each, or let both repositories share a store with AGENT_REGISTRY_LOCK_DIR"));
        }
        let repositories: std::collections::HashSet<_> =
            all.iter().filter_map(|one| one.repository.as_deref()).collect();
        for repository in repositories {
            self.warn_of_own_store(Some(repository));
        }
        Ok(self.open_store(first.repository.as_deref(), &first.policy.policy))
    }

    /// What a path names from the top of the work tree, when that exists: perhaps it was meant.
    pub(crate) fn from_the_top(located: &Located, given: &[u8]) -> Option<PathBuf> {
        let given = bstr::ByteSlice::to_path(given).ok().filter(|given| given.is_relative())?;
        let meant = located.repository.as_ref()?.work_tree.as_ref()?.join(given);
        meant.exists().then_some(meant)
    }

    /// Which of the resources are in another repository than the current directory: their paths are told from the top of that one.
    pub(crate) fn notes_of_other_repositories(&self, located: &[Located]) -> Vec<String> {
        let here = self.locator.repository_here().ok().flatten();
        let is_here =
            |repository: &Repository| here.as_ref().is_some_and(|here| here.common_dir == repository.common_dir);
        let others = located.iter().filter_map(|one| Some((one, one.repository.as_deref()?)));
        let others = others.filter(|(_, repository)| !is_here(repository));
        let note = |(one, repository): (&Located, &Repository)| {
            let top = repository.work_tree.as_ref().unwrap_or(&repository.common_dir);
            format!("note: {} is in the repository at {}", one.resource, git_agentlock::text::escape_path(top))
        };
        others.map(note).collect()
    }

    /// The same paths in the repository's other work trees, where locks of those are apart.
    pub(crate) fn in_other_work_trees(&self, located: &[Located]) -> Vec<Resource> {
        let mut elsewhere = Vec::new();
        let mut ids: HashMap<PathBuf, Vec<bstr::BString>> = HashMap::new();
        for one in located {
            let Some(repository) = &one.repository else { continue };
            if one.policy.policy.scope() == WorkTreeScope::Repository || one.resource.path().is_none() {
                continue;
            }
            let known = ids.entry(repository.common_dir.clone()).or_insert_with(|| repository.all_work_tree_ids());
            for id in known.iter().filter(|id| **id != one.resource.scope.work_tree) {
                let scope = Scope { work_tree: id.clone(), ..one.resource.scope.clone() };
                elsewhere.push(Resource { scope, target: one.resource.target.clone() });
            }
        }
        elsewhere
    }

    /// A shared store beside a repository's own one with live leases: those who do not have the variable set are not seen here.
    pub(crate) fn warn_of_own_store(&self, repository: Option<&Repository>) {
        if let Some(warning) = self.leases_in_own_store(repository) {
            self.warn(warning);
        }
    }

    pub(crate) fn leases_in_own_store(&self, repository: Option<&Repository>) -> Option<String> {
        let own = FileStore::in_git_dir(&self.lock_dir.as_ref().and(repository)?.common_dir);
        if !own.dir().is_dir() {
            return None;
        }
        let policy = load(Vec::new()).policy;
        let leases = self.locks(&own, &policy).list().ok()?.leases;
        let live = leases.iter().filter(|lease| lease.state == git_agentlock::locks::State::Live).count();
        let leases = if live == 1 { "lease is" } else { "leases are" };
        (live > 0).then(|| {
            format!(
                "AGENT_REGISTRY_LOCK_DIR is set, but {live} live {leases} in the repository's own store {}: their owners do not see \
                 yours, nor you theirs",
                git_agentlock::text::escape_path(&own.dir())
            )
        })
    }

    /// A shell alias (`!git agentlock`) starts at the top of the work tree: what was meant may be another file.
    fn warn_of_prefix(&self, path: &[u8]) {
        let Some(prefix) = variable("GIT_PREFIX") else { return };
        let Ok(path) = bstr::ByteSlice::to_path(path) else { return };
        if path.is_relative() && !self.cwd.join(path).exists() {
            let meant = Path::new(&prefix).join(path);
            if self.cwd.join(&meant).exists() {
                self.warn(format!(
                    "git started this at the top of the work tree, where there is no '{}'; if you mean '{}', say so",
                    git_agentlock::text::escape_path(path),
                    git_agentlock::text::escape_path(&meant)
                ));
            }
        }
    }
}

/// The git directory of a repository that cannot be opened: the nearest `.git` above, whatever is in it.
fn git_dir_above(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().map(|dir| dir.join(".git")).find(|git_dir| git_dir.symlink_metadata().is_ok())
}
