#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a release and its .deb, build/package/spanlink_VERSION_ARCHITECTURE.deb, and prints its path.
# Two runs on one commit make equal files; their time is SOURCE_DATE_EPOCH, else the commit's.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
tools/build.sh release
folder=build/release/debian
python3 -B tools/changelog.py debian "$SOURCE_DATE_EPOCH" | gzip -9n >"$folder/changelog.gz"
mkdir -p build/package
rm -f build/package/*.deb
if ! cpack --config build/release/CPackConfig.cmake -G DEB -B build/package \
  >build/package/cpack.log 2>&1; then
  cat build/package/cpack.log >&2
  exit 1
fi
rm -rf build/package/_CPack_Packages
ls build/package/*.deb
