//! Changes at random, in every kind of index, judged by the guard and by git itself: with all of the work tree held, both name the same paths.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, path::Path};

use crate::{guard_world::Committer, sandbox::Sandbox};

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }
}

/// Names that sort before, at and behind a `/`, so that files and directories of one name lie apart in an index.
const NAMES: [&str; 7] = ["a", "a-", "a.b", "a0", "b", "c d", "\u{e4}"];

fn some_path(dice: &mut Dice) -> String {
    let depth = 1 + dice.roll(3);
    (0..depth).map(|_| dice.of(&NAMES)).collect::<Vec<_>>().join("/")
}

/// Makes way for a file, and writes one of a few contents, so that some are the same.
fn put(top: &Path, path: &str, content: &str) {
    let path = top.join(path);
    for above in path.ancestors().skip(1).take_while(|above| *above != top) {
        if above.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(above).unwrap();
        }
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    remove(&path);
    fs::write(path, content).unwrap();
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Half of the time one that git knows already, when there is any outside of `src`.
fn some_path_in(sandbox: &Sandbox, top: &Path, dice: &mut Dice) -> String {
    let tracked = sandbox.git(top, &["ls-files", "-z", "--", ".", ":!src"]);
    let tracked: Vec<&str> = tracked.split('\0').filter(|path| !path.is_empty()).collect();
    if tracked.is_empty() || dice.roll(2) == 0 { some_path(dice) } else { dice.of(&tracked).to_owned() }
}

fn change_something(sandbox: &Sandbox, top: &Path, dice: &mut Dice) {
    let path = some_path_in(sandbox, top, dice);
    let file = top.join(&path);
    // Whether git can do it is all the same: it has then done nothing.
    let git = |arguments: &[&str]| drop(sandbox.command("git", top).args(arguments).output().unwrap());
    match dice.roll(12) {
        0..4 => {
            put(top, &path, dice.of(&["1\n", "2\n", "3\n"]));
            git(&["add", "--sparse", "-A", "--", dice.of(&[&path, "."])]);
        }
        4 => {
            put(top, &path, "b");
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink("b", &file).unwrap();
            git(&["add", "--sparse", "-A", "."]);
        }
        5 => {
            if file.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            }
            git(&["add", "--sparse", "-A", "."]);
        }
        6 => git(&["rm", "-rq", "--sparse", dice.of(&["--cached", "-f"]), "--", &path]),
        7 => git(&["mv", "-f", "--sparse", "--", &path, &some_path(dice)]),
        8 => {
            put(top, &path, "4\n");
            git(&["add", "--sparse", "-N", "--", &path]);
        }
        9 => {
            git(&["reset", "-q", dice.of(&["--mixed", "--soft", "--hard"]), dice.of(&["HEAD", "HEAD~1", "ORIG_HEAD"])]);
        }
        10 => git(&["commit", "-qnm", "x"]),
        _ => git(&["update-index", dice.of(&["--skip-worktree", "--no-skip-worktree", "--assume-unchanged"]), &path]),
    }
}

/// What a commit would change, by the tree that git would make. It is made from a copy, since git notes in an index what it has made of it.
/// (`git diff-index` names directories instead of files where the index is sparse.)
fn staged(sandbox: &Sandbox, top: &Path) -> BTreeSet<String> {
    let copy = top.join(".git/copy");
    fs::copy(top.join(".git/index"), &copy).unwrap();
    let output = sandbox.command("git", top).arg("write-tree").env("GIT_INDEX_FILE", &copy).output().unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let said = sandbox.git(top, &["diff-tree", "-r", "--no-renames", "--name-only", "-z", "HEAD", tree.trim()]);
    said.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

fn judged(at: &Committer<'_>) -> BTreeSet<String> {
    let ran = at.agent("A").run(["--json", "guard"]);
    let document = ran.document();
    assert_eq!(ran.code(), i32::from(!document.conflicts.is_empty()), "{ran:#?}");
    document.conflicts.iter().map(|found| found.wanted.name()).collect()
}

fn agrees_with_git(kind: &str, config: &[&str]) {
    for seed in 0..4 {
        let sandbox = Sandbox::new();
        let Some(top) = sandbox.fixture(kind) else { return };
        let at = sandbox.committer(&top, "A");
        for setting in config {
            let (key, value) = setting.split_once('=').unwrap();
            sandbox.git(&top, &["config", key, value]);
        }
        at.agent("B").ok(["acquire", "--area", "."]);
        let mut dice = Dice(seed);
        for round in 0..40 {
            change_something(&sandbox, &top, &mut dice);
            assert_eq!(judged(&at), staged(&sandbox, &top), "{kind}, seed {seed}, round {round}");
        }
    }
}

#[test]
fn guard_and_git_name_the_same_paths() {
    agrees_with_git("plain", &[]);
}

#[test]
fn guard_and_git_name_the_same_paths_of_an_index_of_version_4() {
    agrees_with_git("index-v4", &[]);
}

#[test]
fn guard_and_git_name_the_same_paths_of_a_split_index() {
    agrees_with_git("split-index", &["splitIndex.maxPercentChange=60"]);
}

#[test]
fn guard_and_git_name_the_same_paths_of_a_sparse_index() {
    agrees_with_git("sparse", &[]);
}

#[test]
fn guard_and_git_name_the_same_paths_of_an_index_without_checksum() {
    agrees_with_git("many-files", &[]);
}
