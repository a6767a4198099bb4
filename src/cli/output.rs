//! What a command has to say, collected whole before anything is printed.
//!
//! Stdout is data, stderr is conversation. A change that was made stays made when its success cannot be printed: then the exit code still says
//! so, and a note on stderr. Who only looked and cannot tell what was seen has failed.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anstyle::{AnsiColor, Style};

use super::{
    args::{Color, Global},
    environment::variable,
    exit::{Exit, Kind},
    failure::Failure,
    render::json,
};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// The result of a command.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// For JSON, and for people on stdout.
    pub(crate) document: json::Document,
    /// For people, on stdout; may contain styles.
    pub(crate) text: String,
    /// On stdout instead of `text`, byte for byte.
    pub(crate) raw: Option<Vec<u8>>,
    /// Whether stdout is an answer to a program that waits for it, `--quiet` or not.
    pub(crate) is_answer: bool,
    /// A refusal that is in the answer. When that cannot be written it is told on stderr, with the exit code by which agent tools know one: they take
    /// every other one for consent.
    pub(crate) refusal: Option<String>,
    /// For people, on stderr.
    pub(crate) notes: Vec<String>,
    /// On stderr, and in JSON.
    pub(crate) warnings: Vec<String>,
    /// What went wrong. Each is told; the gravest is `error` in JSON.
    pub(crate) failures: Vec<Failure>,
    /// What JSON calls an error though people have it on stdout: an answer that is not the good one.
    pub(crate) verdicts: Vec<Failure>,
    /// The exit code, when it is another than that of the failures.
    pub(crate) exit: Option<Exit>,
    /// The exit code, when it is none of the table: of what a signal ended, of `run` and what it has run.
    pub(crate) code: Option<u8>,
    /// All has been said, and stdout belongs to the program that was run.
    pub(crate) is_said: bool,
    /// Whether the command has changed anything.
    pub(crate) has_changed: bool,
}

impl Output {
    pub(crate) fn new(command: &str) -> Self {
        Self { document: json::Document::new(command), ..Self::default() }
    }

    /// Nothing was asked for, which is no mistake.
    pub(crate) fn nothing_to_do(command: &str) -> Self {
        Self { notes: vec!["no path was given: nothing to do".to_owned()], ..Self::new(command) }
    }

    pub(crate) fn failed(command: &str, failure: Failure) -> Self {
        let mut output = Self::new(command);
        output.failures.push(failure);
        output
    }

    /// Tells a failure. Returns what a result says of it: its kind and message.
    pub(crate) fn fail(&mut self, failure: Failure) -> (&'static str, String) {
        let told = (failure.kind.as_str(), failure.message.clone());
        self.failures.push(failure);
        told
    }

    pub(crate) fn exit(&self) -> Exit {
        let of_failures = self.failures.iter().fold(Exit::Done, |exit, failure| exit.graver(failure.kind.exit()));
        self.exit.unwrap_or(of_failures)
    }

    /// Prints everything; the exit code to end with.
    pub(crate) fn print(mut self, global: &Global) -> ExitCode {
        let code = self.code;
        let exit = if self.is_said { self.exit() } else { self.print_all(global) };
        // The process ends now: to give back piece by piece what a long list took would only take time.
        std::mem::forget(self);
        code.map_or_else(|| exit.into(), ExitCode::from)
    }

    fn print_all(&mut self, global: &Global) -> Exit {
        let exit = self.exit();
        self.print_conversation(global);
        let printed = if global.json {
            let mut told = self.failures.iter().chain(&self.verdicts);
            let gravest = told.clone().find(|failure| failure.kind.exit() == exit).or(told.next()).cloned();
            let gravest = gravest.map(|failure| Failure { hints: self.all_hints(), ..failure });
            self.document.finish(exit == Exit::Done, &self.warnings, &self.notes, gravest.as_ref());
            write_buffered(|to| self.document.write_line(to))
        } else if global.quiet && !self.is_answer {
            Ok(())
        } else if let Some(raw) = &self.raw {
            write_raw(raw)
        } else {
            write_stdout(&self.text, global.color)
        };
        match printed {
            Ok(()) => exit,
            Err(_) if self.refusal.is_some() => {
                say(global.color, ERROR, "error", self.refusal.as_deref().unwrap_or_default());
                Exit::Usage
            }
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit,
            Err(error) if self.has_changed => {
                say(global.color, WARNING, "warning", &format!("done, but the result could not be printed: {error}"));
                exit
            }
            Err(error) => {
                say(global.color, ERROR, "error", &format!("the result could not be printed: {error}"));
                exit.graver(Kind::Output.exit())
            }
        }
    }

    /// Each hint once, in the order in which they are given.
    fn all_hints(&self) -> Vec<String> {
        let mut hints: Vec<String> = Vec::new();
        for hint in self.failures.iter().chain(&self.verdicts).flat_map(|failure| &failure.hints) {
            if !hints.contains(hint) {
                hints.push(hint.clone());
            }
        }
        hints
    }

    /// With `--json` errors are in the document; otherwise they are told even with `--quiet`.
    fn print_conversation(&self, global: &Global) {
        if global.json {
            return;
        }
        for warning in &self.warnings {
            say(global.color, WARNING, "warning", warning);
        }
        if !global.quiet {
            for note in &self.notes {
                say(global.color, Style::new(), "", note);
            }
        }
        for failure in &self.failures {
            say(global.color, ERROR, "error", &failure.message);
            for hint in &failure.hints {
                say(global.color, HINT, "hint", hint);
            }
        }
    }
}

/// One line on stderr, in one write. That it cannot be written is nothing that could be told to anybody.
fn say(color: Color, style: Style, label: &str, text: &str) {
    let line = if label.is_empty() { format!("{text}\n") } else { format!("{style}{label}:{style:#} {text}\n") };
    let mut stderr = anstream::AutoStream::new(io::stderr(), choice(color, &io::stderr()));
    let _ = stderr.write_all(line.as_bytes());
}

/// A line on stderr while a command is still at work.
pub(crate) fn say_now(global: &Global, text: &str) {
    if !global.quiet {
        say(global.color, Style::new(), "", text);
    }
}

/// How a line is told beside a command that runs and talks itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Not with `--quiet`.
    Note,
    Warning,
    Error,
    Hint,
}

/// A line on stderr that says that it is ours.
pub(crate) fn say_beside(global: &Global, kind: Beside, text: &str) {
    let (style, label) = match kind {
        Beside::Note if global.quiet => return,
        Beside::Note => (Style::new(), "git-agentlock"),
        Beside::Warning => (WARNING, "git-agentlock: warning"),
        Beside::Error => (ERROR, "git-agentlock: error"),
        Beside::Hint => (HINT, "git-agentlock: hint"),
    };
    say(global.color, style, label, text);
}

fn choice(color: Color, stream: &impl anstream::stream::RawStream) -> anstream::ColorChoice {
    match color {
        // anstream takes it for the opposite of what it means.
        Color::Auto if variable("CLICOLOR_FORCE").is_some_and(|force| force == "0") => {
            let is_wanted = variable("NO_COLOR").is_none_or(|no| no.is_empty());
            let shows_it = stream.is_terminal() && variable("TERM").is_some_and(|term| term != "dumb");
            if is_wanted && shows_it { anstream::ColorChoice::Always } else { anstream::ColorChoice::Never }
        }
        Color::Auto => anstream::AutoStream::choice(stream),
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
}

fn write_stdout(text: &str, color: Color) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut plain = Vec::with_capacity(text.len());
    let choice = choice(color, &io::stdout());
    anstream::AutoStream::new(&mut plain, choice).write_all(text.as_bytes())?;
    write_raw(&plain)
}

fn write_buffered(write: impl FnOnce(&mut io::BufWriter<io::StdoutLock<'_>>) -> io::Result<()>) -> io::Result<()> {
    let mut stdout = io::BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    write(&mut stdout)?;
    stdout.flush()
}

fn write_raw(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Help and version.
pub(crate) fn print_text(styled: &str, color: Color) -> Exit {
    match write_stdout(styled, color) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(color, ERROR, "error", &format!("the result could not be printed: {error}"));
            Kind::Output.exit()
        }
        _ => Exit::Done,
    }
}

/// What clap says about a wrong command line.
pub(crate) fn print_usage_error(styled: &str, color: Color) -> Exit {
    let mut stderr = anstream::AutoStream::new(io::stderr(), choice(color, &io::stderr()));
    let _ = stderr.write_all(styled.as_bytes());
    Exit::Usage
}
