#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing Debian packages: for the build, for a .deb, for all tests, or for the build and
# tests of arm64. If it cannot, it lists them.
# Usage: install_debian.sh build|package|test|arm64
#        install_debian.sh --list arm64    prints the libraries needed for that architecture
set -euo pipefail

libraries="libmicrohttpd-dev libcurl4-gnutls-dev libnghttp2-dev libgnutls28-dev libcrypt-dev
  libprotobuf-c-dev libjansson-dev libyaml-dev libisal-dev libdeflate-dev libzstd-dev
  libsnappy-dev liblz4-dev libpcre2-dev librdkafka-dev"
build="gcc cmake ninja-build pkg-config protobuf-c-compiler python3 ca-certificates $libraries"
package="$build binutils dpkg-dev file git"
check="check clang libclang-rt-dev clang-tidy clang-format universal-ctags shellcheck python3-venv
  curl openssl valgrind debootstrap man-db g++ chromium zsh fish"
cross="gcc-aarch64-linux-gnu qemu-user"

case ${1:-build} in
  build) packages=$build ;;
  package) packages=$package ;;
  test) packages="$package $check" ;;
  arm64) packages="$package $cross" ;;
  --list) xargs <<<"libc6-dev check $libraries"; exit 0 ;;
  *) echo "install_debian.sh: unknown set $1, expected build, package, test or arm64" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "this is not Debian; install what is missing of these packages by hand:" >&2
  xargs <<<"$packages" >&2
  exit 0
fi
exec 8<"$0"
flock 8 # apt refuses a second run at the same time
missing=""
for package in $packages; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

sudo=""
if [ "$(id -u)" != 0 ]; then
  sudo=sudo
  command -v sudo >/dev/null || {
    echo "these Debian packages are missing; install them as root:$missing" >&2
    exit 1
  }
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
if ! { $sudo apt-get update -qq &&
  $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null; }; then
  echo "cannot install these Debian packages:$missing" >&2
  exit 1
fi
