//! The contract of a [`Store`]: one suite, run against each store there is.

use git_agentlock::{
    clock::Timestamp,
    record::{End, Ended, Record, Token},
    resource::{Project, Resource, Scope},
    store::{
        Access, Change, Committed, Decide, Event, JournalLine, Late, Plan, ReadSet, Seen, Store, StoreError, Sweep,
        TokenRule, Unreadable, View, memory::MemoryStore,
    },
};

use crate::lib_world::{
    DAY_MS, Disk, TTL_MS, area, failure, file, in_one_shard, named, noon, owner, seen, set_changed, ttl,
};

const HOUR_MS: u64 = 3_600_000;

/// A store that can be looked into behind its back.
trait Subject {
    fn new() -> Self;
    fn store(&self) -> &dyn Store;
    /// Puts something that is no record at a key.
    fn damage(&self, what: &Resource);
    /// The history: what happened, to whose lease, with which token.
    fn journal(&self) -> Vec<(String, String, u64)>;
    /// Everything that the store keeps, as one text.
    fn state(&self) -> String;
}

struct Memory(MemoryStore);

impl Subject for Memory {
    fn new() -> Self {
        Self(MemoryStore::new())
    }

    fn store(&self) -> &dyn Store {
        &self.0
    }

    fn damage(&self, what: &Resource) {
        let unreadable = Unreadable { place: "memory".into(), cause: "planted".into(), changed_at: Some(noon()) };
        self.0.plant(what.key(), Seen::Unreadable(unreadable));
    }

    fn journal(&self) -> Vec<(String, String, u64)> {
        let line = |line: JournalLine| {
            (line.event.as_str().to_owned(), line.owner.as_str().to_owned(), line.token.map_or(0, Token::get))
        };
        self.0.journal().into_iter().map(line).collect()
    }

    fn state(&self) -> String {
        format!("{:?}", (self.0.view(&ReadSet::everything()).expect("a view"), self.0.journal()))
    }
}

impl Subject for Disk {
    fn new() -> Self {
        Self::new()
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn damage(&self, what: &Resource) {
        std::fs::create_dir_all(self.shard(what)).expect("the shard");
        std::fs::write(self.record_path(what), b"null\n").expect("written");
        set_changed(&self.record_path(what), noon());
    }

    fn journal(&self) -> Vec<(String, String, u64)> {
        let text = std::fs::read_to_string(self.v1().join("journal.jsonl")).unwrap_or_default();
        let line = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
            let text = |field: &str| line[field].as_str().expect("a text").to_owned();
            (text("event"), text("owner"), line["token"].as_u64().expect("a number"))
        };
        text.lines().map(line).collect()
    }

    fn state(&self) -> String {
        format!("{:?}", self.tree())
    }
}

/// The file store as it is used, with every fsync.
struct Durable(Disk);

impl Subject for Durable {
    fn new() -> Self {
        let mut disk = Disk::new();
        disk.store = disk.store.with_fsync(true);
        Self(disk)
    }

    fn store(&self) -> &dyn Store {
        &self.0.store
    }

    fn damage(&self, what: &Resource) {
        self.0.damage(what);
    }

    fn journal(&self) -> Vec<(String, String, u64)> {
        self.0.journal()
    }

    fn state(&self) -> String {
        self.0.state()
    }
}

/// A decision out of two functions.
struct By<D, H>(D, H);

impl<D: FnMut(&View) -> Plan, H: FnMut() -> bool> Decide for By<D, H> {
    fn decide(&mut self, view: &View) -> Plan {
        (self.0)(view)
    }

    fn still_holds(&mut self) -> bool {
        (self.1)()
    }
}

fn run(
    store: &dyn Store,
    read: &ReadSet,
    access: Access,
    decide: impl FnMut(&View) -> Plan,
) -> Result<Committed, StoreError> {
    store.change(read, access, &mut By(decide, || true))
}

fn own(what: &[&Resource]) -> ReadSet {
    ReadSet { own: what.iter().map(|resource| resource.key()).collect(), ..ReadSet::default() }
}

fn a_record(what: &Resource, who: &str) -> Record {
    Record {
        resource: what.clone(),
        owner: owner(who),
        reason: None,
        token: Token::FIRST,
        acquired_at: noon(),
        renewed_at: noon(),
        expires_at: noon().plus_millis(60_000),
        ttl: ttl(TTL_MS),
        boot: None,
        replaced: None,
        ended: None,
        host: String::new(),
        pid: 1,
    }
}

fn put(what: &Resource, who: &str, token: TokenRule) -> Change {
    Change::Put { record: Box::new(a_record(what, who)), token }
}

fn plan(at: Timestamp, changes: Vec<Change>) -> Plan {
    Plan { changes, late: Late::Undo, ..Plan::nothing(at) }
}

/// Gives `what` to `who` with a fresh token, at noon.
fn give(store: &dyn Store, what: &Resource, who: &str) -> Token {
    let changes = || vec![put(what, who, TokenRule::Fresh)];
    let read = ReadSet::overlapping([what]);
    let committed = run(store, &read, Access::Create, |_| plan(noon(), changes())).expect("it is put");
    committed.tokens[&what.key()]
}

fn held(store: &dyn Store, what: &Resource) -> Option<(String, Token)> {
    match seen(store, what) {
        Some(Seen::Record(record)) => Some((record.owner.as_str().to_owned(), record.token)),
        Some(Seen::Unreadable(unreadable)) => panic!("{unreadable:?}"),
        None => None,
    }
}

fn what_is_not_there_is_not_shown(subject: &impl Subject) {
    assert_eq!(seen(subject.store(), &file("a")), None);
    let everything = subject.store().view(&ReadSet::everything()).expect("a view");
    assert_eq!(everything.iter().count(), 0);
    give(subject.store(), &file("b"), "A");
    assert_eq!(seen(subject.store(), &file("a")), None);
}

fn what_is_put_is_shown_with_its_token(subject: &impl Subject) {
    let token = give(subject.store(), &file("a"), "A");
    assert_eq!(held(subject.store(), &file("a")), Some(("A".to_owned(), token)));
    assert!(token.get() > u64::try_from(noon().millis()).expect("after 1970"), "above the Unix time");
}

/// Also after the record was removed, after the clock was set back, and above the token of the record replaced.
fn fresh_tokens_grow_and_never_repeat(subject: &impl Subject) {
    let (store, what) = (subject.store(), file("a"));
    let mut last = give(store, &what, "A").get();
    let clocks = [0, 0, -1, -DAY_MS, DAY_MS, i64::MIN, -DAY_MS, i64::MIN];
    for (n, step) in clocks.into_iter().enumerate() {
        let at = noon().plus_millis(step);
        if n % 2 == 1 {
            run(store, &own(&[&what]), Access::Existing, |_| plan(at, vec![Change::Remove(what.key())])).expect("gone");
        }
        let changes = || vec![put(&what, "B", TokenRule::Fresh)];
        let committed = run(store, &own(&[&what]), Access::Create, |_| plan(at, changes())).expect("it is put");
        let token = committed.tokens[&what.key()].get();
        assert!(token > last, "{token} after {last}, clock {step}");
        assert_eq!(held(store, &what).expect("a record").1.get(), token);
        last = token;
    }
    let mut replacing = a_record(&what, "C");
    replacing.token = Token::new(last + 1_000_000).expect("a token");
    let change = Change::Put { record: Box::new(replacing), token: TokenRule::Fresh };
    let committed = run(store, &own(&[&what]), Access::Create, |_| plan(noon(), vec![change.clone()])).expect("put");
    assert!(committed.tokens[&what.key()].get() > last + 1_000_000);
}

fn a_kept_token_is_kept(subject: &impl Subject) {
    let what = file("a");
    give(subject.store(), &what, "A");
    let mut record = a_record(&what, "B");
    record.token = Token::new(77).expect("a token");
    let change = Change::Put { record: Box::new(record), token: TokenRule::Keep };
    let committed = run(subject.store(), &own(&[&what]), Access::Create, |_| plan(noon(), vec![change.clone()]));
    assert!(committed.expect("it is put").tokens.is_empty());
    assert_eq!(held(subject.store(), &what), Some(("B".to_owned(), Token::new(77).expect("a token"))));
}

fn what_is_removed_is_gone(subject: &impl Subject) {
    let (gone, stays) = (file("a"), file("b"));
    give(subject.store(), &gone, "A");
    give(subject.store(), &stays, "A");
    let removal = |_: &View| plan(noon(), vec![Change::Remove(gone.key())]);
    for _ in 0..2 {
        let committed = run(subject.store(), &own(&[&gone]), Access::Existing, removal).expect("it is removed");
        assert!(committed.failed.is_empty() && committed.warnings.is_empty(), "{committed:?}");
        assert_eq!(held(subject.store(), &gone), None);
    }
    assert!(held(subject.store(), &stays).is_some());
}

fn an_ended_record_is_there_and_says_so(subject: &impl Subject) {
    let what = file("a");
    let token = give(subject.store(), &what, "A");
    let mut record = a_record(&what, "A");
    (record.token, record.ended) = (token, Some(Ended { at: noon(), how: End::Released }));
    let end = |_: &View| plan(noon(), vec![Change::End(Box::new(record.clone()))]);
    run(subject.store(), &own(&[&what]), Access::Existing, end).expect("it is ended");
    assert_eq!(seen(subject.store(), &what), Some(Seen::Record(Box::new(record))));
}

/// New records, a replacement, an end and a removal, in different places.
fn one_plan_does_all_its_changes(subject: &impl Subject) {
    let (store, all) = (subject.store(), ["a", "b", "c", "d", "e"].map(file));
    for what in &all[..3] {
        give(store, what, "A");
    }
    let mut ended = a_record(&all[1], "A");
    ended.ended = Some(Ended { at: noon(), how: End::Released });
    let read = ReadSet::everything();
    run(store, &read, Access::Create, |view| {
        assert_eq!(view.iter().count(), 3);
        let changes = vec![
            Change::Remove(all[0].key()),
            Change::End(Box::new(ended.clone())),
            put(&all[2], "B", TokenRule::Fresh),
            put(&all[3], "B", TokenRule::Fresh),
            put(&all[4], "B", TokenRule::Keep),
        ];
        plan(noon(), changes)
    })
    .expect("all is done");
    let owners = all.each_ref().map(|what| held(store, what).map(|(owner, _)| owner));
    assert_eq!(owners.each_ref().map(Option::as_deref), [None, Some("A"), Some("B"), Some("B"), Some("B")]);
}

/// A plan that is out of date is dropped, the decision is asked again, and only its last answer counts.
fn nothing_of_a_dropped_plan_is_seen(subject: &impl Subject) {
    let (store, kept, other) = (subject.store(), file("kept"), file("other"));
    let token = give(store, &kept, "A");
    let before = subject.journal();
    let (mut decided, mut asked) = (0, 0);
    let decide = |view: &View| {
        assert!(matches!(view.get(kept.key()), Some(Seen::Record(record)) if record.owner == owner("A")));
        assert_eq!(view.get(other.key()), None);
        decided += 1;
        let changes = match decided {
            1 => vec![put(&kept, "B", TokenRule::Fresh), put(&other, "B", TokenRule::Fresh)],
            2 => vec![Change::Remove(kept.key())],
            _ => vec![put(&other, "C", TokenRule::Fresh)],
        };
        let line = JournalLine {
            at: noon(),
            event: Event::Granted,
            resource: other.clone(),
            owner: owner("C"),
            token: None,
            other: None,
            reason: None,
        };
        Plan { journal: vec![line], ..plan(noon(), changes) }
    };
    let still_holds = || {
        asked += 1;
        asked == 3
    };
    let committed = store.change(&own(&[&kept, &other]), Access::Create, &mut By(decide, still_holds)).expect("done");
    assert_eq!((decided, asked), (3, 3));
    assert_eq!(committed.tokens.keys().copied().collect::<Vec<_>>(), [other.key()]);
    assert_eq!(held(store, &kept), Some(("A".to_owned(), token)));
    assert_eq!(held(store, &other), Some(("C".to_owned(), committed.tokens[&other.key()])));
    let told = (String::from("granted"), String::from("C"), committed.tokens[&other.key()].get());
    assert_eq!(subject.journal(), [before, vec![told]].concat());
    assert!(!subject.state().contains("tmp-"));
}

fn a_plan_that_never_holds_changes_nothing(subject: &impl Subject) {
    let what = file("a");
    give(subject.store(), &what, "A");
    let all = || subject.store().view(&ReadSet::everything()).expect("a view");
    let before = (all(), subject.journal());
    let decide =
        |_: &View| plan(noon(), vec![put(&what, "B", TokenRule::Fresh), put(&file("b"), "B", TokenRule::Fresh)]);
    let read = own(&[&what, &file("b")]);
    let failed = failure(subject.store().change(&read, Access::Create, &mut By(decide, || false)));
    assert!(matches!(failed, StoreError::TooSlow), "{failed}");
    assert_eq!((all(), subject.journal()), before);
    assert!(!subject.state().contains("tmp-"));
}

/// Not even what would be due to be swept, nor a line of history.
fn a_plan_without_changes_writes_nothing(subject: &impl Subject) {
    let what = file("a");
    give(subject.store(), &what, "A");
    let before = subject.state();
    let mut asked = 0;
    let decide = |_: &View| {
        let at = noon().plus_millis(10 * DAY_MS);
        let line = JournalLine {
            at,
            event: Event::Broken,
            resource: what.clone(),
            owner: owner("A"),
            token: None,
            other: None,
            reason: None,
        };
        Plan { journal: vec![line], sweep: Some(sweeping(|_| true)), ..Plan::nothing(at) }
    };
    let still_holds = || {
        asked += 1;
        true
    };
    let read = own(&[&what]);
    let committed = subject.store().change(&read, Access::Create, &mut By(decide, still_holds)).expect("nothing");
    assert!(committed.tokens.is_empty() && committed.failed.is_empty() && committed.warnings.is_empty());
    assert_eq!(subject.state(), before);
}

fn a_read_set_shows_what_it_names_and_nothing_else(subject: &impl Subject) {
    let store = subject.store();
    let mut elsewhere = file("src/a");
    elsewhere.scope = Scope { project: Project::Label("other".to_owned()), ..Scope::implicit() };
    let there = [
        file("src"),
        file("src/a"),
        area("src/b"),
        file("src/b/c"),
        file("src.rs"),
        named("src:a"),
        elsewhere,
        file("z"),
    ];
    for what in &there {
        give(store, what, "A");
    }
    let shown = |read: ReadSet| {
        let by_view = store.view(&read).expect("a view");
        run(store, &read, Access::Existing, |view| {
            assert_eq!(view, &by_view, "a decision and a look are shown the same");
            Plan::nothing(noon())
        })
        .expect("a view");
        let names = by_view.iter().map(|(key, _)| there.iter().position(|what| what.key() == key).expect("of these"));
        let mut names: Vec<usize> = names.collect();
        names.sort_unstable();
        names
    };
    let none = ReadSet::default();
    assert_eq!(shown(none.clone()), [0; 0]);
    assert_eq!(shown(own(&[&file("src/a"), &file("absent")])), [1]);
    assert_eq!(shown(ReadSet { around: vec![file("src").key(), file("no").key()], ..none.clone() }), [0]);
    assert_eq!(shown(ReadSet { below: vec![area("src")], ..none.clone() }), [0, 1, 2, 3]);
    assert_eq!(shown(ReadSet { below: vec![area("src/b")], ..none.clone() }), [2, 3]);
    assert_eq!(shown(ReadSet { below: vec![area("")], ..none.clone() }), [0, 1, 2, 3, 4, 7]);
    assert_eq!(shown(ReadSet::everything()), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(shown(ReadSet::overlapping([&file("src/b/c")])), [0, 2, 3], "itself and what is above");
    assert_eq!(shown(ReadSet::overlapping([&area("src/b")])), [0, 2, 3], "above and below");
    assert_eq!(shown(ReadSet::covering([&area("src/b")])), [0, 2], "above only");
}

fn what_cannot_be_read_is_shown_as_such(subject: &impl Subject) {
    let (store, broken, whole) = (subject.store(), file("src/broken"), file("src/whole"));
    give(store, &whole, "A");
    subject.damage(&broken);
    match seen(store, &broken) {
        Some(Seen::Unreadable(unreadable)) => {
            assert_eq!(unreadable.changed_at, Some(noon()));
            assert!(!unreadable.cause.is_empty());
        }
        other => panic!("{other:?}"),
    }
    let is_shown = |read: ReadSet| store.view(&read).expect("a view").get(broken.key()).is_some();
    assert!(!is_shown(own(&[&whole])), "it does not stand in the way of others");
    assert!(is_shown(ReadSet { below: vec![area("elsewhere")], ..ReadSet::default() }), "it could be anything below");
    assert!(is_shown(ReadSet::everything()));
    give(store, &whole, "B");
    assert!(matches!(seen(store, &broken), Some(Seen::Unreadable(_))), "a change elsewhere leaves it");
    let token = give(store, &broken, "B");
    assert_eq!(held(store, &broken), Some(("B".to_owned(), token)), "it can be replaced");
}

fn sweeping(doomed: impl Fn(&Record) -> bool + 'static) -> Sweep {
    Sweep { every_ms: HOUR_MS, doomed: Box::new(doomed) }
}

/// Grants `what` at a time, with the right to sweep what belongs to `Old`.
fn give_and_sweep(store: &dyn Store, what: &Resource, at: Timestamp) {
    run(store, &own(&[what]), Access::Create, |_| {
        let sweep = Some(sweeping(|record| record.owner == owner("Old")));
        Plan { sweep, ..plan(at, vec![put(what, "New", TokenRule::Fresh)]) }
    })
    .expect("granted");
}

/// What is swept together lies in one shard, so that each store has to do it.
fn a_sweep_removes_what_is_doomed_when_it_is_due(subject: &impl Subject) {
    let (store, files) = (subject.store(), in_one_shard(7));
    let [old, older, young, broken, first, second, third] = files.as_slice() else { panic!("seven files") };
    give(store, old, "Old");
    give(store, young, "Young");
    subject.damage(broken);
    give_and_sweep(store, first, noon());
    assert_eq!(held(store, old), None, "the first grant sweeps");
    assert!(held(store, young).is_some() && held(store, first).is_some(), "what is not doomed stays");
    assert!(matches!(seen(store, broken), Some(Seen::Unreadable(_))), "what cannot be read is not swept");
    assert!(subject.journal().iter().any(|(event, who, token)| event == "pruned" && who == "Old" && *token > 0));

    give(store, older, "Old");
    give_and_sweep(store, second, noon().plus_millis(3_599_999));
    assert!(held(store, older).is_some(), "an hour has not passed");
    give_and_sweep(store, third, noon().plus_millis(3_600_000));
    assert_eq!(held(store, older), None, "an hour has passed");
}

/// A sweep time that was written under a clock far ahead does not stop the sweeping for years.
fn a_clock_that_was_ahead_does_not_stop_the_sweep(subject: &impl Subject) {
    let (store, files) = (subject.store(), in_one_shard(3));
    give_and_sweep(store, &files[0], noon().plus_millis(3650 * DAY_MS));
    give(store, &files[1], "Old");
    give_and_sweep(store, &files[2], noon());
    assert_eq!(held(store, &files[1]), None);
}

fn history_is_written_with_the_tokens_that_were_given(subject: &impl Subject) {
    let (store, what) = (subject.store(), file("a"));
    let line = |event, who: &str, token| JournalLine {
        at: noon(),
        event,
        resource: what.clone(),
        owner: owner(who),
        token,
        other: None,
        reason: None,
    };
    let granted = run(store, &own(&[&what]), Access::Create, |_| Plan {
        journal: vec![line(Event::Granted, "A", None)],
        ..plan(noon(), vec![put(&what, "A", TokenRule::Fresh)])
    });
    let token = granted.expect("granted").tokens[&what.key()];
    run(store, &own(&[&what]), Access::Existing, |_| Plan {
        journal: vec![line(Event::Released, "A", Some(token))],
        ..plan(noon(), vec![Change::Remove(what.key())])
    })
    .expect("released");
    let expected = [("granted", "A", token.get()), ("released", "A", token.get())];
    assert_eq!(subject.journal(), expected.map(|(event, who, token)| (event.to_owned(), who.to_owned(), token)));
}

/// The decision is still told that there is nothing.
fn without_a_store_nothing_is_made_of_it(subject: &impl Subject) {
    let before = subject.state();
    let mut decided = 0;
    run(subject.store(), &own(&[&file("a")]), Access::Existing, |view| {
        assert_eq!(view.iter().count(), 0);
        decided += 1;
        Plan::nothing(noon())
    })
    .expect("nothing to do");
    assert_eq!((decided, subject.state()), (1, before));
}

macro_rules! conformance {
    ($($case:ident,)*) => {
        mod memory_store {
            use super::Subject;
            $(#[test] fn $case() { super::$case(&<super::Memory as Subject>::new()); })*
        }

        mod durable_file_store {
            use super::Subject;
            $(#[test] fn $case() { super::$case(&<super::Durable as Subject>::new()); })*
        }

        mod file_store {
            use super::Subject;
            $(#[test] fn $case() { super::$case(&<super::Disk as Subject>::new()); })*
        }
    };
}

conformance! {
    what_is_not_there_is_not_shown,
    what_is_put_is_shown_with_its_token,
    fresh_tokens_grow_and_never_repeat,
    a_kept_token_is_kept,
    what_is_removed_is_gone,
    an_ended_record_is_there_and_says_so,
    one_plan_does_all_its_changes,
    nothing_of_a_dropped_plan_is_seen,
    a_plan_that_never_holds_changes_nothing,
    a_plan_without_changes_writes_nothing,
    a_read_set_shows_what_it_names_and_nothing_else,
    what_cannot_be_read_is_shown_as_such,
    a_sweep_removes_what_is_doomed_when_it_is_due,
    a_clock_that_was_ahead_does_not_stop_the_sweep,
    history_is_written_with_the_tokens_that_were_given,
    without_a_store_nothing_is_made_of_it,
}
