#!/usr/bin/env bash
# What can be counted instead of timed, the same on every run: instructions, system calls, memory, the size of the program.
# Needs valgrind, strace, time and python3. Usage: benches/start-up.sh
. "$(dirname "$0")/lib.sh"

repository repo
"$lock" acquire src/a --ttl 1h --quiet
count() {
    local name=$1
    shift
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" >/dev/null 2>"$scratch/told" || true
    local instructions calls
    instructions=$(sed -n 's/.*Collected : *//p' "$scratch/told")
    strace -f -c -o "$scratch/calls" "$@" >/dev/null 2>&1 || true
    calls=$(awk '$NF == "total" { print $(NF > 5 ? 4 : 3) }' "$scratch/calls")
    printf '  %-28s %10s instructions %6s system calls\n' "$name" "$instructions" "$calls"
}
echo "counted:"
count "git rev-parse" git rev-parse --git-common-dir
count "check" "$lock" check src/a
count "acquire" "$lock" acquire src/new
count "renew" "$lock" renew src/a
count "release" "$lock" release src/new
count "guard, a lease" "$lock" guard
count "list" "$lock" list
echo "memory:"
for command in "git rev-parse --git-common-dir" "$lock check src/a" "$lock acquire src/new"; do
    printf '  %-28s %6s KiB at most\n' "$(basename "${command%% *}") $(echo "$command" | cut -d' ' -f2)" \
        "$(command time -f %M $command 2>&1 >/dev/null | tail -1)"
done
echo "size of the program: $(stat -c %s "$lock") bytes"
if [ "${1:-}" = calls ]; then
    strace "$lock" acquire src/new2 2>&1 >/dev/null
fi
