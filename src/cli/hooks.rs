//! The hooks of the repository of the current directory, as `hook` and `doctor` see them.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

use git_agentlock::{
    git::{HooksPath, Repository},
    install::{
        Hook, InstallError,
        look::{self, Seen, State},
        manager,
    },
    resource::path_bytes,
    text::{escape_path, shell_word},
};

use super::{context::Context, environment::variable, exit::Kind, failure::Failure, render::json::HookDoc};

/// Where the hooks of a repository are.
pub(crate) struct Place {
    pub(crate) repository: Rc<Repository>,
    /// Where git looks for them.
    pub(crate) used: HooksPath,
}

impl Place {
    pub(crate) fn of(repository: Rc<Repository>) -> Result<Self, Failure> {
        let parameters = variable("GIT_CONFIG_PARAMETERS").and_then(|value| path_bytes(Path::new(&value)));
        let used = repository.hooks_path(parameters.as_ref().map(|value| value.as_ref()))?;
        Ok(Self { repository, used })
    }

    pub(crate) fn here(context: &Context) -> Result<Self, Failure> {
        let what = "the current directory";
        Self::of(context.here(what)?.ok_or_else(|| Failure::no_repository(what))?)
    }

    /// The directory that git would use without `core.hooksPath`, when it does not.
    pub(crate) fn overridden(&self) -> Option<PathBuf> {
        let own = self.repository.own_hooks();
        let real = |dir: &Path| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        (real(&own) != real(&self.used.dir)).then_some(own)
    }

    /// Why git looks where it looks.
    pub(crate) fn reason(&self) -> String {
        let dir = escape_path(&self.used.dir);
        match &self.used.configured {
            Some(configured) => format!("core.hooksPath in {} makes git look in {dir}", configured.origin()),
            None => format!("git looks in {dir}"),
        }
    }

    /// Every hook of ours, where git looks and where it would look, and in the first place also what is not there.
    pub(crate) fn look(&self) -> Result<Vec<Report>, Failure> {
        let mut reports = Vec::new();
        for hook in Hook::ALL {
            reports.push(self.judge(look::look(&self.used.dir, hook).map_err(|error| failure(&error))?));
        }
        let Some(own) = self.overridden() else { return Ok(reports) };
        for hook in Hook::ALL {
            let seen = look::look(&own, hook).map_err(|error| failure(&error))?;
            if !matches!(seen.state, State::Absent | State::Foreign) {
                let why = format!("git does not run it: {}", self.reason());
                let remedy = format!("{} moves it to where git looks", self.install_command(hook));
                reports.push(Report::new(seen, "inert", why, remedy));
            }
        }
        Ok(reports)
    }

    fn judge(&self, seen: Seen) -> Report {
        let again = || self.install_command(seen.hook);
        let (state, message, remedy) = match &seen.state {
            State::Active(binary) if look::is_program(binary) => ("active", "git runs it".to_owned(), String::new()),
            State::Active(binary) => {
                let gone = format!("the program it was made for, {}, is gone", escape_path(binary));
                match on_path() {
                    Some(found) => {
                        ("active", format!("{gone}; it runs {} instead", escape_path(&found)), String::new())
                    }
                    None => ("inert", format!("{gone}, and git-agentlock is not on PATH"), again()),
                }
            }
            State::Absent => ("absent", "not installed".to_owned(), again()),
            State::Foreign => ("absent", format!("not installed; {}", whose(&seen.path)), again()),
            State::NotExecutable => ("inert", "git does not run it: it is not executable".to_owned(), again()),
            State::ChainedGone => {
                let what = format!("the hook that it chained is gone: {}", seen.hook.chained_name());
                ("inert", what, format!("put that back, or {} without it", again()))
            }
            State::Edited => (
                "edited",
                "it was changed by hand, so nobody can tell what it does".to_owned(),
                remedy_of_edited(seen.hook),
            ),
            State::Interrupted => {
                let what =
                    format!("an installation was interrupted: git runs neither it nor {}", seen.hook.chained_name());
                ("interrupted", what, format!("{}, or `git agentlock hook uninstall`", again()))
            }
            State::Displaced => (
                "displaced",
                "another tool has put its hook in the place of ours".to_owned(),
                format!("{} chains that one too", again()),
            ),
        };
        let report = Report::new(seen, state, message, remedy);
        self.called_by_other(report)
    }

    fn install_command(&self, hook: Hook) -> String {
        let machine_wide = if self.repository.is_shared(&self.used) { " --machine-wide" } else { "" };
        format!("`git agentlock hook install{machine_wide} {}`", hook.name())
    }

    /// A hook that is not ours but asks the guard is as good, where one can tell: husky's, or one that somebody has written.
    fn called_by_other(&self, report: Report) -> Report {
        let name = report.hook.name();
        let other = manager::husky(&self.used.dir).map_or_else(|| report.path.clone(), |dir| dir.join(name));
        if report.state == "absent" && look::is_program(&report.path) && look::asks_the_guard(&other) {
            let message = format!("{} asks the guard", escape_path(&other));
            return Report { state: "active", message, remedy: String::new(), ..report };
        }
        let manager = look::about(&report.path).manager.filter(|_| report.state == "absent");
        if let (Some(manager), Some(top)) = (manager, &self.repository.work_tree)
            && look::is_program(&report.path)
            && let Some(file) = manager.asking(top)
        {
            let message = format!("{} runs the guard, by {}", manager.name(), escape_path(&file));
            return Report { state: "active", message, remedy: String::new(), ..report };
        }
        report
    }
}

/// What is known of a hook that is not ours.
fn whose(path: &Path) -> String {
    match look::about(path).manager {
        Some(manager) => format!(
            "the hook that is there is {}'s, and {} does not name git-agentlock",
            manager.name(),
            manager.configuration()
        ),
        None => "the hook that is there is not ours".to_owned(),
    }
}

/// What is to be said about one hook.
pub(crate) struct Report {
    pub(crate) hook: Hook,
    pub(crate) path: PathBuf,
    pub(crate) state: &'static str,
    pub(crate) chained: Option<PathBuf>,
    pub(crate) message: String,
    pub(crate) remedy: String,
}

impl Report {
    fn new(seen: Seen, state: &'static str, message: String, remedy: String) -> Self {
        Self { hook: seen.hook, path: seen.path, state, chained: seen.chained, message, remedy }
    }

    /// Whether one of ours is there that does not do what it was installed for.
    pub(crate) fn is_ailing(&self) -> bool {
        matches!(self.state, "inert" | "interrupted" | "displaced" | "edited")
    }

    pub(crate) fn document(&self) -> HookDoc {
        document(self.hook, &self.path, self.state, self.chained.as_deref(), self.message.clone())
    }
}

pub(crate) fn document(
    hook: Hook,
    path: &Path,
    state: &'static str,
    chained: Option<&Path>,
    message: String,
) -> HookDoc {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    HookDoc { name: hook.name(), path: text(path), state, chained: chained.map(text), message }
}

pub(crate) fn remedy_of_edited(hook: Hook) -> String {
    let name = hook.name();
    format!(
        "`git agentlock hook uninstall {name}` keeps your version as {name}.agentlock-edited; then install it again"
    )
}

/// A failure to change a hook, or to look at one.
pub(crate) fn failure(error: &InstallError) -> Failure {
    let hint = match error {
        InstallError::Io { .. } => "nothing was changed; make the directory writable for you, or ask who owns it".to_owned(),
        InstallError::InTheWay { .. } => "git cannot run it either: move it away, and try again".to_owned(),
        InstallError::ChainedExists { .. } => {
            "one of the two is left from another installation: merge them into one, or move the one away that is not needed, and try again"
                .to_owned()
        }
        InstallError::Edited { path } => {
            let hook = path.file_name().and_then(|name| Hook::named(name.to_str()?)).unwrap_or(Hook::PreCommit);
            remedy_of_edited(hook)
        }
        InstallError::NoText { .. } => "nothing was changed; see what it is, and move it away if it is not needed".to_owned(),
        InstallError::Unsettled { .. } => "try again when the other installer has ended".to_owned(),
    };
    Failure::new(Kind::Hook, error.to_string()).hint(hint)
}

/// The program that hooks shall run: this very one. Its name on PATH is better than the file that a package manager keeps it in, since that
/// has the version in its name and goes with the next one.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    let this = std::env::current_exe().map_err(|error| {
        Failure::new(Kind::Hook, format!("cannot tell where this program is: {error}")).hint("call it by its full path")
    })?;
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    Ok(on_path().filter(|named| named.is_absolute() && real(named) == real(&this)).unwrap_or(this))
}

/// The same as a word of a shell, for the settings of other tools; with `by_name` only its name, if it is found by that.
pub(crate) fn program_word(by_name: bool) -> Result<String, Failure> {
    let program = program()?;
    if by_name && on_path().is_some_and(|named| named == program) {
        return Ok("git-agentlock".to_owned());
    }
    let text = program.to_str().ok_or_else(|| {
        let shown = escape_path(&program);
        Failure::new(Kind::Hook, format!("the path of this program is not Unicode: {shown}")).hint("put it on PATH")
    })?;
    Ok(shell_word(text))
}

fn on_path() -> Option<PathBuf> {
    let path = variable("PATH")?;
    let name = format!("git-agentlock{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|dir| dir.join(&name)).find(|program| look::is_program(program))
}
