//! Does for an agent tool's hook what it asks for: takes the leases of an edit, remembers what was read, gives back what a session holds.
//!
//! Nothing here fails: an edit is let through or refused, and what cannot be told is for the policy to decide.

mod memory;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use git_agentlock::{
    harness::{
        self, Tool,
        answer::Verdict,
        payload::{Call, Event},
        shell,
    },
    locks::{Acquired, Conflict, GiveBack, Request},
    owner::Owner,
    resource::{Project, Resource},
};

use self::memory::{Deed, Taken};
use super::{
    args::Global,
    context::{Context, Located, OnBadPolicy},
    environment::{enter, variable},
    exit::Kind,
    failure::Failure,
    owner,
    render::agent as text,
};

/// One call of a tool's hook, and where it is to be done.
pub(super) struct Desk {
    tool: Tool,
    call: Call,
    /// The directory from which the tool speaks; the hook's own, when it does not say or that is gone.
    base: Option<PathBuf>,
    umask: u32,
    /// The stores and projects in which what the agent holds has been renewed as far as it was due.
    renewed: Vec<(PathBuf, Project)>,
    /// For people, on stderr.
    pub(super) notes: Vec<String>,
}

/// What has come of asking for the files of an edit.
enum Outcome {
    /// They may be edited.
    Free,
    /// This is in the way.
    Held(Vec<Conflict>),
    /// They are to be read again first, as this says.
    OutOfDate(String),
}

impl Desk {
    pub(super) fn new(tool: Tool, call: Call, global: &Global, umask: u32) -> Self {
        let real = |dir: &Path| fs::canonicalize(dir).ok().filter(|dir| dir.is_dir());
        let told = call.cwd.as_deref().and_then(|dir| real(Path::new(dir)));
        let base = told.or_else(|| real(global.directory.as_deref()?));
        if let Some(base) = &base {
            enter(base);
        }
        Self { tool, call, base, umask, renewed: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn verdict(&mut self) -> Verdict {
        match self.call.event.clone() {
            Event::Edit(paths) => self.edit(&paths),
            Event::Edited(paths) => {
                self.remember(&paths, Deed::Changed);
                Verdict::Pass
            }
            Event::Read(paths) => {
                self.remember(&paths, Deed::Reads);
                Verdict::Look
            }
            Event::HasRead(paths) => {
                self.remember(&paths, Deed::HasRead);
                Verdict::Pass
            }
            Event::Shell { command, input } => {
                self.keep_on();
                self.shell(&command, input)
            }
            Event::AtWork => {
                self.keep_on();
                Verdict::Pass
            }
            Event::SessionStart => self.begin(),
            Event::SessionEnd => self.end(),
            Event::AgentEnd if self.call.agent.is_some() => self.end(),
            Event::AgentEnd | Event::Other => Verdict::Pass,
            Event::Unclear(what) => {
                self.notes.push(text::unread(&what));
                Verdict::Pass
            }
        }
    }

    fn owner(&self) -> Result<Option<Owner>, Failure> {
        let (session, agent) = (self.call.session.as_deref(), self.call.agent.as_deref());
        let given = match owner::by_variable()? {
            Some(given) if is_given_by_a_hook() => harness::started_by(self.tool, &given, session).map(Some),
            given => Ok(given),
        };
        given.and_then(|given| harness::owner(self.tool, given.as_ref(), session, agent)).map_err(|error| {
            Failure::invalid(format!("a sub-agent cannot be named: {error}")).hint("set a shorter AGENTLOCK_OWNER")
        })
    }

    /// Takes all files of an edit or none. Files that cannot be locked by anybody are let through.
    fn edit(&mut self, paths: &[String]) -> Verdict {
        let context = Context::new(self.base.as_deref(), OnBadPolicy::Refuse, self.umask);
        let told = context.and_then(|context| {
            let owner = self.owner()?;
            let outcome = match &owner {
                Some(name) => self.take(&context, name, paths)?,
                None => self.look(&context, paths)?,
            };
            self.keep_on_in(&context);
            Ok((owner, outcome))
        });
        if told.is_err() {
            self.keep_on();
        }
        match told {
            Ok((owner, Outcome::Held(conflicts))) => {
                Verdict::Deny(text::refused(&conflicts, owner.as_ref(), &self.absolute(paths)))
            }
            Ok((_, Outcome::OutOfDate(why))) => Verdict::Deny(why),
            Ok((Some(_), Outcome::Free)) => Verdict::Pass,
            Ok((None, Outcome::Free)) => {
                self.notes.push(text::unread("neither the tool nor AGENTLOCK_OWNER says who edits"));
                Verdict::Pass
            }
            Err(failure) => {
                // Where the file is, there is the policy that decides.
                let absolute = self.absolute(paths);
                let near = absolute.iter().find_map(|path| path.ancestors().skip(1).find(|dir| dir.is_dir()));
                let refuses = Context::refuses_on_error(near, self.umask);
                let told = text::cannot_tell(&failure, paths, refuses);
                if refuses {
                    return Verdict::Deny(told);
                }
                self.notes.push(format!("warning: {told}"));
                Verdict::Warn(told)
            }
        }
    }

    fn absolute(&self, paths: &[String]) -> Vec<PathBuf> {
        let base = self.base.clone().unwrap_or_default();
        paths.iter().map(|path| base.join(path)).collect()
    }

    /// What is in the way of somebody without a name, who can take nothing.
    fn look(&self, context: &Context, paths: &[String]) -> Result<Outcome, Failure> {
        let mut conflicts = Vec::new();
        for all in by_store(context, paths)? {
            let Some(first) = all.first() else { continue };
            let store = context.one_store(&all)?;
            let wants: Vec<Resource> = all.iter().map(|one| one.resource.clone()).collect();
            let reports = context.locks(&store, &first.policy.policy).check(&wants)?;
            for (wanted, report) in wants.iter().zip(&reports) {
                let holders = report.foreign(None);
                conflicts.extend(holders.map(|holder| Conflict { wanted: wanted.clone(), holder: holder.clone() }));
            }
        }
        in_the_way(conflicts)
    }

    /// Takes all files, or none.
    fn take(&mut self, context: &Context, owner: &Owner, paths: &[String]) -> Result<Outcome, Failure> {
        let stores = by_store(context, paths)?;
        let mut taken: Vec<Taken<'_>> = Vec::new();
        for all in &stores {
            let Some(first) = all.first() else { continue };
            let store = context.one_store(all)?;
            let told = context.locks(&store, &first.policy.policy).acquire(&request(owner, all));
            let outcome = match told {
                Ok(told) => {
                    self.notes.extend(told.warnings.iter().map(|warning| format!("warning: {warning}")));
                    match told.value {
                        Acquired::Granted(grants) => {
                            taken.push((store, all, grants));
                            continue;
                        }
                        Acquired::Refused(conflicts) => in_the_way(conflicts),
                    }
                }
                Err(error) => Err(Failure::from(error)),
            };
            give_back(context, owner, &taken);
            return outcome;
        }
        self.notes.extend(context.take_warnings().into_iter().map(|warning| format!("warning: {warning}")));
        let outcome = self.out_of_date(context, owner, &taken).map_or(Outcome::Free, Outcome::OutOfDate);
        Ok(outcome)
    }

    /// Gives a command its agent's name, where its shell would not know it.
    fn shell(&mut self, command: &str, mut input: serde_json::Map<String, serde_json::Value>) -> Verdict {
        let Ok(Some(owner)) = self.owner() else { return Verdict::Pass };
        let is_named_otherwise = variable("AGENTLOCK_OWNER").is_some();
        let is_known = is_told(&owner) || (self.tool.names_its_session_to_shells() && !is_named_otherwise);
        if !self.tool.can_rewrite_commands() || (is_known && self.call.agent.is_none()) {
            return Verdict::Pass;
        }
        match shell::with_owner(command, &owner) {
            Some(command) => {
                input.insert("command".to_owned(), command.into());
                Verdict::Rewrite(input)
            }
            None => Verdict::Pass,
        }
    }

    /// Gives the shells of a session its name: by the file that the tool reads before each command, or by telling the model.
    fn begin(&mut self) -> Verdict {
        // What is in the environment already reaches the shells as well.
        let Ok(Some(owner)) = self.owner() else { return Verdict::Pass };
        if is_told(&owner) {
            return Verdict::Pass;
        }
        let names: &[&str] = match self.tool {
            Tool::ClaudeCode => &["CLAUDE_ENV_FILE"],
            Tool::Codex => &["CODEX_ENV_FILE", "CLAUDE_ENV_FILE"],
            Tool::Gemini | Tool::Cursor => &[],
        };
        if let Some(file) = names.iter().find_map(|name| variable(name)).map(PathBuf::from) {
            if let Err(error) = persist(&file, &shell::export(&owner)) {
                let shown = git_agentlock::text::escape_path(&file);
                self.notes.push(format!("warning: AGENTLOCK_OWNER cannot be written to {shown}: {error}"));
            }
            return Verdict::Pass;
        }
        if self.tool.names_its_session_to_shells() || self.tool.can_rewrite_commands() {
            return Verdict::Pass;
        }
        Verdict::Tell(text::say_who(&owner, self.tool))
    }

    /// Gives back all leases of a session and its sub-agents, or of one sub-agent. Those in other repositories end when their time is up.
    fn end(&mut self) -> Verdict {
        let Ok(Some(owner)) = self.owner() else { return Verdict::Pass };
        let project = match self.tool {
            Tool::ClaudeCode => variable("CLAUDE_PROJECT_DIR"),
            Tool::Gemini => variable("GEMINI_PROJECT_DIR"),
            Tool::Cursor => variable("CURSOR_PROJECT_DIR"),
            Tool::Codex => None,
        };
        let project = project.map(PathBuf::from).filter(|dir| dir.is_dir());
        let mut done = BTreeSet::new();
        let here = self.base.clone().unwrap_or_else(|| PathBuf::from("."));
        let roots: Vec<PathBuf> = self.call.roots.iter().map(PathBuf::from).filter(|dir| dir.is_dir()).collect();
        for dir in std::iter::once(here).chain(project).chain(roots) {
            if let Err(failure) = self.release_in(&dir, &owner, &mut done)
                && failure.kind != Kind::NoRepository
            {
                let message = &failure.message;
                self.notes.push(format!("warning: leases of {owner} stay until their time is up: {message}"));
            }
        }
        Verdict::Pass
    }

    fn release_in(
        &mut self,
        dir: &Path,
        owner: &Owner,
        done: &mut BTreeSet<(PathBuf, Project)>,
    ) -> Result<(), Failure> {
        let context = Context::new(Some(dir), OnBadPolicy::Warn, self.umask)?;
        let whole = context.whole_unwarned()?;
        if !done.insert((whole.store.dir(), whole.project.clone())) {
            return Ok(());
        }
        let locks = context.locks(&whole.store, &whole.policy.policy);
        let leases = locks.list()?.leases;
        let ending: BTreeSet<&Owner> =
            leases.iter().map(|lease| &lease.owner).filter(|holder| harness::ends_with(owner, holder)).collect();
        // What a `run` around this agent holds for it is that one's to give back.
        let lent = lent_by_run();
        let is_lent = |resource: &Resource| {
            leases.iter().any(|lease| lease.resource == *resource && lent.contains(&lease.token.to_string()))
        };
        for holder in ending {
            let told = locks.release_all(holder, &|resource| whole.is_meant(resource, false) && !is_lent(resource))?;
            self.notes.extend(told.warnings.into_iter().map(|warning| format!("warning: {warning}")));
        }
        if let Err(error) =
            whole.store.clone().with_patience(memory::PATIENCE).forget(&|holder| harness::ends_with(owner, holder))
        {
            self.notes.push(format!("note: {error}: what {owner} has seen of files stays noted until it is old"));
        }
        Ok(())
    }
}

/// Whether the name in the environment is one that a hook has given to the shells of an agent: this one's, or one that has started it.
fn is_given_by_a_hook() -> bool {
    variable("AGENTLOCK_OWNER").is_some_and(|given| variable(shell::BY_HOOK) == Some(given))
}

/// The tokens of the leases that a `run` holds around this process.
fn lent_by_run() -> Vec<String> {
    let tokens = variable("AGENTLOCK_TOKEN").unwrap_or_default();
    tokens.to_string_lossy().split_whitespace().map(str::to_owned).collect()
}

/// Whether this agent's shells know its name already: a person has given it, or this agent's own hook.
fn is_told(owner: &Owner) -> bool {
    let given = variable("AGENTLOCK_OWNER");
    given.is_some_and(|given| !is_given_by_a_hook() || given == owner.as_str())
}

/// What is in the way of an edit, if anything is. That nobody knows who holds the files is a failure.
fn in_the_way(conflicts: Vec<Conflict>) -> Result<Outcome, Failure> {
    match text::unknown(&conflicts) {
        Some(failure) => Err(failure),
        None if conflicts.is_empty() => Ok(Outcome::Free),
        None => Ok(Outcome::Held(conflicts)),
    }
}

/// What an edit needs, one group for each store.
fn by_store(context: &Context, paths: &[String]) -> Result<Vec<Vec<Located>>, Failure> {
    let mut stores: Vec<Vec<Located>> = Vec::new();
    for path in paths {
        for located in lockable(context, path)? {
            match stores.iter_mut().find(|all| all.first().is_some_and(|one| one.store_dir == located.store_dir)) {
                Some(all) => all.push(located),
                None => stores.push(vec![located]),
            }
        }
    }
    Ok(stores)
}

/// The resources that an edit of a path needs; none when nobody could lock it: outside of any repository, git's own files, a directory.
fn lockable(context: &Context, path: &str) -> Result<Vec<Located>, Failure> {
    match context.locate(path.as_bytes(), false) {
        Ok(located) => {
            let files = located.into_iter().map(|(located, _)| located);
            Ok(files.filter(|located| !located.resource.is_area()).collect())
        }
        Err(failure) if matches!(failure.kind, Kind::NoRepository | Kind::Invalid) => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

fn request(owner: &Owner, all: &[Located]) -> Request {
    let ttl = |one: &Located| one.policy.policy.ttl(&one.resource.target).default.value;
    let wants = all.iter().map(|one| (one.resource.clone(), ttl(one))).collect();
    Request { owner: owner.clone(), wants, reason: None, pid: std::process::id() }
}

/// Takes back what was granted in other stores, when one of them refuses. What cannot be given back ends by itself.
fn give_back(context: &Context, owner: &Owner, taken: &[Taken<'_>]) {
    for (store, all, grants) in taken {
        let Some(first) = all.first() else { continue };
        let fresh = grants.iter().filter(|grant| grant.fresh);
        let items: Vec<GiveBack> = fresh
            .map(|grant| GiveBack { resource: grant.lease.resource.clone(), token: Some(grant.lease.token) })
            .collect();
        let _ = context.locks(store, &first.policy.policy).release(owner, &items);
    }
}

/// Adds an export to the file from which a tool takes variables for its shells. A session that goes on asks again; the last one counts.
fn persist(file: &Path, line: &str) -> io::Result<()> {
    const MAX_BYTES: u64 = 1 << 20;
    let mut known = String::new();
    match fs::metadata(file) {
        Ok(meta) if !meta.is_file() => return Err(io::Error::other("it is not a regular file")),
        Ok(_) => {
            fs::File::open(file)?.take(MAX_BYTES).read_to_string(&mut known)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if known.lines().rfind(|known| shell::is_export(known)) == Some(line) {
        return Ok(());
    }
    let start = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    fs::OpenOptions::new().create(true).append(true).open(file)?.write_all(format!("{start}{line}\n").as_bytes())
}
