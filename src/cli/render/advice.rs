//! What to do when a commit is refused: commands that can be copied, as far as the paths in them can be written in a shell.

use bstr::{BStr, ByteSlice as _};
use git_agentlock::{
    guard::{Objection, Refusal},
    owner::Owner,
    resource::RepoPath,
    text::{is_deceptive, shell_word},
};

use super::human;
use crate::cli::operation::Operation;

/// How to get past a guard that cannot tell.
pub(crate) const BYPASS: &str =
    "to commit all the same, without being guarded: git commit --no-verify, or AGENTLOCK_GUARD=off in the environment";

/// The same for a rebase.
pub(crate) const BYPASS_OF_REBASE: &str =
    "to rebase all the same, without being guarded: git rebase --no-verify, or AGENTLOCK_GUARD=off in the environment";

/// More paths than these are not spelt out.
pub(crate) const MAX_PATHS: usize = 8;

/// What there is to know about a refused commit.
pub(crate) struct Advice<'a> {
    pub(crate) refusals: &'a [Refusal],
    /// Whether of some path it cannot be told who holds it.
    pub(crate) is_unknown: bool,
    pub(crate) operation: &'a Operation,
    /// Some of what the commit changes and nobody objects to: all of it, unless it is more than [`MAX_PATHS`].
    pub(crate) rest: Vec<RepoPath>,
    /// What git would have to be told to give up an operation that is committed whole.
    pub(crate) abort: Option<&'static str>,
    /// Whether what is staged stays so after the refusal.
    pub(crate) stays_staged: bool,
    /// Whether the commit deletes, and so perhaps renames, something that is held.
    pub(crate) deletes: bool,
    pub(crate) committer: Option<&'a Owner>,
    /// The directory in which the user called git, from the top of the work tree.
    pub(crate) prefix: RepoPath,
}

impl Advice<'_> {
    pub(crate) fn hints(&self) -> Vec<String> {
        let paths_of = |is_wanted: fn(&Objection) -> bool| -> Vec<&RepoPath> {
            let wanted = self.refusals.iter().filter(|refusal| is_wanted(&refusal.objection));
            let mut paths: Vec<&RepoPath> = wanted.filter_map(|refusal| refusal.resource.path()).collect();
            paths.dedup();
            paths
        };
        let held = paths_of(|objection| matches!(objection, Objection::Held(_)));
        let to_acquire = paths_of(|objection| !matches!(objection, Objection::Held(_)));
        let mut hints = Vec::new();
        if self.committer.is_none() {
            let why = "no owner was given, so no lease counts as yours";
            hints.push(format!(
                "{why}: where you commit, export AGENTLOCK_OWNER=NAME, the one that your leases are held by"
            ));
        }
        match self.operation {
            _ if held.is_empty() => {}
            Operation::Rebase { .. } => {
                hints.push("rebase when they are free, or in a work tree of its own (git worktree add), whose files nobody else edits".to_owned());
            }
            operation if operation.is_past() => {
                hints.push("it went past the guard: talk to them; `git agentlock log` has noted it".to_owned());
            }
            _ => {
                hints.extend(self.commit_the_rest(&held));
                hints.push(self.wait(&held));
            }
        }
        if !to_acquire.is_empty() {
            let acquire = self.acquire(&to_acquire, "");
            let is_lost = self.refusals.iter().any(|refusal| matches!(refusal.objection, Objection::Lost { .. }));
            hints.push(match is_lost {
                true => format!(
                    "see what has changed there meanwhile (git log, git diff HEAD), then say that you have: {acquire}"
                ),
                false => format!("take the lease, see what is there, then commit: {acquire}"),
            });
        }
        if self.is_unknown {
            hints.push("`git agentlock doctor` tells what is wrong with the record, and what to do".to_owned());
            hints.push(self.operation.bypass().to_owned());
        }
        hints
    }

    fn commit_the_rest(&self, held: &[&RepoPath]) -> Vec<String> {
        if let Some(abort) = self.abort {
            return vec![format!("this is committed whole: conclude it when they are free, or go back with {abort}")];
        }
        let mut hints = Vec::new();
        // With one half of a rename left out, the other would be committed as a copy.
        if self.rest.is_empty() {
            hints.push(
                "nothing else is in this commit; other work can be committed with git commit --only PATH…".to_owned(),
            );
        } else if !self.deletes {
            let rest: Vec<&RepoPath> = self.rest.iter().collect();
            hints.push(format!("commit only what nobody else holds: git commit --only{}", self.words(&rest)));
        }
        if self.stays_staged {
            hints.push(format!("or take it out of what is staged: git restore --staged{}", self.words(held)));
        }
        hints
    }

    fn wait(&self, held: &[&RepoPath]) -> String {
        let leases = self.refusals.iter().filter_map(|refusal| match &refusal.objection {
            Objection::Held(lease) => Some(lease),
            _ => None,
        });
        let longest = leases.clone().map(|lease| lease.remaining_ms).max().unwrap_or(0);
        let mut owners: Vec<String> = leases.map(|lease| lease.owner.to_string()).collect();
        owners.sort();
        owners.dedup();
        let owners = if owners.len() > MAX_PATHS { "the owners".to_owned() } else { owners.join(", ") };
        let length = human::length(longest.saturating_add(999)).replace(' ', "");
        let acquire = self.acquire(held, &format!(" --wait {length}"));
        format!("or talk to {owners}; or wait for it and take it, then see what has changed: {acquire}")
    }

    /// The command that acquires paths; who has no name yet gets one first, and keeps it for the commit.
    fn acquire(&self, paths: &[&RepoPath], options: &str) -> String {
        let name = if self.committer.is_some() { "" } else { "export AGENTLOCK_OWNER=NAME && " };
        format!("{name}git agentlock acquire{}{options}", self.words(paths))
    }

    /// The paths as words of a shell, from where the user is, with a blank before each.
    fn words(&self, paths: &[&RepoPath]) -> String {
        if paths.len() > MAX_PATHS {
            return " PATH…".to_owned();
        }
        let words: Option<Vec<String>> =
            paths.iter().map(|path| word(relative(path, &self.prefix).as_bstr())).collect();
        let words = words.unwrap_or_else(|| vec!["PATH…".to_owned()]);
        words.iter().fold(String::new(), |all, word| format!("{all} {word}"))
    }
}

/// A path of the work tree, as seen from one of its directories.
fn relative(path: &RepoPath, from: &RepoPath) -> Vec<u8> {
    let names =
        |path: &RepoPath| path.as_bytes().split_str("/").filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
    let (path, from): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (names(path), names(from));
    let common = path.iter().zip(&from).take_while(|(a, b)| a == b).count().min(path.len().saturating_sub(1));
    let up = from.len().saturating_sub(common);
    let names = std::iter::repeat_n(b"..".to_vec(), up).chain(path.into_iter().skip(common));
    names.collect::<Vec<_>>().join(&b"/"[..])
}

/// As one word of a shell that is neither an option nor magic for git's pathspecs; `None` for what cannot be typed.
fn word(path: &BStr) -> Option<String> {
    let text = path.to_str().ok().filter(|text| !text.contains(is_deceptive))?;
    Some(shell_word(&if text.starts_with(['-', ':']) { format!("./{text}") } else { text.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_where_the_user_is() {
        let path = |text: &str| RepoPath::new(text).expect(text);
        for (of, from, told) in [
            ("src/a", "", "src/a"),
            ("src/a", "src", "a"),
            ("src/a", "src/deep", "../a"),
            ("a", "src/deep", "../../a"),
            ("src", "src", "../src"),
            ("src/b/c", "src/a", "../b/c"),
        ] {
            assert_eq!(relative(&path(of), &path(from)), told.as_bytes(), "{of} from {from}");
        }
    }

    #[test]
    fn words_are_neither_options_nor_magic() {
        assert_eq!(word("a b".into()).as_deref(), Some("'a b'"));
        assert_eq!(word("-x".into()).as_deref(), Some("./-x"));
        assert_eq!(word(":(top)x".into()).as_deref(), Some("'./:(top)x'"));
        assert_eq!(word("a\nb".into()), None);
        assert_eq!(word(b"\xff".as_bstr()), None);
    }
}
