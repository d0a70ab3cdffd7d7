"""Spans, logs and a counter as OTLP messages, and their export."""
import gzip
import random
import time

import grpc
import requests
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs_service
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_service
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_service
from opentelemetry.proto.common.v1 import common_pb2 as common
from opentelemetry.proto.logs.v1 import logs_pb2 as logs
from opentelemetry.proto.metrics.v1 import metrics_pb2 as metrics
from opentelemetry.proto.resource.v1 import resource_pb2 as resource
from opentelemetry.proto.trace.v1 import trace_pb2 as trace

SCOPE = common.InstrumentationScope(name="rideshare")
SAMPLED, REMOTE_KNOWN, REMOTE = 1, 0x100, 0x200
RETRIED = (429, 502, 503, 504, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
TRIES = 6


def attributes(pairs):
    def any_value(value):
        if isinstance(value, int):
            return common.AnyValue(int_value=value)
        return common.AnyValue(string_value=value)
    return [common.KeyValue(key=key, value=any_value(value)) for key, value in pairs.items()]


def span_message(span):
    return trace.Span(
        trace_id=span.trace_id, span_id=span.span_id, parent_span_id=span.parent, name=span.name,
        kind=trace.Span.SPAN_KIND_SERVER if span.local_root else trace.Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=span.start, end_time_unix_nano=span.end,
        attributes=attributes(span.attributes), flags=(
            SAMPLED | REMOTE_KNOWN | (REMOTE if span.remote_parent else 0)),
        events=[trace.Span.Event(time_unix_nano=at, name=name, attributes=attributes(pairs))
                for at, name, pairs in span.events])


def trace_request(service, spans):
    group = trace.ScopeSpans(scope=SCOPE, spans=[span_message(s) for s in spans])
    return trace_service.ExportTraceServiceRequest(resource_spans=[
        trace.ResourceSpans(resource=service, scope_spans=[group])])


def log_request(service, records):
    group = logs.ScopeLogs(scope=SCOPE, log_records=[
        logs.LogRecord(time_unix_nano=at, observed_time_unix_nano=at,
                       severity_number=logs.SEVERITY_NUMBER_INFO, severity_text="INFO",
                       body=common.AnyValue(string_value=body), flags=SAMPLED,
                       trace_id=span.trace_id, span_id=span.span_id)
        for body, at, span in records])
    return logs_service.ExportLogsServiceRequest(resource_logs=[
        logs.ResourceLogs(resource=service, scope_logs=[group])])


def metric_request(service, start, rides):
    """The counter since the start, one point per vehicle."""
    now = time.time_ns()
    points = [metrics.NumberDataPoint(start_time_unix_nano=start, time_unix_nano=now, as_int=count,
                                      attributes=attributes({"vehicle": vehicle}))
              for vehicle, count in rides.items()]
    counter = metrics.Metric(name="rides", sum=metrics.Sum(
        data_points=points, is_monotonic=True,
        aggregation_temporality=metrics.AGGREGATION_TEMPORALITY_CUMULATIVE))
    group = metrics.ScopeMetrics(scope=SCOPE, metrics=[counter])
    return metrics_service.ExportMetricsServiceRequest(resource_metrics=[
        metrics.ResourceMetrics(resource=service, scope_metrics=[group])])


class Exporter:
    """Sends requests over HTTP or gRPC in the SDK's own encoding."""
    PATHS = {
        "ExportTraceServiceRequest": ("/v1/traces", "trace.v1.TraceService"),
        "ExportLogsServiceRequest": ("/v1/logs", "logs.v1.LogsService"),
        "ExportMetricsServiceRequest": ("/v1/metrics", "metrics.v1.MetricsService"),
    }

    def __init__(self, protocol, url, sdk):
        self.url, self.sdk = url, sdk
        self.resource = resource.Resource(attributes=attributes(sdk.resource))
        self.session = requests.Session() if protocol == "http" else None
        self.channel = None
        if protocol == "grpc":
            self.channel = grpc.insecure_channel(
                url.removeprefix("http://"), [("grpc.primary_user_agent", sdk.otlp_user_agent)])

    def export(self, request):
        """Whether the request was finally acknowledged."""
        send = self.over_http if self.session else self.over_grpc
        for attempt in range(TRIES):
            status = send(request)
            if status in (200, grpc.StatusCode.OK):
                return True
            if status not in RETRIED:
                break
            time.sleep(0.2 * random.random() * 2 ** attempt)
        return False

    def over_http(self, request):
        body = self.sdk.serialize(request)
        headers = {"Content-Type": "application/x-protobuf",
                   "User-Agent": self.sdk.otlp_user_agent}
        if self.sdk.otlp_gzip:
            body = gzip.compress(body)
            headers["Content-Encoding"] = "gzip"
        path = self.PATHS[type(request).__name__][0]
        try:
            return self.session.post(self.url + path, body, headers=headers, timeout=10).status_code
        except requests.ConnectionError:
            return 503

    def over_grpc(self, request):
        service = self.PATHS[type(request).__name__][1]
        call = self.channel.unary_unary(
            f"/opentelemetry.proto.collector.{service}/Export",
            request_serializer=self.sdk.serialize, response_deserializer=lambda body: body)
        try:
            call(request, timeout=10)
            return grpc.StatusCode.OK
        except grpc.RpcError as error:
            return error.code()
