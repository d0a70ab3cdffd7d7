#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages, builds spanlink and runs it. See --help.
set -euo pipefail
called_from=$PWD
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./run.sh [--config FILE]... [--set KEY=VALUE]... [--no-sample]
       ./run.sh --build

Without --config, it runs configs/standalone.yaml, which needs no backend, replays a small sample of
recorded SDK traffic once, and then keeps listening.

  --config FILE   run this configuration instead (no sample is replayed)
  --set A.B=C     set one key of the configuration
  --no-sample     do not replay the sample
  --build         only install packages and build
TEXT
}

# Relative paths are relative to the caller's folder.
config() {
  sample=no
  case $1 in
    /*) ;;
    *) [ -e "$called_from/$1" ] && [ "$called_from" != "$PWD" ] && set -- "$called_from/$1" ;;
  esac
  arguments+=(--config "$1")
}

arguments=()
sample=yes
build_only=no
while [ $# -gt 0 ]; do
  case $1 in
    --config | --set)
      [ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      if [ "$1" = --config ]; then config "$2"; else arguments+=("$1" "$2"); fi
      shift 2
      ;;
    --config=*) config "${1#--config=}"; shift ;;
    --set=*) arguments+=("$1"); shift ;;
    --no-sample) sample=no; shift ;;
    --build) build_only=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "run.sh: unknown argument $1; try ./run.sh --help" >&2; exit 2 ;;
  esac
done

tools/install_debian.sh build
notice="building spanlink, about half a minute"
if [ -x build/release/spanlink ]; then export BUILD_NOTICE=$notice; else echo "$notice"; fi
tools/build.sh release
[ "$build_only" = yes ] && { echo "built: build/release/spanlink"; exit 0; }

own_config=no
for argument in "${arguments[@]+"${arguments[@]}"}"; do
  case $argument in --config*) own_config=yes ;; esac
done
page=http://localhost:13134
for argument in "${arguments[@]+"${arguments[@]}"}"; do
  case $argument in extensions.status.endpoint=*) page=http://${argument#*=} ;; esac
done
if [ "$own_config" = no ]; then
  quiet=()
  [ "$sample" = no ] || quiet=(--set exporters.debug.verbosity=basic)
  arguments=(--config configs/standalone.yaml "${quiet[@]}" "${arguments[@]+"${arguments[@]}"}")
fi
[ "$sample" = no ] && exec build/release/spanlink "${arguments[@]}"

# Runs beside spanlink, which replaces this shell and keeps its process id, so that it gets the
# signals and sets the exit code. spanlink is listening long before the first request of the sample
# is due.
play_sample() {
  python3 tests/recorded/play.py tests/recorded/python \
    --otlp http://localhost:4318 --pyroscope http://localhost:4040 >/dev/null &
  local player=$!
  sleep 1
  [ -e /proc/$$/exe ] && echo "replaying a sample of recorded traffic, about half a minute"
  while kill -0 $player 2>/dev/null; do
    [ -e /proc/$$/exe ] || { kill $player 2>/dev/null; return; } # also true for a zombie
    sleep 0.2
  done
  python3 tools/show_sample.py "$page" || return 0
  cat <<TEXT

spanlink keeps listening; point an SDK at it (Ctrl-C stops it):
  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318   (gRPC: http://localhost:4317)
  Pyroscope SDK's server address: http://localhost:4040   (docs/sdks.md: each language)
All traces and flame graphs: $page
TEXT
}
trap '' INT # for the player, which ends with spanlink; spanlink handles SIGINT itself
play_sample &
exec build/release/spanlink "${arguments[@]}"
