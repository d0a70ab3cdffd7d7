#!/usr/bin/env bash
# Configures and builds a preset of CMakePresets.json into build/PRESET. What cmake and ninja say
# is in build/PRESET.log; it is shown where they fail. What the build had to do without is said at
# the end. Usage: tools/build.sh PRESET [OPTION of cmake --build]...
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?tools/build.sh: which preset?}
shift
folder=build/$preset
log=build/$preset.log

if ! said=$(tools/writable.sh build "$log" --below "$folder" 2>&1); then
  echo "cannot build $folder: $said" >&2
  exit 1
fi
mkdir -p build

# The cache names the folder of the sources, and cmake refuses one that was copied with them.
fresh=()
made_for=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt" 2>/dev/null || true)
if [ -n "$made_for" ] && ! [ "$made_for" -ef . ]; then
  echo "$folder was made for $made_for; building it anew"
  fresh=(--fresh)
fi

if ! { cmake "${fresh[@]}" --preset "$preset" && cmake --build --preset "$preset" "$@"; } \
  >"$log" 2>&1; then
  cat "$log" >&2
  echo "could not build $folder; the lines above are in $log" >&2
  exit 1
fi
[ ! -s "$folder/without.txt" ] || cat "$folder/without.txt"
