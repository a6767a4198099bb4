//! A racer: a process of its own that asks for one thing after the other and writes down what it is told. It is this very test binary, started
//! again with nothing to do but [`entry`].

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    binary::Binary,
    history::{Answer, Begun, Log, Told, now},
    library::Library,
    requests::{Request, Requests},
};

/// The variable that tells a racer its task.
pub(crate) const TASK: &str = "AGENTLOCK_RACER";
/// The name of the test that is a racer when it has a task.
pub(crate) const ENTRY: &str = "racer::entry";

/// What a racer was told last of each resource.
pub(crate) type Tokens = BTreeMap<String, u64>;

/// A way to ask.
pub(crate) trait Door {
    fn ask(&mut self, owner: &str, request: &Request, tokens: &Tokens) -> Answer;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Way {
    Library,
    Binary,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) way: Way,
    /// The repository, or the directory that the store is in.
    pub(crate) place: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) owner: String,
    pub(crate) seed: u64,
    pub(crate) racer: u64,
    /// How often it has been started again.
    pub(crate) life: u64,
    pub(crate) operations: usize,
}

impl Task {
    fn run(&self) {
        let mut door: Box<dyn Door> = match self.way {
            Way::Library => Box::new(Library::open(&self.place, self.life % 8 == 7)),
            Way::Binary => Box::new(Binary::open(&self.place)),
        };
        let (mut log, mut tokens) = (Log::create(&self.log), Tokens::new());
        for request in Requests::of(self.seed, self.racer, self.life).take(self.operations) {
            let what = request.what.iter().map(|what| (*what).to_owned()).collect();
            let (deed, owner, wait_ms) = (request.deed, self.owner.clone(), request.wait_ms);
            log.begun(Begun { at: now(), deed, owner, what, wait_ms });
            let answer = door.ask(&self.owner, &request, &tokens);
            let told = Told { at: now(), answer };
            if let Answer::Holds(held) = &told.answer {
                tokens.extend(held.iter().map(|held| (held.what.clone(), held.token)));
            }
            log.told(told);
            if request.rest_us > 0 {
                std::thread::sleep(Duration::from_micros(request.rest_us));
            }
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a racer is told its task in the environment")]
fn entry() {
    if let Ok(task) = std::env::var(TASK) {
        serde_json::from_str::<Task>(&task).unwrap().run();
    }
}
