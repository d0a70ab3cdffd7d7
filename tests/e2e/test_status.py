"""The API of the extension status: real requests in, what a page would ask out, held against
docs/openapi.yaml and against the profiles that were sent."""
import base64
import fcntl
import gzip
import itertools
import json
import os
import pathlib
import pty
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import urllib.parse

import jsonschema
import openapi_spec_validator
import pytest
import requests
import yaml
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

import harness
import uploads
import wire

OPENAPI = harness.ROOT / "docs" / "openapi.yaml"
SERVICE = "shop <b>\"x\"</b>\n"
CONFIG = """\
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{http}"{receivers}}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}"{receivers}}}
processors: {{correlation: {{{correlation}}}{processors}}}
exporters: {{debug: {{verbosity: basic}}}}
extensions:
  status: {{endpoint: "127.0.0.1:{page}", keep_mib: {keep}}}
  bearertokenauth: {{token: s3cret}}
  basicauth: {{htpasswd: {{inline: "ann:pa:ss"}}}}
service:
  extensions: [status, bearertokenauth, basicauth{extensions}]
  telemetry: {{metrics: {{readers: [
    {{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {metrics}}}}}}}}}]}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [correlation], exporters: [debug]}}
    profiles: {{receivers: [pyroscope, otlp], processors: [correlation], exporters: [debug]}}
{pipelines}"""
STACKS = {"a": [("leaf", "work", "main"), ("work", "main")], "b": [("other", "main")]}


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


class Status(harness.Program):
    def __init__(self, folder, keep=16, more="", correlation="hold: 1s", receivers="",
                 processors="", pipelines="", journal=None):
        more += f"}}\n  journal: {{directory: {journal}" if journal else ""
        self.http, self.ingest, self.page, self.metrics = (harness.free_port() for _ in range(4))
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "status.yaml"
        config.write_text(CONFIG.format(http=self.http, ingest=self.ingest, page=self.page,
                                        metrics=self.metrics, keep=f"{keep}{more}",
                                        correlation=correlation, receivers=receivers,
                                        processors=processors, pipelines=pipelines,
                                        extensions=", journal" if journal else ""))
        super().__init__("spanlink", folder, [harness.SPANLINK, "--config", config])
        self.wait_ports(self.http, self.ingest, self.page, seconds=10)

    def url(self, path):
        return f"http://127.0.0.1:{self.page}{path}"

    def get(self, path, status=200, **parameters):
        query = urllib.parse.urlencode(parameters)
        answer = requests.get(self.url(path + ("?" + query if query else "")), timeout=30)
        assert answer.status_code == status, answer.text
        check(path, answer)
        return answer.json() if "json" in answer.headers["Content-Type"] else answer

    def send(self, body, **headers):
        answer = requests.post(f"http://127.0.0.1:{self.http}/v1/traces", body, timeout=10,
                               headers={"Content-Type": "application/x-protobuf", **headers})
        assert answer.status_code == 200, answer.text

    def push(self, service, pprof, start, length):
        self.push_raw(service, pprof.encode(start, length))

    def push_raw(self, service, raw, name="process_cpu", headers=None, **labels):
        raw = gzip.compress(raw, 1)
        body = uploads.push_request({"__name__": name, "service_name": service, **labels}, raw)
        answer = requests.post(f"http://127.0.0.1:{self.ingest}{uploads.PUSH}", body, timeout=10,
                               headers={"Content-Type": "application/proto", **(headers or {})})
        assert answer.status_code == 200, answer.text


def document():
    return yaml.safe_load(OPENAPI.read_text())


def once_each(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), keys
    return dict(pairs)


def beginnings(value):
    """Every list without what comes after its first 1000 elements: validation is slow."""
    if isinstance(value, list):
        return [beginnings(each) for each in value[:1000]]
    if isinstance(value, dict):
        return {key: beginnings(each) for key, each in value.items()}
    return value


def check(path, answer):
    """Every answer is as the document says, and no object has a key twice."""
    if "json" not in answer.headers["Content-Type"]:
        return
    json.loads(answer.text, object_pairs_hook=once_each)
    whole, parts = document(), path.split("/")
    for template, methods in whole["paths"].items():
        pattern = template.split("/")
        if len(pattern) == len(parts) and all(
                a == b or a.startswith("{") for a, b in zip(pattern, parts)):
            replies = methods["get"]["responses"]
            break
    else:
        return
    reply = replies[str(answer.status_code)]
    if "$ref" in reply:
        reply = whole["components"]["responses"][reply["$ref"].rsplit("/", 1)[1]]
    schema = reply["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": whole["components"]}).validate(
        beginnings(answer.json()))


def ids(number):
    return f"{number:032x}", f"{number + 0xabc0000000000000:016x}"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Two spans, of which one has samples, and their profile."""
    status = Status(tmp_path_factory.mktemp("status"))
    start = time.time_ns()
    harness.wait_for(lambda: time.time_ns() > start + 600_000_000, 2)
    (trace_a, span_a), (trace_b, span_b) = ids(1), ids(2)
    status.send(uploads.trace_request(SERVICE, [
        (trace_a, span_a, start, start + 500_000_000, True),
        (trace_b, span_b, start, start + 100_000_000, True)]))
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    for stack, value in zip(STACKS["a"], (30_000_000, 10_000_000)):
        pprof.sample([value // 10_000_000, value], stack, span_id=span_a)
    pprof.sample([5, 50_000_000], STACKS["b"][0])
    status.push(SERVICE, pprof, start - 1_000_000_000, 1_550_000_000)

    def decided():
        words = [status.get(f"/api/spans/{s}")["decision"] for s in (span_a, span_b)]
        return words if "waiting" not in words and "unknown" not in words else None
    words = harness.wait_for(decided, 30)
    assert words == ["linked", "not_linked"], status.tail()
    status.ids = trace_a, span_a, trace_b, span_b
    yield status
    assert status.stop() == 0, status.tail()


def test_the_document_is_openapi():
    openapi_spec_validator.validate(document())


def test_traces_are_listed_and_found(seen):
    trace_a, span_a, trace_b, _ = seen.ids
    rows = {row["trace_id"]: row for row in seen.get("/api/traces")["traces"]}
    assert set(rows) == {trace_a, trace_b}
    a, b = rows[trace_a], rows[trace_b]
    assert (a["service"], a["name"], a["linked"], a["why"]) == (SERVICE, "GET /order", True, None)
    assert (a["samples"], a["cpu_ns"], a["root_span_id"]) == (4, 40_000_000, span_a)
    assert a["root_seen"] and b["root_seen"]
    assert not b["linked"] and b["reason"] == "hold_ran_out"
    assert "none that names it came" in b["why"]

    def found(**query):
        return {row["trace_id"] for row in seen.get("/api/traces", **query)["traces"]}
    assert found(linked="true") == found(min_cpu="1ms") == found(min_duration="200ms") == {trace_a}
    assert found(linked="false") == found(trace_id=trace_b) == {trace_b}
    assert found(span_id=span_a) == {trace_a} and found(span_id="0123456789abcdef") == set()
    assert found(service=SERVICE) == found(name="GET *") == {trace_a, trace_b}
    assert found(service="none") == set()
    assert found(trace_id=trace_b[:31]) == found(trace_id=trace_b[:8]) == {trace_a, trace_b}
    assert found(trace_id="ffffffff") == set()
    first = seen.get("/api/traces", sort="cpu", limit=1)
    assert [row["trace_id"] for row in first["traces"]] == [trace_a] and first["kept"] == 2
    second = seen.get("/api/traces", sort="cpu", limit=1, page=first["next"])
    assert [row["trace_id"] for row in second["traces"]] == [trace_b] and not second["next"]


def test_the_sample_is_shown_in_a_terminal(seen):
    command = [sys.executable, harness.ROOT / "tools" / "show_sample.py", seen.url("")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[-1] == "1 of 2 requests have a profile; the SDK had marked all 2."
    assert any(line.endswith("40.0 ms CPU") and seen.ids[0][:16] in line for line in lines)
    assert any(re.fullmatch(r"   75\.0%  █+ +leaf", line) for line in lines), ran.stdout
    assert "\x1b" not in ran.stdout and 'x"</b>?' in ran.stdout
    seen_nobody = subprocess.run([*command[:-1], f"http://127.0.0.1:{harness.free_port()}"],
                                 capture_output=True, text=True, timeout=60)
    assert seen_nobody.returncode == 1 and seen_nobody.stderr == ""


def test_a_trace_has_its_spans(seen):
    trace_a, span_a, *_ = seen.ids
    trace = seen.get(f"/api/traces/{trace_a}")
    [span] = trace["spans"]
    assert span["span_id"] == span["profile_id"] == span_a and span["kind"] == "SERVER"
    assert (span["samples"], span["cpu_ns"], span["duration_ns"]) == (4, 40_000_000, 500_000_000)
    assert span["attributes"][harness.PROFILE_ID] == span_a and span["decision"] == "linked"
    assert span["resource"]["service.name"] == SERVICE


def test_a_span_says_why(seen):
    trace_a, span_a, _, span_b = seen.ids
    a, b = seen.get(f"/api/spans/{span_a}"), seen.get(f"/api/spans/{span_b}")
    assert (a["decision"], a["profile_id"], a["trace_id"]) == ("linked", span_a, trace_a)
    assert [w["holds_samples"] for w in a["windows"]] == [True]
    assert (b["decision"], b["reason"], b["service"]) == ("not_linked", "hold_ran_out", SERVICE)
    assert [w["holds_samples"] for w in b["windows"]] == [False]
    assert int(b["decided_unix_nano"]) > int(b["end_unix_nano"]) > int(b["start_unix_nano"])
    assert seen.get("/api/spans/0123456789abcdef")["decision"] == "unknown"


def tree(graph):
    """Self by stack, root first, from the nodes; totals are checked on the way."""
    nodes, names = graph["nodes"], graph["names"]
    paths, sums = [()], [0] * len(nodes)
    assert nodes[0][0] == -1 and nodes[0][2] == graph["total"]
    for parent, name, _, _ in nodes[1:]:
        paths.append(paths[parent] + (names[name],))
    for index in range(len(nodes) - 1, -1, -1):
        parent, _, total, self_value = nodes[index]
        assert total == self_value + sums[index]
        if parent >= 0:
            assert parent < index
            sums[parent] += total
    return {paths[i]: node[3] for i, node in enumerate(nodes) if node[3]}


A_TREE = {("main", "work", "leaf"): 30_000_000, ("main", "work"): 10_000_000}


@pytest.mark.parametrize("whose", ["span", "trace", "route"])
def test_a_flame_graph_has_the_samples_of_its_spans(seen, whose):
    trace_a, span_a, *_ = seen.ids
    query = {"span": {"span": span_a}, "trace": {"trace": trace_a},
             "route": {"service": SERVICE, "name": "GET /order", "from": "-5m"}}[whose]
    graph = seen.get("/api/flamegraph", **query)
    assert tree(graph) == A_TREE
    assert graph["type"] == "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
    assert (graph["unit"], graph["samples"], graph["truncated"]) == ("nanoseconds", 4, False)
    assert graph["spans"] == 1      # the route's other span has no samples
    counts = seen.get("/api/flamegraph", type="process_cpu:samples:count:cpu:nanoseconds", **query)
    assert counts["total"] == 4 and set(counts["types"]) == set(graph["types"])


def test_a_service_has_all_samples_in_every_format(seen, tmp_path):
    graph = seen.get("/api/flamegraph", service=SERVICE)
    whole = {**A_TREE, ("main", "other"): 50_000_000}
    assert tree(graph) == whole
    folded = seen.get("/api/flamegraph", service=SERVICE, format="folded").text
    assert {tuple(line.rsplit(" ", 1)[0].split(";")): int(line.rsplit(" ", 1)[1])
            for line in folded.splitlines()} == whole
    svg = seen.get("/api/flamegraph", service=SERVICE, format="svg")
    assert svg.headers["Content-Type"] == "image/svg+xml" and "<b>" not in svg.text
    answer = seen.get("/api/flamegraph", service=SERVICE, format="pprof")
    assert answer.headers["Content-Disposition"] == (
        'attachment; filename="shop_b_x_b_-cpu.pb.gz"')
    for query, name in (({"service": SERVICE, "name": "GET /order"}, "shop_b_x_b_-GET_order-cpu"),
                        ({"span": seen.ids[1]}, f"shop_b_x_b_-GET_order-{seen.ids[1]}-cpu"),
                        ({"trace": seen.ids[0]}, f"trace-{seen.ids[0]}-cpu")):
        for form, how, ending in (("pprof", "attachment", "pb.gz"), ("svg", "inline", "svg"),
                                  ("folded", "inline", "folded.txt")):
            told = seen.get("/api/flamegraph", format=form, **query).headers["Content-Disposition"]
            assert told == f'{how}; filename="{name}.{ending}"'
    file = tmp_path / "graph.pb.gz"
    file.write_bytes(answer.content)
    if shutil.which("go"):
        top = subprocess.run(["go", "tool", "pprof", "-top", "-unit=ms", file], text=True,
                             capture_output=True, timeout=120, check=True).stdout
        assert "of 90ms total" in top, top
    assert wire.Profile(answer.content).sums == {wire.CPU: 90_000_000}


def test_cost_by_route_is_told_as_metrics_too(seen):
    [route] = [r for r in seen.get("/api/cost")["routes"] if r["span_name"] == "GET /order"]
    assert (route["service"], route["cpu_ns"], route["spans"], route["linked"]) == (
        SERVICE, 40_000_000, 2, 1)
    assert sum(route["series"]) == 40_000_000 and route["cpu_known"] and route["wall_ns"] == 0
    page = requests.get(f"http://127.0.0.1:{seen.metrics}/metrics", timeout=10).text
    [none, line] = sorted(s for s in page.splitlines() if s.startswith("spanlink_cpu_seconds{"))
    assert 'span_name="GET /order"' in line and line.endswith(" 0.04")
    assert 'span_name="(no span)"' in none and none.endswith(" 0.05")


def test_cost_adds_up_to_the_flame_graph_of_the_service(seen):
    for query in ({}, {"from": "-5m"}):
        routes = {r["kind"]: r for r in seen.get("/api/cost", service=SERVICE, **query)["routes"]}
        none = routes["no_span"]
        assert set(routes) == {"route", "no_span"} and none["span_name"] == "(no span)"
        assert (none["cpu_ns"], none["samples"], none["cpu_known"]) == (50_000_000, 5, True)
        assert sum(none["series"]) == 50_000_000 and (none["spans"], none["linked"]) == (0, 0)
        assert sum(r["cpu_ns"] for r in routes.values()) == \
            seen.get("/api/flamegraph", service=SERVICE)["total"]


def push_cpu(status, service, start, samples, **labels):
    """Pushes a profile of so many samples of 10 ms for each span id; of no span for None."""
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    for span, count in samples.items():
        pprof.sample([count, count * 10_000_000], STACKS["a"][0],
                     **({"span_id": span} if span else {}))
    status.push_raw(service, pprof.encode(start - 10**9, 2 * 10**9), **labels)


def test_tenants_are_told_apart(tmp_path):
    status, start = Status(tmp_path, receivers=", include_metadata: true"), time.time_ns()
    for tenant, count in (("a", 100), ("b", 7)):
        (trace, span), headers = ids(count), {"X-Scope-OrgID": tenant}
        push_cpu(status, "pay", start, {span: count}, headers=headers)
        status.send(spans_of_service("pay", [(trace, span, "", start, 1000)], "GET /pay"), **headers)
    trace, span = ids(3)        # of a, and samples with its id in b
    status.send(spans_of_service("shop", [(trace, span, "", start, 1000)]),
                **{"X-Scope-OrgID": "a"})
    push_cpu(status, "shop", start, {span: 9}, headers={"X-Scope-OrgID": "b"})

    def told(path, rows):
        return {(r["service"], r["tenant"], r.get("span_name")): r["samples"]
                for r in status.get(path)[rows]}
    harness.wait_for(lambda: ("shop", "a", "GET /") in told("/api/cost", "routes"), 30)
    assert told("/api/cost", "routes") == {
        ("pay", "a", "GET /pay"): 100, ("pay", "b", "GET /pay"): 7, ("shop", "a", "GET /"): 0,
        ("shop", "b", "(no span)"): 9}
    assert told("/api/services", "services") == {
        ("pay", "a", None): 100, ("pay", "b", None): 7, ("shop", "a", None): 0,
        ("shop", "b", None): 9}
    each = status.get(f"/api/spans/{span}")
    assert (each["reason"], each["samples"], each["cpu_ns"]) == ("tenants_differ", 0, 0)
    assert each["text"] == "Samples with ids of spans of its service came from tenant \"b\", " \
        "but its spans are of tenant \"a\"."
    assert each["fix"] == "Give the profiler the X-Scope-OrgID of the exporter of the traces, \"a\"."
    [problem] = [service["problem"] for service in status.get("/api/services")["services"]
                 if service["problem"]]
    assert problem == {"text": each["text"], "fix": each["fix"]}
    assert "tenants_differ 1" in top("--once", "--endpoint", f"127.0.0.1:{status.page}").stdout
    page = requests.get(f"http://127.0.0.1:{status.metrics}/metrics", timeout=10).text
    cpu = [s.rsplit(" ", 1) for s in page.splitlines() if s.startswith("spanlink_cpu_seconds{")]
    assert sorted(value for series, value in cpu if "pay" in series) == ["0.07", "1"]
    assert len({series for series, _ in cpu}) == len(cpu)
    drawn = top("--once", "--endpoint", f"127.0.0.1:{status.page}").stdout
    assert "pay (a)" in drawn and "pay (b)" in drawn
    assert status.stop() == 0, status.tail()


@pytest.mark.parametrize("same_trace", [True, False])
def test_a_span_that_is_sent_to_two_tenants_is_linked_where_its_profiles_come(tmp_path, same_trace):
    status, start = Status(tmp_path, receivers=", include_metadata: true"), time.time_ns()
    (trace, span), other = ids(1), ids(1 if same_trace else 2)[0]
    for tenant, each in (("b", other), ("a", trace)):
        status.send(spans_of_service("shop", [(each, span, "", start, 1000)]),
                    **{"X-Scope-OrgID": tenant})
    push_cpu(status, "shop", start, {span: 4}, headers={"X-Scope-OrgID": "a"})
    told = harness.wait_for(lambda: (status.get("/api/traces", trace_id=other)["traces"] and
                                     status.get(f"/api/spans/{span}", trace_id=trace)), 30)
    assert (told["decision"], told["samples"], told["profile_id"]) == ("linked", 4, span)
    [row] = status.get("/api/traces", trace_id=trace)["traces"]
    assert (row["linked"], row["reason"], row["samples"]) == (True, None, 4)
    if not same_trace:
        told = status.get(f"/api/spans/{span}", trace_id=other)
        assert (told["decision"], told["samples"], told["profile_id"]) == ("as_came", 0, None)
        [row] = status.get("/api/traces", trace_id=other)["traces"]
        assert (row["linked"], row["samples"]) == (False, 0)
    assert status.stop() == 0, status.tail()


def test_a_span_that_waits_has_no_samples_of_another_tenant(tmp_path):
    status, start = Status(tmp_path, correlation="hold: 60s",
                           receivers=", include_metadata: true"), time.time_ns()
    trace, span = ids(1)
    status.send(spans_of_service("shop", [(trace, span, "", start, 1000)]),
                **{"X-Scope-OrgID": "a"})
    push_cpu(status, "shop", start, {span: 3}, headers={"X-Scope-OrgID": "b"})
    assert harness.wait_for(lambda: status.get("/api/cost")["routes"], 30), status.tail()
    told = status.get(f"/api/spans/{span}")
    assert (told["decision"], told["samples"], told["windows"]) == ("waiting", 0, [])
    push_cpu(status, "shop", start, {span: 2}, headers={"X-Scope-OrgID": "a"})
    told = harness.wait_for(lambda: (found := status.get(f"/api/spans/{span}"))["samples"] and found,
                            30)
    assert (told["decision"], told["samples"]) == ("linked", 2)
    assert status.stop() == 0, status.tail()


SECOND = """\
    traces/2: {{receivers: [otlp], processors: [{0}], exporters: [debug]}}
    profiles/2: {{receivers: [pyroscope, otlp], processors: [{0}], exporters: [debug]}}
"""


@pytest.mark.parametrize("second", ["correlation", "correlation/2"])
def test_what_two_pipelines_hand_on_counts_once(tmp_path, second):
    status, start = Status(
        tmp_path, processors=", correlation/2: {hold: 1s}" if "/" in second else "",
        pipelines=SECOND.format(second)), time.time_ns()
    (trace, span), (other, unlinked) = ids(1), ids(2)
    push_cpu(status, "shop", start, {span: 3, None: 4})
    spans = [(trace, span, "", start, 1000), (other, unlinked, "", start, 1000)]
    for _ in range(2):      # and sent twice
        status.send(spans_of_service("shop", spans))

    def decided():
        return [row for row in status.get("/api/traces", sort="cpu")["traces"]
                if status.get("/api/spans/" + row["root_span_id"])["decision"] != "waiting"]
    harness.wait_for(lambda: len(decided()) == 2, 30)
    harness.wait_for(lambda: sum(float(line.rsplit(" ", 1)[1]) for line in requests.get(
        f"http://127.0.0.1:{status.metrics}/metrics", timeout=10).text.splitlines()
        if line.startswith("spanlink_spans{")) == 8, 30)
    rows = harness.wait_for(lambda: len(rows := decided()) == 2 and rows, 10)
    assert [(r["spans"], r["linked_spans"], r["samples"]) for r in rows] == [(1, 1, 3), (1, 0, 0)]
    [service] = status.get("/api/services")["services"]
    assert (service["linked"], service["not_linked"], service["samples"]) == (1, 1, 3)
    assert sum(reason["count"] for reason in service["reasons"]) == 1
    assert {r["span_name"]: (r["samples"], r["spans"], r["linked"])
            for r in status.get("/api/cost")["routes"]} == {
                "GET /": (3, 2, 1), "(no span)": (4, 0, 0)}
    told = status.get("/api/spans/" + span)
    assert (told["samples"], len(told["windows"])) == (3, 1)
    assert [s["span_id"] for s in status.get("/api/traces/" + trace)["spans"]] == [span]
    assert status.get("/api/flamegraph", span=span)["samples"] == 3
    assert status.stop() == 0, status.tail()


def test_samples_of_spans_that_nobody_sent_are_unclaimed(tmp_path):
    """As of an SDK that samples spans, a worker thread, and a service without spans."""
    status, start = Status(tmp_path), time.time_ns()
    (trace, span), (_, never), (_, late) = ids(1), ids(2), ids(3)
    push_cpu(status, "shop", start, {span: 1, never: 2, late: 4, None: 8})
    push_cpu(status, "cron", start, {None: 16})

    def rows():
        return {(r["service"], r["span_name"]): r["samples"]
                for r in status.get("/api/cost")["routes"]}
    assert rows() == {("shop", "(no span)"): 15, ("cron", "(no span)"): 16}
    for name, each in (("first", span), ("late", late)):
        status.send(spans_of_service("shop", [(trace, each, "", start, 1000)], name))
    harness.wait_for(lambda: len(rows()) == 4, 10)
    assert rows() == {("shop", "first"): 1, ("shop", "late"): 4, ("shop", "(no span)"): 10,
                      ("cron", "(no span)"): 16}
    assert status.stop() == 0, status.tail()


def cost_of_order(answer):
    """The route GET /order of an answer, and the CPU time of its steps that have any, by their
    start."""
    [route] = [r for r in answer["routes"] if r["span_name"] == "GET /order"]
    start, step = int(answer["from_unix_nano"]), answer["step_ns"]
    return route, {start + i * step: cpu for i, cpu in enumerate(route["series"]) if cpu}


def test_cost_is_that_of_the_time_asked_for(seen):
    whole, whole_steps = cost_of_order(seen.get("/api/cost"))
    told = seen.get("/api/cost", **{"from": "-5m"})
    route, steps = cost_of_order(told)
    assert steps == whole_steps
    for key in ("cpu_ns", "wall_ns", "samples", "spans", "linked", "cpu_known"):
        assert route[key] == whole[key], key
    assert seen.get("/api/cost", to="-10m")["routes"] == []
    step, begin = int(told["step_ns"]), int(told["to_unix_nano"]) // int(told["step_ns"])
    assert whole["cpu_ns"] == sum(
        r["cpu_ns"] for i in range(begin - 30, begin) for r in seen.get(
            "/api/cost", **{"from": str(i * step), "to": str((i + 1) * step)})["routes"]
        if r["span_name"] == "GET /order")
    later = seen.get("/api/cost", **{"from": str(time.time_ns() + 10**10),
                                     "to": str(time.time_ns() + 10**12)})
    assert later["routes"] == [] and later["from_unix_nano"] == later["to_unix_nano"]
    old = seen.get("/api/cost", to="-3h")
    assert old["routes"] == [] and int(old["from_unix_nano"]) < int(old["to_unix_nano"])


def test_a_service_with_wall_time_only_does_not_look_free(tmp_path):
    status = Status(tmp_path)
    trace, span = ids(1)
    start = time.time_ns() - 2_000_000_000
    status.send(uploads.trace_request("node", [(trace, span, start, start + 500_000_000, True)]))
    pprof = uploads.Pprof([("samples", "count"), ("wall", "nanoseconds")])
    pprof.sample([3, 30_000_000], STACKS["a"][0], span_id=span)
    status.push_raw("node", pprof.encode(start - 1_000_000_000, 2_000_000_000), "wall")
    harness.wait_for(lambda: status.get(f"/api/spans/{span}")["decision"] == "linked", 30)
    [row] = harness.wait_for(lambda: status.get("/api/traces")["traces"], 10)
    [service] = status.get("/api/services")["services"]
    [route] = [r for r in status.get("/api/cost")["routes"] if r["span_name"]]
    [each] = status.get(f"/api/traces/{trace}")["spans"]
    for told in (row, service, route, each, status.get(f"/api/spans/{span}"),
                 status.get("/api/cost", **{"from": "-5m"})["routes"][0]):
        assert (told["cpu_known"], told["cpu_ns"], told["wall_ns"], told["samples"]) == (
            False, 0, 30_000_000, 3), told
    drawn = top("--once", "--endpoint", f"127.0.0.1:{status.page}").stdout
    assert "wall time only: 0.03 s, 100.0% of it" in drawn
    assert status.stop() == 0, status.tail()


def test_memory_in_use_is_not_added_up(tmp_path):
    status = Status(tmp_path)
    start = time.time_ns() - 60_000_000_000
    for number, (instance, space) in enumerate((("a", 9_000), ("b", 21_000), ("a", 7_000),
                                                ("b", 20_000))):
        pprof = uploads.Pprof([("alloc_space", "bytes"), ("inuse_space", "bytes")])
        pprof.sample([100, space], STACKS["a"][0])
        status.push_raw("shop", pprof.encode(start + number * 15_000_000_000, 0), "memory",
                        instance=instance)
    types = {t.split(":")[1]: t for t in harness.wait_for(
        lambda: status.get("/api/flamegraph", service="shop")["types"], 10)}
    in_use = status.get("/api/flamegraph", service="shop", type=types["inuse_space"])
    assert (in_use["total"], in_use["aggregation"], in_use["profiles"]) == (27_000, "last", 2)
    before = status.get("/api/flamegraph", service="shop", type=types["inuse_space"],
                        to=start + 20_000_000_000)
    assert (before["total"], before["profiles"]) == (30_000, 2)
    happened = status.get("/api/flamegraph", service="shop", type=types["alloc_space"])
    assert (happened["total"], happened["aggregation"], happened["profiles"]) == (400, "sum", 4)
    assert status.stop() == 0, status.tail()


def test_services_have_their_reasons(seen):
    [service] = seen.get("/api/services")["services"]
    assert (service["service"], service["linked"], service["not_linked"]) == (SERVICE, 1, 1)
    assert [(r["reason"], r["count"]) for r in service["reasons"]] == [("hold_ran_out", 1)]
    assert sum(step["linked"] for step in service["history"]) == 1


def test_a_reason_that_is_told_in_two_ways_is_counted_as_one(tmp_path):
    """What is told of spans that had no samples changes once samples without symbols came."""
    status, start = Status(tmp_path), time.time_ns()

    def pass_in_vain(first, count):
        status.send(uploads.trace_request("shop", [
            (*ids(number), start, start + 1000, True) for number in range(first, first + count)]))
        harness.wait_for(lambda: [service for service in status.get("/api/services")["services"]
                                  if service["not_linked"] == first - 1 + count], 30)
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([1, 10_000_000], span_id=ids(90)[1])
    status.push("shop", pprof, start - 2_000_000_000, 1_000_000_000)
    pass_in_vain(1, 3)
    pprof.sample([1, 10_000_000], (0x1000,), span_id=ids(91)[1])
    status.push("shop", pprof, start - 1_000_000_000, 1_000_000_000)
    pass_in_vain(4, 2)
    told = {status.get(f"/api/spans/{ids(number)[1]}")["text"] for number in (1, 4)}
    assert len(told) == 2, told
    [service] = status.get("/api/services")["services"]
    [reason] = service["reasons"]
    assert (reason["reason"], reason["count"]) == ("hold_ran_out", 5)
    assert reason["text"] == status.get(f"/api/spans/{ids(1)[1]}")["text"]
    assert sum(step["reasons"].get("hold_ran_out", 0) for step in service["history"]) == 5
    drawn = top("--once", "--endpoint", f"127.0.0.1:{status.page}").stdout
    assert drawn.count("hold_ran_out 5") == drawn.count("hold_ran_out") == 1, drawn
    assert status.stop() == 0, status.tail()


def test_a_service_has_the_reason_of_spans_that_other_kinds_name(tmp_path):
    status, start = Status(tmp_path), time.time_ns()
    spans = [ids(number) for number in range(1, 4)]
    push_cpu(status, "shop", start, {ids(9)[1]: 1})
    memory_of = uploads.Pprof([("alloc_space", "bytes")], ("space", "bytes", 524288))
    for _, span in spans:
        memory_of.sample([1000], span_id=span)
    status.push_raw("shop", memory_of.encode(start - 10**9, 2 * 10**9), "memory")
    status.send(uploads.trace_request("shop", [
        (trace, span, start, start + 1000, True) for trace, span in spans]))
    [service] = harness.wait_for(lambda: [each for each in status.get("/api/services")["services"]
                                          if each["not_linked"] == 3], 30)
    told = status.get(f"/api/spans/{spans[0][1]}")
    assert told["text"].startswith("Only samples of memory name it, and `confirm_by`")
    assert [(r["count"], r["text"], r["fix"]) for r in service["reasons"]] == [
        (3, told["text"], told["fix"])]
    assert "`confirm_by`" in told["fix"]
    assert status.stop() == 0, status.tail()


def test_pipelines_have_their_counters_and_the_configuration_no_secret(seen):
    told = seen.get("/api/pipelines")
    assert [p["name"] for p in told["pipelines"]] == ["traces", "profiles"]
    parts = {(c["kind"], c["id"]): c for c in told["components"]}
    assert parts["receiver", "otlp"]["counters"]["accepted"]["spans"] == 2
    assert parts["exporter", "debug"]["counters"]["sent"]["spans"] == 2
    assert parts["exporter", "debug"]["queue"]["capacity"] > 0 and told["uptime_ns"] > 0
    listens = {(part["id"], at["key"]): (at["host"], at["port"], at["tls"])
               for part in told["components"] for at in part["listens"]}
    assert listens["otlp", "protocols.http.endpoint"] == ("127.0.0.1", str(seen.http), False)
    assert listens["pyroscope", "endpoint"] == ("127.0.0.1", str(seen.ingest), False)
    for part in told["components"]:
        text = requests.get(seen.url(part["doc"]), timeout=10)
        assert text.headers["Content-Type"].startswith("text/plain"), part
        assert text.text.startswith(f"  {part['id']}") and text.status_code == 200
    config = seen.get("/api/config")
    assert "keep_mib: 16" in config["yaml"] and "s3cret" not in json.dumps(config)
    defaults = {d["path"]: d["value"] for d in config["defaults"]}
    assert defaults["processors.correlation.link"] == "confirmed"
    assert "processors.correlation.hold" not in defaults


def test_wrong_requests_get_a_sentence(seen):
    for path, status in (("/api/traces/xyz", 400), (f"/api/traces/{9:032x}", 404),
                         ("/api/spans/12", 400), ("/api/flamegraph", 400),
                         ("/api/flamegraph?span=0123456789abcdef", 404),
                         ("/api/traces?limit=0", 400), ("/api/traces?colour=red", 400),
                         ("/api/flamegraph?service=a&format=png", 400), ("/api/nothing", 404),
                         ("/docs/receivers/nothing", 404), ("/docs/otlp", 404)):
        answer = requests.get(seen.url(path), timeout=10)
        assert answer.status_code == status, path
        assert answer.json()["error"]
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = requests.request(method, seen.url("/api/traces"), timeout=10)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert requests.head(seen.url("/"), timeout=10).status_code == 200


@pytest.mark.parametrize("path, words", [
    ("/?x=1", 'unknown parameter "x": there are none here'),
    ("/app.js?x=1", "there are none here"), ("/docs/receivers/otlp?x=1", "there are none here"),
    ("/api/services?x=1", "there are none here"), ("/api/config?x=1", "there are none here"),
    ("/api/pipelines?x=1", "there are none here"),
    ("/api/cost?x=1", 'unknown parameter "x": expected from, to or service'),
    ("/api/cost?from=-5m&to=-6m", "from: expected a time that is not after `to`"),
    ("/api/flamegraph?service=a&from=-5m&to=-6m", "from: expected a time that is not after `to`"),
    ("/api/cost?from=-5", "from: expected unix nanoseconds"),
    ("/api/cost?to=soon", "to: expected unix nanoseconds"),
    ("/api/flamegraph?span=0123456789abcdef&from=-5m", "from: expected together with service"),
    (f"/api/flamegraph?trace={9:032x}&to=now", "to: expected together with service"),
    ("/api/flamegraph?span=0123456789abcdef&name=a", "name: expected together with service"),
    ("/api/traces?min_duration=3", "min_duration: expected a number with ns, us, ms, s, m or h"),
    ("/api/traces?min_cpu=3", "min_cpu: expected a number with ns, us, ms, s, m or h"),
    ("/api/traces?limit=%2B5", "limit: expected a number from 1 to 10000"),
    ("/api/traces?limit=5&limit=6", "the parameter limit is given twice"),
    ("/api/traces?page=1-2x", "page: expected the value of `next`"),
    ("/api/traces?trace_id=", "trace_id: expected a value"),
    ("/api/traces?linked=true&span_id", "span_id: expected a value"),
    ("/api/flamegraph?service=a&trace=", "trace: expected a value"),
    ("/api/flamegraph?service=a&type=bogus", "type: expected name:type:unit:period_type"),
    ("/api/spans/0123456789abcdef?trace_id=1", "trace_id: expected 32 hex digits"),
    ("/api/traces?" + "&".join(f"a{i}=1" for i in range(2000)), 'unknown parameter "a0"'),
])
def test_a_wrong_parameter_is_named(seen, path, words):
    answer = requests.get(seen.url(path), timeout=10)
    assert answer.status_code == 400 and words in answer.json()["error"], answer.text


def test_pages_of_other_sites_cannot_read_it(seen):
    for headers in ({"Host": "rebound.example"}, {"Host": f"rebound.example:{seen.page}"},
                    {"Host": "localhost:x"}, {"Host": "localhost:65536"}, {"Host": "[::1]x"},
                    {"Host": "127.0.0.1:1:2"},
                    {"Origin": "http://rebound.example"}, {"Origin": "null"},
                    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
                    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}):
        for path in ("/", "/api/traces"):
            answer = requests.get(seen.url(path), headers=headers, timeout=10)
            bad = 400 if headers.get("Host", "")[-1:] in ("x", "2") else 403
            assert answer.status_code in (bad, 403) and SERVICE not in answer.text
            assert "Access-Control-Allow-Origin" not in answer.headers
    for host in (f"localhost:{seen.page}", "127.0.0.1", "[::1]:1"):
        answer = requests.get(seen.url("/"), headers={"Host": host}, timeout=10)
        assert answer.status_code == 200
        assert answer.headers["Content-Security-Policy"] == (
            "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    own = {"Origin": f"http://127.0.0.1:{seen.page}", "Sec-Fetch-Site": "same-origin"}
    assert requests.get(seen.url("/api/traces"), headers=own, timeout=10).status_code == 200
    with socket.create_connection(("127.0.0.1", seen.page)) as two:
        two.sendall(f"GET /api/traces HTTP/1.1\r\nHost: 127.0.0.1:{seen.page}\r\nOrigin: "
                    f"{own['Origin']}\r\nOrigin: http://rebound.example\r\n\r\n".encode())
        assert two.recv(12) == b"HTTP/1.1 403"
    for head in ("GET http://rebound.example/api/traces HTTP/1.1\r\nHost: localhost\r\n",
                 "GET /api/traces HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\n"
                 "Sec-Fetch-Site: cross-site\r\n"):
        with socket.create_connection(("127.0.0.1", seen.page)) as other:
            other.sendall(f"{head}\r\n".encode())
            assert other.recv(12) == b"HTTP/1.1 403"
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert requests.get(seen.url("/"), headers=followed, timeout=10).status_code == 200


def test_spans_of_two_services_with_one_id_are_told_apart(tmp_path):
    """As a client's and a server's span with a shared id, in one trace; only one has samples."""
    status, (trace, span), start = Status(tmp_path), ids(1), time.time_ns() - 2_000_000_000
    for service in ("front", "back"):
        status.send(uploads.trace_request(service, [(trace, span, start, start + 10**9, True)]))
        pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
        named = {"span_id": span} if service == "back" else {}
        pprof.sample([2, 20_000_000], STACKS["a"][0], **named)
        status.push(service, pprof, start - 10**9, 3 * 10**9)

    def told(service):
        return status.get(f"/api/spans/{span}", service=service)
    assert harness.wait_for(lambda: [told(s)["decision"] for s in ("back", "front")]
                            == ["linked", "as_came"], 30)   # it began before spanlink did
    front, back = told("front"), told("back")
    assert (front["samples"], back["samples"]) == (0, 2), (front, back)
    assert front["reason"] != "names_differ"
    assert [each["service"] for each in front["same_id"]] == ["back"]
    assert [w["holds_samples"] for w in front["windows"]] == [False]
    assert status.get(f"/api/spans/{span}")["service"] == "back"
    rows = {each["service"]: each for each in status.get(f"/api/traces/{trace}")["spans"]}
    assert {s: each["decision"] for s, each in rows.items()} == {
        "back": "linked", "front": "as_came"}
    assert (rows["front"]["samples"], rows["back"]["samples"]) == (0, 2)
    assert status.get("/api/flamegraph", span=span, service="back")["total"] == 20_000_000
    assert status.get("/api/flamegraph", span=span, service="front")["total"] == 0
    assert status.stop() == 0


def test_the_windows_nearest_to_a_span_are_shown(tmp_path):
    status, (trace, span), now = Status(tmp_path), ids(1), time.time_ns()
    status.send(uploads.trace_request("many", [(trace, span, now - 5 * 10**9, now, True)]))
    for second in range(50, 0, -1):
        pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
        named = {"span_id": span} if second in (2, 4) else {}
        pprof.sample([1, 10_000_000], STACKS["a"][0], **named)
        status.push("many", pprof, now - second * 10**9, 10**9)
    harness.wait_for(lambda: status.get(f"/api/spans/{span}")["decision"] == "linked", 30)
    windows = status.get(f"/api/spans/{span}")["windows"]
    first = [(now - int(w["from_unix_nano"])) // 10**9 for w in windows]
    assert first == list(range(32, 0, -1))
    assert [s for s, w in zip(first, windows) if w["holds_samples"]] == [4, 2]
    assert status.stop() == 0


def test_java_and_text_formats_are_drawn_too(tmp_path):
    status = Status(tmp_path)
    folder = harness.ROOT / "tests" / "recorded" / "java"
    recording = json.loads((folder / "index.json").read_text())["requests"]
    now = int(time.time())
    for request in recording:
        if "/ingest" in request["path"]:
            path = re.sub(r"from=\d+&until=\d+", f"from={now - 10}&until={now}", request["path"])
            answer = requests.post(f"http://127.0.0.1:{status.ingest}{path}",
                                   (folder / request["file"]).read_bytes(), timeout=10,
                                   headers=dict(request["headers"]))
            assert answer.status_code == 200, answer.text
    graph = status.get("/api/flamegraph", service="rideshare")
    stacks = tree(graph)
    assert graph["total"] == graph["samples"] * 10_000_000 == sum(stacks.values()) > 0
    assert not graph["truncated"] and any("Rides." in s[-1] for s in stacks)
    answer = requests.post(
        f"http://127.0.0.1:{status.ingest}/ingest", b"main;work 3\nmain 1\n", timeout=10,
        params={"name": "folded.cpu{service_name=text}", "from": str(now - 10), "until": str(now)})
    assert answer.status_code == 200, answer.text
    assert tree(status.get("/api/flamegraph", service="text")) == {
        ("main", "work"): 30_000_000, ("main",): 10_000_000}
    frames = {"frames": [{"name": "main"}, {"name": "work"}]}
    scope = {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": frames,
             "profiles": [{"type": "sampled", "name": "", "unit": "milliseconds", "startValue": 0,
                           "endValue": 40, "samples": [[0, 1], [0]], "weights": [30, 10]}]}
    for form, body in (("trie", b"\0\0\x01\x04main\x01\x01\x05;work\x03\0"),
                       ("tree", b"\0\0\x01\x04main\x01\x01\x04work\x03\0"),
                       ("speedscope", json.dumps(scope))):
        answer = requests.post(
            f"http://127.0.0.1:{status.ingest}/ingest", body, timeout=10,
            params={"name": f"x.cpu{{service_name={form}}}", "format": form,
                    "from": str(now - 10), "until": str(now)})
        assert answer.status_code == 200, answer.text
        graph = status.get("/api/flamegraph", service=form)
        assert tree(graph) == {("main", "work"): 30_000_000, ("main",): 10_000_000}, form
        assert not graph["truncated"]
    assert status.stop() == 0


def test_samples_are_those_that_the_profiler_took(tmp_path):
    """Of OTLP the values or times of samples/count; of a pprof without it, its periods."""
    status = Status(tmp_path)
    (trace_a, span_a), (trace_b, span_b) = ids(1), ids(2)
    start = time.time_ns()
    status.send(uploads.trace_request("ebpf", [(trace_a, span_a, start, start + 1, True)]))
    status.send(uploads.trace_request("python", [(trace_b, span_b, start, start + 1, True)]))
    ebpf = uploads.Ebpf("ebpf").sample("f", [start, start + 1, start + 2], trace_a, span_a)
    answer = requests.post(f"http://127.0.0.1:{status.http}/v1development/profiles",
                           ebpf.encode(start - 10**9, 2 * 10**9), timeout=10,
                           headers={"Content-Type": "application/x-protobuf"})
    assert answer.status_code == 200, answer.text
    pprof = uploads.Pprof([("cpu", "nanoseconds")])
    for stack in STACKS["a"]:
        pprof.sample([20_000_000], stack, span_id=span_b)
    status.push("python", pprof, start - 10**9, 2 * 10**9)
    for trace, span, taken in ((trace_a, span_a, 3), (trace_b, span_b, 4)):
        assert harness.wait_for(
            lambda: status.get("/api/spans/" + span)["decision"] == "linked", 20), status.tail()
        [row] = status.get("/api/traces", trace_id=trace)["traces"]
        [each] = status.get("/api/traces/" + trace)["spans"]
        graph = status.get("/api/flamegraph", span=span)
        assert row["samples"] == each["samples"] == graph["samples"] == taken
    routes = {r["service"]: r["samples"] for r in status.get("/api/cost")["routes"]}
    assert routes == {"ebpf": 3, "python": 4}
    services = {s["service"]: s["samples"] for s in status.get("/api/services")["services"]}
    assert services == routes and status.stop() == 0


@pytest.mark.parametrize("order", ["cw", "wc", "both"])
def test_wall_time_counts_beside_cpu_time_in_any_order(tmp_path, order):
    """In profiles of their own, also repeated; or in one, whose wall samples have no CPU time."""
    status, (trace, span), start = Status(tmp_path), ids(1), time.time_ns()
    status.send(uploads.trace_request("shop", [(trace, span, start, start + 1, True)]))

    def push(types, values, name):
        pprof = uploads.Pprof(types)
        for stack, value in zip(STACKS["a"], values):
            pprof.sample(value, stack, span_id=span)
        for _ in range(2):
            status.push_raw("shop", pprof.encode(start - 10**9, 2 * 10**9), name)
    cpu, wall = ("cpu", "milliseconds"), ("wall", "nanoseconds")
    for each in order if order != "both" else "b":
        if each == "c":
            push([cpu], [[20], [10]], "process_cpu")
        elif each == "w":
            push([wall], [[200_000_000], [30_000_000]], "wall")
        else:
            push([cpu, wall], [[30, 0], [0, 230_000_000]], "process_cpu")
    assert harness.wait_for(
        lambda: status.get("/api/spans/" + span)["decision"] == "linked", 20), status.tail()
    told = status.get("/api/spans/" + span)
    [row] = status.get("/api/traces")["traces"]
    [route] = status.get("/api/cost")["routes"]
    [service] = status.get("/api/services")["services"]
    for each in (told, row, route, service):
        assert (each["cpu_ns"], each["wall_ns"], each["cpu_known"]) == \
            (30_000_000, 230_000_000, True), each
    assert told["samples"] == row["samples"] == route["samples"] == service["samples"]
    graph = status.get("/api/flamegraph", span=span, type=next(
        t for t in status.get("/api/flamegraph", span=span)["types"] if ":wall:" in t))
    assert graph["total"] == 230_000_000
    assert status.stop() == 0, status.tail()


def test_profiles_of_any_kind_are_profiles(tmp_path):
    status, start = Status(tmp_path), time.time_ns()
    pprof = uploads.Pprof([("inuse_space", "bytes")])
    pprof.sample([1000], STACKS["a"][0])
    status.push_raw("heap", pprof.encode(start - 10**9, 10**9), "memory")
    answer = requests.post(
        f"http://127.0.0.1:{status.ingest}/ingest", b"main;work 3\n", timeout=10,
        params={"name": "x.cpu{service_name=text}", "from": str(start // 10**9 - 10),
                "until": str(start // 10**9)})
    assert answer.status_code == 200, answer.text
    services = {each["service"]: each for each in status.get("/api/services")["services"]}
    for name in ("heap", "text"):
        assert services[name]["has_profiles"] and services[name]["profiles"]["last_unix_nano"]
    assert status.stop() == 0, status.tail()


def top(*arguments, **environment):
    return subprocess.run([harness.SPANLINK, "top", *arguments], text=True, timeout=30,
                          capture_output=True, env={**os.environ, **environment})


def test_a_child_is_told_of_profiles_without_span_ids(tmp_path):
    status = Status(tmp_path)
    (trace, root), (_, child) = ids(1), ids(2)

    def told(number=1):
        """What is told of the root before, after one more and a profile of its time."""
        end, length = time.time_ns(), 200_000_000
        status.send(uploads.trace_request("bare", [
            (*ids(number), end - length // 2, end - length // 4, False)]))
        pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
        pprof.sample([20, length], STACKS["a"][0])
        status.push("bare", pprof, end - length, length)
        answer = status.get(f"/api/spans/{ids(number - 1)[1]}")
        return answer if answer["reason"] == "no_ids" else None
    begin = time.time_ns()
    harness.wait_for(lambda: time.time_ns() > begin + 300_000_000, 5)
    told()
    status.send(uploads.trace_request("bare", [(trace, child, begin, begin + 1, False)], parent=root))
    numbers = iter(range(10, 1000))
    of_root = harness.wait_for(lambda: told(next(numbers)), 120)
    of_child = status.get(f"/api/spans/{child}")
    assert of_child["reason"] == "no_local_root" and of_root["fix"], (of_child, of_root)
    assert "no sample of its service names a span" in of_child["text"], of_child
    assert of_child["fix"] == of_root["fix"], of_child
    assert status.stop() == 0, status.tail()


def test_top_draws_it_as_text(seen):
    ended = top("--once", "--endpoint", f"127.0.0.1:{seen.page}")
    assert ended.returncode == 0 and "\033" not in ended.stdout, ended.stderr
    assert "otlp > correlation > debug" in ended.stdout
    assert "GET /order" in ended.stdout and "hold_ran_out 1" in ended.stdout
    assert ended.stdout.count("shop <b>") == 3       # a line each, whatever is in the name
    dead = top("--once", "--endpoint", f"127.0.0.1:{harness.free_port()}")
    assert dead.returncode == 1 and "spanlink: top: " in dead.stderr
    assert "with the extension status" in dead.stderr


@pytest.mark.parametrize("endpoint, words", [
    ("localhost.invalid", "connect to localhost.invalid:13134: "),
    ("[::1]:99999", '"[::1]:99999" has no port from 0 to 65535'),
    ("a b", "has an invalid host"), ("ftp://a", '"ftp://a" is a URL'),
    ("http://", '"http://" has no host'), ("", '"" is empty')])
def test_top_says_what_is_wrong_with_an_endpoint(endpoint, words):
    ended = top("--once", "--endpoint", endpoint)
    assert ended.returncode == 1 and words in ended.stderr, ended.stderr


@pytest.mark.parametrize("by", ["basicauth", "bearertokenauth"])
def test_top_gives_the_credentials_that_auth_takes(tmp_path, by):
    status = Status(tmp_path / "run", more=f", auth: {{authenticator: {by}}}")
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    basic = by == "basicauth"
    right.write_text("pa:ss\n" if basic else "s3cret\n")
    wrong.write_text("x")
    at = ["--once", "--endpoint", f"127.0.0.1:{status.page}", *(["--username=ann"] * basic)]
    file, variable = (("--password-file", "SPANLINK_PASSWORD") if basic
                      else ("--token-file", "SPANLINK_TOKEN"))
    assert "COST BY ROUTE" in top(*at, file, str(right)).stdout
    assert "COST BY ROUTE" in top(*at, **{variable: right.read_text().strip()}).stdout
    denied = top(*at, file, str(wrong))
    assert denied.returncode == 1 and "HTTP 401" in denied.stderr
    assert file in denied.stderr and "wrong" in denied.stderr
    missing = top(*at[:3])
    assert "credentials are required" in missing.stderr and file in missing.stderr
    absent = top(*at, file, str(tmp_path / "absent"))
    assert "absent: cannot be read" in absent.stderr
    assert status.stop() == 0


def test_names_differ_for_the_spans_without_samples_too(tmp_path):
    """The page, `top`, and the metric name the same reason for all spans of the service."""
    status, start = Status(tmp_path), time.time_ns()
    spans = [ids(number) for number in (1, 2, 3)]
    status.send(uploads.trace_request("billing", [
        (*each, start, start + 500_000_000, True) for each in spans]))
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([4, 40_000_000], span_id=spans[0][1])
    status.push("wrong", pprof, start - 1_000_000_000, 1_550_000_000)

    def decided():
        services = {each["service"]: each for each in status.get("/api/services")["services"]}
        billing = services.get("billing")
        return billing if billing and billing["not_linked"] == 3 else None
    service = harness.wait_for(decided, 30)
    assert [(r["reason"], r["count"]) for r in service["reasons"]] == [("names_differ", 3)]
    assert sum(step["reasons"].get("names_differ", 0) for step in service["history"]) == 3
    told = status.get(f"/api/spans/{spans[1][1]}")
    assert (told["reason"], told["samples"]) == ("names_differ", 0)
    assert 'ids of other spans of its service came under "wrong"' in told["text"]
    assert told["fix"] == service["unmatched_fix"]
    assert "names_differ 3" in top("--once", "--endpoint", f"127.0.0.1:{status.page}").stdout
    counted = requests.get(f"http://127.0.0.1:{status.metrics}/metrics", timeout=10).text
    lines = [line for line in counted.splitlines()
             if line.startswith("spanlink_spans") and 'service="billing"' in line]
    assert len(lines) == 1 and 'reason="names_differ"' in lines[0] and lines[0].endswith(" 3")
    assert status.stop() == 0, status.tail()


@pytest.mark.parametrize("first", ["samples", "span"])
def test_samples_under_another_service_name_link_nothing_and_say_so(tmp_path, first):
    """The SDK marked the span, and its samples came, but under the name of another service."""
    status = Status(tmp_path)
    start, (trace, span) = time.time_ns(), ids(1)
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([4, 40_000_000], span_id=span)
    request = uploads.trace_request("billing", [(trace, span, start, start + 500_000_000, True)])
    if first == "span":
        status.send(request)
    status.push("billing-worker", pprof, start - 1_000_000_000, 1_550_000_000)
    if first == "samples":
        status.send(request)

    def decided():
        told = status.get(f"/api/spans/{span}")
        return told if told["samples"] and told["trace_id"] else None
    told = harness.wait_for(decided, 30)
    assert (told["reason"], told["service"]) == ("names_differ", "billing")
    assert '"billing"' in told["text"] and '"billing-worker"' in told["text"]
    assert '"billing" (its application name)' in told["fix"]
    assert "OTEL_SERVICE_NAME=billing-worker, unless the code sets service.name itself)" in told["fix"]
    [row] = status.get("/api/traces")["traces"]
    assert (row["linked"], row["linked_spans"], row["reason"]) == (False, 0, "names_differ")
    assert row["why"] == told["text"]
    assert status.get("/api/traces", linked="true")["traces"] == []
    assert len(status.get("/api/traces", linked="false")["traces"]) == 1
    [shown] = status.get(f"/api/traces/{trace}")["spans"]
    assert (shown["decision"], shown["reason"]) == (told["decision"], "names_differ")
    services = {each["service"]: each for each in status.get("/api/services")["services"]}
    assert (services["billing"]["linked"], services["billing"]["not_linked"]) == (0, 1)
    assert services["billing"]["profile_services_unmatched"] == ["billing-worker"]
    assert services["billing-worker"]["profile_services_unmatched"] == []
    assert services["billing"]["unmatched_fix"] == told["fix"]
    assert status.get("/why").url == status.url("/#/why")
    assert [(r["reason"], r["count"]) for r in services["billing"]["reasons"]] == \
        [("names_differ", 1)]
    assert sum(step["reasons"].get("names_differ", 0)
               for step in services["billing"]["history"]) == 1
    routes = {(r["service"], r["span_name"]): r for r in status.get("/api/cost")["routes"]}
    assert (routes["billing", "GET /order"]["spans"], routes["billing", "GET /order"]["linked"]) \
        == (1, 0)
    assert routes["billing", "GET /order"]["cpu_ns"] == row["cpu_ns"] == 40_000_000
    assert routes["billing", "GET /order"]["samples"] == row["samples"] == 4
    assert routes["billing", "GET /order"]["cpu_known"]
    for asked in ({"trace": trace}, {"service": "billing", "name": "GET /order"}, {"span": span}):
        assert status.get("/api/flamegraph", **asked)["total"] == 40_000_000, asked
    assert status.stop() == 0, status.tail()


def test_a_child_whose_samples_came_after_it_counts_everywhere(tmp_path):
    """As the children of the first seconds of a service whose SDK labels every span."""
    status, start = Status(tmp_path), time.time_ns()
    (trace, root), (_, child) = ids(1), ids(2)
    request = uploads.trace_request("shop", [(trace, root, start, start + 10**9, True)])
    body = trace_service_pb2.ExportTraceServiceRequest.FromString(request)
    spans = body.resource_spans[0].scope_spans[0].spans
    spans.add().CopyFrom(spans[0])
    spans[1].span_id, spans[1].parent_span_id = bytes.fromhex(child), bytes.fromhex(root)
    spans[1].name = "query"
    del spans[1].attributes[:]
    status.send(body.SerializeToString())
    harness.wait_for(lambda: status.get(f"/api/spans/{root}")["decision"] == "as_came", 30)
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([2, 20_000_000], STACKS["a"][0], span_id=child)
    pprof.sample([3, 30_000_000], STACKS["a"][0], span_id=root)
    status.push("shop", pprof, start, 10**9)
    told = harness.wait_for(lambda: (told := status.get(f"/api/spans/{child}"))["samples"] and told,
                            10)
    assert (told["decision"], told["reason"]) == ("as_came", "before_first_profile")
    [row] = status.get("/api/traces")["traces"]
    routes = {r["span_name"]: r["cpu_ns"] for r in status.get("/api/cost")["routes"]}
    assert (row["cpu_ns"], routes) == (50_000_000, {"GET /order": 30_000_000, "query": 20_000_000})
    assert status.get("/api/flamegraph", trace=trace)["total"] == 50_000_000
    assert status.get("/api/flamegraph", service="shop", name="query")["total"] == 20_000_000
    assert status.stop() == 0, status.tail()


@pytest.mark.parametrize("link", ["local_root", "all"])
@pytest.mark.parametrize("first", ["samples", "spans"])
def test_figures_do_not_depend_on_how_spans_are_linked(tmp_path, link, first):
    """A local root and its child, both with samples, and a span of a service without profiles."""
    status, start = Status(tmp_path, correlation=f"link: {link}"), time.time_ns()
    (trace, root), (_, child), (lone, idle) = ids(1), ids(2), ids(3)
    request = uploads.trace_request("shop", [(trace, root, start, start + 10**9, False)])
    body = trace_service_pb2.ExportTraceServiceRequest.FromString(request)
    spans = body.resource_spans[0].scope_spans[0].spans
    spans.add().CopyFrom(spans[0])
    spans[1].span_id, spans[1].parent_span_id = bytes.fromhex(child), bytes.fromhex(root)
    spans[1].name, spans[1].kind = "query", 1  # internal: no local root
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([2, 20_000_000], STACKS["a"][0], span_id=child)
    pprof.sample([3, 30_000_000], STACKS["a"][0], span_id=root)

    def send():
        status.send(body.SerializeToString())
        status.send(uploads.trace_request("till", [(lone, idle, start, start + 10**9, False)]))
    if first == "spans":
        send()
    status.push("shop", pprof, start, 10**9)
    if first == "samples":
        send()

    def rows():
        found = {r["trace_id"]: r["cpu_ns"] for r in status.get("/api/traces")["traces"]}
        return found.get(trace) == 50_000_000 and found
    assert harness.wait_for(rows, 20) == {trace: 50_000_000, lone: 0}
    told = {id: status.get(f"/api/spans/{id}") for id in (root, child, idle)}
    figures = [(each["samples"], each["cpu_ns"], each["cpu_known"]) for each in told.values()]
    assert figures == [(3, 30_000_000, True), (2, 20_000_000, True), (0, 0, False)]
    assert told[root]["decision"] == told[idle]["decision"] == "linked"
    assert told[root]["text"] == "A sample that names it has arrived."
    assert told[idle]["text"].endswith("no sample that names it has arrived.")
    assert told[child]["decision"] == ("linked" if link == "all" else "as_came")
    routes = {r["span_name"]: r["cpu_ns"] for r in status.get("/api/cost")["routes"]
              if r["service"] == "shop"}
    assert routes == {"GET /order": 30_000_000, "query": 20_000_000}
    services = {s["service"]: s["cpu_ns"] for s in status.get("/api/services")["services"]}
    assert services["shop"] == 50_000_000
    assert status.get("/api/flamegraph", trace=trace)["total"] == 50_000_000
    assert status.get("/api/flamegraph", span=child)["total"] == 20_000_000
    assert status.get("/api/flamegraph", service="shop", name="query")["total"] == 20_000_000
    assert status.stop() == 0, status.tail()


def test_a_name_is_advised_only_where_samples_show_it(tmp_path):
    """A service without a profiler, beside profiles of spans that nobody sent."""
    status = Status(tmp_path)
    start, (trace, span), (_, other) = time.time_ns(), ids(1), ids(2)
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([4, 40_000_000], span_id=other)
    status.push("legacy-profiler", pprof, start - 1_000_000_000, 1_000_000_000)
    status.send(uploads.trace_request("bare", [(trace, span, start, start + 1, True)]))
    assert harness.wait_for(
        lambda: status.get(f"/api/spans/{span}")["decision"] == "as_came", 60), status.tail()
    services = {each["service"]: each for each in status.get("/api/services")["services"]}
    assert services["bare"]["profile_services_unmatched"] == []
    assert services["bare"]["profiles"]["last_unix_nano"] is None
    assert int(services["legacy-profiler"]["profiles"]["last_unix_nano"]) > start
    assert [r["reason"] for r in services["bare"]["reasons"]] == ["not_profiled"]
    assert status.stop() == 0, status.tail()


def test_profiles_far_from_their_spans_are_told(tmp_path):
    """The profiler's clock is five minutes off: the link opens nothing in Grafana."""
    status = Status(tmp_path)
    start, (trace, span) = time.time_ns(), ids(1)
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([4, 40_000_000], span_id=span)
    status.push("shop", pprof, start - 310_000_000_000, 10_000_000_000)
    status.send(uploads.trace_request("shop", [(trace, span, start, start + 1000, True)]))
    told = harness.wait_for(lambda: (lambda t: t if t["trace_id"] else None)(
        status.get(f"/api/spans/{span}")), 20)
    assert told["decision"] == "linked" and "300 s before the span" in told["text"]
    assert "clock" in told["fix"]
    [service] = status.get("/api/services")["services"]
    assert service["profiles"]["linked_out_of_reach"] == 1
    assert -302e9 < service["profiles"]["out_of_reach_ns"] < -299e9
    assert status.stop() == 0, status.tail()


def test_a_span_of_the_future_is_not_said_to_have_had_its_profiles(tmp_path):
    status = Status(tmp_path)
    start = time.time_ns()
    (trace, span), (_, linked) = ids(1), ids(2)
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([4, 40_000_000], span_id=linked)
    status.push("shop", pprof, start - 1_000_000_000, 1_000_000_000)
    status.send(uploads.trace_request("shop", [(trace, span, start + int(7200e9),
                                                start + int(7201e9), True)]))
    status.push("shop", pprof, start, 1_000_000_000)
    told = harness.wait_for(lambda: (lambda t: t if t["trace_id"] else None)(
        status.get(f"/api/spans/{span}")), 30)
    assert told["reason"] in ("no_sample", "hold_ran_out"), told
    assert re.match(r"By its own time it ends 7[12]\d\d s after", told["text"]), told
    assert told["fix"] == "Set the clock of its host."
    assert status.stop() == 0, status.tail()


def family(service, names, trace_id, start, length):
    """A request with a local root and its descendants, the innermost first, and their ids."""
    request = trace_service_pb2.ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.append(uploads.text_attribute("service.name", service))
    scope = group.scope_spans.add()
    spans = [f"{int(trace_id, 16):x}{i:015x}"[-16:] for i in range(1, len(names) + 1)]
    for i in reversed(range(len(names))):
        span = scope.spans.add(trace_id=bytes.fromhex(trace_id), span_id=bytes.fromhex(spans[i]),
                               name=names[i], start_time_unix_nano=start,
                               kind=trace_pb2.Span.SPAN_KIND_INTERNAL,
                               end_time_unix_nano=start + length)
        if i:
            span.parent_span_id = bytes.fromhex(spans[i - 1])
    return request.SerializeToString(), spans


def test_children_that_inherit_a_link_own_no_samples(tmp_path):
    """What a local root cost is its own, though its children pass before it."""
    status = Status(tmp_path, correlation="hold: 1s, children: inherit")
    start, trace = time.time_ns(), f"{7:032x}"
    request, (root, child, grandchild) = family("shop", ["GET /costly", "render", "sort"], trace,
                                                start, 500_000_000)
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([4, 40_000_000], span_id=root)
    status.send(request)
    status.push("shop", pprof, start - 1_000_000_000, 1_550_000_000)
    assert harness.wait_for(
        lambda: status.get(f"/api/spans/{child}")["reason"] == "inherited", 30), status.tail()
    spans = {each["span_id"]: each for each in status.get(f"/api/traces/{trace}")["spans"]}
    assert [spans[i]["cpu_ns"] for i in (root, child, grandchild)] == [40_000_000, 0, 0]
    assert spans[child]["profile_id"] == root
    assert status.get(f"/api/spans/{child}")["text"].startswith(
        "It has the link of its nearest linked ancestor:")
    routes = {each["span_name"]: (each["cpu_ns"], each["spans"])
              for each in status.get("/api/cost")["routes"]}
    assert routes == {"GET /costly": (40_000_000, 1)}
    for name in ("sort", "*end*", "GET /costly"):
        assert len(status.get("/api/traces", name=name)["traces"]) == 1
    assert status.get("/api/traces", name="other")["traces"] == []
    of_child = status.get("/api/flamegraph", service="shop", name="render")
    assert of_child["total"] == 0
    assert status.get("/api/flamegraph", span=child)["total"] == 40_000_000
    assert status.stop() == 0, status.tail()


NOTHING_WAITS = {"spans": 0, "until_unix_nano": None, "all": True}


def test_a_child_that_its_sdk_marked_is_not_said_to_inherit_by_configuration(tmp_path):
    status = Status(tmp_path)
    start, trace = time.time_ns(), f"{7:032x}"
    body, (root, child) = family("shop", ["GET /", "render"], trace, start, 500_000_000)
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
    request.resource_spans[0].scope_spans[0].spans[0].attributes.append(
        uploads.text_attribute(harness.PROFILE_ID, root))
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([4, 40_000_000], span_id=root)
    status.send(request.SerializeToString())
    status.push("shop", pprof, start - 1_000_000_000, 1_550_000_000)
    told = harness.wait_for(lambda: (lambda t: t if t["reason"] == "inherited" else None)(
        status.get(f"/api/spans/{child}")), 30)
    assert (told["decision"], told["profile_id"]) == ("linked", root)
    assert told["text"].startswith("It has the link of its nearest linked ancestor: ")
    assert status.stop() == 0, status.tail()


def test_a_long_name_is_cut_where_a_character_ends(tmp_path):
    status, start, (trace, span) = Status(tmp_path), time.time_ns(), ids(1)
    name = "x" * 255 + "\u00e9"
    status.send(spans_of_service("shop", [(trace, span, "", start, 1000)], name))
    told = harness.wait_for(lambda: (lambda t: t if t["trace_id"] else None)(
        status.get(f"/api/spans/{span}")), 30)
    [route] = status.get("/api/cost")["routes"]
    assert told["name"] == route["span_name"] == name[:255]
    assert status.stop() == 0, status.tail()


def spans_of_service(service, spans, span_name="GET /", **resource):
    """A request with the SERVER spans (trace, span, parent, start, length) of a service."""
    request = trace_service_pb2.ExportTraceServiceRequest()
    group = request.resource_spans.add()
    for key, value in {"service.name": service, **resource}.items():
        group.resource.attributes.append(uploads.text_attribute(key, value))
    scope = group.scope_spans.add()
    for trace, span, parent, start, length in spans:
        scope.spans.add(trace_id=bytes.fromhex(trace), span_id=bytes.fromhex(span), name=span_name,
                        parent_span_id=bytes.fromhex(parent), start_time_unix_nano=start,
                        end_time_unix_nano=start + length, kind=trace_pb2.Span.SPAN_KIND_SERVER)
    return request.SerializeToString()


def test_what_waits_is_said_to_wait(tmp_path):
    status = Status(tmp_path, correlation="hold: 50s")
    start, (trace, root) = time.time_ns(), ids(1)
    other_trace, child_only = ids(2)
    status.send(spans_of_service("shop", [(trace, root, "", start, 1000)]))
    assert harness.wait_for(
        lambda: status.get(f"/api/spans/{root}")["decision"] == "waiting", 20), status.tail()
    for path, query in ((f"/api/traces/{trace}", {}), ("/api/flamegraph", {"span": root}),
                        ("/api/flamegraph", {"trace": trace})):
        told = status.get(path, 404, **query)
        assert re.fullmatch(r"1 span waits for its samples, for up to "
                            r"([1-4]?\d|50) s more as far as is known", told["error"])
        assert told["waiting"]["spans"] == 1 and told["waiting"]["all"]
        assert 0 < int(told["waiting"]["until_unix_nano"]) - start < 60e9
    for path, query in ((f"/api/traces/{other_trace}", {}), ("/api/flamegraph", {"span": child_only}),
                        ("/api/flamegraph", {"span": root, "service": "other"}),
                        ("/api/flamegraph", {"trace": other_trace})):
        told = status.get(path, 404, **query)
        assert "keep_mib" in told["error"] and told["waiting"] == NOTHING_WAITS

    def waiting(**query):
        found = status.get("/api/traces", **query)
        assert found["traces"] == []
        return found["waiting"]["spans"]
    told = status.get(f"/api/spans/{root}")
    assert re.search(r"proof that none does, for up to ([1-4]?\d|50) s more as far as is known\.$", told["text"])
    assert (told["name"], told["service"]) == ("GET /", "shop")
    assert waiting() == waiting(trace_id=trace) == waiting(trace_id=trace[:9]) == 1
    assert waiting(span_id=root) == waiting(service="shop") == waiting(service="sh*") == 1
    assert waiting(trace_id=other_trace) == waiting(span_id=child_only) == waiting(service="x") == 0
    assert status.stop() == 0, status.tail()


def test_a_trace_that_waits_in_part_says_so(tmp_path):
    """The children pass at once, while their local root waits."""
    status = Status(tmp_path, correlation="hold: 50s")
    start, trace = time.time_ns(), f"{7:032x}"
    request, (root, child, grandchild) = family("shop", ["GET /", "render", "sort"], trace, start,
                                                1000)
    status.send(request)
    told = harness.wait_for(lambda: (lambda t: t if len(t.get("spans", [])) == 2 else None)(
        requests.get(status.url(f"/api/traces/{trace}"), timeout=10).json()), 20)
    assert {each["span_id"] for each in told["spans"]} == {child, grandchild}
    assert told["waiting"]["spans"] == 1
    [row] = status.get("/api/traces")["traces"]
    assert (row["spans"], row["waiting_spans"], row["root_has_parent"]) == (2, 1, True)
    assert "may be waiting" in row["why"]
    for span in told["spans"]:
        alone = status.get(f"/api/spans/{span['span_id']}")
        assert (span["reason"], alone["reason"]) == ("no_local_root", "no_local_root")
        assert "no profile of its service is known" in alone["text"]
    status.push("shop", uploads.Pprof([("cpu", "nanoseconds")]).sample([10_000_000]),
                start - 1_000_000_000, 1_000_000_000)
    assert "no sample names it" in status.get(f"/api/spans/{child}")["text"]
    assert status.get(f"/api/spans/{root}")["decision"] == "waiting"
    assert status.stop() == 0, status.tail()


def test_linked_is_asked_of_the_service_that_is_asked_for(tmp_path):
    """front has no profiler, and calls back, which is linked."""
    status = Status(tmp_path)
    start, (trace, front), (_, back) = time.time_ns(), ids(1), ids(2)
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([4, 40_000_000], span_id=back)
    status.push("back", pprof, start - 1_000_000_000, 1_550_000_000)
    status.send(spans_of_service("back", [(trace, back, front, start, 1000)]))
    harness.wait_for(lambda: status.get("/api/traces")["kept"], 20)
    [row] = status.get("/api/traces")["traces"]
    assert row["root_seen"] and row["root_has_parent"]
    status.send(spans_of_service("front", [(trace, front, "", start, 1000)]))
    assert harness.wait_for(
        lambda: status.get("/api/traces")["traces"][0]["spans"] == 2, 30), status.tail()

    def found(**query):
        return len(status.get("/api/traces", **query)["traces"])
    assert found(linked="true") == 1 and found(linked="false") == 0
    assert found(linked="true", service="back") == 1 and found(linked="false", service="back") == 0
    assert found(linked="true", service="front") == 0 and found(linked="false", service="front") == 1
    assert found(linked="true", service="*") == found(linked="false", service="*") == 1
    [row] = status.get("/api/traces", service="front")["traces"]
    assert (row["linked"], row["reason"], row["root_has_parent"]) == (True, "not_profiled", False)
    assert (row["asked"]["linked"], row["asked"]["reason"]) == (False, "not_profiled")
    [row] = status.get("/api/traces", service="back")["traces"]
    assert row["asked"] == {"service": "back", "root_span_id": back, "linked": True,
                            "reason": None, "why": None}
    assert status.get("/api/traces")["traces"][0]["asked"] is None
    assert status.stop() == 0, status.tail()


def test_a_trace_is_found_by_each_of_its_services(tmp_path):
    """40 services in one trace, and 300 in another, of which 256 are remembered."""
    status = Status(tmp_path, correlation="hold: 0s")
    start, (trace, root), (many, first) = time.time_ns(), ids(1), ids(2)

    def span_of(i, of):
        return of if i == 0 else f"{i:016x}"
    status.send(b"".join(
        spans_of_service(f"{name}-{i:03}", [(of, span_of(i, top), top if i else "", start + i, 1000)])
        for name, of, top, n in (("svc", trace, root, 40), ("more", many, first, 300)) for i in range(n)))

    def rows(**query):
        return {row["trace_id"]: row for row in status.get("/api/traces", **query)["traces"]}
    assert harness.wait_for(lambda: sum(row["spans"] for row in rows().values()) == 340, 60), \
        status.tail()
    for i in (0, 2, 3, 20, 39):
        row = rows(service=f"svc-{i:03}", linked="false")[trace]
        assert (row["service"], row["asked"]["service"]) == ("svc-000", f"svc-{i:03}")
        assert row["asked"]["root_span_id"] == span_of(i, root)
    assert rows(service="svc-040") == rows(service="svc-020", linked="true") == {}
    assert set(rows(service="svc-*")) == {trace}
    assert [many in rows(service=f"more-{i}") for i in ("000", 255, 256, 299)] == [
        True, True, False, False]
    assert "of 1 trace not all services are known" in status.get("/api/traces")["keep"]["text"]
    assert status.stop() == 0, status.tail()


@pytest.mark.parametrize("language, words", [
    ("python", "(application_name of pyroscope.configure())"),
    ("go", "(ApplicationName of pyroscope.Config)"), ("nodejs", "(appName of Pyroscope.init())"),
    ("java", "(PYROSCOPE_APPLICATION_NAME)")])
def test_a_name_is_advised_as_the_sdk_of_the_language_takes_it(tmp_path, language, words):
    status = Status(tmp_path)
    start, (trace, span) = time.time_ns(), ids(1)
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([4, 40_000_000], span_id=span)
    status.push("billing-worker", pprof, start - 1_000_000_000, 1_550_000_000)
    status.send(spans_of_service("billing", [(trace, span, "", start, 1000)],
                                 **{"telemetry.sdk.language": language}))
    assert harness.wait_for(
        lambda: status.get(f"/api/spans/{span}")["reason"] == "names_differ", 30), status.tail()
    assert words in status.get(f"/api/spans/{span}")["fix"]
    services = {each["service"]: each for each in status.get("/api/services")["services"]}
    assert services["billing"]["language"] == language
    assert words in services["billing"]["unmatched_fix"]
    assert services["billing-worker"]["unmatched_fix"] is None
    assert status.stop() == 0, status.tail()


def test_what_was_not_remembered_may_have_passed(tmp_path):
    """Beyond 2,000 spans a second, after the first 40,000."""
    status, now = Status(tmp_path), time.time_ns()
    assert "none has passed" in status.get("/api/spans/" + ids(1)[1])["text"]
    for first in range(0, 100_000, 5000):
        status.send(spans_of_service("busy", [
            (*ids(first + i + 2), "", now, 1000) for i in range(5000)]))
    assert harness.wait_for(
        lambda: status.get("/api/spans/" + ids(1)[1])["text"].startswith("It may have passed"), 60)
    assert status.stop() == 0, status.tail()


def test_a_trace_with_an_error_is_marked_and_a_span_id_of_zeros_waits_for_nothing(tmp_path):
    status = Status(tmp_path, correlation="hold: 60s")
    start = time.time_ns()
    (trace, span), (other, late) = ids(1), ids(2)
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(
        uploads.trace_request("failing", [(trace, span, start, start + 1, True)]))
    [sent] = request.resource_spans[0].scope_spans[0].spans
    sent.status.code = trace_pb2.Status.STATUS_CODE_ERROR
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([1, 10_000_000], STACKS["a"][0], span_id=span)
    status.push("failing", pprof, start - 1_000_000_000, 2_000_000_000)
    status.send(request.SerializeToString())
    status.send(uploads.trace_request("late", [(other, late, start, start + 1, True)]))
    harness.wait_for(lambda: status.get("/api/traces")["waiting"]["spans"] == 1 and
                     status.get("/api/traces")["traces"], 30)
    assert [each["failed"] for each in status.get("/api/traces")["traces"]] == [True]
    assert status.get("/api/traces", span_id="0" * 16)["waiting"]["spans"] == 0
    assert status.get("/api/traces", span_id=late)["waiting"]["spans"] == 1
    assert f"pipelines, listening on http://127.0.0.1:{status.page}/" in status.tail(1000)
    assert status.stop() == 0, status.tail()


def test_an_empty_process_answers(tmp_path):
    status = Status(tmp_path)
    keep = {"oldest_unix_nano": None, "whole_since_unix_nano": None, "evicted_requests": 0,
            "evicted_spans": 0, "evicted_for_memory": 0, "refused_requests": 0, "refused_spans": 0,
            "skipped_requests": 0, "skipped_spans": 0, "numbers_unknown": 0, "text": None}
    assert status.get("/api/traces") == {"traces": [], "next": None, "kept": 0, "keep": keep,
                                         "waiting": NOTHING_WAITS}
    assert status.get("/api/services") == {"services": []}
    assert status.get("/api/cost")["routes"] == []
    assert status.get("/api/flamegraph", service="none")["total"] == 0
    assert status.stop() == 0


def test_thousands_of_traces_are_kept(tmp_path):
    status = Status(tmp_path, keep=1)
    now = time.time_ns()
    for first in range(0, 12000, 400):
        status.send(uploads.trace_request("busy", [
            (*ids(first + i + 1), now + first + i, now + first + i + 1000, False)
            for i in range(400)]))
    harness.wait_for(lambda: status.get("/api/traces")["kept"] > 1000, 20)
    kept = status.get("/api/traces", limit=10000)
    assert 0 < kept["kept"] <= 12000 and len(kept["traces"]) == min(10000, kept["kept"])
    newest = kept["traces"][0]["trace_id"]
    assert status.get(f"/api/traces/{newest}")["spans"]
    assert status.stop() == 0


def wide_trace(random_, now, size=45000):
    """A request of one span and 60 kB, 45 kB when compressed; or of a third more than size."""
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(uploads.trace_request(
        "busy", [(f"{random_.getrandbits(127):032x}", f"{random_.getrandbits(63):016x}", now,
                  now + 1000, False)]))
    request.resource_spans[0].scope_spans[0].spans[0].attributes.append(
        uploads.text_attribute("note", base64.b64encode(random_.randbytes(size)).decode()))
    return request.SerializeToString()


def test_a_request_that_has_no_room_is_told_in_spans(tmp_path):
    status = Status(tmp_path, keep=1)
    status.send(wide_trace(random.Random(3), time.time_ns(), 1_000_000))
    harness.wait_for(lambda: status.get("/api/traces")["keep"]["refused_requests"], 30)
    keep = status.get("/api/traces")["keep"]
    assert (keep["refused_spans"], keep["skipped_spans"]) == (1, 0)
    assert "1 span of 1 request was not kept" in keep["text"] and "keep_mib" in keep["text"]
    assert status.stop() == 0, status.tail()


def test_a_full_keep_lets_the_oldest_go(tmp_path):
    status = Status(tmp_path, keep=1)
    now, random_, sent = time.time_ns(), random.Random(3), 0

    def evicted():
        nonlocal sent
        for _ in range(10):
            status.send(wide_trace(random_, now))
            sent += 1
        return status.get("/api/traces", limit=1)["keep"]["evicted_requests"]

    assert harness.wait_for(evicted, 120)
    keep = status.get("/api/traces", limit=1)["keep"]
    assert 0 < keep["evicted_requests"] <= sent and keep["evicted_for_memory"] == 0
    assert keep["evicted_requests"] <= keep["evicted_spans"] <= sent
    assert metric(status, "spanlink_status_evicted") == keep["evicted_requests"]
    assert now < int(keep["oldest_unix_nano"]) < time.time_ns()
    assert now < int(keep["whole_since_unix_nano"]) < time.time_ns()
    page = requests.get(f"http://127.0.0.1:{status.metrics}/metrics", timeout=10).text
    [size] = [float(s.split()[1]) for s in page.splitlines()
              if s.startswith("spanlink_status_kept_bytes")]
    assert size <= 1 << 20
    assert status.stop() == 0


def metric(status, name):
    page = requests.get(f"http://127.0.0.1:{status.metrics}/metrics", timeout=10).text
    return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
               if re.match(name + r"(_total)?[{ ]", line))


def memory(status, key):
    text = pathlib.Path(f"/proc/{status.process.pid}/status").read_text()
    return int(re.search(rf"^{key}:\s+(\d+)", text, re.M)[1]) << 10


def wide(stacks):
    """So many distinct stacks of three frames of their own on a shared stem, which are unlinked."""
    pprof, place = uploads.Pprof([("cpu", "nanoseconds")]), "example.com/shop/internal/"
    for i in range(stacks):
        pprof.sample([10_000_000], [f"{place}h.f{i % 5000}", f"{place}g.f{i % 8000}",
                                    f"{place}f.f{i % 7000}", f"{place}e.f{i % 10000}",
                                    f"{place}d.f{i % 1000}", f"{place}c.f{i % 100}", "main"])
    return pprof


def noise(random_, stacks=8):
    pprof = uploads.Pprof([("cpu", "nanoseconds")])
    for _ in range(stacks):
        pprof.sample([1], [f"{random_.getrandbits(8000):x}" for _ in range(12)])
    return pprof


def test_a_graph_of_50000_stacks_takes_10_mib(tmp_path):
    """Beside a keep that is full: its JSON is never in memory as a whole."""
    status, random_ = Status(tmp_path), random.Random(5)
    status.push("wide", wide(50_000), time.time_ns() - 10**9, 10**9)
    for _ in range(200):
        if metric(status, "spanlink_status_kept_bytes") > 15.2 * 2**20:
            break
        status.push("noise", noise(random_), time.time_ns() - 10**9, 10**9)
        time.sleep(0.05)
    status.get("/api/services")
    before = memory(status, "VmRSS")
    pathlib.Path(f"/proc/{status.process.pid}/clear_refs").write_text("5")
    graph = status.get("/api/flamegraph", service="wide")
    assert memory(status, "VmHWM") - before < 10 << 20
    assert not graph["truncated"] and graph["total"] == 50_000 * 10_000_000
    assert len(tree(graph)) == 50_000
    folded = status.get("/api/flamegraph", service="wide", format="folded").text
    assert len(folded.splitlines()) == 50_000
    pathlib.Path(f"/proc/{status.process.pid}/clear_refs").write_text("5")
    svg = status.get("/api/flamegraph", service="wide", format="svg").text
    assert memory(status, "VmHWM") - before < 10 << 20
    assert svg.endswith("</g>\n</svg>\n") and svg.count("<g>") > 1000
    packed = status.get("/api/flamegraph", service="wide", format="pprof").content
    assert wire.Profile(packed).sums == {wire.CPU: graph["total"]}
    assert status.stop() == 0


def test_one_large_graph_is_sent_at_a_time(tmp_path):
    status = Status(tmp_path)
    status.push("wide", wide(50_000), time.time_ns() - 10**9, 10**9)
    path = "/api/flamegraph?service=wide"
    with socket.create_connection(("127.0.0.1", status.page)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert slow.recv(12) == b"HTTP/1.1 200"
        answer = requests.get(status.url(path), timeout=30)
        assert answer.status_code == 503 and answer.headers["Retry-After"] == "1"
        assert "only one at a time" in answer.json()["error"]
        assert requests.get(status.url("/api/traces"), timeout=30).status_code == 200
    def again():
        answer = requests.get(status.url(path), timeout=30)
        return answer if answer.status_code == 200 else None
    assert len(tree(harness.wait_for(again, 20).json())) == 50_000
    assert status.stop() == 0


def test_a_large_profile_is_kept_and_one_too_large_is_missed(tmp_path):
    """More than 4 MiB uncompressed; and, where that is more than keep_mib, what the API says."""
    (trace, span), profile = ids(1), wide(110_000)
    for stack in STACKS["a"]:
        profile.sample([10_000_000], stack, span_id=span)
    assert len(profile.encode(1, 1)) > 4.2e6
    for keep, kept in ((16, True), (1, False)):
        status, start = Status(tmp_path / str(keep), keep), time.time_ns()
        raw = profile.encode(start - 10**9, 1_550_000_000)
        harness.wait_for(lambda since=start: time.time_ns() > since + 600_000_000, 2)
        status.send(uploads.trace_request("large", [(trace, span, start, start + 500_000_000,
                                                     True)]))
        status.push_raw("large", raw)
        path = f"/api/spans/{span}"
        assert harness.wait_for(lambda: status.get(path)["decision"] == "linked", 120)
        decided = status.get(path)
        whole = status.get("/api/flamegraph", service="large")
        own = status.get("/api/flamegraph", span=span)
        if kept:
            assert whole["total"] == 110_002 * 10_000_000
            assert own["total"] == 20_000_000 and decided["fix"] is None
            assert not whole["truncated"] and whole["text"] is own["text"] is None
        else:
            for each in (whole, own, {**decided, "truncated": True}):
                assert each["truncated"] and "too large to keep" in each["text"]
                assert "Raise keep_mib" in each["fix"]
            assert whole["total"] == own["total"] == 0
            assert not status.get("/api/flamegraph", service="other")["truncated"]
        assert status.stop() == 0


def test_a_full_keep_prefers_linked_traces_and_their_profiles(tmp_path):
    status = Status(tmp_path, keep=1)
    trace, span = ids(1)
    start = time.time_ns()
    status.send(uploads.trace_request(SERVICE, [(trace, span, start, start + 1, True)]))
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    pprof.sample([3, 30_000_000], STACKS["a"][0], span_id=span)
    status.push(SERVICE, pprof, start - 10**9, 2 * 10**9)
    assert harness.wait_for(lambda: status.get("/api/traces")["kept"] == 1, 20)
    numbers = itertools.count(2)
    def evicted():
        number = next(numbers)
        status.send(uploads.trace_request(random.randbytes(20_000).hex(), [
            (*ids(number), start + number, start + number + 1, False)]))
        status.get("/api/traces", limit=1)      # what came is worked on
        return metric(status, "spanlink_status_evicted") >= 30
    assert harness.wait_for(evicted, 120, every=0)
    rows = {row["trace_id"]: row for row in status.get("/api/traces", limit=10000)["traces"]}
    assert rows[trace]["linked"] and len(rows) > 1 and ids(2)[0] not in rows
    assert status.get("/api/flamegraph", span=span)["total"] == 30_000_000
    assert status.get(f"/api/traces/{trace}")["spans"][0]["profile_id"] == span
    assert status.stop() == 0


def test_after_a_kill_cpu_time_that_was_counted_counts_no_more(tmp_path):
    """The journal brings back what samples name, for spans that come later."""
    journal, start = tmp_path / "journal", time.time_ns()
    status = Status(tmp_path, journal=journal)
    (trace, passed), (_, late), (_, next_) = ids(1), ids(2), ids(3)
    status.send(uploads.trace_request("shop", [(trace, passed, start, start + 1000, True)]))
    push_cpu(status, "shop", start, {passed: 5, late: 3, None: 2})
    harness.wait_for(lambda: status.get(f"/api/spans/{passed}")["decision"] == "linked", 30)
    status.kill()
    status = Status(tmp_path, journal=journal)
    assert status.get("/api/cost")["routes"] == []
    told = status.get(f"/api/spans/{passed}")
    assert (told["decision"], told["samples"], told["fix"]) == ("unknown", 5, None)
    assert told["text"] == ("Samples that came to another process before this one name this span: "
                            "it may have passed there. It has not passed here.")
    [service] = status.get("/api/services")["services"]
    assert (service["samples"], service["cpu_ns"], service["has_profiles"]) == (0, 0, True)
    status.send(uploads.trace_request("shop", [
        (*ids(number), start, start + 1000, True) for number in (2, 3)]))
    push_cpu(status, "shop", start + 2 * 10**9, {next_: 1})

    def rows():
        return {r["span_name"]: (r["cpu_ns"], r["spans"], r["linked"])
                for r in status.get("/api/cost")["routes"]}
    expected = {"GET /order": (40_000_000, 2, 2), "(no span)": (0, 0, 0)}
    assert harness.wait_for(lambda: rows().items() <= expected.items() and
                            "GET /order" in rows(), 30), rows()
    assert metric(status, "spanlink_cpu_seconds") == pytest.approx(0.04)
    assert status.get("/api/services")["services"][0]["samples"] == 4
    assert status.stop() == 0, status.tail()


class Reloaded(Status):
    def __init__(self, folder, **more):
        super().__init__(folder, **more)
        self.config = folder / "status.yaml"

    def reload(self, old, new):
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))
        before = self.log.read_text().count("reloaded: ")
        self.process.send_signal(signal.SIGHUP)
        assert harness.wait_for(lambda: self.log.read_text().count("reloaded: ") > before,
                                20), self.tail()

    def send_one(self, number):
        trace, span = ids(number)
        now = time.time_ns()
        self.send(uploads.trace_request("reloaded", [(trace, span, now, now + 1000, False)]))
        return trace

    def kept(self):
        return {row["trace_id"] for row in self.get("/api/traces")["traces"]}

    def keeps(self, *traces):
        return harness.wait_for(lambda: self.kept() == set(traces), 20)


def test_a_reload_keeps_what_an_unchanged_section_holds(tmp_path):
    status = Reloaded(tmp_path)
    first = status.send_one(1)
    assert status.keeps(first), status.tail()
    status.reload("hold: 1s", "hold: 2s")               # another component's
    second = status.send_one(2)
    assert status.keeps(first, second), status.tail()
    assert 'hold: "2s"' in status.get("/api/config")["yaml"]
    status.reload("keep_mib: 16", "keep_mib: 17")       # its own: on the same socket, from nothing
    assert "keep_mib: 17" in status.get("/api/config")["yaml"]
    for path, asked in (f"/api/traces/{first}", {}), ("/api/flamegraph", {"trace": first}):
        assert "it passed before a reload" in status.get(path, status=404, **asked)["error"]
    third = status.send_one(3)
    assert status.keeps(third), status.tail()
    old, status.page = status.page, harness.free_port()
    status.reload(f":{old}", f":{status.page}")
    fourth = status.send_one(4)
    assert status.keeps(fourth), status.tail()
    assert harness.wait_for(lambda: not harness.answers(old), 20)
    status.reload("extensions: [status, ", "extensions: [")
    assert harness.wait_for(lambda: not harness.answers(status.page), 20)
    status.reload("extensions: [", "extensions: [status, ")
    fifth = status.send_one(5)
    assert status.keeps(fifth), status.tail()
    assert status.stop() == 0


def test_a_span_that_a_reload_released_says_so(tmp_path):
    status = Reloaded(tmp_path, correlation="hold: 60s")
    now, (trace, span) = time.time_ns(), ids(1)
    status.send(uploads.trace_request("shop", [(trace, span, now, now + 1000, True)]))
    harness.wait_for(lambda: status.get(f"/api/spans/{span}")["decision"] == "waiting", 10)
    status.reload("hold: 60s", "hold: 61s")
    told = harness.wait_for(lambda: (lambda t: t if t["decision"] != "waiting" else None)(
        status.get(f"/api/spans/{span}")), 10)
    assert (told["decision"], told["reason"]) == ("as_came", "shutdown")
    assert told["text"].startswith("A reload replaced the correlation processor, or ")
    assert status.stop() == 0, status.tail()


def spans_by_reason(status):
    """What spanlink_spans counts: by class, or by reason where there is no link."""
    page = requests.get(f"http://127.0.0.1:{status.metrics}/metrics", timeout=10).text
    counts = {}
    for line in page.splitlines():
        if re.match(r"spanlink_spans(_total)?{", line):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            key = labels.get("reason", labels["class"])
            assert key not in counts, page
            counts[key] = int(float(line.rsplit(" ", 1)[1]))
    return counts


def test_a_reload_goes_on_counting_spans_and_counts_those_it_let_go(tmp_path):
    status, start = Reloaded(tmp_path, correlation="hold: 60s"), time.time_ns()
    status.send(uploads.trace_request("shop", [
        (*ids(number), start, start + 1000, True) for number in range(1, 4)]))
    push_cpu(status, "shop", start, {ids(1)[1]: 1})
    harness.wait_for(lambda: spans_by_reason(status) == {"linked": 1}, 20)
    status.reload("hold: 60s", "hold: 61s")
    assert spans_by_reason(status) == {"linked": 1, "shutdown": 2}
    status.send(uploads.trace_request("shop", [(*ids(4), start, start + 1000, True)]))
    push_cpu(status, "shop", start + 10**9, {ids(4)[1]: 1})
    assert harness.wait_for(lambda: spans_by_reason(status) == {"linked": 2, "shutdown": 2},
                            20), spans_by_reason(status)
    assert status.stop() == 0, status.tail()


def test_reasons_have_the_same_words_in_the_metrics(tmp_path):
    status, start = Status(tmp_path), time.time_ns()
    answer = requests.post(
        f"http://127.0.0.1:{status.ingest}/ingest", b"main;work 3\n", timeout=10,
        params={"name": "shop.cpu", "from": str(start // 10**9 - 10), "until": str(start // 10**9)})
    assert answer.status_code == 200, answer.text
    status.send(uploads.trace_request("shop", [(*ids(1), start, start + 1000, True)]))
    told = harness.wait_for(lambda: (lambda t: t if t["reason"] == "format" else None)(
        status.get(f"/api/spans/{ids(1)[1]}")), 30)
    assert told, status.tail()
    assert spans_by_reason(status) == {told["reason"]: 1}
    assert status.stop() == 0, status.tail()


def test_reloads_give_back_the_memory_of_what_they_replace(tmp_path):
    status = Reloaded(tmp_path)
    with requests.Session() as connected:      # a client of the first instance
        assert connected.get(status.url("/api/traces"), timeout=10).status_code == 200
        for i in range(6):
            status.reload(f"keep_mib: {16 + i}", f"keep_mib: {17 + i}")
            trace = status.send_one(i + 1)
            assert status.keeps(trace), status.tail()
            if i == 0:
                answer = connected.get(status.url("/api/traces"), timeout=10)
                assert answer.status_code == 503 and answer.headers["Connection"] == "close"
                assert "reloaded" in answer.json()["error"]
                assert answer.headers["Retry-After"] == "1"
    assert metric(status, "spanlink_memory_used_bytes") < 12 << 20
    assert status.stop() == 0


def page_files(ask):
    """The page and every file that it and its modules load; ask returns the text of a path."""
    found, open_paths = {}, ["/"]
    while open_paths:
        path = open_paths.pop()
        if path in found:
            continue
        found[path] = text = ask(path)
        quoted = re.findall(r"""["'](\.?/?[\w/-]+\.(?:m?js|css|svg))["']""", text)
        open_paths += [urllib.parse.urljoin(path, name) for name in quoted]
    return found


def test_with_an_authenticator_nothing_is_shown_without_credentials(tmp_path):
    status = Status(tmp_path, more=", auth: {authenticator: bearertokenauth}")
    right = {"Authorization": "Bearer s3cret"}

    def ask(path):
        for wrong in ({}, {"Authorization": "Bearer s3cre"}):
            refused = requests.get(status.url(path), headers=wrong, timeout=10)
            assert refused.status_code == 401 and refused.headers["WWW-Authenticate"], path
            assert len(refused.content) < 200
        answer = requests.get(status.url(path), headers=right, timeout=10)
        assert answer.status_code == 200, path
        return answer.text
    files = page_files(ask)
    assert len([path for path in files if path.endswith("js")]) > 5, files.keys()
    assert json.loads(ask("/api/traces"))["traces"] == []
    elsewhere = requests.get(status.url("/"), timeout=10,
                             headers={**right, "Host": "rebound.example"})
    assert elsewhere.status_code == 403
    denied = [line for line in status.log.read_text().splitlines() if "requests refused" in line]
    assert len(denied) == 1 and "(the last from 127.0.0.1:" in denied[0], denied
    assert status.stop() == 0


def test_over_tls_the_page_and_its_modules_are_served(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=status",
                    "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key,
                    "-out", cert], check=True, capture_output=True)
    status = Status(tmp_path / "run", more=f', tls: {{cert_file: "{cert}", key_file: "{key}"}}')

    def ask(path, host="127.0.0.1", **headers):
        answer = requests.get(f"https://{host}:{status.page}{path}", verify=cert, timeout=10,
                              headers=headers)
        assert answer.status_code == 200, path
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")
        return answer.text
    assert len(page_files(ask)) > 5
    own = f"https://127.0.0.1:{status.page}"
    assert json.loads(ask("/api/traces", Origin=own))["traces"] == []
    cleartext = {"Origin": own.replace("https", "http")}
    assert requests.get(f"{own}/api/traces", verify=cert, timeout=10,
                        headers=cleartext).status_code == 403
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(f"{own}/", timeout=10)
    for address in (own, own.removeprefix("https://")):
        shown = top("--once", "--endpoint", address, "--ca-file", str(cert))
        assert shown.returncode == 0 and "otlp > correlation > debug" in shown.stdout, shown.stderr
    assert "otlp > correlation > debug" in top("--once", "--endpoint", own, "--insecure").stdout
    bare = top("--once", "--endpoint", own.removeprefix("https://"), "--insecure")
    assert "otlp > correlation > debug" in bare.stdout, bare.stderr
    doubted = top("--once", "--endpoint", own)
    assert doubted.returncode == 1 and "--ca-file" in doubted.stderr, doubted.stderr
    cleartext = top("--once", "--endpoint", own.removeprefix("https://"))
    assert cleartext.returncode == 1 and "https://" in cleartext.stderr, cleartext.stderr
    assert status.stop() == 0


class Terminal:
    """A command on a pseudo-terminal, and what it draws."""

    def __init__(self, command, rows=24, columns=80, **environment):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm", **environment)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execv(command[0], command)
        self.pid, self.text = pid, ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        """What has come until now; "" at the end."""
        if not select.select([self.fd], [], [], 0.1)[0]:
            return None
        try:
            got = os.read(self.fd, 1 << 16).decode()
        except OSError:                  # its other side is closed
            return ""
        self.text += got
        return got

    def screens(self, least):
        """Whole screens drawn from now on, at least so many, as lines without escape codes."""
        self.text = ""

        def whole():
            self.read()
            parts = self.text.split("\x1b[H\x1b[J")[1:-1]
            return parts if len(parts) >= least else None
        return [[re.sub(r"\x1b\[[0-9;]*m", "", line) for line in part.splitlines()]
                for part in harness.wait_for(whole, 30)]

    def end(self):
        while self.read() != "":
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_top_keeps_room_for_links_and_costs(seen):
    command = [str(harness.SPANLINK), "top", "--endpoint", f"127.0.0.1:{seen.page}"]
    terminal = Terminal(command, rows=19)
    screen = terminal.screens(1)[0]
    os.write(terminal.fd, b"q")
    assert terminal.end() == 0
    links, costs = [n for n, line in enumerate(screen)
                    if line.startswith(("LINKS: SERVICE", "COST BY ROUTE"))]
    assert screen[links + 1].startswith("shop <b>") and len(screen) <= 19, screen
    assert "(no span)" in screen[costs + 1], screen
    assert any(line.startswith("and ") for line in screen[:links]), screen


def test_top_on_a_terminal_follows_its_size_and_ends_with_q(seen):
    command = [str(harness.SPANLINK), "top", "--endpoint", f"127.0.0.1:{seen.page}"]
    terminal = Terminal(command)
    for screen in terminal.screens(2):
        assert 3 < len(screen) <= 23 and max(map(len, screen)) <= 80, screen
    assert "\x1b[0m" in terminal.text or "\x1b[m" in terminal.text
    assert not termios.tcgetattr(terminal.fd)[3] & (termios.ECHO | termios.ICANON)
    terminal.resize(10, 40)
    screen = terminal.screens(3)[-1]
    assert 3 < len(screen) <= 9 and max(map(len, screen)) <= 40, screen
    terminal.resize(50, 132)
    screen = terminal.screens(3)[-1]
    assert max(map(len, screen)) > 40 and len(screen) > 9, screen
    os.write(terminal.fd, b"q")
    harness.wait_for(lambda: terminal.read() == "", 30)
    assert termios.tcgetattr(terminal.fd)[3] & termios.ECHO
    assert terminal.end() == 0


def test_top_waits_for_a_process_that_restarts(tmp_path):
    status = Status(tmp_path)
    terminal = Terminal([str(harness.SPANLINK), "top", "--endpoint", f"127.0.0.1:{status.page}"])
    terminal.screens(1)
    assert status.stop() == 0

    def told():
        text = " ".join(terminal.screens(1)[-1])
        return "! this is the last answer" in text and "connection refused" in text
    harness.wait_for(told, 30)
    again = harness.Program("again", tmp_path / "again",
                            [harness.SPANLINK, "--config", tmp_path / "status.yaml"])
    again.wait_ports(status.page, seconds=10)
    screen = harness.wait_for(lambda: next(
        (each for each in terminal.screens(1) if not any("!" in line for line in each)), None), 30)
    assert not any(re.search(r" -\d", line) for line in screen), screen
    os.write(terminal.fd, b"q")
    assert terminal.end() == 0 and again.stop() == 0


def test_top_counts_each_kind_of_item_apart(seen):
    lines = top("--once", "--endpoint", f"127.0.0.1:{seen.page}").stdout.splitlines()
    columns = [line.split() for line in lines]
    assert ["correlation", "processor", "spans", "2", "2", "-", "0", "0"] in columns, lines
    assert ["samples", "3", "3", "0", "0"] in columns, lines
    assert any(re.fullmatch(r"memory budget: [\d.]+ of [\d.]+ MiB in use, refuses above [\d.]+", line)
               for line in lines), lines


def test_the_rate_of_what_comes_now_and_then_is_a_mean(tmp_path):
    status = Status(tmp_path)
    terminal = Terminal([str(harness.SPANLINK), "top", "--endpoint", f"127.0.0.1:{status.page}"],
                        columns=120)
    terminal.screens(1)

    def rates():
        return [line.split()[3] for line in terminal.screens(1)[-1] if line.startswith("otlp ")]
    now = time.time_ns()
    status.send(uploads.trace_request("shop", [(*ids(i), now, now + 1, False) for i in range(1, 41)]))
    harness.wait_for(lambda: any(float(each) > 0 for each in rates()), 30)
    shown = [each for _ in range(3) for each in rates()]   # a second later each
    assert all(float(each) > 0 for each in shown), shown
    os.write(terminal.fd, b"q")
    assert terminal.end() == 0 and status.stop() == 0


def test_top_on_a_small_terminal_says_what_it_leaves_out(seen):
    command = [str(harness.SPANLINK), "top", "--endpoint", f"127.0.0.1:{seen.page}"]
    terminal = Terminal(command, rows=12, columns=40)
    screen = terminal.screens(2)[-1]
    assert re.match(r"q ends it; no room for \d+ more lines", screen[-1]), screen
    cut = [line for line in screen if line.startswith("COMPONENT")]
    assert all(line.endswith("…") and len(line) == 40 for line in cut), screen
    terminal.resize(50, 132)
    assert terminal.screens(3)[-1][-1] == "q ends it; /s: mean of the last 10 s"
    os.write(terminal.fd, b"q")
    assert terminal.end() == 0


def test_top_says_how_many_rows_have_no_room(tmp_path):
    status = Status(tmp_path)
    start = time.time_ns()
    for i in range(8):
        status.send(uploads.trace_request(f"s{i}", [(*ids(i + 1), start, start + 1, True)]))
    harness.wait_for(lambda: len(status.get("/api/cost")["routes"]) == 8 and
                     len(status.get("/api/services")["services"]) == 8, 30)
    terminal = Terminal([str(harness.SPANLINK), "top", "--endpoint", f"127.0.0.1:{status.page}"])
    screen = terminal.screens(2)[-1]
    cost = next(i for i, line in enumerate(screen) if line.startswith("COST BY ROUTE"))
    for section in (screen[:cost], screen[cost:]):
        rows = sum(re.match(r"s\d ", line) is not None for line in section)
        assert f"and {8 - rows} more" in section and 0 < rows < 7, screen
    terminal.resize(17, 80)
    screen = terminal.screens(2)[-1]    # of its components, those at the ends come first
    assert any(" exporter  spans " in line for line in screen), screen
    whole = top("--once", "--endpoint", f"127.0.0.1:{status.page}").stdout
    assert not re.search(r"^and \d+ more$", whole, re.M), whole
    os.write(terminal.fd, b"q")
    assert terminal.end() == 0 and status.stop() == 0


def test_top_has_no_colours_where_they_are_not_wanted(seen):
    command = [str(harness.SPANLINK), "top", "--endpoint", f"127.0.0.1:{seen.page}"]
    terminal = Terminal(command, NO_COLOR="1")
    terminal.screens(2)
    assert not re.search(r"\x1b\[[0-9;]*m", terminal.text)
    os.write(terminal.fd, b"q")
    assert terminal.end() == 0
    once = Terminal([*command, "--once"])
    assert once.end() == 0
    assert "GET /order" in once.text and "\x1b" not in once.text
