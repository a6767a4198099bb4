# Completion of git-agentlock and `git agentlock` in fish. What could stand at the cursor, the program itself knows.
#
# It belongs into conf.d: fish does not look into `completions` for what git runs.

function __git_agentlock_complete
    # Where git's completion asks for `git-agentlock …` by itself, git's own options are lost; the line below completes that.
    if status stack-trace | string match -q '*__fish_git_complete_custom_command*'
        return
    end
    # The word at the cursor without its quotes, of which one may be open still.
    set -l current (commandline -ct)
    set -l bare (string unescape -- "$current"; or string trim -l -c "'\"" -- "$current")
    set -l answer (command git-agentlock completions fish -- (commandline -opc) "$bare" 2>/dev/null)
    if test "$answer[1]" = files
        # As for any command that nothing is known about.
        complete -C "'' $current"
        return
    end
    if test "$answer[1]" = command
        # The command line behind `run … --`.
        set -l line (commandline -opc)
        set -l from (contains -i -- -- $line)
        complete -C (string join ' ' -- (string escape -- $line[(math $from + 1)..]) $current | string collect)
        return
    end
    string join \n -- $answer[2..]
end

complete -c git-agentlock -f -k -a '(__git_agentlock_complete)'
complete -c git -n 'functions -q __fish_git_using_command; and __fish_git_using_command agentlock' -f -k -a '(__git_agentlock_complete)'
