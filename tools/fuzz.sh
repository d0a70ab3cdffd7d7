#!/usr/bin/env bash
# Fuzzes every target with asan and ubsan, SECONDS each (default 60), one per processor at a time.
# New inputs are kept in build/fuzz/corpus, including those of findings; after a finding the exit
# code is 1.
# Usage: tools/fuzz.sh [SECONDS [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/.."
tools/need.sh clang cmake ninja
export seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s _fuzz.c tests/fuzz/*_fuzz.c)
tools/build.sh fuzz --target "${targets[@]/%/_fuzz}"

fuzz() {
  local kept=build/fuzz/corpus/$1
  mkdir -p "$kept"
  if build/fuzz/tests/"$1_fuzz" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 \
    -artifact_prefix="$kept/finding-" "$kept" "tests/fuzz/corpus/$1" >"build/fuzz/$1.log" 2>&1; then
    printf '%s: %s\n' "$1" "$(tail -n 1 "build/fuzz/$1.log")"
  else
    mv "build/fuzz/$1.log" "build/fuzz/$1.finding"
    printf '%s: FAILED\n' "$1"
    return 1
  fi
}
export -f fuzz

rm -f build/fuzz/*.finding
if ! printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I {} bash -c 'fuzz {}'; then
  for finding in build/fuzz/*.finding; do
    printf '== %s\n%s\n' "$finding" "$(tail -n 35 "$finding")"
  done
  exit 1
fi
