//! What the help says beside what clap makes of the command tree: examples, exit codes, and what a summary can do without.
//!
//! The tree is built at each start, and all that is in it costs each call; so this is added only when help is asked for.

use clap::{
    Command,
    error::{ContextKind, ContextValue},
};

/// The exit codes of every command but `run`.
pub(crate) const EXIT_CODES: [(&str, &str); 5] = [
    ("0", "done; free or mine"),
    ("1", "no: held by somebody else, or not yours; refused; or something was found"),
    ("2", "usage or invalid value, no owner given"),
    ("3", "lease lost: absent, expired, or of another token"),
    ("4", "could not tell or do: no repository, bad policy, disk, damaged record"),
];

/// Those of `run`, beside its command's own.
pub(crate) const EXIT_CODES_OF_RUN: [(&str, &str); 4] = [
    ("n", "what COMMAND ended with; 128 and the number of a signal that killed it"),
    ("125", "COMMAND was not started: held by somebody else, wrong usage, a failure"),
    ("126", "COMMAND was found but could not be executed"),
    ("127", "COMMAND was not found"),
];

/// What other lock tools call what was asked for: the same thing's name here.
pub(crate) fn other_word_for(error: &clap::Error) -> Option<&'static str> {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    if let Some(word) = said(ContextKind::InvalidSubcommand) {
        return Some(match word.as_str() {
            "clean" | "cleanup" | "clean-up" => "expired leases are removed by `git agentlock prune`",
            "release-all" => "it is `git agentlock release --all` here",
            "renew-all" => "it is `git agentlock renew --all` here",
            "stale" | "stale-locks" => "`git agentlock list --expired` shows them, `git agentlock prune` removes them",
            "status" | "locks" | "show" => "`git agentlock` alone says what is held, `git agentlock list` in a table",
            "lock" | "take" => "it is `git agentlock acquire` here",
            "unlock" | "free" | "unacquire" => "it is `git agentlock release` here",
            "extend" | "refresh" => "it is `git agentlock renew` here",
            "force-release" | "force-unlock" | "steal" => {
                "a person ends somebody else's lease with `git agentlock break`"
            }
            "version" => "it is `git agentlock --version` here",
            _ => return None,
        });
    }
    let argument = said(ContextKind::InvalidArg)?;
    match argument.split('=').next()? {
        "--session" | "--session-id" | "--holder" | "--agent" => Some("who holds or asks is given as --owner here"),
        "--timeout" => Some("how long to wait for what is held is given as --wait here"),
        "--duration" | "--lease" => Some("how long a lease lasts is given as --ttl here"),
        "--force" => Some("a person ends somebody else's lease with `git agentlock break`"),
        // Not two dashes: that is an option of which a letter is wrong.
        _ if argument.starts_with('-') && !argument.starts_with("--") => {
            Some("a file whose name begins so comes after `--`; an owner as `--owner=-x`")
        }
        _ => None,
    }
}

/// What somebody wants to do, and how. A test runs all of them.
pub(crate) type Examples = &'static [(&'static str, &'static str)];

/// The examples for a command, by its name.
pub(crate) fn examples(command: &str) -> Examples {
    match command {
        "git-agentlock" => &[
            ("See who holds what here", "git agentlock"),
            ("Take a file, work on it, give it back", "git agentlock acquire src/auth.rs --owner claude-7f3a"),
            ("", "git agentlock renew src/auth.rs --owner claude-7f3a"),
            ("", "git agentlock release src/auth.rs --owner claude-7f3a"),
        ],
        "acquire" => &[
            ("Two files, or neither", "git agentlock acquire src/auth.rs src/token.rs --reason 'token refresh'"),
            ("A directory and all below it, for longer", "git agentlock acquire src/http/ --ttl 30m"),
            ("Something that is no file", "git agentlock acquire --resource plan:42"),
            ("Wait for it when somebody holds it", "git agentlock acquire README.md --wait 2m"),
        ],
        "renew" => &[
            ("One file, while working on it", "git agentlock renew src/auth.rs"),
            ("All that you hold here", "git agentlock renew --all --ttl 10m"),
        ],
        "release" => &[
            ("One file, when done", "git agentlock release src/auth.rs"),
            ("Everything, at the end of a session", "git agentlock release --all"),
        ],
        "check" => &[
            ("Is it free, or mine?", "git agentlock check src/auth.rs"),
            ("Do I hold it still? (exit code 3: no)", "git agentlock check --mine src/auth.rs"),
            ("For a program", "git agentlock check src/auth.rs --json"),
        ],
        "list" => &[
            ("All leases of this project", "git agentlock list"),
            ("Those of one owner", "git agentlock list --owner claude-7f3a"),
            ("For a script: fields with tabs between, NUL at the end", "git agentlock list -z"),
        ],
        "prune" => {
            &[("See what would go, then let it go", "git agentlock prune --dry-run"), ("", "git agentlock prune")]
        }
        "break" => &[(
            "End the lease of an agent that is gone",
            "git agentlock break src/parser.rs --reason 'its session was closed'",
        )],
        "doctor" => &[
            ("Is all well? (silent: yes)", "git agentlock doctor"),
            ("Mend what is safe to mend", "git agentlock doctor --fix"),
        ],
        "run" => &[
            (
                "Nobody else touches the lock file meanwhile",
                "git agentlock run Cargo.lock --wait 10m -- touch Cargo.lock",
            ),
            ("Take turns at git's index", "git agentlock run --resource git:index -- git add -u"),
        ],
        "guard" => &[
            ("Would a commit pass?", "git agentlock guard"),
            ("The same, and only warn", "AGENTLOCK_GUARD=warn git agentlock guard"),
        ],
        "hook" => &[
            ("Put the guard into this repository's hooks", "git agentlock hook install"),
            ("Which hooks does git really run?", "git agentlock hook status"),
            ("Take them out, and put back what was there", "git agentlock hook uninstall"),
        ],
        "agent-hook" => &[
            ("Have Claude Code take a lease before it edits", "git agentlock agent-hook install claude-code"),
            ("Which tools ask?", "git agentlock agent-hook status"),
            ("Take that out again", "git agentlock agent-hook uninstall claude-code"),
        ],
        "instructions" => &[
            ("Read them", "git agentlock instructions"),
            ("Tell all agents that read AGENTS.md", "git agentlock instructions --write AGENTS.md"),
        ],
        "log" => &[
            ("Who held this file, when, and why?", "git agentlock log src/auth.rs"),
            ("What happened in the last two hours?", "git agentlock log --since 2h"),
        ],
        "whoami" => &[("Which owner would be used, and why?", "git agentlock whoami")],
        "policy" => &[
            ("What is in effect, and who says so?", "git agentlock policy"),
            ("How long may a lease of this file last?", "git agentlock policy Cargo.lock"),
        ],
        "setup" => &[
            ("See what would be put where", "git agentlock setup --dry-run"),
            ("Completions and man pages for this user", "git agentlock setup"),
            ("Take them out again", "git agentlock setup --uninstall"),
        ],
        "completions" => &[
            ("In this shell only (bash, zsh)", "eval \"$(git-agentlock completions bash)\""),
            ("For everybody on this machine", "git-agentlock completions fish >git-agentlock.fish"),
        ],
        "man" => &[
            ("The page of a command", "git agentlock man acquire >git-agentlock-acquire.1"),
            ("The policy file", "git agentlock man policy.5"),
        ],
        _ => &[],
    }
}

/// The tree with all that the help says.
pub(crate) fn taught(command: Command) -> Command {
    let command = command
        .after_help("`git agentlock help COMMAND` tells about a command, with examples")
        .after_long_help(format!("{}\n\n{}", shown(examples("git-agentlock")), codes(&EXIT_CODES)))
        .mut_subcommands(|sub| {
            let codes = codes(if sub.get_name() == "run" { &EXIT_CODES_OF_RUN } else { &EXIT_CODES });
            let examples = examples(sub.get_name());
            shortened(sub.after_long_help(format!("{}\n\n{codes}", shown(examples))))
        });
    let mut command = shortened(command);
    // What is said to all commands is handed on by this, and `help` is made.
    command.build();
    command.mut_subcommand("help", |help| help.hide(true)).mut_args(|arg| match arg.get_id().as_str() {
        "help" | "version" | "directory" => arg.hide_short_help(true),
        _ => arg,
    })
}

/// What few need is in the long help only.
fn shortened(command: Command) -> Command {
    command.mut_args(|arg| match arg.get_id().as_str() {
        "color" | "pathspec_from_file" | "pathspec_file_nul" | "grace" => arg.hide_short_help(true),
        _ => arg,
    })
}

fn shown(examples: Examples) -> String {
    let mut text = "Examples:".to_owned();
    for (what, line) in examples {
        if !what.is_empty() {
            text.push_str("\n  ");
            text.push_str(what);
        }
        text.push_str("\n      ");
        text.push_str(line);
    }
    text
}

fn codes(codes: &[(&str, &str)]) -> String {
    let width = codes.iter().map(|(code, _)| code.len()).max().unwrap_or(0);
    let lines = codes.iter().map(|(code, meaning)| format!("\n  {code:width$}  {meaning}"));
    std::iter::once("Exit codes:".to_owned()).chain(lines).collect()
}
