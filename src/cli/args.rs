//! What can be said on the command line. Each command's own arguments are in its file.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::{Args, FromArgMatches as _, Parser, Subcommand};

use super::commands::{
    acquire, agent_hook, break_, check, completions, doctor, guard, hook, instructions, list, log, man, policy, prune,
    release, renew, setup, whoami,
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
    max_term_width = 80,
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
    Prune(prune::PruneArgs),
    Break(break_::BreakArgs),
    Doctor(doctor::DoctorArgs),
    #[cfg(unix)]
    Run(super::commands::run::RunArgs),
    Guard(guard::GuardArgs),
    Hook(hook::HookArgs),
    AgentHook(agent_hook::AgentHookArgs),
    Instructions(instructions::InstructionsArgs),
    Log(log::LogArgs),
    Whoami(whoami::WhoamiArgs),
    Policy(policy::PolicyArgs),
    Setup(setup::SetupArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Cli {
    /// What `arguments` say. To build the arguments of all commands takes longer than most commands take, so those of the one that seems to be
    /// called are tried alone; whatever is not in order with that is left to the whole.
    pub(crate) fn parse(arguments: &[OsString]) -> Result<Self, clap::Error> {
        match called(arguments).and_then(OsStr::to_str).and_then(Command::alone) {
            Some(command) => Self::parse_as(command, arguments).or_else(|_| Self::try_parse_from(arguments)),
            None => Self::try_parse_from(arguments),
        }
    }

    fn parse_as(command: clap::Command, arguments: &[OsString]) -> Result<Self, clap::Error> {
        let mut whole = Self::only(command);
        let parsed = whole.try_get_matches_from_mut(arguments).and_then(|matches| Self::from_arg_matches(&matches));
        // The process is to end soon: to take all that apart is of use to nobody.
        std::mem::forget(whole);
        parsed
    }

    /// The program as if it had this one command.
    fn only(command: clap::Command) -> clap::Command {
        Global::augment_args(clap::Command::new("git-agentlock")).subcommand(command)
    }
}

/// The command that was meant, as far as the words tell: the first that is neither an option nor the value of one.
pub(crate) fn called(arguments: &[OsString]) -> Option<&OsStr> {
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        if word == "-C" || word == "--color" {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return Some(word);
        }
    }
    None
}

/// When to use colours, as far as the words tell, of which some are wrong.
pub(crate) fn color(arguments: &[OsString]) -> Color {
    let mut words = arguments.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    let mut said = Color::Auto;
    while let Some(word) = words.next() {
        let value = if word == "--color" { words.next() } else { word.strip_prefix("--color=") };
        said = value.and_then(|value| clap::ValueEnum::from_str(value, false).ok()).unwrap_or(said);
    }
    said
}

impl Command {
    /// One of the commands that are called again and again, with none of the others beside it.
    fn alone(name: &str) -> Option<clap::Command> {
        let command = clap::Command::new;
        Some(match name {
            "acquire" => acquire::AcquireArgs::augment_args(command("acquire")),
            "renew" | "heartbeat" => renew::RenewArgs::augment_args(command("renew").alias("heartbeat")),
            "release" => release::ReleaseArgs::augment_args(command("release")),
            "check" => check::CheckArgs::augment_args(command("check")),
            "list" => list::ListArgs::augment_args(command("list")),
            "guard" => guard::GuardArgs::augment_args(command("guard")),
            "agent-hook" => agent_hook::AgentHookArgs::augment_args(command("agent-hook")),
            "completions" => completions::CompletionsArgs::augment_args(command("completions")),
            _ => return None,
        })
    }

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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// All that a command alone is asked for: its arguments and what they exclude and need.
    #[test]
    fn a_command_alone_is_the_one_among_the_others() {
        let mut whole = Cli::command();
        whole.build();
        let all = whole
            .get_subcommands()
            .flat_map(|command| std::iter::once(command.get_name()).chain(command.get_all_aliases()));
        let mut count = 0;
        for name in all {
            let Some(command) = Command::alone(name) else { continue };
            let mut alone = Cli::only(command);
            alone.build();
            let arguments = |whole: &clap::Command| {
                let command = whole.find_subcommand(name).unwrap_or_else(|| panic!("{name}"));
                command.get_arguments().map(|argument| format!("{argument:?}")).collect::<Vec<_>>()
            };
            assert_eq!(arguments(&alone), arguments(&whole), "{name}");
            count += 1;
        }
        assert_eq!(count, 9, "with an alias");
    }

    #[test]
    fn what_is_not_in_order_is_told_by_the_whole() {
        for words in ["check -h", "check --nonsense", "chekc", "-C", "check -C", "--version", "help check"] {
            let arguments: Vec<_> =
                std::iter::once("git-agentlock").chain(words.split(' ')).map(OsString::from).collect();
            let (quick, whole) = (Cli::parse(&arguments).unwrap_err(), Cli::try_parse_from(&arguments).unwrap_err());
            assert_eq!(quick.to_string(), whole.to_string(), "{words}");
        }
    }
}
