"""Each profiling SDK with its quirks: exactly the spans with samples are linked (sdks.py). And the
responses to the SDKs: Java retries only 429 and 5xx, the others never retry."""
import signal
import time

import pytest
import requests

import harness
import sdks
import uploads


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


@pytest.fixture(scope="session")
def all_told(tmp_path_factory, backends):
    """The outcomes of the stories, run concurrently, and spanlink's exit code."""
    return sdks.tell_all(tmp_path_factory.mktemp("sdks"), backends)


@pytest.fixture(params=sdks.STORIES)
def told(request, all_told):
    return all_told[0][request.param]


def test_every_span_arrives_once(told):
    assert dict(told.copies) == dict.fromkeys(told.expected, 1)


def test_exactly_the_spans_with_samples_are_linked(told):
    assert told.links == {span: [profile] if profile else []
                          for span, profile in told.expected.items()}


def test_every_link_opens_a_flame_graph(told):
    assert [profile for profile, levels in told.graphs.items() if levels <= 1] == []


def test_profiles_arrive_with_their_sums_unchanged(told):
    assert told.complaints == []
    assert told.stored == told.sent


def test_spanlink_ends_clean(all_told):
    _, code, log = all_told
    assert code == 0, log


# Responses to clients

NOW = time.time_ns()
OCTETS = {"Content-Type": "application/octet-stream"}
PROTO = {"Content-Type": "application/proto"}
TEXT = {"Content-Type": "text/plain"}


def pprof(function="work"):
    return uploads.Pprof([("cpu", "nanoseconds")]).sample([1], (function,)).encode(NOW, 10**10)


def pushed(raw, **labels):
    return uploads.push_request({"__name__": "process_cpu", "service_name": "told", **labels}, raw)


def formed(**parts):
    body, content_type = uploads.form(**parts)
    return {"Content-Type": content_type}, body


# path, headers and body; spanlink's status, and Pyroscope 2.2's according to its source code
ODD = {
    "no name": ("/ingest?format=pprof", OCTETS, pprof(), 400, 400),
    "a space in the name": ("/ingest?name=a+b&format=pprof", OCTETS, pprof(), 400, 400),
    "a dash in a label": ("/ingest?name=a{b-c=d}&format=pprof", OCTETS, pprof(), 400, 400),
    "a list that does not end": ("/ingest?name=a{b=c&format=pprof", OCTETS, pprof(), 400, 200),
    "no pprof": ("/ingest?name=a&format=pprof", OCTETS, b"x", 422, 422),
    "an empty pprof": ("/ingest?name=a&format=pprof", OCTETS, b"", 200, 200),
    "raw, but no format": ("/ingest?name=a", OCTETS, b"work 1.5", 422, 422),
    "folded": ("/ingest?name=a.cpu", TEXT, b"main;work 10\n", 200, 200),
    "folded, no count": ("/ingest?name=a.cpu", TEXT, b"main;work ten\n", 422, 422),
    "folded, unknown type": ("/ingest?name=my.service", TEXT, b"main;work 10\n", 400, 400),
    "unknown format": ("/ingest?name=a.cpu&format=xml", TEXT, b"main;work 10\n", 200, 200),
    "lines": ("/ingest?name=a.cpu&format=lines", TEXT, b"main;work\nmain;work\n", 200, 200),
    "trie, unknown type": ("/ingest?name=a.b&format=trie", OCTETS, b"", 400, 400),
    "a form and format=pprof": ("/ingest?name=a&format=pprof", *formed(profile=pprof()), 200, 422),
    "a form without a profile": ("/ingest?name=a", *formed(other=b"x"), 422, 200),
    "a form of an old client": ("/ingest?name=a", *formed(profile=pprof(), prev_profile=pprof()),
                                422, 422),
    "a bad configuration": ("/ingest?name=a", *formed(profile=pprof(), sample_type_config=b"{"),
                            422, 422),
    "no boundary": ("/ingest?name=a", {"Content-Type": "multipart/form-data"}, pprof(), 422, 422),
    "no JFR": ("/ingest?name=a&format=jfr", OCTETS, b"x", 422, 422),
    "a JFR form without a recording": ("/ingest?name=a&format=jfr", *formed(labels=b"x"), 422, 422),
    "an encoding": ("/ingest?name=a&format=pprof", OCTETS | {"Content-Encoding": "gzip"},
                    uploads.zipped(pprof()), 200, 200),
    "an unknown encoding": ("/ingest?name=a&format=pprof", OCTETS | {"Content-Encoding": "br"},
                            b"x", 415, 422),
    "a push of nothing": (uploads.PUSH, PROTO, b"", 200, 400),
    "a push without a type": (uploads.PUSH, PROTO, pushed(pprof(), __name__=""), 400, 400),
    "a push of no pprof": (uploads.PUSH, PROTO, pushed(b"x"), 400, 500),
    "a push that is none": (uploads.PUSH, PROTO, b"x", 400, 400),
    "a push in an unknown encoding": (uploads.PUSH, PROTO | {"Content-Encoding": "br"}, b"x", 501,
                                      501),
    "a push of another type": (uploads.PUSH, TEXT, b"x", 415, 415),
    "another path": ("/ingest/x", OCTETS, b"", 404, 404),
}

NO_BACKEND = """\
receivers: {{pyroscope: {{endpoint: "127.0.0.1:{port}"}}}}
processors: {{memory_limiter: {{limit_mib: 8}}}}
exporters:
  pyroscope: {{endpoint: "http://127.0.0.1:{nobody}", sending_queue: {{queue_size: {places}}}}}
service:
  shutdown_timeout: 1s
  pipelines:
    profiles: {{receivers: [pyroscope], processors: [memory_limiter], exporters: [pyroscope]}}
"""


class Alone(harness.Program):
    """spanlink with a queue of the given size, and no backend."""

    def __init__(self, folder, places):
        self.port, config = harness.free_port(), folder / "spanlink.yaml"
        config.write_text(NO_BACKEND.format(port=self.port, places=places,
                                            nobody=harness.free_port()))
        super().__init__("alone", folder, [harness.SPANLINK, "--config", config])
        self.wait_ports(self.port)

    def post(self, path, headers, body):
        return requests.post(f"http://127.0.0.1:{self.port}{path}", data=body, headers=headers,
                             timeout=30)

    def post_until_refused(self, path, headers, body):
        answers = (self.post(path, headers, body) for _ in range(100))
        return next(answer for answer in answers if answer.status_code != 200)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    program = Alone(tmp_path_factory.mktemp("alone"), 1000)
    yield program
    program.kill()


@pytest.mark.parametrize("request_", ODD)
def test_odd_requests_are_answered_so_that_the_client_learns_of_it(alone, request_):
    path, headers, body, status, _ = ODD[request_]
    answer = alone.post(path, headers, body)
    assert answer.status_code == status, answer.text
    if status in (400, 422, 501):
        assert set(answer.json()) == {"code", "message"} and answer.json()["message"]


# An SDK's request, and the code besides the status
UPLOADS = {
    "push": (uploads.PUSH, PROTO, pushed(pprof())),
    "pprof": ("/ingest?name=a&format=pprof", OCTETS, pprof()),
    "jfr": ("/ingest?name=a&format=jfr", *formed(jfr=uploads.zipped(b"FLR\0"))),
    "otlp": ("/v1development/profiles", {"Content-Type": "application/x-protobuf"},
             uploads.Ebpf("told").sample("work", [NOW]).encode(NOW, 1)),
}


def test_a_backend_that_is_away_is_not_told_of_until_the_queue_is_full(tmp_path):
    alone = Alone(tmp_path, 3)
    try:
        for path, headers, body in UPLOADS.values():
            answer = alone.post_until_refused(path, headers, body)
            assert answer.status_code == 503 and int(answer.headers["Retry-After"]) >= 1
            if path != "/v1development/profiles":
                assert answer.json()["code"] == "unavailable"
        alone.process.send_signal(signal.SIGTERM)
        assert alone.wait(20) == 3, alone.tail()
    finally:
        alone.kill()


def test_past_the_budget_everybody_is_told_to_come_back_and_what_never_fits_is_too_large(tmp_path):
    alone = Alone(tmp_path, 1000)
    large = pprof("x" * 1_500_000)
    try:
        for path, headers, body in ((uploads.PUSH, PROTO, pushed(large)),
                                    ("/ingest?name=a&format=pprof", OCTETS, large)):
            answer = alone.post_until_refused(path, headers, body)
            assert answer.status_code == 503 and answer.json()["code"] == "unavailable"
            assert int(answer.headers["Retry-After"]) >= 1
            answer = alone.post(path, headers, body * 8)
            assert answer.status_code == 413, answer.text
            assert answer.json()["code"] == "resource_exhausted"
    finally:
        alone.kill()
