//! House rules, read off the sources as text. Each rule is a function from text to complaints, so that it can be seen to complain.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder: its path from the top of the package, and its text.
fn sources(folder: &str) -> Vec<(String, String)> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&root().join(folder), &mut paths);
    paths.sort();
    let named = |path: PathBuf| {
        let name = path.strip_prefix(root()).expect("below the top").to_string_lossy().replace('\\', "/");
        (name, fs::read_to_string(path).expect("UTF-8"))
    };
    let found: Vec<_> = paths.into_iter().map(named).collect();
    assert!(found.len() > 3, "{folder} is here");
    found
}

fn everywhere() -> Vec<(String, String)> {
    [sources("src"), sources("tests")].concat()
}

#[track_caller]
fn no_complaints(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<String> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// The lines of a source file before its tests.
fn before_tests(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| !(line.starts_with("#[cfg(") && line.contains("test")))
}

/// The text without its tests, and without comments that take a whole line.
fn code(text: &str) -> String {
    before_tests(text).filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// What a top-level module may use of the others (DESIGN §7: arrows only go down). What is not named here is the binary's.
const ARROWS: [(&str, &[&str]); 15] = [
    ("text", &[]),
    ("duration", &["text"]),
    ("owner", &["text"]),
    ("clock", &["duration"]),
    ("resource", &["text"]),
    ("record", &["clock", "duration", "owner", "resource", "text"]),
    ("policy", &["duration", "resource", "text"]),
    ("store", &["clock", "owner", "record", "resource", "text"]),
    ("locks", &["clock", "duration", "owner", "record", "resource", "store"]),
    ("git", &["resource", "text"]),
    ("guard", &["clock", "locks", "owner", "record", "resource", "store"]),
    ("harness", &["owner", "text"]),
    ("install", &["resource", "text"]),
    ("run", &["clock", "duration", "locks", "record", "resource", "store"]),
    ("lib", &[]),
];

/// The modules a file lies in: `src/store/file/dir.rs` is `store::file::dir`.
fn module_of(name: &str) -> Vec<String> {
    let path = name.strip_prefix("src/").unwrap_or(name).trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// Every path in the text that starts with `crate`, `self` or `super`, from the crate's top, `use` trees taken apart.
fn paths_used(module: &[String], text: &str) -> BTreeSet<String> {
    let (mut found, code) = (BTreeSet::new(), code(text));
    for start in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_none_or(|before| !before.is_alphanumeric() && before != '_' && before != ':' && before != '$')
            {
                let mut rest = &code[at..];
                expand(module, "", &mut rest, &mut found);
            }
        }
    }
    found
}

/// Reads one path, or one tree of a `use`, from the front of `rest`.
fn expand(module: &[String], prefix: &str, rest: &mut &str, found: &mut BTreeSet<String>) {
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let end = rest.find(|c| !is_of_path(c)).unwrap_or(rest.len());
    let path = format!("{prefix}{}", &rest[..end]);
    *rest = &rest[end..];
    if path.ends_with("::") && rest.starts_with('{') {
        *rest = &rest[1..];
        loop {
            *rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if rest.is_empty() || rest.starts_with('}') {
                *rest = rest.get(1..).unwrap_or_default();
                return;
            }
            expand(module, &path, rest, found);
            // A glob or a renaming behind the name.
            *rest = rest.trim_start_matches(|c| c != ',' && c != '}');
        }
    }
    found.insert(from_the_top(module, &path));
}

fn from_the_top(module: &[String], path: &str) -> String {
    let mut here = module.to_vec();
    let mut names = Vec::new();
    for name in path.split("::").filter(|name| !name.is_empty()) {
        match name {
            "crate" => here.clear(),
            "self" => {}
            "super" => {
                here.pop();
            }
            name => names.push(name.to_owned()),
        }
    }
    here.extend(names);
    here.join("::")
}

fn arrow_complaints(name: &str, text: &str) -> Vec<String> {
    let module = module_of(name);
    let Some((_, allowed)) = ARROWS.iter().find(|(of, _)| *of == module[0]) else {
        return vec![format!("{name}: say in ARROWS what the module {} may use", module[0])];
    };
    let mut complaints = Vec::new();
    for path in paths_used(&module, text) {
        let target = path.split("::").next().unwrap_or_default();
        let is_module = target == "cli" || ARROWS.iter().any(|(of, _)| *of == target);
        if is_module && target != module[0] && !allowed.contains(&target) {
            complaints.push(format!("{name} uses {path}"));
        }
        if module[0] == "locks" && path.starts_with("store::file") {
            complaints.push(format!("{name} knows which store it is: {path}"));
        }
    }
    complaints
}

fn is_of_binary(name: &str) -> bool {
    name == "src/main.rs" || name.starts_with("src/cli/")
}

/// What the library must not do, and which crate belongs where.
fn door_complaints(name: &str, text: &str) -> Vec<String> {
    let code = code(text);
    let mut complaints = Vec::new();
    let mut forbid = |word: &str, why: &str| {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let is_whole = |at: usize| !is_part(code[..at].chars().next_back());
        if code.match_indices(word).any(|(at, _)| is_whole(at)) {
            complaints.push(format!("{name} mentions {word}: {why}"));
        }
    };
    if !is_of_binary(name) {
        for word in
            ["println!", "eprintln!", "print!", "eprint!", "dbg!", "std::io::stdout", "io::stdout", "io::stderr"]
        {
            forbid(word, "the library does no talking");
        }
        for word in ["std::env", "env::var", "env::current_dir", "env::args"] {
            forbid(word, "only the binary reads the environment");
        }
        for word in ["process::exit", "process::abort"] {
            forbid(word, "the library does not end the process");
        }
        for word in ["clap", "anstream", "anstyle", "comfy_table", "signal_hook"] {
            forbid(word, "that is the binary's");
        }
    }
    if !name.starts_with("src/git/") {
        for word in ["gix::", "use gix;", "gix_attributes"] {
            forbid(word, "git is asked in src/git only");
        }
        if name != "src/policy/glob.rs" {
            forbid("gix_glob", "globs are matched in src/policy/glob.rs only");
        }
    }
    let is_door = name.starts_with("src/store/file/") || name == "src/install/dir.rs";
    if !is_door && name != "src/clock.rs" && !is_of_binary(name) {
        for word in ["rustix::fs", "fs::write", "fs::rename", "fs::remove_", "File::create", "OpenOptions"] {
            forbid(word, "files are written by the file store and the installer's door only");
        }
    }
    complaints
}

fn head_complaints(name: &str, text: &str) -> Vec<String> {
    if text.starts_with("//! ") {
        Vec::new()
    } else {
        vec![format!("{name} does not begin with a //! that says why it exists")]
    }
}

const LONGEST_FILE: usize = 400;

fn length_complaints(name: &str, text: &str) -> Vec<String> {
    let lines = before_tests(text).count();
    if lines <= LONGEST_FILE { Vec::new() } else { vec![format!("{name} has {lines} lines before its tests")] }
}

fn left_over_complaints(name: &str, text: &str) -> Vec<String> {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let comments = text.lines().enumerate().filter_map(|(n, line)| Some((n + 1, &line[line.find("//")?..])));
    let marked = comments.filter(|(_, comment)| marks.iter().any(|mark| comment.contains(mark)));
    marked.map(|(n, comment)| format!("{name}:{n}: {comment}")).collect()
}

/// Files below a folder that no `mod` names, so that the compiler never sees them.
fn forgotten(files: &[(String, String)], roots: &[&str]) -> Vec<String> {
    let is_declared = |name: &str| {
        let path = Path::new(name);
        let (folder, stem) = (path.parent().expect("a folder"), path.file_stem().expect("a name").to_string_lossy());
        let (folder, stem) = match &*stem {
            "mod" => (folder.parent().expect("a folder"), folder.file_name().expect("a name").to_string_lossy()),
            _ => (folder, stem),
        };
        let declaration = format!("mod {stem};");
        let mut parents = files.iter().filter(|(parent, _)| {
            let parent = Path::new(parent);
            let is_root = roots.contains(&&*parent.to_string_lossy()) && parent.parent() == Some(folder);
            is_root || parent == folder.join("mod.rs") || parent == folder.with_extension("rs")
        });
        parents.any(|(_, text)| {
            text.lines().any(|line| line.trim_start_matches("pub ").trim_start_matches("pub(crate) ") == declaration)
        })
    };
    let names = files.iter().map(|(name, _)| name.as_str()).filter(|name| !roots.contains(name));
    names.filter(|name| !is_declared(name)).map(|name| format!("no `mod` names {name}")).collect()
}

#[test]
fn every_file_says_why_it_exists() {
    no_complaints(everywhere().iter().flat_map(|(name, text)| head_complaints(name, text)));
}

#[test]
fn arrows_between_modules_only_go_down() {
    let library = sources("src").into_iter().filter(|(name, _)| !is_of_binary(name));
    no_complaints(library.flat_map(|(name, text)| arrow_complaints(&name, &text)));
}

#[test]
fn dangerous_calls_have_one_door() {
    no_complaints(sources("src").iter().flat_map(|(name, text)| door_complaints(name, text)));
}

/// Commands share values, output and failures, and do not call each other.
fn command_complaints(name: &str, text: &str) -> Vec<String> {
    let is_command = name.starts_with("src/cli/commands/") && !name.ends_with("/mod.rs");
    let other = paths_used(&module_of(name), text).into_iter().filter(|path| {
        is_command && path.starts_with("cli::commands::") && !path.starts_with(&module_of(name).join("::"))
    });
    other.map(|path| format!("{name} uses another command: {path}")).collect()
}

#[test]
fn commands_do_not_call_each_other() {
    no_complaints(sources("src").iter().flat_map(|(name, text)| command_complaints(name, text)));
    let complaints = command_complaints("src/cli/commands/renew.rs", "use super::acquire::parse;\n");
    assert_eq!(complaints.len(), 1, "{complaints:?}");
}

#[test]
fn files_are_small() {
    let sources = sources("src").into_iter().filter(|(name, _)| !name.ends_with("/tests.rs"));
    no_complaints(sources.flat_map(|(name, text)| length_complaints(&name, &text)));
}

#[test]
fn nothing_is_left_for_later() {
    no_complaints(everywhere().iter().flat_map(|(name, text)| left_over_complaints(name, text)));
}

#[test]
fn no_file_is_forgotten() {
    no_complaints(forgotten(&sources("src"), &["src/lib.rs", "src/main.rs"]));
    no_complaints(forgotten(&sources("tests"), &["tests/it/main.rs", "tests/races/main.rs"]));
}

#[test]
fn versions_are_locked() {
    assert!(root().join("Cargo.lock").is_file());
    let ignored = fs::read_to_string(root().join(".gitignore")).expect("a .gitignore");
    assert!(!ignored.contains("Cargo.lock"));
    if root().join(".git").exists() {
        let mut git = std::process::Command::new("git");
        git.args(["ls-files", "--error-unmatch", "Cargo.lock"]).current_dir(root());
        assert!(git.output().expect("git").status.success(), "Cargo.lock is not committed");
    }
}

#[test]
fn each_rule_complains() {
    assert_eq!(head_complaints("src/x.rs", "use std::fs;\n").len(), 1);
    let arrows: [(&str, &str); 9] = [
        ("src/store/mod.rs", "use crate::{\n    clock::Now,\n    locks::rules,\n};\n"),
        ("src/store/file/disk.rs", "let x = crate::policy::read();\n"),
        ("src/store/file/disk.rs", "use super::super::super::locks;\n"),
        ("src/locks/rules.rs", "use crate::store::{Seen, file::FileStore};\n"),
        ("src/locks/rules.rs", "use crate::git::find;\n"),
        ("src/policy/read.rs", "use crate::{owner::Owner as O, duration::*};\n"),
        ("src/clock.rs", "fn f() { super::record::g() }\n"),
        ("src/git/path.rs", "use crate::locks::Locks;\n"),
        ("src/unheard_of.rs", "\n"),
    ];
    for (name, text) in arrows {
        assert_eq!(arrow_complaints(name, text).len(), 1, "{name}: {text}");
    }
    for (name, text) in [
        (
            "src/store/mod.rs",
            "/// See [`crate::locks`].\nuse crate::{clock::Now, record::{Record, wire}};\nuse super::locks_x;\n",
        ),
        ("src/policy/read.rs", "use super::{store_dir, layer::git};\nuse crate::text;\n"),
    ] {
        assert_eq!(arrow_complaints(name, text), [""; 0], "{text}");
    }
    let doors = [
        ("src/locks/mod.rs", "println!(\"x\");"),
        ("src/lib.rs", "let home = std::env::var(\"HOME\");"),
        ("src/store/mod.rs", "use clap::Parser;"),
        ("src/store/mod.rs", "std::process::exit(1);"),
        ("src/policy/mod.rs", "let x = gix::open();"),
        ("src/cli/mod.rs", "let x = gix_glob::parse();"),
        ("src/git/mod.rs", "fs::write(path, text)"),
        ("src/install/hooks.rs", "fs::remove_file(path)"),
    ];
    for (name, text) in doors {
        assert!(!door_complaints(name, text).is_empty(), "{name}: {text}");
    }
    assert_eq!(door_complaints("src/store/mod.rs", "// println!(\n/// std::env\n"), [""; 0]);
    assert_eq!(length_complaints("src/x.rs", &"\n".repeat(401)).len(), 1);
    assert_eq!(length_complaints("src/x.rs", &format!("{}#[cfg(test)]\n{0}", "\n".repeat(400))), [""; 0]);
    assert_eq!(left_over_complaints("src/x.rs", concat!("x // TO", "DO later\n")).len(), 1);
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let files = [
        file("tests/it/main.rs", "//! x\nmod a;\nmod dir;\n// mod c;\n"),
        file("tests/it/a.rs", ""),
        file("tests/it/dir/mod.rs", "mod b;"),
        file("tests/it/dir/b.rs", ""),
        file("tests/it/c.rs", ""),
        file("tests/it/dir/d.rs", ""),
        file("tests/forgotten.rs", ""),
    ];
    assert_eq!(forgotten(&files, &["tests/it/main.rs"]).len(), 3);
}
