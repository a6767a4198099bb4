//! What a racer writes down: before each operation what it is about to do, after it what it was told. Each line is one `write` to the racer's own
//! file, so a racer that is killed has written all that it knew. All racers read one clock, the time since boot in nanoseconds.

use std::{fs::File, io::Write as _, path::Path};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The clock of all histories.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

pub(crate) const MS: u64 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Deed {
    Acquire,
    Renew,
    Release,
    Break,
    Prune,
    Check,
    List,
}

/// Said right before an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begun {
    pub(crate) at: u64,
    pub(crate) deed: Deed,
    pub(crate) owner: String,
    /// As people write them: `src/a`, `src/` for an area, `.` for everything, `plan:1`. None: all there are.
    pub(crate) what: Vec<String>,
    /// How long the operation may wait for others.
    pub(crate) wait_ms: u64,
}

/// A lease that the racer was told it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) what: String,
    pub(crate) token: u64,
    /// It does not end before, by itself.
    pub(crate) until: u64,
    /// It was granted by this very operation.
    pub(crate) fresh: bool,
    /// It took the place of an expired one.
    pub(crate) took_over: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// These leases are the racer's own (none: it was refused, or had none to renew).
    Holds(Vec<Held>),
    /// These leases were ended, and no others.
    Ended(Vec<(String, u64)>),
    /// These leases were seen to be live.
    Saw(Vec<(String, u64)>),
    Done,
    /// The lease was over before it could be written. What there is of it is not told.
    TooSlow,
    /// What may never be.
    Failed(String),
}

/// Said right after an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) at: u64,
    pub(crate) answer: Answer,
}

#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Begun(Begun),
    Told(Told),
}

/// One operation.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub(crate) begun: Begun,
    /// Nothing when the racer was killed before it could say.
    pub(crate) told: Option<Told>,
    /// From then on the operation has no effect any more: its end, or a moment after which the killed racer is certainly gone.
    pub(crate) over_by: u64,
}

pub(crate) struct Log(File);

impl Log {
    pub(crate) fn create(path: &Path) -> Self {
        Self(File::create_new(path).unwrap())
    }

    pub(crate) fn begun(&mut self, begun: Begun) {
        self.write(&Line::Begun(begun));
    }

    pub(crate) fn told(&mut self, told: Told) {
        self.write(&Line::Told(told));
    }

    fn write(&mut self, line: &Line) {
        let mut bytes = serde_json::to_vec(line).unwrap();
        bytes.push(b'\n');
        self.0.write_all(&bytes).unwrap();
    }
}

/// Reads a racer's history. `gone_by`: when it was certainly gone.
pub(crate) fn read(path: &Path, gone_by: u64) -> Vec<Act> {
    // No file: it was killed before it could make one.
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut acts: Vec<Act> = Vec::new();
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        match serde_json::from_str(line).unwrap() {
            Line::Begun(begun) => acts.push(Act { begun, told: None, over_by: gone_by }),
            Line::Told(told) => {
                let act = acts.last_mut().unwrap();
                act.over_by = told.at;
                act.told = Some(told);
            }
        }
    }
    acts
}
