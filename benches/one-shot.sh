#!/usr/bin/env bash
# What one command costs, beside git's own cheapest one, an empty process, flock, and the Python lock manager that this replaces, all in the same run.
# The hook of an agent tool is called through a shell, as the tools do; also for a session that holds 500 leases, which the hook itself has taken, and
# when all of these have to be renewed.
# Needs hyperfine, flock and python3. Usage: benches/one-shot.sh [RUNS]
runs=${1:-400}
. "$(dirname "$0")/lib.sh"

repository repo
for i in 1 2 3 4 5 6 7 8 9; do echo "list/$i"; done | "$lock" acquire --pathspec-from-file - --ttl 1h --quiet
"$lock" acquire src/a --ttl 1h --quiet
mkdir "$scratch/quick" && git init -q "$scratch/quick"
printf '[store]\nfsync = false\n[ttl]\nmin = "1s"\n' >"$scratch/quick/.git/agentlock.toml"
mkdir "$scratch/never" && git init -q "$scratch/never"
reference="$python $benches/../fixtures/python-reference/lock_manager.py"
export AGENT_REGISTRY_LOCK_DIR=$scratch/python
$reference acquire held bench >/dev/null
unset AGENT_REGISTRY_LOCK_DIR
of_python="env AGENT_REGISTRY_LOCK_DIR=$scratch/python $reference"

payload() { # EVENT TOOL INPUT
    printf '{"hook_event_name":"%s","session_id":"bench","tool_name":"%s","cwd":"%s","tool_input":{%s}}' "$1" "$2" "$PWD" "$3"
}
payload PreToolUse Edit "\"file_path\":\"$PWD/src/edited\"" >"$scratch/edit.json"
payload PostToolUse Read "\"file_path\":\"$PWD/src/a\"" >"$scratch/read.json"
payload PreToolUse Bash '"command":"make"' >"$scratch/shell.json"
hook="sh -c 'exec $lock agent-hook claude-code <$scratch"

measured --warmup 10 \
    --prepare true -n "git rev-parse" 'git rev-parse --git-common-dir' \
    --prepare true -n "true" '/bin/true' \
    --prepare true -n "flock FILE true" "flock $scratch/flock true" \
    --prepare true -n "check" "$lock check src/a" \
    --prepare "$lock release src/new --quiet" -n "acquire" "$lock acquire src/new" \
    --prepare "$lock -C $scratch/quick release new --quiet" -n "acquire, fsync = false" "$lock -C $scratch/quick acquire new" \
    --prepare true -n "renew" "$lock renew src/a" \
    --prepare "$lock acquire src/given --quiet" -n "release" "$lock release src/given" \
    --prepare true -n "guard, never a lock" "$lock -C $scratch/never guard" \
    --prepare true -n "list of 10" "$lock list" \
    --prepare "$lock release src/edited --quiet" -n "agent-hook, edit" "$hook/edit.json'" \
    --prepare "$of_python release new bench" -n "Python: acquire" "$of_python acquire new bench" \
    --prepare true -n "Python: check" "$of_python check held bench"
echo "one command:"
table "$scratch/result.json"

# One session of an agent, with 500 leases of its own that its hook has taken.
files=$(seq -f "{\"file_path\":\"$PWD/session/%g.rs\"}" -s, 500)
payload PreToolUse MultiEdit "\"edits\":[$files]" | "$lock" agent-hook claude-code
[ "$("$lock" list | grep -c session/)" = 500 ]
remembered=$(echo .git/agent-locks/v1/sessions/*.session)
sed -E 's/"kept":\[([0-9]+),[0-9]+/"kept":[\1,0/g' "$remembered" >"$scratch/all-due"
measured --warmup 20 \
    -n "git rev-parse" 'git rev-parse --git-common-dir' \
    -n "agent-hook, edit" "$hook/edit.json'" \
    -n "agent-hook, read" "$hook/read.json'" \
    -n "agent-hook, shell" "$hook/shell.json'"
echo "beside 500 leases of the same session:"
table "$scratch/result.json"
runs=20 measured --warmup 2 \
    --prepare true -n "git rev-parse" 'git rev-parse --git-common-dir' \
    --prepare "cp $scratch/all-due $remembered" -n "agent-hook, 500 renewed" "$hook/shell.json'"
echo "when all of them are to be renewed:"
table "$scratch/result.json"
