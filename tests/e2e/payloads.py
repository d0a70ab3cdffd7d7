"""OTLP requests for every signal that contain every field of the protocol, built from the published
message definitions, and three encodings of them: protobuf, unusual but legal protobuf, and OTLP
JSON.
"""
import base64
import itertools
import json
import random
import struct

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor as Field
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest, ExportLogsServiceResponse)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest, ExportMetricsServiceResponse)
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
    ExportProfilesServiceRequest, ExportProfilesServiceResponse)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest, ExportTraceServiceResponse)

REQUESTS = {"traces": ExportTraceServiceRequest, "metrics": ExportMetricsServiceRequest,
            "logs": ExportLogsServiceRequest, "profiles": ExportProfilesServiceRequest}
ANSWERS = {"traces": ExportTraceServiceResponse, "metrics": ExportMetricsServiceResponse,
           "logs": ExportLogsServiceResponse, "profiles": ExportProfilesServiceResponse}
SERVICES = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
    "profiles": "opentelemetry.proto.collector.profiles.v1development.ProfilesService"}
PATHS = {"traces": "/v1/traces", "metrics": "/v1/metrics", "logs": "/v1/logs",
         "profiles": "/v1development/profiles"}
IDS = {"trace_id": 16, "span_id": 8, "parent_span_id": 8, "profile_id": 16}
DEPTH = 3               # of nested values
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5


# Building

class Builder:
    """Fills every field. The same seed builds the same message."""

    def __init__(self, seed):
        self.random, self.turn = random.Random(seed), itertools.count()

    def fill(self, message, depth=0, choice=None):
        """choice: which alternative of its oneof the message uses."""
        kind = message.DESCRIPTOR
        for field in kind.fields:
            if field.containing_oneof and not field.containing_oneof.name.startswith("_"):
                continue
            if not field.name.endswith("strindex") or "profiles" in kind.full_name:
                self.set(message, field, depth)
        for oneof in kind.oneofs:
            if not oneof.name.startswith("_"):
                fields = self.alternatives(oneof, depth)
                turn = next(self.turn) if choice is None else choice
                self.set(message, fields[turn % len(fields)], depth)
        return message

    @staticmethod
    def alternatives(oneof, depth):
        """string_value_strindex is used only in profiles; values nest up to DEPTH."""
        return [f for f in oneof.fields if not f.name.endswith("strindex")
                and (depth < DEPTH or f.type != Field.TYPE_MESSAGE or oneof.name != "value")]

    def set(self, message, field, depth):
        if field.type == Field.TYPE_MESSAGE:
            deeper = depth + (message.DESCRIPTOR.name == "AnyValue")
            if field.is_repeated:
                for number in range(self.count(message, field, deeper)):
                    added = getattr(message, field.name).add()
                    if not (field.name.endswith("_table") and number == 0):
                        self.fill(added, deeper, number)
            else:
                getattr(message, field.name).SetInParent()
                self.fill(getattr(message, field.name), deeper)
        elif field.is_repeated:
            getattr(message, field.name).extend(
                self.scalar(field) if field.name != "string_table" or number else ""
                for number in range(3))
        else:
            setattr(message, field.name, self.scalar(field))

    def count(self, message, field, depth):
        """One for each alternative of the message, so that all of them occur."""
        oneofs = [o for o in field.message_type.oneofs if not o.name.startswith("_")]
        if field.message_type.name == "KeyValue" and depth == 0:
            return 7
        return max([2] + [len(self.alternatives(o, depth)) for o in oneofs])

    def scalar(self, field):
        name, dice = field.name, self.random
        if name.endswith(("_index", "_indices", "strindex")):
            return 1                    # index into a table of the profiles' dictionary
        if name in IDS:
            return dice.randbytes(IDS[name])
        if field.type == Field.TYPE_ENUM:
            return field.enum_type.values[-1].number
        if field.type == Field.TYPE_STRING:
            return f"{name} {dice.getrandbits(32):x} ü"
        if field.type == Field.TYPE_BYTES:
            return dice.randbytes(5)
        if field.type == Field.TYPE_BOOL:
            return True
        if field.type in (Field.TYPE_DOUBLE, Field.TYPE_FLOAT):
            return dice.uniform(-1e9, 1e9)
        if field.type in (Field.TYPE_SINT32, Field.TYPE_SFIXED64, Field.TYPE_INT64):
            return dice.randrange(-2**31, 2**31)
        if field.type in (Field.TYPE_FIXED64, Field.TYPE_UINT64):
            return dice.getrandbits(62)
        return dice.getrandbits(30)


def build(signal, service, seed=1):
    request = Builder(seed).fill(REQUESTS[signal]())
    for group in getattr(request, request.DESCRIPTOR.fields[0].name):
        name = group.resource.attributes.add()
        name.key, name.value.string_value = "service.name", service
    return request


def fields_that_occur(message, seen=None):
    """Full names of all fields that are set somewhere in a message."""
    seen = set() if seen is None else seen
    for field, value in message.ListFields():
        seen.add(field.full_name)
        if field.type == Field.TYPE_MESSAGE:
            for each in value if field.is_repeated else [value]:
                fields_that_occur(each, seen)
    return seen


# Unusual protobuf

def varint(value, extra=0):
    """extra: number of bytes beyond the minimal encoding."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    extra = min(extra, 10 - len(out))
    if extra:
        out[-1] |= 128
        out += b"\x80" * (extra - 1) + b"\x00"
    return bytes(out)


def tag(number, wire, extra=0):
    """A tag has at most five bytes."""
    minimal = varint(number << 3 | wire)
    return varint(number << 3 | wire, min(extra, 5 - len(minimal)))


UNKNOWN = (tag(1901, VARINT) + varint(7, 3) + tag(1902, FIXED64) + b"12345678"
           + tag(1903, LENGTH, 1) + varint(9, 2) + b"\x0a\x03abc\xff\xff\x00\x01"
           + tag(1904, FIXED32) + b"1234")


def payload_of(field, value):
    """Wire type and bytes of a scalar."""
    kind = field.type
    if kind in (Field.TYPE_DOUBLE, Field.TYPE_FIXED64, Field.TYPE_SFIXED64):
        form = {Field.TYPE_DOUBLE: "<d", Field.TYPE_FIXED64: "<Q", Field.TYPE_SFIXED64: "<q"}[kind]
        return FIXED64, struct.pack(form, value)
    if kind == Field.TYPE_FIXED32:
        return FIXED32, struct.pack("<I", value)
    if kind in (Field.TYPE_STRING, Field.TYPE_BYTES):
        raw = value.encode() if isinstance(value, str) else value
        return LENGTH, varint(len(raw), 1) + raw
    if kind == Field.TYPE_SINT32:
        value = (value << 1) ^ (value >> 31)
    return VARINT, varint(int(value), 2)


def scalar_fields(field, value):
    """Encodes a repeated scalar half packed, half unpacked, and a singular one twice, where the
    last one counts."""
    if not field.is_repeated:
        wire, raw = payload_of(field, value)
        once = tag(field.number, wire, 1) + raw
        return once if field.containing_oneof else once + once
    parts = [payload_of(field, each) for each in value]
    if parts[0][0] == LENGTH:
        return b"".join(tag(field.number, LENGTH, 2) + raw for _, raw in parts)
    packed = b"".join(raw for _, raw in parts[1:])
    rest = tag(field.number, LENGTH, 1) + varint(len(packed), 3) + packed
    if field.full_name.endswith("v1development.Sample.values"):
        # A lone number there identifies the layout of protocol 1.9.
        return tag(field.number, LENGTH) + varint(len(parts[0][1])) + parts[0][1] + rest
    return tag(field.number, parts[0][0]) + parts[0][1] + rest


def unusual(message, fields=None):
    """The same message with unknown fields at every depth, overlong tags, lengths and numbers,
    singular fields that occur twice (messages in two parts, to be merged), a mix of packed and
    unpacked numbers, and fields in descending order."""
    out = UNKNOWN
    for field, value in sorted(fields or message.ListFields(), key=lambda item: -item[0].number):
        if field.type != Field.TYPE_MESSAGE:
            out += scalar_fields(field, value)
            continue
        bodies = [unusual(each) for each in value] if field.is_repeated else parts_of(value)
        for body in bodies:
            out += tag(field.number, LENGTH, 2) + varint(len(body), 2) + body
    return out + UNKNOWN


def parts_of(message):
    fields = message.ListFields()
    return [unusual(message, fields[at::2]) if fields[at::2] else b"" for at in (0, 1)]


# JSON

def as_json(message):
    """OTLP JSON: ids in hex, everything else as proto3 JSON."""
    return json.dumps(turn_ids(json_format.MessageToDict(message, use_integers_for_enums=True),
                               lambda text: base64.b64decode(text).hex()))


def from_json(signal, line):
    readable = turn_ids(json.loads(line),
                        lambda text: base64.b64encode(bytes.fromhex(text)).decode())
    return json_format.ParseDict(readable, REQUESTS[signal]())


def turn_ids(node, turn):
    if isinstance(node, list):
        return [turn_ids(each, turn) for each in node]
    if not isinstance(node, dict):
        return node
    ids = ("traceId", "spanId", "parentSpanId", "profileId")
    return {key: turn(value) if key in ids else turn_ids(value, turn)
            for key, value in node.items()}


def parse(signal, raw):
    return REQUESTS[signal].FromString(raw)


def canonical(message):
    """A canonical encoding for comparing messages, including unknown fields."""
    return message.SerializeToString(deterministic=True)


def known(message):
    """A copy without unknown fields."""
    copy = type(message)()
    copy.CopyFrom(message)
    copy.DiscardUnknownFields()
    return copy
