//! Text of others: no control byte of theirs reaches a terminal, no line is forged, and JSON is always valid. (The runner looks for control bytes
//! in every output of every test.)

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::sandbox::{Agent, Ran, Sandbox};

const HOSTILE: [&str; 8] = [
    "\u{1b}[2J\u{1b}[31mred",
    "a\nsrc/a: free",
    "a\r\u{8}\u{7f}",
    "\u{9b}31m\u{85}",
    "\u{202e}gpj.exe\u{202c}",
    "zero\u{200b}width\u{feff}",
    "line\u{2028}para\u{2029}",
    "tab\tback\\slash\"quote\"",
];

fn paths() -> Vec<OsString> {
    let invalid: [&[u8]; 4] = [b"latin\xe9", b"\xff\xfe\x1b[2J", b"half\xe2\x82", b"a\nb\xc0\xaf"];
    HOSTILE.iter().map(OsString::from).chain(invalid.iter().map(|bytes| OsStr::from_bytes(bytes).to_owned())).collect()
}

/// Nothing invisible or of another direction is shown either.
#[track_caller]
fn is_plain(ran: &Ran) {
    for text in [ran.out(), ran.err()] {
        let is_bad =
            |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{202c}\u{200b}\u{feff}\u{2028}\u{2029}".contains(c);
        assert!(!text.contains(is_bad), "{ran:#?}");
    }
}

fn words<'w>(words: &[&'w str], path: &'w OsStr) -> Vec<&'w OsStr> {
    words.iter().map(|word| OsStr::new(*word)).chain([OsStr::new("--"), path]).collect()
}

#[test]
fn hostile_paths_are_locked_as_they_are_and_shown_escaped() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    for path in paths() {
        is_plain(&a.ok(words(&["acquire"], &path)));
        is_plain(&a.ok(words(&["acquire"], &path)));
        is_plain(&b.expect(1, words(&["acquire"], &path)));
        is_plain(&b.expect(1, words(&["check"], &path)));
        is_plain(&b.expect(1, words(&["renew"], &path)));
        is_plain(&a.ok(words(&["policy"], &path)));
        let listed = a.ok(["list"]);
        is_plain(&listed);
        assert_eq!(listed.out().lines().count(), 2, "one line for each lease: {listed:#?}");
        let lease = a.json(0, ["list"]).leases.remove(0);
        match path.to_str() {
            Some(text) => assert_eq!((lease.resource.path.as_deref(), lease.resource.path_bytes), (Some(text), None)),
            None => {
                let bytes = STANDARD.decode(lease.resource.path_bytes.as_deref().unwrap()).unwrap();
                assert_eq!(bytes, path.as_bytes());
            }
        }
        for command in ["acquire", "renew", "check"] {
            b.run(words(&["--json", command], &path)).document();
        }
        is_plain(&a.ok(words(&["release"], &path)));
    }
    assert!(a.listed().is_empty());
}

#[test]
fn hostile_reasons_are_kept_as_they_are_and_shown_escaped() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    for reason in HOSTILE {
        a.ok(["acquire", "src/a", "--reason", reason]);
        is_plain(&b.expect(1, ["acquire", "src/a"]));
        is_plain(&b.expect(1, ["check", "src/a"]));
        is_plain(&b.expect(1, ["release", "src/a"]));
        let listed = b.ok(["list"]);
        is_plain(&listed);
        assert_eq!(listed.out().lines().count(), 2, "{listed:#?}");
        assert_eq!(b.json(1, ["check", "src/a"]).conflicts[0].reason.as_deref(), Some(reason));
    }
}

#[test]
fn hostile_owners_that_are_allowed_are_shown_escaped() {
    let (sandbox, repo) = Sandbox::with_repo();
    let b = sandbox.agent(&repo, "B");
    for owner in ["\u{202e}gpj.exe\u{202c}x", "zero\u{200b}width", "line\u{2028}x", "back\\slash\"quote\""] {
        let a = sandbox.agent(&repo, owner);
        is_plain(&a.ok(["acquire", "src/a"]));
        is_plain(&a.ok(["whoami"]));
        is_plain(&b.expect(1, ["acquire", "src/a"]));
        is_plain(&b.ok(["list"]));
        assert_eq!(b.json(0, ["list"]).leases[0].owner, owner);
        a.let_expire("old");
        is_plain(&b.ok(["check", "old"]));
        is_plain(&b.ok(["acquire", "old"]));
        is_plain(&a.expect(3, ["renew", "old"]));
        b.ok(["release", "old"]);
        a.ok(["release", "src/a"]);
    }
}

#[test]
fn hostile_arguments_are_told_escaped() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for text in HOSTILE {
        let flag = format!("--{text}");
        for arguments in [
            &["acquire", "src/a", "--ttl", text][..],
            &["acquire", "--resource", text],
            &["acquire", &flag],
            &["renew", "src/a", "--token", text],
            &["acquire", "--pathspec-from-file", text],
            &["-C", text, "list"],
            &["list", "--color", text],
            &[text],
        ] {
            let ran = a.expect(2, arguments);
            is_plain(&ran);
            a.json(2, arguments);
        }
        let ran = a.env("AGENTLOCK_POLICY", text).expect(4, ["acquire", "src/a"]);
        is_plain(&ran);
        is_plain(&a.env("AGENT_REGISTRY_LOCK_DIR", text).expect(2, ["list"]));
        is_plain(&sandbox.nobody(&repo).env("CODEX_THREAD_ID", text).run(["whoami"]));
    }
}

#[test]
fn hostile_names_of_repositories_are_shown_escaped() {
    let sandbox = Sandbox::new();
    let name = OsStr::from_bytes(b"re\x1b[2Jpo\n\xff");
    let repo = sandbox.root().join(name);
    let made =
        sandbox.command("git", sandbox.root()).args([OsStr::new("init"), OsStr::new("-q"), name]).status().unwrap();
    assert!(made.success());
    let a: Agent<'_> = sandbox.agent(&repo, "A");
    a.ok(["acquire", "x"]);
    is_plain(&a.env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("L")).ok(["acquire", "x"]));
    a.env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("L")).json(0, ["list"]);
    std::fs::write(repo.join(".agentlock.toml"), "nope").unwrap();
    is_plain(&a.expect(4, ["acquire", "x"]));
    is_plain(&a.expect(4, ["policy"]));
    a.json(4, ["policy"]);
}

/// `list -z`, byte for byte.
#[test]
fn list_z_is_exact() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A b");
    assert_eq!(a.ok(["list", "-z"]).stdout.0, b"");
    let paths: [&[u8]; 3] = [b"a\nb\t\x1b[2J", b"latin\xe9", b"src/a"];
    for path in paths {
        a.ok([OsStr::new("acquire"), OsStr::from_bytes(path)]);
    }
    a.ok(["acquire", "lib/", "--resource", "plan:42"]);
    let document = a.json(0, ["list"]);
    let mut expected = Vec::new();
    for lease in &document.leases {
        expected.extend(
            format!("live\tA b\t{}\t{}\t{}\t\t", lease.token, lease.expires_at, lease.resource.kind).into_bytes(),
        );
        let resource = &lease.resource;
        match (resource.kind.as_str(), &resource.path_bytes) {
            ("file", Some(bytes)) => expected.extend(STANDARD.decode(bytes).unwrap()),
            _ => expected.extend(resource.name().into_bytes()),
        }
        expected.push(0);
    }
    let bytes = a.ok(["list", "-z"]).stdout.0;
    // Shown times follow the clocks, which are read anew; whole seconds are enough here.
    let without_times = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let fields = |entry: &[u8]| {
            entry.splitn(7, |byte| *byte == b'\t').enumerate().filter(|(at, _)| *at != 3).fold(
                Vec::new(),
                |mut all: Vec<u8>, (_, field)| {
                    all.extend(field);
                    all.push(b'\t');
                    all
                },
            )
        };
        bytes.split(|byte| *byte == 0).map(fields).collect()
    };
    assert_eq!(without_times(&bytes), without_times(&expected));
    assert_eq!(bytes.iter().filter(|byte| **byte == 0).count(), 5);
    assert!(bytes.ends_with(b"\0"));
    a.cd("src").let_expire("../old");
    let bytes = a.ok(["list", "-z", "--expired"]).stdout.0;
    assert!(bytes.starts_with(b"expired\tA b\t") && bytes.ends_with(b"\told\0"), "{}", bytes.escape_ascii());
}
