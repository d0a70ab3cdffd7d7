#!/usr/bin/env python3
"""Plays recorded SDK traffic once, as if it happened now.

Each request goes out at the moment at which it was recorded, counted from the start, and every time
in it is moved by the same distance, so that spans and profile windows look live to whoever takes
them: start, end and event times in OTLP traces, time_nanos in pprof, the start of each chunk in JFR,
from and until of /ingest.
Ids and everything else stay. Needs nothing but Python's standard library.
"""
import argparse
import gzip
import http.client
import json
import pathlib
import re
import struct
import sys
import time
import urllib.parse

import pbwire


def shift_fixed64(body, positions, by):
    for at in positions:
        value, = struct.unpack_from("<Q", body, at)
        if value:
            struct.pack_into("<Q", body, at, value + by)


def shift_traces(data, by):
    """ExportTraceServiceRequest: resource_spans 1, scope_spans 2, spans 2; in a span start 7,
    end 8 and events 11 with time 1. All are fixed64, so that no length changes."""
    body, times = bytearray(data), []

    def descend(start, end, path):
        for number, kind, begin, stop, _ in pbwire.fields(data, start, end):
            if path and number == path[0] and kind == 2:
                descend(begin, stop, path[1:])
            elif not path and kind == 1 and number in (7, 8):
                times.append(begin)
            elif not path and kind == 2 and number == 11:
                times.extend(b for n, k, b, _, _ in pbwire.fields(data, begin, stop)
                             if (n, k) == (1, 1))
    descend(0, len(data), [1, 2, 2])
    shift_fixed64(body, times, by)
    return bytes(body)


def shift_pprof(data, by):
    """Profile: time_nanos 9, a varint. A gzip stream stays one."""
    if data[:2] == b"\x1f\x8b":
        return gzip.compress(shift_pprof(gzip.decompress(data), by))
    out, done = bytearray(), 0
    for number, kind, begin, end, value in pbwire.fields(data):
        out += data[done:begin] if (number, kind) == (9, 0) else data[done:end]
        if (number, kind) == (9, 0):
            out += pbwire.encode_varint(value + by)
        done = end
    return bytes(out)


def shift_push(data, by):
    """PushRequest: series 1, samples 2, raw_profile 1."""
    return pbwire.replace(data, 1, lambda series: pbwire.replace(
        series, 2, lambda sample: pbwire.replace(sample, 1, lambda raw: shift_pprof(raw, by))))


def shift_jfr(data, by):
    """Each chunk has its size at byte 8 and its start at 32, in big-endian numbers of eight bytes;
    its events count from that start. A gzip stream stays one."""
    if data[:2] == b"\x1f\x8b":
        return gzip.compress(shift_jfr(gzip.decompress(data), by))
    out, chunk = bytearray(data), 0
    while chunk < len(out):
        size, = struct.unpack_from(">Q", out, chunk + 8)
        start, = struct.unpack_from(">Q", out, chunk + 32)
        struct.pack_into(">Q", out, chunk + 32, start + by)
        chunk += size
    return bytes(out)


SHIFTS = {b'name="profile"': shift_pprof, b'name="jfr"': shift_jfr}


def shift_multipart(data, content_type, by):
    """The parts of the form that hold times."""
    boundary = b"--" + re.search(r'boundary="?([^";]+)', content_type).group(1).encode()
    parts = data.split(boundary)
    for i, part in enumerate(parts):
        head, blank, body = part.partition(b"\r\n\r\n")
        for name, shift_part in SHIFTS.items() if blank else ():
            if name in head:
                parts[i] = head + blank + shift_part(body[:-2], by) + b"\r\n"
    return boundary.join(parts)


def shift_query(path, by):
    """from and until, in seconds or in nanoseconds."""
    def moved(match):
        unit = {10: 10**9, 13: 10**6, 16: 10**3, 19: 1}.get(len(match[3]), 10**9)
        return f"{match[1]}{match[2]}={int(match[3]) + by // unit}"
    return re.sub(r"([?&])(from|until)=(\d+)", moved, path)


def shift(request, body, by):
    """The path and the body of a recorded request, moved by so many nanoseconds."""
    path, headers = request["path"], request["headers"]
    zipped = headers.get("content-encoding") == "gzip"
    body = gzip.decompress(body) if zipped else body
    content_type = headers.get("content-type", "")
    if path.startswith("/v1/traces"):
        body = shift_traces(body, by)
    elif path.startswith("/push.v1."):
        body = shift_push(body, by)
    elif path.startswith("/ingest"):
        path = shift_query(path, by)
        if content_type.startswith("multipart/"):
            body = shift_multipart(body, content_type, by)
        else:
            body = shift_pprof(body, by)
    return path, gzip.compress(body) if zipped else body


def send(base, request, path, body):
    url = urllib.parse.urlsplit(base)
    link = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    try:
        link.request(request["method"], url.path.rstrip("/") + path, body, request["headers"])
        answer = link.getresponse()
        answer.read()
        return answer.status
    finally:
        link.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recording", nargs="?", type=pathlib.Path, help="default: python/",
                        default=pathlib.Path(__file__).parent / "python")
    parser.add_argument("--otlp", default="http://127.0.0.1:4318")
    parser.add_argument("--pyroscope", default="http://127.0.0.1:4040")
    options = parser.parse_args()
    index = json.loads((options.recording / "index.json").read_text())
    start, failed = time.time_ns(), 0
    by = start - index["recorded_unix_nano"]
    for request in index["requests"]:
        time.sleep(max(0.0, request["offset"] - (time.time_ns() - start) / 1e9))
        body = (options.recording / request["file"]).read_bytes()
        path, body = shift(request, body, by)
        base = options.otlp if path.startswith("/v1/") else options.pyroscope
        try:
            result = send(base, request, path, body)
        except OSError as problem:
            result = problem
        failed += result != 200
        print(f"{request['offset']:6.2f} s  {path.partition('?')[0]}  {len(body)} bytes  {result}",
              flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
