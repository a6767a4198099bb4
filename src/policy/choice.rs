//! Values that are one of a few words.

/// A value with a fixed list of spellings.
pub(super) trait Choice: Copy + PartialEq + 'static {
    /// Every value with its word.
    const WORDS: &'static [(&'static str, Self)];

    /// The value of that word.
    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }

    /// The word of this value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

/// Whether linked work trees contend for one path (`store.scope`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkTreeScope {
    /// Each work tree has its own locks, as it has its own files.
    WorkTree,
    /// One path is one lock in all work trees of a repository.
    Repository,
}

impl Choice for WorkTreeScope {
    const WORDS: &'static [(&'static str, Self)] = &[("worktree", Self::WorkTree), ("repository", Self::Repository)];
}

/// What the commit guard does (`guard.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GuardMode {
    /// Refuse the commit.
    Enforce,
    /// Let it pass, with a warning.
    Warn,
    /// Do not look.
    Off,
}

impl GuardMode {
    /// The mode that `word` names (`enforce`, `warn`, `off`), as in `AGENTLOCK_GUARD`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::from_word(word)
    }

    /// The word that names this mode.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.word()
    }
}

impl Choice for GuardMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("enforce", Self::Enforce), ("warn", Self::Warn), ("off", Self::Off)];
}

/// What an agent tool's hook does when it cannot tell who holds a file (`agent.on-error`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnError {
    /// Stop the edit.
    Block,
    /// Let it happen.
    Allow,
}

impl Choice for OnError {
    const WORDS: &'static [(&'static str, Self)] = &[("block", Self::Block), ("allow", Self::Allow)];
}
