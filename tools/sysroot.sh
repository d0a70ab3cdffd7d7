#!/usr/bin/env bash
# Downloads the libraries of another Debian architecture into build/ARCH-sysroot, where the
# toolchain file cmake/ARCH.cmake looks for them. It uses the machine's apt sources and keys, but
# does not change its packages or architectures, and does not need root. Does nothing if the sysroot
# exists already for the same list of packages.
# Usage: tools/sysroot.sh arm64
set -euo pipefail
cd "$(dirname "$0")/.."
arch=${1:?tools/sysroot.sh: which architecture? arm64}
sysroot=$PWD/build/$arch-sysroot
apt=$PWD/build/$arch-apt

read -ra packages < <(tools/install_debian.sh --list "$arch")
wanted="$(. /etc/os-release; echo "$ID $VERSION_ID") ${packages[*]}"
[ "$(cat "$sysroot/of" 2>/dev/null)" = "$wanted" ] && exit 0

# Runs apt as on a machine of that architecture with nothing installed.
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
own_apt update || echo "continuing with the package lists that are available" >&2
own_apt install -y --download-only --no-install-recommends "${packages[@]}" >/dev/null

ln -s usr/lib "$sysroot/lib" # packages put their libraries in either
for archive in "$apt"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$archive" |
    tar -x -C "$sysroot" --keep-directory-symlink --no-same-owner --exclude=./usr/share/doc \
      --exclude=./usr/share/man --exclude=./var --exclude=./etc
done
# Absolute links must point into the sysroot.
find "$sysroot" -type l -lname '/*' -printf '%l\n%p\n' |
  while read -r target && read -r link; do ln -sfnr "$sysroot$target" "$link"; done
rm -rf "$apt"
echo "$wanted" >"$sysroot/of"
