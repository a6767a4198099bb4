//! `run`: hold leases for as long as a command runs.

use std::{ffi::OsString, process::Child};

use clap::Args;
use git_agentlock::{
    clock::Clock as _,
    locks::{Acquired, Grant, Locks, Request},
    run::{self, Escalation, Keeper, Notice, OnLost},
};

use crate::cli::{
    NOT_RUN,
    args::{Global, OwnerArg, Targets},
    catcher::Catcher,
    child::{NotStarted, Start},
    context::{Context, OnBadPolicy},
    exit::{self, Kind},
    failure::Failure,
    output::{Beside, Output, say_beside},
    owner,
    render::watch,
    taking::{self, Terms, Wanted},
    targets,
    values::parse_grace,
    ward::Ward,
};

const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Hold leases for as long as a command runs
///
/// Takes the leases, all or none, starts COMMAND, renews them at a third of their TTL, and gives them back when COMMAND has ended, whatever its exit
/// code, which is passed on. What the owner held before is renewed and stays the owner's.
///
/// COMMAND gets AGENTLOCK_OWNER and AGENTLOCK_TOKEN (the tokens in the order of the resources, separated by blanks). The signals that come for it
/// are passed on to it.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    owner: OwnerArg,
    #[command(flatten)]
    terms: Terms,
    /// What to do when a lease is lost: warn, ask COMMAND to end (term), or kill it at once
    #[arg(long, value_name = "ACTION", value_enum, default_value = "term")]
    on_lost: Action,
    /// With `term`: how long COMMAND goes on before it is asked to end, and again before it is killed
    #[arg(long, value_name = "DURATION", default_value = "5s", allow_hyphen_values = true)]
    grace: String,
    /// What to run, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Action {
    Warn,
    Term,
    Kill,
}

/// The other command that makes its context itself: whatever fails before the program is started has the one exit code that stands for that.
pub(crate) fn run(args: &RunArgs, global: &Global, umask: u32) -> Output {
    let context = Context::new(global.directory.as_deref(), OnBadPolicy::Refuse, umask);
    let mut output = match &context {
        Ok(context) => take_and_run(context, args, global),
        Err(failure) => Err(failure.clone()),
    }
    .unwrap_or_else(|failure| Output::failed("run", failure));
    output.code = output.code.or(Some(NOT_RUN));
    output.warnings.splice(0..0, context.map(|context| context.take_warnings()).unwrap_or_default());
    output
}

fn take_and_run(context: &Context, args: &RunArgs, global: &Global) -> Result<Output, Failure> {
    let owner = owner::required(args.owner.owner.as_deref())?;
    let Wanted { reason, wait_ms, ttl_ms } = args.terms.read()?;
    let grace_ms = parse_grace(&args.grace)?;
    let named = targets::resolve(context, &args.targets)?;
    let store = context.one_store(&named.located)?;
    let wants = taking::wants(&named.located, ttl_ms)?;
    let first = named.located.first().ok_or_else(targets::nothing_named)?;
    let request = Request { owner, wants, reason, pid: std::process::id() };
    let locks = context.locks(&store, &first.policy.policy);

    let catcher = Catcher::new().map_err(|error| no_signals(&error))?;
    let cancelled = || catcher.asked_to_end().is_some();
    let say = |text: &str| say_beside(global, Beside::Note, text);
    let told = taking::acquire(&locks, &request, wait_ms, &say, &cancelled)?;
    let mut output = Output { warnings: told.warnings, ..Output::new("run") };
    match told.value {
        Some(Acquired::Granted(grants)) => {
            let notes = taking::notes(context, &named.located, &locks, &request.owner);
            let notes: Vec<String> =
                named.notes.into_iter().chain(notes).chain(grants.iter().filter_map(replaced)).collect();
            let watched =
                Watched { context, global, locks: &locks, request: &request, grants: &grants, catcher: &catcher };
            Ok(watched.run(args, grace_ms, &notes, output))
        }
        Some(Acquired::Refused(conflicts)) => {
            taking::refused(&mut output, &conflicts);
            Ok(output)
        }
        None => {
            output.failures.push(taking::interrupted());
            output.code = catcher.asked_to_end().map(exit::of_signal);
            Ok(output)
        }
    }
}

/// What was granted, and what it takes to watch over it.
struct Watched<'w> {
    context: &'w Context,
    global: &'w Global,
    locks: &'w Locks<'w>,
    request: &'w Request,
    grants: &'w [Grant],
    catcher: &'w Catcher,
}

impl Watched<'_> {
    /// Runs the command, and gives back what was granted for it, whatever happens.
    fn run(&self, args: &RunArgs, grace_ms: i64, notes: &[String], mut output: Output) -> Output {
        let mut keeper = Keeper::new(self.locks, self.request, self.grants);
        let tell = |notice: Notice| watch::tell(self.global, notice);
        let ended = self.start(args, notes, &mut output).map(|process| {
            let begun = self.context.clock.now();
            let clock = || self.context.clock.now().since(&begun);
            let mut ward = Ward::new(process, self.catcher, &clock, &tell);
            run::watch(&mut keeper, &mut ward, Escalation::new(args.on_lost.into(), grace_ms), &self.context.clock)
        });
        keeper.give_back().into_iter().for_each(tell);
        match ended {
            Ok(ended) => {
                output.is_said = true;
                match ended {
                    Ok(code) => output.code = Some(code),
                    Err(error) => {
                        say_beside(
                            self.global,
                            Beside::Error,
                            &format!("it cannot be told how the command ended: {error}"),
                        );
                    }
                }
            }
            Err((failure, code)) => {
                output.failures.push(failure);
                output.code = Some(code);
            }
        }
        output
    }

    /// Says what there is to say, and starts the command; why not, and the exit code for that.
    fn start(&self, args: &RunArgs, notes: &[String], output: &mut Output) -> Result<Child, (Failure, u8)> {
        self.catcher.catch_all().map_err(|error| (no_signals(&error), NOT_RUN))?;
        if let Some(signal) = self.catcher.asked_to_end() {
            return Err((taking::interrupted(), exit::of_signal(signal)));
        }
        let tokens = run::tokens(self.grants);
        let variables = [("AGENTLOCK_OWNER", self.request.owner.as_str()), ("AGENTLOCK_TOKEN", &tokens)];
        let dir = self.global.directory.as_ref().map(|_| self.context.cwd.as_path());
        let start = Start { words: &args.command, dir, variables: &variables, umask: self.context.umask };
        let warnings: Vec<String> =
            self.context.take_warnings().into_iter().chain(std::mem::take(&mut output.warnings)).collect();
        for note in notes {
            say_beside(self.global, Beside::Note, note);
        }
        for warning in warnings {
            say_beside(self.global, Beside::Warning, &warning);
        }
        start.spawn().map_err(|cause| not_started(&args.command, &cause))
    }
}

fn replaced(grant: &Grant) -> Option<String> {
    taking::replaced(grant).map(|replaced| format!("{}: {replaced}", grant.lease.resource))
}

fn no_signals(error: &std::io::Error) -> Failure {
    Failure::new(Kind::Store, format!("signals cannot be caught: {error}"))
        .hint("see the limits of this process (ulimit -a)")
}

fn not_started(command: &[OsString], cause: &NotStarted) -> (Failure, u8) {
    let program =
        command.first().map(|program| git_agentlock::text::escape(program.as_encoded_bytes())).unwrap_or_default();
    let (error, hint, code) = match cause {
        NotStarted::NotFound(error) => (error, "give a program that is in PATH, or the path of one", NOT_FOUND),
        NotStarted::NotExecutable(error) => (error, "give a program that can be executed", NOT_EXECUTABLE),
        NotStarted::Failed(error) => (error, "see the limits of this user (ulimit -u), and try again", NOT_RUN),
    };
    let failure = Failure::new(Kind::Command, format!("cannot run '{program}': {error}"));
    (failure.hint(format!("nothing is held; {hint}")), code)
}

impl From<Action> for OnLost {
    fn from(action: Action) -> Self {
        match action {
            Action::Warn => Self::Warn,
            Action::Term => Self::Term,
            Action::Kill => Self::Kill,
        }
    }
}
