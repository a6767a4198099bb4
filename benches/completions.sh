#!/usr/bin/env bash
# What a TAB costs: nothing to read, 500 leases, 20,000 leases, and a directory of 100,000 files. Fails over 20 ms beside 500 leases, and over 150 ms anywhere
# (medians of whole processes). Needs hyperfine and python3. Usage: benches/completions.sh [RUNS]
set -euo pipefail
runs=${1:-100}
. "$(dirname "$0")/lib.sh"

git init -q "$scratch/repo"
cd "$scratch/repo"

measure() {
    measured --warmup 5 "$lock completions zsh -- git agentlock $2 ''"
    python3 - "$scratch/result.json" "$1" "$3" <<'PY'
import json, sys
result = json.load(open(sys.argv[1]))["results"][0]
median, most = result["median"] * 1000, float(sys.argv[3])
print(f"{sys.argv[2]:40} {median:7.2f} ms  (at most {most:.0f})")
sys.exit(median > most)
PY
}

leases() {
    seq -f "d/%g.rs" "$1" >"$scratch/paths"
    "$lock" acquire --quiet --ttl 1h --pathspec-from-file "$scratch/paths"
}

measure "release, never a lease" release 20
leases 500
measure "release, 500 leases" release 20
measure "check --owner, 500 leases" "check --owner" 20
leases 20000
measure "release, 20,000 leases" release 150
mkdir many && (cd many && seq 100000 | xargs touch)
measure "acquire in a directory of 100,000 files" "-C many acquire" 150
