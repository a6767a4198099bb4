//! Races of processes: they acquire, renew, release, take over, break, prune, check and list what overlaps, for milliseconds, and are killed and
//! stopped at any time. Each writes its own history, and an independent [`checker`] looks for what must not be.
//!
//! A test binary of its own, since it needs the machine for itself. `proof/races.sh` lets it run for as long as you like.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

mod binary;
mod chance;
mod checker;
mod contest;
mod history;
mod library;
mod racer;
mod requests;
#[path = "../it/sandbox.rs"]
mod sandbox;
mod tally;
