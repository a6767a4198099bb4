//! `run` renews; when it cannot, or when a lease is lost, it says so, acts, and never touches what is somebody else's.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Child,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::{Agent, BINARY, Ran, Sandbox, allow_short_ttls, store_of, wait_until};

/// A command that says that it has started and waits until the test lets it go on. Asked to end, it says so and ends with 9.
const COMMAND: &str =
    "trap 'touch asked; exit 9' TERM; echo $$ >started; while ! [ -e go-on ]; do sleep 0.01; done; exit 5";

struct Running<'s> {
    agent: Agent<'s>,
    repo: PathBuf,
    child: Child,
}

/// Starts `run` with these arguments around the command, and goes on when that has started.
fn start<'s>(agent: &Agent<'s>, repo: &Path, arguments: &[&str]) -> Running<'s> {
    let words = [&["run"], arguments, &["--", "sh", "-c", COMMAND]].concat();
    let child = agent.command(words).spawn().unwrap();
    wait_until("the command has started", || fs::read(repo.join("started")).is_ok_and(|pid| pid.ends_with(b"\n")));
    Running { agent: agent.clone(), repo: repo.to_owned(), child }
}

impl Running<'_> {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn command(&self) -> Pid {
        let pid = fs::read_to_string(self.repo.join("started")).unwrap();
        Pid::from_raw(pid.trim().parse().unwrap()).unwrap()
    }

    fn go_on(&self) {
        fs::write(self.repo.join("go-on"), "").unwrap();
    }

    fn was_asked(&self) -> bool {
        self.repo.join("asked").exists()
    }

    fn end(self) -> Ran {
        Ran::wait(self.child, "run".to_owned())
    }

    /// Stops the wrapper until its lease has expired.
    fn oversleep(&self, path: &str) {
        self.signal(Signal::STOP);
        wait_until("the lease has expired", || self.agent.env("AGENTLOCK_OWNER", "").run(["check", path]).code() == 0);
    }
}

#[test]
fn leases_are_renewed_at_a_third_of_their_ttl() {
    let (sandbox, repo) = Sandbox::with_repo();
    allow_short_ttls(&repo);
    let a = sandbox.agent(&repo, "A");
    let running = start(&a, &repo, &["src/a", "src/", "--ttl", "3s"]);
    let first = a.json(0, ["list"]).leases;
    wait_until("it is renewed twice", || {
        let now = a.json(0, ["list"]).leases;
        assert_eq!(now.len(), 2, "it never ends");
        let renewed = |n: usize| now[n].renewed_at != first[n].renewed_at && now[n].token == first[n].token;
        renewed(0) && renewed(1) && now[0].renewed_at != now[0].acquired_at
    });
    assert!(a.json(0, ["list"]).leases.iter().all(|lease| lease.remaining_ms > 0));
    running.go_on();
    let ran = running.end();
    assert_eq!((ran.code(), ran.err().as_str()), (5, ""));
    assert_eq!(a.listed(), [""; 0]);
}

#[test]
fn who_overslept_takes_back_what_nobody_took() {
    let (sandbox, repo) = Sandbox::with_repo();
    allow_short_ttls(&repo);
    let a = sandbox.agent(&repo, "A");
    let running = start(&a, &repo, &["src/a", "--ttl", "1s", "--reason", "long work"]);
    let before = a.json(0, ["list"]).leases.remove(0);
    running.oversleep("src/a");
    running.signal(Signal::CONT);
    wait_until("it is held again", || a.holder_of("src/a").as_deref() == Some("A"));
    let again = a.json(0, ["list"]).leases.remove(0);
    assert!(again.token > before.token && again.reason.as_deref() == Some("long work"));
    running.go_on();
    let ran = running.end();
    assert_eq!(ran.code(), 5);
    ran.err_has(&["git-agentlock: warning: src/a: the lease had expired; nobody else has had it since"]);
    assert_eq!(a.listed(), [""; 0]);
}

#[test]
fn a_lost_lease_is_told_and_the_command_asked_to_end_after_a_grace() {
    let (sandbox, repo) = Sandbox::with_repo();
    allow_short_ttls(&repo);
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    let running = start(&a, &repo, &["src/a", "src/b", "--ttl", "1s", "--grace", "2s"]);
    running.oversleep("src/a");
    b.ok(["acquire", "src/a"]);
    running.signal(Signal::CONT);
    let ran = running.end();
    assert_eq!(ran.code(), 9, "as the command ended itself: {ran:?}");
    ran.err_has(&[
        "git-agentlock: warning: the lease on src/a is lost: your lease was lost to B at ",
        "git-agentlock: warning: the command is asked to end in 2s",
        "git-agentlock: warning: asking the command to end (SIGTERM)",
    ]);
    assert_eq!(a.listed(), ["src/a B"], "B's is not touched, the rest is given back");
}

#[test]
fn who_does_not_end_when_asked_is_killed() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    allow_short_ttls(&repo);
    let deaf = "trap '' TERM; touch started; while :; do sleep 0.05; done";
    let words = ["run", "src/a", "--ttl", "600ms", "--grace", "10ms", "--", "sh", "-c", deaf];
    let child = a.command(words).spawn().unwrap();
    wait_until("it has started", || repo.join("started").exists());
    b.ok(["break", "src/a", "--reason", "enough"]);
    let ran = Ran::wait(child, "run".to_owned());
    assert_eq!(ran.code(), 137);
    ran.err_has(&[
        "is lost: your lease was broken by B at ",
        ": enough",
        "asking the command",
        "killing the command (SIGKILL)",
    ]);
}

#[test]
fn kill_kills_at_once() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    allow_short_ttls(&repo);
    let running = start(&a, &repo, &["src/a", "--ttl", "600ms", "--on-lost", "kill", "--grace", "1h"]);
    b.ok(["break", "src/a", "--reason", "enough"]);
    let repo = running.repo.clone();
    let ran = running.end();
    assert_eq!(ran.code(), 137);
    ran.err_has(&["killing the command (SIGKILL)"]);
    assert!(!repo.join("asked").exists());
}

#[test]
fn a_warning_is_given_once_and_the_command_goes_on() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    allow_short_ttls(&repo);
    let running = start(&a, &repo, &["src/a", "src/b", "--ttl", "600ms", "--on-lost", "warn", "--grace", "1ms"]);
    b.ok(["break", "src/a", "--reason", "enough"]);
    b.ok(["acquire", "src/a"]);
    let renewed =
        |a: &Agent<'_>| a.json(0, ["list"]).leases.iter().find(|lease| lease.owner == "A").unwrap().renewed_at.clone();
    for _ in 0..3 {
        let before = renewed(&a);
        wait_until("the other one is renewed", || renewed(&a) != before);
    }
    running.go_on();
    assert!(!running.was_asked());
    let ran = running.end();
    assert_eq!((ran.code(), ran.err().matches("is lost").count()), (5, 1), "{ran:#?}");
    assert_eq!(a.listed(), ["src/a B"]);
}

/// Taken over, given back, and the record as if nothing had been: whoever looks at the record alone is deceived.
#[test]
fn what_somebody_else_has_had_meanwhile_is_lost() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    allow_short_ttls(&repo);
    for taken in ["src/a", "src/", "."] {
        let running = start(&a, &repo, &["src/a", "--ttl", "1s", "--grace", "2s"]);
        running.oversleep("src/a");
        b.ok(["acquire", taken]);
        b.ok(["release", taken]);
        running.signal(Signal::CONT);
        let ran = running.end();
        assert_eq!(ran.code(), 9, "{taken}: {ran:#?}");
        ran.err_has(&[
            "the lease on src/a is lost: ",
            if taken == "src/a" { "lost to B" } else { "somebody else has had it since" },
        ]);
        assert_eq!(b.holder_of("src/a"), None, "{taken}");
        for left in ["started", "asked"] {
            fs::remove_file(repo.join(left)).unwrap();
        }
    }
}

#[test]
fn what_was_lost_since_the_last_renewal_is_told_at_the_end() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    let running = start(&a, &repo, &["src/a"]);
    b.ok(["break", "src/a", "--reason", "enough"]);
    b.ok(["acquire", "src/a"]);
    running.go_on();
    let ran = running.end();
    assert_eq!(ran.code(), 5);
    ran.err_has(&["git-agentlock: warning: the lease on src/a is lost: "]);
    assert_eq!(a.listed(), ["src/a B"]);
}

#[test]
fn a_passing_failure_of_the_store_is_no_loss() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    allow_short_ttls(&repo);
    let running = start(&a, &repo, &["src/a", "--ttl", "20s"]);
    let (store, aside) = (store_of(&repo.join(".git")), repo.join("aside"));
    let before = a.json(0, ["list"]).leases.remove(0);
    // A store of the wrong kind, as long as the first renewal and some more tries take.
    fs::rename(&store, &aside).unwrap();
    fs::write(&store, "").unwrap();
    let (mut err, mut said) = (running.child, String::new());
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(err.stderr.take().unwrap()));
    while !said.contains("trying again") {
        said.push_str(&lines.next().unwrap().unwrap());
    }
    fs::remove_file(&store).unwrap();
    fs::rename(&aside, &store).unwrap();
    while !said.contains("renewed again") {
        said.push_str(&lines.next().unwrap().unwrap());
    }
    assert_eq!(a.json(0, ["list"]).leases.remove(0).token, before.token);
    fs::write(repo.join("go-on"), "").unwrap();
    let ran = Ran::wait(err, "run".to_owned());
    assert_eq!(ran.code(), 5);
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!((rest.concat().as_str(), said.matches("warning").count()), ("", 1), "{said}");
    assert_eq!(a.listed(), [""; 0]);
}

#[test]
fn what_cannot_be_renewed_until_it_ends_is_lost() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    allow_short_ttls(&repo);
    let running = start(&a, &repo, &["src/a", "--ttl", "1s", "--grace", "2s"]);
    let store = store_of(&repo.join(".git"));
    fs::rename(&store, repo.join("aside")).unwrap();
    fs::write(&store, "").unwrap();
    let ran = running.end();
    assert_eq!(ran.code(), 9);
    ran.err_has(&[
        "the leases cannot be renewed: ",
        "the lease on src/a is lost: its time was up while it could not be renewed",
    ]);
}

#[test]
fn when_the_wrapper_is_killed_the_lease_ends_by_itself_and_nothing_of_it_is_left() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    allow_short_ttls(&repo);
    let running = start(&a, &repo, &["src/a", "--ttl", "1s"]);
    let (wrapper, command) = (Pid::from_child(&running.child), running.command());
    let children = |pid: Pid| {
        let pid = pid.as_raw_nonzero();
        fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap().trim().to_owned()
    };
    assert_eq!(children(wrapper), command.as_raw_nonzero().to_string(), "the command is all that was started");
    running.signal(Signal::KILL);
    wait_until("the lease is gone", || sandbox.agent(&repo, "B").run(["acquire", "src/a"]).code() == 0);
    running.go_on();
    assert_eq!(running.end().code(), 137);
}

/// The command may be an agent that works with the same leases.
#[test]
fn a_nested_run_leaves_what_the_outer_one_holds() {
    let (sandbox, repo) = Sandbox::with_repo();
    allow_short_ttls(&repo);
    let a = sandbox.agent(&repo, "A");
    let inner =
        format!("'{BINARY}' run src/a --ttl 1s -- sleep 1.2; '{BINARY}' check --mine src/a --token $AGENTLOCK_TOKEN");
    let ran = a.ok(["run", "src/a", "--ttl", "2s", "--", "sh", "-c", &inner]);
    assert!(ran.err().is_empty(), "{ran:#?}");
}
