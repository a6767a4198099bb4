# What the benchmarks share: the release build as $lock, an empty directory as $scratch, which goes at the end, and how a command is timed.
set -euo pipefail
benches=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$benches/.."
cargo build --release --locked --quiet
target=$(rustc -vV | sed -n 's/^host: //p')
for candidate in "target/$target/release/git-agentlock" target/release/git-agentlock; do
    [ -x "$candidate" ] && lock=$PWD/$candidate && break
done
# The interpreter itself: what a version manager puts in its place takes longer than it does.
python=$(python3 -c 'import sys; print(sys.executable)')

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AGENTLOCK_OWNER=bench GIT_CONFIG_NOSYSTEM=1 HOME=$scratch
unset AGENTLOCK_POLICY AGENTLOCK_GUARD AGENT_REGISTRY_LOCK_DIR XDG_CONFIG_HOME

# hyperfine, heard only when it fails. In rounds, so that what else the machine does for a while does not meet one command alone: the result has the
# medians of all of them.
measured() {
    local round rounds=10
    ((runs >= 100)) || rounds=1
    for ((round = 0; round < rounds; round++)); do
        hyperfine --shell=none --runs $((runs / rounds)) --export-json "$scratch/round$round.json" "$@" >/dev/null 2>"$scratch/told" ||
            { cat "$scratch/told" >&2 && exit 1; }
    done
    "$python" - "$scratch" "$rounds" <<'PY'
import json, statistics, sys
scratch, rounds = sys.argv[1], int(sys.argv[2])
merged, *others = [json.load(open(f"{scratch}/round{round}.json")) for round in range(rounds)]
for position, result in enumerate(merged["results"]):
    for other in others:
        result["times"] += other["results"][position]["times"]
    result["median"] = statistics.median(result["times"])
json.dump(merged, open(f"{scratch}/result.json", "w"))
PY
}

# The medians in hyperfine's file $1, each beside the first one.
table() {
    "$python" - "$1" <<'PY'
import json, sys
results = json.load(open(sys.argv[1]))["results"]
reference = results[0]
for result in results:
    print(f"  {result['command']:26} {result['median'] * 1000:7.2f} ms  {result['median'] / reference['median']:6.2f} x {reference['command']}")
PY
}

# What the rest of the line, run once, took; and the largest memory it had.
once() {
    "$python" - "$@" <<'PY'
import os, resource, subprocess, sys, time
name, command = sys.argv[1], sys.argv[2:]
begin = time.perf_counter()
code = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
wall = time.perf_counter() - begin
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"  {name:44} {wall:8.3f} s  (user {used.ru_utime:.3f}, system {used.ru_stime:.3f})  {used.ru_maxrss / 1024:6.1f} MiB")
sys.exit(code)
PY
}

# A repository with one commit, and in it.
repository() {
    git init -q "$scratch/$1"
    cd "$scratch/$1"
    git config user.name bench
    git config user.email bench@example.invalid
    mkdir src && echo 1 >src/a
    git add . && git commit -qm init
}
