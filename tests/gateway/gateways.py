"""spanlink behind Kafka, a backend that counts what it gets, and a client that writes records."""
import base64
import dataclasses
import http.server
import itertools
import struct
import threading
import time

import requests
import yaml

import harness
import payloads


class Backend:
    """An OTLP backend over HTTP, and a Pyroscope that takes pushes. It keeps the time of every
    delivery, and who made it: the first part of its path, where the path has such a part. `status`
    is what it answers; who is in `refused` when a request begins is answered 503."""

    def __init__(self):
        outer = self
        self.status, self.delay, self.lock = 200, 0, threading.Lock()
        self.refused, self.refusals, self.asked = set(), 0, 0
        self.spans = {}         # number: times of its deliveries
        self.senders = {}       # number: who made them
        self.linked = set()     # numbers with pyroscope.profile.id
        self.bare = set()       # numbers without it; of two copies, one may be linked
        self.profiles = []      # (path with query, body)
        self.attributes = []    # resource attributes of each group of spans

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                sender = self.path[1:].partition("/")[0]
                outer.asked += 1
                refused = sender in outer.refused
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(outer.delay)
                status = 503 if refused else outer.status
                if status == 200:
                    outer.take(self.path, sender, body)
                else:
                    outer.refusals += 1
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, sender, body):
        now = time.monotonic()
        if not path.endswith("/v1/traces"):
            with self.lock:
                self.profiles.append((path, body))
            return
        request = payloads.REQUESTS["traces"].FromString(body)
        with self.lock:
            for group in request.resource_spans:
                self.attributes.append({each.key: each.value.string_value
                                        for each in group.resource.attributes})
                for span in (span for scope in group.scope_spans for span in scope.spans):
                    number = int.from_bytes(span.span_id, "big")
                    self.spans.setdefault(number, []).append(now)
                    self.senders.setdefault(number, []).append(sender)
                    linked = any(each.key == harness.PROFILE_ID for each in span.attributes)
                    (self.linked if linked else self.bare).add(number)

    def has(self, numbers):
        with self.lock:
            return all(number in self.spans for number in numbers)

    def pods(self):
        """Who delivered spans."""
        with self.lock:
            return {who for each in self.senders.values() for who in each}

    def deliveries(self, pod):
        """How many spans one delivered."""
        with self.lock:
            return sum(each.count(pod) for each in self.senders.values())

    def doubled(self):
        with self.lock:
            return {number: times for number, times in self.spans.items() if len(times) > 1}

    def at(self, sender):
        """The URL for one whose deliveries are told from others'."""
        return f"{self.url}/{sender}"

    def close(self):
        self.server.shutdown()


class Gateway(harness.Program):
    """spanlink with a receiver kafka. profiles: the exporter of these. status: the port of its
    status page; None: it has none."""
    names = itertools.count(1)

    def __init__(self, folder, kafka, backend, exporter=None, signals=("traces",), processors=None,
                 more=None, wait=True, env=None, profiles="pyroscope", status=None):
        folder.mkdir(parents=True, exist_ok=True)
        name = f"gateway-{next(self.names)}"
        self.health, self.pages, self.metrics_port = (harness.free_port() for _ in range(3))
        self.config = folder / f"{name}.yaml"
        kafka = {"initial_offset": "earliest", "session_timeout": "6s",
                 "heartbeat_interval": "500ms", **kafka}
        exporters = {"otlp_http": {"endpoint": backend.url, "compression": "none",
                                   "retry_on_failure": {"initial_interval": "100ms",
                                                        "max_interval": "200ms"},
                                   **(exporter or {})},
                     "pyroscope": {"endpoint": backend.url, "compression": "none"}}
        status = {"status": {"endpoint": f"127.0.0.1:{status}"}} if status else {}
        chosen = {what: profiles if what == "profiles" else "otlp_http" for what in signals}
        self.config.write_text(yaml.safe_dump({
            "extensions": {"health_check": {"endpoint": f"127.0.0.1:{self.health}"},
                           "zpages": {"endpoint": f"127.0.0.1:{self.pages}"}, **status},
            "receivers": {"kafka": kafka}, "processors": processors or {},
            "exporters": {each: exporters[each] for each in set(chosen.values())},
            "service": {
                "extensions": ["health_check", "zpages", *status],
                "telemetry": {"metrics": {"readers": [{"pull": {"exporter": {"prometheus": {
                    "host": "127.0.0.1", "port": self.metrics_port}}}}]}},
                "pipelines": {what: {"receivers": ["kafka"], "exporters": [chosen[what]],
                                     "processors": list(processors or {})} for what in signals}},
            **(more or {})}))
        super().__init__(name, folder, [harness.SPANLINK, "--config", self.config], env=env)
        if wait:
            self.wait_ready(f"http://127.0.0.1:{self.health}/", 60)

    def ready(self):
        """Whether it is, and its answer."""
        try:
            answer = requests.get(f"http://127.0.0.1:{self.health}/", timeout=2)
            return answer.status_code == 200, answer.text
        except requests.RequestException as why:
            return False, str(why)

    def page(self):
        """The metrics page."""
        return requests.get(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30).text

    def metrics(self):
        """Sums over all labels."""
        found = {}
        for line in self.page().splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                name = name.partition("{")[0].removeprefix("spanlink_kafka_")
                found[name] = found.get(name, 0) + float(value)
        return found

    def explain(self):
        return requests.get(f"http://127.0.0.1:{self.pages}/debug/explain", timeout=30).text

    def peak_mib(self):
        """The most memory that it ever had resident."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) >> 10

    def lines(self, *words):
        return [line for line in self.log.read_text().splitlines()
                if all(word in line for word in words)]


@dataclasses.dataclass
class Commit:
    offset: int
    text: str

    def has(self, offset):
        """Whether a record is settled: it is before the offset, or the text beside that lists it
        (receivers/kafka/commit_metadata.h)."""
        words, place = self.text.split(), offset - self.offset
        bits = base64.b64decode(words[3] + "==") if len(words) > 3 else b""
        return place < 0 or (place // 8 < len(bits) and bool(bits[place // 8] >> place % 8 & 1))


def commits(kafka, group, topic):
    """What a group has committed: {partition: Commit}. As the brokers keep it, since clients read
    the text without its size."""
    def text(raw, at):
        size = int.from_bytes(raw[at:at + 2], "big")
        return raw[at + 2:at + 2 + size].decode(), at + 2 + size
    found = {}
    for record in kafka.records("__consumer_offsets", seconds=120):
        if int.from_bytes(record.key[:2], "big") > 1 or not record.value:
            continue                # of a member, or deleted
        whose, at = text(record.key, 2)
        where, at = text(record.key, at)
        if (whose, where) == (group, topic):
            version, offset = struct.unpack(">hq", record.value[:10])
            found[int.from_bytes(record.key[at:at + 4], "big")] = Commit(
                offset, text(record.value, 14 if version >= 3 else 10)[0])
    return found


def committed(kafka, group, topic):
    """The sum of a group's committed offsets."""
    return sum(each.offset for each in commits(kafka, group, topic).values())


def uncommitted(kafka, group, topic):
    """Numbers of the spans in records that a group has not committed."""
    done = commits(kafka, group, topic)
    return {number for record in kafka.records(topic, seconds=120)
            if record.partition not in done or not done[record.partition].has(record.offset)
            for number in read_spans([record])}


def read_spans(records):
    """Numbers of the spans in records."""
    found = []
    for record in records:
        request = payloads.REQUESTS["traces"].FromString(record.value)
        found += [int.from_bytes(span.span_id, "big") for group in request.resource_spans
                  for scope in group.scope_spans for span in scope.spans]
    return found


class Producer:
    """Writes records."""

    def __init__(self, kafka):
        import confluent_kafka
        self.client = confluent_kafka.Producer(kafka.client(**{
            "linger.ms": 2, "partitioner": "murmur2_random"}))

    def send(self, topic, value, **more):
        while True:
            try:
                self.client.produce(topic, value, **more)
                return
            except BufferError:
                self.client.poll(0.05)

    def flush(self):
        assert self.client.flush(30) == 0

    def spans(self, topic, first, count, each=1, partitions=4, **more):
        """Records of `each` spans over the partitions in turn; returns the spans' numbers."""
        for number in range(first, first + count * each, each):
            self.send(topic, request(number, each), partition=number // each % partitions, **more)
        self.flush()
        return range(first, first + count * each)


class Load:
    """Writes records of `each` spans until the block ends. numbers: of all spans so far."""

    def __init__(self, producer, topic, count=20, each=5):
        self.stopping, self.numbers = threading.Event(), []

        def run():
            while not self.stopping.wait(0.05):
                self.numbers.extend(producer.spans(topic, len(self.numbers) + 1, count, each))
        self.thread = threading.Thread(target=run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()


def request(first, count, service="shop", start=None, duration=10**6):
    """A request of spans whose ids are their numbers."""
    start = start or time.time_ns()
    message = payloads.REQUESTS["traces"]()
    group = message.resource_spans.add()
    attribute = group.resource.attributes.add(key="service.name")
    attribute.value.string_value = service
    scope = group.scope_spans.add()
    for number in range(first, first + count):
        scope.spans.add(trace_id=number.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"),
                        name="work", kind=2, start_time_unix_nano=start,
                        end_time_unix_nano=start + duration)
    return message.SerializeToString()
