#!/bin/sh
# git-agentlock hook v1: {{HOOK}}
# The hook that was here before: {{BEFORE}}
# Asks whether somebody else holds what this would touch; then the hook that was here before has its turn.
# Made by `git agentlock hook install`; `git agentlock hook uninstall` puts everything back as it was.

# The program that installed this is asked first: PATH is short where editors and services run git.
agentlock_binary={{BINARY}}
case $0 in
    */*) agentlock_chained=${0%/*}/{{HOOK}}.agentlock-chained ;;
    *) agentlock_chained=./{{HOOK}}.agentlock-chained ;;
esac

agentlock_gone() {
    [ "${AGENTLOCK_GUARD-}" = off ] && return 0
    agentlock_remedy="rm '$0'"
    if [ -e "$agentlock_chained" ] || [ -L "$agentlock_chained" ]; then
        agentlock_remedy="mv -f '$agentlock_chained' '$0'"
    fi
    printf '%s\n' "git-agentlock: cannot run "{{SHOWN}}", nor git-agentlock on PATH, so {{CONSEQUENCE}} unguarded: install it again, pass by it with AGENTLOCK_GUARD=off{{BYPASS}}, or take this hook out: $agentlock_remedy" >&2
    [ "${AGENTLOCK_GUARD-}" = warn ] && return 0
    return 4
}

agentlock_guard() {
    if [ ! -f "$agentlock_binary" ] || [ ! -x "$agentlock_binary" ]; then
        agentlock_binary=git-agentlock
        command -v git-agentlock >/dev/null 2>&1 || { agentlock_gone; return "$?"; }
    fi
    "$agentlock_binary" guard --hook {{HOOK}} -- "$@" </dev/null
    agentlock_code=$?
    case $agentlock_code in
        126 | 127) agentlock_gone ;;
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
        if {{STAGES}} && [ "${0##*/}" = {{HOOK}} ]; then
            # It may have staged more than was asked about; git reads the index again.
            "$agentlock_chained" "$@" && agentlock_guard "$@"
            exit "$?"
        fi
        exec "$agentlock_chained" "$@"
    fi
fi
exit 0
