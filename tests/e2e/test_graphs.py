"""Flame graphs over the API: which samples they have, and what becomes of one that memory cannot
hold."""
import random
import time

import requests

import test_status
import uploads
from test_status import Status, needs_spanlink    # noqa: F401

FORMATS = ["json", "pprof", "folded", "svg"]


def deep_stacks(seed, stacks=1700, depth=30):
    random_, pprof = random.Random(seed), uploads.Pprof([("cpu", "nanoseconds")])
    for _ in range(stacks):
        pprof.sample([1], [f"f{random_.randrange(40)}" for _ in range(depth)])
    return pprof


def test_a_graph_beyond_24_mib_is_refused_before_its_first_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(test_status, "CONFIG", test_status.CONFIG
                        .replace("processors: {{", "processors: {{memory_limiter: "
                                 "{{limit_mib: 24}}, ")
                        .replace("[correlation]", "[memory_limiter, correlation]"))
    status = Status(tmp_path)
    for upload in range(40):
        status.push("m", deep_stacks(upload), time.time_ns() - 10**9, 10**9)
    answers = [requests.get(status.url(f"/api/flamegraph?service=m&format={kind}"), timeout=60)
               for kind in FORMATS]
    assert all(answer.status_code == 200 or "not enough memory" in answer.json()["error"]
               for answer in answers)
    assert {answer.status_code for answer in answers} >= {503}
    assert status.stop() == 0, status.tail()
