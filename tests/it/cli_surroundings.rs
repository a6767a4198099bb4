//! Surroundings that nobody would choose: a store that is deleted again and again, few descriptors, clocks that are wrong by centuries, one
//! repository at two places, two users with a narrow umask, a file system whose listings miss what is being replaced.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use git_agentlock::clock::{Clock as _, SystemClock, Timestamp};

use crate::sandbox::{Agent, BINARY, Ran, Sandbox, left_overs, put_program, records, store_of, tree, wait_until};

/// What somebody was told, and until when they relied on it. All times are the wall clock's, in milliseconds: one machine, one clock.
#[derive(Debug, Clone)]
struct Grant {
    owner: String,
    what: &'static str,
    token: u64,
    /// When it was decided, under the mutexes: as the record has it.
    decided: i64,
    told: i64,
    given_back: i64,
}

/// From when to when somebody was deleting the store.
type Deletion = (i64, i64);

/// What the workers have seen: grants, errors, and from when to when each change was asked for.
type SeenByWorkers = (Mutex<Vec<Grant>>, AtomicUsize, Mutex<Vec<(i64, i64)>>);

/// A change that was on its way while the store was deleted can still take away what it finds at its key: until it has ended, the deletion has not.
fn with_changes_on_their_way(deletions: &[Deletion], changes: &[(i64, i64)]) -> Vec<Deletion> {
    let end = |(from, to): &Deletion| {
        let on_their_way = changes.iter().filter(|(start, end)| start <= to && end >= from);
        on_their_way.map(|(_, end)| *end).max().unwrap_or(*to).max(*to)
    };
    deletions.iter().map(|deletion| (deletion.0, end(deletion))).collect()
}

fn now() -> i64 {
    SystemClock::new().now().wall.millis()
}

fn overlap(a: &str, b: &str) -> bool {
    a == b || a == "src/" || b == "src/"
}

/// Pairs of grants that exclude each other and were held at the same time, although nothing was deleted from when the first of them was decided
/// until both were told.
fn double_grants<'g>(grants: &'g [Grant], deletions: &[Deletion]) -> Vec<(&'g Grant, &'g Grant)> {
    let mut found = Vec::new();
    for first in grants {
        let later = grants.iter().filter(|second| second.told >= first.told && second.told < first.given_back);
        for second in later.filter(|second| second.owner != first.owner && overlap(first.what, second.what)) {
            let decided = first.decided.min(second.decided);
            let is_excused = deletions.iter().any(|(from, to)| *from <= second.told && *to >= decided);
            if !is_excused {
                found.push((first, second));
            }
        }
    }
    found
}

#[track_caller]
fn tokens_grow(grants: &[Grant]) {
    for first in grants {
        for second in grants.iter().filter(|second| second.what == first.what && second.decided > first.told) {
            assert!(second.token > first.token, "{first:?} {second:?}");
        }
    }
}

/// Takes and gives back until the end, and writes down what it was told.
fn work(agent: &Agent<'_>, owner: &str, is_over: &AtomicBool, seen: &SeenByWorkers) {
    let change = |arguments: &[&str]| {
        let start = now();
        let ran = agent.run(arguments);
        seen.2.lock().unwrap().push((start, now()));
        ran
    };
    let mut turn = owner.len();
    while !is_over.load(Ordering::Relaxed) {
        let what = ["src/a", "src/", "src/b", "src/a"][turn % 4];
        turn += 1;
        let ran = change(&["--json", "acquire", what]);
        let told = now();
        match ran.code() {
            0 => {}
            1 => continue,
            4 => {
                seen.1.fetch_add(1, Ordering::Relaxed);
                assert!(!ran.document().error.unwrap().message.is_empty());
                continue;
            }
            _ => panic!("{ran:#?}"),
        }
        let lease = ran.document().leases.remove(0);
        let decided = lease.acquired_at.parse::<Timestamp>().unwrap().millis();
        // Held for as long as another process takes.
        assert!(matches!(agent.run(["check", what]).code(), 0 | 1 | 4));
        let given_back = now();
        let release = || change(&["--json", "release", what]);
        let mut ran = release();
        while ran.code() == 4 {
            ran = release();
        }
        assert!(matches!(ran.code(), 0 | 1 | 3), "{ran:#?}");
        let (owner, token) = (owner.to_owned(), lease.token);
        seen.0.lock().unwrap().push(Grant { owner, what, token, decided, told, given_back });
    }
}

#[test]
fn a_store_deleted_under_load_loses_the_leases_of_before_and_that_is_all() {
    const DELETIONS: usize = 40;
    const GRANTS_EACH: usize = 4;
    let (sandbox, repo) = Sandbox::with_repo();
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nfsync = false\n").unwrap();
    let store = store_of(&repo.join(".git"));
    let (is_over, seen) = (AtomicBool::new(false), SeenByWorkers::default());
    let deletions: Vec<Deletion> = std::thread::scope(|scope| {
        for owner in (1..=10).map(|length| "X".repeat(length)) {
            let (agent, is_over, seen) = (sandbox.agent(&repo, &owner), &is_over, &seen);
            scope.spawn(move || work(&agent, &owner, is_over, seen));
        }
        let stop = Stop(&is_over);
        let mut deletions = Vec::new();
        for turn in 0..DELETIONS {
            let before = seen.0.lock().unwrap().len();
            wait_until("they work", || seen.0.lock().unwrap().len() >= before + GRANTS_EACH && store.exists());
            let from = now();
            // At once, file by file, or only the files.
            let _ = match turn % 4 {
                0 | 2 => fs::rename(&store, sandbox.root().join(format!("away-{turn}"))),
                1 => fs::remove_dir_all(store.parent().unwrap()),
                _ => sandbox.command("find", &store).args([".", "-type", "f", "-delete"]).status().map(drop),
            };
            deletions.push((from, now()));
        }
        drop(stop);
        deletions
    });
    let grants = seen.0.into_inner().unwrap();
    let deletions = with_changes_on_their_way(&deletions, &seen.2.into_inner().unwrap());
    assert!(grants.len() >= DELETIONS * GRANTS_EACH, "{}", grants.len());
    assert_eq!(double_grants(&grants, &deletions).len(), 0, "{:#?}", double_grants(&grants, &deletions));
    tokens_grow(&grants);

    // Whoever was told of an error holds nothing, and the next ones are granted.
    let late = sandbox.agent(&repo, "late");
    assert_eq!(late.listed(), [""; 0]);
    for what in ["src/a", "src/b"] {
        let token = late.json(0, ["acquire", what]).leases[0].token;
        let before = grants.iter().filter(|grant| grant.what == what).map(|grant| grant.token).max();
        assert!(before < Some(token), "{before:?} {token}");
    }
    late.ok(["release", "--all"]);
    assert_eq!(left_overs(&store), [""; 0].map(PathBuf::from));
    late.ok(["doctor"]);
}

/// Ends the others also when something is wrong here.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The judge of the test above sees what it is to see.
#[test]
fn two_owners_at_once_are_seen_unless_the_store_was_deleted_meanwhile() {
    let grant = |owner: &str, what, times: [i64; 3]| {
        let ([decided, told, given_back], owner) = (times, owner.to_owned());
        Grant { owner, what, token: 1, decided, told, given_back }
    };
    let first = grant("A", "src/a", [10, 20, 90]);
    let found = |second: Grant, deletions: &[Deletion]| double_grants(&[first.clone(), second], deletions).len();
    assert_eq!(found(grant("B", "src/", [30, 40, 50]), &[]), 1);
    assert_eq!(found(grant("B", "src/b", [30, 40, 50]), &[]), 0);
    assert_eq!(found(grant("B", "src/a", [30, 100, 110]), &[]), 0);
    assert_eq!(found(grant("B", "src/a", [30, 40, 50]), &[(25, 28)]), 0);
    assert_eq!(found(grant("B", "src/a", [5, 40, 50]), &[(7, 8)]), 0);
    assert_eq!(found(grant("B", "src/a", [30, 40, 50]), &[(7, 8), (50, 60)]), 1);
    let late = with_changes_on_their_way(&[(7, 8)], &[(1, 6), (5, 12), (9, 30)]);
    assert_eq!(late, [(7, 12)], "one had begun before the deletion ended, and ended after it");
}

fn with_descriptors<'s>(agent: &Agent<'s>, count: usize) -> Agent<'s> {
    agent.by(["sh", "-c", &format!("ulimit -n {count}; exec \"$@\""), "sh"])
}

#[test]
fn sixty_four_descriptors_are_enough_for_two_thousand_leases() {
    const LEASES: usize = 2000;
    let (sandbox, repo) = Sandbox::with_repo();
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nfsync = false\n").unwrap();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    let (a, b) = (with_descriptors(&a, 64), with_descriptors(&b, 64));
    let paths: String = (0..LEASES).map(|n| format!("many/{n}\n")).collect();
    fs::write(repo.join("paths"), paths).unwrap();
    a.ok(["acquire", "-q", "--pathspec-from-file=paths"]);
    assert_eq!(b.json(0, ["list"]).leases.len(), LEASES);
    b.expect(1, ["check", "-q", "--pathspec-from-file=paths"]);
    b.expect(1, ["acquire", "-q", "many/"]);
    let fifty: Vec<String> = (0..50).map(|n| format!("new/{}/{n}", n % 7)).collect();
    b.ok(["acquire", "-q"].iter().map(|word| (*word).to_owned()).chain(fifty));
    a.ok(["renew", "-q", "--all"]);
    b.ok(["prune"]);
    b.ok(["doctor"]);
    b.ok(["guard"]);
    a.ok(["log", "many/7"]).out_has(&["many/7"]);
    a.ok(["release", "-q", "--all"]);
    b.ok(["release", "-q", "--all"]);
    assert_eq!(records(&store_of(&repo.join(".git"))), [""; 0].map(PathBuf::from));
}

/// Down to none at all: whatever cannot be opened, nobody is told that something is free, and nothing is half done.
#[test]
fn too_few_descriptors_are_an_error_that_changes_nothing() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    let (store, mut failures, mut successes) = (store_of(&repo.join(".git")), 0, 0);
    let state = || records(&store).iter().flat_map(|record| tree(record)).collect::<Vec<_>>();
    for count in 3..=20 {
        let few = with_descriptors(&b, count);
        let before = state();
        for arguments in [&["acquire", "src/a"][..], &["check", "src/a"], &["renew", "src/a"]] {
            let ran = few.run(arguments);
            assert!(matches!(ran.code(), 1 | 4), "{count}: {ran:#?}");
        }
        let ran = few.run(["acquire", "new/x", "new/y"]);
        match ran.code() {
            0 => successes += 1,
            4 => {
                failures += 1;
                ran.err_has(&["error: "]);
                assert_eq!(state(), before, "{count}: {ran:#?}");
                assert_eq!(left_overs(&store), [""; 0].map(PathBuf::from), "{count}");
            }
            _ => panic!("{count}: {ran:#?}"),
        }
        b.ok(["release", "-q", "new/x", "new/y"]);
        assert_eq!(b.listed(), ["src/a A"]);
    }
    assert!(failures > 2 && successes > 2, "{failures} {successes}");
}

/// A build that the dynamic linker, and so faketime, has a hold on.
fn dynamic_build() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--bin", "git-agentlock", "--target-dir", "target/dynamic"]);
    cargo.arg("--message-format=json").current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.env("RUSTFLAGS", "-C target-feature=-crt-static").env("CARGO_PROFILE_DEV_DEBUG", "0");
    let output = cargo.env("CARGO_INCREMENTAL", "0").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = stdout.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let built = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    built.expect("cargo tells where it has put it")
}

/// The wall clock of single processes is wrong by a day or by centuries; the boot-time clock, which is asked without libc, is right. By it live
/// leases of this boot are judged, so nobody loses anything, and nothing lasts longer.
#[test]
#[ignore = "needs faketime and a build of its own"]
fn a_clock_that_is_wrong_by_a_day_or_by_centuries_neither_ends_a_lease_nor_prolongs_it() {
    let program = dynamic_build();
    let (sandbox, repo) = Sandbox::with_repo();
    crate::sandbox::allow_short_ttls(&repo);
    let clocks: [(&str, Option<&str>); 4] = [
        ("+1 day", None),
        ("-1 day", None),
        ("1960-01-01 00:00:00", Some("1960-01-01T00:0")),
        ("2200-01-01 00:00:00", Some("2200-01-01T00:0")),
    ];
    let (a, c) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "C"));
    let told_of_a = a.json(0, ["acquire", "src/a"]).leases.remove(0);
    fs::write(repo.join("src/a"), "changed\n").unwrap();
    sandbox.git(&repo, &["add", "src/a"]);
    for (number, (clock, year)) in clocks.into_iter().enumerate() {
        let with = |owner: &str| sandbox.agent(&repo, owner).program(&program).by(["faketime", clock]).env("TZ", "UTC");
        let (faked_a, b) = (with("A"), with("B"));
        let file = format!("f{number}");
        let lease = b.json(0, ["acquire", &file]).leases.remove(0);
        match year {
            Some(year) => assert!(lease.acquired_at.starts_with(year), "it saw the faked year: {lease:?}"),
            None => assert_ne!(lease.acquired_at[..10], told_of_a.acquired_at[..10], "it saw the faked day"),
        }
        // Seen from either clock, the leases of the other are live, for no longer than their TTL.
        let of_a = b.json(1, ["acquire", "src/a"]).conflicts.remove(0);
        let of_b = c.json(1, ["acquire", &file]).conflicts.remove(0);
        for (conflict, owner) in [(&of_a, "A"), (&of_b, "B")] {
            assert_eq!(conflict.owner.as_deref(), Some(owner), "{clock}");
            assert!((1..=300_000).contains(&conflict.remaining_ms.unwrap()), "{clock}: {conflict:?}");
        }
        let shown = [lease.expires_at, of_a.expires_at.unwrap()].map(|time| time[..10].to_owned());
        assert_eq!(shown[0], shown[1], "shown on the clock of who asks");
        b.expect(1, ["guard"]);
        faked_a.ok(["renew", "src/a"]);
        let left = a.json(1, ["check", "src/a", "--owner", "C"]).conflicts[0].remaining_ms.unwrap();
        assert!((1..=300_000).contains(&left), "{clock}: {left}");
        // Tokens grow from one clock to the other and back.
        b.ok(["release", &file]);
        let by_c = c.json(0, ["acquire", &file]).leases[0].token;
        c.ok(["release", &file]);
        let again = b.json(0, ["acquire", &file]).leases[0].token;
        assert!(lease.token < by_c && by_c < again, "{clock}: {} {by_c} {again}", lease.token);
        // What has ended has ended for both.
        b.ok(["release", &file]);
        b.let_expire(&file);
        c.ok(["acquire", &file]);
        b.expect(3, ["renew", &file]).err_has(&["lost to C"]);
    }
    a.ok(["check", "--mine", "src/a"]);
    a.ok(["release", "src/a"]);
    c.ok(["doctor"]);
}

/// In a mount namespace in which the repository is also at another place, and there.
fn elsewhere<'s>(agent: &Agent<'s>, repo: &Path, other: &Path) -> Agent<'s> {
    let script = "mount --bind \"$0\" \"$1\" && cd \"$1\" && shift && exec \"$@\"";
    agent.by(["unshare", "-m", "sh", "-c", script, repo.to_str().unwrap(), other.to_str().unwrap()])
}

#[test]
#[ignore = "needs root and mount namespaces"]
fn a_repository_that_is_mounted_at_two_places_has_one_set_of_locks() {
    let (sandbox, repo) = Sandbox::with_repo();
    let other = sandbox.root().join("other");
    fs::create_dir(&other).unwrap();
    let (a, b) = (sandbox.agent(&repo, "A"), elsewhere(&sandbox.agent(&repo, "B"), &repo, &other));
    is_one_at_both_places(&a, &b, &other);
    // In a shared directory it is the label that says so.
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nproject = \"web\"\n").unwrap();
    let [a, b] = [a, b].map(|agent| agent.env("AGENT_REGISTRY_LOCK_DIR", sandbox.root().join("L")));
    is_one_at_both_places(&a, &b, &other);
}

fn is_one_at_both_places(a: &Agent<'_>, b: &Agent<'_>, place_of_b: &Path) {
    a.ok(["acquire", "src/a"]);
    b.expect(1, ["acquire", "src/a"]).err_has(&["held by A"]);
    b.expect(1, ["acquire", "src/"]);
    b.expect(1, [Path::new("acquire"), &place_of_b.join("src/a")]);
    b.ok(["acquire", "lib/"]);
    a.expect(1, ["acquire", "lib/x"]).err_has(&["held by B"]);
    assert_eq!(a.listed(), ["lib/ B", "src/a A"]);
    assert_eq!(b.listed(), ["lib/ B", "src/a A"]);
    a.ok(["release", "--all"]);
    b.ok(["release", "--all"]);
    let start = |n: usize| {
        let agent = if n.is_multiple_of(2) { a } else { b };
        agent.command(["acquire", "src/b", "--owner", &format!("racer-{n}")]).spawn().unwrap()
    };
    let racers: Vec<_> = (0..8).map(start).collect();
    let mut codes: Vec<i32> = racers.into_iter().map(|child| Ran::wait(child, String::new()).code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1, 1, 1, 1, 1, 1, 1], "of those who come at once, one is granted");
}

/// The strictest umask there is, and a repository that is shared with a group: what one makes, the other can change.
#[test]
#[ignore = "needs root and setpriv"]
fn two_users_with_a_narrow_umask_share_a_repository_of_their_group() {
    const GROUP: &str = "2001";
    let sandbox = Sandbox::new();
    let repo = sandbox.repo_of("r", &["--shared=group"]);
    fs::write(sandbox.home().join("gitconfig"), "[safe]\n\tdirectory = *\n").unwrap();
    let program = sandbox.root().join("git-agentlock");
    put_program(Path::new(BINARY), &program);
    let chown = sandbox.command("chown", sandbox.root()).args(["-R", &format!("1001:{GROUP}"), "."]).status().unwrap();
    assert!(chown.success());
    fs::set_permissions(sandbox.root(), fs::Permissions::from_mode(0o755)).unwrap();
    crate::sandbox::allow_short_ttls(&repo);
    let user = |owner: &str, uid: &str| {
        let by = ["setpriv", "--reuid", uid, "--regid", GROUP, "--clear-groups", "sh", "-c", "umask 077; exec \"$@\""];
        sandbox.agent(&repo, owner).program(&program).by(by.into_iter().chain(["sh"]))
    };
    let (a, b) = (user("A", "1001"), user("B", "1002"));
    let both_ways = [(&a, &b, "A", "src/a"), (&b, &a, "B", "src/b")];
    for (one, other, name, file) in both_ways {
        one.ok(["acquire", file, "lib/"]);
        other.expect(1, ["acquire", file]).err_has(&[&format!("held by {name}")]);
        other.expect(1, ["acquire", "lib/x", "--wait", "50ms"]);
        other.ok(["acquire", &format!("new/{name}")]);
        one.ok(["renew", file, "lib/"]);
        other.ok(["break", "lib/", "--reason", "it was left"]);
        one.let_expire(&format!("old/{name}"));
        let taken = other.json(0, ["acquire", &format!("old/{name}")]);
        assert_eq!(taken.leases[0].stale_owner.as_deref(), Some(name));
        one.ok(["prune"]);
        one.ok(["log"]).out_has(&["it was left"]);
    }
    for agent in [&a, &b] {
        agent.ok(["doctor"]);
        agent.ok(["release", "--all"]);
    }
    assert_eq!(a.listed(), [""; 0]);
}

/// On btrfs, a listing misses what is being replaced by a rename while it is made.
#[test]
#[ignore = "needs root, mount namespaces, a loop device and mkfs.btrfs"]
fn on_btrfs_a_listing_beside_renewals_misses_nothing() {
    const CANNOT: i32 = 77;
    let (sandbox, repo) = Sandbox::with_repo();
    fs::write(repo.join(".git/agentlock.toml"), "[store]\nfsync = false\n").unwrap();
    fs::write(repo.join("paths"), (0..300).map(|n| format!("f{n}\n")).collect::<String>()).unwrap();
    let mounted = sandbox.root().join("disk");
    fs::create_dir(&mounted).unwrap();
    let script = r#"
        set -e
        truncate -s 128M ../image
        mkfs.btrfs -q ../image || exit 77
        mount -o loop ../image "$AGENT_REGISTRY_LOCK_DIR" || exit 77
        al() { git agentlock "$@"; }
        al acquire -q --pathspec-from-file=paths
        while [ ! -e stop ]; do al renew -q --all; echo >>renewals; done &
        until [ -s renewals ]; do sleep 0.01; done
        missed=0
        for look in $(seq 40); do
            count=$(al list -z | tr -cd '\0' | wc -c)
            [ "$count" = 300 ] || missed=$((missed + 1))
        done
        touch stop
        wait
        echo "missed in $missed of 40 listings beside $(wc -l <renewals) renewals of 300"
        [ "$missed" = 0 ]
    "#;
    let mut command = sandbox.command("unshare", &repo);
    command.args(["-m", "sh", "-c", script]).env("AGENT_REGISTRY_LOCK_DIR", &mounted).env("AGENTLOCK_OWNER", "A");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let ran = Ran::of(command);
    if ran.code() == CANNOT {
        eprintln!("skipped: no btrfs can be made and mounted here: {}", ran.err());
        return;
    }
    assert_eq!(ran.code(), 0, "{ran:#?}");
    eprintln!("{}", ran.out().trim_end());
}

/// Ten gigabytes, of which nothing is on the disk, in each place that is read, and too little memory to hold them. No file is read to its end to
/// find out that it is too large, and no guard that cannot read what it has to know lets a commit pass.
#[test]
fn files_that_are_far_too_large_are_not_read_into_memory() {
    const LARGE: u64 = 10 << 30;
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    fs::write(repo.join("src/a"), "changed\n").unwrap();
    sandbox.git(&repo, &["add", "src/a"]);
    let b = b.by(["sh", "-c", "ulimit -v 800000; exec \"$@\"", "sh"]);
    let store = store_of(&repo.join(".git"));
    let record = records(&store).remove(0);
    let large = |path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let aside = fs::read(path).ok();
        let file = fs::File::create(path).unwrap();
        file.set_len(LARGE).unwrap();
        aside
    };
    let git_dir = repo.join(".git");
    let guard = &["guard"][..];
    let cases: [(PathBuf, &[&str], i32, &str); 16] = [
        (record.clone(), &["check", "src/a"], 4, "it is larger than 65536 bytes"),
        (record, guard, 4, "it is larger than 65536 bytes"),
        (store.join("journal.jsonl"), &["log"], 0, "nothing has happened here yet"),
        (store.join("queue/x.ticket"), &["acquire", "src/a", "--wait", "1ms"], 1, "held by A"),
        (git_dir.join("agentlock.toml"), &["acquire", "src/b"], 4, "is larger than 1 MiB"),
        (repo.join(".agentlock.toml"), guard, 1, "is larger than 1 MiB"),
        (repo.join("list"), &["acquire", "--pathspec-from-file=list"], 2, "list has more than 256 MiB"),
        (git_dir.join("index"), guard, 4, "cannot be read"),
        (git_dir.join("MERGE_HEAD"), guard, 4, "it is larger than 1 MiB"),
        (git_dir.join("HEAD"), guard, 4, "error: "),
        (git_dir.join("packed-refs"), guard, 4, "error: "),
        (repo.join(".gitattributes"), guard, 1, "held by A"),
        (git_dir.join("info/attributes"), guard, 1, "held by A"),
        (git_dir.join("logs/HEAD"), &["guard", "--hook", "post-commit"], 0, "held by A"),
        (git_dir.join("rebase-merge/orig-head"), &["guard", "--hook", "post-rewrite", "rebase"], 0, "cannot tell"),
        (git_dir.join("hooks/pre-commit"), &["hook", "status"], 1, "is not ours"),
    ];
    for (path, arguments, code, text) in cases {
        let aside = large(&path);
        let ran = b.run(arguments);
        assert_eq!(ran.code(), code, "{}: {ran:#?}", path.display());
        assert!((ran.out() + &ran.err()).contains(text), "{}: {ran:#?}", path.display());
        match aside {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    b.expect(1, ["guard"]);
}

/// What is no file in git's directory is as good as damage, and nobody waits for it.
#[test]
fn pipes_in_gits_directory_hold_up_no_guard() {
    let (sandbox, repo) = Sandbox::with_repo();
    let (a, b) = (sandbox.agent(&repo, "A"), sandbox.agent(&repo, "B"));
    a.ok(["acquire", "src/a"]);
    fs::write(repo.join("src/a"), "changed\n").unwrap();
    sandbox.git(&repo, &["add", "src/a"]);
    let cases: [(&str, &[&str], i32); 5] = [
        ("index", &["guard"], 4),
        ("MERGE_HEAD", &["guard"], 4),
        ("logs/HEAD", &["guard", "--hook", "post-commit"], 0),
        ("rebase-merge/orig-head", &["guard", "--hook", "post-rewrite", "rebase"], 0),
        ("agentlock.toml", &["guard"], 1),
    ];
    for (name, arguments, code) in cases {
        let path = repo.join(".git").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let aside = fs::read(&path).ok();
        let _ = fs::remove_file(&path);
        assert!(sandbox.command("mkfifo", &repo).arg(&path).status().unwrap().success());
        let ran = b.by(["timeout", "20"]).run(arguments);
        assert_eq!(ran.code(), code, "{name}: {ran:#?}");
        fs::remove_file(&path).unwrap();
        if let Some(bytes) = aside {
            fs::write(&path, bytes).unwrap();
        }
    }
    b.expect(1, ["guard"]);
}

/// A guard that dies, as it does when something in it panics, has not allowed anything.
#[test]
fn a_guard_that_dies_lets_no_commit_pass() {
    for death in ["kill -ABRT $$", "kill -SEGV $$", "kill -KILL $$", "exit 101"] {
        let (sandbox, repo) = Sandbox::with_repo();
        let a = sandbox.agent(&repo, "A");
        let program = sandbox.root().join("bin/git-agentlock");
        fs::create_dir(program.parent().unwrap()).unwrap();
        put_program(Path::new(BINARY), &program);
        a.program(&program).ok(["hook", "install"]);
        let dying = sandbox.root().join("dying");
        fs::write(&dying, format!("#!/bin/sh\n{death}\n")).unwrap();
        fs::set_permissions(&dying, fs::Permissions::from_mode(0o755)).unwrap();
        put_program(&dying, &program);
        fs::write(repo.join("src/a"), "changed\n").unwrap();
        let head = sandbox.git(&repo, &["rev-parse", "HEAD"]);
        let commit = sandbox.command("git", &repo).args(["commit", "-qam", "x"]).output().unwrap();
        assert!(!commit.status.success(), "{death}: {commit:?}");
        assert_eq!(sandbox.git(&repo, &["rev-parse", "HEAD"]), head, "{death}");
    }
}
