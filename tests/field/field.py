#!/usr/bin/env python3
"""Plays arrangements of the field against spanlink, in real time, and holds what comes out against
the truth. README.md says how to read it."""
import argparse
import concurrent.futures
import dataclasses
import fcntl
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import threading
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
for _folder in ("e2e", "faults"):
    sys.path.append(str(HERE.parent / _folder))
import arrangements  # noqa: E402
import figures  # noqa: E402
import harness  # noqa: E402
import sidecar as sidecars  # noqa: E402
import timeline as timelines  # noqa: E402
import traffic  # noqa: E402

DRAIN = 100                 # seconds after the last request in which a span may still come
SETTLE = 2                  # and then a second copy of one


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--binary", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "spanlink")
    parser.add_argument("--only", default="", metavar="NAME,...",
                        help="rows, or the numbers of several")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="every figure")
    parser.add_argument("--spans", type=pathlib.Path, metavar="FOLDER",
                        help="a file of JSON lines for each row, a line a span")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "field",
                        metavar="FOLDER", help="for logs; of one run at a time")
    parser.add_argument("--jobs", type=int, default=8, help="rows side by side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--export", type=float, metavar="SECONDS",
                        help="between two exports, in place of what rows say; 0: each as it ends")
    return parser.parse_args()


_print = threading.Lock()


class Run:
    """One row from its start to its figures."""

    def __init__(self, row, seed, out):
        self.row = row
        self.timeline = timelines.build(row, random.Random(f"{seed} {row.name}"))
        self.proven = set()         # ids in uploads that were taken
        self.sink = sidecars.Sink()
        folder = out / row.name
        shutil.rmtree(folder, ignore_errors=True)
        self.sidecar = sidecars.Sidecar(folder, row, self.sink)
        self.senders = []

    def play(self):
        try:
            self.sidecar.start()
            self.send()
            self.drain()
            found = self.figures()
            self.sidecar.stop()
            return found
        finally:
            for sender in self.senders:
                sender.stop()
            if self.sidecar.program:
                self.sidecar.program.kill()
            self.sink.close()

    def send(self):
        exports = [traffic.ExportRequest(each, self.sidecar.http)
                   for each in self.timeline.exports]
        uploads = [traffic.UploadRequest(each, self.sidecar.ingest, self.proven)
                   for each in self.timeline.uploads]
        began, clock = traffic.stopwatch()
        self.sink.clock = clock
        self.senders = [traffic.Sender(requests, began, clock) for requests in (exports, uploads)]
        for sender in self.senders:
            sender.start()
        if self.row.killed:
            self.kill_and_restart()
        for sender in self.senders:
            sender.join()

    def kill_and_restart(self):
        pause, stopping = self.row.killed, self.senders[0].stopping
        stopping.wait(pause["at"] - self.sink.clock())
        self.sidecar.kill()
        stopping.wait(pause["down"])
        self.sidecar.start()

    def drain(self):
        self.sink.wait_for(len(self.timeline.spans),
                           self.timeline.ends + DRAIN - self.sink.clock())
        self.senders[0].stopping.wait(SETTLE)

    def figures(self):
        """Also asks spanlink; what comes after this is not counted."""
        self.sidecar.measure()
        with self.sink.lock:
            found = figures.of_run(self.timeline, self.proven, self.sink.copies)
        explained = self.sidecar.explain()
        return found | {
            "hold_full": sum(map(int, re.findall(r"hold full (\d+)", explained))),
            "cpu_s": self.sidecar.cpu, "rss_mib": self.sidecar.rss,
            "lag": max(sender.lag for sender in self.senders),
            "refusals": sum(sender.refusals for sender in self.senders),
            "given_up": sum(sender.given_up for sender in self.senders),
            "explain": explained.splitlines()}

    def write_spans(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f"{self.row.name}.jsonl", "w", encoding="utf-8") as file:
            for span in self.timeline.spans:
                came = self.sink.copies.get(span.id, [])
                file.write(json.dumps({
                    "id": span.id, "root": span.is_root, "start": span.start, "end": span.end,
                    "exported": span.exported, "sampled": span.id in self.proven,
                    "came": [at for at, _ in came], "linked": any(ids for _, ids in came)}) + "\n")


def chosen(given):
    rows, wanted = arrangements.load(), list(filter(None, given.only.split(",")))
    for each in wanted:
        if not any(is_named(name, each) for name in rows):
            sys.exit(f"field.py: there is no row {each}; there are {', '.join(rows)}")
    found = [row for name, row in rows.items()
             if not wanted or any(is_named(name, each) for each in wanted)]
    return found if given.export is None else [with_export(row, given.export) for row in found]


def is_named(name, wanted):
    return name == wanted or name.startswith(f"{wanted}-")


def with_export(row, seconds):
    return dataclasses.replace(row, process=tuple(
        dataclasses.replace(each, export=seconds) for each in row.process))


def play(row, given):
    """The figures, or None; tells of them as soon as they are known."""
    try:
        run = Run(row, given.seed, given.out)
        found = run.play()
        if given.spans:
            run.write_spans(given.spans)
        found["broken"] = figures.broken(row.must, found)
        told = f"{row.name}: " + ("; ".join(
            f"{bound}, it is {found[bound.split()[0]]:.4f}" for bound in found["broken"]) or "good")
    except Exception:   # one row that cannot be played is no reason to give the others up
        found, told = None, f"{row.name}: not played\n{traceback.format_exc()}"
    with _print:
        print(told, flush=True)
    return found


def play_all(rows, given):
    """Those that may, side by side; then the others."""
    with concurrent.futures.ThreadPoolExecutor(max(1, given.jobs)) as pool:
        beside = [row for row in rows if not row.alone]
        results = {row.name: pool.submit(play, row, given) for row in beside}
        results = {name: future.result() for name, future in results.items()}
    return results | {row.name: play(row, given) for row in rows if row.alone}


def claim(folder):
    """The lock, to be kept: another run there would remove the logs that this one reads."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = open(folder / "lock", "wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"field.py: another run goes on in {folder}; --out names another folder")
    return lock


def give_up(*_):
    """At once: the threads of the rows would go on for minutes."""
    harness.kill_what_runs()
    os._exit(130)


def main():
    given = options()
    if not given.binary.exists():
        sys.exit(f"field.py: there is no binary {given.binary}; ./run.sh --build makes it")
    rows = chosen(given)
    _lock = claim(given.out)
    harness.SPANLINK = given.binary.resolve()
    for each in (signal.SIGINT, signal.SIGTERM):    # also in the background of a shell
        signal.signal(each, give_up)
    results = play_all(rows, given)
    print("\n" + figures.heading())
    for row in rows:
        if results[row.name]:
            print(figures.table_line(row.name, results[row.name]))
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")
    failed = sum(not found or bool(found["broken"]) for found in results.values())
    print(f"\n{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
