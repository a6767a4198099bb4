//! The directories, from the environment: pure but for the look at what zsh reads at its start.

use std::path::{Path, PathBuf};

use git_agentlock::text::{escape_path, shell_word};

use crate::cli::environment;

/// Where things go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) bash: PathBuf,
    pub(crate) zsh: PathBuf,
    pub(crate) fish: PathBuf,
    /// The directory with `man1` and `man5` in it.
    pub(crate) man: PathBuf,
    /// Whether `man` looks there.
    is_man_searched: bool,
    /// Where the man pages would be with another `PATH`.
    pub(crate) other_man: Vec<PathBuf>,
    home: PathBuf,
}

/// What decides that.
#[derive(Debug, Clone, Default)]
struct Surroundings {
    home: PathBuf,
    data_home: Option<PathBuf>,
    config_home: Option<PathBuf>,
    bash_completion: Option<PathBuf>,
    path: Vec<PathBuf>,
    manpath: Vec<PathBuf>,
    program: Option<PathBuf>,
}

impl Places {
    /// `None` for who has no home.
    pub(crate) fn here() -> Option<Self> {
        Some(Self::of(Surroundings {
            home: environment::home()?,
            data_home: environment::directory("XDG_DATA_HOME"),
            config_home: environment::directory("XDG_CONFIG_HOME"),
            bash_completion: environment::directory("BASH_COMPLETION_USER_DIR"),
            path: environment::directories("PATH"),
            manpath: environment::directories("MANPATH"),
            program: environment::program(),
        }))
    }

    fn of(around: Surroundings) -> Self {
        let data = around.data_home.clone().unwrap_or_else(|| around.home.join(".local/share"));
        let config = around.config_home.clone().unwrap_or_else(|| around.home.join(".config"));
        let bash = around.bash_completion.clone().unwrap_or_else(|| data.join("bash-completion"));
        // Beside the program, as `cargo install` leaves it in ~/.cargo/bin; outside of the home it is the system's.
        let prefix = around.program.as_deref().and_then(|program| program.parent()?.parent());
        let beside = prefix.filter(|prefix| prefix.starts_with(&around.home)).map(|prefix| prefix.join("share/man"));
        let possible: Vec<PathBuf> = std::iter::once(data.join("man")).chain(beside).collect();
        let searched = possible.iter().find(|man| around.is_searched(man)).cloned();
        let is_man_searched = searched.is_some();
        let man = searched.unwrap_or_else(|| data.join("man"));
        Self {
            bash: bash.join("completions"),
            zsh: data.join("zsh/site-functions"),
            fish: config.join("fish/conf.d"),
            other_man: possible.into_iter().filter(|other| *other != man).collect(),
            man,
            is_man_searched,
            home: around.home,
        }
    }

    /// The lines that the user has to add somewhere, each with where.
    pub(crate) fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let start = environment::directory("ZDOTDIR").unwrap_or_else(|| self.home.clone());
        let is_mentioned =
            |name: &str| std::fs::read_to_string(start.join(name)).is_ok_and(|text| self.is_in_fpath(&text));
        let is_known = environment::directories("FPATH").contains(&self.zsh);
        if !is_known && ![".zshenv", ".zprofile", ".zshrc"].into_iter().any(is_mentioned) {
            let line = format!("fpath=({} $fpath)", shell_word(&self.zsh.to_string_lossy()));
            advice.push(format!("for zsh, add to {} before compinit: {line}", escape_path(&start.join(".zshrc"))));
        }
        if !self.is_man_searched {
            let line = format!("export MANPATH={}:", shell_word(&self.man.to_string_lossy()));
            advice.push(format!(
                "for man, add to what your shell reads at its start: {line} (or have {} in PATH)",
                escape_path(&self.home.join(".local/bin"))
            ));
        }
        advice
    }

    /// Whether what zsh reads at its start has the directory in it, however that is spelt.
    fn is_in_fpath(&self, text: &str) -> bool {
        let Some(whole) = self.zsh.to_str() else { return false };
        let below = self.zsh.strip_prefix(&self.home).ok().and_then(Path::to_str);
        let spellings = below
            .into_iter()
            .flat_map(|below| [format!("~/{below}"), format!("$HOME/{below}"), format!("${{HOME}}/{below}")]);
        let mut spellings = spellings.chain([whole.to_owned(), "$XDG_DATA_HOME/zsh/site-functions".to_owned()]);
        let lines = || {
            text.lines()
                .map(str::trim_start)
                .filter(|line| !line.starts_with('#') && line.to_lowercase().contains("fpath"))
        };
        spellings.any(|spelling| lines().any(|line| line.contains(&spelling)))
    }
}

impl Surroundings {
    /// Whether man-db looks in a directory: because MANPATH says so, or because PATH has the `bin` beside it.
    fn is_searched(&self, man: &Path) -> bool {
        if self.manpath.iter().any(|searched| searched == man) {
            return true;
        }
        // An empty one in the list stands for what is searched without it.
        let counts = self.manpath.is_empty() || self.manpath.iter().any(|searched| searched.as_os_str().is_empty());
        let prefixes = || self.path.iter().filter_map(|bin| bin.parent());
        counts && prefixes().any(|prefix| prefix.join("share/man") == man || prefix.join("man") == man)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(path: &[&str], manpath: &[&str]) -> Surroundings {
        let dirs = |list: &[&str]| list.iter().map(PathBuf::from).collect();
        let program = Some("/h/.cargo/bin/git-agentlock".into());
        Surroundings { home: "/h".into(), path: dirs(path), manpath: dirs(manpath), program, ..Surroundings::default() }
    }

    fn man(path: &[&str], manpath: &[&str]) -> (String, bool) {
        let places = Places::of(around(path, manpath));
        (places.man.to_str().unwrap().to_owned(), places.is_man_searched)
    }

    #[test]
    fn man_pages_go_where_man_looks() {
        let data = "/h/.local/share/man".to_owned();
        let cargo = "/h/.cargo/share/man".to_owned();
        assert_eq!(man(&["/h/.local/bin", "/h/.cargo/bin"], &[]), (data.clone(), true));
        assert_eq!(man(&["/h/.cargo/bin", "/usr/bin"], &[]), (cargo.clone(), true));
        assert_eq!(man(&["/usr/bin"], &[]), (data.clone(), false));
        assert_eq!(man(&["/h/.cargo/bin"], &["/usr/share/man"]), (data.clone(), false), "MANPATH hides PATH");
        assert_eq!(man(&["/h/.cargo/bin"], &["/usr/share/man", ""]), (cargo, true));
        assert_eq!(man(&["/usr/bin"], &["/h/.local/share/man"]), (data, true));
    }

    #[test]
    fn a_program_of_the_system_has_its_pages_elsewhere() {
        let around = Surroundings { program: Some("/usr/bin/git-agentlock".into()), ..around(&["/usr/bin"], &[]) };
        let places = Places::of(around);
        assert_eq!((places.man.to_str().unwrap(), places.other_man.len()), ("/h/.local/share/man", 0));
    }

    #[test]
    fn the_variables_count() {
        let mut around = around(&[], &[]);
        around.data_home = Some("/d".into());
        around.config_home = Some("/c".into());
        let places = Places::of(around.clone());
        let all = [&places.bash, &places.zsh, &places.fish, &places.man].map(|path| path.to_str().unwrap());
        assert_eq!(all, ["/d/bash-completion/completions", "/d/zsh/site-functions", "/c/fish/conf.d", "/d/man"]);
        around.bash_completion = Some("/b".into());
        assert_eq!(Places::of(around).bash, Path::new("/b/completions"));
    }

    #[test]
    fn the_line_for_zsh_is_known_in_any_spelling() {
        let places = Places::of(around(&[], &[]));
        for text in [
            "fpath=(~/.local/share/zsh/site-functions $fpath)\n",
            "  fpath+=$HOME/.local/share/zsh/site-functions",
            "export FPATH=/h/.local/share/zsh/site-functions:$FPATH",
        ] {
            assert!(places.is_in_fpath(text), "{text}");
        }
        for text in ["", "# fpath=(~/.local/share/zsh/site-functions $fpath)", "ls ~/.local/share/zsh/site-functions"] {
            assert!(!places.is_in_fpath(text), "{text}");
        }
    }
}
