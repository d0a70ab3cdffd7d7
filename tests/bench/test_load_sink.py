"""The load generator and the sink of the benchmarks: against each other, and each against peers of
other make. What a pool holds is counted by OTLP's published message definitions."""
import base64
import concurrent.futures
import gzip
import http.server
import itertools
import json
import os
import re
import socket
import struct
import subprocess
import threading
import types

import grpc
import pytest
import requests
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import drive
import payloads

FORMS = ["http", "grpc"]
CODINGS = ["none", "gzip"]
CORE = min(os.sched_getaffinity(0))
SECONDS = 60        # no peer takes that long


def counted(body):
    """Spans, and the sum of their ids."""
    ids = [int.from_bytes(span.span_id, "little")
           for group in ExportTraceServiceRequest.FromString(body).resource_spans
           for scope in group.scope_spans for span in scope.spans]
    return {"items": len(ids), "id_sum": sum(ids) % 2 ** 64}


def total(bodies):
    found = [counted(body) for body in bodies]
    return {"items": sum(f["items"] for f in found),
            "id_sum": sum(f["id_sum"] for f in found) % 2 ** 64}


def awkward_request():
    """Spans in several groups, and ids that are not those of spans: of links, parents, traces."""
    request = ExportTraceServiceRequest()
    for number in range(1, 13):
        if number % 6 == 1:
            group = request.resource_spans.add()
            group.resource.attributes.add(key="service.name").value.string_value = "checkout"
        if number % 3 == 1:
            scope = group.scope_spans.add(schema_url="https://example.com")
            scope.scope.name = "test"
        span = scope.spans.add(trace_id=bytes(15) + b"\1", span_id=struct.pack("<Q", 2 ** 61 + number),
                               parent_span_id=b"\xff" * 8, name="GET")
        span.links.add(trace_id=b"\2" * 16, span_id=b"\xee" * 8)
        span.attributes.add(key="list").value.array_value.values.add().bytes_value = b"\x12\x08" * 9
    request.resource_spans.add().scope_spans.add()
    return request.SerializeToString()


def write_pool(folder, bodies, gzipped=False, items=None):
    """A pool with those bodies; items: what it says of each in place of the truth."""
    path = folder / "pool"
    with open(path, "wb") as file:
        for body in bodies:
            held = counted(body) if items is None else {"items": items, "id_sum": 0}
            sent = gzip.compress(body) if gzipped else body
            file.write(struct.pack("<IQI", held["items"], held["id_sum"], len(sent)) + sent)
    return payloads.Pool(path, [])


@pytest.fixture
def subject(request, sink_program):
    """A sink in the place of what is measured. Asked for as (form, coding)."""
    form, coding = getattr(request, "param", ("http", "none"))
    sink = drive.Sink(sink_program, CORE, grpc=form == "grpc")
    yield types.SimpleNamespace(name="sink", sink=sink, grpc=form == "grpc", gzip=coding == "gzip",
                                http_port=sink.port, grpc_port=sink.port, pid=sink.process.pid)
    sink.close()
    assert sink.process.returncode == 0


def ended(load_program, port, pool, form="http", **options):
    """Code, report and complaint of a load."""
    argv = [load_program, "--port", str(port), "--pool", str(pool.path), "--path",
            drive.GRPC_PATH if form == "grpc" else drive.HTTP_PATH] + ["--grpc"] * (form == "grpc")
    for key, value in {"requests": 5, **options}.items():
        argv += [f"--{key}", str(value)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


@pytest.fixture
def small_pool(tmp_path):
    return write_pool(tmp_path, [awkward_request()])


# Against each other

@pytest.mark.parametrize("subject", list(itertools.product(FORMS, CODINGS)), indirect=True,
                         ids="-".join)
def test_what_was_accepted_has_arrived(subject, load_program, tmp_path):
    bodies = [awkward_request()]
    for spans in (3, 300):      # some of several frames of HTTP/2
        pool = payloads.write_pools(tmp_path, spans, count=2)[0]
        bodies += [body for _, _, body in payloads.records(pool.path)]
    pool = write_pool(tmp_path, bodies, subject.gzip)
    sent = drive.Load(load_program, CORE).run(subject, pool, requests=23, clients=3, streams=2)
    got = subject.sink.counts()
    expected = total((bodies * 5)[:23])
    assert {**sent, **expected} == sent and {**got, **expected} == got
    assert payloads.first_requests(pool.path, 23) == expected
    assert (sent["requests"], sent["retries"], sent["refused"]) == (23, 0, 0)
    assert (got["requests"], got["broken"], got["other"]) == (23, 0, 0)
    assert got["bytes"] == sent["bytes"]
    drive.check("sink", got, sent)


@pytest.mark.parametrize("coding", CODINGS)
def test_pools_say_what_they_hold(coding, tmp_path):
    pool = payloads.write_pools(tmp_path, 12, count=5)[CODINGS.index(coding)]
    found, ids = list(payloads.records(pool.path)), []
    for items, id_sum, body in found:
        plain = gzip.decompress(body) if coding == "gzip" else body
        assert counted(plain) == {"items": items, "id_sum": id_sum}
        ids += [span.span_id for span in ExportTraceServiceRequest.FromString(plain)
                .resource_spans[0].scope_spans[0].spans]
    assert len(found) == 5 and ids == pool.ids and len(set(ids)) == 60


def test_the_json_of_a_pool_holds_the_same(tmp_path):
    plain = payloads.write_pools(tmp_path, 12, count=5)[0]
    pool = payloads.json_pool(plain)
    for (items, id_sum, body), (same_items, same_sum, text) in zip(
            payloads.records(plain.path), payloads.records(pool.path), strict=True):
        assert (same_items, same_sum) == (items, id_sum)
        # json_format takes ids for base64, where OTLP has hex.
        request = json_format.Parse(re.sub(
            rb'Id":"([0-9a-f]+)"',
            lambda found: b'Id":"%s"' % base64.b64encode(bytes.fromhex(found[1].decode())), text),
            ExportTraceServiceRequest())
        assert request == ExportTraceServiceRequest.FromString(body)


def test_a_difference_voids_the_measurement(subject, load_program, tmp_path):
    """A pool that claims a span more than it holds stands for a subject that lost it; one that claims
    another sum for a subject that changed an id."""
    load = drive.Load(load_program, CORE)
    for items in (13, 12):
        before = subject.sink.counts()
        sent = load.run(subject, write_pool(tmp_path, [awkward_request()], items=items), requests=3)
        got = drive.difference(subject.sink.counts(), before)
        assert got["items"] == 36 and sent["items"] == 3 * items
        with pytest.raises(drive.Void, match="were accepted, 36 arrived"):
            drive.check("sink", got, sent)


@pytest.mark.parametrize("subject", list(itertools.product(FORMS, CODINGS)), indirect=True,
                         ids="-".join)
def test_the_sink_sees_a_body_that_is_broken(subject, load_program, tmp_path):
    pool = write_pool(tmp_path, [awkward_request()], subject.gzip)
    sent = drive.Load(load_program, CORE).run(subject, pool, requests=2)
    whole = pool.path.read_bytes()
    pool.path.write_bytes(whole[:12] + struct.pack("<I", len(whole) - 16 - 5) + whole[16:-5])
    drive.Load(load_program, CORE).run(subject, pool, requests=3)
    got = subject.sink.counts()
    assert (got["requests"], got["broken"]) == (5, 3)
    with pytest.raises(drive.Void, match="3 bodies broken"):
        drive.check("sink", got, sent)


# The sink with other clients

@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_the_sink_counts_what_requests_sends(coding, framing, subject):
    body = awkward_request()
    sent = gzip.compress(body) if coding == "gzip" else body
    with requests.Session() as session:
        for path in (drive.HTTP_PATH, "/v1/metrics", drive.HTTP_PATH):
            parts = iter([sent[:100], sent[100:]]) if framing == "chunked" else sent
            answer = session.post(
                f"http://127.0.0.1:{subject.http_port}{path}", parts, timeout=SECONDS,
                headers={"Content-Encoding": coding} if coding == "gzip" else {})
            assert answer.status_code == 200
    assert subject.sink.counts() == {**total([body] * 2), "requests": 2, "bytes": 2 * len(sent),
                                     "broken": 0, "other": 1}


@pytest.mark.parametrize("subject", [("grpc", "none")], indirect=True)
@pytest.mark.parametrize("coding", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_the_sink_counts_what_grpc_sends(coding, subject):
    body = awkward_request()
    with grpc.insecure_channel(f"127.0.0.1:{subject.grpc_port}", compression=coding) as channel:
        for path in (drive.GRPC_PATH, drive.GRPC_PATH.replace("Trace", "Metrics"), drive.GRPC_PATH):
            assert channel.unary_unary(path)(body, timeout=SECONDS) == b""
    got = subject.sink.counts()
    assert {**got, **total([body] * 2)} == got
    assert (got["requests"], got["broken"], got["other"]) == (2, 0, 1)


@pytest.mark.parametrize("subject", [("grpc", "none")], indirect=True)
def test_the_sink_takes_one_message_a_stream(subject):
    with grpc.insecure_channel(f"127.0.0.1:{subject.grpc_port}") as channel:
        call = channel.stream_unary(drive.GRPC_PATH)
        assert call(iter([awkward_request()] * 2), timeout=SECONDS) == b""
    got = subject.sink.counts()
    assert (got["items"], got["broken"]) == (0, 1)


# The load with other servers

class HttpServer:
    """Answers with the statuses in turn, then with 200. bodies: those answered with 200."""

    def __init__(self, statuses):
        self.bodies, statuses, lock = [], iter(statuses), threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    status = next(statuses, 200)
                    if status == 200 and self.path == drive.HTTP_PATH:
                        outer.bodies.append(body)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class GrpcServer(grpc.GenericRpcHandler):
    CODES = {503: grpc.StatusCode.UNAVAILABLE, 429: grpc.StatusCode.RESOURCE_EXHAUSTED,
             400: grpc.StatusCode.INVALID_ARGUMENT}

    def __init__(self, statuses):
        self.bodies, self.statuses, self.lock = [], iter(statuses), threading.Lock()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        self.server.add_generic_rpc_handlers([self])
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self.answer) \
            if details.method == drive.GRPC_PATH else None

    def answer(self, body, context):
        with self.lock:
            status = next(self.statuses, 200)
            if status == 200:
                self.bodies.append(body)
        if status != 200:
            context.abort(self.CODES[status], "")
        return b""

    def stop(self):
        self.server.stop(None).wait()


class NarrowServer:
    """HTTP/2 by hand, for two requests on one connection: opens the connection's window again only
    when it has been filled to the byte, once. messages: what came on each stream."""
    WINDOW = 65535              # as the protocol has it at first
    HEADERS, SETTINGS, WINDOW_UPDATE, END = 1, 4, 8, 5
    ANSWER = b"\x88\0\x0bgrpc-status\x010"     # HPACK: :status 200, grpc-status 0

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.messages = self.listener.getsockname()[1], {}

    @staticmethod
    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload

    def serve(self):
        with self.listener, self.listener.accept()[0] as connection, connection.makefile("rb") as file:
            assert file.read(24).startswith(b"PRI * HTTP/2.0")
            connection.sendall(self.frame(self.SETTINGS, 0, 0, b""))
            filled = answered = 0
            while answered < 2:
                head = file.read(9)
                kind, flags, stream = struct.unpack(">BBI", head[3:])
                payload = file.read(int.from_bytes(head[:3], "big"))
                if kind:
                    continue
                self.messages[stream] = self.messages.get(stream, b"") + payload
                filled += len(payload)
                if filled == self.WINDOW:
                    more = struct.pack(">I", self.WINDOW)
                    connection.sendall(self.frame(self.WINDOW_UPDATE, 0, 0, more))
                if flags & 1:
                    connection.sendall(self.frame(self.HEADERS, self.END, stream, self.ANSWER))
                    answered += 1
            file.read()         # until the load is gone


@pytest.mark.parametrize("left", range(7))
def test_a_window_that_ends_in_the_prefix_of_a_message(left, load_program, tmp_path):
    """Of the second request no more than so many bytes go at first."""
    server = NarrowServer()
    body = bytes(range(256)) * 256
    body = body[:server.WINDOW - left - 5]
    pool = write_pool(tmp_path, [body], items=1)
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        served = thread.submit(server.serve)
        code, report, said = ended(load_program, server.port, pool, "grpc", clients=1, streams=2,
                                   requests=2)
        served.result()
    assert (code, said, report["requests"]) == (0, "", 2)
    message = b"\0" + struct.pack(">I", len(body)) + body
    assert list(server.messages.values()) == [message, message]


@pytest.fixture
def server(request):
    kind, statuses = request.param
    server = {"http": HttpServer, "grpc": GrpcServer}[kind](statuses)
    server.form = kind
    yield server
    server.stop()


@pytest.mark.parametrize("server", [(form, [200, 503, 429, 503, 200]) for form in FORMS],
                         indirect=True, ids=FORMS)
def test_the_load_sends_again_what_may_be_sent_again(server, load_program, tmp_path):
    made = payloads.write_pools(tmp_path, 120, count=3)[0]
    bodies = [body for _, _, body in payloads.records(made.path)]
    code, report, said = ended(load_program, server.port, made, server.form, requests=7, clients=2,
                               streams=2)
    assert (code, said) == (0, "")
    assert (report["requests"], report["retries"], report["refused"]) == (7, 3, 0)
    assert sorted(server.bodies) == sorted((bodies * 3)[:7])
    assert {**report, **total(server.bodies)} == report


@pytest.mark.parametrize("server", [(form, [200, 400, 200, 400]) for form in FORMS],
                         indirect=True, ids=FORMS)
def test_the_load_does_not_count_what_was_refused(server, load_program, small_pool):
    code, report, said = ended(load_program, server.port, small_pool, server.form)
    assert (code, said) == (1, "load: 2 requests were refused\n")
    assert (report["requests"], report["retries"], report["refused"]) == (3, 0, 2)
    assert {**report, **total(server.bodies)} == report and len(server.bodies) == 3


@pytest.mark.parametrize("form", FORMS)
def test_a_port_where_nobody_listens(form, load_program, small_pool):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert ended(load_program, port, small_pool, form) == (
            1, None, f"load: cannot connect to 127.0.0.1:{port}: Connection refused\n")


def test_a_failed_load_voids_the_measurement(load_program, small_pool):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        subject = types.SimpleNamespace(name="checkout", grpc=False, gzip=False,
                                        http_port=taken.getsockname()[1])
        with pytest.raises(drive.Void, match="checkout ended with 1: load: cannot connect to"):
            drive.Load(load_program, CORE).run(subject, small_pool, requests=1)


@pytest.mark.parametrize("form", FORMS)
def test_a_subject_that_goes_away(form, load_program, tmp_path):
    """In the middle of a request that no buffer takes whole."""
    pool = write_pool(tmp_path, [bytes(1 << 25)], items=1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            with listener.accept()[0] as connection:
                connection.recv(1)
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            served = thread.submit(serve)
            code, report, said = ended(load_program, listener.getsockname()[1], pool, form,
                                       clients=1)
            served.result()
    assert (code, report) == (1, None) and said.startswith("load: the subject closed a connection")


@pytest.mark.parametrize("subject,form", [(("http", "none"), "grpc"), (("grpc", "none"), "http")],
                         indirect=["subject"], ids=["grpc-to-http", "http-to-grpc"])
def test_a_subject_of_the_other_protocol(subject, form, load_program, small_pool):
    code, report, said = ended(load_program, subject.sink.port, small_pool, form)
    assert (code, report) == (1, None) and said.startswith("load: ")
    assert subject.sink.counts()["items"] == 0


@pytest.mark.parametrize("change,complaint", [
    (lambda whole: b"", "cannot be read, or is empty"),
    (lambda whole: whole[:-1], "ends inside a record"),
    (lambda whole: whole + b"\0" * 15, "ends inside a record"),
    (None, "No such file or directory"),
], ids=["empty", "cut", "longer", "absent"])
def test_a_pool_that_is_none(change, complaint, subject, load_program, small_pool):
    if change:
        small_pool.path.write_bytes(change(small_pool.path.read_bytes()))
    else:
        small_pool.path.unlink()
    assert ended(load_program, subject.http_port, small_pool) == (
        2, None, f"load: the pool {small_pool.path}: {complaint}\n")


def test_a_load_without_an_end(subject, load_program, small_pool):
    code, report, said = ended(load_program, subject.http_port, small_pool, requests=0)
    assert (code, report) == (2, None) and said.startswith("usage: load ")


def test_a_port_that_is_taken(subject, sink_program):
    done = subprocess.run([sink_program, "--port", str(subject.http_port)], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sink: cannot listen: Address already in use\n"
