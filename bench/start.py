#!/usr/bin/env python3
"""Process start, idle memory, idle wakeups and size of spanlink beside its peers.

    bench/start.py --spanlink build/release/spanlink [--collector FILE] [--rotel FILE] [--starts N]

Every subject receives OTLP over HTTP and gRPC and exports it over HTTP to a sink in this process.
All are started in turn, so that disturbances of the machine affect all of them. Prints a JSON line
for each figure, then one for each ratio of a peer to spanlink.
"""
import argparse
import contextlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

STEP_S = 0.0001             # between two attempts to connect
PATIENCE_S = 20
REST_S = 3                  # for timers of the first second, and for garbage collectors
QUIET_S = 12                # until idle connections are no longer checked


# ---- requests ----

def field(number, data):
    """A length-delimited field of protobuf; data below 128 bytes."""
    return bytes([number << 3 | 2, len(data)]) + data


# One resource, one scope, one span with an id, a name and two times.
SPAN = field(1, bytes(range(1, 17))) + field(2, bytes(range(1, 9))) + field(5, b"start") \
    + b"\x39" + (10**18).to_bytes(8, "little") + b"\x41" + (10**18 + 10**6).to_bytes(8, "little")
TRACES = field(1, field(2, field(2, SPAN)))


def post(port, body, timeout):
    """The status of the response; raises OSError if there is none."""
    with socket.socket() as connection:
        connection.connect(("127.0.0.1", port))     # on loopback it never waits
        connection.settimeout(timeout)
        connection.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                           b"Content-Type: application/x-protobuf\r\n"
                           b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
        answer = connection.recv(4096)
    words = answer.split(b" ", 2)
    if len(words) < 2:
        raise ConnectionError("closed without an answer")
    return int(words[1])


class Sink:
    """Answers 200 to every POST and counts them."""

    def __init__(self):
        self.arrived = threading.Semaphore(0)
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                sink.arrived.release()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


# ---- the figures ----

def spawn(argv):
    """Uses posix_spawn instead of subprocess, so that none of this process's work is measured."""
    quiet = [(os.POSIX_SPAWN_OPEN, n, "/dev/null", os.O_RDWR, 0) for n in (0, 1, 2)]
    return os.posix_spawn(argv[0], argv, dict(os.environ), file_actions=quiet)


def end(pid):
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE_S
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def started(argv, port):
    """Starts argv and returns its pid and the seconds from exec to its first 200."""
    begin = time.perf_counter()
    pid = spawn(argv)
    while True:
        try:
            if post(port, b"", PATIENCE_S) == 200:
                return pid, time.perf_counter() - begin
        except OSError:
            pass
        if time.perf_counter() - begin > PATIENCE_S:
            end(pid)
            raise TimeoutError(f"{argv[0]} did not answer")
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            raise ChildProcessError(f"{argv[0]} ended at its start")
        time.sleep(STEP_S)


def first_answer(argv, port):
    """Seconds from exec to the first 200 for an empty OTLP request."""
    pid, seconds = started(argv, port)
    end(pid)
    return seconds


def idle(pid):
    """Memory of an idle process, in bytes."""
    sums = {"Rss": 0, "Private_Dirty": 0}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in sums:
            sums[name] = int(rest.split()[0]) * 1024
    return {"rss": sums["Rss"], "private_dirty": sums["Private_Dirty"]}


def switches(pid):
    """For every live thread, how often it has waited."""
    found = {}
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = status.read_text()
            found[status.parent.name] = int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return found


def wakeups(pid, seconds):
    """Wakeups per second of all threads."""
    before, begin = switches(pid), time.monotonic()
    time.sleep(seconds)
    after, took = switches(pid), time.monotonic() - begin
    return sum(count - before.get(thread, 0) for thread, count in after.items()) / took


def stripped_size(path):
    """Bytes of the executable without symbols and debug information."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "stripped"
        subprocess.run(["strip", "-o", copy, path], check=True)
        return copy.stat().st_size


# ---- the subjects ----

CONFIG = """
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: "127.0.0.1:{grpc}"}}
      http: {{endpoint: "127.0.0.1:{http}"}}
processors:
  memory_limiter: {{check_interval: 1s, limit_mib: 512}}
  batch: {{timeout: 200ms}}
exporters:
  otlphttp: {{endpoint: "http://127.0.0.1:{sink}", compression: none}}
service:
  telemetry: {telemetry}
  pipelines:
    traces: {{receivers: [otlp], processors: [memory_limiter, batch], exporters: [otlphttp]}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Subject:
    """A program, and how to start it with its own ports."""

    def __init__(self, name, program, folder, sink):
        self.name, self.program, self.sink = name, str(pathlib.Path(program).resolve()), sink
        self.grpc, self.http = free_port(), free_port()
        self.config = folder / f"{name}.yaml"
        if name != "rotel":
            self.config.write_text(CONFIG.format(
                grpc=self.grpc, http=self.http, sink=sink.port,
                telemetry="{metrics: {level: none}}" if name == "collector" else "{}"))

    def argv(self):
        if self.name != "rotel":
            return [self.program, "--config", str(self.config)]
        return [self.program, "start", "--exporter", "otlp",
                "--otlp-grpc-endpoint", f"127.0.0.1:{self.grpc}",
                "--otlp-http-endpoint", f"127.0.0.1:{self.http}",
                "--otlp-exporter-protocol", "http",
                "--otlp-exporter-endpoint", f"http://127.0.0.1:{self.sink.port}"]


def at_rest(subject, seconds):
    """Figures of a process after an empty request, and again after a span has reached the sink,
    when everything needed for exporting has been loaded and allocated."""
    figures = {}
    pid, _ = started(subject.argv(), subject.http)
    try:
        time.sleep(REST_S)
        figures["fresh"] = idle(pid)
        if post(subject.http, TRACES, PATIENCE_S) != 200 \
                or not subject.sink.arrived.acquire(timeout=PATIENCE_S):
            raise ValueError(f"{subject.name} did not deliver a span")
        time.sleep(REST_S)
        figures["exported"] = idle(pid)
        time.sleep(QUIET_S - REST_S)
        figures["exported"]["wakeups"] = wakeups(pid, seconds)
    finally:
        end(pid)
    return figures


# ---- the report ----

UNITS = {"first_answer": "s", "rss": "B", "private_dirty": "B", "wakeups": "1/s",
         "stripped_size": "B"}


def measure(subjects, starts, rests, seconds):
    """{(figure, case): {subject: [values in the order of rounds]}}"""
    found = {}

    def note(figure, case, subject, value):
        found.setdefault((figure, case), {}).setdefault(subject.name, []).append(value)

    for subject in subjects:
        note("stripped_size", "", subject, stripped_size(subject.program))
        first_answer(subject.argv(), subject.http)      # so that its pages are in the cache
    for _ in range(starts):
        for subject in subjects:
            note("first_answer", "", subject, first_answer(subject.argv(), subject.http))
    for _ in range(rests):
        for subject in subjects:
            for case, figures in at_rest(subject, seconds).items():
                for figure, value in figures.items():
                    note(figure, case, subject, value)
    return found


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def report(found):
    for (figure, case), by_subject in found.items():
        for name, values in by_subject.items():
            print(json.dumps({"figure": figure, "case": case, "subject": name,
                              "value": spread(values)["median"], "unit": UNITS[figure],
                              **spread(values), "rounds": len(values)}))
    for (figure, case), by_subject in found.items():
        ours = by_subject["spanlink"]
        for name, theirs in by_subject.items():
            if name == "spanlink" or not all(ours):
                continue
            ratios = spread([their / our for their, our in zip(theirs, ours)])
            print(json.dumps({"figure": figure, "case": case, "subject": f"{name}/spanlink",
                              "value": ratios["median"], "unit": "ratio", **ratios,
                              "rounds": len(ours)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spanlink", required=True)
    parser.add_argument("--collector", help="an OpenTelemetry Collector with otlp and otlphttp")
    parser.add_argument("--rotel", help="rotel-agent")
    parser.add_argument("--starts", type=int, default=21)
    parser.add_argument("--rests", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10, help="for counting wakeups")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    os.sync()       # pages of a program just built are dirty until they are on the disk
    try:
        sink = Sink()
        subjects = [Subject(name, program, folder, sink) for name, program in
                    (("spanlink", args.spanlink), ("collector", args.collector),
                     ("rotel", args.rotel)) if program]
        report(measure(subjects, args.starts, args.rests, args.seconds))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
