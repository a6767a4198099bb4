//! The one test binary; each module is about one subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

mod conformance;
mod invariants;
mod invariants_clock;
mod invariants_damage;
mod invariants_disk;
mod invariants_late;
mod lib_world;
mod races;
mod service;
mod tidy;
mod waiting;
