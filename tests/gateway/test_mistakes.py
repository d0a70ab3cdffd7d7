"""Configurations that do not fit the brokers, and what `spanlink check` and a gateway say."""
import subprocess
import time

import pytest
import yaml

import broker
import credentials
import gateways
import harness


def check(folder, kafka, side="receivers", signals=("traces",)):
    """Returns the exit code and what was printed."""
    out = {"debug": {}} if side == "receivers" else {}
    source = {} if side == "receivers" else {
        "otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{harness.free_port()}"}}},
        "pyroscope": {"endpoint": f"127.0.0.1:{harness.free_port()}"}}
    sections = {"receivers": dict(source), "exporters": dict(out)}
    sections[side]["kafka"] = kafka
    receivers = {what: ["kafka"] if side == "receivers" else
                 ["pyroscope" if what == "profiles" else "otlp"] for what in signals}
    used = {name for names in receivers.values() for name in names}
    sections["receivers"] = {name: each for name, each in sections["receivers"].items()
                             if name in used}
    config = folder / "check.yaml"
    config.write_text(yaml.safe_dump({**sections, "service": {"telemetry": {"metrics": {
        "level": "none"}}, "pipelines": {what: {
            "receivers": receivers[what],
            "exporters": ["kafka" if side == "exporters" else "debug"]} for what in signals}}}))
    ran = subprocess.run([harness.SPANLINK, "check", "--config", config], capture_output=True,
                         text=True, timeout=60)
    # Warnings about the configuration alone, such as a password in cleartext, are of no interest.
    return ran.returncode, ran.stdout, [line for line in ran.stderr.splitlines()
                                        if " warn " not in line]


def test_a_receiver_that_can_read_is_reported(kafka, tmp_path):
    topic = kafka.topic("checked", 2)
    code, out, errors = check(tmp_path, {"brokers": kafka.addresses, "traces": {"topics": [topic]}})
    assert code == 0 and not errors
    assert (f"receivers.kafka: traces can be read from {kafka.addresses[0]}; joining group "
            "otel-collector was not tested\n" in out)


def test_an_exporter_that_can_write_is_reported(kafka, tmp_path):
    topic = kafka.topic("writable", 2)
    code, out, errors = check(tmp_path, {"brokers": kafka.addresses, "traces": {"topic": topic}},
                              "exporters")
    assert code == 0 and not errors
    assert (f"exporters.kafka: traces have the topic {topic} at {kafka.addresses[0]}; writing was not "
            "tested" in out)


def test_a_broker_that_is_down_is_reported(tmp_path):
    code, _, errors = check(tmp_path, {"brokers": ["127.0.0.1:1"]}, "exporters")
    assert code == 1 and "cannot be reached" in errors[0]


@pytest.mark.parametrize("side", ["receivers", "exporters"])
def test_a_wrong_password_is_one_line(guarded, tmp_path, side):
    code, _, errors = check(tmp_path, {"brokers": guarded.at("SASL"),
                                       **credentials.sasl("PLAIN", "wrong")}, side)
    assert code == 1 and len(errors) == 1
    assert "refuses the user name or the password" in errors[0]


@pytest.mark.parametrize("listener,tls,sentence", [
    ("TLS", None, "may expect TLS"),
    ("TLS", {"ca_file": "ca.pem"}, "TLS to"),       # without a client's certificate
    ("BOTH", {}, "TLS to"),                         # a CA that the system does not know
    ("SASL", {}, "TLS to")])
def test_a_mistake_with_tls_is_one_line(guarded, tmp_path, listener, tls, sentence):
    settings = {"brokers": guarded.at(listener), "traces": {"topics": ["otlp_spans"]}}
    if tls is not None:
        settings["tls"] = {key: f"{guarded.pki}/{value}" for key, value in tls.items()}
    code, _, errors = check(tmp_path, settings)
    assert code == 1 and len(errors) == 1
    assert sentence in errors[0]


@pytest.mark.parametrize("side,topic", [("receivers", {"topics": ["absent"]}),
                                        ("exporters", {"topic": "absent"})])
def test_a_missing_topic_is_one_line(kafka, tmp_path, side, topic):
    code, _, errors = check(tmp_path, {"brokers": kafka.addresses, "traces": topic}, side)
    assert code == 1 and len(errors) == 1
    assert "topic absent does not exist" in errors[0]


@pytest.mark.parametrize("side,key,wrap", [("receivers", "topics", lambda name: [name]),
                                           ("exporters", "topic", str)])
def test_topics_with_unequal_numbers_of_partitions_are_refused(kafka, tmp_path, side, key, wrap):
    spans, profiles = f"{side}_three", f"{side}_four"
    kafka.topic(spans, 3)
    kafka.topic(profiles, 4)
    code, _, errors = check(tmp_path, {
        "brokers": kafka.addresses, "traces": {key: wrap(spans)},
        "profiles": {key: wrap(profiles), "encoding": "native"}}, side, ("traces", "profiles"))
    assert code == 1 and len(errors) == 1
    assert f"topic {spans} has 3 partitions and topic {profiles} has 4" in errors[0]


@pytest.mark.parametrize("side,key,wrap", [("receivers", "topics", lambda name: [name]),
                                           ("exporters", "topic", str)])
def test_a_topic_with_the_brokers_time_is_warned_of(kafka, tmp_path, side, key, wrap):
    spans, profiles = f"{side}_appended", f"{side}_created"
    kafka.topic(spans, 1, message_timestamp_type="LogAppendTime")
    kafka.topic(profiles, 1)
    code, out, errors = check(tmp_path, {
        "brokers": kafka.addresses, "traces": {key: wrap(spans)},
        "profiles": {key: wrap(profiles), "encoding": "native"}}, side, ("traces", "profiles"))
    assert code == 0 and not errors
    assert f"warning: topic {spans} has message.timestamp.type=LogAppendTime" in out
    assert f"topic {profiles} has message" not in out


@pytest.mark.parametrize("side", ["receivers", "exporters"])
def test_check_warns_of_a_compacted_topic(kafka, tmp_path, side):
    topic = kafka.topic(f"compacted_{side}", 1, cleanup_policy="compact")
    code, out, errors = check(tmp_path, {"brokers": kafka.addresses, "traces": {
        "topics": [topic]} if side == "receivers" else {"topic": topic}}, side)
    assert code == 0, errors
    assert f"warning: topic {topic} has cleanup.policy=compact" in out


def test_a_missing_dead_letter_topic_is_one_line(kafka, tmp_path):
    kafka.pair("unparked", 1)
    code, out, errors = check(tmp_path, {
        "brokers": kafka.addresses, "dead_letter": {"topic": "nowhere_dead"},
        "traces": {"topics": ["unparked_spans"]},
        "profiles": {"topics": ["unparked_profiles"], "encoding": "native"}},
        "receivers", ("traces", "profiles"))
    assert code == 1 and len(errors) == 1
    assert ("receivers.kafka.dead_letter.topic" in errors[0] and "topic nowhere_dead does not exist"
            in errors[0] and "the brokers do not create topics" in errors[0])


def test_a_missing_dead_letter_topic_is_named_beside_missing_topics(kafka, tmp_path):
    code, _, errors = check(tmp_path, {
        "brokers": kafka.addresses, "dead_letter": {"topic": "nowhere_dead"},
        "traces": {"topics": ["nowhere_spans"]}})
    assert code == 1 and len(errors) == 1
    assert ("topic nowhere_spans does not exist" in errors[0]
            and "dead_letter.topic nowhere_dead does not exist either" in errors[0])


def test_a_dead_letter_topic_with_too_low_a_limit_is_warned_of(kafka, tmp_path):
    topic = kafka.topic("large_records", 1, max_message_bytes=3000000)
    dead = kafka.topic("small_dead", 1, max_message_bytes=2000000)
    settings = {"brokers": kafka.addresses, "dead_letter": {"topic": dead},
                "traces": {"topics": [topic]}}
    code, out, errors = check(tmp_path, settings)
    assert code == 0 and not errors
    assert ("warning: dead_letter.topic small_dead takes 2000000 bytes at once (max.message.bytes),"
            " but topic large_records takes 3000000" in out)
    assert "set max.message.bytes of small_dead to at least 3001024" in out
    settings["dead_letter"] = {"topic": kafka.topic("ample_dead", 1, max_message_bytes=3001024)}
    code, out, errors = check(tmp_path, settings)
    assert code == 0 and not errors and "warning" not in out


def test_a_topic_with_a_lower_limit_than_the_exporter_is_warned_of(kafka, tmp_path):
    topic = kafka.topic("lower_limit", 1, max_message_bytes=500000)
    settings = {"brokers": kafka.addresses, "traces": {"topic": topic}}
    code, out, errors = check(tmp_path, settings, "exporters")
    assert code == 0 and not errors
    assert ("warning: topic lower_limit takes 500000 bytes at once (max.message.bytes), but "
            "producer.max_message_bytes is 1000000" in out)
    settings["producer"] = {"max_message_bytes": 500000}
    code, out, errors = check(tmp_path, settings, "exporters")
    assert code == 0 and not errors and "warning" not in out


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A broker that creates topics, and advertises its listener ASTRAY with a wrong address."""
    cluster = broker.Cluster(tmp_path_factory.mktemp("odd"), auto=True,
                             listeners={"ASTRAY": ("PLAINTEXT", "")}, astray=["ASTRAY"]).start()
    yield cluster
    cluster.stop()


def test_brokers_that_create_topics_create_that_of_dead_letters(odd, tmp_path):
    topic = odd.topic("read", 1, max_message_bytes=3000000)
    code, out, errors = check(tmp_path, {
        "brokers": odd.addresses, "dead_letter": {"topic": "later_dead"},
        "traces": {"topics": [topic]}})
    assert code == 0 and not errors
    assert "dead_letter.topic later_dead does not exist yet; the brokers create it" in out
    assert "set max.message.bytes of later_dead to at least 3001024" in out


@pytest.mark.parametrize("side,traces", [("receivers", {"topics": ["astray"]}),
                                         ("exporters", {"topic": "astray"})])
def test_a_wrong_advertised_address_is_named(odd, tmp_path, side, traces):
    odd.topic("astray", 1)
    code, _, errors = check(tmp_path, {"brokers": odd.at("ASTRAY"), "traces": traces}, side)
    assert code == 1 and len(errors) == 1
    assert "broker 127.0.0.1:1 cannot be reached: Connection refused" in errors[0]


def test_a_topic_with_another_encoding_is_reported(kafka, producer, backend, tmp_path):
    topic, dead = kafka.topic("miscoded", 2), kafka.topic("miscoded_dead", 1)
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": topic, "dead_letter": {"topic": dead},
        "traces": {"topics": [topic], "encoding": "otlp_json"}}, backend)
    producer.spans(topic, 1, 40, partitions=2)
    assert harness.wait_for(lambda: not gateway.ready()[0], 60)
    _, text = gateway.ready()
    assert f"records of topic {topic} could not be read as otlp_json" in text
    assert harness.wait_for(lambda: gateway.metrics()["dead_letters"] == 40, 60)
    [line] = gateway.lines(f"records of topic {topic} could not be read as otlp_json")
    assert "is traces.encoding right?" in line
    told = f"40 of 40 records of topic {topic} could not be read"
    assert harness.wait_for(lambda: told in gateway.explain(), 60), gateway.explain()
    # One that can be read shows that the encoding is right.
    producer.send(topic, b'{"resourceSpans": []}', partition=0)
    producer.flush()
    assert harness.wait_for(lambda: gateway.ready()[0], 60), gateway.ready()
    assert gateway.stop() == 0


def test_a_gateway_says_at_once_that_a_topic_is_missing(kafka, backend, tmp_path):
    began = time.monotonic()
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": "missing", "traces": {"topics": ["nowhere"]}},
        backend, wait=False)
    assert harness.wait_for(lambda: gateway.lines("topic nowhere does not exist"), 60)
    print(f"after {time.monotonic() - began:.1f} s")
    assert "topic nowhere does not exist" in gateway.ready()[1]
    assert gateway.stop() == 0
