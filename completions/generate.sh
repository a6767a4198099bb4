#!/bin/sh
# Writes what is generated here and in man/ anew. Usage: completions/generate.sh, anywhere in the repository.
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet --locked
program=$(cargo build --quiet --locked --message-format=json | sed -n 's/.*"executable":"\([^"]*git-agentlock\)".*/\1/p' | tail -1)
"$program" completions powershell >completions/_git-agentlock.ps1
"$program" completions elvish >completions/git-agentlock.elv
mkdir -p man
rm -f man/*
# Each page is named by the first argument of its title line.
"$program" completions zsh -- git-agentlock man '' | while IFS= read -r topic; do
    [ -n "$topic" ] || continue
    page=$("$program" man "$topic")
    name=$(printf '%s\n' "$page" | sed -n 's/^\.TH \([^ ]*\) \([15]\) .*/\1.\2/p' | tr '[:upper:]' '[:lower:]')
    printf '%s\n' "$page" >"man/$name"
done
