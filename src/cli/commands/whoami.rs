//! `whoami`: which owner am I, and why?

use clap::Args;

use crate::cli::{args::OwnerArg, failure::Failure, output::Output, owner, render::json::OwnerDoc};

/// Print the owner that would be used, and where it comes from
#[derive(Debug, Args)]
pub(crate) struct WhoamiArgs {
    #[command(flatten)]
    owner: OwnerArg,
}

pub(crate) fn run(args: &WhoamiArgs) -> Result<Output, Failure> {
    let known = owner::of(args.owner.owner.as_deref())?.ok_or_else(owner::none_given)?;
    let mut output = Output::new("whoami");
    output.text = format!("{} (from {})\n", known.owner, known.source);
    output.document.owner = Some(OwnerDoc { id: known.owner.as_str().to_owned(), source: known.source });
    Ok(output)
}
