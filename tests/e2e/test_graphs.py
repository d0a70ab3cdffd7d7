"""Flame graphs over the API: which samples they have, and what becomes of one that memory cannot
hold."""
import functools
import gzip
import itertools
import random
import threading
import time
from concurrent import futures

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


@functools.cache
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
    uploads_made = itertools.count()

    def is_refused():
        for _ in range(10):     # not all are kept if the machine is slow
            status.push("m", deep_stacks(next(uploads_made)), time.time_ns() - 10**9, 10**9)
        answers = [requests.get(status.url(f"/api/flamegraph?service=m&format={kind}"), timeout=60)
                   for kind in FORMATS]
        assert all(answer.status_code == 200 or "not enough memory" in answer.json()["error"]
                   for answer in answers)
        return 503 in {answer.status_code for answer in answers}
    assert harness.wait_for(is_refused, 120)
    assert status.stop() == 0, status.tail()


def test_many_who_ask_for_graphs_are_told_to_come_back(tmp_path):
    status = Status(tmp_path)
    for upload in range(20):
        status.push("m", deep_stacks(upload), time.time_ns() - 10**9, 10**9)
    start = threading.Barrier(12)

    def ask(_):
        start.wait()
        return requests.get(status.url("/api/flamegraph?service=m"), timeout=60)
    with futures.ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(12)))
    assert {answer.status_code for answer in answers} == {200, 503}
    for answer in answers:
        if answer.status_code == 503:
            assert "try again in a second" in answer.json()["error"]
            assert int(answer.headers["Retry-After"]) > 0
    assert len({answer.content for answer in answers if answer.status_code == 200}) == 1
    assert status.get("/api/flamegraph", service="m")["total"]
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


def test_a_time_before_the_start_is_not_known(tmp_path):
    status, start = Status(tmp_path), time.time_ns()
    request, pprof = spans_named("shop", ["GET /"], start)
    status.push("shop", pprof, start, 10**9)
    status.send(request)
    harness.wait_for(lambda: total(status, service="shop", name="GET /"), 10)
    for route in ({}, {"name": "GET /"}):
        for begin, end, when in (("-30m", "-15m", "later"), ("-15m", "-0m", "within")):
            graph = status.get("/api/flamegraph", service="shop", **route,
                               **{"from": begin, "to": end})
            assert graph["truncated"] and f"started {when}" in graph["text"], graph
        graph = status.get("/api/flamegraph", service="shop", **route, **{"from": "-15m"})
        assert not graph["truncated"] and not graph["text"]
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


def cost(status, service, name, **when):
    return sum(r["cpu_ns"] for r in status.get("/api/cost", service=service, **when)["routes"]
               if name in (None, r["span_name"]))


def cpu_profile():
    return uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])


def linked_span(status):
    """One of a route, with 10 ms, in a kept trace."""
    start = time.time_ns()
    request, pprof = spans_named("shop", ["checkout"], start)
    status.push("shop", pprof, start, 10**9)
    status.send(request)
    assert harness.wait_for(lambda: status.get("/api/traces")["traces"] and
                            total(status, service="shop", name="checkout"), 30), status.tail()
    return start


def displace(status):
    """Fills keep_mib with linked traces, until that one has given way."""
    random_, now, (trace, _) = random.Random(1), time.time_ns(), ids(1)

    def gone():
        status.send(test_status.wide_trace(random_, now))
        return trace not in {row["trace_id"] for row in status.get("/api/traces")["traces"]}
    assert harness.wait_for(gone, 60), status.tail()


def test_every_graph_says_when_its_spans_and_profiles_have_given_way(tmp_path):
    status = Status(tmp_path, keep=1, correlation="link: local_root")
    linked_span(status)
    trace, span = ids(1)
    forms = [{"service": "shop", "name": "checkout"}, {"service": "shop"}, {"span": span}]
    forms += [{**form, "from": "-5m"} for form in forms if "service" in form]
    for form in [*forms, {"trace": trace}]:
        graph = status.get("/api/flamegraph", **form)
        assert not graph["truncated"] and graph["text"] is None, form
    displace(status)
    assert cost(status, "shop", "checkout") == 10_000_000
    for form in forms:
        graph = status.get("/api/flamegraph", **form)
        assert (graph["total"], graph["truncated"]) == (0, True), form
        assert graph["text"].startswith("Profiles of its time have given way"), form
        assert "keep_mib" in graph["fix"], form
    status.get("/api/flamegraph", status=404, trace=trace)
    fresh = {"from": "now", "to": "now"}
    assert not status.get("/api/flamegraph", **forms[0], **fresh)["truncated"]
    never = status.get("/api/flamegraph", service="shop", name="never seen")
    assert not never["truncated"] and never["text"] is None
    assert status.stop() == 0, status.tail()


def test_a_route_has_the_samples_of_its_spans_that_have_given_way(tmp_path):
    status = Status(tmp_path, keep=1, correlation="link: local_root")
    start, (_, span) = linked_span(status), ids(1)
    displace(status)
    status.push("shop", cpu_profile().sample([2, 20_000_000], span_id=span), start + 10**9, 10**9)
    route = {"service": "shop", "name": "checkout"}
    graph = harness.wait_for(
        lambda: (graph := status.get("/api/flamegraph", **route))["total"] and graph, 20)
    assert (graph["total"], graph["spans"], graph["truncated"]) == (20_000_000, 1, True)
    assert cost(status, "shop", "checkout") == 30_000_000
    for form in FORMATS:
        answer, whole = [requests.get(status.url("/api/flamegraph"), timeout=10, params={
            **route, "name": name, "format": form}) for name in ("checkout", "never seen")]
        assert answer.headers["Spanlink-Truncated"] == f"{graph['text']} {graph['fix']}", form
        assert "Spanlink-Truncated" not in whole.headers, form
        body = gzip.decompress(answer.content) if form == "pprof" else answer.content
        assert (graph["text"].encode() in body) == (form != "folded"), form
    assert status.stop() == 0, status.tail()


def test_a_route_says_that_spans_of_it_may_be_neither_kept_nor_remembered(tmp_path):
    status = Status(tmp_path, keep=1)
    start, route = linked_span(status), {"service": "shop", "name": "checkout"}
    status.send(test_status.wide_trace(random.Random(2), start, 1_000_000))     # has no room
    assert harness.wait_for(lambda: status.get("/api/traces")["keep"]["refused_spans"], 30)
    graph = status.get("/api/flamegraph", **route)
    assert (graph["total"], graph["truncated"]) == (10_000_000, False)
    crowd = cpu_profile()
    for i in range(45_000):                             # more ids at once than are remembered
        crowd.sample([1, 10_000_000], span_id=f"{i + 1:016x}")
    status.push("crowd", crowd, start, 10**9)
    graph = harness.wait_for(
        lambda: (graph := status.get("/api/flamegraph", **route))["truncated"] and graph, 30)
    assert graph["total"] == 10_000_000
    assert graph["text"].startswith("Spans of its time have given way to newer data or were not")
    assert status.stop() == 0, status.tail()


def test_a_span_of_which_nothing_is_kept_is_not_found(tmp_path):
    status, (trace, span), start = Status(tmp_path, keep=1), ids(1), time.time_ns()
    status.send(uploads.trace_request("shop", [(trace, span, start, start + 1000, False)]))
    assert harness.wait_for(lambda: status.get("/api/traces")["traces"], 30)
    assert total(status, span=span) == 0
    random_ = random.Random(2)

    def gone():
        status.send(test_status.wide_trace(random_, start))
        return trace not in {row["trace_id"] for row in status.get("/api/traces")["traces"]}
    assert harness.wait_for(gone, 60), status.tail()
    assert status.get(f"/api/spans/{span}")["decision"] != "linked"
    answer = status.get("/api/flamegraph", status=404, span=span)
    assert "evicted for newer data" in answer["error"]
    assert status.stop() == 0, status.tail()


@pytest.mark.parametrize("ahead, length", [(60, 2), (-1800, 7200), (-3590, 3700), (-30, 20)])
def test_rows_and_graphs_have_a_profile_at_the_same_time(tmp_path, ahead, length):
    """Also one whose clock is ahead, or whose window is too long."""
    status, start = Status(tmp_path), time.time_ns()
    request, pprof = spans_named("shop", ["GET /"], start - 2 * 10**9)
    status.push("shop", pprof, start + ahead * 10**9, length * 10**9)
    status.send(request)
    assert harness.wait_for(lambda: cost(status, "shop", "GET /"), 30), status.tail()
    when = {"from": "-5m", "to": "now"}
    assert total(status, service="shop") == 10_000_000
    assert cost(status, "shop", "GET /", **when) == total(status, service="shop", **when)
    assert total(status, service="shop", name="GET /", **when) == (
        0 if length > 7000 else 10_000_000)
    assert status.stop() == 0, status.tail()


def test_rows_and_graphs_add_up(tmp_path):
    """With samples that have no stack, and values that no machine has."""
    status, start, (_, span) = Status(tmp_path), time.time_ns(), ids(1)
    request, pprof = spans_named("shop", ["GET /"], start)
    pprof.sample([3, 30_000_000], [], span_id=span)
    status.push("shop", pprof, start, 10**9)
    huge, longest = cpu_profile(), 2**48 - 1
    for name in "abcde":
        huge.sample([2**61, 2**62], [name], span_id=span)
    status.send(request)
    status.push("shop", huge, start + 10**9, 10**9)
    assert harness.wait_for(
        lambda: cost(status, "shop", "GET /") > 10_000_000, 30), status.tail()
    route, rest = 10_000_000 + 5 * longest, 30_000_000
    assert cost(status, "shop", "GET /") == total(status, service="shop", name="GET /") == route
    assert status.get(f"/api/spans/{span}")["cpu_ns"] == total(status, span=span) == route
    graph = status.get("/api/flamegraph", service="shop")
    assert graph["total"] == cost(status, "shop", None) == route + rest
    assert sum(node[3] for node in graph["nodes"]) == graph["total"] and not graph["truncated"]
    folded = status.get("/api/flamegraph", service="shop", format="folded").text
    assert "(no stack) 30000000\n" in folded
    assert status.stop() == 0, status.tail()


def test_a_graph_says_that_its_rows_are_those_of_another_name(tmp_path):
    status, start, (_, span) = Status(tmp_path), time.time_ns(), ids(1)
    request, pprof = spans_named("spans", ["GET /"], start)
    pprof.sample([2, 20_000_000])
    status.push("profiles", pprof, start, 10**9)
    status.send(request)
    assert harness.wait_for(lambda: cost(status, "spans", "GET /"), 30), status.tail()
    graphs = {name: status.get("/api/flamegraph", service=name) for name in ("spans", "profiles")}
    assert (graphs["spans"]["total"], graphs["profiles"]["total"]) == (0, 30_000_000)
    assert "under the name of another service" in graphs["spans"]["text"]
    assert "spans of another service" in graphs["profiles"]["text"]
    assert not any(graph["truncated"] for graph in graphs.values())
    assert status.stop() == 0, status.tail()


def test_cpu_time_of_several_types_is_told(tmp_path):
    status, start = Status(tmp_path), time.time_ns()
    request, pprof = spans_named("shop", ["GET /"], start)
    status.push("shop", pprof, start, 10**9)
    status.send(request)
    graph = harness.wait_for(lambda: (
        graph := status.get("/api/flamegraph", trace=ids(1)[0]))["total"] and graph, 10)
    assert graph["text"] is None
    pprof.sample([5, 50_000_000], span_id=ids(1)[1])
    status.push_raw("shop", pprof.encode(start, 10**9), name="cpu")
    graph = harness.wait_for(lambda: (
        graph := status.get("/api/flamegraph", trace=ids(1)[0]))["text"] and graph, 10)
    assert "one of them is drawn" in graph["text"] and graph["truncated"]
    assert (graph["type"].split(":")[0], graph["total"]) == ("cpu", 60_000_000)    # the larger
    asked = next(t for t in graph["types"] if t.startswith("process_cpu:cpu:"))
    graph = status.get("/api/flamegraph", trace=ids(1)[0], type=asked)
    assert graph["total"] == 10_000_000 and graph["text"] and not graph["truncated"]
    for kind in FORMATS:
        answer = status.get("/api/flamegraph", trace=ids(1)[0], format=kind)
        headers = answer.headers if kind != "json" else {"Spanlink-Truncated": "several types"}
        assert "several types" in headers["Spanlink-Truncated"], kind
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


def graphs_of(status, trace, span):
    return [status.get("/api/flamegraph", **query) for query in (
        {"span": span}, {"trace": trace}, {"service": "shop"}, {"service": "shop", "name": "GET /"})]


def test_graphs_of_samples_that_an_earlier_process_had_say_so(tmp_path):
    journal, start, (trace, span) = tmp_path / "journal", time.time_ns(), ids(1)
    status = Status(tmp_path / "first", journal=journal)
    request, pprof = spans_named("shop", ["GET /"], start)
    status.push("shop", pprof, start, 10**9)
    harness.wait_for(lambda: status.get(f"/api/spans/{span}")["samples"] == 1, 10)
    status.kill()
    status = Status(tmp_path / "second", journal=journal)
    status.send(request)
    assert harness.wait_for(lambda: cost(status, "shop", "GET /"), 30), status.tail()
    assert status.get(f"/api/spans/{span}")["samples"] == 1
    for graph in graphs_of(status, trace, span):
        assert graph["truncated"] and "a process before this one" in graph["text"], graph
    assert status.stop() == 0, status.tail()


def check_partial(status, trace, service, words):
    """A span of `service` passed in this trace before the page was opened, and another since."""
    assert harness.wait_for(lambda: status.get("/api/traces")["traces"], 30), status.tail()
    told = status.get(f"/api/traces/{trace}")
    assert len(told["spans"]) == 1 and told["truncated"] and words in told["text"], told
    page = status.get("/api/traces")
    assert [row["numbers_known"] for row in page["traces"]] == [False]
    assert page["keep"]["numbers_unknown"] == 1 and "they began" in page["keep"]["text"], page
    for whose in ({"trace": trace}, {"service": service}, {"service": service, "name": "render"}):
        graph = status.get("/api/flamegraph", **whose)
        assert graph["truncated"] and graph["text"], (whose, graph)


def send_part(status, service, name, trace, span):
    now = time.time_ns()
    status.send(uploads.trace_request(service, [(trace, span, now - 10**8, now, True)], name=name))
    pprof = uploads.Pprof([("cpu", "nanoseconds")])
    pprof.sample([10_000_000], span_id=span)
    status.push(service, pprof, now - 10**9, 10**9)
    assert harness.wait_for(
        lambda: status.get(f"/api/spans/{span}")["decision"] == "linked", 20), status.tail()


@pytest.mark.parametrize("restart", [True, False])
def test_a_trace_says_that_a_part_of_it_passed_before(tmp_path, restart):
    journal, trace = tmp_path / "journal", ids(1)[0]
    if restart:
        status = Status(tmp_path / "first", journal=journal)
    else:
        status = test_status.Reloaded(tmp_path)
    started = time.time_ns()
    send_part(status, "back", "render", trace, ids(2)[1])
    if restart:
        status.kill()
        status = Status(tmp_path / "second", journal=journal)
    else:
        status.reload("keep_mib: 16", "keep_mib: 17")
    now = time.time_ns()
    status.send(uploads.trace_request("front", [(trace, ids(1)[1], started, now, True)],
                                      name="GET /"))
    check_partial(status, trace, "back", "this process started" if restart else "a reload changed")
    assert status.stop() == 0, status.tail()


def test_samples_from_before_a_reload_of_the_page_are_not_known(tmp_path):
    status, start, (trace, span) = test_status.Reloaded(tmp_path), time.time_ns(), ids(1)
    request, pprof = spans_named("shop", ["GET /"], start)
    status.push("shop", pprof, start, 10**9)
    harness.wait_for(lambda: status.get(f"/api/spans/{span}")["samples"] == 1, 10)
    status.reload("keep_mib: 16", "keep_mib: 17")
    status.send(request)
    [row] = harness.wait_for(lambda: status.get("/api/traces")["traces"], 30)
    assert not row["numbers_known"]
    told = status.get(f"/api/spans/{span}")
    assert (told["decision"], told["samples"]) == ("linked", None), told
    for graph in graphs_of(status, trace, span)[:2]:
        assert graph["truncated"] and "A reload" in graph["text"], graph
    more = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    more.sample([2, 20_000_000], span_id=span)
    status.push("shop", more, start + 10**9, 10**9)
    assert harness.wait_for(lambda: cost(status, "shop", "GET /"), 30), status.tail()
    assert status.get(f"/api/spans/{span}")["samples"] is None
    for graph in graphs_of(status, trace, span):
        assert graph["total"] == 20_000_000 and "A reload" in graph["text"], graph
    assert status.stop() == 0, status.tail()


def test_a_span_that_passed_before_a_reload_of_the_page_has_partial_numbers(tmp_path):
    status, start, (trace, span) = test_status.Reloaded(tmp_path), time.time_ns(), ids(1)
    request, pprof = spans_named("shop", ["GET /"], start)
    status.send(request)
    status.push("shop", pprof, start, 10**9)
    assert harness.wait_for(lambda: status.get("/api/traces", linked="true")["traces"], 30)
    status.reload("keep_mib: 16", "keep_mib: 17")
    more = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    more.sample([2, 20_000_000], ["more"], span_id=span)
    status.push("shop", more, start, 10**9)
    told = harness.wait_for(lambda: (lambda t: t if t["windows"] else None)(
        status.get(f"/api/spans/{span}")), 10)
    assert (told["decision"], told["samples"], told["cpu_known"]) == ("unknown", None, False)
    assert "before a reload" in told["text"], told
    graph = status.get("/api/flamegraph", span=span)
    assert graph["truncated"] and "A reload" in graph["text"], graph
    assert status.stop() == 0, status.tail()


def test_a_window_that_ends_after_its_arrival_is_where_its_cost_is(tmp_path):
    """It is moved back, so as to end at its arrival."""
    status, now = Status(tmp_path), time.time_ns()
    pprof = uploads.Pprof([("cpu", "nanoseconds")])
    pprof.sample([120_000_000])
    status.push("ahead", pprof, now - 20 * 10**9, 120 * 10**9)
    assert harness.wait_for(lambda: total(status, service="ahead"), 10), status.tail()
    for since, until, drawn in [(-110, -80, True), (-19, -1, True), (-200, -140, False)]:
        at = {"from": now + since * 10**9, "to": now + until * 10**9}
        routes = status.get("/api/cost", service="ahead", **at)["routes"]
        assert bool(routes and routes[0]["cpu_ns"]) == drawn, (since, routes)
        assert total(status, service="ahead", **at) == drawn * 120_000_000, since
    assert status.stop() == 0, status.tail()
