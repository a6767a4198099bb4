#!/usr/bin/env bash
# What one command costs, beside git's own cheapest one, in the same run; in a fresh store, beside 20,000 leases, and after
# these were released.
# The hook of an agent tool is called through a shell, as the tools do.
# Needs hyperfine and python3. Usage: benches/one-shot.sh [RUNS]
set -euo pipefail
runs=${1:-400}
. "$(dirname "$0")/lib.sh"

git init -q "$scratch/repo"
cd "$scratch/repo"
mkdir src && echo 1 >src/a
seq -f 'many/%g.rs' 20000 >"$scratch/paths"
printf '{"hook_event_name":"PreToolUse","session_id":"bench","tool_name":"Edit","cwd":"%s","tool_input":{"file_path":"%s/src/new"}}' \
    "$PWD" "$PWD" >"$scratch/edit.json"

measure() {
    "$lock" acquire src/a --quiet
    measured --warmup 50 --export-json "$scratch/$1.json" \
        -n "git rev-parse" 'git rev-parse --git-common-dir' \
        -n "true" '/bin/true' \
        -n "check" "$lock check src/a" \
        --prepare "$lock release src/new --quiet" -n "acquire" "$lock acquire src/new" \
        -n "agent-hook" "sh -c 'exec $lock agent-hook claude-code <$scratch/edit.json'" \
        -n "renew" "$lock renew src/a"
    python3 - "$scratch/$1.json" "$2" <<'PY'
import json, sys
results = json.load(open(sys.argv[1]))["results"]
reference = results[0]["median"]
print(f"{sys.argv[2]}:")
for result in results:
    print(f"  {result['command']:15} {result['median'] * 1000:6.2f} ms   {result['median'] / reference:5.2f} x git rev-parse")
PY
}

measure fresh "fresh store"
"$lock" acquire --pathspec-from-file "$scratch/paths" --ttl 1h --quiet
sync
measure full "beside 20,000 leases"
"$lock" release --pathspec-from-file "$scratch/paths" --quiet
sync
# ext4 does not hand out inodes again that were freed in the last minutes, and looks for others: that is what makes creating a file
# slow right after 20,000 were deleted.
measure emptied "emptied a moment ago"
