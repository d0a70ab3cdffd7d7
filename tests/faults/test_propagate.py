"""error_mode: propagate behind a processor that holds data: their senders have had their answer, so
exactly the records that cannot be processed are lost, and everyone is told."""
import json
import subprocess

import pytest
import requests

import clients
import harness
import payloads
import rig
import uploads

CONFIG = """\
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}"}}
processors:
  correlation: {{hold: 1s}}
  batch: {{timeout: 500ms}}
  memory_limiter: {{limit_mib: 32}}
  transform:
    error_mode: propagate
    trace_statements:
      - set(span.attributes["n"], ParseJSON(resource.attributes["service.name"])["a"])
    log_statements:
      - set(log.attributes["n"], ParseJSON(resource.attributes["service.name"])["a"])
    metric_statements:
      - set(datapoint.attributes["n"], ParseJSON(resource.attributes["service.name"])["a"])
  filter:
    error_mode: propagate
    trace_conditions: ['ParseJSON(resource.attributes["service.name"])["a"] == 2']
    log_conditions: ['ParseJSON(resource.attributes["service.name"])["a"] == 2']
    metric_conditions: ['ParseJSON(resource.attributes["service.name"])["a"] == 2']
  transform/grow: {{log_statements: [{grow}]}}
  transform/twenty: {{log_statements: [{twenty}]}}
exporters:
  otlp_http: {{endpoint: "http://{sink}"}}
  otlp_http/2: {{endpoint: "http://{sink}"}}
  pyroscope: {{endpoint: "http://{sink}"}}
extensions: {{status: {{endpoint: "127.0.0.1:{status}"}}}}
service:
  extensions: [status]
  shutdown_timeout: 50s
  pipelines:
    profiles: {{receivers: [pyroscope], processors: [correlation], exporters: [pyroscope]}}
{pipelines}"""
ONE = "    {signal}: {{receivers: [otlp], processors: [{processors}], exporters: [otlp_http]}}\n"
TWO = """\
    {signal}/1: {{receivers: [otlp], processors: [{}], exporters: [otlp_http]}}
    {signal}/2: {{receivers: [otlp], processors: [{}], exporters: [otlp_http/2]}}
"""
GROW = ", ".join(f"""'set(log.attributes["c{i}"], resource.attributes["service.name"])'"""
                 for i in range(60))
TWENTY = ", ".join(f"""'set(log.attributes["c{i}"], log.attributes["pad"])'"""
                   for i in range(20))
MAKE = {"traces": clients.traces, "logs": clients.logs, "metrics": clients.metrics}
GOOD, BAD = json.dumps({"a": 1}), "not JSON"


class Sidecar(rig.Sidecar):
    def __init__(self, folder, sink, pipelines):
        super().__init__(folder, sink)
        self.status = harness.free_port()
        self.config.write_text(CONFIG.format(http=self.http, ingest=self.ingest, sink=sink.http,
                                             status=self.status, pipelines=pipelines, grow=GROW,
                                             twenty=TWENTY))
        self.launch().program.wait_ports(self.http, self.ingest, self.status)

    def lost(self, component):
        """What the status page and `spanlink top` say that a component lost."""
        found = requests.get(f"http://127.0.0.1:{self.status}/api/pipelines", timeout=30).json()
        [each] = [each for each in found["components"] if each["id"] == component]
        text = subprocess.run([harness.SPANLINK, "top", "--once", "--endpoint",
                               f"127.0.0.1:{self.status}"], capture_output=True, text=True,
                              timeout=30, check=True).stdout
        [row] = [line for line in text.splitlines() if line.startswith(f"{component} ")]
        return sum(each["counters"].get("dropped", {}).values()), int(row.split()[-1])


def send(sidecar, signal, service):
    request, client = MAKE[signal](service), clients.HttpClient(sidecar.http)
    told = client.send(request)[0]
    client.close()
    return told, request.keys


def padded_logs(count):
    request = clients.logs("pads", count)
    parsed = payloads.REQUESTS["logs"].FromString(request.body)
    for record in parsed.resource_logs[0].scope_logs[0].log_records:
        record.attributes.append(uploads.text_attribute("pad", "x" * 2000))
    return clients.Request("logs", parsed.SerializeToString(), request.keys)


@pytest.mark.parametrize("signal, processors", [
    ("traces", ["correlation", "transform"]), ("traces", ["batch", "transform", "filter"]),
    ("traces", ["correlation", "filter", "batch"]), ("logs", ["batch", "transform"]),
    ("metrics", ["batch", "transform"]), ("metrics", ["batch", "filter"])])
def test_only_what_cannot_be_processed_is_lost(tmp_path, sink, signal, processors):
    sidecar = Sidecar(tmp_path, sink, ONE.format(signal=signal, processors=", ".join(processors)))
    blamed = next(each for each in processors if each in ("transform", "filter"))
    sent = [send(sidecar, signal, service) for service in (GOOD, BAD, GOOD)]
    assert [told for told, _ in sent] == [clients.TAKEN] * 3
    keys = [keys for _, keys in sent]
    sink.wait_for(keys[0] + keys[2])
    assert harness.wait_for(lambda: sum(sidecar.lost(blamed)) == 2 * len(keys[1]), 20), (
        sidecar.lost(blamed))
    assert sidecar.stop() == 3, sidecar.program.tail()
    assert all(sink.copies[key] == 1 for key in keys[0] + keys[2])
    assert not any(sink.copies[key] for key in keys[1])
    log = sidecar.log()
    assert f"{blamed}: dropped {len(keys[1])} " in log and "ParseJSON" in log, log
    assert f"{blamed}: {len(keys[1])} " in log.split("stopping")[1], log
    assert "acknowledged but not delivered" in log and "nothing that was ack" not in log, log


@pytest.mark.parametrize("processors", [["", "transform"], ["transform", ""]])
def test_a_request_that_another_pipeline_has_is_not_refused(tmp_path, sink, processors):
    """The client would send it again, to both."""
    sidecar = Sidecar(tmp_path, sink, TWO.format(*processors, signal="traces"))
    (told, bad), (_, good) = (send(sidecar, "traces", service) for service in (BAD, GOOD))
    assert told == clients.TAKEN
    assert sidecar.stop() == 3, sidecar.program.tail()
    assert [sink.copies[key] for key in bad] == [1] * len(bad)
    assert [sink.copies[key] for key in good] == [2] * len(good)
    assert f"transform: {len(bad)} spans acknowledged but not delivered" in sidecar.log()


@pytest.mark.parametrize("processors", [["memory_limiter", "memory_limiter, transform/grow"],
                                        ["memory_limiter, transform/grow", "memory_limiter"]])
def test_what_one_of_two_pipelines_has_no_memory_for_waits_there(tmp_path, sink, processors):
    """The request is refused in neither, or a client that sends it again would double it."""
    sidecar = Sidecar(tmp_path, sink, TWO.format(*processors, signal="logs"))
    request, client = clients.logs("x" * 12_000, count=120), clients.HttpClient(sidecar.http)
    assert client.send(request)[0] == clients.TAKEN
    client.close()
    assert sink.wait(lambda: all(sink.copies[key] == 2 for key in request.keys))
    assert sidecar.stop() == 0, sidecar.program.tail()
    assert all(sink.copies[key] == 2 for key in request.keys)


def test_what_fills_the_memory_gets_on_once_the_backend_is_back(tmp_path, sink):
    """Each record becomes 20 times as large behind the batch processor, which holds many."""
    sidecar = Sidecar(tmp_path, sink, ONE.format(
        signal="logs", processors="memory_limiter, batch, transform/twenty"))
    sink.rule = lambda _signal, _keys: 503
    taken, client = [], clients.HttpClient(sidecar.http)
    while (request := padded_logs(count=100)) and client.send(request)[0] == clients.TAKEN:
        taken.extend(request.keys)
    client.close()
    sink.rule = lambda _signal, _keys: 200
    assert len(taken) > 1000
    sink.wait_for(taken)
    assert sink.requests < len(taken) / 4, "in requests of a few records each"
    assert sidecar.stop(60) == 0, sidecar.program.tail()
    assert all(sink.copies[key] == 1 for key in taken)


def test_what_does_not_fit_in_memory_at_once_passes_in_parts(tmp_path, sink):
    """The batch processor joins requests that each become 60 times as large; others come with
    them."""
    sidecar = Sidecar(tmp_path, sink, ONE.format(signal="logs", processors="batch, transform/grow"))
    sent = [clients.logs("x" * size, count=20) for size in (3, 30_000, 30_000, 30_000, 3)]
    for request in sent:
        client = clients.HttpClient(sidecar.http)
        assert client.send(request)[0] == clients.TAKEN
        client.close()
    keys = [key for request in sent for key in request.keys]
    sink.wait_for(keys)
    assert sidecar.stop() == 0, sidecar.program.tail()
    assert all(sink.copies[key] == 1 for key in keys)


def test_what_waits_for_memory_is_delivered_at_a_stop(tmp_path, sink):
    """Statements make each record so large that few of those that wait fit in memory at once."""
    sidecar = Sidecar(tmp_path, sink, ONE.format(
        signal="logs", processors="memory_limiter, batch, transform/grow"))
    sent = [clients.logs("x" * 12_000, count=60) for _ in range(12)]
    client = clients.HttpClient(sidecar.http)
    taken = [request for request in sent if client.send(request)[0] == clients.TAKEN]
    client.close()
    assert len(taken) > 3
    assert sidecar.stop(60) == 0, sidecar.program.tail()
    assert all(sink.copies[key] == 1 for request in taken for key in request.keys)


def test_a_client_that_waits_gets_the_failure(tmp_path, sink):
    sidecar = Sidecar(tmp_path, sink, ONE.format(signal="traces", processors="transform"))
    (told, bad), (_, good) = (send(sidecar, "traces", service) for service in (BAD, GOOD))
    assert told == 503
    assert sidecar.stop() == 0, sidecar.program.tail()
    assert [sink.copies[key] for key in bad + good] == [0] * len(bad) + [1] * len(good)
