//! The settings of agent tools in which our entries are: where they are, what is in them, and how they are changed.

use std::{fmt::Write as _, path::PathBuf};

use git_agentlock::{
    harness::{Tool, registration},
    install::settings::{self, After, Installed, Wanted},
    text::escape_path,
};

use super::{
    context::Context, environment::variable, exit::Kind, failure::Failure, hooks as shared, output::Output,
    render::json::HookDoc,
};

/// What is to be done with our entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    PutIn,
    TakeOut,
}

/// The settings of one tool, of a project or of the user.
pub(super) struct Place {
    tool: Tool,
    path: PathBuf,
    is_users: bool,
}

impl Place {
    pub(super) fn of(context: &Context, tool: Tool, is_users: bool) -> Result<Self, Failure> {
        let name = registration::file_name(tool);
        let path = if is_users { user_file(tool)? } else { project(context)?.join(name) };
        Ok(Self { tool, path, is_users })
    }

    fn with_wanted<T>(&self, program: &str, f: impl FnOnce(&Wanted<'_>) -> T) -> T {
        let is_ours = |hook: &serde_json::Value| registration::is_ours(self.tool, hook);
        let entries = registration::entries(self.tool, program);
        f(&Wanted { entries, preamble: registration::preamble(self.tool), is_ours: &is_ours })
    }

    /// Of a project all who work on it have the settings, and the program by its name. What is started from a desktop has not always the PATH of a shell.
    fn program(&self) -> Result<String, Failure> {
        shared::program_word(!self.is_users)
    }

    fn unusable(&self, error: &settings::SettingsError) -> Failure {
        let shown = escape_path(&self.path);
        Failure::new(Kind::Hook, format!("{shown} cannot be edited: {error}"))
            .hint("mend it, or add the entries yourself: `--dry-run` in another directory prints them")
    }

    pub(super) fn change(&self, change: Change, is_dry: bool, umask: u32) -> Result<Output, Failure> {
        let before = settings::read(&self.path).map_err(|error| shared::failure(&error))?;
        let program = self.program()?;
        let after = self.with_wanted(&program, |wanted| match (change, &before) {
            (Change::PutIn, before) => wanted.put_in(before.as_deref()),
            (Change::TakeOut, Some(before)) => wanted.take_out(before),
            (Change::TakeOut, None) => Ok(After::Unchanged),
        });
        let after = after.map_err(|error| self.unusable(&error))?;
        let mut output = Output::new("agent-hook");
        if is_dry {
            self.tell_dry(&mut output, before.as_deref(), &after);
            return Ok(output);
        }
        settings::write(&self.path, before.as_deref(), &after, umask).map_err(|error| shared::failure(&error))?;
        output.has_changed = after != After::Unchanged;
        let was_there = before.as_deref().is_some_and(|before| {
            self.with_wanted(&program, |wanted| wanted.installed(before)).is_ok_and(|known| known != Installed::Not)
        });
        let (state, verb) = match (change, &after) {
            (Change::PutIn, After::Unchanged) => ("active", "already installed in"),
            (Change::PutIn, _) if was_there => ("active", "brought up to date in"),
            (Change::PutIn, _) => ("active", "installed in"),
            (Change::TakeOut, After::Unchanged) => ("absent", "nothing to uninstall in"),
            (Change::TakeOut, After::Text(_)) => ("absent", "removed from"),
            (Change::TakeOut, After::Nothing) => ("absent", "removed, with the file that has nothing else in it:"),
        };
        let message = format!("{verb} {}", escape_path(&self.path));
        let _ = writeln!(output.text, "{message}");
        output.document.hooks = Some(vec![self.document(state, message)]);
        if change == Change::PutIn {
            output.notes.extend(self.notes(&program));
        }
        Ok(output)
    }

    fn tell_dry(&self, output: &mut Output, before: Option<&str>, after: &After) {
        let shown = escape_path(&self.path);
        let (text, note) = match after {
            After::Unchanged => (before.unwrap_or_default(), format!("note: {shown} would stay as it is")),
            After::Text(text) => (text.as_str(), format!("note: {shown} would be this")),
            After::Nothing => ("", format!("note: {shown} would be removed, having nothing else in it")),
        };
        output.raw = Some(text.as_bytes().to_vec());
        output.notes.push(note);
        output.document.hooks = Some(Vec::new());
    }

    /// What is still to be known, or done by hand.
    fn notes(&self, program: &str) -> Vec<String> {
        let title = self.tool.title();
        let mut notes = Vec::new();
        if !self.is_users {
            let name = registration::file_name(self.tool);
            notes.push(match program {
                "git-agentlock" => format!("note: whoever shares {name} needs git-agentlock on their PATH"),
                _ => format!("note: {name} names the program by its path on this machine; put git-agentlock on PATH to share the file"),
            });
        }
        match self.tool {
            Tool::ClaudeCode => notes.push(
                "note: in sub-agents, shell commands with git in them begin with `export AGENTLOCK_OWNER=…`; \"Bash(export AGENTLOCK_OWNER=*)\" in \
                 permissions.allow spares you the question"
                    .to_owned(),
            ),
            Tool::Codex => {
                notes.push(
                    "note: Codex asks whether hooks are to be trusted (/hooks), and has no event for the end of a session: its leases end when their time is up"
                        .to_owned(),
                );
                notes.push(
                    "note: Codex reads files by its shell and tells no hook which: it is not warned of a file that has changed since it has read it"
                        .to_owned(),
                );
            }
            Tool::Gemini => {}
            Tool::Cursor => notes.push(
                "note: Cursor does not tell its shells which session they belong to: set AGENTLOCK_OWNER where Cursor is started, one name for each \
                 session, or the model is told to do so in its commands"
                    .to_owned(),
            ),
        }
        notes.push(format!(
            "note: restart {title}, if it is running; commits are guarded by `git agentlock hook install`"
        ));
        notes
    }

    /// Whether our entries are there; changes nothing.
    pub(super) fn state(&self) -> (&'static str, String) {
        let shown = escape_path(&self.path);
        let text = match settings::read(&self.path) {
            Ok(None) => return ("absent", shown),
            Ok(Some(text)) => text,
            Err(error) => return ("inert", error.to_string()),
        };
        // The program may be called in several ways; any of them does.
        let programs = [shared::program_word(true), shared::program_word(false)];
        let known =
            programs.into_iter().flatten().map(|program| self.with_wanted(&program, |wanted| wanted.installed(&text)));
        let known: Vec<_> = known.collect();
        match known.first() {
            _ if known.contains(&Ok(Installed::Whole)) => ("active", shown),
            Some(Ok(Installed::Partly)) => {
                ("edited", format!("{shown}: not what this version installs; install it again"))
            }
            Some(Err(error)) => ("inert", format!("{shown}: {error}")),
            _ => ("absent", shown),
        }
    }

    pub(super) fn document(&self, state: &'static str, message: String) -> HookDoc {
        let path = self.path.to_string_lossy().into_owned();
        HookDoc { name: self.tool.name(), path, state, chained: None, message }
    }
}

fn project(context: &Context) -> Result<PathBuf, Failure> {
    let repository = context.here("the current directory")?;
    repository.and_then(|repository| repository.work_tree.clone()).ok_or_else(|| {
        Failure::new(Kind::NoRepository, "there is no work tree here whose settings could be changed")
            .hint("run this in one, or use --user")
    })
}

fn user_file(tool: Tool) -> Result<PathBuf, Failure> {
    let name = registration::file_name(tool);
    let own = registration::home_variable(tool).and_then(variable).map(PathBuf::from).filter(|dir| dir.is_absolute());
    if let (Some(dir), Some((_, file))) = (own, name.split_once('/')) {
        return Ok(dir.join(file));
    }
    let home = variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute() && home.is_dir());
    home.map(|home| home.join(name)).ok_or_else(|| {
        Failure::new(Kind::Hook, "HOME names no directory for your settings").hint("set it, or use --project")
    })
}
