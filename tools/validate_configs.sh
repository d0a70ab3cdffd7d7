#!/usr/bin/env bash
# Runs `spanlink validate` on every configuration in configs/, with the files that they refer to.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
tools/need.sh openssl || exit
program=build/release/spanlink
[ -x $program ] || { echo "no binary at $program; ./run.sh --build makes it" >&2; exit 2; }
bad=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in server client; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$name" \
    -keyout "$folder/$name.key" -out "$folder/$name.pem" 2>/dev/null || exit 1
done
cp "$folder/client.pem" "$folder/clients.pem"
cp "$folder/server.pem" "$folder/backends.pem"
echo 'user:secret' >"$folder/users"
echo 'token' >"$folder/token"
export TEMPO_ENDPOINT=tempo:4317 PYROSCOPE_URL=http://pyroscope:4040
export KAFKA_BROKERS=kafka:9092 OTLP_ENDPOINT=http://gateway:4318 REDACTION_KEY=0123456789abcdef0123456789abcdef
export TLS_DIR=$folder HTPASSWD_FILE=$folder/users TOKEN_FILE=$folder/token
for file in configs/*.yaml; do
  $program validate --config "$file" || bad=1
done
exit $bad
