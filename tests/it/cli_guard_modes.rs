//! Enforce, warn, off; and what the guard does when it cannot tell, or has nothing to guard.

use std::{fs, path::Path};

use crate::{
    guard_world::{Committer, is_blamed},
    sandbox::{Sandbox, records, store_of, tree},
};

fn with_a_conflict() -> (Sandbox, std::path::PathBuf) {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.change("src/a");
    at.ok(["add", "src/a"]);
    (sandbox, top)
}

fn policy(top: &Path, text: &str) {
    fs::write(top.join(".git/agentlock.toml"), text).unwrap();
}

#[track_caller]
fn is_silent(ran: &crate::sandbox::Ran) {
    assert_eq!((ran.out(), ran.err()), (String::new(), String::new()), "{ran:#?}");
}

#[track_caller]
fn only_warns(at: &Committer<'_>) {
    let ran = at.judged(0);
    is_blamed("warning", &ran, &["src/a"]);
    is_blamed("error", &ran, &[]);
    ran.err_has(&["warning: cannot commit src/a: held by B since "]);
}

#[test]
fn the_environment_decides_the_mode() {
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    for enforced in ["enforce", ""] {
        is_blamed("error", &at.env("AGENTLOCK_GUARD", enforced).judged(1), &["src/a"]);
    }
    // What is no mode does not let anything pass.
    for garbage in ["0", "1", "no", "false", "offf", "warn ", "\n"] {
        let ran = at.env("AGENTLOCK_GUARD", garbage).agent("A").run(["guard"]);
        assert!([1, 2, 4].contains(&ran.code()), "{garbage:?}: {ran:#?}");
        ran.err_has(&["AGENTLOCK_GUARD", "src/a: held by B"]);
    }
    only_warns(&at.env("AGENTLOCK_GUARD", "warn"));
    is_silent(&at.env("AGENTLOCK_GUARD", "off").judged(0));
    at.env("AGENTLOCK_GUARD", "warn")
        .passes_with_words(["commit", "-qm", "warned"])
        .err_has(&["src/a: held by B", "note: the commit is made all the same: the guard only warns here"]);
    at.change("src/a");
    at.env("AGENTLOCK_GUARD", "off").passes(["commit", "-qam", "off"]);
}

#[test]
fn the_policy_decides_when_the_environment_does_not() {
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    policy(&top, "[guard]\nmode = \"warn\"\n");
    only_warns(&at);
    only_warns(&at.env("AGENTLOCK_GUARD", ""));
    at.env("AGENTLOCK_GUARD", "enforce").judged(1);
    is_silent(&at.env("AGENTLOCK_GUARD", "off").judged(0));
    policy(&top, "[guard]\nmode = \"off\"\n");
    is_silent(&at.judged(0));
    at.env("AGENTLOCK_GUARD", "enforce").judged(1);
    only_warns(&at.env("AGENTLOCK_GUARD", "warn"));
    // The layers are those of every other key: what the local one says counts more than what is committed or the user's.
    policy(&top, "");
    let user = sandbox.home().join(".config/git-agentlock");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("policy.toml"), "[guard]\nmode = \"off\"\n").unwrap();
    is_silent(&at.judged(0));
    fs::write(top.join(".agentlock.toml"), "[guard]\nmode = \"warn\"\n").unwrap();
    only_warns(&at);
    only_warns(&at.cd("src"));
    policy(&top, "[guard]\nmode = \"enforce\"\n");
    at.judged(1);
    let named = sandbox.root().join("named.toml");
    fs::write(&named, "[guard]\nmode = \"off\"\n").unwrap();
    is_silent(&at.env("AGENTLOCK_POLICY", &named).judged(0));
}

#[test]
fn off_is_read_before_anything_that_can_fail() {
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    fs::write(top.join(".git/index"), "nonsense").unwrap();
    policy(&top, "[guard\n");
    let off = at.env("AGENTLOCK_GUARD", "off");
    let broken = off.env("AGENT_REGISTRY_LOCK_DIR", "relative").env("AGENTLOCK_POLICY", "/nowhere/at/all");
    is_silent(&broken.judged(0));
    is_silent(&broken.named("a\nb").judged(0));
    is_silent(&off.env("GIT_DIR", "/nowhere").judged(0));
    is_silent(&sandbox.committer(sandbox.root(), "A").env("AGENTLOCK_GUARD", "off").judged(0));
    policy(&top, "[guard]\nmode = \"off\"\n");
    is_silent(&at.judged(0));
    is_silent(&at.named("").judged(0));
}

#[test]
fn an_owner_that_is_none_is_refused() {
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    at.named("a\nb").judged(2).err_has(&["error: "]);
    at.agent("A").expect(2, ["guard", "--owner", ""]);
    at.agent("A").expect(2, ["guard", "--owner", &"x".repeat(256)]);
    at.agent("A").expect(0, ["guard", "--owner", "B"]);
    at.named("a\nb").stopped(2, ["commit", "-qm", "x"]);
}

#[test]
fn c39_where_nothing_was_ever_locked_commits_pass_and_nothing_is_made() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    let shared = sandbox.root().join("L");
    for by in [at.clone(), at.named(""), at.named("no\nowner"), at.env("AGENT_REGISTRY_LOCK_DIR", &shared)] {
        by.change("src/a");
        let ran = by.passes(["commit", "-qam", "x"]);
        is_silent(&ran);
    }
    assert!(!top.join(".git/agent-locks").exists() && !shared.exists());
    // An index that cannot be read is no matter where nobody holds anything.
    fs::write(top.join(".git/index"), "nonsense").unwrap();
    is_silent(&at.judged(0));
}

#[test]
fn c39_where_all_locks_are_gone_commits_pass() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "src/a");
    at.hold("B", "lib/");
    at.agent("B").ok(["release", "--all"]);
    at.change("src/a");
    is_silent(&at.passes(["commit", "-qam", "x"]));
    at.agent("B").let_expire("src/a");
    at.change("src/a");
    is_silent(&at.passes(["commit", "-qam", "x"]));
    at.hold("B", "src/b");
    at.agent("C").ok(["break", "src/b", "--reason", "gone"]);
    at.change("src/b");
    at.passes(["commit", "-qam", "x"]);
}

/// Not able to tell: refused, with the cause and the exact bypass; a warning where the mode says so.
#[track_caller]
fn cannot_tell(at: &Committer<'_>, causes: &[&str]) {
    let bypass = ["git commit --no-verify", "AGENTLOCK_GUARD=off"];
    at.judged(4).err_has(causes).err_has(&bypass).err_has(&["error: "]);
    let ran = at.env("AGENTLOCK_GUARD", "warn").judged(0);
    ran.err_has(causes).err_has(&["warning: "]);
    assert!(!ran.err().contains("error: "), "{ran:#?}");
    let document = at.judged_json(4);
    assert!(!["conflict", "not_owner", "invalid"].contains(&&*document.error.unwrap().kind));
    is_silent(&at.env("AGENTLOCK_GUARD", "off").judged(0));
}

#[test]
fn c76_an_index_that_cannot_be_read_is_no_empty_index() {
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    let index = top.join(".git/index");
    let whole = fs::read(&index).unwrap();
    let mut flipped = whole.clone();
    flipped[40] ^= 0xff;
    let mut other_version = whole.clone();
    other_version[7] = 9;
    for content in [&b"nonsense"[..], b"DIRC", &whole[..whole.len() / 2], &other_version] {
        fs::write(&index, content).unwrap();
        cannot_tell(&at, &["index"]);
    }
    // A byte that is not what it was, and the checksum says so to git.
    fs::write(&index, flipped).unwrap();
    assert_ne!(at.git(["commit", "-qm", "x"]).code(), 0);
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    cannot_tell(&at, &["index"]);
    fs::remove_dir(&index).unwrap();
    // No index at all is an empty one, for git too: everything is deleted.
    at.judged(1).err_has(&["src/a: held by B"]);
}

fn forget(top: &Path, object: &str) {
    fs::remove_file(top.join(".git/objects").join(&object[..2]).join(&object[2..])).unwrap();
}

#[test]
fn c76_a_head_that_cannot_be_read_is_no_first_commit() {
    for what in ["HEAD^{tree}", "HEAD:src", "HEAD"] {
        let (sandbox, top) = with_a_conflict();
        let at = sandbox.committer(&top, "A");
        let id = at.ok(["rev-parse", what]).out().trim().to_owned();
        forget(&top, &id);
        cannot_tell(&at, &[&id[..7]]);
    }
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    fs::write(top.join(".git/refs/heads/main"), "nonsense\n").unwrap();
    cannot_tell(&at, &["HEAD"]);
}

#[test]
fn c10_records_that_cannot_be_used_do_not_let_a_commit_pass() {
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    let record = records(&store_of(&top.join(".git"))).remove(0);
    let content = fs::read(&record).unwrap();
    for broken in [&b""[..], b"{", b"null", &content[..content.len() / 2], b"\0\0\0\0"] {
        fs::write(&record, broken).unwrap();
        let ran = at.agent("A").run(["guard"]);
        assert!([1, 4].contains(&ran.code()), "{ran:#?}");
        ran.err_has(&[record.to_str().unwrap(), "git commit --no-verify", "AGENTLOCK_GUARD=off"]);
        let warned = at.env("AGENTLOCK_GUARD", "warn").judged(0);
        warned.err_has(&["warning: ", record.to_str().unwrap()]);
        is_silent(&at.env("AGENTLOCK_GUARD", "off").judged(0));
    }
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    assert!([1, 4].contains(&at.agent("A").run(["guard"]).code()));
}

/// C51: a typing error neither stops commits nor lets them pass.
#[test]
fn c51_a_policy_file_that_cannot_be_used_is_told_and_left_out() {
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    let texts: [&[u8]; 6] = [
        b"ttl_deafult = \"5m\"\n",
        b"[ttl]\nmax = \"banana\"\n",
        b"[guard]\nmode = \"of\"\n",
        b"[guard]\nmode = \"off\"\nmode = \"off\"\n",
        b"[guard\n",
        b"\xff\xfe",
    ];
    for text in texts {
        fs::write(top.join(".git/agentlock.toml"), text).unwrap();
        let ran = at.judged(1);
        is_blamed("error", &ran, &["src/a"]);
        ran.err_has(&["warning: ", "agentlock.toml"]);
        let ran = at.named("B").judged(0);
        ran.err_has(&["warning: ", "agentlock.toml"]);
        only_warns_of_path(&at.env("AGENTLOCK_GUARD", "warn"));
    }
    fs::remove_file(top.join(".git/agentlock.toml")).unwrap();
    fs::create_dir(top.join(".agentlock.toml")).unwrap();
    at.judged(1).err_has(&["warning: ", ".agentlock.toml"]);
    // The layers that can be read still count.
    policy(&top, "[guard]\nmode = \"warn\"\n");
    at.judged(0).err_has(&["warning: cannot commit src/a: held by B"]);
}

#[track_caller]
fn only_warns_of_path(at: &Committer<'_>) {
    let ran = at.judged(0);
    ran.err_has(&["warning: cannot commit src/a: held by B", "agentlock.toml"]);
    assert!(!ran.err().contains("error: "), "{ran:#?}");
}

#[test]
fn looking_changes_nothing() {
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    at.agent("C").let_expire("old");
    at.hold("C", "lib/");
    fs::write(store_of(&top.join(".git")).join("0/tmp-left-over"), "{").unwrap_or_default();
    let before = tree(sandbox.root());
    at.judged(1);
    at.judged_json(1);
    at.named("B").judged(0);
    at.named("").cd("src").judged(1);
    at.env("AGENTLOCK_GUARD", "warn").judged(0);
    at.env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("L")).judged(1);
    at.agent("A").run(["guard", "--hook", "pre-commit"]);
    at.agent("A").run(["guard", "--hook", "pre-merge-commit"]);
    assert_eq!(tree(sandbox.root()), before);
}

#[test]
fn the_document_says_what_the_text_says() {
    let (sandbox, top) = with_a_conflict();
    let at = sandbox.committer(&top, "A");
    at.hold("C", "lib/");
    at.write("lib/x", "1\n");
    at.ok(["add", "."]);
    let document = at.judged_json(1);
    assert_eq!((&*document.command, document.ok), ("guard", false));
    let mut found: Vec<(String, String, Option<String>)> = document
        .conflicts
        .iter()
        .map(|found| (found.wanted.name(), found.resource.as_ref().unwrap().name(), found.owner.clone()))
        .collect();
    found.sort();
    let expected = [("lib/x", "lib/", "C"), ("src/a", "src/a", "B")];
    assert_eq!(found, expected.map(|(path, held, by)| (path.into(), held.into(), Some(by.into()))));
    let error = document.error.unwrap();
    assert_eq!(error.kind, "conflict");
    assert!(error.hints.iter().any(|hint| hint.contains("git commit --only")), "{error:?}");
    let document = at.named("").judged_json(1);
    assert!(document.error.unwrap().hints.iter().any(|hint| hint.contains("AGENTLOCK_OWNER")));
    let document = at.env("AGENTLOCK_GUARD", "warn").judged_json(0);
    assert!(
        document.ok && document.warnings.iter().any(|warning| warning.contains("src/a: held by B")),
        "{document:?}"
    );
    at.ok(["reset", "-q"]);
    let document = at.judged_json(0);
    assert!(document.ok && document.conflicts.is_empty() && document.warnings.is_empty(), "{document:?}");
    let document = at.named("a\nb").judged_json(2);
    assert_eq!(document.error.unwrap().kind, "invalid");
}
