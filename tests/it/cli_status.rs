//! `git agentlock` alone.
