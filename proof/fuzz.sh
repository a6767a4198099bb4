#!/usr/bin/env bash
# Mutations of the examples under fixtures/fuzz for as long as you like, the same time for each reader, and for damaged indexes beside git. Prints
# the seed and how many; ends with an error at the first fault, and keeps its input. AGENTLOCK_FUZZ_SEED=N repeats a run.
# Usage: proof/fuzz.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
export AGENTLOCK_FUZZ_SECONDS=${1:-600}
cargo test --locked --test it -- --ignored --nocapture --exact fuzz::mutations_are_taken_well_for_as_long_as_is_wanted
