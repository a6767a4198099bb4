//! What is different on a terminal: tables as wide as that, and a sign of life.

use std::fs;

use rustix::termios::{Winsize, tcsetwinsize};

use crate::{
    sandbox::{BINARY, Sandbox, store_of},
    terminal::Terminal,
};

#[test]
#[ignore = "needs setsid"]
fn what_takes_longer_than_a_second_says_that_it_is_at_work_and_clears_the_line() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "src/a"]);
    let gate = fs::File::options().write(true).open(store_of(&repo.join(".git")).join("gate")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "somebody else's change that takes long")]
    gate.lock().unwrap();
    let terminal = Terminal::start(&a, &[BINARY, "acquire", "src/b"]);
    terminal.shows("git agentlock acquire: at work for 2 s", 1);
    gate.unlock().unwrap();
    terminal.shows("acquired src/b", 1);
    let seen = terminal.seen();
    assert!(seen.contains("\r                  "), "the line is cleared: {seen:?}");
    assert_eq!(terminal.end(), 0);
}

#[test]
#[ignore = "needs setsid"]
fn a_table_is_as_wide_as_its_terminal() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let path = "crates/server/src/authentication/session/handler.rs";
    a.ok(["acquire", path, "--reason", "moving the session out of the handler"]);
    let b = sandbox.agent(&repo, "B");
    for (words, what) in [("list", "#####"), ("", "A, ")] {
        let told = b.ok(words.split_whitespace()).out();
        assert!(told.contains(path) && told.contains("out of the handler"), "whole where it is no terminal: {told}");
        let script = format!("while ! [ -e go-on ]; do sleep 0.01; done; {BINARY} {words}; echo end\n");
        fs::write(repo.join("show.sh"), script).unwrap();
        let terminal = Terminal::start(&b, &["sh", "show.sh"]);
        let size = Winsize { ws_row: 24, ws_col: 72, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal.master, size).unwrap();
        fs::write(repo.join("go-on"), "").unwrap();
        terminal.shows("end\r\n", 1);
        let seen = terminal.seen();
        let row = seen.lines().find(|line| line.contains("handler.rs")).unwrap().trim_end();
        assert!(row.len() <= 72 && row.contains("..") && row.contains(what), "{seen}");
        assert_eq!(terminal.end(), 0);
        fs::remove_file(repo.join("go-on")).unwrap();
    }
}
