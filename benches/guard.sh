#!/usr/bin/env bash
# What the commit guard costs, beside git's own list of what is staged and git's own cheapest command, in the same run.
# Needs hyperfine and python3. Usage: benches/guard.sh [RUNS]
runs=${1:-100}
. "$(dirname "$0")/lib.sh"

# A repository of $1 files, of which each is staged with a change; lists of leases of somebody else: on staged files (what the guard refuses) and
# on files that are not staged (what it lets pass).
make() {
    repository "$1"
    python3 - "$1" <<'PY'
import os, sys
for i in range(int(sys.argv[1])):
    d = f"d{i // 200}/s{i % 4}"
    os.makedirs(d, exist_ok=True)
    open(f"{d}/f{i}", "w").write(f"{i}\n")
PY
    git add . && git commit -qm files
    find d* -type f | while read -r file; do echo x >>"$file"; done
    git add -u
    git ls-files | sort -R --random-source=/dev/zero >"$scratch/files"
}

measure() {
    measured --ignore-failure --warmup 5 \
        -n "git rev-parse" 'git rev-parse --git-common-dir' \
        -n "git diff" 'git diff --cached --name-only' \
        -n "guard" "$lock guard"
    python3 - "$scratch/result.json" "$1" "$2" <<'PY'
import json, sys
base, diff, guard = (result["median"] * 1000 for result in json.load(open(sys.argv[1]))["results"])
ratio = guard / (base if sys.argv[3] == "base" else diff)
against = "git rev-parse" if sys.argv[3] == "base" else "git diff --cached"
print(f"{sys.argv[2]:58} {guard:7.2f} ms  {ratio:5.2f} x {against}")
PY
}

make 20000
measure "20,000 staged files, never a lock" base
"$lock" acquire --quiet README && "$lock" release --quiet README
measure "20,000 staged files, a store without leases" base
head -100 "$scratch/files" >"$scratch/some"
"$lock" acquire --quiet --owner other --ttl 1h --pathspec-from-file "$scratch/some"
measure "20,000 staged files, 100 leases of others on them: refused" diff
git reset -q --pathspec-from-file="$scratch/some"
measure "20,000 staged files, 100 leases of others beside them" diff

make 80000
for leases in 1 100 10000; do
    head -$leases "$scratch/files" >"$scratch/some"
    "$lock" acquire --quiet --owner other --ttl 1h --pathspec-from-file "$scratch/some"
    git reset -q --pathspec-from-file="$scratch/some"
    measure "80,000 staged files, $leases leases of others beside them" diff
done
