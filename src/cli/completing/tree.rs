//! Where in the command tree the cursor is, and what could stand there. clap's engine walks it; here it is told which arguments are what.

use std::{
    ffi::{OsStr, OsString},
    sync::Arc,
};

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use git_agentlock::{harness::Tool, install::Hook};

use super::{
    Offer,
    offers::{World, is_safe},
};
use crate::cli::{args::Cli, manual};

/// What could be the last of the words, which stand behind our name.
pub(super) fn offers(words: &[OsString], world: &Arc<World>) -> Vec<Offer> {
    let Some((last, before)) = words.split_last() else { return Vec::new() };
    let is_escaped = before.iter().any(|word| word == "--");
    let mut tree = Cli::command();
    tree.build();
    let mut command = taught(tree, world);
    let line: Vec<OsString> = std::iter::once(OsString::from("git-agentlock")).chain(words.iter().cloned()).collect();
    let candidates = complete(&mut command, line, words.len(), None).unwrap_or_default();
    let wants_options = last.as_encoded_bytes().starts_with(b"-");
    let offers = candidates.into_iter().filter_map(|candidate| {
        let value = candidate.get_value().to_str()?;
        // Of a command's names its own, where that too is what has been begun.
        let name = candidate.get_id().and_then(|id| id.strip_prefix("command::"));
        let name = name.filter(|name| last.to_str().is_some_and(|begun| name.starts_with(begun)));
        let value = name.unwrap_or(value).to_owned();
        let help = candidate.get_help().map(ToString::to_string);
        let help = help.and_then(|help| help.lines().next().map(str::to_owned));
        Some(Offer { value, help })
    });
    // Options are many, and mostly not what is looked for.
    offers
        .filter(|offer| is_safe(&offer.value) && (is_escaped || wants_options || !offer.value.starts_with('-')))
        .collect()
}

/// The command tree, in which each argument knows what could be its value.
fn taught(command: Command, world: &Arc<World>) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|arg| teach(arg, &name, world)).mut_subcommands(|command| taught(command, world))
}

fn teach(arg: Arg, command: &str, world: &Arc<World>) -> Arg {
    let id = arg.get_id().as_str().to_owned();
    let look = |look: fn(&World, &str) -> Vec<Offer>| {
        let world = Arc::clone(world);
        let look = move |current: &OsStr| {
            let offers = current.to_str().map(|current| look(&world, current)).unwrap_or_default();
            offers.into_iter().map(candidate).collect::<Vec<_>>()
        };
        Some(ArgValueCompleter::new(look))
    };
    let completer = match (id.as_str(), command) {
        ("paths", "release" | "renew" | "check" | "break") => look(World::leases),
        ("paths" | "pathspec_from_file" | "write", _) => look(World::files),
        ("owner", _) => look(World::owners),
        ("resources", _) => look(World::named),
        ("directory", _) => look(World::directories),
        ("names", _) | ("hook", "guard") => look(|_, current| known(current, Hook::ALL.into_iter().map(Hook::name))),
        ("tool", _) => look(|_, current| known(current, Tool::ALL.into_iter().map(Tool::name))),
        ("page", _) => look(|_, current| known(current, manual::pages().iter().map(|page| page.topic()))),
        _ => None,
    };
    match completer {
        Some(completer) => arg.add(completer),
        None => arg,
    }
}

fn candidate(offer: Offer) -> CompletionCandidate {
    CompletionCandidate::new(offer.value).help(offer.help.map(Into::into))
}

fn known<S: AsRef<str>>(current: &str, values: impl Iterator<Item = S>) -> Vec<Offer> {
    let values = values.filter(|value| value.as_ref().starts_with(current));
    values.map(|value| Offer { value: value.as_ref().to_owned(), help: None }).collect()
}
