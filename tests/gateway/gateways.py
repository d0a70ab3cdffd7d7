"""spanlink behind Kafka, a backend that counts what it gets, and a client that writes records."""
import http.server
import itertools
import sys
import threading
import time

import requests
import yaml

import broker
import harness
import payloads

sys.path.insert(0, str(broker.CLIENT))


class Backend:
    """An OTLP backend over HTTP, and a Pyroscope that takes pushes. It keeps the time of every
    delivery; `status` is what it answers."""

    def __init__(self):
        outer = self
        self.status, self.delay, self.lock = 200, 0, threading.Lock()
        self.spans = {}         # number: times of its deliveries
        self.linked = set()     # numbers with pyroscope.profile.id
        self.bare = set()       # numbers without it; of two copies, one may be linked
        self.profiles = []      # (path with query, body)
        self.attributes = []    # resource attributes of each group of spans

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(outer.delay)
                status = outer.status
                if status == 200:
                    outer.take(self.path, body)
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

    def take(self, path, body):
        now = time.monotonic()
        if path != "/v1/traces":
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
                    linked = any(each.key == harness.PROFILE_ID for each in span.attributes)
                    (self.linked if linked else self.bare).add(number)

    def has(self, numbers):
        with self.lock:
            return all(number in self.spans for number in numbers)

    def doubled(self):
        with self.lock:
            return {number: times for number, times in self.spans.items() if len(times) > 1}

    def close(self):
        self.server.shutdown()


class Gateway(harness.Program):
    """spanlink with a receiver kafka."""
    names = itertools.count(1)

    def __init__(self, folder, kafka, backend, exporter=None, signals=("traces",), processors=None,
                 more=None, wait=True, env=None):
        folder.mkdir(parents=True, exist_ok=True)
        name = f"gateway-{next(self.names)}"
        self.health, self.pages, self.metrics_port = (harness.free_port() for _ in range(3))
        self.config = folder / f"{name}.yaml"
        kafka = {"initial_offset": "earliest", "session_timeout": "6s", "heartbeat_interval": "500ms",
                 **kafka}
        exporters = {"otlp_http": {"endpoint": backend.url, "compression": "none",
                                   "retry_on_failure": {"initial_interval": "100ms",
                                                        "max_interval": "200ms"},
                                   **(exporter or {})},
                     "pyroscope": {"endpoint": backend.url, "compression": "none"}}
        chosen = {what: "pyroscope" if what == "profiles" else "otlp_http" for what in signals}
        self.config.write_text(yaml.safe_dump({
            "extensions": {"health_check": {"endpoint": f"127.0.0.1:{self.health}"},
                           "zpages": {"endpoint": f"127.0.0.1:{self.pages}"}},
            "receivers": {"kafka": kafka}, "processors": processors or {},
            "exporters": {each: exporters[each] for each in set(chosen.values())},
            "service": {
                "extensions": ["health_check", "zpages"],
                "telemetry": {"metrics": {"readers": [{"pull": {"exporter": {"prometheus": {
                    "host": "127.0.0.1", "port": self.metrics_port}}}}]}},
                "pipelines": {what: {"receivers": ["kafka"], "exporters": [chosen[what]],
                                     "processors": list(processors or {})} for what in signals}},
            **(more or {})}))
        super().__init__(name, folder, [harness.SPANLINK, "--config", self.config], env=env)
        if wait:
            self.wait_ready(f"http://127.0.0.1:{self.health}/", 40)

    def ready(self):
        """Whether it is, and its answer."""
        try:
            answer = requests.get(f"http://127.0.0.1:{self.health}/", timeout=2)
            return answer.status_code == 200, answer.text
        except requests.RequestException as why:
            return False, str(why)

    def metrics(self):
        """Sums over all labels."""
        found = {}
        text = requests.get(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5).text
        for line in text.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                name = name.partition("{")[0].removeprefix("spanlink_kafka_")
                found[name] = found.get(name, 0) + float(value)
        return found

    def explain(self):
        return requests.get(f"http://127.0.0.1:{self.pages}/debug/explain", timeout=5).text

    def lines(self, *words):
        return [line for line in self.log.read_text().splitlines()
                if all(word in line for word in words)]


def grow(kafka, topic, partitions):
    """Adds partitions to a topic."""
    broker.java("org.apache.kafka.tools.TopicCommand", "--bootstrap-server",
                ",".join(kafka.addresses), "--alter", "--topic", topic, "--partitions", partitions,
                heap="-Xmx128m", timeout=120)


def committed(kafka, group, topic, partitions):
    """The sum of a group's committed offsets."""
    import confluent_kafka
    client = confluent_kafka.Consumer({"bootstrap.servers": ",".join(kafka.addresses),
                                       "group.id": group})
    try:
        found = client.committed([confluent_kafka.TopicPartition(topic, number)
                                  for number in range(partitions)], timeout=10)
        return sum(max(0, each.offset) for each in found)
    finally:
        client.close()


class Producer:
    """Writes records."""

    def __init__(self, kafka):
        import confluent_kafka
        self.client = confluent_kafka.Producer({
            "bootstrap.servers": ",".join(kafka.addresses), "linger.ms": 2,
            "partitioner": "murmur2_random"})

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
