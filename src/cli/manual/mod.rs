//! The man pages: one of the program, one of each command, one of the policy file. Made from the command tree, the examples and the built-in policy.

mod policy;
mod roff;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use self::roff::Text;
use super::{args::Cli, teaching};

/// What the environment says to every command.
const ENVIRONMENT: [(&str, &str); 7] = [
    ("AGENTLOCK_OWNER", "Who you are, unless --owner says so."),
    ("AGENTLOCK_POLICY", "One more policy file, which wins over all others."),
    ("AGENTLOCK_GUARD", "What the guard does: enforce, warn or off. Wins over the policy."),
    (
        "AGENT_REGISTRY_LOCK_DIR",
        "An absolute directory in which all repositories keep their leases. Set it for everybody, or for nobody.",
    ),
    (
        "CLAUDE_CODE_SESSION_ID, CODEX_THREAD_ID, GEMINI_SESSION_ID, COPILOT_AGENT_SESSION_ID, OPENCODE_SESSION_ID",
        "Session ids that agent tools export. The owner is made of them when nothing else says who you are.",
    ),
    ("GIT_DIR, GIT_WORK_TREE, GIT_COMMON_DIR", "As for git itself."),
    ("NO_COLOR, CLICOLOR_FORCE", "Whether colours are used, unless --color says so."),
];

const FILES: [(&str, &str); 4] = [
    ("$GIT_COMMON_DIR/agent-locks/v1/", "The leases, one file each, and the journal."),
    ("$XDG_CONFIG_HOME/git-agentlock/policy.toml", "The user's policy (~/.config when the variable is not set)."),
    (".agentlock.toml", "The policy that is committed, at the top of the work tree."),
    ("$GIT_COMMON_DIR/agentlock.toml", "The policy of this clone."),
];

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The commands that lead to it; none for the program's own.
    path: Vec<&'static str>,
    is_of_policy_file: bool,
}

/// The commands that have pages, each with its own commands.
const COMMANDS: [(&str, &[&str]); 19] = [
    ("acquire", &[]),
    ("renew", &[]),
    ("release", &[]),
    ("check", &[]),
    ("list", &[]),
    ("prune", &[]),
    ("break", &[]),
    ("doctor", &[]),
    ("run", &[]),
    ("guard", &[]),
    ("hook", &["install", "uninstall", "status"]),
    ("agent-hook", &["install", "uninstall", "status"]),
    ("instructions", &[]),
    ("log", &[]),
    ("whoami", &[]),
    ("policy", &[]),
    ("setup", &[]),
    ("completions", &[]),
    ("man", &[]),
];

/// Every page there is.
pub(crate) fn pages() -> Vec<Page> {
    let page = |path: Vec<&'static str>| Page { path, is_of_policy_file: false };
    let mut pages = vec![page(Vec::new())];
    for (name, below) in COMMANDS {
        pages.push(page(vec![name]));
        pages.extend(below.iter().map(|below| page(vec![name, below])));
    }
    pages.push(Page { path: vec!["policy"], is_of_policy_file: true });
    pages
}

impl Page {
    /// The page that is meant: a command, with or without what stands before it, and with a section where there are two.
    pub(crate) fn named(words: &[String]) -> Option<Self> {
        let asked = words.join("-").replace(' ', "-");
        let asked = asked.strip_prefix("git-agentlock-").unwrap_or(&asked);
        let asked = asked.strip_suffix(".1").unwrap_or(asked);
        let tree = Cli::command();
        // By another name of it too.
        let asked = tree.find_subcommand(asked).map_or(asked, Command::get_name);
        pages().into_iter().find(|page| page.topic() == asked || (page.path.is_empty() && asked.is_empty()))
    }

    /// What `man` is asked for.
    pub(crate) fn topic(&self) -> String {
        match (self.path.join("-"), self.is_of_policy_file) {
            (topic, _) if topic.is_empty() => "git-agentlock".to_owned(),
            (topic, true) => format!("{topic}.5"),
            (topic, false) => topic,
        }
    }

    fn name(&self) -> String {
        std::iter::once("git-agentlock").chain(self.path.iter().copied()).collect::<Vec<_>>().join("-")
    }

    pub(crate) fn section(&self) -> &'static str {
        if self.is_of_policy_file { "5" } else { "1" }
    }

    pub(crate) fn file_name(&self) -> String {
        format!("{}.{}", self.name(), self.section())
    }

    /// The page in roff's man macros.
    pub(crate) fn render(&self) -> String {
        if self.is_of_policy_file {
            return policy::render();
        }
        let mut tree = Cli::command();
        tree.build();
        let mut command = Some(&tree);
        for name in &self.path {
            command = command.and_then(|command| command.find_subcommand(name));
        }
        command.map(|command| self.of_command(command)).unwrap_or_default()
    }

    fn of_command(&self, command: &Command) -> String {
        let man = Man::new(told(command));
        let mut page = Vec::new();
        // Into memory: nothing can fail.
        let _ = man.render_name_section(&mut page);
        let mut text = Text::new(&self.name(), self.section());
        text.generated(&page);
        text.section("SYNOPSIS");
        let usage = command.clone().render_usage().to_string();
        text.paragraph(usage.trim_start_matches("Usage: "));
        let mut page = Vec::new();
        let _ = man.render_description_section(&mut page);
        let _ = man.render_options_section(&mut page);
        text.generated(&page);
        let below: Vec<&Command> = command.get_subcommands().filter(|sub| sub.get_name() != "help").collect();
        if !below.is_empty() {
            text.section("COMMANDS");
            for sub in below {
                let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
                text.entry(&format!("{}-{}(1)", self.name(), sub.get_name()), &about);
            }
        }
        let first = self.path.first().copied();
        let codes: &[_] = if first == Some("run") { &teaching::EXIT_CODES_OF_RUN } else { &teaching::EXIT_CODES };
        text.section("EXIT STATUS");
        for (code, meaning) in codes {
            text.entry(code, meaning);
        }
        let examples = if self.path.len() > 1 { &[] } else { teaching::examples(first.unwrap_or("git-agentlock")) };
        if !examples.is_empty() {
            text.section("EXAMPLES");
            text.examples(examples);
        }
        if self.path.is_empty() {
            text.section("ENVIRONMENT");
            for (name, meaning) in ENVIRONMENT {
                text.entry(name, meaning);
            }
            text.section("FILES");
            for (name, meaning) in FILES {
                text.entry(name, meaning);
            }
        }
        text.section("SEE ALSO");
        text.paragraph(&self.see_also().join(", "));
        text.into_page()
    }

    fn see_also(&self) -> Vec<&'static str> {
        let related: &[&str] = match self.path.first().copied() {
            None => &["git(1)", "githooks(5)"],
            Some("acquire") => &["git-agentlock-renew(1)", "git-agentlock-release(1)", "git-agentlock-run(1)"],
            Some("renew" | "release") => &["git-agentlock-acquire(1)", "git-agentlock-check(1)"],
            Some("check" | "list" | "log") => &["git-agentlock-acquire(1)", "git-agentlock-doctor(1)"],
            Some("guard" | "hook") => &["git-agentlock-guard(1)", "git-agentlock-hook(1)", "githooks(5)"],
            Some("agent-hook") => &["git-agentlock-hook(1)", "git-agentlock-instructions(1)"],
            Some("setup" | "completions" | "man") => &["bash(1)", "zsh(1)", "fish(1)", "man(1)"],
            Some(_) => &[],
        };
        let own = self.file_name();
        let is_other = |page: &&str| own.strip_suffix(".1").is_none_or(|name| page.strip_suffix("(1)") != Some(name));
        let main = (!self.path.is_empty()).then_some("git-agentlock(1)");
        main.into_iter().chain(related.iter().copied().filter(is_other)).chain(["git-agentlock-policy(5)"]).collect()
    }
}

/// The command as its page tells it: what an argument can be is said in its sentence, and that `-h` prints help goes without saying.
fn told(command: &Command) -> Command {
    command.clone().mut_args(|arg| {
        if matches!(arg.get_id().as_str(), "help" | "version") {
            return arg.hide(true);
        }
        let values: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if values.is_empty() || !arg.get_action().takes_values() {
            return arg;
        }
        let help = format!("{} ({})", arg.get_help().map(ToString::to_string).unwrap_or_default(), values.join(", "));
        arg.help(help.clone()).long_help(help).hide_possible_values(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let mut found = Vec::new();
        let mut tree = Cli::command();
        tree.build();
        let is_own = |command: &&Command| command.get_name() != "help";
        for sub in tree.get_subcommands().filter(is_own) {
            found.push(sub.get_name().to_owned());
            found.extend(
                sub.get_subcommands().filter(is_own).map(|below| format!("{}-{}", sub.get_name(), below.get_name())),
            );
        }
        let topics: Vec<String> = pages().iter().map(Page::topic).collect();
        assert_eq!(topics[1..topics.len() - 1], found);
    }

    #[test]
    fn a_page_is_found_by_any_of_its_names() {
        let file_of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            Page::named(&words).map(|page| page.file_name())
        };
        assert_eq!(file_of(&[]).as_deref(), Some("git-agentlock.1"));
        assert_eq!(file_of(&["git-agentlock"]).as_deref(), Some("git-agentlock.1"));
        assert_eq!(file_of(&["hook", "install"]).as_deref(), Some("git-agentlock-hook-install.1"));
        assert_eq!(file_of(&["git-agentlock-policy.5"]).as_deref(), Some("git-agentlock-policy.5"));
        assert_eq!(file_of(&["policy"]).as_deref(), Some("git-agentlock-policy.1"));
        assert_eq!(file_of(&["nothing"]), None);
    }
}
