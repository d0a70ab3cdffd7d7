#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what spanlink made of the replayed sample: five traces, the flame graph of the route that
used the most CPU, how many requests have a profile, and the address of the status page.

Usage: show_sample.py URL, of the status extension. Waits until no span is held any more, 30 s at
most. Exit code 1: nothing answers there.
"""
import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE_S, TRACES, LINES, LEAST, FOLDED = 30, 5, 16, 0.02, 3
COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def get(url, path, **query):
    with urllib.request.urlopen(f"{url}{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
        return json.load(answer)


def settled(url):
    """The traces, once none of their spans waits for a profile."""
    until = time.monotonic() + PATIENCE_S
    while get(url, "/api/pipelines")["hold"]["spans"] and time.monotonic() < until:
        time.sleep(0.3)
    return get(url, "/api/traces", limit=1000, sort="cpu")["traces"]


def plain(text):
    """Names come from telemetry: nothing that a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in text)


def coloured(text, code):
    return f"\x1b[{code}m{text}\x1b[0m" if COLOURS else text


def duration(ns):
    return f"{ns / 1e9:.2f} s" if ns >= 1e9 else f"{ns / 1e6:.1f} ms"


def print_traces(traces):
    print(f"\nThe {min(TRACES, len(traces))} traces that used the most CPU:\n")
    for trace in traces[:TRACES]:
        linked = "no profile" if not trace["linked"] else (
            f"{duration(trace['cpu_ns'])} CPU" if trace["cpu_known"] else
            f"{duration(trace['wall_ns'])} wall time only")
        name = plain(f"{trace['service']} {trace['name']}")
        print(f"  {trace['trace_id'][:16]}  {name:<28.28}  {duration(trace['duration_ns']):>9}  "
              + coloured(linked, 32 if trace["linked"] else 33))


def print_graph(graph, width):
    """One line for each frame of at least LEAST of the total, the costlier child first; one for
    frames behind one another of which each makes but the next."""
    nodes, names, children = graph["nodes"], graph["names"], {}
    for index, (parent, _, total, _) in enumerate(nodes):
        if total >= LEAST * graph["total"]:
            children.setdefault(parent, []).append((total, index))

    def end_of_run(index):
        length = 0
        while len(of := children.get(index, [])) == 1 and \
                nodes[index][2] - of[0][0] < LEAST * graph["total"]:
            index, length = of[0][1], length + 1
        return index, length

    lines, stack = [], [(0, 0)]
    while stack and len(lines) < LINES:
        index, depth = stack.pop()
        lines.append((nodes[index][2], depth, plain(names[nodes[index][1]])))
        end, length = end_of_run(index)
        if length > FOLDED:
            index, depth = end, depth + 2
            lines += [(nodes[end][2], depth - 1, f"... {length - 1} frames ..."),
                      (nodes[end][2], depth, plain(names[nodes[end][1]]))]
        stack += [(child, depth + 1) for _, child in sorted(children.get(index, []))]
    for total, depth, name in lines:
        share, indent = total / graph["total"], "  " * min(depth, 8)
        bar, room = "█" * max(1, round(share * (width // 3))), width - width // 3 - 12 - len(indent)
        name = name if len(name) <= room else "…" + name[len(name) - room + 1:]
        print(f"  {share:6.1%}  {coloured(f'{bar:<{width // 3}}', 33)}  {indent}{name}")


def main():
    url = sys.argv[1].rstrip("/")
    width = shutil.get_terminal_size((100, 24)).columns
    try:
        traces = settled(url)
        routes = [r for r in get(url, "/api/cost")["routes"] if r["kind"] == "route"]
        print_traces(traces)
        if routes:
            hottest = routes[0]
            graph = get(url, "/api/flamegraph", service=hottest["service"],
                        name=hottest["span_name"])
            route = plain(f"{hottest['service']} {hottest['span_name']}")
            measured = "CPU" if ":cpu:" in graph["type"] else "wall time"
            print(f"\nThe flame graph of the hottest route, {coloured(route, 1)}: "
                  f"{duration(graph['total'])} {measured}\n")
            print_graph(graph, width)
    except (OSError, KeyError, ValueError):
        return 1
    linked = sum(1 for trace in traces if trace["linked"])
    print(f"\n{linked} of {len(traces)} requests have a profile; "
          f"the SDK had marked all {len(traces)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
