"""The metrics page beside a real Collector's, for the same load: names, labels and numbers."""
import re

import pytest
import requests

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
      readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {page}}}}}}}}}]
    resource: {{deployment.environment: test, service.name: side by side}}
  pipelines:
    traces: {{receivers: [otlp], processors: [memory_limiter, batch],
      exporters: [otlp_http, otlp_grpc, otlp_http/dead]}}
    metrics: {{receivers: [otlp], processors: [memory_limiter, batch], exporters: [otlp_http]}}
    logs: {{receivers: [otlp], exporters: [otlp_http]}}
    profiles: {{receivers: [otlp], exporters: [otlp_http]}}
"""
# Go's memory, its HTTP library, and spans around requests: nothing of ours is like them.
NOT_OURS = re.compile(r"otelcol_process_runtime_|promhttp_|http_|rpc_")
# Different by nature, or by when the page was asked for.
VOLATILE = re.compile(r"otelcol_process_|.*_duration|.*_bytes|otelcol_processor_batch_")
# A refused connection is no status; here it counts as one.
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


def settled(samples):
    """All that was sent has come through, and what could not be is told."""
    sent = [value(samples, f"otelcol_exporter_sent_{what}", exporter="otlp_http")
            for what in ("spans", "metric_points", "log_records", "profile_samples")]
    return (all(sent) and value(samples, "otelcol_exporter_sent_spans", exporter="otlp_grpc")
            and value(samples, "otelcol_exporter_send_failed_spans"))


class Subject(harness.Program):
    """A program with the configuration above, after the same load."""

    def __init__(self, name, command, folder, to, level):
        self.at = test_collector.Ends(harness.free_port(), harness.free_port())
        self.page = harness.free_port()
        folder.mkdir()
        config = folder / "config.yaml"
        config.write_text(CONFIG.format(at=self.at, to=to, page=self.page, level=level, dead=1))
        super().__init__(name, folder, [*command, "--config", config])
        self.wait_ports(*self.at, self.page)
        for signal in payloads.REQUESTS:
            body = payloads.build(signal, "page").SerializeToString()
            test_collector.send(self.at, signal, "http", body)
        for signal in payloads.REQUESTS:
            body = payloads.build(signal, "page").SerializeToString()
            test_collector.send(self.at, signal, "grpc", body)
        self.samples = harness.wait_for(self.complete, 10) or read(scrape(self.page).text)

    def complete(self):
        samples = read(scrape(self.page).text)
        return samples if settled(samples) else None


@pytest.fixture(scope="module", params=["normal", "detailed"])
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


def test_openmetrics_has_the_same_names(both):
    page = both[1].page
    asked = scrape(page, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert asked.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert asked.text.endswith("# EOF\n")
    plain = scrape(page)
    assert plain.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert ({name for name, _ in read(asked.text)} == {name for name, _ in read(plain.text)})
