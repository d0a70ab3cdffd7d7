"""Reports a run: a line for each figure while it is measured, and the table of the page."""

import datetime
import os
import platform
import subprocess

import generators


def good(row):
    """"target", "required", "missed", or "" for a row without limits."""
    value = row["median"]
    for key, name in (("aim", "target"), ("must", "required")):
        limit = row[key]
        if limit is not None and (value <= limit if row["low"] else value >= limit):
            return name
    return "missed" if row["must"] is not None else ""


def sentence(row):
    text = (f"figure {row['figure']}, {row['case']}, against {row['against']}: "
            f"{row['median']:.2f} ({row['min']:.2f} to {row['max']:.2f}) {row['unit']}")
    if row["must"] is not None:
        sign = "<=" if row["low"] else ">="
        text += f"; required {sign} {row['must']}, target {sign} {row['aim']}: {good(row)}"
    return text


MARKS = ("<!-- figures -->", "<!-- /figures -->")


def number(value):
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"


def line(row):
    if "void" in row:
        return f"| {row['figure']} | {row['case']} | | void: {row['void']} | | | |"
    sign = "<= " if row["low"] else ""
    limits = [f"{sign}{row[key]:g}" if row[key] is not None else "" for key in ("must", "aim")]
    spread = f"{number(row['min'])} to {number(row['max'])}" if row["rounds"] > 1 else ""
    unit = {"x": ""}.get(row["unit"], " " + row["unit"])
    return (f"| {row['figure']} | {row['case']} | {row['against']} | "
            f"**{number(row['median'])}**{unit} | {spread} | {limits[0]} | {limits[1]} | "
            f"{good(row)} |")


def table(bench):
    head = ["| # | figure | against | median | rounds | required | target | reached |",
            "|---|---|---|---|---|---|---|---|"]
    return "\n".join(head + [line(row) for row in bench.rows])


def write(bench, page):
    """Replaces the text between the marks of a page by the table and facts()."""
    text = page.read_text()
    before, _, rest = text.partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    page.write_text(f"{before}{MARKS[0]}\n{facts(bench)}\n\n{table(bench)}\n{MARKS[1]}{after}")


def first_line(*argv):
    try:
        out = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return out.stdout.strip().splitlines()[0]
    except (OSError, IndexError):
        return "not installed"


def facts(bench):
    """One sentence with date, machine and versions."""
    model = next((row.partition(":")[2].strip() for row in open("/proc/cpuinfo")
                  if row.startswith("model name")), platform.machine())
    programs = bench.programs
    words = [f"{datetime.date.today()}, {bench.rounds} rounds of {bench.seconds:g} s each; "
             f"{os.cpu_count()} cores of {model}, Linux {platform.release().partition('-')[0]}",
             first_line(programs["spanlink"], "--version"),
             first_line(programs["collector"], "--version"),
             first_line(programs["nginx"], "-v"),
             first_line(generators.WRK, "--version").partition(" [")[0],
             first_line(generators.H2LOAD, "--version")]
    if bench.has("rotel"):
        words.append(first_line(programs["rotel"], "--version"))
    if bench.has("dataflow"):
        words.append("otel-arrow dataflow engine as supplied")
    return "Measured on " + "; ".join(words) + "."
