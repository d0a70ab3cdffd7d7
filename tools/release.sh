#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the files of a release in build/files: the sources, a tarball with the binary, the .deb, the
# image's root file system, the bill of materials, the notes from CHANGELOG.md, and SHA256SUMS.
# Two runs on one commit, wherever, make equal files. A tree with changes is refused; one without git
# is taken as it is, and SPANLINK_COMMIT and SOURCE_DATE_EPOCH say what git would.
# Usage: tools/release.sh
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
version=$(sed -n 's/^project(spanlink VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
out=build/files
if [ -e .git ]; then
  changed=$(git status --porcelain)
  [ -z "$changed" ] || { printf 'not committed:\n%s\n' "$changed" >&2; exit 1; }
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
fi
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:?"it says the time of the files, in seconds"}

sources() { # the paths of all files, each ended by NUL
  if [ -e .git ]; then git ls-files -z; else find . -path ./build -prune -o -type f -printf '%P\0'; fi
}
pack() { # file, folder that it is in, option of tar...
  local file=$1 folder=$2
  shift 2
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner -C "$folder" -cf - "$@" |
    gzip -9n >"$file"
}
pack_named() { # the same, in a folder of the version, everything root's
  pack "$@" --owner=0 --group=0 --mode=u+rw,go=rX --transform="s,^\(\./\)\?,spanlink-$version/,S"
}

rm -rf "$out" build/staged
mkdir -p "$out"
python3 -B tools/changelog.py notes "$version" >"$out/NOTES.md"
sources | LC_ALL=C sort -z | pack_named "$out/spanlink-$version.tar.gz" . --null --files-from=-
deb=$(tools/package.sh)
cp "$deb" "$out/"
machine=${deb##*_}
machine=${machine%.deb}
cmake --install build/release --strip --prefix build/staged/usr >/dev/null
pack_named "$out/spanlink-$version-linux-$machine.tar.gz" build/staged/usr .
packaging/rootfs.sh build/release/spanlink build/staged/root
pack "$out/spanlink-$version-rootfs-$machine.tar.gz" build/staged/root .
cp build/staged/root/usr/share/spanlink/sbom.spdx.json "$out/spanlink-$version.spdx.json"
rm -rf build/staged
(cd "$out" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
