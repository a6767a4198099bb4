//! What the completion scripts are told, without a shell.
