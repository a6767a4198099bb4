//! Invariants 12 and 14: one file is one resource however it is spelt, and no text of others reaches a terminal as it is.

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
    slice::from_ref,
};

use bstr::ByteSlice as _;
use git_agentlock::{
    clock::ManualClock,
    git::locate::{LocateError, Locator},
    resource::{Project, Resource, Scope, Target},
    store::{Seen, StoreError, file::FileStore},
};

use crate::lib_world::{Agents, Disk, TTL_MS, failure, file, locks, noon, renewed, request, seen};

/// A repository with `src/a` in it, and links to get there otherwise.
struct Repository {
    _dir: tempfile::TempDir,
    top: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("real").join("r");
        fs::create_dir_all(top.join("src/deep")).expect("made");
        fs::write(top.join("src/a"), b"").expect("written");
        symlink("src", top.join("way")).expect("linked");
        symlink(&top, dir.path().join("other-name")).expect("linked");
        let mut git = Command::new("git");
        git.args(["init", "--quiet"]).arg(&top).env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        assert!(git.status().expect("git").success());
        Self { _dir: dir, top }
    }

    /// The one place that a spelling names, as seen from a directory below the top.
    fn only(&self, cwd: &str, spelling: &[u8]) -> (PathBuf, Target) {
        let mut places = located(&self.top.join(cwd), spelling).expect("it can be located");
        assert_eq!(places.len(), 1, "{}", spelling.as_bstr());
        places.remove(0)
    }
}

/// The common git directory and the target of each place.
fn located(cwd: &Path, spelling: &[u8]) -> Result<Vec<(PathBuf, Target)>, LocateError> {
    let places = Locator::new(cwd.to_owned(), None).locate(spelling.as_bstr(), false)?;
    let known = |repository: Option<Rc<git_agentlock::git::Repository>>| {
        repository.map(|repository| repository.common_dir.clone()).unwrap_or_default()
    };
    Ok(places.into_iter().map(|place| (known(place.repository), place.target)).collect())
}

#[test]
fn invariant_12_every_spelling_is_one_resource() {
    let repository = Repository::new();
    for name in ["a", "not-yet", "deep/not/yet", "[id].tsx", "-n", "*", " lead", "tab\there", "line\nbreak", "tilde~"] {
        let expected = repository.only("", format!("src/{name}").as_bytes());
        assert_eq!(expected.1, file(&format!("src/{name}")).target);
        let top = repository.top.to_str().expect("UTF-8");
        let outside = repository.top.parent().expect("a parent").to_str().expect("UTF-8");
        for (cwd, spelling) in [
            ("", format!("./src/{name}")),
            ("", format!("src//{name}")),
            ("", format!("src/./{name}")),
            ("", format!("src/deep/../{name}")),
            ("", format!("way/{name}")),
            ("", format!("way/deep/../{name}")),
            ("", format!("{top}/src/{name}")),
            ("", format!("{outside}/other-name/src/{name}")),
            ("", format!("{outside}/other-name/way/{name}")),
            ("src", format!("./{name}")),
            ("src", format!("../src/{name}")),
            ("src/deep", format!("../{name}")),
            ("way", format!("./{name}")),
            ("way/deep", format!("../../src/{name}")),
            ("../other-name/src", format!("./{name}")),
        ] {
            assert_eq!(repository.only(cwd, spelling.as_bytes()), expected, "{spelling:?} from {cwd:?}");
        }
    }
    let bytes = repository.only("", b"src/latin\xe9").1;
    assert!(matches!(bytes, Target::File(path) if path.as_bytes() == b"src/latin\xe9".as_bstr()));
}

/// A link to a file is two resources: whoever locks the link also locks what it points to.
#[test]
fn invariant_12_a_link_stands_for_itself_and_for_what_it_points_to() {
    let repository = Repository::new();
    symlink("src/a", repository.top.join("link")).expect("linked");
    symlink("/etc/hostname", repository.top.join("out")).expect("linked");
    let targets = |spelling: &[u8]| -> Vec<Target> {
        located(&repository.top, spelling).expect("located").into_iter().map(|(_, target)| target).collect()
    };
    assert_eq!(targets(b"link"), [file("link").target, file("src/a").target]);
    assert_eq!(targets(b"out"), [file("out").target], "what is elsewhere belongs to others");
}

#[test]
fn invariant_12_what_is_no_place_to_lock_is_an_error() {
    let repository = Repository::new();
    symlink("round", repository.top.join("round")).expect("linked");
    let too_long = "x/".repeat(2049);
    let far_too_long = "x".repeat(300);
    for spelling in
        [&b""[..], b"a\0b", b".git/config", b".git", b"src/../.git/x", b"src/a/below", b"round/x", b"src/a/"]
    {
        assert!(located(&repository.top, spelling).is_err(), "{}", spelling.as_bstr());
    }
    assert!(located(&repository.top, too_long.as_bytes()).is_err());
    assert!(located(&repository.top, far_too_long.as_bytes()).is_err(), "no file system takes such a name");
}

/// Same-named files of two repositories, in one shared store.
#[test]
fn invariant_12_repositories_do_not_collide() {
    let (dir, clock) = (tempfile::tempdir().expect("a directory"), ManualClock::new(noon()));
    let store = FileStore::at(dir.path());
    let locks = locks(&store, &clock);
    let of = |project: Project, work_tree: &str| Resource {
        scope: Scope { project, work_tree: work_tree.into(), ignore_case: false },
        ..file("src/a")
    };
    let all = [
        of(Project::GitDir("/r1/.git".into()), ""),
        of(Project::GitDir("/r2/.git".into()), ""),
        of(Project::GitDir("/r1/.git".into()), "linked"),
        of(Project::Label("/r1/.git".to_owned()), ""),
        of(Project::Outside, ""),
        of(Project::Implicit, ""),
    ];
    for (n, what) in all.iter().enumerate() {
        locks.take(&format!("owner-{n}"), what);
    }
    for (n, what) in all.iter().enumerate() {
        assert_eq!(locks.holder(what), Some(format!("owner-{n}")));
    }
}

/// What identifies a file in the repository's own store does not say where the repository is.
#[test]
fn invariant_12_a_moved_repository_keeps_its_locks() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("src/a"));
    let (old, new) = (disk.parent().join("old.git"), disk.parent().join("new.git"));
    fs::create_dir(&old).expect("made");
    let token = locks(&FileStore::in_git_dir(&old), &clock).take("A", &what).lease.token;
    fs::rename(&old, &new).expect("moved");
    let store = FileStore::in_git_dir(&new);
    let locks = locks(&store, &clock);
    assert_eq!(locks.refused("B", from_ref(&what)).len(), 1);
    renewed(locks.renewal("A", &what, Some(token)));
}

/// Case counts unless the repository says that it does not.
#[test]
fn invariant_12_case_is_ignored_where_git_ignores_it() {
    let (disk, clock) = (Disk::new(), ManualClock::new(noon()));
    let locks = locks(&disk.store, &clock);
    let of = |path: &str, ignore_case| Resource { scope: Scope { ignore_case, ..Scope::implicit() }, ..file(path) };
    locks.take("A", &of("Src/A", false));
    assert!(locks.take("B", &of("src/a", false)).fresh);
    locks.take("A", &of("Src/B", true));
    assert_eq!(locks.refused("B", &[of("src/b", true)]).len(), 1);
}

const HOSTILE: &[u8] = b"x\x1b[2J\n\x07\xc2\x9b31m\xe2\x80\xae";

#[track_caller]
fn is_harmless(text: &str) {
    let is_bad = |c: char| c.is_control() || c == '\u{202e}';
    assert!(!text.contains(is_bad) && text.contains("[2J"), "{text:?}");
}

/// Paths, and all that is said about a store at such a path and about what lies in it.
#[test]
fn invariant_14_hostile_names_are_escaped() {
    let (dir, clock) = (tempfile::tempdir().expect("a directory"), ManualClock::new(noon()));
    let parent = dir.path().join(std::ffi::OsStr::from_bytes(HOSTILE));
    fs::create_dir(&parent).expect("made");
    let store = FileStore::in_git_dir(&parent);
    let locks = locks(&store, &clock);
    let path = git_agentlock::resource::RepoPath::new(HOSTILE).expect("a path");
    for target in [Target::File(path.clone()), Target::Area(path)] {
        let what = Resource { target, ..file("") };
        is_harmless(&what.to_string());
        locks.take("A", &what);
        assert_eq!(locks.listing().leases[0].resource, what, "and kept as they are");
        locks.giving_back("A", &what, None);
    }

    let stands_in_the_way = parent.join("agent-locks/v2");
    fs::create_dir(&stands_in_the_way).expect("made");
    is_harmless(&failure(locks.list()).to_string());
    fs::remove_dir(stands_in_the_way).expect("removed");
    fs::remove_dir_all(store.dir()).expect("removed");
    fs::write(store.dir(), b"").expect("written");
    let failed = failure(locks.acquire(&request("A", &[file("a")], TTL_MS)));
    assert!(matches!(failed, StoreError::Foreign { .. }));
    is_harmless(&failed.to_string());
}

/// What a damaged record says is quoted in the message about it.
#[test]
fn invariant_14_hostile_records_are_escaped() {
    let (disk, clock, what) = (Disk::new(), ManualClock::new(noon()), file("a"));
    let locks = locks(&disk.store, &clock);
    locks.take("[2Jowner", &what);
    let whole = String::from_utf8(disk.record_bytes(&what)).expect("UTF-8");
    let hostile = "\\u001b[2J\\n\\u009b\\u202e";
    for (from, to) in [
        ("[2Jowner", hostile),
        ("\"kind\":\"file\"", &format!("\"kind\":\"{hostile}\"")),
        ("\"v\":1", &format!("\"v\":\"{hostile}\"")),
        ("\"path\":\"a\"", &format!("\"path\":\"../{hostile}\"")),
        ("\"path\":\"a\"", &format!("\"path\":\"{hostile}\"")),
    ] {
        assert!(whole.contains(from), "{from} in {whole}");
        fs::write(disk.record_path(&what), whole.replace(from, to)).expect("written");
        let Some(Seen::Unreadable(unreadable)) = seen(&disk.store, &what) else { panic!("{to}") };
        let is_bad = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!unreadable.cause.contains(is_bad), "{:?}", unreadable.cause);
    }
}
