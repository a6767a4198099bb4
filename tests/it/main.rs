//! The one test binary; each module is about one subject. `cli_*` run the real binary in repositories that the real git has made, in a
//! [`sandbox`]; the others drive the library. What needs root, strace, setpriv or setsid is ignored by default: `cargo test --test it -- --ignored`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

mod agent_session;
mod cli_agent;
mod cli_agent_install;
mod cli_agent_memory;
mod cli_agent_payloads;
mod cli_attacks;
mod cli_completions;
mod cli_damage;
mod cli_faults;
mod cli_generated;
mod cli_guard_bent;
mod cli_guard_forms;
mod cli_guard_kinds;
mod cli_guard_merges;
mod cli_guard_model;
mod cli_guard_modes;
mod cli_guard_names;
mod cli_guard_owners;
mod cli_guard_past;
mod cli_guard_require;
mod cli_help;
mod cli_hook;
mod cli_hook_chain;
mod cli_hook_places;
mod cli_hook_status;
mod cli_hostile;
mod cli_identity;
mod cli_input;
mod cli_looking;
mod cli_managers;
mod cli_output;
mod cli_places;
mod cli_policy;
mod cli_races;
mod cli_run;
mod cli_run_lost;
mod cli_run_signals;
mod cli_run_terminal;
mod cli_scenarios;
mod cli_service;
mod cli_setup;
mod cli_shells;
mod cli_status;
mod cli_stress;
mod cli_surroundings;
mod cli_terminal;
mod cli_truth;
mod cli_waiting;
mod conformance;
mod every_system_call;
mod fuzz;
mod git_places;
mod guard_rules;
mod guard_world;
mod invariants;
mod invariants_clock;
mod invariants_damage;
mod invariants_disk;
mod invariants_identity;
mod invariants_late;
mod lib_world;
mod model;
mod model_rules;
mod races;
mod readme;
mod reftable;
mod run_keeper;
mod sandbox;
mod service;
mod sessions;
mod terminal;
mod tidy;
mod waiting;
