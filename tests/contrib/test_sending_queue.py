"""sending_queue: what clients and a backend get, beside the Collector's exporter."""
import collections
import concurrent.futures
import contextlib
import gzip
import http.server
import json
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request

import grpc
import pytest
import yaml
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

import sides

SIDES = ("spanlink", "otelcol")


class Sink:
    """A backend for OTLP over HTTP, in JSON: the span names of each request that it accepts."""

    def __init__(self):
        self.requests, self.status, self.refused = [], 200, 0
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                if sink.status == 200:
                    sink.requests.append(names_in(json.loads(body)))
                else:
                    sink.refused += 1
                self.send_response(sink.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def sizes(self):
        return [len(each) for each in self.requests]

    def names(self):
        return collections.Counter(name for each in self.requests for name in each)


@pytest.fixture
def sink():
    sink = Sink()
    yield sink
    sink.server.shutdown()
    sink.server.server_close()


def names_in(request):
    return [span["name"] for resource in request["resourceSpans"]
            for scope in resource["scopeSpans"] for span in scope["spans"]]


def request_of(names):
    return {"resourceSpans": [{"scopeSpans": [{"spans": [
        {"traceId": f"{number + 1:032x}", "spanId": f"{number + 1:016x}", "name": name}
        for number, name in enumerate(names)]}]}]}


def settings(port, sink, batch, journal=None):
    made = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {"otlp_http": {
            "endpoint": f"http://127.0.0.1:{sink.port}", "encoding": "json",
            "retry_on_failure": {"initial_interval": "50ms", "max_interval": "100ms"},
            "sending_queue": {"num_consumers": 1, "batch": batch}}},
        "service": {"telemetry": {"metrics": {"level": "none"}}, "pipelines": {
            "traces": {"receivers": ["otlp"], "exporters": ["otlp_http"]}}}}
    if journal:
        made["extensions"] = {"journal": {"directory": str(journal)}}
        made["service"]["extensions"] = ["journal"]
    return made


def wait_for(condition, what):
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.02)


@contextlib.contextmanager
def running(side, made, folder, port):
    folder.mkdir(exist_ok=True)
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(made))
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(sides.command(side, path), stdout=log, stderr=log)

    def answers():
        assert process.poll() is None, (folder / "log").read_text()[-3000:]
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            return False
    try:
        wait_for(answers, "does not start")
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def sizes(side, tmp_path, batch, requests, before_stop=0):
    """The sizes of what the backend gets, and that nothing is lost; before_stop: so many of them
    before the program is stopped."""
    sink, port = Sink(), sides.free_port()
    with running(side, settings(port, sink, batch), tmp_path / side, port):
        for names in requests:
            assert sides.post(port, "traces", request_of(names)) == 200
        wait_for(lambda: len(sink.requests) >= before_stop, sink.sizes())
    assert sink.names() == collections.Counter(name for names in requests for name in names)
    sink.server.shutdown()
    sink.server.server_close()
    return sink.sizes()


def names(count, prefix="s"):
    return [f"{prefix}{number}" for number in range(count)]


CASES = {
    "small ones are merged": (
        {"min_size": 10, "flush_timeout": "60s"}, [[f"s{n}"] for n in range(30)], 3),
    "the rest is sent at the stop": (
        {"min_size": 10, "flush_timeout": "60s"}, [[f"s{n}"] for n in range(23)], 2),
    "few are sent at the timeout": (
        {"min_size": 1000, "flush_timeout": "100ms"}, [names(3)], 1),
    "a large one is split": (
        {"min_size": 10, "max_size": 25, "flush_timeout": "60s"}, [names(60)], 3),
    "the rest of a large one waits for more": (
        {"min_size": 10, "max_size": 25, "flush_timeout": "60s"},
        [names(53), names(9, "t")], 2),
    "a small and a large one": (
        {"min_size": 20, "max_size": 20, "flush_timeout": "60s"},
        [names(5), names(40, "t"), names(1, "u")], 2),
    "by bytes": (
        {"min_size": 100000, "sizer": "bytes", "flush_timeout": "60s"},
        [[f"s{n}"] for n in range(20)], 0),
}


@pytest.mark.parametrize("case", CASES)
def test_sizes_are_the_collectors(case, tmp_path):
    ours, theirs = (sizes(side, tmp_path, *CASES[case]) for side in SIDES)
    assert ours == theirs


@pytest.mark.parametrize("side", SIDES)
def test_a_merged_request_is_retried(side, tmp_path, sink):
    port = sides.free_port()
    sink.status = 503
    made = settings(port, sink, {"min_size": 5, "flush_timeout": "60s"})
    with running(side, made, tmp_path / side, port):
        for name in names(10):
            assert sides.post(port, "traces", request_of([name])) == 200
        wait_for(lambda: sink.refused >= 2, "no retry")
        sink.status = 200
        wait_for(lambda: len(sink.requests) >= 2, sink.sizes())
    assert sink.sizes() == [5, 5]
    assert sink.names() == collections.Counter(names(10))


def metrics_of(port):
    """The values of a program's own metrics, by name without _total; of all labels together."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    values = collections.Counter()
    for line in lines:
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            values[name.partition("{")[0]] += float(value)
    return values


class Blocked(Sink):
    """A backend that answers nothing until it is let go."""

    def __init__(self):
        self.go = threading.Event()
        super().__init__()
        handler = self.server.RequestHandlerClass
        answer = handler.do_POST

        def do_POST(this):
            self.go.wait(60)
            answer(this)
        handler.do_POST = do_POST


@contextlib.contextmanager
def with_queue(side, tmp_path, backend, queue):
    port, page = sides.free_port(), sides.free_port()
    made = settings(port, backend, None)
    made["exporters"]["otlp_http"]["sending_queue"] = {"num_consumers": 1, **queue}
    made["service"]["telemetry"] = {"metrics": {"readers": [{"pull": {"exporter": {
        "prometheus": {"host": "127.0.0.1", "port": page}}}}]}}
    with running(side, made, tmp_path / side, port):
        yield port, page
        backend.go.set()
    backend.server.shutdown()
    backend.server.server_close()


# The queue, the spans of each request, and after how many of them to look at its size.
QUEUES = {
    "items": ({"sizer": "items", "queue_size": 20}, [8, 8, 5, 4, 1, 21], 4),
    "items, exactly full": ({"sizer": "items", "queue_size": 10}, [10, 1], 1),
    "items, too large": ({"sizer": "items", "queue_size": 10}, [11, 3], 2),
    "bytes": ({"sizer": "bytes", "queue_size": 450}, [5, 5, 5, 30], 3),
    "requests": ({"sizer": "requests", "queue_size": 2}, [5, 5, 5], 2),
}


@pytest.mark.parametrize("case", QUEUES)
def test_a_queue_holds_as_much(case, tmp_path):
    queue, requests, look = QUEUES[case]
    seen = {}
    for side in SIDES:
        backend = Blocked()
        with with_queue(side, tmp_path, backend, queue) as (port, page):
            statuses = [sides.post(port, "traces", request_of(names(count, f"r{number}s")))
                        for number, count in enumerate(requests[:look])]
            figures = metrics_of(page)
            statuses += [sides.post(port, "traces", request_of(names(count, "late")))
                         for count in requests[look:]]
        size = figures["otelcol_exporter_queue_size"]
        if queue["sizer"] == "bytes":  # the Collector writes empty fields too
            size = 300 < size < 450
        seen[side] = (statuses, size, figures["otelcol_exporter_queue_capacity"], backend.sizes())
    assert seen["spanlink"] == seen["otelcol"]


@pytest.mark.parametrize("sizer", ["items", "bytes"])
def test_the_batch_counts_as_the_queue_does(sizer, tmp_path):
    """Without a sizer of its own; what waits for others takes places too."""
    seen = {}
    for side in SIDES:
        backend = Blocked()
        backend.go.set()
        queue = {"sizer": sizer, "queue_size": 2000,
                 "batch": {"min_size": 200, "flush_timeout": "60s"}}
        with with_queue(side, tmp_path, backend, queue) as (port, page):
            for number in range(9):
                assert sides.post(port, "traces", request_of(names(4, f"r{number}s"))) == 200
            wait_for(lambda: sizer == "items" or len(backend.requests) >= 1, backend.sizes())
        seen[side] = backend.sizes()
    assert seen["spanlink"] == seen["otelcol"]


def sizes_of_batches(page):
    """The metric of what sending_queue.batch made, by name and labels but for those of a scope."""
    with urllib.request.urlopen(f"http://127.0.0.1:{page}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    found = {}
    for line in lines:
        name, value = line.rsplit(" ", 1)
        if name.startswith("otelcol_exporter_queue_batch_send_size_bytes"):
            if "_bytes_count{" in name:  # the Collector's requests have empty fields too
                found["bytes_count"] = float(value)
        elif name.startswith("otelcol_exporter_queue_batch_send_size"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', name))
            found[name.partition("{")[0], labels["exporter"], labels.get("le")] = float(value)
    return found


def test_sizes_of_batches_are_counted_as_in_the_collector(tmp_path):
    """Once for each, however often it is retried."""
    seen = {}
    for side in SIDES:
        sink, port, page = Sink(), sides.free_port(), sides.free_port()
        made = settings(port, sink, {"min_size": 30, "max_size": 60, "flush_timeout": "60s"})
        made["service"]["telemetry"]["metrics"] = {"level": "detailed", "readers": [
            {"pull": {"exporter": {"prometheus": {"host": "127.0.0.1", "port": page}}}}]}
        sink.status = 503
        with running(side, made, tmp_path / side, port):
            for count in (8, 25, 130):
                assert sides.post(port, "traces", request_of(names(count))) == 200
            wait_for(lambda: sink.refused >= 2, "no retry")
            sink.status = 200
            wait_for(lambda: len(sink.requests) >= 3, sink.sizes())
            seen[side] = sizes_of_batches(page)
        sink.server.shutdown()
        sink.server.server_close()
    assert seen["otelcol"]["bytes_count"] == 3
    assert seen["spanlink"] == seen["otelcol"]


@pytest.mark.parametrize("side", SIDES)
def test_block_on_overflow_loses_nothing(side, tmp_path):
    """Clients wait until there is room; none is told to retry."""
    backend = Blocked()
    queue = {"sizer": "items", "queue_size": 10, "block_on_overflow": True}
    statuses = []

    def send(port, number):
        statuses.append(sides.post(port, "traces", request_of(names(4, f"r{number}s"))))

    with with_queue(side, tmp_path, backend, queue) as (port, page):
        clients = [threading.Thread(target=send, args=(port, number)) for number in range(6)]
        for client in clients:
            client.start()
        wait_for(lambda: len(statuses) == 2, "never full")
        assert metrics_of(page)["otelcol_exporter_queue_size"] == 8
        backend.go.set()
        for client in clients:
            client.join(60)
        assert metrics_of(page)["otelcol_receiver_refused_spans"] == 0
    assert statuses == 6 * [200]
    assert backend.names() == collections.Counter(
        name for number in range(6) for name in names(4, f"r{number}s"))


EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def send_grpc(port, count):
    """The name of the code with which an export of spans ends, and its message."""
    request = trace_service_pb2.ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for number in range(count):
        spans.add(trace_id=number.to_bytes(16, "big"), span_id=b"12345678", name="late")
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            channel.unary_unary(EXPORT)(request.SerializeToString(), timeout=30)
            return "OK", ""
        except grpc.RpcError as problem:
            return problem.code().name, problem.details()


def test_who_waits_too_long_is_told_to_retry(tmp_path):
    """Over HTTP and gRPC. The Collector's clients wait until they give up."""
    backend, port, grpc_port, page = Blocked(), *(sides.free_port() for _ in range(3))
    made = settings(port, backend, None)
    made["receivers"]["otlp"]["protocols"]["grpc"] = {"endpoint": f"127.0.0.1:{grpc_port}"}
    made["exporters"]["otlp_http"]["sending_queue"] = {"queue_size": 1, "block_on_overflow": True}
    made["extensions"] = {"zpages": {"endpoint": f"127.0.0.1:{page}"}}
    made["service"]["extensions"] = ["zpages"]

    def explained():
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/debug/explain", timeout=10) as told:
            return told.read().decode()

    with running("spanlink", made, tmp_path / "spanlink", port):
        assert sides.post(port, "traces", request_of(names(3))) == 200
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            by_http = pool.submit(sides.post, port, "traces", request_of(names(4, "t")))
            by_grpc = pool.submit(send_grpc, grpc_port, 5)
            wait_for(lambda: "queue holds 1 of 1 requests, 1 in flight, 2 wait for room\n"
                     in explained(), "none waits")
            assert by_http.result() == 503
            assert by_grpc.result() == ("UNAVAILABLE", "sending queue of otlp_http is full")
        assert "wait for room" not in explained()
        backend.go.set()
    backend.server.shutdown()
    backend.server.server_close()
    assert backend.names() == collections.Counter(names(3))


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_client_that_waits_gets_the_backends_answer(status, tmp_path):
    seen = {}
    for side in SIDES:
        backend = Blocked()
        backend.go.set()
        backend.status = status
        with with_queue(side, tmp_path, backend, {"wait_for_result": True}) as (port, _page):
            answers = [sides.post(port, "traces", request_of(names(3, f"r{number}s")))
                       for number in range(2)]
        seen[side] = answers, backend.sizes()
    assert seen["spanlink"] == seen["otelcol"]


def test_a_kill_loses_nothing_with_the_journal(tmp_path, sink):
    """What was acknowledged while it waited for others, and while the backend refused it."""
    port = sides.free_port()
    made = settings(port, sink, {"min_size": 40, "max_size": 50, "flush_timeout": "60s"},
                    tmp_path / "journal")
    sink.status = 503
    with running("spanlink", made, tmp_path / "spanlink", port) as process:
        for number in range(30):
            assert sides.post(port, "traces", request_of(names(3, f"r{number}s"))) == 200
        wait_for(lambda: sink.refused >= 1, "no attempt")
        process.kill()
        process.wait(30)
    sink.status = 200
    with running("spanlink", made, tmp_path / "spanlink", port):
        wait_for(lambda: sum(sink.sizes()) >= 80, sink.sizes())
    assert sink.names() == collections.Counter(
        name for number in range(30) for name in names(3, f"r{number}s"))
