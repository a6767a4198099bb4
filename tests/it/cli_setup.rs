//! `setup`.
