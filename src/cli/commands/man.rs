//! `man`: the man pages, for whoever installs them, and for `man -l -`.

use clap::Args;

use crate::cli::{failure::Failure, manual::Page, output::Output};

/// Print a man page
///
/// In roff, as `man` reads it: `git agentlock man acquire | man -l -` shows it. `git agentlock setup` puts all of them where `man` looks.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// A command, or policy.5 for the policy file; without it, the program's own page
    #[arg(value_name = "PAGE")]
    page: Vec<String>,
}

pub(crate) fn run(args: &ManArgs) -> Result<Output, Failure> {
    let page = Page::named(&args.page).ok_or_else(|| {
        let shown = git_agentlock::text::escape(args.page.join(" ").as_bytes());
        Failure::invalid(format!("there is no page about '{shown}'"))
            .hint("name a command, such as acquire or hook install, or policy.5")
    })?;
    let mut output = Output::new("man");
    output.raw = Some(page.render().into_bytes());
    Ok(output)
}
