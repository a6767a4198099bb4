//! What can be said on the command line. Each command's own arguments are in its file.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand};

use super::{
    commands::{
        acquire, agent_hook, break_, check, completions, doctor, guard, hook, instructions, list, log, man, policy,
        prune, release, renew, setup, whoami,
    },
    deferred::Deferred,
};

/// Leases on files, for many agents at work in one repository
///
/// A lease belongs to an owner, not to a process: take it with one command, work, give it back with another. It ends by release or when its
/// time is up, so renew it while you work (every half of its TTL) and nobody waits for an agent that has crashed.
#[derive(Debug, Parser)]
#[command(
    name = "git-agentlock",
    bin_name = "git agentlock",
    version = env!("AGENTLOCK_VERSION"),
    arg_required_else_help = false,
    max_term_width = 100,
    disable_help_subcommand = false
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options that mean the same everywhere.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Print one JSON document on stdout, whatever the outcome
    #[arg(long, global = true, help_heading = "Common options")]
    pub(crate) json: bool,
    /// Print nothing but errors and warnings; the exit code tells
    #[arg(long, short, global = true, help_heading = "Common options")]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Common options")]
    pub(crate) color: Color,
    /// Run as if started in DIR
    #[arg(short = 'C', global = true, value_name = "DIR", help_heading = "Common options")]
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Acquire(acquire::AcquireArgs),
    #[command(visible_alias = "heartbeat")]
    Renew(renew::RenewArgs),
    Release(release::ReleaseArgs),
    Check(check::CheckArgs),
    List(list::ListArgs),
    Prune(Deferred<prune::PruneArgs>),
    Break(Deferred<break_::BreakArgs>),
    Doctor(Deferred<doctor::DoctorArgs>),
    #[cfg(unix)]
    Run(super::commands::run::RunArgs),
    Guard(guard::GuardArgs),
    Hook(Deferred<hook::HookArgs>),
    AgentHook(agent_hook::AgentHookArgs),
    Instructions(Deferred<instructions::InstructionsArgs>),
    Log(Deferred<log::LogArgs>),
    Whoami(Deferred<whoami::WhoamiArgs>),
    Policy(Deferred<policy::PolicyArgs>),
    Setup(Deferred<setup::SetupArgs>),
    Completions(Deferred<completions::CompletionsArgs>),
    Man(Deferred<man::ManArgs>),
}

impl Command {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Acquire(_) => "acquire",
            Self::Renew(_) => "renew",
            Self::Release(_) => "release",
            Self::Check(_) => "check",
            Self::List(_) => "list",
            Self::Prune(_) => "prune",
            Self::Break(_) => "break",
            Self::Doctor(_) => "doctor",
            #[cfg(unix)]
            Self::Run(_) => "run",
            Self::Guard(_) => "guard",
            Self::Hook(_) => "hook",
            Self::AgentHook(_) => "agent-hook",
            Self::Instructions(_) => "instructions",
            Self::Log(_) => "log",
            Self::Whoami(_) => "whoami",
            Self::Policy(_) => "policy",
            Self::Setup(_) => "setup",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
        }
    }
}

/// Who is asking.
#[derive(Debug, Clone, Args)]
pub(crate) struct OwnerArg {
    /// Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool
    #[arg(long, short, value_name = "ID")]
    pub(crate) owner: Option<OsString>,
}

/// Every lease of the owner, instead of those that are named.
#[derive(Debug, Clone, Args)]
pub(crate) struct AllArgs {
    /// Every lease of the owner in this project
    #[arg(long, conflicts_with_all = ["paths", "resources", "pathspec_from_file", "token"])]
    pub(crate) all: bool,
    /// With --all: in every project of the store
    #[arg(long, requires = "all")]
    pub(crate) store: bool,
}

/// What the command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct Targets {
    /// Files; a directory (existing, or with a trailing `/`) is one resource, itself and all below it. Never globs
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Take every PATH as a directory and all below it
    #[arg(long)]
    pub(crate) area: bool,
    /// A named thing, such as plan:42 or git:index (repeatable)
    #[arg(long = "resource", value_name = "TYPE:ID")]
    pub(crate) resources: Vec<OsString>,
    /// Read paths from FILE, one a line, quoted as git does it (`-`: stdin)
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    pub(crate) pathspec_from_file: Option<PathBuf>,
    /// The paths of --pathspec-from-file end with NUL and are not quoted
    // Without the conflict, a PATH would let clap forget what is required: the two exclude each other.
    #[arg(long, requires = "pathspec_from_file", conflicts_with = "paths")]
    pub(crate) pathspec_file_nul: bool,
}

impl Targets {
    /// Only paths, for commands that take no more.
    pub(crate) fn of_paths(paths: Vec<OsString>) -> Self {
        Self { paths, area: false, resources: Vec::new(), pathspec_from_file: None, pathspec_file_nul: false }
    }
}
