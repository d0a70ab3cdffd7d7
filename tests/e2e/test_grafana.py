"""The dashboard and the alert rules ask for metrics that a real page has, in PromQL that
Prometheus' own parser reads."""
import json
import subprocess

import pytest
import requests
import yaml

import harness
import payloads
import test_telemetry

FOLDER = harness.ROOT / "configs" / "grafana"
CONFIG = """\
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  otlp/tls: {{protocols: {{http: {{endpoint: "127.0.0.1:{tls}",
    tls: {{cert_file: cert.pem, key_file: key.pem}}}}}}}}
processors: {{correlation: {{link: all}}}}
exporters:
  debug:
  otlp_http: {{endpoint: "http://127.0.0.1:1", retry_on_failure: {{enabled: false}}}}
extensions: {{journal: {{directory: journal}}}}
service:
  extensions: [journal]
  telemetry: {{metrics: {{address: "127.0.0.1:{page}"}}}}
  pipelines:
    traces:
      {{receivers: [otlp, otlp/tls], processors: [correlation], exporters: [debug, otlp_http]}}
    profiles: {{receivers: [otlp], processors: [correlation], exporters: [debug]}}
"""


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


def rules():
    groups = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels():
    return json.loads((FOLDER / "spanlink.json").read_text())["panels"]


def expressions():
    """Every expression by where it stands; Grafana's variables have values."""
    found = {rule["alert"]: rule["expr"] for rule in rules()}
    for panel in panels():
        for target in panel["targets"]:
            found[f"{panel['title']} {target['refId']}"] = (
                target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*"))
    return found


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Of the metrics on a page after something of everything has happened."""
    folder = tmp_path_factory.mktemp("grafana")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", "/CN=localhost",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)
    http, page = harness.free_port(), harness.free_port()
    (folder / "config.yaml").write_text(
        CONFIG.format(http=http, tls=harness.free_port(), page=page))
    program = harness.Program("spanlink", folder, [harness.SPANLINK, "--config", "config.yaml"],
                              cwd=folder)
    program.wait_ports(http, page)
    url = f"http://127.0.0.1:{http}/v1/traces"
    kind = {"Content-Type": "application/x-protobuf"}
    body = payloads.build("traces", "grafana").SerializeToString()
    assert requests.post(url, body, headers=kind, timeout=10).status_code == 200
    assert requests.post(url, b"\xff", headers=kind, timeout=10).status_code == 400

    def complete():
        found = {name for name, _ in test_telemetry.read(test_telemetry.scrape(page).text)}
        return found if {"spanlink_dropped_items", "spanlink_spans"} <= found else None
    found = harness.wait_for(complete, 10)
    program.stop()
    assert found
    return found


def test_every_expression_is_promql_over_metrics_that_exist(names):
    every = expressions()
    lines = "".join(" ".join(text.split()) + "\n" for text in every.values())
    parsed = subprocess.run([harness.BUILT / "promql"], input=lines, text=True, check=True,
                            capture_output=True).stdout.splitlines()
    assert len(parsed) == len(every)
    for (where, text), line in zip(every.items(), parsed):
        answer = json.loads(line)
        assert not answer.get("error"), f"{where}: {text}: {answer['error']}"
        assert answer["metrics"], where
        missing = {name for name in answer["metrics"] if name} - names
        assert not missing, f"{where}: {missing}"


def test_alerts_tell_of_what_an_operator_has_to_know():
    wanted = {"SpanlinkLosesData", "SpanlinkRefusesData", "SpanlinkHoldFull",
              "SpanlinkBackendDown", "SpanlinkMemoryNearLimit", "SpanlinkCertificateEnds",
              "SpanlinkLinksGone"}
    assert wanted <= {rule["alert"] for rule in rules()}
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in rules())


def test_panels_do_not_overlap():
    taken = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
