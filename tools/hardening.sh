#!/usr/bin/env bash
# Checks that a release binary has the hardening that cmake/compile.cmake requests and, if
# systemd-analyze is installed, checks the systemd unit. Usage: tools/hardening.sh [BINARY]
set -uo pipefail
cd "$(dirname "$0")/.." || exit
tools/need.sh readelf objdump || exit
program=${1:-build/release/spanlink}
bad=0

expect() { # what, yes or no: must the pattern be there, pattern, text
  if { grep -qE -- "$3" <<<"$4" && echo yes || echo no; } | grep -qx "$2"; then
    echo "ok: $1"
  else
    echo "missing: $1"
    bad=1
  fi
}

[ -r "$program" ] || { echo "no binary at $program; ./run.sh --build makes it" >&2; exit 2; }
header=$(readelf -hW "$program")
segments=$(readelf -lW "$program")
dynamic=$(readelf -dW "$program")
symbols=$(readelf --dyn-syms -W "$program")
switches=$(readelf -p .debug_str -W "$program" 2>/dev/null | grep -E 'GNU C|clang version')

expect 'position-independent executable' yes 'Type: +DYN' "$header"
expect 'position-independent executable, marked' yes 'FLAGS_1.*PIE' "$dynamic"
expect 'read-only relocations' yes 'GNU_RELRO' "$segments"
expect 'all symbols bound at start (full RELRO)' yes 'BIND_NOW|FLAGS_1.*NOW' "$dynamic"
expect 'stack that is not executable' yes 'GNU_STACK.* RW ' "$segments"
expect 'no segment both writable and executable' no '(LOAD|GNU_STACK).* RWE' "$segments"
expect 'no relocations in code' no 'TEXTREL' "$dynamic"
expect 'no library path of its own' no 'RPATH|RUNPATH' "$dynamic"
expect 'stack protector' yes '__stack_chk_fail' "$symbols"
expect 'checked string functions (_FORTIFY_SOURCE)' yes '__(memcpy|snprintf|vsnprintf)_chk' "$symbols"
if [ -n "$switches" ]; then
  expect 'stack protector, strong' yes '-fstack-protector-strong' "$switches"
  expect 'stack clash protection' yes '-fstack-clash-protection' "$switches"
fi
if grep -q 'X86-64' <<<"$header"; then
  branches=$(objdump -d --no-show-raw-insn -j .text "$program" | grep -c endbr64)
  expect 'control-flow protection (endbr64)' yes '[0-9]{3}' "$branches"
fi

if command -v systemd-analyze >/dev/null; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  # verify requires the program to exist.
  sed "s#/usr/local/bin/spanlink#$(realpath "$program")#" configs/systemd/spanlink.service \
    >"$folder/spanlink.service"
  said=$(systemd-analyze verify --man=no "$folder/spanlink.service" 2>&1) || said="failed: $said"
  expect "systemd unit${said:+: $said}" no '.' "$said"
  if exposure=$(systemd-analyze security --offline=true --threshold=20 \
    "$folder/spanlink.service" 2>/dev/null); then
    tail -1 <<<"$exposure" | sed 's/^[^A-Za-z]*/ok: /'
  elif grep -q 'exposure' <<<"$exposure"; then
    echo "missing: exposure below 2.0: $(tail -1 <<<"$exposure")"
    bad=1
  fi
fi
exit $bad
