//! Leases on files, so that many agents can work in one git repository without overwriting each other.

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod clock;
pub mod duration;
pub mod git;
pub mod locks;
pub mod owner;
pub mod policy;
pub mod record;
pub mod resource;
pub mod store;
pub mod text;
