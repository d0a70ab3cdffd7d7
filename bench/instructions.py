#!/usr/bin/env python3
"""Counts the instructions per span (or sample) of the hot paths, and compares them with
bench/instructions.txt. Usage: bench/instructions.py [--update] [CASE...]

Counted with callgrind on fixed input, so that two runs of one binary differ by less than one in a
thousand. A count can also change with the compiler, libc or ISA-L, and with the processor, for
which libc and ISA-L choose their routines (libc's choice is fixed here, ISA-L's cannot be).
Therefore a count fails at more than 5 percent above the file with the compiler that wrote it, and
at more than 15 percent with another one. A count 5 percent below passes with a request to run
--update.
"""
import argparse
import concurrent.futures
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
PROGRAM = BUILD / "bench/bench_instructions"
EXPECTED = ROOT / "bench/instructions.txt"
HEADER = """\
# Instructions per span (pprof: per sample), written by bench/instructions.py --update.
# {built_by}
"""
# Fixes libc's copy routines to those for any x86-64, and the cache sizes that it would detect.
TUNABLES = ":".join([
    "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM",
    "glibc.cpu.x86_data_cache_size=32768", "glibc.cpu.x86_shared_cache_size=1048576",
    "glibc.cpu.x86_non_temporal_threshold=3145728",
])


def build():
    environment = dict(os.environ)
    for command in (["cmake", "--preset", "release", "-DSPANLINK_BENCH=ON"],
                    ["cmake", "--build", "--preset", "release", "--target", PROGRAM.name]):
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(done.stdout)


def built_by():
    cache = (BUILD / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", cache, re.M).group(1)
    first = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    return f"{first.stdout.splitlines()[0]}, {platform.machine()}"


def measure(case):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measured",
             f"--callgrind-out-file={folder}/out", PROGRAM, case],
            env=dict(os.environ, GLIBC_TUNABLES=TUNABLES), capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    items = re.search(r" (\d+) items", done.stdout)
    if done.returncode or not counted or not items or counted.group(1) == "0":
        sys.exit(f"{case}: not counted\n{done.stdout}{done.stderr}")
    return int(counted.group(1)) / int(items.group(1))


def read_expected():
    counts, by = {}, ""
    for line in EXPECTED.read_text().splitlines() if EXPECTED.exists() else []:
        if line.startswith("#"):
            by = line[1:].strip()
        elif line:
            case, count = line.split()
            counts[case] = float(count)
    return counts, by


def verdict(count, expected, tolerance):
    if expected is None:
        return "new, record it with --update", False
    if count > expected * (1 + tolerance):
        return f"FAILED, more than {tolerance:.0%} above", False
    if count < expected * 0.95:
        return "improved, record it with --update", True
    return "ok", True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true", help="write the counts to the file")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    build()
    known = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.split()
    cases = arguments.cases or known
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(cases, pool.map(measure, cases)))
    expected, recorded_by = read_expected()
    by = built_by()
    tolerance = 0.05 if by == recorded_by else 0.15
    if by != recorded_by:
        print(f"recorded with {recorded_by or 'nothing'}, this is {by}: compared within 15%")
    print(f"{'case':12} {'expected':>10} {'counted':>10} {'change':>8}")
    good = True
    for case, count in counts.items():
        before = expected.get(case)
        text, passed = verdict(count, before, tolerance)
        change = f"{count / before - 1:+.1%}" if before else ""
        print(f"{case:12} {before or '':>10} {count:10.1f} {change:>8}  {text}")
        good = good and passed
    if arguments.update:
        lines = [f"{case} {count:.1f}\n" for case, count in {**expected, **counts}.items()
                 if case in known]
        EXPECTED.write_text(HEADER.format(built_by=by) + "".join(lines))
        return 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
