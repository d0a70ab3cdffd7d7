"""Reads the profiles in recorded requests, independently of the code under test.

Decodes only the pprof fields that the tests need: sample types, sums and span ids.
"""
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "recorded"))
import pbwire  # noqa: E402

CPU = "cpu:nanoseconds:cpu:nanoseconds"


class Profile:
    """sums: value per sample type; spans: value per span id and sample type. A sample type is
    type:unit:period type:period unit, the end of a Pyroscope profile type id."""

    def __init__(self, raw):
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        strings, types, samples, period = [], [], [], (0, 0)
        self.named = set()              # locations with a line
        for number, _, begin, end, value in pbwire.fields(raw):
            body = raw[begin:end]
            if number == 1:
                types.append(self.value_type(body))
            elif number == 2:
                samples.append(body)
            elif number == 4:
                location = {n: v for n, _, _, _, v in pbwire.fields(body)}
                if 4 in location:
                    self.named.add(location.get(1, 0))
            elif number == 6:
                strings.append(body.decode())
            elif number == 11:
                period = self.value_type(body)
        tail = ":".join(strings[i] for i in period)
        names = [f"{strings[t]}:{strings[u]}:{tail}" for t, u in types]
        self.sums, self.spans = dict.fromkeys(names, 0), {}
        for body in samples:
            self.add(names, *self.sample(body, strings))

    def add(self, names, values, span, locations):
        if min(values) < 0 or not any(values):
            return                      # the server drops such a sample
        if self.named.isdisjoint(locations):
            return                      # such a sample is not in any flame graph
        for name, value in zip(names, values):
            self.sums[name] += value
            if span:
                of_span = self.spans.setdefault(span, {})
                of_span[name] = of_span.get(name, 0) + value

    @staticmethod
    def value_type(body):
        found = {number: value for number, _, _, _, value in pbwire.fields(body)}
        return found.get(1, 0), found.get(2, 0)

    @staticmethod
    def sample(body, strings):
        """Values, span id and locations. Locations 1, values 2, labels 3: key 1, str 2."""
        numbers, span = {1: [], 2: []}, ""
        for number, kind, begin, end, value in pbwire.fields(body):
            if number in numbers and kind == 0:
                numbers[number].append(value)
            elif number in numbers:
                at = begin
                while at < end:
                    value, at = pbwire.varint(body, at)
                    numbers[number].append(value)
            elif number == 3:
                label = {n: v for n, _, _, _, v in pbwire.fields(body, begin, end)}
                if strings[label.get(1, 0)] in ("span_id", "profile_id"):
                    span = strings[label.get(2, 0)].lower()
        return [signed(v) for v in numbers[2]], span, numbers[1]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Recording:
    """The CPU time in a Java Flight Recorder file, from the samples printed by the JDK's own tool.
    If the profiler used the wall clock, Pyroscope takes the time of running threads as CPU time."""
    EVENTS = "jdk.ExecutionSample,profiler.WallClockSample"

    def __init__(self, raw, rate):
        with tempfile.NamedTemporaryFile(suffix=".jfr") as file:
            file.write(raw)
            file.flush()
            printed = subprocess.run(
                ["jfr", "print", "--json", "--stack-depth", "1", "--events", self.EVENTS,
                 file.name], capture_output=True, check=True).stdout
        self.sums, self.spans = {CPU: 0}, {}
        for event in json.loads(printed)["recording"]["events"]:
            values = event["values"]
            by_wall = event["type"] == "profiler.WallClockSample"
            if not values.get("stackTrace") or values.get("state") == "STATE_SLEEPING" \
                    or by_wall and values.get("state") != "STATE_RUNNABLE":
                continue
            value = values.get("samples", 1) * 10**9 // rate
            self.sums[CPU] += value
            if span := values.get("spanId"):
                of_span = self.spans.setdefault(f"{span & (1 << 64) - 1:016x}", {CPU: 0})
                of_span[CPU] += value


def inflated(raw):
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def file_parts(exchange, body):
    """The parts of a multipart body by name."""
    boundary = re.search(r'boundary="?([^";]+)', exchange.headers["content-type"]).group(1)
    parts = (part.partition(b"\r\n\r\n") for part in body.split(b"--" + boundary.encode()))
    named = ((re.search(rb'name="([^"]*)"', head), content) for head, _, content in parts)
    return {name.group(1).decode(): content[:-2] for name, content in named if name}


def profiles(exchange):
    """All profiles in a request to /ingest or Push; each request is read only once."""
    if exchange.profiles is None:
        exchange.profiles = read_profiles(exchange)
    return exchange.profiles


def read_profiles(exchange):
    body = exchange.body
    if exchange.headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    if exchange.path.startswith("/ingest"):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(exchange.path).query)
        multipart = exchange.headers.get("content-type", "").startswith("multipart/")
        parts = file_parts(exchange, body) if multipart else {}
        if query.get("format") == ["jfr"]:
            return [Recording(inflated(parts.get("jfr", body)),
                              int(query.get("sampleRate", ["100"])[0]))]
        return [Profile(parts["profile"])] if multipart else [Profile(body)]
    found = []
    for series in bodies(body, 1):
        for sample in bodies(series, 2):
            found += [Profile(raw) for raw in bodies(sample, 1)]
    return found


def bodies(message, wanted):
    return [message[begin:end] for number, kind, begin, end, _ in pbwire.fields(message)
            if (number, kind) == (wanted, 2)]
