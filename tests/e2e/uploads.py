"""Builds the requests of applications, field by field like their SDKs: spans as OTLP, profiles as
pprof for Push and /ingest, and OTLP profiles."""
import gzip
import uuid

import grpc
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from harness import PROFILE_ID
from wire import pbwire

PUSH = "/push.v1.PusherService/Push"
number, packed = pbwire.field_varint, pbwire.field_packed


def text_attribute(key, value):
    return common_pb2.KeyValue(key=key, value=common_pb2.AnyValue(string_value=value))


def trace_request(service, spans, name="GET /order", parent=None, attributes=None):
    """spans: (trace id, span id, start, end, whether the SDK marked it); all are local roots, or,
    with the span id of a parent, children of that."""
    request = trace_service_pb2.ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.append(text_attribute("service.name", service))
    scope = group.scope_spans.add()
    for trace_id, span_id, start, end, marked in spans:
        span = scope.spans.add(trace_id=bytes.fromhex(trace_id), span_id=bytes.fromhex(span_id),
                               name=name, kind=trace_pb2.Span.SPAN_KIND_SERVER,
                               start_time_unix_nano=start, end_time_unix_nano=end)
        if parent:
            span.parent_span_id = bytes.fromhex(parent)
            span.kind = trace_pb2.Span.SPAN_KIND_INTERNAL
        for key, value in (attributes or {}).items():
            span.attributes.append(text_attribute(key, value))
        if marked:
            span.attributes.append(text_attribute(PROFILE_ID, span_id))
    return request.SerializeToString()


class Pprof:
    """types: (type, unit) each; period: type, unit and value."""

    def __init__(self, types, period=("cpu", "nanoseconds", 10_000_000)):
        self.strings, self.functions, self.samples = {"": 0}, {}, []
        self.types = [self.value_type(*t) for t in types]
        self.period = self.value_type(*period[:2]), period[2]

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def value_type(self, kind, unit):
        return number(1, self.string(kind)) + number(2, self.string(unit))

    def label(self, key, value):
        if isinstance(value, int):
            return number(1, self.string(key)) + number(3, value)
        return number(1, self.string(key)) + number(2, self.string(value))

    def sample(self, values, stack=("work", "main"), **labels):
        """stack: leaf first; a number is the address of a frame without symbols."""
        keys = [("at", f) if isinstance(f, int) else self.string(f) for f in stack]
        places = [self.functions.setdefault(key, len(self.functions) + 1) for key in keys]
        body = packed(1, places) + packed(2, values)
        for key, value in labels.items():
            body += pbwire.field_bytes(3, self.label(key, value))
        self.samples.append(body)
        return self

    def encode(self, time, duration):
        fields = [pbwire.field_bytes(1, t) for t in self.types]
        fields += [pbwire.field_bytes(2, s) for s in self.samples]
        for name, place in self.functions.items():
            key = number(1, place)
            if isinstance(name, tuple):
                fields.append(pbwire.field_bytes(4, key + number(3, name[1])))
                continue
            fields.append(pbwire.field_bytes(4, key + pbwire.field_bytes(4, key)))
            fields.append(pbwire.field_bytes(5, key + number(2, name)))
        fields += [pbwire.field_bytes(6, s.encode()) for s in self.strings]
        fields += [number(9, time), number(10, duration),
                   pbwire.field_bytes(11, self.period[0]), number(12, self.period[1])]
        return b"".join(fields)


def push_request(labels, raw):
    """One series with one profile."""
    series = b"".join(
        pbwire.field_bytes(1, pbwire.field_bytes(1, k.encode()) + pbwire.field_bytes(2, v.encode()))
        for k, v in labels.items())
    sample = pbwire.field_bytes(1, raw) + pbwire.field_bytes(2, str(uuid.uuid4()).encode())
    return pbwire.field_bytes(1, series + pbwire.field_bytes(2, sample))


def form(**parts):
    """A multipart body of file parts, and its content type."""
    boundary = uuid.uuid4().hex
    body = b"".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n".encode() + content + b"\r\n"
        for name, content in parts.items())
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


class Ebpf:
    """A report of the OpenTelemetry eBPF profiler: CPU samples with timestamps but no values."""
    PERIOD = 50_000_000

    def __init__(self, service):
        self.request = profiles_service_pb2.ExportProfilesServiceRequest()
        self.tables = self.request.dictionary
        self.tables.string_table.append("")
        self.tables.mapping_table.add()
        self.tables.link_table.add()
        self.tables.stack_table.add()
        self.tables.attribute_table.add()
        self.tables.function_table.add()
        self.tables.location_table.add()
        group = self.request.resource_profiles.add()
        for key, value in (("container.id", "0123abcd"), ("service.name", service),
                           ("process.executable.name", "python3")):
            group.resource.attributes.append(text_attribute(key, value))
        scope = group.scope_profiles.add()
        scope.scope.name = "/usr/bin/ebpf-profiler"
        self.profile = scope.profiles.add(period=self.PERIOD)
        self.name_type(self.profile.sample_type, "samples", "count")
        self.name_type(self.profile.period_type, "cpu", "nanoseconds")

    def string(self, text):
        if text not in self.tables.string_table:
            self.tables.string_table.append(text)
        return list(self.tables.string_table).index(text)

    def name_type(self, where, kind, unit):
        where.type_strindex, where.unit_strindex = self.string(kind), self.string(unit)

    def attribute(self, key, value):
        entry = self.tables.attribute_table.add(key_strindex=self.string(key))
        entry.value.CopyFrom(value)
        return len(self.tables.attribute_table) - 1

    def sample(self, function, at, trace_id="", span_id=""):
        self.tables.function_table.add(name_strindex=self.string(function))
        location = self.tables.location_table.add(attribute_indices=[
            self.attribute("profile.frame.type", common_pb2.AnyValue(string_value="cpython"))])
        location.lines.add(function_index=len(self.tables.function_table) - 1, line=7)
        stack = self.tables.stack_table.add()
        stack.location_indices.append(len(self.tables.location_table) - 1)
        sample = self.profile.samples.add(stack_index=len(self.tables.stack_table) - 1)
        sample.attribute_indices.append(
            self.attribute("thread.id", common_pb2.AnyValue(int_value=4711)))
        sample.timestamps_unix_nano.extend(at)
        if span_id:
            self.tables.link_table.add(trace_id=bytes.fromhex(trace_id),
                                       span_id=bytes.fromhex(span_id))
            sample.link_index = len(self.tables.link_table) - 1
        return self

    def encode(self, time, duration):
        self.profile.time_unix_nano, self.profile.duration_nano = time, duration
        return self.request.SerializeToString()


def export_profiles(port, request):
    """Sends OTLP over gRPC with gzip, like the eBPF profiler."""
    with grpc.insecure_channel(f"127.0.0.1:{port}", compression=grpc.Compression.Gzip) as channel:
        channel.unary_unary("/opentelemetry.proto.collector.profiles.v1development."
                            "ProfilesService/Export")(request, timeout=10)


def zipped(data):
    return gzip.compress(data, 1)
