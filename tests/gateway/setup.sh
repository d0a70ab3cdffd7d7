#!/bin/bash
# setup.sh: brings Apache Kafka, a client of it, the Collectors of these tests and the venv into
# build/e2e/. Installs a JDK and Maven with apt.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
client=confluent-kafka==2.8.0
export OUT=$root/build/e2e
export BIN=$OUT/bin VENV=$OUT/venv E2E_JOBS=${E2E_JOBS:-2} GO=${GO:-}

"$root/tests/e2e/setup.sh" --collector      # what data must arrive at is that of the e2e tests
exec 9>"$OUT/lock"
flock 9
# shellcheck source=tests/e2e/setup_lib.sh
. "$root/tests/e2e/setup_lib.sh"

command -v java >/dev/null || install default-jdk-headless
if ! built kafka "$here/pom.xml" || ! compgen -G "$OUT/kafka/kafka_*.jar" >/dev/null; then
    command -v mvn >/dev/null || install maven
    say "copying Apache Kafka (half a minute, once)"
    rm -rf "$OUT/kafka"
    quiet kafka mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies \
        -DoutputDirectory="$OUT/kafka"
    mark kafka "$here/pom.xml"
fi
install librdkafka1 openssl util-linux mount
# A newer librdkafka than Debian 12's, which cannot log in to Kafka 4 by SCRAM, with a client for
# the tests themselves.
if ! built kafka-client "$client"; then
    rm -rf "$OUT/kafka-client"
    "$VENV/bin/python" -m pip install -q --disable-pip-version-check --target "$OUT/kafka-client" \
        "$client"
    mark kafka-client "$client"
fi

version=v$(sed -nE 's/^  version: //p' "$here/manifest.yaml")
if built gateway "$here/manifest.yaml" && [ -x "$BIN/otelcol-gateway" ]; then
    exit 0
fi
find_go
say "building the Collector with Kafka (minutes, once)"
mkdir -p "$OUT/gateway"
GOBIN=$OUT/gateway nice "$GO" install go.opentelemetry.io/collector/cmd/builder@"$version"
path=$(dirname "$(command -v "$GO")"):$PATH
(cd "$OUT/gateway" && PATH=$path quiet gateway nice ./builder --config "$here/manifest.yaml")
cp "$OUT/gateway/_build/otelcol-gateway" "$BIN/otelcol-gateway"
rm -f "$OUT/gateway/builder"
mark gateway "$here/manifest.yaml"
