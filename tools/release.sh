#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Creates the files of a release in build/files: the sources, a tarball with the binary, the .deb,
# the image's root file system, the bill of materials, the notes from CHANGELOG.md, and SHA256SUMS.
# Two runs on one commit make identical files in any folder. Refuses to run with uncommitted
# changes. Without git, it uses all files, and SPANLINK_COMMIT and SOURCE_DATE_EPOCH provide commit
# and time.
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
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:?"set it to the time of the files, in seconds"}

sources() { # the paths of all files, NUL-terminated
  if [ -e .git ]; then git ls-files -z; else find . -path ./build -prune -o -type f -printf '%P\0'; fi
}
pack() { # file, folder to pack from, option of tar...
  local file=$1 folder=$2
  shift 2
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner -C "$folder" -cf - "$@" |
    gzip -9n >"$file"
}
pack_named() { # the same, under a folder named after the version, owned by root
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
