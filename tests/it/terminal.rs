//! A real terminal, with a program in it: what is typed, and what is on the screen.

use std::{
    fs,
    io::{Read as _, Write as _},
    process::{Child, Stdio},
    sync::{Arc, Mutex},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::sandbox::{Agent, Ran, end_of};

/// A terminal with a program in a session of its own.
pub(crate) struct Terminal {
    pub(crate) master: fs::File,
    seen: Arc<Mutex<String>>,
    pub(crate) child: Child,
}

impl Terminal {
    pub(crate) fn start(agent: &Agent<'_>, words: &[&str]) -> Self {
        Self::unwatched(agent, words).watched()
    }

    pub(crate) fn unwatched(agent: &Agent<'_>, words: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = || Stdio::from(fs::OpenOptions::new().read(true).write(true).open(&name).unwrap());
        let by = ["setsid", "--ctty"].iter().chain(words.split_last().unwrap().1);
        let mut command = agent.env("TERM", "dumb").by(by).command([words.last().unwrap()]);
        let mut words = command.get_args().map(std::ffi::OsStr::to_owned).collect::<Vec<_>>();
        // `by` puts the binary before the last word; here the whole line is given.
        words.remove(words.len() - 2);
        let mut whole = std::process::Command::new(command.get_program());
        whole.args(words).env_clear().current_dir(command.get_current_dir().unwrap());
        whole.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command = whole;
        let child = command.stdin(slave()).stdout(slave()).stderr(slave()).spawn().unwrap();
        let master = fs::File::from(master);
        Self { master, seen: Arc::default(), child }
    }

    /// Looks at the screen from now on.
    pub(crate) fn watched(self) -> Self {
        let (into, mut reader) = (Arc::clone(&self.seen), self.master.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                into.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        self
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until the text is on the screen so many times.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str, times: usize) {
        let start = std::time::Instant::now();
        while self.seen().matches(text).count() < times {
            assert!(start.elapsed().as_secs() < 60, "no {text:?} ({times}) in:\n{}", self.seen());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    pub(crate) fn end(self) -> i32 {
        let mut child = self.child;
        let status = end_of(&mut child);
        Ran::wait(child, "in a terminal".to_owned());
        std::os::unix::process::ExitStatusExt::signal(&status)
            .map_or_else(|| status.code().unwrap(), |signal| 128 + signal)
    }
}
