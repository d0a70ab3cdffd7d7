"""spanlink in front of a sink, with every component that holds data: correlation, batch, queues
and, optionally, a journal."""
import os
import random
import re
import signal

import harness

CONFIG = """\
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{grpc}"}},
    http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}"}}
processors:
  correlation: {{hold: {hold}}}
  batch: {{timeout: 20ms, send_batch_size: {batch}}}
exporters:
  otlp_{protocol}: {{endpoint: "{to_otlp}", tls: {{insecure: true}}, {delivery}}}
  pyroscope: {{endpoint: "http://{to_profiles}", {delivery}}}
extensions: {{{journal}}}
service:
  telemetry: {{logs: {{level: info}}}}
  shutdown_timeout: {stop}
  extensions: [{extensions}]
  pipelines:
    traces: {{receivers: [otlp], processors: [correlation, batch], exporters: [otlp_{protocol}]}}
    metrics: {{receivers: [otlp], processors: [batch], exporters: [otlp_{protocol}]}}
    logs: {{receivers: [otlp], processors: [batch], exporters: [otlp_{protocol}]}}
    profiles: {{receivers: [pyroscope], processors: [correlation], exporters: [pyroscope]}}
"""
DELIVERY = """timeout: {timeout}, sending_queue: {{queue_size: {queue}}},
    retry_on_failure: {{initial_interval: 20ms, max_interval: 100ms, max_elapsed_time: 0s}}"""


class Sidecar:
    """A configuration on its own ports, with which spanlink processes run one after the other."""

    def __init__(self, folder, sink, journal=None, protocol="grpc", hold="15s", batch=40,
                 timeout="10s", queue=1000, stop="10s", otlp=None, profiles=None, env=None):
        """journal: its settings other than the directory, as YAML; None: no journal. otlp,
        profiles: addresses to use instead of the sink's."""
        self.folder, self.lives, self.program, self.env = folder, 0, None, env
        self.grpc, self.http, self.ingest = (harness.free_port() for _ in range(3))
        self.directory = folder / "journal"
        otlp = otlp or getattr(sink, protocol)
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / "spanlink.yaml"
        self.config.write_text(CONFIG.format(
            grpc=self.grpc, http=self.http, ingest=self.ingest, protocol=protocol, hold=hold,
            batch=batch, stop=stop, to_otlp=otlp if protocol == "grpc" else f"http://{otlp}",
            to_profiles=profiles or sink.http,
            delivery=DELIVERY.format(timeout=timeout, queue=queue),
            journal="" if journal is None else
            f'journal: {{directory: "{self.directory}"{", " if journal else ""}{journal}}}',
            extensions="" if journal is None else "journal"))

    def launch(self):
        self.lives += 1
        self.program = harness.Program(f"spanlink-{self.lives}", self.folder,
                                       [harness.SPANLINK, "--config", self.config], self.env)
        return self

    def start(self):
        self.launch().program.wait_ports(self.grpc, self.http, self.ingest)
        return self

    def kill(self):
        """Kills it as the kernel's out-of-memory killer does."""
        assert self.program.process.poll() is None, self.program.tail()
        self.program.kill()

    def stop(self, seconds=30):
        return self.program.stop(seconds)

    def log(self):
        return self.program.log.read_text(errors="replace")

    def explain(self):
        """The SIGUSR1 report. It is requested twice, so that the first one is known to be
        complete."""
        before = len(self.log())
        for count in (1, 2):
            os.kill(self.program.process.pid, signal.SIGUSR1)
            assert harness.wait_for(lambda: self.log()[before:].count("memory: ") >= count, 10,
                                    0.01), self.program.tail()
        return self.log()[before:].split("memory: ")[1]

    def figure(self, pattern):
        """A number in the report, by a pattern with one group; 0: not found."""
        found = re.search(pattern, self.explain())
        return int(found.group(1)) if found else 0

    def disk_use(self):
        """Size of all journal files in bytes."""
        return sum(file.stat().st_size for file in self.directory.rglob("*") if file.is_file())


def moment(low=20, high=200):
    """A random number of requests after which something happens."""
    return random.SystemRandom().randint(low, high)
