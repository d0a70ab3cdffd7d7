"""Apache Kafka in KRaft mode: one broker or several, each a process of its own on free ports."""
import dataclasses
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
import harness  # noqa: E402

JARS = harness.ROOT / "build" / "e2e" / "kafka"
CLIENT = harness.ROOT / "build" / "e2e" / "kafka-client"
sys.path.append(str(CLIENT))
HEAP = "-Xmx300m"
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


def java(*words, heap=HEAP, check=True, **more):
    return subprocess.run(["java", heap, "-cp", f"{JARS}/*", *map(str, words)], check=check,
                          capture_output=True, text=True, **more)


class Broker:
    """One node of a cluster."""

    def __init__(self, cluster, node):
        self.cluster, self.node = cluster, node
        self.folder = cluster.folder / f"broker-{node}"
        self.folder.mkdir(parents=True)
        self.port, self.control = harness.free_port(), harness.free_port()
        self.ports = {name: harness.free_port() for name in cluster.listeners}
        self.program, self.runs = None, 0

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
            advertised=",".join(f"{name}://{here}:{port}" for name, port in served.items()),
            map="".join(f",{name}:{how}" for name, (how, _) in cluster.listeners.items()))
        for _, more in cluster.listeners.values():
            text += more
        self.properties = self.folder / "server.properties"
        self.properties.write_text(text)

    def format(self):
        java("kafka.tools.StorageTool", "format", "-t", self.cluster.id, "-c", self.properties,
             *[word for user, password in self.cluster.users.items()
               for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
               for word in ("--add-scram", f"{mechanism}=[name={user},password={password}]")])

    def start(self):
        """Does not wait; the program logs to broker-N/broker-RUN.log."""
        self.runs += 1
        self.program = harness.Program(
            f"broker-{self.runs}", self.folder,
            ["java", HEAP, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
             "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{JARS}/*", "kafka.Kafka",
             self.properties], cwd=self.folder)
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


class Cluster:
    """count: brokers in one quorum. listeners: {NAME: (protocol, properties)} to add to the plain
    one. users: {name: password} for SCRAM. auto: topics come into being when they are named."""

    def __init__(self, folder, count=1, listeners=None, users=None, auto=False):
        self.folder, self.listeners, self.users = folder, listeners or {}, users or {}
        self.auto = auto
        self.id = re.sub(r"\s", "", java("kafka.tools.StorageTool", "random-uuid").stdout)
        self.brokers = []
        for node in range(1, count + 1):
            self.brokers.append(Broker(self, node))
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

    @property
    def addresses(self):
        return [f"127.0.0.1:{broker.port}" for broker in self.brokers]

    def at(self, listener):
        return [f"127.0.0.1:{broker.ports[listener]}" for broker in self.brokers]

    def topic(self, name, partitions=1, **config):
        """Creates a topic; config: its properties, with underscores for dots."""
        words = [word for key, value in config.items()
                 for word in ("--config", f"{key.replace('_', '.')}={value}")]
        made = java("org.apache.kafka.tools.TopicCommand", "--bootstrap-server",
                    ",".join(self.addresses), "--create", "--topic", name, "--partitions",
                    partitions, "--replication-factor", min(3, len(self.brokers)), *words,
                    heap="-Xmx128m", check=False, timeout=120)
        assert made.returncode == 0, made.stdout + made.stderr
        return name

    def records(self, topic, count=0, seconds=20):
        """All records of a topic, by a client that is not spanlink; waits until there are count."""
        import confluent_kafka
        consumer = confluent_kafka.Consumer({
            "bootstrap.servers": ",".join(self.addresses), "group.id": "tests",
            "enable.auto.commit": False, "enable.partition.eof": True,
            "fetch.wait.max.ms": 50})
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
