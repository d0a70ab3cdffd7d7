"""The substitute server refuses what a Pyroscope server refuses, with the same statuses, and
answers span queries in the same way. Otherwise the other tests would prove little."""
import base64
import json
import re
import time

import pytest
import requests

import harness
import record
import wire
from wire import pbwire

SERIES = {"__name__": "process_cpu", "service_name": "shop"}
SPAN = "00000bac2a5ab0c7"


class Pprof:
    """Builds a CPU profile; tests introduce errors before build()."""

    def __init__(self, at=None):
        self.strings, self.at = [""], time.time_ns() if at is None else at
        self.types, self.samples = [("cpu", "nanoseconds")], []
        self.location_id = self.function_id = 1
        self.stack = self.line = True

    def text(self, string):
        if string not in self.strings:
            self.strings.append(string)
        return self.strings.index(string)

    def sample(self, *values, **labels):
        self.samples.append((values, labels))
        return self

    def build(self):
        def number(field, value):
            return pbwire.encode_varint(field << 3) + pbwire.encode_varint(value)

        def nested(field, *parts):
            return pbwire.field_bytes(field, b"".join(parts))

        def kind(field, name, unit):
            return nested(field, number(1, self.text(name)), number(2, self.text(unit)))

        out = b"".join(kind(1, *t) for t in self.types)
        for values, labels in self.samples:
            out += nested(2, number(1, self.location_id) if self.stack else b"",
                          *(number(2, v) for v in values),
                          *(nested(3, number(1, self.text(k)), number(2, self.text(v)))
                            for k, v in labels.items()))
        out += nested(4, number(1, self.location_id),
                      nested(4, number(1, self.function_id)) if self.line else b"")
        out += nested(5, number(1, self.function_id), number(2, self.text("work")))
        out += kind(11, "cpu", "nanoseconds")
        out += number(9, self.at) + number(10, 10**10) + number(12, 10**7)
        return out + b"".join(
            pbwire.field_bytes(6, s if isinstance(s, bytes) else s.encode()) for s in self.strings)


@pytest.fixture
def server(tmp_path):
    standin = harness.Standin(tmp_path).start()
    yield standin
    standin.stop()


def push(server, profile, labels=SERIES):
    pairs = labels.items() if isinstance(labels, dict) else labels
    raw = profile if isinstance(profile, bytes) else profile.build()
    return requests.post(f"{server.url}/push.v1.PusherService/Push", timeout=10, json={"series": [{
        "labels": [{"name": k, "value": v} for k, v in pairs],
        "samples": [{"rawProfile": base64.b64encode(raw).decode()}]}]})


def refusal(answer):
    return answer.status_code, answer.json()["code"]


def stored(server):
    return requests.get(f"{server.url}/debug/profiles", timeout=10).json()["profiles"]


def test_recipe_of_a_span_query(server):
    answer = push(server, Pprof().sample(10, span_id=SPAN, trace_id="ab" * 16)
                  .sample(20, profile_id="ffffffffffffffff").sample(30))
    assert answer.status_code == 200, answer.text
    now = time.time_ns()
    assert server.totals("shop", now / 1e9) == {"cpu:nanoseconds:cpu:nanoseconds": 60}
    assert server.span_frames("shop", SPAN, now, now) == 2
    assert server.span_frames("shop", "f" * 16, now, now) == 2
    assert server.span_frames("shop", "1" * 16, now, now) == 1
    assert server.span_frames("other", SPAN, now, now) == 1
    assert server.span_frames("shop", SPAN, now - 10**12, now - 10**12) == 1
    names = set(server.ask("LabelNames", {"start": "1", "end": "2"})["names"])
    assert names.isdisjoint({"span_id", "profile_id", "trace_id"})


def test_other_sample_labels_become_series(server):
    push(server, Pprof().sample(10, span_id=SPAN, span_name="a").sample(20, span_name="b"))
    assert sorted(p["labels"]["span_name"] for p in stored(server)) == ["a", "b"]


@pytest.mark.parametrize("bad", ["123", "g" * 16, "0" * 16, "1" * 17])
def test_an_odd_span_id_is_no_span(server, bad):
    assert push(server, Pprof().sample(10, span_id=bad)).status_code == 200
    assert stored(server)[0]["spans"] == {}


def test_equal_labels_and_time_lose_the_later(server):
    at = time.time_ns()
    for value in (10, 20):
        assert push(server, Pprof(at).sample(value)).status_code == 200
    assert server.totals("shop", at / 1e9) == {"cpu:nanoseconds:cpu:nanoseconds": 10}
    assert [p["duplicate"] for p in stored(server)] == [False, True]


def changed(**what):
    profile = Pprof().sample(1)
    for name, value in what.items():
        setattr(profile, name, value)
    return profile


@pytest.mark.parametrize("profile", [
    changed(stack=False), changed(line=False), changed(stack=False, line=False)])
def test_what_has_no_frame_is_in_no_flame_graph(server, profile):
    """As in the real server, which accepts the samples silently."""
    profile.samples = [((10,), {"span_id": SPAN})]
    assert push(server, profile).status_code == 200
    now = time.time_ns()
    assert server.span_frames("shop", SPAN, now, now) == 1
    assert server.totals("shop", now / 1e9) in ({}, {"cpu:nanoseconds:cpu:nanoseconds": 0})
    assert wire.Profile(profile.build()).spans == {}


@pytest.mark.parametrize("profile", [
    changed(types=[]), changed(strings=["x"]), changed(location_id=0), changed(function_id=0),
    changed(types=[("cpu-time", "nanoseconds")]), changed(samples=[((1, 2), {})]),
    changed(strings=["", b"\xff"]), changed(at=time.time_ns() - 3700 * 10**9),
    changed(at=time.time_ns() + 700 * 10**9), changed(samples=[((1,), {})] * 16001),
    changed(samples=[((1,), {f"l{i}": "x" for i in range(101)})]),
    changed(samples=[((1,), {f"l{i}": "x" for i in range(29)})]),
], ids=["no types", "string 0", "location 0", "function 0", "dash", "value count", "utf8", "old",
        "new", "samples", "labels of a sample", "promoted labels"])
def test_a_bad_profile_is_an_invalid_argument(server, profile):
    assert refusal(push(server, profile)) == (400, "invalid_argument")
    assert stored(server) == []


@pytest.mark.parametrize("labels", [
    {"service_name": "shop"}, {**SERIES, "a": "x" * 2049}, {**SERIES, "a" * 1025: "x"},
    [*SERIES.items(), ("a", "1"), ("a", "1")], {**SERIES, **{f"l{i}": "" for i in range(29)}},
], ids=["no name", "long value", "long name", "duplicate", "31 labels"])
def test_bad_labels_are_an_invalid_argument(server, labels):
    assert refusal(push(server, Pprof().sample(1), labels)) == (400, "invalid_argument")


def test_what_is_no_pprof_is_unknown(server):
    assert refusal(push(server, b"\x0a\xff\xff\xff")) == (500, "unknown")


def test_more_than_the_burst_never_passes(server):
    big = Pprof().sample(1)
    big.strings.append("x" * (2 << 20))
    assert refusal(push(server, big)) == (429, "resource_exhausted")
    big.strings.append("x" * (3 << 20))
    assert refusal(push(server, big)) == (400, "invalid_argument")


def test_a_series_without_service_is_kept_as_unknown(server):
    assert push(server, Pprof().sample(1), {"__name__": "process_cpu"}).status_code == 200
    assert stored(server)[0]["labels"]["service_name"] == "unknown_service"


def test_ingest(server):
    def post(query, body, **headers):
        return requests.post(f"{server.url}/ingest?{query}", body, headers=headers, timeout=10)

    good = Pprof().sample(7).build()
    assert post("name=shop{a.b=c d}&format=pprof&spyName=x", good).status_code == 200
    assert stored(server)[0]["labels"] == {
        "__name__": "process_cpu", "service_name": "shop", "a.b": "c d", "pyroscope_spy": "x"}
    assert post("name=&format=pprof", good).status_code == 400
    assert refusal(post("name=shop&format=pprof", b"\x0a\xff")) == (422, "unknown")
    assert post("name=shop&format=pprof", b"").status_code == 200
    parts = {"prev_profile": ("p", good), "profile": ("p", good)}
    assert requests.post(f"{server.url}/ingest?name=shop", files=parts,
                         timeout=10).status_code == 422
    assert post("name=shop&format=lines", b"a;b 1\n").status_code == 200
    kept = requests.get(f"{server.url}/debug/profiles", timeout=10).json()["opaque"][0]
    assert kept["query"] == "name=shop&format=lines"
    assert base64.b64decode(kept["body"]) == b"a;b 1\n"


def test_java_flight_recordings_are_converted(server):
    """Exactly as read by the JDK's own tool; jfr_event is the recorded event."""
    folder = harness.HERE.parent / "recorded" / "java"
    upload = [r for r in json.loads((folder / "index.json").read_text())["requests"]
              if r["path"].startswith("/ingest")][0]
    body = (folder / upload["file"]).read_bytes()
    now = int(time.time())
    path = re.sub("(from|until)=[0-9]+", lambda m: f"{m[1]}={now}", upload["path"])
    answer = requests.post(server.url + path, body, headers=upload["headers"], timeout=30)
    assert answer.status_code == 200, answer.text
    exchange = record.Exchange(0, "POST", path, upload["headers"], body, 200)
    seen = wire.profiles(exchange)[0]
    totals = server.totals("rideshare", now)
    assert totals[wire.CPU] == seen.sums[wire.CPU] > 0 and len(seen.spans) > 5
    for span in seen.spans:
        assert server.span_frames("rideshare", span, now * 10**9, now * 10**9) > 1
    assert requests.post(f"{server.url}/ingest?name=shop&format=jfr", b"\x00\x01",
                         timeout=10).status_code == 422


def test_faults_come_and_go(server):
    server.fault(status=503, count=1)
    assert push(server, Pprof().sample(1)).status_code == 503
    assert push(server, Pprof().sample(1)).status_code == 200


def test_query_errors(server):
    now = int(time.time() * 1000)
    query = {"profileTypeID": harness.CPU, "labelSelector": "{}", "spanSelector": ["12"],
             "start": str(now - 1000), "end": str(now)}
    ask = f"{server.url}/querier.v1.QuerierService/SelectMergeSpanProfile"
    answer = requests.post(ask, json=query, timeout=10)
    assert answer.status_code == 500 and "invalid span id length" in answer.text
    for missing in ("labelSelector", "start"):
        wrong = {k: v for k, v in query.items() if k != missing}
        assert requests.post(ask, json=wrong, timeout=10).status_code == 400
