//! One file per command: its arguments and one `run`. Commands do not call each other.

pub(crate) mod acquire;
pub(crate) mod agent_hook;
pub(crate) mod break_;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod guard;
pub(crate) mod hook;
pub(crate) mod instructions;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod policy;
pub(crate) mod prune;
pub(crate) mod release;
pub(crate) mod renew;
#[cfg(unix)]
pub(crate) mod run;
pub(crate) mod setup;
pub(crate) mod status;
pub(crate) mod whoami;
