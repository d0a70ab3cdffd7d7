"""A ride-sharing service, traced and profiled. One process is one region:

    REGION=eu-north PORT=5000 python rideshare.py

It knows no backend: both SDKs send to the spanlink beside it, on localhost.
"""
import http.server
import os
import signal

import pyroscope
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pyroscope.otel import PyroscopeSpanProcessor

SERVICE = "ride-sharing-app"    # the same name for spans and profiles, by which they are matched
REGION = os.environ.get("REGION", "us-east")
SLOW_REGION = "eu-north"
RADIUS = {"bike": 1, "scooter": 20, "car": 60}

tracer = trace.get_tracer("rideshare")


def start_telemetry():
    pyroscope.configure(
        application_name=SERVICE,
        server_address=os.environ.get("PYROSCOPE_SERVER_ADDRESS", "http://localhost:4040"),
        tags={"region": REGION})
    provider = TracerProvider(
        resource=Resource.create({"service.name": SERVICE, "region": REGION}))
    # Labels samples taken during a request with the id of the request's span.
    provider.add_span_processor(PyroscopeSpanProcessor())
    # Sends to OTEL_EXPORTER_OTLP_ENDPOINT, http://localhost:4318 by default.
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider


def order_ride(vehicle):
    with tracer.start_as_current_span("find_nearest_vehicle") as span:
        span.set_attribute("vehicle", vehicle)
        find_nearest_vehicle(RADIUS[vehicle])
    if vehicle == "car":
        with tracer.start_as_current_span("check_driver_availability"):
            check_driver_availability()


def find_nearest_vehicle(radius):
    compute(radius)


def check_driver_availability():
    if REGION == SLOW_REGION:
        spin_for_lock()


def spin_for_lock():
    """What makes one region slow, as its flame graph shows."""
    compute(80)


def compute(steps):
    for number in range(steps * 40000):     # about 2 ms a step
        number * number % 7


class Rides(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        vehicle = self.path.strip("/")
        if vehicle not in RADIUS:
            self.send_error(404)
            return
        with tracer.start_as_current_span(f"GET /{vehicle}", kind=trace.SpanKind.SERVER):
            order_ride(vehicle)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{vehicle} ordered in {REGION}\n".encode())

    def log_message(self, *_):
        pass


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)    # ends the process as Ctrl-C does
    provider = start_telemetry()
    address = os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "5000"))
    try:
        http.server.ThreadingHTTPServer(address, Rides).serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        provider.shutdown()     # sends the remaining spans
        pyroscope.shutdown()    # sends the last profile


if __name__ == "__main__":
    main()
