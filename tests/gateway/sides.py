"""spanlink and the Collector on either side of Kafka."""
import base64
import json
import os
import pathlib

import requests
import yaml
from google.protobuf import json_format

import harness
import payloads

COLLECTOR = pathlib.Path(os.environ.get("OTELCOL_GATEWAY_BIN",
                                        harness.BUILT / "otelcol-gateway"))
PATHS = {"traces": "/v1/traces", "metrics": "/v1/metrics", "logs": "/v1/logs",
         "profiles": "/v1development/profiles"}
GROUPS = {"traces": ("resourceSpans", "scopeSpans", "spans"),
          "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
          "logs": ("resourceLogs", "scopeLogs", "logRecords")}


def post(port, signal, body, **headers):
    """Sends a request of OTLP; returns the status of the answer."""
    return requests.post(
        f"http://127.0.0.1:{port}{PATHS[signal]}", data=body, timeout=30,
        headers={"Content-Type": "application/x-protobuf", **headers}).status_code


class Sidecar(harness.Program):
    """spanlink with OTLP and Pyroscope's protocol in, and an exporter kafka with these settings."""

    def __init__(self, folder, kafka, signals=("traces",), env=None, name="sidecar", wait=True,
                 metrics_port=None, status=None):
        self.metrics_port = metrics_port
        self.http, self.ingest = harness.free_port(), harness.free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / f"{name}.yaml"
        receivers = {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{self.http}"}}}}
        if "profiles" in signals:
            receivers["pyroscope"] = {"endpoint": f"127.0.0.1:{self.ingest}"}
        kafka = {"retry_on_failure": {"initial_interval": "200ms", "max_interval": "1s"}, **kafka}
        self.config.write_text(yaml.safe_dump({
            "receivers": receivers, "exporters": {"kafka": kafka},
            "extensions": {"status": {"endpoint": f"127.0.0.1:{status}"}} if status else {},
            "service": {"extensions": ["status"] if status else [],
                        "telemetry": {"metrics": {"readers": [{"pull": {"exporter": {"prometheus": {
                            "host": "127.0.0.1", "port": metrics_port}}}}]} if metrics_port
                            else {"level": "none"}},
                        "pipelines": {signal: {
                            "receivers": list(receivers) if signal == "profiles" else ["otlp"],
                            "exporters": ["kafka"]} for signal in signals}}}))
        super().__init__(name, folder, [harness.SPANLINK, "--config", self.config], env=env)
        if wait:
            self.wait_ports(self.http, *[self.ingest] * ("profiles" in signals), seconds=60)

    def post(self, signal, body, **headers):
        return post(self.http, signal, body, **headers)

    def metric(self, name):
        """The sum over all labels."""
        page = requests.get(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30).text
        return sum(float(line.rpartition(" ")[2]) for line in page.splitlines()
                   if line.startswith((f"{name}{{", f"{name} ")))

    def upload(self, query, body, **headers):
        answer = requests.post(f"http://127.0.0.1:{self.ingest}/ingest?{query}", data=body,
                               headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.status_code

    def lines(self, *words):
        """Lines of the log that contain all of the words."""
        return [line for line in self.log.read_text().splitlines()
                if all(word in line for word in words)]


def collector(folder, name, config, wait=()):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    config["service"]["telemetry"] = {"metrics": {"level": "none"}}
    path.write_text(yaml.safe_dump(config))
    program = harness.Program(name, folder, [
        COLLECTOR, "--feature-gates=+service.profilesSupport", "--config", path])
    program.wait_ports(*wait)
    return program


def items(sink, signal):
    """Every item that a sink received, with its resource and scope, as sorted texts."""
    resources, scopes, kinds = GROUPS[signal]
    found = []
    for file in sorted(sink.folder.glob(f"sink-*/{signal}.jsonl")):
        for line in file.read_text().splitlines():
            for group in json.loads(line).get(resources, []):
                for scope in group.pop(scopes, []):
                    for item in scope.pop(kinds, []):
                        found.append(json.dumps([group, scope, item], sort_keys=True))
    return sorted(found)


def check_arrival(folder, send, through, explain):
    """Sends requests by send(signal, body) and straight to a Collector, and compares what this one
    gets with what arrives at the Collector `through`."""
    direct = harness.Collector(folder / "direct").start()
    for what in GROUPS:
        for seed in range(3):
            body = payloads.build(what, f"shop-{seed}", seed).SerializeToString()
            assert send(what, body) == post(direct.http, what, body) == 200
    for what in GROUPS:
        assert harness.wait_for(
            lambda what=what: len(items(through, what)) >= len(items(direct, what)) > 0,
            60), (what, explain())
        assert items(through, what) == items(direct, what)
    direct.program.kill()


def samples_of(request):
    """Values, or else times, functions and span id of each sample of an OTLP request of profiles as
    JSON."""
    tables = request["dictionary"]
    strings = tables["stringTable"]

    def functions(stack):
        lines = [line for place in tables["stackTable"][stack]["locationIndices"]
                 for line in tables["locationTable"][place]["lines"]]
        return [strings[tables["functionTable"][line["functionIndex"]]["nameStrindex"]]
                for line in lines]
    return [(sample.get("values") or sample["timestampsUnixNano"], functions(sample["stackIndex"]),
             tables["linkTable"][sample["linkIndex"]]["spanId"])
            for group in request["resourceProfiles"] for scope in group["scopeProfiles"]
            for profile in scope["profiles"] for sample in profile["samples"]]


def samples_in(body):
    """The same of an OTLP request of profiles as protobuf."""
    request = json_format.MessageToDict(payloads.REQUESTS["profiles"].FromString(body))
    for link in request["dictionary"]["linkTable"]:
        link["spanId"] = base64.b64decode(link.get("spanId", "")).hex()     # as Collectors write it
    return samples_of(request)
