//! The leases as a table. On a terminal it is as wide as that: what is too long is shortened, a path in its middle, and the time left is a bar too.
//! Everywhere else nothing is left out, since a program may be reading.

use anstyle::{AnsiColor, Style};
use git_agentlock::{
    clock::Timestamp,
    locks::{Lease, State},
    resource::Resource,
};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::human::length;

const OWN: Style = AnsiColor::Green.on_default();
const SOON: Style = AnsiColor::Yellow.on_default();
const GONE: Style = AnsiColor::BrightBlack.on_default();

/// What is the work tree of a repository itself called, seen from one that is linked to it.
const MAIN: &str = "(main)";
/// Between two columns.
const GAP: usize = 2;
/// Which columns are made narrower, one after the other, and how narrow at most. One that may have no width goes whole.
const SHRUNK: [(&str, usize); 13] = [
    ("REASON", 20),
    ("RESOURCE", 24),
    ("PROJECT", 16),
    ("OWNER", 12),
    ("WORK TREE", 12),
    ("REASON", 8),
    ("RESOURCE", 12),
    ("OWNER", 8),
    ("REASON", 0),
    ("AGE", 0),
    ("PROJECT", 8),
    ("WORK TREE", 6),
    ("OWNER", 4),
];
/// In how many steps a bar is drawn.
const STEPS: u8 = 5;

/// The terminal that the table is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    /// How many characters it is wide.
    pub(crate) columns: usize,
    /// Whether it shows more than ASCII.
    pub(crate) is_unicode: bool,
}

impl Screen {
    fn bar(self, lease: &Lease) -> String {
        let (full, empty) = if self.is_unicode { ("▰", "▱") } else { ("#", "-") };
        let filled = (1..=STEPS).filter(|step| is_left(lease, step.saturating_sub(1), STEPS)).count();
        [full.repeat(filled), empty.repeat(usize::from(STEPS).saturating_sub(filled))].concat()
    }

    pub(crate) fn ellipsis(self) -> &'static str {
        if self.is_unicode { "…" } else { ".." }
    }
}

/// Whether more than so many of so many parts of a lease's TTL are left.
fn is_left(lease: &Lease, parts: u8, of: u8) -> bool {
    lease.remaining_ms.saturating_mul(i64::from(of)) > lease.ttl.millis_i64().saturating_mul(i64::from(parts))
}

/// Resource, owner, age, time left, reason. `is_own` tells which are the caller's, `is_here` which are of the caller's work tree: of others, theirs is
/// named.
pub(crate) fn leases(
    leases: &[Lease],
    now: Timestamp,
    is_own: impl Fn(&Lease) -> bool,
    is_here: impl Fn(&Lease) -> bool,
    screen: Option<Screen>,
) -> String {
    let elsewhere = |lease: &Lease| if is_here(lease) { None } else { work_tree(&lease.resource) };
    let with_work_tree = leases.iter().any(|lease| elsewhere(lease).is_some());
    let mut head = vec!["", "RESOURCE", "OWNER", "AGE", "LEFT", "REASON"];
    if with_work_tree {
        head.insert(2, "WORK TREE");
    }
    let mut projects = leases.iter().map(|lease| &lease.resource.scope.project);
    let first = projects.next();
    let with_project = projects.any(|project| Some(project) != first);
    if with_project {
        head.insert(2, "PROJECT");
    }
    let mut rows = Vec::with_capacity(leases.len());
    let mut styles = Vec::with_capacity(leases.len());
    for lease in leases {
        let (sign, style) = sign(lease, is_own(lease));
        let left = match (lease.state, screen) {
            (State::Live, Some(screen)) => format!("{} {}", screen.bar(lease), length(lease.remaining_ms)),
            (State::Live, None) => length(lease.remaining_ms),
            _ => format!("expired {} ago", length(lease.remaining_ms)),
        };
        let mut row = vec![
            sign.to_owned(),
            lease.resource.to_string(),
            lease.owner.to_string(),
            length(now.since(lease.acquired_at)),
            left,
            lease.reason.as_ref().map(ToString::to_string).unwrap_or_default(),
        ];
        if with_work_tree {
            row.insert(2, elsewhere(lease).unwrap_or_default());
        }
        if with_project {
            let label = lease.resource.scope.project.label();
            row.insert(2, label.map_or_else(|| "-".to_owned(), |label| git_agentlock::text::escape(label)));
        }
        rows.push(row);
        styles.push(style);
    }
    if let Some(screen) = screen {
        fit(&mut rows, &mut head, screen);
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(head);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, u16::try_from(GAP).unwrap_or(0)));
    }
    let styles = std::iter::once(Style::new()).chain(styles);
    table.lines().zip(styles).map(|(line, style)| format!("{style}{}{style:#}\n", line.trim_end())).collect()
}

/// The work tree that a path is in; a named thing is in none.
fn work_tree(resource: &Resource) -> Option<String> {
    let id = &resource.scope.work_tree;
    resource.path().map(|_| if id.is_empty() { MAIN.to_owned() } else { git_agentlock::text::escape(id) })
}

/// Shortens what does not fit: reasons at their ends, all else in the middle.
fn fit(rows: &mut [Vec<String>], head: &mut Vec<&str>, screen: Screen) {
    let mut widths: Vec<usize> = head.iter().map(|name| name.width()).collect();
    for row in rows.iter() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    for (name, narrowest) in SHRUNK {
        let Some(at) = head.iter().position(|other| *other == name) else { continue };
        let gaps = widths.len().saturating_sub(1).saturating_mul(GAP);
        let total = widths.iter().fold(gaps, |sum, width| sum.saturating_add(*width));
        let too_much = total.saturating_sub(screen.columns);
        let Some(width) = widths.get_mut(at).filter(|width| too_much > 0 && **width > narrowest) else { continue };
        if narrowest == 0 {
            widths.remove(at);
            head.remove(at);
            rows.iter_mut().for_each(|row| _ = row.remove(at));
            continue;
        }
        *width = width.saturating_sub(too_much).max(narrowest);
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(at)) {
            *cell = shortened(cell, *width, name != "REASON", screen.ellipsis());
        }
    }
}

/// A text that is at most so wide. In the middle: the end, which tells more of a path, is what most is kept of.
pub(crate) fn shortened(text: &str, width: usize, in_the_middle: bool, ellipsis: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(ellipsis.width());
    let ahead = if in_the_middle { room.checked_div(3).unwrap_or(0) } else { room };
    let start: String = taken(text.chars(), ahead);
    let end: String = taken(text.chars().rev(), room.saturating_sub(ahead));
    let end: String = end.chars().rev().collect();
    if in_the_middle { [&start, ellipsis, &end].concat() } else { [&start, ellipsis].concat() }
}

/// As many characters as fit.
fn taken(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut left = width;
    let fits = |c: &char| {
        let after = left.checked_sub(c.width().unwrap_or(0));
        left = after.unwrap_or(0);
        after.is_some()
    };
    chars.take_while(fits).collect()
}

/// `*` one's own, `!` less than a fifth of its TTL left, `x` expired: told apart without colours too.
fn sign(lease: &Lease, is_own: bool) -> (&'static str, Style) {
    let is_soon = !is_left(lease, 1, STEPS);
    match (lease.state, is_own) {
        (State::Live, true) if is_soon => ("*!", SOON),
        (State::Live, false) if is_soon => (" !", SOON),
        (State::Live, true) => ("*", OWN),
        (State::Live, false) => (" ", Style::new()),
        _ => ("x", GONE),
    }
}

#[cfg(test)]
mod tests {
    use git_agentlock::{
        duration::Ttl,
        owner::Owner,
        record::{Reason, Token},
        resource::{RepoPath, Scope, Target},
    };

    use super::*;

    fn lease(path: &str, owner: &str, left_s: i64) -> Lease {
        let start: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        Lease {
            resource: Resource { scope: Scope::implicit(), target: Target::File(RepoPath::new(path).unwrap()) },
            owner: Owner::new(owner).unwrap(),
            token: Token::new(1).unwrap(),
            state: if left_s > 0 { State::Live } else { State::Expired },
            acquired_at: start,
            renewed_at: start,
            expires_at: start,
            remaining_ms: left_s.saturating_mul(1000),
            boot_deadline: None,
            ttl: Ttl::from_millis(300_000).unwrap(),
            reason: Some(Reason::new("moving the session out of the handler").unwrap()),
            replaced: None,
            ended: None,
            host: String::new(),
            pid: 1,
        }
    }

    fn shown(columns: usize, is_unicode: bool) -> String {
        let all = [
            lease("crates/server/src/auth/session.rs", "claude-111", 299),
            lease("src/a", "kimi-222", 50),
            lease("docs/日本語/とても長い名前のファイル.md", "gone", -60),
        ];
        let now = "2026-11-30T12:01:00Z".parse().unwrap();
        let is_own = |lease: &Lease| lease.owner.as_str() == "kimi-222";
        let text = leases(&all, now, is_own, |_| true, Some(Screen { columns, is_unicode }));
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_table_is_no_wider_than_its_terminal() {
        insta::assert_snapshot!(shown(80, true), @r"
                RESOURCE                  OWNER       AGE  LEFT            REASON
                crates/…/auth/session.rs  claude-111  1m   ▰▰▰▰▰ 4m 59s    moving the sessi…
            *!  src/a                     kimi-222    1m   ▰▱▱▱▱ 50s       moving the sessi…
            x   docs/日…前のファイル.md   gone        1m   expired 1m ago  moving the sessi…
        ");
        insta::assert_snapshot!(shown(60, false), @r"
                RESOURCE       OWNER       AGE  LEFT            REASON
                cra..ssion.rs  claude-111  1m   ##### 4m 59s    moving..
            *!  src/a          kimi-222    1m   #---- 50s       moving..
            x   doc..イル.md   gone        1m   expired 1m ago  moving..
        ");
        for columns in 44..140 {
            for line in shown(columns, true).lines() {
                assert!(line.width() <= columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn a_bar_tells_what_is_left_of_a_ttl() {
        let screen = Screen { columns: 80, is_unicode: false };
        for (left_s, bar) in
            [(300, "#####"), (241, "#####"), (240, "####-"), (61, "##---"), (60, "#----"), (1, "#----")]
        {
            assert_eq!(screen.bar(&lease("a", "o", left_s)), bar, "{left_s} s");
        }
    }

    #[test]
    fn what_is_shortened_keeps_its_end() {
        assert_eq!(shortened("src/auth/session.rs", 19, true, "…"), "src/auth/session.rs");
        assert_eq!(shortened("src/auth/session.rs", 14, true, "…"), "src/…ession.rs");
        assert_eq!(shortened("why it is held", 9, false, "…"), "why it i…");
        assert_eq!(shortened("日本語日本語", 7, true, "…"), "日…本語");
    }
}
