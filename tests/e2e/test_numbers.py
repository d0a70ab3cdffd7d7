"""Samples, CPU and wall time in the answers of `status`: the same in each, and none made up."""
import random
import time

import harness
import uploads
from test_status import STACKS, Status, ids, needs_spanlink  # noqa: F401

CPU = [("samples", "count"), ("cpu", "nanoseconds")]
WALL = [("wall", "nanoseconds")]
MS = 1_000_000


def profile(types, *samples):
    pprof = uploads.Pprof(types)
    for span, values in samples:
        pprof.sample(values, STACKS["a"][0], span_id=span)
    return pprof.encode(time.time_ns() - 10**9, 2 * 10**9)


def send(status, service, *spans, name="GET /order"):
    now = time.time_ns()
    status.send(uploads.trace_request(service, [
        (trace, span, now - 500 * MS, now - MS, True) for trace, span in spans], name=name))


def decided(status, span):
    words = ("linked", "not_linked")
    assert harness.wait_for(
        lambda: status.get("/api/spans/" + span)["decision"] in words, 20), status.tail()


def numbers(each):
    return each["samples"], each["cpu_ns"], each["wall_ns"], each["cpu_known"]


def row_of(status, trace):
    [row] = [each for each in status.get("/api/traces")["traces"] if each["trace_id"] == trace]
    return row


def span_of(status, trace, span):
    [told] = [each for each in status.get("/api/traces/" + trace)["spans"]
              if each["span_id"] == span]
    return told


def test_a_kept_trace_keeps_its_numbers_when_40000_others_came(tmp_path):
    status, (trace, span) = Status(tmp_path), ids(1)
    send(status, "shop", (trace, span))
    status.push_raw("shop", profile(CPU, (span, [1000, 10**10])))
    decided(status, span)
    number = 0

    def forgotten():
        nonlocal number
        number += 4000
        status.push_raw("shop", profile(CPU, *(
            (f"{number + i + 0x7700000000000000:016x}", [1, 10 * MS]) for i in range(4000))))
        return "not remembered" in status.get("/api/spans/" + span)["text"]
    assert harness.wait_for(forgotten, 60), status.tail()
    told, [row] = status.get("/api/spans/" + span), status.get("/api/traces", min_cpu="1s")["traces"]
    for each in (told, row, span_of(status, trace, span)):
        assert numbers(each) == (1000, 10**10, 0, True), each
    assert row["numbers_known"] and row["trace_id"] == trace
    assert status.stop() == 0, status.tail()


def test_wall_time_of_a_route_counts_as_such_beside_cpu_time_of_another(tmp_path):
    """The same in the answers about its span, trace, route and flame graph, and in a terminal."""
    status, (trace, span), (other, busy) = Status(tmp_path), ids(1), ids(2)
    send(status, "shop", (trace, span), name="waits")
    send(status, "shop", (other, busy), name="computes")
    status.push_raw("shop", profile(CPU, (busy, [2, 20 * MS])))
    status.push_raw("shop", profile(WALL, (span, [300 * MS])), "wall")
    decided(status, span)
    decided(status, busy)
    [route] = [each for each in status.get("/api/cost")["routes"] if each["span_name"] == "waits"]
    for each in (route, row_of(status, trace), status.get("/api/spans/" + span)):
        assert numbers(each) == (1, 0, 300 * MS, False), each
    assert sum(route["series"]) == 300 * MS
    graph = status.get("/api/flamegraph", service="shop", name="waits")
    assert (graph["total"], graph["samples"]) == (300 * MS, 1)
    assert status.stop() == 0, status.tail()


def test_wall_samples_of_one_service_are_no_cpu_samples_of_another(tmp_path):
    """In one trace."""
    status, (trace, span), (_, waits) = Status(tmp_path), ids(1), ids(2)
    for service, each in (("node", waits), ("go", span)):
        send(status, service, (trace, each))
    status.push_raw("node", profile(WALL, *[(waits, [MS])] * 11), "wall")
    status.push_raw("go", profile(CPU, (span, [30, 300 * MS])))
    for each in (span, waits):
        decided(status, each)
    assert numbers(row_of(status, trace)) == (30, 300 * MS, 11 * MS, True)
    assert status.get("/api/flamegraph", trace=trace)["samples"] == 30
    assert status.stop() == 0, status.tail()


def test_spans_with_one_id_have_the_same_numbers_in_both_traces(tmp_path):
    """Of one service: the samples do not say of which."""
    status, (first, span), (second, _) = Status(tmp_path), ids(1), ids(2)
    send(status, "shop", (first, span), (second, span))
    status.push_raw("shop", profile(CPU, (span, [5, 50 * MS])))
    decided(status, span)
    harness.wait_for(lambda: len(status.get("/api/traces")["traces"]) == 2, 20)
    for trace in (first, second):
        for each in (row_of(status, trace), span_of(status, trace, span)):
            assert numbers(each) == (5, 50 * MS, 0, True), each
    assert status.stop() == 0, status.tail()


def test_a_trace_says_that_a_part_of_it_was_evicted(tmp_path):
    status, (trace, span), random_ = Status(tmp_path, keep=1), ids(1), random.Random(1)
    now = time.time_ns()
    status.send(uploads.trace_request("shop", [
        (trace, ids(10 + i)[1], now, now + MS, False) for i in range(8)], parent=span,
        attributes={"body": "x" * 3000}))
    send(status, "shop", (trace, span))
    status.push_raw("shop", profile(CPU, (span, [5, 50 * MS])))
    decided(status, span)
    whole = status.get("/api/traces/" + trace)
    assert len(whole["spans"]) == 9 and not whole["truncated"] and whole["text"] is None
    assert row_of(status, trace)["spans"] == 9

    def evicted():
        noise = random_.randbytes(12_000).hex()
        status.send(uploads.trace_request("noise", [(*ids(99), now, now + 1, False)],
                                          parent="77" * 8, attributes={"body": noise}))
        return len(status.get("/api/traces/" + trace)["spans"]) == 1
    assert harness.wait_for(evicted, 240), status.tail()
    left = status.get("/api/traces/" + trace)
    assert left["truncated"] and left["text"].startswith("8 more spans of it gave way")
    assert status.stop() == 0, status.tail()


def test_memory_that_confirms_is_no_sample_of_wall_time(tmp_path):
    status = Status(tmp_path, correlation="hold: 1s, confirm_by: [memory, wall]")
    (trace, span), (_, allocates) = ids(1), ids(2)
    send(status, "shop", (trace, span), (ids(2)[0], allocates))
    memory = [("alloc_objects", "count"), ("alloc_space", "bytes")]
    status.push_raw("shop", profile(memory, (span, [4, 4096]), (allocates, [4, 4096]),
                                    ("", [1, 64])), "memory")
    status.push_raw("shop", profile(WALL, (span, [40 * MS])), "wall")
    decided(status, span)
    decided(status, allocates)
    [service] = status.get("/api/services")["services"]
    [route] = [each for each in status.get("/api/cost")["routes"] if each["kind"] == "route"]
    for each in (status.get("/api/spans/" + span), row_of(status, trace),
                 span_of(status, trace, span), service, route):
        assert (each["samples"], each["wall_ns"]) == (1, 40 * MS), each
    told = status.get("/api/spans/" + allocates)
    assert (told["decision"], told["samples"]) == ("linked", 0)
    assert status.get("/api/flamegraph", span=allocates)["samples"] > 0
    assert status.stop() == 0, status.tail()


def test_wall_time_survives_a_crash_with_its_samples(tmp_path):
    options = {"correlation": "hold: 30s", "journal": tmp_path / "journal"}
    status, (trace, span) = Status(tmp_path / "a", **options), ids(1)
    send(status, "shop", (trace, span))
    now = time.time_ns()
    raw = uploads.Pprof(WALL)
    raw.sample([40 * MS], STACKS["a"][0], span_id=span)
    status.push_raw("shop", raw.encode(now - 5 * 10**9, 10**9), "wall")
    assert harness.wait_for(lambda: status.get("/api/spans/" + span)["wall_ns"] == 40 * MS, 20)
    status.kill()
    status = Status(tmp_path / "b", **options)
    assert harness.wait_for(
        lambda: (status.get("/api/spans/" + span)["samples"] or 0) > 0, 20), status.tail()
    assert numbers(status.get("/api/spans/" + span)) == (1, 0, 40 * MS, False)
    assert status.stop() == 0, status.tail()


def test_late_samples_with_ids_in_reversed_byte_order_are_their_spans(tmp_path):
    status, (trace, linked), (other, late) = Status(tmp_path), ids(1), ids(2)
    turned = {span: bytes.fromhex(span)[::-1].hex() for span in (linked, late)}
    send(status, "net", (trace, linked))
    status.push_raw("net", profile(CPU, (turned[linked], [2, 20 * MS])))
    decided(status, linked)
    send(status, "net", (other, late), name="late")
    decided(status, late)
    status.push_raw("net", profile(CPU, (turned[late], [4, 40 * MS])))
    assert harness.wait_for(
        lambda: status.get("/api/spans/" + late)["reason"] == "came_late", 20), status.tail()
    [route] = harness.wait_for(lambda: [each for each in status.get("/api/cost")["routes"]
                                        if each["span_name"] == "late"], 20)
    for each in (status.get("/api/spans/" + late), row_of(status, other),
                 span_of(status, other, late), route):
        assert numbers(each) == (4, 40 * MS, 0, True), each
    for asked in ({"span": late}, {"trace": other}, {"service": "net", "name": "late"}):
        graph = status.get("/api/flamegraph", **asked)
        assert (graph["total"], graph["truncated"]) == (40 * MS, False), graph
    assert status.stop() == 0, status.tail()
