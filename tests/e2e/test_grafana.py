"""The dashboard and the alert rules query metrics that a real page has, in PromQL that Prometheus'
own engine evaluates."""
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
  kafka: {{brokers: ["127.0.0.1:1"]}}
processors: {{correlation: {{link: all}}}}
exporters:
  debug:
  otlp_http: {{endpoint: "http://127.0.0.1:1", retry_on_failure: {{enabled: false}}}}
  otlp_http/again: {{endpoint: "http://127.0.0.1:1"}}
  kafka: {{brokers: ["127.0.0.1:1"]}}
extensions: {{journal: {{directory: journal}}}}
service:
  extensions: [journal]
  telemetry: {{metrics: {{address: "127.0.0.1:{page}"}}}}
  pipelines:
    traces:
      {{receivers: [otlp, otlp/tls, kafka], processors: [correlation], exporters: [debug, otlp_http, otlp_http/again]}}
    metrics: {{receivers: [otlp], exporters: [debug, otlp_http/again]}}
    logs: {{receivers: [otlp], exporters: [debug]}}
    profiles: {{receivers: [otlp], processors: [correlation], exporters: [debug]}}
    metrics/kafka: {{receivers: [otlp], exporters: [kafka]}}
"""
# Series by lane, which a member without partitions does not have.
OF_LANES = {"spanlink_kafka_lag"}


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
    """Every expression, by its location, with Grafana's variables replaced by values."""
    found = {rule["alert"]: rule["expr"] for rule in rules()}
    for panel in panels():
        for target in panel["targets"]:
            found[f"{panel['title']} {target['refId']}"] = (
                target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*"))
    return found


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """A page of metrics after every kind of event has happened, for two signals."""
    folder = tmp_path_factory.mktemp("grafana")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
                    "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)
    http, page = harness.free_port(), harness.free_port()
    (folder / "config.yaml").write_text(
        CONFIG.format(http=http, tls=harness.free_port(), page=page))
    program = harness.Program("spanlink", folder, [harness.SPANLINK, "--config", "config.yaml"],
                              cwd=folder)
    program.wait_ports(http, page)
    kind = {"Content-Type": "application/x-protobuf"}

    for signal in payloads.REQUESTS:
        url = f"http://127.0.0.1:{http}{payloads.PATHS[signal]}"
        body = payloads.build(signal, "grafana").SerializeToString()
        assert requests.post(url, body, headers=kind, timeout=10).status_code == 200
    url = f"http://127.0.0.1:{http}/v1/traces"
    assert requests.post(url, b"\xff", headers=kind, timeout=10).status_code == 400

    def complete():
        text = test_telemetry.scrape(page).text
        wanted = {"spanlink_dropped_items", "spanlink_spans", "spanlink_exporter_retries"}
        return text if wanted <= names_of(text) else None
    text = harness.wait_for(complete, 10)
    program.stop()
    assert text, program.tail()
    (folder / "page").write_text(text)
    return folder / "page"


def names_of(text):
    return {name for name, _ in test_telemetry.read(text)}


def test_every_expression_can_be_evaluated_and_asks_for_metrics_that_exist(page_file):
    every, names = expressions(), names_of(page_file.read_text())
    lines = "".join(" ".join(text.split()) + "\n" for text in every.values())
    parsed = subprocess.run([harness.BUILT / "promql", page_file], input=lines, text=True, check=True,
                            capture_output=True).stdout.splitlines()
    assert len(parsed) == len(every)
    for (where, text), line in zip(every.items(), parsed):
        answer = json.loads(line)
        assert not answer.get("error"), f"{where}: {text}: {answer['error']}"
        assert answer["metrics"], where
        missing = {name for name in answer["metrics"] if name} - names - OF_LANES
        assert not missing, f"{where}: {missing}"


def test_alerts_tell_of_what_an_operator_has_to_know():
    wanted = {"SpanlinkLosesData", "SpanlinkRefusesData", "SpanlinkHoldFull",
              "SpanlinkBackendDown", "SpanlinkMemoryNearLimit", "SpanlinkCertificateEnds",
              "SpanlinkLinksGone", "SpanlinkKafkaNotAssigned", "SpanlinkKafkaUnreachable",
              "SpanlinkKafkaBehind", "SpanlinkKafkaLosesData", "SpanlinkKafkaUnreadable",
              "SpanlinkKafkaNotAcknowledged"}
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
