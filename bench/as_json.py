"""OTLP trace requests as the JSON that JavaScript's SDK makes of them."""

import json
import struct

import pbwire


def text(raw):
    return raw.decode()


def hexes(raw):
    return raw.hex()


def nanos(raw):
    return str(struct.unpack("<Q", raw)[0])


def fixed32(raw):
    return struct.unpack("<I", raw)[0]


VALUE = {1: ("stringValue", text), 3: ("intValue", int)}
ATTRIBUTE = {1: ("key", text), 2: ("value", VALUE)}
EVENT = {1: ("timeUnixNano", nanos), 2: ("name", text), 3: ("attributes", [ATTRIBUTE])}
SPAN = {1: ("traceId", hexes), 2: ("spanId", hexes), 4: ("parentSpanId", hexes), 5: ("name", text),
        6: ("kind", int), 7: ("startTimeUnixNano", nanos), 8: ("endTimeUnixNano", nanos),
        9: ("attributes", [ATTRIBUTE]), 11: ("events", [EVENT]), 16: ("flags", fixed32)}
SCOPE = {1: ("name", text), 2: ("version", text)}
RESOURCE = {1: ("attributes", [ATTRIBUTE])}
REQUEST = {1: ("resourceSpans", [{1: ("resource", RESOURCE), 2: ("scopeSpans", [
    {1: ("scope", SCOPE), 2: ("spans", [SPAN])}])}])}


def members(data, shape):
    found = {}
    for number, _, begin, end, value in pbwire.fields(data):
        name, kind = shape[number]
        raw = data[begin:end] if value is None else value
        inner = kind[0] if isinstance(kind, list) else kind
        made = members(raw, inner) if isinstance(inner, dict) else inner(raw)
        if isinstance(kind, list):
            found.setdefault(name, []).append(made)
        else:
            found[name] = made
    return found


def as_json(request):
    """The JSON text of an ExportTraceServiceRequest of payloads.request."""
    return json.dumps(members(request, REQUEST), separators=(",", ":")).encode()
