//! The examples under `fixtures/fuzz`, one directory for each target. Valid and invalid policies lie elsewhere already.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn sorted(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The targets that have examples.
pub(super) fn names() -> Vec<String> {
    let dirs = sorted(&fixtures().join("fuzz")).into_iter().filter(|path| path.is_dir());
    dirs.map(|dir| dir.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The examples of a target, with the names of their files.
pub(super) fn of(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut dirs = vec![fixtures().join("fuzz").join(target)];
    match target {
        "policy" => dirs.extend(["valid", "invalid"].map(|dir| fixtures().join("policy").join(dir))),
        "record" => dirs.push(fixtures().join("records/v1")),
        _ => {}
    }
    let files = dirs.iter().flat_map(|dir| sorted(dir)).filter(|path| {
        path.extension().is_none_or(|extension| extension != "expected") && !path.ends_with(".gitattributes")
    });
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}
