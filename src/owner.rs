//! Who holds a lease: an opaque name of an agent session.
//!
//! Never a process id (the process that took the lease is gone the next moment) and never a default
//! (two agents without a name would be one owner).

use std::{fmt, str::FromStr};

/// An owner: 1 to [`Owner::MAX_BYTES`] bytes of UTF-8 without control characters, compared byte for byte.
///
/// `X/Y` is a *sub-owner* of `X`, as a sub-agent is of its session; the two are *kin*. Kin are different owners: only the
/// commit guard makes a difference between kin and strangers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(String);

/// Why a text is no owner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnerError {
    /// An empty name.
    #[error("an owner cannot be empty")]
    Empty,
    /// More than [`Owner::MAX_BYTES`] bytes; the number given.
    #[error("an owner has at most {max} bytes, this one has {0}", max = Owner::MAX_BYTES)]
    TooLong(usize),
    /// A control character, at this byte.
    #[error("an owner cannot contain control characters (one is at byte {0})")]
    Control(usize),
    /// Blanks at an end would make two owners look alike.
    #[error("an owner cannot begin or end with a blank")]
    Blank,
}

impl Owner {
    /// The longest owner, in bytes.
    pub const MAX_BYTES: usize = 255;

    /// # Errors
    /// [`OwnerError`] when the name is empty, too long, begins or ends with a blank, or contains a control character.
    pub fn new(name: impl Into<String>) -> Result<Self, OwnerError> {
        let name = name.into();
        if name.is_empty() {
            return Err(OwnerError::Empty);
        }
        if name.len() > Self::MAX_BYTES {
            return Err(OwnerError::TooLong(name.len()));
        }
        if let Some((at, _)) = name.char_indices().find(|(_, c)| c.is_control()) {
            return Err(OwnerError::Control(at));
        }
        if name.trim() != name {
            return Err(OwnerError::Blank);
        }
        Ok(Self(name))
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether one of the two is a sub-owner of the other (or they are equal): `X` and `X/Y` are, `X/Y` and `X/Z` are not.
    #[must_use]
    pub fn is_kin(&self, other: &Self) -> bool {
        fn below(above: &str, name: &str) -> bool {
            name.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        below(&self.0, &other.0) || below(&other.0, &self.0)
    }
}

impl FromStr for Owner {
    type Err = OwnerError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

/// Escaped for a terminal; [`Owner::as_str`] is the exact name.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::text::escape(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_1_to_255_bytes_and_no_control_characters() {
        assert!(Owner::new("a").is_ok());
        assert!(Owner::new("x".repeat(255)).is_ok());
        assert!(Owner::new("-leading dash, blanks / slashes, ünï").is_ok());
        assert_eq!(Owner::new(""), Err(OwnerError::Empty));
        assert_eq!(Owner::new("x".repeat(256)), Err(OwnerError::TooLong(256)));
        assert_eq!(Owner::new("a\nb"), Err(OwnerError::Control(1)));
        assert_eq!(Owner::new("a\u{9b}"), Err(OwnerError::Control(1)));
        assert_eq!(Owner::new(" a"), Err(OwnerError::Blank));
    }

    #[test]
    fn kin_are_a_session_and_its_sub_agents_not_siblings() {
        let owner = |name: &str| Owner::new(name).expect(name);
        assert!(owner("X").is_kin(&owner("X/Y")));
        assert!(owner("X/Y/Z").is_kin(&owner("X")));
        assert!(owner("X").is_kin(&owner("X")));
        assert!(!owner("X/Y").is_kin(&owner("X/Z")));
        assert!(!owner("X").is_kin(&owner("XY")));
    }
}
