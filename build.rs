//! The version with the commit that it was built from, where that can be told: from git, or from what `cargo package` has written down. And the order
//! of the functions in the program, where the linker can be told: see `link/generate.py`.
//!
//! Only for release builds: a debug build would be compiled anew after each commit.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to build scripts by the environment")]

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::Path,
    process::Command,
};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let commit = if env::var("PROFILE").is_ok_and(|profile| profile == "release") { commit() } else { None };
    let shown = commit.map(|commit| format!("{version} ({commit})")).unwrap_or(version);
    println!("cargo:rustc-env=AGENTLOCK_VERSION={shown}");
    order();
}

/// Gives the linker the order, only where everything about linking is as `.cargo/config.toml` has it, and only when it takes it: not every linker
/// knows such scripts, and none must fail for it.
fn order() {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found.split(',').any(|found| found == value));
    let script = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("link/order.ld");
    println!("cargo:rerun-if-changed={}", script.display());
    let is_meant = is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("CARGO_CFG_TARGET_FEATURE", "crt-static");
    if is_meant && script.is_file() && is_linked_with(&script).unwrap_or(false) {
        for argument in ["-T", &script.to_string_lossy()] {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}

/// Whether a program can be linked so.
fn is_linked_with(script: &Path) -> Option<bool> {
    let out = Path::new(&env::var_os("OUT_DIR")?).join("linked");
    let source = out.with_extension("rs");
    fs::write(&source, "fn main() {}").ok()?;
    let mut rustc = Command::new(env::var_os("RUSTC")?);
    rustc.args(["--edition=2021", "--target", &env::var("TARGET").ok()?]).arg("-o").arg(&out).arg(&source);
    rustc.args(env::var("CARGO_ENCODED_RUSTFLAGS").ok()?.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        rustc.arg("-C").arg([OsStr::new("linker="), &linker].into_iter().collect::<OsString>());
    }
    for argument in [OsStr::new("-T"), script.as_os_str()] {
        rustc.arg("-C").arg([OsStr::new("link-arg="), argument].into_iter().collect::<OsString>());
    }
    Some(rustc.output().ok()?.status.success())
}

fn commit() -> Option<String> {
    let top = env::var_os("CARGO_MANIFEST_DIR")?;
    let top = Path::new(&top);
    if let Ok(packaged) = fs::read_to_string(top.join(".cargo_vcs_info.json")) {
        let (_, after) = packaged.split_once("\"sha1\"")?;
        return after.split('"').nth(1).and_then(|id| id.get(..7)).map(str::to_owned);
    }
    // In somebody else's repository, its commits say nothing.
    let here = git(top, &["rev-parse", "--show-toplevel"])?;
    (fs::canonicalize(here).ok()? == fs::canonicalize(top).ok()?).then_some(())?;
    // Of a file that is not there cargo would think at each build that it has changed.
    let files = ["HEAD", "logs/HEAD"].into_iter();
    let files = files.filter_map(|file| git(top, &["rev-parse", "--path-format=absolute", "--git-path", file]));
    for file in files.filter(|file| Path::new(file).exists()) {
        println!("cargo:rerun-if-changed={file}");
    }
    git(top, &["log", "-1", "--format=%h %cs", "--abbrev=7"])
}

fn git(top: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(top).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
