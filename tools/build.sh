#!/usr/bin/env bash
# Configures and builds a preset of CMakePresets.json into build/PRESET. The output of cmake and
# ninja goes to build/PRESET.log and is shown if they fail. At the end, prints which optional
# library is missing. Usage: tools/build.sh PRESET [OPTION of cmake --build]...
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
exec 9>"build/$preset.lock"
flock 9 # ninja does not expect a second one in its folder

# cmake refuses a cache made for another source folder, such as one copied along with the sources.
fresh=()
made_for=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt" 2>/dev/null || true)
if [ -n "$made_for" ] && ! [ "$made_for" -ef . ]; then
  echo "$folder was made for $made_for; rebuilding it"
  fresh=(--fresh)
fi

# BUILD_NOTICE is printed if a source is newer than the program. ninja cannot tell beforehand: its dry
# run ends where it would run cmake.
notice() {
  [ -n "${BUILD_NOTICE:-}" ] || return 0
  [ -z "$(find CMakeLists.txt cmake cli lib pipeline receivers processors exporters extensions \
    -type f -newer "$folder/spanlink" -print -quit 2>/dev/null)" ] || echo "$BUILD_NOTICE" >&3
}

exec 3>&1
if ! { notice && cmake "${fresh[@]}" --preset "$preset" && cmake --build --preset "$preset" "$@"; } \
  >"$log" 2>&1; then
  cat "$log" >&2
  echo "could not build $folder; the lines above are in $log" >&2
  exit 1
fi
[ ! -s "$folder/without.txt" ] || cat "$folder/without.txt"
