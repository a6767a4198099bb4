//! Where a repository's work tree, git directory and common directory are: asked of git itself, for every kind of repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use git_agentlock::git::{Repository, discover};

use crate::sandbox::Sandbox;

/// What git says; `None` when it refuses the repository.
fn as_git_says(sandbox: &Sandbox, dir: &Path) -> Option<Repository> {
    let says = |arguments: &[&str]| {
        let output = sandbox.command("git", dir).args(arguments).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
    };
    let path = |what: &str| {
        let found = says(&["rev-parse", "--path-format=absolute", what])?;
        Some(fs::canonicalize(found).unwrap())
    };
    let (git_dir, common_dir) = (path("--git-dir")?, path("--git-common-dir")?);
    let id = git_dir.strip_prefix(common_dir.join("worktrees")).map(PathBuf::from).unwrap_or_default();
    let is_set = |key: &str| says(&["config", "--local", "--includes", "--type=bool", key]).as_deref() == Some("true");
    Some(Repository {
        work_tree: path("--show-toplevel"),
        work_tree_id: id.to_str().unwrap().into(),
        ignore_case: is_set("core.ignorecase"),
        precompose_unicode: is_set("core.precomposeunicode"),
        common_dir,
        git_dir,
    })
}

#[track_caller]
fn agree(sandbox: &Sandbox, dir: &Path, what: &str) {
    let found = discover(dir, false).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(found, as_git_says(sandbox, dir), "{what}");
}

#[test]
fn every_kind_of_repository_is_where_git_says() {
    let sandbox = Sandbox::new();
    let scripts = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/repos")).unwrap();
    let kinds = scripts.filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".sh")?.to_owned()));
    // Those differ only in what is in them.
    let kinds = kinds.filter(|kind| !["big", "many-files", "hostile"].contains(&kind.as_str()));
    let mut count = 0;
    for kind in kinds {
        let Some(top) = sandbox.fixture(&kind) else { continue };
        agree(&sandbox, &top, &kind);
        let below = top.join("below/it");
        fs::create_dir_all(&below).unwrap();
        agree(&sandbox, &below, &kind);
        count += 1;
    }
    assert!(count > 20, "{count} kinds");
}

#[test]
fn what_a_configuration_says_of_its_repository_counts_as_git_has_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (config, elsewhere) = (repo.join(".git/config"), sandbox.root().join("elsewhere"));
    fs::create_dir(&elsewhere).unwrap();
    let included = sandbox.root().join("included");
    fs::write(&included, format!("[core]\n\tworktree = {}\n\tignorecase = true\n", elsewhere.display())).unwrap();
    let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
    let texts = [
        plain.to_owned(),
        "[core]\n\trepositoryformatversion = 0\n".to_owned(),
        "[CORE]\n\tRepositoryFormatVersion = 0\n\tIgnoreCase\n".to_owned(),
        format!("{plain}\tignorecase = true\n[core]\n\tignorecase = no\n"),
        format!("{plain}\tprecomposeunicode = true\n"),
        format!("{plain}\tworktree = {}\n", elsewhere.display()),
        format!("[core]\n\trepositoryformatversion = 0\n\tworktree = {}\n", elsewhere.display()),
        "[core]\n\trepositoryformatversion = 0\n\tworktree = ../../elsewhere\n".to_owned(),
        format!("{plain}[include]\n\tpath = {}\n", included.display()),
        format!("{plain}[includeIf \"gitdir:{}/\"]\n\tpath = {}\n", repo.display(), included.display()),
        format!("{plain}[extensions]\n\tworktreeConfig = true\n"),
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = x\n".to_owned(),
        String::new(),
    ];
    for text in texts {
        fs::write(&config, &text).unwrap();
        agree(&sandbox, &repo, &text);
        agree(&sandbox, &repo.join("src"), &text);
    }
}

#[test]
fn a_repository_that_git_refuses_is_refused() {
    let (sandbox, repo) = Sandbox::with_repo();
    let plain = "[core]\n\trepositoryformatversion = 0\n";
    let texts = [
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tfoo = 1\n".to_owned(),
        "[core]\n\trepositoryformatversion = 99\n".to_owned(),
        format!("{plain}[broken\n"),
    ];
    for text in texts {
        fs::write(repo.join(".git/config"), &text).unwrap();
        assert_eq!(as_git_says(&sandbox, &repo), None, "{text}");
        let found = discover(&repo, false);
        assert!(found.is_err(), "{text}: {found:?}");
    }
}
