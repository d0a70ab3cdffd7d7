"""The real behaviour of each profiling SDK, quirks included, run concurrently against one spanlink.

Every story is a separate service: spans that its SDK marked at their start, the uploads before and
after them, and the spans that must be linked in the end. Windows are as the SDK would report them,
but shorter than in practice if their length does not matter. Only the clock determines when
spanlink releases a span without samples, so a story waits whenever its SDK would.
"""
import concurrent.futures
import secrets
import time
import urllib.parse
from collections import Counter

import requests

import harness
import uploads
import wire
from uploads import Pprof

S = 10**9
MS = 10**6
SETTLE_SECONDS = 100
HOLD_SECONDS = 75           # longer than any story, so that spans without samples leave by rule 2
WALL = "wall:wall:nanoseconds:wall:nanoseconds"
CPU_TYPES = [("cpu", "nanoseconds")]
GO_CPU_TYPES = [("samples", "count"), ("cpu", "nanoseconds")]


class Spanlink(harness.Spanlink):
    CONFIG = harness.Spanlink.CONFIG.replace("correlation: {{}}",
                                             f"correlation: {{{{hold: {HOLD_SECONDS}s}}}}")
    assert CONFIG != harness.Spanlink.CONFIG


class Story:
    """One service, as seen by spanlink's clients and backends."""

    def __init__(self, service, spanlink):
        self.service, self.spanlink, self.since = service, spanlink, time.time()
        self.traces = []
        self.expected = {}      # span id -> the profile id that it must carry; None: none
        self.sums = Counter()   # of all values sent, by the end of the profile's type
        self.profile_type = harness.CPU
        self.http = requests.Session()

    def span(self, linked, profile_id=None, start=None, lasted=MS, marked=True):
        """Sends a local root that has just ended. Returns its trace and span id."""
        trace_id, span_id = secrets.token_hex(16), secrets.token_hex(8)
        start = start or time.time_ns() - lasted
        self.expected[span_id] = (profile_id or span_id) if linked else None
        self.traces.append(trace_id)
        self.post(self.spanlink.otlp("http") + "/v1/traces", uploads.trace_request(
            self.service, [(trace_id, span_id, start, start + lasted, marked)]),
            {"Content-Type": "application/x-protobuf"})
        return trace_id, span_id

    def post(self, url, body, headers):
        answer = self.http.post(url, data=body, headers=headers, timeout=30)
        assert answer.status_code == 200, f"{self.service}: {answer.status_code} {answer.text}"

    def upload(self, path, raw, body, headers):
        self.post(self.spanlink.pyroscope + path, body, headers)
        self.sums.update(wire.Profile(raw).sums)

    def push(self, kind, raw):
        """pyroscope-io: the whole request is gzip."""
        request = uploads.push_request({
            "__name__": kind, "service_name": self.service,
            "otel.scope.name": "com.grafana.pyroscope/python", "otel.scope.version": "1.4.0",
            "process.runtime.name": "python", "process.runtime.version": "3.11.7"}, raw)
        self.upload(uploads.PUSH, raw, uploads.zipped(request), {
            "Content-Type": "application/proto", "Content-Encoding": "gzip",
            "User-Agent": "pyroscope-rs/pyspy/1.4.0 reqwest"})

    def ingest_ruby(self, profile, begin):
        """Gem 0.6.7, the last one that pyroscope-otel works with: no labels in the name."""
        raw = profile.encode(begin, 10 * S)
        self.ingest(raw, uploads.zipped(raw),
                    {"Content-Type": "binary/octet-stream", "Content-Encoding": "gzip"}, None,
                    **{"from": begin // S}, until=begin // S + 10, format="pprof", sampleRate=100,
                    spyName="rbspy")

    def push_dotnet(self, kind, raw):
        """One uncompressed request for each type of profile; spy_name is spelled as by the SDK."""
        request = uploads.push_request({
            "__name__": kind, "service_name": self.service, "spy_name": "dotnetspy",
            "otel.scope.name": "com.grafana.pyroscope/dotnet", "otel.scope.version": "1.4.0",
            "process.runtime.name": ".NET", "process.runtime.version": "10.0.0"}, raw)
        self.upload(uploads.PUSH, raw, request, {
            "Content-Type": "application/proto",
            "User-Agent": "pyroscope-dotnet/1.4.0 cpp-httplib"})

    def ingest(self, raw, body, headers, labels, **query):
        """labels: None if the name has no label list."""
        query["name"] = self.service
        if labels is not None:
            query["name"] += "{" + ",".join(f"{k}={v}" for k, v in labels) + "}"
        self.upload("/ingest?" + urllib.parse.urlencode(sorted(query.items())), raw, body, headers)

    def ingest_go(self, raw, begin, end, config=None, package="go"):
        """from and until in nanoseconds, a form, no format; aggregationType and units are present,
        but empty unless it is a CPU profile."""
        parts = {"profile": uploads.zipped(raw)}
        if config:
            parts["sample_type_config"] = config
        body, content_type = uploads.form(**parts)
        labels = {"__session_id__": "77e425ea48b3919f",
                  "otel.scope.name": f"com.grafana.pyroscope/{package}",
                  "otel.scope.version": "v1.4.3", "process.runtime.name": "go",
                  "process.runtime.version": "go1.26.8"}
        self.ingest(raw, body, {"Content-Type": content_type, "User-Agent": "Go-http-client/1.1"},
                    labels.items(), **{"from": begin}, until=end, spyName="gospy", sampleRate=100,
                    aggregationType="" if config else "sum", units="" if config else "samples")

    def ingest_node(self, raw, begin, end, **query):
        """The pprof as the body; from and until in seconds, rounded down."""
        self.ingest(raw, uploads.zipped(raw),
                    {"Content-Type": "application/octet-stream", "User-Agent": "node"},
                    [("otel.scope.name", "com.grafana.pyroscope/nodejs")], **{"from": begin // S},
                    until=end // S, format="pprof", spyName="nodespy", **query)


# The stories. Each does its own waiting; its last upload shows spanlink that nothing more will
# arrive.

def python(story):
    """span_name stays on the thread after the span is renamed: samples outside any span carry it,
    and samples of later spans carry the name of an earlier one. It confirms nothing."""
    now = time.time_ns()
    for end in (now - 2 * S, now):
        story.push("process_cpu", Pprof(CPU_TYPES).sample([10 * MS]).encode(end - 2 * S, 2 * S))
    trace, busy = story.span(linked=True)
    story.span(linked=False)
    raw = Pprof(CPU_TYPES)
    raw.sample([20 * MS], span_id=busy, span_name="GET /order", trace_id=trace)
    raw.sample([10 * MS], ("poll", "work"), span_id=busy, span_name="GET /old", trace_id=trace)
    raw.sample([30 * MS], ("idle", "main"), span_name="GET /old")
    story.push("process_cpu", raw.encode(now, 2 * S))
    story.push("memory", Pprof([("alloc_objects", "count"), ("alloc_space", "bytes"),
                                ("inuse_objects", "count"), ("inuse_space", "bytes")])
               .sample([5, 500, 1, 100]).encode(now, 2 * S))


def prefork(story):
    """Two workers of one service, with identical labels and overlapping windows. The first upload
    does not mean that a span of the other worker had no samples."""
    now = time.time_ns()
    for end in (now - 15 * S, now - 10 * S, now - 5 * S, now):
        story.push("process_cpu", Pprof(CPU_TYPES).sample([10 * MS]).encode(end - 10 * S, 10 * S))
    _, busy = story.span(linked=True)
    story.span(linked=False)
    story.push("process_cpu", Pprof(CPU_TYPES).sample([30 * MS]).encode(now, 10 * S))
    time.sleep(1.5)
    story.push("process_cpu",
               Pprof(CPU_TYPES).sample([10 * MS], span_id=busy).encode(now - 5 * S, 10 * S))


def ruby(story):
    """The labels are profile_id and span. Windows are aligned to 10 s: the last one of a process
    ends in the future."""
    now = time.time_ns()
    aligned = now // (10 * S) * 10 * S
    for begin in (aligned - 20 * S, aligned - 10 * S):
        story.ingest_ruby(Pprof(CPU_TYPES).sample([10 * MS]), begin)
    _, busy = story.span(linked=True)
    story.span(linked=False)
    story.ingest_ruby(Pprof(CPU_TYPES).sample([20 * MS], profile_id=busy, span="GET /order"),
                      aligned)


def dotnet(story):
    """Pyroscope.OpenTelemetry up to 0.5.0 passes the id in a different byte order than profilers
    since 1.3.0 print it."""
    now = time.time_ns()
    for end in (now - 2 * S, now):
        story.push_dotnet("process_cpu",
                          Pprof(CPU_TYPES, ("cpu", "nanoseconds", 1)).sample([9 * MS])
                          .encode(end - 2 * S, 2 * S))
    trace, straight = story.span(linked=True)
    _, reversed_ = story.span(linked=True)
    story.span(linked=False)
    printed = bytes.fromhex(reversed_)[::-1].hex()
    story.expected[reversed_] = printed
    raw = Pprof(CPU_TYPES, ("cpu", "nanoseconds", 1))
    raw.sample([9 * MS], span_id=straight, trace_id=trace)
    raw.sample([18 * MS], span_id=printed, trace_id=trace)
    story.push_dotnet("process_cpu", raw.encode(now, 2 * S))
    story.push_dotnet("wall", Pprof([("wall", "nanoseconds")], ("cpu", "nanoseconds", 1))
                      .sample([2 * S]).encode(now, 2 * S))
    story.push_dotnet("exception", Pprof([("exception", "count")], ("cpu", "nanoseconds", 1))
                      .sample([1]).encode(now, 2 * S))


def dotnet_other_kinds(story):
    """Samples of wall time and exceptions do not confirm a span if CPU time is sent, because the
    link opens CPU."""
    now = time.time_ns()
    for end in (now - 2 * S, now):
        story.push_dotnet("process_cpu",
                          Pprof(CPU_TYPES, ("cpu", "nanoseconds", 1)).sample([9 * MS])
                          .encode(end - 2 * S, 2 * S))
    trace, waiting = story.span(linked=False)
    for kind, unit, value in (("wall", "nanoseconds", 2 * S), ("exception", "count", 1)):
        story.push_dotnet(kind, Pprof([(kind, unit)], ("cpu", "nanoseconds", 1))
                          .sample([value], span_id=waiting, trace_id=trace).encode(now, 2 * S))
    story.push_dotnet("process_cpu", Pprof(CPU_TYPES, ("cpu", "nanoseconds", 1)).sample([9 * MS])
                      .encode(now, 2 * S))


def node(story):
    """time_nanos is the end of the window, until is rounded down to a second, sampleRate is wrong
    and there are only wall profiles. An upload that, by time and duration, ends after a span does
    not cover it."""
    story.profile_type = WALL

    def wall(*spans):
        raw = Pprof([("samples", "count"), ("wall", "nanoseconds")],
                    ("wall", "nanoseconds", 10_979_000)).sample([1, 10_979_000])
        for span in spans:
            raw.sample([2, 2 * 10_979_000], span_id=span)
        return raw

    now = time.time_ns()
    story.ingest_node(wall().encode(now - 4 * S, 4 * S), now - 8 * S, now - 4 * S, sampleRate=17)
    _, busy = story.span(linked=True)
    story.span(linked=False)
    story.ingest_node(wall().encode(now, 4 * S), now - 4 * S, now, sampleRate=17)
    heap = Pprof([("inuse_objects", "count"), ("inuse_space", "bytes")],
                 ("space", "bytes", 524288)).sample([1, 1000])
    story.ingest_node(heap.encode(time.time_ns(), 0), now - 4 * S, time.time_ns())
    time.sleep(7.5)
    end = time.time_ns()
    story.ingest_node(wall(busy).encode(end, end - now), now, end, sampleRate=17)


def go(story):
    """CPU windows take 30 s; heap and goroutine profiles of the same period arrive first. Goroutine
    profiles carry the labels of sleeping goroutines."""
    def cpu(*spans):
        raw = Pprof(GO_CPU_TYPES).sample([1, 10 * MS])
        for trace, span in spans:
            raw.sample([2, 20 * MS], span_id=span, span_name="GET /order", trace_id=trace)
        return raw

    now = time.time_ns()
    for end in (now - 30 * S, now):
        story.ingest_go(cpu().encode(end - 30 * S, 30 * S), end - 30 * S, end)
    busy, asleep = story.span(linked=True), story.span(linked=False)
    story.span(linked=False)
    time.sleep(0.2)
    moment = time.time_ns()
    heap = Pprof([("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                  ("inuse_space", "bytes")], ("space", "bytes", 524288))
    story.ingest_go(heap.sample([3, 300, 1, 100], bytes=100).encode(moment, 0),
                    now // (15 * S) * 15 * S, moment, HEAP_CONFIG, "godeltaprof")
    goroutines = Pprof([("goroutine", "count")], ("goroutine", "count", 1)).sample([5])
    goroutines.sample([1], ("park", "serve"), span_id=asleep[1], span_name="GET /order",
                      trace_id=asleep[0])
    story.ingest_go(goroutines.encode(moment, 0), now // (15 * S) * 15 * S, moment,
                    GOROUTINE_CONFIG)
    time.sleep(max(0.0, (now + 40 * S - time.time_ns()) / S))
    story.ingest_go(cpu(busy).encode(now, 30 * S), now, now + 30 * S)


HEAP_CONFIG = (b'{"alloc_objects":{"units":"objects"},"alloc_space":{"units":"bytes"},'
               b'"inuse_objects":{"units":"objects","aggregation":"average"},'
               b'"inuse_space":{"units":"bytes","aggregation":"average"}}')
GOROUTINE_CONFIG = (b'{"goroutine":{"display-name":"goroutines","units":"goroutines",'
                    b'"aggregation":"average"}}')


def ebpf(story):
    """OTLP profiles with Links, and spans that no SDK marked. A thread id alone does not link."""
    def report(end, *samples):
        body = uploads.Ebpf(story.service)
        for sample in samples:
            body.sample(*sample)
            story.sums["cpu:nanoseconds:cpu:nanoseconds"] += len(sample[1]) * uploads.Ebpf.PERIOD
        uploads.export_profiles(story.spanlink.grpc, body.encode(end - 2 * S, 2 * S))

    now = time.time_ns()
    for end in (now - 2 * S, now):
        report(end, ("idle", [end - S]))
    trace, busy = story.span(linked=True, marked=False)
    story.span(linked=False, marked=False)
    report(now + 2 * S, ("idle", [now]), ("work", [now, now + 1], trace, busy))


STORIES = {story.__name__: story for story in (go, prefork, node, python, ruby, dotnet,
                                               dotnet_other_kinds, ebpf)}


class Told:
    """The outcome of a story."""

    def __init__(self, story, traces, profiles):
        self.service, self.expected = story.service, story.expected
        self.spans = traces.spans(story.service, story.traces)
        self.copies = Counter(span.span_id for span in self.spans)
        self.links = {span.span_id: span.profile_ids for span in self.spans}
        self.complaints = profiles.complaints(story.service)
        self.sent = {kind: value for kind, value in story.sums.items() if value}
        self.stored = {k: v for k, v in profiles.totals(story.service, story.since).items() if v}
        self.graphs = {profile: frames(profiles, story, span, profile)
                       for span in self.spans for profile in span.profile_ids}


def frames(profiles, story, span, profile_id):
    """Levels of the flame graph that a link opens; 1: only the root."""
    graph = profiles.ask("SelectMergeSpanProfile", {
        "profileTypeID": story.profile_type, "spanSelector": [profile_id],
        "labelSelector": f'{{service_name="{story.service}"}}',
        "start": str(span.start // MS - 120_000), "end": str(span.end // MS + 120_000)})
    return len(graph.get("flamegraph", {}).get("levels", []))


def tell(name, spanlink, backends):
    traces, profiles = backends.traces, backends.profiles
    story = Story(f"sdk-{name}", spanlink)
    STORIES[name](story)
    harness.wait_for(lambda: set(story.expected) <= {s.span_id for s in
                                                     traces.spans(story.service, story.traces)},
                     SETTLE_SECONDS, 0.3)

    def stored():
        have = profiles.totals(story.service, story.since)
        return all(have.get(kind, 0) >= value for kind, value in story.sums.items())
    harness.wait_for(stored, 20, 0.3)
    time.sleep(0.5)             # a duplicate would arrive now
    return Told(story, traces, profiles)


def tell_all(folder, backends):
    """Runs all stories concurrently. Returns their outcomes, by name, and spanlink's exit code."""
    spanlink = Spanlink(folder, backends, "grpc")
    try:
        with concurrent.futures.ThreadPoolExecutor(len(STORIES)) as pool:
            futures = {name: pool.submit(tell, name, spanlink, backends) for name in STORIES}
            told = {name: future.result() for name, future in futures.items()}
        code = spanlink.stop()
    finally:
        spanlink.kill()
    return told, code, spanlink.tail()
