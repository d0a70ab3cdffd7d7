#!/usr/bin/env bash
# Runs the example without containers. See --help.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build/rideshare

usage() {
  cat <<'TEXT'
usage: examples/rideshare/run.sh [SECONDS]

Three regions of a ride-sharing service, each with its spanlink, and a load for SECONDS (60), all on
free ports of this machine. Then it ends everything and prints what left spanlink: requests, linked
spans and their CPU time by region and route. Ctrl-C does the same earlier.

  TEMPO_ENDPOINT=localhost:4317         send the spans to this Tempo (OTLP gRPC), too
  PYROSCOPE_URL=http://localhost:4040   send the profiles to this Pyroscope, too
  SPANLINK_BIN=FILE                     run this spanlink instead of building one
  DATA_DIR=FOLDER                       files go there instead of build/rideshare/data
TEXT
}

seconds=${1:-60}
case $seconds in
  -h | --help) usage; exit 0 ;;
  . | *[!0-9.]* | *.*.*)
    echo "run.sh: $seconds is no number of seconds; try run.sh --help" >&2
    exit 2
    ;;
esac

[ -n "${SPANLINK_BIN:-}" ] || "$root/run.sh" --build
export SPANLINK_BIN=${SPANLINK_BIN:-$root/build/release/spanlink}
export DATA_DIR=${DATA_DIR:-$build/data}

if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
  echo "installing: python3-venv"
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends \
    python3 python3-venv ca-certificates >/dev/null
fi

# The venv is rebuilt when the packages or the interpreter change.
mkdir -p "$build"
exec 9>"$build/lock"
flock 9
wanted=$(python3 -c 'import sys; print(sys.executable, sys.version)'; cat "$here/requirements.txt")
if [ "$(cat "$build/venv.stamp" 2>/dev/null)" != "$wanted" ]; then
  echo "installing the SDKs below build/rideshare/venv"
  rm -rf "$build/venv" "$build/venv.stamp"
  python3 -m venv "$build/venv"
  "$build/venv/bin/python" -m pip install -q --disable-pip-version-check \
    -r "$here/requirements.txt"
  echo "$wanted" >"$build/venv.stamp"
fi
exec 9>&-

exec "$build/venv/bin/python" "$here/local.py" "$seconds"
