//! Completion in the real shells, at a real terminal, after the documented set-up, as a user would have it: keys are typed, and what the shell has
//! made of the line is looked at.

use std::{fs, path::PathBuf};

use crate::{
    sandbox::{Agent, BINARY, Sandbox, wait_until},
    terminal::Terminal,
};

/// Takes the line away. A signal would do that too, and also throw away what is typed ahead.
const CTRL_U: &str = "\x15";
/// In each shell a key is made to write the line being edited into a file.
const CTRL_T: &str = "\x14";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// A shell that waits for a line.
struct Prompt<'s> {
    terminal: Terminal,
    dump: PathBuf,
    agent: Agent<'s>,
    sandbox: &'s Sandbox,
}

impl Shell {
    fn command(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["env", "TERM=vt100", "bash", "--norc", "--noprofile", "-i"],
            Self::Zsh => &["env", "TERM=vt100", "zsh", "-f", "-i"],
            Self::Fish => &["env", "TERM=vt100", "fish", "-i"],
        }
    }

    /// What is in the user's start files. git's own completion is not loaded, and unset variables are errors where a shell has that.
    fn start(self) -> &'static str {
        match self {
            Self::Bash => {
                "source /usr/share/bash-completion/bash_completion; set -u
                bind 'set enable-bracketed-paste off'; dump() { printf %s \"$READLINE_LINE\" >$DUMP; }; bind -x '\"\\C-t\":dump'; bind 'set bell-style none'
                PS1='prompt''> '\n"
            }
            Self::Zsh => {
                "fpath=(~/.local/share/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D; setopt nounset
                unsetopt beep prompt_sp; dump() { print -rn -- \"$BUFFER\" >$DUMP }; zle -N dump; bindkey '^T' dump
                PS1='prompt''> '\n"
            }
            Self::Fish => {
                "set -g fish_greeting ''
                bind \\ct 'commandline | string collect -N | read -z line; echo -n $line >$DUMP'
                function fish_prompt; echo 'prompt''> '; end; functions -e fish_right_prompt\n"
            }
        }
    }
}

impl<'s> Prompt<'s> {
    fn new(shell: Shell, sandbox: &'s Sandbox, agent: &Agent<'s>) -> Self {
        let dump = sandbox.root().join("dump");
        let agent = agent.env("DUMP", &dump).env("PS1", "");
        let mut terminal = Terminal::start(&agent, shell.command());
        terminal.types(shell.start());
        terminal.shows("prompt> ", 1);
        Self { terminal, dump, agent, sandbox }
    }

    /// The line after it was typed and TAB pressed.
    #[track_caller]
    fn completed(&mut self, typed: &str) -> String {
        let _ = fs::remove_file(&self.dump);
        self.terminal.types(&format!("{CTRL_U}{typed}\t{CTRL_T}"));
        wait_until("the line was written down", || fs::read(&self.dump).is_ok_and(|line| !line.is_empty()));
        let line = fs::read_to_string(&self.dump).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    /// Has the line run.
    fn enter(&mut self, typed: &str) {
        self.terminal.types(&format!("{CTRL_U}{typed}\t\r"));
    }

    fn end(mut self) {
        self.terminal.types(&format!("{CTRL_U}exit\r"));
        self.terminal.end();
    }
}

/// Names that a shell must not read as anything else, by their beginning, which needs no quotes.
const HOSTILE: [&str; 8] = [
    "b1 blank",
    "b2;touch pwned",
    "b3$(touch pwned)",
    "b4'quote",
    "b5\"double",
    "b6`touch pwned`",
    "b7\\back",
    "b8*?[x]{a,b}!~#&|<>",
];

fn world() -> (Sandbox, PathBuf) {
    let (sandbox, repo) = Sandbox::with_repo();
    let me = sandbox.agent(&repo, "claude-me");
    me.ok(["setup", "--quiet"]);
    for name in ["src/auth.rs", "my file"].iter().chain(&HOSTILE) {
        fs::write(repo.join(name), "").unwrap();
    }
    fs::write(repo.join("-n"), "").unwrap();
    me.ok(["acquire", "src/auth.rs", "my file", "./-n"]);
    me.ok([&["acquire"][..], &HOSTILE].concat());
    me.ok(["acquire", "--resource", "plan:42"]);
    sandbox.agent(&repo, "kimi-222").ok(["acquire", "README"]);
    sandbox.agent(&repo, "codex:7f").ok(["acquire", "LICENSE"]);
    sandbox.agent(&repo, "mona-9").ok(["acquire", "docs/"]);
    sandbox.git(&repo, &["config", "alias.lock", "agentlock"]);
    sandbox.git(&repo, &["config", "alias.take", "agentlock acquire"]);
    (sandbox, repo)
}

fn completes_as_a_user_would_have_it(shell: Shell) {
    let (sandbox, repo) = world();
    let me = sandbox.agent(&repo, "claude-me");
    let mut prompt = Prompt::new(shell, &sandbox, &me);
    for (typed, line) in [
        ("git agentlock rel", "git agentlock release "),
        ("git-agentlock rel", "git-agentlock release "),
        ("git lock rel", "git lock release "),
        ("git take src/au", "git take src/auth.rs "),
        ("git agentlock release src/", "git agentlock release src/auth.rs "),
        ("git agentlock renew my", "git agentlock renew my\\ file "),
        ("git agentlock check REA", "git agentlock check README "),
        ("git agentlock break ./-", "git agentlock break ./-n "),
        ("git agentlock acquire src/au", "git agentlock acquire src/auth.rs "),
        ("git agentlock acquire --owner ki", "git agentlock acquire --owner kimi-222 "),
        ("git agentlock acquire --owner=ki", "git agentlock acquire --owner=kimi-222 "),
        ("git agentlock release --resource pl", "git agentlock release --resource plan:42 "),
        ("git agentlock release --resource plan:", "git agentlock release --resource plan:42 "),
        ("git agentlock acquire --pathspec-file-", "git agentlock acquire --pathspec-file-nul "),
        ("git agentlock hook inst", "git agentlock hook install "),
        ("git -C src agentlock acquire aut", "git -C src agentlock acquire auth.rs "),
        ("git -C src agentlock release aut", "git -C src agentlock release auth.rs "),
        ("git-agentlock -C src release aut", "git-agentlock -C src release auth.rs "),
        ("git agentlock acquire ~/gitcon", "git agentlock acquire ~/gitconfig "),
        ("git agentlock acquire 'my", "git agentlock acquire 'my file'"),
        ("git agentlock list --owner codex:", "git agentlock list --owner codex:7f "),
        ("git agentlock run src/auth.rs -- dirnam", "git agentlock run src/auth.rs -- dirname "),
        (
            "git-agentlock run src/auth.rs -- git agentlock rel",
            "git-agentlock run src/auth.rs -- git agentlock release ",
        ),
        ("git agentlock release nothing-of-this", "git agentlock release nothing-of-this"),
    ] {
        let completed = prompt.completed(typed);
        // Behind a closing quote some put a blank and some do not.
        let is_quoted = line.ends_with('\'') && completed.trim_end() == line;
        assert!(completed == line || is_quoted, "{shell:?}: {typed} became {completed}\n{}", prompt.terminal.seen());
    }
    prompt.end();
}

fn offers_what_there_is_and_says_who_holds_it(shell: Shell) {
    let (sandbox, repo) = world();
    let mut prompt = Prompt::new(shell, &sandbox, &sandbox.agent(&repo, "claude-me"));
    prompt.terminal.types("git agentlock release \t\t");
    for name in ["auth.rs", "README", "file"] {
        prompt.terminal.shows(name, 1);
    }
    if shell != Shell::Bash {
        prompt.terminal.shows("kimi-222", 1);
        prompt.terminal.shows("mona-9", 1);
    }
    prompt.end();
}

/// The line is run: what the shell makes of the completed word is the very file, and nothing else happens.
fn hostile_names_are_completed_safely(shell: Shell) {
    let (sandbox, repo) = world();
    let mut prompt = Prompt::new(shell, &sandbox, &sandbox.agent(&repo, "claude-me"));
    for name in HOSTILE {
        assert_eq!(prompt.agent.holder_of(name).as_deref(), Some("claude-me"));
        prompt.enter(&format!("git agentlock release {}", &name[..2]));
        let agent = &prompt.agent;
        let start = std::time::Instant::now();
        while agent.holder_of(name).is_some() {
            assert!(start.elapsed().as_secs() < 60, "{shell:?}: {name}\n{}", prompt.terminal.seen());
        }
    }
    assert!(!repo.join("pwned").exists());
    prompt.end();
}

/// Nothing is told, whatever is wrong.
fn says_nothing_outside_of_any_repository(shell: Shell) {
    let (sandbox, _) = world();
    let outside = sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let mut prompt = Prompt::new(shell, &sandbox, &sandbox.agent(&outside, "claude-me"));
    let before = prompt.terminal.seen().len();
    for (typed, line) in [
        ("git agentlock rel", "git agentlock release "),
        ("git-agentlock release x", "git-agentlock release x"),
        ("git agentlock check --resource x", "git agentlock check --resource x"),
    ] {
        assert_eq!(prompt.completed(typed), line, "{shell:?}");
    }
    let seen = prompt.terminal.seen().split_off(before);
    for word in ["error", "not a git", "hint", "unbound", "parameter not set"] {
        assert!(!seen.contains(word), "{shell:?}: {seen}");
    }
    assert!(!prompt.sandbox.root().join("outside/.git").exists() && BINARY.contains("agentlock"));
    prompt.end();
}

macro_rules! in_each_shell {
    ($($test:ident)*) => {
        mod bash {
            $(#[test] #[ignore = "needs bash-completion"] fn $test() { super::$test(super::Shell::Bash); })*
        }
        mod zsh {
            $(#[test] #[ignore = "needs zsh"] fn $test() { super::$test(super::Shell::Zsh); })*
        }
        mod fish {
            $(#[test] #[ignore = "needs fish"] fn $test() { super::$test(super::Shell::Fish); })*
        }
    };
}

in_each_shell! {
    completes_as_a_user_would_have_it
    offers_what_there_is_and_says_who_holds_it
    hostile_names_are_completed_safely
    says_nothing_outside_of_any_repository
}
