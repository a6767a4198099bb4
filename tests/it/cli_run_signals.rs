//! `run` and signals, without a terminal: what is meant for the command reaches it once, and nothing is left behind.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::sandbox::{Agent, PATIENCE, Ran, Sandbox, end_of, wait_until};

/// Says each signal that comes, and ends when `go-on` is there, with 40 and the number of signals.
const TELL: &str = "for s in HUP INT QUIT TERM USR1 USR2 ALRM; do trap \"n=\\$((n+1)); echo $s\" $s; done
    echo ready $$; while ! [ -e go-on ]; do sleep 0.01; done; exit $((40 + n))";

struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
    command: Pid,
}

fn start(agent: &Agent<'_>, script: &str) -> Running {
    let mut child = agent.command(["run", "src/a", "--", "sh", "-c", script]).spawn().unwrap();
    let (send, lines) = mpsc::channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    let ready = lines.recv_timeout(PATIENCE).unwrap();
    let pid = ready.strip_prefix("ready ").expect(&ready).parse().unwrap();
    Running { child, lines, command: Pid::from_raw(pid).unwrap() }
}

impl Running {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn says(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("it says something")
    }

    fn end(self) -> Ran {
        Ran::wait(self.child, "run".to_owned())
    }
}

fn go_on(repo: &Path) {
    fs::write(repo.join("go-on"), "").unwrap();
}

#[test]
fn each_signal_is_passed_on_once() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let running = start(&a, TELL);
    let all = [
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
        (Signal::TERM, "TERM"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::ALARM, "ALRM"),
    ];
    for (signal, name) in all {
        running.signal(signal);
        assert_eq!(running.says(), name);
    }
    assert_eq!(a.holder_of("src/a").as_deref(), Some("A"), "held until the command has ended");
    go_on(&repo);
    let ran = running.end();
    assert_eq!((ran.code(), ran.err().as_str()), (47, ""), "seven signals");
    assert_eq!(a.listed(), [""; 0]);
}

#[test]
fn a_command_that_dies_of_a_signal_passed_on_leaves_its_code_and_no_lease() {
    for (signal, code) in
        [(Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131), (Signal::TERM, 143), (Signal::USR1, 138)]
    {
        let (sandbox, repo) = Sandbox::with_repo();
        let a = sandbox.agent(&repo, "A");
        let running = start(&a, "echo ready $$; exec sleep 300");
        running.signal(signal);
        assert_eq!(running.end().code(), code);
        assert_eq!(a.listed(), [""; 0]);
    }
}

/// Runs a test of this file in surroundings that a command makes for it.
#[track_caller]
fn passes_under(surroundings: &[&str], test: &str) {
    let itself = std::env::current_exe().unwrap();
    let mut command = Command::new(surroundings[0]);
    command.args(&surroundings[1..]).arg(itself).args(["--exact", &format!("cli_run_signals::{test}")]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(end_of(&mut child).success(), "{test}");
}

/// A shell starts its background jobs so, and `nohup` what it is given.
#[test]
fn these_tests_do_not_depend_on_what_is_ignored_where_they_were_started() {
    let ignoring = ["sh", "-c", "trap '' HUP INT QUIT TERM USR1 CHLD; exec \"$@\"", "sh"];
    passes_under(&ignoring, "a_command_that_dies_of_a_signal_passed_on_leaves_its_code_and_no_lease");
}

/// As sandboxes and containers have it: there our process group, session and parent have no numbers.
#[test]
#[ignore = "needs root and PID namespaces"]
fn signals_are_passed_on_where_the_process_group_is_that_of_somebody_outside_of_our_pid_namespace() {
    for test in [
        "each_signal_is_passed_on_once",
        "a_command_that_dies_of_a_signal_passed_on_leaves_its_code_and_no_lease",
        "two_interrupts_leave_no_orphan_and_no_lease",
        "what_is_ignored_is_ignored_by_the_command_too",
        "a_stopped_command_keeps_its_lease_where_nobody_would_continue_us",
    ] {
        passes_under(&["unshare", "--pid", "--fork", "--kill-child"], test);
    }
}

#[test]
fn two_interrupts_leave_no_orphan_and_no_lease() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let running = start(&a, "trap 'echo cleaning; sleep 0.3; exit 5' INT; echo ready $$; while :; do sleep 0.01; done");
    let command = running.command;
    running.signal(Signal::INT);
    assert_eq!(running.says(), "cleaning");
    running.signal(Signal::INT);
    assert_eq!(running.end().code(), 5, "it cleaned up in peace");
    assert!(test_kill_process(command).is_err(), "and is gone");
    assert_eq!(a.listed(), [""; 0]);
}

/// As `nohup` and a shell's background jobs have it.
#[test]
fn what_is_ignored_is_ignored_by_the_command_too() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A").by(["sh", "-c", "trap '' HUP INT CHLD; exec \"$@\"", "sh"]);
    let running = start(&a, "grep SigIgn /proc/self/status | tr -d '\\t' >ignored; echo ready $$; read x; exit 6");
    let ignored = fs::read_to_string(repo.join("ignored")).unwrap();
    let mask = u64::from_str_radix(ignored.trim().strip_prefix("SigIgn:").unwrap(), 16).unwrap();
    assert_eq!(mask & 0b11, 0b11, "HUP and INT: {ignored}");
    running.signal(Signal::HUP);
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    assert_eq!(running.lines.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected), "it says nothing");
    assert!(matches!(running.end().code(), 6 | 143), "stdin is at its end; or TERM came first");
}

#[test]
fn a_signal_while_waiting_ends_it_with_nothing_started_and_nothing_held() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    b.ok(["acquire", "src/a"]);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let child = a.command(["run", "src/b", "src/a", "--wait", "5m", "--", "touch", "started"]).spawn().unwrap();
        let queue = crate::sandbox::store_of(&repo.join(".git")).join("queue");
        let waits = || {
            fs::read_dir(&queue)
                .is_ok_and(|dir| dir.flatten().any(|entry| entry.path().extension().is_some_and(|end| end == "ticket")))
        };
        wait_until("it waits", waits);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ran = Ran::wait(child, "run".to_owned());
        assert_eq!(ran.code(), code);
        ran.err_has(&["interrupted while waiting"]);
    }
    assert!(!repo.join("started").exists());
    assert_eq!(a.listed(), ["src/a B"]);
    let waiting = a.command(["run", "src/a", "--wait", "5m", "--", "touch", "started"]).spawn().unwrap();
    b.ok(["release", "src/a"]);
    assert_eq!(Ran::wait(waiting, "run".to_owned()).code(), 0);
    assert!(repo.join("started").exists());
}

/// It would hear of it only when somebody continued it.
#[test]
fn a_stopped_command_that_is_asked_to_end_does_so() {
    for signal in [Signal::TERM, Signal::HUP] {
        let (sandbox, repo) = Sandbox::with_repo();
        let a = sandbox.agent(&repo, "A");
        let running = start(&a, "echo ready $$; exec sleep 300");
        kill_process(running.command, Signal::STOP).unwrap();
        let is_stopped = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", running.command.as_raw_pid())).unwrap();
            stat.rsplit(')').next().unwrap().trim_start().starts_with('T')
        };
        wait_until("it is stopped", is_stopped);
        running.signal(signal);
        assert!(matches!(running.end().code(), 143 | 129));
        assert_eq!(a.listed(), [""; 0]);
    }
}

/// A command that is stopped by somebody is not left without its lease.
#[test]
fn a_stopped_command_keeps_its_lease_where_nobody_would_continue_us() {
    let (sandbox, repo) = Sandbox::with_repo();
    crate::sandbox::allow_short_ttls(&repo);
    let a = sandbox.agent(&repo, "A");
    let words =
        ["run", "src/a", "--ttl", "1s", "--", "sh", "-c", "echo $$ >pid; while ! [ -e go-on ]; do sleep 0.01; done"];
    let child = a.command(words).spawn().unwrap();
    wait_until("it runs", || fs::read(repo.join("pid")).is_ok_and(|pid| pid.ends_with(b"\n")));
    let command = Pid::from_raw(fs::read_to_string(repo.join("pid")).unwrap().trim().parse().unwrap()).unwrap();
    kill_process(command, Signal::STOP).unwrap();
    let renewed = || a.json(0, ["list"]).leases[0].renewed_at.clone();
    for _ in 0..3 {
        let before = renewed();
        wait_until("it is renewed", || renewed() != before);
    }
    // Continued through us.
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    go_on(&repo);
    let ran = Ran::wait(child, "run".to_owned());
    assert_eq!((ran.code(), ran.err().as_str()), (0, ""));
}
