//! The situations, and the call that is made in each.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::sandbox::{Agent, Sandbox, files, records, store_of};

/// Leases outlast any run of the matrix; a policy that is passed over shows in their length.
const POLICY: &str = "[ttl]\nmin = \"1ms\"\nmax = \"1d\"\ndefault = \"20h\"\n";
/// Live leases are longer, expired ones shorter.
pub(super) const LIVE_MS: u64 = 3_600_000;

pub(super) struct World {
    pub(super) sandbox: Sandbox,
    pub(super) repo: PathBuf,
    program: PathBuf,
}

impl World {
    pub(super) fn new(program: &Path, scene: &Scene) -> Self {
        let (sandbox, repo) = Sandbox::with_repo();
        let world = Self { sandbox, repo, program: program.to_owned() };
        let _ = fs::remove_dir_all(world.git_dir().join("hooks"));
        world.policy(POLICY);
        (scene.prepare)(&world);
        world
    }

    /// The user's own hook.
    fn user_hook(&self) {
        use std::os::unix::fs::PermissionsExt as _;
        let hook = self.git_dir().join("hooks/pre-commit");
        fs::create_dir(hook.parent().unwrap()).unwrap();
        fs::write(&hook, super::oracle::USERS).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(super) fn git_dir(&self) -> PathBuf {
        self.repo.join(".git")
    }

    fn policy(&self, text: &str) {
        fs::write(self.git_dir().join("agentlock.toml"), text).unwrap();
    }

    /// For what is looked at and done before and after.
    pub(super) fn agent(&self, owner: &str) -> Agent<'_> {
        self.sandbox.agent(&self.repo, owner).with_program(&self.program)
    }

    /// The one whose call meets the fault.
    pub(super) fn caller(&self, scene: &Scene) -> Agent<'_> {
        self.agent(scene.owner)
    }

    fn ok(&self, owner: &str, call: &str) {
        self.agent(owner).ok(words(call));
    }

    fn expire(&self, owner: &str, path: &str) {
        self.agent(owner).let_expire(path);
        self.policy(POLICY);
    }
}

pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) owner: &'static str,
    pub(super) call: &'static str,
    prepare: fn(&World),
    /// Each resource by itself: what fails may leave a part done.
    pub(super) each: bool,
    /// What is removed here is removed at a good opportunity: it may also stay.
    pub(super) sweeps: bool,
    /// There is a record that is none, and other findings of `doctor`.
    pub(super) damaged: bool,
    /// Nobody can use this store.
    pub(super) unusable: bool,
    /// About git's hooks, where the user has one of their own.
    pub(super) hooks: bool,
    /// Run by somebody who lets nobody else in, in a repository that is shared.
    pub(super) umask: bool,
    /// Of what it does over and over, only every so-many-th is met by a fault.
    pub(super) stride: usize,
}

const fn scene(name: &'static str, owner: &'static str, call: &'static str, prepare: fn(&World)) -> Scene {
    Scene {
        name,
        owner,
        call,
        prepare,
        each: false,
        sweeps: false,
        damaged: false,
        unusable: false,
        hooks: false,
        umask: false,
        stride: 1,
    }
}

/// A command that is missing here and changes files belongs here too.
pub(super) fn all() -> Vec<Scene> {
    vec![
        scene("acquire, first use", "A", "acquire src/a", |_| {}),
        scene("acquire, second use", "A", "acquire src/a --reason work", |world| world.ok("B", "acquire src/b")),
        scene("acquire, again", "A", "acquire src/a", |world| world.ok("A", "acquire src/a")),
        scene("acquire, many", "A", "acquire src/a x y lib/", |world| world.ok("B", "acquire src/b")),
        scene("acquire, area", "A", "acquire src/", |world| world.ok("B", "acquire x lib/")),
        scene("acquire, takeover", "A", "acquire src/a", |world| world.expire("B", "src/a")),
        Scene { stride: 16, ..scene("acquire, crowd", "A", crowd(), |world| world.ok("B", "acquire src/b")) },
        Scene { sweeps: true, ..scene("acquire, sweep", "A", "acquire src/a", due_for_a_sweep) },
        Scene { umask: true, ..scene("acquire, closed umask", "A", "acquire src/a", shared) },
        scene("acquire, names without case", "A", "acquire SRC/A", |world| {
            world.sandbox.git(&world.repo, &["config", "core.ignorecase", "true"]);
        }),
        Scene { unusable: true, ..scene("acquire, newer store", "A", "acquire src/a", newer) },
        scene("renew", "A", "renew src/a", |world| world.ok("A", "acquire src/a")),
        Scene { each: true, ..scene("renew, all", "A", "renew --all", |world| world.ok("A", "acquire src/a x lib/")) },
        scene("release", "A", "release src/a", |world| world.ok("A", "acquire src/a")),
        Scene { unusable: true, ..scene("release, newer store", "A", "release src/a", newer) },
        scene("release, after takeover", "A", "release src/a", |world| {
            world.expire("B", "src/a");
            world.ok("A", "acquire src/a");
        }),
        Scene {
            each: true,
            ..scene("release, all", "A", "release --all", |world| {
                world.expire("B", "x");
                world.ok("A", "acquire src/a x lib/");
                world.ok("B", "acquire src/b");
            })
        },
        Scene {
            each: true,
            ..scene("prune", "A", "prune", |world| {
                world.ok("A", "acquire src/a");
                world.expire("B", "x");
                world.expire("B", "y");
            })
        },
        scene("break", "B", "break src/a --reason stuck", |world| world.ok("A", "acquire src/a")),
        Scene { hooks: true, ..scene("hook install", "A", "hook install pre-commit", World::user_hook) },
        Scene {
            hooks: true,
            ..scene("hook uninstall", "A", "hook uninstall pre-commit", |world| {
                world.user_hook();
                world.ok("A", "hook install pre-commit");
            })
        },
        Scene { each: true, damaged: true, ..scene("doctor --fix", "A", "doctor --fix --reason mend", in_disorder) },
    ]
}

/// More than are synced one by one.
fn crowd() -> &'static str {
    static CROWD: OnceLock<String> = OnceLock::new();
    CROWD.get_or_init(|| {
        let paths: Vec<String> = (0..65).map(|n| format!("p{n}")).collect();
        format!("acquire src/a {}", paths.join(" "))
    })
}

/// Paths that are kept beside `src/a`, in the same shard: one for who comes along, and one for the sweep.
pub(super) fn neighbours() -> &'static [String; 2] {
    static NEIGHBOURS: OnceLock<[String; 2]> = OnceLock::new();
    NEIGHBOURS.get_or_init(|| {
        let (sandbox, repo) = Sandbox::with_repo();
        let paths: Vec<String> = (0..100).map(|n| format!("n{n}")).collect();
        sandbox.agent(&repo, "A").ok([&["acquire".to_owned(), "src/a".to_owned()], paths.as_slice()].concat());
        let shard_of = |path: &str| {
            let record = records(&store_of(&repo.join(".git"))).into_iter().find(|record| {
                let record: serde_json::Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
                record["resource"]["path"] == path
            });
            record.unwrap().parent().unwrap().to_owned()
        };
        let wanted = shard_of("src/a");
        let mut found = paths.iter().filter(|path| shard_of(path) == wanted).cloned();
        [found.next(), found.next()].map(|path| path.expect("two of 100 in one of 16 shards"))
    })
}

fn due_for_a_sweep(world: &World) {
    world.expire("B", &neighbours()[1]);
    world.policy(&format!("{POLICY}keep-expired = \"1ms\"\n"));
    let shard = records(&store_of(&world.git_dir())).remove(0).parent().unwrap().to_owned();
    // No token counter and no time of a next sweep.
    fs::write(shard.join("mutex"), "").unwrap();
    fs::write(shard.join(format!("tmp-{}", "7".repeat(63))), "left").unwrap();
}

/// One that another version has made of this one's.
fn newer(world: &World) {
    world.ok("A", "acquire src/a");
    fs::create_dir(world.git_dir().join("agent-locks/v2")).unwrap();
}

fn shared(world: &World) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(world.git_dir(), fs::Permissions::from_mode(0o2775)).unwrap();
}

fn in_disorder(world: &World) {
    use std::os::unix::fs::PermissionsExt as _;
    world.ok("A", "acquire src/a");
    world.ok("B", "acquire x");
    let store = store_of(&world.git_dir());
    let damaged = files(&store, |name| name.ends_with(".lock"))
        .into_iter()
        .find(|record| fs::read_to_string(record).unwrap().contains("\"path\":\"x\""));
    let damaged = damaged.unwrap();
    fs::write(&damaged, super::oracle::GARBAGE).unwrap();
    let shard = damaged.parent().unwrap();
    fs::write(shard.join(format!("tmp-{}", "7".repeat(63))), "left").unwrap();
    fs::set_permissions(shard, fs::Permissions::from_mode(0o700)).unwrap();
    fs::create_dir(store.join("queue")).unwrap();
}
