
use builtin;
use str;

set edit:completion:arg-completer[git-agentlock] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'git-agentlock'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'git-agentlock'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand acquire 'Take leases, all or nothing'
            cand renew 'Put the expiry of your leases off'
            cand heartbeat 'Put the expiry of your leases off'
            cand release 'Give your leases back'
            cand check 'Say who holds it, since when and until when'
            cand list 'Show the leases of this project'
            cand prune 'Remove the records of expired leases'
            cand break 'End somebody else''s lease, with a reason that its owner is told'
            cand doctor 'Look for what is wrong with the store, and say how to mend it'
            cand run 'Hold leases for as long as a command runs'
            cand guard 'Refuse a commit that touches what others hold; for git''s hooks'
            cand hook 'Put the guard into git''s hooks, or take it out again'
            cand agent-hook 'Take the lease of a file before an agent tool edits it'
            cand instructions 'Print instructions for agents, for AGENTS.md or CLAUDE.md'
            cand log 'Show what has happened to leases, the oldest first'
            cand whoami 'Print the owner that would be used, and where it comes from'
            cand policy 'Show the effective policy, and where each value comes from'
            cand setup 'Put completions and man pages where they are looked for'
            cand completions 'Print the completion script for a shell'
            cand man 'Print a man page'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'git-agentlock;acquire'= {
            cand --resource 'A named thing, such as plan:42 or git:index (repeatable)'
            cand --pathspec-from-file 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)'
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --ttl 'How long the leases last: 90s, 5m, 1h 30m, or plain seconds [default: the policy''s]'
            cand --wait 'Wait for so long for what is held [default: not at all]; Ctrl-C ends it with nothing held'
            cand --reason 'Why, for those who find it held (at most 1,000 bytes)'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --area 'Take every PATH as a directory and all below it'
            cand --pathspec-file-nul 'The paths of --pathspec-from-file end with NUL and are not quoted'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;renew'= {
            cand --resource 'A named thing, such as plan:42 or git:index (repeatable)'
            cand --pathspec-from-file 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)'
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --ttl 'How long from now [default: as long as the lease was taken for]'
            cand --token 'Only if it is still the lease with this token'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --area 'Take every PATH as a directory and all below it'
            cand --pathspec-file-nul 'The paths of --pathspec-from-file end with NUL and are not quoted'
            cand --all 'Every lease of the owner in this project'
            cand --store 'With --all: in every project of the store'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;heartbeat'= {
            cand --resource 'A named thing, such as plan:42 or git:index (repeatable)'
            cand --pathspec-from-file 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)'
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --ttl 'How long from now [default: as long as the lease was taken for]'
            cand --token 'Only if it is still the lease with this token'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --area 'Take every PATH as a directory and all below it'
            cand --pathspec-file-nul 'The paths of --pathspec-from-file end with NUL and are not quoted'
            cand --all 'Every lease of the owner in this project'
            cand --store 'With --all: in every project of the store'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;release'= {
            cand --resource 'A named thing, such as plan:42 or git:index (repeatable)'
            cand --pathspec-from-file 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)'
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --token 'Only if it is still the lease with this token'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --area 'Take every PATH as a directory and all below it'
            cand --pathspec-file-nul 'The paths of --pathspec-from-file end with NUL and are not quoted'
            cand --all 'Every lease of the owner in this project'
            cand --store 'With --all: in every project of the store'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;check'= {
            cand --resource 'A named thing, such as plan:42 or git:index (repeatable)'
            cand --pathspec-from-file 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)'
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --token 'Exit code 3 unless I still hold the lease with this token'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --area 'Take every PATH as a directory and all below it'
            cand --pathspec-file-nul 'The paths of --pathspec-from-file end with NUL and are not quoted'
            cand --mine 'Exit code 3 unless I hold it'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;list'= {
            cand -o 'Only those of this owner'
            cand --owner 'Only those of this owner'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --expired 'Only those that have expired'
            cand --store 'The leases of every project in a shared store'
            cand -z 'For scripts: state, owner, token, expiry, kind, work tree (with --store, project and work tree) and path, with tabs between and NUL at the end, nothing escaped'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;prune'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand -n 'Only say what would be removed'
            cand --dry-run 'Only say what would be removed'
            cand --store 'In every project of a shared store'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;break'= {
            cand --resource 'A named thing, such as plan:42 or git:index (repeatable)'
            cand --pathspec-from-file 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)'
            cand --reason 'Why (at most 1,000 bytes); the one who held it is told'
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --area 'Take every PATH as a directory and all below it'
            cand --pathspec-file-nul 'The paths of --pathspec-from-file end with NUL and are not quoted'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;doctor'= {
            cand --reason 'With --fix: also move records aside that still count as held, for this reason'
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --fix 'Mend what is safe to mend: left-over files, permissions; damaged records are moved aside once they no longer count as held'
            cand --store 'Look at the leases of every project of a shared store'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;run'= {
            cand --resource 'A named thing, such as plan:42 or git:index (repeatable)'
            cand --pathspec-from-file 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)'
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --ttl 'How long the leases last: 90s, 5m, 1h 30m, or plain seconds [default: the policy''s]'
            cand --wait 'Wait for so long for what is held [default: not at all]; Ctrl-C ends it with nothing held'
            cand --reason 'Why, for those who find it held (at most 1,000 bytes)'
            cand --on-lost 'What to do when a lease is lost: warn, ask COMMAND to end (term), or kill it at once'
            cand --grace 'With `term`: how long COMMAND goes on before it is asked to end, and again before it is killed'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --area 'Take every PATH as a directory and all below it'
            cand --pathspec-file-nul 'The paths of --pathspec-from-file end with NUL and are not quoted'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;guard'= {
            cand --hook 'The hook that asks, by its name in git'
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --again 'Asked again after another hook has run: say only what refuses, since the rest has been said'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;hook'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help'
            cand --help 'Print help'
            cand install 'Install hooks that ask the guard; a hook that is there already runs after it'
            cand uninstall 'Take the hooks out again, and put back what was there'
            cand status 'Tell which hooks git really runs; changes nothing'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'git-agentlock;hook;install'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --all 'Every hook there is'
            cand --machine-wide 'Also in a directory that other repositories use too'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;hook;uninstall'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --all 'Every hook there is'
            cand --machine-wide 'Also in a directory that other repositories use too'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;hook;status'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;hook;help'= {
            cand install 'Install hooks that ask the guard; a hook that is there already runs after it'
            cand uninstall 'Take the hooks out again, and put back what was there'
            cand status 'Tell which hooks git really runs; changes nothing'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'git-agentlock;hook;help;install'= {
        }
        &'git-agentlock;hook;help;uninstall'= {
        }
        &'git-agentlock;hook;help;status'= {
        }
        &'git-agentlock;hook;help;help'= {
        }
        &'git-agentlock;agent-hook'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand install 'Have an agent tool call this before it edits'
            cand uninstall 'Take the entries out again'
            cand status 'Tell which agent tools call this; changes nothing'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'git-agentlock;agent-hook;install'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --project 'In the settings of this project, at the top of the work tree [default]'
            cand --user 'In your own settings, for all projects'
            cand --dry-run 'Print what the file would be, and change nothing'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;agent-hook;uninstall'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --project 'In the settings of this project, at the top of the work tree [default]'
            cand --user 'In your own settings, for all projects'
            cand --dry-run 'Print what the file would be, and change nothing'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;agent-hook;status'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;agent-hook;help'= {
            cand install 'Have an agent tool call this before it edits'
            cand uninstall 'Take the entries out again'
            cand status 'Tell which agent tools call this; changes nothing'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'git-agentlock;agent-hook;help;install'= {
        }
        &'git-agentlock;agent-hook;help;uninstall'= {
        }
        &'git-agentlock;agent-hook;help;status'= {
        }
        &'git-agentlock;agent-hook;help;help'= {
        }
        &'git-agentlock;instructions'= {
            cand --write 'Put them into FILE, at its end or in the place of those that are there'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;log'= {
            cand -o 'Only what this owner did or suffered'
            cand --owner 'Only what this owner did or suffered'
            cand --since 'Only since then: a duration before now (2h), or a time (2026-11-30T12:00:00Z)'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --store 'Of every project in a shared store'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;whoami'= {
            cand -o 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --owner 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool'
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'git-agentlock;policy'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'git-agentlock;setup'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand -n 'Only say what would be done'
            cand --dry-run 'Only say what would be done'
            cand --uninstall 'Take out what setup has put in'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;completions'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;man'= {
            cand --color 'When to use colours'
            cand -C 'Run as if started in DIR'
            cand --json 'Print one JSON document on stdout, whatever the outcome'
            cand -q 'Print nothing but errors and warnings; the exit code tells'
            cand --quiet 'Print nothing but errors and warnings; the exit code tells'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'git-agentlock;help'= {
            cand acquire 'Take leases, all or nothing'
            cand renew 'Put the expiry of your leases off'
            cand release 'Give your leases back'
            cand check 'Say who holds it, since when and until when'
            cand list 'Show the leases of this project'
            cand prune 'Remove the records of expired leases'
            cand break 'End somebody else''s lease, with a reason that its owner is told'
            cand doctor 'Look for what is wrong with the store, and say how to mend it'
            cand run 'Hold leases for as long as a command runs'
            cand guard 'Refuse a commit that touches what others hold; for git''s hooks'
            cand hook 'Put the guard into git''s hooks, or take it out again'
            cand agent-hook 'Take the lease of a file before an agent tool edits it'
            cand instructions 'Print instructions for agents, for AGENTS.md or CLAUDE.md'
            cand log 'Show what has happened to leases, the oldest first'
            cand whoami 'Print the owner that would be used, and where it comes from'
            cand policy 'Show the effective policy, and where each value comes from'
            cand setup 'Put completions and man pages where they are looked for'
            cand completions 'Print the completion script for a shell'
            cand man 'Print a man page'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'git-agentlock;help;acquire'= {
        }
        &'git-agentlock;help;renew'= {
        }
        &'git-agentlock;help;release'= {
        }
        &'git-agentlock;help;check'= {
        }
        &'git-agentlock;help;list'= {
        }
        &'git-agentlock;help;prune'= {
        }
        &'git-agentlock;help;break'= {
        }
        &'git-agentlock;help;doctor'= {
        }
        &'git-agentlock;help;run'= {
        }
        &'git-agentlock;help;guard'= {
        }
        &'git-agentlock;help;hook'= {
            cand install 'Install hooks that ask the guard; a hook that is there already runs after it'
            cand uninstall 'Take the hooks out again, and put back what was there'
            cand status 'Tell which hooks git really runs; changes nothing'
        }
        &'git-agentlock;help;hook;install'= {
        }
        &'git-agentlock;help;hook;uninstall'= {
        }
        &'git-agentlock;help;hook;status'= {
        }
        &'git-agentlock;help;agent-hook'= {
            cand install 'Have an agent tool call this before it edits'
            cand uninstall 'Take the entries out again'
            cand status 'Tell which agent tools call this; changes nothing'
        }
        &'git-agentlock;help;agent-hook;install'= {
        }
        &'git-agentlock;help;agent-hook;uninstall'= {
        }
        &'git-agentlock;help;agent-hook;status'= {
        }
        &'git-agentlock;help;instructions'= {
        }
        &'git-agentlock;help;log'= {
        }
        &'git-agentlock;help;whoami'= {
        }
        &'git-agentlock;help;policy'= {
        }
        &'git-agentlock;help;setup'= {
        }
        &'git-agentlock;help;completions'= {
        }
        &'git-agentlock;help;man'= {
        }
        &'git-agentlock;help;help'= {
        }
    ]
    $completions[$command]
}
