"""The programs that the end-to-end tests start: spanlink, its backends and the applications.

Every program listens on a port that was free just before, logs to its own file and is stopped by
its process id.
"""
import atexit
import base64
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import requests

# Everything is on loopback. To look for a proxy, requests goes through os.environ, which pytest
# changes meanwhile: in other threads that fails.
requests.sessions.get_environ_proxies = lambda *_, **__: {}

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
APPS = HERE / "apps"
BUILT = ROOT / "build" / "e2e" / "bin"
SPANLINK = pathlib.Path(os.environ.get("SPANLINK_BIN", ROOT / "build" / "release" / "spanlink"))
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
WALL = "wall:wall:nanoseconds:wall:nanoseconds"
PROFILE_ID = "pyroscope.profile.id"


_handed_out = set()
# Where pytest-xdist runs tests in several processes, each takes ports that the others do not.
_processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _processes


def free_port():
    """A free port that no other test of this run has been given."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        # Linux prefers odd ones here.
        if port not in _handed_out and port // 2 % _processes == _process:
            _handed_out.add(port)
            return port


def wait_for(condition, seconds, every=0.1):
    """The first true value of condition(), or its last value after the timeout."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > until:
            return value
        time.sleep(every)


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


class Program:
    """A child process with its log. If it is still running when the tests end, it is killed."""
    running = []

    def __init__(self, name, folder, command, env=None, cwd=None):
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.log = name, folder / f"{name}.log"
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(
                [str(c) for c in command], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                cwd=cwd, env={**os.environ, **(env or {})})
        Program.running.append(self)

    def tail(self, lines=15):
        text = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"    {self.name}: {line}" for line in text[-lines:])

    def wait_ports(self, *ports, seconds=30):
        for port in ports:
            wait_for(lambda: answers(port) or self.process.poll() is not None, seconds, 0.02)
            if self.process.poll() is not None or not answers(port):
                raise AssertionError(f"{self.name} does not listen on {port}:\n{self.tail()}")

    def wait_ready(self, url, seconds):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended:\n{self.tail()}")
            try:
                return requests.get(url, timeout=2).status_code == 200
            except requests.RequestException:
                return False
        if not wait_for(ready, seconds):
            raise AssertionError(f"{self.name} is not ready:\n{self.tail()}")

    def wait(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs:\n{self.tail()}") from None

    def stop(self, seconds=20):
        """Sends SIGTERM and returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.wait(seconds)
        finally:
            self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@atexit.register
def kill_what_runs():
    for program in Program.running:
        program.kill()


# Backends for OTLP

class Span:
    """A span as received by a backend."""

    def __init__(self, raw, resource):
        self.span_id, self.trace_id = hex_id(raw["spanId"], 16), hex_id(raw["traceId"], 32)
        self.start = int(raw["startTimeUnixNano"])
        self.end = int(raw["endTimeUnixNano"])
        self.resource = resource
        self.profile_ids = [a["value"].get("stringValue") for a in raw.get("attributes", [])
                            if a["key"] == PROFILE_ID]


class Log:
    """A log record as received by a backend."""

    def __init__(self, raw, resource):
        self.body = raw["body"].get("stringValue")
        self.span_id, self.trace_id = raw.get("spanId", ""), raw.get("traceId", "")
        self.resource = resource


class Point:
    """A data point as received by a backend; stream identifies its stream."""

    def __init__(self, metric, kind, raw, resource):
        self.metric, self.resource = metric, resource
        self.at = int(raw["timeUnixNano"])
        self.value = int(raw.get("asInt", 0)) or raw.get("asDouble", 0)
        self.temporality = kind.get("aggregationTemporality", 0)
        self.stream = json.dumps([self.metric, resource, raw.get("attributes", []),
                                  raw.get("startTimeUnixNano", 0)], sort_keys=True)


def hex_id(text, length):
    """OTLP JSON has ids in hex, Tempo in base64."""
    return text.lower() if len(text) == length else base64.b64decode(text).hex()


def read_resource(group):
    return [(a["key"], a["value"].get("stringValue"))
            for a in group.get("resource", {}).get("attributes", [])]


def read_spans(request):
    for group in request.get("resourceSpans", []):
        for scope in group.get("scopeSpans", []):
            for raw in scope.get("spans", []):
                yield Span(raw, read_resource(group))


def read_logs(request):
    for group in request.get("resourceLogs", []):
        for scope in group.get("scopeLogs", []):
            for raw in scope.get("logRecords", []):
                yield Log(raw, read_resource(group))


def read_points(request):
    for group in request.get("resourceMetrics", []):
        for scope in group.get("scopeMetrics", []):
            for metric in scope.get("metrics", []):
                for kind in ("gauge", "sum", "histogram", "exponentialHistogram", "summary"):
                    for raw in metric.get(kind, {}).get("dataPoints", []):
                        yield Point(metric["name"], metric[kind], raw, read_resource(group))


class Collector:
    """A real Collector that writes received data to a file. It can be stopped and restarted."""
    READERS = {"traces": read_spans, "logs": read_logs, "metrics": read_points}

    def __init__(self, folder):
        self.folder, self.runs, self.program = folder, 0, None
        self.grpc, self.http = free_port(), free_port()
        self.files = []         # for every run: [file, signal, position, items]
        self.lock = threading.Lock()

    def start(self):
        self.runs += 1
        sink = self.folder / f"sink-{self.runs}"
        sink.mkdir(parents=True)
        config = HERE / "backends" / "collector" / "sink.yaml"
        self.program = Program(
            f"collector-{self.runs}", self.folder,
            [BUILT / "otelcol-e2e", "--feature-gates=+service.profilesSupport", "--config", config],
            env={"SINK_DIR": str(sink), "SINK_GRPC_PORT": str(self.grpc),
                 "SINK_HTTP_PORT": str(self.http)})
        self.program.wait_ports(self.grpc, self.http)
        self.files += [[sink / f"{signal}.jsonl", signal, 0, []] for signal in self.READERS]
        return self

    def stop(self):
        self.program.stop()

    def items(self, signal, service):
        """Every copy of every item of a service that has arrived so far."""
        with self.lock:
            for state in self.files:
                self.read_on(state)
            return [item for _, kind, _, items in self.files if kind == signal for item in items
                    if ("service.name", service) in item.resource]

    def spans(self, service, _traces=()):
        return self.items("traces", service)

    def read_on(self, state):
        file, signal, position, items = state
        if not file.exists():
            return
        with open(file, "rb") as lines:
            lines.seek(position)
            for line in lines:
                if not line.endswith(b"\n"):
                    break               # still being written
                state[2] += len(line)
                items.extend(self.READERS[signal](json.loads(line)))


class Tempo:
    """A real Tempo, if TEMPO_BIN is set."""
    CONFIG = """
server: {{http_listen_address: 127.0.0.1, http_listen_port: {api}, grpc_listen_address: 127.0.0.1,
  grpc_listen_port: {internal}, log_level: warn}}
distributor: {{receivers: {{otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{grpc}"}},
  http: {{endpoint: "127.0.0.1:{http}"}}}}}}}}}}
storage: {{trace: {{backend: local, local: {{path: {dir}/blocks}}, wal: {{path: {dir}/wal}}}}}}
live_store: {{wal: {{path: {dir}/live}}, shutdown_marker_dir: {dir}/marker}}
backend_scheduler: {{local_work_path: {dir}/work}}
usage_report: {{reporting_enabled: false}}
"""

    def __init__(self, folder):
        self.folder, self.program = folder, None
        self.grpc, self.http, self.api = free_port(), free_port(), free_port()

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "tempo.yaml"
        config.write_text(self.CONFIG.format(api=self.api, internal=free_port(), grpc=self.grpc,
                                             http=self.http, dir=self.folder))
        self.program = Program("tempo", self.folder,
                               [os.environ["TEMPO_BIN"], f"-config.file={config}"])
        self.program.wait_ready(f"http://127.0.0.1:{self.api}/ready", 120)
        return self

    def stop(self):
        self.program.kill()     # after SIGTERM it takes over a minute to exit

    def spans(self, service, traces=()):
        found = []
        with requests.Session() as session:
            for trace in set(traces):
                answer = session.get(f"http://127.0.0.1:{self.api}/api/v2/traces/{trace}",
                                     headers={"Accept": "application/json"}, timeout=10)
                if answer.status_code == 200:
                    trace = answer.json().get("trace") or {}
                    found += read_spans(trace)
        return [span for span in found if ("service.name", service) in span.resource]


# Backends for profiles

class Querier:
    """Grafana's queries to a Pyroscope server, over connect with JSON."""

    def ask(self, method, body, session=requests):
        answer = session.post(f"{self.url}/querier.v1.QuerierService/{method}", json=body,
                              timeout=30)
        assert answer.status_code == 200, f"{method} {body}: {answer.status_code} {answer.text}"
        return answer.json()

    def span_frames(self, service, span_id, start, end, session=requests, kind=CPU):
        """Levels of the flame graph that Grafana would show for a span; 1: only the root. Grafana
        queries the span's time and 30 s before and after it."""
        graph = self.ask("SelectMergeSpanProfile", {
            "profileTypeID": kind, "labelSelector": f'{{service_name="{service}"}}',
            "spanSelector": [span_id], "start": str(start // 10**6 - 30000),
            "end": str(end // 10**6 + 30000)}, session).get("flamegraph", {})
        return len(graph.get("levels", []))

    def totals(self, service, since):
        """The sum of all values of each profile type, by the tail of its id."""
        period = {"start": str(int(since * 1000) - 60000), "end": str(int(time.time() * 1000))}
        totals = {}
        for kind in self.ask("ProfileTypes", period).get("profileTypes", []):
            graph = self.ask("SelectMergeStacktraces", {
                **period, "profileTypeID": kind["ID"],
                "labelSelector": f'{{service_name="{service}"}}'}).get("flamegraph", {})
            tail = kind["ID"].partition(":")[2]
            totals[tail] = totals.get(tail, 0) + int(graph.get("total", 0))
        return totals


class Standin(Querier):
    def __init__(self, folder):
        self.folder, self.program, self.port = folder, None, free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        self.program = Program("pyroscope-standin", self.folder, [
            BUILT / "pyroscope-standin", "-listen", f"127.0.0.1:{self.port}", "-delay", "300ms"])
        self.program.wait_ports(self.port)
        return self

    def stop(self):
        self.program.kill()

    def fault(self, **what):
        requests.post(f"{self.url}/debug/fault", json=what, timeout=5).raise_for_status()

    def complaints(self, service):
        """What the server refused, dropped as a duplicate or complained about for a service."""
        seen = requests.get(f"{self.url}/debug/profiles?service={service}", timeout=10).json()
        return ([r for r in seen["refused"] if service in json.dumps(r)]
                + [p["labels"] for p in seen["profiles"] if p["duplicate"] or p.get("pprof_check")])


class Pyroscope(Querier):
    """A real Pyroscope, if PYROSCOPE_BIN is set."""
    RINGS = ("compactor.ring", "distributor.ring", "overrides-exporter.ring", "query-frontend",
             "query-scheduler.ring", "store-gateway.sharding-ring")

    def __init__(self, folder):
        self.folder, self.program, self.port = folder, None, free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        here = "127.0.0.1"
        flags = {f"{ring}.instance-addr": here for ring in self.RINGS} | {
            "architecture.storage": "v2", "log.level": "warn",
            "server.http-listen-address": here, "server.http-listen-port": self.port,
            "server.grpc-listen-address": here, "server.grpc-listen-port": 9095,
            "ingester.lifecycler.addr": here, "segment-writer.lifecycler.addr": here,
            "metastore.address": "localhost:9095", "metastore.data-dir": self.folder / "meta",
            "metastore.raft.dir": self.folder / "raft",
            "metastore.raft.snapshots-dir": self.folder / "raft",
            "memberlist.bind-addr": here, "memberlist.bind-port": free_port(),
            "usage-stats.enabled": "false", "self-profiling.disable-push": "true",
            "storage.backend": "filesystem", "storage.filesystem.dir": self.folder / "shared",
            "pyroscopedb.data-path": self.folder / "db"}
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program = Program("pyroscope", self.folder, [os.environ["PYROSCOPE_BIN"]]
                               + [f"-{k}={v}" for k, v in flags.items()], cwd=self.folder)
        self.program.wait_ready(f"{self.url}/ready", 120)
        return self

    def stop(self):
        self.program.kill()

    def complaints(self, _service):
        return []


@dataclasses.dataclass
class Backends:
    """The destinations of the signals; others: metrics and logs, which Tempo does not accept."""
    traces: Collector | Tempo
    profiles: Standin | Pyroscope
    others: Collector

    def stop(self):
        for backend in (self.traces, self.profiles, self.others):
            backend.stop()


# spanlink and the applications

class Spanlink(Program):
    """spanlink with a sidecar configuration for the given backends."""

    CONFIG = """\
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{grpc}"}},
    http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}"}}
processors:
  correlation: {{}}
exporters:
  otlp_grpc/traces: {{endpoint: "127.0.0.1:{to.traces.grpc}", tls: {{insecure: true}},
    retry_on_failure: {retry}}}
  otlp_grpc/others: {{endpoint: "127.0.0.1:{to.others.grpc}", tls: {{insecure: true}},
    retry_on_failure: {retry}}}
  otlp_http/traces: {{endpoint: "http://127.0.0.1:{to.traces.http}", retry_on_failure: {retry}}}
  otlp_http/others: {{endpoint: "http://127.0.0.1:{to.others.http}", retry_on_failure: {retry}}}
  pyroscope: {{endpoint: "{to.profiles.url}", retry_on_failure: {retry}}}
service:
  telemetry: {{logs: {{level: info}}}}
  pipelines:
    traces:
      {{receivers: [otlp], processors: [correlation], exporters: [otlp_{protocol}/traces]}}
    metrics:
      {{receivers: [otlp], processors: [correlation], exporters: [otlp_{protocol}/others]}}
    logs: {{receivers: [otlp], processors: [correlation], exporters: [otlp_{protocol}/others]}}
    profiles: {{receivers: [pyroscope, otlp], processors: [correlation], exporters: [pyroscope]}}
"""
    RETRY = "{initial_interval: 500ms, max_interval: 2s, max_elapsed_time: 0s}"

    def __init__(self, folder, backends, protocol):
        self.grpc, self.http, self.ingest = free_port(), free_port(), free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / "spanlink.yaml"
        self.config.write_text(self.CONFIG.format(
            grpc=self.grpc, http=self.http, ingest=self.ingest, to=backends, protocol=protocol,
            retry=self.RETRY))
        super().__init__("spanlink", folder, [SPANLINK, "--config", self.config])
        self.wait_ports(self.grpc, self.http, self.ingest, seconds=10)

    def otlp(self, protocol):
        return f"http://127.0.0.1:{self.grpc if protocol == 'grpc' else self.http}"

    @property
    def pyroscope(self):
        return f"http://127.0.0.1:{self.ingest}"


class App(Program):
    """A rideshare application with its own load, as specified in apps/README.md."""

    def __init__(self, folder, number, language, otlp, pyroscope, *, service, mode, protocol,
                 seconds, upload_seconds=10, env=None):
        self.report_file = folder / f"report-{number}.json"
        super().__init__(f"app-{number}", folder, [
            APPS / language / "run", "--service", service, "--mode", mode, "--protocol", protocol,
            "--otlp", otlp, "--pyroscope", pyroscope, "--seconds", seconds, "--workers", 2,
            "--upload-seconds", upload_seconds, "--report", self.report_file],
            {"E2E_OUT": str(BUILT.parent), **(env or {})})

    def report(self, seconds):
        """Waits for the application to exit and returns its report."""
        code = self.wait(seconds)
        assert code == 0 and self.report_file.exists(), f"{self.name} failed:\n{self.tail()}"
        return json.loads(self.report_file.read_text())
