#!/usr/bin/env python3
"""Writes cmake/text_order.ld: the functions that an idle process executes, which the linker puts
next to one another. The kernel maps 16 pages of a file around each one that is touched, so a page
of startup code here and there would make nearly the whole program resident.

Builds build/unordered and runs it under callgrind, which knows no names outside the section .text,
with the configurations below: starts it, sends an empty request, scrapes its metrics, and stops it.
Run it again when the idle RSS has grown (tools/sizes.sh). Needs valgrind.
"""
import bisect
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "unordered"
PROGRAM = BUILD / "spanlink"
ORDER = ROOT / "cmake" / "text_order.ld"
PATIENCE_S = 60

CONFIG = """
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{grpc}"}}, http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{pyroscope}"}}
processors:
  correlation:
  memory_limiter: {{check_interval: 1s, limit_mib: 512}}
exporters:
  {exporters}
extensions: {{{extensions}}}
service:
  extensions: [{names}]
  telemetry: {{metrics: {{level: detailed, readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {metrics}}}}}}}}}]}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [memory_limiter, correlation], exporters: [{to}]}}
    profiles: {{receivers: [pyroscope], processors: [memory_limiter, correlation], exporters: [{to}]}}
"""
KINDS = (
    {"exporters": "otlp_grpc: {{endpoint: 127.0.0.1:9, tls: {{insecure: true}}}}", "to": "otlp_grpc",
     "extensions": "", "names": ""},
    {"exporters": "otlphttp: {{endpoint: \"http://127.0.0.1:9\"}}", "to": "otlphttp",
     "extensions": "", "names": ""},
    {"exporters": "debug: {{verbosity: detailed}}", "to": "debug",
     "extensions": "status: {{endpoint: \"127.0.0.1:{page}\"}}", "names": "status"},
)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def ask(url, data=None):
    request = urllib.request.Request(url, data, {"Content-Type": "application/x-protobuf"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return answer.read()


def wait_for(url, data=None):
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return ask(url, data)
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def symbols():
    """(addresses, names) of the program's functions, sorted by address."""
    listed = subprocess.run(["nm", "-n", "--defined-only", PROGRAM], text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    rows = re.findall(r"^([0-9a-f]+) [tT] ([A-Za-z_]\w*)(?:\.[\w.]+)?$", listed, re.M)
    return [int(address, 16) for address, _ in rows], [name for _, name in rows]


def executed(out):
    """Functions of the program whose instructions are in a callgrind file."""
    addresses, names = symbols()
    objects, found, inside, address = {}, set(), False, 0
    for line in out.read_text().splitlines():
        match = re.match(r"ob=\((\d+)\)(?: (.*))?$", line)
        if match:
            number, name = match.groups()
            objects.setdefault(number, name)
            inside = objects[number].endswith("/spanlink")
        match = re.match(r"cob=\((\d+)\) (.*)$", line)
        if match:
            objects[match[1]] = match[2]
        match = re.match(r"(0x|\+|-|\*)([0-9a-f]*) ", line)
        if not match:
            continue
        if match[1] == "0x":
            address = int(match[2], 16)
        elif match[1] != "*":
            address += int(match[1] + match[2])
        at = bisect.bisect_right(addresses, address) - 1
        if inside and at >= 0:
            found.add(names[at])
    return found


def members(found):
    """Patterns of the members of the static libraries that define one of the functions."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    for archive in re.findall(r"^(?:MICROHTTPD|CURL)_ARCHIVE:\w+=(/.*)$", cache, re.M):
        listed = subprocess.run(["nm", "-A", "--defined-only", archive], text=True, check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        defined = re.findall(r"^[^:]+:([^:]+):\w+ T (\w+)$", listed, re.M)
        name = pathlib.Path(archive).name
        for member in sorted({member for member, function in defined if function in found}):
            yield f"    *{name}:{member}(.text .text.*)"


def run(kind, folder):
    ports = {name: free_port() for name in ("grpc", "http", "pyroscope", "metrics", "page")}
    settings = {key: value.format(**ports) for key, value in kind.items()}
    config, out = folder / "config.yaml", folder / "callgrind.out"
    config.write_text(CONFIG.format(**ports, **settings))
    process = subprocess.Popen(
        ["valgrind", "--quiet", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={out}", PROGRAM,
         "--config", config], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=folder)
    try:
        for _ in range(2):
            wait_for(f"http://127.0.0.1:{ports['metrics']}/metrics")
        wait_for(f"http://127.0.0.1:{ports['http']}/v1/traces", b"")
        time.sleep(2)           # so that its ticker has run
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    return executed(out)


def main():
    subprocess.run(["cmake", "--preset", "release", "-B", BUILD, "-DSPANLINK_TEXT_ORDER=OFF"],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", "spanlink"], check=True,
                   stdout=subprocess.DEVNULL)
    found = set()
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            found |= run(kind, pathlib.Path(folder))
    names = sorted(found)
    if len(names) < 100:
        sys.exit(f"only {len(names)} functions found: has {PROGRAM} its symbols?")
    lines = [f"    *(.text.{name} .text.{name}.* .text.startup.{name})" for name in names]
    temporary = ORDER.with_suffix(".new")
    temporary.write_text("\n".join([
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Written by tools/text_order.py: what an idle process executes, side by side. */",
        "SECTIONS", "{", "  .text.idle :", "  {", *members(found), *lines, "  }", "}",
        "INSERT BEFORE .text;", ""]))
    os.replace(temporary, ORDER)
    print(f"{ORDER.relative_to(ROOT)}: {len(names)} functions")


if __name__ == "__main__":
    main()
