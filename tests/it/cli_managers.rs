//! The guard under the hook managers that people use, as the README sets them up: the real managers, the real git, real commits.
//!
//! What has to hold is the same for all of them. A manager that kept `GIT_INDEX_FILE` or `GITHEAD_*` from its hooks, or that skipped them
//! where it sees nothing to do, would let the guard judge another commit than the one that is made, or none.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::sandbox::{Sandbox, store_of};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

fn readme() -> String {
    fs::read_to_string(Path::new(HERE).join("README.md")).unwrap()
}

fn fixture(name: &str) -> String {
    fs::read_to_string(Path::new(HERE).join("fixtures/hook-managers").join(name)).unwrap()
}

#[track_caller]
fn done(mut command: Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; .ci/run installs it"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Puts the configuration into a repository, as one who shares it with others would.
fn configure(sandbox: &Sandbox, repo: &Path, files: &[(&str, &str)]) {
    for (fixture_name, path) in files {
        let path = repo.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, fixture(fixture_name)).unwrap();
    }
    sandbox.git(repo, &["add", "."]);
    sandbox.git(repo, &["commit", "-qnm", "hooks"]);
}

/// The repository that pre-commit takes hooks from, where its configuration says that it is.
fn source_of_hooks(sandbox: &Sandbox) -> PathBuf {
    let source = sandbox.repo("git-agentlock");
    fs::copy(Path::new(HERE).join(".pre-commit-hooks.yaml"), source.join(".pre-commit-hooks.yaml")).unwrap();
    sandbox.git(&source, &["add", "."]);
    sandbox.git(&source, &["commit", "-qm", "hooks"]);
    sandbox.git(&source, &["tag", "v0.1.0"]);
    source
}

/// How a manager is set up in a repository, and what is to be done in each further work tree of it.
struct Manager {
    set_up: fn(&Sandbox, &Path),
    in_a_linked_work_tree: fn(&Sandbox, &Path),
}

fn nothing(_: &Sandbox, _: &Path) {}

fn install_with(program: &str, sandbox: &Sandbox, repo: &Path) {
    source_of_hooks(sandbox);
    configure(sandbox, repo, &[("pre-commit-config.yaml", ".pre-commit-config.yaml")]);
    let mut install = sandbox.command(program, repo);
    install.args(["install", "--install-hooks"]);
    done(install);
}

const PRE_COMMIT: Manager =
    Manager { set_up: |sandbox, repo| install_with("pre-commit", sandbox, repo), in_a_linked_work_tree: nothing };

const PREK: Manager =
    Manager { set_up: |sandbox, repo| install_with("prek", sandbox, repo), in_a_linked_work_tree: nothing };

fn install_lefthook(sandbox: &Sandbox, repo: &Path) {
    let mut install = sandbox.command("lefthook", repo);
    install.arg("install");
    done(install);
}

const LEFTHOOK: Manager = Manager {
    set_up: |sandbox, repo| {
        configure(sandbox, repo, &[("lefthook.yml", "lefthook.yml")]);
        install_lefthook(sandbox, repo);
    },
    in_a_linked_work_tree: nothing,
};

fn run_husky(sandbox: &Sandbox, work_tree: &Path) {
    done(sandbox.command("husky", work_tree));
}

const HUSKY: Manager = Manager {
    set_up: |sandbox, repo| {
        let hooks = ["husky/pre-commit", "husky/pre-merge-commit"];
        let hooks = hooks.map(|hook| (hook, format!(".{hook}")));
        configure(sandbox, repo, &hooks.each_ref().map(|(from, to)| (*from, to.as_str())));
        run_husky(sandbox, repo);
    },
    in_a_linked_work_tree: run_husky,
};

struct World {
    sandbox: Sandbox,
    repo: PathBuf,
    env: Vec<(&'static str, PathBuf)>,
}

/// What a git command of somebody has come to.
#[derive(Debug)]
struct Told {
    succeeded: bool,
    said: String,
    moved: bool,
}

impl Told {
    #[track_caller]
    fn passes(&self) -> &Self {
        assert!(self.succeeded && self.moved, "{self:#?}");
        self
    }

    #[track_caller]
    fn is_refused_for(&self, path: &str, owner: &str) -> &Self {
        assert!(!self.succeeded && !self.moved, "{self:#?}");
        self.says(&format!("{path}: held by {owner} "))
    }

    #[track_caller]
    fn says(&self, text: &str) -> &Self {
        assert!(self.said.contains(text), "no {text:?}: {self:#?}");
        self
    }
}

impl World {
    fn of(manager: &Manager) -> Self {
        let (sandbox, repo) = Sandbox::with_repo();
        (manager.set_up)(&sandbox, &repo);
        Self { sandbox, repo, env: Vec::new() }
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.repo.join(path), text).unwrap();
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.repo, arguments)
    }

    fn hold(&self, path: &str) {
        self.sandbox.agent(&self.repo, "B").ok(["acquire", path]);
    }

    /// Somebody's git command, and whether it has made a commit.
    fn told(&self, mut command: Command, cwd: &Path) -> Told {
        let head = || self.sandbox.git(cwd, &["rev-parse", "HEAD"]);
        let before = head();
        let output = command.env("GIT_EDITOR", "true").output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Told { succeeded: output.status.success(), said, moved: head() != before }
    }

    fn command(&self, owner: &str, cwd: &Path, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.command("git", cwd);
        command.env("AGENTLOCK_OWNER", owner).envs(self.env.iter().cloned()).args(arguments);
        command
    }

    fn commit_in(&self, owner: &str, cwd: &Path, arguments: &[&str]) -> Told {
        let arguments = [&["commit", "-m", "x"], arguments].concat();
        self.told(self.command(owner, cwd, &arguments), cwd)
    }

    fn commit(&self, owner: &str, arguments: &[&str]) -> Told {
        self.commit_in(owner, &self.repo, arguments)
    }

    fn start_again(&self) {
        self.git(&["reset", "-q", "--hard"]);
    }
}

/// C02: however the commit is put together.
fn no_commit_takes_what_somebody_else_holds(manager: &Manager) {
    let world = World::of(manager);
    world.hold("src/a");
    let src = world.repo.join("src");
    let change_both = || ["src/a", "src/b"].map(|path| world.write(path, "2\n"));

    change_both();
    world.git(&["add", "src/a"]);
    world.commit("A", &[]).is_refused_for("src/a", "B");
    world.start_again();

    change_both();
    world.commit("A", &["-a"]).is_refused_for("src/a", "B");
    world.git(&["add", "src/b"]);
    world.commit("A", &["--only", "src/a"]).is_refused_for("src/a", "B");
    world.commit_in("A", &src, &["--", "a"]).is_refused_for("src/a", "B");
    world.start_again();

    world.git(&["rm", "-q", "src/a"]);
    world.commit("A", &[]).is_refused_for("src/a", "B");
    world.start_again();

    fs::remove_file(src.join("a")).unwrap();
    std::os::unix::fs::symlink("b", src.join("a")).unwrap();
    world.commit("A", &["-a"]).is_refused_for("src/a", "B");
}

/// C02, the other way round: what lies in the index and is not in the commit, and what lies in the work tree only.
fn a_commit_of_other_files_passes(manager: &Manager) {
    let world = World::of(manager);
    world.hold("src/a");
    world.write("src/a", "B is at work\n");
    world.git(&["add", "src/a"]);
    let committed = || world.git(&["show", "--name-only", "--format=", "HEAD"]);

    world.write("src/b", "2\n");
    world.commit("A", &["--only", "src/b"]).passes();
    assert_eq!(committed(), "src/b");
    world.write("src/b", "3\n");
    world.commit_in("A", &world.repo.join("src"), &["--", "b"]).passes();
    assert_eq!(committed(), "src/b");
    assert_eq!(world.git(&["diff", "--cached", "--name-only"]), "src/a", "what B has staged is as it was");

    world.git(&["restore", "--staged", "src/a"]);
    world.write("src/b", "4\n");
    world.git(&["add", "src/b"]);
    world.commit("A", &[]).passes();
    assert_eq!(committed(), "src/b");
    assert_eq!(fs::read_to_string(world.repo.join("src/a")).unwrap(), "B is at work\n");
}

fn ones_own_and_what_is_free_passes(manager: &Manager) {
    let world = World::of(manager);
    let change = |text| world.write("src/a", text);
    change("2\n");
    world.commit("A", &["-a"]).passes();
    assert!(!store_of(&world.repo).exists(), "nobody has taken a lease");

    world.hold("src/a");
    change("3\n");
    world.commit("", &["-a"]).is_refused_for("src/a", "B").says("AGENTLOCK_OWNER");
    world.commit("B", &["-a"]).passes();
    change("4\n");
    world.commit("A", &["-a"]).is_refused_for("src/a", "B");
    world.sandbox.agent(&world.repo, "B").ok(["release", "src/a"]);
    world.commit("A", &["-a"]).passes();
}

/// A warning that a manager keeps to itself is none.
fn warnings_are_seen_and_off_is_off(manager: &Manager) {
    let world = World::of(manager);
    world.hold("src/a");
    let commit = |mode: &str, text: &str| {
        world.write("src/a", text);
        let mut command = world.command("A", &world.repo, &["commit", "-am", "x"]);
        command.env("AGENTLOCK_GUARD", mode);
        world.told(command, &world.repo)
    };
    commit("warn", "2\n").passes().says("src/a: held by B ");
    let off = commit("off", "3\n");
    assert!(!off.passes().said.contains("held by"), "{off:#?}");
}

/// C07: `pre-merge-commit` for a merge that commits at once, `pre-commit` for one that is concluded.
fn merges_are_judged_against_all_their_parents(manager: &Manager) {
    let world = World::of(manager);
    let lines = |first: &str, last: &str| format!("{first}{}{last}", "\n.\n".repeat(9));
    world.write("src/a", &lines("1", "1"));
    world.git(&["commit", "-qnam", "base"]);
    for (branch, path, text) in [("both", "src/a", lines("1", "2")), ("theirs", "src/b", "2\n".to_owned())] {
        world.git(&["switch", "-qc", branch, "main"]);
        world.write(path, &text);
        world.git(&["commit", "-qnam", branch]);
    }
    world.git(&["switch", "-q", "main"]);
    world.write("src/a", &lines("2", "1"));
    world.git(&["commit", "-qnam", "ours"]);
    let merge =
        |branch: &str| world.told(world.command("A", &world.repo, &["merge", "--no-edit", branch]), &world.repo);

    world.hold("src/b");
    merge("theirs").passes();
    world.hold("src/a");
    merge("both").is_refused_for("src/a", "B");
    world.commit("A", &[]).is_refused_for("src/a", "B");
    world.sandbox.agent(&world.repo, "B").ok(["release", "src/a"]);
    world.commit("A", &[]).passes();
    assert_eq!(world.git(&["rev-parse", "HEAD^2"]), world.git(&["rev-parse", "both"]));
}

fn a_linked_work_tree_is_guarded_too(manager: &Manager) {
    let world = World::of(manager);
    world.git(&["worktree", "add", "-q", "../w"]);
    let linked = world.sandbox.root().join("w");
    (manager.in_a_linked_work_tree)(&world.sandbox, &linked);
    world.sandbox.agent(&linked, "B").ok(["acquire", "src/a"]);
    for place in [&linked, &world.repo] {
        fs::write(place.join("src/a"), "2\n").unwrap();
    }
    world.commit_in("A", &linked, &["-a"]).is_refused_for("src/a", "B");
    world.commit_in("A", &linked.join("src"), &["--", "a"]).is_refused_for("src/a", "B");
    world.commit_in("A", &world.repo, &["-a"]).passes();
}

macro_rules! under {
    ($manager:ident, $set_up:expr, $needs:literal: $($holds:ident),+ $(,)?) => {
        mod $manager {
            $(
                #[test]
                #[ignore = $needs]
                fn $holds() {
                    super::$holds(&$set_up);
                }
            )+
        }
    };
    ($($manager:ident $set_up:ident $needs:literal),+ $(,)?) => {
        $(under! {
            $manager, super::$set_up, $needs:
            no_commit_takes_what_somebody_else_holds,
            a_commit_of_other_files_passes,
            ones_own_and_what_is_free_passes,
            warnings_are_seen_and_off_is_off,
            merges_are_judged_against_all_their_parents,
            a_linked_work_tree_is_guarded_too,
        })+
    };
}

under! {
    pre_commit PRE_COMMIT "needs pre-commit",
    prek PREK "needs prek",
    husky HUSKY "needs node and husky",
    lefthook LEFTHOOK "needs lefthook",
}

/// The README says so: husky keeps what git runs in a folder that is in no commit.
#[test]
#[ignore = "needs node and husky"]
fn husky_guards_a_new_linked_work_tree_only_after_it_has_run_there() {
    let world = World::of(&HUSKY);
    world.git(&["worktree", "add", "-q", "../w"]);
    let linked = world.sandbox.root().join("w");
    world.sandbox.agent(&linked, "B").ok(["acquire", "src/a"]);
    fs::write(linked.join("src/a"), "2\n").unwrap();
    world.commit_in("A", &linked, &["-a"]).passes();
    run_husky(&world.sandbox, &linked);
    fs::write(linked.join("src/a"), "3\n").unwrap();
    world.commit_in("A", &linked, &["-a"]).is_refused_for("src/a", "B");
}

/// What the README says of the hooks that only tell.
fn what_went_past_is_told(manager: &Manager, install: fn(&Sandbox, &Path), hook: impl Fn(&str) -> (PathBuf, String)) {
    let world = World::of(manager);
    for name in ["post-merge", "post-checkout"] {
        let (file, text) = hook(name);
        let file = world.repo.join(file);
        let before = fs::read_to_string(&file).unwrap_or_default();
        fs::write(file, before + &text).unwrap();
    }
    world.git(&["add", "."]);
    world.git(&["commit", "-qnm", "more hooks"]);
    install(&world.sandbox, &world.repo);
    world.git(&["switch", "-qc", "f"]);
    world.write("src/a", "2\n");
    world.git(&["commit", "-qnam", "f"]);
    world.git(&["switch", "-q", "main"]);
    world.hold("src/a");
    let git = |arguments: &[&str]| world.told(world.command("A", &world.repo, arguments), &world.repo);
    git(&["switch", "-q", "f"]).passes().says("git checkout has changed src/a: held by B ");
    git(&["switch", "-q", "main"]).passes();
    git(&["merge", "-q", "f"]).passes().says("git merge has changed src/a: held by B ");
}

#[test]
#[ignore = "needs node and husky"]
fn husky_tells_what_went_past() {
    let readme = readme();
    assert!(readme.contains("`git-agentlock guard --hook post-merge \"$@\"` in a file of husky's"), "{readme}");
    what_went_past_is_told(&HUSKY, run_husky, |name| {
        (format!(".husky/{name}").into(), format!("git-agentlock guard --hook {name} \"$@\"\n"))
    });
}

#[test]
#[ignore = "needs lefthook"]
fn lefthook_tells_what_went_past() {
    let readme = readme();
    assert!(readme.contains("`git-agentlock guard --hook post-merge {0}` in a job of lefthook's"), "{readme}");
    what_went_past_is_told(&LEFTHOOK, install_lefthook, |name| {
        let job = format!(
            "{name}:\n  jobs:\n    - name: git-agentlock\n      run: git-agentlock guard --hook {name} {{0}}\n"
        );
        ("lefthook.yml".into(), job)
    });
}

/// The hooks that build the program, with the repository as it is here.
#[test]
#[ignore = "needs pre-commit, and builds the program"]
fn pre_commit_builds_the_guard_from_this_repository() {
    let (sandbox, repo) = Sandbox::with_repo();
    let source = source_of_hooks(&sandbox);
    let mut files = Command::new("git");
    files.args(["-C", HERE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    for file in String::from_utf8(done(files).stdout).unwrap().split_terminator('\0') {
        let (from, to) = (Path::new(HERE).join(file), source.join(file));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        // A file that is deleted and still in the index is not there to be copied.
        if from.exists() {
            fs::copy(from, to).unwrap();
        }
    }
    sandbox.git(&source, &["add", "."]);
    sandbox.git(&source, &["commit", "-qm", "all of it"]);
    sandbox.git(&source, &["tag", "-f", "v0.1.0"]);

    let config = fixture("pre-commit-config.yaml").replace("-system", "");
    fs::write(repo.join(".pre-commit-config.yaml"), config).unwrap();
    sandbox.git(&repo, &["add", "."]);
    sandbox.git(&repo, &["commit", "-qnm", "hooks"]);
    let mut install = sandbox.command("pre-commit", &repo);
    install.args(["install", "--install-hooks"]).envs(where_rust_is());
    done(install);
    let built = format!("find {}/.cache/pre-commit -path '*/bin/git-agentlock' -type f", sandbox.home().display());
    let mut find = sandbox.command("sh", &repo);
    find.args(["-c", &built]);
    assert_eq!(String::from_utf8(done(find).stdout).unwrap().lines().count(), 1, "built once for both hooks");

    let world = World { sandbox, repo, env: where_rust_is() };
    world.hold("src/a");
    world.write("src/a", "2\n");
    world.commit("A", &["-a"]).is_refused_for("src/a", "B");
    world.commit("B", &["-a"]).passes();
}

/// Rust and its downloads are found by the home directory, and the sandbox has its own. pre-commit looks for them at each commit; where it
/// finds none, it downloads its own. On this `PATH` is no guard but the one that is built, which is not built for speed.
fn where_rust_is() -> Vec<(&'static str, PathBuf)> {
    #[expect(clippy::disallowed_methods, reason = "the tools have to be found")]
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = variable("HOME").unwrap();
    vec![
        ("PATH", variable("PATH").unwrap()),
        ("CARGO_HOME", variable("CARGO_HOME").unwrap_or(home.join(".cargo"))),
        ("RUSTUP_HOME", variable("RUSTUP_HOME").unwrap_or(home.join(".rustup"))),
        ("CARGO_TARGET_DIR", Path::new(HERE).join("target/built-by-pre-commit")),
        ("CARGO_PROFILE_RELEASE_LTO", "off".into()),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16".into()),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0".into()),
    ]
}

#[test]
fn the_set_ups_in_the_readme_are_those_that_are_tested() {
    let readme = readme();
    for name in ["pre-commit-config.yaml", "lefthook.yml"] {
        assert!(readme.contains(&format!("```yaml\n{}```\n", fixture(name))), "{name}");
    }
    for name in ["pre-commit", "pre-merge-commit"] {
        let step = format!("echo '{}' > .husky/{name}\n", fixture(&format!("husky/{name}")).trim_end());
        assert!(readme.contains(&step), "{step}");
    }
}
