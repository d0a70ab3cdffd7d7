"""Clients that record the response for every item they send."""
import collections
import http.client
import itertools
import random
import threading
import time

import grpc

import payloads
import uploads

TAKEN, UNANSWERED = "taken", "unanswered"
PROTOBUF = {"Content-Type": "application/x-protobuf"}
_numbers = itertools.count(1)
_run = random.SystemRandom().getrandbits(31) | 1 << 30


class Request:
    """signal, the body, and the key by which sink.py identifies each item."""

    def __init__(self, signal, body, keys):
        self.signal, self.body, self.keys = signal, body, keys
        self.path, self.headers = payloads.PATHS.get(signal), PROTOBUF
        self.samples_of = ()    # ids of the spans for which a profile has samples


def new_span_id():
    return f"{_run:08x}{next(_numbers):08x}"


def traces(service, count=5, ids=None, marked=False):
    ids = ids or [new_span_id() for _ in range(count)]
    now = time.time_ns()
    body = uploads.trace_request(service, [(each * 2, each, now - 10**6, now, marked)
                                           for each in ids])
    return Request("traces", body, [f"span {each}" for each in ids])


def logs(service, count=5):
    request = payloads.REQUESTS["logs"]()
    group = request.resource_logs.add()
    group.resource.attributes.append(uploads.text_attribute("service.name", service))
    scope, keys = group.scope_logs.add(), []
    for _ in range(count):
        number = next(_numbers)
        scope.log_records.add(time_unix_nano=time.time_ns()).body.string_value = str(number)
        keys.append(f"log {number}")
    return Request("logs", request.SerializeToString(), keys)


def metrics(service, count=5):
    request = payloads.REQUESTS["metrics"]()
    group = request.resource_metrics.add()
    group.resource.attributes.append(uploads.text_attribute("service.name", service))
    metric, keys = group.scope_metrics.add().metrics.add(name="rides", unit="1"), []
    for _ in range(count):
        number = next(_numbers)
        metric.gauge.data_points.add(time_unix_nano=time.time_ns(), as_int=number)
        keys.append(f"point {number}")
    return Request("metrics", request.SerializeToString(), keys)


def push(service, span_ids=(), window=10 * 10**9):
    """A CPU profile of the last window ns with a sample of each span."""
    value, at = next(_numbers), time.time_ns() - window
    profile = uploads.Pprof([("cpu", "nanoseconds")])
    profile.sample([value], ("idle", "main"))
    for each in span_ids:
        profile.sample([value], span_id=each)
    body = uploads.push_request({"__name__": "process_cpu", "service_name": service},
                                profile.encode(at, window))
    request = Request("profiles", body, [f"profile {value} of {at}"])
    request.path, request.headers = uploads.PUSH, {"Content-Type": "application/proto"}
    request.samples_of = tuple(span_ids)
    return request


def folded(service):
    value, until = next(_numbers), time.time_ns() // 10**9
    request = Request("profiles", b"main;work %d\n" % value,
                      [f"folded {value} of {until - 10} to {until}"])
    request.path = (f"/ingest?name={service}&from={until - 10}&until={until}&format=folded"
                    "&sampleRate=100")
    request.headers = {"Content-Type": "text/plain"}
    return request


class Ledger:
    """Requests sent and their results. Any thread."""

    def __init__(self):
        self.lock = threading.Condition()
        self.told = []                      # (request, TAKEN | UNANSWERED | a status)
        self.counts = collections.Counter()
        self.missing_retry = []             # refusals without Retry-After or RetryInfo

    def note(self, request, told, may_retry=True):
        with self.lock:
            self.told.append((request, told))
            self.counts[told] += 1
            if not may_retry:
                self.missing_retry.append(told)
            self.lock.notify_all()

    def wait_taken(self, more, seconds=60):
        """Waits until that many more requests are accepted."""
        with self.lock:
            wanted = self.counts[TAKEN] + more
            assert self.lock.wait_for(lambda: self.counts[TAKEN] >= wanted, seconds), self.counts

    def wait_told(self, what, more=1, seconds=60):
        with self.lock:
            wanted = self.counts[what] + more
            assert self.lock.wait_for(lambda: self.counts[what] >= wanted, seconds), self.counts

    def requests(self, what=None):
        with self.lock:
            return [request for request, told in self.told if what in (None, told)]

    def keys(self, what=None):
        return {key for request in self.requests(what) for key in request.keys}


class HttpClient:
    def __init__(self, port):
        self.port, self.link = port, None

    def send(self, request):
        """(the result, whether a retryable refusal has the required retry hint)."""
        try:
            if not self.link:
                self.link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            self.link.request("POST", request.path, request.body, request.headers)
            answer = self.link.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            return UNANSWERED, True
        if answer.status == 200:
            return TAKEN, True
        return answer.status, answer.status != 503 or "Retry-After" in answer.headers

    def close(self):
        if self.link:
            self.link.close()
        self.link = None


class GrpcClient:
    OPTIONS = [("grpc.initial_reconnect_backoff_ms", 20), ("grpc.min_reconnect_backoff_ms", 20),
               ("grpc.max_reconnect_backoff_ms", 100), ("grpc.use_local_subchannel_pool", 1),
               ("grpc.enable_retries", 0)]

    def __init__(self, port):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=self.OPTIONS)

    def send(self, request):
        try:
            self.channel.unary_unary(f"/{payloads.SERVICES[request.signal]}/Export")(
                request.body, timeout=30)
            return TAKEN, True
        except grpc.RpcError as problem:
            told = dict(problem.trailing_metadata() or ())
            if problem.code() == grpc.StatusCode.UNAVAILABLE and \
                    "grpc-status-details-bin" not in told:
                return UNANSWERED, True     # gRPC's own status for a lost connection
            return problem.code().name, True

    def close(self):
        self.channel.close()


class Load:
    """Threads that send as fast as they get responses, until they are stopped."""
    KINDS = ("http traces", "grpc traces", "http logs", "grpc logs", "http metrics",
             "grpc metrics", "push", "folded")

    def __init__(self, sidecar, service, kinds=KINDS, count=5):
        self.sidecar, self.service, self.count = sidecar, service, count
        self.ledger, self.stopping = Ledger(), threading.Event()
        self.unsampled = collections.deque()     # every other accepted span
        self.threads = [threading.Thread(target=self.run, args=(kind,), daemon=True)
                        for kind in kinds]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive(), "a client hangs"

    def make(self, kind):
        if kind == "push":
            ids = [self.unsampled.popleft() for _ in range(len(self.unsampled))]
            return push(self.service, ids)
        if kind == "folded":
            return folded(f"{self.service}-folded")
        return globals()[kind.split()[1]](self.service, self.count)

    def run(self, kind):
        sidecar = self.sidecar
        client = GrpcClient(sidecar.grpc) if kind.startswith("grpc") else \
            HttpClient(sidecar.http if kind.startswith("http") else sidecar.ingest)
        while not self.stopping.is_set():
            request = self.make(kind)
            told, may_retry = client.send(request)
            self.ledger.note(request, told, may_retry)
            if told == TAKEN and request.signal == "traces":
                self.unsampled.extend(key.split()[1] for key in request.keys[::2])
            if told != TAKEN:
                self.unsampled.extend(request.samples_of)
                self.stopping.wait(0.01)         # like a client that is asked to retry
        client.close()
