"""What left the sidecars, by region and route: requests, linked spans, and the CPU time that their
flame graphs show.

    python summary.py FOLDER

FOLDER has what the file exporters wrote: spans in */traces.jsonl, profiles in */profiles/*.pb.gz.
A span and its samples meet by the span's pyroscope.profile.id and the samples' label span_id.
"""
import collections
import gzip
import json
import pathlib
import sys

SERVER = 2      # the kind of a request's first span


class Ride:
    def __init__(self, span, resource):
        attributes = values(span)
        self.region, self.route = values(resource).get("region", "?"), span["name"]
        self.trace, self.profile = span["traceId"], attributes.get("pyroscope.profile.id")
        self.cpu = 0    # nanoseconds


def values(owner):
    return {a["key"]: a["value"].get("stringValue") for a in owner.get("attributes", [])}


def read_rides(folder):
    rides = []
    for file in pathlib.Path(folder).glob("*/traces.jsonl"):
        for line in file.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                break       # still being written
            for group in json.loads(line)["resourceSpans"]:
                rides += [Ride(span, group["resource"]) for scope in group["scopeSpans"]
                          for span in scope["spans"] if span.get("kind") == SERVER]
    return rides


def read_cpu(folder):
    """CPU nanoseconds of each span id."""
    cpu = collections.Counter()
    for file in pathlib.Path(folder).glob("*/profiles/*.pb.gz"):
        for span, nanoseconds in samples(gzip.decompress(file.read_bytes())):
            cpu[span] += nanoseconds
    return cpu


def samples(profile):
    """(span id, CPU nanoseconds) of each sample of a pprof that has a span id."""
    strings, types, found = [], [], []
    for number, value in fields(profile):
        if number == 1:             # sample_type: type 1
            types.append(dict(fields(value)).get(1, 0))
        elif number == 2:           # sample: values 2, labels 3
            found.append(list(fields(value)))
        elif number == 6:
            strings.append(value.decode())
    names = [strings[t] for t in types]
    if "cpu" not in names:
        return
    for sample in found:
        numbers = [n for number, value in sample if number == 2 for n in unpacked(value)]
        for label in (dict(fields(value)) for number, value in sample if number == 3):
            if strings[label.get(1, 0)] == "span_id":       # label: key 1, str 2
                yield strings[label.get(2, 0)], numbers[names.index("cpu")]


def fields(message):
    """(number, value) of each field of a protobuf message: an int or bytes."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            value, at = varint(message, at)
        elif key & 7 == 2:
            size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        else:
            raise ValueError(f"pprof has no fields of wire type {key & 7}")
        yield key >> 3, value


def unpacked(value):
    """The numbers of a repeated field, packed or not."""
    if isinstance(value, int):
        yield value
        return
    at = 0
    while at < len(value):
        number, at = varint(value, at)
        yield number


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def table(folder):
    rides, cpu_of = read_rides(folder), read_cpu(folder)
    rows = collections.defaultdict(list)
    for ride in rides:
        ride.cpu = cpu_of[ride.profile] if ride.profile else 0
        rows[ride.region, ride.route].append(ride)
    form = "{:10}{:14}{:>9}{:>8}{:>17}{:>15}"
    lines = [form.format("region", "route", "requests", "linked", "CPU of linked", "for each")]
    total = {row: sum(ride.cpu for ride in group) for row, group in rows.items()}
    for (region, route), group in sorted(rows.items(), key=lambda r: (r[0][0], total[r[0]])):
        linked = [ride for ride in group if ride.profile]
        cpu = total[region, route]
        lines.append(form.format(
            region, route, len(group), len(linked), f"{cpu / 1e9:.2f} s",
            f"{cpu / 1e6 / len(linked):.0f} ms" if linked else "-"))
    costliest = max(rides, key=lambda ride: ride.cpu, default=None)
    if costliest and costliest.cpu:
        lines.append(f"costliest: {costliest.route} in {costliest.region}, "
                     f"{costliest.cpu / 1e6:.0f} ms of CPU, trace {costliest.trace}")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(table(sys.argv[1]))
