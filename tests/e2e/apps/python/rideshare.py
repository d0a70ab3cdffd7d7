#!/usr/bin/env python3
"""A small ride-sharing service that traces and profiles itself and is its own load.

It serves /bike, /scooter and /car, asks itself for rides from a few workers, and reports every
span that it made, so that a test can compare what was made with what arrived. A ride is either
heavy (CPU work of 0.1 to 1 s) or idle (it sleeps). One ride in four comes with the trace context
of another service. Load starts at once: the first span counts.

--mode processor uses pyroscope-otel's span processor; --mode handmade has no processor and labels
the samples of a ride with its span id by hand.
"""
import argparse
import http.client
import http.server
import json
import os
import random
import signal
import sys
import threading
import time

import pyroscope
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

HEAVY_SHARE = 0.25
REMOTE_SHARE = 0.25


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--service", default="rideshare")
    parser.add_argument("--mode", choices=["processor", "handmade"], default="processor")
    parser.add_argument("--protocol", choices=["http", "grpc"], default="http")
    parser.add_argument("--otlp", default="http://127.0.0.1:4318", help="http://host:port")
    parser.add_argument("--pyroscope", default="http://127.0.0.1:4040")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--report", default="-", help="file for the JSON report")
    return parser.parse_args()


class Report(SpanProcessor):
    """Remembers every span that ended, and which of them an export was acknowledged for."""

    def __init__(self):
        self.spans = []
        self.acknowledged = set()

    def on_end(self, span):
        context, parent = span.context, span.parent
        self.spans.append({
            "span_id": f"{context.span_id:016x}",
            "trace_id": f"{context.trace_id:032x}",
            "parent": f"{parent.span_id:016x}" if parent else "",
            "local_root": parent is None or parent.is_remote,
            "name": span.name,
            "start": span.start_time,
            "end": span.end_time,
        })

    def as_json(self, service):
        for span in self.spans:
            span["acknowledged"] = span["span_id"] in self.acknowledged
        return {"service": service, "language": "python", "spans": self.spans}


class Acknowledging(SpanExporter):
    """Hands on to the real exporter and notes what it says."""

    def __init__(self, exporter, report):
        self.exporter, self.report = exporter, report

    def export(self, spans):
        result = self.exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.report.acknowledged.update(f"{s.context.span_id:016x}" for s in spans)
        return result

    def shutdown(self):
        self.exporter.shutdown()

    def force_flush(self, timeout_millis=30000):
        return self.exporter.force_flush(timeout_millis)


def make_exporter(protocol, endpoint):
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        return OTLPSpanExporter(endpoint=endpoint, insecure=True)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    return OTLPSpanExporter(endpoint=endpoint + "/v1/traces")


def match_drivers(seconds):
    """Burns CPU in a function of its own, so that a flame graph has a name to show."""
    until = time.monotonic() + seconds
    total = 0
    while time.monotonic() < until:
        for i in range(2000):
            total += i * i % 7
    return total


class Rides(http.server.BaseHTTPRequestHandler):
    tracer = None
    mode = "processor"
    dice = random.Random()

    def do_GET(self):
        parent = TraceContextTextMapPropagator().extract(self.headers)
        name = self.path.strip("/")
        with self.tracer.start_as_current_span(
                f"GET /{name}", context=parent, kind=trace.SpanKind.SERVER) as span:
            if self.mode == "handmade":
                with pyroscope.tag_wrapper({"span_id": f"{span.get_span_context().span_id:016x}"}):
                    self.order(name)
            else:
                self.order(name)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ride ordered\n")

    def order(self, vehicle):
        with self.tracer.start_as_current_span("find_nearest_vehicle") as span:
            span.set_attribute("vehicle", vehicle)
            if self.dice.random() < HEAVY_SHARE:
                match_drivers(0.1 + 0.9 * self.dice.random() ** 3)
            else:
                time.sleep(0.02 + 0.1 * self.dice.random())
        if vehicle == "car":
            with self.tracer.start_as_current_span("check_driver_availability") as span:
                span.add_event("asked", {"drivers": 3})
                time.sleep(0.01)

    def log_message(self, *_):
        pass


def ride(port, until, seed, stop):
    dice = random.Random(seed)
    while time.monotonic() < until and not stop.is_set():
        headers = {}
        if dice.random() < REMOTE_SHARE:
            headers["traceparent"] = (
                f"00-{dice.getrandbits(128):032x}-{dice.getrandbits(64):016x}-01")
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        client.request("GET", "/" + dice.choice(["bike", "scooter", "car"]), headers=headers)
        client.getresponse().read()
        client.close()
        stop.wait(0.05 + 0.15 * dice.random())


def main():
    options = parse_arguments()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")

    pyroscope.configure(application_name=options.service, server_address=options.pyroscope,
                        tags={"region": "eu-north"})
    report = Report()
    provider = TracerProvider(resource=Resource.create({"service.name": options.service}))
    if options.mode == "processor":
        from pyroscope.otel import PyroscopeSpanProcessor
        provider.add_span_processor(PyroscopeSpanProcessor())
    provider.add_span_processor(report)
    exporter = Acknowledging(make_exporter(options.protocol, options.otlp), report)
    provider.add_span_processor(BatchSpanProcessor(exporter))

    Rides.tracer, Rides.mode = provider.get_tracer("rideshare"), options.mode
    Rides.dice = random.Random(seed)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Rides)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    until = time.monotonic() + options.seconds
    workers = [threading.Thread(target=ride, args=(server.server_port, until, seed + n, stop))
               for n in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    server.shutdown()
    server.server_close()      # joins the threads of the last requests

    provider.shutdown()        # exports what is queued
    pyroscope.shutdown()       # sends the last window and waits for the answer
    text = json.dumps(report.as_json(options.service))
    if options.report == "-":
        print(text)
    else:
        with open(options.report + ".part", "w") as out:
            out.write(text)
        os.replace(options.report + ".part", options.report)


if __name__ == "__main__":
    sys.exit(main())
