"""`confirm_by` says which samples link a span; CPU and wall time of all that name it count, and its
flame graph has samples of every kind."""
import time

import pytest
import requests

import harness
import uploads
from test_status import STACKS, Status, ids, needs_spanlink, top    # noqa: F401

CPU = [("samples", "count"), ("cpu", "nanoseconds")]
WALL = [("samples", "count"), ("wall", "nanoseconds")]
MEMORY = [("alloc_objects", "count"), ("alloc_space", "bytes")]


def push(status, name, types, values, span, start):
    pprof = uploads.Pprof(types)
    pprof.sample(values, STACKS["a"][0], span_id=span)
    pprof.sample(values, STACKS["b"][0])
    status.push_raw("shop", pprof.encode(start - 10**9, 2 * 10**9), name)


def graphs(status, **whose):
    types = status.get("/api/flamegraph", **whose)["types"]
    return {each.split(":")[0]: status.get("/api/flamegraph", type=each, **whose)["total"]
            for each in types if each.split(":")[1] in ("cpu", "wall", "alloc_space", "delay")}


def decided(status, span):
    return harness.wait_for(
        lambda: status.get("/api/spans/" + span)["decision"] not in ("waiting", "unknown"), 20)


@pytest.mark.parametrize("kinds", ["[wall]", "[process_cpu]", "[process_cpu, memory]"])
def test_cost_has_cpu_and_wall_time_whatever_confirms(tmp_path, kinds):
    status = Status(tmp_path, correlation=f"hold: 1s, confirm_by: {kinds}")
    (trace, span), start = ids(1), time.time_ns()
    status.send(uploads.trace_request("shop", [(trace, span, start, start + 1, True)]))
    push(status, "process_cpu", CPU, [3, 30_000_000], span, start)
    push(status, "wall", WALL, [50, 500_000_000], span, start)
    assert decided(status, span), status.tail()
    told = status.get("/api/spans/" + span)
    [row] = status.get("/api/traces")["traces"]
    [service] = status.get("/api/services")["services"]
    routes = {r["span_name"] or r["kind"]: r for r in status.get("/api/cost")["routes"]}
    assert told["decision"] == "linked" and len(routes) == 2
    for each in (told, row, service, *routes.values()):
        assert (each["cpu_ns"], each["wall_ns"], each["cpu_known"], each["samples"]) == \
            (30_000_000, 500_000_000, True, 3), each
    assert graphs(status, span=span) == {"process_cpu": 30_000_000, "wall": 500_000_000}
    assert graphs(status, service="shop") == {"process_cpu": 60_000_000, "wall": 1_000_000_000}
    page = requests.get(f"http://127.0.0.1:{status.metrics}/metrics", timeout=10).text
    assert any(line.startswith("spanlink_cpu_seconds") and '"GET /order"' in line
               for line in page.splitlines())
    assert "wall time only" not in top("--once", "--endpoint", f"127.0.0.1:{status.page}").stdout
    assert status.stop() == 0, status.tail()


@pytest.mark.parametrize("types", [["cpu", "wall"], ["wall", "cpu"]])
def test_a_sample_may_have_cpu_or_wall_time_of_one_profile(tmp_path, types):
    """As those of .NET, whose period is 1 ns."""
    status, start = Status(tmp_path, correlation="hold: 1s"), time.time_ns()
    spans, pprof = [ids(1), ids(2)], uploads.Pprof(
        [(each, "nanoseconds") for each in types], ("cpu", "nanoseconds", 1))
    for (_, span), kind in zip(spans, ["cpu", "wall"]):
        for _ in range(3):
            pprof.sample([10_000_000 * (each == kind) for each in types], span_id=span)
    status.send(uploads.trace_request("shop", [(*each, start, start + 1, True) for each in spans]))
    status.push_raw("shop", pprof.encode(start - 10**9, 2 * 10**9), "wall")
    for (_, span), (cpu, wall) in zip(spans, [(30_000_000, 0), (0, 30_000_000)]):
        assert decided(status, span), status.tail()
        told = status.get("/api/spans/" + span)
        assert (told["decision"], told["samples"], told["cpu_ns"], told["wall_ns"]) == \
            ("linked", 3, cpu, wall), told
        drawn = status.get("/api/flamegraph", span=span)
        assert (drawn["total"], drawn["truncated"]) == (30_000_000, False), drawn
    assert sum(r["cpu_ns"] for r in status.get("/api/cost")["routes"]) == 30_000_000
    assert status.stop() == 0, status.tail()


@pytest.mark.parametrize("name, words", [
    ("process_cpu", "Only samples of CPU time name it"),
    ("memory", "Only samples of memory name it"),
    ("mutex", "Only samples of locks name it"),
])
def test_samples_that_do_not_confirm_are_drawn_and_told(tmp_path, name, words):
    status = Status(tmp_path, correlation="hold: 1s, confirm_by: [wall]")
    (trace, span), start = ids(1), time.time_ns()
    types = {"process_cpu": CPU, "memory": MEMORY,
             "mutex": [("contentions", "count"), ("delay", "nanoseconds")]}[name]
    status.send(uploads.trace_request("shop", [(trace, span, start, start + 1, True)]))
    push(status, name, types, [2, 700], span, start)
    assert decided(status, span), status.tail()
    told = status.get("/api/spans/" + span)
    assert told["decision"] != "linked" and words in told["text"] and told["fix"], told
    assert told["cpu_ns"] == (700 if name == "process_cpu" else 0)
    for whose in ({"span": span}, {"trace": trace}, {"service": "shop", "name": "GET /order"}):
        assert graphs(status, **whose) == {name: 700}, whose
        assert status.get("/api/flamegraph", **whose)["total"] in (2, 700)
    [row] = status.get("/api/traces")["traces"]
    assert words in row["why"]
    assert status.stop() == 0, status.tail()


def test_wall_time_alone_in_a_profile_of_cpu_time_is_drawn(tmp_path):
    status = Status(tmp_path)
    (trace, span), start = ids(1), time.time_ns()
    status.send(uploads.trace_request("shop", [(trace, span, start, start + 1, True)]))
    push(status, "process_cpu", [*CPU, WALL[1]], [0, 0, 80_000_000], span, start)
    assert decided(status, span), status.tail()
    told = status.get("/api/spans/" + span)
    assert told["wall_ns"] == 80_000_000 and "Only samples of wall time name it" in told["text"]
    for whose in ({"span": span}, {"trace": trace}):
        assert graphs(status, **whose)["process_cpu"] == 80_000_000, whose
    assert status.stop() == 0, status.tail()
