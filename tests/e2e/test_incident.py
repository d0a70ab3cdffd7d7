"""What an operator sees while something is wrong: on the page's API, in `top`, on the metrics page."""
import collections
import http.server
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest
import requests

import harness
import test_status
import uploads

CONFIG = """\
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{profiles}"}}
processors: {{memory_limiter: {{limit_mib: {limit}}}, correlation: {{hold: 1s}}}}
exporters:
  otlp_http:
    endpoint: "http://user:secret@127.0.0.1:{backend}"
    retry_on_failure: {{initial_interval: 50ms, max_interval: 200ms}}
extensions: {{status: {{endpoint: "127.0.0.1:{page}"}}}}
service:
  extensions: [status]
  telemetry: {{metrics: {{readers: [
    {{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {metrics}}}}}}}}}]}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [memory_limiter, correlation], exporters: [otlp_http]}}
    profiles: {{receivers: [pyroscope], processors: [memory_limiter, correlation], exporters: [otlp_http]}}
"""


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


class Backend:
    """Answers everything with `status`, and success with `body` of media type `type` behind `gate`."""

    def __init__(self):
        self.status, self.body, self.type, self.gate = 200, b"{}", None, None
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"] or 0))
                if backend.gate:
                    backend.gate.wait(60)
                body = backend.body if backend.status == 200 else b"tenant unknown"
                self.send_response(backend.status)
                if backend.type:
                    self.send_header("content-type", backend.type)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Sidecar(harness.Program):
    def __init__(self, folder, limit=24, journal=None):
        self.backend = Backend()
        self.http, self.page, self.metrics, self.profiles = (harness.free_port() for _ in range(4))
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / "config.yaml"
        self.config.write_text(CONFIG.format(http=self.http, page=self.page, metrics=self.metrics,
                                             backend=self.backend.port, limit=limit,
                                             profiles=self.profiles))
        if journal:
            self.config.write_text(self.config.read_text().replace(
                "extensions: {", f"extensions: {{journal: {{directory: {journal}}}, ").replace(
                    "extensions: [status]", "extensions: [status, journal]"))
        super().__init__("spanlink", folder, [harness.SPANLINK, "--config", self.config])
        self.wait_ports(self.http, self.page, self.metrics, self.profiles, seconds=10)

    def get(self, path):
        answer = requests.get(f"http://127.0.0.1:{self.page}{path}", timeout=10)
        test_status.check(path, answer)
        return answer

    def state(self):
        answer = self.get("/api/pipelines")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def exporter(self):
        return next(c for c in self.state()["components"] if c["id"] == "otlp_http")

    def send(self, count=1, service="shop"):
        start = time.time_ns()
        body = uploads.trace_request(service, [
            (os.urandom(16).hex(), os.urandom(8).hex(), start, start + 1000, True)
            for _ in range(count)])
        return self.send_raw(body)

    def send_raw(self, body):
        return requests.post(f"http://127.0.0.1:{self.http}/v1/traces", body, timeout=10,
                             headers={"Content-Type": "application/x-protobuf"}).status_code

    def top(self):
        ended = subprocess.run([harness.SPANLINK, "top", "--once", "--endpoint",
                                f"127.0.0.1:{self.page}"], text=True, capture_output=True, timeout=30)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()

    def row(self, name, kind):
        """REFUSED and LOST of `top`."""
        line = next(line for line in self.top() if line.split()[:2] == [name, kind])
        return [int(word) for word in line.split()[-2:]]

    def scrape(self, accept=None):
        return requests.get(f"http://127.0.0.1:{self.metrics}/metrics", timeout=10,
                            headers={"Accept": accept} if accept else {}).content


@pytest.fixture
def sidecar(tmp_path):
    started = Sidecar(tmp_path)
    yield started
    started.backend.status = 200
    started.stop()


def test_memory_that_a_queue_took_is_returned_once_it_is_empty(tmp_path):
    """Also if the queue took less than an eighth of the limit."""
    sidecar = Sidecar(tmp_path, limit=512)
    sidecar.backend.status = 503
    start, before = time.time_ns(), test_status.memory(sidecar, "VmRSS")
    body = uploads.trace_request("shop", [
        (os.urandom(16).hex(), os.urandom(8).hex(), start, start + 1000, True)
        for _ in range(1000)])
    for _ in range((30 << 20) // len(body)):
        assert sidecar.send_raw(body) == 200
    assert test_status.memory(sidecar, "VmRSS") > before + (32 << 20)
    sidecar.backend.status = 200
    assert harness.wait_for(lambda: test_status.memory(sidecar, "VmRSS") < before + (20 << 20), 60)
    assert sidecar.stop() == 0


def recovered(sidecar):
    return harness.wait_for(
        lambda: not sidecar.exporter()["delivery"]["failing_since_unix_nano"], 20)


def test_a_backend_that_fails_is_shown_until_it_takes_data_again(sidecar):
    sidecar.backend.status = 503
    assert sidecar.send() == 200
    told = harness.wait_for(lambda: sidecar.exporter()["counters"].get("retries", {}).get("spans")
                            and sidecar.exporter(), 20)["delivery"]
    assert "HTTP 503 from " in told["error"] and "tenant unknown" in told["error"]
    assert "secret" not in str(told) and told["urls"][0].endswith("/v1/traces")
    assert int(told["failing_since_unix_nano"]) <= int(told["failed_unix_nano"]) <= time.time_ns()
    assert told["oldest_ns"] > 0 and told["succeeded_unix_nano"] is None
    assert any(line.startswith("! otlp_http: failing since") and "HTTP 503" in line
               for line in sidecar.top())
    assert sidecar.row("otlp_http", "exporter") == [0, 0]
    sidecar.backend.status = 200
    assert harness.wait_for(lambda: sidecar.exporter()["counters"].get("sent"), 20)
    assert sidecar.exporter()["delivery"]["oldest_ns"] == 0
    assert recovered(sidecar)
    assert not any(line.startswith("!") for line in sidecar.top())
    assert re.search(r"otlp_http: delivering again since \d\d:\d\d:\d\dZ, after failures since ",
                     sidecar.log.read_text())


def test_what_a_backend_refuses_is_lost_once(sidecar):
    sidecar.backend.status = 400
    began = time.time_ns()
    assert sidecar.send(20) == 200
    dropped = harness.wait_for(lambda: sidecar.exporter()["counters"].get("dropped", {}).get(
        "spans", 0) == 20 and sidecar.exporter(), 20)
    assert [(d["cause"], d["item"], d["count"]) for d in dropped["drops"]] == [
        ("invalid", "spans", 20)]
    assert began <= int(dropped["drops"][0]["last_unix_nano"]) <= time.time_ns()
    assert sidecar.row("otlp_http", "exporter") == [0, 20]
    assert sidecar.row("otlp", "receiver") == [0, 0]
    assert sidecar.send_raw(b"\xff\xff\xff") == 400
    assert sidecar.row("otlp", "receiver") == [1, 0]
    [refused] = receiver(sidecar)["refusals"]
    assert began <= int(refused["last_unix_nano"]) <= time.time_ns()


def test_a_configuration_that_was_refused_is_shown_and_counted(sidecar):
    good = sidecar.config.read_text()

    def failed():
        return float(next(line for line in sidecar.scrape().decode().splitlines()
                          if line.startswith('spanlink_reloads{result="failed"}')).split()[-1])

    sidecar.config.write_text("receivers: [\n")
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: failed() == 1, 20)
    sidecar.config.rename(sidecar.config.with_suffix(".away"))
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: failed() == 2, 20)
    refused = sidecar.state()["refused_reload"]
    assert "cannot be read" in refused["error"] and int(refused["at_unix_nano"]) <= time.time_ns()
    assert any(line.startswith("! the configuration of ") and "cannot be read" in line
               for line in sidecar.top())
    sidecar.config.write_text(good)
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: sidecar.state()["refused_reload"] is None, 20)


def test_the_page_answers_while_memory_is_short(sidecar):
    sidecar.backend.status = 503
    large = uploads.trace_request("n" * 1000, [
        (os.urandom(16).hex(), os.urandom(8).hex(), 1, 2, True) for _ in range(2000)])
    refused = 0
    for _ in range(600):
        refused += sidecar.send_raw(large) == 503
        if refused >= 20:
            break
    assert refused >= 20
    for _ in range(10):
        sidecar.send_raw(large)
        for path in ("/api/pipelines", "/api/services", "/api/cost", "/api/config"):
            assert sidecar.get(path).status_code == 200
    assert sidecar.row("otlp", "receiver")[0] >= 20


FORMATS = [None, "application/openmetrics-text;version=1.0.0",
           "text/plain;version=1.0.0;escaping=allow-utf-8"]


def test_names_that_are_not_utf8_do_not_break_the_metrics_page(sidecar):
    for last in b"\xe9\xe8":
        body = uploads.trace_request("cafX\"\n\\\0", [
            (os.urandom(16).hex(), os.urandom(8).hex(), time.time_ns(), time.time_ns(), True)])
        assert sidecar.send_raw(body.replace(b"cafX", b"caf%c" % last)) == 200

    def count():
        page = sidecar.scrape().decode()
        return sum(float(line.split()[-1]) for line in page.splitlines()
                   if line.startswith("spanlink_spans{") and "caf\ufffd" in line)

    assert harness.wait_for(lambda: count() == 2, 20), sidecar.scrape()
    for accept in FORMATS:
        lines = [line.rsplit(" ", 1)[0] for line in sidecar.scrape(accept).decode().split("\n")
                 if line and not line.startswith("#")]
        assert [line for line, n in collections.Counter(lines).items() if n > 1] == []
    for path in ("/api/services", "/api/cost", "/api/traces"):
        assert "caf\ufffd" in str(sidecar.get(path).content.decode())


def receiver(sidecar):
    return next(c for c in sidecar.state()["components"] if c["id"] == "otlp")


def refusals(sidecar):
    return receiver(sidecar)["refusing"]


def test_requests_refused_for_memory_are_told_until_they_are_accepted_again(sidecar):
    assert sidecar.state()["trouble"] is None and refusals(sidecar) is None
    began = time.time_ns()
    sidecar.backend.status = 503
    large = uploads.trace_request("n" * 1000, [
        (os.urandom(16).hex(), os.urandom(8).hex(), 1, 2, True) for _ in range(2000)])
    assert harness.wait_for(lambda: sidecar.send_raw(large) == 503, 30, 0)
    state, told = sidecar.state(), refusals(sidecar)
    assert told["error"].startswith(
        "otlp_http cannot deliver in time, and what waits for it takes memory (limit 24.0 MiB: "), told
    assert "limit_mib" not in told["error"]
    assert began <= int(told["failing_since_unix_nano"]) <= time.time_ns() and told["requests"] > 0
    assert "otlp: refusing requests since " in state["trouble"], state["trouble"]
    budget = state["budget"]
    assert budget["threshold_bytes"] < budget["limit_bytes"] == 24 << 20
    # Accepted work may exceed the threshold, and the status page's routes come when spans pass.
    assert budget["used_bytes"] < budget["limit_bytes"] + (3 << 20)
    assert any(line.startswith("! otlp: refusing requests since ") and "memory (limit" in line
               for line in sidecar.top())
    sidecar.backend.status = 200
    assert harness.wait_for(lambda: sidecar.send() == 200 and not refusals(sidecar), 60, 0.2)
    assert sidecar.state()["trouble"] is None

    # The backlog that a busy backend takes at once may make it "slow" until the next request.
    def problems():
        assert sidecar.send() == 200
        return [line for line in sidecar.top() if line.startswith("!")]

    assert harness.wait_for(lambda: not problems(), 60, 0.2), problems()
    assert "otlp: accepting requests again" in sidecar.log.read_text()


def test_the_reason_of_refusals_outlives_the_failure_of_the_backend(sidecar):
    sidecar.config.write_text(sidecar.config.read_text().replace(
        "{initial_interval: 50ms, max_interval: 200ms}",
        "{initial_interval: 4s}\n    sending_queue: {queue_size: 70}"))
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: sidecar.exporter()["queue"]["capacity"] == 70, 20)
    sidecar.backend.status = 503
    large = uploads.trace_request("n" * 1000, [
        (os.urandom(16).hex(), os.urandom(8).hex(), 1, 2, True) for _ in range(2000)])
    assert harness.wait_for(lambda: sidecar.send_raw(large) == 503, 30, 0)
    assert harness.wait_for(
        lambda: sidecar.exporter()["delivery"]["failing_since_unix_nano"], 30, 0.1)
    sidecar.backend.status = 200
    assert harness.wait_for(
        lambda: not sidecar.exporter()["delivery"]["failing_since_unix_nano"], 30, 0.1)
    told = refusals(sidecar)["error"]   # no client has come since
    again = harness.wait_for(lambda: re.search(
        r"otlp_http: delivering again since (\S+), after", sidecar.log.read_text()), 20)[1]
    assert told.startswith(f"otlp_http could not deliver until {again}, and what waited for it took "
                           "memory (limit 24.0 MiB: "), told
    assert "limit_mib" not in told


def test_memory_that_is_full_names_the_backend_that_hangs(sidecar):
    release = threading.Event()
    sidecar.backend.gate = release
    large = uploads.trace_request("n" * 1000, [
        (os.urandom(16).hex(), os.urandom(8).hex(), 1, 2, True) for _ in range(2000)])
    try:
        assert harness.wait_for(lambda: sidecar.send_raw(large) == 503, 30, 0)

        def told():
            sidecar.send_raw(large)
            said = (refusals(sidecar) or {"error": ""})["error"]
            return said if said.startswith("otlp_http has waited ") else None

        assert harness.wait_for(told, 9).endswith(
            "; if its backend is not slow, raise limit_mib of memory_limiter")
    finally:
        release.set()


def test_a_full_queue_whose_backend_works_is_told(sidecar):
    release = threading.Event()
    sidecar.backend.gate = release
    sidecar.config.write_text(sidecar.config.read_text().replace(
        "retry_on_failure", "sending_queue: {queue_size: 2, num_consumers: 1}\n    retry_on_failure"))
    sidecar.process.send_signal(signal.SIGHUP)
    try:
        assert harness.wait_for(lambda: sidecar.send() == 503, 30)
        assert refusals(sidecar)["error"] == "queue full: sending queue of otlp_http is full"
        assert any(line.startswith("! otlp: refusing requests since ") and
                   line.endswith("queue full: sending queue of otlp_http is full")
                   for line in sidecar.top())
    finally:
        release.set()
    assert harness.wait_for(lambda: sidecar.send() == 200 and not refusals(sidecar), 60, 0.2)


def test_a_reload_keeps_since_when_a_backend_fails(sidecar):
    assert sidecar.send() == 200
    assert harness.wait_for(lambda: sidecar.exporter()["delivery"]["succeeded_unix_nano"], 20)
    sidecar.backend.status = 503
    assert sidecar.send() == 200
    before = harness.wait_for(lambda: sidecar.exporter()["delivery"]["failing_since_unix_nano"] and
                              sidecar.exporter()["delivery"], 20)
    sidecar.config.write_text(sidecar.config.read_text().replace(
        "retry_on_failure", "sending_queue: {queue_size: 7}\n    retry_on_failure"))
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: sidecar.exporter()["queue"]["capacity"] == 7, 20)
    after = sidecar.exporter()["delivery"]
    for key in ("failing_since_unix_nano", "succeeded_unix_nano"):
        assert after[key] == before[key]


def test_a_web_server_is_no_backend(sidecar):
    sidecar.backend.type = "text/html; charset=utf-8"
    assert sidecar.send(3) == 200
    told = harness.wait_for(lambda: sidecar.exporter()["delivery"]["failing_since_unix_nano"] and
                            sidecar.exporter(), 20)
    assert "HTTP 200 with an HTML page; this is a web server" in told["delivery"]["error"]
    assert not told["delivery"]["drops"] and not told["counters"].get("sent")
    sidecar.backend.type = "application/json"
    assert harness.wait_for(lambda: sidecar.exporter()["counters"].get("sent") == {"spans": 3}, 20)


def test_a_backend_that_rejects_a_part_fails(sidecar):
    sidecar.backend.body = b'{"partialSuccess":{"rejectedSpans":"7","errorMessage":"too old"}}'
    sidecar.backend.type = "application/json"
    assert sidecar.send(10) == 200
    told = harness.wait_for(lambda: sidecar.exporter()["delivery"]["failing_since_unix_nano"] and
                            sidecar.exporter()["delivery"], 20)
    assert told["error"] == "7 spans lost: invalid: 7 of 10 items rejected: too old" and told["drops"]
    assert any(line.startswith("! otlp_http: failing since ") and
               "dropping: 7 spans lost: invalid: 7 of" in line for line in sidecar.top())
    sidecar.backend.body = b"{}"
    assert sidecar.send() == 200
    assert recovered(sidecar)
    assert re.search(r"otlp_http: delivering again since \S+Z, after 7 spans dropped since ",
                     sidecar.log.read_text())


def test_a_backend_that_rejects_every_other_request_fails_all_the_time(sidecar):
    began = None
    for i in range(10):
        sidecar.backend.status = 200 if i % 2 else 401
        counter = "sent" if i % 2 else "dropped"
        assert sidecar.send(10) == 200
        assert harness.wait_for(lambda: sidecar.exporter()["counters"].get(counter, {}).get(
            "spans") == 10 * (i // 2 + 1), 20)
        told = sidecar.exporter()["delivery"]
        began = began or told["failing_since_unix_nano"]
        assert began and told["failing_since_unix_nano"] == began and told["drops"]
    assert told["error"].startswith(
        "50 spans lost, 5 of 10 requests failed: not authenticated: HTTP 401"), told
    assert any(line.startswith("! otlp_http: failing since ") and
               "dropping: 50 spans lost, 5 of 10 requests failed" in line for line in sidecar.top())
    assert recovered(sidecar)
    log = sidecar.log.read_text()
    assert re.search(r"otlp_http: delivering again since \S+Z, after 50 spans dropped since ", log)
    assert re.search(r"40 spans dropped: not authenticated.*; from \d\d:\d\d:\d\dZ to ", log), log
    assert log.count("delivering again") == 1


def test_what_a_full_queue_displaces_is_told(sidecar):
    release = threading.Event()
    sidecar.backend.gate = release
    sidecar.config.write_text(sidecar.config.read_text().replace(
        "retry_on_failure", "sending_queue: {queue_size: 2, num_consumers: 1, "
        "on_full: drop_oldest}\n    retry_on_failure").replace(
            "receivers: [otlp], processors: [memory_limiter, correlation]", "receivers: [otlp]"))
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: sidecar.exporter()["queue"]["capacity"] == 2, 20)
    try:
        for _ in range(8):
            assert sidecar.send(10) == 200
        lost = harness.wait_for(
            lambda: sidecar.exporter()["counters"].get("dropped", {}).get("spans"), 20)
        told = sidecar.exporter()["delivery"]
        assert lost >= 50 and told["failing_since_unix_nano"] and told["drops"]
        assert told["error"] == f"{lost} spans lost: the oldest in a full queue"
        assert any(line.startswith("! otlp_http: failing since ") and
                   f"dropping: {lost} spans lost: the oldest in a full queue" in line
                   for line in sidecar.top())
    finally:
        release.set()
    assert recovered(sidecar)
    assert f"no longer dropping, after {lost} spans dropped since " in sidecar.log.read_text()


def test_what_is_dropped_after_retries_is_told_while_others_wait(sidecar):
    sidecar.config.write_text(sidecar.config.read_text().replace(
        "max_interval: 200ms", "max_interval: 200ms, max_elapsed_time: 300ms"))
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: "reloaded" in sidecar.log.read_text(), 20)
    sidecar.backend.status = 503

    def retries():
        return sidecar.exporter()["counters"].get("retries", {}).get("spans", 0)

    assert sidecar.send(10) == 200
    assert harness.wait_for(lambda: sidecar.exporter()["counters"].get("dropped"), 20)
    before = retries()
    assert sidecar.send(10) == 200
    assert harness.wait_for(lambda: retries() > before, 20)
    told = sidecar.exporter()["delivery"]
    assert told["drops"] and "0 spans lost: " in told["error"], told


def test_each_loss_is_logged_under_its_cause(sidecar):
    for status, count in ((401, 1), (401, 19), (400, 1)):
        sidecar.backend.status = status
        before = sidecar.exporter()["counters"].get("dropped", {}).get("spans", 0)
        for _ in range(count):
            assert sidecar.send(10) == 200
        assert harness.wait_for(lambda: sidecar.exporter()["counters"].get("dropped", {}).get(
            "spans", 0) == before + 10 * count, 20)

    def lost(cause):
        found = re.findall(rf"(\d+) spans? dropped: {cause}", sidecar.log.read_text())
        return sum(map(int, found))

    assert harness.wait_for(lambda: lost("not authenticated: HTTP 401") == 200, 30)
    assert harness.wait_for(lambda: lost("invalid: HTTP 400") == 10, 30)


@pytest.mark.parametrize("ahead, words", [(3600, "1 h ahead"), (-4230, "70 min behind")],
                         ids=["ahead", "behind"])
def test_profiles_refused_for_their_clock_are_the_reason(sidecar, ahead, words):
    answer = ingest(sidecar, "shop", time.time() + ahead)
    assert answer.status_code == 422, answer.text
    assert sidecar.send() == 200

    def reasons():
        shop = [s for s in sidecar.get("/api/services").json()["services"] if s["service"] == "shop"]
        return shop and shop[0]["reasons"]

    [told] = harness.wait_for(reasons, 20)
    assert told["reason"] == "profiles_refused" and told["count"] == 1
    said = told["text"]
    assert said.startswith("Its profiles are refused: their clock is ") and words.split()[-1] in said
    assert told["fix"] == "Set the clock of the profiled process's host."
    which = "clock ahead" if ahead > 0 else "clock behind or old data"
    assert f'invalid: {which}: a profile of "shop" has the time ' in sidecar.log.read_text()


def ingest(sidecar, service, start, seconds=10, **labels):
    profile = uploads.Pprof([("cpu", "nanoseconds")])
    profile.sample([10_000_000], **labels)
    return requests.post(
        f"http://127.0.0.1:{sidecar.profiles}/ingest?name={service}&format=pprof&from={int(start)}"
        f"&until={int(start) + seconds}", profile.encode(int(start * 1e9), seconds * 10**9), timeout=10)


@pytest.mark.parametrize("span, profile, apart", [
    (300, 300, 0), (-300, -300, 0), (3600, 0, -3600), (-3600, 0, 3600), (0, 300, 300)],
    ids=["both ahead", "both behind", "span ahead", "span behind", "profile ahead"])
def test_all_places_agree_how_far_the_clocks_are_apart(sidecar, span, profile, apart):
    own, now = os.urandom(8).hex(), time.time()
    assert ingest(sidecar, "shop", now + profile - 10, span_id=own).status_code == 200
    start = int((now + span - 5) * 1e9)
    assert sidecar.send_raw(uploads.trace_request("shop", [
        (os.urandom(16).hex(), own, start, start + 1000, True)])) == 200

    def shop():
        found = [s for s in sidecar.get("/api/services").json()["services"] if s["service"] == "shop"]
        return found and found[0]["linked"] and found[0]["profiles"]

    told = harness.wait_for(shop, 20)
    said = sidecar.get(f"/api/spans/{own}").json()
    text = str(said["reason"]) + str(said.get("text"))
    assert told["linked_out_of_reach"] == (apart != 0), told
    assert ("opens nothing" in text) == (apart != 0), said
    assert abs(told["out_of_reach_ns"] / 1e9 - apart) < 20, told
    if profile > 0:
        assert int(told["last_end_unix_nano"]) > (now + profile - 20) * 1e9


def test_a_journal_that_cannot_be_written_is_told_since_when(tmp_path):
    folder = tmp_path / "journal"
    sidecar = Sidecar(tmp_path, journal=folder)
    assert sidecar.send() == 200
    shutil.rmtree(folder)
    folder.write_text("no directory")
    assert [sidecar.send() for _ in range(3)] == [503] * 3
    told = sidecar.state()["trouble"]
    assert re.search(r"journal: .* was removed: .*, since \d\d:\d\d:\d\dZ \(3 requests refused\)$", told)
    folder.unlink()
    assert harness.wait_for(lambda: sidecar.state()["trouble"] is None, 30)
    over = "journal: can be written again, after 3 requests refused since "
    assert harness.wait_for(lambda: over in sidecar.log.read_text(), 30)
    sidecar.stop()


def removed(sidecar):
    """Accepts 5 spans that the backend refuses, then renames the exporter and waits for its end."""
    sidecar.backend.status = 503
    assert [sidecar.send() for _ in range(5)] == [200] * 5
    assert harness.wait_for(lambda: sidecar.exporter()["counters"]["retries"]["spans"] >= 2, 30)
    sidecar.config.write_text(sidecar.config.read_text().replace("otlp_http", "otlp_http/new").replace(
        "service:\n", "service:\n  shutdown_timeout: 100ms\n"))
    sidecar.process.send_signal(signal.SIGHUP)


def test_what_a_removed_exporter_left_in_the_journal_is_told_and_delivered(tmp_path):
    sidecar = Sidecar(tmp_path, journal=tmp_path / "journal")
    removed(sidecar)
    told = "otlp_http: was removed by a reload, and 5 spans that it accepted still wait for its backend"
    assert harness.wait_for(lambda: told in sidecar.log.read_text(), 30)
    told = "otlp_http was removed by a reload, and 5 spans that it accepted wait for its backend"
    trouble = sidecar.state()["trouble"]
    assert told in trouble and "they stay in the journal, and it keeps trying" in trouble, trouble
    assert any(line.startswith("! " + told) for line in sidecar.top())
    sidecar.backend.status = 200
    assert harness.wait_for(lambda: sidecar.state()["journal"]["entries"] == 0, 30)
    assert harness.wait_for(lambda: sidecar.state()["trouble"] is None, 30)
    told = "otlp_http: was removed by a reload, and nothing of it waits any more"
    assert harness.wait_for(lambda: told in sidecar.log.read_text(), 30)
    sidecar.stop()


def test_what_a_removed_exporter_drops_is_told_in_spans(sidecar):
    removed(sidecar)
    told = "otlp_http was removed by a reload, and 5 spans that waited in it were dropped at "
    assert harness.wait_for(lambda: told in (sidecar.state()["trouble"] or ""), 30)


def test_a_log_whose_reader_died_is_told(tmp_path):
    sidecar = Sidecar(tmp_path)
    text = sidecar.config.read_text()
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    sidecar.config.write_text(text.replace(
        "telemetry: {", f"telemetry: {{logs: {{output_paths: [{tmp_path}/pipe]}}, "))
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: (tmp_path / "pipe").exists() and
                            str(tmp_path / "pipe") in sidecar.get("/api/config").text, 20)
    os.close(end)
    assert sidecar.send_raw(b"\xff") == 400
    told = sidecar.state()["trouble"]
    assert re.search(r"log: an output of output_paths has no reader any more: \d+ lines? dropped since",
                     told), told
    assert re.search(rb"spanlink_log_dropped_lines(_total)?(\{.*\})? [1-9]", sidecar.scrape())
    sidecar.stop()


def test_https_to_a_plain_backend_is_told_with_the_fix(sidecar):
    sidecar.config.write_text(sidecar.config.read_text().replace("http://user", "https://user"))
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: sidecar.exporter()["delivery"]["urls"][0].startswith("https"), 20)
    assert sidecar.send() == 200
    fix = "the port does not speak TLS: the endpoint must begin with http://"
    assert harness.wait_for(
        lambda: fix in (sidecar.exporter()["delivery"]["error"] or ""), 20)


@pytest.mark.parametrize("answer", [b"null", b"[]", b'"x"', b"{}", b'{"components": 1'])
def test_top_says_that_another_server_is_no_status_page(answer):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at = f"127.0.0.1:{server.server_address[1]}"
    ended = subprocess.run([harness.SPANLINK, "top", "--once", "--endpoint", at], text=True,
                           capture_output=True, timeout=30)
    server.shutdown()
    assert ended.returncode != 0 and ended.stdout == ""
    assert ended.stderr.endswith("/api/pipelines: this is no status page of spanlink\n")


def test_top_names_the_cause_of_the_refused_requests_that_it_counts(sidecar):
    def post(path, body):
        requests.post(f"http://127.0.0.1:{sidecar.http}{path}", body, timeout=10,
                      headers={"Content-Type": "application/x-protobuf"})

    post("/v1/trace", b"")
    assert "! otlp: 1 request refused: unsupported: unknown path /v1/trace" in sidecar.top()
    post("/v1/tracez", b"")
    post("/v1/traces", b"garbage")
    assert ("! otlp: 2 requests refused: unsupported, the last: unknown path /v1/tracez"
            in sidecar.top())
    assert sidecar.row("otlp", "receiver")[0] == 3


def test_top_shows_all_that_is_wrong_with_a_configuration(sidecar):
    words = [f"exporters.otlp_http.unknown_key_number_{i}" for i in range(6)]
    sidecar.config.write_text(sidecar.config.read_text().replace(
        "    retry_on_failure", "".join(f"    {word.split('.')[-1]}: 1\n" for word in words) +
        "    retry_on_failure"))
    sidecar.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: sidecar.state()["refused_reload"], 20)
    line = next(line for line in sidecar.top() if line.startswith("! the configuration of "))
    assert all(word in line for word in words), line
