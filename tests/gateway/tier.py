"""The tier as docs/scale.md describes it: thin sidecars that write to Kafka, gateways that read it,
all with the files of configs/, on free ports."""
import itertools
import time

import requests

import fleet
import gateways
import harness

CONFIGS = harness.ROOT / "configs"
MEMORY_MIB = 512        # of configs/gateway.yaml


def batches(spans):
    """Settings of `batch`: requests of at most so many."""
    return {"processors.batch.send_batch_size": str(spans),
            "processors.batch.send_batch_max_size": str(spans)}


# For windows of up to 4 s. By itself, correlation waits 75 s until it knows a service's windows.
SHORT_HOLD = {"processors.correlation.hold": "12s"}
# A profile may be late by the time that brokers take to replace one of them.
LONG_HOLD = {"processors.correlation.hold": "30s"}
# What is delivered of a record cannot be committed while others of its spans wait.
ONE_SPAN = batches(1)


def words(settings):
    return [word for pair in settings.items() for word in ("--set", "=".join(pair))]


class Sidecar:
    """configs/sidecar-to-kafka.yaml on ports of its own; its processes run one after the other."""

    def __init__(self, folder, kafka, name, source, journal=False, **more):
        self.folder, self.kafka, self.source, self.program = folder, kafka, source, None
        self.http, self.ingest, grpc, self.health = (harness.free_port() for _ in range(4))
        self.settings = {
            "receivers.otlp.protocols.http.endpoint": f"127.0.0.1:{self.http}",
            "receivers.otlp.protocols.grpc.endpoint": f"127.0.0.1:{grpc}",
            "receivers.pyroscope.endpoint": f"127.0.0.1:{self.ingest}",
            "extensions.health_check.endpoint": f"127.0.0.1:{self.health}",
            "exporters.kafka.brokers": "[" + ", ".join(kafka.addresses) + "]",
            "exporters.kafka.source": source,
            "exporters.kafka.traces.topic": f"{name}_spans",
            "exporters.kafka.profiles.topic": f"{name}_profiles",
            "service.telemetry.metrics.level": "none", **more}
        if journal:
            self.settings |= {"extensions.journal.directory": str(folder / f"journal-{source}"),
                              "service.extensions": "[health_check, journal]"}

    def start(self):
        self.program = harness.Program(f"sidecar-{self.source}", self.folder, [
            harness.SPANLINK, "--config", CONFIGS / "sidecar-to-kafka.yaml", *words(self.settings)],
            env={"KAFKA_BROKERS": self.kafka.addresses[0]})
        self.program.wait_ready(f"http://127.0.0.1:{self.health}/", 60)
        return self

    def kill(self):
        self.program.kill()

    def stop(self):
        return self.program.stop()


class Gateway(gateways.Gateway):
    """configs/gateway.yaml on ports of its own, with a short session. pod: its name in the group.
    """
    pods = itertools.count(1)

    def __init__(self, folder, kafka, name, backend, wait=True, pod=None, **settings):
        self.health, self.pages, self.metrics_port = (harness.free_port() for _ in range(3))
        self.pod = pod or f"tier-{next(self.pods)}"
        url = backend.at(self.pod)
        reader = f"prometheus: {{host: 127.0.0.1, port: {self.metrics_port}}}"
        settings = {
            "extensions.health_check.endpoint": f"127.0.0.1:{self.health}",
            "extensions.zpages.endpoint": f"127.0.0.1:{self.pages}",
            "service.extensions": "[health_check, zpages]",
            "service.telemetry.metrics.readers": f"[{{pull: {{exporter: {{{reader}}}}}}}]",
            "receivers.kafka.brokers": "[" + ", ".join(kafka.addresses) + "]",
            "receivers.kafka.group_id": name,
            "receivers.kafka.session_timeout": "6s",
            "receivers.kafka.heartbeat_interval": "500ms",
            "receivers.kafka.dead_letter.topic": "",
            "receivers.kafka.traces.topics": f"[{name}_spans]",
            "receivers.kafka.profiles.topics": f"[{name}_profiles]",
            "exporters.otlp_http.compression": "none",
            "exporters.pyroscope.compression": "none", **settings}
        harness.Program.__init__(self, self.pod, folder, [
            harness.SPANLINK, "--config", CONFIGS / "gateway.yaml", *words(settings)],
            env={"KAFKA_BROKERS": kafka.addresses[0], "POD_NAME": self.pod,
                 "OTLP_ENDPOINT": url, "PYROSCOPE_URL": url})
        if wait:
            self.wait_ready(f"http://127.0.0.1:{self.health}/", 60)

    def lanes(self):
        """How many it has; 0 also while it starts."""
        try:
            return self.metrics().get("lanes", 0)
        except requests.ConnectionError:
            return 0

    def signal(self, number):
        self.process.send_signal(number)


class Tier:
    """Sidecars and gateways on topics of their own, and one backend.

    settings: of every gateway, such as SHORT_HOLD. sidecar: of every sidecar."""

    def __init__(self, folder, kafka, name, backend, sidecars=3, gateways=1, partitions=6,
                 journal=False, sidecar=None, **settings):
        self.folder, self.kafka, self.name, self.backend = folder, kafka, name, backend
        self.settings, self.worlds, self.uncommitted = settings, [], set()
        kafka.pair(name, partitions)
        self.sidecars = [
            Sidecar(folder, kafka, name, f"pod-{number}", journal, **(sidecar or {})).start()
            for number in range(sidecars)]
        self.gateways = []
        for _ in range(gateways):
            self.add(wait=False)
        for each in self.gateways:
            each.wait_ready(f"http://127.0.0.1:{each.health}/", 60)

    def add(self, wait=True, pod=None):
        """Starts a gateway, or one in the place of an earlier one."""
        self.gateways.append(Gateway(self.folder, self.kafka, self.name, self.backend, wait, pod,
                                     **self.settings))
        return self.gateways[-1]

    def spread(self, lanes=6, seconds=60):
        """Until the gateways share the lanes."""
        def shared():
            counts = [each.lanes() for each in self.gateways]
            return sum(counts) == lanes and max(counts) - min(counts) <= 1
        assert harness.wait_for(shared, seconds), self.explain()

    def play(self, seconds, **more):
        """Starts the applications: a process for each sidecar, from now on."""
        world = fleet.Fleet(time.time(), seconds, **{
            "processes": len(self.sidecars), "window": 4, **more})
        world.start(fleet.to_sidecars(self.sidecars))
        self.worlds.append(world)
        return world

    def write(self, producer, world):
        world.write(producer, f"{self.name}_spans", f"{self.name}_profiles")
        self.worlds.append(world)
        return world

    def kill(self, gateway):
        """kill -9, and notes what it had not committed."""
        gateway.kill()
        self.gateways.remove(gateway)
        self.note_uncommitted()

    def note_uncommitted(self):
        self.uncommitted |= gateways.uncommitted(self.kafka, self.name, f"{self.name}_spans")

    def restart(self, gateway):
        """As Kubernetes replaces a pod of a StatefulSet."""
        assert gateway.stop() == 0
        self.gateways.remove(gateway)
        return self.add(pod=gateway.pod)

    def finish(self, seconds=120, recall=1.0):
        """Waits until everything has arrived, checks all links, and ends all programs. Returns the
        numbers of the spans that came twice."""
        for world in self.worlds:
            world.join()
            assert harness.wait_for(lambda world=world: self.backend.has(world.numbers),
                                    seconds), self.explain()
            world.check(self.backend, recall)
        doubled = set(self.backend.doubled())
        print(f"{self.name}: {len(self.backend.spans)} spans, {len(doubled)} twice, "
              f"{len(self.uncommitted)} not committed at kills")
        self.stop()
        return doubled

    def explain(self):
        return "\n".join(each.explain() for each in self.gateways
                         if each.process.poll() is None)

    def stop(self):
        for each in (*(sidecar.program for sidecar in self.sidecars), *self.gateways):
            assert each.stop() == 0, each.tail()
