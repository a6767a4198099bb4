//! An operation of git on trial: what it changes is asked of git, who stands in the way of that is asked of the stores.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    rc::Rc,
};

use git_agentlock::{
    clock::{Clock as _, Now},
    git::{
        self, Repository,
        attributes::LeaseAttribute,
        changes::{Changes, ChangesError, Merged},
    },
    guard::{Case, Objection, Refusal, require_leases},
    locks::{Holder, Lease, rules},
    owner::Owner,
    policy::Policy,
    record::{Reason, Token},
    resource::{RepoPath, Resource, Scope, Target},
    store::{Event, JournalLine, ReadSet, Seen, Store as _, View, file::FileStore},
};

use super::{
    context::Context,
    environment,
    exit::Kind,
    failure::Failure,
    operation::Operation,
    output::Output,
    render::{
        advice::{self, Advice},
        human,
        json::{ConflictDoc, ResultDoc},
    },
};

pub(crate) struct Trial<'t> {
    context: &'t Context,
    repository: &'t Rc<Repository>,
    policy: &'t Policy,
    operation: &'t Operation,
    now: Now,
    stores: Vec<FileStore>,
    /// What is in each store, and what the work tree's files are called there.
    views: Vec<(Scope, View)>,
    attribute: RefCell<Option<LeaseAttribute>>,
    /// What git changes; read when it is asked for.
    changes: OnceCell<Vec<Changes>>,
    /// Every path of that; listed when it is asked for.
    everything: OnceCell<Vec<RepoPath>>,
}

impl<'t> Trial<'t> {
    pub(crate) fn new(
        context: &'t Context,
        repository: &'t Rc<Repository>,
        policy: &'t Policy,
        operation: &'t Operation,
    ) -> Result<Self, Failure> {
        let attribute = if operation.is_commit() { LeaseAttribute::of(repository)? } else { None };
        let (mut stores, mut views) = (Vec::new(), Vec::new());
        for (store, scope) in context.guarded(repository, policy) {
            views.push((scope, store.view(&ReadSet::everything())?));
            stores.push(store);
        }
        let now = context.clock.now();
        Ok(Self {
            context,
            repository,
            policy,
            operation,
            now,
            stores,
            views,
            attribute: RefCell::new(attribute),
            changes: OnceCell::new(),
            everything: OnceCell::new(),
        })
    }

    /// Whether anything could be said against any change. Otherwise git is not asked.
    pub(crate) fn is_about_something(&self) -> bool {
        self.views.iter().any(|(_, view)| view.iter().next().is_some()) || self.requires_leases()
    }

    fn requires_leases(&self) -> bool {
        self.operation.is_commit() && (self.attribute.borrow().is_some() || !self.policy.guard_require().is_empty())
    }

    /// Judges, and tells the judgement.
    pub(crate) fn run(&self, committer: Option<&Owner>, output: &mut Output) -> Result<(), Failure> {
        let mut refusals = self.refusals(committer)?;
        let mut unknown = Vec::new();
        if self.operation.is_past() {
            refusals = summed_up(refusals);
            self.note(committer, &refusals);
        } else {
            unknown = self.unknown()?;
        }
        self.tell(committer, output, &refusals, &unknown)
    }

    fn changes(&self) -> Result<&[Changes], ChangesError> {
        if let Some(changes) = self.changes.get() {
            return Ok(changes);
        }
        let changes = self.read_changes()?;
        Ok(self.changes.get_or_init(|| changes))
    }

    fn read_changes(&self) -> Result<Vec<Changes>, ChangesError> {
        let repository = self.repository;
        let index = environment::variable("GIT_INDEX_FILE").map(PathBuf::from);
        let is_merging = *self.operation == Operation::MergeCommit || environment::is_merging();
        let heads = if is_merging { environment::merged_heads() } else { Vec::new() };
        Ok(match self.operation {
            Operation::Commit => vec![Changes::staged(repository, index.as_deref(), Merged::MergeHeadOr(&heads))?],
            Operation::MergeCommit => vec![Changes::staged(repository, index.as_deref(), Merged::These(&heads))?],
            Operation::Rebase { upstream, branch: None } => {
                vec![Changes::between(repository, "HEAD", upstream.as_deref())?]
            }
            Operation::Rebase { upstream, branch: Some(branch) } => vec![
                Changes::between(repository, "HEAD", Some(branch))?,
                Changes::between(repository, branch, upstream.as_deref())?,
            ],
            Operation::Moved { from, to, .. } => vec![Changes::between(repository, from, Some(to))?],
            Operation::Rebased => vec![Changes::of_rebase(repository)?],
            Operation::Committed => vec![Changes::of_last_commit(repository)?],
            Operation::Nothing => Vec::new(),
        })
    }

    /// The paths that are changed at a target. Where git composes names, those in the index may be spelt otherwise than the leases.
    fn changed(&self, target: &Target) -> Result<Vec<RepoPath>, ChangesError> {
        match target {
            Target::Area(path) if path.is_top() => Ok(self.everything()?.to_vec()),
            Target::File(named) if self.repository.precompose_unicode => {
                Ok(self.everything()?.iter().filter(|path| *path == named).cloned().collect())
            }
            Target::Area(area) if self.repository.precompose_unicode => {
                Ok(self.everything()?.iter().filter(|path| area.contains(path)).cloned().collect())
            }
            target => self.changed_as_spelt(target),
        }
    }

    fn changed_as_spelt(&self, target: &Target) -> Result<Vec<RepoPath>, ChangesError> {
        let mut paths = BTreeSet::new();
        for changes in self.changes()? {
            paths.extend(changes.of(target)?);
        }
        Ok(paths.into_iter().collect())
    }

    fn everything(&self) -> Result<&[RepoPath], ChangesError> {
        if let Some(everything) = self.everything.get() {
            return Ok(everything);
        }
        let mut paths = self.changed_as_spelt(&Target::Area(RepoPath::top()))?;
        if self.repository.precompose_unicode {
            let composed: BTreeSet<RepoPath> = paths.iter().map(git::composed).collect();
            paths = composed.into_iter().collect();
        }
        Ok(self.everything.get_or_init(|| paths))
    }

    fn refusals(&self, committer: Option<&Owner>) -> Result<Vec<Refusal>, Failure> {
        let remembers = self.policy.lost_leases() && self.operation.is_commit();
        let remember_lost_ms = remembers.then(|| self.policy.keep_expired_ms());
        let case = Case { committer, stores: &self.views, now: &self.now, remember_lost_ms };
        let mut refusals = case.refusals(&|target: &Target| self.changed(target))?;
        if self.requires_leases() {
            let (globs, mut attribute) = (self.policy.guard_require(), self.attribute.borrow_mut());
            let mut required = Vec::new();
            for path in self.everything()? {
                let has_attribute = attribute.as_mut().map_or(Ok(false), |attribute| attribute.is_set(path))?;
                if has_attribute || globs.matches(path) {
                    required.push(path.clone());
                }
            }
            if let Some((scope, _)) = self.views.first() {
                require_leases(&case, scope, required, &mut refusals);
            }
        }
        Ok(refusals)
    }

    /// Of what is changed, that of which it cannot be told who holds it.
    fn unknown(&self) -> Result<Vec<(Resource, Holder)>, Failure> {
        let is_doubtful = |seen: &Seen| match seen {
            Seen::Unreadable(record) => rules::is_held(record, &self.now, self.policy.longest_ttl()),
            Seen::Record(_) => false,
        };
        let mut unknown = Vec::new();
        for (store, (scope, view)) in self.stores.iter().zip(&self.views) {
            if !view.iter().any(|(_, seen)| is_doubtful(seen)) {
                continue;
            }
            let file = |path| Resource { scope: scope.clone(), target: Target::File(path) };
            let changed: Vec<Resource> = self.everything()?.iter().cloned().map(file).collect();
            for report in self.context.locks(store, self.policy).check(&changed)? {
                let doubts = report.holders.into_iter().filter(|holder| matches!(holder, Holder::Unknown { .. }));
                unknown.extend(doubts.map(|holder| (report.resource.clone(), holder)));
            }
        }
        Ok(unknown)
    }

    /// Writes down that leases did not help.
    fn note(&self, committer: Option<&Owner>, refusals: &[Refusal]) {
        for (store, (scope, _)) in self.stores.iter().zip(&self.views) {
            let held = refusals.iter().filter(|refusal| refusal.resource.scope == *scope);
            let lines: Vec<JournalLine> = held
                .filter_map(|refusal| match &refusal.objection {
                    Objection::Held(lease) => Some(self.line(&refusal.resource, lease, committer)),
                    _ => None,
                })
                .collect();
            store.note(&lines);
        }
    }

    fn line(&self, resource: &Resource, lease: &Lease, committer: Option<&Owner>) -> JournalLine {
        let by = match self.operation {
            Operation::Moved { by, .. } => by,
            Operation::Rebased => "rebase",
            _ => "commit",
        };
        JournalLine {
            at: self.now.wall,
            event: Event::WentPast,
            resource: resource.clone(),
            owner: lease.owner.clone(),
            token: Some(lease.token),
            other: committer.cloned(),
            reason: Reason::new(format!("git {by}")).ok(),
        }
    }

    fn tell(
        &self,
        committer: Option<&Owner>,
        output: &mut Output,
        refusals: &[Refusal],
        unknown: &[(Resource, Holder)],
    ) -> Result<(), Failure> {
        for refusal in refusals {
            self.tell_refusal(output, refusal);
        }
        for (resource, holder) in unknown {
            let message = format!("{}: {}", self.operation.refused(resource), human::held_by(holder));
            output.document.conflicts.push(ConflictDoc::new(resource, holder));
            tell(output, resource, "unknown", Failure::new(Kind::Damaged, message));
        }
        output.document.locked = refusals.iter().any(|refusal| matches!(refusal.objection, Objection::Held(_)));
        let Some(last) = output.failures.last_mut() else { return Ok(()) };
        let told = refusals.iter().map(|refusal| &refusal.resource).chain(unknown.iter().map(|(resource, _)| resource));
        let told: BTreeSet<&RepoPath> = told.filter_map(Resource::path).collect();
        let is_told = |path: &RepoPath| match self.repository.precompose_unicode {
            true => told.contains(&git::composed(path)),
            false => told.contains(path),
        };
        let mut rest = Vec::new();
        let changes = self.changes()?;
        for changes in changes.iter().filter(|_| self.operation.is_commit()) {
            rest.extend(changes.some(advice::MAX_PATHS.saturating_add(1), |path| !is_told(path))?);
        }
        let advice = Advice {
            refusals,
            is_unknown: !unknown.is_empty(),
            operation: self.operation,
            rest,
            abort: self.abort(changes),
            stays_staged: self.is_own_index(),
            deletes: self.deletes(changes, refusals)?,
            committer,
            prefix: self.context.prefix(self.repository),
        };
        last.hints.extend(advice.hints());
        Ok(())
    }

    /// How to give up what git commits whole only.
    fn abort(&self, changes: &[Changes]) -> Option<&'static str> {
        let is_there = |name: &str| self.repository.git_dir.join(name).exists();
        if changes.iter().any(Changes::is_merge) {
            Some("git merge --abort")
        } else if is_there("rebase-apply/applying") {
            Some("git am --abort")
        } else if is_there("rebase-merge") || is_there("rebase-apply") {
            Some("git rebase --abort")
        } else if is_there("CHERRY_PICK_HEAD") {
            Some("git cherry-pick --abort")
        } else {
            None
        }
    }

    /// Whether the commit is made of the index that stays. `git commit -a`, `--only` and their like make one for themselves.
    fn is_own_index(&self) -> bool {
        let top = self.repository.work_tree.as_ref().unwrap_or(&self.repository.git_dir);
        let index = environment::variable("GIT_INDEX_FILE").map(|index| top.join(index));
        index.is_none_or(|index| index.file_name().is_some_and(|name| name == "index"))
    }

    fn deletes(&self, changes: &[Changes], refusals: &[Refusal]) -> Result<bool, ChangesError> {
        for refusal in refusals.iter().take(advice::MAX_PATHS) {
            for (changes, path) in changes.iter().zip(refusal.resource.path()) {
                if changes.is_deleted(path)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn tell_refusal(&self, output: &mut Output, refusal: &Refusal) {
        let resource = &refusal.resource;
        let (outcome, kind, why) = match &refusal.objection {
            Objection::Held(lease) => {
                let holder = Holder::Lease(lease.clone());
                output.document.conflicts.push(ConflictDoc::new(resource, &holder));
                ("held", Kind::Conflict, human::in_the_way(resource, &holder))
            }
            Objection::Lost { resource: lost, to, ended_at } => {
                let what = if lost == resource { String::new() } else { format!(" on {lost}") };
                let to = to.as_ref().map_or("somebody".to_owned(), ToString::to_string);
                let when = human::moment(*ended_at);
                let why = format!("your lease{what} ended at {when} and was lost to {to}, who may have changed it");
                ("lost", Kind::Refused, why)
            }
            Objection::LeaseRequired => {
                let why = "only who holds a lease on it may commit it, and you hold none";
                ("lease_required", Kind::Refused, why.to_owned())
            }
        };
        let message = format!("{}: {why}", self.operation.refused(resource));
        tell(output, resource, outcome, Failure::new(kind, message));
    }
}

/// Of an area in which much has changed, the area: a checkout of thousands of files is one event, and must not push all others out of the journal.
fn summed_up(refusals: Vec<Refusal>) -> Vec<Refusal> {
    let mut by_lease: BTreeMap<(Resource, Token), Vec<Refusal>> = BTreeMap::new();
    let mut summed_up = Vec::new();
    for refusal in refusals {
        match &refusal.objection {
            Objection::Held(lease) => {
                by_lease.entry((lease.resource.clone(), lease.token)).or_default().push(refusal);
            }
            _ => summed_up.push(refusal),
        }
    }
    for ((resource, _), mut of_lease) in by_lease {
        if of_lease.len() > advice::MAX_PATHS {
            of_lease.truncate(1);
            of_lease.iter_mut().for_each(|refusal| refusal.resource.clone_from(&resource));
        }
        summed_up.append(&mut of_lease);
    }
    summed_up
}

fn tell(output: &mut Output, resource: &Resource, outcome: &'static str, failure: Failure) {
    let (_, message) = output.fail(failure);
    let result = ResultDoc { resource: resource.into(), outcome, stale_owner: None, message };
    output.document.results.get_or_insert_default().push(result);
}
