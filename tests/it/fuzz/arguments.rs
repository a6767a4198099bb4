//! The same examples as arguments of the real binary: each is taken, or refused as a mistake in what was said.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
};

use super::corpus;
use crate::sandbox::Sandbox;

/// `--option=value`, or the value alone behind `--`.
fn words(command: &str, option: &str, value: &[u8]) -> Vec<OsString> {
    let glued = [option.as_bytes(), value].concat();
    let mut words = vec![OsString::from(command), OsStr::from_bytes(&glued).to_owned()];
    if option.is_empty() {
        words.insert(1, "--".into());
    }
    words
}

#[test]
fn every_example_of_an_argument_is_taken_or_refused() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    let (mut taken, mut refused) = (0, 0);
    let ways = [
        ("owner", "whoami", "--owner=", None),
        ("resource", "check", "--resource=", None),
        ("duration", "acquire", "--ttl=", Some("src/a")),
        ("duration", "acquire", "--wait=", Some("src/a")),
        ("reason", "acquire", "--reason=", Some("src/a")),
        ("path", "check", "", None),
    ];
    for (target, command, option, more) in ways {
        // No argument has a NUL in it.
        for (name, input) in corpus::of(target).into_iter().filter(|(_, input)| !input.contains(&0)) {
            let words = words(command, option, &input).into_iter().chain(more.map(OsString::from));
            let ran = a.run(words);
            match ran.code() {
                0 | 4 if target == "path" => taken += 1,
                0 => taken += 1,
                2 => refused += 1,
                _ => panic!("{target} {name}: {ran:#?}"),
            }
        }
    }
    assert!(taken > 20 && refused > 20, "{taken} {refused}");
    for token in
        ["", "0", "-1", "1", "+1", " 1", "1e3", "0x1", "1.0", "\u{661}", "9007199254740991", "9007199254740992"]
    {
        let ran = a.run(["renew", "src/b", &format!("--token={token}")]);
        let expected = if ["1", "+1", "9007199254740991"].contains(&token) { 3 } else { 2 };
        assert_eq!(ran.code(), expected, "{token:?}: {ran:#?}");
    }
}

#[test]
fn every_example_of_a_file_of_paths_is_read_as_it_is_in_the_library() {
    let (sandbox, repo) = Sandbox::with_repo();
    let a = sandbox.agent(&repo, "A");
    for (name, input) in corpus::of("pathspec") {
        for nul in [false, true] {
            let is_read = git_agentlock::git::paths_in(bstr::BStr::new(&input), nul).is_ok();
            let arguments = ["check", "--pathspec-from-file=-", "--pathspec-file-nul"];
            let ran = a.stdin(input.clone()).run(&arguments[..if nul { 3 } else { 2 }]);
            let expected: &[i32] = if is_read { &[0, 2] } else { &[2] };
            assert!(expected.contains(&ran.code()), "{name}: {ran:#?}");
            assert_eq!(ran.err().contains("the quoting is broken"), !is_read, "{name}: {ran:#?}");
        }
    }
}
