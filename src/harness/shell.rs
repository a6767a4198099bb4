//! Commands for a POSIX shell that knows who runs it.

use bstr::ByteVec as _;

use crate::{owner::Owner, text::shell_quoted};

/// The variable that names an agent to this program.
const VARIABLE: &str = "AGENTLOCK_OWNER";
/// Beside it, with the same value: it was a hook that has given the name, and not a person. By that an agent that is started from another one's
/// shell knows that the name is not its own.
pub const BY_HOOK: &str = "AGENTLOCK_HOOK_OWNER";

/// The statement that gives a shell and all it runs an owner. Owners have no line breaks, so it is one line.
#[must_use]
pub fn export(owner: &Owner) -> String {
    let name = shell_quoted(owner.as_str().as_bytes()).into_string_lossy();
    format!("export {VARIABLE}={name} {BY_HOOK}={name}")
}

/// Whether a line is such a statement, of whatever owner.
#[must_use]
pub fn is_export(line: &str) -> bool {
    line.strip_prefix("export ").and_then(|rest| rest.strip_prefix(VARIABLE)).is_some_and(|rest| rest.starts_with('='))
}

/// The same command, run by a shell that knows its owner; `None` when the command has nothing to do with locks, or says itself who runs it.
///
/// The statement stands on the command's first line, so neither line numbers nor what a comment or a here-document takes in change. Commands that
/// cannot reach git are left alone, since some tools ask their users about each command that they have not seen before.
#[must_use]
pub fn with_owner(command: &str, owner: &Owner) -> Option<String> {
    let is_about_locks = command.contains("git") && !command.contains(VARIABLE) && !command.contains('\0');
    is_about_locks.then(|| format!("{}; {command}", export(owner)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> (Option<i32>, String) {
        let output = std::process::Command::new("sh").args(["-c", script]).output().expect("sh");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    #[test]
    fn a_command_means_the_same_and_knows_its_owner() {
        let owner = Owner::new("it's \"$HOME\" `id` \\ me/a").expect("an owner");
        for command in [
            "# git\nprintf %s one",
            "cat <<EOF\ngit $((1 + 1))\nEOF",
            "git() { printf '%s ' \"$@\"; }; git a 'b  c'",
            "printf git && false",
            "printf git; exit 7",
            "(printf git; exit 3)",
            "! printf git",
            "\n\nprintf git",
            "if true; then printf git; fi",
            "printf git | tr g G",
        ] {
            let rewritten = with_owner(command, &owner).expect(command);
            assert_eq!(run(&rewritten), run(command), "{command}");
            let (_, told) = run(&format!("{rewritten}\nprintf '[%s]' \"$AGENTLOCK_OWNER\""));
            let is_told = told.ends_with("[it's \"$HOME\" `id` \\ me/a]");
            assert!(is_told || command.contains("exit 7"), "{command}: {told}");
        }
    }

    #[test]
    fn what_cannot_reach_git_or_knows_better_is_left_alone() {
        let owner = Owner::new("me").expect("an owner");
        for command in ["", "ls -l", "AGENTLOCK_OWNER=x git commit", "git\0"] {
            assert_eq!(with_owner(command, &owner), None, "{command}");
        }
    }
}
