//! What is committed is what the program makes: completions and man pages.
