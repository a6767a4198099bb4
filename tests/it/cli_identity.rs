//! One file, however it is spelt, is one resource; two files are never the same.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::sandbox::{Agent, Sandbox};

/// That each of these, taken by A, is what B finds held under every other.
#[track_caller]
fn are_one(sandbox: &Sandbox, name: &str, spellings: &[(PathBuf, PathBuf)]) {
    for (cwd, taken) in spellings {
        let a = sandbox.agent(cwd, "A");
        a.ok([OsStr::new("acquire"), taken.as_os_str()]);
        let leases = sandbox.agent(&spellings[0].0, "A").json(0, ["list"]).leases;
        assert!(leases.iter().any(|lease| lease.resource.name() == name), "{taken:?} is {leases:#?}, not {name}");
        for (cwd, tried) in spellings {
            let seen = sandbox.agent(cwd, "B").holder_of(tried);
            assert_eq!(seen.as_deref(), Some("A"), "taken as {taken:?}, seen as {tried:?} from {cwd:?}");
            sandbox.agent(cwd, "B").expect(1, [OsStr::new("acquire"), tried.as_os_str()]);
        }
        a.ok([OsStr::new("release"), taken.as_os_str()]);
        assert!(sandbox.agent(&spellings[0].0, "A").listed().is_empty(), "{taken:?}");
    }
}

fn at(cwd: &Path, path: impl Into<PathBuf>) -> (PathBuf, PathBuf) {
    (cwd.to_owned(), path.into())
}

/// C65.
#[test]
fn every_spelling_of_a_file_is_one_lock_whether_it_exists_or_not() {
    let (sandbox, repo) = Sandbox::with_repo();
    let src = repo.join("src");
    for (name, file) in [("src/a", "a"), ("src/not-yet", "not-yet")] {
        are_one(
            &sandbox,
            name,
            &[
                at(&repo, format!("src/{file}")),
                at(&repo, format!("./src//{file}")),
                at(&repo, format!("src/../src/./{file}")),
                at(&repo, src.join(file)),
                at(&src, file),
                at(&src, format!("../src/{file}")),
                at(sandbox.root(), format!("r/src/{file}")),
                at(Path::new("/"), src.join(file)),
            ],
        );
    }
    are_one(
        &sandbox,
        "no/such/dir/x",
        &[
            at(&repo, "no/such/dir/x"),
            at(&repo, "no/such/dir/../dir/x"),
            at(&src, "../no/such/dir/x"),
            at(&repo, repo.join("no/such/./dir//x")),
        ],
    );
}

#[test]
fn every_spelling_of_a_directory_is_one_area() {
    let (sandbox, repo) = Sandbox::with_repo();
    let src = repo.join("src");
    are_one(
        &sandbox,
        "src/",
        &[
            at(&repo, "src"),
            at(&repo, "src/"),
            at(&repo, "./src/."),
            at(&src, "."),
            at(&src, "./"),
            at(&src, "../src"),
            at(&repo, &src),
        ],
    );
    are_one(
        &sandbox,
        "./",
        &[at(&repo, "."), at(&repo, "./"), at(&src, ".."), at(&src, &repo), at(sandbox.root(), "r")],
    );
}

#[test]
fn a_path_through_a_symlinked_directory_is_the_path_it_leads_to() {
    let (sandbox, repo) = Sandbox::with_repo();
    symlink("src", repo.join("dirlink")).unwrap();
    symlink(&repo, sandbox.root().join("lr")).unwrap();
    fs::create_dir_all(repo.join("deep/er")).unwrap();
    symlink("../deep/er", repo.join("src/jump")).unwrap();
    let through = sandbox.root().join("lr");
    are_one(
        &sandbox,
        "src/a",
        &[
            at(&repo, "src/a"),
            at(&repo, "dirlink/a"),
            at(&repo, through.join("src/a")),
            at(&through, "src/a"),
            at(&through.join("src"), "a"),
            at(&repo, through.join("dirlink/a")),
        ],
    );
    // `..` leaves the directory that was really reached.
    are_one(&sandbox, "deep/x", &[at(&repo, "deep/x"), at(&repo, "src/jump/../x"), at(&repo.join("src/jump"), "../x")]);
}

#[test]
fn a_current_directory_reached_through_a_link_makes_no_difference() {
    let (sandbox, repo) = Sandbox::with_repo();
    symlink("r", sandbox.root().join("lr")).unwrap();
    let through = sandbox.root().join("lr/src");
    let b = sandbox.agent(&repo, "B");
    // As a shell leaves it after `cd`.
    sandbox.agent(&through, "A").env("PWD", &through).ok(["acquire", "a"]);
    assert_eq!(b.holder_of("src/a").as_deref(), Some("A"));
    // A wrong one is believed by nobody.
    sandbox.agent(&repo, "A").env("PWD", "/").ok(["acquire", "src/b"]);
    assert_eq!(b.holder_of("src/b").as_deref(), Some("A"));
}

#[test]
fn a_symlink_stands_for_itself_and_for_what_it_points_to() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    symlink("src/a", repo.join("link")).unwrap();
    symlink("link", repo.join("link2")).unwrap();
    let names = |agent: &Agent<'_>| agent.listed();
    a.ok(["acquire", "link"]);
    assert_eq!(names(&a), ["link A", "src/a A"]);
    b.expect(1, ["acquire", "src/a"]);
    b.expect(1, ["acquire", "link2"]);
    assert_eq!(names(&a), ["link A", "src/a A"], "all or nothing");
    a.ok(["renew", "link"]);
    a.ok(["release", "link"]);
    assert!(names(&a).is_empty());
    b.ok(["acquire", "src/a"]);
    a.expect(1, ["acquire", "link"]).err_has(&["src/a", "held by B"]);
    assert_eq!(names(&a), ["src/a B"]);
    a.expect(1, ["check", "link"]).out_has(&["link: free", "src/a: held by B"]);
    a.expect(1, ["release", "link"]);
    assert_eq!(names(&a), ["src/a B"]);
}

#[test]
fn dangling_and_circular_and_outside_links() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    symlink("not/yet", repo.join("dangling")).unwrap();
    symlink("round", repo.join("round")).unwrap();
    symlink("/etc/passwd", repo.join("outside")).unwrap();
    symlink(".git/config", repo.join("into-git")).unwrap();
    a.ok(["acquire", "dangling"]);
    assert_eq!(a.listed(), ["dangling A", "not/yet A"]);
    a.ok(["release", "dangling"]);
    a.expect(2, ["acquire", "round/x"]).err_has(&["in a circle"]);
    a.ok(["acquire", "outside", "into-git", "round"]);
    assert_eq!(a.listed(), ["into-git A", "outside A", "round A"], "the links are ours, what they lead to is not");
    a.expect(2, ["acquire", "into-git/x"]);
}

#[test]
fn names_that_differ_are_different() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    let names = ["src/a", "src/A", "src/a ", "a", "src/aa", "src/a\\", "src\\a", "src/e\u{301}", "src/\u{e9}"];
    for name in names {
        a.ok(["acquire", name]);
    }
    assert_eq!(a.listed().len(), names.len());
    b.ok(["acquire", "src/b"]);
    sandbox.git(&repo, &["config", "core.ignorecase", "true"]);
    sandbox.agent(&repo, "C").ok(["acquire", "Makefile"]);
    b.expect(1, ["acquire", "makeFILE"]).err_has(&["held by C"]);
    assert_eq!(b.holder_of("MAKEFILE").as_deref(), Some("C"));
}

/// C42: what the user set for git is none of our business.
#[test]
fn the_users_git_configuration_changes_nothing() {
    let (sandbox, repo) = Sandbox::with_repo();
    let config = "\n[diff]\n\trelative = true\n\texternal = /bin/false\n\tnoprefix = true\n[color]\n\tui = always\n[core]\n\tquotePath = true\n\tpager = false\n\tfsmonitor = true\n[status]\n\tshowUntrackedFiles = no\n[safe]\n\tbareRepository = explicit\n";
    let file = sandbox.home().join("gitconfig");
    fs::write(&file, fs::read_to_string(&file).unwrap() + config).unwrap();
    let variables = [
        ("LC_ALL", "de_DE.UTF-8"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_PAGER", "false"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_TRACE", "1"),
    ];
    let a = variables.iter().fold(sandbox.agent(&repo.join("src"), "A"), |a, (name, value)| a.env(name, value));
    let ran = a.ok(["acquire", "a", "../caf\u{e9}"]);
    assert_eq!(ran.err().lines().count(), 1, "one note, nothing else: {ran:#?}");
    assert_eq!(a.listed(), ["caf\u{e9} A", "src/a A"]);
    fs::write(&file, "[user\n").unwrap();
    a.run(["check", "a"]).err_has(&[]);
}

/// C08.
#[test]
fn a_shell_alias_that_starts_at_the_top_is_warned_of() {
    let (sandbox, repo) = Sandbox::with_repo();
    fs::create_dir_all(repo.join("src/src")).unwrap();
    sandbox.git(&repo, &["config", "alias.gl", "!git agentlock"]);
    let alias = |arguments: &[&str]| {
        let mut command = sandbox.command("git", &repo.join("src"));
        command.arg("gl").args(arguments).env("AGENTLOCK_OWNER", "A");
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, out, err) = alias(&["acquire", "a"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("acquired a until"), "the resolved path is printed: {out}");
    assert!(err.contains("warning: git started this at the top of the work tree") && err.contains("'src/a'"), "{err}");
    let (_, _, err) = alias(&["acquire", "src/a"]);
    assert!(!err.contains("warning"), "{err}");
    // As a hook calls it: the variable is set, and the paths are from the top already.
    fs::write(repo.join("src/src/b"), "").unwrap();
    let hook = sandbox.agent(&repo, "A").env("GIT_PREFIX", "src/");
    hook.ok(["acquire", "src/b"]);
    assert_eq!(sandbox.agent(&repo, "B").holder_of("src/b").as_deref(), Some("A"));
    assert_eq!(sandbox.agent(&repo, "B").holder_of("src/src/b"), None);
}
