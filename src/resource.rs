//! What is locked, and the key it is kept under.
//!
//! A resource is a file, an area (a directory and all below it) or a named thing, within a [`Scope`] that says which
//! project and work tree it belongs to. Two spellings of one file must already be one [`RepoPath`] when they come here;
//! that is the business of `git`. From here on everything is comparison of bytes.

use std::{fmt, str::FromStr};

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};

/// A path below the top of a work tree: bytes, components separated by `/`, none of them empty, `.` or `..`.
/// The empty path is the top itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(BString);

/// Why bytes are no resource.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// A path with a NUL byte, which no file system accepts.
    #[error("a path cannot contain a NUL byte")]
    Nul,
    /// A path over [`RepoPath::MAX_BYTES`]; the number given.
    #[error("a path has at most {max} bytes, this one has {0}", max = RepoPath::MAX_BYTES)]
    PathTooLong(usize),
    /// A component that is empty, `.` or `..`, or a path that starts with `/`.
    #[error("'{}' is not a normal path below the top of a work tree", crate::text::escape(.0))]
    NotNormal(BString),
    /// No colon.
    #[error("'{}' has no ':'; a named resource is TYPE:ID, such as plan:42", crate::text::escape(.0.as_bytes()))]
    NoColon(String),
    /// A type that is empty or over 50 bytes.
    #[error("the type of a named resource has 1 to {max} bytes, this one has {0}", max = NamedId::MAX_TYPE_BYTES)]
    TypeLength(usize),
    /// An id that is empty or over 255 bytes.
    #[error("the id of a named resource has 1 to {max} bytes, this one has {0}", max = NamedId::MAX_ID_BYTES)]
    IdLength(usize),
    /// A control character.
    #[error("a named resource cannot contain control characters")]
    Control,
}

impl RepoPath {
    /// The longest path, in bytes (Linux' `PATH_MAX`).
    pub const MAX_BYTES: usize = 4096;

    /// # Errors
    /// [`ResourceError`] for a NUL byte, more than [`RepoPath::MAX_BYTES`], an absolute path, or a component that is empty, `.` or `..`.
    pub fn new(bytes: impl Into<BString>) -> Result<Self, ResourceError> {
        let bytes = bytes.into();
        if bytes.len() > Self::MAX_BYTES {
            return Err(ResourceError::PathTooLong(bytes.len()));
        }
        if bytes.find_byte(0).is_some() {
            return Err(ResourceError::Nul);
        }
        let is_normal = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
        if !bytes.is_empty() && !bytes.split(|b| *b == b'/').all(is_normal) {
            return Err(ResourceError::NotNormal(bytes));
        }
        Ok(Self(bytes))
    }

    /// The top of the work tree.
    #[must_use]
    pub fn top() -> Self {
        Self(BString::default())
    }

    /// The bytes, without a leading or trailing `/`; empty for the top.
    #[must_use]
    pub fn as_bytes(&self) -> &BStr {
        self.0.as_bstr()
    }

    /// Whether this is the top of the work tree.
    #[must_use]
    pub fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `other` is this path or lies below it. Components are compared: `src/foo` does not contain `src/foobar`.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        self.is_top()
            || other.0.strip_prefix(self.0.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// The directories above this path, from the top down, without the path itself.
    pub fn ancestors(&self) -> impl Iterator<Item = RepoPath> + '_ {
        let top = (!self.is_top()).then(Self::top);
        let slashes = self.0.find_iter(b"/");
        top.into_iter().chain(slashes.filter_map(|at| self.0.get(..at).map(|above| Self(above.into()))))
    }

    /// The path as it is compared where case is ignored.
    #[must_use]
    pub fn without_case(&self) -> Self {
        Self(self.0.to_lowercase().into())
    }

    fn fold(&self, scope: &Scope) -> std::borrow::Cow<'_, [u8]> {
        if scope.ignore_case { self.0.to_lowercase().into() } else { self.0.as_slice().into() }
    }
}

/// Escaped for a terminal; the top is `.`. [`RepoPath::as_bytes`] has the exact bytes.
impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = crate::text::escape(&self.0);
        match self.is_top() {
            true => f.write_str("."),
            // Blanks at an end would not be seen.
            false if shown.trim() != shown => write!(f, "'{shown}'"),
            false => f.write_str(&shown),
        }
    }
}

/// A named thing: `plan:42`, `project:web`, `git:index`. Type and id are both part of its identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedId {
    kind: String,
    id: String,
}

impl NamedId {
    /// The longest type, in bytes.
    pub const MAX_TYPE_BYTES: usize = 50;
    /// The longest id, in bytes.
    pub const MAX_ID_BYTES: usize = 255;

    /// # Errors
    /// [`ResourceError`] when a part is empty or too long, or contains a control character. A colon in the type would
    /// make `a:b:c` ambiguous: it counts as [`ResourceError::Control`].
    pub fn new(kind: impl Into<String>, id: impl Into<String>) -> Result<Self, ResourceError> {
        let (kind, id) = (kind.into(), id.into());
        if !(1..=Self::MAX_TYPE_BYTES).contains(&kind.len()) {
            return Err(ResourceError::TypeLength(kind.len()));
        }
        if !(1..=Self::MAX_ID_BYTES).contains(&id.len()) {
            return Err(ResourceError::IdLength(id.len()));
        }
        if kind.chars().chain(id.chars()).any(char::is_control) || kind.contains(':') {
            return Err(ResourceError::Control);
        }
        Ok(Self { kind, id })
    }

    /// The type, before the first colon.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The id, behind the first colon; it may contain colons itself.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl FromStr for NamedId {
    type Err = ResourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, id) = text.split_once(':').ok_or_else(|| ResourceError::NoColon(text.to_owned()))?;
        Self::new(kind, id)
    }
}

/// Escaped for a terminal, as `TYPE:ID`.
impl fmt::Display for NamedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", crate::text::escape(self.kind.as_bytes()), crate::text::escape(self.id.as_bytes()))
    }
}

/// Which project a resource belongs to, as far as the store does not say so by being where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Project {
    /// The repository that the store lies in. A repository that is moved keeps its locks.
    Implicit,
    /// In a shared store: the real path of the common git directory.
    GitDir(BString),
    /// In a shared store: a label from the policy (`store.project`), for a repository that is mounted at different places.
    Label(String),
    /// In a shared store: no repository. Paths are absolute, kept without the leading `/`.
    Outside,
}

impl Project {
    /// What tells it from other projects of its store, for people and scripts; `None` where the store's place or an absolute path tells.
    #[must_use]
    pub fn label(&self) -> Option<&BStr> {
        match self {
            Self::Implicit | Self::Outside => None,
            Self::GitDir(path) => Some(path.as_bstr()),
            Self::Label(label) => Some(label.as_str().into()),
        }
    }
}

/// Where a resource's name is to be understood. Resources of different scopes never overlap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    /// The project.
    pub project: Project,
    /// The id of a linked work tree (`.git/worktrees/ID`), where those are apart; empty for the main work tree and for named things.
    pub work_tree: BString,
    /// Whether names that differ only in case are one file here (`core.ignorecase`).
    pub ignore_case: bool,
}

impl Scope {
    /// The main work tree of the repository that the store lies in.
    #[must_use]
    pub fn implicit() -> Self {
        Self { project: Project::Implicit, work_tree: BString::default(), ignore_case: false }
    }
}

/// What of a scope is locked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// One path.
    File(RepoPath),
    /// A directory and everything below it.
    Area(RepoPath),
    /// A named thing.
    Named(NamedId),
}

/// Something that can be locked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// Project and work tree.
    pub scope: Scope,
    /// What of it.
    pub target: Target,
}

impl Resource {
    /// The path, unless this is a named thing.
    #[must_use]
    pub fn path(&self) -> Option<&RepoPath> {
        match &self.target {
            Target::File(path) | Target::Area(path) => Some(path),
            Target::Named(_) => None,
        }
    }

    /// Whether this is an area.
    #[must_use]
    pub fn is_area(&self) -> bool {
        matches!(self.target, Target::Area(_))
    }

    /// Whether two owners cannot hold both at once (DESIGN invariant 2): the same path or name, or one is an area that contains the other.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }

    /// Whether who holds this also holds `other`: the same path or name (a file does not cover the area at its path), or an area that contains it.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        if self.scope != other.scope {
            return false;
        }
        match (&self.target, &other.target) {
            (Target::Named(a), Target::Named(b)) => a == b,
            (Target::File(a), Target::File(b)) => a.fold(&self.scope) == b.fold(&self.scope),
            (Target::Area(a), Target::File(b) | Target::Area(b)) => RepoPath(a.fold(&self.scope).into_owned().into())
                .contains(&RepoPath(b.fold(&self.scope).into_owned().into())),
            _ => false,
        }
    }

    /// Whether this lies in the directory `area` or is it, whatever the two kinds.
    #[must_use]
    pub fn is_within(&self, area: &Self) -> bool {
        match (area.path(), self.path()) {
            (Some(path), Some(_)) => {
                Self { scope: area.scope.clone(), target: Target::Area(path.clone()) }.covers(self)
            }
            _ => false,
        }
    }

    /// The key that this resource's record is kept under.
    #[must_use]
    pub fn key(&self) -> ResourceKey {
        ResourceKey::of(self)
    }

    /// The keys of the areas that could contain this resource, from the top down; empty for a named thing.
    #[must_use]
    pub fn ancestor_keys(&self) -> Vec<ResourceKey> {
        let above = |path: RepoPath| Self { scope: self.scope.clone(), target: Target::Area(path) }.key();
        self.path().map(|path| path.ancestors().map(above).collect()).unwrap_or_default()
    }
}

/// Escaped for a terminal: `src/a`, `src/` for an area, `.` for a whole work tree, `plan:42`.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.scope.project == Project::Outside && self.path().is_some() && cfg!(not(windows));
        if root && self.path().is_some_and(RepoPath::is_top) {
            return f.write_str("/");
        }
        f.write_str(if root { "/" } else { "" })?;
        match &self.target {
            Target::File(path) => path.fmt(f),
            Target::Area(path) if path.is_top() => path.fmt(f),
            Target::Area(path) => write!(f, "{path}/"),
            Target::Named(name) => name.fmt(f),
        }
    }
}

/// 32 bytes that name a resource in a store.
///
/// BLAKE3 in `derive_key` mode over the parts of the resource, each with its length before it, so that no two different
/// resources have one encoding. A file and an area at one path have one key: they always exclude each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey([u8; 32]);

impl ResourceKey {
    /// Never change this text: it is part of the store's format.
    const CONTEXT: &'static str = "git-agentlock v1 resource key";

    fn of(resource: &Resource) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(Self::CONTEXT);
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        match &resource.scope.project {
            Project::Implicit => part(b"implicit"),
            Project::GitDir(path) => {
                part(b"git-dir");
                part(path);
            }
            Project::Label(label) => {
                part(b"label");
                part(label.as_bytes());
            }
            Project::Outside => part(b"outside"),
        }
        part(&resource.scope.work_tree);
        match &resource.target {
            Target::File(path) | Target::Area(path) => {
                part(if resource.scope.ignore_case { b"path, case ignored" } else { b"path" });
                part(&path.fold(&resource.scope));
            }
            Target::Named(name) => {
                part(b"named");
                part(name.kind.as_bytes());
                part(name.id.as_bytes());
            }
        }
        Self(*hasher.finalize().as_bytes())
    }

    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// 64 lower-case hex digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        faster_hex::hex_string(&self.0)
    }

    /// Reads what [`ResourceKey::to_hex`] wrote.
    #[must_use]
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        let text: &[u8; 64] = text.try_into().ok()?;
        let is_lower = |b: &u8| !b.is_ascii_uppercase();
        let mut key = [0; 32];
        (text.iter().all(is_lower) && faster_hex::hex_decode(text, &mut key).is_ok()).then_some(Self(key))
    }
}

impl fmt::Debug for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

/// Bytes of an operating system's path, with `/` between components.
///
/// On Unix these are the path's own bytes; elsewhere the path must be Unicode, and `\` becomes `/`.
/// Returns `None` for a path that cannot be told in bytes.
#[must_use]
pub fn path_bytes(path: &std::path::Path) -> Option<BString> {
    let bytes = Vec::from_path_buf(path.to_owned()).ok()?;
    Some(if cfg!(windows) { bytes.replace(b"\\", b"/").into() } else { bytes.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::new(text).expect(text)
    }

    fn resource(target: Target) -> Resource {
        Resource { scope: Scope::implicit(), target }
    }

    fn file(text: &str) -> Resource {
        resource(Target::File(path(text)))
    }

    fn area(text: &str) -> Resource {
        resource(Target::Area(path(text)))
    }

    #[test]
    fn a_key_is_read_from_64_lower_case_digits_and_nothing_else() {
        let key = ResourceKey::from_bytes([0xab; 32]);
        let hex = "ab".repeat(32);
        assert_eq!((key.to_hex(), ResourceKey::from_hex(hex.as_bytes())), (hex.clone(), Some(key)));
        for other in [hex.to_uppercase(), "ab".repeat(31), "ab".repeat(33), format!("{}g", &hex[1..]), String::new()] {
            assert_eq!(ResourceKey::from_hex(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn components_are_compared_not_string_prefixes() {
        let foo = area("src/foo");
        for other in ["src/foobar", "src/foo.rs", "src/fo", "src/foo-bar", "src/foo bar", "a"] {
            assert!(!foo.overlaps(&file(other)), "{other}");
            assert!(!file(other).overlaps(&foo), "{other}");
        }
        for other in ["src/foo", "src/foo/x", "src/foo/x/y"] {
            assert!(foo.overlaps(&file(other)), "{other}");
            assert!(file(other).overlaps(&foo), "{other}");
        }
        assert!(area("").overlaps(&file("any/thing")));
        assert!(!file("src").overlaps(&file("src/a")), "a file contains nothing");
        assert!(!file("src").covers(&area("src")));
    }

    #[test]
    fn a_file_and_an_area_at_one_path_have_one_key() {
        assert_eq!(file("src").key(), area("src").key());
        assert_eq!(file("src/deep/x").ancestor_keys(), [area("").key(), area("src").key(), area("src/deep").key()]);
        assert!(area("").ancestor_keys().is_empty());
    }

    #[test]
    fn every_part_of_a_resource_is_in_its_key() {
        let named = |text: &str| resource(Target::Named(text.parse().expect(text)));
        let in_scope = |scope: Scope| Resource { scope, ..file("a") };
        let keys = [
            file("a").key(),
            file("b").key(),
            named("a:b").key(),
            named("ab:c").key(),
            named("a:bc").key(),
            in_scope(Scope { work_tree: "w".into(), ..Scope::implicit() }).key(),
            in_scope(Scope { ignore_case: true, ..Scope::implicit() }).key(),
            in_scope(Scope { project: Project::GitDir("/r/.git".into()), ..Scope::implicit() }).key(),
            in_scope(Scope { project: Project::Label("/r/.git".into()), ..Scope::implicit() }).key(),
            in_scope(Scope { project: Project::Outside, ..Scope::implicit() }).key(),
        ];
        let mut unique = keys.to_vec();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), keys.len());
    }

    /// The store's format: a change here makes every existing lock unfindable.
    #[test]
    fn keys_never_change() {
        assert_eq!(
            file("src/auth.rs").key().to_hex(),
            "1300e51e45e5f519d36bf20dd4c0b37f36238cf66b03177f8c0ee1b574c0ca32"
        );
    }

    #[test]
    fn ignoring_case_is_unicode_without_a_locale() {
        let scope = Scope { ignore_case: true, ..Scope::implicit() };
        let with = |text: &str| Resource { scope: scope.clone(), target: Target::File(path(text)) };
        assert_eq!(with("SRC/Éa").key(), with("src/éA").key());
        assert!(with("SRC/a").covers(&with("src/A")));
        assert_ne!(file("SRC/a").key(), file("src/a").key());
    }

    #[test]
    fn a_path_is_normal_and_of_bounded_length() {
        for bad in ["/a", "a/", "a//b", ".", "..", "a/../b", "./a"] {
            assert_eq!(RepoPath::new(bad), Err(ResourceError::NotNormal(bad.into())), "{bad}");
        }
        assert_eq!(RepoPath::new("a\0b"), Err(ResourceError::Nul));
        assert_eq!(RepoPath::new("x".repeat(4097)), Err(ResourceError::PathTooLong(4097)));
        assert!(RepoPath::new("x".repeat(4096)).is_ok());
        assert!(RepoPath::new(&b"latin\xe9\n"[..]).is_ok(), "paths are bytes");
    }

    #[test]
    fn a_named_resource_is_type_and_id() {
        let name: NamedId = "plan:4:2".parse().expect("valid");
        assert_eq!((name.kind(), name.id()), ("plan", "4:2"));
        assert!(matches!("plan".parse::<NamedId>(), Err(ResourceError::NoColon(_))));
        assert_eq!(":x".parse::<NamedId>(), Err(ResourceError::TypeLength(0)));
        assert_eq!("x:".parse::<NamedId>(), Err(ResourceError::IdLength(0)));
        assert_eq!(format!("{}:x", "t".repeat(51)).parse::<NamedId>(), Err(ResourceError::TypeLength(51)));
        assert_eq!(format!("t:{}", "x".repeat(256)).parse::<NamedId>(), Err(ResourceError::IdLength(256)));
        assert_eq!("t:a\nb".parse::<NamedId>(), Err(ResourceError::Control));
    }

    proptest::proptest! {
        #[test]
        fn overlap_is_symmetric_and_agrees_with_the_keys(a in "([ab]/){0,3}[ab]", b in "([ab]/){0,3}[ab]", ka: bool, kb: bool) {
            let make = |text: &str, is_area: bool| if is_area { area(text) } else { file(text) };
            let (a, b) = (make(&a, ka), make(&b, kb));
            proptest::prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
            let found_above = |x: &Resource, y: &Resource| y.is_area() && x.ancestor_keys().contains(&y.key());
            let by_keys = a.key() == b.key() || found_above(&a, &b) || found_above(&b, &a);
            proptest::prop_assert_eq!(a.overlaps(&b), by_keys);
        }
    }
}
