//! `run` at a terminal: keys reach the command once, job control and full-screen programs work, the end of the terminal ends both.
//!
//! The terminal is a real one, with a real shell in front where a shell is needed.

use std::{fs, path::Path};

use rustix::{
    process::{Pid, test_kill_process},
    termios::{Winsize, tcsetwinsize},
};

use crate::{
    sandbox::{BINARY, Sandbox, allow_short_ttls, end_of, wait_until},
    terminal::Terminal,
};

/// Tells of each signal and ends with 40 and the number of them.
const TELL: &str = "for s in INT QUIT TERM HUP WINCH; do trap \"n=\\$((n+1)); echo got-$s\" $s; done
    echo ready; while ! [ -e go-on ]; do sleep 0.01; done; echo count=$n; exit $((40 + n))";

fn tell(repo: &Path) {
    fs::write(repo.join("tell.sh"), TELL).unwrap();
}

fn go_on(repo: &Path) {
    fs::write(repo.join("go-on"), "").unwrap();
}

#[test]
#[ignore = "needs setsid"]
fn keys_reach_the_command_once() {
    let (sandbox, repo) = Sandbox::with_repo();
    tell(&repo);
    let a = sandbox.agent(&repo, "A");
    let mut terminal = Terminal::start(&a, &[BINARY, "run", "src/a", "--", "sh", "tell.sh"]);
    terminal.shows("ready", 1);
    terminal.types("\x03");
    terminal.shows("got-INT", 1);
    terminal.types("\x03");
    terminal.shows("got-INT", 2);
    terminal.types("\x1c");
    terminal.shows("got-QUIT", 1);
    let size = Winsize { ws_row: 10, ws_col: 20, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal.master, size).unwrap();
    terminal.shows("got-WINCH", 1);
    assert_eq!(a.holder_of("src/a").as_deref(), Some("A"));
    go_on(&repo);
    assert_eq!(terminal.end(), 44, "INT twice, QUIT and WINCH once");
    assert_eq!(a.listed(), [""; 0]);
}

/// git stands between, and sends us what the terminal has sent to it.
#[test]
#[ignore = "needs setsid"]
fn keys_reach_the_command_once_through_git_too() {
    let (sandbox, repo) = Sandbox::with_repo();
    tell(&repo);
    let a = sandbox.agent(&repo, "A");
    let mut terminal = Terminal::start(&a, &["git", "agentlock", "run", "src/a", "--", "sh", "tell.sh"]);
    terminal.shows("ready", 1);
    terminal.types("\x03");
    terminal.shows("got-INT", 1);
    // A second one would be here by now: git sends it at once, and this takes the same way.
    let seen = terminal.seen();
    wait_until("the lease is still held", || a.holder_of("src/a").as_deref() == Some("A"));
    assert_eq!(seen.matches("got-INT").count(), 1, "{seen}");
    go_on(&repo);
    terminal.shows("count=1", 1);
    terminal.end();
    wait_until("all is given back", || a.listed().is_empty());
}

#[test]
#[ignore = "needs setsid"]
fn a_command_in_a_session_of_its_own_gets_the_keys_from_us() {
    let (sandbox, repo) = Sandbox::with_repo();
    tell(&repo);
    let a = sandbox.agent(&repo, "A");
    let mut terminal = Terminal::start(&a, &[BINARY, "run", "src/a", "--", "setsid", "sh", "tell.sh"]);
    terminal.shows("ready", 1);
    terminal.types("\x03");
    terminal.shows("got-INT", 1);
    go_on(&repo);
    assert_eq!(terminal.end(), 41);
}

#[test]
#[ignore = "needs setsid"]
fn the_end_of_the_terminal_ends_both_and_frees_the_lease() {
    for shell in [&[][..], &["bash", "-ic"][..]] {
        let (sandbox, repo) = Sandbox::with_repo();
        let a = sandbox.agent(&repo, "A");
        let script = "echo $$ >pid; exec sleep 300";
        let line = format!("'{BINARY}' run src/a -- sh -c '{script}'; echo");
        let direct = [BINARY, "run", "src/a", "--", "sh", "-c", script];
        let terminal = match shell {
            [] => Terminal::unwatched(&a, &direct),
            shell => Terminal::unwatched(&a, &[shell, &[line.as_str()]].concat()),
        };
        wait_until("it runs", || fs::read(repo.join("pid")).is_ok_and(|pid| pid.ends_with(b"\n")));
        let command = Pid::from_raw(fs::read_to_string(repo.join("pid")).unwrap().trim().parse().unwrap()).unwrap();
        drop(terminal.master);
        wait_until("the command is gone", || test_kill_process(command).is_err());
        wait_until("the lease is free", || a.listed().is_empty());
        let mut child = terminal.child;
        end_of(&mut child);
    }
}

#[test]
#[ignore = "needs setsid and bash"]
fn ctrl_z_stops_both_and_fg_continues_both() {
    let (sandbox, repo) = Sandbox::with_repo();
    allow_short_ttls(&repo);
    let a = sandbox.agent(&repo, "A").env("PS1", "prompt> ");
    let mut terminal = Terminal::start(&a, &["bash", "--norc", "--noediting", "-i"]);
    terminal.shows("prompt> ", 1);
    // No process is started in the loop: a shell that is stopped between `vfork` and `exec` of one does not stop itself.
    let ticker = "mkfifo never; exec 3<>never; echo ready; n=0
        while ! [ -e go-on ]; do echo $n >tick; n=$((n + 1)); read -t 0.01 -u 3; done; echo over; exit 7";
    fs::write(repo.join("tick.sh"), ticker).unwrap();
    terminal.types(&format!("'{BINARY}' run src/a --ttl 1s -- bash tick.sh; echo code=$?\n"));
    terminal.shows("ready", 1);
    let ticks = || fs::read_to_string(repo.join("tick")).unwrap_or_default();
    for round in 1..=3 {
        let before = ticks();
        wait_until("it ticks", || ticks() != before);
        terminal.types("\x1a");
        terminal.shows("Stopped", round);
        wait_until("the lease ends, since nobody renews it", || {
            a.listed().is_empty() || a.holder_of("src/a").is_none()
        });
        let (before, again) = (ticks(), std::time::Instant::now());
        while again.elapsed().as_millis() < 100 {
            assert_eq!(ticks(), before, "it is stopped");
        }
        terminal.types("fg\n");
        wait_until("it is held again", || a.holder_of("src/a").as_deref() == Some("A"));
        wait_until("it ticks again", || ticks() != before);
    }
    go_on(&repo);
    terminal.shows("over\r\n", 1);
    terminal.types("echo code=$?\n");
    terminal.shows("code=7", 1);
    terminal.types("exit\n");
    terminal.end();
    assert_eq!(a.listed(), [""; 0]);
}

#[test]
#[ignore = "needs setsid and bash"]
fn programs_read_the_terminal_and_shells_in_it_have_jobs() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A").env("PS1", "inner> ");
    let mut terminal = Terminal::start(&a, &[BINARY, "run", "src/a", "--", "bash", "--norc", "--noediting", "-i"]);
    terminal.shows("inner> ", 1);
    terminal.types("cat\n");
    terminal.types("typed\n");
    terminal.shows("typed\r\ntyped", 1);
    terminal.types("\x1a");
    terminal.shows("Stopped", 1);
    assert!(!terminal.seen().contains("no job control"), "{}", terminal.seen());
    terminal.types("fg\n");
    terminal.shows("fg\r\ncat\r\n", 1);
    terminal.types("\x03");
    terminal.shows("inner> ", 3);
    terminal.types("echo still-here; exit 3\n");
    terminal.shows("still-here\r\n", 1);
    assert_eq!(terminal.end(), 3);
    assert_eq!(a.listed(), [""; 0]);
}
