# Completion of git-agentlock and `git agentlock` in fish. What could stand at the cursor, the program itself knows.

function __git_agentlock_complete
    set -l line (commandline -opc) (commandline -ct)
    # git's completion asks for `git-agentlock …`, and keeps the line with git's own options to itself.
    if set -q __fish_git_cmdline; and status stack-trace | string match -q '*__fish_git_complete_custom_command*'
        set line git (string match -r -a -- ' -C +\S+' " $__fish_git_cmdline" | string split -n ' ') agentlock $line[2..]
    end
    set -l answer (command git-agentlock completions fish -- $line 2>/dev/null)
    if test "$answer[1]" = files
        __fish_complete_path (commandline -ct)
        return
    end
    string join \n -- $answer[2..]
end

complete -c git-agentlock -f -k -a '(__git_agentlock_complete)'
