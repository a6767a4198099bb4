//! `instructions`: what agents have to know, for the file that they read.

use std::{fmt::Write as _, path::PathBuf};

use clap::Args;
use git_agentlock::{
    install::{
        block,
        settings::{self, After},
    },
    text::escape_path,
};

use crate::cli::{context::Context, exit::Kind, failure::Failure, hooks::failure, output::Output};

const TEXT: &str = include_str!("../../../config/instructions.md");

/// Print instructions for agents, for AGENTS.md or CLAUDE.md
///
/// They say when to acquire, what the exit codes mean, and to release at the end.
#[derive(Debug, Args)]
pub(crate) struct InstructionsArgs {
    /// Put them into FILE, at its end or in the place of those that are there
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, args: InstructionsArgs) -> Result<Output, Failure> {
    let mut output = Output::new("instructions");
    let Some(file) = args.write else {
        TEXT.clone_into(&mut output.text);
        return Ok(output);
    };
    let path = context.cwd.join(file);
    let shown = escape_path(&path);
    let before = settings::read(&path).map_err(|error| failure(&error))?;
    let Some(text) = block::put_in(before.as_deref().unwrap_or_default(), TEXT) else {
        return Err(Failure::new(
            Kind::Hook,
            format!("{shown} has the beginning of our instructions and not their end"),
        )
        .hint("take them out by hand, and try again"));
    };
    if before.as_deref() == Some(&text) {
        let _ = writeln!(output.text, "already in {shown}");
        return Ok(output);
    }
    settings::write(&path, before.as_deref(), &After::Text(text), context.umask).map_err(|error| failure(&error))?;
    output.has_changed = true;
    let _ = writeln!(output.text, "written into {shown}");
    Ok(output)
}
