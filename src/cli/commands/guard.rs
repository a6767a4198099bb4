//! `guard`: may this commit be made?
//!
//! Meant for git's hooks. Modes are read before anything that can fail, and whoever cannot tell refuses, naming the cause and how to get past.

use std::{cell::Cell, ffi::OsString, path::PathBuf, rc::Rc};

use clap::Args;
use git_agentlock::{
    clock::{Clock as _, Now},
    git::{
        Repository,
        attributes::LeaseAttribute,
        changes::{Changes, ChangesError, Merged},
    },
    guard::{Case, Objection, Refusal, require_leases},
    locks::{Holder, rules},
    owner::Owner,
    policy::{GuardMode, Policy},
    resource::{RepoPath, Resource, Scope, Target},
    store::{ReadSet, Seen, Store as _, View, file::FileStore},
};

use crate::cli::{
    args::{Global, OwnerArg},
    context::{Context, OnBadPolicy},
    environment,
    exit::Kind,
    failure::Failure,
    output::Output,
    owner,
    render::{
        advice::{self, Advice},
        human,
        json::{ConflictDoc, ResultDoc},
    },
};

/// Refuse a commit that touches what others hold; meant for git's hooks
///
/// Judges what is staged, in the index that git names. Exit code 1: refused; 4: it cannot be told, which refuses too. AGENTLOCK_GUARD=warn makes
/// warnings of it, AGENTLOCK_GUARD=off lets everything pass; else `guard.mode` in the policy decides.
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// The hook that asks, by its name in git
    #[arg(long, value_name = "NAME", default_value = "pre-commit")]
    hook: String,
    #[command(flatten)]
    owner: OwnerArg,
    /// What git gave to the hook
    #[arg(value_name = "ARG", allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The one command that makes its context itself: with the mode `off` nothing must be able to fail.
pub(crate) fn run(args: &GuardArgs, global: &Global, umask: u32) -> Output {
    let mut warnings = Vec::new();
    let told =
        environment::variable("AGENTLOCK_GUARD").and_then(|word| match word.to_str().and_then(GuardMode::parse) {
            None => {
                let shown = git_agentlock::text::escape(word.to_string_lossy().as_bytes());
                warnings.push(format!(
                    "AGENTLOCK_GUARD is '{shown}', which is none of enforce, warn, off: it does not count"
                ));
                None
            }
            mode => mode,
        });
    let mode = Cell::new(told.unwrap_or(GuardMode::Enforce));
    let mut output = Output::new("guard");
    if mode.get() != GuardMode::Off {
        let judged = Context::new(global.directory.as_deref(), OnBadPolicy::Warn, umask).and_then(|context| {
            let judged = judge(&context, args, told, &mode);
            warnings.extend(context.take_warnings());
            judged
        });
        output = judged.unwrap_or_else(|failure| Output::failed("guard", failure.hint(advice::BYPASS)));
    }
    output.warnings.splice(0..0, warnings);
    if mode.get() == GuardMode::Warn {
        only_warn(&mut output);
    }
    output
}

/// Says the same, and lets it pass.
fn only_warn(output: &mut Output) {
    for failure in output.failures.drain(..) {
        output.warnings.push(failure.message);
        output.notes.extend(failure.hints.into_iter().map(|hint| format!("hint: {hint}")));
    }
}

fn judge(
    context: &Context,
    args: &GuardArgs,
    told: Option<GuardMode>,
    mode: &Cell<GuardMode>,
) -> Result<Output, Failure> {
    let repository = context.here("the current directory")?;
    let Some(repository) = repository else { return Err(Failure::no_repository("the current directory")) };
    let policy = context.policy(Some(&repository))?;
    let policy = &policy.policy;
    mode.set(told.unwrap_or(policy.guard_mode()));
    let mut output = Output::new("guard");
    if mode.get() == GuardMode::Off {
        return Ok(output);
    }
    let attribute = LeaseAttribute::of(&repository).map_err(Failure::from)?;
    let stores = context.guarded(&repository, policy);
    let views = stores.iter().map(|(store, _)| store.view(&ReadSet::everything())).collect::<Result<Vec<_>, _>>()?;
    let is_required = attribute.is_some() || !policy.guard_require().is_empty();
    if !is_required && views.iter().all(|view| view.iter().next().is_none()) {
        return Ok(output);
    }
    let committer = owner::of(args.owner.owner.as_deref())?.map(|known| known.owner);
    let trial = Trial {
        context,
        repository: &repository,
        policy,
        now: context.clock.now(),
        committer: committer.as_ref(),
        changes: Default::default(),
        hook: &args.hook,
    };
    let scopes: Vec<(Scope, View)> = stores.iter().map(|(_, scope)| scope.clone()).zip(views).collect();
    let refusals = trial.refusals(&scopes, attribute)?;
    let unknown = trial.unknown(&stores, &scopes)?;
    trial.tell(&mut output, &refusals, &unknown)?;
    context.warn_of_own_store(Some(&repository));
    Ok(output)
}

/// A commit on trial.
struct Trial<'t> {
    context: &'t Context,
    repository: &'t Rc<Repository>,
    policy: &'t Policy,
    now: Now,
    committer: Option<&'t Owner>,
    /// What the commit changes; read when it is asked for.
    changes: std::cell::OnceCell<Changes>,
    hook: &'t str,
}

impl Trial<'_> {
    fn changes(&self) -> Result<&Changes, ChangesError> {
        if let Some(changes) = self.changes.get() {
            return Ok(changes);
        }
        let index = environment::variable("GIT_INDEX_FILE").map(PathBuf::from);
        let heads;
        let merged = match self.hook {
            "pre-merge-commit" => {
                heads = environment::merged_heads();
                Merged::These(&heads)
            }
            _ => Merged::MergeHead,
        };
        let changes = Changes::staged(self.repository, index.as_deref(), merged)?;
        Ok(self.changes.get_or_init(|| changes))
    }

    fn changed(&self, target: &Target) -> Result<Vec<RepoPath>, ChangesError> {
        self.changes()?.of(target)
    }

    fn everything(&self) -> Result<Vec<RepoPath>, ChangesError> {
        self.changed(&Target::Area(RepoPath::top()))
    }

    fn refusals(&self, stores: &[(Scope, View)], attribute: Option<LeaseAttribute>) -> Result<Vec<Refusal>, Failure> {
        let remember_lost_ms = self.policy.lost_leases().then(|| self.policy.keep_expired_ms());
        let case = Case { committer: self.committer, stores, now: &self.now, remember_lost_ms };
        let mut refusals = case.refusals(&|target: &Target| self.changed(target))?;
        let globs = self.policy.guard_require();
        if attribute.is_some() || !globs.is_empty() {
            let mut attribute = attribute;
            let mut required = Vec::new();
            for path in self.everything()? {
                let has_attribute = attribute.as_mut().map_or(Ok(false), |attribute| attribute.is_set(&path))?;
                if has_attribute || globs.matches(&path) {
                    required.push(path);
                }
            }
            if let Some((scope, _)) = stores.first() {
                require_leases(&case, scope, required, &mut refusals);
            }
        }
        Ok(refusals)
    }

    /// Of what is changed, that of which it cannot be told who holds it.
    fn unknown(
        &self,
        stores: &[(FileStore, Scope)],
        views: &[(Scope, View)],
    ) -> Result<Vec<(Resource, Holder)>, Failure> {
        let is_doubtful = |seen: &Seen| match seen {
            Seen::Unreadable(record) => rules::is_held(record, &self.now, self.policy.longest_ttl()),
            Seen::Record(_) => false,
        };
        let mut unknown = Vec::new();
        for ((store, scope), (_, view)) in stores.iter().zip(views) {
            if !view.iter().any(|(_, seen)| is_doubtful(seen)) {
                continue;
            }
            let file = |path| Resource { scope: scope.clone(), target: Target::File(path) };
            let changed: Vec<Resource> = self.everything()?.into_iter().map(file).collect();
            for report in self.context.locks(store, self.policy).check(&changed)? {
                let doubts = report.holders.into_iter().filter(|holder| matches!(holder, Holder::Unknown { .. }));
                unknown.extend(doubts.map(|holder| (report.resource.clone(), holder)));
            }
        }
        Ok(unknown)
    }

    fn tell(&self, output: &mut Output, refusals: &[Refusal], unknown: &[(Resource, Holder)]) -> Result<(), Failure> {
        for refusal in refusals {
            self.tell_refusal(output, refusal);
        }
        for (resource, holder) in unknown {
            let message = format!("cannot commit {resource}: {}", human::held_by(holder));
            output.document.conflicts.push(ConflictDoc::new(resource, holder));
            tell(output, resource, "unknown", Failure::new(Kind::Damaged, message));
        }
        output.document.locked = refusals.iter().any(|refusal| matches!(refusal.objection, Objection::Held(_)));
        if let Some(last) = output.failures.last_mut() {
            let prefix = self.context.prefix(self.repository);
            let advice = Advice {
                refusals,
                is_unknown: !unknown.is_empty(),
                staged: self.everything()?,
                is_merge: self.changes()?.is_merge(),
                committer: self.committer,
                prefix,
            };
            last.hints.extend(advice.hints());
        }
        Ok(())
    }

    fn tell_refusal(&self, output: &mut Output, refusal: &Refusal) {
        let resource = &refusal.resource;
        let (outcome, kind, why) = match &refusal.objection {
            Objection::Held(lease) => {
                let holder = Holder::Lease(lease.clone());
                output.document.conflicts.push(ConflictDoc::new(resource, &holder));
                let held = human::held_by(&holder);
                let is_itself = lease.resource == *resource;
                ("held", Kind::Conflict, if is_itself { held } else { format!("{} is {held}", lease.resource) })
            }
            Objection::Lost { resource: lost, to, ended_at } => {
                let what = if lost == resource { String::new() } else { format!(" on {lost}") };
                let to = to.as_ref().map_or("somebody".to_owned(), ToString::to_string);
                let when = human::moment(*ended_at);
                (
                    "lost",
                    Kind::Refused,
                    format!("your lease{what} ended at {when} and was lost to {to}, who may have changed it"),
                )
            }
            Objection::LeaseRequired => (
                "lease_required",
                Kind::Refused,
                "only who holds a lease on it may commit it, and you hold none".to_owned(),
            ),
        };
        tell(output, resource, outcome, Failure::new(kind, format!("cannot commit {resource}: {why}")));
    }
}

fn tell(output: &mut Output, resource: &Resource, outcome: &'static str, failure: Failure) {
    let (_, message) = output.fail(failure);
    let result = ResultDoc { resource: resource.into(), outcome, stale_owner: None, message };
    output.document.results.get_or_insert_default().push(result);
}
