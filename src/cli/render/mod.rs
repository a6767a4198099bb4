//! How results look: [`json`] for programs, [`human`] for people.

pub(crate) mod advice;
pub(crate) mod agent;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod line;
#[cfg(unix)]
pub(crate) mod table;
pub(crate) mod watch;
