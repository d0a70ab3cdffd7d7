"""Measures the figures of docs/benchmarks.md. See README.md; run.sh installs what it needs."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import drive
import figures
import report
from subjects import Collector, Nginx, Rotel, Spanlink

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Bench:
    """State shared by all figures: programs, cores, payloads, rounds."""

    def __init__(self, options, folder):
        build = ROOT / "build" / "bench"
        self.folder = folder
        self.rounds, self.seconds = options.rounds, options.seconds
        self.core, self.load_core = options.cores
        self.programs = {
            "spanlink": options.spanlink, "sink": str(build / "bench" / "bench_sink"),
            "collector": str(ROOT / "build/e2e/bin/otelcol-e2e"),
            "contrib": os.environ.get("OTELCOL_CONTRIB_BIN",
                                      str(ROOT / "build/e2e/bin/otelcol-contrib")),
            "nginx": "/usr/sbin/nginx",
            "rotel": options.rotel, "dataflow": options.dataflow, "build": str(build)}
        self.load = drive.Load(str(build / "bench" / "bench_load"), self.load_core)
        self.pools = {}
        self.profile_sink = self.sink()
        self.rows = []

    def sink(self, **options):
        return drive.Sink(self.programs["sink"], self.load_core, **options)

    def has(self, program):
        return bool(self.programs[program]) and os.path.exists(self.programs[program])

    def say(self, text):
        print(text, flush=True)

    def row(self, figure, case, against, values, unit="x", must=None, aim=None, low=False):
        """Adds a row to the table. values: one per round; low: smaller is better."""
        row = {"figure": figure, "case": case, "against": against, "unit": unit, "must": must,
               "aim": aim, "low": low, "median": statistics.median(values),
               "min": min(values), "max": max(values), "rounds": len(values)}
        self.rows.append(row)
        self.say(report.sentence(row))

    def printed_row(self, printed):
        """Adds a row printed by a program of the suite, with its own ratios or one value."""
        figure, case = str(printed["figure"]), printed["case"]
        must, aim = figures.limits(figure, case)
        spread = printed["ratio"]
        if figure == "11" and case.startswith("index"):
            spread = dict.fromkeys(("median", "min", "max"), printed["ours"])
        row = {"figure": figure, "case": case, "against": figures.AGAINST[figure], "must": must,
               "aim": aim, "low": True, "rounds": 1, **spread,
               "unit": "B" if spread["median"] == printed["ours"] else "x"}
        self.rows.append(row)
        self.say(report.sentence(row))

    def void(self, figure, case, why):
        self.rows.append({"figure": figure, "case": case, "void": str(why)})
        self.say(f"figure {figure}, {case}: void: {why}")


def read_options():
    parser = argparse.ArgumentParser(description="measures spanlink beside its peers")
    parser.add_argument("figures", nargs="*", help="numbers of figures (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="seconds of load per round")
    parser.add_argument("--cores", type=int, nargs=2, default=(0, 1), metavar=("SUBJECT", "LOAD"))
    parser.add_argument("--spanlink", default=str(ROOT / "build/bench/spanlink"))
    parser.add_argument("--rotel", default="")
    parser.add_argument("--dataflow", default="", help="path of the otel-arrow dataflow engine")
    parser.add_argument("--json", default=str(ROOT / "build/bench/figures.json"))
    parser.add_argument("--write", metavar="FILE", help="put the table into this page (docs/benchmarks.md)")
    return parser.parse_args()


def main():
    options = read_options()
    with tempfile.TemporaryDirectory(prefix="spanlink-bench-") as folder:
        bench = Bench(options, pathlib.Path(folder))
        wanted = options.figures or list(figures.ALL)
        for name in wanted:
            if name not in figures.ALL:
                sys.exit(f"bench: unknown figure {name}, expected one of {', '.join(figures.ALL)}")
        for subject in (Spanlink, Collector, Rotel, Nginx):
            bench.say(f"{subject.name}: {subject.settings}")
        for name in wanted:
            try:
                figures.ALL[name](bench)
            except (drive.Void, subprocess.CalledProcessError) as why:
                bench.void(name, "", why)
        bench.profile_sink.close()
        pathlib.Path(options.json).write_text(json.dumps(bench.rows, indent=1))
        if options.write:
            report.write(bench, pathlib.Path(options.write))
    sys.exit(any("void" in row for row in bench.rows))


if __name__ == "__main__":
    main()
