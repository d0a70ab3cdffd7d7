"""The subjects: spanlink and its peers, each configured to do the same work."""

import pathlib
import subprocess
import tempfile

from drive import free_port, pinned, stop, wait_for_port

# Of spanlink and the Collector: a client waits while it is full.
QUEUE = "{enabled: true, queue_size: 1000, block_on_overflow: true}"
ROTEL_BATCH = ["--batch-max-size", "8192", "--batch-timeout", "200ms"]
SPANLINK_LIMIT_MIB = 256

SPANLINK = """\
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: 127.0.0.1:{grpc}}}
      http: {{endpoint: 127.0.0.1:{http}, threads: {threads}}}
  pyroscope: {{endpoint: 127.0.0.1:{profiles}}}
processors:
  memory_limiter: {{limit_mib: {limit}}}
  correlation:
  batch:
{processors}exporters:
  {exporter}:
    endpoint: {target}
    compression: {compression}
    sending_queue: {queue}
    {tls}
  pyroscope: {{endpoint: "http://127.0.0.1:{profile_sink}"}}
{extensions}service:
{used}  pipelines:
    traces:
      receivers: [otlp]
      processors: [memory_limiter, {contrib}correlation, batch]
      exporters: [{exporter}]
    profiles:
      receivers: [pyroscope]
      processors: [memory_limiter, correlation]
      exporters: [pyroscope]
"""

COLLECTOR = """\
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: 127.0.0.1:{grpc}, max_recv_msg_size_mib: 64}}
      http: {{endpoint: 127.0.0.1:{http}}}
processors:
  memory_limiter: {{check_interval: 1s, limit_mib: 4000}}
  batch:
{processors}exporters:
  {exporter}:
    endpoint: {target}
    compression: {compression}
    sending_queue: {queue}
    {tls}
service:
  telemetry: {{metrics: {{level: none}}, logs: {{level: error}}}}
  pipelines:
    traces:
      receivers: [otlp]
      processors: [memory_limiter, {contrib}batch]
      exporters: [{exporter}]
"""

# What many sidecars do to spans; the filter reads every span and drops none, so that all arrive.
CONTRIB = """\
  resource:
    attributes:
      - {key: k8s.cluster.name, value: prod-1, action: insert}
      - {key: telemetry.sdk.version, action: delete}
  attributes:
    actions:
      - {key: deployment.environment.name, value: production, action: insert}
      - {key: app.tenant, value: all, action: update}
      - {key: thread.id, action: delete}
  filter:
    trace_conditions:
      - span.attributes["http.target"] == "/healthz"
      - span.name == "GET /ready"
"""
TRANSFORM = """\
  transform:
    trace_statements:
      - replace_pattern(span.attributes["url.path"], "token=[^&]*", "token=***")
      - set(span.attributes["slow"], true) where span.end_time - span.start_time > Duration("2s")
      - truncate_all(span.attributes, 4096)
"""

NGINX = """\
daemon off;
master_process off;
error_log {folder}/nginx.log;
pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_buffer_size 1m;
    keepalive_requests 100000000;
    upstream sink {{ server 127.0.0.1:{sink}; keepalive 32; keepalive_requests 100000000; }}
    server {{
        listen 127.0.0.1:{http};
        location / {{
            proxy_pass http://sink;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    }}
}}
"""


class Subject:
    """A process under test, and the sink behind it. form: "http" or "grpc"; gzip: in and out."""

    name = ""

    def __init__(self, bench, form="http", gzip=False, stall=False, **extra):
        self.bench, self.grpc, self.gzip = bench, form == "grpc", gzip
        self.http_port, self.grpc_port, self.profile_port = free_port(), free_port(), free_port()
        bench.folder.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=bench.folder))
        self.sink = bench.sink(grpc=self.grpc, stall=stall)
        self.extra, self.stall = extra, stall
        self.process = None

    def argv(self):
        raise NotImplementedError

    def environment(self):
        return None

    def launch(self):
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(self.argv(), stdout=log, stderr=log,
                                        env=self.environment(), preexec_fn=pinned(self.bench.core))
        wait_for_port(self.grpc_port if self.grpc else self.http_port, self.process)

    @property
    def pid(self):
        return self.process.pid

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def values(self):
        """For the templates of spanlink and the Collector, which share their keys."""
        target = f"127.0.0.1:{self.sink.port}"
        return {"grpc": self.grpc_port, "http": self.http_port,
                "target": target if self.grpc else f"http://{target}",
                "exporter": "otlp_grpc" if self.grpc else "otlp_http",
                "compression": "gzip" if self.gzip else "none",
                "tls": "tls: {insecure: true}" if self.grpc else "",
                "contrib": "".join(f"{name}, " for name in self.extra.get("contrib", [])),
                "processors": CONTRIB * ("resource" in self.extra.get("contrib", [])) +
                TRANSFORM * ("transform" in self.extra.get("contrib", []))}

    def close(self):
        if self.process:
            stop(self.process)
        self.sink.close()

    def __enter__(self):
        self.launch()
        return self

    def __exit__(self, *exc):
        self.close()


class Spanlink(Subject):
    """Its hold is shorter than the default, so that the wait for profiles of the new services,
    which send none, ends before the rounds start. Before a sink that stalls, clients do not wait
    for room: its memory is measured under as many requests as they can send."""

    name = "spanlink"
    settings = (f"compression as the row says, sending_queue {QUEUE}, memory_limiter of "
                f"{SPANLINK_LIMIT_MIB} MiB, hold 2s")

    def argv(self):
        profile_sink = self.bench.profile_sink.port
        text = SPANLINK.format(
            profiles=self.profile_port, profile_sink=profile_sink,
            limit=self.extra.get("limit_mib", SPANLINK_LIMIT_MIB), threads=self.extra.get("threads", 1),
            extensions=self.extra.get("extensions", ""),
            used=self.extra.get("used", ""), queue="{}" if self.stall else QUEUE, **self.values())
        text = text.replace("  correlation:\n", "  correlation: {%s}\n" %
                            self.extra.get("correlation", "hold: 2s"))
        return [self.bench.programs["spanlink"], "--config", self.write("spanlink.yaml", text)]


class Collector(Subject):
    name = "Collector"
    settings = f"compression as the row says, sending_queue {QUEUE}"
    program = "collector"

    def environment(self):
        return {"GOMAXPROCS": "1", "PATH": "/usr/bin:/bin"}

    def argv(self):
        path = self.write("collector.yaml", COLLECTOR.format(
            queue=QUEUE, **self.values()))
        return [self.bench.programs[self.program], "--config", path]


class ContribCollector(Collector):
    """The Collector of tests/contrib: with the contrib processors."""

    program = "contrib"


class Rotel(Subject):
    """Compresses regardless of its settings, so it appears only in rows with gzip."""

    name = "rotel"
    settings = f"gzip, {' '.join(ROTEL_BATCH)}, its queues as they are"

    def environment(self):
        return {"TOKIO_WORKER_THREADS": "1", "PATH": "/usr/bin:/bin"}

    def argv(self):
        return [self.bench.programs["rotel"], "start",
                "--otlp-grpc-endpoint", f"127.0.0.1:{self.grpc_port}",
                "--otlp-http-endpoint", f"127.0.0.1:{self.http_port}",
                "--otlp-grpc-max-recv-msg-size-mib", "64",
                "--exporter", "otlp", "--otlp-exporter-endpoint",
                f"http://127.0.0.1:{self.sink.port}",
                "--otlp-exporter-protocol", "grpc" if self.grpc else "http",
                "--otlp-exporter-compression", "gzip" if self.gzip else "none",
                *ROTEL_BATCH]


class Nginx(Subject):
    name = "nginx"
    settings = "no compression, no queue"

    def argv(self):
        text = NGINX.format(folder=self.folder, sink=self.sink.port, http=self.http_port)
        return [self.bench.programs["nginx"], "-p", str(self.folder), "-c",
                self.write("nginx.conf", text)]


class Dataflow(Subject):
    """The otel-arrow dataflow engine; the caller supplies its binary, see README.md."""

    name = "dataflow"

    def argv(self):
        template = pathlib.Path(__file__).with_name("dataflow.yaml").read_text()
        text = template.replace("@HTTP@", str(self.http_port)).replace(
            "@SINK@", str(self.sink.port))
        return [self.bench.programs["dataflow"], "--core-id-range", str(self.bench.core),
                "--http-admin-bind", f"127.0.0.1:{free_port()}", "--config",
                self.write("dataflow.yaml", text)]
