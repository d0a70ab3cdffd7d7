#!/usr/bin/env python3
"""A small ride-sharing service that traces, logs, counts and profiles itself under its own load.

It serves /bike, /scooter and /car, and its workers request rides. ../README.md describes its
behaviour, report and arguments.
"""
import argparse
import http.client
import http.server
import importlib
import json
import os
import random
import signal
import sys
import threading
import time
import uuid

import pyroscope
from opentelemetry import trace
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

HEAVY_SHARE = 0.25
REMOTE_SHARE = 0.25
METRICS_MILLIS = 2000


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--service", default="rideshare")
    parser.add_argument("--mode", choices=["processor", "handmade", "plain"], default="processor")
    parser.add_argument("--protocol", choices=["http", "grpc"], default="http")
    parser.add_argument("--otlp", default="http://127.0.0.1:4318", help="http://host:port")
    parser.add_argument("--pyroscope", default="http://127.0.0.1:4040")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--upload-seconds", type=float, help="ignored: the SDK sends every 10 s")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--report", default="-", help="file for the JSON report")
    return parser.parse_args()


class Report(SpanProcessor, LogRecordProcessor):
    """Records every span and log record, and whether it was acknowledged."""

    def __init__(self):
        self.spans, self.logs, self.rides = [], [], 0
        self.acknowledged = set()
        self.metrics_acknowledged = False
        self.lock = threading.Lock()

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

    def on_emit(self, log_record):
        record = log_record.log_record
        self.logs.append({"id": record.body, "trace_id": f"{record.trace_id:032x}",
                          "span_id": f"{record.span_id:016x}"})

    def shutdown(self):
        pass

    def force_flush(self, timeout_millis=30000):
        return True

    def exported_spans(self, spans, good):
        if good:
            self.acknowledged.update(f"{s.context.span_id:016x}" for s in spans)

    def exported_logs(self, logs, good):
        if good:
            self.acknowledged.update(log.log_record.body for log in logs)

    def exported_metrics(self, _metrics, good):
        self.metrics_acknowledged = good

    def as_json(self, service):
        for span in self.spans:
            span["acknowledged"] = span["span_id"] in self.acknowledged
        for log in self.logs:
            log["acknowledged"] = log["id"] in self.acknowledged
        return {"service": service, "language": "python", "spans": self.spans, "logs": self.logs,
                "metrics": {"rides": self.rides, "acknowledged": self.metrics_acknowledged}}


def exporter(protocol, module, name, note):
    """The SDK's own exporter, which passes its results to note()."""
    package = f"opentelemetry.exporter.otlp.proto.{protocol}.{module}"
    kind = getattr(importlib.import_module(package), name)

    class Noting(kind):
        def export(self, data, *arguments, **options):
            result = super().export(data, *arguments, **options)
            note(data, result.name == "SUCCESS")
            return result

    return Noting()


def set_up(options, report):
    """The providers of spans, logs and metrics."""
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = options.otlp
    resource = Resource.create({"service.name": options.service})
    spans = TracerProvider(resource=resource)
    if options.mode == "processor":
        from pyroscope.otel import PyroscopeSpanProcessor
        spans.add_span_processor(PyroscopeSpanProcessor())
    spans.add_span_processor(report)
    spans.add_span_processor(BatchSpanProcessor(exporter(
        options.protocol, "trace_exporter", "OTLPSpanExporter", report.exported_spans)))
    logs = LoggerProvider(resource=resource)
    logs.add_log_record_processor(report)
    logs.add_log_record_processor(BatchLogRecordProcessor(exporter(
        options.protocol, "_log_exporter", "OTLPLogExporter", report.exported_logs)))
    metrics = MeterProvider(resource=resource, metric_readers=[PeriodicExportingMetricReader(
        exporter(options.protocol, "metric_exporter", "OTLPMetricExporter",
                 report.exported_metrics), export_interval_millis=METRICS_MILLIS)])
    return spans, logs, metrics


def match_drivers(seconds):
    """Burns CPU in a separate function, so that flame graphs show its name."""
    until = time.monotonic() + seconds
    total = 0
    while time.monotonic() < until:
        for i in range(2000):
            total += i * i % 7
    return total


class Rides(http.server.BaseHTTPRequestHandler):
    tracer = logger = counter = report = None
    mode = "processor"
    dice = random.Random()

    def do_GET(self):
        parent = TraceContextTextMapPropagator().extract(self.headers)
        name = self.path.strip("/")
        with self.tracer.start_as_current_span(
                f"GET /{name}", context=parent, kind=trace.SpanKind.SERVER) as span:
            self.logger.emit(body=f"ride {uuid.uuid4()}", timestamp=time.time_ns(),
                             severity_number=SeverityNumber.INFO, severity_text="INFO")
            self.counter.add(1, {"vehicle": name})
            with self.report.lock:
                self.report.rides += 1
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
    spans, logs, metrics = set_up(options, report)
    Rides.tracer, Rides.mode, Rides.report = spans.get_tracer("rideshare"), options.mode, report
    Rides.logger = logs.get_logger("rideshare")
    Rides.counter = metrics.get_meter("rideshare").create_counter("rides")
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

    for provider in (spans, logs, metrics):
        provider.shutdown()    # exports what is queued
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
