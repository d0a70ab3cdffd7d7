"""spanlink and the Collector on either side of Kafka."""
import json
import os
import pathlib

import requests
import yaml

import harness

COLLECTOR = pathlib.Path(os.environ.get("OTELCOL_GATEWAY_BIN",
                                        harness.BUILT / "otelcol-gateway"))
PATHS = {"traces": "/v1/traces", "metrics": "/v1/metrics", "logs": "/v1/logs",
         "profiles": "/v1development/profiles"}
GROUPS = {"traces": ("resourceSpans", "scopeSpans", "spans"),
          "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
          "logs": ("resourceLogs", "scopeLogs", "logRecords")}


class Sidecar(harness.Program):
    """spanlink with OTLP and Pyroscope's protocol in, and one exporter kafka with these settings."""

    def __init__(self, folder, kafka, signals=("traces",), env=None, name="sidecar", wait=True):
        self.http, self.ingest = harness.free_port(), harness.free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / f"{name}.yaml"
        receivers = {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{self.http}"}}}}
        if "profiles" in signals:
            receivers["pyroscope"] = {"endpoint": f"127.0.0.1:{self.ingest}"}
        kafka = {"retry_on_failure": {"initial_interval": "200ms", "max_interval": "1s"}, **kafka}
        self.config.write_text(yaml.safe_dump({
            "receivers": receivers, "exporters": {"kafka": kafka},
            "service": {"telemetry": {"metrics": {"level": "none"}},
                        "pipelines": {signal: {
                            "receivers": list(receivers) if signal == "profiles" else ["otlp"],
                            "exporters": ["kafka"]} for signal in signals}}}))
        super().__init__(name, folder, [harness.SPANLINK, "--config", self.config], env=env)
        if wait:
            self.wait_ports(self.http, *[self.ingest] * ("profiles" in signals), seconds=10)

    def post(self, signal, body, **headers):
        answer = requests.post(f"http://127.0.0.1:{self.http}{PATHS[signal]}", data=body, timeout=30,
                               headers={"Content-Type": "application/x-protobuf", **headers})
        return answer.status_code

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
