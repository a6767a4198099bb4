//! Names that tools stumble over: each blocks exactly itself, and is shown escaped on one line. (The runner looks for control bytes.)

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use git_agentlock::resource::RepoPath;

use crate::{guard_world::Committer, sandbox::Sandbox};

/// Every file of the repository but those in `src`, as bytes below the top.
fn names(top: &Path) -> Vec<OsString> {
    fn walk(top: &Path, dir: &Path, found: &mut Vec<OsString>) {
        for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.strip_prefix(top).unwrap();
            if name == Path::new(".git") || name == Path::new("src") {
                continue;
            }
            if entry.is_dir() { walk(top, &entry, found) } else { found.push(name.into()) }
        }
    }
    let mut found = Vec::new();
    walk(top, top, &mut found);
    found.sort();
    assert!(found.len() > 30, "{found:?}");
    found
}

fn commit<'n>(options: &[&'n str], name: &'n OsStr) -> Vec<&'n OsStr> {
    let words = ["--literal-pathspecs", "commit", "-qm", "x"];
    words.iter().chain(options).map(|word| OsStr::new(*word)).chain([OsStr::new("--"), name]).collect()
}

/// As paths are shown everywhere: on one line, escaped, with quotes where blanks at an end would not be seen.
fn shown(name: &OsStr) -> String {
    RepoPath::new(name.as_bytes()).unwrap().to_string()
}

/// C04: each name as one lease, one changed file and one commit.
#[track_caller]
pub(crate) fn each_name_blocks_itself(at: &Committer<'_>) {
    for name in names(at.cwd()) {
        at.hold("B", &name);
        at.change(Path::new(&name));
        let shown = shown(&name);
        let ran = at.refused(commit(&["--only"], &name), &[&shown]);
        ran.err_has(&[&format!("error: cannot commit {shown}: held by B since ")]);
        at.give_back("B", &name);
        at.passes(commit(&["--only"], &name));
    }
}

#[test]
fn c04_each_hostile_name_blocks_itself_and_is_shown_on_one_line() {
    let sandbox = Sandbox::new();
    let top = sandbox.fixture("hostile").unwrap();
    each_name_blocks_itself(&sandbox.committer(&top, "A"));
}

#[test]
fn c04_all_hostile_names_in_one_commit() {
    let sandbox = Sandbox::new();
    let top = sandbox.fixture("hostile").unwrap();
    let at = sandbox.committer(&top, "A");
    let names = names(&top);
    for name in &names {
        at.hold("B", name);
        at.change(Path::new(name));
    }
    let shown: Vec<String> = names.iter().map(|name| shown(name)).collect();
    let ran = at.refused(["commit", "-qam", "x"], &shown.iter().map(String::as_str).collect::<Vec<_>>());
    let invisible = ['\u{202e}', '\u{2028}', '\u{200b}', '\r', '\t', '\u{1b}'];
    assert!(!ran.err().contains(invisible), "{ran:#?}");
    at.ok(["add", "-A"]);
    let document = at.judged_json(1);
    assert_eq!(document.conflicts.len(), names.len());
    for name in &names {
        let is_it = |path: &Option<String>, bytes: &Option<String>| match bytes {
            Some(bytes) => STANDARD.decode(bytes).unwrap() == name.as_bytes(),
            None => path.as_deref().map(OsStr::new) == Some(name),
        };
        let of_name = document.conflicts.iter().filter(|found| is_it(&found.wanted.path, &found.wanted.path_bytes));
        assert_eq!(of_name.count(), 1, "{name:?}");
    }
}

/// C29: brackets, stars and braces are names.
#[test]
fn c29_a_name_that_looks_like_a_glob_leaves_its_neighbours_alone() {
    let sandbox = Sandbox::new();
    let top = sandbox.fixture("hostile").unwrap();
    let at = sandbox.committer(&top, "A");
    for name in ["app/[id]/page.tsx", "x*y", "q?", "a{b,c}", "!bang"] {
        at.hold("B", name);
    }
    for (number, name) in ["app/i/page.tsx", "xxy", "qq", "ab", "ac", "bang"].iter().enumerate() {
        at.write(name, &format!("{number}\n"));
    }
    at.ok(["--literal-pathspecs", "add", "app/i/page.tsx", "xxy", "qq", "ab", "ac", "bang"]);
    at.passes(["commit", "-qm", "neighbours"]);
}

/// C27: a directory is compared by whole names, whatever sorts between it and what is in it.
#[test]
fn c27_an_area_is_no_prefix_of_a_text() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    at.hold("B", "x/");
    for name in ["x.b", "x-b", "x b", "x0", "xy/z", "w", "X/b"] {
        at.write(name, "1\n");
    }
    at.ok(["add", "."]);
    at.passes(["commit", "-qm", "neighbours"]);
    at.write("x/b", "1\n");
    at.write("x/y/c", "1\n");
    at.ok(["add", "."]);
    at.refused(["commit", "-qm", "inside"], &["x/b", "x/y/c"]).err_has(&["x/b: x/ is held by B"]);
}

#[test]
fn c48_owners_and_reasons_of_others_forge_no_line() {
    let (sandbox, top) = Sandbox::guarded();
    let at = sandbox.committer(&top, "A");
    let reason = "x\nerror: src/b: held by C\r\u{1b}[2J\u{202e}";
    let owner = "B \u{202e}\u{200b}";
    at.agent(owner).ok(["acquire", "src/a", "--reason", reason]);
    at.change("src/a");
    let ran = at.refused(["commit", "-qam", "x"], &["src/a"]);
    ran.err_has(&["held by B \\u{202e}\\u{200b} since", "x\\nerror: src/b: held by C\\r\\x1b[2J\\u{202e}"]);
}

/// A repository from macOS, used elsewhere: its configuration composes names, and what git finds on the disk is spelt in parts.
#[test]
fn a_name_that_is_spelt_in_parts_is_the_one_that_is_held() {
    let (sandbox, top) = Sandbox::guarded();
    let (a, b, path) = (sandbox.committer(&top, "A"), sandbox.committer(&top, "B"), "src/e\u{301}");
    sandbox.git(&top, &["config", "core.precomposeunicode", "true"]);
    for (number, held) in [path, "src/"].into_iter().enumerate() {
        b.hold("B", held);
        a.write(path, &format!("{number}\n"));
        a.ok(["add", "."]);
        let ran = a.refused(["commit", "-qm", "in parts"], &["src/\u{e9}"]);
        assert!(!ran.err().contains("commit --only src"), "it is not told to commit just that: {ran:#?}");
        b.passes(["commit", "-qm", "in parts"]);
        b.give_back("B", held);
    }
}

#[test]
fn a_lease_from_before_case_was_ignored_or_counted_still_stands() {
    for (before, after) in [("false", "true"), ("true", "false")] {
        let (sandbox, top) = Sandbox::guarded();
        let a = sandbox.committer(&top, "A");
        sandbox.git(&top, &["config", "core.ignorecase", before]);
        a.hold("B", "src/a");
        sandbox.git(&top, &["config", "core.ignorecase", after]);
        a.change("src/a");
        a.refused(["commit", "-qam", "x"], &["src/a"]);
        a.named("B").passes(["commit", "-qam", "x"]);
    }
}
