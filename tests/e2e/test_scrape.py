"""Profiles pulled from a real Go service without a profiling SDK, and a pushed profile."""
import json
import time
from collections import Counter

import pytest
import requests

import harness
import record
import wire

SERVICE = "pprof-target"
CONFIG = """\
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{otlp}"}}}}}}
  pprof_scrape:
    interval: 3s
    targets: [{{endpoint: "{target}", service_name: {service}, labels: {{env: e2e}}}}]
    server: {{endpoint: "127.0.0.1:{push}"}}
processors:
  correlation: {{}}
exporters:
  file: {{path: {folder}/traces.jsonl}}
  pyroscope: {{endpoint: "{profiles}"}}
service:
  pipelines:
    traces: {{receivers: [otlp], processors: [correlation], exporters: [file]}}
    profiles: {{receivers: [pprof_scrape], processors: [correlation], exporters: [pyroscope]}}
"""
CUMULATIVE = ("alloc_", "contentions", "delay")


class Tap(record.Handler):
    """Keeps the target's profiles."""

    def forward(self, body):
        status, headers, answer = super().forward(body)
        if status == 200:
            with self.server.lock:
                self.server.answers.append((self.path.partition("?")[0], answer))
        return status, headers, answer


class Run:
    def __init__(self, folder):
        self.folder = folder
        self.standin = harness.Standin(folder).start()
        listen, self.otlp, self.push = (harness.free_port() for _ in range(3))
        self.tap = record.Proxy(f"http://127.0.0.1:{listen}")
        self.tap.answers, self.tap.RequestHandlerClass = [], Tap
        config = folder / "spanlink.yaml"
        config.write_text(CONFIG.format(otlp=self.otlp, target=self.tap.url, service=SERVICE,
                                        push=self.push, folder=folder, profiles=self.standin.url))
        self.since = time.time()
        self.report = folder / "report.json"
        self.target = harness.Program("target", folder, [
            harness.BUILT / "pprof-target", "--listen", f"127.0.0.1:{listen}", "--service", SERVICE,
            "--otlp", f"http://127.0.0.1:{self.otlp}", "--seconds", 14, "--report", self.report])
        self.target.wait_ports(listen)
        self.spanlink = harness.Program("spanlink", folder,
                                        [harness.SPANLINK, "--config", config])
        self.spanlink.wait_ports(self.otlp, self.push)

    def profiles(self, name=""):
        with self.tap.lock:
            answers = list(self.tap.answers)
        return [wire.Profile(raw) for path, raw in answers if path.endswith(name)]

    def want(self):
        """What the server must have: the growth of cumulative values, the sum of others."""
        totals = Counter()
        for name in ("profile", "allocs", "goroutine", "mutex", "block"):
            pulled = self.profiles("/" + name)
            for profile in pulled:
                totals.update({k: v for k, v in profile.sums.items()
                               if not k.startswith(CUMULATIVE)})
            for kind, value in pulled[-1].sums.items() if pulled else ():
                if kind.startswith(CUMULATIVE):
                    totals[kind] += value - pulled[0].sums[kind]
        return {k: v for k, v in totals.items() if v}

    def have(self, service=SERVICE):
        return {k: v for k, v in self.standin.totals(service, self.since).items() if v}

    def spans(self):
        file = self.folder / "traces.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [span for line in lines for span in harness.read_spans(json.loads(line))]

    def sampled(self):
        return {span for profile in self.profiles("/profile")
                for span, values in profile.spans.items()
                if values.get("cpu:nanoseconds:cpu:nanoseconds", 0) > 0}

    def stop(self):
        self.target.kill()
        self.spanlink.kill()
        self.standin.stop()
        self.tap.close()


@pytest.fixture(scope="module")
def run(bypass, tmp_path_factory):
    if bypass:
        pytest.skip("no spanlink")
    it = Run(tmp_path_factory.mktemp("scrape"))
    try:
        assert harness.wait_for(it.report.exists, 60), it.target.tail()
        it.sent = [s["spanId"] for s in json.loads(it.report.read_text())]
        # Wait for two more complete CPU profiles, so that the windows cover the last span.
        count = len(it.profiles("/profile"))
        assert harness.wait_for(lambda: len(it.profiles("/profile")) > count + 1, 30)
        assert harness.wait_for(lambda: len(it.spans()) >= len(it.sent), 60), it.spanlink.tail()
        it.target.kill()
        harness.wait_for(lambda: it.have() == it.want(), 20)
        yield it
    finally:
        it.stop()


def test_every_span_arrives_once(run):
    assert Counter(s.span_id for s in run.spans()) == Counter(run.sent)


def test_spans_are_linked_exactly_where_pulled_samples_carry_their_id(run):
    linked = {s.span_id for s in run.spans() if s.profile_ids}
    assert linked and linked == run.sampled() & set(run.sent)
    assert len(linked) < len(run.sent)
    assert all(s.profile_ids in ([], [s.span_id]) for s in run.spans())


def test_the_sums_are_those_of_the_target(run):
    want = run.want()
    assert {k.partition(":")[0] for k in want} >= {
        "cpu", "samples", "alloc_space", "inuse_space", "goroutine", "contentions", "delay"}
    assert run.have() == want
    assert run.standin.complaints(SERVICE) == []


def test_a_flame_graph_stands_behind_each_link(run):
    at = time.time_ns()
    for span in run.spans():
        if span.profile_ids:
            assert run.standin.span_frames(SERVICE, span.profile_ids[0], span.start, at) > 1


def test_a_pushed_profile_arrives(run):
    path, raw = next((p, a) for p, a in run.tap.answers if p.endswith("/profile"))
    answer = requests.post(f"http://127.0.0.1:{run.push}/v1/pprof?name=pushed", data=raw,
                           timeout=10)
    assert answer.status_code == 204
    want = {k: v for k, v in wire.Profile(raw).sums.items() if v}
    assert harness.wait_for(lambda: run.have("pushed") == want, 20), run.have("pushed")


def test_spanlink_ends_in_order(run):
    assert run.spanlink.stop() == 0, run.spanlink.tail()
