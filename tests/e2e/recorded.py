"""Replays the recordings in tests/recorded through spanlink, as run.sh does."""
import json
import pathlib
import sys
import time

import faults
import harness
import record
import rows
import wire
from wire import pbwire

RECORDINGS = pathlib.Path(__file__).parents[1] / "recorded"
SERVICES = {"python": "rideshare", "go": "rideshare-go", "java": "rideshare",
            "java_wall": "rideshare"}


def spans_of(recording):
    """The ids of all spans in a recording: resource_spans 1, scope_spans 2, spans 2."""
    found = []

    def descend(body, path):
        for number, kind, begin, end, _ in pbwire.fields(body):
            if path and (number, kind) == (path[0], 2):
                descend(body[begin:end], path[1:])
        if not path:
            ids = {n: body[b:e].hex() for n, _, b, e, _ in pbwire.fields(body) if n in (1, 2)}
            found.append({"trace_id": ids[1], "span_id": ids[2], "acknowledged": True})
    for request in json.loads((recording / "index.json").read_text())["requests"]:
        if request["path"].startswith("/v1/traces"):
            descend(wire.inflated((recording / request["file"]).read_bytes()), [1, 2, 2])
    return found


def play(folder, name):
    """Replays one recording once, with its own backends."""
    backends = faults.own_backends(folder)
    since, service = time.time(), SERVICES[name]
    reports = [{"spans": spans_of(RECORDINGS / name), "logs": [],
                "metrics": {"rides": 0, "acknowledged": False}}]
    spanlink = harness.Spanlink(folder, backends, "grpc")
    tee = record.Proxy(spanlink.pyroscope)
    player = harness.Program("play", folder, [
        sys.executable, RECORDINGS / "play.py", RECORDINGS / name, "--otlp", spanlink.otlp("http"),
        "--pyroscope", tee.url])
    try:
        code = player.wait(90)
        rows.wait_for_otlp(backends, service, reports, rows.SETTLE_SECONDS)
        rows.wait_for_profiles(backends.profiles, service, tee.exchanges, since, 20)
        ended = spanlink.stop()
        time.sleep(0.5)
        outcome = rows.Outcome(service, reports, tee.exchanges, backends, since)
    finally:
        player.kill()
        spanlink.kill()
        tee.close()
        backends.stop()
    outcome.played, outcome.exit_code = code, ended
    outcome.log = player.tail() + spanlink.tail()
    return outcome
