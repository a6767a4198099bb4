# What the benchmarks share, beside $runs: the release build as $lock, and an empty directory as $scratch, which goes at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cargo build --release --locked --quiet
target=$(rustc -vV | sed -n 's/^host: //p')
for candidate in "target/$target/release/git-agentlock" target/release/git-agentlock; do
    [ -x "$candidate" ] && lock=$PWD/$candidate && break
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AGENTLOCK_OWNER=bench
unset AGENTLOCK_POLICY AGENTLOCK_GUARD AGENT_REGISTRY_LOCK_DIR XDG_CONFIG_HOME

# hyperfine, heard only when it fails.
measured() {
    hyperfine --shell=none --runs "$runs" "$@" >/dev/null 2>"$scratch/told" || { cat "$scratch/told" >&2 && exit 1; }
}
