"""Compares the metrics page with a real Collector's for the same load: names, labels, numbers."""
import http.server
import json
import re
import socket
import subprocess
import threading

import pytest
import requests
from google.protobuf import json_format

import bytesink
import harness
import payloads
import test_collector

CONFIG = """\
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{at.grpc}"}},
    http: {{endpoint: "127.0.0.1:{at.http}"}}}}}}
processors: {{memory_limiter: {{check_interval: 1s, limit_mib: 200}}, batch: {{timeout: 2s}}}}
exporters:
  otlp_http: {{endpoint: "http://127.0.0.1:{to.http}"}}
  otlp_grpc: {{endpoint: "127.0.0.1:{to.grpc}", tls: {{insecure: true}}}}
  otlp_http/dead: {{endpoint: "http://127.0.0.1:{dead}", retry_on_failure: {{enabled: false}}}}
service:
  telemetry:
    metrics:
      level: {level}
      readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {page}{style}}}}}}}}}]
    resource: {{deployment.environment: test, service.name: side by side}}
  pipelines:
    traces: {{receivers: [otlp], processors: [memory_limiter, batch],
      exporters: [otlp_http, otlp_grpc, otlp_http/dead]}}
    metrics: {{receivers: [otlp], processors: [memory_limiter, batch], exporters: [otlp_http]}}
    logs: {{receivers: [otlp], exporters: [otlp_http]}}
    profiles: {{receivers: [otlp], exporters: [otlp_http]}}
"""
STYLED = (", without_type_suffix: false, without_units: false, "
          "with_resource_constant_labels: {included: [deployment.environment, service.name]}")
# Labels of every series of that style, and of buckets.
STYLE = {"deployment_environment", "service_name", "le"}
# Go's memory, its HTTP library, and request spans have no equivalent in spanlink.
NOT_OURS = re.compile(r"otelcol_process_runtime_|promhttp_|http_|rpc_")
# Values that differ by nature, with the time of the request, or with the batches that were merged.
VOLATILE = re.compile(r"otelcol_process_|.*_duration|.*_bytes|otelcol_processor_batch_|.*enqueue_size")
# A refused connection has no status; here it counts as one.
UNLIKE = {"service_instance_id", "service_version", "error_type"}
SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


def read(text):
    """Samples by name and labels."""
    samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        key = name, frozenset((label, "" if label in UNLIKE else text)
                              for label, text in LABEL.findall(labels or ""))
        assert key not in samples, line
        samples[key] = float(value)
    return samples


def scrape(port, accept=None):
    answer = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=5,
                          headers={"Accept": accept} if accept else {})
    assert answer.status_code == 200
    return answer


def value(samples, name, **labels):
    return sum(number for (other, has), number in samples.items()
               if other == name and set(labels.items()) <= set(has))


def settled(samples, end):
    """Whether everything accepted has been delivered or reported as failed. end: of counters'
    names."""
    def count(counter, what, **labels):
        return value(samples, f"otelcol_{counter}_{what}{end}", **labels)

    ends = [("exporter_sent", what, "otlp_http")
            for what in ("spans", "metric_points", "log_records", "profile_samples")]
    ends += [("exporter_sent", "spans", "otlp_grpc"),
             ("exporter_send_failed", "spans", "otlp_http/dead")]
    return all(count(counter, what, exporter=exporter) == count("receiver_accepted", what) > 0
               for counter, what, exporter in ends)


class Subject(harness.Program):
    """A program with the configuration above, after the same load."""

    def __init__(self, name, command, folder, to, level):
        self.at = test_collector.Ends(harness.free_port(), harness.free_port())
        self.page, self.end = harness.free_port(), "_total" if level == "styled" else ""
        folder.mkdir()
        config = folder / "config.yaml"
        config.write_text(CONFIG.format(at=self.at, to=to, page=self.page, dead=1,
                                        level="normal" if level == "styled" else level,
                                        style=STYLED if level == "styled" else ""))
        super().__init__(name, folder, [*command, "--config", config])
        self.wait_ports(*self.at, self.page)
        for signal in payloads.REQUESTS:
            body = payloads.build(signal, "page").SerializeToString()
            test_collector.send(self.at, signal, "http", body)
        for signal in payloads.REQUESTS:
            body = payloads.build(signal, "page").SerializeToString()
            test_collector.send(self.at, signal, "grpc", body)
        self.samples = harness.wait_for(self.complete, 60) or read(scrape(self.page).text)

    def complete(self):
        samples = read(scrape(self.page).text)
        return samples if settled(samples, self.end) else None


@pytest.fixture(scope="module", params=["normal", "detailed", "styled"])
def both(request, tmp_path_factory):
    folder, sink = tmp_path_factory.mktemp("page"), bytesink.ByteSink()
    collector = Subject("otelcol", [harness.BUILT / "otelcol-e2e",
                                    "--feature-gates=+service.profilesSupport"],
                        folder / "otelcol", sink, request.param)
    spanlink = Subject("spanlink", [harness.SPANLINK], folder / "spanlink", sink, request.param)
    yield collector, spanlink
    collector.stop()
    spanlink.stop()
    sink.stop()


def test_every_metric_of_the_collector_is_there_with_its_labels(both):
    theirs, ours = both[0].samples, both[1].samples
    wanted = {key for key in theirs if not NOT_OURS.match(key[0])}
    assert len(wanted) > 60
    assert sorted(map(str, wanted - set(ours))) == []


def test_the_numbers_are_the_same(both):
    theirs, ours = both[0].samples, both[1].samples
    different = {str(key): (number, ours[key]) for key, number in theirs.items()
                 if key in ours and ours[key] != number and not VOLATILE.match(key[0])}
    assert different == {}


def test_what_is_beside_them_is_our_own_or_of_a_processor_that_they_do_not_count(both):
    theirs, ours = both[0].samples, both[1].samples
    more = {key for key in set(ours) - set(theirs) if not key[0].startswith("spanlink_")}
    assert all(("processor", "batch") in labels for _, labels in more), more


def test_what_is_our_own_has_the_labels_that_the_page_names(both):
    documented = {}
    for line in (harness.ROOT / "docs" / "telemetry.md").read_text().splitlines():
        if line.startswith("| `spanlink_"):
            names, labels = line.split("|")[1:3]
            documented[re.search(r"`(\w+)`", names)[1]] = set(re.findall("[a-z_]+", labels))
    ours = [(re.sub("_(bucket|sum|count)$|_total$", "", name), {label for label, _ in labels} - STYLE)
            for name, labels in both[1].samples if name.startswith("spanlink_")]
    assert "spanlink_dropped_items" in {name for name, _ in ours}
    undocumented = [(name, labels) for name, labels in ours
                    if name in documented and not labels <= documented[name]]
    assert undocumented == []


def test_openmetrics_has_the_same_names(both):
    page = both[1].page
    asked = scrape(page, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert asked.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert asked.text.endswith("# EOF\n")
    plain = scrape(page)
    assert plain.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert ({name for name, _ in read(asked.text)} == {name for name, _ in read(plain.text)})


# What Prometheus 3 sends by default.
PROMETHEUS_3 = ("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                "application/openmetrics-text;version=0.0.1;q=0.5,"
                "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
                "text/plain;version=0.0.4;q=0.3,*/*;q=0.2")
QUOTED = re.compile(r'[{,]((?:"[^"]+"|\w+)="(?:[^"\\]|\\.)*")')


def identities(text):
    """The series with their labels, apart from those of this run."""
    seen = set()
    for line in text.splitlines():
        if line.startswith(("#", "{")) or NOT_OURS.match(line):  # { begins a quoted name: http.*
            continue
        labels = {label for label in QUOTED.findall(line)
                  if not re.match(r'"?(service|error).(version|instance|type)', label)}
        seen.add((re.match(r"\w+", line)[0], frozenset(labels)))
    return seen


def types(text):
    return {tuple(line.split()[2:]) for line in text.splitlines() if line.startswith("# TYPE")
            and not NOT_OURS.match(line.split()[2]) and not line.startswith('# TYPE "')}


def test_prometheus_3_gets_the_names_and_types_that_the_collector_gives_it(both):
    theirs, ours = (scrape(program.page, PROMETHEUS_3) for program in both)
    assert ours.headers["Content-Type"] == theirs.headers["Content-Type"]
    assert identities(theirs.text) - identities(ours.text) == set()
    assert types(theirs.text) - types(ours.text) == set()
    assert '"deployment.environment"="test"' in ours.text


REFUSED = """\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{at}"}}}}}}}}
processors: {{memory_limiter: {{check_interval: 1s, limit_mib: 200}}}}
exporters:
  otlp_http/down: {{endpoint: "http://127.0.0.1:1", sending_queue: {{queue_size: 2, num_consumers: 1}}}}
  otlp_http/waits: {{endpoint: "http://127.0.0.1:{to}", sending_queue: {{enabled: false}},
    retry_on_failure: {{enabled: false}}}}
service:
  telemetry: {{metrics: {{level: detailed, readers: [{{pull: {{exporter: {{prometheus:
    {{host: 127.0.0.1, port: {page}}}}}}}}}]}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [memory_limiter], exporters: [otlp_http/down]}}
    metrics: {{receivers: [otlp], processors: [memory_limiter], exporters: [otlp_http/waits]}}
"""


def refused_figures(folder, command, status):
    """The series of exporters and processors when a queue is full and a backend refuses."""
    class Backend(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    at, page, config = harness.free_port(), harness.free_port(), folder / "config.yaml"
    config.write_text(REFUSED.format(at=at, page=page, to=backend.server_address[1]))
    program = harness.Program("refused", folder, [*command, "--config", config])
    program.wait_ports(at, page)
    for signal in ("traces", "metrics"):
        for _ in range(5):
            requests.post(f"http://127.0.0.1:{at}/v1/{signal}", timeout=10,
                          data=payloads.build(signal, "page").SerializeToString(),
                          headers={"Content-Type": "application/x-protobuf"})
    samples = read_all(scrape(page).text)
    program.process.kill()
    program.wait(10)
    backend.shutdown()
    return samples


def read_all(text):
    """Samples by name and all labels but the port, without the sums of bytes."""
    found = {}
    for line in text.splitlines():
        match = SAMPLE.fullmatch(line)
        if match and re.match("otelcol_(exporter|processor)_", line) and \
                not re.search("_bytes_|_duration|in_flight|queue_size", match[1]):
            labels = frozenset(pair for pair in LABEL.findall(match[2] or "")
                               if pair[0] != "server_port")
            found[str((match[1], sorted(labels)))] = float(match[3])
    return found


@pytest.mark.parametrize("status", [400, 503])
def test_refusals_count_as_in_the_collector(tmp_path, status):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    theirs = refused_figures(tmp_path / "theirs", [harness.BUILT / "otelcol-e2e"], status)
    ours = refused_figures(tmp_path / "ours", [harness.SPANLINK], status)
    assert any("enqueue_failed" in key for key in theirs)
    assert any("error_type" in key for key in theirs)
    assert ours == theirs


PERIODIC = """\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{at}"}}}}}}}}
processors: {{memory_limiter: {{check_interval: 1s, limit_mib: 200}}}}
exporters: {{debug: }}
service:
  telemetry:
    metrics:
      readers:
        - periodic:
            interval: 60000
            exporter:
              otlp: {{protocol: {protocol}, endpoint: "{endpoint}", compression: none,
                headers: [{{name: X-Token, value: "$$s"}}], headers_list: "X-More=b, x-token=c"}}
    resource: {{team: a, attributes: [{{name: service.name, value: sidecar}}]}}
  pipelines: {{traces: {{receivers: [otlp], processors: [memory_limiter], exporters: [debug]}}}}
"""


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_figures_are_sent_at_intervals_and_at_the_end(tmp_path, protocol):
    sink, at = bytesink.ByteSink(), harness.free_port()
    port = sink.grpc if protocol == "grpc" else sink.http
    config = tmp_path / "config.yaml"
    config.write_text(PERIODIC.format(at=at, protocol=protocol,
                                      endpoint=f"http://127.0.0.1:{port}"))
    program = harness.Program("spanlink", tmp_path, [harness.SPANLINK, "--config", config])
    program.wait_ports(at)
    assert program.stop() == 0, program.tail()
    bodies = sink.requests("metrics", "grpc" if protocol == "grpc" else "http")
    assert len(bodies) == 1, program.tail()
    resource = payloads.parse("metrics", bodies[0]).resource_metrics[0]
    attributes = {a.key: a.value.string_value for a in resource.resource.attributes}
    assert attributes["service.name"] == "sidecar" and attributes["team"] == "a"
    assert attributes["service.instance.id"]
    by_name = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    assert by_name["otelcol_process_uptime"].sum.is_monotonic
    assert by_name["spanlink_ready"].gauge.data_points
    incoming = by_name["otelcol_processor_incoming_items"].sum.data_points[0]
    assert [a.key for a in incoming.attributes] == ["processor", "otel.signal"]
    if protocol == "http/protobuf":
        headers = {k.lower(): v for k, v in sink.proxy.exchanges[0].headers.items()}
        assert (headers["x-token"], headers["x-more"]) == ("$s", "b")
    sink.stop()


def test_the_console_gets_a_line_of_otlp_json_each_time(tmp_path):
    at, config = harness.free_port(), tmp_path / "config.yaml"
    text = PERIODIC.format(at=at, protocol="grpc", endpoint="http://127.0.0.1:1")
    begin, end = text.index("            interval"), text.index("    resource:")
    config.write_text(f"{text[:begin]}            interval: 50\n"
                      f"            exporter: {{console: {{}}}}\n{text[end:]}")
    with subprocess.Popen([harness.SPANLINK, "--config", config], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as program:
        lines = [program.stdout.readline() for _ in range(3)]
        program.terminate()
        lines += program.stdout.readlines()
        assert program.wait(20) == 0
    assert len(lines) > 3
    for line in lines:
        resource = json_format.Parse(line, payloads.REQUESTS["metrics"]()).resource_metrics[0]
        attributes = {a.key: a.value.string_value for a in resource.resource.attributes}
        assert attributes["service.name"] == "sidecar"
        assert "otelcol_process_uptime" in {m.name for m in resource.scope_metrics[0].metrics}


def test_a_file_that_a_reader_needs_is_named_by_its_key(tmp_path):
    config = tmp_path / "config.yaml"
    text = PERIODIC.format(at=harness.free_port(), protocol="grpc", endpoint="https://127.0.0.1:1")
    config.write_text(text.replace("compression: none", "certificate: /nowhere/ca.pem"))
    ended = subprocess.run([harness.SPANLINK, "--config", config], capture_output=True, text=True,
                           timeout=20)
    assert ended.returncode == 1
    assert ("config.yaml:11: service.telemetry.metrics.readers[0].periodic.exporter.otlp."
            "certificate: /nowhere/ca.pem cannot be read") in ended.stderr


def test_a_port_that_is_taken_is_an_error_where_it_is_configured(tmp_path):
    taken, at = harness.free_port(), harness.free_port()
    config = tmp_path / "config.yaml"
    text = PERIODIC.format(at=at, protocol="grpc", endpoint="http://127.0.0.1:1")
    begin, end = text.index("        - periodic"), text.index("    resource:")
    config.write_text(text[:begin] + "        - pull: {exporter: {prometheus: {host: 127.0.0.1, "
                      f"port: {taken}}}}}}}\n" + text[end:])
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", taken))
        holder.listen()
        program = harness.Program("spanlink", tmp_path, [harness.SPANLINK, "--config", config])
        assert program.wait(20) == 1
    log = program.log.read_text()
    assert (f"service.telemetry.metrics.readers[0].pull.exporter.prometheus.port: 127.0.0.1:{taken}"
            " is in use") in log, log


def test_the_log_is_json_in_a_file(tmp_path):
    page, at = harness.free_port(), harness.free_port()
    config = tmp_path / "config.yaml"
    config.write_text(f"""\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{at}"}}}}}}}}
exporters: {{debug: }}
service:
  telemetry:
    metrics: {{address: "127.0.0.1:{page}"}}
    logs: {{encoding: json, output_paths: [{tmp_path}/log.jsonl], initial_fields: {{team: a}}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [debug]}}}}
""")
    program = harness.Program("spanlink", tmp_path, [harness.SPANLINK, "--config", config])
    program.wait_ports(page, at)
    assert harness.wait_for(lambda: value(read(scrape(page).text), "spanlink_ready") == 1, 10)
    assert program.stop() == 0
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert any("is ready" in line["msg"] for line in lines)
    assert all(line["team"] == "a" and line["level"] == "info" and line["ts"].endswith("Z")
               and line["resource"]["service.name"] == "spanlink" for line in lines)
    [line] = [line for line in lines if "OTLP over HTTP, listening on" in line["msg"]]
    assert line["msg"].startswith("otlp: ")
    assert line["otelcol.component.id"] == "otlp"
    assert line["otelcol.component.kind"] == "receiver"
    assert program.log.read_text() == ""


def test_in_json_a_line_names_its_component_and_signal(tmp_path):
    """As the Collector's lines do."""
    at, log = harness.free_port(), tmp_path / "log.jsonl"
    config = tmp_path / "config.yaml"
    config.write_text(f"""\
receivers: {{otlp/in: {{protocols: {{http: {{endpoint: "127.0.0.1:{at}"}}}}}}}}
exporters:
  otlp_http/out:
    endpoint: "http://127.0.0.1:{harness.free_port()}"
    retry_on_failure: {{enabled: false}}
service:
  telemetry: {{metrics: {{level: none}}, logs: {{encoding: json, output_paths: [{log}]}}}}
  pipelines: {{traces: {{receivers: [otlp/in], exporters: [otlp_http/out]}}}}
""")
    program = harness.Program("spanlink", tmp_path, [harness.SPANLINK, "--config", config])
    program.wait_ports(at)
    bodies = {b"\xff": 400, payloads.build("traces", "a").SerializeToString(): 200}
    for body, status in bodies.items():
        answer = requests.post(f"http://127.0.0.1:{at}/v1/traces", body, timeout=10,
                               headers={"Content-Type": "application/x-protobuf"})
        assert answer.status_code == status
    program.stop()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    [refused] = [line for line in lines if " refused: " in line["msg"]]
    assert (refused["otelcol.component.id"], refused["otelcol.component.kind"],
            refused["otelcol.signal"]) == ("otlp/in", "receiver", "traces")
    [lost] = [line for line in lines if " dropped: " in line["msg"]]
    assert (lost["otelcol.component.id"], lost["otelcol.component.kind"]) == (
        "otlp_http/out", "exporter")
