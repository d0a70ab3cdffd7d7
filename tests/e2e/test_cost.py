"""Cost by route over the API where more comes than the extension status remembers or looks at."""
import random
import time

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

import harness
import uploads
from test_status import Status, needs_spanlink    # noqa: F401

RANDOM = random.Random(5)


def span_ids(count):
    return [f"{RANDOM.getrandbits(64) | 1:016x}" for _ in range(count)]


def send(status, service, spans, names=("GET /",)):
    """Sends a linked local root for each id, with the names in turn."""
    start = time.time_ns() - 10**9
    request = uploads.trace_request(
        service, [(f"{i:0>32}", i, start, start + 10**8, True) for i in spans])
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(request)
    for i, span in enumerate(request.resource_spans[0].scope_spans[0].spans):
        span.name = names[i % len(names)]
        del span.attributes[:]
    status.send(request.SerializeToString())


def profile(status, service, spans):
    """Pushes a profile with one sample of 10 ms for each id."""
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    for span in spans:
        pprof.sample([1, 10_000_000], span_id=span)
    status.push(service, pprof, time.time_ns() - 2 * 10**9, 2 * 10**9)


def rows(status):
    return {(r["service"], r["span_name"]): r for r in status.get("/api/cost")["routes"]}


def test_a_route_has_no_more_spans_than_were_sent(tmp_path):
    """Also when its spans are forgotten, because profiles of another service name many ids."""
    status, spans = Status(tmp_path), span_ids(1000)
    send(status, "shop", spans)
    profile(status, "shop", spans)

    def shop():
        row = rows(status).get(("shop", "GET /"), {})
        return tuple(row.get(key) for key in ("spans", "linked", "samples"))
    harness.wait_for(lambda: shop() == (1000, 1000, 1000), 30)
    for _ in range(50):
        profile(status, "card", span_ids(2000))
        assert shop() == (1000, 1000, 1000)
    assert status.stop() == 0, status.tail()
