"""Makes the request bodies of the loads: pools of distinct OTLP trace requests, always the same for
the same seed. A span has 14 attributes and about 600 bytes; one in four has an event, one in ten is
a local root. The file format is described in pool.h."""

import copy
import gzip
import pathlib
import random
import struct
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "recorded"))
from as_json import as_json  # noqa: E402
from pbwire import encode_varint as varint, field_bytes as field  # noqa: E402

METHODS = ["GET", "GET", "GET", "POST", "PUT", "DELETE"]
ROUTES = ["/api/v1/orders/{id}", "/api/v1/customers/{id}/addresses", "/api/v1/inventory/search",
          "/api/v1/checkout", "/healthz", "/api/v2/recommendations/{id}"]
AGENTS = ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)", "okhttp/4.12.0",
          "Go-http-client/1.1", "axios/1.7.2"]
EVENTS = ["cache.miss", "retry.scheduled", "message.acknowledged"]
MASK = (1 << 64) - 1


def number(field_number, value):
    """Writes zeros too, because the field may be part of a oneof."""
    return varint(field_number << 3) + varint(value)


def fixed64(field_number, value):
    return varint(field_number << 3 | 1) + struct.pack("<Q", value)


def fixed32(field_number, value):
    return varint(field_number << 3 | 5) + struct.pack("<I", value)


def attribute(key, value):
    if isinstance(value, int):
        any_value = number(3, value)
    else:
        any_value = field(1, value)
    return field(1, key) + field(2, any_value)


def span_attributes(rng):
    route = rng.choice(ROUTES)
    port = rng.randrange(1024, 65536)
    return {
        "http.request.method": rng.choice(METHODS),
        "http.route": route,
        "url.path": route.replace("{id}", str(rng.randrange(10 ** 9))),
        "url.scheme": "https",
        "server.address": f"shop-{rng.randrange(40)}.internal",
        "server.port": 8443,
        "client.address": f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}",
        "network.peer.port": port,
        "http.response.status_code": rng.choice([200, 200, 200, 201, 404, 500]),
        "user_agent.original": rng.choice(AGENTS),
        "thread.id": rng.randrange(1, 200),
        "enduser.id": str(uuid.UUID(bytes=rng.randbytes(16))),
        "app.tenant": f"tenant-{rng.randrange(500)}",
        "app.request.bytes": rng.randrange(1 << 20),
    }


def span(rng, start, root):
    span_id = rng.randbytes(8)
    begin = start + rng.randrange(10 ** 9)
    end = begin + rng.randrange(10 ** 6, 10 ** 8)
    parts = [field(1, rng.randbytes(16)), field(2, span_id)]
    if not root:
        parts.append(field(4, rng.randbytes(8)))
    parts += [field(5, rng.choice(METHODS) + " " + rng.choice(ROUTES)), number(6, 2 if root else 3),
              fixed64(7, begin), fixed64(8, end)]
    parts += [field(9, attribute(key, value)) for key, value in span_attributes(rng).items()]
    if rng.random() < 0.25:
        event = fixed64(1, begin + 1000) + field(2, rng.choice(EVENTS)) + field(
            3, attribute("attempt", rng.randrange(5)))
        parts.append(field(11, event))
    parts.append(fixed32(16, 0x100))
    return span_id, field(2, b"".join(parts))


def request(rng, spans, start, service):
    """One ExportTraceServiceRequest: the body, its span ids, those of its local roots."""
    made = [(i % 10 == 0, *span(rng, start, i % 10 == 0)) for i in range(spans)]
    resource = b"".join(field(1, attribute(key, value)) for key, value in {
        "service.name": service, "service.version": "4.2.1", "telemetry.sdk.language": "go",
        "telemetry.sdk.name": "opentelemetry", "telemetry.sdk.version": "1.38.0",
        "host.name": f"node-{rng.randrange(100)}"}.items())
    scope = field(1, field(1, "github.com/example/shop/instrumentation") + field(2, "0.61.0"))
    scope_spans = scope + b"".join(body for _, _, body in made)
    body = field(1, field(1, resource) + field(2, scope_spans))
    return body, [i for _, i, _ in made], [i for root, i, _ in made if root]


class Pool:
    """A file of bodies, and the ids in them."""

    type = "application/x-protobuf"

    def __init__(self, path, requests):
        self.path, self.plain_bytes, self.spans = path, 0, 0
        self.ids, self.roots = [], []
        for body, ids, roots in requests:
            self.plain_bytes += len(body)
            self.spans += len(ids)
            self.ids += ids
            self.roots += roots

    @property
    def bytes_per_span(self):
        return self.plain_bytes / self.spans


def record(body, ids, compress):
    total = sum(int.from_bytes(i, "little") for i in ids) & MASK
    sent = gzip.compress(body, 6, mtime=0) if compress else body
    return struct.pack("<IQI", len(ids), total, len(sent)) + sent


def records(path):
    """The records of a pool: items, sum of their ids, body."""
    data, at = pathlib.Path(path).read_bytes(), 0
    while at < len(data):
        items, id_sum, length = struct.unpack_from("<IQI", data, at)
        at += 16 + length
        yield items, id_sum, data[at - length:at]


def first_requests(path, count):
    """Items and sum of ids of a number of requests that use the bodies of a pool in turn."""
    sums = [(items, id_sum) for items, id_sum, _ in records(path)]
    whole, rest = divmod(count, len(sums))
    items, id_sum = (sum(column) * whole + sum(column[:rest]) for column in zip(*sums))
    return {"items": items, "id_sum": id_sum & MASK}


def write_pools(folder, spans, count=64, seed=1, start=1_790_000_000 * 10 ** 9, service="checkout"):
    """Writes the pool plain and as gzip; returns both."""
    rng = random.Random(seed * 1000 + spans)
    requests = [request(rng, spans, start, service) for _ in range(count)]
    pools = []
    for suffix in ("", ".gz"):
        path = pathlib.Path(folder) / f"t{spans}{suffix}.pool"
        path.write_bytes(b"".join(record(b, i, suffix) for b, i, _ in requests))
        pools.append(Pool(path, requests))
    return pools


def json_pool(plain):
    """Writes a pool again as JSON."""
    pool = copy.copy(plain)
    pool.path, pool.type = plain.path.with_suffix(".json.pool"), "application/json"
    pool.path.write_bytes(b"".join(
        struct.pack("<IQI", items, id_sum, len(text)) + text
        for items, id_sum, body in records(plain.path) for text in [as_json(body)]))
    return pool


def profile(ids, end_ns, seconds=1):
    """A CPU profile as gzip: a sample for each span id, all on one stack of eight frames."""
    texts = ["", "cpu", "nanoseconds", "span_id", "main", "/srv/checkout"]
    frames = [f"shop.handler{i}" for i in range(8)]
    texts += frames
    at = {text: i for i, text in enumerate(texts)}
    hexes = [i.hex() for i in ids]
    for text in hexes:
        at.setdefault(text, len(at))
    out = bytearray(field(1, number(1, at["cpu"]) + number(2, at["nanoseconds"])))
    stack = field(1, b"".join(varint(i + 1) for i in range(len(frames))))
    value = field(2, varint(10_000_000))
    for text in hexes:
        label = number(1, at["span_id"]) + number(2, at[text])
        out += field(2, stack + value + field(3, label))
    out += field(3, number(1, 1) + number(5, at["/srv/checkout"]))
    for i, frame in enumerate(frames):
        out += field(4, number(1, i + 1) + number(2, 1) + field(4, number(1, i + 1)))
        out += field(5, number(1, i + 1) + number(2, at[frame]))
    for text in at:
        out += field(6, text)
    out += number(9, end_ns - seconds * 10 ** 9) + number(10, seconds * 10 ** 9)
    out += field(11, number(1, at["cpu"]) + number(2, at["nanoseconds"])) + number(12, 10_000_000)
    return gzip.compress(bytes(out), 6)


if __name__ == "__main__":
    for size in (10, 100, 512):
        plain, packed = write_pools(sys.argv[1], size)
        print(f"{plain.path}: {plain.spans} spans of {plain.bytes_per_span:.0f} bytes; "
              f"gzip {plain.path.stat().st_size / packed.path.stat().st_size:.2f} to 1")
