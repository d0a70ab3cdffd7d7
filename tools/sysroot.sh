#!/usr/bin/env bash
# Brings the libraries of another Debian architecture into build/ARCH-sysroot, where the toolchain
# file cmake/ARCH.cmake looks for them. Of the machine it uses apt's sources and keys; its packages
# and its architectures stay as they are, and it need not be root. What is there already, of the
# same list of packages, is left alone.
# Usage: tools/sysroot.sh arm64
set -euo pipefail
cd "$(dirname "$0")/.."
arch=${1:?tools/sysroot.sh: which architecture? arm64}
sysroot=$PWD/build/$arch-sysroot
apt=$PWD/build/$arch-apt

read -ra packages < <(tools/install_debian.sh --list "$arch")
wanted="$(. /etc/os-release; echo "$ID $VERSION_ID") ${packages[*]}"
[ "$(cat "$sysroot/of" 2>/dev/null)" = "$wanted" ] && exit 0

# apt's view of a machine of that architecture on which nothing is installed.
own_apt() {
  apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures::="$arch" \
    -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
    -o Debug::NoLocking=1 -o APT::Sandbox::User=root -o Acquire::Languages=none \
    -o APT::Update::Post-Invoke-Success= -o DPkg::Post-Invoke= -o APT::Update::Post-Invoke= \
    -o Acquire::Retries=3 "$@"
}

rm -rf "$sysroot" "$apt"
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$sysroot/usr/lib"
: >"$apt/status"
own_apt update || echo "going on with the package lists that could be had" >&2
own_apt install -y --download-only --no-install-recommends "${packages[@]}" >/dev/null

ln -s usr/lib "$sysroot/lib" # whether a package has its libraries there or here
for archive in "$apt"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$archive" |
    tar -x -C "$sysroot" --keep-directory-symlink --no-same-owner --exclude=./usr/share/doc \
      --exclude=./usr/share/man --exclude=./var --exclude=./etc
done
# A link from the root of that machine is one from the sysroot here.
find "$sysroot" -type l -lname '/*' -printf '%l\n%p\n' |
  while read -r target && read -r link; do ln -sfnr "$sysroot$target" "$link"; done
rm -rf "$apt"
echo "$wanted" >"$sysroot/of"
