#!/usr/bin/env bash
# Passes every configuration in configs/ through `spanlink validate`.
set -uo pipefail
cd "$(dirname "$0")/.."
bad=0
for file in configs/*.yaml; do
  TEMPO_ENDPOINT=tempo:4317 PYROSCOPE_URL=http://pyroscope:4040 \
    OTLP_ENDPOINT=http://gateway:4318 HTPASSWD_FILE=users TOKEN_FILE=token \
    build/release/spanlink validate --config "$file" || bad=1
done
exit $bad
