//! Starts the racers of a round, kills them, starts them again, stops them and lets them go on, and collects their histories.

use std::{
    io::{self, Read as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    chance::Chance,
    history::{self, Act},
    racer::{ENTRY, TASK, Task, Way},
    sandbox::Sandbox,
};

/// A round in which somebody waits for ever ends here, and is a failure.
const LONGEST_ROUND: Duration = Duration::from_secs(180);

/// What happened in a round.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) acts: Vec<Act>,
    pub(crate) kills: u64,
    pub(crate) stops: u64,
    /// Racers that ended as they should not, and what they said.
    pub(crate) failures: Vec<String>,
}

pub(crate) struct Course {
    sandbox: Sandbox,
    place: PathBuf,
    way: Way,
    seed: u64,
}

/// A racer that is under way, in a process group with whatever it has started.
struct Running {
    racer: u64,
    life: u64,
    left: usize,
    child: Child,
    group: Pid,
    log: PathBuf,
    /// All of its group have this pipe open: its end is the end of them all.
    said: JoinHandle<String>,
    stopped_until: Option<Instant>,
}

impl Course {
    pub(crate) fn new(way: Way, seed: u64) -> Self {
        let (sandbox, repo) = Sandbox::with_repo();
        let place = match way {
            Way::Binary => {
                let policy = "[ttl]\nmin = \"1ms\"\nkeep-expired = \"20ms\"\n[store]\nfsync = false\n";
                std::fs::write(repo.join(".git/agentlock.toml"), policy).unwrap();
                repo
            }
            Way::Library => {
                let place = sandbox.root().join("store");
                std::fs::create_dir(&place).unwrap();
                place
            }
        };
        Self { sandbox, place, way, seed }
    }

    /// Two racers have one owner, a third is their sub-agent. A racer that is started again goes on as who it was, as its own sub-agent, or as another.
    fn owner(racer: u64, life: u64) -> String {
        let name = match racer {
            0 | 1 => "racer-1".to_owned(),
            2 => "racer-1/sub".to_owned(),
            racer => format!("racer-{racer}"),
        };
        match life % 3 {
            0 => name,
            1 => format!("{name}/sub"),
            _ => format!("racer-{racer}-{life}"),
        }
    }

    fn start(&self, racer: u64, life: u64, operations: usize) -> Running {
        let log = self.sandbox.root().join(format!("{racer}-{life}.log"));
        let (way, place, owner, seed) = (self.way, self.place.clone(), Self::owner(racer, life), self.seed);
        let task = Task { way, place, log: log.clone(), owner, seed, racer, life, operations };
        let mut command = self.sandbox.command(std::env::current_exe().unwrap(), self.sandbox.root());
        command.args(["--exact", ENTRY, "--nocapture", "--test-threads=1"]);
        command.env(TASK, serde_json::to_string(&task).unwrap());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            stderr.read_to_end(&mut said).unwrap();
            String::from_utf8_lossy(&said).into_owned()
        });
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        Running { racer, life, left: operations, child, group, log, said, stopped_until: None }
    }

    /// Runs so many operations by so many racers.
    pub(crate) fn run(&self, racers: u64, operations: usize) -> Round {
        let (start, mut round) = (Instant::now(), Round::default());
        let mut chance = Chance::of(&[self.seed, racers]);
        let each = operations.div_ceil(usize::try_from(racers).unwrap());
        let mut running: Vec<Running> = (0..racers).map(|racer| self.start(racer, 0, each)).collect();
        while !running.is_empty() {
            std::thread::sleep(Duration::from_micros(chance.within(200, 8000)));
            let is_late = start.elapsed() > LONGEST_ROUND;
            if is_late {
                round.failures.push(format!("{} racers do not end", running.len()));
                running.iter().for_each(|racer| racer.signal(Signal::KILL));
            }
            let (ended, still): (Vec<_>, Vec<_>) = running.drain(..).partition(|racer| is_late || racer.has_ended());
            for racer in ended {
                racer.collect(is_late, &mut round);
            }
            running = still;
            running.iter_mut().for_each(Running::go_on_in_time);
            if let Some(at) = running.len().checked_sub(1).map(|last| chance.below(last as u64 + 1)) {
                self.disturb(usize::try_from(at).unwrap(), &mut running, &mut chance, &mut round);
            }
        }
        round
    }

    fn disturb(&self, at: usize, running: &mut Vec<Running>, chance: &mut Chance, round: &mut Round) {
        match chance.below(100) {
            0..6 => {
                let racer = running.swap_remove(at);
                racer.signal(Signal::KILL);
                round.kills += 1;
                let (number, life, left) = (racer.racer, racer.life, racer.left);
                let done = racer.collect(true, round);
                if left > done {
                    running.push(self.start(number, life + 1, left - done));
                }
            }
            6..30 if running[at].stopped_until.is_none() => {
                let ms = if chance.percent(3) { chance.below(300) } else { chance.below(15) };
                running[at].signal(Signal::STOP);
                running[at].stopped_until = Some(Instant::now() + Duration::from_millis(ms));
                round.stops += 1;
            }
            _ => {}
        }
    }
}

impl Running {
    fn signal(&self, signal: Signal) {
        match kill_process_group(self.group, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => panic!("{signal:?}: {}", io::Error::from(error)),
        }
    }

    fn go_on_in_time(&mut self) {
        if self.stopped_until.is_some_and(|until| Instant::now() >= until) {
            self.signal(Signal::CONT);
            self.stopped_until = None;
        }
    }

    /// The process is not yet waited for, so that its group cannot become somebody else's.
    fn has_ended(&self) -> bool {
        self.said.is_finished()
    }

    /// Waits for its end and takes over its history. How many operations it began.
    fn collect(mut self, was_killed: bool, round: &mut Round) -> usize {
        let said = self.said.join().unwrap();
        let status = self.child.wait().unwrap();
        if !was_killed && !status.success() {
            round.failures.push(format!("racer {}-{}: {status}\n{said}", self.racer, self.life));
        }
        let acts = history::read(Path::new(&self.log), history::now());
        let done = acts.len();
        round.acts.extend(acts);
        done
    }
}
