#!/usr/bin/env bash
# What one command costs, beside git's own cheapest one, an empty process, flock, and the Python lock manager that this replaces, all in the same run.
# The hook of an agent tool is called through a shell, as the tools do, also for a session that holds 500 leases.
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

# A session that edits $1.
edit() {
    printf '{"hook_event_name":"PreToolUse","session_id":"bench","tool_name":"Edit","cwd":"%s","tool_input":{"file_path":"%s/%s"}}' \
        "$PWD" "$PWD" "$1"
}
edit src/new >"$scratch/edit.json"
hook="sh -c 'exec $lock agent-hook claude-code <$scratch/edit.json'"

measured --warmup 50 --export-json "$scratch/result.json" \
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
    --prepare true -n "agent-hook" "$hook" \
    --prepare "$of_python release new bench" -n "Python: acquire" "$of_python acquire new bench" \
    --prepare true -n "Python: check" "$of_python check held bench"
echo "one command:"
table "$scratch/result.json"

seq -f 'of-the-session/%g' 500 | AGENTLOCK_OWNER=claude-code:bench "$lock" acquire --pathspec-from-file - --ttl 1h --quiet
measured --warmup 20 --export-json "$scratch/result.json" \
    -n "git rev-parse" 'git rev-parse --git-common-dir' \
    -n "agent-hook, 500 leases" "$hook"
echo "the hook for a session that holds 500 leases:"
table "$scratch/result.json"
