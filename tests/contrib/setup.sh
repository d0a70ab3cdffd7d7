#!/bin/bash
# setup.sh: brings the venv of the end-to-end tests and the Collector of these tests into build/e2e/.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export OUT=$root/build/e2e
export BIN=$OUT/bin VENV=$OUT/venv E2E_JOBS=${E2E_JOBS:-2} GO=${GO:-}

"$root/tests/e2e/setup.sh" --venv
exec 9>"$OUT/lock"
flock 9
# shellcheck source=tests/e2e/setup_lib.sh
. "$root/tests/e2e/setup_lib.sh"

if built contrib "$here/manifest.yaml" "$collector_version" && [ -x "$BIN/otelcol-contrib" ]; then
    exit 0
fi
find_go
say "building the Collector with contrib processors (minutes, once)"
GOBIN=$BIN nice "$GO" install go.opentelemetry.io/collector/cmd/builder@"$collector_version"
mkdir -p "$OUT/contrib"
path=$(dirname "$(command -v "$GO")"):$PATH
(cd "$OUT/contrib" && PATH=$path quiet contrib nice "$BIN/builder" --config "$here/manifest.yaml")
cp "$OUT/contrib/_build/otelcol-contrib" "$BIN/otelcol-contrib"
rm -f "$BIN/builder"
mark contrib "$here/manifest.yaml" "$collector_version"
