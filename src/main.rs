//! The `git-agentlock` command. Everything of substance is in the library; this is the outer ring that reads the environment and prints.

#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
