//! What people and programs are shown, word for word. Times, tokens, hosts and places are masked.

use serde_json::Value;

use crate::sandbox::{Agent, Ran, Sandbox};

/// What differs from run to run, masked in text for people.
fn masked(sandbox: &Sandbox, text: &str) -> String {
    let text = text.replace(sandbox.root().to_str().unwrap(), "[TMP]");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let is_moment = rest.get(..20).is_some_and(|it| shape(it) == "9999-99-99 99:99:99Z");
        let is_left = rest.starts_with('(') && rest.find(" left)").is_some_and(|end| is_length(&rest[1..end]));
        let is_ago = rest.find(" ago)").is_some_and(|end| is_length(&rest[..end]));
        let taken = if is_moment {
            out.push_str("[TIME]");
            20
        } else if is_left {
            out.push_str("([LENGTH] left)");
            rest.find(" left)").unwrap() + 6
        } else if is_ago {
            out.push_str("[LENGTH] ago)");
            rest.find(" ago)").unwrap() + 5
        } else if digits >= 13 {
            out.push_str("[TOKEN]");
            digits
        } else {
            out.push(c);
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    out
}

fn shape(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect()
}

/// `4m 59s`.
fn is_length(text: &str) -> bool {
    let is_part = |part: &str| {
        let unit = part.trim_start_matches(|c: char| c.is_ascii_digit());
        part.len() > unit.len() && ["ms", "s", "m", "h", "d"].contains(&unit)
    };
    !text.is_empty() && text.split(' ').all(is_part)
}

/// A table with its columns set apart by one bar, however wide they came out.
fn columns(sandbox: &Sandbox, table: &str) -> String {
    let row = |line: &str| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        let shown = cells.map(|cell| match cell.strip_prefix("expired ").and_then(|ago| ago.strip_suffix(" ago")) {
            Some(ago) if is_length(ago) => "expired [LENGTH] ago".to_owned(),
            _ if is_length(cell) => "[LENGTH]".to_owned(),
            _ => cell.to_owned(),
        });
        shown.collect::<Vec<_>>().join(" | ")
    };
    masked(sandbox, &table.lines().map(|line| row(line) + "\n").collect::<String>())
}

fn shown(sandbox: &Sandbox, ran: &Ran) -> String {
    let stream = |name: &str, text: &str| match text {
        "" => String::new(),
        text => format!("--- {name}\n{}", masked(sandbox, text)),
    };
    format!("exit {}\n{}{}", ran.code(), stream("stdout", &ran.out()), stream("stderr", &ran.err()))
}

/// The document of a call, without what differs from run to run.
fn document(agent: &Agent<'_>, sandbox: &Sandbox, arguments: &[&str]) -> String {
    let ran = agent.run([&["--json"], arguments].concat());
    ran.document();
    let mut value: Value = serde_json::from_slice(&ran.stdout.0).unwrap();
    mask(&mut value, sandbox);
    format!("exit {}\n{}\n", ran.code(), serde_json::to_string_pretty(&value).unwrap())
}

fn mask(value: &mut Value, sandbox: &Sandbox) {
    match value {
        Value::Object(fields) => {
            // Where in the built-in policy is nobody's business.
            if fields.get("layer").is_some_and(|layer| layer == "embedded") {
                fields.insert("line".to_owned(), "[line]".into());
            }
            for (name, value) in fields {
                match name.as_str() {
                    "token" | "pid" | "remaining_ms" if value.is_number() => *value = format!("[{name}]").into(),
                    "host" | "acquired_at" | "renewed_at" | "expires_at" | "held_until" if value.is_string() => {
                        *value = format!("[{name}]").into();
                    }
                    _ => mask(value, sandbox),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| mask(value, sandbox)),
        Value::String(text) => *text = masked(sandbox, text),
        _ => {}
    }
}

#[test]
fn acquire_for_people() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "claude-111"), sandbox.agent(&repo, "kimi-222"));
    insta::assert_snapshot!(shown(&sandbox, &a.run(["acquire", "src/a", "new", "src/", "--reason", "refactoring"])), @r#"
    exit 0
    --- stdout
    acquired src/a until [TIME] (5m); renew within 2m 30s; token [TOKEN]
    acquired new until [TIME] (5m); renew within 2m 30s; token [TOKEN]
    acquired src/ until [TIME] (5m); renew within 2m 30s; token [TOKEN]
    --- stderr
    new is taken as a file; add `/` for a directory and all below
    "#);
    insta::assert_snapshot!(shown(&sandbox, &a.run(["acquire", "src/a"])), @"
    exit 0
    --- stdout
    already yours: src/a until [TIME] (5m); renew within 2m 30s; token [TOKEN]
    ");
    insta::assert_snapshot!(shown(&sandbox, &b.run(["acquire", "src/a", "free", "new"])), @"
    exit 1
    --- stderr
    error: cannot acquire src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left): refactoring
    error: cannot acquire src/a: src/ is held by claude-111 since [TIME] until [TIME] ([LENGTH] left): refactoring
    error: cannot acquire new: held by claude-111 since [TIME] until [TIME] ([LENGTH] left): refactoring
    hint: nothing was acquired; work on something else, or wait for it with --wait 5m
    ");
    a.let_expire("old");
    insta::assert_snapshot!(shown(&sandbox, &b.run(["acquire", "old"])), @r#"
    exit 0
    --- stdout
    acquired old until [TIME] (5m); renew within 2m 30s; token [TOKEN]
      replaced the expired lease of claude-111
    --- stderr
    old is taken as a file; add `/` for a directory and all below
    "#);
    insta::assert_snapshot!(shown(&sandbox, &b.run(["acquire", "x", "--ttl", "2h"])), @r#"
    exit 2
    --- stderr
    error: x: a TTL of 2h is above the maximum of 1h (ttl.max in the built-in policy); allowed is 1ms to 1h
    hint: choose one within, or change the policy
    "#);
    insta::assert_snapshot!(shown(&sandbox, &sandbox.nobody(&repo).run(["acquire", "x"])), @r#"
    exit 2
    --- stderr
    error: no owner was given
    hint: give --owner ID, or set AGENTLOCK_OWNER for the whole session of the agent
    hint: every session needs a name of its own, and keeps it: process ids do not do
    "#);
    insta::assert_snapshot!(shown(&sandbox, &b.run(["acquire", "--quiet", "src/a"])), @"
    exit 1
    --- stderr
    error: cannot acquire src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left): refactoring
    error: cannot acquire src/a: src/ is held by claude-111 since [TIME] until [TIME] ([LENGTH] left): refactoring
    hint: nothing was acquired; work on something else, or wait for it with --wait 5m
    ");
    insta::assert_snapshot!(shown(&sandbox, &a.run(["acquire", "--quiet", "src/a"])), @"exit 0");
}

#[test]
fn acquire_for_programs() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "claude-111"), sandbox.agent(&repo, "kimi-222"));
    insta::assert_snapshot!(document(&a, &sandbox, &["acquire", "src/a", "--reason", "refactoring"]), @r#"
    exit 0
    {
      "command": "acquire",
      "conflicts": [],
      "error": null,
      "leases": [
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "fresh": true,
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": "refactoring",
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null,
          "state": "live",
          "token": "[token]",
          "ttl_ms": 300000
        }
      ],
      "locked": true,
      "notes": [],
      "ok": true,
      "schema": 1,
      "warnings": []
    }
    "#);
    insta::assert_snapshot!(document(&b, &sandbox, &["acquire", "src/a"]), @r#"
    exit 1
    {
      "command": "acquire",
      "conflicts": [
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": "refactoring",
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null,
          "state": "live",
          "token": "[token]",
          "ttl_ms": 300000,
          "wanted": {
            "kind": "file",
            "path": "src/a"
          }
        }
      ],
      "error": {
        "hints": [
          "nothing was acquired; work on something else, or wait for it with --wait 5m"
        ],
        "kind": "conflict",
        "message": "cannot acquire src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left): refactoring"
      },
      "leases": [],
      "locked": false,
      "notes": [],
      "ok": false,
      "schema": 1,
      "warnings": []
    }
    "#);
    insta::assert_snapshot!(document(&b, &sandbox, &["acquire", "--ttl", "2h", "x"]), @r#"
    exit 2
    {
      "command": "acquire",
      "conflicts": [],
      "error": {
        "hints": [
          "choose one within, or change the policy"
        ],
        "kind": "invalid",
        "message": "x: a TTL of 2h is above the maximum of 1h (ttl.max in the built-in policy); allowed is 5s to 1h"
      },
      "leases": [],
      "locked": false,
      "notes": [],
      "ok": false,
      "schema": 1,
      "warnings": []
    }
    "#);
    insta::assert_snapshot!(document(&b, &sandbox, &["acquire", "--nope"]), @r#"
    exit 2
    {
      "command": "acquire",
      "conflicts": [],
      "error": {
        "hints": [
          "For more information, try '-h'."
        ],
        "kind": "invalid",
        "message": "unexpected argument '--nope' found"
      },
      "leases": [],
      "locked": false,
      "notes": [],
      "ok": false,
      "schema": 1,
      "warnings": []
    }
    "#);
}

#[test]
fn renew_for_people() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "claude-111"), sandbox.agent(&repo, "kimi-222"));
    a.ok(["acquire", "src/a", "src/"]);
    insta::assert_snapshot!(shown(&sandbox, &a.run(["renew", "src/a", "--ttl", "10m"])), @r#"
    exit 0
    --- stdout
    renewed src/a until [TIME] (10m); token [TOKEN]
    "#);
    insta::assert_snapshot!(shown(&sandbox, &b.run(["renew", "src/a", "free"])), @"
    exit 3
    --- stderr
    error: cannot renew src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left)
    hint: only its owner can; `git agentlock whoami` tells who you are; the lease ends by itself when its time is up
    error: cannot renew free: you hold no lease on it
    hint: what you protected may have changed: acquire it again, and look at it before you go on
    ");
    insta::assert_snapshot!(shown(&sandbox, &a.run(["renew", "src/b"])), @r#"
    exit 3
    --- stderr
    error: cannot renew src/b: you hold no lease on it alone; your lease on src/ covers it
    hint: name src/ instead
    "#);
    insta::assert_snapshot!(shown(&sandbox, &a.run(["renew", "src/a", "--token", "7"])), @"
    exit 3
    --- stderr
    error: cannot renew src/a: it is not the lease with that token; you have held it since [TIME] with token [TOKEN]
    hint: use token [TOKEN], if you are the one who acquired it again
    ");
    a.let_expire("old");
    insta::assert_snapshot!(shown(&sandbox, &a.run(["renew", "old"])), @"
    exit 3
    --- stderr
    error: cannot renew old: your lease expired at [TIME] ([LENGTH] ago)
    hint: what you protected may have changed: acquire it again, and look at it before you go on
    ");
    b.ok(["acquire", "old"]);
    insta::assert_snapshot!(shown(&sandbox, &a.run(["renew", "old"])), @"
    exit 3
    --- stderr
    error: cannot renew old: your lease was lost to kimi-222 at [TIME]
    hint: what you protected may have changed: acquire it again, and look at it before you go on
    ");
}

#[test]
fn renew_for_programs() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "claude-111"), sandbox.agent(&repo, "kimi-222"));
    a.ok(["acquire", "src/a"]);
    insta::assert_snapshot!(document(&a, &sandbox, &["renew", "src/a"]), @r#"
    exit 0
    {
      "command": "renew",
      "conflicts": [],
      "error": null,
      "leases": [
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": null,
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null,
          "state": "live",
          "token": "[token]",
          "ttl_ms": 300000
        }
      ],
      "locked": true,
      "notes": [],
      "ok": true,
      "results": [
        {
          "message": "renewed src/a until [TIME] (5m); token [TOKEN]",
          "outcome": "renewed",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null
        }
      ],
      "schema": 1,
      "warnings": []
    }
    "#);
    insta::assert_snapshot!(document(&b, &sandbox, &["renew", "src/a", "free"]), @r#"
    exit 3
    {
      "command": "renew",
      "conflicts": [
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": null,
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null,
          "state": "live",
          "token": "[token]",
          "ttl_ms": 300000,
          "wanted": {
            "kind": "file",
            "path": "src/a"
          }
        }
      ],
      "error": {
        "hints": [
          "only its owner can; `git agentlock whoami` tells who you are; the lease ends by itself when its time is up",
          "what you protected may have changed: acquire it again, and look at it before you go on"
        ],
        "kind": "absent",
        "message": "cannot renew free: you hold no lease on it"
      },
      "leases": [],
      "locked": false,
      "notes": [],
      "ok": false,
      "results": [
        {
          "message": "cannot renew src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left)",
          "outcome": "not_owner",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null
        },
        {
          "message": "cannot renew free: you hold no lease on it",
          "outcome": "absent",
          "resource": {
            "kind": "file",
            "path": "free"
          },
          "stale_owner": null
        }
      ],
      "schema": 1,
      "warnings": []
    }
    "#);
}

#[test]
fn release_for_people() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "claude-111"), sandbox.agent(&repo, "kimi-222"));
    a.ok(["acquire", "src/a"]);
    insta::assert_snapshot!(shown(&sandbox, &b.run(["release", "src/a", "free"])), @"
    exit 1
    --- stderr
    nothing to release on free: you hold no lease on it
    error: cannot release src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left)
    hint: only its owner can; `git agentlock whoami` tells who you are; the lease ends by itself when its time is up
    ");
    insta::assert_snapshot!(shown(&sandbox, &a.run(["release", "src/a", "--token", "7"])), @"
    exit 3
    --- stderr
    error: cannot release src/a: it is not the lease with that token; you have held it since [TIME] with token [TOKEN]
    hint: use token [TOKEN], if you are the one who acquired it again
    ");
    insta::assert_snapshot!(shown(&sandbox, &a.run(["release", "src/a"])), @r#"
    exit 0
    --- stdout
    released src/a
    "#);
    a.let_expire("old");
    b.ok(["acquire", "old"]);
    insta::assert_snapshot!(shown(&sandbox, &a.run(["release", "old"])), @"
    exit 3
    --- stderr
    error: cannot release old: your lease was lost to kimi-222 at [TIME]
    hint: what you protected may have changed: acquire it again, and look at it before you go on
    ");
    b.ok(["release", "old"]);
    insta::assert_snapshot!(shown(&sandbox, &a.run(["release", "old"])), @"
    exit 0
    --- stderr
    warning: nothing to release on old: your lease was lost to kimi-222 at [TIME], whose lease has ended too
    ");
}

#[test]
fn release_for_programs() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "claude-111"), sandbox.agent(&repo, "kimi-222"));
    a.ok(["acquire", "src/a"]);
    insta::assert_snapshot!(document(&b, &sandbox, &["release", "src/a"]), @r#"
    exit 1
    {
      "command": "release",
      "conflicts": [
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": null,
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null,
          "state": "live",
          "token": "[token]",
          "ttl_ms": 300000,
          "wanted": {
            "kind": "file",
            "path": "src/a"
          }
        }
      ],
      "error": {
        "hints": [
          "only its owner can; `git agentlock whoami` tells who you are; the lease ends by itself when its time is up"
        ],
        "kind": "not_owner",
        "message": "cannot release src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left)"
      },
      "leases": [],
      "locked": true,
      "notes": [],
      "ok": false,
      "results": [
        {
          "message": "cannot release src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left)",
          "outcome": "not_owner",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null
        }
      ],
      "schema": 1,
      "warnings": []
    }
    "#);
    insta::assert_snapshot!(document(&a, &sandbox, &["release", "src/a"]), @r#"
    exit 0
    {
      "command": "release",
      "conflicts": [],
      "error": null,
      "leases": [
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": null,
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null,
          "state": "ended",
          "token": "[token]",
          "ttl_ms": 300000
        }
      ],
      "locked": false,
      "notes": [],
      "ok": true,
      "results": [
        {
          "message": "released src/a",
          "outcome": "released",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null
        }
      ],
      "schema": 1,
      "warnings": []
    }
    "#);
}

#[test]
fn check_for_people() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "claude-111"), sandbox.agent(&repo, "kimi-222"));
    a.ok(["acquire", "src/a", "lib/", "--reason", "refactoring"]);
    a.let_expire("old");
    insta::assert_snapshot!(shown(&sandbox, &b.run(["check", "src/a", "src/b", "old", "lib/x", "src/"])), @"
    exit 1
    --- stdout
    src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left): refactoring
    src/b: free
    old: free (the lease of claude-111 expired [LENGTH] ago)
    lib/x: lib/ is held by claude-111 since [TIME] until [TIME] ([LENGTH] left): refactoring
    src/: src/a is held by claude-111 since [TIME] until [TIME] ([LENGTH] left): refactoring
    --- stderr
    old is taken as a file; add `/` for a directory and all below
    lib/x is taken as a file; add `/` for a directory and all below
    ");
    insta::assert_snapshot!(shown(&sandbox, &a.run(["check", "src/a", "lib/x", "src/"])), @"
    exit 0
    --- stdout
    src/a: yours since [TIME] until [TIME] ([LENGTH] left): refactoring; token [TOKEN]
    lib/x: lib/ is yours since [TIME] until [TIME] ([LENGTH] left): refactoring; token [TOKEN]
    src/: src/a is yours since [TIME] until [TIME] ([LENGTH] left): refactoring; token [TOKEN]
    --- stderr
    lib/x is taken as a file; add `/` for a directory and all below
    ");
    insta::assert_snapshot!(shown(&sandbox, &a.run(["check", "--mine", "old"])), @"
    exit 3
    --- stdout
    old: not yours
    old: free (your lease expired [LENGTH] ago)
    --- stderr
    old is taken as a file; add `/` for a directory and all below
    ");
    insta::assert_snapshot!(shown(&sandbox, &a.run(["check", "--token", "7", "src/a"])), @"
    exit 3
    --- stdout
    src/a: not the lease with token 7
    src/a: yours since [TIME] until [TIME] ([LENGTH] left): refactoring; token [TOKEN]
    ");
    insta::assert_snapshot!(shown(&sandbox, &b.run(["check", "-q", "src/a"])), @"exit 1");
}

#[test]
fn check_for_programs() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "claude-111"), sandbox.agent(&repo, "kimi-222"));
    a.ok(["acquire", "src/a"]);
    insta::assert_snapshot!(document(&b, &sandbox, &["check", "src/a", "src/b"]), @r#"
    exit 1
    {
      "command": "check",
      "conflicts": [
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": null,
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null,
          "state": "live",
          "token": "[token]",
          "ttl_ms": 300000,
          "wanted": {
            "kind": "file",
            "path": "src/a"
          }
        }
      ],
      "error": {
        "hints": [],
        "kind": "conflict",
        "message": "src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left)"
      },
      "leases": [],
      "locked": true,
      "notes": [],
      "ok": false,
      "results": [
        {
          "message": "src/a: held by claude-111 since [TIME] until [TIME] ([LENGTH] left)",
          "outcome": "held",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null
        },
        {
          "message": "src/b: free",
          "outcome": "free",
          "resource": {
            "kind": "file",
            "path": "src/b"
          },
          "stale_owner": null
        }
      ],
      "schema": 1,
      "warnings": []
    }
    "#);
    insta::assert_snapshot!(document(&a, &sandbox, &["check", "src/a"]), @r#"
    exit 0
    {
      "command": "check",
      "conflicts": [],
      "error": null,
      "leases": [
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": null,
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null,
          "state": "live",
          "token": "[token]",
          "ttl_ms": 300000
        }
      ],
      "locked": true,
      "notes": [],
      "ok": true,
      "results": [
        {
          "message": "src/a: yours since [TIME] until [TIME] ([LENGTH] left); token [TOKEN]",
          "outcome": "mine",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null
        }
      ],
      "schema": 1,
      "warnings": []
    }
    "#);
    insta::assert_snapshot!(document(&b, &sandbox, &["check", "--mine", "free"]), @r#"
    exit 3
    {
      "command": "check",
      "conflicts": [],
      "error": {
        "hints": [],
        "kind": "absent",
        "message": "free: not yours\nfree: free"
      },
      "leases": [],
      "locked": false,
      "notes": [
        "free is taken as a file; add `/` for a directory and all below"
      ],
      "ok": false,
      "results": [
        {
          "message": "free: not yours\nfree: free",
          "outcome": "free",
          "resource": {
            "kind": "file",
            "path": "free"
          },
          "stale_owner": null
        }
      ],
      "schema": 1,
      "warnings": []
    }
    "#);
}

#[test]
fn list_for_people() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "claude-111"), sandbox.agent(&repo, "kimi-222"));
    insta::assert_snapshot!(shown(&sandbox, &a.run(["list"])), @r#"
    exit 0
    --- stdout
    no leases
    "#);
    a.let_expire("old");
    a.ok(["acquire", "src/a", "--reason", "re factoring"]);
    b.ok(["acquire", "lib/", "--resource", "plan:42"]);
    insta::assert_snapshot!(columns(&sandbox, &a.ok(["list"]).out()), @r#"
    RESOURCE | OWNER | AGE | LEFT | REASON
    lib/ | kimi-222 | [LENGTH] | [LENGTH]
    x | old | claude-111 | [LENGTH] | expired [LENGTH] ago
    * | src/a | claude-111 | [LENGTH] | [LENGTH] | re factoring
    plan:42 | kimi-222 | [LENGTH] | [LENGTH]
    "#);
    insta::assert_snapshot!(columns(&sandbox, &a.ok(["list", "--owner", "kimi-222"]).out()), @r#"
    RESOURCE | OWNER | AGE | LEFT | REASON
    lib/ | kimi-222 | [LENGTH] | [LENGTH]
    plan:42 | kimi-222 | [LENGTH] | [LENGTH]
    "#);
    insta::assert_snapshot!(columns(&sandbox, &a.ok(["list", "--expired"]).out()), @r#"
    RESOURCE | OWNER | AGE | LEFT | REASON
    x | old | claude-111 | [LENGTH] | expired [LENGTH] ago
    "#);
    assert_eq!(a.ok(["list", "--quiet"]).out(), "");
}

#[test]
fn list_for_programs() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "claude-111");
    a.ok(["acquire", "src/a", "--resource", "plan:42"]);
    insta::assert_snapshot!(document(&a, &sandbox, &["list"]), @r#"
    exit 0
    {
      "command": "list",
      "conflicts": [],
      "error": null,
      "leases": [
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": null,
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "kind": "file",
            "path": "src/a"
          },
          "stale_owner": null,
          "state": "live",
          "token": "[token]",
          "ttl_ms": 300000
        },
        {
          "acquired_at": "[acquired_at]",
          "expires_at": "[expires_at]",
          "host": "[host]",
          "owner": "claude-111",
          "pid": "[pid]",
          "reason": null,
          "remaining_ms": "[remaining_ms]",
          "renewed_at": "[renewed_at]",
          "resource": {
            "id": "42",
            "kind": "named",
            "type": "plan"
          },
          "stale_owner": null,
          "state": "live",
          "token": "[token]",
          "ttl_ms": 300000
        }
      ],
      "locked": true,
      "notes": [],
      "ok": true,
      "schema": 1,
      "unreadable": [],
      "warnings": []
    }
    "#);
}

#[test]
fn whoami_for_people_and_programs() {
    let (sandbox, repo) = Sandbox::with_repo();
    let nobody = sandbox.nobody(&repo);
    let claude = nobody.env("CLAUDE_CODE_SESSION_ID", "7f3a");
    insta::assert_snapshot!(shown(&sandbox, &claude.run(["whoami"])), @r#"
    exit 0
    --- stdout
    claude-code:7f3a (from CLAUDE_CODE_SESSION_ID)
    "#);
    insta::assert_snapshot!(shown(&sandbox, &nobody.run(["whoami"])), @r#"
    exit 2
    --- stderr
    error: no owner was given
    hint: give --owner ID, or set AGENTLOCK_OWNER for the whole session of the agent
    hint: every session needs a name of its own, and keeps it: process ids do not do
    "#);
    insta::assert_snapshot!(document(&claude, &sandbox, &["whoami"]), @r#"
    exit 0
    {
      "command": "whoami",
      "conflicts": [],
      "error": null,
      "leases": [],
      "locked": false,
      "notes": [],
      "ok": true,
      "owner": {
        "id": "claude-code:7f3a",
        "source": "CLAUDE_CODE_SESSION_ID"
      },
      "schema": 1,
      "warnings": []
    }
    "#);
    insta::assert_snapshot!(document(&nobody, &sandbox, &["whoami"]), @r#"
    exit 2
    {
      "command": "whoami",
      "conflicts": [],
      "error": {
        "hints": [
          "give --owner ID, or set AGENTLOCK_OWNER for the whole session of the agent",
          "every session needs a name of its own, and keeps it: process ids do not do"
        ],
        "kind": "invalid",
        "message": "no owner was given"
      },
      "leases": [],
      "locked": false,
      "notes": [],
      "ok": false,
      "schema": 1,
      "warnings": []
    }
    "#);
}

#[test]
fn policy_for_people_and_programs() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "claude-111");
    std::fs::write(repo.join(".agentlock.toml"), "[ttl]\ndefault = \"10m\"\n[guard]\nrequire = [\"*.lock\"]\n")
        .unwrap();
    insta::assert_snapshot!(shown(&sandbox, &a.run(["policy", "src/a"])), @r#"
    exit 0
    --- stdout
    ttl.default = "10m"         # [TMP]/r/.agentlock.toml, line 2
    ttl.min = "5s"              # the built-in policy
    ttl.max = "1h"              # the built-in policy
    ttl.keep-expired = "1d"     # the built-in policy
    store.fsync = true          # the built-in policy
    store.scope = "worktree"    # the built-in policy
    guard.mode = "enforce"      # the built-in policy
    guard.require = ["*.lock"]  # [TMP]/r/.agentlock.toml, line 4
    guard.lost-leases = true    # the built-in policy
    agent.on-error = "block"    # the built-in policy
    agent.stale-reads = true    # the built-in policy
    src/a: TTL 10m unless given, 5s to 1h
    leases are kept in [TMP]/r/.git/agent-locks/v1
    "#);
    insta::assert_snapshot!(document(&a, &sandbox, &["policy", "src/a"]), @r#"
    exit 0
    {
      "command": "policy",
      "conflicts": [],
      "error": null,
      "leases": [],
      "locked": false,
      "notes": [],
      "ok": true,
      "policy": [
        {
          "file": "[TMP]/r/.agentlock.toml",
          "key": "ttl.default",
          "layer": "committed",
          "line": 2,
          "value": "\"10m\""
        },
        {
          "file": null,
          "key": "ttl.min",
          "layer": "embedded",
          "line": "[line]",
          "value": "\"5s\""
        },
        {
          "file": null,
          "key": "ttl.max",
          "layer": "embedded",
          "line": "[line]",
          "value": "\"1h\""
        },
        {
          "file": null,
          "key": "ttl.keep-expired",
          "layer": "embedded",
          "line": "[line]",
          "value": "\"1d\""
        },
        {
          "file": null,
          "key": "store.fsync",
          "layer": "embedded",
          "line": "[line]",
          "value": "true"
        },
        {
          "file": null,
          "key": "store.scope",
          "layer": "embedded",
          "line": "[line]",
          "value": "\"worktree\""
        },
        {
          "file": null,
          "key": "guard.mode",
          "layer": "embedded",
          "line": "[line]",
          "value": "\"enforce\""
        },
        {
          "file": "[TMP]/r/.agentlock.toml",
          "key": "guard.require",
          "layer": "committed",
          "line": 4,
          "value": "[\"*.lock\"]"
        },
        {
          "file": null,
          "key": "guard.lost-leases",
          "layer": "embedded",
          "line": "[line]",
          "value": "true"
        },
        {
          "file": null,
          "key": "agent.on-error",
          "layer": "embedded",
          "line": "[line]",
          "value": "\"block\""
        },
        {
          "file": null,
          "key": "agent.stale-reads",
          "layer": "embedded",
          "line": "[line]",
          "value": "true"
        }
      ],
      "schema": 1,
      "store": "[TMP]/r/.git/agent-locks/v1",
      "ttl": [
        {
          "default_ms": 600000,
          "max_ms": 3600000,
          "min_ms": 5000,
          "resource": {
            "kind": "file",
            "path": "src/a"
          }
        }
      ],
      "warnings": []
    }
    "#);
    std::fs::write(repo.join(".agentlock.toml"), "[ttl]\ndeafult = \"10m\"\n").unwrap();
    insta::assert_snapshot!(shown(&sandbox, &a.run(["policy"])), @r#"
    exit 4
    --- stdout
    ttl.default = "5m"        # the built-in policy
    ttl.min = "5s"            # the built-in policy
    ttl.max = "1h"            # the built-in policy
    ttl.keep-expired = "1d"   # the built-in policy
    store.fsync = true        # the built-in policy
    store.scope = "worktree"  # the built-in policy
    guard.mode = "enforce"    # the built-in policy
    guard.require = []        # the built-in policy
    guard.lost-leases = true  # the built-in policy
    agent.on-error = "block"  # the built-in policy
    agent.stale-reads = true  # the built-in policy
    leases are kept in [TMP]/r/.git/agent-locks/v1
    --- stderr
    error: the policy cannot be used: [TMP]/r/.agentlock.toml:2: unknown key 'ttl.deafult'; did you mean 'ttl.default'?
    hint: mend the file, or move it away; what is shown is in effect without it
    "#);
    insta::assert_snapshot!(shown(&sandbox, &a.run(["acquire", "src/a"])), @r#"
    exit 4
    --- stderr
    error: the policy cannot be used: [TMP]/r/.agentlock.toml:2: unknown key 'ttl.deafult'; did you mean 'ttl.default'?
    hint: mend the file, or move it away; `git agentlock policy` shows what applies and from where
    "#);
    insta::assert_snapshot!(shown(&sandbox, &a.run(["check", "src/a"])), @"
    exit 0
    --- stdout
    src/a: free
    --- stderr
    warning: a policy file is passed over: [TMP]/r/.agentlock.toml:2: unknown key 'ttl.deafult'; did you mean 'ttl.default'?
    ");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let coloured = b.expect(1, ["acquire", "src/a", "--color", "always"]);
    assert!(coloured.err().contains("\u{1b}[1m\u{1b}[31merror:"), "{coloured:#?}");
    // The runner sees to it that without a terminal there is none.
    b.expect(1, ["acquire", "src/a"]);
    b.expect(1, ["acquire", "src/a", "--color=never"]);
    assert!(a.ok(["list", "--color", "always"]).out().contains("\u{1b}[32m"));
    a.env("NO_COLOR", "1").ok(["list", "--color=auto"]);
}

#[test]
fn json_comes_in_every_outcome_usage_errors_included() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let calls: [(i32, &[&str], &str, &str); 6] = [
        (2, &["acquire"], "acquire", "invalid"),
        (2, &["acquire", "--bogus"], "acquire", "invalid"),
        (2, &["heartbeat", "--token", "x", "src/a"], "renew", "invalid"),
        (2, &["bogus"], "", "invalid"),
        (3, &["renew", "src/a"], "renew", "absent"),
        (4, &["check", "/etc/passwd"], "check", "no_repository"),
    ];
    for (code, arguments, command, kind) in calls {
        let ran = a.expect(code, [arguments, &["--json"]].concat());
        assert!(ran.stderr.0.is_empty(), "{ran:#?}");
        let document = ran.document();
        assert_eq!(
            (document.command.as_str(), document.error.unwrap().kind.as_str()),
            (command, kind),
            "{arguments:?}"
        );
    }
}
