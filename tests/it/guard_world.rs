//! Commits by the real git, with a hook that asks the guard and writes down what it has said.
//!
//! The hook is written here, so that these tests do not depend on how hooks are installed. That it was asked at all, and with what exit code
//! it answered, is in a file, since git turns every refusal into the same exit code.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::{ffi::OsStringExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::sandbox::{Agent, Document, Ran, Sandbox};

/// How a script under `fixtures/repos` says that this git cannot make such a repository.
const CANNOT: i32 = 77;

impl Sandbox {
    /// A repository of one of the kinds under `fixtures/repos`: the work tree in which commits are to be made, with the guard in its hooks.
    /// `None`, and visibly so, when this git cannot make one.
    pub(crate) fn fixture(&self, kind: &str) -> Option<PathBuf> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/repos").join(format!("{kind}.sh"));
        let mut command = self.command("/bin/sh", self.root());
        let output = command.arg(script).arg(self.root().join(kind)).output().unwrap();
        if output.status.code() == Some(CANNOT) {
            eprintln!("skipped: this git cannot make a repository of the kind {kind}");
            return None;
        }
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stderr));
        let mut top = output.stdout;
        assert_eq!(top.pop(), Some(b'\n'), "{kind} prints a work tree");
        let top = PathBuf::from(OsString::from_vec(top));
        self.guard_commits(&top);
        Some(top)
    }

    /// A repository with one commit of `src/a` and `src/b`, with the guard in its hooks.
    pub(crate) fn guarded() -> (Self, PathBuf) {
        let sandbox = Self::new();
        let top = sandbox.fixture("plain").unwrap();
        (sandbox, top)
    }

    /// Puts the guard into the two hooks that judge commits.
    pub(crate) fn guard_commits(&self, top: &Path) {
        for name in ["pre-commit", "pre-merge-commit"] {
            self.guard_hook(top, name);
        }
    }

    /// Puts the guard into one hook.
    pub(crate) fn guard_hook(&self, top: &Path, name: &str) {
        let hooks = top.join(self.git(top, &["rev-parse", "--git-path", "hooks"]));
        fs::create_dir_all(&hooks).unwrap();
        let hook = hooks.join(name);
        let text = format!(
            "#!/bin/sh\ngit-agentlock guard --hook {name} \"$@\"\ncode=$?\necho \"{name} $code\" >>\"$GUARD_SAYS\"\nexit $code\n"
        );
        fs::write(&hook, text).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Somebody who commits in a directory; without a name when that is empty.
    pub(crate) fn committer(&self, cwd: &Path, owner: &str) -> Committer<'_> {
        Committer { sandbox: self, cwd: cwd.to_owned(), env: vec![("AGENTLOCK_OWNER".into(), owner.into())] }
    }
}

/// Somebody who makes commits in a directory.
#[derive(Clone)]
pub(crate) struct Committer<'s> {
    sandbox: &'s Sandbox,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl<'s> Committer<'s> {
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub(crate) fn cd(&self, cwd: impl AsRef<Path>) -> Self {
        Self { cwd: self.cwd.join(cwd), ..self.clone() }
    }

    pub(crate) fn env(&self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let mut committer = self.clone();
        committer.env.push((name.as_ref().into(), value.as_ref().into()));
        committer
    }

    /// The same place and environment, for another owner.
    pub(crate) fn named(&self, owner: &str) -> Self {
        self.env("AGENTLOCK_OWNER", owner)
    }

    /// The binary itself, called by an owner from here, in this environment.
    pub(crate) fn agent(&self, owner: &str) -> Agent<'s> {
        let agent = self.env.iter().fold(self.sandbox.nobody(&self.cwd), |agent, (name, value)| agent.env(name, value));
        agent.env("AGENTLOCK_OWNER", owner)
    }

    fn me(&self) -> Agent<'s> {
        self.env.iter().fold(self.sandbox.nobody(&self.cwd), |agent, (name, value)| agent.env(name, value))
    }

    /// Somebody takes a lease on a path, as seen from here.
    #[track_caller]
    pub(crate) fn hold(&self, owner: &str, path: impl AsRef<OsStr>) {
        self.agent(owner).ok([OsStr::new("acquire"), OsStr::new("--"), path.as_ref()]);
    }

    #[track_caller]
    pub(crate) fn give_back(&self, owner: &str, path: impl AsRef<OsStr>) {
        self.agent(owner).ok([OsStr::new("release"), OsStr::new("--"), path.as_ref()]);
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.cwd.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Adds a line, so that the file differs from what it was.
    #[track_caller]
    pub(crate) fn change(&self, path: impl AsRef<Path>) {
        let path = self.cwd.join(path);
        let mut content = fs::read(&path).unwrap();
        content.extend(b"x\n");
        fs::write(path, content).unwrap();
    }

    /// Runs git. What the guard says then is in [`Self::said`].
    pub(crate) fn git<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        let says = self.says();
        fs::write(&says, "").unwrap();
        let mut command = self.sandbox.command("git", &self.cwd);
        command.args(arguments).env("GUARD_SAYS", says).env("GIT_EDITOR", "true").envs(self.env.iter().cloned());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ran::of(command)
    }

    /// Runs git, and expects that it succeeds, whatever the guard says.
    #[track_caller]
    pub(crate) fn ok<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        let ran = self.git(arguments);
        assert_eq!(ran.code(), 0, "{ran:#?}");
        ran
    }

    fn says(&self) -> PathBuf {
        self.sandbox.root().join("guard-says")
    }

    /// The hooks that were run by the last git, each with the guard's exit code.
    pub(crate) fn said(&self) -> Vec<String> {
        fs::read_to_string(self.says()).unwrap().lines().map(str::to_owned).collect()
    }

    fn head(&self) -> Option<Vec<u8>> {
        let mut command = self.sandbox.command("git", &self.cwd);
        command.args(["rev-parse", "-q", "--verify", "HEAD"]).envs(self.env.iter().cloned());
        let output = command.output().unwrap();
        output.status.success().then_some(output.stdout)
    }

    /// A commit that the guard lets pass, without a word.
    #[track_caller]
    pub(crate) fn passes<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        let ran = self.passes_with_words(arguments);
        assert!(
            !ran.err().lines().any(|line| line.starts_with("warning: ") || line.starts_with("error: ")),
            "{ran:#?}"
        );
        ran
    }

    /// A commit that the guard lets pass, whatever it says.
    #[track_caller]
    pub(crate) fn passes_with_words<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        let before = self.head();
        let ran = self.git(arguments);
        let said = self.said();
        assert_eq!(ran.code(), 0, "{said:?} {ran:#?}");
        assert!(said.len() == 1 && said[0].ends_with(" 0"), "the guard was asked, and let it pass: {said:?} {ran:#?}");
        assert_ne!(self.head(), before, "a commit was made: {ran:#?}");
        ran
    }

    /// A commit that the guard refuses because of these paths, no other, each on one line.
    #[track_caller]
    pub(crate) fn refused<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, blamed: &[&str]) -> Ran {
        let ran = self.stopped(1, arguments);
        is_blamed("error", &ran, blamed);
        ran
    }

    /// A commit that the guard stops with this exit code.
    #[track_caller]
    pub(crate) fn stopped<S: AsRef<OsStr>>(&self, code: i32, arguments: impl IntoIterator<Item = S>) -> Ran {
        let before = self.head();
        let ran = self.git(arguments);
        let said = self.said();
        assert_ne!(ran.code(), 0, "{said:?} {ran:#?}");
        assert!(said.len() == 1 && said[0].ends_with(&format!(" {code}")), "stopped with {code}: {said:?} {ran:#?}");
        assert_eq!(self.head(), before, "no commit was made: {ran:#?}");
        ran
    }

    /// The guard itself, not through a hook, and its exit code.
    #[track_caller]
    pub(crate) fn judged(&self, code: i32) -> Ran {
        let ran = self.me().expect(code, ["guard"]);
        assert_eq!(ran.out(), "", "nothing on stdout: {ran:#?}");
        ran
    }

    /// The same, as JSON.
    #[track_caller]
    pub(crate) fn judged_json(&self, code: i32) -> Document {
        self.me().json(code, ["guard"])
    }
}

/// These paths, as they are shown, are named in messages of this level, one a line, and no others.
#[track_caller]
pub(crate) fn is_blamed(level: &str, ran: &Ran, blamed: &[&str]) {
    let text = ran.err();
    let level = format!("{level}: cannot commit ");
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&level)).collect();
    assert_eq!(lines.len(), blamed.len(), "{blamed:?} are blamed: {ran:#?}");
    for path in blamed {
        let of_path = lines.iter().filter(|line| line.strip_prefix(path).is_some_and(|rest| rest.starts_with(": ")));
        assert_eq!(of_path.count(), 1, "{path:?} is blamed: {ran:#?}");
    }
}
