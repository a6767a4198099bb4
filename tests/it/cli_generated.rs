//! What is committed is what the program makes: completions and man pages. `completions/generate.sh` writes them anew.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::sandbox::Sandbox;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn names_in(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[track_caller]
fn is_committed(file: &str, made: &str) {
    let committed = fs::read_to_string(root().join(file)).unwrap();
    assert!(committed == made, "{file} is not what the program makes: run completions/generate.sh");
}

#[test]
fn the_completions_that_are_committed_are_those_that_are_printed() {
    let sandbox = Sandbox::new();
    let nobody = sandbox.nobody(sandbox.root());
    let scripts = [
        ("bash", "git-agentlock.bash"),
        ("zsh", "_git-agentlock"),
        ("fish", "git-agentlock.fish"),
        ("powershell", "_git-agentlock.ps1"),
        ("elvish", "git-agentlock.elv"),
    ];
    for (shell, file) in scripts {
        is_committed(&format!("completions/{file}"), &nobody.ok(["completions", shell]).out());
    }
    let known: BTreeSet<String> =
        scripts.iter().map(|(_, file)| (*file).to_owned()).chain(["generate.sh".to_owned()]).collect();
    assert_eq!(names_in("completions"), known);
}

/// The pages' topics, as `man` completes them.
fn topics(sandbox: &Sandbox) -> Vec<String> {
    let ran = sandbox.nobody(sandbox.root()).ok(["completions", "zsh", "--", "git-agentlock", "man", ""]);
    let topics: Vec<String> = ran.out().lines().skip(1).map(str::to_owned).collect();
    assert!(topics.len() > 20, "{topics:?}");
    topics
}

#[test]
fn the_man_pages_that_are_committed_are_those_that_are_printed() {
    let sandbox = Sandbox::new();
    let mut known = BTreeSet::new();
    for topic in topics(&sandbox) {
        let file = match topic.as_str() {
            "git-agentlock" => "git-agentlock.1".to_owned(),
            "policy.5" => "git-agentlock-policy.5".to_owned(),
            topic => format!("git-agentlock-{topic}.1"),
        };
        is_committed(&format!("man/{file}"), &sandbox.nobody(sandbox.root()).ok(["man", &topic]).out());
        known.insert(file);
    }
    assert_eq!(names_in("man"), known);
}

fn pages() -> Vec<PathBuf> {
    names_in("man").into_iter().map(|name| root().join("man").join(name)).collect()
}

#[test]
#[ignore = "needs mandoc"]
fn mandoc_finds_nothing_in_the_man_pages() {
    let output = Command::new("mandoc").arg("-Tlint").args(pages()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    // Pages of others, such as git's, need not be installed.
    let own: Vec<&str> = told.lines().filter(|line| !line.contains("referenced manual not found")).collect();
    assert_eq!(own, [""; 0]);
}

#[test]
#[ignore = "needs man"]
fn groff_has_no_warnings_about_the_man_pages() {
    for page in pages() {
        let output =
            Command::new("man").args(["--warnings", "-l"]).arg(&page).env("LC_ALL", "C.UTF-8").output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}: {output:?}", page.display());
    }
}

#[test]
fn a_page_that_does_not_exist_is_an_error_with_a_hint() {
    let sandbox = Sandbox::new();
    let nobody = sandbox.nobody(sandbox.root());
    nobody.expect(2, ["man", "nothing"]).err_has(&["no page about 'nothing'", "hint: name a command"]);
    assert!(nobody.ok(["man", "hook", "install"]).out().contains(".TH GIT-AGENTLOCK-HOOK-INSTALL 1"));
    assert!(nobody.ok(["man", "git-agentlock-policy.5"]).out().contains("keep\\-expired"));
}
