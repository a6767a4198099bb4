//! Every system call of every command that changes something: killed there, failed there with each error that the call can really give, and
//! stopped there while others go on. The calls are counted by the harness, so a new one is covered by construction.
//!
//! The part that CI runs kills the central commands everywhere and the others here and there, and makes each kind of call fail in each scene.
//! The whole matrix, with the release binary: `proof/every-system-call`.

mod errnos;
mod oracle;
mod scenes;
mod trace;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use oracle::{Left, Model, Snapshot};
use scenes::{Scene, World, words};
use trace::{Call, Fault};

use crate::sandbox::{BINARY, Ran, store_of, wait_until};

/// A scene is shared between so many workers.
const PARTS: usize = 4;
/// Who does not have to wait for a mutex is done in this time, however slow the machine is.
const SOON: Duration = Duration::from_secs(8);
/// Who waits for a mutex gives up after 10 s.
const BOUND: Duration = Duration::from_secs(40);

fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "how much is run, and of which build, is said from outside")]
    std::env::var(name).ok()
}

/// How much is tried, and with what.
struct Plan {
    everything: bool,
    program: PathBuf,
    only: Option<String>,
}

impl Plan {
    fn from_outside() -> Self {
        Self {
            everything: variable("AGENTLOCK_MATRIX").is_some_and(|much| much == "all"),
            program: variable("AGENTLOCK_BINARY").map_or_else(|| PathBuf::from(BINARY), PathBuf::from),
            only: variable("AGENTLOCK_SCENE"),
        }
    }

    fn scenes(&self) -> Vec<Scene> {
        let is_wanted = |scene: &Scene| self.only.as_ref().is_none_or(|only| scene.name.contains(only.as_str()));
        scenes::all().into_iter().filter(is_wanted).collect()
    }

    /// What is done in a scene.
    fn faults(&self, scene: &Scene, calls: &[Call]) -> Vec<(Call, Fault)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        calls.iter().for_each(|call| *counts.entry(call.name.as_str()).or_default() += 1);
        let mut chosen = Vec::new();
        for (n, call) in calls.iter().enumerate() {
            let is_of_stride = n % scene.stride == 0 || counts[call.name.as_str()] <= scene.stride;
            let errors = errnos::of(call).unwrap();
            if self.everything {
                if is_of_stride {
                    chosen.push((call.clone(), Fault::Kill));
                    chosen.extend(errors.iter().map(|error| (call.clone(), Fault::Fail(error))));
                }
                continue;
            }
            if is_central(scene) || (is_of_stride && n % 13 == 0) {
                chosen.push((call.clone(), Fault::Kill));
            }
            // Each kind of call in the middle, and here and there; the errors by turns.
            let is_the_middle = call.number == counts[call.name.as_str()].div_ceil(2);
            let is_of_hook = scene.hooks && call.text.contains("/hooks");
            if !errors.is_empty() && (is_the_middle || is_of_hook || (is_of_stride && n % 11 == scene.name.len() % 11))
            {
                chosen.push((call.clone(), Fault::Fail(errors[(n + scene.name.len()) % errors.len()])));
            }
        }
        chosen
    }

    /// The calls at which a run is stopped: from the first mutex on.
    fn stops(&self, scene: &Scene, calls: &[Call]) -> Vec<Call> {
        let first = calls.iter().position(|call| call.name == "flock").unwrap_or(calls.len());
        let critical = calls[first..].iter().filter(|call| call.name != "exit_group");
        let is_sampled = ["acquire, takeover", "acquire, area", "release, all"].contains(&scene.name);
        match self.everything {
            true => critical.step_by(scene.stride).cloned().collect(),
            // Late, where it has seen a part of the leases: others go on meanwhile.
            false if scene.damaged => critical.rev().step_by(12).take(6).cloned().collect(),
            false if is_sampled => critical.step_by(20).take(6).cloned().collect(),
            false => Vec::new(),
        }
    }
}

/// Killed everywhere, also by CI.
fn is_central(scene: &Scene) -> bool {
    ["acquire, first use", "acquire, takeover", "release"].contains(&scene.name)
}

/// What was tried.
#[derive(Debug, Default)]
struct Tally {
    /// Scene, name of the call, and its number.
    positions: BTreeSet<(&'static str, String, usize)>,
    names: BTreeSet<String>,
    kills: usize,
    errors: usize,
    stops: usize,
    waited: usize,
    not_reached: usize,
    /// In which scenes a kill has left all as before, and in which all as after.
    killed_before: BTreeSet<&'static str>,
    killed_after: BTreeSet<&'static str>,
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.positions.extend(other.positions);
        self.names.extend(other.names);
        self.kills += other.kills;
        self.errors += other.errors;
        self.stops += other.stops;
        self.waited += other.waited;
        self.not_reached += other.not_reached;
        self.killed_before.extend(other.killed_before);
        self.killed_after.extend(other.killed_after);
        self.failures.extend(other.failures);
    }

    fn guard(&mut self, point: &str, body: impl FnOnce(&mut Self)) {
        let caught = catch_unwind(AssertUnwindSafe(|| body(self)));
        if let Err(cause) = caught {
            let text = cause.downcast_ref::<String>().cloned();
            let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            self.failures.push(format!("{point}: {}", text.unwrap_or_default()));
        }
    }
}

/// A scene that is set, and what is known of it.
struct Stage<'s> {
    scene: &'s Scene,
    world: World,
    model: Model,
    calls: Vec<Call>,
    arguments: Vec<String>,
    /// States that have been found to be sound.
    known: BTreeSet<Snapshot>,
}

impl<'s> Stage<'s> {
    fn set(plan: &Plan, scene: &'s Scene) -> Self {
        let world = World::new(&plan.program, scene);
        let (git_dir, root) = (world.git_dir(), world.sandbox.root().to_owned());
        let arguments = words(scene.call);
        let before = Snapshot::of(&git_dir);
        let (_, first) = trace::calls(&world.caller(scene), scene, &root, &arguments);
        before.restore(&git_dir);
        // Of two runs the longer one: a token's width or a page of memory may make a difference.
        let (ran, second) = trace::calls(&world.caller(scene), scene, &root, &arguments);
        let after = Snapshot::of(&git_dir);
        let again = world.caller(scene).run(&arguments);
        let after_again = Snapshot::of(&git_dir);
        assert!(scene.unusable || before != after, "{}: {ran:#?}", scene.name);
        let model = Model { before, code: ran.code(), after, code_again: again.code(), after_again };
        assert_eq!(model.code, if scene.unusable { 4 } else { 0 }, "{}: {ran:#?}", scene.name);
        let calls = if first.len() > second.len() { first } else { second };
        Self { scene, world, model, calls, arguments, known: BTreeSet::new() }
    }

    fn restore(&self) {
        self.model.before.restore(&self.world.git_dir());
    }

    fn now(&self) -> Snapshot {
        Snapshot::of(&self.world.git_dir())
    }

    fn file_mode(&self) -> u32 {
        fs::metadata(self.world.git_dir()).unwrap().permissions().mode() & 0o666
    }

    /// A run that dies at a call, or in which the call fails.
    fn meet(&mut self, call: &Call, fault: Fault, tally: &mut Tally) {
        self.restore();
        let caller = self.world.caller(self.scene);
        let (agent, log) = trace::with_fault(&caller, self.scene, self.world.sandbox.root(), call, fault);
        let ran = agent.run(&self.arguments);
        match trace::has_acted(&ran, &log, fault) {
            false => tally.not_reached += 1,
            true if fault == Fault::Kill => tally.kills += 1,
            true => tally.errors += 1,
        }
        let code = ran.code();
        assert!(fault == Fault::Kill || code != 128 + 9, "killed: {ran:#?}");
        let told = ["error: ", "hint: "].iter().all(|told| ran.err().contains(told));
        assert!(code != 4 || told || call.name == "write", "no cause, or no remedy: {ran:#?}");
        let left = self.judge(&ran, call, fault, &[]);
        if code == 128 + 9 && left.all_old {
            tally.killed_before.insert(self.scene.name);
        }
        if code == 128 + 9 && left.all_new {
            tally.killed_after.insert(self.scene.name);
        }
    }

    /// What is left after a run that has ended, and whether the work goes on.
    fn judge(&mut self, ran: &Ran, call: &Call, fault: Fault, others: &[&str]) -> Left {
        let now = self.now();
        oracle::is_sound(&now, self.file_mode()).unwrap();
        let left = self.model.compare(self.scene, &now, others).unwrap();
        // What may not be read was not written by this program, says the installer.
        let is_anothers =
            self.scene.hooks && fault == Fault::Fail("EACCES") && ran.err().contains("is not ours any more");
        assert!(!is_anothers || left.all_old, "{ran:#?}");
        if is_anothers {
            return left;
        }
        oracle::agrees(self.scene, &self.model, ran.code(), left).unwrap_or_else(|wrong| panic!("{wrong}: {ran:#?}"));
        let may_leave =
            fault == Fault::Kill || call.name.starts_with("unlink") || self.scene.damaged || self.scene.sweeps;
        assert!(may_leave || now.left_overs().is_empty(), "{:?} is left over: {ran:#?}", now.left_overs());
        if self.scene.unusable || !self.known.insert(now.clone()) {
            return left;
        }
        if self.scene.hooks {
            self.go_on_with_hooks(call.number.is_multiple_of(2));
            return left;
        }
        self.look(&now);
        self.go_on(call.number.is_multiple_of(2), others);
        left
    }

    /// The store as others see it, at once.
    fn look(&self, now: &Snapshot) {
        let looker = self.world.agent("L");
        let list = looker.run(["--json", "list"]);
        assert_eq!(list.code(), if now.has_damaged_record() { 4 } else { 0 }, "{list:#?}");
        assert!(now.has_damaged_record() || list.document().unreadable.unwrap().is_empty(), "{list:#?}");
        let doctor = looker.run(["--json", "doctor"]);
        let mut expected = vec!["left_over", "stale", "permissions"];
        expected.extend(self.scene.damaged.then_some("damaged"));
        let findings = doctor.document().findings.unwrap();
        assert!(findings.iter().all(|finding| expected.contains(&finding.code.as_str())), "{doctor:#?}");
        let told = findings.iter().filter(|finding| finding.code == "left_over").count();
        assert_eq!(told, now.left_overs().len(), "left-overs that are recognised: {doctor:#?}");
        assert_eq!(doctor.code(), i32::from(!findings.is_empty()), "{doctor:#?}");
        assert_eq!(looker.holder_of(self.path()), now.holder("src/a"));
    }

    /// However the scene spells it.
    fn path(&self) -> &'static str {
        if self.scene.call.contains("SRC/A") { "SRC/A" } else { "src/a" }
    }

    /// The same call again, and `doctor --fix`, in either order; then all is as it would have been.
    fn go_on(&self, fix_first: bool, others: &[&str]) {
        let again = || {
            let ran = self.world.caller(self.scene).run(&self.arguments);
            assert!([self.model.code, self.model.code_again].contains(&ran.code()), "again: {ran:#?}");
        };
        let fix = || {
            let ran = self.world.agent("L").run(["doctor", "--fix", "--reason", "mend"]);
            assert!([0, 1].contains(&ran.code()), "fix: {ran:#?}");
        };
        let start = Instant::now();
        if fix_first {
            fix();
            again();
        } else {
            again();
            fix();
        }
        let now = self.now();
        oracle::is_sound(&now, self.file_mode()).unwrap();
        assert!(self.model.compare(self.scene, &now, others).unwrap().all_new, "not as it would have been: {now:?}");
        assert!(now.left_overs().is_empty(), "{:?}", now.left_overs());
        let findings = self.world.agent("L").run(["--json", "doctor"]).document().findings.unwrap();
        assert!(findings.iter().all(|finding| finding.code == "stale"), "{findings:?}");
        let other = self.world.agent("C").run(["acquire", self.path()]);
        assert_eq!(other.code(), i32::from(now.holder("src/a").is_some()), "{other:#?}");
        assert!(start.elapsed() < SOON, "a mutex is held: {:?}", start.elapsed());
    }

    /// The same call again completes it; its opposite takes it back.
    fn go_on_with_hooks(&self, forth: bool) {
        let call = match (forth, self.scene.call.strip_prefix("hook install ")) {
            (true, _) => self.scene.call.to_owned(),
            (false, Some(name)) => format!("hook uninstall {name}"),
            (false, None) => self.scene.call.replace("uninstall", "install"),
        };
        let ran = self.world.agent("L").ok(words(&call));
        let now = self.now();
        match forth {
            true => assert!(self.model.compare(self.scene, &now, &[]).unwrap().all_new, "{ran:#?}: {now:?}"),
            false => assert!(self.model.hooks_are_as_before(&now), "{ran:#?}: {now:?}"),
        }
        assert!(now.left_overs().is_empty(), "{:?}: {ran:#?}", now.left_overs());
    }

    /// A run that stands still when a call is done, and goes on later.
    fn stop(&mut self, call: &Call, tally: &mut Tally) {
        self.restore();
        let caller = self.world.caller(self.scene);
        let (agent, log) = trace::with_fault(&caller, self.scene, self.world.sandbox.root(), call, Fault::Stop);
        let mut command = agent.command(&self.arguments);
        let shown = format!("{command:?}");
        let mut child = command.spawn().unwrap();
        wait_until("the run has stopped or ended", || {
            trace::stopped(&log).is_some() || child.try_wait().unwrap().is_some()
        });
        let Some(pid) = trace::stopped(&log) else {
            tally.not_reached += 1;
            let ran = Ran::wait(child, shown);
            self.judge(&ran, call, Fault::Stop, &[]);
            return;
        };
        // Whatever is found wrong, it must not stand there for ever.
        let found = catch_unwind(AssertUnwindSafe(|| self.while_stopped(pid, tally)));
        let id = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::CONT).unwrap();
        let ran = Ran::wait(child, shown);
        found.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
        tally.stops += 1;
        assert_eq!(ran.code(), self.model.code, "{ran:#?}");
        self.judge(&ran, call, Fault::Stop, &[&scenes::neighbours()[0]]);
    }

    fn while_stopped(&self, pid: u32, tally: &mut Tally) {
        let now = self.now();
        oracle::is_sound(&now, self.file_mode()).unwrap();
        self.model.compare(self.scene, &now, &[]).unwrap();
        let start = Instant::now();
        let list = self.world.agent("L").run(["--json", "list"]);
        assert_eq!(list.code(), if now.has_damaged_record() { 4 } else { 0 }, "{list:#?}");
        assert_eq!(self.world.agent("L").holder_of("src/a"), now.holder("src/a"));
        assert!(start.elapsed() < SOON, "looking waits: {:?}", start.elapsed());

        let start = Instant::now();
        let other = self.world.agent("B").run(["acquire", &scenes::neighbours()[0]]);
        let took = start.elapsed();
        if self.is_in_the_way(pid) {
            tally.waited += 1;
            assert_eq!(other.code(), 4, "{other:#?}");
            other.err_has(&["was busy for 10 s", &format!("process {pid} sits on it"), "hint: "]);
            assert!(took < BOUND, "{took:?}");
            let doctor = self.world.agent("L").run(["doctor"]);
            doctor.out_has(&[&format!("process {pid} sits on the mutex"), "and is stopped"]);
        } else {
            assert_eq!(other.code(), 0, "{other:#?}");
            assert!(took < SOON, "{took:?}");
        }
    }

    /// Whether it holds a mutex that who acquires the neighbour needs.
    fn is_in_the_way(&self, pid: u32) -> bool {
        let store = store_of(&self.world.git_dir());
        let inode = |path: PathBuf| fs::metadata(path).map(|meta| meta.ino().to_string()).unwrap_or_default();
        let shard = self.shard();
        let (gate, mutex, shard) = (inode(store.join("gate")), inode(store.join("mutex")), inode(shard));
        // The list is not read in one piece: an entry can slip through while others come and go.
        let locks: String = (0..5).map(|_| fs::read_to_string("/proc/locks").unwrap()).collect();
        locks.lines().filter(|line| !line.contains("->")).any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (kind, held) = (fields[3], fields[5].rsplit(':').next().unwrap());
            fields[4] == pid.to_string() && (held == gate || held == shard || (held == mutex && kind == "WRITE"))
        })
    }

    /// The mutex of the shard that `src/a` and its neighbour are in.
    fn shard(&self) -> PathBuf {
        static SHARD: std::sync::OnceLock<String> = std::sync::OnceLock::new();
        let name = SHARD.get_or_init(|| {
            let (sandbox, repo) = crate::sandbox::Sandbox::with_repo();
            sandbox.agent(&repo, "A").ok(["acquire", "src/a"]);
            let record = crate::sandbox::records(&store_of(&repo.join(".git"))).remove(0);
            record.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
        });
        store_of(&self.world.git_dir()).join(name).join("mutex")
    }
}

/// Gives the jobs to as many workers.
fn share_out(workers: usize, jobs: usize, work: impl Fn(usize, &mut Tally) + Sync) -> Tally {
    let (next, whole) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut tally = Tally::default();
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    if job >= jobs {
                        break;
                    }
                    tally.guard("the scene", |tally| work(job, tally));
                }
                whole.lock().unwrap().add(tally);
            });
        }
    });
    whole.into_inner().unwrap()
}

/// Past the capture of the test's output: the numbers are what this is run for.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn report(what: &str, start: Instant, tally: &Tally) {
    say(&format!(
        "every system call, {what}: {} positions of {} calls; killed {}, failed {}, stopped {} ({} with others waiting); not reached {}; \
         failures {}; {} s",
        tally.positions.len(),
        tally.names.len(),
        tally.kills,
        tally.errors,
        tally.stops,
        tally.waited,
        tally.not_reached,
        tally.failures.len(),
        start.elapsed().as_secs(),
    ));
    let tried = tally.kills + tally.errors + tally.stops;
    assert!(
        tally.failures.is_empty(),
        "{} failures:\n{}",
        tally.failures.len(),
        tally.failures[..tally.failures.len().min(20)].join("\n\n")
    );
    assert!(tally.not_reached * 5 <= tried, "too many calls are not the same from run to run");
}

#[test]
#[ignore = "needs strace"]
fn every_system_call_killed_and_failed() {
    let (plan, start) = (Plan::from_outside(), Instant::now());
    let scenes = plan.scenes();
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let tally = share_out(workers, scenes.len() * PARTS, |job, tally| {
        let (scene, part) = (&scenes[job / PARTS], job % PARTS);
        let mut stage = Stage::set(&plan, scene);
        let faults = plan.faults(scene, &stage.calls);
        if part == 0 {
            tally.names.extend(stage.calls.iter().map(|call| call.name.clone()));
            say(&format!("  {}: {} calls, {} faults", scene.name, stage.calls.len(), faults.len()));
        }
        for (call, fault) in faults.iter().skip(part).step_by(PARTS) {
            tally.positions.insert((scene.name, call.name.clone(), call.number));
            let point = format!("{}, {fault:?} at {} {}: {}", scene.name, call.name, call.number, call.text);
            tally.guard(&point, |tally| stage.meet(call, *fault, tally));
        }
    });
    report("killed and failed", start, &tally);
    for scene in scenes.iter().filter(|scene| is_central(scene) || (plan.everything && !scene.unusable)) {
        assert!(tally.killed_before.contains(scene.name), "{}: never killed before the change", scene.name);
        assert!(tally.killed_after.contains(scene.name), "{}: never killed after the change", scene.name);
    }
}

#[test]
#[ignore = "needs strace"]
fn every_system_call_stopped_while_others_go_on() {
    let (plan, start) = (Plan::from_outside(), Instant::now());
    let scenes = plan.scenes();
    // Most of the time is waiting.
    let workers = if plan.everything { 24 } else { 9 };
    let jobs = Mutex::new(Vec::new());
    for scene in scenes.iter().filter(|scene| !scene.unusable && !scene.umask && !scene.hooks) {
        let stops = plan.stops(scene, &Stage::set(&plan, scene).calls);
        jobs.lock()
            .unwrap()
            .extend(stops.chunks(if plan.everything { 6 } else { 2 }).map(|chunk| (scene, chunk.to_vec())));
    }
    let jobs = jobs.into_inner().unwrap();
    let tally = share_out(workers, jobs.len(), |job, tally| {
        let (scene, calls) = &jobs[job];
        let mut stage = Stage::set(&plan, scene);
        for call in calls {
            tally.positions.insert((scene.name, call.name.clone(), call.number));
            tally.names.insert(call.name.clone());
            let point = format!("{}, stopped after {} {}: {}", scene.name, call.name, call.number, call.text);
            tally.guard(&point, |tally| stage.stop(call, tally));
        }
    });
    report("stopped", start, &tally);
}
