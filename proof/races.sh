#!/usr/bin/env bash
# Races of processes for as long as you like: three quarters of the time through the library, the rest through the binary. Prints the seed
# and the numbers; ends with an error at the first fault. AGENTLOCK_RACES_SEED=N repeats a schedule of requests.
# Usage: proof/races.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
export AGENTLOCK_RACES_SECONDS=${1:-600}
cargo test --locked --test races -- --ignored --exact tally::a_hundred_thousand_operations_never_overlap
