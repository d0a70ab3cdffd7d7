"""Reads from recorded requests what the SDKs said about profiles, apart from all code under test.

Only the pprof fields that the tests ask for are decoded: sample types, sums and span ids.
"""
import gzip
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "recorded"))
import pbwire  # noqa: E402


class Profile:
    """sums: value per sample type; spans: value per span id and sample type. A sample type is
    type:unit:period type:period unit, the tail of a Pyroscope profile type id."""

    def __init__(self, raw):
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        strings, types, samples, period = [], [], [], (0, 0)
        self.named = set()              # locations that have a line
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
            return                      # a server drops such a sample
        if self.named.isdisjoint(locations):
            return                      # and such a one is nowhere in a flame graph
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


def profiles(exchange):
    """Every pprof profile in a request to /ingest or Push."""
    body = exchange.body
    if exchange.headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    if exchange.path.startswith("/ingest"):
        content_type = exchange.headers.get("content-type", "")
        if content_type.startswith("multipart/"):
            boundary = b"--" + re.search(r'boundary="?([^";]+)', content_type).group(1).encode()
            parts = (part.partition(b"\r\n\r\n") for part in body.split(boundary))
            return [Profile(content[:-2]) for head, _, content in parts
                    if b'name="profile"' in head]
        return [Profile(body)]
    found = []
    for series in bodies(body, 1):
        for sample in bodies(series, 2):
            found += [Profile(raw) for raw in bodies(sample, 1)]
    return found


def bodies(message, wanted):
    return [message[begin:end] for number, kind, begin, end, _ in pbwire.fields(message)
            if (number, kind) == (wanted, 2)]
