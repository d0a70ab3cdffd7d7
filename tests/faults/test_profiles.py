"""A profile above the server's limits is sent in parts: each sample arrives once, even if the
server fails in the middle or limits the rate, or spanlink is reloaded or killed."""
import collections
import gzip
import http.server
import os
import signal
import threading
import time

import pytest
import requests

import harness
import uploads
from wire import pbwire

CONFIG = """\
receivers: {{pyroscope: {{endpoint: "127.0.0.1:{ingest}"}}}}
exporters:
  pyroscope: {{endpoint: "{server}", max_profile_bytes: {most}, timeout: 10s,
    sending_queue: {{num_consumers: {consumers}}},
    retry_on_failure: {{initial_interval: 20ms, max_interval: 200ms}}}}
extensions: {{{journal}}}
service:
  shutdown_timeout: 30s
  extensions: [{extensions}]
  pipelines: {{profiles: {{receivers: [pyroscope], exporters: [pyroscope]}}}}
"""
SAMPLES = 3000
MOST = 30_000


def read(message):
    """The values of a message's fields by number: bytes, or numbers."""
    found = collections.defaultdict(list)
    for number, kind, begin, end, value in pbwire.fields(message):
        found[number].append(value if kind == 0 else message[begin:end])
    return found


class Server:
    """Accepts Push. `rule(n)` returns the status of the nth request, from 0, and `before_answer(n)`
    is called before the response. With a rate, it limits the bytes of profiles like the server: a
    whole profile, or 429. A counter has how often each function of each service arrived."""

    def __init__(self, rate=None, burst=0):
        self.rule, self.before_answer = lambda n: 200, lambda n: None
        self.lock, self.requests = threading.Condition(), 0
        self.functions, self.taken = collections.Counter(), []
        self.rate, self.burst, self.tokens, self.at = rate, burst, burst, time.monotonic()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                status, number = server.take(body)
                server.before_answer(number)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args):
                pass
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def allows(self, size):
        if self.rate is None:
            return True
        now = time.monotonic()
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if size > self.tokens:
            return False
        self.tokens -= size
        return True

    def take(self, body):
        """One series with one profile."""
        series = read(read(body)[1][0])
        labels = {read(pair)[1][0]: read(pair)[2][0] for pair in series[1]}
        raw = read(series[2][0])[1][0]
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        with self.lock:
            self.requests += 1
            status = self.rule(self.requests - 1)
            if status == 200 and not self.allows(len(raw)):
                status = 429
            if status == 200:
                self.keep(labels[b"service_name"].decode(), raw)
            self.lock.notify_all()
            return status, self.requests - 1

    def keep(self, service, raw):
        profile = read(raw)
        functions = (read(function) for function in profile[5])
        names = {function[1][0]: profile[6][function[2][0]] for function in functions}
        for sample in profile[2]:
            place, _ = pbwire.varint(read(sample)[1][0], 0)
            self.functions[service, names[place].decode()] += 1
        self.taken.append(service)
        self.last = len(profile[2])

    def wait(self, condition, seconds=30):
        with self.lock:
            return self.lock.wait_for(condition, seconds)

    def copies(self, service):
        """How often the functions of a service arrived: {times: functions}."""
        with self.lock:
            return collections.Counter(n for (of, _), n in self.functions.items() if of == service)

    def has_all(self, service, samples=SAMPLES):
        return lambda: sum(1 for of, _ in self.functions if of == service) == samples

    def close(self):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


class Sidecar:
    def __init__(self, folder, server, journal=False, most=MOST, consumers=10):
        self.folder, self.ingest, self.lives = folder, harness.free_port(), 0
        self.config = folder / "spanlink.yaml"
        self.values = {"ingest": self.ingest, "server": server.url, "most": most,
                       "consumers": consumers, "extensions": "journal" if journal else "",
                       "journal": f'journal: {{directory: "{folder}/journal"}}' if journal else ""}
        self.write()

    def write(self, **values):
        self.values |= values
        self.config.write_text(CONFIG.format(**self.values))

    def start(self):
        self.lives += 1
        self.program = harness.Program(f"spanlink-{self.lives}", self.folder,
                                       [harness.SPANLINK, "--config", self.config])
        self.program.wait_ports(self.ingest)
        return self

    def push(self, service, samples=SAMPLES):
        build = uploads.Pprof([("cpu", "nanoseconds")])
        for i in range(samples):
            build.sample([1], (f"{service}_{i:06}",))
        raw = build.encode(time.time_ns(), 10**10)
        labels = {"__name__": "process_cpu", "service_name": service}
        answer = requests.post(f"http://127.0.0.1:{self.ingest}{uploads.PUSH}",
                               data=uploads.push_request(labels, raw), timeout=30,
                               headers={"Content-Type": "application/proto"})
        assert answer.status_code == 200, answer.text
        return len(raw)


def assert_once(server, service="shop", samples=SAMPLES):
    assert server.wait(server.has_all(service, samples)), server.copies(service)
    assert server.copies(service) == {1: samples}


def test_a_failure_in_the_middle_doubles_nothing(tmp_path, server):
    server.rule = lambda n: 503 if n in (2, 4, 5) else 200
    sidecar = Sidecar(tmp_path, server).start()
    size = sidecar.push("shop")
    assert_once(server)
    assert server.requests == len(server.taken) + 3 >= size // MOST + 3
    assert sidecar.program.stop(30) == 0


def test_a_server_that_meters_bytes_gets_each_sample_once(tmp_path):
    """Parts are larger than the burst, and the profile is many times as large."""
    server = Server(rate=400_000, burst=20_000 + 60_000)
    try:
        sidecar = Sidecar(tmp_path, server, most=150_000, consumers=1).start()
        sidecar.push("shop", 10 * SAMPLES)
        for i in range(5):
            sidecar.push(f"small-{i}", 3)
        for i in range(5):
            assert_once(server, f"small-{i}", 3)
        before = server.wait(server.has_all("shop", 10 * SAMPLES), 0)
        assert not before, "the small ones came after all of the large one"
        assert_once(server, "shop", 10 * SAMPLES)
        assert server.requests > len(server.taken), "nothing was put off"
        assert sidecar.program.stop(30) == 0
    finally:
        server.close()


def test_a_reload_in_the_middle_doubles_nothing(tmp_path, server):
    """The reload replaces the exporter by one with other limits."""
    go_on = threading.Event()
    server.rule = lambda n: 200 if n < 3 or go_on.is_set() else 503
    sidecar = Sidecar(tmp_path, server).start()
    sidecar.push("shop")
    assert server.wait(lambda: server.requests > 4)
    sidecar.write(most=MOST // 2)
    os.kill(sidecar.program.process.pid, signal.SIGHUP)
    assert harness.wait_for(lambda: "reloaded" in sidecar.program.log.read_text(), 10)
    go_on.set()
    assert_once(server)
    assert sidecar.program.stop(30) == 0


@pytest.mark.parametrize("taken", [1, 3])
def test_a_kill_between_parts_sends_nothing_again(tmp_path, server, taken):
    held = threading.Event()
    server.rule = lambda n: 200 if n < taken or held.is_set() else 503
    sidecar = Sidecar(tmp_path, server, journal=True).start()
    sidecar.push("shop")
    assert server.wait(lambda: server.requests > taken + 1)
    sidecar.program.kill()
    held.set()
    before = sum(server.copies("shop").values())
    assert before > 0
    sidecar.start()
    assert_once(server)
    assert sidecar.program.stop(30) == 0
    assert len(server.taken) > taken


def test_a_kill_sends_the_part_under_way_again_and_no_other(tmp_path, server):
    """The server has the part, but its response does not arrive."""
    killed = threading.Event()
    server.before_answer = lambda n: n == 2 and killed.wait(30)
    sidecar = Sidecar(tmp_path, server, journal=True).start()
    sidecar.push("shop")
    assert server.wait(lambda: len(server.taken) == 3)
    sidecar.program.kill()
    killed.set()
    twice = server.last
    sidecar.start()
    assert server.wait(server.has_all("shop"))
    assert sidecar.program.stop(30) == 0
    assert server.copies("shop") == {1: SAMPLES - twice, 2: twice}
