//! Starting another program as if it had been called directly: its arguments, streams, umask, home and exit code are its own.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
};

use super::{environment, exit};

/// How a shell calls a file that says of no interpreter.
const SHELL: &str = "/bin/sh";

/// What the program is to get.
pub(crate) struct Start<'a> {
    /// The program and its arguments.
    pub(crate) words: &'a [OsString],
    /// Where, when that is not the current directory.
    pub(crate) dir: Option<&'a Path>,
    /// Variables beside those that are there.
    pub(crate) variables: &'a [(&'a str, &'a str)],
    /// What the user's umask is: this program has another one.
    pub(crate) umask: u32,
}

/// Why it could not be started.
#[derive(Debug)]
pub(crate) enum NotStarted {
    NotFound(io::Error),
    NotExecutable(io::Error),
    /// The system cannot start anything now.
    Failed(io::Error),
}

impl Start<'_> {
    pub(crate) fn spawn(&self) -> Result<Child, NotStarted> {
        let (program, arguments) =
            self.words.split_first().ok_or_else(|| NotStarted::NotFound(io::ErrorKind::NotFound.into()))?;
        let spawned = match self.spawn_program(program, arguments) {
            Err(error) if is_no_format(&error) => self.spawn_script(program, arguments).unwrap_or(Err(error)),
            spawned => spawned,
        };
        spawned.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NotStarted::NotFound(error),
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => NotStarted::Failed(error),
            _ => NotStarted::NotExecutable(error),
        })
    }

    fn spawn_program(&self, program: &OsStr, arguments: &[OsString]) -> io::Result<Child> {
        let mut command = Command::new(program);
        command.args(arguments).envs(self.variables.iter().copied());
        if let Some(dir) = self.dir {
            command.current_dir(dir);
        }
        match environment::to_give_back() {
            Some((name, Some(value))) => command.env(name, value),
            Some((name, None)) => command.env_remove(name),
            None => &mut command,
        };
        with_umask(self.umask, || command.spawn())
    }

    /// A file without a `#!` is a script for the shell, as `execvp` has it.
    fn spawn_script(&self, program: &OsStr, arguments: &[OsString]) -> Option<io::Result<Child>> {
        let file = self.find(program)?;
        let arguments: Vec<OsString> =
            std::iter::once(file.into_os_string()).chain(arguments.iter().cloned()).collect();
        Some(self.spawn_program(OsStr::new(SHELL), &arguments))
    }

    fn find(&self, program: &OsStr) -> Option<PathBuf> {
        if program.to_string_lossy().contains('/') {
            return Some(program.into());
        }
        let path = environment::variable("PATH")?;
        let here = self.dir.unwrap_or(Path::new(""));
        std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| here.join(file).is_file())
    }
}

#[cfg(unix)]
fn is_no_format(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}

#[cfg(not(unix))]
fn is_no_format(_: &io::Error) -> bool {
    false
}

/// Nothing else is created meanwhile: there is only one thread.
#[cfg(unix)]
fn with_umask<T>(umask: u32, act: impl FnOnce() -> T) -> T {
    #[expect(clippy::useless_conversion, reason = "narrower on other systems")]
    let users = rustix::fs::Mode::from_bits_truncate(umask.try_into().unwrap_or(0));
    let own = rustix::process::umask(users);
    let done = act();
    rustix::process::umask(own);
    done
}

#[cfg(not(unix))]
fn with_umask<T>(_: u32, act: impl FnOnce() -> T) -> T {
    act()
}

/// The exit code that stands for how a program ended: its own, or 128 and the number of the signal that killed it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return exit::of_signal(u8::try_from(signal).unwrap_or(0));
    }
    // Whatever is no exit code here is one of another system, and no success.
    status.code().map_or(u8::MAX, |code| u8::try_from(code).unwrap_or(u8::MAX))
}
