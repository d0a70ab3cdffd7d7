#!/usr/bin/env bash
# Runs clang-tidy on our sources with the compile commands of a build folder (default: build/asan).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
tools/need.sh clang-tidy || exit
build=${1:-build/asan}
[ -e "$build/compile_commands.json" ] || {
  echo "tidy.sh: $build is not configured; run tools/build.sh $(basename "$build")" >&2
  exit 2
}
# The analyzer follows at most so many states of a function, a fifth of its default: the rest takes
# four fifths of the time.
depth=(--extra-arg=-Xclang --extra-arg=-analyzer-config
  --extra-arg=-Xclang --extra-arg=max-nodes=45000)
find lib pipeline receivers processors exporters extensions examples cli bench \
  -name '*.c' -not -path '*/tests/*' -print0 |
  xargs -0 -P "$(nproc)" -n 8 clang-tidy --quiet -p "$build" "${depth[@]}" 2>/dev/null |
  grep -v "^$"
exit "${PIPESTATUS[1]}"
