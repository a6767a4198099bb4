//! `--wait`, with processes: prompt, fair, polite, and it ends with nothing held.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Child,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::{Agent, Ran, Sandbox, end_of, store_of, wait_until};

fn queue(repo: &Path) -> PathBuf {
    store_of(&repo.join(".git")).join("queue")
}

fn tickets(repo: &Path) -> usize {
    let names = fs::read_dir(queue(repo)).into_iter().flatten().flatten();
    names.filter(|entry| entry.file_name().to_string_lossy().ends_with(".ticket")).count()
}

/// Starts a waiter, and goes on when its ticket is in the queue.
fn start(agent: &Agent<'_>, repo: &Path, arguments: &[&str]) -> Child {
    let before = tickets(repo);
    let child = agent.command(arguments).spawn().unwrap();
    wait_until("the waiter is in the queue", || tickets(repo) > before);
    child
}

fn end(child: Child) -> Ran {
    Ran::wait(child, "a waiter".to_owned())
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn a_waiter_says_at_once_who_holds_it_and_gets_it_at_release() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a", "--reason", "busy"]);
    let waiter = start(&b, &repo, &["acquire", "src/a", "--wait", "1m"]);
    a.ok(["release", "src/a"]);
    let ran = end(waiter);
    assert_eq!(ran.code(), 0);
    ran.err_has(&["waiting for src/a: held by A", "busy"]);
    assert_eq!(ran.err().matches("waiting for").count(), 1, "once");
    assert_eq!(a.holder_of("src/a").as_deref(), Some("B"));
    assert_eq!(tickets(&repo), 0);
}

#[test]
fn a_waiter_gets_it_at_expiry() {
    let (sandbox, repo) = Sandbox::with_repo();
    crate::sandbox::allow_short_ttls(&repo);
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a", "--ttl", "2s"]);
    b.ok(["acquire", "src/a", "--wait", "1m"]).out_has(&["replaced the expired lease of A"]);
}

#[test]
fn waiting_ends_with_the_code_of_a_refusal_and_not_before_its_time() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let begun = Instant::now();
    let document = b.json(1, ["acquire", "src/b", "src/a", "--wait", "700ms"]);
    assert!(begun.elapsed() >= Duration::from_millis(700));
    assert_eq!(document.conflicts[0].owner.as_deref(), Some("A"));
    assert_eq!(b.holder_of("src/b"), None);
    assert_eq!(tickets(&repo), 0);
    b.expect(1, ["acquire", "src/a", "--wait", "0"]);
    b.expect(2, ["acquire", "src/a", "--wait", "-1"]);
    b.expect(2, ["acquire", "src/a", "--wait", "soon"]);
}

#[test]
fn a_signal_ends_the_waiting_with_nothing_held() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let waiter = start(&b, &repo, &["acquire", "src/b", "src/a", "--wait", "5m"]);
        signal(&waiter, sent);
        let ran = end(waiter);
        assert_eq!(ran.code(), code, "{ran:?}");
        ran.err_has(&["interrupted"]);
        assert_eq!(a.listed(), ["src/a A"]);
        assert_eq!(tickets(&repo), 0);
    }
}

/// Three wait; the first is killed, the second stopped. The third is served, and the stopped one after it, when it goes on.
#[test]
fn waiters_are_served_in_turn_and_neither_the_dead_nor_the_stopped_hold_up_the_others() {
    let (sandbox, repo) = Sandbox::with_repo();
    let holder = sandbox.agent(&repo, "holder");
    holder.ok(["acquire", "src/a"]);
    let wait = ["acquire", "src/a", "--wait", "5m"];
    let mut killed = start(&sandbox.agent(&repo, "killed"), &repo, &wait);
    let stopped = start(&sandbox.agent(&repo, "stopped"), &repo, &wait);
    let third = start(&sandbox.agent(&repo, "third"), &repo, &wait);
    let fourth = start(&sandbox.agent(&repo, "fourth"), &repo, &wait);
    killed.kill().unwrap();
    end_of(&mut killed);
    signal(&stopped, Signal::STOP);
    holder.ok(["release", "src/a"]);

    wait_until("somebody is served", || holder.holder_of("src/a").is_some());
    assert_eq!(holder.holder_of("src/a").as_deref(), Some("third"), "who came before the fourth");
    assert_eq!(end(third).code(), 0);
    sandbox.agent(&repo, "third").ok(["release", "src/a"]);
    assert_eq!(end(fourth).code(), 0);
    sandbox.agent(&repo, "fourth").ok(["release", "src/a"]);
    signal(&stopped, Signal::CONT);
    assert_eq!(end(stopped).code(), 0);
    assert_eq!(holder.holder_of("src/a").as_deref(), Some("stopped"));
}

#[test]
fn who_does_not_wait_leaves_it_to_who_does() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b, c) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"), sandbox.agent(&repo, "C"));
    a.ok(["acquire", "src/a"]);
    let waiter = start(&b, &repo, &["acquire", "src/a", "--wait", "5m"]);
    signal(&waiter, Signal::STOP);
    a.ok(["release", "src/a"]);
    // As long as the ticket of the stopped waiter counts, which is three seconds at the most.
    let ran = c.run(["--json", "acquire", "src/a"]);
    if ran.code() == 1 {
        let conflict = ran.document().conflicts.remove(0);
        assert_eq!((conflict.state.as_deref(), conflict.owner.as_deref()), (Some("queued"), Some("B")));
    }
    wait_until("the ticket no longer counts", || c.run(["acquire", "src/a"]).code() == 0);
    signal(&waiter, Signal::CONT);
    c.ok(["release", "src/a"]);
    assert_eq!(end(waiter).code(), 0);
}

#[test]
fn reversed_lists_with_wait_never_deadlock() {
    let (sandbox, repo) = Sandbox::with_repo();
    let children: Vec<Child> = (0..6)
        .map(|n| {
            let order = if n % 2 == 0 { ["x", "y", "z"] } else { ["z", "y", "x"] };
            let agent = sandbox.agent(&repo, &format!("agent-{n}"));
            let script = format!("\"$0\" acquire {} --wait 2m && \"$0\" release --all", order.join(" "));
            agent.by(["sh", "-c", &script]).command([""; 0]).spawn().unwrap()
        })
        .collect();
    for child in children {
        assert_eq!(end(child).code(), 0);
    }
    assert_eq!(sandbox.nobody(&repo).listed(), [""; 0]);
}

#[test]
fn many_waiters_cost_next_to_no_time() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "src/a", "--ttl", "1h"]);
    let waiters: Vec<Child> = (0..20)
        .map(|n| {
            sandbox.agent(&repo, &format!("w-{n}")).command(["acquire", "src/a", "--wait", "10m"]).spawn().unwrap()
        })
        .collect();
    wait_until("all are in the queue", || tickets(&repo) == waiters.len());
    let cpu = |child: &Child| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let fields: Vec<u64> =
            stat.rsplit_once(") ").unwrap().1.split(' ').filter_map(|field| field.parse().ok()).collect();
        // utime and stime are the 14th and 15th field of all, in hundredths of a second; the state before is no number.
        fields[10] + fields[11]
    };
    let before: u64 = waiters.iter().map(cpu).sum();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let spent_ms = 10 * (waiters.iter().map(cpu).sum::<u64>() - before);
    let each_of = u64::try_from(begun.elapsed().as_millis()).unwrap() * waiters.len() as u64;
    for waiter in waiters {
        signal(&waiter, Signal::TERM);
        end(waiter);
    }
    println!("{spent_ms} ms of processor time for {each_of} ms of waiting");
    assert!(spent_ms * 20 < each_of, "{spent_ms} ms of processor time for {each_of} ms of waiting");
}
