//! Where git looks for hooks: `core.hooksPath` from every place that git reads it from, else `hooks` in the common git directory.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice as _};

use super::{Repository, RepositoryError, first_line, open_options};
use crate::text::shell_unquoted;

/// The directory that git takes hooks from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksPath {
    /// Absolute. It need not exist, and links in it are not resolved.
    pub dir: PathBuf,
    /// What configuration says so; `None` for the directory that every repository has.
    pub configured: Option<Configured>,
}

/// What `core.hooksPath` says, and where that is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// As it is written.
    pub value: BString,
    /// The configuration file; `None` for the environment and `git -c`.
    pub file: Option<PathBuf>,
    /// Whether the same setting holds for other repositories too.
    pub of_all_repositories: bool,
}

impl Configured {
    /// Whether every repository that has this setting has one directory.
    fn is_shared(&self) -> bool {
        let is_relative = !self.value.starts_with(b"/") && !self.value.starts_with(b"~");
        self.of_all_repositories && !is_relative
    }

    /// Where it is said, safe to show.
    #[must_use]
    pub fn origin(&self) -> String {
        self.file.as_deref().map_or_else(|| "the environment".to_owned(), crate::text::escape_path)
    }
}

impl Repository {
    /// The hooks directory that every repository has; git uses it unless `core.hooksPath` is set.
    #[must_use]
    pub fn own_hooks(&self) -> PathBuf {
        self.common_dir.join("hooks")
    }

    /// The directory that git takes this work tree's hooks from. `parameters` is the value of `GIT_CONFIG_PARAMETERS`, by which `git -c` tells
    /// those it starts; gix does not look at it.
    ///
    /// # Errors
    /// [`RepositoryError::Unusable`] when the configuration cannot be read, or the path in it cannot be expanded.
    pub fn hooks_path(&self, parameters: Option<&BStr>) -> Result<HooksPath, RepositoryError> {
        let Some(configured) =
            from_parameters(parameters).map_or_else(|| self.configured_hooks(), |set| Ok(Some(set)))?
        else {
            return Ok(HooksPath { dir: self.own_hooks(), configured: None });
        };
        // git appends the name of the hook to what is written, so that nothing means the root directory.
        let dir =
            if configured.value.is_empty() { PathBuf::from("/") } else { self.expand(configured.value.as_ref())? };
        // Hooks run at the top of the work tree, or in the git directory of a bare repository.
        let dir = self.work_tree.as_ref().unwrap_or(&self.git_dir).join(dir);
        Ok(HooksPath { dir, configured: Some(configured) })
    }

    fn configured_hooks(&self) -> Result<Option<Configured>, RepositoryError> {
        let opened = gix::open_opts(&self.git_dir, open_options());
        let opened = opened.map_err(|error| self.unusable(first_line(&error)))?;
        let config = opened.config_snapshot();
        let Ok((value, section)) = config.plumbing().raw_value_with_section("core.hooksPath") else { return Ok(None) };
        use gix::config::Source;
        let meta = section.meta();
        let of_all_repositories =
            matches!(meta.source, Source::GitInstallation | Source::System | Source::Git | Source::User);
        Ok(Some(Configured { value, file: meta.path.clone(), of_all_repositories }))
    }

    fn expand(&self, value: &BStr) -> Result<PathBuf, RepositoryError> {
        let home = gix::path::env::home_dir();
        let context = gix::config::path::interpolate::Context { home_dir: home.as_deref(), ..Default::default() };
        let expanded = gix::config::Path::from(value).interpolate(context);
        expanded.map_err(|error| {
            let value = crate::text::escape(value);
            self.unusable(format!("core.hooksPath is '{value}': {}", first_line(&error)))
        })
    }

    fn unusable(&self, reason: String) -> RepositoryError {
        RepositoryError::Unusable { path: self.git_dir.clone(), reason }
    }

    /// Whether other repositories have their hooks in the same directory: the configuration of all of them names it, or it lies neither in a git
    /// directory nor in a work tree of this one.
    #[must_use]
    pub fn is_shared(&self, hooks: &HooksPath) -> bool {
        hooks.configured.as_ref().is_some_and(Configured::is_shared)
            || super::path::resolve(&hooks.dir).is_ok_and(|real| !self.has_inside(&real.path()))
    }

    fn has_inside(&self, dir: &Path) -> bool {
        let main = self.common_dir.parent().filter(|_| self.common_dir.ends_with(gix::discover::DOT_GIT_DIR));
        let mut places = [Some(&*self.common_dir), Some(&*self.git_dir), self.work_tree.as_deref(), main].into_iter();
        places.any(|place| place.is_some_and(|place| dir.starts_with(place)))
    }
}

/// The last `core.hooksPath` among the parameters of `git -c`.
fn from_parameters(parameters: Option<&BStr>) -> Option<Configured> {
    let mut rest: &[u8] = parameters?;
    let mut found = None;
    while let Some((first, after)) = shell_unquoted(rest.trim_start()) {
        // `'key'='value'`, or as git wrote it before 2.31, `'key=value'`.
        let (key, value, after) = match after.strip_prefix(b"=").and_then(shell_unquoted) {
            Some((value, after)) => (first, value, after),
            None => {
                let (key, value) = first.split_once_str("=").unwrap_or((&first, b""));
                (key.to_vec(), value.to_vec(), after)
            }
        };
        if key.eq_ignore_ascii_case(b"core.hookspath") {
            found = Some(value);
        }
        rest = after;
    }
    Some(Configured { value: found?.into(), file: None, of_all_repositories: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(parameters: &str) -> Option<String> {
        from_parameters(Some(parameters.into())).map(|set| set.value.to_string())
    }

    #[test]
    fn the_last_parameter_of_git_counts_however_it_is_quoted() {
        assert_eq!(value(r"'a.b'='c' 'core.hooksPath'='it'\''s' 'x.y'"), Some("it's".into()));
        assert_eq!(value(r"'core.hookspath=old form' 'a=b'"), Some("old form".into()));
        assert_eq!(value(r"'core.hooksPath'='1' 'CORE.HOOKSPATH'=''\!'2'"), Some("!2".into()));
        assert_eq!(value(r"'core.hooksPath'=''"), Some(String::new()));
        assert_eq!(value("'a.b'='core.hooksPath=c'"), None);
        for broken in ["", "'", "'a'=", "core.hooksPath=x", "'core.hooksPath'='x"] {
            assert_eq!(value(broken).unwrap_or_default(), "", "{broken}");
        }
    }
}
