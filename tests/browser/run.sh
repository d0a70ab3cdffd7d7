#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh: the tests of the status page, in Debian's Chromium with a spanlink of their own.
# SPANLINK_BIN names another binary than build/release/spanlink.
# Usage: run.sh [FILE.test.mjs]...
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
"$here/setup.sh"
files=("$@")
[ $# -gt 0 ] || files=("$here"/*.test.mjs)
# A test that fails may leave a program behind, which would keep its file from ending.
exec "$root/build/browser/node" --test --test-force-exit --test-concurrency=1 \
  --test-reporter=spec "${files[@]}"
