"""One row of the report: an SDK, a mode, a protocol, one or two processes; and its outcome.

A row spends most of its time waiting (for the load, then for the spans that spanlink holds), so
rows run concurrently; only the number of concurrent loads is limited, because each needs CPU.
"""
import concurrent.futures
import dataclasses
import threading
import time
from collections import Counter

import requests

import harness
import record
import wire

LOAD_SECONDS = 16           # two windows of Python's profiler; one truncated window of Go's
SETTLE_SECONDS = 100        # plus two uploads; a held span leaves 75 s or 1.5 windows after its arrival
LOADS = threading.BoundedSemaphore(4)


@dataclasses.dataclass(frozen=True)
class Row:
    """soak: only with --soak. sampled: whether samples have span ids at all."""
    language: str
    mode: str
    protocol: str
    processes: int = 1
    soak: bool = False
    seconds: int = LOAD_SECONDS
    upload: int = 10

    @property
    def name(self):
        return (f"{self.language}-{self.mode}-{self.protocol}-{self.processes}"
                + "-soak" * self.soak)

    @property
    def sampled(self):
        return self.mode != "plain"


# Go first: its spans wait longest.
ROWS = [row for row in [
    Row("go", "processor", "grpc", upload=15), Row("go", "handmade", "http", upload=15),
    Row("java", "processor", "http", seconds=20), Row("node", "handmade", "grpc"),
    Row("node", "plain", "http"), Row("dotnet", "processor", "http"),
    Row("ruby", "processor", "http"), Row("rust", "handmade", "grpc"),
    Row("python", "processor", "http"), Row("python", "handmade", "grpc", 2),
    Row("go", "processor", "http", 2, soak=True, seconds=60, upload=15),
    Row("go", "handmade", "grpc", soak=True, seconds=60, upload=15),
    Row("python", "processor", "grpc", 2, soak=True, seconds=60),
    Row("python", "handmade", "http", 2, soak=True, seconds=60),
    Row("python", "plain", "http", soak=True), Row("go", "plain", "grpc", soak=True, upload=15),
    Row("java", "processor", "grpc", soak=True, seconds=60),
    Row("java", "processor", "http", 2, soak=True, seconds=60),
    Row("node", "handmade", "http", soak=True, seconds=150, upload=60),
    Row("node", "plain", "grpc", soak=True, seconds=90, upload=60),
    Row("node", "handmade", "http", 2, soak=True, seconds=60),
    Row("dotnet", "processor", "grpc", soak=True, seconds=60),
    Row("dotnet", "handmade", "http", soak=True),
    Row("ruby", "handmade", "grpc", soak=True),
    Row("ruby", "processor", "http", 2, soak=True, seconds=60),
    Row("rust", "handmade", "http", 2, soak=True, seconds=60),
] if (harness.APPS / row.language / "run").exists()]


class Outcome:
    """What a service sent and what the backends received."""

    def __init__(self, service, reports, exchanges, backends, since):
        self.service = service
        self.sent = [span for report in reports for span in report["spans"]]
        self.acknowledged = acknowledged(self.sent, "span_id")
        self.received = backends.traces.spans(service, [s["trace_id"] for s in self.sent])
        self.copies = Counter(span.span_id for span in self.received)
        self.linked = [span for span in self.received if span.profile_ids]
        self.sent_logs = [log for report in reports for log in report["logs"]]
        self.logs = backends.others.items("logs", service)
        self.log_copies = Counter(log.body for log in self.logs)
        self.metrics = [report["metrics"] for report in reports]
        self.points = backends.others.items("metrics", service)
        self.sums, spans = Counter(), {}
        self.refused = [(e.path.partition("?")[0], e.status) for e in exchanges
                        if e.status != 200]
        for exchange in exchanges:
            for profile in wire.profiles(exchange) if exchange.status == 200 else ():
                self.sums.update(profile.sums)
                for span, values in profile.spans.items():
                    spans.setdefault(span, Counter()).update(values)
        # The profile that a link opens: CPU, or wall time if a service sends no CPU.
        self.kind = harness.CPU if tail(harness.CPU) in self.sums else harness.WALL
        self.sampled = {span for span, values in spans.items() if values[tail(self.kind)] > 0}
        self.totals = {k: v for k, v in backends.profiles.totals(service, since).items() if v}
        self.complaints = backends.profiles.complaints(service)
        self.empty = self.spans_without_flame_graph(backends.profiles)

    def spans_without_flame_graph(self, profiles):
        """Linked spans with an empty flame graph in Grafana."""
        links = [(span, profile) for span in self.linked for profile in span.profile_ids]
        with requests.Session() as session, concurrent.futures.ThreadPoolExecutor(4) as pool:
            levels = pool.map(lambda link: profiles.span_frames(
                self.service, link[1], link[0].start, link[0].end, session, self.kind), links)
            return [span.span_id for (span, _), n in zip(links, levels) if n <= 1]

    @property
    def unlinked(self):
        """Spans with samples but without a link."""
        linked = {span.span_id for span in self.linked}
        return [i for i in self.copies if i in self.sampled and i not in linked]

    @property
    def sent_sums(self):
        return {kind: value for kind, value in self.sums.items() if value}

    @property
    def precision(self):
        return 1 - len(self.empty) / len(self.linked) if self.linked else None

    @property
    def recall(self):
        sampled = [i for i in self.copies if i in self.sampled]
        return 1 - len(self.unlinked) / len(sampled) if sampled else None


    @property
    def points_twice(self):
        copies = Counter((point.stream, point.at) for point in self.points)
        return {i: n for i, n in copies.items() if n != 1}

    @property
    def rides(self):
        """The final total of the counter, summed over all streams."""
        last = {}
        for point in self.points:
            if point.metric == "rides":
                known = last.get(point.stream)
                if known is None or point.at > known.at:
                    last[point.stream] = point
        return sum(point.value for point in last.values())


def tail(kind):
    """A profile type without the name of its series."""
    return kind.partition(":")[2]


def service_of(row):
    return f"rideshare-{row.name}"


def acknowledged(items, key):
    return {item[key] for item in items if item["acknowledged"]}


def wait_for_otlp(backends, service, reports, seconds):
    """Waits until all acknowledged spans and log records, and at least one data point, have
    arrived."""
    sent = [span for report in reports for span in report["spans"]]
    traces = [span["trace_id"] for span in sent]
    spans = acknowledged(sent, "span_id")
    logs = acknowledged([log for report in reports for log in report["logs"]], "id")
    points = any(report["metrics"]["acknowledged"] for report in reports)
    until = time.monotonic() + seconds

    def left():
        return until - time.monotonic()
    harness.wait_for(lambda: logs <= {log.body for log in backends.others.items("logs", service)},
                     left(), 0.5)
    if points:
        harness.wait_for(lambda: backends.others.items("metrics", service), left(), 0.5)
    harness.wait_for(
        lambda: spans <= {s.span_id for s in backends.traces.spans(service, traces)}, left(), 0.5)


def wait_for_profiles(profiles, service, exchanges, since, seconds):
    """Waits until the backend has all acknowledged samples."""
    def arrived():
        sums = Counter()
        for exchange in exchanges:
            for profile in wire.profiles(exchange) if exchange.status == 200 else ():
                sums.update(profile.sums)
        have = profiles.totals(service, since)
        return all(have.get(kind, 0) >= value for kind, value in sums.items())
    harness.wait_for(arrived, seconds, 0.5)


def run(row, folder, backends, bypass=False):
    """Runs one row. With bypass, the SDKs send to the backends directly."""
    since = time.time()
    spanlink = None
    with LOADS:
        if not bypass:
            spanlink = harness.Spanlink(folder, backends, row.protocol)
        tee = record.Proxy(backends.profiles.url if bypass else spanlink.pyroscope)
        otlp = (f"http://127.0.0.1:{getattr(backends.traces, row.protocol)}" if bypass
                else spanlink.otlp(row.protocol))
        apps = []
        try:
            apps += [harness.App(folder, number, row.language, otlp, tee.url,
                                 service=service_of(row), mode=row.mode, protocol=row.protocol,
                                 seconds=row.seconds, upload_seconds=row.upload)
                     for number in range(row.processes)]
            reports = [app.report(row.seconds + 150) for app in apps]
        except BaseException:
            for program in apps + [spanlink] * (not bypass):
                program.kill()
            raise
    try:
        wait_for_otlp(backends, service_of(row), reports, SETTLE_SECONDS + 2 * row.upload)
        wait_for_profiles(backends.profiles, service_of(row), tee.exchanges, since, 20)
        code = 0 if bypass else spanlink.stop()
    finally:
        tee.close()
        if spanlink:
            spanlink.kill()
    time.sleep(0.5)         # a duplicate would arrive now
    outcome = Outcome(service_of(row), reports, tee.exchanges, backends, since)
    outcome.row, outcome.exit_code = row, code
    outcome.log = spanlink.tail() if spanlink else ""
    return outcome
