//! `agent-hook`: what agent tools ask before they edit, in their own contracts; and how they are told to ask.

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _, Read as _},
};

use clap::Args;
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
    args::Global,
    context::Context,
    failure::Failure,
    output::Output,
    render::{agent as text, json::spelt_out},
};

/// Answer an agent tool's hook: take the lease of a file before the tool edits it
///
/// Reads the tool's JSON on stdin and answers as the tool wants it, so --json and exit codes do not mean what they mean elsewhere. An edit of what
/// somebody else holds is refused, and the model is told by whom it is held and until when. Leases are kept after the edit; all of a session's are
/// given back at its end, those of a sub-agent when it has done its work. Files outside of any repository are let through.
#[derive(Debug, Args)]
pub(crate) struct AgentHookArgs {
    /// claude-code, codex, gemini, cursor
    #[arg(value_name = "TOOL")]
    tool: Option<OsString>,
}

/// The answer to a tool.
pub(crate) fn answer(args: &AgentHookArgs, global: &Global, umask: u32) -> Option<Result<Output, Failure>> {
    let name = args.tool.as_ref()?;
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
            let mut desk = Desk { tool, call, global, umask, notes: Vec::new() };
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
        output.raw = Some(format!("{}\n", spelt_out(&document.to_string())).into_bytes());
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

pub(crate) fn run(_context: &Context, _args: AgentHookArgs) -> Result<Output, Failure> {
    Err(Failure::invalid("no agent tool was named")
        .hint(format!("name one of {}", Tool::ALL.map(Tool::name).join(", "))))
}
