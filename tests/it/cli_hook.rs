//! `hook install` and `hook uninstall` beside every kind of hook that may be there, driven by real git (cases 15, 16, 17, 71).
//!
//! What the guard itself decides is no subject here: a [`Bench`] has a double in its place, which notes how it was called.

use std::{
    fs,
    io::Write as _,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::sandbox::{Agent, BINARY, Ran, Sandbox, put_program, tree};

/// A repository, and a program that hooks were installed by, which can be exchanged for a double.
pub(crate) struct Bench {
    pub(crate) sandbox: Sandbox,
    pub(crate) repo: PathBuf,
    pub(crate) program: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::at("bin/git-agentlock".as_ref())
    }

    pub(crate) fn at(program: &Path) -> Self {
        let (sandbox, repo) = Sandbox::with_repo();
        let program = sandbox.root().join(program);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        put_program(BINARY.as_ref(), &program);
        Self { sandbox, repo, program }
    }

    pub(crate) fn hooks(&self) -> PathBuf {
        self.repo.join(".git/hooks")
    }

    pub(crate) fn hook(&self, name: &str) -> PathBuf {
        self.hooks().join(name)
    }

    /// Somebody who calls the program that hooks will run.
    pub(crate) fn agent(&self, cwd: &Path) -> Agent<'_> {
        self.sandbox.nobody(cwd).program(&self.program)
    }

    #[track_caller]
    pub(crate) fn install(&self, names: &[&str]) -> Ran {
        self.agent(&self.repo).ok([&["hook", "install"], names].concat())
    }

    #[track_caller]
    pub(crate) fn uninstall(&self) -> Ran {
        self.agent(&self.repo).ok(["hook", "uninstall"])
    }

    /// From now on the guard is a double that ends with `GUARD`, 0 without it, and notes its arguments and what it could read.
    pub(crate) fn double(&self) {
        let log = self.sandbox.root().join("guard.log");
        let text = format!(
            "#!/bin/sh\n{{ printf '%s|' \"$@\"; cat; echo; }} >>'{}'\n[ \"${{GUARD-0}}\" = 0 ] || echo guard refuses >&2\nexit \"${{GUARD-0}}\"\n",
            log.display()
        );
        fs::remove_file(&self.program).unwrap();
        write(&self.program, &text, 0o755);
    }

    /// From now on the guard is the real one again.
    pub(crate) fn real(&self) {
        fs::remove_file(&self.program).unwrap();
        put_program(BINARY.as_ref(), &self.program);
    }

    /// How the guard was called since the last time this was asked.
    pub(crate) fn guarded(&self) -> Vec<String> {
        let log = self.sandbox.root().join("guard.log");
        let lines = fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned).collect();
        let _ = fs::remove_file(log);
        lines
    }

    /// `git commit` of something new, with these variables.
    pub(crate) fn commit(&self, env: &[(&str, &str)]) -> Ran {
        self.commit_in(&self.repo, env)
    }

    pub(crate) fn commit_in(&self, work_tree: &Path, env: &[(&str, &str)]) -> Ran {
        let mut command = self.sandbox.command("git", work_tree);
        command.args(["commit", "-q", "--allow-empty", "-m", "x"]).envs(env.iter().copied());
        Ran::of(piped(command))
    }
}

pub(crate) fn piped(mut command: Command) -> Command {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A file that can be run.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let draft = tempfile::Builder::new().prefix("agentlock-draft-").tempdir().unwrap();
    fs::write(draft.path().join("file"), text).unwrap();
    put_program(&draft.path().join("file"), path);
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The ten kinds of hooks of case 15: a name, its text, its mode, the code it ends with, and what it prints.
fn kinds() -> Vec<(&'static str, Vec<u8>, u32, i32, &'static str)> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("ends with exit 0", text("#!/bin/sh\necho ran >&2\nexit 0\n"), 0o755, 0, "ran"),
        ("execs something", text("#!/bin/sh\nexec sh -c 'echo execed >&2; exit 5'\n"), 0o755, 1, "execed"),
        ("no shebang", text("echo bare >&2\n"), 0o755, 0, "bare"),
        ("CRLF", text("#!/bin/sh\necho crlf >&2 #\r\nexit 0 #\r\n"), 0o755, 0, "crlf"),
        ("CRLF in the first line", text("#!/bin/sh\r\nexit 0\r\n"), 0o755, 1, ""),
        ("reads stdin", text("#!/bin/sh\nread -r line\necho \"read $?\" >&2\n"), 0o755, 0, "read"),
        ("dirname", text("#!/bin/sh\n. \"$(dirname \"$0\")/library\"\n"), 0o755, 0, "from the library"),
        ("exit 3", text("#!/bin/sh\necho three >&2\nexit 3\n"), 0o755, 1, "three"),
        ("not executable", text("#!/bin/sh\nexit 3\n"), 0o644, 0, ""),
        ("compiled", fs::read("/bin/true").unwrap(), 0o755, 0, ""),
        ("bash", text("#!/bin/bash\nx=(a b); echo \"${x[1]} $BASH_VERSION\" >&2\n"), 0o700, 0, "b "),
    ]
}

#[test]
fn every_kind_of_hook_is_chained_and_comes_back_as_it_was() {
    for (kind, text, mode, code, says) in kinds() {
        let bench = Bench::new();
        write(&bench.hook("library"), "echo from the library >&2\n", 0o644);
        write(&bench.hook("pre-commit"), &text, mode);
        let before = tree(&bench.hooks());
        let plain = bench.commit(&[]);
        assert_eq!((plain.code(), plain.err().contains(says)), (code, true), "{kind}: {plain:#?}");
        for _ in 0..3 {
            bench.install(&[]);
        }
        bench.double();
        let refused = bench.commit(&[("GUARD", "1")]);
        assert_eq!(refused.code(), 1, "{kind}: {refused:#?}");
        refused.err_has(&["guard refuses"]);
        assert!(says.is_empty() || !refused.err().contains(says), "{kind} has its turn after the guard: {refused:#?}");
        let passed = bench.commit(&[]);
        assert_eq!((passed.code(), passed.err().contains(says)), (code, true), "{kind}: {passed:#?}");
        // Once for the refusal, once before the chained hook and, if that has let the commit pass, once after it.
        let mut asked = vec!["guard|--hook|pre-commit|--|"; 2];
        if code == 0 && mode & 0o100 != 0 {
            asked.push("guard|--hook|pre-commit|--again|--|");
        }
        assert_eq!(bench.guarded(), asked, "{kind}");
        bench.real();
        for _ in 0..3 {
            bench.uninstall();
        }
        assert_eq!(without_times_of_dirs(&before), without_times_of_dirs(&tree(&bench.hooks())), "{kind}");
    }
}

/// Directories have other times once something was renamed in them.
fn without_times_of_dirs(tree: &[String]) -> Vec<&String> {
    tree.iter().filter(|line| !line.contains("/hooks 4")).collect()
}

#[test]
#[ignore = "needs python3"]
fn a_hook_in_another_language_is_chained() {
    let bench = Bench::new();
    write(
        &bench.hook("pre-commit"),
        "#!/usr/bin/env python3\nimport sys\nprint('snake', file=sys.stderr)\nsys.exit(7)\n",
        0o755,
    );
    bench.install(&[]);
    bench.double();
    let ran = bench.commit(&[]);
    assert_eq!(ran.code(), 1, "{ran:#?}");
    ran.err_has(&["snake"]);
}

/// What a hook sees of the world: code, arguments, standard input, directory and environment.
fn what_a_hook_sees(bench: &Bench, hook: &Path) -> (i32, Vec<u8>) {
    let seen = bench.sandbox.root().join("seen");
    let mut command = bench.sandbox.command(hook, &bench.repo);
    command.args(["a b", "", "c\nd", "*", "-n"]).env("GIT_DIR", ".git").env("SEEN", &seen).stdin(Stdio::piped());
    let mut child = piped(command).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"line 1\nline 2").unwrap();
    let code = Ran::wait(child, format!("{hook:?}")).code();
    (code, fs::read(seen).unwrap())
}

#[test]
fn the_chained_hook_gets_the_same_arguments_input_directory_and_environment_and_its_code_survives() {
    let report = "#!/bin/sh\n{ printf '<%s>' \"$@\"; cat; pwd; env | grep -v -e '^_=' -e '^SHLVL=' | sort; } >\"$SEEN\"\nexit 42\n";
    for shell in ["sh", "bash", "dash"] {
        let bench = Bench::new();
        write(&bench.hook("post-rewrite"), report, 0o755);
        let without = what_a_hook_sees(&bench, &bench.hook("post-rewrite"));
        bench.install(&["post-rewrite"]);
        bench.double();
        let hook = bench.hook("post-rewrite");
        let text = fs::read_to_string(&hook).unwrap().replacen("#!/bin/sh", &format!("#!/usr/bin/env {shell}"), 1);
        write(&hook, text, 0o755);
        let with = what_a_hook_sees(&bench, &hook);
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string().replace("\\n", "\n");
        assert_eq!((without.0, text(&without.1)), (with.0, text(&with.1)), "{shell}");
        assert_eq!(with.0, 42);
        assert_eq!(bench.guarded().join("/"), "guard|--hook|post-rewrite|--|a b||c/d|*|-n|", "it reads no input");
    }
}

#[test]
fn hooks_that_only_tell_never_fail() {
    let bench = Bench::new();
    write(&bench.hook("post-commit"), "#!/bin/sh\necho mine >&2\n", 0o755);
    bench.install(&["post-commit", "post-checkout"]);
    bench.double();
    bench.commit(&[("GUARD", "4")]).err_has(&["guard refuses", "mine"]);
    let mut checkout = bench.sandbox.command("git", &bench.repo);
    checkout.args(["checkout", "-q", "-b", "other"]).env("GUARD", "1");
    assert_eq!(Ran::of(piped(checkout)).code(), 0);
}

#[test]
fn a_hook_that_is_a_link_to_a_tracked_file_stays_that_link() {
    for target in ["../../tools/pc", "no/such/file"] {
        let bench = Bench::new();
        write(&bench.repo.join("tools/pc"), "#!/bin/sh\necho team >&2\n", 0o755);
        bench.sandbox.git(&bench.repo, &["add", "tools"]);
        bench.sandbox.git(&bench.repo, &["commit", "-qm", "t"]);
        symlink(target, bench.hook("pre-commit")).unwrap();
        let before = tree(&bench.hooks());
        bench.install(&[]);
        assert_eq!(bench.sandbox.git(&bench.repo, &["status", "--porcelain"]), "");
        bench.double();
        assert_eq!(bench.commit(&[("GUARD", "1")]).code(), 1);
        let passed = bench.commit(&[]);
        assert_eq!((passed.code(), passed.err().contains("team")), (0, target.contains("tools")), "{passed:#?}");
        bench.real();
        bench.uninstall();
        assert_eq!(fs::read_link(bench.hook("pre-commit")).unwrap(), Path::new(target));
        assert_eq!(without_times_of_dirs(&before), without_times_of_dirs(&tree(&bench.hooks())));
    }
}

#[test]
fn a_hook_that_is_a_link_to_another_hook_still_leads_there() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\necho mine >&2\n", 0o755);
    symlink("pre-commit", bench.hook("pre-merge-commit")).unwrap();
    let before = tree(&bench.hooks());
    for (names, asked) in [(&["pre-commit"][..], 1), (&["pre-commit", "pre-merge-commit"], 2)] {
        bench.install(names);
        bench.double();
        let ran = Ran::of(piped(bench.sandbox.command(bench.hook("pre-merge-commit"), &bench.repo)));
        assert_eq!(ran.err(), "mine\n");
        assert_eq!(
            bench.guarded().len(),
            asked,
            "asked by the hook that git runs, not by the one that the link leads to"
        );
        bench.real();
    }
    bench.uninstall();
    assert_eq!(without_times_of_dirs(&before), without_times_of_dirs(&tree(&bench.hooks())));
}

#[test]
fn a_missing_hooks_directory_is_made_and_a_link_to_one_is_followed() {
    let bench = Bench::new();
    fs::remove_dir_all(bench.hooks()).unwrap();
    bench.install(&[]);
    bench.double();
    assert_eq!(bench.commit(&[("GUARD", "1")]).code(), 1);

    let bench = Bench::new();
    fs::rename(bench.hooks(), bench.repo.join(".git/real-hooks")).unwrap();
    symlink("real-hooks", bench.hooks()).unwrap();
    bench.install(&[]);
    assert!(bench.hooks().is_symlink() && bench.repo.join(".git/real-hooks/pre-commit").is_file());
    bench.double();
    assert_eq!(bench.commit(&[("GUARD", "1")]).code(), 1);
}

#[test]
fn a_directory_where_a_hook_belongs_is_named_and_left() {
    let bench = Bench::new();
    fs::create_dir_all(bench.hook("pre-commit/x")).unwrap();
    let ran = bench.agent(&bench.repo).expect(4, ["hook", "install"]);
    ran.err_has(&["hooks/pre-commit is a directory"]);
    assert!(bench.hook("pre-commit/x").is_dir());
}

#[test]
fn a_foreign_file_with_the_name_of_the_chained_hook_is_neither_overwritten_nor_run() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
    write(&bench.hook("pre-commit.agentlock-chained"), "precious\n", 0o644);
    let before = tree(&bench.hooks());
    let ran = bench.agent(&bench.repo).expect(4, ["hook", "install", "pre-commit"]);
    ran.err_has(&["pre-commit cannot be chained", "pre-commit.agentlock-chained exists already"]);
    bench.uninstall().err_has(&["stays in"]);
    assert_eq!(without_times_of_dirs(&before), without_times_of_dirs(&tree(&bench.hooks())));
}

#[test]
fn ours_is_never_chained_also_not_as_a_copy() {
    let bench = Bench::new();
    bench.install(&[]);
    put_program(&bench.hook("pre-commit"), &bench.hook("pre-commit.agentlock-chained"));
    bench.install(&[]);
    assert!(!bench.hook("pre-commit.agentlock-chained").exists());
    put_program(&bench.hook("pre-commit"), &bench.hook("pre-merge-commit"));
    bench.install(&[]);
    assert!(!bench.hook("pre-merge-commit.agentlock-chained").exists());
    bench.double();
    assert_eq!(bench.commit(&[("GUARD", "1")]).code(), 1);
    bench.real();
    put_program(&bench.hook("pre-commit"), &bench.hook("pre-commit.agentlock-chained"));
    bench.uninstall();
    assert!(!bench.hook("pre-commit").exists() && !bench.hook("pre-commit.agentlock-chained").exists());
}

#[test]
fn a_hook_that_was_edited_is_neither_overwritten_nor_lost() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
    bench.install(&[]);
    let mut edited = fs::read(bench.hook("pre-commit")).unwrap();
    edited.extend_from_slice(b"echo my own line\n");
    write(&bench.hook("pre-commit"), &edited, 0o755);
    let ran = bench.agent(&bench.repo).expect(4, ["hook", "install"]);
    ran.err_has(&["was changed by hand", "hook uninstall pre-commit"]);
    assert_eq!(fs::read(bench.hook("pre-commit")).unwrap(), edited);
    let document = bench.agent(&bench.repo).json(1, ["hook", "status"]);
    assert_eq!(document.hooks.unwrap()[0].state, "edited");
    bench.uninstall().err_has(&["is kept as"]);
    bench.uninstall();
    assert_eq!(fs::read(bench.hook("pre-commit.agentlock-edited")).unwrap(), edited);
    assert_eq!(fs::read(bench.hook("pre-commit")).unwrap(), b"#!/bin/sh\nexit 0\n");
}

#[test]
fn a_chained_hook_that_was_edited_comes_back_edited() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
    bench.install(&[]);
    write(&bench.hook("pre-commit.agentlock-chained"), "#!/bin/sh\nexit 9\n", 0o700);
    bench.install(&[]);
    bench.uninstall();
    assert_eq!(fs::read(bench.hook("pre-commit")).unwrap(), b"#!/bin/sh\nexit 9\n");
}

#[test]
fn a_hook_that_was_made_by_another_program_is_brought_up_to_date() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
    bench.install(&[]);
    let old = fs::read(bench.hook("pre-commit")).unwrap();
    bench.sandbox.nobody(&bench.repo).ok(["hook", "install"]).out_has(&["brought up to date"]);
    assert_ne!(fs::read(bench.hook("pre-commit")).unwrap(), old);
    fs::set_permissions(bench.hook("pre-commit"), fs::Permissions::from_mode(0o644)).unwrap();
    bench.install(&[]).out_has(&["brought up to date"]);
    assert_eq!(fs::read(bench.hook("pre-commit")).unwrap(), old);
    let names = fs::read_dir(bench.hooks()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with('.')), "nothing is left over");
    bench.uninstall();
    assert_eq!(fs::read(bench.hook("pre-commit")).unwrap(), b"#!/bin/sh\nexit 0\n");
}

#[test]
fn a_program_and_a_repository_with_hostile_names_are_found() {
    for name in ["a b", "it's", "new\nline", "$(touch x)", "`x`\"\\", "{{HOOK}}", "-n"] {
        let bench = Bench::at(&Path::new(name).join("git-agentlock"));
        let repo = bench.sandbox.repo(&format!("repo {name}"));
        write(&repo.join(".git/hooks/pre-commit"), "#!/bin/sh\necho mine >&2\n", 0o755);
        bench.agent(&repo).ok(["hook", "install"]);
        bench.agent(&repo).ok(["hook", "install"]).out_has(&["already installed"]);
        bench.double();
        assert_eq!(bench.commit_in(&repo, &[("GUARD", "1")]).code(), 1, "{name:?}");
        bench.commit_in(&repo, &[]).err_has(&["mine"]);
        assert_eq!(bench.guarded().len(), 3, "{name:?}");
    }
    let name = std::ffi::OsString::from_vec(b"latin\xe9".to_vec());
    let bench = Bench::at(&Path::new(&name).join("git-agentlock"));
    bench.install(&[]);
    bench.install(&[]).out_has(&["already installed"]);
    bench.double();
    assert_eq!(bench.commit(&[("GUARD", "1")]).code(), 1);
    assert!(fs::read(bench.hook("pre-commit")).unwrap().windows(6).any(|part| part == b"latin\xe9"));
    assert!(name.as_bytes().ends_with(b"\xe9"));
}

#[test]
fn without_the_program_one_clear_line_tells_how_to_go_on() {
    let bench = Bench::new();
    bench.install(&["pre-commit", "post-commit"]);
    fs::remove_file(&bench.program).unwrap();
    let short = [("PATH", "/usr/bin:/bin")];
    let line = |ran: &Ran| {
        let text = ran.err();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("pre-commit'")).collect();
        assert_eq!(lines.len(), 1, "{ran:#?}");
        let remedy = format!("rm '{}'", bench.hook("pre-commit").display());
        for needed in ["bin/git-agentlock", "AGENTLOCK_GUARD=off", "--no-verify", &remedy] {
            assert!(lines[0].contains(needed), "{needed}: {ran:#?}");
        }
    };
    let refused = bench.commit(&short);
    assert_eq!(refused.code(), 1, "{refused:#?}");
    line(&refused);
    let warned = bench.commit(&[short[0], ("AGENTLOCK_GUARD", "warn")]);
    assert_eq!(warned.code(), 0, "{warned:#?}");
    line(&warned);
    warned.err_has(&["so this is done unguarded", "this went by unguarded"]);
    let off = bench.commit(&[short[0], ("AGENTLOCK_GUARD", "off")]);
    assert_eq!((off.code(), off.err()), (0, String::new()));

    // A program that cannot be started is as good as none.
    write(&bench.program, "#!/no/such/interpreter\n", 0o755);
    let refused = bench.commit(&short);
    assert_eq!(refused.code(), 1, "{refused:#?}");
    line(&refused);

    // With a hook that was there before, the way out is to put that back.
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\necho mine >&2\n", 0o755);
    bench.install(&[]);
    fs::remove_file(&bench.program).unwrap();
    let refused = bench.commit(&short);
    let hook = bench.hook("pre-commit").display().to_string();
    refused.err_has(&[&format!("mv -f '{hook}.agentlock-chained' '{hook}'")]);
    bench.commit(&[short[0], ("AGENTLOCK_GUARD", "off")]).err_has(&["mine"]);
}

#[test]
fn a_program_that_has_moved_is_found_on_path() {
    let bench = Bench::new();
    bench.install(&[]);
    let moved = bench.sandbox.root().join("elsewhere/git-agentlock");
    bench.double();
    fs::create_dir(moved.parent().unwrap()).unwrap();
    fs::rename(&bench.program, &moved).unwrap();
    let path = format!("{}:/usr/bin:/bin", moved.parent().unwrap().display());
    assert_eq!(bench.commit(&[("PATH", &path), ("GUARD", "1")]).code(), 1);
    assert_eq!(bench.guarded().len(), 1);
}

#[test]
fn the_name_on_path_is_recorded_rather_than_the_file_behind_it() {
    let bench = Bench::at("store/1.2.3/git-agentlock".as_ref());
    let link = bench.sandbox.root().join("links/git-agentlock");
    fs::create_dir(link.parent().unwrap()).unwrap();
    symlink(&bench.program, &link).unwrap();
    let path = format!("{}:/usr/bin:/bin", link.parent().unwrap().display());
    bench.agent(&bench.repo).env("PATH", path).ok(["hook", "install"]);
    let text = fs::read_to_string(bench.hook("pre-commit")).unwrap();
    assert!(text.contains(&format!("agentlock_binary='{}'", link.display())), "{text}");
}

#[test]
fn a_hook_that_was_moved_aside_by_another_tool_does_not_chain_again() {
    let bench = Bench::new();
    bench.install(&["pre-commit"]);
    // What the pre-commit framework does when it finds a hook: it moves that aside, and its own calls it.
    fs::rename(bench.hook("pre-commit"), bench.hook("pre-commit.legacy")).unwrap();
    let framework = "#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\necho framework >&2\nexec \"$(dirname \"$0\")/pre-commit.legacy\"\n";
    write(&bench.hook("pre-commit"), framework, 0o755);
    bench.install(&["pre-commit"]).err_has(&["pre-commit's", ".pre-commit-config.yaml"]);
    bench.double();
    let ran = bench.commit(&[]);
    assert_eq!((ran.code(), ran.err().matches("framework").count()), (0, 1), "{ran:#?}");
    bench.real();
    bench.uninstall();
    assert_eq!(fs::read_to_string(bench.hook("pre-commit")).unwrap(), framework);
    assert!(!bench.hook("pre-commit.legacy").exists(), "nor does ours stay where the tool calls it");
}

#[test]
fn a_tool_that_is_installed_again_is_not_made_to_call_itself() {
    let bench = Bench::new();
    let framework = "#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\n";
    write(&bench.hook("pre-commit"), framework, 0o755);
    bench.install(&["pre-commit"]);
    fs::rename(bench.hook("pre-commit"), bench.hook("pre-commit.legacy")).unwrap();
    write(&bench.hook("pre-commit"), framework, 0o755);
    bench.uninstall().err_has(&["stays in", "pre-commit.agentlock-chained"]);
    assert!(!bench.hook("pre-commit.legacy").exists());
    assert_eq!(fs::read_to_string(bench.hook("pre-commit.agentlock-chained")).unwrap(), framework);
    bench.agent(&bench.repo).expect(1, ["hook", "status"]).out_has(&["another tool"]);
    bench.install(&[]).err_has(&["written the pre-commit hook anew", "pre-commit.agentlock-outdated"]);
    bench.agent(&bench.repo).ok(["hook", "status"]);
    bench.uninstall();
    for name in ["pre-commit", "pre-commit.agentlock-outdated"] {
        assert_eq!(fs::read_to_string(bench.hook(name)).unwrap(), framework);
    }
}

#[test]
fn what_was_chained_gets_the_place_that_another_tool_has_given_ours() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\necho mine >&2\n", 0o755);
    bench.install(&["pre-commit"]);
    fs::rename(bench.hook("pre-commit"), bench.hook("pre-commit.legacy")).unwrap();
    write(&bench.hook("pre-commit"), "#!/bin/sh\nexec .git/hooks/pre-commit.legacy\n", 0o755);
    let document = bench.agent(&bench.repo).json(1, ["hook", "status"]);
    assert_eq!(document.hooks.unwrap()[0].state, "displaced");
    bench.uninstall();
    bench.commit(&[]).err_has(&["mine"]);
    assert!(!bench.hook("pre-commit.agentlock-chained").exists());
}

#[test]
fn a_hook_that_asks_for_its_own_name_is_warned_of() {
    let bench = Bench::new();
    write(&bench.hook("pre-commit"), "#!/bin/sh\ncase $(basename \"$0\") in pre-commit) exit 1 ;; esac\n", 0o755);
    bench.install(&[]).err_has(&["asks for its own name", "pre-commit.agentlock-chained"]);
}

#[test]
fn an_unknown_hook_is_a_mistake_that_names_the_known_ones() {
    let bench = Bench::new();
    for action in ["install", "uninstall"] {
        let ran = bench.agent(&bench.repo).expect(2, ["hook", action, "pre-push\n"]);
        ran.err_has(&["'pre-push\\n'", "pre-commit, pre-merge-commit, pre-rebase, pre-applypatch"]);
    }
    bench.agent(&bench.repo).expect(2, ["hook"]);
    bench.install(&["--all"]);
    let document = bench.agent(&bench.repo).json(0, ["hook", "status"]);
    assert!(document.hooks.unwrap().iter().all(|hook| hook.state == "active"));
}
