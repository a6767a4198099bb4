//! Refs in reftables, as the real git has written them, and as it says they are. Whoever has no git that can, is told so.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
};

use git_agentlock::git::reftable::{ReftableError, resolve};

use crate::sandbox::Sandbox;

const SHA1: usize = 20;

/// A sandbox with a fresh repository `r` that keeps its refs in tables, if git can make one.
fn fresh(init: &[&str]) -> Option<(Sandbox, PathBuf)> {
    let sandbox = Sandbox::new();
    let arguments = [&["init", "-q", "--ref-format=reftable"], init, &["r"]].concat();
    if !sandbox.git_can(&arguments) {
        eprintln!("skipped: this git cannot {arguments:?}");
        return None;
    }
    sandbox.git(sandbox.root(), &arguments);
    let repo = sandbox.root().join("r");
    Some((sandbox, repo))
}

fn commit(sandbox: &Sandbox, repo: &Path) {
    sandbox.git(repo, &["commit", "-q", "--allow-empty", "-m", "c"]);
}

/// Several refs in one transaction, which becomes one table.
fn update(sandbox: &Sandbox, repo: &Path, settings: &[&str], commands: &str) {
    let file = sandbox.root().join("commands");
    fs::write(&file, commands).unwrap();
    let arguments = [settings, &["update-ref", "--no-deref", "--stdin"]].concat();
    let input = Stdio::from(fs::File::open(&file).unwrap());
    let output = sandbox.command("git", repo).args(arguments).stdin(input).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn git_dirs(sandbox: &Sandbox, tree: &Path) -> (PathBuf, PathBuf) {
    let dir = |which| fs::canonicalize(tree.join(sandbox.git(tree, &["rev-parse", which]))).unwrap();
    (dir("--git-dir"), dir("--git-common-dir"))
}

/// Asserts that a ref is here what it is to git, and returns it.
#[track_caller]
fn as_git_has_it(sandbox: &Sandbox, tree: &Path, name: &str, hash_len: usize) -> Option<String> {
    let (git_dir, common_dir) = git_dirs(sandbox, tree);
    let output = sandbox.command("git", tree).args(["rev-parse", "-q", "--verify", name]).output().unwrap();
    let says = String::from_utf8(output.stdout).unwrap().trim_end().to_owned();
    let says = (!says.is_empty()).then_some(says);
    let found = resolve(&git_dir, &common_dir, name.into(), hash_len).unwrap();
    assert_eq!(found.map(|id| hex(&id)), says, "{name} in {}", tree.display());
    says
}

fn tables(git_dir: &Path) -> Vec<PathBuf> {
    let list = fs::read_to_string(git_dir.join("reftable/tables.list")).unwrap();
    list.lines().map(|name| git_dir.join("reftable").join(name)).collect()
}

/// Lets git join only tables of which the newer is the larger, so that there are several most of the time.
fn keep_tables(sandbox: &Sandbox, repo: &Path) {
    sandbox.git(repo, &["config", "gc.auto", "0"]);
    sandbox.git(repo, &["config", "reftable.geometricFactor", "1"]);
}

#[test]
fn head_is_unborn_then_a_commit_then_another() {
    for (init, hash_len) in [(&[][..], SHA1), (&["--object-format=sha256"], 32), (&["--bare"], SHA1)] {
        let Some((sandbox, repo)) = fresh(init) else { continue };
        assert_eq!(as_git_has_it(&sandbox, &repo, "HEAD", hash_len), None);
        let tree = sandbox.git(&repo, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
        let mut seen = Vec::new();
        for n in 0..3 {
            let id = sandbox.git(&repo, &["commit-tree", "-m", &n.to_string(), &tree]);
            sandbox.git(&repo, &["update-ref", "HEAD", &id]);
            assert_eq!(as_git_has_it(&sandbox, &repo, "HEAD", hash_len), Some(id.clone()), "{init:?}");
            seen.push(id);
        }
        seen.dedup();
        assert_eq!(seen.len(), 3);
    }
}

#[test]
fn head_is_followed_through_switches_detaching_orphans_and_packing() {
    let Some((sandbox, repo)) = fresh(&[]) else { return };
    keep_tables(&sandbox, &repo);
    let same = |name| as_git_has_it(&sandbox, &repo, name, SHA1);
    commit(&sandbox, &repo);
    let first = same("HEAD");
    for n in 0..12 {
        sandbox.git(&repo, &["switch", "-q", "-c", &format!("b{n}")]);
        commit(&sandbox, &repo);
        same("HEAD");
    }
    assert_eq!(same("refs/heads/main"), first);
    sandbox.git(&repo, &["checkout", "-q", "--detach", "b3"]);
    assert_eq!(same("HEAD"), same("refs/heads/b3"));
    sandbox.git(&repo, &["branch", "-q", "-D", "b3"]);
    assert_eq!(same("refs/heads/b3"), None, "what is deleted stays so, though an older table has it");
    assert!(same("HEAD").is_some());
    sandbox.git(&repo, &["switch", "-q", "--orphan", "b3"]);
    assert_eq!(same("HEAD"), None);
    commit(&sandbox, &repo);
    assert!(same("HEAD").is_some());
    sandbox.git(&repo, &["tag", "-a", "-m", "t", "v1", "b5"]);
    assert!(same("refs/tags/v1").is_some());
    assert!(tables(&repo.join(".git")).len() > 1, "there are several tables");
    sandbox.git(&repo, &["pack-refs", "--all"]);
    assert_eq!(tables(&repo.join(".git")).len(), 1);
    for name in ["HEAD", "refs/heads/b3", "refs/heads/b11", "refs/heads/main", "refs/tags/v1", "refs/heads/none"] {
        same(name);
    }
}

#[test]
fn a_newer_table_hides_the_older_ones() {
    let Some((sandbox, repo)) = fresh(&[]) else { return };
    commit(&sandbox, &repo);
    let first = as_git_has_it(&sandbox, &repo, "HEAD", SHA1).unwrap();
    let many: String = (0..200).map(|n| format!("create refs/tags/{n:04} {first}\n")).collect();
    update(&sandbox, &repo, &[], &many);
    sandbox.git(&repo, &["pack-refs", "--all"]);
    // A table so large is not joined with the small ones that follow.
    sandbox.git(&repo, &["commit", "-q", "--allow-empty", "-m", "second"]);
    sandbox.git(&repo, &["tag", "-d", "0100"]);
    assert!(tables(&repo.join(".git")).len() > 1, "there are several tables");
    assert_ne!(as_git_has_it(&sandbox, &repo, "HEAD", SHA1), Some(first.clone()));
    assert_eq!(as_git_has_it(&sandbox, &repo, "refs/tags/0100", SHA1), None);
    assert_eq!(as_git_has_it(&sandbox, &repo, "refs/tags/0101", SHA1), Some(first));
}

/// Small blocks make an index of several levels.
#[test]
fn among_many_refs_each_is_found_whatever_the_size_of_the_blocks() {
    for (settings, restarts) in [("4096", "16"), ("256", "16"), ("200", "1"), ("65536", "60000")] {
        let Some((sandbox, repo)) = fresh(&[]) else { return };
        sandbox.git(&repo, &["config", "reftable.blockSize", settings]);
        sandbox.git(&repo, &["config", "reftable.restartInterval", restarts]);
        commit(&sandbox, &repo);
        let head = as_git_has_it(&sandbox, &repo, "HEAD", SHA1).unwrap();
        let tree = sandbox.git(&repo, &["rev-parse", "HEAD^{tree}"]);
        let other = sandbox.git(&repo, &["commit-tree", "-m", "other", &tree]);
        let name = |n: usize| format!("refs/heads/{}/{n}", n % 97);
        let id = |n: usize| if n.is_multiple_of(3) { &head } else { &other };
        let many: String = (0..5000).map(|n| format!("create {} {}\n", name(n), id(n))).collect();
        update(&sandbox, &repo, &[], &many);
        let (git_dir, common_dir) = git_dirs(&sandbox, &repo);
        let found = |name: &str| resolve(&git_dir, &common_dir, name.into(), SHA1).unwrap().map(|id| hex(&id));
        for n in (0..5000).step_by(7) {
            assert_eq!(found(&name(n)).as_ref(), Some(id(n)), "{} in blocks of {settings}", name(n));
        }
        for absent in ["refs/a", "refs/heads/", "refs/heads/0/0/", "refs/heads/50", "refs/heads/96/999", "refs/z", "A"]
        {
            assert_eq!(found(absent), None, "{absent} in blocks of {settings}");
        }
        assert_eq!(found("HEAD").as_ref(), Some(&head));
    }
}

#[test]
fn a_linked_work_tree_has_its_own_head_and_the_shared_branches() {
    let Some((sandbox, repo)) = fresh(&[]) else { return };
    commit(&sandbox, &repo);
    sandbox.git(&repo, &["worktree", "add", "-q", "-b", "side", "../w"]);
    let linked = sandbox.root().join("w");
    commit(&sandbox, &linked);
    let heads = [&repo, &linked].map(|tree| as_git_has_it(&sandbox, tree, "HEAD", SHA1));
    assert_ne!(heads[0], heads[1]);
    assert_eq!(as_git_has_it(&sandbox, &linked, "refs/heads/main", SHA1), heads[0]);
    assert_eq!(as_git_has_it(&sandbox, &repo, "refs/heads/side", SHA1), heads[1]);
    sandbox.git(&linked, &["update-ref", "refs/worktree/mine", "HEAD"]);
    assert_eq!(as_git_has_it(&sandbox, &linked, "refs/worktree/mine", SHA1), heads[1]);
    assert_eq!(as_git_has_it(&sandbox, &repo, "refs/worktree/mine", SHA1), None);
    sandbox.git(&linked, &["switch", "-q", "--orphan", "fresh"]);
    assert_eq!(as_git_has_it(&sandbox, &linked, "HEAD", SHA1), None);
    sandbox.git(&linked, &["checkout", "-q", "--detach", "main"]);
    assert_eq!(as_git_has_it(&sandbox, &linked, "HEAD", SHA1), heads[0]);
}

#[test]
fn symbolic_refs_are_followed_as_far_as_git_does() {
    let Some((sandbox, repo)) = fresh(&[]) else { return };
    commit(&sandbox, &repo);
    for n in 1..6 {
        sandbox.git(&repo, &["symbolic-ref", &format!("refs/s{n}"), &format!("refs/s{}", n + 1)]);
    }
    sandbox.git(&repo, &["update-ref", "--no-deref", "refs/s6", "HEAD"]);
    for n in 2..7 {
        assert!(as_git_has_it(&sandbox, &repo, &format!("refs/s{n}"), SHA1).is_some());
    }
    let (git_dir, common_dir) = git_dirs(&sandbox, &repo);
    let error = |name: &str| resolve(&git_dir, &common_dir, name.into(), SHA1).expect_err(name);
    assert!(matches!(error("refs/s1"), ReftableError::TooManyLinks { .. }));
    sandbox.git(&repo, &["symbolic-ref", "refs/s6", "refs/s5"]);
    assert!(matches!(error("refs/s5"), ReftableError::TooManyLinks { .. }), "a circle");
    sandbox.git(&repo, &["symbolic-ref", "refs/elsewhere", "worktrees/w/HEAD"]);
    assert!(matches!(error("refs/elsewhere"), ReftableError::OtherWorkTree { .. }));
}

/// Each table is removed soon after it was named, while refs are read again and again.
#[test]
fn tables_that_are_joined_meanwhile_are_no_error() {
    let Some((sandbox, repo)) = fresh(&[]) else { return };
    commit(&sandbox, &repo);
    let (git_dir, common_dir) = git_dirs(&sandbox, &repo);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0_usize;
            while !is_done.load(Ordering::Relaxed) {
                assert!(resolve(&git_dir, &common_dir, "HEAD".into(), SHA1).unwrap().is_some());
                reads += 1;
            }
            reads
        });
        for n in 0..60 {
            sandbox.git(&repo, &["update-ref", &format!("refs/heads/b{n}"), "HEAD"]);
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_the_file() {
    let Some((sandbox, repo)) = fresh(&[]) else { return };
    commit(&sandbox, &repo);
    let git_dir = repo.join(".git");
    let table = tables(&git_dir).pop().unwrap();
    let (sound, list) = (fs::read(&table).unwrap(), git_dir.join("reftable/tables.list"));
    let error = |hash_len| resolve(&git_dir, &git_dir, "HEAD".into(), hash_len).unwrap_err().to_string();
    #[track_caller]
    fn tells(error: &str, path: &Path, what: &str) {
        assert!(error.contains(path.to_str().unwrap()) && error.contains(what), "{error}");
    }
    tells(&error(32), &table, "of another hash");
    let with = |at: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[at] = byte;
        fs::write(&table, bytes).unwrap();
    };
    with(0, b'X');
    tells(&error(SHA1), &table, "does not begin like a reftable");
    with(4, 3);
    tells(&error(SHA1), &table, "version 3");
    with(8, 1);
    tells(&error(SHA1), &table, "header and its footer differ");
    with(sound.len() - 1, sound[sound.len() - 1] ^ 1);
    tells(&error(SHA1), &table, "checksum");
    with(24, b'x');
    tells(&error(SHA1), &table, "unknown type");
    for len in [0, 7, 30, sound.len() - 1] {
        fs::write(&table, &sound[..len]).unwrap();
        tells(&error(SHA1), &table, "damaged");
    }
    fs::remove_file(&table).unwrap();
    tells(&error(SHA1), &table, "cannot read");
    for hostile in ["../../../etc/passwd\n", "\n", ".\n", "a\u{1b}[2J\n"] {
        fs::write(&list, hostile).unwrap();
        tells(&error(SHA1), &list, "names what cannot be a table");
    }
    fs::write(&list, vec![b'a'; 2 << 20]).unwrap();
    tells(&error(SHA1), &list, "too long");
    fs::remove_file(&list).unwrap();
    tells(&error(SHA1), &list, "cannot read");
}

/// Every byte of a real table with an index, one after the other, made into another.
#[test]
fn a_damaged_table_ends_in_an_answer_or_an_error() {
    let Some((sandbox, repo)) = fresh(&[]) else { return };
    sandbox.git(&repo, &["config", "reftable.blockSize", "200"]);
    commit(&sandbox, &repo);
    let many: String = (0..40).map(|n| format!("create refs/heads/b{n} HEAD\n")).collect();
    let head = as_git_has_it(&sandbox, &repo, "HEAD", SHA1).unwrap();
    update(&sandbox, &repo, &[], &many.replace("HEAD", &head));
    sandbox.git(&repo, &["pack-refs", "--all"]);
    let git_dir = repo.join(".git");
    let table = tables(&git_dir).pop().unwrap();
    let sound = fs::read(&table).unwrap();
    let mut errors = 0;
    for at in 0..sound.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = sound.clone();
            bytes[at] ^= change;
            fs::write(&table, bytes).unwrap();
            for name in ["HEAD", "refs/heads/b20", "refs/heads/b9"] {
                errors += usize::from(resolve(&git_dir, &git_dir, name.into(), SHA1).is_err());
            }
        }
    }
    assert!(errors > 100, "{errors} errors");
}
