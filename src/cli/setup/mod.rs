//! Where a user's shells and `man` look for what is ours, and what has to be said when they do not.

mod places;

use std::path::{Path, PathBuf};

use git_agentlock::{
    install::{
        InstallError,
        files::{self, Standing, Wanted},
    },
    text::escape_path,
};

pub(crate) use self::places::Places;
use super::{commands::completions::script, completing::Shell, exit::Kind, failure::Failure, manual};

/// A file that belongs somewhere.
pub(crate) struct Item {
    /// What it is, for people; man pages are told together.
    pub(crate) what: &'static str,
    pub(crate) path: PathBuf,
    text: String,
    comment: &'static str,
}

/// What is to be done with the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Put,
    TakeOut,
}

pub(crate) const MAN_PAGES: &str = "man pages";

/// Everything that is put somewhere, in the order in which that is done.
pub(crate) fn items(places: &Places) -> Vec<Item> {
    let completion = |what, shell, path: &Path| Item { what, path: path.to_owned(), text: script(shell), comment: "#" };
    let mut items = vec![
        completion("completion for bash", Shell::Bash, &places.bash.join("git-agentlock")),
        completion("completion for zsh", Shell::Zsh, &places.zsh.join("_git-agentlock")),
        completion("completion for fish", Shell::Fish, &places.fish.join("git-agentlock.fish")),
    ];
    items.extend(pages_in(&places.man));
    items
}

fn pages_in(man: &Path) -> impl Iterator<Item = Item> {
    manual::pages().into_iter().map(move |page| Item {
        what: MAN_PAGES,
        path: man.join(format!("man{}", page.section())).join(page.file_name()),
        text: page.render(),
        comment: ".\\\"",
    })
}

/// Everything that may have been put somewhere, the last first, since directories go with the first that was put into them.
pub(crate) fn items_to_take_out(places: &Places) -> Vec<Item> {
    let mut items = items(places);
    items.extend(places.other_man.iter().flat_map(|man| pages_in(man)));
    items.reverse();
    items
}

impl Item {
    /// Does what is wished, or only says what it would do. `foreign` and `edited`: nothing, because something else is there.
    pub(crate) fn treat(&self, wish: Wish, dry_run: bool, umask: u32) -> Result<&'static str, Failure> {
        let wanted = Wanted { path: &self.path, text: &self.text, comment: self.comment };
        let before = match wish {
            _ if dry_run => files::look(&wanted),
            Wish::Put => files::put(&wanted, umask),
            Wish::TakeOut => files::take_out(&wanted),
        };
        let before = before.map_err(|error| failure(&error))?;
        Ok(match (wish, before) {
            (Wish::Put, Standing::Absent) => "written",
            (Wish::Put, Standing::Older) => "updated",
            (Wish::Put, Standing::Current) => "current",
            (Wish::TakeOut, Standing::Absent) => "absent",
            (Wish::TakeOut, Standing::Current | Standing::Older) => "removed",
            (_, Standing::Foreign) => "foreign",
            (_, Standing::Edited) => "edited",
        })
    }

    /// Why a file was left alone, and what can be done about it.
    pub(crate) fn left_alone(&self, state: &str, wish: Wish) -> Failure {
        let path = escape_path(&self.path);
        let why = if state == "edited" {
            "it was changed by hand since it was written"
        } else {
            "it was not written by setup"
        };
        let remedy = match wish {
            Wish::Put => "move it away, and run `git agentlock setup` again",
            Wish::TakeOut => "remove it yourself, if nobody needs it",
        };
        Failure::new(Kind::File, format!("{path} is left as it is: {why}")).hint(remedy)
    }
}

fn failure(error: &InstallError) -> Failure {
    Failure::new(Kind::File, error.to_string())
        .hint("make the directory writable, or set XDG_DATA_HOME (for fish XDG_CONFIG_HOME) to another one")
}
