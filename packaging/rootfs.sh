#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Creates the root file system of the container image: the binary, the libraries that it links or
# loads on first use, the CA certificates, a configuration and a user. packaging/Dockerfile copies
# it into an image from scratch. If SOURCE_DATE_EPOCH is set, all files get that time. Requires g++
# and the packages that tools/install_debian.sh build installs.
# Usage: packaging/rootfs.sh BINARY FOLDER    (FOLDER must not exist)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
late='gnutls|idn2|snappy|lz4|pcre2-8'
if [ "${1:-}" = --kafka ]; then
  late+='|rdkafka'
  shift
fi
program=${1:?which binary?}
root=${2:?which folder?}
[ ! -e "$root" ] || { echo "$root already exists" >&2; exit 1; }
umask 022

mkdir -p "$root"/{etc/spanlink,etc/ssl/certs,usr/bin,usr/share/spanlink,var/lib/spanlink,tmp}
chmod 1777 "$root/tmp"
install -s -m 755 "$program" "$root/usr/bin/spanlink"

# Copies the libraries that a file links, under the paths where the loader looks for them.
copy_with_needs() { # file
  local name path
  ldd "$1" | while read -r name path; do
    path=$(grep -oE '/[^ ]+' <<<"$name $path" | tail -1 || true)
    if [ -n "$path" ] && [ ! -e "$root$path" ]; then
      mkdir -p "$root$(dirname "$path")"
      cp -L "$path" "$root$path"
    fi
  done
}
copy_with_needs "$program"
# Links the C++ runtime into libsnappy: 0.1 MiB instead of 3.2 MiB with the shared libraries.
snappy=$(mktemp -d)
trap 'rm -rf "$snappy"' EXIT
echo '{global: snappy_*; local: *;};' >"$snappy/exported"
g++ -shared -o "$snappy/libsnappy.so.1" -Wl,-soname,libsnappy.so.1 \
  -Wl,--version-script="$snappy/exported" -Wl,--whole-archive -l:libsnappy.a \
  -Wl,--no-whole-archive -static-libstdc++ -static-libgcc -Wl,--gc-sections
# Libraries loaded on first use; the binary contains their names.
for name in $(strings "$program" | grep -E "^lib($late)\.so\.[0-9]+$" | sort -u); do
  path=$(ldconfig -p | awk -v name="$name" '$1 == name && !found++ {print $NF}')
  [ -n "$path" ] || { echo "$name is not installed here" >&2; exit 1; }
  mkdir -p "$root$(dirname "$path")"
  if [ "$name" = libsnappy.so.1 ]; then
    cp "$snappy/$name" "$root$path"
    continue
  fi
  cp -L "$path" "$root$path"
  copy_with_needs "$path"
done
find "$root" -name '*.so*' -exec strip --strip-unneeded {} +

cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
cp "$here/config.yaml" "$root/etc/spanlink/config.yaml"
echo 'spanlink:x:65532:65532:spanlink:/var/lib/spanlink:/sbin/nologin' >"$root/etc/passwd"
echo 'spanlink:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts" # a runtime mounts its own
cp "$here/../LICENSE" "$root/usr/share/spanlink/"
python3 -B "$here/../tools/sbom.py" "$root" >"$root/usr/share/spanlink/sbom.spdx.json"
find "$root" -name '*.so*' -exec chmod 755 {} +
[ "$(id -u)" != 0 ] || chown 65532:65532 "$root/var/lib/spanlink"
chmod 700 "$root/var/lib/spanlink"
[ -z "${SOURCE_DATE_EPOCH:-}" ] ||
  find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
