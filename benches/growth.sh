#!/usr/bin/env bash
# What one command costs beside 0, 1,000 and 100,000 leases, and what it costs to see all of them.
# Needs hyperfine and python3. Usage: benches/growth.sh [RUNS]
runs=${1:-200}
. "$(dirname "$0")/lib.sh"

repository repo
"$lock" acquire src/a --ttl 1h --quiet
for leases in 0 1000 100000; do
    if [ "$leases" -gt 0 ]; then
        seq -f 'many/%g.rs' "$leases" >"$scratch/paths"
        "$lock" acquire --pathspec-from-file "$scratch/paths" --ttl 1h --quiet
        sync
    fi
    measured --warmup 20 \
        --prepare true -n "git rev-parse" 'git rev-parse --git-common-dir' \
        --prepare true -n "check" "$lock check src/a" \
        --prepare "$lock release src/new --quiet" -n "acquire" "$lock acquire src/new" \
        --prepare true -n "renew" "$lock renew src/a" \
        --prepare "$lock acquire src/given --quiet" -n "release" "$lock release src/given"
    echo "beside $leases leases:"
    table "$scratch/result.json"
done
runs=9
measured --warmup 1 \
    -n "git rev-parse" 'git rev-parse --git-common-dir' \
    -n "list --json" "$lock list --json"
echo "beside 100,000 leases, again and again:"
table "$scratch/result.json"
echo "beside 100,000 leases, once:"
once "list --json" "$lock" list --json
once "list -z" "$lock" list -z
once "acquire of an area" "$lock" acquire other/
once "check of an area" "$lock" check many2/
once "release --all" "$lock" release --all --quiet
runs=50
git init -q "$scratch/new"
"$lock" -C "$scratch/new" acquire a --quiet
"$lock" -C "$scratch/new" release a --quiet
measured --warmup 5 \
    -n "list of a new store" "$lock -C $scratch/new list" \
    -n "list of an emptied store" "$lock list"
echo "emptied:"
table "$scratch/result.json"
