"""Starts sinks and loads, and reads a subject's CPU and memory from /proc."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")
DRAIN_SECONDS = 90
HTTP_PATH = "/v1/traces"
GRPC_PATH = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


class Void(Exception):
    """An invalid measurement, with the reason."""


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def pinned(core):
    return lambda: os.sched_setaffinity(0, {core})


def free(pid):
    """Lets all threads of a process run on every core."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), range(os.cpu_count()))


def tasks(pid):
    """The threads of a process and of its children."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        yield task
        for child in (task / "children").read_text().split():
            yield from tasks(int(child))


def cpu_seconds(pid):
    """The run time of its threads according to the scheduler, in nanoseconds. Threads that have
    ended are missing, so the result is the larger of this and the process's own sum."""
    total = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks(pid)) / 1e9
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return max(total, (int(fields[11]) + int(fields[12])) / TICK)


def status(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    raise KeyError(key)


def rss_mib(pid):
    return status(pid, "VmRSS") / 1024


def peak_mib(pid):
    return status(pid, "VmHWM") / 1024


def forget_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def wait_for_port(port, process=None, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process and process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.005)
    raise Void(f"nothing listens on port {port}")


class Sink:
    def __init__(self, program, core, grpc=False, stall=False):
        flags = ["--grpc"] * grpc + ["--stall"] * stall
        self.process = subprocess.Popen([program, *flags], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, preexec_fn=pinned(core))
        self.port = int(self.process.stdout.readline())

    def counts(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def difference(after, before):
    return {key: after[key] - before[key] for key in after}


class Load:
    """Settings shared by all loads of a run."""

    def __init__(self, program, core):
        self.program, self.core = program, core

    def start(self, subject, pool, **options):
        """options: seconds, requests, rate, clients, streams."""
        port = subject.grpc_port if subject.grpc else subject.http_port
        path = GRPC_PATH if subject.grpc else HTTP_PATH
        argv = [self.program, "--port", str(port), "--path", path, "--pool", str(pool.path)]
        argv += ["--grpc"] * subject.grpc + ["--gzip"] * subject.gzip + ["--type", pool.type]
        for key, value in options.items():
            argv += [f"--{key}", str(value)]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                preexec_fn=pinned(self.core))

    def run(self, subject, pool, **options):
        process = self.start(subject, pool, **options)
        out = process.communicate()[0]
        if process.returncode:
            raise Void(f"the load on {subject.name} ended with {process.returncode}: {out.strip()}")
        return json.loads(out)


def drain(sink, before, sent, seconds=DRAIN_SECONDS):
    """Waits until the sink has as many spans as were accepted. Returns its counts."""
    end = time.monotonic() + seconds
    while True:
        got = difference(sink.counts(), before)
        if got["items"] >= sent["items"] or time.monotonic() > end:
            return got
        time.sleep(0.02)


def check(name, got, sent):
    mask = (1 << 64) - 1
    if got["items"] != sent["items"] or (got["id_sum"] - sent["id_sum"]) & mask or got["broken"]:
        raise Void(f"{name}: {sent['items']} spans were accepted, {got['items']} arrived, "
                   f"{got['broken']} bodies broken")


def measure(load, subject, pool, **options):
    """One round: CPU per span including the drain, response latency, bytes out. load: an object
    whose run method returns what was accepted."""
    before, cpu = subject.sink.counts(), cpu_seconds(subject.pid)
    sent = load.run(subject, pool, **options)
    got = drain(subject.sink, before, sent)
    spent = cpu_seconds(subject.pid) - cpu
    check(subject.name, got, sent)
    return {"us_per_span": spent * 1e6 / sent["items"], "p50_us": sent["p50_us"],
            "p99_us": sent["p99_us"], "spans_per_s": sent["items"] / sent["seconds"],
            "busy": spent / sent["seconds"], "bytes_out": got["bytes"] / sent["items"],
            "items": sent["items"]}


def stop(process, seconds=20):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
