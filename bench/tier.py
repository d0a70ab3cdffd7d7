#!/usr/bin/env python3
"""CPU per span of a thin sidecar and of a gateway on Kafka, beside the Collector.

    tests/gateway/setup.sh && build/e2e/venv/bin/python bench/tier.py [--rounds N]

sidecar: OTLP/HTTP in, Kafka out, requests of 100 spans. gateway: a backlog from Kafka, OTLP/HTTP out;
spanlink reads the profiles too, and links; the Collector does not. Neither batches or compresses. The
loads, the backend and the broker run on the same machine, but only the subject's CPU is counted, user
and system, from the first request to the last span.
"""
import argparse
import http.server
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

import requests

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "gateway"))
import broker  # noqa: E402
import fleet  # noqa: E402
import gateways  # noqa: E402
import harness  # noqa: E402
import payloads  # noqa: E402
import sides  # noqa: E402

EACH, REQUESTS, CLIENTS = 100, 1500, 4
TICK = os.sysconf("SC_CLK_TCK")


def cpu(program):
    """Seconds, user and system."""
    fields = pathlib.Path(f"/proc/{program.process.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Counter:
    """A backend that counts spans."""

    def __init__(self):
        outer, self.count, self.lock = self, 0, threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/v1/traces":
                    request = payloads.REQUESTS["traces"].FromString(body)
                    count = sum(len(scope.spans) for group in request.resource_spans
                                for scope in group.scope_spans)
                    with outer.lock:
                        outer.count += count
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_words):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()


def ends(kafka, topic):
    """Records of a topic."""
    import confluent_kafka
    client = confluent_kafka.Consumer({"bootstrap.servers": kafka.addresses[0], "group.id": "bench"})
    try:
        return sum(client.get_watermark_offsets(confluent_kafka.TopicPartition(topic, number), 10)[1]
                   for number in range(6))
    finally:
        client.close()


def post_all(port):
    bodies = [gateways.request(1 + EACH * n, EACH) for n in range(64)]

    def client():
        with requests.Session() as session:
            for number in range(REQUESTS // CLIENTS):
                while session.post(f"http://127.0.0.1:{port}/v1/traces", data=bodies[number % 64],
                                   headers={"Content-Type": "application/x-protobuf"},
                                   timeout=30).status_code != 200:
                    time.sleep(0.01)        # a full queue
    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def sidecar(folder, kafka, peer, topic):
    """us of CPU per span."""
    kafka.topic(topic, 6)
    settings = {"brokers": kafka.addresses, "traces": {"topic": topic}}
    if peer:
        port = harness.free_port()
        program = sides.collector(folder, topic, {
            "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"kafka": settings},
            "service": {"pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["kafka"]}}}},
            [port])
    else:
        program = sides.Sidecar(folder, settings, name=topic)
        port = program.http
    before = cpu(program)
    post_all(port)
    assert harness.wait_for(lambda: ends(kafka, topic) >= REQUESTS, 20), (
        topic, ends(kafka, topic), program.tail())
    used = cpu(program) - before
    program.stop()
    return used * 1e6 / (REQUESTS * EACH)


def gateway(folder, kafka, peer, world, group):
    backend = Counter()
    if peer:
        program = sides.collector(folder, group, {
            "receivers": {"kafka": {"brokers": kafka.addresses, "group_id": group,
                                    "initial_offset": "earliest",
                                    "traces": {"topics": ["bench_spans"]}}},
            "exporters": {"otlp_http": {"endpoint": backend.url, "compression": "none"}},
            "service": {"pipelines": {"traces": {"receivers": ["kafka"],
                                                 "exporters": ["otlp_http"]}}}})
    else:
        program = gateways.Gateway(folder, {
            "brokers": kafka.addresses, "group_id": group, "traces": {"topics": ["bench_spans"]},
            "profiles": {"topics": ["bench_profiles"], "encoding": "native"}},
            backend, signals=("traces", "profiles"), processors={"correlation": {
                "hold_max_mib": 128}}, wait=False)
    assert harness.wait_for(lambda: backend.count >= len(world.numbers), 120), backend.count
    used = cpu(program)     # with its start: both read for seconds
    program.stop()
    return used * 1e6 / len(world.numbers)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=3)
    rounds = arguments.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kafka = broker.Cluster(folder / "kafka").start()
        try:
            kafka.topic("bench_spans", 6)
            kafka.topic("bench_profiles", 6)
            world = fleet.Fleet(time.time() - 700, 600, rate=EACH)
            world.write(gateways.Producer(kafka), "bench_spans", "bench_profiles")
            print(f"us of CPU per span, median of {rounds} (spread); 1-minute load "
                  f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            for what, run in (
                    ("sidecar", lambda peer, n: sidecar(folder, kafka, peer, f"out-{peer:d}-{n}")),
                    ("gateway", lambda peer, n: gateway(folder, kafka, peer, world,
                                                        f"in-{peer:d}-{n}"))):
                figures = {False: [], True: []}
                for number in range(rounds):
                    for peer in (False, True):
                        figures[peer].append(run(peer, number))
                own, other = (statistics.median(figures[peer]) for peer in (False, True))
                spread = {peer: f"({min(f):.2f}-{max(f):.2f})" for peer, f in figures.items()}
                print(f"{what}: spanlink {own:.2f} {spread[False]}, Collector {other:.2f} "
                      f"{spread[True]}, {other / own:.1f} times")
        finally:
            kafka.stop()


if __name__ == "__main__":
    main()
