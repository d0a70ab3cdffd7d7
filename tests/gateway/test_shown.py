"""What `spanlink top` and the status page's API show of Kafka."""
import subprocess
import time

import pytest
import requests

import broker
import gateways
import harness
import sides
from test_receiver import pair, pprof_of, reads


def top(port):
    """The text of `spanlink top --once`."""
    ran = subprocess.run([harness.SPANLINK, "top", "--once", "--endpoint", f"127.0.0.1:{port}"],
                         capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def problem(port, *words):
    """The line of a problem with all of these words; None: there is none."""
    return next((line for line in top(port).splitlines()
                 if line.startswith("!") and all(word in line for word in words)), None)


class Shown:
    """A gateway with a status page at this port."""

    def __init__(self):
        self.port = harness.free_port()

    def gateway(self, *arguments, **more):
        return gateways.Gateway(*arguments, status=self.port, **more)

    def component(self, what="kafka"):
        answer = requests.get(f"http://127.0.0.1:{self.port}/api/pipelines", timeout=30).json()
        return next(each for each in answer["components"] if each["id"] == what)


@pytest.fixture
def shown():
    return Shown()


def test_lost_records_are_shown(kafka, producer, backend, tmp_path, shown):
    name = kafka.topic("shown_lost", 1)
    producer.spans(name, 1, 10, partitions=1)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name), backend)
    assert harness.wait_for(lambda: gateways.committed(kafka, name, name) == 10, 60, 0.5)
    gateway.kill()
    producer.spans(name, 11, 10, partitions=1)
    kafka.delete_before(name, 0, 17)
    producer.send(name, b"\xff\xff\xff", partition=0)
    producer.flush()
    gateway = shown.gateway(tmp_path, reads(kafka, name), backend)
    assert harness.wait_for(lambda: gateway.metrics()["unreadable_records_lost"] == 1, 60), (
        gateway.explain())
    assert gateway.metrics()["expired_records"] == 7
    lines = [line.split() for line in top(shown.port).splitlines()]
    assert next(line for line in lines if "messages" in line)[-1] == "8"
    assert problem(shown.port, "kafka", "7 records of shown_lost were lost", "longer retention")
    assert problem(shown.port, "1 records could not be read and were lost", "dead_letter.topic")
    assert {each["cause"]: (each["item"], each["count"]) for each in shown.component()["drops"]} == {
        "expired": ("kafka_records", 7), "unreadable": ("kafka_records", 1)}
    assert gateway.stop() == 0


@pytest.mark.takes(15)
def test_lanes_that_stand_still_are_shown_with_the_reason(kafka, producer, backend, tmp_path, shown):
    name = kafka.topic("shown_full", 2)
    backend.status = 503
    gateway = shown.gateway(tmp_path, reads(kafka, name), backend,
                            exporter={"sending_queue": {"queue_size": 3}})
    producer.spans(name, 1, 40, partitions=2)
    assert harness.wait_for(lambda: problem(shown.port, "2 of 2 lanes are behind", "queues are full"),
                            60), top(shown.port)
    lanes = shown.component()["lanes"]
    assert (lanes["count"], lanes["paused"], lanes["lag_records"]) == (2, 2, 40)
    assert 0 < lanes["unread_records"] < 40 and lanes["oldest_ns"] > 5e9
    assert "kafka: 2 lanes, 2 paused, 40 records not delivered" in top(shown.port)
    assert "oldest record" in gateway.explain() and "it pauses, since" in gateway.explain()
    assert gateway.ready()[0]
    backend.status = 200
    assert harness.wait_for(lambda: shown.component()["lanes"]["lag_records"] == 0, 60)
    assert not problem(shown.port, "lanes are behind")
    assert gateway.stop() == 0


def test_partition_counts_that_differ_are_shown_with_their_numbers(kafka, backend, tmp_path, shown):
    sidecar, both = pair(kafka, "shown_unequal", tmp_path)
    gateway = shown.gateway(tmp_path, {**both, "metadata": {"refresh_interval": "1s"}}, backend,
                            signals=("traces", "profiles"))
    kafka.grow("shown_unequal_spans", 4)
    numbers = "shown_unequal_spans has 4, shown_unequal_profiles has 2 partitions"
    assert harness.wait_for(lambda: numbers in gateway.ready()[1], 60), gateway.ready()
    assert problem(shown.port, numbers) and numbers in gateway.explain()
    kafka.grow("shown_unequal_profiles", 4)
    assert harness.wait_for(lambda: gateway.ready()[0], 60), gateway.ready()
    assert gateway.stop() == 0 and sidecar.stop() == 0


def test_a_sidecar_shows_partition_counts_that_differ(kafka, tmp_path):
    kafka.topic("shown_two", 2)
    kafka.topic("shown_three", 3)
    port = harness.free_port()
    sidecar = sides.Sidecar(tmp_path, {
        "brokers": kafka.addresses, "metadata": {"refresh_interval": "1s"},
        "traces": {"topic": "shown_two"},
        "profiles": {"topic": "shown_three", "encoding": "native"}}, ("traces", "profiles"),
        status=port)
    assert sidecar.post("traces", gateways.request(1, 5)) == 200
    assert sidecar.upload("name=shop&format=folded", b"main;work 3\n") == 200
    assert harness.wait_for(
        lambda: problem(port, "kafka", "shown_two has 2, shown_three has 3 partitions"), 60), (
        sidecar.tail())
    kafka.grow("shown_two", 3)
    assert harness.wait_for(lambda: not problem(port, "partitions"), 60), top(port)
    assert sidecar.stop() == 0


def test_a_quota_is_shown(kafka, tmp_path):
    topic, port = kafka.topic("shown_quota", 1), harness.free_port()
    subprocess.run([*broker.JAVA, "kafka.admin.ConfigCommand", "--bootstrap-server",
                    kafka.addresses[0], "--alter", "--add-config", "producer_byte_rate=20000",
                    "--entity-type", "clients", "--entity-name", "shown"],
                   check=True, capture_output=True)
    sidecar = sides.Sidecar(tmp_path, {"brokers": kafka.addresses, "client_id": "shown",
                                       "traces": {"topic": topic}}, status=port)

    def delayed():
        sidecar.post("traces", gateways.request(1, 500))
        return problem(port, "kafka", "delays this client", "quota")
    assert harness.wait_for(delayed, 60), top(port)
    assert sidecar.lines(" warn ", "delays this client")
    assert not sidecar.lines("cannot be reached")       # though requests may time out
    sidecar.kill()


@pytest.mark.takes(15)
def test_profiles_in_another_partition_are_the_reason(kafka, producer, backend, tmp_path, shown):
    """Spans written without the key of their process, as by a Collector."""
    name = "shown_apart"
    sidecar, both = pair(kafka, name, tmp_path)
    gateway = shown.gateway(tmp_path, both, backend, signals=("traces", "profiles"),
                            processors={"correlation": {"hold": "3s"}})
    began = time.time_ns() - 5 * 10**9
    assert sidecar.upload("name=shop&format=pprof", pprof_of(*range(1, 5))) == 200
    assert harness.wait_for(lambda: len(backend.profiles) == 1, 60), gateway.explain()
    [profile] = kafka.records(f"{name}_profiles", 1)
    for number in range(1, 5):
        producer.send(f"{name}_spans", gateways.request(number, 1, start=began),
                      partition=1 - profile.partition)
    producer.flush()
    assert harness.wait_for(lambda: backend.has(range(1, 5)), 60), gateway.explain()
    assert not backend.linked
    assert harness.wait_for(lambda: problem(shown.port, "shop", "other partitions"), 30), (
        top(shown.port))
    assert "partitions_differ 4" in top(shown.port)
    assert gateway.stop() == 0 and sidecar.stop() == 0


def test_a_profile_whose_parts_do_not_come_is_shown(kafka, producer, backend, tmp_path, shown):
    name = kafka.topic("shown_parts", 1)
    producer.send(name, b"front", key=b"key", timestamp=int((time.time() - 60) * 1000), headers={
        "spanlink.encoding": "pprof", "spanlink.part": f"1/3 {7:016x}"})
    producer.flush()
    gateway = shown.gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": name,
        "profiles": {"topics": [name], "encoding": "native"}}, backend, signals=("profiles",))
    assert harness.wait_for(lambda: problem(shown.port, "the rest of a profile in shown_parts"),
                            60), top(shown.port)
    assert gateway.ready()[0] and gateway.stop() == 0
