//! A world of its own for each test: home, configuration and repositories in a temporary directory, nothing inherited but `PATH`.
//!
//! Every run of the binary is checked for what holds always: no panic, no control byte on either stream, no run without an end, and
//! `--json` is one document that says of itself what the exit code says.

#![allow(dead_code, reason = "the names in JSON are a contract; not every one is looked at")]

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    io::Write as _,
    os::unix::{ffi::OsStrExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Once, mpsc},
    time::{Duration, Instant},
};

use serde::Deserialize;

/// No run takes so long, however slow the machine is. One that does hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_git-agentlock");

pub(crate) struct Sandbox {
    root: PathBuf,
    _dir: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        ignore_no_signals();
        let dir = tempfile::Builder::new().prefix("agentlock-").tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("home/.config")).unwrap();
        fs::create_dir(root.join("tmp")).unwrap();
        let config = "[user]\n\tname = t\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n";
        fs::write(root.join("home/gitconfig"), config).unwrap();
        Self { root, _dir: dir }
    }

    /// A sandbox with one repository, `r`.
    pub(crate) fn with_repo() -> (Self, PathBuf) {
        let sandbox = Self::new();
        let repo = sandbox.repo("r");
        (sandbox, repo)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// A repository with one commit of `src/a` and `src/b`.
    pub(crate) fn repo(&self, name: &str) -> PathBuf {
        self.repo_of(name, &[])
    }

    /// The same, with more arguments for `git init`.
    pub(crate) fn repo_of(&self, name: &str, init: &[&str]) -> PathBuf {
        let repo = self.root.join(name);
        self.git(&self.root, &[&["init", "-q"], init, &[name]].concat());
        fs::create_dir(repo.join("src")).unwrap();
        fs::write(repo.join("src/a"), "1\n").unwrap();
        fs::write(repo.join("src/b"), "1\n").unwrap();
        self.git(&repo, &["add", "."]);
        self.git(&repo, &["commit", "-qm", "init"]);
        repo
    }

    /// Whether git can do this; what it leaves is in a directory of its own.
    pub(crate) fn git_can(&self, arguments: &[&str]) -> bool {
        let place = self.root.join("can");
        fs::create_dir_all(&place).unwrap();
        self.command("git", &place).args(arguments).output().unwrap().status.success()
    }

    pub(crate) fn git(&self, cwd: &Path, arguments: &[&str]) -> String {
        let output = self.command("git", cwd).args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?} in {}: {stderr}", cwd.display());
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// A command in this world.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>, cwd: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(cwd).env_clear().stdin(Stdio::null());
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        command
    }

    fn environment(&self) -> Vec<(&'static str, OsString)> {
        let home = self.home();
        #[expect(clippy::disallowed_methods, reason = "the tools have to be found")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = Path::new(BINARY).parent().unwrap().to_owned();
        let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&path))).unwrap();
        vec![
            ("PATH", path),
            ("HOME", home.clone().into()),
            ("XDG_CONFIG_HOME", home.join(".config").into()),
            ("GIT_CONFIG_GLOBAL", home.join("gitconfig").into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_CEILING_DIRECTORIES", self.root.parent().unwrap().into()),
            ("TMPDIR", self.root.join("tmp").into()),
            ("LC_ALL", "C".into()),
            ("RUST_BACKTRACE", "1".into()),
        ]
    }

    /// Somebody without a name, in a directory.
    pub(crate) fn nobody(&self, cwd: &Path) -> Agent<'_> {
        let (program, cwd) = (PathBuf::from(BINARY), cwd.to_owned());
        Agent { sandbox: self, program, cwd, env: Vec::new(), before: Vec::new(), stdin: None }
    }

    /// An agent in a directory.
    pub(crate) fn agent(&self, cwd: &Path, owner: &str) -> Agent<'_> {
        self.nobody(cwd).env("AGENTLOCK_OWNER", owner)
    }
}

/// Who calls, from where, and how.
#[derive(Clone)]
pub(crate) struct Agent<'s> {
    sandbox: &'s Sandbox,
    program: PathBuf,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    before: Vec<OsString>,
    stdin: Option<Vec<u8>>,
}

impl Agent<'_> {
    pub(crate) fn cd(&self, cwd: impl AsRef<Path>) -> Self {
        Self { cwd: self.cwd.join(cwd), ..self.clone() }
    }

    pub(crate) fn env(&self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let mut agent = self.clone();
        agent.env.push((name.as_ref().into(), value.as_ref().into()));
        agent
    }

    /// Another build of the binary.
    pub(crate) fn with_program(&self, program: &Path) -> Self {
        Self { program: program.to_owned(), ..self.clone() }
    }

    /// Run by another command, such as strace.
    pub(crate) fn by<S: AsRef<OsStr>>(&self, before: impl IntoIterator<Item = S>) -> Self {
        Self { before: before.into_iter().map(|word| word.as_ref().to_owned()).collect(), ..self.clone() }
    }

    /// Run by somebody else than root. Everything in the sandbox is theirs from now on.
    pub(crate) fn as_user(&self, uid: u32) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let (root, id) = (self.sandbox.root(), uid.to_string());
        let program = root.join("git-agentlock");
        put_program(Path::new(BINARY), &program);
        fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
        let chown = self.sandbox.command("chown", root).args(["-R", &format!("{id}:{id}"), "."]).status().unwrap();
        assert!(chown.success());
        let before = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"];
        Self { program, ..self.by(before) }
    }

    /// Another file of the same program.
    pub(crate) fn program(&self, program: &Path) -> Self {
        Self { program: program.to_owned(), ..self.clone() }
    }

    pub(crate) fn stdin(&self, bytes: impl Into<Vec<u8>>) -> Self {
        Self { stdin: Some(bytes.into()), ..self.clone() }
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let program = self.program.clone().into_os_string();
        let mut words = self.before.iter().chain(std::iter::once(&program));
        let mut command = self.sandbox.command(words.next().unwrap(), &self.cwd);
        command.args(words).args(arguments).envs(self.env.iter().cloned());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        let mut command = self.command(arguments);
        let Some(bytes) = &self.stdin else { return Ran::of(command) };
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let fed = child.stdin.take().unwrap().write_all(bytes);
        assert!(fed.is_ok_and(|()| true), "stdin was read");
        Ran::wait(child, format!("{command:?}"))
    }

    /// Runs, and expects this exit code.
    #[track_caller]
    pub(crate) fn expect<S: AsRef<OsStr>>(&self, code: i32, arguments: impl IntoIterator<Item = S>) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.status.code(), Some(code), "{ran:#?}");
        ran
    }

    #[track_caller]
    pub(crate) fn ok<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        self.expect(0, arguments)
    }

    /// Runs with `--json`, and expects this exit code.
    #[track_caller]
    pub(crate) fn json<S: AsRef<OsStr>>(&self, code: i32, arguments: impl IntoIterator<Item = S>) -> Document {
        let arguments = std::iter::once(OsString::from("--json"))
            .chain(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self.expect(code, arguments).document()
    }

    /// What `check` says about a path to somebody who holds nothing: the owner, when it is held.
    #[track_caller]
    pub(crate) fn holder_of(&self, path: impl AsRef<OsStr>) -> Option<String> {
        let arguments = [OsStr::new("--json"), OsStr::new("check"), OsStr::new("--"), path.as_ref()];
        let ran = self.env("AGENTLOCK_OWNER", "").run(arguments);
        let document = ran.document();
        let owners: BTreeSet<_> =
            document.conflicts.into_iter().map(|conflict| conflict.owner.expect("an owner")).collect();
        assert!(matches!((ran.code(), owners.len()), (0, 0) | (1, 1)), "{ran:#?}");
        owners.into_iter().next()
    }

    /// Every lease there is, as `resource owner`, in the order of the list.
    #[track_caller]
    pub(crate) fn listed(&self) -> Vec<String> {
        self.json(0, ["list"]).leases.iter().map(|lease| format!("{} {}", lease.resource.name(), lease.owner)).collect()
    }

    /// Makes a lease of this agent that has expired. How long that takes depends on how slow the machine is, so the TTL grows until it is long
    /// enough to be granted.
    #[track_caller]
    pub(crate) fn let_expire(&self, path: &str) {
        allow_short_ttls(&self.cwd);
        let mut ttl_ms = 2;
        loop {
            let ran = self.run(["acquire", path, "--ttl", &format!("{ttl_ms}ms")]);
            match ran.code() {
                0 => break,
                4 if ttl_ms < 60_000 && ran.err().contains("too slow") => ttl_ms *= 4,
                _ => panic!("{ran:#?}"),
            }
        }
        wait_until("the lease has expired", || {
            let document = self.env("AGENTLOCK_OWNER", "").run(["--json", "check", path]).document();
            document.results.unwrap()[0].stale_owner.is_some()
        });
    }
}

/// Lets everybody in the repository at `cwd` take leases that end at once.
pub(crate) fn allow_short_ttls(cwd: &Path) {
    let git_dir = cwd.ancestors().map(|dir| dir.join(".git")).find(|git_dir| git_dir.is_dir()).unwrap();
    fs::write(git_dir.join("agentlock.toml"), "[ttl]\nmin = \"1ms\"\n").unwrap();
}

/// Puts a program somewhere. Another process does it: while this one has a file open for writing, a child that some other test is just starting
/// inherits that, and the system runs no program that is open for writing.
pub(crate) fn put_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-f").args([from, to]).status().unwrap();
    assert!(copied.success());
}

/// Waits for a condition, not for a time.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits for the end of a process, not for ever.
#[track_caller]
pub(crate) fn end_of(child: &mut Child) -> ExitStatus {
    let mut ended = None;
    wait_until("the process has ended", || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    ended.unwrap()
}

/// What this process ignores its children would ignore too, and whoever started the tests may well ignore INT and QUIT (a shell, for jobs in
/// the background) or HUP (`nohup`). A handler that does nothing is as good here, and is not inherited.
fn ignore_no_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map_or("0", str::trim);
        let ignored = u64::from_str_radix(ignored, 16).unwrap();
        for signal in [SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2] {
            if ignored & (1 << (signal - 1)) != 0 {
                signal_hook::flag::register(signal, Arc::default()).unwrap();
            }
        }
    });
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Bytes,
    pub(crate) stderr: Bytes,
    command: String,
}

pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.escape_ascii().to_string().replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'"))
    }
}

impl Ran {
    pub(crate) fn of(mut command: Command) -> Self {
        let child = command.spawn().unwrap();
        Self::wait(child, format!("{command:?}"))
    }

    /// Waits for the end, and no longer than that can take.
    pub(crate) fn wait(child: Child, command: String) -> Self {
        let pid = child.id();
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || send.send(child.wait_with_output()));
        let Ok(output) = receive.recv_timeout(PATIENCE) else {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            panic!("{command} does not end");
        };
        let output = output.unwrap();
        let ran = Self { status: output.status, stdout: Bytes(output.stdout), stderr: Bytes(output.stderr), command };
        ran.holds_always();
        ran
    }

    /// The exit code; 128 and the signal for one that was killed.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.stdout.0.clone()).expect("stdout is UTF-8")
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.stderr.0.clone()).expect("stderr is UTF-8")
    }

    #[track_caller]
    pub(crate) fn document(&self) -> Document {
        serde_json::from_slice(&self.stdout.0).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    #[track_caller]
    pub(crate) fn err_has(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.err().contains(text), "no {text:?} on stderr: {self:#?}");
        }
        self
    }

    #[track_caller]
    pub(crate) fn out_has(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.out().contains(text), "no {text:?} on stdout: {self:#?}");
        }
        self
    }

    fn holds_always(&self) {
        assert_ne!(self.status.code(), Some(101), "{self:#?}");
        let raw = self.command.contains("\"-z\"") || self.command.contains("\"always\"");
        // Between what is offered for completion and what it is.
        let tabs = self.command.contains("\"completions\"");
        for stream in [&self.stdout.0, &self.stderr.0] {
            assert!(!has(stream, "panicked") && !has(stream, "RUST_BACKTRACE"), "{self:#?}");
            let text = String::from_utf8_lossy(stream);
            assert!(
                raw || !text.chars().any(|c| c.is_control() && c != '\n' && !(tabs && c == '\t')),
                "a control character: {self:#?}"
            );
        }
        if self.command.contains("\"--json\"") && !self.stdout.0.is_empty() {
            let document = self.document();
            assert_eq!((document.schema, document.ok), (1, self.status.success()), "{self:#?}");
            assert_eq!(document.error.is_none(), document.ok, "{self:#?}");
            assert_eq!(self.stdout.0.iter().filter(|byte| **byte == b'\n').count(), 1, "one line: {self:#?}");
        }
    }
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Everything below a directory: names, kinds, modes, inodes, times of change and contents.
pub(crate) fn tree(dir: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(path) = todo.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        let content = if meta.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let (changed, ns) = (meta.mtime(), meta.mtime_nsec());
        let name = path.as_os_str().as_bytes().escape_ascii();
        let content = content.escape_ascii();
        found.push(format!("{name} {:o} {} {changed}.{ns} {} {content}", meta.mode(), meta.ino(), meta.len()));
        if meta.is_dir() {
            todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found.sort();
    found
}

/// The store inside of a git directory.
pub(crate) fn store_of(git_dir: &Path) -> PathBuf {
    git_dir.join("agent-locks/v1")
}

/// The files in a store whose names end so.
pub(crate) fn files(store: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for shard in
        fs::read_dir(store).into_iter().flatten().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        let inside = fs::read_dir(shard).unwrap().map(|entry| entry.unwrap().path());
        found.extend(inside.filter(|path| is_wanted(path.file_name().unwrap().to_str().unwrap())));
    }
    found.sort();
    found
}

pub(crate) fn records(store: &Path) -> Vec<PathBuf> {
    files(store, |name| name.ends_with(".lock"))
}

pub(crate) fn left_overs(store: &Path) -> Vec<PathBuf> {
    files(store, |name| name != "mutex" && !name.ends_with(".lock"))
}

/// The contract of `--json`: these names, no others.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    pub(crate) schema: u32,
    pub(crate) command: String,
    pub(crate) ok: bool,
    pub(crate) locked: bool,
    pub(crate) warnings: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) leases: Vec<Lease>,
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) results: Option<Vec<Outcome>>,
    pub(crate) unreadable: Option<Vec<Unreadable>>,
    pub(crate) owner: Option<KnownOwner>,
    pub(crate) policy: Option<Vec<Setting>>,
    pub(crate) ttl: Option<Vec<Limits>>,
    pub(crate) findings: Option<Vec<Finding>>,
    pub(crate) history: Option<Vec<Past>>,
    pub(crate) hooks: Option<Vec<Hook>>,
    pub(crate) files: Option<Vec<PutFile>>,
    pub(crate) store: Option<String>,
    pub(crate) error: Option<Failure>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resource {
    pub(crate) kind: String,
    pub(crate) path: Option<String>,
    pub(crate) path_bytes: Option<String>,
    pub(crate) work_tree: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) r#type: Option<String>,
    pub(crate) id: Option<String>,
}

impl Resource {
    /// As people see it.
    pub(crate) fn name(&self) -> String {
        match (self.kind.as_str(), &self.path) {
            ("file", Some(path)) => path.clone(),
            ("area", Some(path)) => format!("{}/", path.trim_end_matches('/')),
            _ => format!("{}:{}", self.r#type.as_deref().unwrap(), self.id.as_deref().unwrap()),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lease {
    pub(crate) resource: Resource,
    pub(crate) owner: String,
    pub(crate) token: u64,
    pub(crate) state: String,
    pub(crate) fresh: Option<bool>,
    pub(crate) stale_owner: Option<String>,
    pub(crate) acquired_at: String,
    pub(crate) renewed_at: String,
    pub(crate) expires_at: String,
    pub(crate) ttl_ms: u64,
    pub(crate) remaining_ms: i64,
    pub(crate) reason: Option<String>,
    pub(crate) host: String,
    pub(crate) pid: u32,
}

/// What was wanted, and either the lease or the damaged record that stands in the way.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conflict {
    pub(crate) wanted: Resource,
    pub(crate) resource: Option<Resource>,
    pub(crate) owner: Option<String>,
    pub(crate) token: Option<u64>,
    pub(crate) state: Option<String>,
    pub(crate) fresh: Option<bool>,
    pub(crate) stale_owner: Option<String>,
    pub(crate) acquired_at: Option<String>,
    pub(crate) renewed_at: Option<String>,
    pub(crate) expires_at: Option<String>,
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) remaining_ms: Option<i64>,
    pub(crate) reason: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) pid: Option<u32>,
    pub(crate) unreadable: Option<Unreadable>,
    pub(crate) waiting_since: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outcome {
    pub(crate) resource: Resource,
    pub(crate) outcome: String,
    pub(crate) stale_owner: Option<String>,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unreadable {
    pub(crate) place: String,
    pub(crate) cause: String,
    pub(crate) held_until: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownOwner {
    pub(crate) id: String,
    pub(crate) source: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) layer: String,
    pub(crate) file: Option<String>,
    pub(crate) line: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) resource: Resource,
    pub(crate) default_ms: u64,
    pub(crate) min_ms: u64,
    pub(crate) max_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

/// What `doctor` has found.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) remedy: String,
    pub(crate) fixed: bool,
}

/// A hook, as `hook` tells it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hook {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) state: String,
    pub(crate) chained: Option<String>,
    pub(crate) message: String,
}

/// What `setup` has done with a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutFile {
    pub(crate) path: String,
    pub(crate) state: String,
}

/// A line of `log`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Past {
    pub(crate) at: String,
    pub(crate) event: String,
    pub(crate) resource: Option<Resource>,
    pub(crate) owner: Option<String>,
    pub(crate) token: Option<u64>,
    pub(crate) other: Option<String>,
    pub(crate) reason: Option<String>,
}
