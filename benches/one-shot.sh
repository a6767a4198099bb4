#!/usr/bin/env bash
# What one command costs, beside git's own cheapest one, in the same run; in a fresh store, beside 20,000 leases, and after
# these were released.
# Needs hyperfine. Usage: benches/one-shot.sh [RUNS]
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-400}
cargo build --release --locked --quiet
target=$(rustc -vV | sed -n 's/^host: //p')
for candidate in "target/$target/release/git-agentlock" target/release/git-agentlock; do
    [ -x "$candidate" ] && lock=$PWD/$candidate && break
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git init -q "$scratch/repo"
cd "$scratch/repo"
mkdir src && echo 1 >src/a
export AGENTLOCK_OWNER=bench
unset AGENTLOCK_POLICY AGENT_REGISTRY_LOCK_DIR
seq -f 'many/%g.rs' 20000 >"$scratch/paths"

measure() {
    "$lock" acquire src/a --quiet
    hyperfine --shell=none --warmup 50 --runs "$runs" --export-json "$scratch/$1.json" \
        -n "git rev-parse" 'git rev-parse --git-common-dir' \
        -n "true" '/bin/true' \
        -n "check" "$lock check src/a" \
        --prepare "$lock release src/new --quiet" -n "acquire" "$lock acquire src/new" \
        -n "renew" "$lock renew src/a" >/dev/null 2>&1
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
