//! What a model is told whose edit is refused: who holds what, and what it can do about that.

use std::path::{Path, PathBuf};

use bstr::ByteVec as _;
use git_agentlock::{
    harness::{Tool, shell},
    locks::{Conflict, Holder},
    owner::Owner,
    resource::Resource,
    text::{escape, is_deceptive, shell_quoted},
};

use super::{advice::MAX_PATHS, human};
use crate::cli::{exit::Kind, failure::Failure};

/// How long a shell of an agent may wait: their tools end a command after two minutes or so.
const PATIENCE: &str = "90s";

/// Why an edit of `paths` is refused.
pub(crate) fn refused(conflicts: &[Conflict], owner: Option<&Owner>, paths: &[PathBuf]) -> String {
    let mut told: Vec<String> = conflicts.iter().map(in_the_way).collect();
    told.dedup();
    let nothing = if paths.len() > 1 { "none of the files was changed" } else { "the file was not changed" };
    let holders = || conflicts.iter().filter_map(|conflict| conflict.holder.owner());
    let kin = owner.and_then(|owner| Some((owner, holders().find(|holder| holder.is_kin(owner))?)));
    let is_unknown = conflicts.iter().any(|conflict| matches!(conflict.holder, Holder::Unknown { .. }));
    let mut advice = vec![format!("git agentlock refuses this edit ({nothing}): other agents work on the same files.")];
    advice.push(match kin {
        Some((owner, above)) if owner.as_str().len() > above.as_str().len() => {
            format!("{above} is the session that started you: tell it to give the file to you (git agentlock release), or to make the edit itself.")
        }
        Some((_, below)) => format!("{below} is a sub-agent of yours: let it end, or let it make the edit."),
        None => "Work on something else meanwhile; do not change the file in another way, such as from a shell.".to_owned(),
    });
    if is_unknown {
        advice.push(format!("For the record that cannot be used: {}.", Kind::Damaged.remedy_of_holder()));
    } else if let (Some(words), Some(owner)) = (words(paths), owner) {
        let owner = shell_quoted(owner.as_str().as_bytes()).into_string_lossy();
        advice.push(format!(
            "Or wait for it in a shell (again, if need be), then read the file anew before you edit it: \
             git agentlock acquire --wait {PATIENCE} --owner {owner} --{words}"
        ));
    }
    told.append(&mut advice);
    told.join("\n")
}

/// Why an edit is refused of files that have changed since the agent has seen them, each with who had it last.
pub(crate) fn out_of_date(files: &[(Resource, Option<Owner>)]) -> String {
    let (nothing, them) = match files.len() {
        1 => ("the file was not changed", "it"),
        _ => ("none of the files was changed", "them"),
    };
    let mut told = vec![format!(
        "git agentlock refuses this edit once ({nothing}): you know an older version of what you are about to change."
    )];
    told.extend(files.iter().map(|(resource, other)| match other {
        Some(other) => format!("{resource} has changed since you have read it (of all others, {other} held it last)"),
        None => format!("{resource} has changed since you have read it"),
    }));
    told.push(format!(
        "Read {them} again, and make your edit from what is there now, so that the work of others is not undone. {} leased to you meanwhile.",
        if files.len() == 1 { "It is" } else { "They are" }
    ));
    told.join("\n")
}

/// That something is not remembered, and what that means.
pub(crate) fn not_remembered(why: &str) -> String {
    format!("note: {why}: what this agent has seen of files is not remembered")
}

/// That leases are not renewed, and what that means.
pub(crate) fn not_renewed(why: &str) -> String {
    format!("warning: {why}: leases of this agent were not renewed; it is tried again at its next step")
}

fn in_the_way(conflict: &Conflict) -> String {
    format!("{}: {}", conflict.wanted, human::in_the_way(&conflict.wanted, &conflict.holder))
}

/// The paths as words of a shell, with a blank before each; `None` when there are too many, or some that cannot be typed.
fn words(paths: &[PathBuf]) -> Option<String> {
    let word = |path: &Path| {
        let text = path.to_str().filter(|text| !text.contains(is_deceptive))?;
        Some(format!(" {}", shell_quoted(text.as_bytes()).into_string_lossy()))
    };
    (paths.len() <= MAX_PATHS).then(|| paths.iter().map(|path| word(path)).collect::<Option<String>>()).flatten()
}

/// That nobody knows who holds the files, when that is all that is in the way.
pub(crate) fn unknown(conflicts: &[Conflict]) -> Option<Failure> {
    let first = conflicts.first()?;
    let is_unknown = conflicts.iter().all(|conflict| matches!(conflict.holder, Holder::Unknown { .. }));
    let told = || Failure::new(Kind::Damaged, human::held_by(&first.holder)).hint(Kind::Damaged.remedy_of_holder());
    is_unknown.then(told)
}

/// That it cannot be told who holds the files, and what comes of it.
pub(crate) fn cannot_tell(failure: &Failure, paths: &[String], is_refused: bool) -> String {
    let shown: Vec<String> = paths.iter().take(MAX_PATHS).map(|path| escape(path.as_bytes())).collect();
    let more = if paths.len() > MAX_PATHS { ", …" } else { "" };
    let outcome = if is_refused { "the edit was refused" } else { "the edit is let through without a lock" };
    let mut told = vec![format!("git agentlock cannot tell who holds {}{more}: {}", shown.join(", "), failure.message)];
    told.extend(failure.hints.iter().map(|hint| format!("hint: {hint}")));
    told.push(format!("{outcome}, as agent.on-error in its policy wants it (git agentlock policy)"));
    told.join("\n")
}

/// For a model whose shell does not know who it is.
pub(crate) fn say_who(owner: &Owner, tool: Tool) -> String {
    let export = shell::export(owner);
    format!(
        "Files that you edit here are locked for you by git agentlock, as the owner {owner}. Your shell does not know that name: begin each shell \
         command that commits or calls git agentlock with `{export}`. (Whoever starts {} can set AGENTLOCK_OWNER instead, to a name of its own for \
         each session.)",
        tool.title()
    )
}

/// That something is let through, and why.
pub(crate) fn unread(what: &str) -> String {
    format!("note: {what}: let through without a lock")
}
