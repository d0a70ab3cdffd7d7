#!/bin/bash
# setup.sh: installs everything that the end-to-end tests need into build/e2e/: a Python venv for
# the tests, the OpenTelemetry Collector, the substitute for Pyroscope and the applications. Can be
# run repeatedly; rebuilds nothing whose inputs are unchanged.
# Usage: setup.sh [LANGUAGE]...     (default: the application of every language in apps/)
#        setup.sh --venv            only the venv
#        setup.sh --collector       the venv and the Collector
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export OUT=$root/build/e2e
export BIN=$OUT/bin VENV=$OUT/venv E2E_JOBS=${E2E_JOBS:-2} GO=${GO:-}

mkdir -p "$BIN"
exec 9>"$OUT/lock"
flock 9                     # two runs at once would build over each other

# shellcheck source=tests/e2e/setup_lib.sh
. "$here/setup_lib.sh"

for tool in python3 openssl curl; do
    command -v "$tool" >/dev/null || install "$tool"
done
[ -e /etc/ssl/certs/ca-certificates.crt ] || install ca-certificates
python3 -c 'import venv, ensurepip' 2>/dev/null || install python3-venv
venv "$VENV" "$here/requirements.txt"
case ${1:-} in
    --venv) exit 0 ;;
    --collector) collector "$here/backends/collector/manifest.yaml"; exit 0 ;;
esac

# The languages mostly wait for downloads, so the Collector is built meanwhile.
languages=("$@")
[ $# -gt 0 ] || mapfile -t languages < <(cd "$here/apps" && ls)
jobs=()
for language in "${languages[@]}"; do
    [ -x "$here/apps/$language/setup.sh" ] || continue
    "$here/apps/$language/setup.sh" 9>&- &
    jobs+=("$!")
done
trap 'kill "${jobs[@]}" 2>/dev/null || true' EXIT

collector "$here/backends/collector/manifest.yaml"
go_module promql "$here/promql" "$BIN/promql"
go_module pyroscope-standin "$here/backends/pyroscope-standin" "$BIN/pyroscope-standin"

for job in "${jobs[@]}"; do
    wait "$job"
done
