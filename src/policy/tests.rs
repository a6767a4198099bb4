//! The policy as a whole: one test per rule of DESIGN §4 and of CASES C51, and the fixtures under `fixtures/policy`.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::*;
use crate::{
    duration::{LONGEST_MS, Ttl, parse_millis},
    resource::{RepoPath, Target},
};

fn layer(kind: LayerKind, path: &str, text: impl AsRef<[u8]>) -> LayerSource {
    LayerSource { kind, path: path.into(), text: Ok(text.as_ref().to_vec()) }
}

fn committed(text: impl AsRef<[u8]>) -> LayerSource {
    layer(LayerKind::Committed, ".agentlock.toml", text)
}

fn local(text: impl AsRef<[u8]>) -> LayerSource {
    layer(LayerKind::Local, "/r/.git/agentlock.toml", text)
}

/// The policy of `layers`, which are in order.
fn good(layers: Vec<LayerSource>) -> Policy {
    let Loaded { policy, problems } = load(layers);
    assert!(problems.is_empty(), "{problems:#?}");
    policy
}

fn messages(loaded: &Loaded) -> Vec<String> {
    loaded.problems.iter().map(ToString::to_string).collect()
}

fn lines(loaded: &Loaded) -> String {
    messages(loaded).iter().map(|line| format!("{line}\n")).collect()
}

fn shown(policy: &Policy) -> String {
    let line = |entry: Entry| format!("{} = {}  # {}\n", entry.key, entry.value, entry.origin);
    policy.entries().into_iter().map(line).collect()
}

fn ttl(text: &str) -> Ttl {
    Ttl::from_millis(parse_millis(text).expect(text)).expect(text)
}

fn file(path: &str) -> Target {
    Target::File(RepoPath::new(path).expect("normal"))
}

fn area(path: &str) -> Target {
    Target::Area(RepoPath::new(path).expect("normal"))
}

fn named(name: &str) -> Target {
    Target::Named(name.parse().expect("named"))
}

/// `[min, default, max]`, as text.
fn limits(policy: &Policy, target: &Target) -> [String; 3] {
    let TtlLimits { default, min, max } = policy.ttl(target);
    [min, default, max].map(|bound| bound.value.to_string())
}

#[test]
fn the_built_in_policy_is_the_documented_one() {
    let policy = good(vec![]);
    insta::assert_snapshot!(shown(&policy), @r#"
    ttl.default = "5m"  # the built-in policy
    ttl.min = "5s"  # the built-in policy
    ttl.max = "1h"  # the built-in policy
    ttl.keep-expired = "1d"  # the built-in policy
    store.fsync = true  # the built-in policy
    store.scope = "worktree"  # the built-in policy
    guard.mode = "enforce"  # the built-in policy
    guard.require = []  # the built-in policy
    guard.lost-leases = true  # the built-in policy
    agent.on-error = "block"  # the built-in policy
    agent.stale-reads = true  # the built-in policy
    "#);
    assert_eq!(policy.longest_ttl(), ttl("1h"));
    assert_eq!(policy.keep_expired_ms(), 86_400_000);
    assert!(policy.fsync() && policy.lost_leases() && policy.guard_require().is_empty());
    assert_eq!((policy.scope(), policy.store_dir(), policy.project()), (WorkTreeScope::WorkTree, None, None));
    assert_eq!((policy.guard_mode(), policy.agent_on_error()), (GuardMode::Enforce, OnError::Block));
    assert!(policy.stale_reads());
}

#[test]
fn the_built_in_policy_is_all_that_its_file_says_at_the_lines_where_it_says_it() {
    let (whole, _) = read::text_of(LayerKind::Embedded, Path::new(""), embedded());
    let whole = effective::complete(whole).expect("every key has a value");
    assert_eq!(shown(&effective::built_in()), shown(&whole));
    let lines = |policy: &Policy| policy.entries().iter().map(|entry| entry.origin.line).collect::<Vec<_>>();
    assert_eq!(lines(&effective::built_in()), lines(&whole));
}

#[test]
fn the_built_in_file_has_no_problem() {
    let (_, problems) = read::text_of(LayerKind::Embedded, Path::new(""), embedded());
    assert!(problems.is_empty(), "{problems:#?}");
}

/// What the built-in file shows in comments works when the comment signs are taken away.
#[test]
fn the_examples_in_the_built_in_file_are_right() {
    let is_example = |line: &str| {
        ["# [[", "# paths =", "# default =", "# min =", "# max =", "# dir =", "# project ="]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let uncomment = |line: &str| if is_example(line) { line.replacen("# ", "", 1) } else { line.to_owned() };
    let text: Vec<String> = embedded().lines().map(uncomment).collect();
    let policy = good(vec![local(text.join("\n"))]);
    assert_eq!(limits(&policy, &file("a/Cargo.lock")), ["1m", "30m", "2h"]);
    assert_eq!((policy.store_dir(), policy.project()), (Some(Path::new("/srv/locks")), Some("web")));
}

/// Every key that `keys` lists is read, and a typo in any is told with the key.
#[test]
fn every_listed_key_is_read() {
    for (table, known) in [("ttl", keys::TTL), ("store", keys::STORE), ("guard", keys::GUARD), ("agent", keys::AGENT)] {
        for key in known {
            let loaded = load(vec![local(format!("[{table}]\n{key} = 1979-05-27\n"))]);
            let message = messages(&loaded).join("\n");
            assert!(message.contains(&format!(":2: '{table}.{key}' must be ")), "{message}");
            let loaded = load(vec![local(format!("[{table}]\n{key}x = 1\n"))]);
            assert_eq!(loaded.problems[0].nearest(), Some(format!("{table}.{key}").as_str()));
        }
    }
    for key in keys::RULE {
        let message = lines(&load(vec![local(format!("[[ttl.rule]]\n{key} = 1979-05-27\n"))]));
        assert!(message.contains(&format!(":2: 'ttl.rule[0].{key}' must be ")), "{message}");
    }
}

fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy").join(folder);
    let entries = std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("entry").path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// A fixture as a layer: the local one when its name says so, else the committed one.
fn fixture(file: &Path) -> LayerSource {
    let name = file.file_name().and_then(|name| name.to_str()).expect("name");
    let kind = if name.starts_with("local-") { LayerKind::Local } else { LayerKind::Committed };
    layer(kind, name, std::fs::read(file).expect("fixture"))
}

#[test]
fn valid_fixtures_have_no_problem() {
    for file in fixtures("valid") {
        let loaded = load(vec![fixture(&file)]);
        assert!(loaded.problems.is_empty(), "{}: {:#?}", file.display(), loaded.problems);
    }
}

#[test]
fn invalid_fixtures_give_the_expected_messages() {
    for file in fixtures("invalid") {
        let loaded = load(vec![fixture(&file)]);
        let expected = std::fs::read_to_string(file.with_extension("expected")).unwrap_or_default();
        assert_eq!(lines(&loaded), expected, "{}", file.display());
        let kept = ["store.scope", "store.dir", "store.project"];
        let others = |policy: &Policy| {
            policy.entries().into_iter().filter(|entry| !kept.contains(&&*entry.key)).collect::<Vec<_>>()
        };
        assert_eq!(others(&loaded.policy), others(&good(vec![])), "{}: a bad layer is skipped whole", file.display());
    }
}

#[test]
fn every_key_is_taken_and_shown_with_its_line() {
    let shown_of = |name: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy/valid").join(name);
        shown(&good(vec![fixture(&file)]))
    };
    insta::assert_snapshot!(shown_of("every-key.toml"), @r#"
    ttl.default = "10m"  # every-key.toml, line 2
    ttl.min = "2s"  # every-key.toml, line 3
    ttl.max = "1h 30m"  # every-key.toml, line 4
    ttl.keep-expired = "0s"  # every-key.toml, line 5
    store.fsync = false  # every-key.toml, line 18
    store.scope = "worktree"  # the built-in policy
    guard.mode = "warn"  # every-key.toml, line 21
    guard.require = ["Cargo.lock", "/migrations/"]  # every-key.toml, line 22
    guard.lost-leases = false  # every-key.toml, line 23
    agent.on-error = "allow"  # every-key.toml, line 26
    agent.stale-reads = false  # every-key.toml, line 27
    ttl.rule[0].paths = ["**/Cargo.lock", "!vendor/"]  # every-key.toml, line 8
    ttl.rule[0].default = "30m"  # every-key.toml, line 9
    ttl.rule[0].min = "1m"  # every-key.toml, line 10
    ttl.rule[0].max = "2h"  # every-key.toml, line 11
    ttl.rule[1].resources = ["plan:*"]  # every-key.toml, line 14
    ttl.rule[1].max = "1d"  # every-key.toml, line 15
    "#);
    insta::assert_snapshot!(shown_of("local-identity.toml"), @r#"
    ttl.default = "5m"  # the built-in policy
    ttl.min = "5s"  # the built-in policy
    ttl.max = "1h"  # the built-in policy
    ttl.keep-expired = "1d"  # the built-in policy
    store.fsync = true  # the built-in policy
    store.scope = "repository"  # local-identity.toml, line 2
    store.dir = "/srv/lócks \"a\\b\" \U0000202E"  # local-identity.toml, line 3
    store.project = "web"  # local-identity.toml, line 4
    guard.mode = "enforce"  # the built-in policy
    guard.require = []  # the built-in policy
    guard.lost-leases = true  # the built-in policy
    agent.on-error = "block"  # the built-in policy
    agent.stale-reads = true  # the built-in policy
    "#);
    insta::assert_snapshot!(shown_of("inline-and-dotted.toml"), @r#"
    ttl.default = "1m"  # inline-and-dotted.toml, line 1
    ttl.min = "5s"  # the built-in policy
    ttl.max = "1h"  # the built-in policy
    ttl.keep-expired = "1d"  # the built-in policy
    store.fsync = true  # inline-and-dotted.toml, line 3
    store.scope = "worktree"  # the built-in policy
    guard.mode = "off"  # inline-and-dotted.toml, line 2
    guard.require = []  # the built-in policy
    guard.lost-leases = true  # the built-in policy
    agent.on-error = "block"  # the built-in policy
    agent.stale-reads = true  # the built-in policy
    ttl.rule[0].paths = ["a"]  # inline-and-dotted.toml, line 1
    ttl.rule[0].max = "2h"  # inline-and-dotted.toml, line 1
    "#);
}

#[test]
fn a_bom_and_crlf_change_nothing_and_no_bytes_are_no_layer() {
    let policy = good(vec![committed(b"\xef\xbb\xbf[ttl]\r\n\r\nmax = \"2h\"\r\n")]);
    assert_eq!((policy.longest_ttl(), policy.ttl(&file("a")).max.origin.line), (ttl("2h"), 3));
    assert_eq!(shown(&good(vec![committed(""), local("")])), shown(&good(vec![])));
}

#[test]
fn later_layers_win_key_by_key_whatever_the_order_they_come_in() {
    let of =
        |kind, default: &str, more: &str| layer(kind, kind.as_str(), format!("[ttl]\ndefault = \"{default}\"\n{more}"));
    let policy = good(vec![
        of(LayerKind::Explicit, "4m", ""),
        of(LayerKind::User, "1m", "max = \"2h\"\nmin = \"1s\""),
        of(LayerKind::Local, "3m", "min = \"3s\"\nkeep-expired = \"3d\""),
        of(LayerKind::Committed, "2m", "keep-expired = \"2d\""),
    ]);
    insta::assert_snapshot!(shown(&policy).lines().take(4).collect::<Vec<_>>().join("\n"), @r#"
    ttl.default = "4m"  # explicit, line 2
    ttl.min = "3s"  # local, line 3
    ttl.max = "2h"  # user, line 3
    ttl.keep-expired = "3d"  # local, line 4
    "#);
}

#[test]
fn the_last_rule_that_matches_wins_key_by_key() {
    let user =
        layer(LayerKind::User, "user", "[[ttl.rule]]\npaths = [\"**/Cargo.lock\"]\ndefault = \"30m\"\nmax = \"2h\"\n");
    let rules = "[[ttl.rule]]\npaths = [\"vendor/\"]\nmax = \"3h\"\n[[ttl.rule]]\nresources = [\"plan:*\"]\nmax = \"1d\"\nmin = \"1m\"\n";
    let policy = good(vec![committed(rules), user]);
    assert_eq!(limits(&policy, &file("a.rs")), ["5s", "5m", "1h"]);
    assert_eq!(limits(&policy, &file("x/Cargo.lock")), ["5s", "30m", "2h"]);
    assert_eq!(limits(&policy, &file("vendor/Cargo.lock")), ["5s", "30m", "3h"], "a rule without a key leaves it");
    assert_eq!(limits(&policy, &area("vendor")), ["5s", "5m", "3h"]);
    assert_eq!(limits(&policy, &file("vendor")), ["5s", "5m", "1h"]);
    assert_eq!(limits(&policy, &area("")), ["5s", "5m", "1h"]);
    assert_eq!(limits(&policy, &named("plan:42")), ["1m", "5m", "1d"]);
    assert_eq!(limits(&policy, &named("git:index")), ["5s", "5m", "1h"]);
    assert_eq!(policy.longest_ttl(), ttl("1d"));
    let rule_keys: Vec<_> = policy.entries().into_iter().filter(|entry| entry.key.contains("max")).collect();
    let shown: Vec<_> =
        rule_keys.iter().map(|entry| format!("{} {} {}", entry.key, entry.value, entry.origin)).collect();
    assert_eq!(
        shown[1..],
        [
            "ttl.rule[0].max \"2h\" user, line 4",
            "ttl.rule[1].max \"3h\" .agentlock.toml, line 3",
            "ttl.rule[2].max \"1d\" .agentlock.toml, line 6"
        ]
    );
}

#[test]
fn rules_that_contradict_each_other_give_way_to_the_later() {
    let rules = |first: &str, second: &str| {
        let text = format!("[[ttl.rule]]\npaths = [\"a\"]\n{first}\n[[ttl.rule]]\npaths = [\"*\"]\n{second}\n");
        limits(&good(vec![committed(text)]), &file("a"))
    };
    assert_eq!(rules("max = \"6m\"", "min = \"10m\"\ndefault = \"20m\""), ["10m", "10m", "10m"]);
    assert_eq!(rules("min = \"10m\"\ndefault = \"20m\"", "max = \"6m\""), ["6m", "6m", "6m"]);
    assert_eq!(rules("max = \"6m\"", "default = \"20m\""), ["5s", "6m", "6m"]);
    assert_eq!(rules("min = \"10m\"\ndefault = \"20m\"", "default = \"1m\""), ["10m", "10m", "1h"]);
}

#[test]
fn a_ttl_outside_the_bounds_names_them_and_where_they_are_from() {
    let policy = good(vec![local("# ours\n[ttl]\nmax = \"30m\"\n\n[[ttl.rule]]\npaths = [\"a\"]\nmin = \"1m\"\n")]);
    let told = |target: &Target, wanted: &str| policy.ttl(target).check(ttl(wanted)).expect_err(wanted).to_string();
    insta::assert_snapshot!(told(&file("b"), "2h"), @"a TTL of 2h is above the maximum of 30m (ttl.max in /r/.git/agentlock.toml, line 3); allowed is 5s to 30m");
    insta::assert_snapshot!(told(&file("b"), "4s 999ms"), @"a TTL of 4s 999ms is below the minimum of 5s (ttl.min in the built-in policy); allowed is 5s to 30m");
    insta::assert_snapshot!(told(&file("a"), "10s"), @"a TTL of 10s is below the minimum of 1m (ttl.rule[0].min in /r/.git/agentlock.toml, line 7); allowed is 1m to 30m");
    for inside in ["5s", "10m", "30m"] {
        assert_eq!(policy.ttl(&file("b")).check(ttl(inside)), Ok(ttl(inside)));
    }
    let error = policy.ttl(&file("b")).check(ttl("3650d")).expect_err("too long");
    assert_eq!((error.origin.kind, error.origin.line, error.key.as_str()), (LayerKind::Local, 3, "ttl.max"));
}

#[test]
fn a_policy_may_go_up_to_the_longest_duration() {
    let policy = good(vec![committed("[ttl]\nmax = \"3650d\"\ndefault = 315360000\nkeep-expired = \"3650d\"\n")]);
    assert_eq!(policy.longest_ttl().millis(), LONGEST_MS);
    assert_eq!(policy.ttl(&file("a")).default.value.millis(), LONGEST_MS);
    assert_eq!(policy.keep_expired_ms(), LONGEST_MS);
}

#[test]
fn identity_is_the_local_layers_alone() {
    for kind in [LayerKind::User, LayerKind::Committed, LayerKind::Explicit] {
        for key in ["scope = \"repository\"", "dir = \"/srv\"", "project = \"web\""] {
            let loaded = load(vec![layer(kind, "p", format!("[store]\n{key}\n"))]);
            assert!(matches!(
                loaded.problems[..],
                [PolicyError { cause: PolicyCause::Identity { .. }, line: Some(2), .. }]
            ));
            assert_eq!(loaded.policy.scope(), WorkTreeScope::WorkTree);
            assert_eq!((loaded.policy.store_dir(), loaded.policy.project()), (None, None));
        }
    }
}

#[test]
fn identity_is_saved_from_a_local_layer_with_problems() {
    let identity = "[store]\nfsync = false\nscope = \"repository\"\ndir = \"/srv\"\nproject = \"web\"\n";
    for problem in ["[ttl]\nmaxx = 1\n", "[ttl]\nmax = \"1m\"\n"] {
        let loaded = load(vec![local(format!("{identity}{problem}"))]);
        assert_eq!(loaded.problems.len(), 1, "{:?}", loaded.problems);
        let policy = loaded.policy;
        assert_eq!(policy.scope(), WorkTreeScope::Repository);
        assert_eq!((policy.store_dir(), policy.project()), (Some(Path::new("/srv")), Some("web")));
        assert!(policy.fsync(), "all else of the layer is skipped");
        assert_eq!(policy.ttl(&file("a")).max.value, ttl("1h"));
    }
    let loaded = load(vec![local("[store]\nscope = \"repo\"\ndir = \"srv\"\nproject = \"web\"\n")]);
    assert_eq!((loaded.problems.len(), loaded.policy.project()), (2, Some("web")), "the good ones of the three");
    assert_eq!((loaded.policy.scope(), loaded.policy.store_dir()), (WorkTreeScope::WorkTree, None));
    let loaded = load(vec![local(format!("{identity}["))]);
    assert_eq!(loaded.policy.project(), None, "nothing can be read from what is no TOML");
}

#[test]
fn a_bad_layer_leaves_the_others_alone() {
    let user = layer(LayerKind::User, "/u/policy.toml", "[ttl]\nmax = \"2h\"\n[guard]\nmode = \"warn\"\n");
    let loaded =
        load(vec![user, committed("[ttl]\nmax = \"3h\"\n[guard]\nmode = \"of\"\n"), local("[store]\nfsync = false\n")]);
    assert_eq!(messages(&loaded), [".agentlock.toml:4: 'guard.mode' cannot be 'of'; did you mean 'off'?"]);
    let policy = loaded.policy;
    assert_eq!((policy.longest_ttl(), policy.guard_mode(), policy.fsync()), (ttl("2h"), GuardMode::Warn, false));
}

#[test]
fn a_contradiction_between_layers_is_told_at_the_latest() {
    let user = || layer(LayerKind::User, "/u/policy.toml", "[ttl]\ndefault = \"10m\"\nmin = \"8m\"\n");
    let loaded = load(vec![user(), committed("[ttl]\n\nmax = \"9m\"\n[guard]\nmode = \"off\"\n")]);
    insta::assert_snapshot!(lines(&loaded), @".agentlock.toml:3: 'ttl.max' (9m) is below 'ttl.default' (10m, from /u/policy.toml, line 2)");
    assert_eq!(loaded.policy.guard_mode(), GuardMode::Enforce, "the whole layer is skipped");
    assert_eq!(limits(&loaded.policy, &file("a")), ["8m", "10m", "1h"], "the earlier one stands");

    let rule = || committed("[[ttl.rule]]\npaths = [\"a\"]\nmax = \"20m\"\n");
    let loaded = load(vec![rule(), local("[ttl]\ndefault = \"30m\"\n")]);
    insta::assert_snapshot!(lines(&loaded), @"/r/.git/agentlock.toml:2: 'ttl.default' (30m) is above 'ttl.rule[0].max' (20m, from .agentlock.toml, line 3)");
    assert_eq!(limits(&loaded.policy, &file("a")), ["5s", "5m", "20m"]);
    assert_eq!(limits(&load(vec![user(), rule()]).policy, &file("a")), ["8m", "10m", "20m"]);
}

#[test]
fn contradictions_are_sought_until_there_is_none() {
    let user = layer(LayerKind::User, "user", "[ttl]\nmax = \"1m\"\n");
    let rule = "[[ttl.rule]]\npaths = [\"a\"]\nmin = \"30m\"\ndefault = \"40m\"\n";
    let loaded = load(vec![user, committed(rule), local("[ttl]\ndefault = \"2m\"\n")]);
    insta::assert_snapshot!(lines(&loaded), @r#"
    /r/.git/agentlock.toml:2: 'ttl.default' (2m) is above 'ttl.max' (1m, from user, line 2)
    user:2: 'ttl.max' (1m) is below 'ttl.default' (5m, from the built-in policy)
    "#);
    assert_eq!(limits(&loaded.policy, &file("a")), ["30m", "40m", "1h"], "the rule had no part in it");
}

#[test]
fn a_contradiction_with_a_layer_that_is_skipped_is_none() {
    let own = "[ttl]\nmax = \"20m\"\n[[ttl.rule]]\npaths = [\"a\"]\nmin = \"10m\"\n";
    let rule = "[[ttl.rule]]\npaths = [\"b\"]\ndefault = \"30m\"\n";
    let loaded = load(vec![layer(LayerKind::User, "user", own), committed(rule)]);
    let expected = "user:5: 'ttl.rule[0].min' (10m) is above 'ttl.default' (5m, from the built-in policy)\n";
    assert_eq!(lines(&loaded), expected);
    assert_eq!(limits(&loaded.policy, &file("b")), ["5s", "30m", "1h"]);
}

#[test]
fn layers_may_agree_only_together() {
    let user = layer(LayerKind::User, "user", "[ttl]\nmax = \"1m\"\n");
    assert_eq!(limits(&good(vec![user, local("[ttl]\ndefault = \"30s\"\n")]), &file("a")), ["5s", "30s", "1m"]);
}

#[test]
fn an_unreadable_layer_is_a_problem_and_skipped() {
    let error = std::io::Error::new(ErrorKind::IsADirectory, "Is a directory\x1b[2J (os error 21)");
    let source = LayerSource { kind: LayerKind::Explicit, path: "/etc/po\x1blicy\n".into(), text: Err(error) };
    let loaded = load(vec![source, committed("[ttl]\nmax = \"2h\"\n")]);
    assert_eq!(messages(&loaded), ["/etc/po\\x1blicy\\n: cannot be read: Is a directory\\x1b[2J (os error 21)"]);
    assert_eq!(loaded.policy.longest_ttl(), ttl("2h"));
}

#[test]
fn a_layer_has_a_size() {
    let mut text = b"[ttl]\nmax = \"2h\"\n#".to_vec();
    text.resize(MAX_BYTES, b'x');
    assert_eq!(good(vec![committed(&text)]).longest_ttl(), ttl("2h"));
    text.push(b'x');
    assert_eq!(messages(&load(vec![committed(&text)])), [".agentlock.toml: is larger than 1 MiB"]);
}

#[test]
fn problems_come_in_the_order_of_layers_and_lines() {
    let bad = "[guard]\nx = 1\n\n[agent]\nx = 1\n";
    let loaded = load(vec![local(bad), committed(bad)]);
    let places: Vec<_> = loaded.problems.iter().map(|error| (error.kind, error.line)).collect();
    let (committed, local) = (LayerKind::Committed, LayerKind::Local);
    assert_eq!(places, [(committed, Some(2)), (committed, Some(5)), (local, Some(2)), (local, Some(5))]);
}

#[test]
fn the_guards_globs_are_those_of_the_last_layer_that_gives_any() {
    let user = layer(LayerKind::User, "user", "[guard]\nrequire = [\"a\"]\n");
    let policy = good(vec![user, committed("[guard]\nrequire = [\"migrations/\", \"!*.md\"]\n")]);
    let matches = |path: &str| policy.guard_require().matches(&RepoPath::new(path).expect("normal"));
    assert!(matches("migrations/1.sql") && !matches("migrations/README.md") && !matches("a"));
    let emptied = good(vec![committed("[guard]\nrequire = [\"a\"]\n"), local("[guard]\nrequire = []\n")]);
    assert!(emptied.guard_require().is_empty());
}

fn is_harmless(loaded: &Loaded) {
    for message in messages(loaded) {
        assert!(!message.chars().any(char::is_control), "{message:?}");
        assert!(message.chars().count() < 600, "{message:?}");
    }
    for target in [file("a/b.rs"), area("a"), area(""), named("plan:4")] {
        let TtlLimits { default, min, max } = loaded.policy.ttl(&target);
        assert!(min.value <= default.value && default.value <= max.value && max.value <= loaded.policy.longest_ttl());
    }
    assert!(loaded.policy.entries().len() >= 10);
}

/// Pieces that make texts which are nearly policies.
const PIECES: &[&str] = &[
    "[ttl]\n",
    "[[ttl.rule]]\n",
    "[store]\n",
    "[guard]\n",
    "[agent]\n",
    "default",
    "min",
    "max",
    "keep-expired",
    "rule",
    "paths",
    "resources",
    "scope",
    "dir",
    "project",
    "mode",
    "require",
    "on-error",
    "stale-reads",
    " = ",
    "\"5m\"",
    "\"1h\"",
    "\"2s\"",
    "\"\"",
    "0",
    "-1",
    "1.5",
    "0x",
    "true",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "\n",
    "\r",
    "\"",
    "'",
    "'''",
    "#",
    "\\",
    "\u{FEFF}",
    "\0",
    "\u{1b}",
    "[\"*\"]\n",
    "[\"!a\", \"[a]\"]\n",
    "\"repository\"\n",
    "\"/srv\"\n",
    "1979-05-27",
];

/// Lines that are mostly right, so that whole policies come of them.
const LINES: &[&str] = &[
    "[ttl]",
    "[[ttl.rule]]",
    "[[ttl.rule]]",
    "paths = [\"a\"]",
    "paths = [\"**\"]",
    "resources = [\"plan:*\"]",
    "min = \"1s\"",
    "min = \"10m\"",
    "default = \"3m\"",
    "default = \"20m\"",
    "max = \"4m\"",
    "max = \"2h\"",
    "max = \"1s\"",
];

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        is_harmless(&load(vec![committed(&bytes), local(&bytes)]));
    }

    #[test]
    fn no_text_that_is_nearly_a_policy_panics(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..40)) {
        let text = pieces.concat();
        is_harmless(&load(vec![committed(&text), local(&text)]));
    }

    #[test]
    fn limits_always_agree(layers in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(LINES), 0..8), 0..4)) {
        let kinds = [LayerKind::User, LayerKind::Committed, LayerKind::Local, LayerKind::Explicit];
        let layers = layers.iter().zip(kinds).map(|(lines, kind)| layer(kind, "p", lines.join("\n"))).collect();
        is_harmless(&load(layers));
    }
}
