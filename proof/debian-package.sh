#!/usr/bin/env bash
# Builds the Debian package with cargo-deb (`cargo install cargo-deb`), installs it, uses it, removes it, and looks that nothing is left. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

triple=$(rustc -vV | sed -n 's/^host: //p')
cargo deb --quiet --locked --target "$triple" --output "$scratch/git-agentlock.deb"
dpkg-deb --info "$scratch/git-agentlock.deb"
dpkg-deb --contents "$scratch/git-agentlock.deb"

installed() { dpkg-query -L git-agentlock | sort; }

dpkg -i "$scratch/git-agentlock.deb"
trap 'dpkg -P git-agentlock || true; rm -rf "$scratch"' EXIT
installed >"$scratch/files"
for file in usr/bin/git-agentlock usr/share/man/man1/git-agentlock.1.gz usr/share/man/man5/git-agentlock-policy.5.gz \
    usr/share/bash-completion/completions/git-agentlock usr/share/zsh/vendor-completions/_git-agentlock \
    usr/share/fish/vendor_conf.d/git-agentlock.fish usr/share/doc/git-agentlock/copyright; do
    grep -qx "/$file" "$scratch/files"
done
git init -q "$scratch/r"
(cd "$scratch/r" && /usr/bin/git-agentlock acquire file --owner me && /usr/bin/git-agentlock release file --owner me)
/usr/bin/git-agentlock --version

dpkg -P git-agentlock
trap 'rm -rf "$scratch"' EXIT
while IFS= read -r path; do
    if [[ ! -d $path && -e $path ]] || [[ $path == *git-agentlock* && -e $path ]]; then
        echo "left: $path" >&2
        exit 1
    fi
done <"$scratch/files"
echo "installs, works, and goes without a trace"
