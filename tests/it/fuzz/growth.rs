//! Four times the input takes about four times the work, of the largest inputs that are read and of every shape that could do worse; and no glob
//! tries every way of matching. Work is what the thread has used of the processor, so a busy machine does not count.

use std::time::Duration;

use git_agentlock::{policy::LayerKind, resource::RepoPath};

use super::{
    targets::{TARGETS, World},
    work,
};

/// Under this, it is too little to be compared.
const TOO_LITTLE: Duration = Duration::from_millis(4);
/// Four times when it is linear, sixteen times when it is quadratic.
const MOST_TIMES: u32 = 9;
/// However large it is, without optimization.
const MOST_FOR_ONE: Duration = Duration::from_secs(10);

type Shape = (&'static str, &'static str, usize, fn(usize) -> Vec<u8>);

fn repeat(text: &str, len: usize) -> Vec<u8> {
    text.as_bytes().iter().copied().cycle().take(len / text.len() * text.len()).collect()
}

/// `text` with `#` as the number of each piece, as often as it takes to be so long.
fn numbered(text: &str, len: usize) -> Vec<u8> {
    (0..)
        .map(|n| text.replace('#', &n.to_string()))
        .scan(0, |sum, piece| {
            *sum += piece.len();
            (*sum <= len).then_some(piece)
        })
        .collect::<String>()
        .into_bytes()
}

fn around(before: &str, middle: impl AsRef<[u8]>, after: &str) -> Vec<u8> {
    [before.as_bytes(), middle.as_ref(), after.as_bytes()].concat()
}

const KB: usize = 1024;
const MB: usize = 1024 * KB;

const RECORD: &str = r#""resource":{"kind":"file","path":"a"},"owner":"A","token":1,"acquired_at":"2026-01-01T00:00:00Z","renewed_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-01T00:00:00Z","ttl_ms":1"#;
const WANTS: &str = r#"{"v":1,"owner":"A","arrived":{"unix_ms":1},"polled":{"unix_ms":1},"wants":["#;
const LINE: &str = "{\"at\":\"2026-11-30T19:40:12.062Z\",\"event\":\"granted\",\"resource\":{\"kind\":\"file\",\"path\":\"src/a\"},\"key\":\"0caaa9699f3622dfc0a97b9eb68c2af1e087ccde0b592a3b168735fef4ac2534\",\"owner\":\"A\",\"token\":1796067612063}\n";

/// Target, shape, the largest input that is read (or that is worth the time), and how it is made.
const SHAPES: [Shape; 40] = [
    ("record", "a long host", 64 * KB, |n| {
        around(&format!("{{\"v\":1,{RECORD},\"host\":\""), repeat("\\u00e9\\n", n - 400), "\"}\n")
    }),
    ("record", "many unknown fields", 64 * KB, |n| {
        around("{\"v\":1", numbered(",\"f#\":[#]", n - 400), &format!(",{RECORD}}}\n"))
    }),
    ("record", "opened and never closed", 64 * KB, |n| repeat("[", n)),
    ("record", "blanks", 64 * KB, |n| repeat(" \n", n)),
    ("ticket", "many wants", MB, |n| {
        around(
            WANTS,
            numbered("{\"kind\":\"file\",\"path\":\"a#/b\"},", n - 200),
            "{\"kind\":\"area\",\"path\":\"\"}]}\n",
        )
    }),
    ("ticket", "deep wants", MB, |n| {
        around(
            WANTS,
            repeat(&format!("{{\"kind\":\"file\",\"path\":\"{}b\"}},", "a/".repeat(2000)), n - 200),
            "{\"kind\":\"area\",\"path\":\"\"}]}\n",
        )
    }),
    ("journal", "lines", 2 * MB, |n| repeat(LINE, n)),
    ("journal", "one line", 2 * MB, |n| repeat("{\"at\":\"", n)),
    ("journal", "no text at all", 2 * MB, |n| repeat("\n", n)),
    ("policy", "comments", MB, |n| repeat("# comment\n", n)),
    ("policy", "unknown keys", MB, |n| numbered("key-# = #\n", n)),
    ("policy", "keys that are nearly right", MB, |n| around("[ttl]\n", numbered("defualt# = \"5m\"\n", n - 10), "")),
    ("policy", "a key without an end", MB, |n| repeat("default", n)),
    ("policy", "a dotted key", MB, |n| around("", repeat("a.", n - 10), "b = 1\n")),
    ("policy", "arrays in arrays", MB, |n| around("a = ", repeat("[", n - 10), "")),
    ("policy", "tables in tables", MB, |n| around("a = ", repeat("{a=", n - 10), "")),
    ("policy", "the same key again", MB, |n| repeat("[ttl]\ndefault = \"5m\"\n", n)),
    ("policy", "rules", MB, |n| numbered("[[ttl.rule]]\npaths = [\"x#/**\"]\nmax = \"1h\"\n", n)),
    ("policy", "rules that are wrong", MB, |n| numbered("[[ttl.rule]]\npaths = [\"x#/[\"]\nmaxx = \"1h\"\n", n)),
    ("policy", "rules against each other", MB, |n| numbered("[[ttl.rule]]\npaths = [\"x#\"]\nmin = \"2h\"\n", n)),
    ("policy", "globs", MB, |n| around("[guard]\nrequire = [\n", numbered("\"a#/*b\",\n", n - 40), "]\n")),
    ("policy", "escapes", MB, |n| around("[ttl]\ndefault = \"", repeat("\\u00e9", n - 40), "\"\n")),
    ("policy", "lines that are no text", MB, |n| repeat("=\n", n)),
    ("pathspec", "lines", 2 * MB, |n| numbered("src/some/file-#\n", n)),
    ("pathspec", "quoted", 2 * MB, |n| repeat("\"caf\\303\\251\"\n", n)),
    ("pathspec", "one quoted line", 2 * MB, |n| around("\"", repeat("\\303\\251\\\"", n - 10), "\"\n")),
    ("pathspec", "a quote that is not closed", 2 * MB, |n| around("\"", repeat("a", n - 10), "\n")),
    ("path", "deep", 4 * KB, |n| around("", repeat("a/", n - 2), "b")),
    ("path", "accents", 4 * KB, |n| repeat("e\u{301}", n)),
    ("owner", "far too long", 2 * MB, |n| repeat("x", n)),
    ("resource", "far too long", 2 * MB, |n| repeat("\u{1b}:", n)),
    ("duration", "far too long", 2 * MB, |n| repeat("1h ", n)),
    ("reason", "far too long", 2 * MB, |n| repeat("x", n)),
    ("tables-list", "tables", MB, |n| repeat("a.ref\n", n)),
    ("gitattributes", "lines", 64 * KB, |n| numbered("*.x# agentlock\n", n)),
    ("gitattributes", "one line", 64 * KB, |n| around("* agentlock", numbered(" a#", n - 20), "\n")),
    ("merge-head", "lines", 64 * KB, |n| repeat("0000000000000000000000000000000000000001\n", n)),
    ("reflog", "one line", MB, |n| repeat("x", n)),
    ("hook", "beginnings", 64 * KB, |n| repeat("# git-agentlock hook v1: pre-commit\nagentlock_binary='x'\n", n)),
    ("hook", "quotes", 64 * KB, |n| {
        around("#!/bin/sh\n# git-agentlock hook v1: pre-commit\nagentlock_binary='", repeat("'\\''", n - 100), "'\n")
    }),
];

fn once(judge: fn(&World, &[u8]), world: &World, input: &[u8]) -> Duration {
    let start = work();
    judge(world, input);
    work().saturating_sub(start)
}

/// Of each shape, a part of the largest input that is read.
fn none_grows_faster_than_its_input(part: usize) {
    let world = World::new();
    let mut complaints = Vec::new();
    for (name, shape, largest, make) in SHAPES {
        let judge = TARGETS.iter().find(|target| target.name == name).unwrap().judge;
        let len = largest / part;
        let measured = || (once(judge, &world, &make(len / 4)), once(judge, &world, &make(len)));
        let is_too_much = |(small, large): &(Duration, Duration)| {
            *large > (*small).max(TOO_LITTLE) * MOST_TIMES || *large > MOST_FOR_ONE
        };
        // Once is chance.
        let measured: Vec<_> = (0..3).map(|_| measured()).take_while(is_too_much).collect();
        if measured.len() == 3 {
            complaints.push(format!("{name}, {shape}: {measured:?}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn four_times_the_input_takes_about_four_times_the_work() {
    none_grows_faster_than_its_input(8);
}

#[test]
#[ignore = "needs half a minute"]
fn also_up_to_the_largest_input_that_is_read() {
    none_grows_faster_than_its_input(1);
}

/// Patterns that a careless matcher tries in every way there is. (Those of `.gitattributes` are matched as git matches them, whose own commands
/// take as long.)
#[test]
fn no_glob_of_a_policy_tries_every_way_of_matching() {
    let globs = [
        "*a".repeat(40) + "b",
        "*".repeat(2000) + "b",
        "a*".repeat(30) + "b",
        "*?".repeat(40) + "b",
        "*[a-z]".repeat(30) + "b",
        "**/".repeat(30) + "b",
        "**/a/".repeat(20) + "b",
        "**/a*".repeat(20) + "b",
        "**/*a".repeat(20) + "b",
        "**/?/".repeat(20) + "b",
        "[".to_owned() + &"a-".repeat(1000) + "z]b",
    ];
    let paths = ["a".repeat(4000), "a/".repeat(300) + "a", "aaaaaaaaa/".repeat(400) + "c", "ab/".repeat(300) + "x"];
    let mut complaints = Vec::new();
    for glob in &globs {
        let quoted = glob.replace('\\', "\\\\");
        let policy = format!("[guard]\nrequire = [\"{quoted}\"]\n");
        let source = git_agentlock::policy::LayerSource {
            kind: LayerKind::Committed,
            path: "p".into(),
            text: Ok(policy.into()),
        };
        let loaded = git_agentlock::policy::load(vec![source]);
        assert!(loaded.problems.is_empty(), "{glob}: {:?}", loaded.problems);
        for path in &paths {
            let path = RepoPath::new(path.as_str()).unwrap();
            let start = work();
            let _ = loaded.policy.guard_require().matches(&path);
            let used = work().saturating_sub(start);
            if used > MOST_FOR_ONE {
                let shown: String = path.to_string().chars().take(12).collect();
                complaints.push(format!("{glob:.12}… on {shown}…: {used:?}"));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
