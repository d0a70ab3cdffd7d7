"""Sends with the real Python SDKs, with the user or token from the environment.

    auth_client.py grpc|http|pyroscope URL

Prints "sent" or "refused". OTLP uses OTEL_EXPORTER_OTLP_HEADERS, Pyroscope USERNAME and PASSWORD.
"""
import sys
import time


def export_span(protocol, url):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        exporter = OTLPSpanExporter(endpoint=url, insecure=True)
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        exporter = OTLPSpanExporter(endpoint=url + "/v1/traces")
    span = TracerProvider().get_tracer("auth").start_span("sdk-" + protocol)
    span.end()
    return exporter.export([span]) is SpanExportResult.SUCCESS


def profile(url):
    import os

    import pyroscope
    pyroscope.configure(application_name="auth-sdk", server_address=url,
                        basic_auth_username=os.environ["USERNAME"],
                        basic_auth_password=os.environ["PASSWORD"])
    until = time.monotonic() + 1
    while time.monotonic() < until:
        pass
    pyroscope.shutdown()        # uploads the rest
    return True


if __name__ == "__main__":
    kind, target = sys.argv[1:]
    done = profile(target) if kind == "pyroscope" else export_span(kind, target)
    print("sent" if done else "refused")
