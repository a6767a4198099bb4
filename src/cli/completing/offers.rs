//! What exists right now: leases, owners, named things, files. Only looked at, and never for longer than there is time.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Component, Path, PathBuf},
};

use bstr::ByteSlice as _;
use git_agentlock::{
    clock::Clock as _,
    locks::{Lease, State, rules},
    owner::Owner,
    resource::{Target, path_bytes},
    text::is_deceptive,
};

use super::Offer;
use crate::cli::{
    context::{Context, OnBadPolicy},
    environment, owner,
    render::human,
    whole::Whole,
};

/// Where the command would work, and for whom, as far as the line tells already.
pub(super) struct World {
    directory: Option<PathBuf>,
    owner: Option<OsString>,
    /// Whether what begins with `-` is no option where the cursor is.
    is_escaped: bool,
    /// Whether the time to read is up.
    is_over: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Nothing in it that a terminal or a shell's script could stumble over. What cannot be shown is not offered.
pub(super) fn is_safe(value: &str) -> bool {
    !value.is_empty() && !value.contains(is_deceptive)
}

impl World {
    /// `words` are those behind our name, `directory` where git was told to go before.
    pub(super) fn of(words: &[OsString], directory: PathBuf, is_over: Box<dyn Fn() -> bool + Send + Sync>) -> Self {
        let (mut directory, mut owner) = (directory, None);
        let before = words.split_last().map_or(&[][..], |(_, before)| before);
        let is_escaped = before.iter().any(|word| word == "--");
        let mut options = before.iter().take_while(|word| *word != "--");
        while let Some(word) = options.next() {
            let text = word.to_string_lossy();
            if word == "-C" {
                directory.extend(options.next());
            } else if word == "-o" || word == "--owner" {
                owner = options.next().cloned().or(owner);
            } else if let Some(name) = text.strip_prefix("--owner=") {
                owner = Some(name.into());
            } else if let Some(to) = text.strip_prefix("-C") {
                directory.push(to);
            }
        }
        let directory = Some(directory).filter(|directory| !directory.as_os_str().is_empty());
        Self { directory, owner, is_escaped, is_over }
    }

    fn own(&self) -> Option<Owner> {
        Some(owner::of(self.owner.as_deref()).ok()??.owner)
    }

    fn context(&self) -> Option<(Context, Whole)> {
        let context = Context::new(self.directory.as_deref(), OnBadPolicy::Warn, 0).ok()?;
        let whole = context.whole_unwarned().ok()?;
        Some((context, whole))
    }

    /// The leases of this project that hold, one's own first, then by path.
    fn live(&self, context: &Context, whole: &Whole) -> Vec<Lease> {
        let records = whole.store.glimpse(&mut || (self.is_over)());
        let now = context.clock.now();
        let leases = records.iter().filter(|record| whole.is_meant(&record.resource, false));
        let leases = leases.map(|record| rules::shown(record, &now));
        let mut leases: Vec<Lease> = leases.filter(|lease| lease.state == State::Live).collect();
        let own = self.own();
        leases.sort_by_cached_key(|lease| (own.as_ref() != Some(&lease.owner), lease.resource.target.clone()));
        leases
    }

    /// What `release`, `renew`, `check` and `break` could be about: paths, as they would be written here.
    pub(super) fn leases(&self, current: &str) -> Vec<Offer> {
        let Some((context, whole)) = self.context() else { return Vec::new() };
        let repository = whole.repository.as_deref();
        let top = match repository {
            Some(repository) => repository.work_tree.clone(),
            None => Some(PathBuf::from("/")),
        };
        let (Some(top), Ok(cwd)) = (top, fs::canonicalize(&context.cwd)) else { return Vec::new() };
        let Some(place) = Place::of(&top, &cwd, current) else { return Vec::new() };
        let leases = self.live(&context, &whole);
        let named = leases.iter().filter(|lease| whole.is_here(&lease.resource)).filter_map(|lease| {
            let value = place.written(&lease.resource.target)?;
            Some(Offer { help: Some(of_lease(lease)), value: self.not_as_option(value, current)? })
        });
        named.filter(|offer| offer.value.starts_with(current) && is_safe(&offer.value)).collect()
    }

    /// Named things that somebody holds.
    pub(super) fn named(&self, current: &str) -> Vec<Offer> {
        let Some((context, whole)) = self.context() else { return Vec::new() };
        let leases = self.live(&context, &whole);
        let named = leases.iter().filter_map(|lease| match &lease.resource.target {
            Target::Named(name) => {
                Some(Offer { value: format!("{}:{}", name.kind(), name.id()), help: Some(of_lease(lease)) })
            }
            _ => None,
        });
        named.filter(|offer| offer.value.starts_with(current) && is_safe(&offer.value)).collect()
    }

    /// Who there is: oneself, and whoever has a record here.
    pub(super) fn owners(&self, current: &str) -> Vec<Offer> {
        let mut owners: Vec<String> = owner::own().map(|own| own.as_str().to_owned()).into_iter().collect();
        let own = owners.len();
        if let Some((_, whole)) = self.context() {
            let records = whole.store.glimpse(&mut || (self.is_over)());
            let of_here = records.into_iter().filter(|record| whole.is_meant(&record.resource, false));
            owners.extend(of_here.map(|record| record.owner.as_str().to_owned()));
        }
        let (first, others) = owners.split_at_mut(own);
        others.sort();
        let mut owners = [first, others].concat();
        let mut seen = std::collections::BTreeSet::new();
        owners.retain(|owner| seen.insert(owner.clone()) && owner.starts_with(current) && is_safe(owner));
        owners.into_iter().map(|value| Offer { value, help: None }).collect()
    }

    /// Files and directories.
    pub(super) fn files(&self, current: &str) -> Vec<Offer> {
        self.entries(current, |_| true)
    }

    /// Directories.
    pub(super) fn directories(&self, current: &str) -> Vec<Offer> {
        self.entries(current, |is_dir| is_dir)
    }

    fn entries(&self, current: &str, is_wanted: fn(bool) -> bool) -> Vec<Offer> {
        let Ok(cwd) = environment::working_directory(self.directory.as_deref()) else { return Vec::new() };
        let (dir, begun) = typed(current);
        let mut found = Vec::new();
        for entry in fs::read_dir(cwd.join(dir)).into_iter().flatten().flatten() {
            if (self.is_over)() {
                break;
            }
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.starts_with(begun) && is_safe(name)) else { continue };
            // git's own files are not for locking, and who wants what is hidden begins with a dot.
            if name == ".git" || (name.starts_with('.') && !begun.starts_with('.')) {
                continue;
            }
            let is_dir =
                entry.file_type().is_ok_and(|kind| kind.is_dir() || (kind.is_symlink() && entry.path().is_dir()));
            if is_wanted(is_dir) {
                let slash = if is_dir { "/" } else { "" };
                found.extend(self.not_as_option(format!("{dir}{name}{slash}"), current));
            }
        }
        found.sort();
        found.into_iter().map(|value| Offer { value, help: None }).collect()
    }

    /// A name that would be taken for an option, written as none; `None` when an option has been begun.
    fn not_as_option(&self, value: String, current: &str) -> Option<String> {
        if self.is_escaped || !value.starts_with('-') {
            return Some(value);
        }
        current.is_empty().then(|| format!("./{value}"))
    }
}

/// Who holds it, and for how long still.
fn of_lease(lease: &Lease) -> String {
    format!("{}, {} left", lease.owner, human::length(lease.remaining_ms))
}

/// The directory that has been typed, with its `/`, and the beginning of a name in it.
fn typed(current: &str) -> (&str, &str) {
    let at = current.rfind('/').map_or(0, |at| at.saturating_add(1));
    current.split_at_checked(at).unwrap_or(("", current))
}

/// From where paths are written.
struct Place {
    /// What has been typed of a directory; it stays as it is.
    dir: String,
    /// That directory, from the top of the work tree; components separated by `/`.
    from: Vec<u8>,
}

impl Place {
    /// `None` when what has been typed leads out of the work tree.
    fn of(top: &Path, cwd: &Path, current: &str) -> Option<Self> {
        let (dir, _) = typed(current);
        let place = fs::canonicalize(cwd.join(dir)).unwrap_or_else(|_| normal(&cwd.join(dir)));
        let from = path_bytes(place.strip_prefix(top).ok()?)?.to_vec();
        Some(Self { dir: dir.to_owned(), from })
    }

    /// How a resource would be written there.
    fn written(&self, target: &Target) -> Option<String> {
        let (path, slash) = match target {
            Target::File(path) => (path, ""),
            Target::Area(path) => (path, "/"),
            Target::Named(_) => return None,
        };
        let path: &[u8] = path.as_bytes();
        let below = if self.from.is_empty() {
            Some(path)
        } else if path == self.from {
            Some(&b""[..])
        } else {
            path.strip_prefix(self.from.as_slice()).and_then(|rest| rest.strip_prefix(b"/"))
        };
        match below {
            Some(b"") if self.dir.is_empty() => Some("./".to_owned()),
            Some(b"") => Some(self.dir.clone()),
            Some(below) => Some(format!("{}{}{slash}", self.dir, below.to_str().ok()?)),
            None if self.dir.is_empty() => Some(format!("{}{slash}", self.upwards(path)?)),
            None => None,
        }
    }

    /// The way to a path that is not below: up as far as needed, and down again.
    fn upwards(&self, path: &[u8]) -> Option<String> {
        let parts =
            |path: &[u8]| path.split_str("/").filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (from, to) = (parts(&self.from), parts(path));
        let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        let up = std::iter::repeat_n(b"..".to_vec(), from.len().saturating_sub(shared));
        let way: Vec<Vec<u8>> = up.chain(to.into_iter().skip(shared)).collect();
        String::from_utf8(way.join(&b'/')).ok()
    }
}

/// A path without `.` and `..`, for a directory that is not there.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            part => normal.push(AsRef::<OsStr>::as_ref(&part)),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use git_agentlock::resource::RepoPath;

    use super::*;

    fn written(cwd: &str, current: &str, path: &str) -> Option<String> {
        let target = match path.strip_suffix('/') {
            Some(area) => Target::Area(RepoPath::new(area).unwrap()),
            None => Target::File(RepoPath::new(path).unwrap()),
        };
        Place::of(Path::new("/nonexistent/top"), &Path::new("/nonexistent/top").join(cwd), current)?.written(&target)
    }

    #[test]
    fn a_path_is_written_from_what_has_been_typed() {
        for (cwd, current, path, value) in [
            ("", "", "src/a", Some("src/a")),
            ("", "src/", "src/a", Some("src/a")),
            ("src", "", "src/a", Some("a")),
            ("src", "./", "src/a", Some("./a")),
            ("src", "../src/", "src/a", Some("../src/a")),
            ("src", "", "docs/b", Some("../docs/b")),
            ("src/deep", "", "src/", Some("../")),
            ("src", "", "src/", Some("./")),
            ("", "", "src/", Some("src/")),
            ("src", "", "srcs/a", Some("../srcs/a")),
            ("src", "x/", "docs/b", None),
            ("src", "/nonexistent/top/", "docs/b", Some("/nonexistent/top/docs/b")),
            ("src", "/elsewhere/", "docs/b", None),
        ] {
            assert_eq!(written(cwd, current, path).as_deref(), value, "{cwd} {current} {path}");
        }
    }

    fn world(words: &[&str]) -> World {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        World::of(&words, PathBuf::from("d"), Box::new(|| false))
    }

    #[test]
    fn the_line_tells_where_and_for_whom() {
        let world_of = world(&["-C", "e", "release", "--owner", "A", "src/"]);
        assert_eq!((world_of.directory, world_of.owner), (Some("d/e".into()), Some("A".into())));
        let world_of = world(&["release", "-Ce", "--owner=A", "--", "--owner=B", ""]);
        assert_eq!(
            (world_of.directory, world_of.owner, world_of.is_escaped),
            (Some("d/e".into()), Some("A".into()), true)
        );
        assert_eq!(world(&["release", "--owner=A"]).owner, None, "it is being typed");
    }

    #[test]
    fn a_name_is_not_taken_for_an_option() {
        assert_eq!(world(&["check", ""]).not_as_option("-n".to_owned(), ""), Some("./-n".to_owned()));
        assert_eq!(world(&["check", "-"]).not_as_option("-n".to_owned(), "-"), None);
        assert_eq!(world(&["check", "--", "-"]).not_as_option("-n".to_owned(), "-"), Some("-n".to_owned()));
    }

    #[test]
    fn nothing_is_read_once_the_time_is_up() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let left = std::sync::atomic::AtomicUsize::new(2);
        let is_over = move || {
            left.fetch_update(std::sync::atomic::Ordering::SeqCst, std::sync::atomic::Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
            .is_err()
        };
        let world = World::of(&["".into()], dir.path().to_owned(), Box::new(is_over));
        assert_eq!(world.files("").len(), 2);
        assert_eq!(world.files("").len(), 0);
    }
}
