# Completion of git-agentlock and `git agentlock` in bash. What could stand at the cursor, the program itself knows.

__git_agentlock_complete() {
    local answer line
    COMPREPLY=()
    answer=$(command git-agentlock completions bash -- "${COMP_LINE:0:COMP_POINT}" "${COMP_WORDBREAKS-}" 2>/dev/null) || return 0
    if [[ $answer == files* || $answer == command* ]]; then
        type compopt &>/dev/null && compopt -o default +o nospace 2>/dev/null
        if [[ $answer == command* ]]; then
            __git_agentlock_command
        fi
        return 0
    fi
    while IFS= read -r line; do
        [[ -n $line ]] && COMPREPLY+=("$line")
    done <<<"$answer"
    # What is offered is complete: no names of files when there is nothing, no blank behind a directory, one's own leases first.
    if type compopt &>/dev/null; then
        compopt +o default +o bashdefault -o nospace 2>/dev/null
        compopt -o nosort 2>/dev/null
    fi
    return 0
}

# The command line behind `run … --`, by what bash-completion knows of it.
__git_agentlock_command() {
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            if declare -F _comp_command_offset &>/dev/null; then
                _comp_command_offset $((i + 1))
            elif declare -F _command_offset &>/dev/null; then
                _command_offset $((i + 1))
            fi
            return 0
        fi
    done
}

# By this name git's own completion looks for it.
_git_agentlock() {
    __git_agentlock_complete
}

complete -o nospace -F __git_agentlock_complete git-agentlock
