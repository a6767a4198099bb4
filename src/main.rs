//! The `git-agentlock` command.

fn main() {}
