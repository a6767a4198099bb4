//! Damaged indexes beside git: when git could still make a commit of one, the guard either sees all that the commit would change, or cannot tell.

use std::{collections::BTreeSet, fs, path::Path};

use git_agentlock::{
    git::{
        self,
        changes::{Changes, Merged},
    },
    resource::{RepoPath, Target},
};

use super::{corpus, mutation::Mutator};
use crate::sandbox::Sandbox;

/// What git would commit of an index: the paths that would differ from `HEAD`; `None` when it would not.
fn by_git(sandbox: &Sandbox, repo: &Path, index: &Path) -> Option<BTreeSet<Vec<u8>>> {
    let copy = index.with_extension("copy");
    fs::copy(index, &copy).unwrap();
    // Of a git that has died on the one before.
    let _ = fs::remove_file(index.with_extension("copy.lock"));
    let git = |arguments: &[&str]| {
        let output = sandbox.command("git", repo).args(arguments).env("GIT_INDEX_FILE", &copy).output().unwrap();
        output.status.success().then_some(output.stdout)
    };
    let tree = String::from_utf8(git(&["write-tree", "--missing-ok"])?).unwrap();
    let changed = git(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", "HEAD", tree.trim()])?;
    Some(changed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
}

/// Mutations of indexes that have no trees noted in them: git would believe a damaged note.
pub(super) fn beside_git(seed: u64, is_over: impl Fn(usize) -> bool) -> (usize, usize) {
    let (sandbox, repo) = Sandbox::guarded();
    let repository = git::discover(&repo, true).unwrap().unwrap();
    let index = sandbox.root().join("index");
    let seeds: Vec<Vec<u8>> = corpus::of("index")
        .into_iter()
        .filter(|(name, _)| name.starts_with("entries-"))
        .map(|(_, bytes)| bytes)
        .collect();
    assert!(seeds.len() >= 3);
    let mut mutator = Mutator::new(&seeds, seed);
    let (mut count, mut wrote) = (0, 0);
    while !is_over(count) {
        let input = match seeds.get(count) {
            Some(seed) => seed.clone(),
            None if count % 4 == 0 => mutator.next(),
            None => mutator.next_but_slightly(),
        };
        fs::write(&index, &input).unwrap();
        count += 1;
        let Some(changed) = by_git(&sandbox, &repo, &index) else { continue };
        wrote += 1;
        let told = Changes::staged(&repository, Some(&index), Merged::These(&[]))
            .and_then(|changes| Ok((changes.of(&Target::Area(RepoPath::top()))?, changes)));
        let Ok((told, changes)) = told else { continue };
        let told: BTreeSet<Vec<u8>> = told.iter().map(|path| path.as_bytes().to_vec()).collect();
        let shown =
            |paths: &BTreeSet<Vec<u8>>| paths.iter().map(|path| path.escape_ascii().to_string()).collect::<Vec<_>>();
        let (all, some) = (shown(&changed), shown(&told));
        assert!(told.is_superset(&changed), "git: {all:?}, guard: {some:?}, index: {}", input.escape_ascii());
        for path in changed.into_iter().filter_map(|path| RepoPath::new(path).ok()) {
            let alone = changes.of(&Target::File(path.clone()));
            assert!(alone.map_or(true, |alone| alone == [path.clone()]), "{path}: {}", input.escape_ascii());
        }
    }
    (count, wrote)
}

#[test]
fn of_a_damaged_index_the_guard_sees_all_that_git_would_commit() {
    let (count, wrote) = beside_git(1, |count| count >= 150);
    assert!(wrote >= 20, "git could commit {wrote} of {count}");
}
