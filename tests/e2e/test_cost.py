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


def send(status, service, spans, names=("GET /",), padding=0):
    """Sends a local root for each id, with the names in turn and so many bytes more."""
    start = time.time_ns() - 10**9
    request = uploads.trace_request(
        service, [(f"{i:0>32}", i, start, start + 10**8, True) for i in spans])
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(request)
    for i, span in enumerate(request.resource_spans[0].scope_spans[0].spans):
        span.name = names[i % len(names)]
        del span.attributes[:]
        if padding:
            span.attributes.append(uploads.text_attribute("padding", "x" * padding))
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


def test_spans_in_requests_that_are_skipped_are_not_outside_of_spans(tmp_path):
    """Large requests, faster than they can be kept: each span counts with its sample, or its sample
    is said to be of a span that was not looked at."""
    status, spans = Status(tmp_path), span_ids(16000)
    for at in range(0, len(spans), 500):
        send(status, "shop", spans[at:at + 500], ("a", "b"), padding=4000)
    profile(status, "shop", spans)

    def settled():
        told = rows(status)
        return ("shop", "(no span)") not in told and sum(
            row["samples"] for row in told.values()) == len(spans) and told
    told = harness.wait_for(settled, 60)
    assert status.get("/api/traces")["keep"]["skipped_spans"] > 0
    for name in ("a", "b"):
        row = told["shop", name]
        assert 0 < row["spans"] == row["samples"], row
    missed = told.get(("shop", "(not looked at)"), {"samples": 0, "spans": 0, "kind": None})
    assert missed["samples"] + sum(told["shop", name]["spans"] for name in "ab") == len(spans)
    text = status.get("/api/cost")["text"]
    if missed["samples"]:
        assert (missed["kind"], missed["spans"]) == ("not_looked_at", 0)
        assert int(text.split(" spans were not looked at, since")[0]) >= missed["samples"]
    else:
        assert text is None
    assert status.stop() == 0, status.tail()


def test_a_large_profile_is_kept_soon_after_a_burst(tmp_path):
    """A burst of traces and of large profiles costs more than the share of CPU time: then a profile
    of many stacks is kept once a few seconds were quiet."""
    status, large = Status(tmp_path), uploads.Pprof([("cpu", "nanoseconds")])
    for i in range(50_000):
        large.sample([10_000_000], stack=(f"leaf{i}", f"step{i % 500}", "main"))

    def push(service):
        status.push(service, large, time.time_ns() - 2 * 10**9, 2 * 10**9)

    def kept(service):
        return status.get(f"/api/flamegraph?service={service}")["profiles"] > 0
    push("first")
    spans = span_ids(16_000)
    for at in range(0, len(spans), 500):
        send(status, "shop", spans[at:at + 500], ("a", "b"), padding=4000)
    push("burst")
    pushed = [0.0]

    def comes():
        if time.monotonic() > pushed[0] + 12:
            pushed[0] = time.monotonic()
            push("after")
        return kept("after")
    assert harness.wait_for(comes, 50)
    assert status.stop() == 0, status.tail()


def test_a_row_says_that_linked_spans_of_its_trace_may_have_been_skipped(tmp_path):
    status, [quiet] = Status(tmp_path), span_ids(1)
    send(status, "till", [quiet])

    def row():
        return next(iter(status.get("/api/traces", span_id=quiet)["traces"]), None)
    first = harness.wait_for(row, 30)
    assert (first["linked_spans"], first["samples"], first["numbers_known"]) == (0, 0, True), first

    def skipped():
        spans = span_ids(500)
        profile(status, "shop", spans)
        send(status, "shop", spans, padding=4000)
        return status.get("/api/traces", limit=1)["keep"]["skipped_spans"]
    assert harness.wait_for(skipped, 60), status.tail()
    last = row()
    assert (last["linked_spans"], last["samples"], last["numbers_known"]) == (0, None, False), last
    assert status.stop() == 0, status.tail()
