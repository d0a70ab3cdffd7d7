"""Flame graphs over the API: which samples they have, and what becomes of one that memory cannot
hold."""
import random
import time

import pytest
import requests
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

import harness
import test_status
import uploads
from test_status import Status, ids, needs_spanlink    # noqa: F401

FORMATS = ["json", "pprof", "folded", "svg"]


def spans_named(service, names, start):
    """A linked local root for each name, and a profile with 10 ms of each."""
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(uploads.trace_request(
        service, [(*ids(i + 1), start, start + 10**9, True) for i in range(len(names))]))
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    for i, span in enumerate(request.resource_spans[0].scope_spans[0].spans):
        span.name = names[i]
        pprof.sample([1, 10_000_000], span_id=ids(i + 1)[1])
    return request.SerializeToString(), pprof


def total(status, **query):
    return status.get("/api/flamegraph", **query)["total"]


def test_every_route_of_the_cost_view_has_its_graph(tmp_path):
    """Also one without a name, and those whose names rows have cut or with a NUL."""
    names = ["", "L" * 10240, "ä" * 600, "a\nb\0c", "GET /", "*", "50%", "%00"]
    status, start = Status(tmp_path), time.time_ns()
    request, pprof = spans_named("shop", names, start)
    status.push("shop", pprof, start, 10**9)
    status.send(request)
    routes = harness.wait_for(lambda: (
        rows := [r for r in status.get("/api/cost", service="shop")["routes"]
                 if r["span_name"] != "(others)"]) and len(rows) == len(names) and rows, 30)
    for route in routes:
        name = route["span_name"]
        assert total(status, service="shop", name=name) == route["cpu_ns"] == 10_000_000, name
        found = status.get("/api/traces", service="shop", name=name)["traces"]
        assert len(found) == (len(names) if name == "*" else 1), name
    assert total(status, service="shop") == len(names) * 10_000_000
    assert total(status, service="shop", name="L" * 10240) == 10_000_000
    assert len(status.get("/api/traces", service="shop")["traces"]) == len(names)
    status.get("/api/flamegraph", status=400, name="")
    assert status.stop() == 0, status.tail()


def deep_stacks(seed, stacks=1700, depth=30):
    random_, pprof = random.Random(seed), uploads.Pprof([("cpu", "nanoseconds")])
    for _ in range(stacks):
        pprof.sample([1], [f"f{random_.randrange(40)}" for _ in range(depth)])
    return pprof


def test_a_graph_beyond_24_mib_is_refused_before_its_first_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(test_status, "CONFIG", test_status.CONFIG
                        .replace("processors: {{", "processors: {{memory_limiter: "
                                 "{{limit_mib: 24}}, ")
                        .replace("[correlation]", "[memory_limiter, correlation]"))
    status = Status(tmp_path)
    for upload in range(40):
        status.push("m", deep_stacks(upload), time.time_ns() - 10**9, 10**9)
    answers = [requests.get(status.url(f"/api/flamegraph?service=m&format={kind}"), timeout=60)
               for kind in FORMATS]
    assert all(answer.status_code == 200 or "not enough memory" in answer.json()["error"]
               for answer in answers)
    assert {answer.status_code for answer in answers} >= {503}
    assert status.stop() == 0, status.tail()


def test_a_route_has_the_samples_of_the_profiles_that_its_service_has(tmp_path):
    """Also of spans that ended before the time that is asked for. A profile that ends where that
    begins is none of its."""
    status, start = Status(tmp_path, correlation="hold: 1s, profile_time: keep"), time.time_ns()
    start -= 40 * 10**9
    request, pprof = spans_named("shop", ["GET /"], start)
    status.push("shop", pprof, start, 15 * 10**9)
    status.send(request)
    harness.wait_for(lambda: total(status, service="shop", name="GET /"), 10)
    for begin, end, expected in ((2, 40, 1), (0, 1, 1), (14, 15, 1), (15, 40, 0), (-9, 0, 0)):
        when = {"from": start + begin * 10**9, "to": start + end * 10**9}
        assert [total(status, service="shop", **route, **when)
                for route in ({}, {"name": "GET /"})] == [expected * 10_000_000] * 2, when
    assert status.stop() == 0, status.tail()


@pytest.mark.parametrize("profile_time", ["auto", "keep"])
@pytest.mark.parametrize("length", [30, 31, 60, 90])
def test_a_window_is_drawn_where_it_was(tmp_path, profile_time, length):
    """Whatever time its profile is forwarded with."""
    status = Status(tmp_path, correlation=f"hold: 1s, profile_time: {profile_time}")
    start = time.time_ns() - 300 * 10**9
    request, pprof = spans_named("shop", ["GET /"], start)
    status.push("shop", pprof, start, length * 10**9)
    status.send(request)
    graph = harness.wait_for(lambda: (
        graph := status.get("/api/flamegraph", service="shop"))["total"] and graph, 10)
    assert int(graph["from_unix_nano"]) == start
    assert int(graph["to_unix_nano"]) == start + length * 10**9
    for begin, expected in ((0, 1), (length / 4, 1), (length - 1, 1), (length, 0), (-1, 0)):
        at = start + int(begin * 10**9)
        drawn = total(status, service="shop", **{"from": at, "to": at + 10**9})
        assert drawn == expected * 10_000_000, begin
    assert status.stop() == 0, status.tail()


def test_cpu_time_of_several_types_is_told(tmp_path):
    status, start = Status(tmp_path), time.time_ns()
    request, pprof = spans_named("shop", ["GET /"], start)
    status.push("shop", pprof, start, 10**9)
    status.send(request)
    graph = harness.wait_for(lambda: (
        graph := status.get("/api/flamegraph", trace=ids(1)[0]))["total"] and graph, 10)
    assert graph["text"] is None
    status.push_raw("shop", pprof.encode(start, 10**9), name="cpu")
    graph = harness.wait_for(lambda: (
        graph := status.get("/api/flamegraph", trace=ids(1)[0]))["text"] and graph, 10)
    assert "one of them is drawn" in graph["text"] and not graph["truncated"]
    assert len([t for t in graph["types"] if ":cpu:nanoseconds" in t and "samples" not in t]) == 2
    assert status.stop() == 0, status.tail()


def test_a_root_that_is_sent_elsewhere_is_not_said_to_wait(tmp_path):
    status, start, (trace, span) = Status(tmp_path), time.time_ns(), ids(1)
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(
        uploads.trace_request("bare", [(trace, span, start, start + 1000, False)]))
    child = request.resource_spans[0].scope_spans[0].spans[0]
    child.kind, child.parent_span_id = trace_pb2.Span.SPAN_KIND_INTERNAL, bytes.fromhex(ids(2)[1])
    status.send(request.SerializeToString())
    [row] = harness.wait_for(lambda: status.get("/api/traces")["traces"], 30)
    assert (row["root_seen"], row["waiting_spans"]) == (False, 0)
    assert row["why"].startswith("Its local root is not here")
    assert status.stop() == 0, status.tail()
