//! Processes that want overlapping areas and files in every order: in no round do two holders overlap, and nobody hangs.

use std::{fs, process::Stdio};

use crate::sandbox::{Ran, Resource, Sandbox, end_of};

/// A small generator of numbers that is the same at each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % end as u64).unwrap()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

fn overlap(a: &Resource, b: &Resource) -> bool {
    let contains = |area: &Resource, other: &Resource| {
        let (top, path) = (area.path.as_deref().unwrap(), other.path.as_deref().unwrap());
        area.kind == "area" && (top == "." || path == top || path.starts_with(&format!("{top}/")))
    };
    a.path == b.path || contains(a, b) || contains(b, a)
}

const REQUESTS: [&[&str]; 10] = [
    &["src/"],
    &["."],
    &["src/a"],
    &["src/deep/x"],
    &["src/deep/"],
    &["src/a", "src/b"],
    &["src/b", "lib/"],
    &["src/deep/x", "src/deep/y", "lib/z"],
    &["srcx", "src-a", "src/a"],
    &["lib/", "src/deep/"],
];

#[test]
fn in_500_rounds_no_two_holders_overlap_and_nobody_hangs() {
    let (sandbox, repo) = Sandbox::with_repo();
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nfsync = false\n").unwrap();
    let mut chance = Chance(2026);
    let (mut granted, mut refused) = (0, 0);
    for round in 0..500 {
        let mut requests: Vec<Vec<&str>> = (0..4).map(|_| REQUESTS[chance.below(REQUESTS.len())].to_vec()).collect();
        requests.iter_mut().for_each(|request| chance.shuffle(request));
        let children: Vec<_> = requests
            .iter()
            .enumerate()
            .map(|(n, request)| {
                let agent = sandbox.agent(&repo, &format!("racer-{n}"));
                let arguments = [&["--json", "acquire"], request.as_slice()].concat();
                agent.command(arguments).stdin(Stdio::null()).spawn().unwrap()
            })
            .collect();
        let ran: Vec<Ran> =
            children.into_iter().map(|child| Ran::wait(child, "\"--json\" acquire".to_owned())).collect();
        let mut held: Vec<(usize, Resource)> = Vec::new();
        for (n, ran) in ran.iter().enumerate() {
            match ran.code() {
                0 => held.extend(ran.document().leases.into_iter().map(|lease| (n, lease.resource))),
                1 => refused += 1,
                _ => panic!("round {round}: {ran:?}"),
            }
        }
        for (i, (one, a)) in held.iter().enumerate() {
            for (other, b) in held.iter().skip(i + 1) {
                assert!(one == other || !overlap(a, b), "round {round}: {a:?} of {one} and {b:?} of {other}");
            }
        }
        let winners: std::collections::BTreeSet<usize> = held.iter().map(|(n, _)| *n).collect();
        assert!(!winners.is_empty(), "round {round}: somebody wins");
        granted += winners.len();
        for winner in winners {
            sandbox.agent(&repo, &format!("racer-{winner}")).ok(["release", "--all", "--quiet"]);
        }
    }
    assert!(granted > 500 && refused > 200, "the rounds were about something: {granted} granted, {refused} refused");
}

/// As many readers as you like beside a writer: what they see is whole, and what is held is never shown as free.
#[test]
fn a_held_lease_never_shows_as_free_beside_renewals_and_takings() {
    let (sandbox, repo) = Sandbox::with_repo();
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nfsync = false\n").unwrap();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a", "lib/"]);
    let script = "for i in $(seq 150); do \"$0\" renew src/a lib/ -q; \"$0\" acquire src/x$i -q; \"$0\" release src/x$i -q; done";
    let mut writer = a.by(["sh", "-ec", script]).command([""; 0]).spawn().unwrap();
    let mut looks = 0;
    while writer.try_wait().unwrap().is_none() {
        assert_eq!(b.holder_of("src/a").as_deref(), Some("A"));
        assert_eq!(b.holder_of("lib/x").as_deref(), Some("A"));
        let listed = b.listed();
        assert!(listed.contains(&"src/a A".to_owned()) && listed.contains(&"lib/ A".to_owned()), "{listed:?}");
        looks += 1;
    }
    assert!(end_of(&mut writer).success());
    assert!(looks > 0);
}
