//! The commit guard's rules: which of the paths that a commit changes it must not change, and why. Pure: no clock, no disk, no git.
//!
//! The leases lead, and there are few of them: for each that could stand in the way it is asked which paths below it are changed. Without one, nothing is asked.
//!
//! A path is objected to when
//! - somebody else holds it, alone or in an area. The committer's kin (`X` and `X/agent`) do not count as somebody else, siblings do;
//!   without a committer everybody does;
//! - the committer's lease on it was lost to somebody who took it over, and they have not had it again since. What they know of the file may
//!   be out of date. Acquiring it again says "I have looked";
//! - a lease on it is required, and neither the committer nor kin of theirs holds one.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    clock::{Now, Timestamp},
    locks::{Lease, rules},
    owner::Owner,
    record::{End, Ended, Record},
    resource::{RepoPath, Resource, Scope, Target},
    store::View,
};

/// Tells which paths are changed at a target: of a file itself, of an area all below it.
pub type ChangedPaths<'a, E> = dyn Fn(&Target) -> Result<Vec<RepoPath>, E> + 'a;

/// What is to be judged.
pub struct Case<'a> {
    /// Who commits, when that is known.
    pub committer: Option<&'a Owner>,
    /// The records of each store that counts, and what the work tree is called in it.
    pub stores: &'a [(Scope, View)],
    /// The time.
    pub now: &'a Now,
    /// For how many milliseconds a lost lease is remembered; `None` when it does not matter that it was lost.
    pub remember_lost_ms: Option<u64>,
}

/// Why a path must not be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// Somebody else holds it.
    Held(Box<Lease>),
    /// The committer lost it.
    Lost {
        /// What the lost lease was on: the path, or an area that contains it.
        resource: Resource,
        /// To whom, as far as it is still known.
        to: Option<Owner>,
        /// When the lost lease ended.
        ended_at: Timestamp,
    },
    /// Only who holds a lease on it may commit it.
    LeaseRequired,
}

/// A path that must not be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The path, as a file of the work tree.
    pub resource: Resource,
    /// Why.
    pub objection: Objection,
}

impl Case<'_> {
    /// What of the changed paths must not be committed, by path.
    ///
    /// # Errors
    /// What `changed` cannot tell.
    pub fn refusals<E>(&self, changed: &ChangedPaths<'_, E>) -> Result<Vec<Refusal>, E> {
        let mut refusals = Vec::new();
        let folded = Folded::default();
        let own = Covered::of(self.stores, self.now, |record| Some(&record.owner) == self.committer);
        for (scope, view) in self.stores {
            for record in records_of(scope, view) {
                let Some(objection) = self.objection(record, view) else { continue };
                for path in changed_within(scope, &record.resource, changed, &folded)? {
                    // Whoever holds a path themselves has lost nothing of it.
                    if matches!(objection, Objection::Held(_)) || !own.contains(&path) {
                        refusals.push(Refusal { resource: file(scope, path), objection: objection.clone() });
                    }
                }
            }
        }
        only_the_worst(&mut refusals);
        refusals.sort_by(|a, b| a.resource.path().cmp(&b.resource.path()));
        Ok(refusals)
    }

    /// What one record says against changing what it is about.
    fn objection(&self, record: &Record, view: &View) -> Option<Objection> {
        if rules::is_live(record, self.now) {
            let is_foreign = self.committer.is_none_or(|committer| !record.owner.is_kin(committer));
            return is_foreign.then(|| Objection::Held(Box::new(rules::shown(record, self.now))));
        }
        let (committer, keep_ms) = (self.committer?, self.remember_lost_ms?);
        if rules::is_forgotten(record, self.now, keep_ms) {
            return None;
        }
        lost(record, committer, view)
    }
}

/// That `committer` lost what a record is about: to its owner, or, when it is the committer's own, to whoever was granted something that overlaps it
/// after it had expired (the grant has marked it at that very moment).
fn lost(record: &Record, committer: &Owner, view: &View) -> Option<Objection> {
    let resource = record.resource.clone();
    if let Some(replaced) = record.replaced.as_ref().and_then(|replaced| replaced.of(committer)) {
        let to = &record.owner;
        return (!to.is_kin(committer)).then(|| Objection::Lost {
            resource,
            to: Some(to.clone()),
            ended_at: replaced.ended_at,
        });
    }
    let Some(Ended { at, how: End::Expired }) = record.ended.as_ref().filter(|_| record.owner == *committer) else {
        return None;
    };
    let mut takers = rules::records(view)
        .filter(|other| other.acquired_at == *at && other.owner != *committer && other.resource.overlaps(&resource));
    let taker = takers.next().map(|other| other.owner.clone());
    let is_kin = taker.as_ref().is_some_and(|taker| taker.is_kin(committer));
    (!is_kin).then_some(Objection::Lost { resource, to: taker, ended_at: record.expires_at })
}

fn file(scope: &Scope, path: RepoPath) -> Resource {
    Resource { scope: scope.clone(), target: Target::File(path) }
}

/// The records about files of a work tree. Whether case counts is not asked: a record from before `core.ignorecase` was changed is about the same files.
fn records_of<'v>(scope: &'v Scope, view: &'v View) -> impl Iterator<Item = &'v Record> {
    let is_here = |other: &Scope| other.project == scope.project && other.work_tree == scope.work_tree;
    rules::records(view).filter(move |record| is_here(&record.resource.scope) && record.resource.path().is_some())
}

/// The changed paths that a resource covers. Where case is ignored, or was when the lease was taken, git's own names may be spelt otherwise than the lease's.
fn changed_within<E>(
    scope: &Scope,
    resource: &Resource,
    changed: &ChangedPaths<'_, E>,
    folded: &Folded,
) -> Result<Vec<RepoPath>, E> {
    if !resource.scope.ignore_case && !scope.ignore_case {
        return changed(&resource.target);
    }
    if folded.0.get().is_none() {
        let mut names: BTreeMap<Vec<u8>, Vec<RepoPath>> = BTreeMap::new();
        for path in changed(&Target::Area(RepoPath::top()))? {
            names.entry(path.without_case().as_bytes().to_vec()).or_default().push(path);
        }
        folded.0.get_or_init(|| names);
    }
    Ok(folded.within(&resource.target))
}

/// All changed paths, by their names without case. Made when it is needed: many leases must not mean to go through all changes many times.
#[derive(Default)]
struct Folded(OnceCell<BTreeMap<Vec<u8>, Vec<RepoPath>>>);

impl Folded {
    fn within(&self, target: &Target) -> Vec<RepoPath> {
        let (Some(names), Target::File(path) | Target::Area(path)) = (self.0.get(), target) else { return Vec::new() };
        let name = path.without_case().as_bytes().to_vec();
        let itself = names.get(&name).into_iter();
        let below = matches!(target, Target::Area(_)).then(|| {
            let prefix = if name.is_empty() { Vec::new() } else { [name.as_slice(), b"/"].concat() };
            names.range(prefix.clone()..).take_while(move |(name, _)| name.starts_with(&prefix)).map(|(_, paths)| paths)
        });
        itself.chain(below.into_iter().flatten()).flatten().cloned().collect()
    }
}

/// What somebody holds: the paths of their files and areas.
struct Covered {
    files: BTreeSet<RepoPath>,
    areas: BTreeSet<RepoPath>,
    ignores_case: bool,
}

impl Covered {
    /// What all live records cover together whose like is wanted.
    fn of(stores: &[(Scope, View)], now: &Now, is_wanted: impl Fn(&Record) -> bool) -> Self {
        let ignores_case = stores.iter().any(|(scope, _)| scope.ignore_case);
        let mut covered = Self { files: BTreeSet::new(), areas: BTreeSet::new(), ignores_case };
        for (scope, view) in stores {
            for record in records_of(scope, view).filter(|record| rules::is_live(record, now) && is_wanted(record)) {
                match &record.resource.target {
                    Target::File(path) => covered.files.insert(covered.name(path)),
                    Target::Area(path) => covered.areas.insert(covered.name(path)),
                    Target::Named(_) => false,
                };
            }
        }
        covered
    }

    fn name(&self, path: &RepoPath) -> RepoPath {
        if self.ignores_case { path.without_case() } else { path.clone() }
    }

    fn contains(&self, path: &RepoPath) -> bool {
        if self.files.is_empty() && self.areas.is_empty() {
            return false;
        }
        let path = self.name(path);
        let is_area = |path: &RepoPath| self.areas.contains(path);
        self.files.contains(&path) || is_area(&path) || path.ancestors().any(|above| is_area(&above))
    }
}

/// Of a path that somebody holds now, it is not told as well that it was lost to them.
fn only_the_worst(refusals: &mut Vec<Refusal>) {
    let is_held = |refusal: &Refusal| matches!(refusal.objection, Objection::Held(_));
    let held: BTreeSet<Resource> =
        refusals.iter().filter(|refusal| is_held(refusal)).map(|refusal| refusal.resource.clone()).collect();
    refusals.retain(|refusal| is_held(refusal) || !held.contains(&refusal.resource));
}

/// Adds those of `required` that are changed without a lease, unless there is something worse to say of them.
pub fn require_leases(case: &Case<'_>, scope: &Scope, required: Vec<RepoPath>, refusals: &mut Vec<Refusal>) {
    let known: BTreeSet<RepoPath> = refusals.iter().filter_map(|refusal| refusal.resource.path().cloned()).collect();
    let is_kins = |record: &Record| case.committer.is_some_and(|committer| record.owner.is_kin(committer));
    let covered = Covered::of(case.stores, case.now, is_kins);
    for path in required {
        if !known.contains(&path) && !covered.contains(&path) {
            refusals.push(Refusal { resource: file(scope, path), objection: Objection::LeaseRequired });
        }
    }
    refusals.sort_by(|a, b| a.resource.path().cmp(&b.resource.path()));
}
