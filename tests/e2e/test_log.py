"""The log of the process: rotation, outputs that fail, sampling and fields."""
import http.server
import json
import os
import re
import signal
import threading

import pytest
import requests

import harness
import payloads

CONFIG = """\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{at}"}}}}}}}}
exporters: {{debug: }}
service:
  telemetry:
    metrics: {{level: none}}
    logs: {{{logs}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [debug]}}}}
"""


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


def start(folder, logs, name="spanlink", binary=harness.SPANLINK):
    at, config = harness.free_port(), folder / "config.yaml"
    config.write_text(CONFIG.format(at=at, logs=logs))
    program = harness.Program(name, folder, [binary, "--config", config])
    program.wait_ports(at)
    program.at = at
    return program


def stop(program):
    assert program.stop() == 0, program.tail()


def test_sighup_reopens_files_that_were_renamed(tmp_path):
    log, old = tmp_path / "log", tmp_path / "log.1"
    program = start(tmp_path, f"output_paths: [{log}], error_output_paths: [{tmp_path}/errors]")
    log.rename(old)
    (tmp_path / "errors").unlink()
    program.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: log.exists() and "nothing has changed" in log.read_text(), 10)
    assert (tmp_path / "errors").exists()
    assert "SIGHUP" not in old.read_text()
    stop(program)
    assert "nothing that was acknowledged was lost" in log.read_text()
    assert "stopping" not in old.read_text()


def test_a_file_that_cannot_be_reopened_stays_in_use(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    program = start(tmp_path, f"output_paths: [{folder}/log]")
    folder.rename(tmp_path / "away")
    program.process.send_signal(signal.SIGHUP)
    log = tmp_path / "away" / "log"
    assert harness.wait_for(lambda: "nothing has changed" in log.read_text(), 10)
    assert f'cannot reopen "{folder}/log": No such file or directory' in log.read_text()
    stop(program)


def test_a_full_disk_is_reported_once_on_stderr(tmp_path):
    program = start(tmp_path, "output_paths: [/dev/full]")
    program.process.send_signal(signal.SIGHUP)
    body = payloads.build("traces", "a").SerializeToString()
    assert requests.post(f"http://127.0.0.1:{program.at}/v1/traces", data=body, timeout=5,
                         headers={"Content-Type": "application/x-protobuf"}).ok
    stop(program)
    lines = [line for line in program.log.read_text().splitlines()
             if not line.startswith("debug:")]
    assert len(lines) == 1, lines
    assert "the log cannot be written: No space left on device" in lines[0]


def test_a_named_pipe_that_nobody_reads_is_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    program = start(tmp_path, f"output_paths: [{pipe}]")
    os.close(reader)
    program.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: "the log cannot be written: Broken pipe" in
                            program.log.read_text(), 10)
    stop(program)
    again = harness.Program("again", tmp_path, [harness.SPANLINK, "--config",
                                                tmp_path / "config.yaml"])
    assert again.wait(20) == 1
    assert f'cannot write to "{pipe}": No such device or address' in again.tail()


def test_without_output_paths_there_is_no_log(tmp_path):
    program = start(tmp_path, "output_paths: []")
    stop(program)
    assert program.log.read_text() == ""


FIELDS = 'initial_fields: {b: [x, 1, true, 0x10], c: {d: e, f: null, g: [1.5, {}]}, n: 5, q: "5", s: a b}'


def test_closed_standard_files_are_no_connections(tmp_path):
    """Else a client's connection would get the log's number, and its lines."""
    at, config = harness.free_port(), tmp_path / "config.yaml"
    config.write_text(CONFIG.format(at=at, logs="level: info"))
    program = harness.Program("closed", tmp_path, [
        "sh", "-c", 'exec "$0" --config "$1" <&- >&- 2>&-', harness.SPANLINK, config])
    program.wait_ports(at)
    assert {os.readlink(f"/proc/{program.process.pid}/fd/{n}") for n in range(3)} == {"/dev/null"}
    stop(program)


@pytest.mark.parametrize("level", ["info", "warn", "error"])
def test_the_report_of_sigusr1_is_part_of_the_log_at_any_level(tmp_path, level):
    log = tmp_path / "log"
    program = start(tmp_path, f"level: {level}, encoding: json, output_paths: [{log}]")
    program.process.send_signal(signal.SIGUSR1)
    assert harness.wait_for(lambda: "memory: " in log.read_text(), 10), program.tail()
    stop(program)
    assert all(json.loads(line)["msg"] for line in log.read_text().splitlines())
    assert program.log.read_text() == ""


def test_initial_fields_have_the_values_that_the_collector_gives_them(tmp_path):
    seen = {}
    for name, binary in (("spanlink", harness.SPANLINK),
                         ("otelcol", harness.BUILT / "otelcol-e2e")):
        (tmp_path / name).mkdir()
        program = start(tmp_path / name, "encoding: json, " + FIELDS, name, binary)
        program.stop()
        first = json.loads(program.log.read_text().splitlines()[0])
        seen[name] = {key: first.get(key) for key in "bcnqs"}
    assert seen["spanlink"] == seen["otelcol"]
    assert seen["spanlink"]["b"] == ["x", 1, True, 16]


def test_initial_fields_follow_lines_of_text(tmp_path):
    program = start(tmp_path, FIELDS)
    stop(program)
    fields = program.log.read_text().splitlines()[0]
    assert json.loads(fields[fields.index(" {"):])["c"]["g"] == [1.5, {}]


FLAPPING = """\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{at}"}}}}}}}}
exporters:
  otlp_http: {{endpoint: "http://127.0.0.1:{to}", retry_on_failure: {{initial_interval: 60ms}},
    sending_queue: {{num_consumers: 1}}}}
service:
  telemetry:
    metrics: {{level: none}}
    logs: {{sampling: {{enabled: false}}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [otlp_http]}}}}
"""


class Backend(http.server.BaseHTTPRequestHandler):
    """The first two of three attempts fail."""
    count = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Backend.count += 1
        self.send_response(200 if Backend.count % 3 == 0 else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_flapping_backend_is_told_once(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at, config = harness.free_port(), tmp_path / "config.yaml"
    config.write_text(FLAPPING.format(at=at, to=server.server_address[1]))
    program = harness.Program("spanlink", tmp_path, [harness.SPANLINK, "--config", config])
    program.wait_ports(at)
    body = payloads.build("traces", "a").SerializeToString()
    for _ in range(20):
        assert requests.post(f"http://127.0.0.1:{at}/v1/traces", data=body, timeout=5,
                             headers={"Content-Type": "application/x-protobuf"}).ok
    assert harness.wait_for(lambda: Backend.count >= 60, 30)
    stop(program)
    text = program.log.read_text()
    assert len(re.findall("waiting, trying again", text)) == 1, text
    assert len(re.findall("delivering again", text)) <= 1, text
    server.shutdown()


def test_the_report_of_sigusr1_has_the_busiest_services_and_the_rest_as_one_line(tmp_path):
    at, ingest, config = harness.free_port(), harness.free_port(), tmp_path / "config.yaml"
    config.write_text(f"""\
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{at}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}"}}
processors: {{correlation: {{}}}}
exporters: {{debug: }}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [correlation], exporters: [debug]}}
    profiles: {{receivers: [pyroscope], processors: [correlation], exporters: [debug]}}
""")
    program = harness.Program("spanlink", tmp_path, [harness.SPANLINK, "--config", config])
    program.wait_ports(at, ingest)
    request = {"resourceSpans": [
        {"resource": {"attributes": [{"key": "service.name",
                                      "value": {"stringValue": f"svc-{i}"}}]},
         "scopeSpans": [{"spans": [{"traceId": f"{i + 1:032x}", "spanId": f"{k + 1:016x}",
                                    "name": "a", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
                                   for k in range(1 if i < 50 else 2)]}]}
        for i in range(150)]}
    assert requests.post(f"http://127.0.0.1:{at}/v1/traces", json=request, timeout=5).ok

    def reported():
        program.process.send_signal(signal.SIGUSR1)
        return "50 other services: spans linked 0" in program.log.read_text()
    assert harness.wait_for(reported, 10), program.tail()
    stop(program)
    last = program.log.read_text().rsplit("50 other services", 1)[0].rsplit("in the hold", 1)[1]
    named = re.findall(r"service (svc-\d+):", last)
    assert sorted(named) == sorted(f"svc-{i}" for i in range(50, 150))
