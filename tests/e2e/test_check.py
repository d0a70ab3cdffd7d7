"""`spanlink check` asks real backends and explains what is wrong."""
import contextlib
import http.server
import socket
import socketserver
import ssl
import subprocess
import threading
from concurrent import futures

import grpc
import pytest

import bytesink
import harness

COLLECTOR = """\
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: "127.0.0.1:{grpc}"}}
      http: {{endpoint: "127.0.0.1:{http}"}}
  otlp/tls:
    protocols:
      grpc:
        endpoint: "127.0.0.1:{tls_grpc}"
        tls: &tls {{cert_file: "{dir}/cert.pem", key_file: "{dir}/key.pem"}}
      http: {{endpoint: "127.0.0.1:{tls_http}", tls: *tls}}
  otlp/mutual:
    protocols:
      grpc:
        endpoint: "127.0.0.1:{mutual_grpc}"
        tls: &mutual {{cert_file: "{dir}/cert.pem", key_file: "{dir}/key.pem",
          client_ca_file: "{dir}/cert.pem"}}
      http: {{endpoint: "127.0.0.1:{mutual_http}", tls: *mutual}}
exporters: {{nop: }}
service:
  telemetry: {{metrics: {{level: none}}, logs: {{level: error}}}}
  pipelines: {{traces: {{receivers: [otlp, otlp/tls, otlp/mutual], exporters: [nop]}}}}
"""
GUARDED = """\
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: "127.0.0.1:{auth_grpc}", auth: {{authenticator: basicauth}}}}
      http: {{endpoint: "127.0.0.1:{auth_http}", auth: {{authenticator: basicauth}}}}
  pyroscope: {{endpoint: "127.0.0.1:{auth_ingest}", auth: {{authenticator: basicauth}}}}
extensions: {{basicauth: {{htpasswd: {{inline: "ann:hers"}}}}}}
exporters: {{debug: }}
service:
  extensions: [basicauth]
  pipelines:
    traces: {{receivers: [otlp], exporters: [debug]}}
    profiles: {{receivers: [pyroscope], exporters: [debug]}}
"""
CONFIG = """\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:0"}}}}}}}}
extensions:
  basicauth/right: {{client_auth: {{username: ann, password: hers}}}}
  basicauth/wrong: {{client_auth: {{username: ann, password: his}}}}
exporters:
  {type}: {{{keys}}}
service:
  extensions: [basicauth/right, basicauth/wrong]
  pipelines: {{{signal}: {{receivers: [otlp], exporters: [{type}]}}}}
"""


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


class Unknown(http.server.BaseHTTPRequestHandler):
    """Not OTLP: a web page, a redirect, a server that requires a tenant, one that is not ready."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        status, kind, text = {
            "/page": (200, "text/html", "<html>hello</html>"),
            "/moved": (301, "text/html", "moved"),
            "/tenant": (401, "text/plain", "no org id"), "/busy": (503, "text/plain", "starting"),
            "/status": (401, "application/x-protobuf", "\x08\x10\x12\x04who?"),
            "/forbidden": (403, "text/plain", "read only")}[
                "/" + self.path.split("/")[1]]
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        if status == 301:
            self.send_header("Location", "http://127.0.0.1:1/otlp")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


class NoTenant(grpc.GenericRpcHandler):
    def service(self, _call):
        def refuse(_request, context):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "no org id")
        return grpc.unary_unary_rpc_method_handler(refuse)


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=otel.test",
                    "-addext", "subjectAltName=DNS:otel.test", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)


def expired_server(folder):
    """A TLS server whose certificate ended yesterday."""
    subprocess.run(["openssl", "req", "-new", "-key", folder / "key.pem", "-subj", "/CN=otel.test",
                    "-addext", "subjectAltName=DNS:otel.test", "-out", folder / "request.pem"],
                   check=True, capture_output=True)
    subprocess.run(["openssl", "x509", "-req", "-in", folder / "request.pem", "-signkey",
                    folder / "key.pem", "-copy_extensions", "copyall", "-days", "-1", "-out",
                    folder / "cert.pem"], check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unknown)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


class Greeter(socketserver.BaseRequestHandler):
    """A server that talks first, as SSH does."""
    text = b"SSH-2.0-OpenSSH_9.2p1\r\n"

    def handle(self):
        self.request.sendall(self.text)
        while self.request.recv(4096):
            pass


class Binary(Greeter):
    text = b"\x4a\x00\x00\x00\x0a8.0.36\x00\x08"


class Redis(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"-ERR unknown command '%s'\r\n" % line.split(b" ")[0].strip())


@pytest.fixture(scope="module")
def others():
    """Ports of servers that speak neither HTTP nor TLS."""
    with contextlib.ExitStack() as stack:
        ports = {}
        for name, handler in (("ssh", Greeter), ("mysql", Binary), ("redis", Redis)):
            server = stack.enter_context(
                socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler))
            server.daemon_threads = True
            stack.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            ports[name] = server.server_address[1]
        yield ports


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The backends of all rows, by the ports in their keys."""
    folder = tmp_path_factory.mktemp("check")
    ports = {name: harness.free_port() for name in (
        "grpc", "http", "tls_grpc", "tls_http", "mutual_grpc", "mutual_http", "auth_grpc",
        "auth_http", "auth_ingest", "closed")}
    with contextlib.ExitStack() as stack:
        certificate(folder)
        for name, text, binary in (("collector", COLLECTOR, harness.BUILT / "otelcol-e2e"),
                                   ("guarded", GUARDED, harness.SPANLINK)):
            config = folder / f"{name}.yaml"
            config.write_text(text.format(dir=folder, **ports))
            program = harness.Program(name, folder, [binary, "--config", config])
            stack.callback(program.stop)
            program.wait_ports(*(port for key, port in ports.items()
                                 if key != "closed" and str(port) in config.read_text()))
        standin = harness.Standin(folder).start()
        stack.callback(standin.stop)
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unknown)
        stack.callback(web.shutdown)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        for name in ("other", "expired"):
            (folder / name).mkdir()
            certificate(folder / name)
        expired = expired_server(folder / "expired")
        stack.callback(expired.shutdown)
        threading.Thread(target=expired.serve_forever, daemon=True).start()
        tenant = grpc.server(futures.ThreadPoolExecutor(2), handlers=(NoTenant(),))
        ports["tenant"] = tenant.add_insecure_port("127.0.0.1:0")
        tenant.start()
        stack.callback(tenant.stop, 0)
        silent = stack.enter_context(socket.socket())
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        yield {**ports, "dir": folder, "pyroscope": standin.port, "web": web.server_port,
               "expired": expired.server_port,
               "silent": silent.getsockname()[1]}


def check(folder, type, keys, signal="traces"):
    config = folder / "config.yaml"
    config.write_text(CONFIG.format(type=type, keys=keys, signal=signal))
    return subprocess.run([harness.SPANLINK, "check", "--config", config], capture_output=True,
                          text=True, timeout=60)


CA = 'tls: {{ca_file: "{dir}/cert.pem"}}'
OTHER = ('tls: {{ca_file: "{dir}/cert.pem", server_name_override: otel.test, '
         'cert_file: "{dir}/other/cert.pem", key_file: "{dir}/other/key.pem"}}')
EXPIRED = 'tls: {{ca_file: "{dir}/expired/cert.pem", server_name_override: otel.test}}'
NAMED = 'tls: {{ca_file: "{dir}/cert.pem", server_name_override: otel.test}}'
CLEAR = "tls: {{insecure: true}}"
RIGHT, WRONG = ("auth: {{authenticator: basicauth/%s}}" % who for who in ("right", "wrong"))
GOOD = [
    ("otlp_grpc", 'endpoint: "127.0.0.1:{grpc}", ' + CLEAR),
    ("otlp_http", 'endpoint: "http://127.0.0.1:{http}"'),
    ("otlp_http", 'endpoint: "http://127.0.0.1:{http}", encoding: json, compression: none'),
    ("otlp_grpc", 'endpoint: "127.0.0.1:{tls_grpc}", tls: {{ca_file: "{dir}/cert.pem", '
                  'server_name_override: otel.test}}'),
    ("otlp_grpc", 'endpoint: "http://127.0.0.1:{auth_grpc}", ' + RIGHT),
    ("otlp_http", 'endpoint: "http://127.0.0.1:{auth_http}", ' + RIGHT),
    ("pyroscope", 'endpoint: "http://127.0.0.1:{pyroscope}"'),
    ("pyroscope", 'endpoint: "http://127.0.0.1:{auth_ingest}", ' + RIGHT),
]
BAD = {
    "name": ("otlp_grpc", 'endpoint: "tempo.invalid:4317", ' + CLEAR,
             "the name cannot be resolved"),
    "refused": ("otlp_http", 'endpoint: "http://127.0.0.1:{closed}"',
                "connection refused; nothing listens there"),
    "bound to localhost": ("otlp_grpc", 'endpoint: "{host}:{grpc}", ' + CLEAR,
                           "Tempo's receiver listens on localhost alone until its "
                           "distributor.receivers.otlp.protocols.grpc.endpoint is 0.0.0.0:4317"),
    "no answer": ("otlp_http", 'endpoint: "http://127.0.0.1:{silent}", timeout: 200ms',
                  "no answer within 0."),
    "TLS name over gRPC": ("otlp_grpc", 'endpoint: "127.0.0.1:{tls_grpc}", ' + CA,
                           "tls.server_name_override"),
    "TLS name over HTTP": ("otlp_http", 'endpoint: "https://127.0.0.1:{tls_http}", ' + CA,
                           "tls.server_name_override"),
    "TLS CA over gRPC": ("otlp_grpc", 'endpoint: "localhost:{tls_grpc}"', "tls.ca_file"),
    "TLS CA over HTTP": ("otlp_http", 'endpoint: "https://localhost:{tls_http}"', "tls.ca_file"),
    "no client certificate over gRPC": (
        "otlp_grpc", 'endpoint: "127.0.0.1:{mutual_grpc}", ' + NAMED,
        "tls.cert_file and tls.key_file"),
    "no client certificate over HTTP": (
        "otlp_http", 'endpoint: "https://127.0.0.1:{mutual_http}", ' + NAMED,
        "tls.cert_file and tls.key_file"),
    "client certificate of another CA over gRPC": (
        "otlp_grpc", 'endpoint: "127.0.0.1:{mutual_grpc}", ' + OTHER, "the certificate in "
        "tls.cert_file is not from a CA that the backend accepts"),
    "client certificate of another CA over HTTP": (
        "otlp_http", 'endpoint: "https://127.0.0.1:{mutual_http}", ' + OTHER, "the certificate in "
        "tls.cert_file is not from a CA that the backend accepts"),
    "expired certificate": (
        "otlp_http", 'endpoint: "https://127.0.0.1:{expired}", ' + EXPIRED,
        "the server's certificate has expired and must be renewed there"),
    "status in protobuf": ("otlp_http", 'endpoint: "http://127.0.0.1:{web}/status"',
                           "HTTP 401: who?; the backend requires authentication"),
    "gRPC without TLS to TLS": ("otlp_grpc", 'endpoint: "127.0.0.1:{tls_grpc}", ' + CLEAR,
                                "the port requires TLS: leave out tls.insecure"),
    "HTTP without TLS to TLS": ("otlp_http", 'endpoint: "http://127.0.0.1:{tls_http}"',
                                "the port requires TLS: the endpoint must begin with https://"),
    "gRPC with TLS to clear": ("otlp_grpc", 'endpoint: "127.0.0.1:{grpc}"',
                               "the port does not speak TLS: the endpoint must begin with "
                               "http://, or set tls.insecure: true"),
    "HTTP with TLS to clear": ("otlp_http", 'endpoint: "https://127.0.0.1:{http}"',
                               "the port does not speak TLS: the endpoint must begin with http://"),
    "HTTP to gRPC": ("otlp_http", 'endpoint: "http://127.0.0.1:{grpc}"',
                     "the port speaks gRPC: use the exporter otlp_grpc"),
    "gRPC to HTTP": ("otlp_grpc", 'endpoint: "127.0.0.1:{http}", ' + CLEAR,
                     "the port speaks HTTP/1.1: use the exporter otlp_http"),
    "gRPC to HTTP with TLS": ("otlp_grpc", 'endpoint: "127.0.0.1:{http}"',
                              "the port speaks HTTP/1.1"),
    "Pyroscope to gRPC": ("pyroscope", 'endpoint: "http://127.0.0.1:{grpc}"',
                          "Pyroscope accepts profiles over HTTP"),
    "no credentials over gRPC": ("otlp_grpc", 'endpoint: "http://127.0.0.1:{auth_grpc}"',
                                 "the backend requires authentication"),
    "no credentials over HTTP": ("otlp_http", 'endpoint: "http://127.0.0.1:{auth_http}"',
                                 "HTTP 401"),
    "wrong credentials": ("otlp_http", 'endpoint: "http://127.0.0.1:{auth_http}", ' + WRONG,
                          'auth.authenticator "basicauth/wrong" are not accepted'),
    "wrong header": ("otlp_grpc", 'endpoint: "http://127.0.0.1:{auth_grpc}", '
                                  'headers: {{authorization: Basic eA==}}',
                     "the credentials in headers.Authorization are not accepted"),
    "wrong credentials of Pyroscope": (
        "pyroscope", 'endpoint: "http://127.0.0.1:{auth_ingest}", ' + WRONG, "are not accepted"),
    "path": ("otlp_http", 'endpoint: "http://127.0.0.1:{http}/otlp"',
             "HTTP 404: 404 page not found; there is no OTLP traces receiver at this path"),
    "path twice": ("otlp_http", 'endpoint: "http://127.0.0.1:{http}/v1/traces"',
                   "/v1/traces is added to endpoint: leave it out"),
    "Pyroscope's path": ("pyroscope", 'endpoint: "http://127.0.0.1:{http}"', "base URL"),
    "no tenant over HTTP": ("otlp_http", 'endpoint: "http://127.0.0.1:{web}/tenant"',
                            "set your tenant in headers.X-Scope-OrgID"),
    "wrong tenant over HTTP": ("otlp_http", 'endpoint: "http://127.0.0.1:{web}/tenant", '
                                            'headers: {{X-Scope-OrgID: a}}',
                               "the tenant in headers.X-Scope-OrgID is unknown"),
    "no tenant over gRPC": ("otlp_grpc", 'endpoint: "127.0.0.1:{tenant}", ' + CLEAR,
                            "set your tenant in headers.X-Scope-OrgID"),
    "page": ("otlp_http", 'endpoint: "http://127.0.0.1:{web}/page"', "this is a web server"),
    "redirect": ("otlp_http", 'endpoint: "http://127.0.0.1:{web}/moved"',
                 "moved to http://127.0.0.1:1/otlp, which was not followed; set endpoint to"),
    "busy": ("otlp_http", 'endpoint: "http://127.0.0.1:{web}/busy"',
             ": starting; the backend, or a proxy in front of it, is not ready"),
    "forbidden": ("otlp_http", 'endpoint: "http://127.0.0.1:{web}/forbidden"',
                  "the credentials are valid but may not write here"),
}


@pytest.mark.parametrize("type, keys", GOOD)
def test_a_backend_that_takes_data_is_said_to(tmp_path, world, type, keys):
    signal = "profiles" if type == "pyroscope" else "traces"
    ended = check(tmp_path, type, keys.format(**world), signal)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"exporters.{type}: {signal} are accepted by "), ended.stdout


def own_address():
    """A non-loopback address of this machine; None: it has none."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]
    return None


@pytest.mark.parametrize("fault", BAD)
def test_what_is_wrong_is_said(tmp_path, world, fault):
    type, keys, words = BAD[fault]
    host = own_address()
    if "{host}" in keys and not host:
        pytest.skip("this machine has no address but loopback")
    signal = "profiles" if type == "pyroscope" else "traces"
    ended = check(tmp_path, type, keys.format(host=host, **world), signal)
    assert ended.returncode == 1 and ended.stdout == "", ended
    assert f"config.yaml:6: exporters.{type}.endpoint: {signal} to " in ended.stderr
    assert words in ended.stderr
    assert "hers" not in ended.stderr and "his;" not in ended.stderr


@pytest.mark.parametrize("type, keys, words", [
    ("otlp_http", 'endpoint: "http://127.0.0.1:{ssh}"',
     'OTLP/HTTP: a client is greeted with "SSH-2.0-OpenSSH_9.2p1"'),
    ("otlp_http", 'endpoint: "https://127.0.0.1:{ssh}"',
     'OTLP/HTTP: a client is greeted with "SSH-2.0-OpenSSH_9.2p1"'),
    ("otlp_http", 'endpoint: "http://127.0.0.1:{mysql}"', '"8.0.36"'),
    ("otlp_http", 'endpoint: "http://127.0.0.1:{redis}"',
     "OTLP/HTTP: an HTTP request is answered with \"-ERR unknown command 'OPTIONS'\""),
    ("otlp_grpc", 'endpoint: "127.0.0.1:{ssh}", timeout: 1s, ' + CLEAR,
     'OTLP/gRPC: a client is greeted with "SSH-2.0-OpenSSH_9.2p1"'),
    ("otlp_grpc", 'endpoint: "127.0.0.1:{redis}", timeout: 1s', "OTLP/gRPC: an HTTP request"),
    ("pyroscope", 'endpoint: "http://127.0.0.1:{ssh}"', "HTTP: a client is greeted with"),
])
def test_a_port_of_another_protocol_is_shown_as_such(tmp_path, others, type, keys, words):
    signal = "profiles" if type == "pyroscope" else "traces"
    ended = check(tmp_path, type, keys.format(**others), signal)
    assert ended.returncode == 1
    assert f"the port does not speak {words}" in ended.stderr or words in ended.stderr
    assert "exporter" not in ended.stderr.split(".endpoint: ")[1], ended.stderr
    assert "tls." not in ended.stderr.split(".endpoint: ")[1], ended.stderr


@pytest.mark.parametrize("type, endpoint", [("otlp_grpc", "http://127.0.0.1:{grpc}"),
                                            ("otlp_http", "http://127.0.0.1:{http}")])
def test_a_signal_that_the_backend_does_not_have_is_named(tmp_path, world, type, endpoint):
    ended = check(tmp_path, type, f'endpoint: "{endpoint.format(**world)}"', "logs")
    assert ended.returncode == 1
    assert "OTLP logs" in ended.stderr, ended.stderr


def test_all_backends_are_asked_and_told_in_one_run(tmp_path, world):
    config = tmp_path / "config.yaml"
    config.write_text(f"""\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:0"}}}}}}}}
exporters:
  otlp_http: {{endpoint: "http://127.0.0.1:{world['http']}"}}
  otlp_http/none: {{endpoint: "http://127.0.0.1:{world['closed']}"}}
  otlp_http/unused: {{endpoint: "http://nowhere.invalid"}}
  debug:
service:
  pipelines: {{traces: {{receivers: [otlp], exporters: [otlp_http/none, otlp_http, debug]}}}}
""")
    ended = subprocess.run([harness.SPANLINK, "check", "--config", config], capture_output=True,
                           text=True, timeout=60)
    assert ended.returncode == 1
    assert "exporters.otlp_http: traces are accepted by http://127.0.0.1:" in ended.stdout
    assert "exporters.debug: has no backend" in ended.stdout
    assert "exporters.otlp_http/none.endpoint: traces to " in ended.stderr
    assert "exporters.otlp_http.endpoint" not in ended.stderr


READERS = """\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:0"}}}}}}}}
exporters: {{debug: }}
service:
  pipelines: {{traces: {{receivers: [otlp], exporters: [debug]}}}}
  telemetry:
    metrics:
      level: {level}
      readers:
        - pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: 0}}}}}}
        - periodic: {{exporter: {{console: }}}}
        - periodic: {{exporter: {{otlp: {{{keys}}}}}}}
"""


def check_reader(folder, keys, level="normal"):
    config = folder / "config.yaml"
    config.write_text(READERS.format(level=level, keys=keys))
    return subprocess.run([harness.SPANLINK, "check", "--config", config], capture_output=True,
                          text=True, timeout=60)


READER = "service.telemetry.metrics.readers[2].periodic.exporter.otlp"


def test_the_backend_of_a_reader_is_asked_too(tmp_path):
    sink = bytesink.ByteSink()
    for keys in (f'endpoint: "http://127.0.0.1:{sink.http}"',
                 f'protocol: grpc, insecure: true, endpoint: "127.0.0.1:{sink.grpc}"'):
        ended = check_reader(tmp_path, keys)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert f"{READER}: metrics are accepted by " in ended.stdout
        assert "readers[1].periodic.exporter.console: has no backend" in ended.stdout
    sink.stop()


@pytest.mark.parametrize("keys, words", [
    ('endpoint: "http://127.0.0.1:{closed}"', "connection refused; nothing listens there"),
    ('endpoint: "http://127.0.0.1:{grpc}"', "the port speaks gRPC: use protocol: grpc"),
    ('protocol: grpc, endpoint: "127.0.0.1:{http}"', "use protocol: http/protobuf"),
    ('protocol: grpc, insecure: true, endpoint: "127.0.0.1:{tls_grpc}"', "leave out insecure"),
    ('protocol: grpc, endpoint: "localhost:{tls_grpc}"', "set certificate to the CA"),
])
def test_what_is_wrong_with_a_reader_is_said_by_its_keys(tmp_path, world, keys, words):
    ended = check_reader(tmp_path, keys.format(**world))
    assert ended.returncode == 1
    assert f"config.yaml:11: {READER}.endpoint: metrics to " in ended.stderr
    assert words in ended.stderr, ended.stderr


def test_readers_that_are_off_are_not_asked(tmp_path, world):
    ended = check_reader(tmp_path, f'endpoint: "http://127.0.0.1:{world["closed"]}"', "none")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "readers" not in ended.stdout
