#!/usr/bin/env python3
"""Writes the key tables of the components' READMEs and of docs/service.md from the program's own.

Usage: key_tables.py PROGRAM [--check]. A README has its table between the lines "<!-- keys -->" and
"<!-- /keys -->". With --check nothing is written; if a table differs, it is named and the exit code
is 1.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = re.compile(r"<!-- keys -->\n.*?<!-- /keys -->", re.S)


def read_components(program):
    """{("exporters", "otlp_http"): [(name, type, default, text), ...]}"""
    out = subprocess.run([program, "components"], check=True, capture_output=True, text=True)
    found, kind, rows = {}, None, None
    for line in out.stdout.splitlines():
        if re.match(r"\w+:$", line):
            kind = line[:-1]
        elif re.match(r"  \w", line):
            rows = found.setdefault((kind, re.match(r"  (\w+)", line).group(1)), [])
        elif re.match(r"    \S", line):
            cells = re.split(r"  +", line.strip(), maxsplit=3)
            if len(cells) == 4:
                rows.append(cells)
    return found


def render(rows):
    lines = ["| key | type | default | |", "|---|---|---|---|"]
    for name, kind, default, text in rows:
        kind = kind.replace("|", "\\|")
        default = "" if default == "-" else default if default == "(required)" else f"`{default}`"
        lines.append(f"| `{name}` | {kind} | {default} | {text} |")
    return "<!-- keys -->\n" + "\n".join(lines) + "\n<!-- /keys -->"


def main():
    program, check = sys.argv[1], "--check" in sys.argv
    stale = []
    for (kind, name), rows in read_components(program).items():
        folder = ROOT / kind / name
        readme = ROOT / "docs" / "service.md" if kind == "service" else folder / "README.md"
        where = readme.relative_to(ROOT)
        old = readme.read_text() if readme.exists() else ""
        if not TABLE.search(old):
            stale.append(f"{where} has no key table")
            continue
        new = TABLE.sub(lambda _: render(rows), old)
        if new == old:
            continue
        if check:
            stale.append(f"{where} is not what `spanlink components` says")
        else:
            readme.write_text(new)
    print("\n".join(stale) if stale else "every key table is current")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
