//! The outer ring: parses the command line, reads the environment, renders. Nothing else uses it.

mod agent;
mod agent_settings;
mod args;
#[cfg(unix)]
mod catcher;
#[cfg(unix)]
mod child;
mod commands;
mod completing;
mod context;
mod environment;
mod exit;
mod failure;
mod hooks;
mod manual;
mod operation;
mod output;
mod owner;
mod policy_files;
mod progress;
mod render;
mod setup;
mod signals;
mod taking;
mod targets;
mod teaching;
mod trial;
mod values;
#[cfg(unix)]
mod ward;
mod whole;

use std::{ffi::OsString, process::ExitCode};

use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use self::{
    args::{Cli, Color, Command, Global},
    context::{Context, OnBadPolicy},
    failure::Failure,
    output::Output,
    progress::Progress,
};

/// The exit code of `run` when the command was not started, or it cannot be told how it ended.
const NOT_RUN: u8 = 125;

pub(crate) fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // clap has no help about its help.
    if matches!(arguments.as_slice(), [_, help, option] if help == "help" && (option == "-h" || option == "--help")) {
        arguments.pop();
    }
    environment::look_up_no_home(&arguments);
    survive_file_size_limits();
    let umask = create_with_exact_modes();
    match Cli::parse(&arguments) {
        Ok(cli) => run(cli, umask),
        Err(error) => usage(error, &arguments),
    }
}

fn run(cli: Cli, umask: u32) -> ExitCode {
    let Some(command) = cli.command else {
        let here = Here { global: &cli.global, umask, name: "status", waits: false };
        let output = here.work(OnBadPolicy::Warn, commands::status::run);
        return output.unwrap_or_else(|failure| Output::failed("status", failure)).print(&cli.global);
    };
    let name = command.name();
    let output = dispatch(command, &cli.global, umask).unwrap_or_else(|failure| Output::failed(name, failure));
    output.print(&cli.global)
}

fn dispatch(command: Command, global: &Global, umask: u32) -> Result<Output, Failure> {
    use OnBadPolicy::{Refuse, Warn};
    use commands as of;
    let waits = matches!(&command, Command::Acquire(args) if args.waits());
    let here = Here { global, umask, name: command.name(), waits };
    match command {
        Command::Acquire(args) => here.work(Refuse, |context| of::acquire::run(context, &args, global)),
        Command::Renew(args) => here.work(Refuse, |context| of::renew::run(context, &args)),
        Command::Release(args) => here.work(Warn, |context| of::release::run(context, &args)),
        Command::Check(args) => here.work(Warn, |context| of::check::run(context, &args)),
        Command::List(args) => here.work(Warn, |context| of::list::run(context, &args, global)),
        Command::Prune(args) => here.work(Warn, |context| of::prune::run(context, &args)),
        Command::Break(args) => here.work(Warn, |context| of::break_::run(context, args)),
        Command::Doctor(args) => here.work(Warn, |context| of::doctor::run(context, args)),
        Command::Hook(args) => here.work(Warn, |context| of::hook::run(context, args)),
        Command::Instructions(args) => here.work(Warn, |context| of::instructions::run(context, args)),
        Command::Log(args) => here.work(Warn, |context| of::log::run(context, &args)),
        Command::Whoami(args) => here.work(Warn, |_| of::whoami::run(&args)),
        Command::Policy(args) => here.work(Warn, |context| of::policy::run(context, args)),
        Command::Setup(args) => of::setup::run(&args, umask),
        Command::Completions(args) => Ok(of::completions::run(&args)),
        Command::Man(args) => of::man::run(&args),
        // What fails before these know where they are has an answer of theirs.
        Command::Guard(args) => Ok(of::guard::run(&args, global, umask)),
        #[cfg(unix)]
        Command::Run(args) => Ok(of::run::run(&args, global, umask)),
        Command::AgentHook(args) => of::agent_hook::answer(&args, global, umask)
            .unwrap_or_else(|| here.work(Warn, |context| of::agent_hook::run(context, args))),
    }
}

/// Where a command works.
struct Here<'a> {
    global: &'a Global,
    umask: u32,
    name: &'static str,
    /// Whether it may wait for others. Then it says so itself.
    waits: bool,
}

impl Here<'_> {
    /// Finds out where this is, and has the command work there.
    fn work(
        &self,
        on_bad_policy: OnBadPolicy,
        command: impl FnOnce(&Context) -> Result<Output, Failure>,
    ) -> Result<Output, Failure> {
        let context = Context::new(self.global.directory.as_deref(), on_bad_policy, self.umask)?;
        let is_silent = self.global.quiet || self.global.json || self.waits;
        let progress = (!is_silent).then(|| Progress::of(self.name));
        let mut output = command(&context)?;
        drop(progress);
        output.warnings.splice(0..0, context.take_warnings());
        Ok(output)
    }
}

/// What was typed is shown escaped. Tips that repeat it are left out when that makes a difference.
fn make_safe(error: &mut clap::Error) {
    let safe = |text: &str| {
        let is_safe = !text.contains(git_agentlock::text::is_deceptive);
        if is_safe { text.to_owned() } else { git_agentlock::text::escape(text.as_bytes()) }
    };
    let mut changed: Vec<(ContextKind, ContextValue)> = Vec::new();
    for (kind, value) in error.context() {
        match value {
            ContextValue::String(text) if safe(text) != *text => changed.push((kind, ContextValue::String(safe(text)))),
            ContextValue::Strings(texts) if texts.iter().any(|text| safe(text) != *text) => {
                changed.push((kind, ContextValue::Strings(texts.iter().map(|text| safe(text)).collect())));
            }
            _ => {}
        }
    }
    if !changed.is_empty() {
        error.remove(ContextKind::Suggested);
    }
    // To make a path out of a mistyped option is never what was meant, and an agent would do so.
    error.remove(ContextKind::Suggested);
    drop_far_suggestions(error);
    for (kind, value) in changed {
        error.insert(kind, value);
    }
}

/// A suggestion is only of use when it is a typing mistake away.
fn drop_far_suggestions(error: &mut clap::Error) {
    let said =
        [ContextKind::InvalidArg, ContextKind::InvalidSubcommand].into_iter().find_map(|kind| match error.get(kind) {
            Some(ContextValue::String(said)) => Some(said.clone()),
            _ => None,
        });
    let Some(said) = said else { return };
    let is_near = |suggestion: &String| {
        let longer = said.chars().count().max(suggestion.chars().count());
        strsim::damerau_levenshtein(&said, suggestion).saturating_mul(4) <= longer
    };
    for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand] {
        let near = match error.get(kind) {
            Some(ContextValue::String(one)) => is_near(one).then(|| ContextValue::String(one.clone())),
            Some(ContextValue::Strings(all)) => {
                let near: Vec<String> = all.iter().filter(|one| is_near(one)).cloned().collect();
                (!near.is_empty()).then_some(ContextValue::Strings(near))
            }
            _ => continue,
        };
        match near {
            Some(near) => _ = error.insert(kind, near),
            None => _ = error.remove(kind),
        }
    }
}

/// What clap has to say: help and version on stdout, errors on stderr or, when JSON was asked for, as JSON.
fn usage(mut error: clap::Error, arguments: &[OsString]) -> ExitCode {
    if error.kind() == ErrorKind::DisplayHelp {
        error = teaching::taught(Cli::command()).try_get_matches_from(arguments).err().unwrap_or(error);
    }
    let known = Cli::command();
    let called = args::called(arguments).and_then(|word| known.find_subcommand(word));
    let name = called.map_or("", clap::Command::get_name).to_owned();
    // `run` has exit codes of its own, beside those of the command that it runs.
    let code = (name == "run").then_some(NOT_RUN);
    make_safe(&mut error);
    let rendered = error.render();
    let color = args::color(arguments);
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return output::print_text(&rendered.ansi().to_string(), color).into();
    }
    let tip = teaching::other_word_for(&error);
    let wants_json = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    if !wants_json {
        // `git agentlock --help` would make git look for a man page; `-h` reaches this program in every form.
        let mut text = with_short_help(&rendered.ansi().to_string());
        text.extend(tip.map(|tip| format!("tip: {tip}\n")));
        let exit = output::print_usage_error(&text, color);
        return code.map_or_else(|| exit.into(), ExitCode::from);
    }
    let text = with_short_help(&rendered.to_string());
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut message = lines.next().unwrap_or("usage").trim_start_matches("error: ").to_owned();
    if error.kind() == ErrorKind::MissingRequiredArgument {
        message = format!("{message} {}", lines.next().unwrap_or_default());
    }
    let mut failure = Failure::invalid(git_agentlock::text::escape(message.as_bytes()));
    failure.hints.extend(
        lines.filter(|line| !line.starts_with("Usage")).map(|line| git_agentlock::text::escape(line.as_bytes())),
    );
    failure.hints.extend(tip.map(str::to_owned));
    let output = Output { code, ..Output::failed(&name, failure) };
    output.print(&Global { json: true, quiet: false, color: Color::Never, directory: None })
}

/// The last line of what clap says of a mistake, with the help that reaches this program in every form.
fn with_short_help(text: &str) -> String {
    let line = |line: &str| if line.contains("try '") { line.replace("--help", "-h") } else { line.to_owned() };
    text.split_inclusive('\n').map(line).collect()
}

/// What a store creates has the permissions of the directory around it from its first moment: a process that is killed between the creation and a
/// later change of the mode would lock its fellows out. Returns what the user's umask was.
#[cfg(unix)]
fn create_with_exact_modes() -> u32 {
    #[expect(clippy::useless_conversion, reason = "narrower on other systems")]
    u32::from(rustix::process::umask(rustix::fs::Mode::empty()).bits())
}

#[cfg(not(unix))]
fn create_with_exact_modes() -> u32 {
    0
}

/// Without this, a write beyond `ulimit -f` kills the process in the midst of a change; with it, the write fails and is taken back.
#[cfg(unix)]
fn survive_file_size_limits() {
    let flag = std::sync::Arc::default();
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, flag);
}

#[cfg(not(unix))]
fn survive_file_size_limits() {}
