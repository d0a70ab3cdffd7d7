#!/usr/bin/env bash
# Prints the stripped size of the release binary and the memory of an idle spanlink.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/need.sh strip
program=build/release/spanlink
[ -x $program ] || { echo "no binary at $program; ./run.sh --build makes it" >&2; exit 2; }
folder=$(mktemp -d)
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null; rm -rf "$folder"' EXIT
strip -o "$folder/spanlink" $program
echo "stripped binary: $(($(stat -c %s "$folder/spanlink") / 1024)) KiB"

cat >"$folder/idle.yaml" <<'TEXT'
receivers:
  otlp: {protocols: {grpc: {endpoint: 127.0.0.1:0}, http: {endpoint: 127.0.0.1:0}}}
  pyroscope: {endpoint: 127.0.0.1:0}
processors:
  correlation:
exporters:
  otlp_grpc: {endpoint: 127.0.0.1:9, tls: {insecure: true}}
  pyroscope: {endpoint: http://127.0.0.1:9}
service:
  pipelines:
    traces: {receivers: [otlp], processors: [correlation], exporters: [otlp_grpc]}
    profiles: {receivers: [pyroscope], processors: [correlation], exporters: [pyroscope]}
TEXT
: >"$folder/log"
$program --config "$folder/idle.yaml" 2>"$folder/log" &
pid=$!
for _ in $(seq 200); do
  grep -q 'is ready' "$folder/log" && break
  kill -0 $pid || { cat "$folder/log" >&2; exit 1; }
  read -r -t 0.02 _ </dev/zero || true
done
awk '/^Rss:/ {rss += $2} /^Private_(Clean|Dirty):/ {private += $2} /^Private_Dirty:/ {dirty += $2}
     END {printf "idle: RSS %d KiB, private %d KiB (dirty %d KiB)\n", rss, private, dirty}' \
  /proc/$pid/smaps_rollup
