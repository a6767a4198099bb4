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

use std::collections::{BTreeSet, HashMap};

use crate::{
    clock::{Now, Timestamp},
    locks::{Lease, rules},
    owner::Owner,
    record::{End, Ended, Record},
    resource::{RepoPath, Resource, ResourceKey, Scope, Target},
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
        for (scope, view) in self.stores {
            let mut by_key: Option<ByKey> = None;
            for record in records_of(scope, view) {
                let Some(objection) = self.objection(record, view) else { continue };
                let paths = match &mut by_key {
                    _ if !scope.ignore_case => changed(&record.resource.target)?,
                    Some(by_key) => by_key.covered_by(&record.resource),
                    none => none.insert(ByKey::new(scope, changed)?).covered_by(&record.resource),
                };
                for path in paths {
                    let resource = file(scope, path);
                    if matches!(objection, Objection::Held(_)) || !self.holds_itself(&resource) {
                        refusals.push(Refusal { resource, objection: objection.clone() });
                    }
                }
            }
        }
        only_the_worst(&mut refusals);
        refusals.sort_by(|a, b| a.resource.path().cmp(&b.resource.path()));
        Ok(refusals)
    }

    /// Whether the committer or kin of theirs holds a lease that covers a path.
    #[must_use]
    pub fn has_lease(&self, path: &RepoPath) -> bool {
        let Some(committer) = self.committer else { return false };
        self.is_covered(path, |record| record.owner.is_kin(committer))
    }

    /// Whether the committer, and not only kin of theirs, holds a path: then nothing of it is lost to anybody.
    fn holds_itself(&self, resource: &Resource) -> bool {
        resource.path().is_some_and(|path| self.is_covered(path, |record| Some(&record.owner) == self.committer))
    }

    fn is_covered(&self, path: &RepoPath, is_wanted: impl Fn(&Record) -> bool) -> bool {
        self.stores.iter().any(|(scope, view)| {
            let resource = file(scope, path.clone());
            let covering = |record: &&Record| rules::is_live(record, self.now) && record.resource.covers(&resource);
            records_of(scope, view).filter(covering).any(&is_wanted)
        })
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
    if let Some(replaced) = record.replaced.as_ref().filter(|replaced| replaced.owner == *committer) {
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

fn records_of<'v>(scope: &'v Scope, view: &'v View) -> impl Iterator<Item = &'v Record> {
    rules::records(view).filter(move |record| record.resource.scope == *scope && record.resource.path().is_some())
}

/// All changed paths, found by the key of whatever could cover them: where case is ignored, git's own names may be spelt otherwise than the lease's.
struct ByKey(HashMap<ResourceKey, Vec<Resource>>);

impl ByKey {
    fn new<E>(scope: &Scope, changed: &ChangedPaths<'_, E>) -> Result<Self, E> {
        let mut by_key: HashMap<_, Vec<Resource>> = HashMap::new();
        for path in changed(&Target::Area(RepoPath::top()))? {
            let resource = file(scope, path);
            for key in resource.ancestor_keys().into_iter().chain([resource.key()]) {
                by_key.entry(key).or_default().push(resource.clone());
            }
        }
        Ok(Self(by_key))
    }

    fn covered_by(&self, resource: &Resource) -> Vec<RepoPath> {
        let candidates = self.0.get(&resource.key()).into_iter().flatten();
        candidates.filter(|path| resource.covers(path)).filter_map(Resource::path).cloned().collect()
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
    for path in required {
        if !known.contains(&path) && !case.has_lease(&path) {
            refusals.push(Refusal { resource: file(scope, path), objection: Objection::LeaseRequired });
        }
    }
    refusals.sort_by(|a, b| a.resource.path().cmp(&b.resource.path()));
}
