"""spanlink as configs/tempo-pyroscope.yaml has it, and a sink that notes when spans come."""
import collections
import gzip
import http.server
import json
import os
import re
import threading
import urllib.parse

import harness
import payloads
import record
import rig
import sink as sinks
from harness import PROFILE_ID

CONFIG = """\
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{grpc}", include_metadata: {tenants}}},
    http: {{endpoint: "127.0.0.1:{http}", include_metadata: {tenants}}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}", include_metadata: {tenants}}}
processors:
  memory_limiter: {{limit_mib: 128}}
  correlation: {correlation}
  batch: {{timeout: 200ms}}
exporters:
  otlp_http: {{endpoint: "http://{sink}"}}
  pyroscope: {{endpoint: "http://{sink}"}}
extensions: {extensions}
service:
  extensions: {names}
  pipelines:
    traces:
      {{receivers: [otlp], processors: [memory_limiter, correlation, batch],
        exporters: [otlp_http]}}
    profiles:
      {{receivers: [pyroscope, otlp], processors: [memory_limiter, correlation],
        exporters: [pyroscope]}}
"""
TICKS = os.sysconf("SC_CLK_TCK")


class Handler(http.server.BaseHTTPRequestHandler):
    """Takes everything; profiles are not looked at."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    read_body = record.Handler.read_body

    def do_POST(self):
        body, sink = self.read_body(), self.server.sink
        at = sink.clock()
        self.send_response(200)
        self.send_header("Content-Type", self.headers.get("Content-Type", "text/plain"))
        self.send_header("Content-Length", "0")
        self.end_headers()
        if urllib.parse.urlsplit(self.path).path == payloads.PATHS["traces"]:
            coded = self.headers.get("Content-Encoding") == "gzip"
            sink.note(at, gzip.decompress(body) if coded else body)

    def log_message(self, *_):
        pass


class Sink:
    """copies: for each span id, when each copy of it came and the ids that its attribute names."""

    def __init__(self):
        self.lock, self.clock = threading.Condition(), lambda: 0.0
        self.copies = collections.defaultdict(list)
        self.server = sinks.Server(("127.0.0.1", 0), Handler)
        self.server.sink = self
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.2,), daemon=True).start()

    def note(self, at, body):
        spans = sinks.spans_of(payloads.parse("traces", body))
        with self.lock:
            for span in spans:
                linked = [each.value.string_value for each in span.attributes
                          if each.key == PROFILE_ID]
                self.copies[span.span_id.hex()].append((at, linked))
            self.lock.notify_all()

    def wait_for(self, count, seconds):
        """Until so many spans came."""
        with self.lock:
            return self.lock.wait_for(lambda: len(self.copies) >= count, max(0, seconds))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Sidecar(rig.Sidecar):
    """That of the fault tests on a configuration of its own, and what its lives used."""

    def __init__(self, folder, row, sink):
        self.folder, self.lives, self.program, self.env = folder, 0, None, None
        self.grpc, self.http, self.ingest = (harness.free_port() for _ in range(3))
        self.directory = folder / "journal"
        self.cpu, self.rss = 0.0, 0.0       # seconds of all lives, MiB at the most
        extensions = {"journal": {"directory": str(self.directory)}} if row.journal else {}
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / "spanlink.yaml"
        self.config.write_text(CONFIG.format(
            grpc=self.grpc, http=self.http, ingest=self.ingest, sink=sink.address,
            tenants=json.dumps(any(each.tenant for each in row.process)),
            correlation=json.dumps(row.correlation), extensions=json.dumps(extensions),
            names=json.dumps(list(extensions))))

    def measure(self):
        """Adds what this life used; once, before its end."""
        proc = f"/proc/{self.program.process.pid}"
        with open(f"{proc}/stat", encoding="ascii") as stat:
            after_name = stat.read().rpartition(")")[2].split()
        self.cpu += (int(after_name[11]) + int(after_name[12])) / TICKS
        with open(f"{proc}/status", encoding="ascii") as status:
            peak = re.search(r"VmHWM:\s+(\d+) kB", status.read())
        self.rss = max(self.rss, int(peak.group(1)) / 1024)

    def kill(self):
        self.measure()
        super().kill()
