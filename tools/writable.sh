#!/usr/bin/env bash
# Exits with 1 if the caller cannot write or create one of the paths, and prints which. After
# --below, everything inside the folders is checked too: a single object file of another user makes
# a build fail. Usage: tools/writable.sh [PATH]... [--below FOLDER...]
set -euo pipefail

below=no
for path; do
  [ "$path" = --below ] && { below=yes; continue; }
  there=$path
  while [ ! -e "$there" ] && [ ! -L "$there" ]; do there=$(dirname "$there"); done
  depth=(-maxdepth 0)
  [ "$below" = no ] || [ "$there" != "$path" ] || depth=()
  [ "$there" = "$path" ] || [ -d "$there" ] || there=$path/
  # The owner's own read-only file does not matter: it is replaced if its folder is writable.
  refused=$(find "$there" "${depth[@]}" ! -type l ! -writable \
    \( -type d -o ! -uid "$(id -u)" \) -print -quit 2>/dev/null || true)
  [ -n "$refused" ] || continue
  owner=$(stat -c %U "$refused")
  me=$(id -un 2>/dev/null) || me=$(id -u)
  echo "$me cannot write $(realpath -sm "$refused"), which belongs to $owner; continue as $owner," \
    "or change the owner: sudo chown -R $me $(realpath -sm "$there")" >&2
  exit 1
done
