//! What reads bytes of others, and what has to be true of each answer.

use std::{fs, path::PathBuf};

use bstr::{BStr, BString, ByteSlice as _};
use git_agentlock::{
    duration::{LONGEST_MS, parse_millis, show_millis},
    git::{
        self, Repository,
        attributes::LeaseAttribute,
        changes::{Changes, Merged},
        reftable,
    },
    install::{Hook, look},
    owner::Owner,
    policy::{LayerKind, LayerSource, load},
    record::{Reason, Record},
    resource::{NamedId, RepoPath, Target as What},
    store::{Session, Store as _, Ticket, file::FileStore},
};

use crate::sandbox::Sandbox;

/// Where inputs are put that are read from files.
pub(super) struct World {
    _sandbox: Sandbox,
    pub(super) repository: Repository,
    pub(super) store: FileStore,
    /// A directory with nothing in it.
    pub(super) place: PathBuf,
}

impl World {
    /// A repository with the files that the indexes among the examples have.
    pub(super) fn new() -> Self {
        let (sandbox, repo) = Sandbox::guarded();
        let store = FileStore::in_git_dir(&repo.join(".git"));
        fs::create_dir_all(store.dir().join("queue")).unwrap();
        let place = sandbox.root().join("place");
        fs::create_dir_all(place.join("reftable")).unwrap();
        let repository = git::discover(&repo, true).unwrap().unwrap();
        Self { _sandbox: sandbox, repository, store, place }
    }
}

/// A reader, and its judge.
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) judge: fn(&World, &[u8]),
    /// How many are tried at each run of the tests: as many as take some tenths of a second.
    pub(super) mutations: usize,
}

pub(super) const TARGETS: [Target; 18] = [
    Target { name: "record", judge: record, mutations: 2000 },
    Target { name: "ticket", judge: ticket, mutations: 1000 },
    Target { name: "session", judge: session, mutations: 1000 },
    Target { name: "journal", judge: journal, mutations: 500 },
    Target { name: "policy", judge: policy, mutations: 500 },
    Target { name: "pathspec", judge: pathspec, mutations: 2000 },
    Target { name: "path", judge: path, mutations: 2000 },
    Target { name: "owner", judge: owner, mutations: 2000 },
    Target { name: "resource", judge: resource, mutations: 2000 },
    Target { name: "duration", judge: duration, mutations: 2000 },
    Target { name: "reason", judge: reason, mutations: 1000 },
    Target { name: "reftable", judge: reftable, mutations: 1000 },
    Target { name: "tables-list", judge: tables_list, mutations: 300 },
    Target { name: "gitattributes", judge: gitattributes, mutations: 300 },
    Target { name: "merge-head", judge: merge_head, mutations: 150 },
    Target { name: "reflog", judge: reflog, mutations: 150 },
    Target { name: "index", judge: index, mutations: 400 },
    Target { name: "hook", judge: hook, mutations: 300 },
];

/// Whether a text can be shown to somebody.
#[track_caller]
fn is_plain(shown: &str) {
    assert!(!shown.contains(char::is_control), "{shown:?}");
}

/// What was read is written, and read again, as the same.
fn record(_: &World, input: &[u8]) {
    match Record::from_bytes(input) {
        Ok(record) => {
            is_plain(&record.resource.to_string());
            let bytes = record.to_bytes();
            assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
            if bytes.len() <= Record::MAX_BYTES {
                assert_eq!(Record::from_bytes(&bytes), Ok(record));
            }
        }
        Err(error) => is_plain(&error.to_string()),
    }
}

fn ticket(_: &World, input: &[u8]) {
    match Ticket::from_bytes("t-1", input) {
        Ok(ticket) => assert_eq!(Ticket::from_bytes("t-1", &ticket.to_bytes()), Ok(ticket)),
        Err(error) => is_plain(&error.to_string()),
    }
}

/// Also what is left of it within its bounds.
fn session(_: &World, input: &[u8]) {
    match Session::from_bytes(input) {
        Ok(mut session) => {
            let bytes = session.to_bytes();
            assert!(bytes.len() <= Session::MAX_BYTES && session.notes().count() <= Session::MAX_NOTES);
            assert_eq!(Session::from_bytes(&bytes).map(|mut again| again.to_bytes()), Ok(bytes));
        }
        Err(error) => is_plain(&error.to_string()),
    }
}

/// Also a queue is read as a whole, with what else is in its directory.
fn journal(world: &World, input: &[u8]) {
    fs::write(world.store.dir().join("journal.jsonl"), input).unwrap();
    let history = world.store.history().unwrap();
    assert!(history.len() <= input.split(|byte| *byte == b'\n').count());
    for past in &history {
        is_plain(&past.event);
        past.resource.iter().for_each(|resource| is_plain(&resource.to_string()));
    }
    fs::write(world.store.dir().join("queue/x.ticket"), input).unwrap();
    let view = world.store.view(&git_agentlock::store::ReadSet::only_the_queue()).unwrap();
    assert!(view.queue.len() <= 1);
}

fn policy(_: &World, input: &[u8]) {
    let layer = |kind, text: &[u8]| LayerSource { kind, path: "p.toml".into(), text: Ok(text.to_vec()) };
    let loaded = load(vec![layer(LayerKind::Committed, input), layer(LayerKind::Local, input)]);
    loaded.problems.iter().for_each(|problem| is_plain(&problem.to_string()));
    for entry in loaded.policy.entries() {
        is_plain(&entry.value);
        is_plain(&entry.origin.to_string());
    }
    for name in ["src/a", "Cargo.lock", "a/b/c/d.rs"] {
        let path = RepoPath::new(name).unwrap();
        let _ = loaded.policy.guard_require().matches(&path);
        for what in [What::File(path.clone()), What::Area(path)] {
            let limits = loaded.policy.ttl(&what);
            assert!(limits.min.value <= limits.default.value && limits.default.value <= limits.max.value);
        }
    }
    let _ = loaded.policy.ttl(&What::Named("plan:42".parse().unwrap()));
}

fn pathspec(_: &World, input: &[u8]) {
    let paths = git::paths_in(input.as_bstr(), true).unwrap();
    assert!(paths.iter().all(|path| !path.is_empty() && path.find_byte(0).is_none()));
    match git::paths_in(input.as_bstr(), false) {
        Ok(paths) => assert!(paths.len() <= input.lines().count()),
        Err(line) => assert!((1..=input.lines().count()).contains(&line)),
    }
}

fn path(_: &World, input: &[u8]) {
    match RepoPath::new(input) {
        Ok(path) => {
            is_plain(&path.to_string());
            assert_eq!(path.as_bytes(), input.as_bstr());
            assert!(path.ancestors().all(|above| above.contains(&path) && !path.contains(&above)));
            let composed = git::composed(&path);
            assert_eq!(git::composed(&composed), composed);
        }
        Err(error) => is_plain(&error.to_string()),
    }
}

fn owner(_: &World, input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    match Owner::new(text) {
        Ok(owner) => {
            is_plain(&owner.to_string());
            assert!(owner.as_str() == text && text.len() <= Owner::MAX_BYTES && owner.is_kin(&owner));
        }
        Err(error) => is_plain(&error.to_string()),
    }
}

fn resource(_: &World, input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    match text.parse::<NamedId>() {
        Ok(name) => {
            is_plain(&name.to_string());
            assert_eq!(format!("{}:{}", name.kind(), name.id()), text);
        }
        Err(error) => is_plain(&error.to_string()),
    }
}

fn duration(_: &World, input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    match parse_millis(text) {
        Ok(ms) => {
            assert!(ms <= LONGEST_MS);
            assert_eq!(parse_millis(&show_millis(ms)), Ok(ms));
        }
        Err(error) => is_plain(&error.to_string()),
    }
}

fn reason(_: &World, input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    match Reason::new(text) {
        Ok(reason) => is_plain(&reason.to_string()),
        Err(error) => is_plain(&error.to_string()),
    }
}

fn resolve_refs(world: &World) {
    for (name, hash_len) in [("HEAD", 20), ("refs/heads/main", 20), ("refs/heads/b20", 32)] {
        match reftable::resolve(&world.place, &world.place, BStr::new(name), hash_len) {
            Ok(id) => assert!(id.is_none_or(|id| id.len() == hash_len)),
            Err(error) => is_plain(&error.to_string()),
        }
    }
}

fn reftable(world: &World, input: &[u8]) {
    fs::write(world.place.join("reftable/tables.list"), "a.ref\n").unwrap();
    fs::write(world.place.join("reftable/a.ref"), input).unwrap();
    resolve_refs(world);
}

fn tables_list(world: &World, input: &[u8]) {
    fs::write(world.place.join("reftable/tables.list"), input).unwrap();
    resolve_refs(world);
}

fn gitattributes(world: &World, input: &[u8]) {
    let repository = Repository { work_tree: Some(world.place.clone()), ..world.repository.clone() };
    fs::write(world.place.join(".gitattributes"), [input, b"\n# agentlock\n"].concat()).unwrap();
    fs::create_dir_all(world.place.join("src")).unwrap();
    fs::write(world.place.join("src/.gitattributes"), input).unwrap();
    let mut attribute = LeaseAttribute::of(&repository).unwrap().unwrap();
    for name in ["a", "src/a", "src/deep/b.psd"] {
        attribute.is_set(&RepoPath::new(name).unwrap()).unwrap();
    }
}

/// Whoever asks for all that is changed and whoever asks for one path are told the same.
pub(super) fn is_of_one_mind(changes: &Changes) {
    if let Ok(all) = changes.of(&What::Area(RepoPath::top())) {
        for path in all {
            is_plain(&path.to_string());
            let alone = changes.of(&What::File(path.clone()));
            assert!(alone.is_ok_and(|alone| alone == [path.clone()]), "{path}");
        }
    }
    for path in ["src/a", "src", "lib/deep/c", "onlyf"] {
        let path = RepoPath::new(path).unwrap();
        let _ = (changes.of(&What::Area(path.clone())), changes.is_deleted(&path));
    }
}

fn merge_head(world: &World, input: &[u8]) {
    let path = world.repository.git_dir.join("MERGE_HEAD");
    fs::write(&path, input).unwrap();
    match Changes::staged(&world.repository, None, Merged::MergeHeadOr(&[])) {
        Ok(changes) => is_of_one_mind(&changes),
        Err(error) => is_plain(&error.to_string()),
    }
    fs::remove_file(&path).unwrap();
    let names: Vec<String> = input.lines().map(|line| line.to_str_lossy().into_owned()).collect();
    if let Err(error) = Changes::staged(&world.repository, None, Merged::These(&names)) {
        is_plain(&error.to_string());
    }
}

fn reflog(world: &World, input: &[u8]) {
    fs::write(world.repository.git_dir.join("logs/HEAD"), input).unwrap();
    is_of_one_mind(&Changes::of_last_commit(&world.repository).unwrap());
    fs::create_dir_all(world.repository.git_dir.join("rebase-merge")).unwrap();
    fs::write(world.repository.git_dir.join("rebase-merge/orig-head"), input).unwrap();
    if let Err(error) = Changes::of_rebase(&world.repository) {
        is_plain(&error.to_string());
    }
}

fn index(world: &World, input: &[u8]) {
    let path = world.place.join("index");
    fs::write(&path, input).unwrap();
    match Changes::staged(&world.repository, Some(&path), Merged::These(&[])) {
        Ok(changes) => {
            for path in ["", "src", "lib"] {
                let _ = changes.of(&What::Area(RepoPath::new(path).unwrap()));
            }
            for path in ["src/a", "lib/deep/c", "onlyf"] {
                let path = RepoPath::new(path).unwrap();
                let _ = (changes.of(&What::File(path.clone())), changes.is_deleted(&path));
            }
        }
        Err(error) => is_plain(&error.to_string()),
    }
}

/// A text that is taken for one of ours is ours to the last byte: it is what would be written for the program that it names.
fn hook(world: &World, input: &[u8]) {
    fs::write(world.place.join("pre-commit"), input).unwrap();
    let seen = look::look(&world.place, Hook::PreCommit).unwrap();
    match seen.state {
        look::State::Foreign | look::State::Edited => {}
        state => {
            let text: BString = input.into();
            assert!(text.starts_with(b"#!/bin/sh\n# git-agentlock hook v1: "), "{state:?}");
            assert!(text.contains_str("exit 0\n"), "{state:?}");
        }
    }
    let path = world.place.join("pre-commit");
    let _ = (look::about(&path), look::asks_the_guard(&path));
}
