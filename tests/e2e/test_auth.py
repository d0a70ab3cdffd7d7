"""Two spanlinks in series: users and passwords at the first, a token between them."""
import base64
import gzip
import os
import subprocess
import threading
import time

import grpc
import pytest
import requests
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import bytesink
import harness
import payloads
import record

# htpasswd -B: "myPassword"; openssl passwd -apr1 -salt abcdefgh: "wonder"
USERS = """\
ann:$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC
bob:$apr1$abcdefgh$YoZRc15qZGhK2NX/RWmro.
"""
SLOW = "eve:$2b$10$2LUSkb93ctQpGNnTVYFxoemcIXjZyr0xoIOJcIK8w78DDD975W8I2\n"  # "secret"
SECRETS = ("myPassword", "wonder", "c4WoMPo3SXsafkva", "YoZRc15qZGhK2NX", "first-token",
           "second-token", "wrong-one", "inline-secret")
SERVERS = """\
receivers:
  otlp:
    protocols:
      grpc:
        {{endpoint: "127.0.0.1:{grpc}", auth: {{authenticator: {by}}}, include_metadata: true}}
      http:
        {{endpoint: "127.0.0.1:{http}", auth: {{authenticator: {by}}}, include_metadata: true}}
  pyroscope:
    {{endpoint: "127.0.0.1:{ingest}", auth: {{authenticator: {by}}}, include_metadata: true}}
"""
PIPELINES = """\
  pipelines:
    traces: {{receivers: [otlp], exporters: [otlp_grpc]}}
    logs: {{receivers: [otlp], exporters: [otlp_http]}}
    profiles: {{receivers: [pyroscope], exporters: [pyroscope]}}
"""
FRONT = SERVERS + """\
extensions:
  health_check: {{endpoint: "127.0.0.1:{health}"}}
  basicauth/server: {{htpasswd: {{file: "{folder}/htpasswd", inline: "carl:inline-secret"}}}}
  bearertokenauth: {{filename: "{folder}/token"}}
exporters:
  otlp_grpc:
    endpoint: "http://127.0.0.1:{to_grpc}"
    auth: {{authenticator: bearertokenauth}}
  otlp_http: {{endpoint: "http://127.0.0.1:{to_http}", auth: {{authenticator: bearertokenauth}}}}
  pyroscope: {{endpoint: "http://127.0.0.1:{to_ingest}", auth: {{authenticator: bearertokenauth}}}}
service:
  extensions: [health_check, basicauth/server, bearertokenauth]
""" + PIPELINES
BACK = SERVERS + """\
extensions:
  health_check: {{endpoint: "127.0.0.1:{health}"}}
  bearertokenauth: {{filename: "{folder}/tokens"}}
exporters:
  otlp_grpc: {{endpoint: "http://127.0.0.1:{to_grpc}"}}
  otlp_http: {{endpoint: "http://127.0.0.1:{to_http}"}}
  pyroscope: {{endpoint: "http://127.0.0.1:{to_ingest}"}}
service:
  extensions: [health_check, bearertokenauth]
""" + PIPELINES


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


GOOD = [basic("ann", "myPassword"), basic("bob", "wonder"), basic("carl", "inline-secret")]
BAD = [None, "", basic("ann", "wrong-one"), basic("bob", "myPassword"), basic("zoe", "wrong-one"),
       "Bearer first-token", "Basic ????"]


class Node:
    def __init__(self, name, folder, template, by, to_grpc, to_http, to_ingest):
        self.grpc, self.http, self.ingest, self.health = (harness.free_port() for _ in range(4))
        self.config = folder / f"{name}.yaml"
        self.config.write_text(template.format(
            grpc=self.grpc, http=self.http, ingest=self.ingest, health=self.health, by=by,
            folder=folder, to_grpc=to_grpc, to_http=to_http, to_ingest=to_ingest))
        self.program = harness.Program(name, folder, [harness.SPANLINK, "--config", self.config])
        self.program.wait_ports(self.grpc, self.http, self.ingest, self.health)

    def url(self, port):
        return f"http://127.0.0.1:{port}"

    def post(self, path, body, authorization, kind="application/x-protobuf", port=None):
        headers = {"Content-Type": kind}
        if authorization is not None:
            headers["Authorization"] = authorization
        return requests.post(self.url(port or self.http) + path, data=body, headers=headers,
                             timeout=20)

    def logs(self, authorization):
        return self.post("/v1/logs", b"", authorization).status_code

    def call(self, body, authorization):
        """The gRPC code of an export of traces."""
        metadata = [("authorization", authorization)] if authorization is not None else []
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc}") as channel:
            export = channel.unary_unary(f"/{payloads.SERVICES['traces']}/Export")
            try:
                export(body, metadata=metadata, timeout=20)
                return grpc.StatusCode.OK
            except grpc.RpcError as error:
                return error.code()

    def folded(self, authorization):
        now = int(time.time())
        return self.post(f"/ingest?name=auth&format=folded&from={now - 10}&until={now}",
                         b"main;work 3\n", authorization, "text/plain", self.ingest)


class Row:
    def __init__(self, folder):
        self.folder = folder
        (folder / "htpasswd").write_text(USERS)
        (folder / "token").write_text("first-token\n")
        (folder / "tokens").write_text("first-token\n")
        self.sink, self.profiles = bytesink.ByteSink(), record.Proxy()
        self.back = Node("back", folder, BACK, "bearertokenauth", self.sink.grpc, self.sink.http,
                         self.profiles.server_port)
        self.front = Node("front", folder, FRONT, "basicauth/server", self.back.grpc,
                          self.back.http, self.back.ingest)

    def names(self):
        """Names of the spans that arrived."""
        return [span.name for body in self.sink.requests("traces", "grpc")
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans
                for scope in resource.scope_spans for span in scope.spans]

    def stop(self):
        for node in (self.front, self.back):
            node.program.stop()
        self.sink.stop()
        self.profiles.close()


@pytest.fixture(scope="module")
def row(tmp_path_factory, bypass):
    if bypass:
        pytest.skip("no spanlink")
    row = Row(tmp_path_factory.mktemp("auth"))
    yield row
    row.stop()


def one_span(name):
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.name, span.trace_id, span.span_id = name, os.urandom(16), os.urandom(8)
    span.start_time_unix_nano = span.end_time_unix_nano = time.time_ns()
    return request.SerializeToString()


def test_http_lets_in_who_is_known(row):
    for good in GOOD:
        assert row.front.logs(good) == 200
    for bad in BAD:
        answer = row.front.post("/v1/logs", b"", bad)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")
        assert answer.headers["Content-Type"] == "application/x-protobuf"


def test_grpc_lets_in_who_is_known(row):
    for good in GOOD:
        assert row.front.call(one_span("grpc"), good) == grpc.StatusCode.OK
    for bad in BAD:
        assert row.front.call(one_span("stranger"), bad) == grpc.StatusCode.UNAUTHENTICATED


def test_pyroscope_lets_in_who_is_known(row):
    for good in GOOD:
        assert row.front.folded(good).status_code == 200
    for bad in BAD:
        answer = row.front.folded(bad)
        assert answer.status_code == 401
        assert answer.json()["code"] == "unauthenticated"
    assert harness.wait_for(lambda: any(e.path.startswith("/ingest") or "Push" in e.path
                                        for e in row.profiles.exchanges), 20)


def test_spans_come_through_both_transports_and_those_of_strangers_do_not(row):
    for good in GOOD:
        assert row.front.call(one_span("known"), good) == grpc.StatusCode.OK
    for bad in BAD:
        row.front.call(one_span("stranger"), bad)
    assert harness.wait_for(lambda: row.names().count("known") == len(GOOD), 20)
    assert "stranger" not in row.names()


def test_no_backend_sees_the_credentials_of_clients(row):
    assert row.front.post("/v1/logs", payloads.build("logs", "auth").SerializeToString(),
                          GOOD[0]).status_code == 200
    assert row.front.folded(GOOD[0]).status_code == 200
    assert harness.wait_for(lambda: row.sink.requests("logs", "http") and row.profiles.exchanges, 20)
    for exchange in [*row.sink.proxy.exchanges, *row.profiles.exchanges]:
        assert "authorization" not in {name.lower() for name in exchange.headers}


def test_health_needs_no_credentials(row):
    assert requests.get(row.front.url(row.front.health), timeout=5).status_code == 200


def sdk(kind, url, **env):
    python = harness.BUILT.parent / "python" / "bin" / "python"
    ran = subprocess.run([python, harness.HERE / "auth_client.py", kind, url], timeout=60,
                         capture_output=True, text=True, env={**os.environ, **env})
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()[-1]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_the_opentelemetry_sdk_is_let_in_with_its_headers(row, protocol):
    url = row.front.url(row.front.grpc if protocol == "grpc" else row.front.http)
    good = "authorization=" + GOOD[0].replace(" ", "%20")
    bad = "authorization=" + BAD[2].replace(" ", "%20")
    assert sdk(protocol, url, OTEL_EXPORTER_OTLP_HEADERS=good) == "sent"
    assert sdk(protocol, url, OTEL_EXPORTER_OTLP_HEADERS=bad) == "refused"
    assert sdk(protocol, url) == "refused"
    assert harness.wait_for(lambda: row.names().count(f"sdk-{protocol}") == 1, 20)


def test_the_pyroscope_sdk_is_let_in_with_its_user(row):
    def arrived():
        bodies = [gzip.decompress(e.body) if e.headers.get("content-encoding") == "gzip" else e.body
                  for e in row.profiles.exchanges]
        return sum(b"auth-sdk" in body for body in bodies)
    url = row.front.url(row.front.ingest)
    sdk("pyroscope", url, USERNAME="bob", PASSWORD="wrong-one")
    before = arrived()
    sdk("pyroscope", url, USERNAME="bob", PASSWORD="wonder")
    assert before == 0
    assert harness.wait_for(arrived, 20)


def swap(path, text):
    """Replaces a file atomically, as Kubernetes does."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def test_a_new_token_counts_within_four_seconds(row):
    def comes_through():
        row.front.call(one_span("rotated"), GOOD[0])
        return "rotated" in row.names()

    def stays():
        assert row.back.logs("Bearer second-token") == 200
        return "keeping the previous tokens" in row.back.program.log.read_text()

    swap(row.folder / "tokens", "second-token\nfirst-token\n")
    assert harness.wait_for(lambda: row.back.logs("Bearer second-token") == 200, 4)
    swap(row.folder / "token", "second-token\n")
    swap(row.folder / "tokens", "second-token\n")
    assert harness.wait_for(lambda: row.back.logs("Bearer first-token") == 401, 4)
    assert harness.wait_for(comes_through, 4)
    swap(row.folder / "tokens", "")
    assert harness.wait_for(stays, 4)


def test_a_new_user_counts_within_four_seconds(row):
    assert row.front.logs(basic("eve", "secret")) == 401
    swap(row.folder / "htpasswd", USERS + SLOW)
    assert harness.wait_for(lambda: row.front.logs(basic("eve", "secret")) == 200, 4)
    assert row.front.logs(GOOD[0]) == 200


def test_a_flood_of_wrong_passwords_starves_nobody(row):
    swap(row.folder / "htpasswd", USERS + SLOW)
    assert harness.wait_for(lambda: row.front.logs(basic("eve", "secret")) == 200, 4)
    stop, seen = threading.Event(), []

    def flood(number):
        for i in range(10**6):
            if stop.is_set():
                return
            seen.append(row.front.logs(basic("eve", f"wrong-one-{number}-{i}")))
    floods = [threading.Thread(target=flood, args=(n,)) for n in range(8)]
    for thread in floods:
        thread.start()
    assert harness.wait_for(lambda: len(seen) > 20, 20)
    known = [row.front.logs(basic("eve", "secret")) for _ in range(50)]
    new = [row.front.call(one_span("in the flood"), good) for good in GOOD]
    stop.set()
    for thread in floods:
        thread.join()
    assert set(known) == {200}
    assert set(new) == {grpc.StatusCode.OK}
    assert set(seen) <= {401, 503}


def test_no_secret_is_ever_written(row):
    shown = ""
    for credentials in GOOD + BAD:
        row.front.logs(credentials)
    for node in (row.front, row.back):
        ran = subprocess.run([harness.SPANLINK, "print-config", "--config", node.config],
                             capture_output=True, text=True, timeout=20)
        assert ran.returncode == 0
        shown += ran.stdout + node.program.log.read_text()
    assert " refused: not authenticated: " in shown
    assert "a request is refused" not in shown
    for secret in SECRETS:
        assert secret not in shown
        assert base64.b64encode(secret.encode()).decode()[:10] not in shown


def test_an_unknown_authenticator_is_named(tmp_path, row):
    config = tmp_path / "config.yaml"
    config.write_text(row.front.config.read_text().replace("basicauth/server, bear", "bear"))
    ran = subprocess.run([harness.SPANLINK, "validate", "--config", config], capture_output=True,
                         text=True, timeout=20)
    assert ran.returncode != 0
    assert "receivers.otlp.protocols.grpc.auth.authenticator" in ran.stderr + ran.stdout


SCRAPE = """\
receivers:
  pprof_scrape:
    interval: 2s
    targets: [{{endpoint: "{target}", service_name: scraped}}]
    auth: {{authenticator: bearertokenauth}}
    server: {{endpoint: "127.0.0.1:{push}", auth: {{authenticator: bearertokenauth/key}}}}
extensions:
  bearertokenauth: {{token: first-token}}
  bearertokenauth/key: {{tokens: [one, two], header: X-API-Key, scheme: ""}}
exporters: {{debug: {{}}}}
service:
  extensions: [bearertokenauth, bearertokenauth/key]
  pipelines: {{profiles: {{receivers: [pprof_scrape], exporters: [debug]}}}}
"""


def test_pulls_carry_a_token_and_pushes_need_one(tmp_path, row):
    target, push = record.Proxy(), harness.free_port()
    config = tmp_path / "scrape.yaml"
    config.write_text(SCRAPE.format(target=target.url, push=push))
    program = harness.Program("scrape", tmp_path, [harness.SPANLINK, "--config", config])
    program.wait_ports(push)

    def pushed(**headers):
        return requests.post(f"http://127.0.0.1:{push}/v1/pprof", data=b"no pprof",
                             headers=headers, timeout=10)
    try:
        assert [pushed(**{"X-API-Key": key}).status_code for key in ("one", "two")] == [400, 400]
        assert pushed(**{"X-API-Key": "three"}).status_code == 401
        assert pushed(Authorization="Bearer first-token").status_code == 401
        assert "WWW-Authenticate" not in pushed().headers
        assert harness.wait_for(lambda: target.exchanges, 20)
        assert {e.headers.get("authorization") for e in target.exchanges} == {"Bearer first-token"}
    finally:
        program.stop()
        target.close()
