"""gRPC clients on ports that speak HTTP/1.1: as with a Collector, they fail at once and back off."""
import grpc
import pytest
import requests
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc

import harness
import payloads

CONFIG = """\
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{grpc}"}}, http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}"}}
exporters: {{debug: }}
service:
  telemetry: {{metrics: {{readers: [{{pull: {{exporter: {{prometheus:
    {{host: 127.0.0.1, port: {page}}}}}}}}}]}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [debug]}}
    profiles: {{receivers: [pyroscope], exporters: [debug]}}
"""
# grpc-go, in a Collector.
CLIENT = """\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{at}"}}}}}}}}
exporters: {{otlp_grpc: {{endpoint: "127.0.0.1:{to}", tls: {{insecure: true}},
  sending_queue: {{enabled: false}}, retry_on_failure: {{enabled: false}}}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [otlp_grpc]}}}}
"""


class Spanlink(harness.Program):
    def __init__(self, folder):
        self.ports = {name: harness.free_port() for name in ("grpc", "http", "ingest", "page")}
        config = folder / "config.yaml"
        config.write_text(CONFIG.format(**self.ports))
        super().__init__("spanlink", folder, [harness.SPANLINK, "--config", config])
        self.wait_ports(*self.ports.values())

    def refused(self):
        """Connections that were refused because they do not speak HTTP/1.1."""
        page = requests.get(f"http://127.0.0.1:{self.ports['page']}/metrics", timeout=5).text
        return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
                   if line.startswith("spanlink_receiver_refused_requests{") and '"unsupported"' in line)


@pytest.fixture
def spanlink(bypass, tmp_path):
    if bypass:
        pytest.skip("no spanlink")
    program = Spanlink(tmp_path)
    yield program
    assert program.stop() == 0, program.tail()


@pytest.mark.parametrize("port", ["http", "ingest"])
def test_grpcio_is_unavailable_at_once(spanlink, port):
    request = payloads.build("traces", "lost")
    with grpc.insecure_channel(f"127.0.0.1:{spanlink.ports[port]}") as channel:
        stub = trace_service_pb2_grpc.TraceServiceStub(channel)
        for _ in range(4):
            with pytest.raises(grpc.RpcError) as failed:
                stub.Export(request, timeout=20)
            assert failed.value.code() == grpc.StatusCode.UNAVAILABLE
            assert "http1.x server" in failed.value.details()
    assert 1 <= spanlink.refused() <= 4
    assert "a gRPC client (HTTP/2) on the HTTP port" in spanlink.tail()


@pytest.mark.parametrize("port", ["http", "ingest"])
def test_grpc_go_is_unavailable_at_once(spanlink, tmp_path, port):
    at, config = harness.free_port(), tmp_path / "client.yaml"
    config.write_text(CLIENT.format(at=at, to=spanlink.ports[port]))
    client = harness.Program("otelcol", tmp_path, [harness.BUILT / "otelcol-e2e",
                                                   "--config", config])
    client.wait_ports(at)
    answer = requests.post(f"http://127.0.0.1:{at}/v1/traces", timeout=20,
                           data=payloads.build("traces", "lost").SerializeToString(),
                           headers={"Content-Type": "application/x-protobuf"})
    assert answer.status_code == 503 and b"HTTP/1.1 header" in answer.content, answer.content
    client.stop()
    assert spanlink.refused() <= 8
