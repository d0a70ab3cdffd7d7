"""The exporter kafka, with a real broker."""
import json
import socket
import subprocess
import time

import pytest

import credentials
import gateways
import harness
import payloads
import sides
import uploads


def spans(service, first, count, padding=0):
    """A request of one service; span n has the id n."""
    request = payloads.REQUESTS["traces"]()
    group = request.resource_spans.add()
    group.resource.attributes.append(uploads.text_attribute("service.name", service))
    scope = group.scope_spans.add()
    for number in range(first, first + count):
        span = scope.spans.add(trace_id=(number // 10 + 1).to_bytes(16, "big"),
                               span_id=number.to_bytes(8, "big"), name=f"span {number}",
                               start_time_unix_nano=1, end_time_unix_nano=2)
        if padding:
            span.attributes.append(uploads.text_attribute("padding", "x" * padding))
    return request


def log_records(count, padding):
    request = payloads.REQUESTS["logs"]()
    scope = request.resource_logs.add().scope_logs.add()
    for n in range(count):
        scope.log_records.add(time_unix_nano=time.time_ns()).body.string_value = f"{n}" * padding
    return request


@pytest.mark.parametrize("encoding", ["otlp_proto",
                                      pytest.param("otlp_json", marks=pytest.mark.soak)])
def test_a_collector_reads_what_is_written(kafka, tmp_path, encoding):
    topics = {what: kafka.topic(f"{encoding}_{what}", 3) for what in sides.GROUPS}
    through = harness.Collector(tmp_path / "through").start()
    reader = sides.collector(tmp_path, "reader", {
        "receivers": {"kafka": {
            "brokers": kafka.addresses, "group_id": encoding, "initial_offset": "earliest",
            **{what: {"topics": [topic], "encoding": encoding}
               for what, topic in topics.items()}}},
        "exporters": {"otlp_http": {"endpoint": f"http://127.0.0.1:{through.http}"}},
        "service": {"pipelines": {what: {"receivers": ["kafka"], "exporters": ["otlp_http"]}
                                  for what in sides.GROUPS}}})
    sidecar = sides.Sidecar(tmp_path, {
        "brokers": kafka.addresses,
        **{what: {"topic": topic, "encoding": encoding} for what, topic in topics.items()}},
        tuple(topics))
    sides.check_arrival(tmp_path, sidecar.post, through, lambda: (reader.tail(), sidecar.tail()))
    assert sidecar.stop() == 0
    for program in (reader, through.program):
        program.kill()


def test_a_collector_reads_profiles(kafka, tmp_path):
    kafka.topic("otlp_profiles", 2)
    through = harness.Collector(tmp_path / "through").start()
    reader = sides.collector(tmp_path, "reader", {
        "receivers": {"kafka": {"brokers": kafka.addresses, "group_id": "profiles",
                                "initial_offset": "earliest"}},
        "exporters": {"otlp_http": {"endpoint": f"http://127.0.0.1:{through.http}"}},
        "service": {"pipelines": {"profiles": {"receivers": ["kafka"],
                                               "exporters": ["otlp_http"]}}}})
    sidecar = sides.Sidecar(tmp_path, {"brokers": kafka.addresses}, ("profiles",))
    pprof = uploads.Pprof([("samples", "count")])
    pprof.sample([7], ("leaf", "root"), span_id="00000000000000a1")
    body = pprof.encode(time.time_ns() - 10**9, 10**9)
    assert sidecar.upload("name=shop&format=pprof", body) == 200
    [record] = kafka.records("otlp_profiles", 1)
    written = sides.samples_in(record.value)
    file = through.folder / "sink-1" / "profiles.jsonl"
    assert harness.wait_for(lambda: file.exists() and file.read_text().endswith("\n"), 60), (
        reader.tail(), sidecar.tail())
    assert sides.samples_of(json.loads(file.read_text())) == written == [
        (["7"], ["leaf", "root"], "00000000000000a1")]
    assert sidecar.stop() == 0
    for program in (reader, through.program):
        program.kill()


def test_spans_and_profiles_of_a_process_have_one_partition_number(kafka, tmp_path):
    kafka.topic("keyed_spans", 12)
    kafka.topic("keyed_profiles", 12)
    services = [f"service-{number}" for number in range(8)]
    sidecar = sides.Sidecar(tmp_path, {
        "brokers": kafka.addresses, "source": "pod-1", "traces": {"topic": "keyed_spans"},
        "profiles": {"topic": "keyed_profiles", "encoding": "native"}}, ("traces", "profiles"))
    request = payloads.REQUESTS["traces"]()     # of all services, the entries interleaved
    for number in range(2 * len(services)):
        request.MergeFrom(spans(services[number % len(services)], 10 * number + 1, 5))
    assert sidecar.post("traces", request.SerializeToString()) == 200
    for service in services:
        pprof = uploads.Pprof([("samples", "count")])
        pprof.sample([1])
        assert sidecar.upload(f"name={service}&format=pprof", pprof.encode(1, 2)) == 200
        assert sidecar.upload(f"name={service}.cpu&format=folded", b"main;work 3\n",
                              **{"X-Scope-OrgID": "acme"}) == 200
    traced = kafka.records("keyed_spans", len(services))
    profiled = kafka.records("keyed_profiles", 2 * len(services))
    assert sorted(gateways.read_spans(traced)) == [
        10 * n + i for n in range(16) for i in range(1, 6)]
    assert len(traced) == len(services) and len(profiled) == 2 * len(services)
    where = {record.key: record.partition for record in traced}
    assert set(where) == {f"{service}\0pod-1".encode() for service in services}
    assert len(set(where.values())) > 2
    assert {record.key: record.partition for record in profiled} == where
    for record in profiled:
        headers = dict(record.headers)
        service = record.key.partition(b"\0")[0]
        if headers["spanlink.encoding"] == b"opaque":
            assert record.value == b"main;work 3\n"
            assert b"format=folded" in headers["query"] and service in headers["query"]
        else:
            assert headers["spanlink.encoding"] == b"pprof"
            assert headers["label.__name__"] == service and headers["ingest"] == b"1"
    assert sidecar.stop() == 0


def test_large_requests_become_several_records(kafka, tmp_path):
    kafka.topic("large", 1)
    kafka.topic("large_profiles", 1)
    sidecar = sides.Sidecar(tmp_path, {
        "brokers": kafka.addresses, "traces": {"topic": "large"},
        "producer": {"max_message_bytes": 50000},
        "profiles": {"topic": "large_profiles", "encoding": "native"}}, ("traces", "profiles"))
    assert sidecar.post("traces", spans("shop", 1, 300, 1000).SerializeToString()) == 200
    text = b"".join(b"main;work%d 3\n" % n for n in range(15000))
    assert sidecar.upload("name=shop.cpu&format=folded", text) == 200
    assert harness.wait_for(
        lambda: len(gateways.read_spans(kafka.records("large"))) >= 300, 60), sidecar.tail()
    records = kafka.records("large")
    assert sorted(gateways.read_spans(records)) == list(range(1, 301))
    assert max(len(record.value) for record in records) <= 50000 and len(records) < 10
    parts = kafka.records("large_profiles", len(text) // 50000 + 1)
    assert b"".join(part.value for part in parts) == text
    assert [dict(part.headers)["spanlink.part"].split()[0].decode() for part in parts] == [
        f"{number}/{len(parts)}" for number in range(1, len(parts) + 1)]
    assert sidecar.stop() == 0 and not sidecar.lines("dropped: ") and not sidecar.lines("not delivered")


def test_a_topic_with_a_smaller_limit_gets_smaller_records(kafka, tmp_path):
    kafka.topic("small", 1, max_message_bytes=20000)
    sidecar = sides.Sidecar(tmp_path, {"brokers": kafka.addresses, "traces": {"topic": "small"}})
    assert sidecar.post("traces", spans("shop", 1, 100, 1000).SerializeToString()) == 200
    # Records that were taken beside the refused ones come again, so their number varies.
    assert harness.wait_for(lambda: set(gateways.read_spans(kafka.records("small"))) == set(
        range(1, 101)), 60), sidecar.tail()
    assert sidecar.stop() == 0
    assert sidecar.lines("a broker refuses", "max.message.bytes")


def test_a_limit_that_is_lowered_while_records_come_is_met_in_one_step(kafka, tmp_path):
    topic = kafka.topic("lowered", 1)
    sidecar = sides.Sidecar(tmp_path, {"brokers": kafka.addresses, "traces": {"topic": topic}})
    assert sidecar.post("traces", spans("shop", 1, 40, 1000).SerializeToString()) == 200
    assert len(kafka.records(topic, 1)) == 1
    kafka.configure(topic, max_message_bytes=20000)
    sent, told = 40, "sending at most 20000 from now on"

    def refused():
        nonlocal sent
        body = spans("shop", sent + 1, 40, 1000).SerializeToString()
        assert sidecar.post("traces", body) == 200
        sent += 40
        return harness.wait_for(lambda: sidecar.lines("a broker refuses"), 1)
    assert harness.wait_for(refused, 60), sidecar.tail()
    assert harness.wait_for(lambda: set(gateways.read_spans(kafka.records(topic))) == set(
        range(1, sent + 1)), 60), sidecar.tail()
    assert sidecar.stop() == 0
    assert len(sidecar.lines("refuses")) == len(sidecar.lines(told)) == 1, sidecar.tail()


def test_a_topics_smaller_limit_is_only_that_topics(kafka, tmp_path):
    kafka.topic("ample_spans", 1)
    kafka.topic("small_logs", 1, max_message_bytes=60000)
    sidecar = sides.Sidecar(tmp_path, {
        "brokers": kafka.addresses, "producer": {"max_message_bytes": 200000},
        "traces": {"topic": "ample_spans"}, "logs": {"topic": "small_logs"}}, ("traces", "logs"))
    assert sidecar.post("logs", log_records(8, 20000).SerializeToString()) == 200
    assert len(kafka.records("small_logs", 4)) >= 4
    assert sidecar.post("traces", spans("shop", 1, 1, 150000).SerializeToString()) == 200
    assert gateways.read_spans(kafka.records("ample_spans", 1)) == [1]
    assert sidecar.stop() == 0 and sidecar.lines("topic small_logs: a broker refuses")


def test_a_span_that_the_topic_takes_arrives_after_its_limit_was_learnt(kafka, tmp_path):
    kafka.topic("smaller", 1, max_message_bytes=60000)
    sidecar = sides.Sidecar(tmp_path, {"brokers": kafka.addresses, "traces": {"topic": "smaller"},
                                       "producer": {"max_message_bytes": 200000}})
    assert sidecar.post("traces", spans("shop", 1, 4, 40000).SerializeToString()) == 200
    assert harness.wait_for(lambda: set(gateways.read_spans(kafka.records("smaller"))) == set(
        range(1, 5)), 60), sidecar.tail()
    assert sidecar.post("traces", spans("shop", 5, 1, 59000).SerializeToString()) == 200
    assert harness.wait_for(lambda: 5 in gateways.read_spans(kafka.records("smaller")), 60)
    assert sidecar.stop() == 0 and not sidecar.lines("dropped: ")


def test_spans_are_not_refused_for_others_beside_them(kafka, tmp_path):
    kafka.topic("shared", 1, max_message_bytes=60000)
    sidecar = sides.Sidecar(tmp_path, {
        "brokers": kafka.addresses, "traces": {"topic": "shared"},
        "producer": {"max_message_bytes": 200000, "linger": "300ms"}})
    for first, size in ((5, 100), (1, 40000), (2, 45000), (3, 100), (4, 150000)):  # 5 leaves alone
        assert sidecar.post("traces", spans("shop", first, 1, size).SerializeToString()) == 200
    assert harness.wait_for(lambda: set(gateways.read_spans(kafka.records("shared"))) >= {1, 2, 3},
                            60), sidecar.tail()
    sidecar.stop()
    assert sidecar.lines("1 span dropped", "the broker's limit")
    assert len(sidecar.lines("span dropped")) == 1


def test_what_cannot_be_split_is_counted_and_the_rest_arrives(kafka, tmp_path):
    kafka.topic("huge", 1)
    sidecar = sides.Sidecar(tmp_path, {"brokers": kafka.addresses, "traces": {"topic": "huge"},
                                       "producer": {"max_message_bytes": 10000}})
    request = spans("shop", 1, 3)
    request.MergeFrom(spans("shop", 100, 1, 20000))
    assert sidecar.post("traces", request.SerializeToString()) == 200
    assert sorted(gateways.read_spans(kafka.records("huge", 1))) == [1, 2, 3]
    sidecar.stop()
    assert sidecar.lines("1 span dropped", "exceed producer.max_message_bytes")


def test_topics_come_from_an_attribute(kafka, tmp_path):
    for topic in ("team_a", "team_b", "others"):
        kafka.topic(topic, 1)
    sidecar = sides.Sidecar(tmp_path, {"brokers": kafka.addresses, "traces": {"topic": "others"},
                                       "topic_from_attribute": "team",
                                       "include_metadata_keys": ["X-Scope-OrgID"]})
    request = payloads.REQUESTS["traces"]()
    for number, team in enumerate(["team_a", "team_b", None, "not a topic!"]):
        one = spans("shop", 10 * number + 1, 2)
        if team:
            one.resource_spans[0].resource.attributes.append(uploads.text_attribute("team", team))
        request.MergeFrom(one)
    assert sidecar.post("traces", request.SerializeToString()) == 200
    assert gateways.read_spans(kafka.records("team_a", 1)) == [1, 2]
    assert gateways.read_spans(kafka.records("team_b", 1)) == [11, 12]
    assert gateways.read_spans(kafka.records("others", 1)) == [21, 22, 31, 32]
    assert sidecar.stop() == 0


def test_a_topic_from_an_attribute_that_does_not_exist_does_not_stop_the_others(kafka, tmp_path):
    kafka.topic("known", 1)
    sidecar = sides.Sidecar(tmp_path, {"brokers": kafka.addresses, "traces": {"topic": "known"},
                                       "topic_from_attribute": "team"})
    for number in (1, 11):
        request = spans("shop", number, 2)
        wrong = spans("typo", number + 2, 2)
        wrong.resource_spans[0].resource.attributes.append(uploads.text_attribute("team", "knwon"))
        request.MergeFrom(wrong)
        assert sidecar.post("traces", request.SerializeToString()) == 200
    wanted = [1, 2, 3, 4, 11, 12, 13, 14]
    assert sorted(gateways.read_spans(kafka.records("known", 4))) == wanted, sidecar.tail()
    assert sidecar.stop() == 0
    assert len(sidecar.lines(" warn ", "topic knwon: the topic does not exist", "of service typo",
                             "such data go to topic known")) == 1, sidecar.tail()


def test_a_trace_is_a_record_with_its_id_as_key(kafka, tmp_path):
    kafka.topic("by_id", 6)
    sidecar = sides.Sidecar(tmp_path, {"brokers": kafka.addresses, "traces": {"topic": "by_id"},
                                       "partition_traces_by_id": True})
    request = spans("shop", 1, 94)
    request.MergeFrom(spans("cart", 5, 10))
    assert sidecar.post("traces", request.SerializeToString()) == 200
    records = kafka.records("by_id", 10)
    assert len(records) == 10
    assert sorted(gateways.read_spans(records)) == sorted([*range(1, 95), *range(5, 15)])
    for record in records:
        numbers = {number // 10 + 1 for number in gateways.read_spans([record])}
        assert {f"{number:032x}".encode() for number in numbers} == {record.key}
    assert sidecar.stop() == 0


# Credentials

def has_arrived(cluster, sidecar, number):
    assert harness.wait_for(lambda: number in gateways.read_spans(
        cluster.records("otlp_spans", seconds=3)), 60), sidecar.tail()


def arrives(cluster, sidecar, number):
    assert sidecar.post("traces", spans("shop", number, 1).SerializeToString()) == 200
    has_arrived(cluster, sidecar, number)
    assert sidecar.stop() == 0


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram(guarded, newer, tmp_path, mechanism):
    sidecar = sides.Sidecar(tmp_path, {"brokers": guarded.at("SASL"),
                                       **credentials.sasl(mechanism)}, env=newer)
    arrives(guarded, sidecar, int(mechanism[-3:]))


def test_tls_with_a_client_certificate(guarded, tmp_path):
    sidecar = sides.Sidecar(tmp_path, {"brokers": guarded.at("TLS"), "tls": {
        "ca_file": f"{guarded.pki}/ca.pem", "cert_file": f"{guarded.pki}/client.crt",
        "key_file": f"{guarded.pki}/client.key"}})
    arrives(guarded, sidecar, 1)


def test_new_tls_files_are_used_without_a_restart(guarded, tmp_path):
    tls = credentials.client(guarded, "sidecar", "other")
    sidecar = sides.Sidecar(tmp_path, {"brokers": guarded.at("TLS"), "tls": tls})
    assert sidecar.post("traces", spans("shop", 71, 1).SerializeToString()) == 200
    assert harness.wait_for(lambda: sidecar.lines("TLS to broker"), 60), sidecar.tail()
    credentials.client(guarded, "sidecar", "ca")
    has_arrived(guarded, sidecar, 71)
    arrives(guarded, sidecar, 72)


def test_plain_over_tls(guarded, tmp_path):
    sidecar = sides.Sidecar(tmp_path, {"brokers": guarded.at("BOTH"), **credentials.sasl("PLAIN"),
                                       "tls": {"ca_file": f"{guarded.pki}/ca.pem"}})
    arrives(guarded, sidecar, 2)


def refusal(sidecar, *words):
    """The one line in which it is said what is wrong."""
    assert sidecar.post("traces", spans("shop", 9, 1).SerializeToString()) == 200
    assert harness.wait_for(lambda: sidecar.lines(*words), 60), sidecar.tail()
    # librdkafka tries again several times.
    assert not harness.wait_for(lambda: len(sidecar.lines(" kafka: ")) > 1, 2), sidecar.tail()
    sidecar.kill()
    return sidecar.lines(" kafka: ")[0]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_one_line(guarded, newer, tmp_path, mechanism):
    sidecar = sides.Sidecar(tmp_path, {"brokers": guarded.at("SASL"),
                                       **credentials.sasl(mechanism, "wrong")}, env=newer)
    line = refusal(sidecar, "refuses the user name or the password of auth.sasl")
    assert " error " in line and "SCRAM needs" not in line


def test_an_old_library_explains_why_scram_fails(guarded, tmp_path):
    version = subprocess.run([harness.SPANLINK, "version", "--verbose"], capture_output=True,
                             text=True).stdout
    if "librdkafka 2.0.2" not in version:
        pytest.skip("only with Debian 12's librdkafka")
    sidecar = sides.Sidecar(tmp_path, {"brokers": guarded.at("SASL"),
                                       **credentials.sasl("SCRAM-SHA-256")})
    assert "SCRAM needs librdkafka 2.6.1" in refusal(sidecar, "refuses the user name")


def test_a_broker_that_is_not_trusted_is_one_line(guarded, tmp_path):
    sidecar = sides.Sidecar(tmp_path, {"brokers": guarded.at("TLS"), "tls": {}})
    assert "its certificate is of a CA that is not in" in refusal(sidecar, "TLS to broker")


def test_a_broker_that_is_down_is_one_line_a_minute(tmp_path):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        sidecar = sides.Sidecar(tmp_path, {"brokers": [f"127.0.0.1:{nobody.getsockname()[1]}"]})
        line = refusal(sidecar, "cannot be reached")
    assert "Connection refused" in line and " warn " in line


def test_topics_that_differ_in_partitions_are_told_of_once(kafka, tmp_path):
    kafka.topic("three_spans", 3)
    kafka.topic("four_profiles_out", 4)
    sidecar = sides.Sidecar(tmp_path, {
        "brokers": kafka.addresses, "metadata": {"refresh_interval": "1s"},
        "traces": {"topic": "three_spans"},
        "profiles": {"topic": "four_profiles_out", "encoding": "native"}}, ("traces", "profiles"))
    assert sidecar.post("traces", spans("shop", 1, 5).SerializeToString()) == 200
    assert sidecar.upload("name=shop&format=folded", b"main;work 3\n") == 200
    sentence = "three_spans has 3, four_profiles_out has 4 partitions"
    assert harness.wait_for(lambda: sidecar.lines(" warn ", sentence), 60), sidecar.tail()
    kafka.grow("three_spans", 4)
    raised = "topic three_spans has 4 partitions now, 3 before: keys move to other partitions"
    assert harness.wait_for(lambda: sidecar.lines(raised), 60), sidecar.tail()
    assert len(sidecar.lines("partitions")) == 2, sidecar.tail()
    assert sidecar.stop() == 0
