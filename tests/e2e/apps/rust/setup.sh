#!/bin/bash
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/setup_lib.sh
. "$here/../../setup_lib.sh"

least=1.89                  # what the crates ask for; also in Cargo.toml
files=("$here"/Cargo.toml "$here"/src/*)
if built rideshare-rust "${files[@]}" && [ -x "$OUT/rust/debug/rideshare" ]; then exit; fi

recent_cargo() {
    local v; v=$(cargo --version 2>/dev/null) || return 1
    [ "$(printf '%s\n' "$least" "${v#cargo }" | sort -V | head -n1)" = "$least" ]
}
if ! recent_cargo; then
    # Debian's own Rust is as old as Debian; what it builds browsers with is kept recent.
    install cargo-web
    hash -r
fi
say "building rideshare-rust"
mkdir -p "$OUT/rust/source"  # the lock file is written beside the sources
cp -r "$here/Cargo.toml" "$here/src" "$OUT/rust/source/"
quiet rideshare-rust env CARGO_TARGET_DIR="$OUT/rust" nice cargo build \
    --manifest-path "$OUT/rust/source/Cargo.toml" -j "${E2E_JOBS:-2}"
mark rideshare-rust "${files[@]}"
