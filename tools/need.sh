#!/usr/bin/env bash
# Sees to it that these programs are there: installs the packages of the tests if one is missing,
# and says which still is. Usage: tools/need.sh PROGRAM...
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
