#!/usr/bin/env bash
# Installs the peers, builds, measures all figures and writes the table to docs/benchmarks.md.
# Usage: bench/run.sh [--page FILE | --no-page] [OPTION of bench.py]... [FIGURE]...
# DATAFLOW=PATH adds the otel-arrow dataflow engine as a peer.
set -euo pipefail
cd "$(dirname "$0")/.."

page=(--write docs/benchmarks.md)
case ${1:-} in
  --page) page=(--write "$2"); shift 2 ;;
  --no-page) page=(); shift ;;
esac

tools/install_debian.sh build
export OUT=$PWD/build/e2e BIN=$PWD/build/e2e/bin VENV=$PWD/build/e2e/venv GO=${GO:-}
mkdir -p "$BIN"
# shellcheck source=tests/e2e/setup_lib.sh
. tests/e2e/setup_lib.sh
install nginx-light wrk nghttp2-client python3-venv binutils
tests/e2e/setup.sh --collector
tests/contrib/setup.sh
venv "$PWD/build/bench/venv" "$PWD/bench/requirements.txt"

cmake --preset release -B build/bench -DSPANLINK_BENCH=ON >/dev/null
cmake --build build/bench | tail -n 1

rotel=$(find "$PWD/build/bench/venv" -name rotel-agent -type f | head -n 1)
exec python3 bench/bench.py --rotel "$rotel" --dataflow "${DATAFLOW:-}" "${page[@]}" "$@"
