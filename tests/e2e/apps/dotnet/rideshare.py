#!/usr/bin/env python3
"""Simulates a .NET service, because Debian has no .NET. ../replay/replay.py makes the rides; this
file defines the packages' requests.

The profiler is pyroscope-dotnet 1.4.0.
--mode processor: Pyroscope.OpenTelemetry 0.5.1. It also treats the children of a span with a remote
parent as local roots, and stops labelling when one of them ends.
--mode reversed: Pyroscope.OpenTelemetry 0.5.0; this profiler writes its ids in reversed byte order.
--mode handmade: `LabelsWrapper` with a label `span_id`.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "replay"))
import pprof  # noqa: E402
import replay  # noqa: E402

RUNTIME = "10.0.3"
CPU_TYPES = [("cpu", "nanoseconds"), ("cpu_samples", "count")]
SAMPLE_NS = 9_000_000
# The first strings of the profiler's table: a type's unit comes before its name.
STRINGS = ["span_id", "trace_id", "nanoseconds", "cpu", "count", "cpu_samples"]
# The exporter reserves four bytes for the lengths of these messages and pads shorter ones.
PADDED = {
    "ResourceSpans", "ScopeSpans", "Span", "Event", "ResourceLogs", "ScopeLogs", "LogRecord",
    "ResourceMetrics", "ScopeMetrics", "Metric", "Sum", "NumberDataPoint", "Resource",
    "InstrumentationScope"}


def four_bytes(length):
    return bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14 & 0x7F | 0x80,
                  length >> 21 & 0x7F])


def padded(message):
    """The message in wire form with lengths of four bytes, and a span's flags before its name."""
    def place(item):
        return 4.5 if item[0].full_name.endswith(".Span.flags") else item[0].number

    out = bytearray()
    for field, value in sorted(message.ListFields(), key=place):
        if field.message_type and field.message_type.name in PADDED:
            for part in value if field.is_repeated else [value]:
                body = padded(part)
                out += pprof.varint(field.number << 3 | 2) + four_bytes(len(body)) + body
            continue
        alone = type(message)()
        if field.is_repeated:
            getattr(alone, field.name).extend(value)
        elif field.message_type:
            getattr(alone, field.name).CopyFrom(value)
        else:
            setattr(alone, field.name, value)
        out += alone.SerializeToString()
    return bytes(out)


class DotNet:
    language = "dotnet"
    modes = ["processor", "reversed", "handmade", "plain"]
    sample_every = 0.009
    otlp_user_agent = "OTel-OTLP-Exporter-Dotnet/1.16.0"
    otlp_gzip = False
    heavy = (("Rideshare!Rideshare.Drivers.Match", "Rideshare", 0),
             ("Rideshare!Rideshare.OrderService.FindNearestVehicle", "Rideshare", 0),
             ("Rideshare!Rideshare.OrderService.Order", "Rideshare", 0),
             ("Microsoft.AspNetCore.Routing!Microsoft.AspNetCore.Routing.EndpointMiddleware.Invoke",
              "Microsoft.AspNetCore.Routing", 0))
    waiting = (("System.Private.CoreLib!System.Threading.PortableThreadPool.WorkerThread."
                "WorkerThreadStart", "System.Private.CoreLib", 0),)
    collecting = (("|lm:[native] GC |ns: |ct: |cg: |fn:Garbage Collector |fg: |sg:", "GC", 0),)

    def configure(self, options):
        self.mode, self.service = options.mode, options.service
        self.upload_seconds = options.upload_seconds or 15
        self.resource = {
            "service.name": self.service, "telemetry.sdk.name": "opentelemetry",
            "telemetry.sdk.language": "dotnet", "telemetry.sdk.version": "1.16.0"}

    def serialize(self, request):
        return padded(request)

    def marks(self, span, parent):
        if self.mode in ("processor", "reversed"):
            return parent is None or parent.remote_parent
        return self.mode == "handmade" and span.local_root

    def on_start(self, span, parent):
        if not self.marks(span, parent):
            return
        if self.mode == "processor":
            span.labels.update(span_id=span.span_id.hex(), trace_id=span.trace_id.hex())
        elif self.mode == "reversed":       # the older package does not pass a trace id
            span.labels.update(span_id=span.span_id[::-1].hex(), trace_id="0" * 32)
        else:
            span.labels["span_id"] = span.span_id.hex()
        if self.mode != "handmade":
            span.attributes["pyroscope.profile.id"] = span.span_id.hex()

    def on_end(self, span, parent):
        if self.marks(span, parent):
            span.labels.clear()

    def next_upload(self, started):
        return started + self.upload_seconds

    def uploads(self, samples, start, end, _last):
        """One request for each kind of profile that has samples."""
        collections = [replay.Sample(self.collecting, {})] * (len(samples) // 20)
        for name, kind in (("process_cpu", samples), ("gc", collections)):
            if kind:
                yield "/push.v1.PusherService/Push", {
                    "Accept": "*/*", "Connection": "close", "Content-Type": "application/proto",
                    "User-Agent": "pyroscope-dotnet/1.4.0 cpp-httplib"}, (
                    self.push_request(name, kind, start, end))

    def push_request(self, name, samples, start, end):
        profile = pprof.Pprof(CPU_TYPES, STRINGS)
        for sample in samples:
            profile.add(sample.frames, [SAMPLE_NS, 1], sample.labels)
        return pprof.push_request([
            ("__name__", name), ("service_name", self.service), ("spy_name", "dotnetspy"),
            ("otel.scope.name", "com.grafana.pyroscope/dotnet"), ("otel.scope.version", "3.50.0"),
            ("process.runtime.name", ".NET"), ("process.runtime.version", RUNTIME),
            ("region", "eu-north")], profile.encode(start, end - start, 1))


if __name__ == "__main__":
    sys.exit(replay.main(DotNet))
