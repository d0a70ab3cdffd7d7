"""Apache Kafka in KRaft mode: one broker or several, each a process of its own on free ports."""
import base64
import dataclasses
import functools
import pathlib
import subprocess
import sys
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
import disk  # noqa: E402
import harness  # noqa: E402

JARS = harness.ROOT / "build" / "e2e" / "kafka"
CLIENT = harness.ROOT / "build" / "e2e" / "kafka-client"
sys.path.append(str(CLIENT))
JAVA = ["java", "-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{JARS}/*"]
PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
controller.listener.names=CONTROLLER
listeners={listeners}
advertised.listeners={advertised}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT{map}
inter.broker.listener.name=INTERNAL
log.dirs={folder}/data
offsets.topic.replication.factor={copies}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={copies}
transaction.state.log.min.isr=1
default.replication.factor={copies}
min.insync.replicas={least}
group.initial.rebalance.delay.ms=0
auto.create.topics.enable={auto}
broker.session.timeout.ms=6000
controlled.shutdown.enable=false
log.segment.bytes=67108864
num.network.threads=2
num.io.threads=4
background.threads=2
"""


class Broker:
    """One node of a cluster."""

    def __init__(self, cluster, node):
        self.cluster, self.node = cluster, node
        self.folder = cluster.folder / f"broker-{node}"
        self.folder.mkdir(parents=True)
        self.port, self.control = harness.free_port(), harness.free_port()
        self.ports = {name: harness.free_port() for name in cluster.listeners}
        self.program, self.runs = None, 0
        self.disk, self.prefix = None, []

    def configure(self):
        """listeners: {NAME: (security protocol, more properties)}, beside the plain one."""
        here = "127.0.0.1"
        cluster = self.cluster
        served = {"INTERNAL": self.port, **self.ports}
        text = PROPERTIES.format(
            node=self.node, folder=self.folder, copies=min(3, len(cluster.brokers)),
            least=2 if len(cluster.brokers) > 2 else 1, auto=str(cluster.auto).lower(),
            voters=",".join(f"{b.node}@{here}:{b.control}" for b in cluster.brokers),
            listeners=",".join([f"{name}://{here}:{port}" for name, port in served.items()]
                               + [f"CONTROLLER://{here}:{self.control}"]),
            advertised=",".join(f"{name}://{here}:{1 if name in cluster.astray else port}"
                                for name, port in served.items()),
            map="".join(f",{name}:{how}" for name, (how, _) in cluster.listeners.items()))
        for _, more in cluster.listeners.values():
            text += more
        self.properties = self.folder / "server.properties"
        self.properties.write_text(text)

    def format(self):
        if self.cluster.disk_mib:
            self.disk = disk.Disk(self.folder / "data", self.cluster.disk_mib)
            self.prefix = self.disk.prefix
        subprocess.run([
            *self.prefix, *JAVA, "kafka.tools.StorageTool", "format", "-t", self.cluster.id, "-c",
            str(self.properties),
            *[word for user, password in self.cluster.users.items()
              for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
              for word in ("--add-scram", f"{mechanism}=[name={user},password={password}]")]],
            check=True, capture_output=True)

    def start(self):
        """Does not wait; the program logs to broker-N/broker-RUN.log."""
        self.runs += 1
        self.program = harness.Program(
            f"broker-{self.runs}", self.folder,
            [*self.prefix, *JAVA, "kafka.Kafka", self.properties], cwd=self.folder)
        return self

    def wait(self, seconds=90):
        self.program.wait_ports(self.port, *self.ports.values(), seconds=seconds)
        return self

    def kill(self):
        self.program.kill()


@dataclasses.dataclass
class Record:
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    headers: list
    timestamp: int      # milliseconds since 1970

    @staticmethod
    def of(message):
        return Record(message.topic(), message.partition(), message.offset(), message.key(),
                      message.value(), message.headers() or [], message.timestamp()[1])


class Kafka:
    """Brokers that run, seen by their clients."""

    def __init__(self, addresses):
        self.addresses = addresses

    def client(self, **more):
        """Settings of a client, which does not log that brokers are gone."""
        return {"bootstrap.servers": ",".join(self.addresses), "log_level": 2, **more}

    @functools.cached_property
    def admin(self):
        from confluent_kafka import admin
        return admin.AdminClient(self.client())

    def topic(self, name, partitions=1, **config):
        """Creates a topic; config: its properties, with underscores for dots."""
        self.topics([name], partitions, **config)
        return name

    def topics(self, names, partitions, **config):
        from confluent_kafka import admin
        self.forget(names)
        config = {key.replace("_", "."): str(value) for key, value in config.items()}
        made = self.admin.create_topics([
            admin.NewTopic(name, partitions, min(3, len(self.addresses)), config=config)
            for name in names])
        for each in made.values():
            each.result(60)

        def known(asked):
            found = asked.list_topics(timeout=10).topics
            return all(name in found and len(found[name].partitions) == partitions
                       for name in names)
        for address in self.addresses:      # each broker knows it a little later
            asked = admin.AdminClient({**self.client(), "bootstrap.servers": address})
            assert harness.wait_for(lambda: known(asked), 60)

    def forget(self, names):
        """Deletes those that are there, as when a test runs a second time."""
        def there():
            return [name for name in names if name in self.admin.list_topics(timeout=10).topics]
        if old := there():
            for each in self.admin.delete_topics(old).values():
                each.result(60)
            assert harness.wait_for(lambda: not there(), 60)

    def pair(self, name, partitions):
        """Creates the topics NAME_spans and NAME_profiles."""
        self.topics([f"{name}_spans", f"{name}_profiles"], partitions)

    def grow(self, topic, partitions):
        """Raises the number of a topic's partitions."""
        from confluent_kafka import admin
        self.admin.create_partitions([admin.NewPartitions(topic, partitions)])[topic].result(60)

    def configure(self, topic, **config):
        """Sets properties of a topic that exists, with underscores for dots."""
        from confluent_kafka import admin
        made = admin.ConfigResource(admin.ResourceType.TOPIC, topic, incremental_configs=[
            admin.ConfigEntry(key.replace("_", "."), str(value),
                              incremental_operation=admin.AlterConfigOpType.SET)
            for key, value in config.items()])
        self.admin.incremental_alter_configs([made])[made].result(60)

    def coordinator(self, group):
        """The id of the broker that keeps a group's members and offsets."""
        found = self.admin.describe_consumer_groups([group])[group].result(60)
        return found.coordinator.id

    def delete_before(self, topic, partition, offset):
        """Deletes a partition's records before an offset, as retention does."""
        import confluent_kafka
        at = confluent_kafka.TopicPartition(topic, partition, offset)
        for deleted in self.admin.delete_records([at]).values():
            deleted.result(30)

    def records(self, topic, count=0, seconds=60):
        """All records of a topic, by a client that is not spanlink; waits until there are count."""
        import confluent_kafka
        consumer = confluent_kafka.Consumer(self.client(**{
            "group.id": "tests", "enable.auto.commit": False, "enable.partition.eof": True,
            "fetch.wait.max.ms": 50}))
        try:
            parts = consumer.list_topics(topic, timeout=10).topics[topic].partitions
            consumer.assign([confluent_kafka.TopicPartition(topic, number, 0)
                             for number in parts])
            found, ended, until = [], set(), time.monotonic() + seconds
            while time.monotonic() < until and (len(found) < count or ended < set(parts)):
                message = consumer.poll(0.2)
                if message is None:
                    continue
                if not message.error():
                    ended.discard(message.partition())
                    found.append(Record.of(message))
                elif message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
            return found
        finally:
            consumer.close()


class Cluster(Kafka):
    """count: brokers in one quorum. listeners: {NAME: (protocol, properties)} to add to the plain
    one. users: {name: password} for SCRAM. auto: topics come into being when they are named.
    disk_mib: each broker has a disk of its own of this size. astray: listeners that are advertised
    with an address at which nothing listens."""

    def __init__(self, folder, count=1, listeners=None, users=None, auto=False, disk_mib=0,
                 astray=()):
        self.folder, self.listeners, self.users = folder, listeners or {}, users or {}
        self.auto, self.disk_mib, self.astray = auto, disk_mib, astray
        # Kafka takes none that begins with "-".
        self.id = base64.urlsafe_b64encode(bytes(1) + uuid.uuid4().bytes[1:]).decode().rstrip("=")
        self.brokers = [Broker(self, node) for node in range(1, count + 1)]
        super().__init__([f"127.0.0.1:{broker.port}" for broker in self.brokers])
        for broker in self.brokers:
            broker.configure()

    def start(self):
        for broker in self.brokers:
            broker.format()
        for broker in self.brokers:
            broker.start()
        for broker in self.brokers:
            broker.wait()
        return self

    def stop(self):
        for broker in self.brokers:
            if broker.program:
                broker.kill()
            if broker.disk:
                broker.disk.close()

    def at(self, listener):
        return [f"127.0.0.1:{broker.ports[listener]}" for broker in self.brokers]
