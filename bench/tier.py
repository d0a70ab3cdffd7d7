#!/usr/bin/env python3
"""CPU per span of a thin sidecar and of a gateway on Kafka, beside the Collector.

    tests/gateway/setup.sh && build/e2e/venv/bin/python bench/tier.py [--rounds N] [CASE]...

sidecar: OTLP/HTTP in, Kafka out, at a fixed rate. gateway: a backlog from Kafka, OTLP/HTTP out,
from the first span that leaves to the last; spanlink reads the profiles too, and links; the
Collector does not. Its gateway has the processor batch, as in configs/gateway.yaml, since correlation
releases spans in small requests; the rest has none. lanes: spanlink's gateway on one core and on two.
Nobody compresses, and producers wait for all replicas.

Only the subject's CPU is counted, user and system; the load, the backend and the broker run on the
same machine. Needs load and sink in build/bench: run.sh builds them.
"""
import argparse
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import drive
import payloads
from subjects import QUEUE, Subject

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "gateway"))
import broker  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
LANES = 6
RATE = 40_000               # spans a second, into a sidecar
SECONDS = 3                 # of that load
EACH, WINDOW = 512, 10      # spans of a request in the backlog; seconds of a profile
BACKLOG = 80                # seconds; each lane has a request a second
PATIENCE = 60

OTLP = "otlp: {{protocols: {{http: {{endpoint: 127.0.0.1:{http}}}}}}}"
READ = """kafka:
    brokers: [{brokers}]
    group_id: {group}
    initial_offset: earliest
    traces: {{topics: [bench_spans]}}"""
WRITTEN = """kafka:
    brokers: [{brokers}]
    traces: {{topic: {topic}}}
    producer: {{required_acks: {all}}}
    sending_queue: {queue}"""
SENT = """otlp_http:
    endpoint: http://127.0.0.1:{sink}
    compression: none
    sending_queue: {queue}"""
CONFIG = """\
receivers:
  {receiver}
exporters:
  {exporter}
service:
  telemetry: {{metrics: {{level: none}}, logs: {{level: warn}}}}
  pipelines:
    traces: {{receivers: [{source}], exporters: [{target}]}}
"""
GATEWAY = """\
receivers:
  {receiver}
    profiles: {{topics: [bench_profiles], encoding: native}}
processors:
  correlation:
  batch: {{timeout: 200ms}}
exporters:
  {exporter}
  pyroscope: {{endpoint: "http://127.0.0.1:{profile_sink}"}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [kafka], processors: [correlation, batch], exporters: [otlp_http]}}
    profiles: {{receivers: [kafka], processors: [correlation], exporters: [pyroscope]}}
"""


class Node(Subject):
    """A sidecar or a gateway. receiver, exporter: names; topic and group: in Kafka."""

    def __init__(self, bench, program, receiver="otlp", exporter="otlp_http", cores=(0,), topic="",
                 group=""):
        self.name = program
        super().__init__(bench)
        self.receiver, self.exporter, self.cores = receiver, exporter, cores
        self.topic, self.group = topic, group

    def environment(self):
        return {**os.environ, "GOMAXPROCS": str(len(self.cores))}

    def argv(self):
        own = self.name == "spanlink"
        names = {"http": self.http_port, "topic": self.topic, "group": self.group,
                 "brokers": self.bench.kafka.addresses[0], "all": "all" if own else -1,
                 "sink": self.sink.port, "queue": QUEUE}
        made = {"otlp": OTLP, "kafka": READ}[self.receiver].format(**names)
        sent = {"otlp_http": SENT, "kafka": WRITTEN}[self.exporter].format(**names)
        template = GATEWAY if own and self.receiver == "kafka" else CONFIG
        text = template.format(receiver=made, exporter=sent, source=self.receiver,
                               target=self.exporter, profile_sink=self.bench.profiles.port)
        return [self.bench.programs[self.name], "--config",
                self.write("config.yaml", text)]

    def launch(self):
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            self.argv(), stdout=log, stderr=log, env=self.environment(),
            preexec_fn=lambda: os.sched_setaffinity(0, self.cores))
        if self.receiver == "otlp":
            drive.wait_for_port(self.http_port, self.process)


class Bench:
    """State shared by all cases."""

    def __init__(self, folder, kafka):
        self.folder, self.kafka, self.core, self.made, self.written = folder, kafka, 0, 0, None
        build = ROOT / "build" / "bench"
        self.programs = {"spanlink": os.environ.get("SPANLINK_BIN", build / "spanlink"),
                         "Collector": os.environ.get("OTELCOL_GATEWAY_BIN",
                                                     ROOT / "build/e2e/bin/otelcol-gateway")}
        self.load = drive.Load(build / "bench" / "bench_load", 1)
        self.sink_program = build / "bench" / "bench_sink"
        self.profiles = self.sink()

    def sink(self, **options):
        return drive.Sink(self.sink_program, 1, **options)

    def name(self, what):
        self.made += 1
        return f"{what}-{self.made}"

    def client(self, kind, **settings):
        import confluent_kafka      # on the path that broker has set
        return getattr(confluent_kafka, kind)(
            {"bootstrap.servers": self.kafka.addresses[0], **settings})

    def backlog(self):
        self.written = self.written or Backlog(self)
        return self.written

    def records(self, topic):
        import confluent_kafka
        client = self.client("Consumer", **{"group.id": "bench"})
        try:
            return sum(client.get_watermark_offsets(
                confluent_kafka.TopicPartition(topic, number), 10)[1] for number in range(LANES))
        finally:
            client.close()


# ---- the sidecar ----

def sidecar(bench, program, pool, exporter="kafka", rate=RATE):
    """us of CPU per span."""
    topic = bench.kafka.topic(bench.name("out"), LANES) if exporter == "kafka" else ""
    each = pool.spans / 64
    with Node(bench, program, exporter=exporter, topic=topic) as subject:
        before = subject.sink.counts()

        def wait_for_requests(count, what):
            if topic:
                wait_for(lambda: bench.records(topic) >= count, what)
            else:
                wait_for(lambda: drive.difference(subject.sink.counts(), before)["items"]
                         >= count * each, what)

        bench.load.run(subject, pool, clients=4, requests=20)
        wait_for_requests(20, "first requests")                 # it has connected to the broker
        cpu = drive.cpu_seconds(subject.pid)
        pace = {"rate": rate / each} if rate else {}
        sent = bench.load.run(subject, pool, clients=4, requests=int(SECONDS * RATE / each), **pace)
        wait_for_requests(sent["items"] / each + 20, "last requests")
        return (drive.cpu_seconds(subject.pid) - cpu) * 1e6 / sent["items"]


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise drive.Void(f"no {what} within {PATIENCE} s")
        time.sleep(0.05)


# ---- the gateway ----

class Backlog:
    """A process for each lane: a request each second, and a profile each window with samples of a
    third of the local roots."""

    def __init__(self, bench):
        bench.kafka.topic("bench_spans", LANES)
        bench.kafka.topic("bench_profiles", LANES)
        rng, start = random.Random(1), time.time() - BACKLOG - 120
        self.items, self.id_sum = 0, 0
        producer = bench.client("Producer", **{"queue.buffering.max.kbytes": 1 << 20})
        for lane in range(LANES):
            sampled = []
            for second in range(BACKLOG):
                at = start + second
                body, ids, roots = payloads.request(rng, EACH, int(at * 1e9), "checkout")
                producer.produce("bench_spans", body, f"checkout\0pod-{lane}", lane,
                                 timestamp=int(at * 1000) + 1200)
                self.items += len(ids)
                self.id_sum += sum(int.from_bytes(each, "little") for each in ids)
                sampled += [root for root in roots if rng.random() < 1 / 3]
                if (second + 1) % WINDOW == 0:
                    end = at + 1.2
                    producer.produce(
                        "bench_profiles", payloads.profile(sampled, int(end * 1e9), WINDOW),
                        f"checkout\0pod-{lane}", lane, timestamp=int(end * 1000) + 200, headers={
                            "spanlink.encoding": b"pprof", "ingest": b"1",
                            "label.__name__": b"checkout"})
                    sampled = []
            producer.poll(0)
        producer.flush()


class Futexes:
    """Counts a process's futex calls with strace, which slows it down."""

    def __init__(self, pid, path):
        self.path = path
        self.process = subprocess.Popen(
            ["strace", "-f", "-c", "-e", "trace=futex", "-o", path, "-p", str(pid)],
            stderr=subprocess.DEVNULL)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        found = re.search(r"^(?:\S+ +){3}(\d+) .*futex$", self.path.read_text(), re.M)
        return int(found[1]) if found else 0


def gateway(bench, program, backlog, cores=(0,), counted=False):
    """us of CPU per span, spans per second, and futex calls per record if they are counted."""
    with Node(bench, program, receiver="kafka", cores=cores, group=bench.name("group")) as subject:
        futexes = Futexes(subject.pid, subject.folder / "futexes") if counted else None
        wait_for(lambda: subject.sink.counts()["items"], "span")
        first, cpu, began = subject.sink.counts(), drive.cpu_seconds(subject.pid), time.monotonic()
        wait_for(lambda: subject.sink.counts()["items"] >= backlog.items, "more spans")
        spent, took = drive.cpu_seconds(subject.pid) - cpu, time.monotonic() - began
        calls = futexes.stop() if futexes else 0
        got = subject.sink.counts()
        drive.check(program, got, {"items": backlog.items, "id_sum": backlog.id_sum})
        spans = got["items"] - first["items"]
        return spent * 1e6 / spans, spans / took, calls * EACH / backlog.items


# ---- the report ----

def compare(what, rounds, run):
    """run(program): us per span."""
    figures = {"spanlink": [], "Collector": []}
    for _ in range(rounds):
        for program, found in figures.items():
            found.append(run(program))
    texts = [f"{name} {statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})"
             for name, found in figures.items()]
    ratios = [other / own for own, other in zip(*figures.values())]
    print(f"{what}: {', '.join(texts)}, {statistics.median(ratios):.1f} times", flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("cases", nargs="*", default=["sidecar", "gateway", "lanes"])
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="spanlink-tier-") as name:
        folder = pathlib.Path(name)
        kafka = broker.Cluster(folder / "kafka").start()
        try:
            bench = Bench(folder, kafka)
            print(f"us of CPU per span, median of {options.rounds} (spread); 1-minute load "
                  f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
            for case in options.cases:
                CASES[case](bench, options.rounds)
        finally:
            kafka.stop()


def sidecars(bench, rounds):
    for spans in (512, 100):
        pool = payloads.write_pools(bench.folder, spans)[0]
        for pace, rate in ((f"{RATE:,} spans a second", RATE), ("as fast as it goes", 0)):
            compare(f"sidecar, {spans} spans a request, {pace}", rounds,
                    lambda program: sidecar(bench, program, pool, rate=rate))
        compare(f"OTLP out instead, {spans} spans a request, {RATE:,} spans a second", rounds,
                lambda program: sidecar(bench, program, pool, exporter="otlp_http"))


def gateways(bench, rounds):
    backlog = bench.backlog()
    compare(f"gateway, {EACH} spans a record", rounds,
            lambda program: gateway(bench, program, backlog)[0])


def lanes(bench, rounds):
    backlog = bench.backlog()
    found = {cores: [] for cores in ((0,), (0, 1))}
    for _ in range(rounds):
        for cores, figures in found.items():
            figures.append(gateway(bench, "spanlink", backlog, cores))
    for cores, figures in found.items():
        cpu, rate, _ = map(statistics.median, zip(*figures))
        calls = gateway(bench, "spanlink", backlog, cores, counted=True)[2]
        print(f"lanes, gateway on {len(cores)} of {os.cpu_count()} cores: {cpu:.2f} us a span, "
              f"{rate:,.0f} spans a second, {calls:.1f} futex calls a record", flush=True)


CASES = {"sidecar": sidecars, "gateway": gateways, "lanes": lanes}

if __name__ == "__main__":
    main()
