#!/usr/bin/env bash
# What one command costs, beside git's own cheapest one, in the same run; in a fresh store, beside 20,000 leases, and after
# these were released.
# The hook of an agent tool is called through a shell, as the tools do; also beside a session of 500 leases, which the hook itself has taken, and
# when all of these have to be renewed.
# Needs hyperfine and python3. Usage: benches/one-shot.sh [RUNS]
set -euo pipefail
runs=${1:-400}
. "$(dirname "$0")/lib.sh"

git init -q "$scratch/repo"
cd "$scratch/repo"
mkdir src && echo 1 >src/a
seq -f 'many/%g.rs' 20000 >"$scratch/paths"
payload() { # EVENT TOOL INPUT
    printf '{"hook_event_name":"%s","session_id":"bench","tool_name":"%s","cwd":"%s","tool_input":{%s}}' "$1" "$2" "$PWD" "$3"
}
payload PreToolUse Edit "\"file_path\":\"$PWD/src/new\"" >"$scratch/edit.json"
payload PostToolUse Read "\"file_path\":\"$PWD/src/a\"" >"$scratch/read.json"
payload PreToolUse Bash '"command":"make"' >"$scratch/shell.json"

# Each row against git's cheapest command.
show() {
    python3 - "$scratch/$1.json" "$2" <<'PY'
import json, sys
results = json.load(open(sys.argv[1]))["results"]
reference = results[0]["median"]
print(f"{sys.argv[2]}:")
for result in results:
    print(f"  {result['command']:23} {result['median'] * 1000:6.2f} ms   {result['median'] / reference:5.2f} x git rev-parse")
PY
}

measure() {
    "$lock" acquire src/a --quiet
    measured --warmup 50 --export-json "$scratch/$1.json" \
        -n "git rev-parse" 'git rev-parse --git-common-dir' \
        -n "true" '/bin/true' \
        -n "check" "$lock check src/a" \
        --prepare "$lock release src/new --quiet" -n "acquire" "$lock acquire src/new" \
        -n "agent-hook" "sh -c 'exec $lock agent-hook claude-code <$scratch/edit.json'" \
        -n "renew" "$lock renew src/a"
    show "$1" "$2"
}

# One session of an agent, with 500 leases of its own that its hook has taken.
measure_session() {
    local hook="sh -c 'exec $lock agent-hook claude-code <$scratch" files
    files=$(seq -f "{\"file_path\":\"$PWD/session/%g.rs\"}" -s, 500)
    payload PreToolUse MultiEdit "\"edits\":[$files]" | "$lock" agent-hook claude-code
    [ "$("$lock" list | grep -c session/)" = 500 ]
    local remembered
    remembered=$(echo .git/agent-locks/v1/sessions/*.session)
    sed -E 's/"kept":\[([0-9]+),[0-9]+/"kept":[\1,0/g' "$remembered" >"$scratch/all-due"
    measured --warmup 20 --export-json "$scratch/session.json" \
        -n "git rev-parse" 'git rev-parse --git-common-dir' \
        -n "agent-hook, edit" "$hook/edit.json'" \
        -n "agent-hook, read" "$hook/read.json'" \
        -n "agent-hook, shell" "$hook/shell.json'"
    show session "beside 500 leases of the same session"
    runs=20 measured --warmup 2 --export-json "$scratch/due.json" \
        -n "git rev-parse" 'git rev-parse --git-common-dir' \
        --prepare "cp $scratch/all-due $remembered" -n "agent-hook, 500 renewed" "$hook/shell.json'"
    show due "when all of them are to be renewed"
}

measure fresh "fresh store"
measure_session
payload SessionEnd "" "" | "$lock" agent-hook claude-code
"$lock" acquire --pathspec-from-file "$scratch/paths" --ttl 1h --quiet
sync
measure full "beside 20,000 leases"
"$lock" release --pathspec-from-file "$scratch/paths" --quiet
sync
# ext4 does not hand out inodes again that were freed in the last minutes, and looks for others: that is what makes creating a file
# slow right after 20,000 were deleted.
measure emptied "emptied a moment ago"
