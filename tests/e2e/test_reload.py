"""SIGHUP and --watch change the configuration under load: nothing is refused, lost or
duplicated."""
import collections
import json
import os
import signal
import socket
import threading

import grpc
import pytest
import requests
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import harness

VERSIONS = 10
CLIENTS = 4
CARD = "4111111111111111"
REFUSED = "not reloaded: the previous configuration stays in force"

CONFIG = """\
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{http}
        max_request_body_size: {body}
      grpc:
        endpoint: 127.0.0.1:{grpc}
        max_concurrent_streams: {streams}
processors:
  batch:
    timeout: {timeout}ms
  batch/again:
    timeout: 10ms
  correlation:
    hold: {hold}s
  redaction:
    allow_all_keys: true
    blocked_values: ["4[0-9]{{15}}"]
  probabilistic_sampler:
    sampling_percentage: 100
exporters:
  file:
    path: {folder}/{out}.jsonl
extensions:
  health_check:
    endpoint: 127.0.0.1:{health}
  journal:
    directory: {folder}/{journal}
service:
  extensions: [{extensions}]
  pipelines:
    traces:
      receivers: [otlp]
      processors: [{processors}]
      exporters: [file]
"""


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


class Running:
    def __init__(self, folder, *flags, **values):
        self.folder, self.config = folder, folder / "config.yaml"
        self.values = dict(http=harness.free_port(), grpc=harness.free_port(),
                           health=harness.free_port(), body=1 << 20, streams=100, timeout=20,
                           hold=60, journal="journal", extensions="health_check",
                           folder=folder, out="out", processors="batch")
        self.write(**values)
        self.program = harness.Program("spanlink", folder,
                                       [harness.SPANLINK, "--config", self.config, *flags])
        self.program.wait_ports(self.values["http"], self.values["health"])

    def write(self, **values):
        self.values.update(values)
        self.write_text(CONFIG.format(**self.values))

    def write_text(self, text):
        self.config.write_text(text)

    def fail(self, **values):
        """A configuration that opens some sockets and then fails."""
        self.write_text(CONFIG.format(**{**self.values, **values}))
        self.hup(REFUSED)

    def log_count(self, words):
        return self.program.log.read_text().count(words)

    def hup(self, words="reloaded: "):
        """Sends the signal and waits for this text in the log."""
        before = self.log_count(words)
        self.program.process.send_signal(signal.SIGHUP)
        assert harness.wait_for(lambda: self.log_count(words) > before, 20), self.program.tail(30)

    def healthy(self):
        return requests.get(f"http://127.0.0.1:{self.values['health']}/", timeout=5).status_code

    def spans(self):
        """How often each span was delivered."""
        found = collections.Counter()
        for path in self.folder.glob("*.jsonl"):
            for line in path.read_text().splitlines():
                for resource in json.loads(line)["resourceSpans"]:
                    for scope in resource["scopeSpans"]:
                        found.update(span["name"] for span in scope["spans"])
        return found


def export(channel, name):
    call = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export",
                               request_serializer=ExportTraceServiceRequest.SerializeToString)
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.name = b"t" * 16, b"s" * 8, name
    span.start_time_unix_nano, span.end_time_unix_nano = 1, 2
    call(request, timeout=30)


def post(session, port, name):
    span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174",
            "name": name, "startTimeUnixNano": "1", "endTimeUnixNano": "2",
            "attributes": [{"key": "card", "value": {"stringValue": CARD}}]}
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    return session.post(f"http://127.0.0.1:{port}/v1/traces", json=body, timeout=30).status_code


class Client(threading.Thread):
    """Sends one span after another over persistent connections, alternating between HTTP and
    gRPC."""

    def __init__(self, number, running):
        super().__init__(daemon=True)
        self.number, self.running = number, running
        self.enough = threading.Event()
        self.sent, self.faults = [], []

    def run(self):
        session = requests.Session()
        channel = grpc.insecure_channel(f"127.0.0.1:{self.running.values['grpc']}")
        while not self.enough.is_set():
            name = f"{self.number}-{len(self.sent)}"
            try:
                if self.number % 2:
                    export(channel, name)
                elif (status := post(session, self.running.values["http"], name)) != 200:
                    self.faults.append(status)
            except (requests.RequestException, grpc.RpcError) as error:
                self.faults.append(error)
            self.sent.append(name)
        channel.close()


@pytest.mark.parametrize("extensions", ["health_check", "health_check, journal"])
def test_under_load_every_span_arrives_once(tmp_path, extensions):
    running = Running(tmp_path, extensions=extensions)
    clients = [Client(i, running) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    for version in range(VERSIONS):
        before = [len(client.sent) for client in clients]
        assert harness.wait_for(
            lambda: all(len(c.sent) > n + 5 for c, n in zip(clients, before)), 30, 0.01)
        running.write(out=f"out{version % 3}", body=(1 << 20) + version % 2,
                      streams=100 + version % 2, timeout=20 + version % 4,
                      processors=["batch", "batch, batch/again", "batch/again"][version % 3])
        running.hup()
        running.fail(http=running.values["health"], streams=7)
        assert running.healthy() == 200
    for client in clients:
        client.enough.set()
    for client in clients:
        client.join()
    assert [client.faults for client in clients] == [[] for _ in clients]
    assert running.program.stop() == 0
    assert running.spans() == {name: 1 for client in clients for name in client.sent}


def test_held_spans_stay_where_the_processor_does_and_leave_with_it(tmp_path):
    running = Running(tmp_path, processors="correlation")
    with requests.Session() as session:
        assert post(session, running.values["http"], "held") == 200
    running.write(out="second", body=2 << 20)
    running.hup()
    assert not running.spans()
    running.write(hold=61)
    running.hup()
    assert harness.wait_for(running.spans, 5) == {"held": 1}
    assert "held" in (tmp_path / "second.jsonl").read_text()
    with requests.Session() as session:
        assert post(session, running.values["http"], "also held") == 200
    running.write(out="third")
    running.hup()
    assert running.program.stop() == 0
    assert "also held" in (tmp_path / "third.jsonl").read_text()
    assert running.spans() == {"held": 1, "also held": 1}


def move(tmp_path, before, after, **values):
    """Reloads with the processors in another order while a span is held; returns what came of
    it."""
    running = Running(tmp_path, processors=before, **values)
    with requests.Session() as session:
        assert post(session, running.values["http"], "held") == 200
    running.write(processors=after)
    running.hup("replaced because another processor moved past it")
    assert harness.wait_for(running.spans, 5) == {"held": 1}
    assert running.program.stop() == 0
    return (tmp_path / "out.jsonl").read_text()


@pytest.mark.parametrize("other", ["batch/again, redaction", "redaction, batch/again"])
def test_what_batch_holds_is_redacted_though_redaction_moves_to_the_front(tmp_path, other):
    assert CARD not in move(tmp_path, f"batch, {other}", f"{other}, batch", timeout=60000)


def test_held_spans_are_sampled_once_though_the_sampler_moves_behind(tmp_path):
    move(tmp_path, "probabilistic_sampler, correlation", "correlation, probabilistic_sampler")


COUNTING = """\
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{http}
processors:
  filter:
    trace_conditions: ['span.name == "{drops}"']
  groupbyattrs:
    keys: [{key}]
  probabilistic_sampler:
    sampling_percentage: {percent}
exporters:
  file:
    path: {folder}/out.jsonl
service:
  telemetry:
    metrics:
      readers:
        - pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {metrics}}}}}}}
  pipelines:
    traces:
      receivers: [otlp]
      processors: [filter, groupbyattrs, probabilistic_sampler]
      exporters: [file]
"""


def test_a_processor_that_changes_goes_on_counting(tmp_path):
    port, metrics = harness.free_port(), harness.free_port()
    path = tmp_path / "config.yaml"

    def write(**values):
        path.write_text(COUNTING.format(http=port, metrics=metrics, folder=tmp_path, **values))

    def counts():
        page = requests.get(f"http://127.0.0.1:{metrics}/metrics", timeout=5).text
        names = ("filter_spans_filtered", "groupbyattrs_num_non_grouped_spans",
                 "probabilistic_sampler_count_traces_sampled")
        return [float(line.split()[-1]) for name in names for line in page.splitlines()
                if line.startswith(f"otelcol_processor_{name}")]

    write(drops="a", key="x", percent=100)
    program = harness.Program("spanlink", tmp_path, [harness.SPANLINK, "--config", path])
    program.wait_ports(port, metrics)
    with requests.Session() as session:
        for name in "aabbb":
            assert post(session, port, name) == 200
        assert counts() == [2, 3, 3]
        write(drops="b", key="y", percent=99.9999)
        program.process.send_signal(signal.SIGHUP)
        assert harness.wait_for(lambda: "reloaded: " in program.log.read_text(), 20)
        assert counts() == [2, 3, 3]
        for name in "aabbb":
            assert post(session, port, name) == 200
    assert counts() == [5, 5, 5]
    assert program.stop() == 0


def test_a_broken_file_leaves_the_old_configuration_running(tmp_path):
    running = Running(tmp_path)
    good = running.config.read_text()
    for text, words in (("", "empty configuration file"),
                        (good.replace("exporters:\n", "exporters: [\n", 1), "config.yaml:"),
                        (good.replace("timeout:", "timeuot:", 1), ":12: processors.batch.timeuot"),
                        (good.replace("  file:\n", "  fiel:\n", 1), "unknown type \"fiel\"")):
        running.write_text(text)
        running.hup(REFUSED)
        assert words in running.program.log.read_text()
        assert running.healthy() == 200
    with requests.Session() as session:
        assert post(session, running.values["http"], "span") == 200
    assert running.program.stop() == 0
    assert running.spans() == {"span": 1}


def test_a_pipe_that_nobody_writes_to_does_not_stop_it(tmp_path):
    """Nor does it keep a configuration that somebody does write to a pipe from being read."""
    running = Running(tmp_path)
    good = running.config.read_text()
    running.config.unlink()
    os.mkfifo(running.config)
    running.hup("config.yaml: is a pipe to which nothing was written for 10 s")
    running.program.process.send_signal(signal.SIGHUP)
    running.config.write_text(good.replace("timeout: 20ms", "timeout: 21ms"))
    assert harness.wait_for(lambda: running.log_count("reloaded: "), 20), running.program.tail(30)
    assert running.program.stop() == 0


def test_a_port_in_use_leaves_the_old_configuration_running(tmp_path):
    running = Running(tmp_path)
    listening = running.log_count(", listening on ")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        running.fail(http=taken.getsockname()[1], out="other", grpc=harness.free_port())
    assert running.log_count(", listening on ") == listening
    assert "protocols.http.endpoint: 127.0.0.1:" in running.program.log.read_text()
    with requests.Session() as session:
        assert post(session, running.values["http"], "span") == 200
    assert running.program.stop() == 0
    assert not (tmp_path / "other.jsonl").exists() or not (tmp_path / "other.jsonl").read_text()
    assert running.spans() == {"span": 1}


def test_another_journal_needs_a_restart(tmp_path):
    running = Running(tmp_path, extensions="health_check, journal")
    for values in (dict(journal="other"), dict(extensions="health_check")):
        running.fail(**values)
        assert "extensions.journal: changing it needs a restart" in \
            running.program.log.read_text()
    running.write(out="second")
    running.hup()
    with requests.Session() as session:
        assert post(session, running.values["http"], "span") == 200
    assert running.program.stop() == 0
    assert "span" in (tmp_path / "second.jsonl").read_text()


def test_an_endpoint_moves(tmp_path):
    running = Running(tmp_path)
    with requests.Session() as session:
        old = running.values["http"]
        assert post(session, old, "before") == 200
        running.write(http=harness.free_port())
        running.hup()
        running.program.wait_ports(running.values["http"])
        assert post(session, running.values["http"], "after") == 200
        assert post(session, old, "over a connection that was open") == 200
    assert harness.wait_for(lambda: not harness.answers(old), 5)
    assert running.program.stop() == 0
    assert set(running.spans().values()) == {1} and len(running.spans()) == 3


def test_watch_takes_changed_files_over(tmp_path):
    secret = tmp_path / "name"
    secret.write_text("first\n")
    running = Running(tmp_path, "--watch")
    running.write(out="${file:" + str(secret) + "}")
    assert harness.wait_for(lambda: running.log_count("exporters.file changed") == 1, 5)
    secret.write_text("second\n")
    assert harness.wait_for(lambda: running.log_count("exporters.file changed") == 2, 5)
    with requests.Session() as session:
        assert post(session, running.values["http"], "span") == 200
    assert running.program.stop() == 0
    assert "span" in (tmp_path / "second.jsonl").read_text()
    assert running.log_count("nothing has changed") == 0
