#!/bin/sh
# git-agentlock hook v1: {{HOOK}}
# The hook that was here before: {{BEFORE}}
# Asks whether somebody else holds what this would touch; then the hook that was here before has its turn.
# Made by `git agentlock hook install`; `git agentlock hook uninstall` puts everything back as it was.

# Whether to ask again when that has run.
agentlock_asks={{ASKS}}
agentlock_again=
# The program that installed this is asked first: PATH is short where editors and services run git.
agentlock_binary={{BINARY}}
case $0 in
    */*) agentlock_chained=${0%/*}/{{HOOK}}.agentlock-chained ;;
    *) agentlock_chained=./{{HOOK}}.agentlock-chained ;;
esac

# What is to be said and done when there is no verdict.
agentlock_gone() {
    [ "${AGENTLOCK_GUARD-}" = off ] && return 0
    case $0 in
        /*) agentlock_here= ;;
        *) agentlock_here=$PWD/ ;;
    esac
    case $agentlock_here$0 in
        # Somebody else may have named the directories, and what is shown here will be pasted into a shell.
        *[!A-Za-z0-9\ ./_+@:,-]*)
            agentlock_hook='"$(git rev-parse --git-path hooks/{{HOOK}})"'
            agentlock_old='"$(git rev-parse --git-path hooks/{{HOOK}}.agentlock-chained)"'
            ;;
        *) agentlock_hook="'$agentlock_here$0'" agentlock_old="'$agentlock_here$agentlock_chained'" ;;
    esac
    agentlock_remedy="rm $agentlock_hook"
    if [ -e "$agentlock_chained" ] || [ -L "$agentlock_chained" ]; then
        agentlock_remedy="mv -f $agentlock_old $agentlock_hook"
    fi
    agentlock_so="{{CONSEQUENCE}}"
    [ "${AGENTLOCK_GUARD-}" = warn ] && agentlock_so="{{WARNED}}"
    printf '%s\n' "git-agentlock: $agentlock_why, so $agentlock_so unguarded: install it again, pass by it with AGENTLOCK_GUARD=off{{BYPASS}}, or take this hook out: $agentlock_remedy" >&2
    [ "${AGENTLOCK_GUARD-}" = warn ] && return 0
    return 4
}

agentlock_guard() {
    agentlock_why="cannot run "{{SHOWN}}", nor git-agentlock on PATH"
    if [ ! -f "$agentlock_binary" ] || [ ! -x "$agentlock_binary" ]; then
        agentlock_binary=git-agentlock
        command -v git-agentlock >/dev/null 2>&1 || { agentlock_gone; return "$?"; }
    fi
    "$agentlock_binary" guard --hook {{HOOK}} ${agentlock_again:+"$agentlock_again"} -- "$@" </dev/null
    agentlock_code=$?
    case $agentlock_code in
        126 | 127) agentlock_gone ;;
        # Ended by a signal: a crash must not stand in the way more than a program that is gone.
        12[89] | 1[3-9]?)
            agentlock_why="the guard was ended by signal $((agentlock_code - 128))"
            agentlock_gone
            ;;
        *) return "$agentlock_code" ;;
    esac
}

case ${0##*/} in
    {{HOOK}}.agentlock-chained) exit 0 ;;
    *.agentlock-chained) ;; # A link leads here from another hook of this kind, which has asked already.
    *) agentlock_guard "$@" || {{REFUSED}} ;;
esac
# A tool that has moved this file aside and calls it may itself be the chained hook: that would never end.
if [ "${0##*/}" = {{HOOK}} ] || [ -L "$0" ]; then
    if [ -f "$agentlock_chained" ] && [ -x "$agentlock_chained" ]; then
        if [ "$agentlock_asks" = twice ] && [ "${0##*/}" = {{HOOK}} ]; then
            "$agentlock_chained" "$@" || exit "$?"
            # git commits what is staged now: that hook may have staged more, and so may others while it ran.
            agentlock_again=--again
            agentlock_guard "$@"
            exit "$?"
        fi
        exec "$agentlock_chained" "$@"
    fi
fi
exit 0
