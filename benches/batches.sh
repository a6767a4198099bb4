#!/usr/bin/env bash
# What 10,000 paths in one call cost: on the disk, durable; in memory, without a disk; and beside them what the file system alone takes to make and
# remove as many small files.
# Needs python3, and /dev/shm for the part without a disk. Usage: benches/batches.sh
. "$(dirname "$0")/lib.sh"

seq -f 'many/%g.rs' 10000 >"$scratch/paths"
batch() {
    once "acquire 10,000 paths" "$lock" acquire --pathspec-from-file "$scratch/paths" --ttl 1h --quiet
    once "acquire them again" "$lock" acquire --pathspec-from-file "$scratch/paths" --ttl 1h --quiet
    once "renew 10,000 paths" "$lock" renew --pathspec-from-file "$scratch/paths" --ttl 1h --quiet
    once "check 10,000 paths" "$lock" check --pathspec-from-file "$scratch/paths" --quiet
    once "release --all" "$lock" release --all --quiet
}
plain() {
    "$python" - "$1" <<'PY'
import os, sys, time
os.makedirs(sys.argv[1])
directory = os.open(sys.argv[1], os.O_RDONLY)
begin = time.perf_counter()
for i in range(10_000):
    with open(f"{sys.argv[1]}/{i}", "wb") as file:
        file.write(b"x" * 300)
os.sync()
made = time.perf_counter()
for i in range(10_000):
    os.unlink(f"{sys.argv[1]}/{i}")
os.fsync(directory)
print(f"  files alone: made and synced in {made - begin:.3f} s, removed in {time.perf_counter() - made:.3f} s")
PY
}
repository disk
echo "on the disk:"
plain "$scratch/disk/files"
batch
if memory=$(mktemp -d /dev/shm/agentlock-XXXXXX 2>/dev/null); then
    trap 'rm -rf "$scratch" "$memory"' EXIT
    git init -q "$memory/repo"
    cd "$memory/repo"
    echo "in memory:"
    plain "$memory/files"
    batch
fi
