"""One row of the report: an SDK, a mode, a protocol, one process or two; and what came of it.

A row is mostly waiting (for the load, then for the spans that spanlink holds back), so rows run
side by side; only their loads share a few places, since each of them wants CPU.
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

LOAD_SECONDS = 16           # two windows of Python's profiler; one of Go's, cut short
SETTLE_SECONDS = 100        # a held span leaves 45 s after its end at the latest
LOADS = threading.BoundedSemaphore(4)


@dataclasses.dataclass(frozen=True)
class Row:
    language: str
    mode: str
    protocol: str
    processes: int = 1

    @property
    def name(self):
        return f"{self.language}-{self.mode}-{self.protocol}-{self.processes}"


# Go first: its spans wait longest.
ROWS = [
    Row("go", "processor", "grpc"), Row("go", "handmade", "http"),
    Row("go", "processor", "http", 2), Row("go", "handmade", "grpc"),
    Row("python", "processor", "http"), Row("python", "handmade", "grpc"),
    Row("python", "processor", "grpc", 2), Row("python", "handmade", "http", 2),
    Row("python", "processor", "grpc"), Row("python", "handmade", "http"),
]


class Outcome:
    """What a service sent and what the backends have of it."""

    def __init__(self, service, sent, exchanges, traces, profiles, since):
        self.service, self.sent = service, sent
        self.acknowledged = {s["span_id"] for s in sent if s["acknowledged"]}
        self.received = traces.spans(self.service, [s["trace_id"] for s in sent])
        self.copies = Counter(span.span_id for span in self.received)
        self.linked = [span for span in self.received if span.profile_ids]
        self.sums, self.sampled = Counter(), set()
        self.refused = [(e.path.partition("?")[0], e.status) for e in exchanges
                        if e.status != 200]
        for exchange in exchanges:
            for profile in wire.profiles(exchange) if exchange.status == 200 else ():
                self.sums.update(profile.sums)
                self.sampled |= {span for span, values in profile.spans.items()
                                 if values.get("cpu:nanoseconds:cpu:nanoseconds", 0) > 0}
        self.totals = {k: v for k, v in profiles.totals(self.service, since).items() if v}
        self.complaints = profiles.complaints(self.service)
        self.empty = self.spans_without_flame_graph(profiles)

    def spans_without_flame_graph(self, profiles):
        """Linked spans for which Grafana would show nothing."""
        links = [(span, profile) for span in self.linked for profile in span.profile_ids]
        with requests.Session() as session, concurrent.futures.ThreadPoolExecutor(4) as pool:
            levels = pool.map(lambda link: profiles.span_frames(
                self.service, link[1], link[0].start, link[0].end, session), links)
            return [span.span_id for (span, _), n in zip(links, levels) if n <= 1]

    @property
    def unlinked(self):
        """Spans that have samples and no link."""
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


def service_of(row):
    return f"rideshare-{row.name}"


def wait_for_spans(traces, service, sent, seconds):
    """Until every acknowledged span has arrived."""
    acknowledged = {s["span_id"] for s in sent if s["acknowledged"]}
    ids = [s["trace_id"] for s in sent]
    harness.wait_for(lambda: acknowledged <= {s.span_id for s in traces.spans(service, ids)},
                     seconds, 0.5)


def wait_for_profiles(profiles, service, exchanges, since, seconds):
    """Until the backend has all the samples that were acknowledged."""
    def arrived():
        sums = Counter()
        for exchange in exchanges:
            for profile in wire.profiles(exchange) if exchange.status == 200 else ():
                sums.update(profile.sums)
        have = profiles.totals(service, since)
        return all(have.get(kind, 0) >= value for kind, value in sums.items())
    harness.wait_for(arrived, seconds, 0.5)


def run(row, folder, traces, profiles, bypass=False):
    """One row from start to end. With bypass the SDKs talk to the backends directly."""
    since = time.time()
    spanlink = None
    with LOADS:
        if not bypass:
            spanlink = harness.Spanlink(folder, traces, profiles, row.protocol)
        tee = record.Proxy(profiles.url if bypass else spanlink.pyroscope)
        otlp = (f"http://127.0.0.1:{getattr(traces, row.protocol)}" if bypass
                else spanlink.otlp(row.protocol))
        apps = []
        try:
            apps += [harness.App(folder, number, row.language, otlp, tee.url,
                                 service=service_of(row), mode=row.mode, protocol=row.protocol,
                                 seconds=LOAD_SECONDS) for number in range(row.processes)]
            sent = [span for app in apps for span in app.report(LOAD_SECONDS + 60)]
        except BaseException:
            for program in apps + [spanlink] * (not bypass):
                program.kill()
            raise
    try:
        wait_for_spans(traces, service_of(row), sent, SETTLE_SECONDS)
        wait_for_profiles(profiles, service_of(row), tee.exchanges, since, 20)
        code = 0 if bypass else spanlink.stop()
    finally:
        tee.close()
        if spanlink:
            spanlink.kill()
    time.sleep(0.5)         # a copy too many would come now
    outcome = Outcome(service_of(row), sent, tee.exchanges, traces, profiles, since)
    outcome.row, outcome.exit_code = row, code
    outcome.log = spanlink.tail() if spanlink else ""
    return outcome
