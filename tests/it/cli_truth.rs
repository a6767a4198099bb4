//! Success is told truthfully: exit code and stored state agree, also when nothing can be printed.

use std::{
    fs::{self, File, OpenOptions},
    io::Read as _,
    process::Stdio,
};

use crate::sandbox::{Agent, Ran, Sandbox, records, store_of};

/// Ways to be unable to print: what the shell makes of stdout and stderr.
const CANNOT_PRINT: [&str; 6] =
    [">/dev/full", ">/dev/full 2>/dev/full", ">&-", "2>&-", ">&- 2>&-", "</dev/null >&- 2>&- <&-"];

fn redirected<'s>(agent: &Agent<'s>, how: &str) -> Agent<'s> {
    agent.by(["sh", "-c", &format!("exec \"$@\" {how}"), "sh"])
}

/// C06.
#[test]
fn a_change_whose_success_cannot_be_printed_is_made_and_the_exit_code_says_so() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    for how in CANNOT_PRINT {
        for json in [&[][..], &["--json"]] {
            let mute = redirected(&a, how);
            let call = |arguments: &[&'static str]| [json, arguments].concat();
            let ran = mute.ok(call(&["acquire", "src/a"]));
            if how == ">/dev/full" {
                ran.err_has(&["warning: done, but the result could not be printed"]);
            }
            assert_eq!(b.holder_of("src/a").as_deref(), Some("A"), "{how}");
            mute.ok(call(&["acquire", "src/a"]));
            mute.ok(call(&["renew", "src/a"]));
            assert_eq!(
                redirected(&b, how).run(call(&["acquire", "src/a"])).code().min(4),
                if how.contains(">/dev/full") && !json.is_empty() { 4 } else { 1 }
            );
            assert_eq!(b.holder_of("src/a").as_deref(), Some("A"), "{how}");
            mute.ok(call(&["release", "src/a"]));
            assert_eq!(b.holder_of("src/a"), None, "{how}");
        }
    }
}

/// Whoever only looks and could not tell has failed.
#[test]
fn a_look_that_cannot_be_printed_has_failed() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = redirected(&sandbox.agent(&repo, "A"), ">/dev/full");
    for arguments in
        [&["check", "src/a"][..], &["list"], &["list", "-z"], &["policy"], &["whoami"], &["--json", "list"], &["-h"]]
    {
        if arguments == ["list", "-z"] {
            sandbox.agent(&repo, "A").ok(["acquire", "src/b"]);
        }
        a.expect(4, arguments).err_has(&["error: the result could not be printed", "o space left"]);
    }
    a.ok(["--quiet", "check", "src/a"]);
}

/// Runs with a stdout that nobody reads any more.
fn without_reader(agent: &Agent<'_>, arguments: &[&str]) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = agent.command(arguments);
    command.stdout(writer);
    let ran = Ran::of(command);
    assert!(ran.stderr.0.is_empty(), "{ran:#?}");
    ran
}

#[test]
fn a_reader_that_is_gone_changes_no_exit_code() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    for json in [&[][..], &["--json"]] {
        let run =
            |agent: &Agent<'_>, arguments: &[&'static str]| without_reader(agent, &[json, arguments].concat()).code();
        assert_eq!(run(&a, &["acquire", "src/a", "src/b"]), 0);
        assert_eq!(b.holder_of("src/a").as_deref(), Some("A"));
        assert_eq!(run(&b, &["check", "src/a"]), 1);
        assert_eq!(run(&a, &["renew", "src/a"]), 0);
        assert_eq!(run(&a, &["release", "src/a", "src/b"]), 0);
        assert_eq!(b.holder_of("src/a"), None);
        assert_eq!(run(&a, &["list"]), 0);
        assert_eq!(run(&a, &["policy"]), 0);
    }
    for arguments in [&["--help"][..], &["help", "acquire"], &["--version"], &["list", "-z"]] {
        assert_eq!(without_reader(&a, arguments).code(), 0);
    }
}

/// C32.
#[test]
fn a_reader_that_stops_in_the_midst_of_2000_locks_is_no_error() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let paths: Vec<u8> = (0..2000).flat_map(|number| format!("some/directory/file-{number}\0").into_bytes()).collect();
    a.stdin(paths.clone()).ok(["acquire", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"]);
    assert_eq!(records(&store_of(&repo.join(".git"))).len(), 2000);
    for arguments in [&["list"][..], &["--json", "list"], &["list", "-z"], &["list", "--color", "always"]] {
        let mut child = a.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 80]).unwrap();
        drop(stdout);
        let ran = Ran::wait(child, String::new());
        assert_eq!((ran.code(), ran.err()), (0, String::new()));
    }
    a.stdin(paths).ok(["release", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"]);
    assert!(records(&store_of(&repo.join(".git"))).is_empty());
}

/// Real full disks need a mount; a limit on the size of files is as good for writes.
#[test]
fn where_nothing_can_be_written_acquire_and_renew_fail_whole_and_release_works() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    fn full<'s>(agent: &Agent<'s>) -> Agent<'s> {
        agent.by(["sh", "-c", "ulimit -f 0; exec \"$@\"", "sh"])
    }
    a.let_expire("old");
    b.ok(["acquire", "old"]);
    a.ok(["acquire", "src/a", "src/b"]);
    let store = store_of(&repo.join(".git"));
    let state = || records(&store).iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
    let before = state();
    // What is written goes to pipes, which know no limit.
    full(&a)
        .expect(4, ["acquire", "src/c"])
        .err_has(&["cannot write", "hint: make room on the disk; nothing was changed"]);
    full(&a).expect(4, ["acquire", "src/a", "src/c"]);
    full(&a).expect(4, ["renew", "src/a"]).err_has(&["cannot write"]);
    assert_eq!(state(), before, "byte for byte");
    assert!(crate::sandbox::left_overs(&store).is_empty());
    full(&a).ok(["release", "src/a"]);
    // B's lease has replaced A's, which leaves something to tell; there is no room to write that down.
    full(&b).ok(["release", "old"]);
    assert_eq!(a.listed(), ["src/b A"]);
    full(&a).ok(["release", "src/b"]);
    assert!(records(&store).is_empty());
    a.ok(["acquire", "src/c"]);
}

#[test]
#[ignore = "needs root and mount namespaces"]
fn on_a_disk_that_is_really_full_release_works() {
    let (sandbox, repo) = Sandbox::with_repo();
    let disk = sandbox.root().join("disk");
    fs::create_dir(&disk).unwrap();
    let script = r#"
        set -e
        mount -t tmpfs -o size=192k none "$AGENT_REGISTRY_LOCK_DIR"
        al() { git agentlock "$@"; }
        al acquire src/a src/b src/c >/dev/null
        cat /dev/zero >"$AGENT_REGISTRY_LOCK_DIR/fill" 2>/dev/null || true
        find "$AGENT_REGISTRY_LOCK_DIR/v1" -name '*.lock' -exec cat {} + | sort >before
        rc=0; al acquire many/1 many/2 many/3 many/4 >/dev/null 2>err || rc=$?
        test $rc = 4; grep -q 'hint: make room on the disk; nothing was changed' err
        rc=0; al renew src/a 2>err || rc=$?
        test $rc = 4
        find "$AGENT_REGISTRY_LOCK_DIR/v1" -name '*.lock' -exec cat {} + | sort >after
        cmp before after
        test -z "$(find "$AGENT_REGISTRY_LOCK_DIR/v1" -name 'tmp-*')"
        al release src/a src/b src/c
        al list
        rm "$AGENT_REGISTRY_LOCK_DIR/fill"
        al acquire src/a
    "#;
    let mut command = sandbox.command("unshare", &repo);
    command.args(["-m", "sh", "-c", script]).env("AGENT_REGISTRY_LOCK_DIR", &disk).env("AGENTLOCK_OWNER", "A");
    let ran = Ran::of({
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    });
    assert_eq!(ran.code(), 0, "{ran:#?}");
    ran.out_has(&["no leases"]);
}

/// Not even an unusual stdout makes a difference: a file, opened for reading only.
#[test]
fn a_stdout_that_cannot_be_written_to_at_all_is_an_error_of_printing_only() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let mut command = a.command(["acquire", "src/a"]);
    command.stdout(File::open("/dev/null").unwrap());
    assert_eq!(Ran::of(command).code(), 0);
    assert_eq!(a.holder_of("src/a").as_deref(), Some("A"));
    let out = sandbox.root().join("out");
    let mut command = a.command(["list"]);
    command.stdout(OpenOptions::new().create(true).append(true).open(&out).unwrap());
    assert_eq!(Ran::of(command).code(), 0);
    assert!(fs::read_to_string(out).unwrap().contains("src/a"));
}
