"""The two programs that are compared: spanlink and the Collector, each with one pipeline for every
case and signal, all fed by one receiver, each into a file of its own."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import yaml

import corpus

ROOT = pathlib.Path(__file__).parents[2]
SPANLINK = pathlib.Path(os.environ.get("SPANLINK_BIN", ROOT / "build" / "release" / "spanlink"))
OTELCOL = pathlib.Path(os.environ.get("OTELCOL_CONTRIB_BIN",
                                      ROOT / "build" / "e2e" / "bin" / "otelcol-contrib"))
PATHS = {"traces": "/v1/traces", "metrics": "/v1/metrics", "logs": "/v1/logs",
         "profiles": "/v1development/profiles"}
HEADERS = [("X-Tenant", "acme"), ("X-Forwarded-For", "203.0.113.7, 198.51.100.2"),
           ("X-Empty", ""), ("X-Several", "one"), ("x-several", "two"), ("X-Several", "three")]
ENV = {"OTEL_RESOURCE_ATTRIBUTES": "team=payments,deployment.environment=prod%20one",
       "K8S_POD_NAME": "pod-1", "NODE_NAME": "node-x"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def config(side, cases, folder, port):
    """One configuration of all cases. Ids are TYPE/CASE, so that no two cases share a processor."""
    made = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}",
                                                          "include_metadata": True}}}},
            "processors": {}, "exporters": {},
            "service": {"telemetry": {"metrics": {"level": "none"}}, "pipelines": {}}}
    for number, case in enumerate(cases):
        ids = []
        for name, settings in case["processors"].items():
            kind = name.partition("/")[0]
            ident = f"{kind}/c{number}x{len(ids)}"
            made["processors"][ident] = settings
            ids.append(ident)
        for what in case.get("signals", ["traces", "metrics", "logs"]):
            ident = f"file/c{number}{what}"
            made["exporters"][ident] = {"path": f"{folder}/c{number}.{what}.jsonl"}
            if what == "profiles" and side == "spanlink":
                made["exporters"][ident]["profiles"] = "lines"
            made["service"]["pipelines"][f"{what}/c{number}"] = {
                "receivers": ["otlp"], "processors": ids, "exporters": [ident]}
    return made


def command(side, path):
    if side == "spanlink":
        return [str(SPANLINK), "--config", str(path)]
    return [str(OTELCOL), "--config", str(path), "--feature-gates=service.profilesSupport"]


def post(port, what, request):
    """The status of one request."""
    body = json.dumps(request).encode()
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    client.putrequest("POST", PATHS[what])
    for name, value in [("Content-Type", "application/json"), ("Content-Length", str(len(body))),
                        *HEADERS]:
        client.putheader(name, value)
    client.endheaders(body)
    status = client.getresponse().status
    client.close()
    return status


def feed(side, settings, port, folder, signals, env=None, then=None):
    """Sends the corpus to one of the programs with these settings; the statuses by signal. then is
    called before the stop."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False))
    log = open(folder / "log", "wb")
    process = subprocess.Popen(command(side, path), stdout=log, stderr=log,
                               env={**os.environ, **ENV, **(env or {})})
    statuses = {}
    try:
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > until:
                    raise AssertionError(f"{side} does not start:\n"
                                         + (folder / "log").read_text()[-6000:]) from None
                time.sleep(0.05)
        for what in signals:
            statuses[what] = [post(port, what, request) for request in corpus.REQUESTS[what]]
        if then:
            then()
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
    assert code == 0, (side, code, (folder / "log").read_text()[-3000:])
    return statuses


def read_lines(file):
    lines = file.read_text().split("\n") if file.exists() else []
    return [json.loads(line) for line in lines if line]


def run(side, cases, folder):
    """What each case made of the corpus: {(case's number, signal): requests}, and the statuses."""
    folder.mkdir(parents=True)
    port = free_port()
    signals = [what for what in PATHS
               if any(what in case.get("signals", ["traces", "metrics", "logs"]) for case in cases)]
    statuses = feed(side, config(side, cases, folder, port), port, folder, signals)
    made = {}
    for number, case in enumerate(cases):
        for what in case.get("signals", ["traces", "metrics", "logs"]):
            made[number, what] = read_lines(folder / f"c{number}.{what}.jsonl")
            if case.get("unordered"):
                made[number, what] = unordered(made[number, what])
    return made, statuses


def run_file(side, path, folder, without=(), env=None):
    """What a whole file makes of the corpus, by signal: with a free port, into files, and without
    the processors and receivers that one of the programs does not have."""
    folder.mkdir(parents=True)
    port = free_port()
    settings = yaml.safe_load(path.read_text())
    for kind in ("receivers", "processors"):
        settings[kind] = {name: each for name, each in settings[kind].items()
                          if name not in without}
    settings["receivers"]["otlp"] = {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}
    if "pyroscope" in settings["receivers"]:
        settings["receivers"]["pyroscope"] = {"endpoint": "127.0.0.1:0"}
    settings["exporters"] = {}
    settings["service"]["telemetry"] = {"metrics": {"level": "none"}}
    pipelines = settings["service"]["pipelines"]
    if without:
        del pipelines["profiles"]
        settings["processors"]["resourcedetection"]["detectors"].remove("k8s")
        del settings["processors"]["probabilistic_sampler"]["keep_linked"]
    for what, pipeline in pipelines.items():
        settings["exporters"][f"file/{what}"] = {"path": f"{folder}/{what}.jsonl"}
        pipeline["exporters"] = [f"file/{what}"]
        for kind in ("receivers", "processors"):
            pipeline[kind] = [name for name in pipeline[kind] if name not in without]
    signals = [what for what in PATHS if what in pipelines and what != "profiles"]
    statuses = feed(side, settings, port, folder, signals, env)
    return {what: read_lines(folder / f"{what}.jsonl") for what in signals}, statuses


def validate(side, case, folder):
    """Whether the configuration of a case is good, and what is said of it."""
    folder.mkdir(parents=True)
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config(side, [case], folder, 4318), sort_keys=False))
    words = command(side, path)
    ran = subprocess.run([words[0], "validate", *words[1:]], capture_output=True, text=True,
                         env={**os.environ, **ENV})
    return ran.returncode == 0, ran.stdout + ran.stderr


# ---- content ----

NAMES = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]


def plain_value(given):
    """An AnyValue with numbers as numbers and maps by key."""
    if not given:
        return None
    (kind, content), = given.items()
    if kind == "intValue":
        return ["int", int(content)]
    if kind == "doubleValue":
        return ["double", repr(float(content))]
    if kind == "arrayValue":
        return ["list", [plain_value(each) for each in content.get("values", [])]]
    if kind == "kvlistValue":
        return ["map", plain_attributes(content.get("values", []))]
    return [kind, content]


def plain_attributes(given):
    return sorted([each.get("key", ""), plain_value(each.get("value", {}))] for each in given)


def plain(given, key=None):
    """A request without what says nothing: fields at their default, order of attributes, forms of
    numbers."""
    if key in ("attributes", "metadata", "filteredAttributes"):
        return plain_attributes(given)
    if key == "body":
        return plain_value(given)
    if isinstance(given, dict):
        made = {name: plain(each, name) for name, each in given.items()}
        return {name: each for name, each in made.items()
                if each not in ({}, [], "", 0, None, False) or name in ("asInt", "asDouble")}
    if isinstance(given, list):
        return [plain(each) for each in given]
    if key in ("traceId", "spanId", "parentSpanId", "profileId"):
        return given.lower()
    if isinstance(given, str) and given.lstrip("-").isdigit():
        return int(given)
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return float(given) if isinstance(given, float) and given != int(given) else int(given)
    return given


def resolved(given, strings):
    """Profiles with texts in place of references into the dictionary's strings."""
    if isinstance(given, list):
        return [resolved(each, strings) for each in given]
    if not isinstance(given, dict):
        return given
    made = {}
    for key, each in given.items():
        if key.endswith("trindex"):
            made[key.removesuffix("Strindex").removesuffix("_strindex")] = strings[int(each)]
        elif key != "stringTable":
            made[key] = resolved(each, strings)
    return made


def unordered(given):
    """A request with its data points in one order: the Collector merges them in any."""
    if isinstance(given, list):
        return [unordered(each) for each in given]
    if not isinstance(given, dict):
        return given
    made = {key: unordered(each) for key, each in given.items()}
    if "dataPoints" in made:
        made["dataPoints"].sort(key=lambda each: json.dumps(plain(each), sort_keys=True))
    return made


def content(requests):
    made = [plain(resolved(each, each.get("dictionary", {}).get("stringTable", [])))
            for each in requests]
    return sorted(json.dumps(each, sort_keys=True) for each in made if each)


def difference(ours, theirs):
    """Both as text, for people."""
    import difflib
    a, b = ([line for text in content(side)
             for line in json.dumps(json.loads(text), indent=1, sort_keys=True).splitlines()]
            for side in (theirs, ours))
    return "\n".join(difflib.unified_diff(a, b, "Collector", "spanlink", lineterm="", n=4))


if __name__ == "__main__":  # for people: compare one file of cases
    import tempfile
    chosen = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text())
    if len(sys.argv) > 2:
        chosen = [case for case in chosen if sys.argv[2] in case["name"]]
    with tempfile.TemporaryDirectory() as temporary:
        sides = {side: run(side, chosen, pathlib.Path(temporary) / side)
                 for side in ("spanlink", "otelcol")}
    bad = 0
    print({side: each[1] for side, each in sides.items()})
    for at, one in sides["spanlink"][0].items():
        two = sides["otelcol"][0][at]
        if content(one) != content(two):
            bad += 1
            print(f"== {chosen[at[0]]['name']} ({at[1]})\n{difference(one, two)}")
    print(f"{len(sides['spanlink'][0])} compared, {bad} differ")
