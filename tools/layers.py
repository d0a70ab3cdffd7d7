#!/usr/bin/env python3
"""Rejects includes that do not point down. Usage: layers.py [ROOT]

The table lists for every folder with C files what it may include besides itself: folders (with
"/*", their subfolders too) or single headers. docs/design.md shows it as a picture.
"""
import pathlib
import re
import sys

WIRE = ["lib/wire/*", "lib/base"]
CONTRACT = ["pipeline", "pipeline/delivery/delivery.h", "lib/net/*", "lib/settings/key.h",
            "lib/metrics", "lib/regex", "lib/attributes", "lib/ottl", "lib/kafka", *WIRE]

FOLDERS = {
    "lib/base": [],
    "lib/late": ["lib/base"],
    "lib/regex": ["lib/late", "lib/base"],
    "lib/journal": ["lib/base"],
    "lib/metrics": ["lib/wire/proto", "lib/base"],

    "lib/wire/proto": ["lib/base"],
    "lib/wire/codec": ["lib/late", "lib/base"],
    "lib/wire/http": ["lib/wire/proto", "lib/base"],
    "lib/wire/otlp": ["lib/wire/http", "lib/wire/proto", "lib/base"],
    "lib/wire/value": ["lib/wire/json", "lib/wire/otlp", "lib/wire/http", "lib/wire/proto",
                       "lib/base"],
    "lib/wire/json": ["lib/wire/otlp", "lib/wire/http", "lib/wire/proto", "lib/base"],
    "lib/wire/jfr": ["lib/wire/http", "lib/wire/codec", "lib/wire/proto", "lib/base"],
    "lib/wire/pprof": ["lib/wire/json", "lib/wire/http", "lib/wire/proto", "lib/base"],
    "lib/wire/profiles": ["lib/wire/pprof", "lib/wire/otlp", "lib/wire/codec", "lib/wire/proto",
                          "lib/base"],
    "lib/wire/edit": ["lib/wire/profiles", "lib/wire/value", "lib/wire/otlp", "lib/wire/proto", "lib/base"],

    "lib/settings": ["lib/wire/proto", "lib/wire/http/base64.h", "lib/base"],
    "lib/ottl": ["lib/regex", "lib/settings/key.h", *WIRE],
    "lib/attributes": ["lib/regex", "lib/settings/key.h", *WIRE],

    "lib/net": ["lib/wire/http", "lib/settings/key.h", "lib/base"],
    "lib/net/tls": ["lib/net", "lib/late", "lib/settings/key.h", "lib/base"],
    "lib/net/h2": ["lib/base"],
    "lib/net/http": ["lib/net", "lib/net/tls", "lib/net/h2", "lib/late", "lib/settings/key.h",
                     *WIRE],
    "lib/net/grpc": ["lib/net", "lib/net/tls", "lib/net/h2", "lib/settings/key.h", *WIRE],
    "lib/net/server": ["lib/net/*", "lib/settings/key.h", "lib/base"],

    "lib/kafka": ["lib/net", "lib/net/tls", "lib/late", "lib/settings/key.h", "lib/base"],

    "pipeline": ["lib/settings/key.h", "lib/metrics", *WIRE],
    "pipeline/delivery": ["pipeline", "lib/settings/key.h", "lib/metrics", *WIRE],
    "pipeline/graph": ["pipeline", "pipeline/delivery", "lib/journal", "lib/settings",
                       "lib/metrics", *WIRE],
    "pipeline/telemetry": ["pipeline", "pipeline/graph", "pipeline/delivery", "lib/journal",
                           "lib/metrics", "lib/net/*", "lib/settings", *WIRE],
    "pipeline/life": ["pipeline", "pipeline/graph", "pipeline/telemetry", "lib/metrics",
                      "lib/settings", "lib/base"],
    "cli": ["pipeline/component.h", "pipeline/life", "lib/net/*", "lib/settings", "lib/base",
            "lib/wire/json", "lib/wire/http/base64.h"],

    "receivers/*": CONTRACT,
    "receivers/pprof": [*CONTRACT, "lib/settings/yaml.h"],
    "processors/*": CONTRACT,
    "processors/redaction": [*CONTRACT, "lib/late"],
    "processors/correlation": [*CONTRACT, "processors/correlation/*"],
    "processors/correlation/lanes": [*CONTRACT, "processors/correlation/*"],
    "processors/correlation/known": CONTRACT,
    "processors/correlation/hold": [*CONTRACT, "processors/correlation/known"],
    "processors/correlation/release": [*CONTRACT, "processors/correlation/known",
                                       "processors/correlation/hold",
                                       "processors/correlation/correlation.h",
                                       "processors/correlation/tell.h"],
    "processors/correlation/rule": [*CONTRACT, "processors/correlation/known",
                                    "processors/correlation/hold",
                                    "processors/correlation/release",
                                    "processors/correlation/correlation.h",
                                    "processors/correlation/tell.h"],
    "examples/component/processors/environment": CONTRACT,
    "exporters/*": CONTRACT,
    "extensions/*": [*CONTRACT, "pipeline/life/runtime.h", "pipeline/life/rows.h"],
    "extensions/journal": [*CONTRACT, "lib/journal/journal.h"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def within(path, entry):
    """Whether a path (a folder or a header) matches an entry of the table."""
    if entry.endswith("/*"):
        return path == entry[:-2] or path.startswith(entry[:-1])
    return path == entry


def rule_of(folder):
    """What a folder may include; None: it is not in the table."""
    if folder in FOLDERS:
        return FOLDERS[folder]
    kind = folder.split("/")[0] + "/*"
    return FOLDERS.get(kind) if folder.count("/") == 1 else None


def allowed(folder, target):
    home = target.rpartition("/")[0]
    return home == folder or any(within(home, entry) or target == entry for entry in rule_of(folder))


def check(root):
    faults = []
    tops = sorted({entry.split("/")[0] for entry in FOLDERS})
    for file in sorted(file for top in tops for file in (root / top).rglob("*.[ch]")):
        path = file.relative_to(root)
        folder = str(path.parent)
        if "tests" in path.parts:
            continue
        if rule_of(folder) is None:
            faults.append(f"{path}: tools/layers.py has no entry for {folder}")
            continue
        for target in INCLUDE.findall(file.read_text()):
            if target.endswith(".pb-c.h"):
                continue
            if not (root / target).exists():
                faults.append(f"{path}: \"{target}\" is not a path from the root")
            elif not allowed(folder, target):
                faults.append(f"{path}: includes {target}, which is not below it")
    return faults


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    faults = check(root)
    print("\n".join(faults) if faults else "every include points down")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
