#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing. Usage: install_debian.sh build|test
set -euo pipefail

build="gcc cmake ninja-build pkg-config libmicrohttpd-dev libcurl4-gnutls-dev libnghttp2-dev
  libgnutls28-dev libcrypt-dev libprotobuf-c-dev protobuf-c-compiler libjansson-dev libyaml-dev
  libisal-dev libdeflate-dev libzstd-dev libsnappy-dev liblz4-dev python3 ca-certificates"
check="check clang libclang-rt-14-dev clang-tidy clang-format universal-ctags python3-venv curl
  openssl git valgrind"

packages=$build
[ "${1:-build}" = test ] && packages="$build $check"

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
    echo "these Debian packages are missing, and only root can install them:$missing" >&2
    exit 1
  }
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
