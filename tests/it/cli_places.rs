//! Which repository, which work tree, which store.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::sandbox::{Agent, Sandbox, records, store_of};

fn contend_across_work_trees(repo: &Path) {
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nscope = \"repository\"\n").unwrap();
}

#[test]
fn a_repository_that_is_moved_keeps_its_locks() {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.agent(&repo, "A").ok(["acquire", "src/a", "lib/"]);
    let moved = sandbox.root().join("elsewhere/m");
    fs::create_dir(moved.parent().unwrap()).unwrap();
    fs::rename(&repo, &moved).unwrap();
    let b = sandbox.agent(&moved, "B");
    b.expect(1, ["acquire", "src/a"]).err_has(&["held by A"]);
    assert_eq!(b.listed(), ["lib/ A", "src/a A"]);
    sandbox.agent(&moved, "A").ok(["renew", "src/a"]);
    sandbox.agent(&moved, "A").ok(["release", "src/a", "lib/"]);
}

#[test]
fn in_a_shared_directory_a_label_keeps_the_locks_of_a_repository_that_is_moved() {
    let (sandbox, repo) = Sandbox::with_repo();
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nproject = \"web\"\n").unwrap();
    let shared = sandbox.root().join("L");
    sandbox.agent(&repo, "A").env("AGENT_REGISTRY_LOCK_DIR", &shared).ok(["acquire", "src/a"]);
    let moved = sandbox.root().join("m");
    fs::rename(&repo, &moved).unwrap();
    let b = sandbox.agent(&moved, "B").env("AGENT_REGISTRY_LOCK_DIR", &shared);
    b.expect(1, ["acquire", "src/a"]).err_has(&["held by A"]);
}

/// C57.
#[test]
fn linked_work_trees_are_apart_by_default_and_both_are_listed() {
    let (sandbox, repo) = Sandbox::with_repo();
    sandbox.git(&repo, &["worktree", "add", "-q", "../w"]);
    sandbox.git(&repo, &["worktree", "add", "-q", "--detach", "nested"]);
    let (linked, nested) = (sandbox.root().join("w"), repo.join("nested"));
    let (a, b, c) = (sandbox.agent(&repo, "A"), sandbox.agent(&linked, "B"), sandbox.agent(&nested, "C"));
    a.ok(["acquire", "src/a"]);
    b.ok(["acquire", "src/a"]);
    c.ok(["acquire", "src/a"]);
    assert_eq!(a.holder_of("nested/src/a").as_deref(), Some("C"), "a file belongs to the work tree that it is in");
    assert_eq!(b.holder_of(repo.join("src/a")).as_deref(), Some("A"), "an absolute path too");
    let seen = |agent: &Agent<'_>| -> Vec<(String, Option<String>)> {
        agent.json(0, ["list"]).leases.into_iter().map(|lease| (lease.owner, lease.resource.work_tree)).collect()
    };
    let all = [("A", None), ("C", Some("nested")), ("B", Some("w"))];
    let all = all.map(|(owner, tree)| (owner.to_owned(), tree.map(str::to_owned)));
    assert_eq!(seen(&a), all);
    assert_eq!(seen(&b), all);
    a.ok(["list"]).out_has(&["WORK TREE", "nested"]);
    assert!(!repo.join(".git/worktrees/w/agent-locks").exists());
    assert_eq!(records(&store_of(&repo.join(".git"))).len(), 3);
    sandbox.git(&repo, &["worktree", "move", "../w", "../w2"]);
    let b = sandbox.agent(&sandbox.root().join("w2"), "B");
    b.ok(["check", "--mine", "src/a"]);
    sandbox.git(&repo, &["worktree", "remove", "--force", "../w2"]);
    sandbox.git(&repo, &["worktree", "prune"]);
    assert_eq!(seen(&a), all, "no lock is lost");
}

#[test]
fn work_trees_contend_with_scope_repository() {
    let (sandbox, repo) = Sandbox::with_repo();
    contend_across_work_trees(&repo);
    sandbox.git(&repo, &["worktree", "add", "-q", "--no-checkout", "../w"]);
    sandbox.git(&repo, &["worktree", "add", "-q", "--detach", "nested"]);
    let (linked, nested) = (sandbox.root().join("w"), repo.join("nested"));
    sandbox.agent(&repo, "A").ok(["acquire", "src/a"]);
    for tree in [&linked, &nested] {
        let b = sandbox.agent(tree, "B");
        b.expect(1, ["acquire", "src/a"]).err_has(&["held by A"]);
        assert_eq!(b.listed(), ["src/a A"]);
    }
    sandbox.agent(&linked, "A").ok(["release", "src/a"]);
    assert_eq!(sandbox.agent(&nested, "B").holder_of("src/a"), None);
}

#[test]
fn work_trees_of_a_bare_repository() {
    let sandbox = Sandbox::new();
    let origin = sandbox.repo("origin");
    sandbox.git(sandbox.root(), &["clone", "-q", "--bare", origin.to_str().unwrap(), "bare.git"]);
    let bare = sandbox.root().join("bare.git");
    sandbox.git(&bare, &["worktree", "add", "-q", "../w1"]);
    sandbox.git(&bare, &["worktree", "add", "-q", "inside"]);
    let (one, inside) = (sandbox.root().join("w1"), bare.join("inside"));
    let (a, b) = (sandbox.agent(&one, "A"), sandbox.agent(&inside, "B"));
    a.ok(["acquire", "src/a"]);
    b.ok(["acquire", "src/a"]);
    assert_eq!(records(&store_of(&bare)).len(), 2);
    fs::write(bare.join("agentlock.toml"), "[store]\nscope = \"repository\"\n").unwrap();
    a.ok(["acquire", "src/b"]);
    b.expect(1, ["acquire", "src/b"]).err_has(&["held by A"]);
    let in_bare = sandbox.agent(&bare, "A");
    in_bare.expect(4, ["acquire", "x"]).err_has(&["bare repository", "--resource"]);
    in_bare.ok(["acquire", "--resource", "plan:42"]);
    assert_eq!(a.json(1, ["acquire", "--resource", "plan:42", "--owner", "B"]).conflicts.len(), 1);
    assert_eq!(in_bare.json(0, ["list"]).leases.len(), 4);
}

/// C46.
#[test]
fn a_submodule_is_a_repository_of_its_own_and_an_entry_of_the_outer_one() {
    let sandbox = Sandbox::new();
    let (inner, outer) = (sandbox.repo("inner"), sandbox.repo("outer"));
    sandbox.git(&outer, &["submodule", "--quiet", "add", inner.to_str().unwrap(), "m"]);
    sandbox.git(&outer, &["commit", "-qm", "submodule"]);
    let module = outer.join("m");
    let (a, b) = (sandbox.agent(&module, "A"), sandbox.agent(&outer, "B"));
    a.ok(["acquire", "src/a"]);
    assert_eq!(records(&store_of(&outer.join(".git/modules/m"))).len(), 1, "in the module's own git directory");
    assert!(!outer.join(".git/agent-locks").exists());
    assert_eq!(b.holder_of("m/src/a").as_deref(), Some("A"), "also as seen from outside");
    b.expect(1, ["acquire", "m/src/a"]);
    // Without the `/` it is the link to a commit, which the outer repository has.
    b.ok(["acquire", "m"]);
    assert_eq!(b.listed(), ["m B"]);
    assert_eq!(a.listed(), ["src/a A"]);
    // With it, it is all that is in there.
    b.expect(1, ["acquire", "m/"]).err_has(&["src/a is held by A"]);
    b.expect(1, ["acquire", "--area", "m"]);
    a.ok(["release", "src/a"]);
    b.ok(["acquire", "m/"]);
    a.expect(1, ["acquire", "src/a"]).err_has(&["held by B"]);
    b.expect(2, ["acquire", "src/a", "m/src/b"]).err_has(&["must live in one store"]);
}

#[test]
fn old_submodules_whose_git_directory_is_inside_and_nested_clones() {
    let sandbox = Sandbox::new();
    let outer = sandbox.repo("outer");
    sandbox.git(&outer, &["clone", "-q", ".", "nested"]);
    let nested = outer.join("nested");
    let (a, b) = (sandbox.agent(&nested, "A"), sandbox.agent(&outer, "B"));
    a.ok(["acquire", "src/a"]);
    assert_eq!(records(&store_of(&nested.join(".git"))).len(), 1);
    assert_eq!(b.holder_of("nested/src/a").as_deref(), Some("A"));
    assert_eq!(b.holder_of("src/a"), None);
    b.ok(["acquire", "nested"]);
    assert_eq!(b.listed(), ["nested B"]);
    b.expect(2, ["acquire", "nested/.git/config"]);
    sandbox.git(&outer, &["submodule", "--quiet", "add", "./nested"]);
    sandbox.git(&outer, &["submodule", "--quiet", "absorbgitdirs"]);
    assert!(nested.join(".git").is_file());
    assert_eq!(b.holder_of("nested/src/a").as_deref(), Some("A"), "the locks go where the git directory goes");
}

#[test]
fn variables_of_git_decide_inside_the_work_tree_they_describe() {
    let sandbox = Sandbox::new();
    let (repo, other) = (sandbox.repo("r"), sandbox.repo("other"));
    let (git_dir, tree) = (sandbox.root().join("separate.git"), sandbox.root().join("tree"));
    fs::rename(repo.join(".git"), &git_dir).unwrap();
    fs::create_dir_all(tree.join("src")).unwrap();
    let arguments = |rest: &[&str]| -> Vec<String> {
        let mut all = vec![format!("--git-dir={}", git_dir.display()), format!("--work-tree={}", tree.display())];
        all.push("agentlock".to_owned());
        all.extend(rest.iter().map(|word| (*word).to_owned()));
        all
    };
    let through_git = |cwd: &Path, rest: &[&str]| {
        let arguments = arguments(rest);
        sandbox.git(cwd, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    through_git(&tree, &["acquire", "src/a", "--owner", "A"]);
    assert_eq!(records(&store_of(&git_dir)).len(), 1);
    let listed = through_git(&tree, &["list", "-z"]);
    assert!(listed.ends_with("\tsrc/a\0"), "{listed:?}");
    let a = sandbox.agent(&tree.join("src"), "B").env("GIT_DIR", &git_dir).env("GIT_WORK_TREE", &tree);
    a.expect(1, ["acquire", "a"]).err_has(&["held by A"]);
    // What lies elsewhere is found from itself.
    a.ok(["acquire", other.join("src/a").to_str().unwrap()]);
    assert_eq!(sandbox.agent(&other, "C").listed(), ["src/a B"]);
    // And a repository below keeps its own.
    sandbox.git(&tree, &["init", "-q", "below"]);
    a.ok(["acquire", "../below/x"]);
    assert_eq!(sandbox.agent(&tree.join("below"), "C").listed(), ["x B"]);
    // Named things belong to the project of the current directory: the variables decide.
    a.ok(["acquire", "--resource", "plan:1"]);
    assert_eq!(records(&store_of(&git_dir)).len(), 2);
    let broken = sandbox.agent(&tree, "B").env("GIT_DIR", sandbox.root().join("nowhere"));
    broken.expect(4, ["acquire", "x"]).err_has(&["error: ", "hint: "]);
}

fn is_refused_like_git_refuses(sandbox: &Sandbox, repo: &Path) {
    let git = sandbox.command("git", repo).args(["status"]).output().unwrap();
    let a = sandbox.agent(repo, "A");
    for arguments in [&["acquire", "src/a"][..], &["check", "src/a"], &["list"], &["release", "src/a"]] {
        let ran = a.run(arguments);
        assert_eq!(ran.code() == 0, git.status.success(), "{ran:#?} and git: {git:?}");
        if !git.status.success() {
            assert_eq!(ran.code(), 4, "{ran:#?}");
            ran.err_has(&["error: ", "hint: see what `git status` says there"]);
        }
    }
}

/// C44.
#[test]
fn repositories_of_every_format_that_git_opens() {
    let sandbox = Sandbox::new();
    let formats: [(&str, &[&str]); 4] = [
        ("sha256", &["--object-format=sha256"]),
        ("reftable", &["--ref-format=reftable"]),
        ("both", &["--object-format=sha256", "--ref-format=reftable"]),
        ("separate", &["--separate-git-dir", "sep.git"]),
    ];
    for (name, init) in formats {
        if !sandbox.git_can(&[&["init", "-q"], init, &[&format!("probe-{name}")]].concat()) {
            continue;
        }
        let repo = sandbox.repo_of(name, init);
        let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
        a.ok(["acquire", "src/a"]);
        b.expect(1, ["acquire", "src/a"]).err_has(&["held by A"]);
        a.ok(["renew", "src/a"]);
        assert_eq!(b.listed(), ["src/a A"]);
        a.ok(["release", "src/a"]);
    }
}

#[test]
fn extensions_of_the_repository_format() {
    let sandbox = Sandbox::new();
    for (number, extension) in
        ["partialClone = x", "worktreeConfig = true", "preciousObjects = true", "noop = true", "objectFormat = md5"]
            .iter()
            .enumerate()
    {
        let repo = sandbox.repo(&format!("r{number}"));
        let config = repo.join(".git/config");
        let text =
            fs::read_to_string(&config).unwrap().replace("repositoryformatversion = 0", "repositoryformatversion = 1");
        fs::write(&config, text + "[extensions]\n\t" + extension + "\n").unwrap();
        is_refused_like_git_refuses(&sandbox, &repo);
    }
    let repo = sandbox.repo("broken");
    fs::write(repo.join(".git/config"), "[core\n").unwrap();
    is_refused_like_git_refuses(&sandbox, &repo);
}

#[test]
fn clones_that_are_shallow_partial_or_sparse() {
    let sandbox = Sandbox::new();
    let origin = sandbox.repo("origin");
    sandbox.git(&origin, &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", origin.display());
    for (name, how) in [("shallow", "--depth=1"), ("partial", "--filter=blob:none"), ("sparse", "--sparse")] {
        sandbox.git(sandbox.root(), &["clone", "-q", how, &url, name]);
        let a = sandbox.agent(&sandbox.root().join(name), "A");
        a.ok(["acquire", "src/a"]);
        assert_eq!(a.listed(), ["src/a A"]);
    }
}

#[test]
fn the_search_for_a_repository_stops_at_a_ceiling() {
    let (sandbox, repo) = Sandbox::with_repo();
    let deep = repo.join("src/deep");
    fs::create_dir(&deep).unwrap();
    let a = sandbox.agent(&deep, "A").env("GIT_CEILING_DIRECTORIES", repo.join("src"));
    a.expect(4, ["acquire", "a"]).err_has(&["'a' is not in a git repository"]);
    a.env("GIT_CEILING_DIRECTORIES", sandbox.root()).ok(["acquire", "a"]);
}

/// C56.
#[test]
fn in_a_shared_directory_each_project_sees_its_own() {
    let sandbox = Sandbox::new();
    let (one, two) = (sandbox.repo("one"), sandbox.repo("two"));
    sandbox.git(&one, &["worktree", "add", "-q", "../w"]);
    let shared = sandbox.root().join("L");
    let agent = |cwd: &Path, owner: &str| sandbox.agent(cwd, owner).env("AGENT_REGISTRY_LOCK_DIR", &shared);
    let (a, w, b) = (agent(&one, "A"), agent(&sandbox.root().join("w"), "W"), agent(&two, "B"));
    a.ok(["acquire", "src/a", "--resource", "plan:42"]);
    w.ok(["acquire", "src/a"]);
    b.ok(["acquire", "src/a", "--resource", "plan:42"]);
    w.expect(1, ["acquire", "--resource", "plan:42"]).err_has(&["held by A"]);
    assert_eq!(a.listed(), ["src/a A", "plan:42 A", "src/a W"]);
    assert_eq!(b.listed(), ["src/a B", "plan:42 B"]);
    assert_eq!(b.json(0, ["list", "--store"]).leases.len(), 5);
    b.ok(["list", "--store"]).out_has(&["PROJECT", "one/.git", "two/.git"]);
    b.ok(["list", "--store", "-z"]).out_has(&["\tfile\t", "one/.git\t\tsrc/a\0", "two/.git\t\tsrc/a\0"]);
    assert!(!b.ok(["list"]).out().contains("PROJECT"), "there is only one");
    fs::write(one.join(".git/agentlock.toml"), "[store]\nscope = \"repository\"\n").unwrap();
    a.ok(["acquire", "src/b"]);
    w.expect(1, ["acquire", "src/b"]).err_has(&["held by A"]);
}

#[test]
#[ignore = "needs root"]
fn a_repository_of_somebody_else_is_refused_as_git_refuses_it() {
    let (sandbox, repo) = Sandbox::with_repo();
    let chowned = sandbox.command("chown", &repo).args(["-R", "1000:1000", "."]).status().unwrap();
    assert!(chowned.success());
    let git = sandbox.command("git", &repo).arg("status").output().unwrap();
    assert!(String::from_utf8_lossy(&git.stderr).contains("dubious ownership"), "{git:?}");
    let a = sandbox.agent(&repo, "A");
    for arguments in [&["acquire", "src/a"][..], &["check", "src/a"], &["list"], &["release", "src/a"]] {
        a.expect(4, arguments).err_has(&[
            "git does not trust the repository at",
            "hint: ",
            "safe.directory",
            repo.to_str().unwrap(),
        ]);
        assert_eq!(a.json(4, arguments).error.unwrap().kind, "repository");
    }
    // Of a GIT_DIR that is named git does not ask whose it is, and hooks in linked work trees get one.
    let named = a.env("GIT_DIR", repo.join(".git"));
    named.ok(["guard"]);
    named.ok(["list"]);
    sandbox.git(&repo, &["config", "--global", "--add", "safe.directory", repo.to_str().unwrap()]);
    a.ok(["acquire", "src/a"]);
    let everywhere: PathBuf = sandbox.home().join("gitconfig");
    fs::write(everywhere, "[safe]\n\tdirectory = *\n").unwrap();
    a.ok(["release", "src/a"]);
}
