#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a release and its .deb, build/package/spanlink_VERSION_ARCHITECTURE.deb, and prints its
# path. Two runs on one commit make identical files; their time is SOURCE_DATE_EPOCH, or the
# commit's.
# Usage: tools/package.sh [arm64]    arm64 is cross-compiled; see tools/install_debian.sh arm64
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
preset=${1:-release}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

libraries() { # of a program
  objdump -p "$1" | sed -n 's/^ *NEEDED *//p' | grep -v '^ld-linux' | sort
}

# A cross-compiled program depends on the same packages as this machine's, which dpkg-shlibdeps
# knows. GnuTLS and libidn2, which only some are linked with, are in the configuration.
depends() {
  local more
  more=$(comm -13 <(libraries build/release/spanlink) <(libraries "build/$preset/spanlink") |
    grep -vE '^lib(gnutls|idn2)\.' || true)
  if [ -n "$more" ]; then
    echo "only build/$preset/spanlink is linked with:" "$more" >&2
    return 1
  fi
  mkdir "$scratch/debian"
  touch "$scratch/debian/control"
  (cd "$scratch" && dpkg-shlibdeps -O "$OLDPWD/build/release/spanlink") |
    sed -n 's/^shlibs:Depends=//p'
}

tools/build.sh release
options=()
if [ "$preset" != release ]; then
  tools/sysroot.sh "$preset"
  tools/build.sh "$preset" --target spanlink manual
  late=$(sed -n 's/^set(CPACK_DEBIAN_PACKAGE_DEPENDS "\(.*\)")$/\1/p' "build/$preset/CPackConfig.cmake")
  options=(-D "CPACK_DEBIAN_PACKAGE_DEPENDS=$(depends), $late")
fi
folder=build/$preset/debian
python3 -B tools/changelog.py debian "$SOURCE_DATE_EPOCH" | gzip -9n >"$folder/changelog.gz"
if ! cpack --config "build/$preset/CPackConfig.cmake" -G DEB -B "$scratch/made" "${options[@]}" \
  >"$scratch/cpack.log" 2>&1; then
  cat "$scratch/cpack.log" >&2
  exit 1
fi
made=$(basename "$scratch"/made/*.deb)
mkdir -p build/package
rm -f build/package/spanlink_*_"${made##*_}" # of other versions; other architectures' stay
mv "$scratch/made/$made" build/package
echo "build/package/$made"
