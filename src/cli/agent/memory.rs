//! What a hook remembers from one call to the next: what the agent has seen of files, and which of its leases are renewed while it works.
//!
//! All of it is help, and nothing of it may stand in the way: what cannot be remembered is a note on stderr. A look at a file makes the store where
//! there is none. Who has installed the hook wants to be warned, and the first of two agents in a fresh clone looks at a file before anybody has
//! taken a lease.

use std::{
    collections::BTreeMap,
    fs, io,
    io::Read as _,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use git_agentlock::{
    clock::Clock as _,
    harness,
    locks::{Grant, Report, session},
    owner::Owner,
    policy::Policy,
    resource::{Project, Resource},
    store::{Content, Session, Sight, file::FileStore},
    text::escape_path,
};

use super::{Desk, by_store};
use crate::cli::{
    context::{Context, Located, OnBadPolicy},
    exit::Kind,
    failure::Failure,
    owner as by_environment,
    render::agent as text,
};

/// No longer than this is waited for a mutex: an agent at work does not wait for help.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// Of larger files only the length and the time are looked at, in bytes. No agent reads such a file whole.
const LARGE: u64 = 4 << 20;
/// What somebody else was changing this short a time ago may have been changed once more between the agent's look and ours.
const UNSETTLED: Duration = Duration::from_secs(2);

/// What an agent does with files, or has done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Reads,
    HasRead,
    Changed,
}

/// A store with all that was granted in it.
pub(super) type Taken<'l> = (FileStore, &'l [Located], Vec<Grant>);

/// A file as it is right now.
struct Look {
    content: Content,
    was_just_changed: bool,
}

impl Desk {
    /// What is to be told to the agent when it is to read again what it is about to edit. Everything has been granted, and stays so: nobody else changes it
    /// while the agent reads. Each file is told once: an agent that does not heed it is not told again.
    pub(super) fn out_of_date(&mut self, context: &Context, owner: &Owner, taken: &[Taken<'_>]) -> Option<String> {
        let mut found = Vec::new();
        for (store, all, grants) in taken {
            let store = store.clone().with_patience(PATIENCE);
            let Some(first) = all.first() else { continue };
            let policy = &first.policy.policy;
            let shelf = Shelf { store: &store, policy, project: &first.resource.scope.project };
            let looks: Vec<_> = all.iter().map(|one| self.look_at(one, policy)).collect();
            let (locks, now) = (context.locks(&store, policy), context.clock.now());
            let leases: BTreeMap<_, _> =
                grants.iter().map(|grant| (grant.lease.resource.key(), &grant.lease)).collect();
            let mut outdated = Vec::new();
            let mut change = |session: &mut Session| {
                for (one, look) in all.iter().zip(&looks) {
                    let (resource, key) = (&one.resource, one.resource.key());
                    let lease = leases.get(&key);
                    let content = look.as_ref().map(|look| look.content);
                    let sight = session.note(key).and_then(|note| note.sight);
                    let is_outdated = content.zip(sight).is_some_and(|(content, sight)| {
                        // Who held it meanwhile cannot be told: then it is no reason to stop the agent, which holds it now.
                        locks.is_out_of_date(owner, resource, &sight, content).unwrap_or(false)
                    });
                    if let Some(lease) = lease {
                        session.keep(resource, session::kept(lease, &now));
                    }
                    match content.filter(|_| !is_outdated) {
                        Some(content) => {
                            session.saw(resource, Sight { content, under: lease.map(|lease| lease.token) });
                        }
                        // Told once; or not looked at, and after this edit what was seen before it says nothing.
                        None => session.unsee(key),
                    }
                    outdated.extend(is_outdated.then(|| resource.clone()));
                }
            };
            // What cannot be forgotten would be told again and again.
            if self.settle(context, &shelf, owner, &mut change) {
                found.extend(outdated.into_iter().map(|resource| (store.clone(), resource)));
            }
        }
        (!found.is_empty()).then(|| text::out_of_date(&who_had(&found, owner)))
    }

    /// Remembers what an agent has seen, by reading it or by writing it, and renews what it holds.
    pub(super) fn remember(&mut self, paths: &[String], deed: Deed) {
        let Ok(Some(owner)) = self.owner() else { return };
        if let Err(failure) = self.try_to_remember(&owner, paths, deed) {
            self.notes.push(text::not_remembered(&failure.message));
        }
    }

    fn try_to_remember(&mut self, owner: &Owner, paths: &[String], deed: Deed) -> Result<(), Failure> {
        let context = Context::new(self.base.as_deref(), OnBadPolicy::Warn, self.umask)?;
        for all in by_store(&context, paths)? {
            let Some(first) = all.first() else { continue };
            let policy = &first.policy.policy;
            let store = context.one_store(&all)?.with_patience(PATIENCE);
            let looks: Vec<_> = all.iter().map(|one| self.look_at(one, policy)).collect();
            if looks.iter().all(Option::is_none) {
                continue;
            }
            let resources: Vec<Resource> = all.iter().map(|one| one.resource.clone()).collect();
            let reports = context.locks(&store, policy).check(&resources)?;
            let mut change = |session: &mut Session| {
                for (report, look) in reports.iter().zip(&looks) {
                    if let Some(look) = look {
                        session.saw(&report.resource, sight(owner, report, look, deed));
                    }
                }
            };
            let shelf = Shelf { store: &store, policy, project: &first.resource.scope.project };
            self.settle(&context, &shelf, owner, &mut change);
        }
        self.keep_on_in(&context);
        Ok(())
    }

    /// Renews what an agent holds where it works, unless that has been done where the files are that it works on.
    pub(super) fn keep_on(&mut self) {
        match Context::new(self.base.as_deref(), OnBadPolicy::Warn, self.umask) {
            Ok(context) => self.keep_on_in(&context),
            Err(failure) => self.notes.push(text::not_renewed(&failure.message)),
        }
    }

    /// The same, for who knows already where that is.
    pub(super) fn keep_on_in(&mut self, context: &Context) {
        if let Err(failure) = self.try_to_keep_on(context)
            && failure.kind != Kind::NoRepository
        {
            self.notes.push(text::not_renewed(&failure.message));
        }
    }

    fn try_to_keep_on(&mut self, context: &Context) -> Result<(), Failure> {
        let Some(owner) = self.owner()? else { return Ok(()) };
        let whole = context.whole_unwarned()?;
        let store = whole.store.clone().with_patience(PATIENCE);
        let shelf = Shelf { store: &store, policy: &whole.policy.policy, project: &whole.project };
        if !self.renewed.contains(&shelf.place()) {
            self.renew_with_those_above(context, &shelf, &store.session(&owner));
        }
        Ok(())
    }

    /// The session of a sub-agent waits for it, and calls no hook meanwhile: it is at work as well.
    fn renew_with_those_above(&mut self, context: &Context, shelf: &Shelf<'_>, session: &Session) {
        let place = shelf.place();
        if self.renewed.contains(&place) {
            return;
        }
        self.renewed.push(place);
        self.renew(context, shelf, session);
        if self.call.agent.is_some()
            && let Ok(given) = by_environment::by_variable()
            && let Ok(Some(above)) = harness::owner(self.tool, given.as_ref(), self.call.session.as_deref(), None)
            && above != *session.owner()
        {
            self.renew(context, shelf, &shelf.store.session(&above));
        }
    }

    /// Changes what is remembered of an owner, and renews what is due of its leases. Whether that is remembered.
    fn settle(
        &mut self,
        context: &Context,
        shelf: &Shelf<'_>,
        owner: &Owner,
        change: &mut dyn FnMut(&mut Session),
    ) -> bool {
        let remembered = shelf.store.remember(owner, shelf.policy.keep_expired_ms(), change);
        let session = remembered.map_err(|error| {
            self.notes.push(text::not_remembered(&error.to_string()));
            shelf.store.session(owner)
        });
        let (Ok(known) | Err(known)) = &session;
        self.renew_with_those_above(context, shelf, known);
        session.is_ok()
    }

    /// Renews what is due of a session's leases on a shelf, and remembers that. No mutex of the memory is held meanwhile.
    fn renew(&mut self, context: &Context, shelf: &Shelf<'_>, session: &Session) {
        let locks = context.locks(shelf.store, shelf.policy);
        let cap = |resource: &Resource| {
            (resource.scope.project == *shelf.project).then(|| shelf.policy.ttl(&resource.target).max.value)
        };
        let outcomes = match locks.renew_due(session, &cap, std::process::id()) {
            Ok(told) => {
                self.notes.extend(told.warnings.iter().map(|warning| format!("warning: {warning}")));
                told.value
            }
            Err(error) => return self.notes.push(text::not_renewed(&error.to_string())),
        };
        if outcomes.is_empty() {
            return;
        }
        let mut change = |session: &mut Session| {
            outcomes.iter().for_each(|(key, token, kept)| session.settle(*key, *token, *kept));
        };
        if let Err(error) = shelf.store.remember(session.owner(), shelf.policy.keep_expired_ms(), &mut change) {
            self.notes.push(text::not_remembered(&error.to_string()));
        }
    }

    /// A file as it is, when that is to be remembered. A tool that does not tell what it reads would be told each time to read what it has just read.
    fn look_at(&mut self, one: &Located, policy: &Policy) -> Option<Look> {
        let place = (self.tool.tells_what_it_reads() && policy.stale_reads()).then(|| one.place()).flatten()?;
        look_at(&place)
            .map_err(|error| {
                self.notes.push(text::not_remembered(&format!("{} cannot be looked at: {error}", escape_path(&place))));
            })
            .ok()
    }
}

/// A store, and what of it is meant.
struct Shelf<'s> {
    store: &'s FileStore,
    policy: &'s Policy,
    project: &'s Project,
}

impl Shelf<'_> {
    fn place(&self) -> (PathBuf, Project) {
        (self.store.dir(), self.project.clone())
    }
}

fn sight(owner: &Owner, report: &Report, look: &Look, deed: Deed) -> Sight {
    let under = report.lease_of(owner, None).map(|lease| lease.token);
    let is_being_changed =
        deed == Deed::HasRead && look.was_just_changed && report.foreign(Some(owner)).next().is_some();
    Sight { content: if is_being_changed { Content::Unsettled } else { look.content }, under }
}

/// Never waits, whatever stands there, and reads no more than a bound.
fn look_at(path: &Path) -> io::Result<Look> {
    // To open a pipe would let the one at its other end go on.
    if let Ok(meta) = fs::metadata(path)
        && !meta.is_file()
    {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Look { content: Content::Missing, was_just_changed: false });
        }
        opened => opened?,
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let changed = meta.modified()?;
    let since_1970 = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed_ns = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
    let was_just_changed = changed.elapsed().is_ok_and(|age| age < UNSETTLED);
    let mut hasher = blake3::Hasher::new();
    let is_large = meta.len() > LARGE || io::copy(&mut file.take(LARGE.saturating_add(1)), &mut hasher)? > LARGE;
    let content = match is_large {
        true => Content::Large { len: meta.len(), changed_ns },
        false => Content::Hash(first_half(*hasher.finalize().as_bytes())),
    };
    Ok(Look { content, was_just_changed })
}

fn first_half(hash: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(hash.split_at(16).0);
    half
}

fn open(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.cast_signed());
    }
    options.open(path)
}

/// Who else has had each of the files last, as far as the journal tells.
fn who_had(files: &[(FileStore, Resource)], owner: &Owner) -> Vec<(Resource, Option<Owner>)> {
    let who = |(store, resource): &(FileStore, Resource)| {
        let history = store.history().unwrap_or_default().into_iter().rev();
        let mut granted = history
            .filter(|past| past.key == resource.key() && matches!(past.event.as_str(), "granted" | "taken_over"));
        let other = granted.find_map(|past| past.owner.filter(|other| other != owner));
        (resource.clone(), other)
    };
    files.iter().map(who).collect()
}
