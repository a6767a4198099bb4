//! Where records are kept: the seam between the rules and a disk (or, later, a distributed engine).
//!
//! A store knows neither what a lease means nor how long one may last. It shows records, and it runs a *decision*
//! atomically: the caller says what has to be read ([`ReadSet`]) and brings a [`Decide`], which is shown those
//! records and answers with a [`Plan`]. A file store runs it once with its mutexes held; a store on a
//! compare-and-swap engine runs it until the transaction goes through. So a decision may be called more than once,
//! must have no effect of its own, and reads its clock itself, each time.

mod error;
pub mod file;
mod journal;
pub mod memory;
mod session;
mod ticket;

pub use error::StoreError;
pub(crate) use error::io_cause;
pub use journal::Past;
pub use session::{Content, Kept, Note, Session, SessionError, Sight};
pub use ticket::{Ticket, TicketError};

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    clock::Timestamp,
    owner::Owner,
    record::{Reason, Record, Token},
    resource::{Resource, ResourceKey},
};

/// What a decision has to see, and what it may change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// The records that the decision is about. It may change these.
    pub own: Vec<ResourceKey>,
    /// Records that are only looked at: the areas that could contain a resource.
    pub around: Vec<ResourceKey>,
    /// Every record at or below these areas is looked at.
    pub below: Vec<Resource>,
    /// Every record there is. The decision may change all of them.
    pub all: bool,
    /// The requests that wait their turn.
    pub queue: bool,
}

impl ReadSet {
    /// Only the queue.
    #[must_use]
    pub fn only_the_queue() -> Self {
        Self { queue: true, ..Self::default() }
    }

    /// Adds what has to be seen to tell whether all of `resources` could be had; nothing of it may be changed for that.
    pub fn look_at<'r>(&mut self, resources: impl IntoIterator<Item = &'r Resource>) {
        let other = Self::overlapping(resources);
        self.around.extend(other.own.into_iter().chain(other.around));
        self.below.extend(other.below);
        self.normalize();
    }

    /// Everything that overlaps `resources`, and the records of the resources themselves.
    #[must_use]
    pub fn overlapping<'r>(resources: impl IntoIterator<Item = &'r Resource>) -> Self {
        let mut set = Self::default();
        for resource in resources {
            set.own.push(resource.key());
            set.around.extend(resource.ancestor_keys());
            if resource.is_area() {
                set.below.push(resource.clone());
            }
        }
        set.normalize();
        set
    }

    /// The resources' own records and those of the areas that could contain them.
    #[must_use]
    pub fn covering<'r>(resources: impl IntoIterator<Item = &'r Resource>) -> Self {
        let mut set = Self::overlapping(resources);
        set.below.clear();
        set
    }

    /// Every record of the store.
    #[must_use]
    pub fn everything() -> Self {
        Self { all: true, ..Self::default() }
    }

    fn normalize(&mut self) {
        self.own.sort_unstable();
        self.own.dedup();
        self.around.sort_unstable();
        self.around.dedup();
        self.around.retain(|key| self.own.binary_search(key).is_err());
    }
}

/// What stands at a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A record that could be read.
    Record(Box<Record>),
    /// Something that is there and could not be read. It is not free.
    Unreadable(Unreadable),
}

/// A record that cannot be read or parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it is.
    pub place: PathBuf,
    /// What is wrong with it, for people.
    pub cause: String,
    /// When it was written last, as far as the store can tell.
    pub changed_at: Option<Timestamp>,
}

/// The records that a decision is shown. A key that is not in it has no record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    entries: BTreeMap<ResourceKey, Seen>,
    /// The requests that wait, in no particular order, when the read set asked for them.
    pub queue: Vec<Ticket>,
}

impl View {
    /// What stands at this key.
    #[must_use]
    pub fn get(&self, key: ResourceKey) -> Option<&Seen> {
        self.entries.get(&key)
    }

    /// Everything that was seen, by key.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceKey, &Seen)> {
        self.entries.iter().map(|(key, seen)| (*key, seen))
    }

    /// All that was seen, by key.
    pub fn into_seen(self) -> impl Iterator<Item = Seen> {
        self.entries.into_values()
    }

    /// Keeps only what stands at keys that `is_wanted` wants.
    pub fn retain(&mut self, is_wanted: impl Fn(ResourceKey) -> bool) {
        self.entries.retain(|key, _| is_wanted(*key));
    }

    /// Adds what was seen at a key.
    pub fn insert(&mut self, key: ResourceKey, seen: Seen) {
        self.entries.insert(key, seen);
    }
}

/// How a record that is put gets its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRule {
    /// The token that is in the record.
    Keep,
    /// A new one from the store: above every token the resource ever had, above the one that is in the record (that of the record
    /// it replaces, if any), and above the Unix time in milliseconds.
    Fresh,
}

/// One change of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The record is written, in place of what was there.
    Put {
        /// The whole new record.
        record: Box<Record>,
        /// Whose token it gets.
        token: TokenRule,
    },
    /// The record, which now says how it has ended, is written; where there is no room for it, it is removed.
    End(Box<Record>),
    /// The record is removed.
    Remove(ResourceKey),
}

impl Change {
    /// The key of the record that is changed.
    #[must_use]
    pub fn key(&self) -> ResourceKey {
        match self {
            Self::Put { record, .. } | Self::End(record) => record.resource.key(),
            Self::Remove(key) => *key,
        }
    }
}

/// What happened, for the journal. History only: nothing is ever decided by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A lease was granted where none was.
    Granted,
    /// A lease was granted in place of one that had expired.
    TakenOver,
    /// A lease was found to have expired, when somebody was granted what overlaps it.
    Expired,
    /// The owner gave a lease back.
    Released,
    /// Somebody ended a lease of somebody else.
    Broken,
    /// An expired or ended record was removed.
    Pruned,
    /// Git changed what somebody held, by a way that no hook can refuse.
    WentPast,
}

impl Event {
    /// Its name in the journal.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::TakenOver => "taken_over",
            Self::Expired => "expired",
            Self::Released => "released",
            Self::Broken => "broken",
            Self::Pruned => "pruned",
            Self::WentPast => "went_past",
        }
    }
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
    /// Of which resource.
    pub resource: Resource,
    /// Whose lease.
    pub owner: Owner,
    /// Its token; `None` stands for the fresh token that this very change gave to the resource.
    pub token: Option<Token>,
    /// Whose lease it replaced, who broke it, or who went past it.
    pub other: Option<Owner>,
    /// Why.
    pub reason: Option<Reason>,
}

impl JournalLine {
    /// That something happened to the lease of a record.
    #[must_use]
    pub fn about(record: &Record, event: Event, at: Timestamp) -> Self {
        Self {
            at,
            event,
            resource: record.resource.clone(),
            owner: record.owner.clone(),
            token: Some(record.token),
            other: None,
            reason: None,
        }
    }
}

/// What may be cleared away beside a change.
pub struct Sweep {
    /// How long until the same place is swept again, in milliseconds.
    pub every_ms: u64,
    /// Whether a record has been of no use for long enough.
    pub doomed: Box<dyn Fn(&Record) -> bool>,
}

/// What to do when a change is already visible and then cannot be confirmed (a directory cannot be synced).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// Take it back and fail: nobody was promised anything.
    Undo,
    /// Let it stand and warn: the state is as wanted, only its durability is in doubt.
    Stand,
}

/// What a decision wants to be done.
pub struct Plan {
    /// The time at which it was decided.
    pub at: Timestamp,
    /// The changes, at most one of each key. None: nothing is written at all.
    pub changes: Vec<Change>,
    /// What to do about a late failure.
    pub late: Late,
    /// The right to clear away, when the time has come.
    pub sweep: Option<Sweep>,
    /// History.
    pub journal: Vec<JournalLine>,
}

impl Plan {
    /// A plan that changes nothing.
    #[must_use]
    pub fn nothing(at: Timestamp) -> Self {
        Self { at, changes: Vec::new(), late: Late::Stand, sweep: None, journal: Vec::new() }
    }
}

/// A decision: from records seen to changes wanted.
pub trait Decide {
    /// Decides, by what is in `view`. May be called again, with another view; only the last answer counts.
    fn decide(&mut self, view: &View) -> Plan;

    /// Asked once more right before the change becomes visible, after all that can take time. `false`: the plan is out of date
    /// (a lease ended meanwhile, a deadline passed); it is dropped and `decide` is called again.
    fn still_holds(&mut self) -> bool {
        true
    }
}

/// Whether a change may create the store and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only what exists is used; where no store is, there are no records.
    Existing,
    /// Made where missing.
    Create,
}

/// What a change has done.
#[derive(Debug, Default)]
pub struct Committed {
    /// The tokens of the records that asked for fresh ones.
    pub tokens: BTreeMap<ResourceKey, Token>,
    /// Removals and ends that failed, each for itself; all else of the plan was done.
    pub failed: Vec<(ResourceKey, StoreError)>,
    /// Parts of the store that could not be had, when everything was asked for: what is in them was neither seen nor changed.
    pub left_alone: Vec<StoreError>,
    /// What did not go as it should, though the change stands.
    pub warnings: Vec<String>,
}

/// Keeps records. See the module documentation for the contract; `tests/it/conformance.rs` holds each store to it.
pub trait Store {
    /// Shows records without taking any mutex. Each is seen as it was before or after a change, never half; two
    /// records may be of different instants. What is enumerated misses no record that exists all the time; where the read set has areas, nothing that
    /// it names has been missed in two looks, one after the other.
    ///
    /// # Errors
    /// [`StoreError`] when something that has to be read cannot be; single records that are damaged are [`Seen::Unreadable`].
    fn view(&self, read: &ReadSet) -> Result<View, StoreError>;

    /// Runs a decision and its changes atomically against all other changes.
    ///
    /// # Errors
    /// [`StoreError`]: then nothing was changed, unless it is [`StoreError::NotUndone`].
    fn change(&self, read: &ReadSet, access: Access, decision: &mut dyn Decide) -> Result<Committed, StoreError>;

    /// Puts a ticket into the queue, in place of the one with its name. It needs not survive a crash of the machine.
    ///
    /// # Errors
    /// [`StoreError`]: then it is not in the queue.
    fn enqueue(&self, ticket: &Ticket) -> Result<(), StoreError>;

    /// Takes a ticket out of the queue. That it cannot be taken out is no error: it ends by itself.
    fn dequeue(&self, name: &str);
}

/// The token rule of the design: above the counter, above the token that is replaced, above the Unix time in milliseconds.
///
/// # Errors
/// [`StoreError::NoMoreTokens`]: a token is never given out twice.
pub(crate) fn next_token(counter: u64, replaced: Token, at: Timestamp) -> Result<Token, StoreError> {
    let unix_ms = u64::try_from(at.millis()).unwrap_or(0);
    let highest = counter.max(replaced.get()).max(unix_ms);
    Token::new(highest.saturating_add(1)).ok_or(StoreError::NoMoreTokens)
}
