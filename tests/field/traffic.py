"""Puts a timeline on the wire: what the SDKs write, when they send it, and what they do when they
are refused."""
import heapq
import http.client
import itertools
import threading
import time
import urllib.parse

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

import uploads
from harness import PROFILE_ID

SERVICE = "field"
NS = 10**9
IS_REMOTE_KNOWN = 0x100         # a span's flag: the parent is not remote
RETRIED = (429, 502, 503, 504)
GIVE_UP = 60                    # seconds after which an SDK drops an export
ROOT_BYTES = 150                # of a root without padding

# For each kind: __name__ of its series, types of its samples, period and the values of a sample.
KINDS = {
    "cpu": ("process_cpu", [("cpu", "nanoseconds")], ("cpu", "nanoseconds", 10_000_000),
            [10_000_000]),
    "wall": ("wall", [("samples", "count"), ("wall", "nanoseconds")],
             ("wall", "nanoseconds", 10_000_000), [1, 10_000_000]),
    "memory": ("memory", [("inuse_space", "bytes")], ("space", "bytes", 524_288), [4096]),
    "mutex": ("mutex", [("contentions", "count"), ("delay", "nanoseconds")],
              ("contentions", "count", 1), [1, 1000]),
    "goroutine": ("goroutine", [("goroutine", "count")], ("goroutine", "count", 1), [1]),
}


class Request:
    """What goes to one port, once or until it is taken."""

    def __init__(self, at, life, port, path, headers):
        self.at, self.life, self.port, self.path = at, life, port, path
        self.headers, self.body = headers, None
        if life.process.tenant:
            headers["X-Scope-OrgID"] = life.process.tenant


# Spans

class ExportRequest(Request):
    again = True

    def __init__(self, export, port):
        super().__init__(export.at, export.life, port, "/v1/traces",
                         {"Content-Type": "application/x-protobuf"})
        self.spans = export.spans

    def write(self, began):
        """began: the run's start by the wall clock, in ns."""
        request = trace_service_pb2.ExportTraceServiceRequest()
        group = request.resource_spans.add()
        for key, value in resource_of(self.life).items():
            group.resource.attributes.append(uploads.text_attribute(key, value))
        scope = group.scope_spans.add()
        scope.scope.name = "field"
        zero = began + int(self.life.process.tracer_clock * NS)
        for span in self.spans:
            add_span(scope.spans, self.life, span, zero)
        self.body = request.SerializeToString()

    def sending(self, now):
        for span in self.spans:
            span.exported = now

    def taken(self):
        pass


def resource_of(life):
    resource = {"service.name": SERVICE, **life.process.resource}
    if life.process.instances:
        resource["service.instance.id"] = f"instance-{life.number}"
    return resource


def add_span(spans, life, span, zero):
    process = life.process
    written = spans.add(
        trace_id=bytes.fromhex(span.trace), span_id=bytes.fromhex(span.id),
        parent_span_id=bytes.fromhex(span.parent), flags=IS_REMOTE_KNOWN,
        name="GET /order" if span.is_root else "SELECT",
        kind=trace_pb2.Span.SPAN_KIND_SERVER if span.is_root
        else trace_pb2.Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=zero + int(span.start * NS),
        end_time_unix_nano=zero + int(span.end * NS))
    if span.is_root and process.marked:
        written.attributes.append(uploads.text_attribute(PROFILE_ID, span.id))
    if span.is_root and process.span_bytes:
        padding = life.id((process.span_bytes - ROOT_BYTES) // 2)
        written.attributes.append(uploads.text_attribute("url.full", padding))


# Profiles

class UploadRequest(Request):
    """No profiler offers an upload twice."""
    again = False

    def __init__(self, upload, port, proven):
        super().__init__(upload.at, upload.life, port, uploads.PUSH, {})
        self.upload, self.profiler, self.proven = upload, upload.profiler, proven
        self.name, types, period, values = KINDS[self.profiler.kind]
        self.pprof = uploads.Pprof(types, period)
        for each in upload.samples:
            self.pprof.sample(values, **({"span_id": each} if each else {}))

    def write(self, began):
        zero = began + int(self.life.process.profiler_clock * NS)
        start, end = (zero + int(each * NS) for each in (self.upload.start, self.upload.end))
        told = not self.profiler.looks and self.profiler.duration
        at = end if self.profiler.looks or self.profiler.time == "end" else start
        raw = self.pprof.encode(at, end - start if told else 0)
        WAYS[self.profiler.way](self, raw, start, end)
        self.pprof = None

    def sending(self, now):
        pass

    def taken(self):
        self.proven.update(filter(None, self.upload.samples))


def as_python(request, raw, _start, _end):
    labels = {"__name__": request.name, "service_name": SERVICE, **request.life.process.labels}
    request.body = uploads.zipped(uploads.push_request(labels, raw))
    request.headers |= {"Content-Type": "application/proto", "Content-Encoding": "gzip"}


def as_go(request, raw, start, end):
    request.path = ingest(request, start, end, spyName="gospy", units="", aggregationType="")
    request.body, kind = uploads.form(profile=uploads.zipped(raw))
    request.headers["Content-Type"] = kind


def as_node(request, raw, start, end):
    request.path = ingest(request, start // NS, end // NS, spyName="nodespy", format="pprof")
    request.body = uploads.zipped(raw)
    request.headers["Content-Type"] = "application/octet-stream"


def ingest(request, start, end, **query):
    labels = ",".join(f"{key}={value}" for key, value in request.life.process.labels.items())
    return "/ingest?" + urllib.parse.urlencode(
        {"name": f"{SERVICE}{{{labels}}}", "from": start, "until": end, **query})


WAYS = {"push": as_python, "go": as_go, "node": as_node}


# Sending

class Sender(threading.Thread):
    """Sends requests when they are due, those of each process over a connection of its own."""

    def __init__(self, requests, began, clock):
        """began: the run's start by the wall clock in ns; clock: seconds of the run."""
        super().__init__(daemon=True)
        self.began, self.clock, self.links = began, clock, {}
        self.order = itertools.count()
        self.due = [(each.at, next(self.order), each) for each in requests]
        heapq.heapify(self.due)
        self.stopping = threading.Event()
        self.lag = 0.0              # the most that a request went out too late
        self.refusals = 0           # answers and failures that were no 200
        self.given_up = 0

    def run(self):
        while self.due and not self.stopping.is_set():
            wait = self.due[0][0] - self.clock()
            if wait > 0:
                self.stopping.wait(wait)
                continue
            at, _, request = heapq.heappop(self.due)
            self.lag = max(self.lag, -wait)
            self.offer(at, request)

    def offer(self, at, request):
        now = self.clock()
        if request.body is None:
            request.write(self.began)
            request.sending(self.clock())
        status = self.post(request)
        if status == 200:
            request.taken()
            request.body = b""      # a crowd's bodies would fill the memory
            return
        self.refusals += 1
        if request.again and (status is None or status in RETRIED) and now < request.at + GIVE_UP:
            wait = max(1.0, min(5.0, now - request.at))
            heapq.heappush(self.due, (max(at, now) + wait, next(self.order), request))
        else:
            self.given_up += 1

    def post(self, request):
        """The status, or None. A connection that was open and turns out to be dead says nothing of
        the server, so a new one is tried, as HTTP clients do."""
        key = request.life, request.port
        for link in (self.links.pop(key, None), http.client.HTTPConnection(
                "127.0.0.1", request.port, timeout=30)):
            if link is None:
                continue
            try:
                link.request("POST", request.path, request.body, request.headers)
                answer = link.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                link.close()
                continue
            self.links[key] = link
            return answer.status
        return None

    def stop(self):
        self.stopping.set()
        self.join(60)
        for link in self.links.values():
            link.close()


def stopwatch():
    """The wall clock now in ns, and a clock that counts seconds from now on."""
    wall, zero = time.time_ns(), time.monotonic()
    return wall, lambda: time.monotonic() - zero
