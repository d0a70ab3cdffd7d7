#!/usr/bin/env bash
# Says what of these the caller cannot write, or make where it is not there yet, and ends with 1.
# Of what follows --below everything that is in it counts, too: one object file of another user is
# enough for a build to fail. Usage: tools/writable.sh [PATH]... [--below FOLDER...]
set -euo pipefail

depth=(-maxdepth 0)
for path; do
  [ "$path" = --below ] && { depth=(); continue; }
  there=$path
  while [ ! -e "$there" ] && [ ! -L "$there" ]; do there=$(dirname "$there"); done
  [ "$there" = "$path" ] || [ -d "$there" ] || there=$path/
  # A file that is read-only for its owner is replaced where its folder can be written.
  refused=$(find "$there" "${depth[@]}" ! -type l ! -writable \
    \( -type d -o ! -uid "$(id -u)" \) -print -quit 2>/dev/null || true)
  [ -n "$refused" ] || continue
  owner=$(stat -c %U "$refused")
  me=$(id -un 2>/dev/null) || me=$(id -u)
  echo "$(realpath -sm "$refused") cannot be written by $me, it belongs to $owner;" \
    "go on as $owner, or take it over: sudo chown -R $me $(realpath -sm "$there")" >&2
  exit 1
done
