//! Leases on files, so that many agents and people can work in one git repository without overwriting each other.
//!
//! # The model
//!
//! An [`Owner`](owner::Owner) is an agent's session, named by an opaque text. It takes a *lease* on a
//! [`Resource`](resource::Resource): a file, an area (a directory and all below it), or a named thing. A lease lasts for a
//! TTL and can be renewed by its owner while it holds; it ends by release, by expiry, or by somebody breaking it. At any instant
//! at most one owner holds a resource, and what overlaps excludes each other. Each new grant gets a [`Token`](record::Token) that is higher than
//! every one before.
//!
//! Agents are one-shot processes, so a lease is not tied to a process: it is the content of a file, a [`Record`](record::Record).
//! Locks of the operating system are held for the critical section of one change only.
//!
//! # Reading order
//!
//! | module | what it is about |
//! | --- | --- |
//! | [`resource`], [`owner`], [`duration`], [`clock`], [`text`] | the words |
//! | [`record`] | a lease as it is written down |
//! | [`policy`] | what is allowed, and who says so |
//! | [`store`] | keeps records, and runs a decision atomically |
//! | [`locks`] | what a record means, and the decisions: acquire, renew, release, break, prune; whose turn it is; check and list only look |
//! | [`git`] | which repository, work tree and path a spelling names; which paths a commit changes |
//! | [`guard`] | which of them it must not change |
//! | [`harness`] | what agent tools ask before they edit, and how they want to be answered |
//! | [`install`] | hooks put beside what is there |
//! | [`run`] | leases for as long as a command runs |
//!
//! Rules are pure functions from *records seen + request + now* to *answer + changes*; a [`Store`](store::Store) runs them;
//! only the binary reads the environment or prints (gix' own reading of `GIT_*` is the one exception). ARCHITECTURE.md lists the invariants.
//!
//! # Limitations
//!
//! Leases are advisory: nothing stops a `write()`. The file store needs a local file system where `flock`, `rename` and `fsync` do what they
//! promise. Across reboots and machines leases are judged by the wall clock.

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod clock;
pub mod duration;
pub mod git;
pub mod guard;
pub mod harness;
pub mod install;
pub mod locks;
pub mod owner;
pub mod policy;
pub mod record;
pub mod resource;
pub mod run;
pub mod store;
pub mod text;
