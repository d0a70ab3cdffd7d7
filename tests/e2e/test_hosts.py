"""Which Host headers the small servers answer: pages of other sites, whose names may be made to
resolve to localhost, must not read what names services and addresses."""
import pytest
import requests

import harness

CONFIG = """\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{otlp}"}}}}}}}}
exporters: {{debug: }}
extensions:
  zpages: {{endpoint: "localhost:{zpages}"}}
  health_check: {{endpoint: "localhost:{health}"}}
service:
  extensions: [zpages, health_check]
  telemetry: {{metrics: {{readers: [
    {{pull: {{exporter: {{prometheus: {{host: localhost, port: {metrics}}}}}}}}}]}}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [debug]}}}}
"""


@pytest.fixture(scope="module")
def ports(tmp_path_factory, bypass):
    if bypass:
        pytest.skip("no spanlink")
    folder = tmp_path_factory.mktemp("hosts")
    ports = {name: harness.free_port() for name in ("otlp", "zpages", "health", "metrics")}
    (folder / "config.yaml").write_text(CONFIG.format(**ports))
    program = harness.Program("spanlink", folder,
                              [harness.SPANLINK, "--config", folder / "config.yaml"])
    program.wait_ports(*ports.values())
    yield ports
    assert program.stop() == 0


def status(port, path, host):
    return requests.get(f"http://127.0.0.1:{port}{path}", headers={"Host": host},
                        timeout=10).status_code


@pytest.mark.parametrize("path", ["/", "/debug/explain", "/debug/pipelinez", "/debug/servicez"])
def test_zpages_on_localhost_answer_its_names_alone(ports, path):
    for host in ("localhost", "localhost:8080", "127.0.0.1:1", "[::1]:55679"):
        assert status(ports["zpages"], path, host) == 200
    for host in ("evil.example", f"evil.example:{ports['zpages']}", "localhost.evil.example"):
        assert status(ports["zpages"], path, host) == 403


@pytest.mark.parametrize("name, path", [("health", "/"), ("metrics", "/metrics")])
def test_probes_and_scrapes_may_use_any_name(ports, name, path):
    assert status(ports[name], path, "sidecar.shop.svc:80") == 200
