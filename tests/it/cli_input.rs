//! Bad input: each has a clear error, the right exit code, and changes nothing.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt as _,
};

use crate::sandbox::{Agent, Sandbox, records, store_of, tree};

const COMMANDS: [&str; 4] = ["acquire", "renew", "release", "check"];

/// That every command refuses this path with this code, and that nothing comes of it.
#[track_caller]
fn refused_everywhere(path: impl AsRef<OsStr>, code: i32, texts: &[&str]) {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let before = tree(sandbox.root());
    for command in COMMANDS {
        let ran = a.expect(code, [OsStr::new(command), OsStr::new("--"), path.as_ref()]);
        ran.err_has(texts).err_has(&["error: ", "hint: "]);
        assert!(ran.stdout.0.is_empty(), "{ran:#?}");
        a.json(code, [OsStr::new(command), OsStr::new("--"), path.as_ref()]);
    }
    assert_eq!(tree(sandbox.root()), before);
}

#[test]
fn an_empty_path_is_an_error_never_everything_and_never_nothing() {
    refused_everywhere("", 2, &["an empty path names nothing"]);
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.expect(2, ["acquire", "src/a", ""]);
    a.expect(2, ["acquire", "--area", ""]);
    a.stdin("\n\n").ok(["acquire", "--pathspec-from-file", "-"]).err_has(&["no path was given: nothing to do"]);
    assert!(a.listed().is_empty());
}

#[test]
fn a_path_outside_of_any_repository_is_refused() {
    refused_everywhere("/etc/passwd", 4, &["'/etc/passwd' is not in a git repository", "AGENT_REGISTRY_LOCK_DIR"]);
    refused_everywhere("../outside", 4, &["'../outside' is not in a git repository"]);
    refused_everywhere("/", 4, &["'/' is not in a git repository"]);
}

#[test]
fn gits_own_files_are_refused() {
    for path in [".git", ".git/", ".git/config", "./src/../.git/refs/x", ".git/new", ".GIT/config", "src/.git/x"] {
        refused_everywhere(path, 2, &["is inside the git directory", "--resource git:index"]);
    }
}

#[test]
fn names_that_are_too_long_are_refused() {
    refused_everywhere("x".repeat(300), 2, &["a name in it is too long"]);
    refused_everywhere(format!("new/{}/x", "x".repeat(300)), 2, &["a name in it is too long"]);
    refused_everywhere("d/".repeat(2500), 2, &["is not a usable path"]);
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.agent(&repo, "A").ok(["acquire".to_owned(), "x".repeat(255)]);
}

#[test]
fn a_nul_in_a_path_is_refused() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.stdin("src/a\0x\n")
        .expect(2, ["acquire", "--pathspec-from-file=-"])
        .err_has(&["'src/a\\x00x' is not a usable path"]);
    assert!(!repo.join(".git/agent-locks").exists());
}

#[test]
fn a_file_named_as_a_directory_is_refused() {
    refused_everywhere("src/a/", 2, &["'src/a/' is not a directory"]);
    refused_everywhere("src/a/x", 2, &["'src/a/x' is not a directory"]);
}

#[test]
fn no_ttl_out_of_bounds_or_absurd_is_taken() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    a.ok(["acquire", "src/b"]);
    let before = tree(&repo);
    let absurd = [
        "0",
        "-1",
        "1ns",
        "99999999999999",
        "99999999999999h",
        "584542046090y",
        "18446744073709551615s",
        "1e309",
        "NaN",
        "inf",
        "5 m",
        "5m30",
        "5m ",
        " 5m",
        "P1D",
        "",
        "4s",
        "4999ms",
        "61m",
        "1h 1ms",
        "2d",
        "-5m",
        "5m ago",
        "٣s",
        "5m\n",
    ];
    for ttl in absurd {
        for command in ["acquire", "renew"] {
            for path in ["src/a", "src/b"] {
                let ran = a.expect(2, [command, path, "--ttl", ttl]);
                ran.err_has(&["error: ", "hint: "]);
                let error = a.json(2, [command, path, "--ttl", ttl]).error.unwrap();
                assert_eq!(error.kind, "invalid");
            }
        }
    }
    assert_eq!(tree(&repo), before);
    a.expect(2, ["acquire", "src/a", "--ttl", "2h"]).err_has(&["src/a: ", "1h", "ttl.max", "built-in"]);
    for ttl in ["5s", "5", "1h", "60m", "1m 30s", "0.5h"] {
        let ran = a.run(["acquire", "src/a", "--ttl", ttl]);
        assert_eq!(ran.code(), 0, "{ran:#?}");
    }
}

#[test]
fn owners_that_are_no_owners_are_refused() {
    let (sandbox, repo) = Sandbox::with_repo();
    let nobody = sandbox.nobody(&repo);
    let before = tree(sandbox.root());
    let long = "x".repeat(256);
    let bad = ["a\nb", "a\tb", "\u{1b}[2J", "a\u{7f}", "\u{85}", "", " a", "a ", &long, &"x".repeat(10_000)]
        .map(OsString::from);
    let not_utf8 = OsStr::from_bytes(b"latin\xe9").to_owned();
    for owner in bad.iter().chain([&not_utf8]) {
        for command in COMMANDS {
            let ran = nobody.expect(2, [command.as_ref(), "src/a".as_ref(), "--owner".as_ref(), owner.as_os_str()]);
            ran.err_has(&["the owner from --owner cannot be used: ", "hint: an owner is 1 to 255 bytes"]);
        }
        nobody.expect(2, ["whoami".as_ref(), "--owner".as_ref(), owner.as_os_str()]);
        if !owner.is_empty() {
            let ran = nobody.env("AGENTLOCK_OWNER", owner).expect(2, ["acquire", "src/a"]);
            ran.err_has(&["the owner from AGENTLOCK_OWNER cannot be used: "]);
            nobody.env("CLAUDE_CODE_SESSION_ID", owner).run(["whoami"]).err_has(&[]);
        }
    }
    assert_eq!(tree(sandbox.root()), before);
}

#[test]
fn unusual_owners_are_kept_exactly() {
    let (sandbox, repo) = Sandbox::with_repo();
    let nobody = sandbox.nobody(&repo);
    let long = "x".repeat(255);
    let unusual =
        ["a b", "-x", "--owner", "/", "a/b/c", "日本", "back\\slash", "\"q\"", "\u{202e}x", "A\u{0301}", &long];
    for (number, owner) in unusual.iter().enumerate() {
        let path = format!("p{number}");
        let granted = nobody.json(0, ["acquire", &path, &format!("--owner={owner}")]);
        assert_eq!(granted.leases[0].owner, *owner);
        assert_eq!(nobody.holder_of(&path).as_deref(), Some(*owner));
        assert_eq!(nobody.json(0, ["list", &format!("--owner={owner}")]).leases.len(), 1);
        nobody.ok(["release", &path, &format!("--owner={owner}")]);
    }
    assert!(nobody.listed().is_empty());
    // An empty variable must not make an owner of the next option.
    nobody.expect(2, ["acquire", "-o", "--json", "src/a"]);
    assert!(nobody.listed().is_empty());
}

/// Cases of C21: an agent that has no name of its own gets none from its process.
#[test]
fn the_owner_never_comes_from_the_process_and_whoami_says_where_from() {
    let (sandbox, repo) = Sandbox::with_repo();
    let nobody = sandbox.nobody(&repo);
    for arguments in [&["acquire", "src/a"][..], &["renew", "src/a"], &["release", "src/a"], &["whoami"]] {
        nobody.expect(2, arguments).err_has(&["no owner was given", "hint: give --owner ID, or set AGENTLOCK_OWNER"]);
        nobody.env("AGENTLOCK_OWNER", "").expect(2, arguments);
    }
    nobody.ok(["check", "src/a"]);
    nobody.expect(2, ["check", "--mine", "src/a"]).err_has(&["no owner was given"]);
    let tools = [
        ("CLAUDE_CODE_SESSION_ID", "claude-code:s"),
        ("CODEX_THREAD_ID", "codex:s"),
        ("GEMINI_SESSION_ID", "gemini:s"),
        ("COPILOT_AGENT_SESSION_ID", "copilot:s"),
        ("OPENCODE_SESSION_ID", "opencode:s"),
    ];
    for (variable, owner) in tools {
        let agent = nobody.env(variable, "s");
        agent.ok(["whoami"]).out_has(&[&format!("{owner} (from {variable})")]);
        let known = agent.env("AGENTLOCK_OWNER", "me").json(0, ["whoami"]).owner.unwrap();
        assert_eq!((known.id.as_str(), known.source.as_str()), ("me", "AGENTLOCK_OWNER"));
        let known = agent.env("AGENTLOCK_OWNER", "me").json(0, ["whoami", "-o", "opt"]).owner.unwrap();
        assert_eq!((known.id.as_str(), known.source.as_str()), ("opt", "--owner"));
    }
    let (one, two) = (nobody.env("CODEX_THREAD_ID", "1"), nobody.env("CODEX_THREAD_ID", "2"));
    one.ok(["acquire", "src/a"]);
    two.expect(1, ["acquire", "src/a"]).err_has(&["held by codex:1"]);
    one.ok(["release", "src/a"]);
}

#[test]
fn reasons_are_bounded() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let (fits, long) = ("r".repeat(1000), "r".repeat(1001));
    a.expect(2, ["acquire", "src/a", "--reason", &long]).err_has(&["1000", "1001"]);
    a.expect(2, ["acquire", "src/a", "--reason", ""]);
    assert_eq!(a.json(0, ["acquire", "src/a", "--reason", &fits]).leases[0].reason.as_ref(), Some(&fits));
}

#[test]
fn the_paths_of_one_request_live_in_one_store() {
    let sandbox = Sandbox::new();
    let (one, two) = (sandbox.repo("one"), sandbox.repo("two"));
    let a = sandbox.agent(sandbox.root(), "A");
    for command in COMMANDS {
        let ran = a.expect(2, [command, "one/src/a", "two/src/a"]);
        ran.err_has(&[
            "must live in one store",
            one.to_str().unwrap(),
            two.to_str().unwrap(),
            "hint: make one request for each",
        ]);
    }
    assert!(!one.join(".git/agent-locks").exists() && !two.join(".git/agent-locks").exists());
    let shared = a.env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("L"));
    assert_eq!(shared.json(0, ["acquire", "one/src/a", "two/src/a"]).leases.len(), 2);
}

#[test]
fn the_origins_form_of_acquire_draws_a_warning() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let warns = |arguments: &[&str]| {
        a.ok(arguments).err().contains("warning: two paths are locked; if the second is meant as the session")
    };
    assert!(warns(&["acquire", "src/a", "session-1"]));
    assert!(!warns(&["acquire", "src/a", "session-1", "--owner", "A"]));
    assert!(!warns(&["acquire", "src/a", "new.rs"]));
    assert!(!warns(&["acquire", "src/a", "new/"]));
    assert!(!warns(&["acquire", "src/a", "src"]));
    assert!(!warns(&["acquire", "src/a"]));
    fs::write(repo.join("Makefile"), "").unwrap();
    assert!(!warns(&["acquire", "src/a", "Makefile"]));
    assert_eq!(a.json(0, ["acquire", "src/a", "session-1"]).warnings.len(), 1);
}

/// Cases of C48: what begins with a dash is a name when it is said to be one.
#[test]
fn unusual_names_are_names() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    let names = [
        "-n",
        "--help",
        "--",
        "-",
        " lead",
        "trail ",
        "a\nsrc/a: free",
        "\u{1b}[2Jx",
        "~",
        "q\"uote",
        "back\\slash",
        "a -> b",
        "tab\tx",
        // C29: names, never globs.
        "app/[id]/page.tsx",
        "app/[[...x]]/p",
        "a{b,c}",
        "x*y",
        "q?",
        "!bang",
        ":colon",
        "(g).[f].md",
    ];
    for name in names {
        a.ok(["acquire", "--", name]);
        assert_eq!(b.holder_of(name).as_deref(), Some("A"), "{name:?}");
        assert_eq!(b.holder_of(format!("./{name}")).as_deref(), Some("A"), "{name:?}");
        assert_eq!(a.listed().len(), 1, "each blocks itself and nothing else");
        b.ok(["acquire", "app/i/page.tsx", "ab", "xzy", "qq", "bang"]);
        b.ok(["release", "app/i/page.tsx", "ab", "xzy", "qq", "bang"]);
        a.ok(["release", "--", name]);
    }
}

#[test]
fn paths_come_from_a_file_as_git_writes_them() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let lines = "src/a\r\n\"caf\\303\\251.py\"\n\n  two blanks\n";
    fs::write(repo.join("list"), lines).unwrap();
    a.ok(["acquire", "--pathspec-from-file", "list"]);
    assert_eq!(a.listed(), ["  two blanks A", "café.py A", "src/a A"]);
    a.stdin(lines).ok(["release", "--pathspec-from-file", "-"]);
    a.stdin("\"q\"\0new\nline\0").ok(["acquire", "--pathspec-from-file=-", "--pathspec-file-nul"]);
    assert_eq!(a.listed(), ["\"q\" A", "new\nline A"]);
    a.expect(2, ["acquire", "--pathspec-from-file", "missing"]).err_has(&["cannot read the paths from missing"]);
    a.expect(2, ["acquire", "--pathspec-from-file", "src"]).err_has(&["cannot read the paths from src"]);
    a.stdin("ok\n\"broken\n").expect(2, ["acquire", "--pathspec-from-file=-"]).err_has(&["-:2: the quoting is broken"]);
    a.expect(2, ["acquire", "x", "--pathspec-from-file", "list"]).err_has(&["cannot be used with"]);
    a.expect(2, ["acquire", "x", "--pathspec-file-nul"]);
}

/// C23: everything in one call, or nothing.
#[test]
fn a_refusal_of_one_path_of_many_grants_none_and_keeps_what_was_held() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    b.ok(["acquire", "src/b", "z"]);
    let before = a.json(0, ["acquire", "held"]).leases.remove(0);
    let store = records(&store_of(&repo.join(".git")));
    let refused = a.json(1, ["acquire", "held", "src/a", "src/b", "src/c", "z", "--ttl", "1h"]);
    let conflicts: Vec<_> = refused.conflicts.iter().map(|conflict| conflict.wanted.name()).collect();
    assert_eq!(conflicts, ["src/b", "z"], "every conflict is told");
    assert_eq!(records(&store_of(&repo.join(".git"))), store);
    assert_eq!(a.json(0, ["check", "held"]).leases[0].expires_at, before.expires_at);
    let once = a.json(0, ["acquire", "src/a", "./src/a", "src/../src/a"]);
    assert_eq!(once.leases.len(), 1, "each counts once");
}

#[test]
fn each_resource_is_treated_by_itself_and_the_gravest_code_wins() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "mine"]);
    b.ok(["acquire", "theirs"]);
    let outcomes = |code: i32, arguments: &[&str]| -> Vec<String> {
        a.json(code, arguments).results.unwrap().into_iter().map(|result| result.outcome).collect()
    };
    assert_eq!(outcomes(1, &["check", "mine", "theirs", "free"]), ["mine", "held", "free"]);
    assert_eq!(outcomes(3, &["check", "--mine", "mine", "theirs", "free"]), ["mine", "held", "free"]);
    assert_eq!(outcomes(3, &["renew", "mine", "theirs", "free"]), ["renewed", "not_owner", "absent"]);
    assert_eq!(outcomes(1, &["renew", "mine", "theirs"]), ["renewed", "not_owner"]);
    assert_eq!(outcomes(1, &["release", "theirs", "free", "mine"]), ["not_owner", "nothing", "released"]);
    assert_eq!(a.listed(), ["theirs B"]);
}

#[test]
fn dash_capital_c_is_as_if_started_there() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(sandbox.root(), "A");
    a.ok(["-C", "r/src", "acquire", "a"]);
    a.ok(["acquire", "-C", repo.to_str().unwrap(), "src/b"]);
    assert_eq!(a.cd("r").listed(), ["src/a A", "src/b A"]);
    a.expect(2, ["-C", "missing", "list"]).err_has(&["cannot change to 'missing' (-C)"]);
    a.expect(2, ["-C", "r/src/a", "list"]).err_has(&["cannot change to 'r/src/a' (-C)"]);
}

#[test]
fn a_current_directory_that_is_gone_is_an_error_not_a_panic() {
    let (sandbox, repo) = Sandbox::with_repo();
    fs::create_dir(repo.join("gone")).unwrap();
    let script = "rmdir ../gone && exec \"$@\"";
    let agent = sandbox.agent(&repo.join("gone"), "A").by(["sh", "-c", script, "sh"]);
    agent.expect(4, ["acquire", "x"]).err_has(&["the current directory cannot be told", "hint: "]);
}

/// The words of the two systems that are replaced, and of other tools.
#[test]
fn words_of_other_tools_are_answered_with_ours() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for (words, tip) in [
        (&["release-all"][..], "git agentlock release --all"),
        (&["clean-up"], "git agentlock prune"),
        (&["unlock", "src/a"], "git agentlock release"),
        (&["extend"], "git agentlock renew"),
        (&["acquire", "src/a", "--session", "x"], "--owner"),
        (&["acquire", "src/a", "--timeout=5"], "--wait"),
        (&["acquire", "-n"], "after `--`"),
    ] {
        a.expect(2, words).err_has(&["\ntip: ", tip]);
        let hints = a.json(2, words).error.unwrap().hints;
        assert!(hints.iter().any(|hint| hint.contains(tip)), "{hints:?}");
    }
    assert!(!a.expect(2, ["chekc"]).err().contains("\ntip: "), "clap's own says it");
    for command in ["renew", "release", "acquire"] {
        let nobody = sandbox.nobody(&repo);
        nobody.expect(2, [command, "src/a", "session-12"]).err_has(&["meant as the session, give it as --owner"]);
    }
    a.ok(["acquire", "plan:42"]).err_has(&["for a named thing say --resource plan:42"]);
    a.ok(["help", "-h"]).out_has(&["Usage: git agentlock"]);
    for words in [&["man", "heartbeat"][..], &["man", "hook install"]] {
        a.ok(words).out_has(&[".TH"]);
    }
}

#[test]
fn help_and_mistakes_have_the_colours_that_were_asked_for() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for words in [&["-h", "--color", "always"][..], &["--color", "always", "acquire", "-h"]] {
        assert!(a.ok(words).stdout.0.contains(&0x1b), "{words:?}");
    }
    assert!(a.expect(2, ["--color", "always", "nope"]).stderr.0.contains(&0x1b));
    let forced = a.env("CLICOLOR_FORCE", "1");
    assert!(!forced.ok(["-h", "--color", "never"]).stdout.0.contains(&0x1b));
    assert!(!forced.expect(2, ["--color=never", "nope"]).stderr.0.contains(&0x1b));
    // Not run as usual, which takes a colour that was not asked for by an option for a mistake.
    let has_colours = |agent: &Agent<'_>| agent.command(["-h"]).output().unwrap().stdout.contains(&0x1b);
    assert!(has_colours(&forced) && !has_colours(&a));
    let unforced = a.env("CLICOLOR_FORCE", "0");
    assert!(!has_colours(&unforced) && unforced.ok(["-h", "--color", "always"]).stdout.0.contains(&0x1b));
}
