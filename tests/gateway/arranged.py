#!/usr/bin/env python3
"""Plays arrangements of tests/field through Kafka: each with a thin sidecar, topics and a gateway
of its own. Prints a line of JSON with the figures of each; run by Play, beside the tests."""
import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
for _folder in ("e2e", "faults", "field"):
    sys.path.append(str(HERE.parent / _folder))
import arrangements  # noqa: E402
import broker  # noqa: E402
import field  # noqa: E402
import figures  # noqa: E402
import harness  # noqa: E402
import tier  # noqa: E402

NAMES = ["1-one", "2-prefork-staggered", "3-mixed-instances", "4-late-1-to-5", "5-every-second",
         "6-tracer-behind", "7-children-batched", "16-restart"]
# Children that end before the first window does are not linked; docs/correlation.md.
FIRST_MISSED = ("7-children-batched",)
TIMES = re.compile("p50|p99|max")


class Through:
    """The simulator's sidecar, as a thin one and a gateway."""

    def __init__(self, folder, row, sink, kafka):
        name = f"field_{row.name}"
        self.sidecar = tier.Sidecar(folder, kafka, name, row.name)
        self.make = lambda: tier.Gateway(folder, kafka, name, Backend(sink), pod=row.name)
        self.http, self.ingest, self.cpu, self.rss = self.sidecar.http, self.sidecar.ingest, 0, 0
        self.program = None

    def start(self):
        self.sidecar.start()
        self.program = self.make()

    def measure(self):
        self.rss = self.program.peak_mib()

    def explain(self):
        return self.program.explain()

    def stop(self):
        assert self.sidecar.stop() == 0 and self.program.stop() == 0


class Backend:
    def __init__(self, sink):
        self.sink = sink

    def at(self, _sender):
        return f"http://{self.sink.address}"


class Run(field.Run):
    def __init__(self, row, out, kafka):
        super().__init__(row, 1, out)
        self.sidecar = Through(out / row.name, row, self.sink, kafka)


def row_of(name, seconds):
    """The row with the bounds that do not depend on the machine."""
    row = arrangements.load()[name]
    must = [bound for bound in row.must if not TIMES.match(bound)]
    if name not in FIRST_MISSED:
        must.append("recall >= 1")
    return dataclasses.replace(row, seconds=seconds or row.seconds, must=tuple(must))


def play(row, out, kafka):
    found = Run(row, out, kafka).play()
    return found | {"broken": figures.broken(row.must, found)}


class Play:
    """Runs this file; it plays while other tests run."""

    def __init__(self, kafka, folder, seconds):
        kafka.topics([f"field_{name}_{what}" for name in NAMES
                      for what in ("spans", "profiles")], 6)
        self.program = harness.Program("arranged", folder, [
            sys.executable, __file__, "--out", folder, "--seconds", seconds or 0,
            *kafka.addresses])

    def of(self, name):
        """The figures of one, once it was played."""
        def line():
            lines = [json.loads(each) for each in self.program.log.read_text().splitlines(True)
                     if each.startswith('{"name"') and each.endswith("\n")]
            return next((each for each in lines if each["name"] == name), None)
        found = harness.wait_for(lambda: line() or self.program.process.poll() is not None, 400)
        found = line()
        assert found, self.program.tail(40)
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=0, help="of load; 0: as the rows say")
    parser.add_argument("brokers", nargs="+")
    given = parser.parse_args()
    kafka = broker.Kafka(given.brokers)
    rows = [row_of(name, given.seconds) for name in NAMES]
    with concurrent.futures.ThreadPoolExecutor(len(rows)) as pool:
        played = {pool.submit(play, row, given.out, kafka): row.name for row in rows}
        for future in concurrent.futures.as_completed(played):
            print(json.dumps({"name": played[future], **future.result()}), flush=True)


if __name__ == "__main__":
    main()
