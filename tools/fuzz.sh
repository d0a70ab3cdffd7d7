#!/usr/bin/env bash
# Fuzzes every target under asan and ubsan, SECONDS each (default 60). New inputs are kept in
# build/fuzz/corpus; a finding stops the run and leaves its input there.
# Usage: tools/fuzz.sh [SECONDS [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
mkdir -p build
if ! { cmake --preset fuzz && cmake --build --preset fuzz; } >build/fuzz.log 2>&1; then
  cat build/fuzz.log >&2
  exit 1
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cd tests/fuzz && ls ./*_fuzz.c | xargs -n1 basename -s _fuzz.c)
for target in "${targets[@]}"; do
  kept=build/fuzz/corpus/$target
  mkdir -p "$kept"
  printf '%s: ' "$target"
  build/fuzz/tests/"${target}_fuzz" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 \
    -artifact_prefix="$kept/finding-" "$kept" "tests/fuzz/corpus/$target" \
    >"build/fuzz/$target.log" 2>&1 || { tail -n 40 "build/fuzz/$target.log"; exit 1; }
  tail -n 1 "build/fuzz/$target.log"
done
