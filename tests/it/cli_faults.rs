//! What certain system calls that fail are told as, and a mutex that is never free. `every_system_call` tries them all.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::sandbox::{Agent, Ran, Sandbox, records, store_of, tree};

fn injected<'s>(agent: &Agent<'s>, what: &str) -> Agent<'s> {
    agent.by(["strace", "-qq", "-f", "-o", "/dev/null", "-e", &format!("inject={what}"), "--"])
}

/// The records of a repository, byte for byte.
fn state(repo: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let records = records(&store_of(&repo.join(".git")));
    records.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// A situation, and the call that is made in it. `A` makes it.
struct Scene {
    name: &'static str,
    prepare: fn(&Sandbox, &Path),
    call: &'static [&'static str],
    /// Whether `A` holds `src/a` before, and after a success.
    held: (bool, bool),
}

fn a(sandbox: &Sandbox, repo: &Path) {
    sandbox.agent(repo, "A").ok(["acquire", "src/a"]);
}

fn b_expired(sandbox: &Sandbox, repo: &Path) {
    sandbox.agent(repo, "B").let_expire("src/a");
}

const ACQUIRE: &[&str] = &["acquire", "src/a"];

const SCENES: [Scene; 8] = [
    Scene { name: "first use", prepare: |_, _| {}, call: ACQUIRE, held: (false, true) },
    Scene {
        name: "second use",
        prepare: |sandbox, repo| {
            sandbox.agent(repo, "B").ok(["acquire", "src/b"]);
        },
        call: ACQUIRE,
        held: (false, true),
    },
    Scene { name: "takeover", prepare: b_expired, call: ACQUIRE, held: (false, true) },
    Scene { name: "again", prepare: a, call: ACQUIRE, held: (true, true) },
    Scene { name: "several", prepare: |_, _| {}, call: &["acquire", "src/a", "x", "y", "lib/"], held: (false, true) },
    Scene { name: "renew", prepare: a, call: &["renew", "src/a"], held: (true, true) },
    Scene { name: "release", prepare: a, call: &["release", "src/a"], held: (true, false) },
    Scene {
        name: "release after takeover",
        prepare: |sandbox, repo| {
            b_expired(sandbox, repo);
            a(sandbox, repo);
        },
        call: &["release", "src/a"],
        held: (true, false),
    },
];

impl Scene {
    /// The situation, as often as it is needed.
    fn set(&self, sandbox: &Sandbox) -> impl FnMut() -> PathBuf {
        let model = sandbox.repo("model");
        (self.prepare)(sandbox, &model);
        let (root, copy) = (sandbox.root().to_owned(), sandbox.root().join("copy"));
        move || {
            let _ = fs::remove_dir_all(&copy);
            let copied = std::process::Command::new("cp").args(["-a", "model", "copy"]).current_dir(&root).status();
            assert!(copied.unwrap().success());
            copy.clone()
        }
    }

    fn changes_a_lease_that_is_there(&self) -> bool {
        self.held.0
    }
}

/// A run in which the call with this number fails; `None` when there was no such call.
fn with_error(
    sandbox: &Sandbox,
    agent: &Agent<'_>,
    name: &str,
    error: &str,
    number: usize,
    arguments: &[&str],
) -> Option<Ran> {
    let log = sandbox.root().join("log");
    let (trace, inject) = (format!("trace={name}"), format!("inject={name}:error={error}:when={number}"));
    let by = ["strace", "-qq", "-f", "-o", log.to_str().unwrap(), "-e", &trace, "-e", &inject, "--"];
    let ran = agent.by(by).run(arguments);
    fs::read_to_string(&log).unwrap().contains("(INJECTED)").then_some(ran)
}

#[test]
#[ignore = "needs strace"]
fn a_sync_that_fails_late_undoes_an_acquire_and_only_warns_for_renew_and_release() {
    for scene in &SCENES {
        let sandbox = Sandbox::new();
        let mut set = scene.set(&sandbox);
        let repo = set();
        let agent = sandbox.agent(&repo, "A");
        let mut codes = Vec::new();
        for number in 1.. {
            set();
            let Some(ran) = with_error(&sandbox, &agent, "fsync", "EIO", number, scene.call) else { break };
            codes.push((ran.code(), ran.err().contains("warning: done, but it may not survive a power loss")));
        }
        let expected = match scene.call[0] {
            "acquire" => codes.iter().all(|ended| *ended == (4, false)) && codes.len() >= 2,
            "renew" => codes == [(4, false), (0, true)],
            _ => codes.last() == Some(&(0, true)) && codes.iter().all(|(code, _)| *code == 0),
        };
        assert!(expected, "{}: {codes:?}", scene.name);
    }
}

/// C20.
#[test]
#[ignore = "needs strace"]
fn an_interrupted_flock_is_tried_again() {
    for scene in &SCENES {
        let sandbox = Sandbox::new();
        let mut set = scene.set(&sandbox);
        for last in 1..=3 {
            let repo = set();
            let agent = sandbox.agent(&repo, "A");
            injected(&agent, &format!("flock:error=EINTR:when=1..{last}")).ok(scene.call);
            assert_eq!(agent.holder_of("src/a").is_some(), scene.held.1);
        }
    }
}

#[test]
#[ignore = "needs strace"]
fn an_flock_that_fails_is_neither_contention_nor_a_permission_to_go_on_without() {
    for scene in &SCENES {
        let sandbox = Sandbox::new();
        let mut set = scene.set(&sandbox);
        for error in ["ENOLCK", "EIO", "EBADF", "ENOSYS"] {
            // Gate, mutex, shard.
            for number in 1..=3 {
                let repo = set();
                let agent = sandbox.agent(&repo, "A");
                let before = state(&repo);
                let broken = injected(&agent, &format!("flock:error={error}:when={number}+"));
                broken.expect(4, scene.call).err_has(&["cannot take the mutex", "hint: no lease was changed"]);
                assert_eq!(state(&repo), before);
                broken.ok(["list"]);
                assert_eq!(broken.run(["check", "src/a"]).code(), 0, "looking takes no mutex");
                if scene.changes_a_lease_that_is_there() {
                    agent.ok(["check", "--mine", "src/a"]);
                }
            }
        }
    }
}

#[test]
#[ignore = "needs strace"]
fn an_flock_that_is_contended_for_ever_ends_after_a_bounded_wait() {
    let (sandbox, repo) = Sandbox::with_repo();
    let start = Instant::now();
    let stuck = injected(&sandbox.agent(&repo, "A"), "flock:error=EAGAIN");
    stuck.expect(4, ACQUIRE).err_has(&["the mutex", "was busy for 10 s", "hint: try again"]);
    assert!(start.elapsed() >= Duration::from_secs(10));
    assert!(state(&repo).is_empty());
}

/// Without it, two names of one file would be two.
#[test]
#[ignore = "needs strace"]
fn a_configuration_of_git_that_cannot_be_read_is_not_passed_over() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    sandbox.git(&repo, &["config", "core.ignorecase", "true"]);
    a.ok(["acquire", "SRC/A"]);
    let before = state(&repo);
    let config = repo.join(".git/config");
    for fault in ["openat:error=EACCES", "openat:error=EMFILE", "openat:error=EMFILE:when=1", "read:error=EIO:when=1"] {
        let inject = format!("inject={fault}");
        let by = ["strace", "-qq", "-f", "-o", "/dev/null", "-P", config.to_str().unwrap(), "-e", &inject, "--"];
        // What fails once is read a second time, and then the answer is the true one.
        let (code, says): (_, &[&str]) = match fault.ends_with(":when=1") {
            true => (1, &["SRC/A is held by A"]),
            false => (4, &["/.git/config", "hint: "]),
        };
        b.by(by).expect(code, ACQUIRE).err_has(says);
        b.by(by).expect(code, ["check", "src/a"]);
        assert_eq!(state(&repo), before, "{fault}");
    }
    fs::write(&config, "").unwrap();
    b.ok(["list"]);
    fs::remove_file(&config).unwrap();
    b.ok(["list"]);
}

#[test]
#[ignore = "needs strace"]
fn a_newer_store_that_cannot_be_looked_at_is_left_alone() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(ACQUIRE);
    fs::create_dir(repo.join(".git/agent-locks/v2")).unwrap();
    let before = state(&repo);
    for number in 1.. {
        let ran = with_error(&sandbox, &a, "newfstatat", "EIO", number, &["release", "src/a"]);
        let Some(ran) = ran else { break };
        assert_eq!((ran.code(), state(&repo)), (4, before.clone()), "{number}: {ran:#?}");
    }
}

/// It may be one, and then the answer is another; that it cannot be looked at is nothing the caller can mend by another spelling.
#[test]
#[ignore = "needs strace"]
fn a_directory_that_cannot_be_looked_at_is_not_taken_for_a_file() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(ACQUIRE);
    let dir = repo.join("src");
    let by =
        ["strace", "-qq", "-f", "-o", "/dev/null", "-P", dir.to_str().unwrap(), "-e", "inject=%%stat:error=EIO", "--"];
    for call in [ACQUIRE, &["renew", "src/a"], &["release", "src/a"], &["acquire", "src/new/x"], &["acquire", "src/"]] {
        a.by(by).expect(4, call).err_has(&["cannot look at", "Input/output error"]);
    }
    a.ok(["check", "--mine", "src/a"]);
}

/// Without strace: a mutex that somebody really sits on.
#[test]
fn a_mutex_that_somebody_sits_on_is_waited_for_no_longer_than_ten_seconds_and_its_holder_is_named() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(ACQUIRE);
    let mutex = File::open(store_of(&repo.join(".git")).join("mutex")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "somebody has to sit on it")]
    mutex.lock().unwrap();
    let before = tree(&repo);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let calls = [&["acquire", "src/b"][..], &["renew", "src/a"], &["release", "src/a"]];
        let a = &a;
        let calls = calls.map(|call| scope.spawn(move || a.expect(4, call)));
        let told = calls.map(|call| {
            let ran = call.join().unwrap();
            ran.err_has(&["the mutex", "was busy for 10 s", "hint: try again"]);
            ran.err()
        });
        // The others stand in the turnstile behind the one that waits for this mutex.
        let named = format!("process {} sits on it", std::process::id());
        assert!(cfg!(not(target_os = "linux")) || told.iter().any(|told| told.contains(&named)), "{told:?}");
        b.expect(1, ["check", "src/a"]);
        b.ok(["list"]);
    });
    assert!(start.elapsed() >= Duration::from_secs(10));
    assert_eq!(tree(&repo), before);
    mutex.unlock().unwrap();
    a.ok(["release", "src/a"]);
}
