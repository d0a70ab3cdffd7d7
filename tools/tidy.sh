#!/usr/bin/env bash
# clang-tidy over our sources, by the compile commands of a build folder (default: build/asan).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
tools/need.sh clang-tidy || exit
build=${1:-build/asan}
[ -e "$build/compile_commands.json" ] || {
  echo "tidy.sh: $build is not configured; tools/build.sh $(basename "$build") does it" >&2
  exit 2
}
find lib pipeline receivers processors exporters extensions examples cli bench \
  -name '*.c' -not -path '*/tests/*' -print0 |
  xargs -0 -P "$(nproc)" -n 8 clang-tidy --quiet -p "$build" 2>/dev/null | grep -v "^$"
exit "${PIPESTATUS[1]}"
