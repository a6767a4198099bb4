//! The policy as users meet it: which file says what, and what a bad file costs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::sandbox::{Agent, Sandbox};

/// The four files, from the weakest to the strongest, and an agent to whom they all apply.
fn layers<'s>(sandbox: &'s Sandbox, repo: &Path) -> ([PathBuf; 4], Agent<'s>) {
    let user = sandbox.home().join(".config/git-agentlock/policy.toml");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    let explicit = sandbox.root().join("explicit.toml");
    let files = [user, repo.join(".agentlock.toml"), repo.join(".git/agentlock.toml"), explicit.clone()];
    (files, sandbox.agent(repo, "A"))
}

#[test]
fn later_layers_win_and_policy_says_where_each_value_comes_from() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (files, a) = layers(&sandbox, &repo);
    let ttl = |agent: &Agent<'_>| {
        let document = agent.json(0, ["policy"]);
        let setting = document.policy.unwrap().into_iter().find(|setting| setting.key == "ttl.default").unwrap();
        (setting.value, setting.layer, setting.file, setting.line)
    };
    assert_eq!((ttl(&a).0.as_str(), ttl(&a).1.as_str(), ttl(&a).2), ("\"5m\"", "embedded", None));
    let names = ["user", "committed", "local", "explicit"];
    for (number, (file, name)) in files.iter().zip(names).enumerate() {
        let value = format!("{}m", 10 + number);
        fs::write(file, format!("# {name}\n[ttl]\ndefault = \"{value}\"\n")).unwrap();
        let agent = if number == 3 { a.env("AGENTLOCK_POLICY", file) } else { a.clone() };
        let (found, layer, origin, line) = ttl(&agent);
        assert_eq!((found.as_str(), layer.as_str()), (format!("\"{value}\"").as_str(), name));
        assert_eq!((origin.as_deref(), line), (file.to_str(), 3));
        let lease = agent.json(0, ["acquire", &format!("f{number}")]).leases.remove(0);
        assert_eq!(lease.ttl_ms, 60_000 * (10 + number as u64));
    }
}

#[test]
fn rules_decide_by_path() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let policy = "[[ttl.rule]]\npaths = [\"**/Cargo.lock\"]\ndefault = \"30m\"\nmax = \"2h\"\n";
    fs::write(repo.join(".agentlock.toml"), policy).unwrap();
    let leases = a.json(0, ["acquire", "x/Cargo.lock", "src/a"]).leases;
    assert_eq!(leases.iter().map(|lease| lease.ttl_ms).collect::<Vec<_>>(), [1_800_000, 300_000]);
    a.ok(["acquire", "x/Cargo.lock", "--ttl", "2h"]);
    a.expect(2, ["acquire", "src/a", "--ttl", "2h"]);
    let limits = a.json(0, ["policy", "x/Cargo.lock", "src/a"]).ttl.unwrap();
    assert_eq!(
        limits.iter().map(|limits| (limits.default_ms, limits.min_ms, limits.max_ms)).collect::<Vec<_>>(),
        [(1_800_000, 5_000, 7_200_000), (300_000, 5_000, 3_600_000)]
    );
    assert_eq!(limits[0].resource.name(), "x/Cargo.lock");
}

/// C51: whoever wants to lock has to know the limits; whoever looks or gives back does not.
#[test]
fn a_bad_policy_refuses_acquire_and_renew_and_only_warns_the_others() {
    let bad: [(&[u8], &[&str]); 12] = [
        (b"[ttl]\ndeafult = \"5m\"\n", &[":2: ", "deafult", "default"]),
        (b"[tll]\ndefault = \"5m\"\n", &[":1: ", "tll", "ttl"]),
        (b"ttl_default = \"5m\"\n", &[":1: ", "ttl_default"]),
        (b"[ttl]\nmax = \"banana\"\n", &[":2: ", "max", "banana"]),
        (b"[ttl]\nmax = \"0\"\n", &[":2: ", "max"]),
        (b"[ttl]\nmax = true\n", &[":2: ", "max"]),
        (b"[ttl]\nmin = \"1h\"\nmin = \"2h\"\n", &[":3: ", "min"]),
        (b"[ttl]\nmax = \"1m\"\n", &[":2: ", "max", "5m"]),
        (b"[ttl\n", &[":1: "]),
        (b"[guard]\nmode = \"enforec\"\n", &[":2: ", "mode", "enforce"]),
        (b"[store]\nfsync = \"yes\"\n", &[":2: ", "fsync"]),
        (b"\xff\xfe", &["UTF-8"]),
    ];
    for (text, told) in bad {
        let (sandbox, repo) = Sandbox::with_repo();
        let (files, a) = layers(&sandbox, &repo);
        a.ok(["acquire", "src/a"]);
        for file in &files {
            fs::write(file, text).unwrap();
            let agent = a.env("AGENTLOCK_POLICY", if *file == files[3] { file.as_path() } else { Path::new("") });
            for arguments in [["acquire", "src/b"], ["renew", "src/a"]] {
                let ran = agent.expect(4, arguments);
                ran.err_has(&["error: the policy cannot be used", file.to_str().unwrap(), "hint: "]).err_has(told);
                assert_eq!(agent.json(4, arguments).error.unwrap().kind, "policy");
            }
            for arguments in [&["check", "src/a"][..], &["list"], &["release", "src/none"]] {
                let ran = agent.ok(arguments);
                ran.err_has(&["warning: ", file.to_str().unwrap(), "a policy file is passed over"]).err_has(told);
                assert_eq!(agent.json(0, arguments).warnings.len(), 1);
            }
            agent.expect(4, ["policy"]).err_has(told).out_has(&["ttl.default = \"5m\""]);
            agent.ok(["whoami"]);
            fs::remove_file(file).unwrap();
        }
        fs::write(&files[2], text).unwrap();
        a.ok(["release", "src/a"]);
        assert!(a.listed().is_empty());
    }
}

#[test]
fn policies_that_look_odd_and_are_right_are_taken() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for text in ["", "\u{feff}[ttl]\r\ndefault = \"10m\"\r\n", "# nothing\n", "ttl.default = 600\n"] {
        fs::write(repo.join(".agentlock.toml"), text).unwrap();
        let ran = a.ok(["acquire", "src/a"]);
        assert!(ran.stderr.0.is_empty(), "{ran:#?}");
    }
}

#[test]
fn a_policy_that_is_no_file_is_an_error_and_nothing_waits_for_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let file = repo.join(".agentlock.toml");
    fs::create_dir(&file).unwrap();
    a.expect(4, ["acquire", "src/a"]).err_has(&[".agentlock.toml", "directory"]);
    a.ok(["check", "src/a"]).err_has(&["warning: "]);
    fs::remove_dir(&file).unwrap();
    let made = sandbox.command("mkfifo", &repo).arg(&file).status().unwrap();
    assert!(made.success());
    a.expect(4, ["acquire", "src/a"]).err_has(&[".agentlock.toml", "not a regular file"]);
    a.env("AGENTLOCK_POLICY", "/nope/policy.toml").expect(4, ["acquire", "src/a"]).err_has(&[
        "/nope/policy.toml",
        "mend the file",
        "have AGENTLOCK_POLICY name a file that exists, or unset it",
    ]);
    fs::remove_file(&file).unwrap();
    let ran = a.env("AGENTLOCK_POLICY", "/nope/policy.toml").expect(4, ["acquire", "src/a"]);
    ran.err_has(&["unset it"]);
    assert!(!ran.err().contains("mend"), "{ran:#?}");
}

#[test]
fn identity_is_decided_by_the_local_file_only() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (files, a) = layers(&sandbox, &repo);
    for line in ["scope = \"repository\"", "dir = \"/srv/locks\"", "project = \"web\""] {
        for file in [&files[0], &files[1]] {
            fs::write(file, format!("[store]\n{line}\n")).unwrap();
            a.expect(4, ["acquire", "src/a"]).err_has(&[":2: ", "store.", "agentlock.toml"]);
            fs::remove_file(file).unwrap();
        }
    }
    let elsewhere = sandbox.root().join("S");
    fs::write(&files[2], format!("[store]\ndir = {:?}\nproject = \"web\"\n", elsewhere.to_str().unwrap())).unwrap();
    a.ok(["acquire", "src/a"]);
    assert!(elsewhere.join("v1").is_dir() && !repo.join(".git/agent-locks").exists());
    assert_eq!(a.json(0, ["list"]).leases[0].resource.project.as_deref(), Some("web"));
    fs::write(&files[2], "[store]\ndir = \"relative\"\n").unwrap();
    a.expect(4, ["acquire", "src/a"]).err_has(&["store.dir", "absolute"]);
}

#[test]
fn a_policy_that_is_cut_does_not_expire_what_is_held() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let before = a.json(0, ["acquire", "src/a", "--ttl", "1h"]).leases.remove(0);
    fs::write(repo.join(".git/agentlock.toml"), "[ttl]\ndefault = \"1m\"\nmax = \"2m\"\n").unwrap();
    let after = a.json(0, ["check", "--mine", "src/a"]).leases.remove(0);
    assert_eq!(after.expires_at, before.expires_at);
    let renewed = a.json(0, ["renew", "src/a"]);
    assert_eq!(renewed.warnings, ["src/a: the policy now allows 2m at most"]);
    assert!(renewed.leases[0].remaining_ms > 3_000_000, "and a renewal never shortens");
}
