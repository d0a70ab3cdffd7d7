"""Every field of every signal passes through spanlink unchanged: alone, behind a Collector and in
front of one."""
import collections
import gzip
import json
import re
import uuid

import grpc
import pytest
import requests

import bytesink
import harness
import payloads
import record
import uploads
import wire

SIGNALS = list(payloads.REQUESTS)
Ends = collections.namedtuple("Ends", "grpc http")

# Like relay.yaml of the Collector; the exporters that write files are tested below.
RELAY = """\
receivers:
  otlp/grpc: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{at.grpc}"}}}}}}
  otlp/http: {{protocols: {{http: {{endpoint: "127.0.0.1:{at.http}"}}}}}}
processors:
  correlation: {{}}
exporters:
  otlp_grpc:
    {{endpoint: "127.0.0.1:{to.grpc}", tls: {{insecure: true}}, compression: {packed.grpc}}}
  otlp_http: {{endpoint: "http://127.0.0.1:{to.http}", compression: {packed.http}}}
service:
  pipelines:
"""
GZIP = Ends("gzip", "gzip")
PIPELINE = "    {0}/{1}: {{receivers: [otlp/{1}], processors: [{2}], exporters: [otlp_{1}]}}\n"


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


class Relay(harness.Program):
    """spanlink as a relay for all signals, through the given processors."""

    def __init__(self, folder, to, processors="", packed=GZIP):
        self.at = Ends(harness.free_port(), harness.free_port())
        folder.mkdir()
        config = folder / "relay.yaml"
        config.write_text(RELAY.format(at=self.at, to=to, packed=packed) + "".join(
            PIPELINE.format(signal, protocol, processors)
            for signal in SIGNALS for protocol in Ends._fields))
        super().__init__("spanlink", folder, [harness.SPANLINK, "--config", config])
        self.wait_ports(*self.at, seconds=10)


class CollectorRelay(harness.Program):
    def __init__(self, folder, to, packed=GZIP):
        self.at = Ends(harness.free_port(), harness.free_port())
        super().__init__(
            "collector-relay", folder,
            [harness.BUILT / "otelcol-e2e", "--feature-gates=+service.profilesSupport",
             "--config", harness.HERE / "backends" / "collector" / "relay.yaml"],
            env={"RELAY_GRPC_PORT": str(self.at.grpc), "RELAY_HTTP_PORT": str(self.at.http),
                 "TO_GRPC_PORT": str(to.grpc), "TO_HTTP_PORT": str(to.http),
                 "GRPC_COMPRESSION": packed.grpc, "HTTP_COMPRESSION": packed.http})
        self.wait_ports(*self.at)


@pytest.fixture(scope="module")
def sink():
    sink = bytesink.ByteSink()
    yield sink
    sink.stop()


@pytest.fixture(scope="module")
def alone(tmp_path_factory, sink):
    relay = Relay(tmp_path_factory.mktemp("alone") / "spanlink", sink)
    yield relay
    assert relay.stop() == 0, relay.tail()


@pytest.fixture(scope="module")
def correlating(tmp_path_factory, sink):
    relay = Relay(tmp_path_factory.mktemp("correlating") / "spanlink", sink, "correlation")
    yield relay
    assert relay.stop() == 0, relay.tail()


@pytest.fixture(scope="module")
def behind(tmp_path_factory, sink):
    """A Collector in front of spanlink."""
    folder = tmp_path_factory.mktemp("behind")
    spanlink = Relay(folder / "spanlink", sink)
    collector = CollectorRelay(folder, spanlink.at)
    yield collector
    collector.stop()
    assert spanlink.stop() == 0, spanlink.tail()


@pytest.fixture(scope="module")
def before(tmp_path_factory, sink):
    """spanlink in front of a Collector."""
    folder = tmp_path_factory.mktemp("before")
    collector = CollectorRelay(folder, sink)
    spanlink = Relay(folder / "spanlink", collector.at)
    yield spanlink
    assert spanlink.stop() == 0, spanlink.tail()
    collector.stop()


class Channels(dict):
    """gRPC channels by port."""

    def __missing__(self, port):
        self[port] = grpc.insecure_channel(f"127.0.0.1:{port}", options=[
            ("grpc.max_send_message_length", 64 << 20)])
        return self[port]


CHANNELS = Channels()


def send(at, signal, protocol, body, encoding="protobuf", compression=None):
    """Sends the bytes of a request, which must be accepted. Returns the response."""
    if protocol == "grpc":
        export = CHANNELS[at.grpc].unary_unary(f"/{payloads.SERVICES[signal]}/Export")
        answer = export(body, timeout=20, compression=grpc.Compression.Gzip if compression
                        else grpc.Compression.NoCompression)
        return payloads.ANSWERS[signal].FromString(answer)
    headers = {"Content-Type": f"application/{'json' if encoding == 'json' else 'x-protobuf'}"}
    if compression:
        headers["Content-Encoding"], body = "gzip", gzip.compress(body)
    answer = requests.post(f"http://127.0.0.1:{at.http}{payloads.PATHS[signal]}", body,
                           headers=headers, timeout=20)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == headers["Content-Type"]
    if encoding == "json":
        return answer.json()
    return payloads.ANSWERS[signal].FromString(answer.content)


def arrived(sink, signal, protocol, service):
    """The only request about a service that the sink received."""
    def found():
        return [body for body in sink.requests(signal, protocol) if service.encode() in body]
    bodies = harness.wait_for(found, 20, 0.02)
    assert len(bodies) == 1, f"{len(bodies)} requests"
    return bodies[0]


def through(at, sink, signal, protocol, encode=payloads.canonical, **how):
    """Sends a request with every field. Returns the request, the bytes sent and the bytes
    received."""
    service = f"through-{uuid.uuid4()}"
    message = payloads.build(signal, service)
    sent = encode(message)
    answer = send(at, signal, protocol, sent, **how)
    if how.get("encoding") == "json":
        assert answer in ({}, {"partialSuccess": {}})
    else:
        assert not answer.partial_success.ListFields()
    return message, sent, arrived(sink, signal, protocol, service)


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("protocol", Ends._fields)
@pytest.mark.parametrize("encode", [payloads.canonical, payloads.unusual],
                         ids=["usual", "unusual"])
@pytest.mark.parametrize("signal", SIGNALS)
def test_alone_nothing_changes(alone, sink, signal, encode, protocol, compression):
    """Not a byte does, or where another encoding says the same, nothing that it says."""
    _, sent, got = through(alone.at, sink, signal, protocol, encode, compression=compression)
    if encode is payloads.canonical:
        assert got == sent
    assert payloads.parse(signal, got) == payloads.parse(signal, sent)
    assert got.count(payloads.UNKNOWN) == sent.count(payloads.UNKNOWN)


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("signal", SIGNALS)
def test_json_becomes_the_same_message(alone, sink, signal, compression):
    message, _, got = through(alone.at, sink, signal, "http",
                              lambda m: payloads.as_json(m).encode(), encoding="json",
                              compression=compression)
    assert payloads.parse(signal, got) == message


@pytest.mark.parametrize("protocol", Ends._fields)
@pytest.mark.parametrize("encode", [payloads.canonical, payloads.unusual],
                         ids=["usual", "unusual"])
@pytest.mark.parametrize("signal", ["metrics", "logs"])
def test_correlation_adds_one_attribute(correlating, sink, signal, encode, protocol):
    _, sent, got = through(correlating.at, sink, signal, protocol, encode)
    expected = payloads.parse(signal, sent)
    for group in getattr(expected, expected.DESCRIPTOR.fields[0].name):
        name = group.resource.attributes.add()
        name.CopyFrom([a for a in group.resource.attributes if a.key == "service.name"][0])
        name.key = "service_name"
    assert without_order(payloads.parse(signal, got)) == without_order(expected)


@pytest.mark.parametrize("protocol", Ends._fields)
def test_correlation_leaves_profiles_as_they_are(correlating, sink, protocol):
    """A Pyroscope server derives service_name from service.name itself, and refuses a second
    one."""
    _, sent, got = through(correlating.at, sink, "profiles", protocol, payloads.canonical)
    assert got == sent
    _, sent, got = through(correlating.at, sink, "profiles", protocol, payloads.unusual)
    assert payloads.parse("profiles", got) == payloads.parse("profiles", sent)


def without_order(request):
    """The position of the attribute in its resource does not matter."""
    for group in getattr(request, request.DESCRIPTOR.fields[0].name):
        ordered = sorted(group.resource.attributes, key=payloads.canonical)
        del group.resource.attributes[:]
        group.resource.attributes.extend(ordered)
    return payloads.canonical(request)


@pytest.mark.parametrize("protocol", Ends._fields)
@pytest.mark.parametrize("place", ["behind", "before"])
@pytest.mark.parametrize("signal", SIGNALS)
def test_with_a_collector_every_field_is_kept(request, sink, signal, place, protocol):
    chain = request.getfixturevalue(place)
    message, _, got = through(chain.at, sink, signal, protocol)
    if signal == "profiles":
        message.dictionary.attribute_table[0].value.SetInParent()   # the Collector writes an empty value
    assert payloads.parse(signal, got) == message


COMPRESSIONS = {"grpc": ["none", "gzip", "zstd", "snappy"],
                "http": ["none", "gzip", "zstd", "zlib", "deflate", "snappy", "x-snappy-framed",
                         "lz4"]}


@pytest.fixture(scope="module")
def packing(request, tmp_path_factory, sink):
    """spanlink, a Collector and spanlink, with the same compression between them."""
    folder = tmp_path_factory.mktemp(request.param)
    packed = Ends(request.param if request.param in COMPRESSIONS["grpc"] else "gzip", request.param)
    last = Relay(folder / "last", sink)
    collector = CollectorRelay(folder, last.at, packed)
    first = Relay(folder / "first", collector.at, packed=packed)
    yield first
    assert first.stop() == 0, first.tail()
    collector.stop()
    assert last.stop() == 0, last.tail()


@pytest.mark.parametrize(
    "packing, protocol", [(name, protocol) for protocol, names in COMPRESSIONS.items()
                          for name in names], indirect=["packing"])
@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_every_compression_of_a_collector_is_written_and_read(packing, sink, signal, protocol):
    message, _, got = through(packing.at, sink, signal, protocol)
    assert payloads.parse(signal, got) == message


def test_every_field_of_the_protocol_occurs():
    """Otherwise the tests above would prove less than they claim."""
    def walk(kind, into, seen):
        for field in () if kind.full_name in seen else kind.fields:
            seen.add(kind.full_name)
            into.add(field.full_name)
            if field.message_type:
                walk(field.message_type, into, seen)
        return into
    for signal in SIGNALS:
        message = payloads.build(signal, "any")
        missing = walk(message.DESCRIPTOR, set(), set()) - payloads.fields_that_occur(message)
        assert {name.rpartition(".")[2] for name in missing} <= {
            "string_value_strindex", "key_strindex"}
        assert payloads.known(payloads.parse(signal, payloads.unusual(message))) == message


# Profiles of the Pyroscope SDKs as OTLP

CONVERTING = """\
receivers:
  pyroscope: {{endpoint: "127.0.0.1:{port}", reject_older_than: 0s}}
exporters:
  otlp_grpc: {{endpoint: "127.0.0.1:{to.grpc}", tls: {{insecure: true}}}}
  otlp_http: {{endpoint: "http://127.0.0.1:{to.http}"}}
service:
  pipelines:
    profiles: {{receivers: [pyroscope], exporters: [otlp_{protocol}]}}
"""


def uploads_of(recording):
    """The profile requests of an SDK."""
    folder = harness.HERE.parent / "recorded" / recording
    for request in json.loads((folder / "index.json").read_text())["requests"]:
        if not request["path"].startswith("/v1/"):
            yield record.Exchange(0, "POST", request["path"], request["headers"],
                                  (folder / request["file"]).read_bytes(), 200)


def sums_of(bodies):
    """The sums by profile type and by span in OTLP requests."""
    sums, spans = collections.Counter(), collections.Counter()
    for request in (payloads.parse("profiles", body) for body in bodies):
        texts, links = request.dictionary.string_table, request.dictionary.link_table
        for profile in (p for group in request.resource_profiles for scope in group.scope_profiles
                        for p in scope.profiles):
            kind = ":".join(texts[i] for i in (
                profile.sample_type.type_strindex, profile.sample_type.unit_strindex,
                profile.period_type.type_strindex, profile.period_type.unit_strindex))
            for sample in profile.samples:
                sums[kind] += sum(sample.values)
                if span := links[sample.link_index].span_id.hex():
                    spans[kind, span] += sum(sample.values)
    return +sums, +spans


@pytest.mark.parametrize("protocol", Ends._fields)
@pytest.mark.parametrize("recording", ["python", "go"])
def test_a_collector_gets_the_profiles_of_the_sdks(tmp_path, recording, protocol):
    sent, spans = collections.Counter(), collections.Counter()
    sink, port = bytesink.ByteSink(), harness.free_port()
    collector = CollectorRelay(tmp_path, sink)
    config = tmp_path / "converting.yaml"
    config.write_text(CONVERTING.format(port=port, to=collector.at, protocol=protocol))
    spanlink = harness.Program("spanlink", tmp_path, [harness.SPANLINK, "--config", config])
    try:
        spanlink.wait_ports(port, seconds=10)
        for upload in uploads_of(recording):
            answer = requests.post(f"http://127.0.0.1:{port}{upload.path}", upload.body,
                                   headers=upload.headers, timeout=10)
            assert answer.status_code == 200, answer.text
            for profile in wire.profiles(upload):
                sent.update(profile.sums)
                spans.update({(kind, span): value for span, values in profile.spans.items()
                              for kind, value in values.items()})
        assert spanlink.stop() == 0, spanlink.tail()
        collector.stop()
        got = sums_of(sink.requests("profiles", protocol))
    finally:
        spanlink.kill()
        collector.kill()
        sink.stop()
    assert len(spans) > 20
    assert got == (+sent, +spans)


# Partial success

BAD = [("trace_id", b""), ("trace_id", bytes(16)), ("trace_id", b"short"), ("span_id", bytes(8)),
       ("span_id", b"longer than 8"), ("parent_span_id", b"odd")]


@pytest.mark.parametrize("form", ["grpc", "http", "json"])
def test_bad_spans_are_counted_and_the_others_go_on(alone, sink, form):
    service = f"partial-{uuid.uuid4()}"
    message = payloads.build("traces", service)
    expected = payloads.build("traces", service)
    spans = message.resource_spans[0].scope_spans[0].spans
    for name, value in BAD:
        bad = spans.add()
        bad.CopyFrom(spans[0])
        setattr(bad, name, value)
    if form == "json":
        answer = send(alone.at, "traces", "http", payloads.as_json(message).encode(), "json")
        told = answer["partialSuccess"]
        rejected, words = int(told["rejectedSpans"]), told["errorMessage"]
    else:
        told = send(alone.at, "traces", form, message.SerializeToString()).partial_success
        rejected, words = told.rejected_spans, told.error_message
    assert rejected == len(BAD) and "id" in words
    got = arrived(sink, "traces", "grpc" if form == "grpc" else "http", service)
    assert payloads.parse("traces", got) == expected


def with_a_short_id(signal):
    """A log record, or an exemplar of a data point, with a span id that no Collector accepts."""
    message = payloads.build(signal, "refused")
    if signal == "logs":
        message.resource_logs[0].scope_logs[0].log_records[0].span_id = b"short"
    else:
        metrics = message.resource_metrics[0].scope_metrics[0].metrics
        point = [m for m in metrics if m.WhichOneof("data") == "sum"][0].sum.data_points[0]
        point.exemplars[0].span_id = b"short"
    return message


@pytest.mark.parametrize("form", ["grpc", "http", "json"])
@pytest.mark.parametrize("signal", ["logs", "metrics"])
def test_bad_ids_in_other_signals_are_refused_with_their_request(alone, signal, form):
    message = with_a_short_id(signal)
    if form == "grpc":
        with pytest.raises(grpc.RpcError) as refusal:
            send(alone.at, signal, "grpc", message.SerializeToString())
        assert refusal.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        return
    readable = form == "json"
    body = payloads.as_json(message).encode() if readable else message.SerializeToString()
    answer = requests.post(
        f"http://127.0.0.1:{alone.at.http}{payloads.PATHS[signal]}", body, timeout=20,
        headers={"Content-Type": f"application/{'json' if readable else 'x-protobuf'}"})
    assert answer.status_code == 400 and b"id" in answer.content


# The exporters that write files

WRITERS = """\
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{at.grpc}"}},
    http: {{endpoint: "127.0.0.1:{at.http}"}}}}}}
exporters:
  debug: {{}}
  file: {{path: "{folder}/out.jsonl"}}
service:
  pipelines:
    traces: &all {{receivers: [otlp], exporters: [debug, file]}}
    metrics: *all
    logs: *all
    profiles: *all
"""


COUNTED = {"traces": "spans", "metrics": "data points", "logs": "log records",
           "profiles": "profiles"}


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_file_and_debug_exporters_write_every_signal(tmp_path, signal):
    at = Ends(harness.free_port(), harness.free_port())
    config = tmp_path / "writers.yaml"
    config.write_text(WRITERS.format(at=at, folder=tmp_path))
    spanlink = harness.Program("spanlink", tmp_path, [harness.SPANLINK, "--config", config])
    spanlink.wait_ports(*at, seconds=10)
    message = payloads.build(signal, "written")
    send(at, signal, "grpc", message.SerializeToString())
    assert spanlink.stop() == 0, spanlink.tail()
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    written = [payloads.from_json(signal, line) for line in lines]
    written += [payloads.parse(signal, gzip.decompress(file.read_bytes()))
                for file in tmp_path.glob("profiles/*.otlp.gz")]
    assert written == [message]
    said = [line for line in spanlink.log.read_text().splitlines() if line.startswith("debug: ")]
    assert len(said) == 1 and re.search(rf"\b[0-9]+ {COUNTED[signal]}\b", said[0])


DRAWN = """\
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}", reject_older_than: 0}}
exporters: {{debug: {{verbosity: detailed}}}}
service:
  pipelines:
    traces: {{receivers: [otlp], exporters: [debug]}}
    {profiles}
"""
WITH_PROFILES = "profiles: {receivers: [pyroscope], exporters: [debug]}"


def drawn(folder, upload, profiles=WITH_PROFILES):
    """What debug writes of the requests that upload(post) sends."""
    http, ingest = harness.free_port(), harness.free_port()
    config = folder / "drawn.yaml"
    config.write_text(DRAWN.format(http=http, ingest=ingest, profiles=profiles))
    spanlink = harness.Program("spanlink", folder, [harness.SPANLINK, "--config", config])
    spanlink.wait_ports(http, *([ingest] if profiles else []), seconds=10)

    def post(path, body, **headers):
        port = http if path.startswith("/v1/") else ingest
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = requests.post(f"http://127.0.0.1:{port}{path}", body, headers=headers, timeout=10)
        assert answer.status_code == 200, answer.text
    upload(post)
    assert spanlink.stop() == 0, spanlink.tail()
    return spanlink.log.read_text()


def send_order(post, profiled=True):
    """A linked span, and before it its samples, in a window that covers it."""
    span = "00f067aa0ba902b7"
    pprof = uploads.Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    for count, stack in ((3, ("\x1b[31mleaf\n", "main")), (1, ("main",))):
        pprof.sample([count, count * 10_000_000], stack, span_id=span)
    body = uploads.push_request({"__name__": "process_cpu", "service_name": "shop"},
                                gzip.compress(pprof.encode(1, 60_000_000)))
    if profiled:
        post(uploads.PUSH, body, content_type="application/proto")
    post("/v1/traces", uploads.trace_request("shop", [("4bf92f3577b34da6a3ce929d0e0e4736", span,
                                                       1, 50_000_001, True)]),
         content_type="application/x-protobuf")


def test_debug_draws_the_flame_graph_of_a_linked_span(tmp_path):
    said = drawn(tmp_path, send_order)
    graph = said.partition("The flame graph of GET /order: 40.0 ms CPU\n\n")[2].splitlines()
    assert graph[:3] == [f"  100.0%  {'█' * 33}  total", f"  100.0%  {'█' * 33}    main",
                         f"   75.0%  {'█' * 25}{' ' * 8}      \\x1b[31mleaf\\n"], said


def test_debug_without_profiles_shows_the_spans(tmp_path):
    said = drawn(tmp_path, lambda post: send_order(post, profiled=False), profiles="")
    assert re.search(r"\n  GET /order +50.0 ms   profile 00f067aa0ba902b7\n", said), said
    assert "flame graph" not in said


def test_debug_draws_java_too(tmp_path):
    folder = harness.ROOT / "tests" / "recorded" / "java"

    def upload(post):
        for request in json.loads((folder / "index.json").read_text())["requests"]:
            post(request["path"], (folder / request["file"]).read_bytes(), **request["headers"])
    said = drawn(tmp_path, upload)
    assert re.search(r"The flame graph of GET /car: [\d.]+ m?s CPU\n\n  100.0%", said), said
    assert re.search(r"%  █+ +Rides\.", said), said
