"""The ride-sharing service for languages whose SDKs cannot be installed here.

Rides run in real time, but do not compute: where the other applications burn CPU, this one sleeps
and creates the samples that a profiler would have taken. The SDK, an object defined in the
language's folder, determines the requests:

    language, resource        the name; resource attributes of spans, logs and metrics
    otlp_user_agent, otlp_gzip, serialize(request)          OTLP as its exporters send it
    modes, sample_every       what --mode may be; seconds between two samples
    on_start(span, parent), on_end(span, parent)            its span processor: marks the span and
                              sets or removes labels in span.labels, the thread's, shared by all of
                              a ride's spans
    next_upload(started)      when the next upload is due, in seconds since the epoch
    uploads(samples, start, end, last)                      HTTP requests for a window of samples:
                              (path, headers, body)
"""
import argparse
import dataclasses
import http.client
import json
import os
import random
import secrets
import signal
import threading
import time
import urllib.parse
import uuid
from collections import Counter

import otlp

HEAVY_SHARE = 0.25
REMOTE_SHARE = 0.25
EXPORT_EVERY = 2


@dataclasses.dataclass
class Span:
    name: str
    trace_id: bytes
    parent: bytes
    remote_parent: bool
    labels: dict
    span_id: bytes = dataclasses.field(default_factory=lambda: secrets.token_bytes(8))
    start: int = dataclasses.field(default_factory=time.time_ns)
    end: int = 0
    attributes: dict = dataclasses.field(default_factory=dict)
    events: list = dataclasses.field(default_factory=list)

    @property
    def local_root(self):
        return not self.parent or self.remote_parent


@dataclasses.dataclass
class Sample:
    frames: tuple           # (function, file, line), the leaf first
    labels: dict


def parse_arguments(sdk):
    parser = argparse.ArgumentParser()
    parser.add_argument("--service", default=f"rideshare-{sdk.language}")
    parser.add_argument("--mode", choices=sdk.modes, default=sdk.modes[0])
    parser.add_argument("--protocol", choices=["http", "grpc"], default="http")
    parser.add_argument("--otlp", default="http://127.0.0.1:4318", help="http://host:port")
    parser.add_argument("--pyroscope", default="http://127.0.0.1:4040")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--report", default="-", help="file for the JSON report")
    parser.add_argument("--upload-seconds", type=float, default=None)
    return parser.parse_args()


class Profiler:
    """Collects samples and uploads them when the SDK would. Like the SDKs, it never retries."""

    def __init__(self, sdk, url):
        self.sdk, self.url = sdk, urllib.parse.urlsplit(url)
        self.lock, self.samples = threading.Lock(), []
        self.stopping = threading.Event()
        self.window = time.time_ns()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def add(self, sample):
        with self.lock:
            self.samples.append(sample)

    def run(self):
        last = False
        while not last:
            due = self.sdk.next_upload(self.window / 1e9)
            last = self.stopping.wait(max(0, due - time.time()))
            with self.lock:
                samples, self.samples = self.samples, []
                start, self.window = self.window, time.time_ns()
            for path, headers, body in self.sdk.uploads(samples, start, self.window, last):
                self.send(path, headers, body)

    def send(self, path, headers, body):
        client = http.client.HTTPConnection(self.url.netloc, timeout=10)
        try:
            client.putrequest("POST", self.url.path + path, skip_accept_encoding=True)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                client.putheader(name, value)
            client.endheaders(body)
            answer = client.getresponse()
            if answer.status != 200:
                print("upload refused:", answer.status, answer.read(), flush=True)
        except OSError as error:
            print("upload failed:", error, flush=True)
        finally:
            client.close()

    def stop(self):
        self.stopping.set()
        self.thread.join()


class Telemetry:
    """Exports spans, logs and metrics, and records what was acknowledged."""

    def __init__(self, exporter):
        self.exporter, self.start = exporter, time.time_ns()
        self.lock, self.stopping = threading.Lock(), threading.Event()
        self.spans, self.logs, self.rides = [], [], Counter()
        self.exported = {"spans": 0, "logs": 0}
        self.acknowledged, self.metrics_acknowledged = set(), False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        last = False
        while not last:
            last = self.stopping.wait(EXPORT_EVERY)
            self.export_new("spans", otlp.trace_request, lambda span: span.span_id)
            self.export_new("logs", otlp.log_request, lambda record: record[0])
            with self.lock:
                rides = dict(self.rides)
            self.metrics_acknowledged = self.exporter.export(
                otlp.metric_request(self.exporter.resource, self.start, rides))

    def export_new(self, kind, make_request, key):
        with self.lock:
            new = getattr(self, kind)[self.exported[kind]:]
        self.exported[kind] += len(new)
        if new and self.exporter.export(make_request(self.exporter.resource, new)):
            self.acknowledged.update(map(key, new))

    def stop(self):
        self.stopping.set()
        self.thread.join()

    def as_json(self, service, language):
        return {"service": service, "language": language, "spans": [{
            "span_id": span.span_id.hex(), "trace_id": span.trace_id.hex(),
            "parent": span.parent.hex(), "local_root": span.local_root, "name": span.name,
            "start": span.start, "end": span.end,
            "acknowledged": span.span_id in self.acknowledged} for span in self.spans], "logs": [{
                "id": body, "trace_id": span.trace_id.hex(), "span_id": span.span_id.hex(),
                "acknowledged": body in self.acknowledged} for body, _, span in self.logs],
            "metrics": {"rides": self.rides.total(), "acknowledged": self.metrics_acknowledged}}


class Rides:
    """The requests of one worker, served on one thread."""

    def __init__(self, sdk, telemetry, profiler):
        self.sdk, self.telemetry, self.profiler = sdk, telemetry, profiler
        self.labels = {}

    def begin(self, name, parent=None):
        if parent:
            span = Span(name, parent.trace_id, parent.span_id, False, self.labels)
        else:
            remote = random.random() < REMOTE_SHARE
            span = Span(name, secrets.token_bytes(16), secrets.token_bytes(8) if remote else b"",
                        remote, self.labels)
        self.sdk.on_start(span, parent)
        return span

    def finish(self, span, parent=None):
        span.end = time.time_ns()
        self.sdk.on_end(span, parent)
        with self.telemetry.lock:
            self.telemetry.spans.append(span)

    def ride(self, vehicle):
        root = self.begin(f"GET /{vehicle}")
        with self.telemetry.lock:
            self.telemetry.logs.append((f"ride {uuid.uuid4()}", time.time_ns(), root))
            self.telemetry.rides[vehicle] += 1
        child = self.begin("find_nearest_vehicle", root)
        child.attributes["vehicle"] = vehicle
        if random.random() < HEAVY_SHARE:
            self.match_drivers(0.1 + 0.9 * random.random() ** 3)
        else:
            time.sleep(0.02 + 0.1 * random.random())
        self.finish(child, root)
        if vehicle == "car":
            child = self.begin("check_driver_availability", root)
            child.events.append((time.time_ns(), "asked", {"drivers": 3}))
            time.sleep(0.01)
            self.finish(child, root)
        self.finish(root)

    def match_drivers(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(self.sdk.sample_every)
            self.profiler.add(Sample(self.sdk.heavy, dict(self.labels)))

    def run(self, until, stop):
        while time.monotonic() < until and not stop.is_set():
            self.ride(random.choice(["bike", "scooter", "car"]))
            if random.random() < 0.2:       # work outside any ride
                self.profiler.add(Sample(self.sdk.waiting, dict(self.labels)))
            stop.wait(0.05 + 0.15 * random.random())


def main(make_sdk):
    sdk = make_sdk()
    options = parse_arguments(sdk)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    sdk.configure(options)      # sets its mode and its resource
    telemetry = Telemetry(otlp.Exporter(options.protocol, options.otlp, sdk))
    profiler = Profiler(sdk, options.pyroscope)
    until = time.monotonic() + options.seconds
    workers = [threading.Thread(target=Rides(sdk, telemetry, profiler).run, args=(until, stop))
               for _ in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    telemetry.stop()
    profiler.stop()
    text = json.dumps(telemetry.as_json(options.service, sdk.language))
    if options.report == "-":
        print(text)
        return
    with open(options.report + ".part", "w") as out:
        out.write(text)
    os.replace(options.report + ".part", options.report)
