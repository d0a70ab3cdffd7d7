#!/usr/bin/env bash
# clang-tidy over our sources, by the compile commands of a build folder (default: build/asan).
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/asan}
find lib pipeline receivers processors exporters extensions cli bench -name '*.c' -print0 |
  xargs -0 -P "$(nproc)" -n 8 clang-tidy --quiet -p "$build" 2>/dev/null | grep -v "^$"
exit "${PIPESTATUS[1]}"
