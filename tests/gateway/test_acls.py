"""Brokers that check ACLs, with those that docs/scale.md names."""
import re
import subprocess
import time

import pytest

import broker
import credentials
import gateways
import harness
import sides
import test_mistakes
import test_receiver

USERS = ("sidecar", "gateway", "novice", "watcher")
AUTHORIZER = """\
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""
TOPICS = ("otlp_spans", "spanlink_profiles")


def commands():
    """The arguments of kafka-acls.sh in the page: those that are needed, and those of `check`."""
    page = (harness.ROOT / "docs" / "scale.md").read_text()
    needed, optional = page.split("And for `spanlink check`:")
    return [[words.split() for words in re.findall(r"^    \$acls (.+)$", text, re.M)]
            for text in (needed, optional)]


class Guarded(broker.Cluster):
    """The tests are its super user, over the plain listener."""

    def __init__(self, folder):
        users = " ".join(f'user_{name}="right"' for name in USERS)
        super().__init__(folder, listeners={"SASL": (
            "SASL_PLAINTEXT", "listener.name.sasl.plain.sasl.jaas.config="
            f"{credentials.JAAS}.plain.PlainLoginModule required {users};\n"
            f"listener.name.sasl.sasl.enabled.mechanisms=PLAIN\n{AUTHORIZER}")})

    def settings(self, user):
        return {"brokers": self.at("SASL"), "auth": {"sasl": {
            "username": user, "password": "right", "mechanism": "PLAIN"}}}

    def add(self, arguments):
        subprocess.run([*broker.JAVA, "org.apache.kafka.tools.AclCommand", "--bootstrap-server",
                        self.addresses[0], "--add", *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Guarded(tmp_path_factory.mktemp("acls")).start()
    made.topics(TOPICS, 2)
    made.topic("spanlink_dead_letters", 1, max_message_bytes=2000000)
    yield made
    made.stop()


def both(cluster, user, key, wrap, **more):
    return {**cluster.settings(user), "traces": {key: wrap(TOPICS[0])},
            "profiles": {key: wrap(TOPICS[1]), "encoding": "native"}, **more}


def test_the_commands_of_the_page_are_found():
    assert [len(each) for each in commands()] == [4, 3]


@pytest.mark.takes(15)
def test_check_claims_no_right_that_it_did_not_test(cluster, tmp_path):
    writes = both(cluster, "novice", "topic", str)
    reads = both(cluster, "novice", "topics", lambda name: [name], group_id="read_by_novice",
                 dead_letter={"topic": "spanlink_dead_letters"})
    signals = ("traces", "profiles")

    def give(*arguments):
        cluster.add(["--allow-principal", "User:novice", *arguments])

    def told():
        code, _, errors = test_mistakes.check(tmp_path, reads, "receivers", signals)
        assert code == 1
        return [error.partition("this user may ")[2] for error in errors]
    give("--operation", "Describe", *[word for topic in (*TOPICS, "spanlink_dead_letters")
                                      for word in ("--topic", topic)])
    assert told() == ["not read group read_by_novice: it needs the operation Read"] * 2
    give("--operation", "Read", "--group", "read_by_novice")
    assert told() == [f"not read topic {topic}: it needs the operation Read" for topic in TOPICS]
    give("--operation", "Read", "--topic", TOPICS[0])
    assert told() == [f"not read topic {TOPICS[1]}: it needs the operation Read"]
    give("--operation", "Read", "--topic", TOPICS[1])
    code, out, errors = test_mistakes.check(tmp_path, reads, "receivers", signals)
    assert code == 0 and not errors
    for signal in signals:
        assert (f"receivers.kafka: {signal} can be read from {cluster.at('SASL')[0]}; joining group "
                "read_by_novice and writing to spanlink_dead_letters were not tested\n" in out)
    code, out, errors = test_mistakes.check(tmp_path, writes, "exporters", signals)
    assert code == 0 and not errors
    for signal, topic in zip(signals, TOPICS):
        assert (f"exporters.kafka: {signal} have the topic {topic} at {cluster.at('SASL')[0]}; "
                "writing was not tested\n" in out)


@pytest.mark.takes(15)
def test_a_gateway_that_may_only_describe_its_topics_is_not_ready(cluster, backend, tmp_path):
    """It may join the group, and is assigned lanes."""
    def give(*arguments):
        cluster.add(["--allow-principal", "User:watcher", *arguments])
    give("--operation", "Read", "--group", "watched")
    for topic in TOPICS:
        give("--operation", "Describe", "--topic", topic)
    reads = both(cluster, "watcher", "topics", lambda name: [name], group_id="watched")
    gateway = gateways.Gateway(tmp_path, reads, backend, signals=("traces", "profiles"),
                               processors={"correlation": {}}, wait=False)
    told = "may not read topic"
    assert harness.wait_for(lambda: told in gateway.ready()[1], 60), gateway.tail()
    assert not gateway.ready()[0] and gateway.lines(told, "the operation Read")
    assert gateway.lines("is running, and not ready yet")
    assert not gateway.lines(" is ready")
    for topic in TOPICS:
        give("--operation", "Read", "--topic", topic)
    assert harness.wait_for(lambda: gateway.ready()[0], 60), gateway.tail()
    assert gateway.stop() == 0


@pytest.mark.takes(20)
def test_the_acls_of_the_page_are_what_the_tier_needs(cluster, backend, tmp_path):
    (write, read, join, park), optional = commands()
    writes = both(cluster, "sidecar", "topic", str, source="pod-1")
    reads = both(cluster, "gateway", "topics", lambda name: [name], group_id="spanlink",
                 dead_letter={"topic": "spanlink_dead_letters"})
    signals = ("traces", "profiles")
    gateway = gateways.Gateway(tmp_path, reads, backend, signals=signals,
                               processors={"correlation": {}}, wait=False)
    sidecar = sides.Sidecar(tmp_path, writes, signals)
    start = time.time_ns() - 5 * 10**9
    assert sidecar.post("traces", gateways.request(1, 1, start=start)) == 200
    for arguments, told in ((read, "may not read topic otlp_spans"),
                            (join, "may not read group spanlink")):
        assert harness.wait_for(lambda told=told: told in gateway.ready()[1], 60), gateway.tail()
        assert len(gateway.lines(told)) == 1
        assert harness.wait_for(lambda: gateway.metrics()["otelcol_process_uptime"] > 5, 60)
        cluster.add(arguments)
    assert harness.wait_for(lambda: gateway.ready()[0], 60), gateway.tail()
    # Producers may have lacked rights as well, and kept what belongs to what is read now.
    assert gateway.lines("joining the group took", "decisions wait")

    assert harness.wait_for(lambda: sidecar.lines("this user may"), 60), sidecar.tail()
    assert len(sidecar.lines(" warn ", "kafka: ")) <= 5, sidecar.tail()     # many attempts
    cluster.add(write)
    assert sidecar.upload("name=shop&format=pprof", test_receiver.pprof_of(1)) == 200
    assert harness.wait_for(lambda: backend.linked == {1}, 60), (gateway.explain(), sidecar.tail())
    for each in (gateway, sidecar):     # brokers answered all the time
        assert not each.lines("no answer from the brokers")
        assert not each.lines("can be reached again"), each.tail()

    poison = gateways.Producer(cluster)

    def parked():
        poison.send(TOPICS[0], b"\xff\xff\xff", partition=0)
        poison.flush()
        return gateway.metrics()["dead_letters"]
    assert not parked()
    assert harness.wait_for(lambda: gateway.lines("a dead letter cannot be written"), 60)
    cluster.add(park)
    assert harness.wait_for(parked, 60, 1), gateway.tail()
    assert harness.wait_for(lambda: gateway.metrics()["lag"] == 0, 60), gateway.explain()
    assert not gateway.metrics()["commit_failures"]
    assert gateway.stop() == 0 and sidecar.stop() == 0

    for side, settings, topic in (("exporters", writes, TOPICS[0]),
                                  ("receivers", reads, "spanlink_dead_letters")):
        code, out, errors = test_mistakes.check(tmp_path, settings, side, signals)
        assert code == 0 and not errors
        assert f"the max.message.bytes of topic {topic} is not known: this user may not" in out
    for arguments in optional:
        cluster.add(arguments)
    for side, settings in (("exporters", writes), ("receivers", reads)):
        code, out, errors = test_mistakes.check(tmp_path, settings, side, signals)
        assert code == 0 and not errors and "warning" not in out
    reads["dead_letter"] = {"topic": "nowhere"}
    _, _, [line] = test_mistakes.check(tmp_path, reads, "receivers", signals)
    assert "the brokers do not create topics" in line
