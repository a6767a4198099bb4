//! `run`: leases for as long as a command runs, and the command as if it had been called directly.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::Path,
};

use crate::sandbox::{Agent, BINARY, Sandbox, store_of};

/// A script that can be executed.
fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Nothing is held, and nothing waits.
#[track_caller]
fn all_is_free(agent: &Agent<'_>) {
    assert_eq!(agent.listed(), [""; 0]);
}

#[test]
fn leases_are_held_while_the_command_runs_and_given_back_after_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let ran = a.ok(["run", "src/a", "src/b", "--resource", "plan:42", "--", BINARY, "--json", "list"]);
    let held: Vec<String> =
        ran.document().leases.iter().map(|lease| format!("{} {}", lease.resource.name(), lease.owner)).collect();
    assert_eq!(held, ["src/a A", "src/b A", "plan:42 A"]);
    all_is_free(&a);
    assert_eq!(ran.err(), "");
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for code in [0, 1, 2, 7, 125, 255] {
        a.expect(code, ["run", "src/a", "--", "sh", "-c", &format!("exit {code}")]);
        all_is_free(&a);
    }
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("SEGV", 139)] {
        a.expect(code, ["run", "src/a", "--", "sh", "-c", &format!("kill -{signal} $$")]);
        all_is_free(&a);
    }
}

/// As `env` and `timeout` do.
#[test]
fn what_cannot_be_started_has_codes_of_its_own_and_nothing_is_held() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    script(&repo.join("no-interpreter"), "#!/nonexistent/interpreter\n");
    for (code, program) in [
        (127, "./nope"),
        (127, "nope-nope"),
        (127, ""),
        (127, "./no-interpreter"),
        (126, "src/a"),
        (126, "/"),
        (126, "src/a/x"),
    ] {
        let ran = a.expect(code, ["run", "src/a", "src/b", "--", program]);
        ran.err_has(&[&format!("cannot run '{program}': "), "nothing is held"]);
        all_is_free(&a);
    }
    let document = a.json(127, ["run", "src/a", "--", "./nope"]);
    assert_eq!((document.command.as_str(), document.error.unwrap().kind.as_str()), ("run", "command"));
}

#[test]
fn a_script_that_names_no_interpreter_is_one_for_the_shell() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    script(&repo.join("src/plain"), "echo \"plain $1\"\nexit 9\n");
    assert_eq!(a.expect(9, ["run", "src/a", "--", "src/plain", "x"]).out(), "plain x\n");
    let path = format!("{}:/usr/bin:/bin", repo.join("src").display());
    assert_eq!(a.env("PATH", path).expect(9, ["run", "src/a", "--", "plain", "y"]).out(), "plain y\n");
}

#[test]
fn whoever_is_refused_starts_nothing() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    b.ok(["acquire", "src/a", "--reason", "busy"]);
    let command = ["run", "src/b", "src/a", "--", "touch", "started"];
    a.expect(125, command).err_has(&["cannot acquire src/a: held by B", "busy", "nothing was acquired"]);
    a.expect(125, ["run", "src/a", "--wait", "50ms", "--", "touch", "started"])
        .err_has(&["waiting for src/a: held by B"]);
    let document = a.json(125, command);
    assert_eq!(document.conflicts[0].owner.as_deref(), Some("B"));
    assert!(!repo.join("started").exists());
    assert_eq!(a.listed(), ["src/a B"]);
}

#[test]
fn its_own_failures_have_one_code_that_is_not_of_the_table() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, nobody) = (sandbox.agent(&repo, "A"), sandbox.nobody(&repo));
    let bad: [&[&str]; 12] = [
        &["run"],
        &["run", "src/a"],
        &["run", "src/a", "--"],
        &["run", "--", "touch", "started"],
        &["run", "--bad", "src/a", "--", "touch", "started"],
        &["run", "src/a", "--ttl", "0", "--", "touch", "started"],
        &["run", "src/a", "--ttl", "2h", "--", "touch", "started"],
        &["run", "src/a", "--wait", "soon", "--", "touch", "started"],
        &["run", "src/a", "--grace", "-1s", "--", "touch", "started"],
        &["run", "src/a", "--on-lost", "panic", "--", "touch", "started"],
        &["run", ".git/config", "--", "touch", "started"],
        &["-C", "nowhere", "run", "src/a", "--", "touch", "started"],
    ];
    for arguments in bad {
        let ran = a.expect(125, arguments);
        assert!(ran.err().starts_with("error: ") && ran.out().is_empty(), "{ran:#?}");
        let document = a.json(125, arguments);
        assert_eq!((document.command.as_str(), document.ok), ("run", false));
    }
    nobody.expect(125, ["run", "src/a", "--", "touch", "started"]).err_has(&["no owner was given"]);
    sandbox
        .agent(sandbox.root(), "A")
        .expect(125, ["run", "x", "--", "touch", "started"])
        .err_has(&["not in a git repository"]);
    fs::write(repo.join(".git/agentlock.toml"), "[ttl]\nmix = 1\n").unwrap();
    a.expect(125, ["run", "src/a", "--", "touch", "started"]).err_has(&["the policy cannot be used"]);
    fs::remove_file(repo.join(".git/agentlock.toml")).unwrap();
    fs::write(repo.join("empty"), "").unwrap();
    a.expect(125, ["run", "--pathspec-from-file", "empty", "--", "touch", "started"]).err_has(&["nothing was named"]);
    assert!(!repo.join("started").exists());
    assert!(!store_of(&repo.join(".git")).exists());
    a.expect(2, ["-C", "src", "check", "--bad", "run"]);
    a.ok(["run", "--help"]).out_has(&["125", "126", "127"]);
}

#[test]
fn everything_after_the_first_two_dashes_is_the_commands() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let words = ["printf", "%s\\n", "--owner", "X", "--", "--quiet", "-h", "", " y "];
    let mut raw = vec![OsStr::from_bytes(b"run"), OsStr::new("src/a"), OsStr::new("--")];
    raw.extend(words.iter().map(OsStr::new));
    let ran = a.ok(raw);
    assert_eq!(ran.out(), "--owner\nX\n--\n--quiet\n-h\n\n y \n");
}

#[test]
fn the_streams_are_the_commands_own_byte_for_byte() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let sent: Vec<u8> = (0..10_000_u32).flat_map(|n| n.to_string().into_bytes()).collect();
    let ran = a.stdin(sent.clone()).ok(["run", "src/a", "--", "cat"]);
    assert!(ran.stdout.0 == sent, "{} bytes", ran.stdout.0.len());
    let ran = a.ok(["run", "src/a", "--", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!((ran.out().as_str(), ran.err().as_str()), ("out\n", "err\n"));
    // Quiet, since the default of SIGPIPE is the command's again.
    let ran = a.ok(["run", "src/a", "--", "sh", "-c", "yes | head -1"]);
    assert_eq!((ran.out().as_str(), ran.err().as_str()), ("y\n", ""));
}

/// What the command finds is what it would find without us, and the two variables.
#[test]
fn the_command_lives_in_the_world_of_its_caller() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A").env("GIT_PREFIX", "").env("ODD", OsStr::from_bytes(b"\xff"));
    let look = "(env | grep -v RUST_ | sort; umask; pwd; grep -E 'Sig(Blk|Cgt)' /proc/self/status; ls /proc/self/fd) | tr '\\t' ' '";
    let plain = a.env("AGENTLOCK_TOKEN", "n").by(["sh", "-c", "umask 027; shift; exec \"$@\"", "sh"]);
    let with = a.by(["sh", "-c", "umask 027; exec \"$@\"", "sh"]);
    let seen = with.ok(["run", "src/a", "--", "sh", "-c", look]);
    let expected = plain.ok(["sh", "-c", look]);
    let comparable = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines = text.lines().filter(|line| !line.starts_with("AGENTLOCK_TOKEN=") && !line.starts_with("_="));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(comparable(&seen.stdout.0), comparable(&expected.stdout.0));
    assert!(seen.stdout.0.windows(5).any(|window| window == b"0027\n"), "the umask is the user's");
}

#[test]
fn a_missing_home_stays_missing() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for (how, told) in [("unset HOME", "none"), ("HOME=", ""), ("HOME=/nonexistent", "/nonexistent")] {
        let by = a.by(["sh", "-c", &format!("{how}; exec \"$@\""), "sh"]);
        let ran = by.ok(["run", "src/a", "--", "sh", "-c", "echo \"${HOME-none}\""]);
        assert_eq!(ran.out().trim_end(), told, "{how}");
    }
}

#[test]
fn the_command_is_told_owner_and_tokens() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.nobody(&repo);
    let tell = "echo \"$AGENTLOCK_OWNER\"; for token in $AGENTLOCK_TOKEN; do echo $token; done";
    let ran = a.ok(["run", "src/b", "src/a", "src/b", "--owner", "mine", "--", "sh", "-c", tell]);
    let told: Vec<String> = ran.out().lines().map(str::to_owned).collect();
    assert_eq!((told[0].as_str(), told.len()), ("mine", 3));
    let check = "set -- $AGENTLOCK_TOKEN; \"$BIN\" check --token $1 src/b && \"$BIN\" check --token $2 src/a";
    a.env("BIN", BINARY).ok(["run", "src/b", "src/a", "-o", "mine", "--", "sh", "-c", check]);
}

#[test]
fn it_runs_where_dash_c_says() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    script(&repo.join("src/here"), "#!/bin/sh\npwd\n\"$BIN\" --json check a\n");
    let ran = a.env("BIN", BINARY).ok(["-C", "src", "run", "a", "--", "./here"]);
    ran.out_has(&[&format!("{}\n", repo.join("src").display()), "\"owner\":\"A\""]);
}

#[test]
fn what_was_the_owners_before_stays_the_owners() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A").env("BIN", BINARY);
    let lease = a.json(0, ["acquire", "src/a", "--ttl", "10m", "--reason", "mine"]).leases.remove(0);
    a.ok(["run", "src/a", "src/b", "--ttl", "1m", "--", "true"]);
    let left = a.json(0, ["list"]).leases;
    assert_eq!((left.len(), left[0].resource.name().as_str(), left[0].token), (1, "src/a", lease.token));
    assert_eq!((left[0].ttl_ms, left[0].reason.as_deref()), (600_000, Some("mine")));
    a.ok(["release", "src/a"]);

    let nested = "\"$BIN\" run src/a -- true && \"$BIN\" check --mine src/a";
    a.ok(["run", "src/a", "--", "sh", "-c", nested]);
    all_is_free(&a);
}

#[test]
fn a_command_that_gives_back_itself_is_no_error() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let ran = a.expect(3, ["run", "src/a", "src/b", "--", "sh", "-c", &format!("'{BINARY}' release --all -q; exit 3")]);
    assert_eq!(ran.err(), "");
    all_is_free(&a);
}

#[test]
fn what_there_is_to_note_is_marked_as_ours() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    b.let_expire("src/a");
    let ran = a.ok(["run", "src/a", "src/new", "--", "true"]);
    ran.err_has(&[
        "git-agentlock: src/a: replaced the expired lease of B\n",
        "git-agentlock: src/new is taken as a file;",
    ]);
    assert!(ran.err().lines().all(|line| line.starts_with("git-agentlock: ")), "{ran:#?}");
    assert_eq!(a.ok(["--quiet", "run", "src/new2", "--", "echo", "x"]).err(), "");
    assert_eq!(a.ok(["--json", "run", "src/a", "--", "true"]).out(), "", "stdout is the command's");
}

/// What it leaves running keeps our caller's pipes, and is not waited for.
#[test]
fn grandchildren_are_not_waited_for() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let leave = "sleep 300 >/dev/null 2>&1 & echo $!";
    let ran = a.ok(["run", "src/a", "--", "sh", "-c", leave]);
    let pid: i32 = ran.out().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_ok(), "it still runs");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    all_is_free(&a);
}

#[test]
#[ignore = "needs root, setpriv and prlimit"]
fn when_the_system_can_start_nothing_nothing_is_held() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A").as_user(54_321);
    let user = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"];
    let limited = a.by([&user[..], &["prlimit", "--nproc=1"]].concat());
    let ran = limited.expect(125, ["run", "src/a", "--", "true"]);
    ran.err_has(&["cannot run 'true'", "ulimit -u"]);
    all_is_free(&a);
}
