"""The journal replays exactly what would have been delivered without a kill: every kind of request,
byte for byte, with its sender's tenant and credentials."""
import json
import pathlib
import re
import time

import grpc
import pytest
import requests

import harness
import payloads
import sink as sinks
import uploads

CONFIG = """\
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{grpc}", include_metadata: true}},
    http: {{endpoint: "127.0.0.1:{http}", include_metadata: true}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}", include_metadata: true,
    reject_older_than: 0s, reject_newer_than: 0s}}
exporters:
  otlp_{protocol}: {{endpoint: "{otlp}", tls: {{insecure: true}}, {retry}}}
  pyroscope: {{endpoint: "http://{profiles}", {retry}}}
extensions: {{{extension}}}
service:
  extensions: [{extensions}]
  pipelines:
    traces: {{receivers: [otlp], exporters: [otlp_{protocol}]}}
    metrics: {{receivers: [otlp], exporters: [otlp_{protocol}]}}
    logs: {{receivers: [otlp], exporters: [otlp_{protocol}]}}
    profiles/otlp: {{receivers: [otlp], exporters: [otlp_{protocol}]}}
    profiles: {{receivers: [pyroscope], exporters: [pyroscope]}}
"""
RETRY = "retry_on_failure: {initial_interval: 20ms, max_interval: 100ms, max_elapsed_time: 0s}"
RECORDED = pathlib.Path(__file__).parents[1] / "recorded"
# Recent: an old profile is not sent again, and one of the future gets the time of its arrival.
TIME = (int(time.time()) - 120) * 10**9
CREDENTIALS = [("x-scope-orgid", "shop"), ("authorization", "Bearer of news")]


class Relay:
    def __init__(self, folder, sink, protocol, journal):
        self.folder, self.ports = folder, [harness.free_port() for _ in range(3)]
        folder.mkdir(exist_ok=True)
        self.config, otlp = folder / "relay.yaml", getattr(sink, protocol)
        self.config.write_text(CONFIG.format(
            **dict(zip(("grpc", "http", "ingest"), self.ports)), protocol=protocol, retry=RETRY,
            otlp=otlp if protocol == "grpc" else f"http://{otlp}", profiles=sink.http,
            extension=f'journal: {{directory: "{folder / "journal"}"}}' if journal else "",
            extensions="journal" if journal else ""))

    def start(self):
        self.program = harness.Program("spanlink", self.folder,
                                       [harness.SPANLINK, "--config", self.config])
        self.program.wait_ports(*self.ports)


def otlp_requests():
    for signal in payloads.REQUESTS:
        message = payloads.build(signal, f"replay-{signal}")
        yield signal, payloads.canonical(message), payloads.as_json(message).encode()


def profile_requests():
    """Push, and /ingest with pprof, folded stacks and JFR: path, content type, body."""
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    raw = uploads.zipped(pprof.sample([3, 30], span_id="0102030405060708").encode(TIME, 10**10))
    yield uploads.PUSH, "application/proto", uploads.push_request(
        {"__name__": "process_cpu", "service_name": "replay"}, raw)
    times = f"from={TIME // 10**9}&until={TIME // 10**9 + 10}"
    kinds = {"cpu": {"units": "nanoseconds", "sampled": True}}
    body, kind = uploads.form(profile=raw, sample_type_config=json.dumps(kinds).encode())
    yield f"/ingest?name=replay%7Bregion%3Deu%7D&spyName=gospy&{times}", kind, body
    yield f"/ingest?name=folded&format=folded&sampleRate=99&{times}", "text/plain", b"main;work 7\n"
    jfr = next(RECORDED.glob("java*/*ingest*.bin"), None)
    if jfr:
        index = json.loads((jfr.parent / "index.json").read_text())["requests"]
        entry = next(each for each in index if each["file"] == jfr.name)
        path = re.sub(r"\b(from|until)=\d+&?", "", entry["path"]).rstrip("&?")
        yield f"{path}{'&' if '?' in path else '?'}{times}", entry["headers"]["content-type"], jfr.read_bytes()


def send_everything(relay):
    """Number of accepted requests."""
    count, headers = 0, dict(CREDENTIALS)

    def post(port, path, kind, body):
        answer = requests.post(f"http://127.0.0.1:{port}{path}", body, timeout=20,
                               headers={**headers, "Content-Type": kind})
        assert answer.status_code == 200, answer.text
    with grpc.insecure_channel(f"127.0.0.1:{relay.ports[0]}") as channel:
        for signal, binary, text in otlp_requests():
            channel.unary_unary(f"/{payloads.SERVICES[signal]}/Export")(
                binary, timeout=20, metadata=CREDENTIALS)
            post(relay.ports[1], payloads.PATHS[signal], "application/x-protobuf", binary)
            post(relay.ports[1], payloads.PATHS[signal], "application/json", text)
            count += 3
    for path, kind, body in profile_requests():
        post(relay.ports[2], path, kind, body)
        count += 1
    return count


def arrived(folder, protocol, journal):
    """Everything that the sink received; with a journal, from the process after a killed one whose
    sink had refused everything."""
    sink, refusing = sinks.Sink(), sinks.Sink()
    sink.raw, refusing.raw = [], []
    refusing.rule = lambda *_: 503
    relay = Relay(folder, refusing if journal else sink, protocol, journal)
    relay.start()
    count = send_everything(relay)
    if journal:
        relay.program.kill()
        relay = Relay(folder, sink, protocol, journal)
        relay.start()
    assert sink.wait(lambda: len(sink.raw) >= count), relay.program.tail()
    assert relay.program.stop() == 0, relay.program.tail()
    sink.close()
    refusing.close()
    assert len(sink.raw) == count
    return sorted(sink.raw, key=repr)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_every_form_of_request_comes_back_as_it_was(tmp_path, protocol, figure):
    straight = arrived(tmp_path / "straight", protocol, journal=False)
    replayed = arrived(tmp_path / "replayed", protocol, journal=True)
    assert replayed == straight
    assert {request[1:3] for request in straight} == {tuple(v for _, v in CREDENTIALS)}
    figure(f"{len(replayed)} requests, equal to the byte")
