//! `agent-hook`: what agent tools ask before they edit, in their own contracts; and how they are told to ask.

use std::{
    ffi::OsString,
    fmt::Write as _,
    io::{self, IsTerminal as _, Read as _},
};

use clap::{Args, Subcommand};
use git_agentlock::{
    harness::{
        Tool,
        answer::{self, Verdict},
        payload,
    },
    text::escape,
};

use crate::cli::{
    agent::Desk,
    agent_settings::{Change, Place},
    args::Global,
    context::Context,
    exit::Kind,
    failure::Failure,
    output::Output,
    render::{agent as text, line},
};

/// Take the lease of a file before an agent tool edits it
///
/// Reads the tool's JSON on stdin and answers as the tool wants it, so --json and exit codes do not mean what they mean elsewhere. An edit of what
/// somebody else holds is refused, and the model is told by whom it is held and until when. So is, once, the edit of a file that has changed since
/// the tool told that it reads it. Leases are kept after the edit, and renewed while the agent works; all of a session's are given back at its end,
/// those of a sub-agent when it has done its work. Files outside of any repository are let through.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AgentHookArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// claude-code, codex, gemini, cursor
    #[arg(value_name = "TOOL")]
    tool: Option<OsString>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Have an agent tool call this before it edits
    ///
    /// Adds entries to the tool's settings, behind what is there; not a byte of the rest changes. Doing it again brings an older version up to date.
    Install(Which),
    /// Take the entries out again
    ///
    /// The rest of the file stays as it is; a file that has nothing else in it goes. Nothing there = success.
    Uninstall(Which),
    /// Tell which agent tools call this; changes nothing
    ///
    /// Exit code 0 when at least one does, here or for all projects, 1 when none does.
    Status,
}

/// Which settings.
#[derive(Debug, Args)]
struct Which {
    /// claude-code, codex, gemini, cursor
    #[arg(value_name = "TOOL")]
    tool: OsString,
    /// In the settings of this project, at the top of the work tree [default]
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// In your own settings, for all projects
    #[arg(long)]
    user: bool,
    /// Print what the file would be, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// The answer to a tool; `None` when a person asks.
pub(crate) fn answer(args: &AgentHookArgs, global: &Global, umask: u32) -> Option<Result<Output, Failure>> {
    let name = args.tool.as_ref().filter(|_| args.action.is_none())?;
    Some(if global.json {
        Err(Failure::invalid("agent-hook answers in the tool's own contract, not with --json").hint("leave --json off"))
    } else if io::stdin().is_terminal() {
        Err(Failure::invalid("agent-hook reads on stdin what an agent tool sends, and stdin is a terminal")
            .hint("`git agentlock agent-hook install TOOL` tells a tool to call it"))
    } else {
        Ok(match name.to_str().and_then(Tool::named) {
            Some(tool) => of_tool(tool, global, umask),
            None => of_nobody(name),
        })
    })
}

/// A tool that is not known must not be kept from its work.
fn of_nobody(name: &OsString) -> Output {
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    let mut output = Output::new("agent-hook");
    let known = Tool::ALL.map(Tool::name).join(", ");
    let name = escape(name.as_encoded_bytes());
    output.notes.push(text::unread(&format!("'{name}' is no agent tool that is known here ({known})")));
    output
}

fn of_tool(tool: Tool, global: &Global, umask: u32) -> Output {
    let mut output = Output::new("agent-hook");
    let verdict = match read()
        .map_err(|error| error.to_string())
        .and_then(|bytes| payload::read(tool, &bytes).map_err(|error| error.to_string()))
    {
        Ok(call) => {
            let mut desk = Desk::new(tool, call, global, umask);
            let verdict = desk.verdict();
            output.notes = desk.notes;
            verdict
        }
        Err(why) => {
            output.notes.push(text::unread(&escape(why.as_bytes())));
            Verdict::Pass
        }
    };
    if let Some(document) = answer::document(tool, &verdict) {
        let mut answer = Vec::new();
        // Into memory, which takes all.
        let _ = line::write(&document, &mut answer);
        output.raw = Some(answer);
        output.is_answer = true;
    }
    if let Verdict::Deny(reason) = verdict {
        output.refusal = Some(reason);
    }
    output
}

/// All of stdin, as far as it is worth reading; the rest is read and forgotten, so that the tool can write it.
fn read() -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    let mut bytes = Vec::new();
    stdin.by_ref().take(payload::MAX_BYTES.saturating_add(1) as u64).read_to_end(&mut bytes)?;
    if bytes.len() > payload::MAX_BYTES {
        io::copy(&mut stdin, &mut io::sink())?;
    }
    Ok(bytes)
}

pub(crate) fn run(context: &Context, args: AgentHookArgs) -> Result<Output, Failure> {
    let known = || format!("the agent tools that are known here: {}", Tool::ALL.map(Tool::name).join(", "));
    let of = |which: &Which| {
        which.tool.to_str().and_then(Tool::named).ok_or_else(|| {
            let name = escape(which.tool.as_encoded_bytes());
            Failure::invalid(format!("'{name}' is no agent tool that is known here")).hint(known())
        })
    };
    match args.action {
        Some(Action::Install(which)) => {
            Place::of(context, of(&which)?, which.user)?.change(Change::PutIn, which.dry_run, context.umask)
        }
        Some(Action::Uninstall(which)) => {
            Place::of(context, of(&which)?, which.user)?.change(Change::TakeOut, which.dry_run, context.umask)
        }
        Some(Action::Status) => status(context),
        None => Err(Failure::invalid("no agent tool was named")
            .hint(known())
            .hint("`git agentlock agent-hook install TOOL` has a tool call this; `agent-hook status` tells which do")),
    }
}

/// Every tool's settings, of this project and of the user.
fn status(context: &Context) -> Result<Output, Failure> {
    let mut output = Output::new("agent-hook");
    let mut is_any_active = false;
    for tool in Tool::ALL {
        for user in [false, true] {
            // Outside of a work tree, or without a home, there are none to look at.
            let Ok(place) = Place::of(context, tool, user) else { continue };
            let (state, message) = place.state();
            is_any_active |= state == "active";
            let whose = if user { "user" } else { "project" };
            let _ = writeln!(output.text, "{:11}  {whose:7}  {state:6}  {message}", tool.name());
            output.document.hooks.get_or_insert_default().push(place.document(state, message));
        }
    }
    output.document.hooks.get_or_insert_default();
    if !is_any_active {
        let verdict = Failure::new(Kind::Inactive, "no agent tool asks before it edits");
        output.exit = Some(verdict.kind.exit());
        output.verdicts.push(verdict.hint("`git agentlock agent-hook install TOOL` has one ask"));
    }
    Ok(output)
}
