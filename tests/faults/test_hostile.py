"""Hostile and broken clients: they get an error or their connection is closed, other clients are
served meanwhile, and memory stays within its budget. Uses raw sockets, because no library would
send these requests.

    SPANLINK_BIN     the binary under test; build/release/spanlink by default
"""
import contextlib
import http.server
import pathlib
import re
import resource
import select
import socket
import socketserver
import struct
import sys
import threading
import time
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
import harness  # noqa: E402

LIMIT_MIB = 64
HERE = "127.0.0.1"
PATH = b"/opentelemetry.proto.collector.trace.v1.TraceService/Export"
CONFIG = """\
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{grpc}"}},
    http: {{endpoint: "127.0.0.1:{http}", read_header_timeout: 2s, idle_timeout: 3s}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}", read_header_timeout: 2s, idle_timeout: 3s}}
processors:
  memory_limiter: {{limit_mib: {limit}}}
  batch: {{}}
exporters:
  otlp_http: {{endpoint: "http://127.0.0.1:{backend}", compression: none, timeout: 600s,
    sending_queue: {{queue_size: 100000}}, retry_on_failure: {{max_elapsed_time: 0s}}}}
  pyroscope: {{endpoint: "http://127.0.0.1:{backend}"}}
service:
  telemetry: {{logs: {{level: warn}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [memory_limiter, batch], exporters: [otlp_http]}}
    profiles: {{receivers: [pyroscope], processors: [memory_limiter], exporters: [pyroscope]}}
"""


# The backend and spanlink

class Backend(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Accepts OTLP requests and keeps the names of the spans; can be made to stall."""
    daemon_threads, request_queue_size = True, 128

    def __init__(self):
        self.open, self.names, self.lock = threading.Event(), set(), threading.Lock()
        self.open.set()
        super().__init__((HERE, 0), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.open.wait()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.names.update(re.findall(rb"name-\d{8}", body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Guarded(harness.Program):
    """spanlink, with its memory when idle."""

    def __init__(self, folder):
        self.backend = Backend()
        self.grpc, self.http, self.ingest = (harness.free_port() for _ in range(3))
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "spanlink.yaml"
        config.write_text(CONFIG.format(grpc=self.grpc, http=self.http, ingest=self.ingest,
                                        limit=LIMIT_MIB, backend=self.backend.port))
        super().__init__("spanlink", folder, [harness.SPANLINK, "--config", config])
        self.wait_ports(self.grpc, self.http, self.ingest, seconds=20)
        self.idle = self.status("VmRSS")

    def status(self, key):
        """A value of /proc/PID/status, in bytes."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(key + r":\s+(\d+)", text).group(1)) * 1024

    def within_budget(self):
        most = self.idle + LIMIT_MIB * 2**20 * 105 // 100
        peak = self.status("VmHWM")
        assert peak <= most, f"{peak / 2**20:.1f} MiB, at most {most / 2**20:.1f} are allowed"

    def serves(self):
        """Well-behaved clients, with both protocols."""
        code, _ = post(self.http, traces(b"other"))
        assert code == 200
        with H2(self.grpc) as peer:
            peer.call(1, traces(b"other"))
            assert peer.wait(lambda: 1 in peer.answered), "gRPC does not answer"


@pytest.fixture(scope="module")
def spanlink(tmp_path_factory):
    program = Guarded(tmp_path_factory.mktemp("hostile"))
    program.silent = socket.create_connection((HERE, program.grpc))
    program.silent.sendall(b"PRI * HTTP/2.0")
    yield program
    program.silent.close()
    assert program.stop() == 0, program.tail()


@pytest.fixture(autouse=True)
def unharmed(spanlink):
    yield
    assert spanlink.process.poll() is None, spanlink.tail()
    spanlink.serves()
    spanlink.within_budget()


# Requests

def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def traces(name, filling=b"", count=1):
    """An ExportTraceServiceRequest; the filling becomes an attribute of each span."""
    attribute = field(1, b"k") + field(2, field(1, filling))
    span = (field(1, b"\1" * 16) + field(2, b"\2" * 8) + field(5, name) +
            b"\x39" + struct.pack("<Q", 10**18) + b"\x41" + struct.pack("<Q", 10**18) +
            (field(9, attribute) if filling else b""))
    return field(1, field(2, field(2, span) * count))


def request(body, *headers, path="/v1/traces", kind="application/x-protobuf"):
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Type: {kind}", *headers]
    if not any(h.lower().startswith(("content-length", "transfer-encoding")) for h in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answer(sock):
    """Status and headers of a response; 0: the connection was closed."""
    file = sock.makefile("rb")
    try:
        line, headers = file.readline(), {}
        while (header := file.readline().strip()):
            key, _, value = header.decode().partition(":")
            headers[key.lower()] = value.strip()
        file.read(int(headers.get("content-length", 0)))
        return int(line.split()[1]) if line else 0, headers
    except ConnectionError:
        return 0, {}


def send_raw(port, data):
    with socket.create_connection((HERE, port), timeout=20) as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(data)
        return answer(sock)


def post(port, body, *headers, **what):
    return send_raw(port, request(body, *headers, **what))


def is_closed(sock, seconds):
    """Reads until the connection is closed. False: it stays open."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if select.select([sock], [], [], left)[0]:
            try:
                if not sock.recv(65536):
                    return True
            except ConnectionError:
                return True
    return False


# HTTP/2 by hand

def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, WINDOW, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
CANCEL = b"\0\0\0\x08"


def literal(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


CALL = b"".join(literal(name, value) for name, value in [
    (b":method", b"POST"), (b":scheme", b"http"), (b":path", PATH), (b":authority", b"x"),
    (b"te", b"trailers")])
GRPC = CALL + literal(b"content-type", b"application/grpc")


class H2:
    """A connection that records responses and how it is closed."""

    def __init__(self, port):
        self.sock = socket.create_connection((HERE, port), timeout=10)
        self.answered, self.resets, self.greeted, self.closed = {}, [], False, False
        self.sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        file = self.sock.makefile("rb")
        with contextlib.suppress(OSError, ValueError):
            while len(head := file.read(9)) == 9:
                payload = file.read(int.from_bytes(head[:3], "big"))
                if head[3] == SETTINGS and not head[4]:
                    self.sock.sendall(frame(SETTINGS, 1, 0))
                    self.greeted = True
                stream = int.from_bytes(head[5:], "big")
                if head[3] == HEADERS:
                    self.answered[stream] = self.answered.get(stream, b"") + payload
                elif head[3] == RESET:
                    self.resets.append(stream)
        self.closed = True

    def wait(self, condition, seconds=20):
        return harness.wait_for(condition, seconds, 0.01)

    def call(self, stream, message, headers=GRPC, compressed=0):
        assert self.wait(lambda: self.greeted)
        body = struct.pack(">BI", compressed, len(message)) + message
        self.sock.sendall(frame(HEADERS, 4, stream, headers))
        pieces = [body[i:i + 16384] for i in range(0, len(body), 16384)]
        for piece in pieces[:-1]:
            self.sock.sendall(frame(DATA, 0, stream, piece))
        self.sock.sendall(frame(DATA, 1, stream, pieces[-1]))

    def flood(self, pieces, seconds=15):
        """Sends until the peer stops reading. True: it has closed the connection."""
        until = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            for piece in pieces:
                if self.closed or time.monotonic() > until:
                    break
                self.sock.sendall(piece)
        return self.wait(lambda: self.closed, 10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.reader.join(10)
        self.sock.close()


# Slow and silent clients

@pytest.mark.parametrize("start", [
    b"", b"POST /v1/tr", b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-A: ",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"])
def test_slow_clients_are_closed(spanlink, start):
    with contextlib.ExitStack() as all_of_them:
        slow = [all_of_them.enter_context(socket.create_connection((HERE, spanlink.http)))
                for _ in range(50)]
        for sock in slow:
            sock.sendall(start)
        spanlink.serves()
        assert all(is_closed(sock, 20) for sock in slow)


@pytest.mark.parametrize("start", [
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"])
def test_trickling_is_no_progress(spanlink, start):
    """Sending an occasional byte does not keep a connection open."""
    with socket.create_connection((HERE, spanlink.http)) as sock:
        sock.sendall(start)

        def ended():
            try:
                sock.sendall(b"a")
            except OSError:
                return True
            return is_closed(sock, 0.2)
        assert harness.wait_for(ended, 20, 0)


def descriptors():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return 10**6 if hard == resource.RLIM_INFINITY else hard


@pytest.mark.parametrize("protocol", ["http", "grpc", "ingest"])
def test_ten_thousand_idle_connections_keep_nobody_out(spanlink, protocol):
    count = min(10000, descriptors() - 500)
    idle, port = [], getattr(spanlink, protocol)
    try:
        for _ in range(count):
            idle.append(socket.create_connection((HERE, port), timeout=20))
        for _ in range(20):
            spanlink.serves()
        if protocol == "ingest":
            assert post(port, b"", path="/nothing")[0] == 404
    finally:
        for sock in idle:
            sock.close()


def half_closed(port):
    """Number of connections to a port that the peer has closed but the listener has not."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return sum(each[1].endswith(f":{port:04X}") and each[3] == "08" for each in fields)


@pytest.mark.parametrize("protocol", ["http", "ingest", "grpc"])
def test_clients_that_end_with_their_last_bytes_are_noticed(spanlink, protocol):
    """Half a header or half a body, and FIN in the same segment."""
    head = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, GRPC)
    halves = [head, head + frame(DATA, 0, 1, b"\0\0\1\0\0abc")] if protocol == "grpc" else [
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-A: ", request(traces(b"half", b"x" *
        9000))[:5000]]
    for half in halves * 50:
        sock = socket.create_connection((HERE, getattr(spanlink, protocol)), timeout=20)
        sock.send(half, socket.MSG_MORE)
        sock.close()
    assert harness.wait_for(lambda: not half_closed(getattr(spanlink, protocol)), 2, 0.05)


class Holders:
    """Connections that declare a large body, send a part of it and then trickle."""

    def __init__(self, spanlink, protocol, count, part):
        self.ended, self.peers, self.socks = threading.Event(), [], []
        self.drop = b"\0" if protocol == "http" else frame(DATA, 0, 1, b"\0")
        self.thread = threading.Thread(target=self.trickle, daemon=True)
        for _ in range(count):
            (self.open_http if protocol == "http" else self.open_grpc)(spanlink, part)

    def open_http(self, spanlink, part):
        self.socks.append(socket.create_connection((HERE, spanlink.http), timeout=20))
        self.socks[-1].sendall(request(b"\0" * part, f"Content-Length: {25 << 20}"))

    def open_grpc(self, spanlink, part):
        peer = H2(spanlink.grpc)
        assert peer.wait(lambda: peer.greeted)
        peer.sock.sendall(frame(HEADERS, 4, 1, GRPC) +
                          frame(DATA, 0, 1, struct.pack(">BI", 0, 25 << 20)) +
                          frame(DATA, 0, 1, b"\0" * 16384) * (part // 16384))
        self.peers.append(peer)
        self.socks.append(peer.sock)

    def trickle(self):
        while not self.ended.wait(0.2):
            for sock in self.socks:
                with contextlib.suppress(OSError):
                    sock.sendall(self.drop)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for peer in self.peers:
            peer.__exit__()
        for sock in self.socks:
            sock.close()


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("part", [16384, 2 << 20])
def test_bodies_that_trickle_keep_nobody_out(spanlink, protocol, part):
    """48 of them would use up the budget."""
    large = traces(b"large", b"x" * 1000, 2000)
    with Holders(spanlink, protocol, 48, part):
        # In the first second no connection counts as slow.
        assert harness.wait_for(lambda: all(post(spanlink.http, large)[0] == 200
                                            for _ in range(30)), 15, 0.1)
        spanlink.serves()
    spanlink.within_budget()


def test_a_large_request_keeps_nobody_out(spanlink):
    """The largest that is not refused for good is accepted, or asked to retry if memory is short;
    other clients are not affected."""
    count = (26 << 20) // len(traces(b"name-00000000", b"x" * 1000, 1))
    large, codes, ended = traces(b"name-00000000", b"x" * 1000, count), set(), threading.Event()
    assert post(spanlink.http, traces(b"larger", b"x" * 1000, count * 51 // 50))[0] == 413
    assert harness.wait_for(lambda: post(spanlink.http, large)[0] == 200, 10, 0.1), "alone"
    assert harness.wait_for(lambda: b"name-00000000" in spanlink.backend.names, 20)

    def others():
        with socket.create_connection((HERE, spanlink.http), timeout=20) as sock:
            while not ended.is_set():
                sock.sendall(request(traces(b"other", b"x" * 1000, 5)))
                codes.add(answer(sock)[0])
                time.sleep(0.005)
    threads = [threading.Thread(target=others) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert {post(spanlink.http, large)[0] for _ in range(5)} <= {200, 503}
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert codes == {200}


@pytest.mark.parametrize("short", [False, True])
def test_what_is_above_the_limit_is_refused_for_good(spanlink, bombs, short):
    with Holders(spanlink, "http", 40 * short, 2 << 20):
        for coding in bombs:        # if memory is short, once there is room for the bomb itself
            assert harness.wait_for(lambda: post(
                spanlink.http, bombs[coding], f"Content-Encoding: {coding}")[0] == 413, 10, 0.1)
        assert post(spanlink.http, b"x" * (31 << 20))[0] == 413
        with H2(spanlink.grpc) as peer:
            assert peer.wait(lambda: peer.greeted)
            peer.sock.sendall(frame(HEADERS, 4, 1, GRPC) +
                              frame(DATA, 0, 1, struct.pack(">BI", 0, 31 << 20)))
            assert peer.wait(lambda: 1 in peer.answered)
            assert b"\x018" in peer.answered[1], "RESOURCE_EXHAUSTED"


def test_clients_that_leave_in_the_middle_leave_nothing(spanlink):
    half = request(traces(b"half", b"x" * 200000))[:100000]
    for _ in range(300):
        with socket.create_connection((HERE, spanlink.http)) as sock:
            sock.sendall(half)
    for _ in range(100):
        with H2(spanlink.grpc) as peer:
            peer.sock.sendall(frame(HEADERS, 4, 1, GRPC) + frame(DATA, 0, 1, b"\0\0\1\0\0abc"))
    spanlink.within_budget()


def recording(mib):
    """An upload of a JFR recording, gzip in a form, like the Java agent's."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(bytes(2**20)) for _ in range(mib)) + packer.flush()
    return (b"--z1\r\nContent-Disposition: form-data; name=\"jfr\"; filename=\"jfr\"\r\n\r\n" +
            packed + b"\r\n--z1--\r\n")


def test_recordings_that_are_sent_on_inflated_stay_within_the_budget(spanlink):
    where = {"path": "/ingest?name=a&format=jfr", "kind": "multipart/form-data; boundary=z1"}
    assert post(spanlink.ingest, recording(60), **where)[0] == 413
    codes, body = set(), recording(20)
    clients = [threading.Thread(target=lambda: codes.add(post(spanlink.ingest, body, **where)[0]))
               for _ in range(16)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert codes <= {200, 503}
    assert harness.wait_for(lambda: post(spanlink.ingest, body, **where)[0] == 200, 20, 0.2)


# Broken requests

@pytest.mark.parametrize("data", [
    b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"POST /v1/traces HTTP/9.9\r\nHost: x\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"ffffffffffffffffff\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-Large: " + b"a" * 100000 + b"\r\n\r\n",
    b"POST /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\n" + b"X-Many: 1\r\n" * 20000 + b"\r\n"])
def test_broken_framing_is_refused_or_closed(spanlink, data):
    code, _ = send_raw(spanlink.http, data)
    assert code == 0 or 400 <= code < 500 or code in (501, 505)


@pytest.mark.parametrize("data", [
    b"POST /v1/traces HTTP/1.1\nHost: x\r\nContent-Length: 0\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\nContent-Length: 0\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-A: a\rb\r\nContent-Length: 0\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-A: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n"])
def test_malformed_headers_are_refused_with_a_sentence(spanlink, data):
    with socket.create_connection((HERE, spanlink.http), timeout=20) as sock:
        sock.sendall(data)
        text = b"".join(iter(lambda: sock.recv(65536), b""))
    assert text.startswith(b"HTTP/1.1 400 ") and b"<html>" not in text


@pytest.mark.parametrize("extension", [b"", b";name=value", b';a="b c";d'])
def test_odd_but_legal_chunks_are_read(spanlink, extension):
    body = traces(b"chunks")
    chunks = b"".join(b"1" + extension + b"\r\n" + body[i:i + 1] + b"\r\n"
                      for i in range(len(body)))
    data = request(chunks + b"0" + extension + b"\r\n\r\n", "Transfer-Encoding: chunked")
    assert send_raw(spanlink.http, data)[0] == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/grpc", "application/xml", ""])
def test_wrong_content_types_are_refused(spanlink, kind):
    assert post(spanlink.http, traces(b"x"), kind=kind)[0] == 415


def test_a_wrong_content_type_by_grpc(spanlink):
    with H2(spanlink.grpc) as peer:
        peer.call(1, b"", CALL + literal(b"content-type", b"text/plain"))
        assert peer.wait(lambda: 1 in peer.answered)
        assert b"415" in peer.answered[1] or b"\x03415" in peer.answered[1]


# Bombs

def pack_gzip(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def gzip_bomb(size):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return (packer.compress(b"\0" * 2**20) + packer.flush()) * (size >> 20)


def zstd_bomb(size):
    """Blocks that repeat one byte 128 Ki times, four bytes each."""
    block = struct.pack("<I", 1 << 1 | 2**17 << 3)[:3] + b"\0"
    last = struct.pack("<I", 1 | 1 << 1 | 2**17 << 3)[:3] + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * (size // 2**17 - 1) + last


@pytest.fixture(scope="module")
def bombs():
    return {"gzip": gzip_bomb(2**30), "zstd": zstd_bomb(2**34)}


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_bombs_are_too_large(spanlink, bombs, coding):
    for _ in range(5):
        code, _ = post(spanlink.http, bombs[coding], f"Content-Encoding: {coding}")
        assert code in (400, 413)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_bombs_by_grpc_are_too_large(spanlink, bombs, coding):
    headers = GRPC + literal(b"grpc-encoding", coding.encode())
    for _ in range(5):
        with H2(spanlink.grpc) as peer:
            peer.call(1, bombs[coding], headers, compressed=1)
            assert peer.wait(lambda: 1 in peer.answered or peer.closed)
            assert b"\x018" in peer.answered[1], "RESOURCE_EXHAUSTED"


def test_a_profile_that_is_a_bomb(spanlink, bombs):
    code, _ = post(spanlink.ingest, bombs["gzip"], path="/ingest?name=a&format=pprof",
                   kind="application/octet-stream")
    assert code in (400, 413)


@pytest.mark.parametrize("name,entry,count", [
    ("strings", b"\x32\x00", 6_000_000), ("mappings", b"\x1a\x00", 3_000_000),
    ("locations", b"\x22\x02\x08\x01", 2_000_000), ("functions", b"\x2a\x02\x08\x01", 2_000_000),
    ("comments", b"\x68\x00", 3_000_000), ("samples", b"\x12\x03\x12\x01\x01", 2_000_000)])
@pytest.mark.parametrize("packed", [False, True])
def test_profiles_of_tiny_entries_stay_within_the_budget(spanlink, name, entry, count, packed):
    """An entry of 2 bytes takes many times as much in an index."""
    profile = (field(1, b"\x08\x01\x10\x02") + b"\x32\x00" + field(6, b"cpu") +
               field(6, b"nanoseconds") + b"\x48" + varint(time.time_ns()) + entry * count)
    body = pack_gzip(profile) if packed else profile
    code, _ = post(spanlink.ingest, body, path="/ingest?name=tiny.cpu&format=pprof")
    assert code in ((200, 413) if name == "samples" else (413,))


@pytest.mark.parametrize("coding,body", [
    ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\0garbage"), ("zstd", b"\x28\xb5\x2f\xfd\xff\xff\xff"),
    ("gzip", b""), ("br", b"x"), ("gzip, gzip", b"x")])
def test_bodies_that_cannot_be_unpacked(spanlink, coding, body):
    assert post(spanlink.http, body, f"Content-Encoding: {coding}")[0] in (400, 415)


# HTTP/2

def forever(piece):
    while True:
        yield piece


def after(first, pieces):
    yield first
    yield from pieces


def streams(make):
    for stream in range(1, 2**31, 100):
        yield b"".join(make(stream + 2 * i) for i in range(50))


FLOODS = {
    "rapid reset": lambda: streams(
        lambda s: frame(HEADERS, 4, s, GRPC) + frame(RESET, 0, s, CANCEL)),
    "rapid reset of whole calls": lambda: streams(
        lambda s: frame(HEADERS, 4, s, GRPC) + frame(DATA, 1, s, b"\0" * 5) +
        frame(RESET, 0, s, CANCEL)),
    "empty continuations": lambda: after(frame(HEADERS, 0, 1, GRPC),
                                         forever(frame(CONTINUATION, 0, 1) * 50)),
    "endless header": lambda: after(frame(HEADERS, 0, 1, GRPC), forever(
        frame(CONTINUATION, 0, 1, literal(b"x-a", b"b" * 100) * 10))),
    "indexed fields": lambda: after(frame(HEADERS, 0, 1, GRPC), forever(
        frame(CONTINUATION, 0, 1, b"\x82" * 4000))),
    "settings": lambda: forever(frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100)) * 50),
    "pings": lambda: forever(frame(PING, 0, 0, b"8 bytes!") * 50),
    "answers to no ping": lambda: forever(frame(PING, 1, 0, b"8 bytes!") * 50),
    "empty data": lambda: after(frame(HEADERS, 4, 1, GRPC), forever(frame(DATA, 0, 1) * 50)),
    "padding": lambda: after(frame(HEADERS, 4, 1, GRPC), forever(
        frame(DATA, 8, 1, b"\xff" + b"\0" * 255) * 50)),
    "window updates": lambda: forever(frame(WINDOW, 0, 0, b"\0\0\0\1") * 50),
    "window overflow": lambda: forever(frame(WINDOW, 0, 0, b"\x7f\xff\xff\xff")),
    "no window update": lambda: forever(frame(WINDOW, 0, 0, b"\0\0\0\0")),
    "priorities": lambda: forever(frame(PRIORITY, 0, 1, b"\0\0\0\0\1") * 50),
    "unknown frames": lambda: forever(frame(0x55, 0, 0, b"x" * 10) * 500),
    "trailers": lambda: after(frame(HEADERS, 4, 1, GRPC), forever(
        frame(HEADERS, 4, 1, literal(b"a", b"b")) * 50)),
    "malformed HPACK": lambda: forever(frame(HEADERS, 4, 1, b"\xff" * 8)),
    "huge header table": lambda: forever(frame(HEADERS, 4, 1, b"\x3f\xe1\xff\xff\x7f")),
    "oversized frame": lambda: forever(b"\xff\xff\xff\0\0\0\0\0\1" + b"x" * 1000),
    "even stream": lambda: forever(frame(HEADERS, 4, 2, GRPC)),
    "data on no stream": lambda: forever(frame(DATA, 0, 1, b"x")),
    "not HTTP/2": lambda: forever(b"x" * 1000),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_http2_floods_end_the_connection(spanlink, flood):
    with H2(spanlink.grpc) as peer:
        assert peer.flood(FLOODS[flood]()), "still open"


def test_references_of_hpack_end_the_connection_at_once(spanlink):
    """12 kB that are 32 MB when decoded."""
    large = b"\x40\x01x\x7f" + varint(4000 - 127) + b"y" * 4000
    with H2(spanlink.grpc) as peer:
        peer.sock.sendall(frame(HEADERS, 4, 1, GRPC + large + b"\xbe" * 8000))
        assert peer.wait(lambda: peer.closed)


def test_streams_of_one_connection_are_limited(spanlink):
    with H2(spanlink.grpc) as peer:
        for i in range(300):
            peer.sock.sendall(frame(HEADERS, 4, 1 + 2 * i, GRPC))
        assert peer.wait(lambda: len(peer.resets) == 300 - 256 or peer.closed)


# A backend that stalls under full load

def load(spanlink, offset, acknowledged, codes, until):
    """Requests of about 100 KB, each with a unique name, as fast as they are answered."""
    number, sock = offset, None
    while time.monotonic() < until:
        name = b"name-%08d" % number
        sock = sock or socket.create_connection((HERE, spanlink.http), timeout=20)
        try:
            sock.sendall(request(traces(name, b"x" * 1000, 90)))
            code, headers = answer(sock)
        except OSError:
            code, headers = 0, {}
        codes.add(code)
        if code == 200:
            acknowledged.add(name)
        elif code == 503:
            assert int(headers["retry-after"]) > 0
            time.sleep(0.01)
        if code == 0 or headers.get("connection", "").lower() == "close":
            sock.close()
            sock = None
        number += 1


def test_a_stalled_backend_fills_the_budget_and_loses_nothing(spanlink):
    backend, acknowledged, codes = spanlink.backend, set(), set()
    backend.open.clear()
    until = time.monotonic() + 5
    clients = [threading.Thread(target=load, args=(spanlink, i * 10**6, acknowledged, codes, until))
               for i in range(8)]
    try:
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        spanlink.within_budget()
    finally:
        backend.open.set()
    assert codes == {200, 503}, codes
    assert len(acknowledged) * 90000 > LIMIT_MIB * 2**20 / 2, "the budget is used"
    assert harness.wait_for(lambda: acknowledged <= backend.names, 30), (
        f"{len(acknowledged - backend.names)} of {len(acknowledged)} did not arrive")


def test_a_silent_grpc_client_is_closed(spanlink):
    """This client has been silent since the start of the tests."""
    assert is_closed(spanlink.silent, 20)
