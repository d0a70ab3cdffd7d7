#!/usr/bin/env bash
# Ensures that programs are installed: if one is missing, installs the packages of the tests, and
# lists those still missing. Usage: tools/need.sh PROGRAM...
set -uo pipefail
cd "$(dirname "$0")/.." || exit

missing() {
  for program; do command -v "$program" >/dev/null || echo "$program"; done
}

[ -z "$(missing "$@")" ] && exit 0
tools/install_debian.sh test >&2
left=$(missing "$@")
[ -z "$left" ] && exit 0
echo "these programs are missing: ${left//$'\n'/ }" >&2
exit 1
