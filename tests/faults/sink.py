"""A backend for OTLP and Pyroscope that counts every copy of every item it accepts, and misbehaves
on request."""
import collections
import concurrent.futures
import gzip
import http.server
import socket
import struct
import threading
import urllib.parse

import grpc

import payloads
import record
import uploads
from harness import PROFILE_ID
from wire import pbwire

SIGNALS = {path: signal for signal, path in payloads.PATHS.items()}
GRPC_CODES = {503: grpc.StatusCode.UNAVAILABLE, 400: grpc.StatusCode.INVALID_ARGUMENT,
              403: grpc.StatusCode.PERMISSION_DENIED}
RESET = "reset"


# The items of a request, by the keys that clients.py gave them.

def spans_of(request):
    return [span for group in request.resource_spans for scope in group.scope_spans
            for span in scope.spans]


def keys_of_traces(request):
    return [f"span {span.span_id.hex()}" for span in spans_of(request)]


def keys_of_logs(request):
    return [f"log {each.body.string_value}" for group in request.resource_logs
            for scope in group.scope_logs for each in scope.log_records]


def keys_of_metrics(request):
    return [f"point {point.as_int}" for group in request.resource_metrics
            for scope in group.scope_metrics for metric in scope.metrics
            for point in metric.gauge.data_points]


KEYS = {"traces": keys_of_traces, "logs": keys_of_logs, "metrics": keys_of_metrics}


def fields(body, number):
    return [body[begin:end] if kind == 2 else value
            for found, kind, begin, end, value in pbwire.fields(body) if found == number]


def inflated(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def key_of_pprof(raw):
    """Its time, and the value of all its samples."""
    raw = inflated(raw)
    values = fields(fields(raw, 2)[0], 2)[0]
    value = pbwire.varint(values, 0)[0] if isinstance(values, bytes) else values
    return f"profile {value} of {fields(raw, 9)[0]}"


def keys_of_push(body):
    return [key_of_pprof(fields(sample, 1)[0]) for series in fields(body, 1)
            for sample in fields(series, 2)]


def pushed(body):
    """Labels and profiles of a Push request."""
    return repr([(fields(series, 1), [inflated(fields(sample, 1)[0])
                                      for sample in fields(series, 2)])
                 for series in fields(body, 1)]).encode()


def key_of_folded(target, body):
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query)
    return f"folded {body.split()[-1].decode()} of {query['from'][0]} to {query['until'][0]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    read_body = record.Handler.read_body

    def do_POST(self):
        body, sink = self.read_body(), self.server.sink
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        path = urllib.parse.urlsplit(self.path).path
        if sink.raw is not None:
            status = sink.take_raw(self.path, self.headers, body)
        elif path in SIGNALS:
            status = sink.take_otlp(SIGNALS[path], body)
        else:
            keys = keys_of_push(body) if path == uploads.PUSH else [key_of_folded(self.path, body)]
            status = sink.take("profiles", keys)
        if status == RESET:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(status)
        self.send_header("Content-Type", self.headers.get("Content-Type", "text/plain"))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass                # the other side was killed

    def finish(self):
        try:
            super().finish()
        except (OSError, ValueError):
            pass

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        pass


class Calls(grpc.GenericRpcHandler):
    def __init__(self, sink):
        self.sink = sink
        self.signals = {f"/{service}/Export": signal
                        for signal, service in payloads.SERVICES.items()}

    def service(self, call):
        signal = self.signals.get(call.method)

        def export(body, context):
            if self.sink.raw is None:
                status = self.sink.take_otlp(signal, body)
            else:
                status = self.sink.take_raw(call.method, dict(context.invocation_metadata()), body)
            if status != 200:
                context.abort(GRPC_CODES[status], "as the test says")
            return b""
        return grpc.unary_unary_rpc_method_handler(export) if signal else None


class Sink:
    """rule(signal, keys) decides what happens to a request: 200, an error status, or RESET. It may
    block. Requests that get 200 are counted."""

    def __init__(self):
        self.lock = threading.Condition()
        self.copies, self.requests = collections.Counter(), 0
        self.links = collections.defaultdict(list)  # the attributes of each copy of a span
        self.rule = lambda _signal, _keys: 200
        self.raw = None         # if a list: requests are stored there instead of counted
        self.pool = concurrent.futures.ThreadPoolExecutor(32)
        self.calls = grpc.server(self.pool, [Calls(self)], options=[
            ("grpc.max_receive_message_length", 64 << 20)])
        self.grpc = f"127.0.0.1:{self.calls.add_insecure_port('127.0.0.1:0')}"
        self.calls.start()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.sink = self
        self.http = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def take_otlp(self, signal, body):
        request = payloads.parse(signal, body)
        spans = spans_of(request) if signal == "traces" else []
        links = {span.span_id.hex(): [a.value.string_value for a in span.attributes
                                      if a.key == PROFILE_ID] for span in spans}
        return self.take(signal, KEYS[signal](request), links)

    def take_raw(self, path, headers, body):
        """Path, tenant and credentials, content type and body, without the ids of pushed profiles,
        which are random."""
        status = self.rule(path, ())
        if urllib.parse.urlsplit(path).path == uploads.PUSH:
            body = pushed(body)
        if status == 200:
            with self.lock:
                self.raw.append((path, headers.get("x-scope-orgid"), headers.get("authorization"),
                                 headers.get("content-type"), body))
                self.lock.notify_all()
        return status

    def take(self, signal, keys, links={}):
        status = self.rule(signal, keys)
        if status == 200:
            with self.lock:
                self.copies.update(keys)
                for span, link in links.items():
                    self.links[span].append(link)
                self.requests += 1
                self.lock.notify_all()
        return status

    def wait(self, condition, seconds=60):
        """Waits until condition() is true, checked after every request. Returns its last value."""
        with self.lock:
            return self.lock.wait_for(condition, seconds)

    def wait_for(self, keys, seconds=60):
        """Whether all of them have arrived."""
        return self.wait(lambda: all(key in self.copies for key in keys), seconds)

    def close(self):
        self.calls.stop(0)
        self.server.shutdown()
        self.server.server_close()
        self.pool.shutdown(wait=False)


class Cutter:
    """A proxy for an address that resets each connection after limit() bytes in either direction;
    None: never."""

    def __init__(self, to, limit):
        host, port = to.split(":")
        self.to, self.limit, self.cuts = (host, int(port)), limit, 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.at = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                inner = self.listener.accept()[0]
                outer = socket.create_connection(self.to)
            except OSError:
                return
            left = [self.limit()]
            for source, target in ((inner, outer), (outer, inner)):
                threading.Thread(target=self.pump, args=(source, target, left),
                                 daemon=True).start()

    def pump(self, source, target, left):
        try:
            while data := source.recv(65536):
                if left[0] is not None and left[0] < len(data):
                    target.sendall(data[:left[0]])
                    with self.lock:
                        self.cuts += 1
                    for each in (source, target):
                        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                        struct.pack("ii", 1, 0))
                    break
                if left[0] is not None:
                    left[0] -= len(data)
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def close(self):
        self.listener.close()
