#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages, builds and runs every test. Prints "N passed, N failed" at the end.
# Usage: ./test.sh [--soak | --retry] [unit] [lint] [contrib] [arm64] [fuzz] [guard] [e2e] [gateway]
#                 [browser] [faults] [package] [release] [field]
# Without a part, it runs all except release and field, two at a time: the first five mostly
# compute, the others mostly wait. arm64 cross-compiles, runs spanlink and the tests of lib/base and
# lib/wire under qemu, and makes the .deb. gateway runs Apache Kafka, and installs what that needs
# (a JDK, Maven).
# --soak: one part at a time. The end-to-end tests run every language in every mode, the fault tests
# run many more rounds, the fuzz targets run a minute each, gateway kills, moves and fills for half
# an hour, and field runs every scenario instead of only the first.
# --retry: a test that fails runs once more, and a line names it. It counts as passed if it then
# passes: one of many tests with real processes may fail because the machine was slow.
set -uo pipefail
cd "$(dirname "$0")" || exit

passed=0
failed=0
logs=${TEST_LOGS:-build/test-logs}
options=()
soak=()
fuzz_seconds=3
ctest_retry=()
pytest_retry=()
browser_tries=1
case ${1:-} in
  --soak | --retry) options=("$1") ;;
esac
case ${1:-} in
  --soak)
    soak=(--soak)
    fuzz_seconds=60
    shift
    ;;
  --retry)
    ctest_retry=(--repeat until-pass:2)
    pytest_retry=(--reruns 1 -p retried)
    browser_tries=2
    shift
    ;;
esac
computing="unit lint contrib arm64 fuzz"
waiting="guard e2e gateway browser faults package"
parts=${*:-$computing $waiting}

step() { # name, command...
  local name=$1 start=$SECONDS
  shift
  printf '== %s\n' "$name"
  if "$@" >"$logs/$name.log" 2>&1; then
    passed=$((passed + 1))
    echo "   $((SECONDS - start)) s"
  else
    failed=$((failed + 1))
    printf 'FAILED: %s, the end of %s:\n' "$name" "$logs/$name.log"
    tail -n 40 "$logs/$name.log"
  fi
}

build() { # preset, option of cmake --build...
  step "build-$1" tools/build.sh "$@"
}

# Add up what a runner reports: ctest's "N tests failed out of M", pytest's last line.
ctest_run() { # preset, option of ctest...
  printf '== ctest %s\n' "$1"
  ctest --preset "$@" "${ctest_retry[@]}" -j "$(nproc)" >"$logs/ctest-$1.log" 2>&1
  local line bad all
  line=$(grep -E 'tests passed, .* failed out of|tests failed out of' "$logs/ctest-$1.log" | tail -1)
  bad=$(sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+).*/\1/p' <<<"$line")
  all=$(sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+).*/\2/p' <<<"$line")
  if [ -z "$all" ]; then
    failed=$((failed + 1))
    tail -n 40 "$logs/ctest-$1.log"
    return
  fi
  passed=$((passed + all - bad))
  failed=$((failed + bad))
  grep -F '***' "$logs/ctest-$1.log" | sort -u
  [ "$bad" = 0 ] || grep -vE '^ +[0-9]+/[0-9]+ Test .* Passed' "$logs/ctest-$1.log" | tail -n 120
  echo "   $line"
}

# A command with a loopback interface of its own, where the system allows that: then no other
# program has its ports.
alone() {
  local apart=(unshare --net)
  [ "$(id -u)" = 0 ] || apart=(unshare --user --map-root-user --net)
  "${apart[@]}" true 2>/dev/null || { "$@"; return; }
  "${apart[@]}" python3 tests/package/alone.py "$@"
}

pytest_run() { # folder, option...
  printf '== pytest %s\n' "$1"
  local log apart=()
  log=$logs/pytest-$(basename "$1").log
  [ "$1" != tests/gateway ] || apart=(alone)
  PYTHONPATH=tests/support "${apart[@]}" build/e2e/venv/bin/python -m pytest "$@" \
    "${pytest_retry[@]}" --durations 5 --durations-min 5 -q -p no:cacheprovider 2>&1 | tee "$log"
  local line good bad errors
  line=$(grep -E '^=*[ ]?[0-9]+ (passed|failed|error).* in [0-9.]+s' "$log" | tail -1)
  good=$(grep -oE '[0-9]+ passed' <<<"$line" | grep -oE '[0-9]+')
  bad=$(grep -oE '[0-9]+ failed' <<<"$line" | grep -oE '[0-9]+')
  errors=$(grep -oE '[0-9]+ error' <<<"$line" | grep -oE '[0-9]+')
  [ -n "$line" ] || bad=1
  passed=$((passed + ${good:-0}))
  failed=$((failed + ${bad:-0} + ${errors:-0}))
}

# These four share runs that last minutes, so one process has them all. The others are independent
# of each other, and mostly wait.
e2e_run() {
  local module waits=() others=()
  for module in example link loss recorded; do
    waits+=("tests/e2e/test_$module.py")
    others+=(--ignore "tests/e2e/test_$module.py")
  done
  pytest_run tests/e2e "${soak[@]}" "${others[@]}" --numprocesses 3
  pytest_run "${waits[@]}" "${soak[@]}"
}

# Most of them wait, so more than there are processors run at once; with --soak they need them all.
gateway_run() {
  local how=(--numprocesses 6 --dist loadgroup)
  [ ${#soak[@]} = 0 ] || how=(--soak)
  pytest_run tests/gateway "${how[@]}"
}

# What node:test counts: "ℹ pass 12" and "ℹ fail 0".
browser_run() {
  printf '== browser\n'
  local good bad try
  for ((try = 1; try <= browser_tries; try++)); do
    tests/browser/run.sh >"$logs/browser.log" 2>&1 && break
    tail -n 60 "$logs/browser.log"
  done
  good=$(sed -nE 's/^.* pass ([0-9]+)$/\1/p' "$logs/browser.log" | tail -1)
  bad=$(awk '$2 == "fail" || $2 == "cancelled" { sum += $3 } END { print sum }' "$logs/browser.log")
  [ -n "$good" ] || bad=1
  passed=$((passed + ${good:-0}))
  failed=$((failed + ${bad:-0}))
  echo "   ${good:-0} passed, ${bad:-0} failed"
}

field_run() { # option...
  printf '== field\n'
  local line good bad
  build/e2e/venv/bin/python tests/field/field.py "$@" 2>&1 | tee "$logs/field.log"
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$logs/field.log" | tail -1)
  read -r good _ bad _ <<<"${line:-0 passed, 1 failed}"
  passed=$((passed + good))
  failed=$((failed + bad))
}

# Tests what may differ on another processor: sizes and signedness of types, alignment, atomics.
arm64_run() {
  local targets program
  step packages-arm64 tools/install_debian.sh arm64
  step sysroot-arm64 tools/sysroot.sh arm64
  mapfile -t targets < <(cd tests && find lib/base lib/wire -name '*_test.c' |
    sed 's/\.c$//; s,/,.,g')
  build arm64 --target spanlink "${targets[@]}"
  program=(qemu-aarch64 -L build/arm64-sysroot build/arm64/spanlink)
  step version-arm64 "${program[@]}" --version
  step validate-arm64 "${program[@]}" validate --config configs/standalone.yaml
  CK_TIMEOUT_MULTIPLIER=10 ctest_run arm64 -R '^lib/(base|wire)/'
  step deb-arm64 tools/package.sh arm64
}

# Adds the counts of the last line of another run of this script.
add() { # log
  local good bad
  read -r good _ bad _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$1" | tail -n 1)
  passed=$((passed + ${good:-0}))
  failed=$((failed + ${bad:-1}))
}

# What computes has a lower priority, so that what waits for real processes is not late. Its output
# comes after the other's.
both() {
  local beside
  mkdir -p "$logs/computing"
  # shellcheck disable=SC2086
  TEST_LOGS=$logs/computing setsid nice -n 19 ./test.sh "${options[@]}" $computing \
    >"$logs/computing.log" 2>&1 &
  beside=$!
  # shellcheck disable=SC2064
  trap "kill -- -$beside 2>/dev/null" EXIT
  # shellcheck disable=SC2086
  ./test.sh "${options[@]}" $waiting 2>&1 | tee "$logs/waiting.log"
  wait "$beside"
  trap - EXIT
  cat "$logs/computing.log"
  add "$logs/waiting.log"
  add "$logs/computing.log"
}

tools/writable.sh build --below "$logs" || exit 1
tools/install_debian.sh test || exit 1
mkdir -p "$logs"
if [ $# = 0 ] && [ ${#soak[@]} = 0 ]; then
  both
  parts=""
fi

for part in $parts; do
  case $part in
    lint)
      build asan
      step layers python3 tools/layers.py
      step form tools/form.sh
      step tidy tools/tidy.sh build/asan
      mapfile -t shells < <(find . -path ./build -prune -o \
        \( -name '*.sh' -o -path './.ci/run' \) -not -path '*/node_modules/*' -print)
      step shellcheck shellcheck --external-sources "${shells[@]}"
      ;;
    unit)
      build asan
      ctest_run asan
      step venv tests/e2e/setup.sh --venv
      pytest_run tests/bench
      pytest_run tests/docs
      # The status API reads what others wrote. A sanitizer's memory and pace are not the program's.
      SPANLINK_BIN=$PWD/build/asan/spanlink pytest_run tests/e2e/test_status.py \
        tests/e2e/test_graphs.py tests/e2e/test_cost.py -k "not mib and not full_keep_prefers" \
        --numprocesses 3
      ;;
    contrib)
      build asan
      step contrib-setup tests/contrib/setup.sh
      SPANLINK_BIN=$PWD/build/asan/spanlink pytest_run tests/contrib
      ;;
    guard)
      step instructions bench/instructions.py
      grep -E '^[a-z]+ +[0-9]' "$logs/instructions.log"
      ;;
    arm64) arm64_run ;;
    e2e)
      build release
      step configs tools/validate_configs.sh
      step key-tables python3 tools/key_tables.py build/release/spanlink --check
      step hardening tools/hardening.sh
      step sizes tools/sizes.sh
      cat "$logs/sizes.log"
      step e2e-setup tests/e2e/setup.sh
      e2e_run
      ;;
    gateway)
      build release
      step gateway-setup tests/gateway/setup.sh
      gateway_run
      ;;
    browser)
      build release
      browser_run
      ;;
    faults)
      build release
      step venv tests/e2e/setup.sh --venv
      pytest_run tests/faults "${soak[@]}"
      ;;
    fuzz)
      step fuzz tools/fuzz.sh "$fuzz_seconds"
      ;;
    package)
      build release
      step venv tests/e2e/setup.sh --venv
      pytest_run tests/package --ignore tests/package/test_release.py
      ;;
    release)
      build release
      step venv tests/e2e/setup.sh --venv
      pytest_run tests/package/test_release.py
      ;;
    field)
      build release
      step venv tests/e2e/setup.sh --venv
      if [ ${#soak[@]} -gt 0 ]; then field_run; else field_run --only 1-one; fi
      ;;
    *)
      echo "test.sh: unknown part $part, expected unit, lint, contrib, arm64, fuzz, guard, e2e," \
        "gateway, browser, faults, package, release or field" >&2
      exit 2
      ;;
  esac
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
