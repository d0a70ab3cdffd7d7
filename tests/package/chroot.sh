#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a small Debian of this machine's release, with systemd and what spanlink needs, in
# build/package/debian; made once and kept. The mirror is the one that apt has here.
# Usage: chroot.sh, as root
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=/dev/null
. /etc/os-release
folder=build/package/debian
stamp=build/package/debian.made
packages=systemd,libgnutls30,libcrypt1,libdeflate0,libisal2,libjansson4,libnghttp2-14,libyaml-0-2
mkdir -p build/package
exec 9>build/package/debian.lock
flock 9
[ "$(cat $stamp 2>/dev/null)" != "$VERSION_CODENAME $packages" ] || exit 0
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
  awk -v release="$VERSION_CODENAME" '$2 == release && $3 == "main" && !found++ {print $1}')
[ -n "$mirror" ] || { echo "apt has no source of $VERSION_CODENAME here" >&2; exit 1; }
rm -rf "$folder"
debootstrap --variant=minbase --include="$packages" "$VERSION_CODENAME" "$folder" "$mirror"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$folder/etc/hosts"
rm -rf "$folder"/var/cache/apt/archives/*.deb
echo "$VERSION_CODENAME $packages" >$stamp
