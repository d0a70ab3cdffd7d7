"""The whole way: thin sidecars, Kafka, gateways with correlation, backends; with the configurations
in configs/."""
import threading
import time

import pytest

import broker
import credentials
import fleet
import gateways
import harness
import sides

CONFIGS = harness.ROOT / "configs"
MEMORY_MIB = 512        # of configs/gateway.yaml
# For windows of up to 4 s. By itself, correlation waits 75 s until it knows a service's windows.
SHORT_HOLD = {"processors.correlation.hold": "12s"}


@pytest.fixture
def backend():
    made = gateways.Backend()
    yield made
    made.close()


@pytest.fixture(scope="module")
def producer(kafka):
    return gateways.Producer(kafka)


def topics(kafka, name, partitions=6):
    kafka.topic(f"{name}_spans", partitions)
    kafka.topic(f"{name}_profiles", partitions)
    return name


class Sidecar(harness.Program):
    """configs/sidecar-to-kafka.yaml with free ports."""

    def __init__(self, folder, kafka, name, source):
        self.http, self.ingest, grpc, health = (harness.free_port() for _ in range(4))
        settings = {
            "receivers.otlp.protocols.http.endpoint": f"127.0.0.1:{self.http}",
            "receivers.otlp.protocols.grpc.endpoint": f"127.0.0.1:{grpc}",
            "receivers.pyroscope.endpoint": f"127.0.0.1:{self.ingest}",
            "extensions.health_check.endpoint": f"127.0.0.1:{health}",
            "exporters.kafka.brokers": "[" + ", ".join(kafka.addresses) + "]",
            "exporters.kafka.source": source,
            "exporters.kafka.traces.topic": f"{name}_spans",
            "exporters.kafka.profiles.topic": f"{name}_profiles",
            "service.telemetry.metrics.level": "none"}
        super().__init__(f"sidecar-{source}", folder, [
            harness.SPANLINK, "--config", CONFIGS / "sidecar-to-kafka.yaml",
            *(word for pair in settings.items() for word in ("--set", "=".join(pair)))],
            env={"KAFKA_BROKERS": kafka.addresses[0]})
        self.wait_ready(f"http://127.0.0.1:{health}/", 20)


class Gateway(gateways.Gateway):
    """configs/gateway.yaml with free ports, and a short session."""

    def __init__(self, folder, kafka, name, backend, wait=True, **settings):
        folder.mkdir(parents=True, exist_ok=True)
        self.health, self.pages, self.metrics_port = (harness.free_port() for _ in range(3))
        own = f"gateway-{next(self.names)}"
        settings = {
            "extensions.health_check.endpoint": f"127.0.0.1:{self.health}",
            "extensions.zpages.endpoint": f"127.0.0.1:{self.pages}",
            "service.extensions": "[health_check, zpages]",
            "service.telemetry.metrics.readers":
                f"[{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {self.metrics_port}}}}}}}}}]",
            "receivers.kafka.brokers": "[" + ", ".join(kafka.addresses) + "]",
            "receivers.kafka.group_id": name,
            "receivers.kafka.session_timeout": "6s",
            "receivers.kafka.heartbeat_interval": "500ms",
            "receivers.kafka.dead_letter.topic": "",
            "receivers.kafka.traces.topics": f"[{name}_spans]",
            "receivers.kafka.profiles.topics": f"[{name}_profiles]",
            "exporters.otlp_http.compression": "none",
            "exporters.pyroscope.compression": "none", **settings}
        harness.Program.__init__(self, own, folder, [
            harness.SPANLINK, "--config", CONFIGS / "gateway.yaml",
            *(word for pair in settings.items() for word in ("--set", "=".join(pair)))],
            env={"KAFKA_BROKERS": kafka.addresses[0], "POD_NAME": own,
                 "OTLP_ENDPOINT": backend.url, "PYROSCOPE_URL": backend.url})
        if wait:
            self.wait_ready(f"http://127.0.0.1:{self.health}/", 40)


def test_links_are_exact_live(kafka, backend, tmp_path, soak):
    name = topics(kafka, "live")
    sidecars = [Sidecar(tmp_path, kafka, name, f"pod-{number}") for number in range(3)]
    gateway = Gateway(tmp_path, kafka, name, backend, **({} if soak else SHORT_HOLD))
    world = fleet.Fleet(time.time(), 300 if soak else 16, processes=3, window=4)
    world.played(fleet.to_sidecars(sidecars)).join()
    assert harness.wait_for(lambda: backend.has(world.numbers), 100), gateway.explain()
    world.check(backend)
    assert not backend.doubled()
    for program in (*sidecars, gateway):
        assert program.stop() == 0


def peak_mib(program):
    with open(f"/proc/{program.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) >> 10


def test_a_backlog_of_half_an_hour_is_linked_as_live(kafka, producer, backend, tmp_path):
    name, seconds = topics(kafka, "backlog"), 1800
    world = fleet.Fleet(time.time() - seconds - 60, seconds)
    world.write(producer, f"{name}_spans", f"{name}_profiles")
    began = time.monotonic()
    gateway = Gateway(tmp_path, kafka, name, backend)
    assert harness.wait_for(lambda: backend.has(world.numbers), 120), gateway.explain()
    took = time.monotonic() - began
    print(f"{len(world.numbers)} spans of {seconds} s in {took:.1f} s: {seconds / took:.0f} times "
          f"as fast, {peak_mib(gateway)} MiB")
    world.check(backend)
    assert not backend.doubled()
    assert peak_mib(gateway) < MEMORY_MIB
    assert seconds / took >= 40
    assert gateway.stop() == 0


def test_a_gateway_killed_in_a_backlog_loses_nothing(kafka, producer, backend, tmp_path, soak):
    name, seconds = topics(kafka, "shared"), 3600 if soak else 1200
    world = fleet.Fleet(time.time() - seconds - 60, seconds, processes=8)
    world.write(producer, f"{name}_spans", f"{name}_profiles")
    backend.delay = 0.2     # so slow that most was committed long before the kill
    small = {"processors.batch.send_batch_size": "200", "processors.batch.send_batch_max_size": "200"}
    two = [Gateway(tmp_path, kafka, name, backend, wait=False, **small) for _ in range(2)]
    assert harness.wait_for(lambda: len(backend.spans) > len(world.numbers) / 2, 60)
    two[1].kill()
    killed = time.monotonic()
    assert len(backend.spans) < len(world.numbers) * 0.9, "too late to prove anything"
    assert harness.wait_for(lambda: backend.has(world.numbers), 120), two[0].explain()
    world.check(backend)
    doubled = backend.doubled()
    late = [times for times in doubled.values() if not killed - 2.5 < times[0] < killed + 0.5]
    before = sum(times[0] < killed - 2.5 for times in backend.spans.values())
    print(f"{len(world.numbers)} spans, {before} delivered 2.5 s before the kill; {len(doubled)} "
          f"twice, {len(late)} of them from then")
    assert before > len(world.numbers) / 10
    assert not late
    assert two[0].metrics()["lanes"] == 6
    assert two[0].stop() == 0


def test_nothing_acknowledged_is_lost_when_a_broker_is_killed(backend, tmp_path, soak):
    cluster = broker.Cluster(tmp_path / "kafka", 3).start()
    cluster.topic("otlp_spans", 6)
    sidecar = sides.Sidecar(tmp_path, {"brokers": cluster.addresses})
    gateway = gateways.Gateway(tmp_path, {
        "brokers": cluster.addresses, "group_id": "kills",
        "traces": {"topics": ["otlp_spans"]}}, backend)
    accepted, stop = [], threading.Event()

    def load():
        number = 1
        while not stop.is_set():
            if sidecar.post("traces", gateways.request(number, 20)) == 200:
                accepted.extend(range(number, number + 20))
            number += 20
            time.sleep(0.01)
    thread = threading.Thread(target=load)
    thread.start()
    try:
        for turn in range(9 if soak else 1):
            victim = cluster.brokers[turn % 3]
            time.sleep(2)
            victim.kill()
            seen = len(backend.spans)
            assert harness.wait_for(lambda seen=seen: len(backend.spans) > seen + 1000, 60)
            victim.start().wait()
    finally:
        stop.set()
        thread.join()
    assert harness.wait_for(lambda: backend.has(accepted), 60), gateway.explain()
    print(f"{len(accepted)} accepted, {len(backend.doubled())} twice")
    assert len(accepted) > 1000
    assert sidecar.stop() == 0 and gateway.stop() == 0
    cluster.stop()


@pytest.mark.soak
def test_topics_are_raised_from_6_to_12_partitions(kafka, backend, tmp_path):
    """Raised one after the other: meanwhile numbers that only one topic has stand still."""
    name = topics(kafka, "raised")
    sidecars = [sides.Sidecar(tmp_path, {
        "brokers": kafka.addresses, "source": f"pod-{number}", "metadata": {"refresh_interval": "1s"},
        "traces": {"topic": f"{name}_spans"},
        "profiles": {"topic": f"{name}_profiles", "encoding": "native"}}, ("traces", "profiles"),
        name=f"sidecar-{number}") for number in range(4)]
    gateway = Gateway(tmp_path, kafka, name, backend,
                      **{"receivers.kafka.metadata.refresh_interval": "1s", **SHORT_HOLD})
    assert gateway.metrics()["lanes"] == 6
    numbers = fleet.Fleet(time.time(), 12, window=2)
    thread = numbers.played(fleet.to_sidecars(sidecars))
    gateways.grow(kafka, f"{name}_spans", 12)
    assert harness.wait_for(lambda: gateway.lines("partitions are not read"), 20), gateway.tail()
    assert not gateway.ready()[0]
    gateways.grow(kafka, f"{name}_profiles", 12)
    assert harness.wait_for(lambda: gateway.metrics()["lanes"] == 12, 30), gateway.explain()
    assert harness.wait_for(lambda: gateway.ready()[0], 10), gateway.explain()
    thread.join()
    assert harness.wait_for(lambda: backend.has(numbers.numbers), 90), gateway.explain()
    wrong, missed = backend.linked - numbers.truth, numbers.truth - backend.linked
    print(f"{len(numbers.numbers)} spans, {len(numbers.truth)} with samples: {len(missed)} not "
          f"linked, {len(wrong)} linked wrongly, {len(backend.doubled())} twice")
    assert not wrong
    for program in (*sidecars, gateway):
        assert program.stop() == 0


@pytest.mark.parametrize("way", [pytest.param("SCRAM-SHA-256", marks=pytest.mark.soak),
                                 "SCRAM-SHA-512", "PLAIN over TLS",
                                 pytest.param("TLS", marks=pytest.mark.soak)])
def test_a_gateway_logs_in(guarded, newer, backend, tmp_path, way):
    name = guarded.topic(f"login_{way.replace(' ', '_')}", 1)
    gateways.Producer(guarded).spans(name, 1, 10, partitions=1)
    ca = {"ca_file": f"{guarded.pki}/ca.pem"}
    settings = {
        "PLAIN over TLS": {"brokers": guarded.at("BOTH"), "tls": ca, **credentials.sasl("PLAIN")},
        "TLS": {"brokers": guarded.at("TLS"), "tls": {
            **ca, "cert_file": f"{guarded.pki}/client.crt",
            "key_file": f"{guarded.pki}/client.key"}},
    }.get(way, {"brokers": guarded.at("SASL"), **credentials.sasl(way)})
    gateway = gateways.Gateway(tmp_path, {**settings, "group_id": name, "traces": {"topics": [name]}},
                               backend, env=newer)
    assert harness.wait_for(lambda: backend.has(range(1, 11)), 20), gateway.tail()
    assert gateway.stop() == 0


def test_a_gateway_with_a_wrong_password_says_so_in_one_line(guarded, backend, tmp_path):
    gateway = gateways.Gateway(tmp_path, {
        "brokers": guarded.at("SASL"), **credentials.sasl("PLAIN", "wrong"), "group_id": "wrong"},
        backend, wait=False)
    assert harness.wait_for(lambda: gateway.lines("refuses the user name or the password"), 20)
    time.sleep(2)       # librdkafka tries again
    assert len(gateway.lines("refuses the user name")) == 1, gateway.tail()
    gateway.kill()
