//! A store in memory, for tests of what is above it: the partner of the model, and the shortest example of the contract.

use std::{cell::RefCell, collections::BTreeMap};

use super::{
    Access, Change, Committed, Decide, Event, JournalLine, Plan, ReadSet, Seen, Store, StoreError, Sweep, Ticket,
    TokenRule, View, next_token,
};
use crate::{clock::Timestamp, resource::ResourceKey};

/// How often a plan may turn out to be out of date before the store gives up.
const ROUNDS: usize = 8;

/// Records in memory. Not shared between threads: what is atomic here is so because nothing else can run.
#[derive(Default)]
pub struct MemoryStore {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    records: BTreeMap<ResourceKey, Seen>,
    counter: u64,
    next_sweep: i64,
    queue: Vec<Ticket>,
    journal: Vec<JournalLine>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts something at a key behind the rules' back, such as a damaged record.
    pub fn plant(&self, key: ResourceKey, seen: Seen) {
        self.state.borrow_mut().records.insert(key, seen);
    }

    /// The history so far.
    #[must_use]
    pub fn journal(&self) -> Vec<JournalLine> {
        self.state.borrow().journal.clone()
    }
}

impl State {
    fn view(&self, read: &ReadSet) -> View {
        let mut view = View::default();
        for (key, seen) in &self.records {
            let is_below = || match seen {
                Seen::Record(record) => read.below.iter().any(|area| record.resource.is_within(area)),
                Seen::Unreadable(_) => !read.below.is_empty(),
            };
            if read.all || read.own.contains(key) || read.around.contains(key) || is_below() {
                view.insert(*key, seen.clone());
            }
        }
        if read.queue {
            view.queue.clone_from(&self.queue);
        }
        view
    }

    fn apply(&mut self, plan: Plan) -> Result<Committed, StoreError> {
        let mut committed = Committed::default();
        for change in plan.changes {
            match change {
                Change::Put { mut record, token } => {
                    let key = record.resource.key();
                    if token == TokenRule::Fresh {
                        let token = next_token(self.counter, record.token, plan.at)?;
                        self.counter = token.get();
                        record.token = token;
                        committed.tokens.insert(key, token);
                    }
                    self.records.insert(key, Seen::Record(record));
                }
                Change::End(record) => {
                    self.records.insert(record.resource.key(), Seen::Record(record));
                }
                Change::Remove(key) => {
                    self.records.remove(&key);
                }
            }
        }
        for mut line in plan.journal {
            line.token = line.token.or_else(|| committed.tokens.get(&line.resource.key()).copied());
            self.journal.push(line);
        }
        if let Some(sweep) = &plan.sweep {
            self.sweep(sweep, plan.at);
        }
        Ok(committed)
    }

    fn sweep(&mut self, sweep: &Sweep, at: Timestamp) {
        let next = at.plus_millis(i64::try_from(sweep.every_ms).unwrap_or(i64::MAX)).millis();
        // A time that lies further ahead than one interval was set under another clock.
        if at.millis() < self.next_sweep && self.next_sweep <= next {
            return;
        }
        self.next_sweep = next;
        self.records.retain(|_, seen| match seen {
            Seen::Record(record) if (sweep.doomed)(record) => {
                self.journal.push(JournalLine::about(record, Event::Pruned, at));
                false
            }
            _ => true,
        });
    }
}

impl Store for MemoryStore {
    fn view(&self, read: &ReadSet) -> Result<View, StoreError> {
        Ok(self.state.borrow().view(read))
    }

    fn change(&self, read: &ReadSet, _access: Access, decision: &mut dyn Decide) -> Result<Committed, StoreError> {
        let mut state = self.state.borrow_mut();
        for _ in 0..ROUNDS {
            let plan = decision.decide(&state.view(read));
            if plan.changes.is_empty() {
                return Ok(Committed::default());
            }
            if decision.still_holds() {
                return state.apply(plan);
            }
        }
        Err(StoreError::TooSlow)
    }

    fn enqueue(&self, ticket: &Ticket) -> Result<(), StoreError> {
        self.dequeue(&ticket.name);
        self.state.borrow_mut().queue.push(ticket.clone());
        Ok(())
    }

    fn dequeue(&self, name: &str) {
        self.state.borrow_mut().queue.retain(|ticket| ticket.name != name);
    }
}
