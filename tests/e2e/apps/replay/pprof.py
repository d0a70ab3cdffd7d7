"""Profiles as the SDKs send them: pprof inside a push.v1 PushRequest, or alone."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "recorded"))
from pbwire import (  # noqa: E402,F401
    encode_varint as varint, field_bytes as chunk, field_packed as packed, field_varint as number)


class Pprof:
    """Collects samples; strings are numbered in the order of their first use."""

    def __init__(self, types, strings=()):
        self.strings, self.functions, self.locations, self.samples = {"": 0}, {}, {}, []
        for text in strings:
            self.string(text)
        self.types = [(self.string(kind), self.string(unit)) for kind, unit in types]

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def location(self, name, file, line):
        function = (self.string(name), self.string(file))
        self.functions.setdefault(function, len(self.functions) + 1)
        place = (self.functions[function], line)
        return self.locations.setdefault(place, len(self.locations) + 1)

    def add(self, frames, values, labels):
        """Frames (name, file, line), the leaf first."""
        locations = [self.location(*frame) for frame in frames]
        pairs = [(self.string(key), self.string(value)) for key, value in labels.items()]
        self.samples.append(packed(1, locations) + packed(2, values) + b"".join(
            chunk(3, number(1, key) + number(2, value)) for key, value in pairs))

    def encode(self, start, duration, period):
        cpu = number(1, self.string("cpu")) + number(2, self.string("nanoseconds"))
        out = [chunk(1, number(1, kind) + number(2, unit)) for kind, unit in self.types]
        out += [chunk(2, sample) for sample in self.samples]
        out += [chunk(4, number(1, place) + chunk(4, number(1, function) + number(2, line)))
                for (function, line), place in self.locations.items()]
        out += [chunk(5, number(1, function) + number(2, name) + number(4, file))
                for (name, file), function in self.functions.items()]
        out += [chunk(6, text) for text in self.strings]
        return b"".join(out) + number(9, start) + number(10, duration) + chunk(11, cpu) + number(
            12, period)


def push_request(labels, profile, sample_id=""):
    """One series with one profile, with labels in the given order."""
    pairs = b"".join(chunk(1, chunk(1, name) + chunk(2, value)) for name, value in labels)
    sample = chunk(1, profile) + (chunk(2, sample_id) if sample_id else b"")
    return chunk(1, pairs + chunk(2, sample))
