#!/usr/bin/env python3
"""Simulates a day of a gateway tier on Kafka (docs/scale.md), and says at which load it stops.

It computes; it measures nothing. Every number below that describes spanlink or a fleet is an
assumption, printed first, and an option: replace it by one that you measured. In steps of a minute:

- Services have Zipf shares of the fleet's spans. A service has as many sources (sidecars) as its
  peak needs; a source's key is its service and name, and murmur2 picks its partition, as the
  exporter does.
- The load follows a cosine over the day, from the trough to the peak.
- `range` gives each gateway consecutive partitions. A lane is on one core at a time; the lanes of a
  gateway share its cores fairly. What cannot be handled stays in Kafka.
- At --crash-at a gateway dies at the worst hour. Its lanes stand still for the session's time-out,
  then move, read the replay, and later move back.
- Spans wait for the whole hold. Each lane has its part of the limit (correlation's README, The
  clock); what is beyond leaves undecided.

The load is then raised in small steps until something stops the design: the day's load cannot be
handled, a backlog is not caught up within the time allowed, or a hold or an index is full.

Usage: bench/scale_sim.py [--OPTION VALUE]...; --json for figures.
"""
import argparse
import json
import math

MINUTES = 24 * 60
MIB = 1 << 20
OPTIONS = {
    "spans": (25_000.0, "spans a second of the fleet, at the peak"),
    "services": (500, "services"),
    "zipf": (1.1, "exponent of their shares"),
    "source_spans": (200.0, "spans a second of a source at the peak; a service has as many as needed"),
    "partitions": (48, "partitions of each topic"),
    "gateways": (6, "gateways"),
    "cores": (4, "cores of a gateway"),
    "core_spans": (500_000.0, "spans a second that a core handles"),
    "utilisation": (0.7, "share of that which is planned for"),
    "trough": (0.3, "load at night, as a share of the peak"),
    "waiting": (0.3, "share of spans that wait"),
    "hold_seconds": (45.0, "how long these wait"),
    "span_bytes": (600.0, "memory of a waiting span, bytes"),
    "packed": (0.2, "share of that when the hold is more than half full"),
    "hold_mib": (192.0, "hold_max_mib of a gateway"),
    "ids": (0.1, "span ids in samples, for each span"),
    "id_bytes": (24.0, "memory of an id in the index, bytes"),
    "remember_seconds": (3600.0, "remember"),
    "index_mib": (96.0, "index_max_mib of a gateway"),
    "wire_bytes": (250.0, "bytes of a span in Kafka, compressed"),
    "profile_bytes": (30.0, "bytes of profiles in Kafka, for each span"),
    "replay_seconds": (180.0, "replay"),
    "replay_factor": (3.0, "how much faster profiles are read for their ids than spans are handled"),
    "session_seconds": (45.0, "session_timeout"),
    "commit_seconds": (1.0, "how often offsets are committed"),
    "crash_minutes": (30, "how long the gateway that dies at the peak is away; 0: none dies"),
    "catch_up_minutes": (60, "in how long its backlog must be gone"),
    "retention_hours": (24.0, "retention of the topics"),
    "replication": (3, "replication factor"),
}


def murmur2(data):
    """Kafka's hash of keys, 32 bits without sign."""
    mask, m = 0xffffffff, 0x5bd1e995
    h = (0x9747b28c ^ len(data)) & mask
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at:at + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


# Values of Kafka's own tests (UtilsTest.testMurmur2).
assert murmur2(b"21") == -973932308 & 0xffffffff
assert murmur2(b"foobar") == -790332482 & 0xffffffff
assert murmur2(b"a-little-bit-long-string") == -985981536 & 0xffffffff


def partition_of(key, partitions):
    return (murmur2(key.encode()) & 0x7fffffff) % partitions


def partition_shares(o):
    """The share of the fleet's spans in each partition, and the number of sources."""
    weights = [1 / rank ** o.zipf for rank in range(1, o.services + 1)]
    total, shares, count = sum(weights), [0.0] * o.partitions, 0
    for number, weight in enumerate(weights):
        share = weight / total
        sources = max(1, math.ceil(share * o.spans / o.source_spans))
        count += sources
        for source in range(sources):
            shares[partition_of(f"service-{number}/source-{source}", o.partitions)] += \
                share / sources
    return shares, count


def load_at(o, minute):
    """Of the peak, which is in the middle of the day."""
    wave = (1 - math.cos(2 * math.pi * minute / MINUTES)) / 2
    return o.trough + (1 - o.trough) * wave


def assigned(o, present):
    """`range`: consecutive partitions for each gateway, the first ones get one more."""
    each, more = divmod(o.partitions, len(present))
    lanes, at = {}, 0
    for i, gateway in enumerate(present):
        size = each + (i < more)
        lanes[gateway] = range(at, at + size)
        at += size
    return lanes


def fair(demands, total, most):
    """Splits a capacity: nobody gets more than it wants or than `most`, and nobody who wants more
    gets less than another."""
    given, left, open_ = [0.0] * len(demands), total, list(range(len(demands)))
    while open_ and left > 1e-9:
        part = left / len(open_)
        done = [i for i in open_ if min(demands[i], most) - given[i] <= part]
        for i in done or open_:
            more = min(part, min(demands[i], most) - given[i])
            given[i] += more
            left -= more
        if not done:
            break
        open_ = [i for i in open_ if i not in done]
    return given


def hold_of(o, rates):
    """For the lanes of one gateway: MiB held, and the share of waiting spans that found no room."""
    limit, own = o.hold_mib * MIB, o.hold_mib * MIB / 2 / len(rates)
    wanted = [rate * o.waiting * o.hold_seconds * o.span_bytes for rate in rates]
    for i, plain in enumerate(wanted):
        # A lane compresses once its own limit, at most own + half, is half used.
        half = (own + limit / 2) / 2
        wanted[i] = plain if plain <= half else half + (plain - half) * o.packed
    beyond = fair([max(0.0, w - own) for w in wanted], limit / 2, math.inf)
    held = [min(w, own) + b for w, b in zip(wanted, beyond)]
    lost = sum(wanted) - sum(held)
    return sum(held) / MIB, lost / sum(wanted) if sum(wanted) else 0.0


def index_of(o, rates):
    """The fullest lane's part of its share of the index; above 1 ids are evicted early."""
    share = o.index_mib * MIB / len(rates)
    return max(rate * o.ids * o.remember_seconds * o.id_bytes for rate in rates) / share


class Day:
    """A day, minute by minute."""

    def __init__(self, o, shares):
        self.o, self.shares = o, shares
        self.lag = [0.0] * o.partitions  # spans
        self.worst = dict(lag=0.0, lag_minutes=0.0, core=0.0, gateway=0.0, hold=0.0, lost=0.0,
                          index=0.0, replayed=0.0, duplicates=0.0, caught_up=0)
        self.crash = MINUTES // 2
        self.before = {}

    def present(self, minute):
        away = self.o.crash_minutes and self.o.gateways > 1 and \
            self.crash <= minute < self.crash + self.o.crash_minutes
        return list(range(1 if away else 0, self.o.gateways))

    def stand_still(self, lane, gateway):
        """Seconds in which a lane that has just moved handles no spans: its old owner's time-out,
        if it died, and the replay."""
        o, before = self.o, self.before.get(lane, gateway)
        if before == gateway:
            return 0.0
        rate = self.shares[lane] * o.spans
        self.worst["replayed"] += rate * o.profile_bytes * o.replay_seconds
        # What was delivered behind a span that waits is listed in the commit.
        self.worst["duplicates"] += rate * o.commit_seconds
        died = before == 0
        return (o.session_seconds if died else 0.0) + \
            min(o.replay_seconds, rate * o.replay_seconds / (o.core_spans * o.replay_factor))

    def gateway(self, gateway, lanes, load):
        o, core = self.o, self.o.core_spans * self.o.utilisation
        arrived = [self.shares[lane] * o.spans * load * 60 for lane in lanes]
        time = [max(0.0, 60 - self.stand_still(lane, gateway)) / 60 for lane in lanes]
        demands = [(self.lag[lane] + n) * (t > 0) for lane, n, t in zip(lanes, arrived, time)]
        done = fair(demands, o.cores * core * 60, core * 60)
        for lane, n, t, d in zip(lanes, arrived, time, done):
            self.lag[lane] = max(0.0, self.lag[lane] + n - d * t)
            self.before[lane] = gateway
        rates = [n / 60 for n in arrived]
        held, lost = hold_of(o, rates)
        self.note(core=max(rates) / core, gateway=sum(rates) / core / o.cores, hold=held,
                  lost=lost, index=index_of(o, rates))

    def note(self, **figures):
        for name, value in figures.items():
            self.worst[name] = max(self.worst[name], value)

    def run(self):
        o = self.o
        for minute in range(MINUTES):
            load = load_at(o, minute)
            for gateway, lanes in assigned(o, self.present(minute)).items():
                if lanes:
                    self.gateway(gateway, lanes, load)
            lag = sum(self.lag)
            self.note(lag=lag, lag_minutes=lag / (o.spans * load * 60))
            if lag > o.spans * load:  # more than a second behind
                self.worst["caught_up"] = minute + 1 - self.crash
        self.worst["left"] = sum(self.lag)
        return self.worst


def stops(o, worst):
    """Why the design does not carry this load; the first cause is the one to remove."""
    if worst["core"] > 1:
        yield "the busiest partition needs more than one core: more sources or partitions"
    if worst["gateway"] > 1:
        yield "a gateway needs more than its cores: more gateways or cores"
    if worst["left"] > o.spans * o.trough or worst["caught_up"] > o.crash_minutes + o.catch_up_minutes:
        yield "a backlog is not caught up in time: more cores, or a lower utilisation"
    if worst["lost"] > 1e-9:
        yield "a hold is full, so spans leave undecided: raise hold_max_mib"
    if worst["index"] > 1:
        yield "an index is full, so ids are evicted early: raise index_max_mib or lower remember"


def simulate(o):
    shares, sources = partition_shares(o)
    worst = Day(o, shares).run()
    mean = sum((load_at(o, m) for m in range(MINUTES))) / MINUTES
    stored = o.spans * mean * (o.wire_bytes + o.profile_bytes) * o.retention_hours * 3600
    return {
        "sources": sources,
        "busiest partition, share of all": max(shares),
        "busiest partition, times the mean": max(shares) * o.partitions,
        "busiest lane at the peak, of one core": worst["core"],
        "busiest gateway at the peak, of its cores": worst["gateway"],
        "longest lag, minutes of load": worst["lag_minutes"],
        "minutes from the crash until caught up": worst["caught_up"],
        "replayed profiles, MiB, both moves": worst["replayed"] / MIB,
        "spans delivered twice, at most, both moves": worst["duplicates"],
        "fullest hold, MiB": worst["hold"],
        "waiting spans without room, share": worst["lost"],
        "fullest lane's index, of its share": worst["index"],
        "into Kafka at the peak, MiB/s": o.spans * (o.wire_bytes + o.profile_bytes) / MIB,
        "on the brokers' disks, GiB": stored * o.replication / (1 << 30),
    }, list(stops(o, worst))


def find_end(o):
    """The first load, in steps of 5 percent, that the design does not carry. None: beyond 1000
    times."""
    low = argparse.Namespace(**vars(o))
    while low.spans <= o.spans * 1000:
        why = simulate(low)[1]
        if why:
            return low.spans, why
        low.spans *= 1.05
    return None, []


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (default, text) in OPTIONS.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default,
                            help=f"{text} ({default:g})")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    o = parser.parse_args()
    figures, why = simulate(o)
    end, end_why = (o.spans, why) if why else find_end(o)
    if o.json:
        assumed = {name: getattr(o, name) for name in OPTIONS}
        print(json.dumps({"assumed": assumed, "figures": figures, "stops_at": end,
                          "because": end_why}, indent=1))
        return
    print("Assumed, not measured:")
    for name, (_, text) in OPTIONS.items():
        print(f"  {getattr(o, name):>12,g}  {text}")
    print("\nA day, at its worst:")
    for text, value in figures.items():
        print(f"  {value:>12,.4g}  {text}")
    print("\nThis load is", "not carried:" if why else "carried.")
    if not why and end:
        print(f"The design stops at {end:,.0f} spans a second:")
    for each in end_why:
        print(f"  - {each}")


if __name__ == "__main__":
    main()
