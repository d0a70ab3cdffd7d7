#!/bin/bash
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/setup_lib.sh
. "$here/../../setup_lib.sh"
go_module pprof-target "$here" "$BIN/pprof-target"
