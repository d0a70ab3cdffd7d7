#!/usr/bin/env python3
"""Refuses an include that does not point down. Usage: layers.py [ROOT]

The layers: cli -> pipeline -> settings -> wire -> late -> base, and net beside pipeline, above wire
and the key tables. A component sees the framework's contracts, everything below, and its own folder.
"""
import pathlib
import re
import sys

BELOW = {
    "base": {"base"},
    "wire": {"wire", "late", "base"},
    "journal": {"journal", "base"},
    "settings": {"settings", "wire", "base"},
    "late": {"late", "base"},
    "net": {"net", "settings/key.h", "late", "wire", "base"},
    "pipeline": {"pipeline", "journal", "settings", "wire", "base"},
    "cli": {"cli", "pipeline", "settings", "wire", "base"},
    "main.c": {"cli"},
}
CONTRACTS = {
    "pipeline/component.h", "pipeline/env.h", "pipeline/batch.h", "pipeline/delivery.h", "pipeline/otlp_request.h",
    "settings/key.h", "pipeline/memory_limit.h",
}
COMPONENTS = {
    "receivers": CONTRACTS | {"pipeline/pprof_request.h", "settings/yaml.h"},
    "processors": CONTRACTS,
    "exporters": CONTRACTS | {"pipeline/otlp_form.h"},
    "extensions": CONTRACTS | {"pipeline/runtime.h", "journal/journal.h"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def allowed(path, target):
    top = path.parts[0]
    if top in COMPONENTS:
        own = "/".join(path.parts[:2]) + "/"
        layer = target.split("/")[0]
        return target in COMPONENTS[top] or layer in {"net", "wire", "base"} or \
            target.startswith(own)
    below = BELOW[top]
    return target in below or target.split("/")[0] in below


def check(root):
    faults = []
    for top in list(BELOW) + list(COMPONENTS):
        start = root / top
        files = [start] if start.is_file() else sorted(start.rglob("*.[ch]"))
        for file in files:
            path = file.relative_to(root)
            for target in INCLUDE.findall(file.read_text()):
                if target.endswith(".pb-c.h"):
                    continue
                if not (root / target).exists():
                    faults.append(f"{path}: \"{target}\" is not a path from the root")
                elif not allowed(path, target):
                    faults.append(f"{path}: includes {target}, which is not below it")
    return faults


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    faults = check(root)
    print("\n".join(faults) if faults else "every include points down")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
