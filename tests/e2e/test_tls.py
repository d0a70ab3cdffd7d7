"""TLS on every side, with third-party peers (grpc, requests, curl, openssl), and certificates that
are replaced while spans are being sent."""
import concurrent.futures
import itertools
import os
import subprocess
import threading
import time

import grpc
import pytest
import requests
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

import harness

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOOK = 4  # seconds until a replaced file is used
CONFIG = """\
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: localhost:{grpc}
        tls: &server
          cert_file: {folder}/server.pem
          key_file: {folder}/server.key
          client_ca_file: {folder}/clients.pem
      http:
        endpoint: localhost:{http}
        tls: *server
exporters:
  otlp_grpc:
    endpoint: localhost:{backend}
    compression: none
    retry_on_failure: {{initial_interval: 100ms}}
    tls:
      ca_file: {folder}/backends.pem
      cert_file: {folder}/client.pem
      key_file: {folder}/client.key
service:
  pipelines:
    traces: {{receivers: [otlp], exporters: [otlp_grpc]}}
"""


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Pki:
    """CAs and their certificates, as files in one folder."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def path(self, name):
        return self.folder / name

    def new_key(self, name):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                self.path(name + ".key"))

    def ca(self, name):
        self.new_key(name)
        openssl("req", "-x509", "-new", "-key", self.path(name + ".key"), "-subj", f"/CN={name}",
                "-days", 2, "-out", self.path(name + ".pem"))

    def issue(self, name, ca):
        """Writes the key before the certificate, so that in between they do not match."""
        request = self.path("request")
        fresh = self.path("fresh")
        self.new_key("fresh")
        openssl("req", "-new", "-key", f"{fresh}.key", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost", "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.path(ca + ".pem"), "-CAkey",
                self.path(ca + ".key"), "-CAcreateserial", "-copy_extensions", "copy", "-days", 2,
                "-out", f"{fresh}.pem")
        self.path("fresh.key").replace(self.path(name + ".key"))
        self.path("fresh.pem").replace(self.path(name + ".pem"))

    def copy(self, name, to):
        fresh = self.path("copy")
        fresh.write_bytes(self.path(name + ".pem").read_bytes())
        fresh.replace(self.path(to + ".pem"))

    def read(self, name):
        return self.path(name).read_bytes()


class Backend:
    """An OTLP server built with grpc that requires certificates and accepts up to 256 KiB."""

    def __init__(self, pki):
        self.names, self.lock = [], threading.Lock()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), options=[
            ("grpc.max_receive_message_length", 256 << 10)])
        self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(
            EXPORT.split("/")[1], {"Export": grpc.unary_unary_rpc_method_handler(
                self.export, service.ExportTraceServiceRequest.FromString,
                service.ExportTraceServiceResponse.SerializeToString)})])
        self.port = self.server.add_secure_port("localhost:0", grpc.ssl_server_credentials(
            [(pki.read("backend.key"), pki.read("backend.pem"))], pki.read("ca.pem"), True))
        self.server.start()

    def export(self, request, _context):
        with self.lock:
            self.names += [span.name for resource in request.resource_spans
                           for scope in resource.scope_spans for span in scope.spans]
        return service.ExportTraceServiceResponse()


class World:
    def __init__(self, folder):
        self.pki = Pki(folder / "pki")
        self.pki.ca("ca")
        for name in ("server", "client", "backend", "app"):
            self.pki.issue(name, "ca")
        self.pki.copy("ca", "clients")
        self.pki.copy("ca", "backends")
        self.backend = Backend(self.pki)
        self.grpc, self.http = harness.free_port(), harness.free_port()
        config = folder / "config.yaml"
        config.write_text(CONFIG.format(folder=self.pki.folder, grpc=self.grpc, http=self.http,
                                        backend=self.backend.port))
        self.spanlink = harness.Program("spanlink", folder,
                                        [harness.SPANLINK, "--config", config])
        self.spanlink.wait_ports(self.grpc, self.http)

    def send(self, protocol, names, cert="app", filling=""):
        """Sends spans with these names on their own connection. True: they were accepted."""
        request = service.ExportTraceServiceRequest()
        scope = request.resource_spans.add().scope_spans.add()
        for name in names:
            span = scope.spans.add(name=name, trace_id=os.urandom(16), span_id=os.urandom(8))
            span.attributes.add(key="filling").value.string_value = filling
        send = self.send_grpc if protocol == "grpc" else self.send_http
        try:
            send(request, cert)
            return True
        except (grpc.RpcError, requests.exceptions.RequestException):
            return False

    def send_grpc(self, request, cert):
        keys = grpc.ssl_channel_credentials(self.pki.read("ca.pem"), *(
            (self.pki.read(cert + ".key"), self.pki.read(cert + ".pem")) if cert else ()))
        with grpc.secure_channel(f"localhost:{self.grpc}", keys,
                                 [("grpc.use_local_subchannel_pool", 1)]) as channel:
            channel.unary_unary(EXPORT)(request.SerializeToString(), timeout=10)

    def send_http(self, request, cert):
        files = (str(self.pki.path(f"{cert}.pem")), str(self.pki.path(f"{cert}.key")))
        answer = requests.post(f"https://localhost:{self.http}/v1/traces", timeout=10,
                               data=request.SerializeToString(),
                               headers={"Content-Type": "application/x-protobuf"},
                               verify=str(self.pki.path("ca.pem")), cert=files if cert else None)
        answer.raise_for_status()

    def stop(self):
        assert self.spanlink.stop() == 0, self.spanlink.tail()
        self.backend.server.stop(None)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    try:
        yield made
    finally:
        made.spanlink.kill()
        made.backend.server.stop(None)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_spans_arrive(world, protocol):
    assert world.send(protocol, ["hello"])
    assert harness.wait_for(lambda: world.backend.names == ["hello"], 10), world.spanlink.tail()
    world.stop()


def test_curl_and_openssl_meet_what_they_expect(world):
    folder = world.pki.folder
    url = f"https://localhost:{world.http}/v1/traces"
    curl = ["curl", "-sS", "--cacert", folder / "ca.pem", "-H",
            "Content-Type: application/x-protobuf", "--data-binary", "", "-o", "/dev/null", "-w",
            "%{http_code}", url]
    own = ["--cert", folder / "app.pem", "--key", folder / "app.key"]
    assert subprocess.run(curl + own, capture_output=True, text=True).stdout == "200"
    assert subprocess.run(curl, capture_output=True, text=True).stdout == "000"
    for port, protocol in ((world.grpc, "h2"), (world.http, "http/1.1")):
        words = ["openssl", "s_client", "-connect", f"localhost:{port}", "-alpn", protocol,
                 "-CAfile", folder / "ca.pem", "-cert", folder / "app.pem", "-key",
                 folder / "app.key"]
        seen = subprocess.run(words, input="", capture_output=True, text=True)
        assert f"ALPN protocol: {protocol}" in seen.stdout
        assert "Verify return code: 0 (ok)" in seen.stdout
        old = subprocess.run(words + ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], input="",
                             capture_output=True, text=True)
        assert "New, (NONE), Cipher is (NONE)" in old.stdout, old.stderr
    world.stop()


def test_a_replaced_client_ca_shuts_the_old_ones_clients_out(world):
    def some_let_in(cert):
        return any(world.send(protocol, [], cert) for protocol in ("grpc", "http"))

    def all_let_in(cert):
        return all(world.send(protocol, [], cert) for protocol in ("grpc", "http"))

    assert all_let_in("app") and not some_let_in(None)
    world.pki.ca("next")
    world.pki.issue("newcomer", "next")
    assert not some_let_in("newcomer")
    world.pki.copy("next", "clients")
    assert harness.wait_for(lambda: all_let_in("newcomer"), LOOK)
    assert not some_let_in("app")
    world.stop()


def test_rotation_under_load_loses_nothing(world):
    sent, failed, stop, numbers = [], [], threading.Event(), itertools.count()

    def load(protocol):
        while not stop.is_set():
            name = f"{protocol} {next(numbers)}"
            (sent if world.send(protocol, [name]) else failed).append(name)

    threads = [threading.Thread(target=load, args=(protocol,)) for protocol in ("grpc", "http")]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 2 * LOOK
    while time.monotonic() < until:
        world.pki.issue("server", "ca")
        world.pki.issue("client", "ca")
    stop.set()
    for thread in threads:
        thread.join()
    assert sent and not failed
    assert harness.wait_for(lambda: len(world.backend.names) >= len(sent), 20)
    assert sorted(world.backend.names) == sorted(sent)
    assert "were reloaded" in world.spanlink.log.read_text()
    world.stop()


def test_what_the_backend_refuses_early_is_split(world):
    """The backend refuses the message before reading all of it, and closes the call."""
    names = [f"span {i}" for i in range(40)]
    assert world.send("grpc", names, filling="x" * 20000)
    assert harness.wait_for(lambda: len(world.backend.names) >= 40, 20), world.spanlink.tail()
    assert sorted(world.backend.names) == sorted(names)
    world.stop()


def test_a_key_that_does_not_match_is_told_with_its_path(world):
    world.pki.issue("other", "ca")
    run = subprocess.run([harness.SPANLINK, "--config", world.spanlink.log.parent / "config.yaml",
                          "--set", "receivers.otlp.protocols.grpc.tls.key_file="
                          + str(world.pki.path("other.key"))],
                         capture_output=True, text=True, timeout=20)
    assert run.returncode != 0
    assert f"{world.pki.path('other.key')} is not the key of the certificate in " \
        f"{world.pki.path('server.pem')}" in run.stderr
    world.stop()
