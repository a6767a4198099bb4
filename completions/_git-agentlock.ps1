
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'git-agentlock' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'git-agentlock'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'git-agentlock' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('acquire', 'acquire', [CompletionResultType]::ParameterValue, 'Take leases, all or nothing')
            [CompletionResult]::new('renew', 'renew', [CompletionResultType]::ParameterValue, 'Put the expiry of your leases off')
            [CompletionResult]::new('heartbeat', 'heartbeat', [CompletionResultType]::ParameterValue, 'Put the expiry of your leases off')
            [CompletionResult]::new('release', 'release', [CompletionResultType]::ParameterValue, 'Give your leases back')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Say who holds it, since when and until when')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'Show the leases of this project')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Remove the records of expired leases')
            [CompletionResult]::new('break', 'break', [CompletionResultType]::ParameterValue, 'End somebody else''s lease, with a reason that its owner is told')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Look for what is wrong with the store, and say how to mend it')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Hold leases for as long as a command runs')
            [CompletionResult]::new('guard', 'guard', [CompletionResultType]::ParameterValue, 'Refuse a commit that touches what others hold; for git''s hooks')
            [CompletionResult]::new('hook', 'hook', [CompletionResultType]::ParameterValue, 'Put the guard into git''s hooks, or take it out again')
            [CompletionResult]::new('agent-hook', 'agent-hook', [CompletionResultType]::ParameterValue, 'Take the lease of a file before an agent tool edits it')
            [CompletionResult]::new('instructions', 'instructions', [CompletionResultType]::ParameterValue, 'Print instructions for agents, for AGENTS.md or CLAUDE.md')
            [CompletionResult]::new('log', 'log', [CompletionResultType]::ParameterValue, 'Show what has happened to leases, the oldest first')
            [CompletionResult]::new('whoami', 'whoami', [CompletionResultType]::ParameterValue, 'Print the owner that would be used, and where it comes from')
            [CompletionResult]::new('policy', 'policy', [CompletionResultType]::ParameterValue, 'Show the effective policy, and where each value comes from')
            [CompletionResult]::new('setup', 'setup', [CompletionResultType]::ParameterValue, 'Put completions and man pages where they are looked for')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a man page')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'git-agentlock;acquire' {
            [CompletionResult]::new('--resource', '--resource', [CompletionResultType]::ParameterName, 'A named thing, such as plan:42 or git:index (repeatable)')
            [CompletionResult]::new('--pathspec-from-file', '--pathspec-from-file', [CompletionResultType]::ParameterName, 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'How long the leases last: 90s, 5m, 1h 30m, or plain seconds [default: the policy''s]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Wait for so long for what is held [default: not at all]; Ctrl-C ends it with nothing held')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Why, for those who find it held (at most 1,000 bytes)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--area', '--area', [CompletionResultType]::ParameterName, 'Take every PATH as a directory and all below it')
            [CompletionResult]::new('--pathspec-file-nul', '--pathspec-file-nul', [CompletionResultType]::ParameterName, 'The paths of --pathspec-from-file end with NUL and are not quoted')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;renew' {
            [CompletionResult]::new('--resource', '--resource', [CompletionResultType]::ParameterName, 'A named thing, such as plan:42 or git:index (repeatable)')
            [CompletionResult]::new('--pathspec-from-file', '--pathspec-from-file', [CompletionResultType]::ParameterName, 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'How long from now [default: as long as the lease was taken for]')
            [CompletionResult]::new('--token', '--token', [CompletionResultType]::ParameterName, 'Only if it is still the lease with this token')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--area', '--area', [CompletionResultType]::ParameterName, 'Take every PATH as a directory and all below it')
            [CompletionResult]::new('--pathspec-file-nul', '--pathspec-file-nul', [CompletionResultType]::ParameterName, 'The paths of --pathspec-from-file end with NUL and are not quoted')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Every lease of the owner in this project')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'With --all: in every project of the store')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;heartbeat' {
            [CompletionResult]::new('--resource', '--resource', [CompletionResultType]::ParameterName, 'A named thing, such as plan:42 or git:index (repeatable)')
            [CompletionResult]::new('--pathspec-from-file', '--pathspec-from-file', [CompletionResultType]::ParameterName, 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'How long from now [default: as long as the lease was taken for]')
            [CompletionResult]::new('--token', '--token', [CompletionResultType]::ParameterName, 'Only if it is still the lease with this token')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--area', '--area', [CompletionResultType]::ParameterName, 'Take every PATH as a directory and all below it')
            [CompletionResult]::new('--pathspec-file-nul', '--pathspec-file-nul', [CompletionResultType]::ParameterName, 'The paths of --pathspec-from-file end with NUL and are not quoted')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Every lease of the owner in this project')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'With --all: in every project of the store')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;release' {
            [CompletionResult]::new('--resource', '--resource', [CompletionResultType]::ParameterName, 'A named thing, such as plan:42 or git:index (repeatable)')
            [CompletionResult]::new('--pathspec-from-file', '--pathspec-from-file', [CompletionResultType]::ParameterName, 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--token', '--token', [CompletionResultType]::ParameterName, 'Only if it is still the lease with this token')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--area', '--area', [CompletionResultType]::ParameterName, 'Take every PATH as a directory and all below it')
            [CompletionResult]::new('--pathspec-file-nul', '--pathspec-file-nul', [CompletionResultType]::ParameterName, 'The paths of --pathspec-from-file end with NUL and are not quoted')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Every lease of the owner in this project')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'With --all: in every project of the store')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;check' {
            [CompletionResult]::new('--resource', '--resource', [CompletionResultType]::ParameterName, 'A named thing, such as plan:42 or git:index (repeatable)')
            [CompletionResult]::new('--pathspec-from-file', '--pathspec-from-file', [CompletionResultType]::ParameterName, 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--token', '--token', [CompletionResultType]::ParameterName, 'Exit code 3 unless I still hold the lease with this token')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--area', '--area', [CompletionResultType]::ParameterName, 'Take every PATH as a directory and all below it')
            [CompletionResult]::new('--pathspec-file-nul', '--pathspec-file-nul', [CompletionResultType]::ParameterName, 'The paths of --pathspec-from-file end with NUL and are not quoted')
            [CompletionResult]::new('--mine', '--mine', [CompletionResultType]::ParameterName, 'Exit code 3 unless I hold it')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;list' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Only those of this owner')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Only those of this owner')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--expired', '--expired', [CompletionResultType]::ParameterName, 'Only those that have expired')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'The leases of every project in a shared store')
            [CompletionResult]::new('-z', '-z', [CompletionResultType]::ParameterName, 'For scripts: state, owner, token, expiry, kind, work tree (with --store, project and work tree) and path, with tabs between and NUL at the end, nothing escaped')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;prune' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only say what would be removed')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only say what would be removed')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'In every project of a shared store')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;break' {
            [CompletionResult]::new('--resource', '--resource', [CompletionResultType]::ParameterName, 'A named thing, such as plan:42 or git:index (repeatable)')
            [CompletionResult]::new('--pathspec-from-file', '--pathspec-from-file', [CompletionResultType]::ParameterName, 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Why (at most 1,000 bytes); the one who held it is told')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--area', '--area', [CompletionResultType]::ParameterName, 'Take every PATH as a directory and all below it')
            [CompletionResult]::new('--pathspec-file-nul', '--pathspec-file-nul', [CompletionResultType]::ParameterName, 'The paths of --pathspec-from-file end with NUL and are not quoted')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;doctor' {
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'With --fix: also move records aside that still count as held, for this reason')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--fix', '--fix', [CompletionResultType]::ParameterName, 'Mend what is safe to mend: left-over files, permissions; damaged records are moved aside once they no longer count as held')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'Look at the leases of every project of a shared store')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;run' {
            [CompletionResult]::new('--resource', '--resource', [CompletionResultType]::ParameterName, 'A named thing, such as plan:42 or git:index (repeatable)')
            [CompletionResult]::new('--pathspec-from-file', '--pathspec-from-file', [CompletionResultType]::ParameterName, 'Read paths from FILE, one a line, quoted as git does it (`-`: stdin)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'How long the leases last: 90s, 5m, 1h 30m, or plain seconds [default: the policy''s]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Wait for so long for what is held [default: not at all]; Ctrl-C ends it with nothing held')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Why, for those who find it held (at most 1,000 bytes)')
            [CompletionResult]::new('--on-lost', '--on-lost', [CompletionResultType]::ParameterName, 'What to do when a lease is lost: warn, ask COMMAND to end (term), or kill it at once')
            [CompletionResult]::new('--grace', '--grace', [CompletionResultType]::ParameterName, 'With `term`: how long COMMAND goes on before it is asked to end, and again before it is killed')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--area', '--area', [CompletionResultType]::ParameterName, 'Take every PATH as a directory and all below it')
            [CompletionResult]::new('--pathspec-file-nul', '--pathspec-file-nul', [CompletionResultType]::ParameterName, 'The paths of --pathspec-from-file end with NUL and are not quoted')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;guard' {
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'The hook that asks, by its name in git')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--again', '--again', [CompletionResultType]::ParameterName, 'Asked again after another hook has run: say only what refuses, since the rest has been said')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;hook' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Install hooks that ask the guard; a hook that is there already runs after it')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Take the hooks out again, and put back what was there')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Tell which hooks git really runs; changes nothing')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'git-agentlock;hook;install' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Every hook there is')
            [CompletionResult]::new('--machine-wide', '--machine-wide', [CompletionResultType]::ParameterName, 'Also in a directory that other repositories use too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;hook;uninstall' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Every hook there is')
            [CompletionResult]::new('--machine-wide', '--machine-wide', [CompletionResultType]::ParameterName, 'Also in a directory that other repositories use too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;hook;status' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;hook;help' {
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Install hooks that ask the guard; a hook that is there already runs after it')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Take the hooks out again, and put back what was there')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Tell which hooks git really runs; changes nothing')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'git-agentlock;hook;help;install' {
            break
        }
        'git-agentlock;hook;help;uninstall' {
            break
        }
        'git-agentlock;hook;help;status' {
            break
        }
        'git-agentlock;hook;help;help' {
            break
        }
        'git-agentlock;agent-hook' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Have an agent tool call this before it edits')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Take the entries out again')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Tell which agent tools call this; changes nothing')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'git-agentlock;agent-hook;install' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--project', '--project', [CompletionResultType]::ParameterName, 'In the settings of this project, at the top of the work tree [default]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'In your own settings, for all projects')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what the file would be, and change nothing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;agent-hook;uninstall' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--project', '--project', [CompletionResultType]::ParameterName, 'In the settings of this project, at the top of the work tree [default]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'In your own settings, for all projects')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what the file would be, and change nothing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;agent-hook;status' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;agent-hook;help' {
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Have an agent tool call this before it edits')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Take the entries out again')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Tell which agent tools call this; changes nothing')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'git-agentlock;agent-hook;help;install' {
            break
        }
        'git-agentlock;agent-hook;help;uninstall' {
            break
        }
        'git-agentlock;agent-hook;help;status' {
            break
        }
        'git-agentlock;agent-hook;help;help' {
            break
        }
        'git-agentlock;instructions' {
            [CompletionResult]::new('--write', '--write', [CompletionResultType]::ParameterName, 'Put them into FILE, at its end or in the place of those that are there')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;log' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Only what this owner did or suffered')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Only what this owner did or suffered')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Only since then: a duration before now (2h), or a time (2026-11-30T12:00:00Z)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'Of every project in a shared store')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;whoami' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who holds or asks; else AGENTLOCK_OWNER, else the session id of a known agent tool')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'git-agentlock;policy' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'git-agentlock;setup' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only say what would be done')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only say what would be done')
            [CompletionResult]::new('--uninstall', '--uninstall', [CompletionResultType]::ParameterName, 'Take out what setup has put in')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;completions' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;man' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document on stdout, whatever the outcome')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors and warnings; the exit code tells')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'git-agentlock;help' {
            [CompletionResult]::new('acquire', 'acquire', [CompletionResultType]::ParameterValue, 'Take leases, all or nothing')
            [CompletionResult]::new('renew', 'renew', [CompletionResultType]::ParameterValue, 'Put the expiry of your leases off')
            [CompletionResult]::new('release', 'release', [CompletionResultType]::ParameterValue, 'Give your leases back')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Say who holds it, since when and until when')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'Show the leases of this project')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Remove the records of expired leases')
            [CompletionResult]::new('break', 'break', [CompletionResultType]::ParameterValue, 'End somebody else''s lease, with a reason that its owner is told')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Look for what is wrong with the store, and say how to mend it')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Hold leases for as long as a command runs')
            [CompletionResult]::new('guard', 'guard', [CompletionResultType]::ParameterValue, 'Refuse a commit that touches what others hold; for git''s hooks')
            [CompletionResult]::new('hook', 'hook', [CompletionResultType]::ParameterValue, 'Put the guard into git''s hooks, or take it out again')
            [CompletionResult]::new('agent-hook', 'agent-hook', [CompletionResultType]::ParameterValue, 'Take the lease of a file before an agent tool edits it')
            [CompletionResult]::new('instructions', 'instructions', [CompletionResultType]::ParameterValue, 'Print instructions for agents, for AGENTS.md or CLAUDE.md')
            [CompletionResult]::new('log', 'log', [CompletionResultType]::ParameterValue, 'Show what has happened to leases, the oldest first')
            [CompletionResult]::new('whoami', 'whoami', [CompletionResultType]::ParameterValue, 'Print the owner that would be used, and where it comes from')
            [CompletionResult]::new('policy', 'policy', [CompletionResultType]::ParameterValue, 'Show the effective policy, and where each value comes from')
            [CompletionResult]::new('setup', 'setup', [CompletionResultType]::ParameterValue, 'Put completions and man pages where they are looked for')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a man page')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'git-agentlock;help;acquire' {
            break
        }
        'git-agentlock;help;renew' {
            break
        }
        'git-agentlock;help;release' {
            break
        }
        'git-agentlock;help;check' {
            break
        }
        'git-agentlock;help;list' {
            break
        }
        'git-agentlock;help;prune' {
            break
        }
        'git-agentlock;help;break' {
            break
        }
        'git-agentlock;help;doctor' {
            break
        }
        'git-agentlock;help;run' {
            break
        }
        'git-agentlock;help;guard' {
            break
        }
        'git-agentlock;help;hook' {
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Install hooks that ask the guard; a hook that is there already runs after it')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Take the hooks out again, and put back what was there')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Tell which hooks git really runs; changes nothing')
            break
        }
        'git-agentlock;help;hook;install' {
            break
        }
        'git-agentlock;help;hook;uninstall' {
            break
        }
        'git-agentlock;help;hook;status' {
            break
        }
        'git-agentlock;help;agent-hook' {
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Have an agent tool call this before it edits')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Take the entries out again')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Tell which agent tools call this; changes nothing')
            break
        }
        'git-agentlock;help;agent-hook;install' {
            break
        }
        'git-agentlock;help;agent-hook;uninstall' {
            break
        }
        'git-agentlock;help;agent-hook;status' {
            break
        }
        'git-agentlock;help;instructions' {
            break
        }
        'git-agentlock;help;log' {
            break
        }
        'git-agentlock;help;whoami' {
            break
        }
        'git-agentlock;help;policy' {
            break
        }
        'git-agentlock;help;setup' {
            break
        }
        'git-agentlock;help;completions' {
            break
        }
        'git-agentlock;help;man' {
            break
        }
        'git-agentlock;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
