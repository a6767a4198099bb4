//! `completions`: the script by which a shell completes commands, leases and owners.

use std::ffi::OsString;

use clap::{Args, CommandFactory as _};
use clap_complete::aot;

use crate::cli::{
    args::Cli,
    completing::{self, Shell},
    output::Output,
};

const BASH: &str = include_str!("../../../completions/git-agentlock.bash");
const ZSH: &str = include_str!("../../../completions/_git-agentlock");
const FISH: &str = include_str!("../../../completions/git-agentlock.fish");

/// Print the completion script for a shell
///
/// It completes `git-agentlock` and `git agentlock`: commands and options, the leases that exist, owners, and files. `git agentlock setup` puts
/// it where the shell looks.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
    /// What the script asks with: a command line
    #[arg(last = true, hide = true)]
    line: Option<Vec<OsString>>,
}

/// Needs no repository and must not fail: whoever asks is in the midst of typing.
pub(crate) fn run(args: &CompletionsArgs) -> Output {
    let mut output = Output::new("completions");
    let text = match &args.line {
        Some(line) => completing::answer(args.shell, line),
        None => script(args.shell),
    };
    output.raw = Some(text.into_bytes());
    output
}

/// The script.
pub(crate) fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => BASH.to_owned(),
        Shell::Zsh => ZSH.to_owned(),
        Shell::Fish => FISH.to_owned(),
        Shell::Power => of_tree(aot::PowerShell),
        Shell::Elvish => of_tree(aot::Elvish),
    }
}

/// These complete what clap knows, not what exists.
fn of_tree(shell: impl aot::Generator) -> String {
    let mut text = Vec::new();
    aot::generate(shell, &mut Cli::command(), "git-agentlock", &mut text);
    String::from_utf8(text).unwrap_or_default()
}
