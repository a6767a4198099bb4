//! Operations through the library: cheap, so that there can be many.

use std::{path::Path, time::Duration};

use git_agentlock::{
    clock::{Clock as _, SystemClock},
    duration::Ttl,
    locks::{
        Acquired, Ask, Break, GiveBack, Grant, Holder, Lease, Locks, Patience, Prolong, Release, Renewal, State, Told,
        Waited,
    },
    owner::Owner,
    record::{Reason, Token},
    resource::{RepoPath, Resource, Scope, Target},
    store::{StoreError, file::FileStore},
};

use crate::{
    history::{Answer, Deed, Held, MS, now},
    racer::{Door, Tokens},
    requests::Request,
};

/// The answer that must not be given.
type Wrong = String;

pub(crate) struct Library {
    store: FileStore,
    clock: SystemClock,
}

fn ttl(ms: u64) -> Ttl {
    Ttl::from_millis(ms).unwrap()
}

fn resource(what: &str) -> Resource {
    let path = |path: &str| RepoPath::new(path).unwrap();
    let target = match what.strip_suffix('/') {
        _ if what == "." => Target::Area(RepoPath::top()),
        Some(area) => Target::Area(path(area)),
        None if what.contains(':') => Target::Named(what.parse().unwrap()),
        None => Target::File(path(what)),
    };
    Resource { scope: Scope::implicit(), target }
}

fn held(lease: &Lease, fresh: bool, took_over: bool) -> Held {
    let deadline = lease.boot_deadline.as_ref().expect("this system names its boots");
    Held {
        what: lease.resource.to_string(),
        token: lease.token.get(),
        until: deadline.deadline_ms * MS,
        fresh,
        took_over,
    }
}

fn seen<'l>(leases: impl Iterator<Item = &'l Lease>) -> Answer {
    Answer::Saw(leases.map(|lease| (lease.resource.to_string(), lease.token.get())).collect())
}

fn unknown(holder: &Holder) -> Option<Wrong> {
    matches!(holder, Holder::Unknown { .. }).then(|| format!("{holder:?}"))
}

/// Nothing here is a reason to warn.
fn without_warnings<T>(told: Told<T>) -> Result<T, Wrong> {
    if told.warnings.is_empty() { Ok(told.value) } else { Err(told.warnings.join("; ")) }
}

fn acquire(locks: &Locks<'_>, owner: &Owner, request: &Request) -> Result<Result<Answer, Wrong>, StoreError> {
    let wants = request.what.iter().map(|what| (resource(what), ttl(request.ttl_ms))).collect();
    let wanted = git_agentlock::locks::Request { owner: owner.clone(), wants, reason: None, pid: std::process::id() };
    let patience = Patience {
        wait_ms: request.wait_ms,
        begin: &mut |_| {},
        cancelled: &|| false,
        sleep: &|ms| std::thread::sleep(Duration::from_millis(ms)),
        ticket_name: format!("race-{}-{}", std::process::id(), now()),
    };
    Ok(match without_warnings(locks.acquire_waiting(&wanted, patience)?) {
        Err(warnings) => Err(warnings),
        Ok(Waited::Answered(Acquired::Granted(grants))) => {
            let one = |grant: &Grant| held(&grant.lease, grant.fresh, grant.stale_owner.is_some());
            Ok(Answer::Holds(grants.iter().map(one).collect()))
        }
        Ok(Waited::Answered(Acquired::Refused(conflicts))) => {
            let unknown = conflicts.iter().find_map(|conflict| unknown(&conflict.holder));
            unknown.map_or(Ok(Answer::Holds(Vec::new())), Err)
        }
        Ok(Waited::Cancelled) => Err("nobody has cancelled it".to_owned()),
    })
}

impl Library {
    /// The store below this directory.
    pub(crate) fn open(dir: &Path, fsync: bool) -> Self {
        let clock = SystemClock::new();
        let (before, boot) = (now(), clock.now().boot.expect("this system names its boots"));
        assert!((before / MS..=now() / MS).contains(&boot.millis), "the histories and the leases have one clock");
        Self { store: FileStore::in_git_dir(dir).with_fsync(fsync), clock }
    }

    fn run(&self, owner: &Owner, request: &Request, tokens: &Tokens) -> Result<Result<Answer, Wrong>, StoreError> {
        let locks = Locks {
            store: &self.store,
            clock: &self.clock,
            host: "races".to_owned(),
            longest_ttl: ttl(3_600_000),
            keep_expired_ms: 20,
        };
        let what: Vec<Resource> = request.what.iter().map(|what| resource(what)).collect();
        let token = |what: &str| tokens.get(what).filter(|_| request.with_token).and_then(|token| Token::new(*token));
        match request.deed {
            Deed::Acquire => acquire(&locks, owner, request),
            Deed::Renew if request.what.is_empty() => {
                let as_before = |what: &Resource| {
                    Ask::Renew(Prolong { resource: what.clone(), ttl: None, cap: ttl(3_600_000), token: None })
                };
                Ok(without_warnings(locks.renew_all(owner, &as_before, std::process::id())?)
                    .and_then(|all| renewed(&all.renewed)))
            }
            Deed::Renew => {
                let item = |what: &&str| Prolong {
                    resource: resource(what),
                    ttl: Some(ttl(request.ttl_ms)),
                    cap: ttl(3_600_000),
                    token: token(what),
                };
                let items: Vec<_> = request.what.iter().map(item).collect();
                Ok(without_warnings(locks.renew(owner, &items, std::process::id())?).and_then(|all| renewed(&all)))
            }
            Deed::Release if request.what.is_empty() => {
                Ok(without_warnings(locks.release_all(owner, &|_| true)?).and_then(|all| released(&all.releases)))
            }
            Deed::Release => {
                let item = |what: &&str| GiveBack { resource: resource(what), token: token(what) };
                let items: Vec<_> = request.what.iter().map(item).collect();
                Ok(without_warnings(locks.release(owner, &items)?).and_then(|all| released(&all)))
            }
            Deed::Break => {
                let reason = Reason::new("a race").unwrap();
                Ok(without_warnings(locks.break_leases(&what, Some(owner), &reason)?).and_then(|all| broken(&all)))
            }
            Deed::Prune => {
                let pruned = without_warnings(locks.prune(&|_| true, false)?);
                Ok(pruned.and_then(|pruned| match pruned.failed.as_slice() {
                    [] => Ok(Answer::Done),
                    failed => Err(format!("{failed:?}")),
                }))
            }
            Deed::Check => {
                let reports = locks.check(&what)?;
                let holders = || reports.iter().flat_map(|report| &report.holders);
                let leases = holders().filter_map(|holder| match holder {
                    Holder::Lease(lease) => Some(&**lease),
                    _ => None,
                });
                Ok(holders().find_map(unknown).map_or_else(|| Ok(seen(leases)), Err))
            }
            Deed::List => {
                let listing = locks.list()?;
                let live = listing.leases.iter().filter(|lease| lease.state == State::Live);
                let unreadable = &listing.unreadable;
                Ok(if unreadable.is_empty() { Ok(seen(live)) } else { Err(format!("{unreadable:?}")) })
            }
        }
    }
}

fn renewed(renewals: &[Renewal]) -> Result<Answer, Wrong> {
    let mut all = Vec::new();
    for renewal in renewals {
        match renewal {
            Renewal::Renewed { lease, .. } => all.push(held(lease, false, false)),
            Renewal::Unknown(holder) => return Err(format!("{holder:?}")),
            Renewal::Lost(_) | Renewal::NotOwner(_) => {}
        }
    }
    Ok(Answer::Holds(all))
}

fn released(releases: &[Release]) -> Result<Answer, Wrong> {
    let mut all = Vec::new();
    for release in releases {
        match release {
            Release::Released(lease) => all.push((lease.resource.to_string(), lease.token.get())),
            Release::Unknown(_) | Release::Failed { .. } => return Err(format!("{release:?}")),
            Release::Nothing(_) | Release::Lost(_) | Release::NotOwner(_) => {}
        }
    }
    Ok(Answer::Ended(all))
}

fn broken(breaks: &[Break]) -> Result<Answer, Wrong> {
    let mut all = Vec::new();
    for one in breaks {
        match one {
            Break::Broken(lease) => all.push((lease.resource.to_string(), lease.token.get())),
            Break::Unknown(_) | Break::Failed(_) => return Err(format!("{one:?}")),
            Break::Nothing { .. } => {}
        }
    }
    Ok(Answer::Ended(all))
}

fn is_too_slow(error: &StoreError) -> bool {
    match error {
        StoreError::TooSlow => true,
        StoreError::NotUndone { cause, .. } => is_too_slow(cause),
        _ => false,
    }
}

impl Door for Library {
    fn ask(&mut self, owner: &str, request: &Request, tokens: &Tokens) -> Answer {
        match self.run(&Owner::new(owner).unwrap(), request, tokens) {
            Ok(answer) => answer.unwrap_or_else(Answer::Failed),
            Err(error) if is_too_slow(&error) => Answer::TooSlow,
            Err(error) => Answer::Failed(error.to_string()),
        }
    }
}
