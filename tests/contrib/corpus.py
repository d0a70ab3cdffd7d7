"""The requests that every case gets, as OTLP JSON: attributes of every type, odd names, empty and
missing parts."""

T0 = 1700000000000000000


def value(given):
    if given is None:
        return {}
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, float):
        return {"doubleValue": given}
    if isinstance(given, bytes):
        import base64
        return {"bytesValue": base64.b64encode(given).decode()}
    if isinstance(given, list):
        return {"arrayValue": {"values": [value(each) for each in given]}}
    if isinstance(given, dict):
        return {"kvlistValue": {"values": attributes(given)}}
    return {"stringValue": given}


def attributes(given):
    return [{"key": key, "value": value(each)} for key, each in given.items()]


def resource(**given):
    return {"attributes": attributes({key.replace("__", "."): each
                                      for key, each in given.items()})}


CHECKOUT = {"service.name": "checkout", "service.namespace": "shop", "service.version": "1.2.3",
            "host.name": "node-1", "k8s.pod.name": "checkout-5d9c", "process.pid": 4711,
            "deployment.environment": "staging"}
CART = {"service.name": "cart", "host.name": "node-2", "cloud.region": "eu-west-1", "replicas": 3,
        "ratio": 0.25, "canary": True, "tags": ["a", "b", "c"],
        "labels": {"team": "payments", "tier": 1, "inner": {"deep": "x"}}}

REQUEST = {"http.method": "GET", "http.url": "http://shop.example.com/cart?user=alice&id=42",
           "http.target": "/healthz", "http.status_code": 200, "http.request.duration": 0.125,
           "user.email": "alice@example.com", "user.id": "u-0042", "credit_card": "4111111111111111",
           "sampled": True, "empty": "", "nothing": None,
           "list": ["one", "two", 3, True], "map": {"k1": "v1", "k2": 2, "k3": {"k4": [1, 2]}},
           "raw": b"\x00\x01\xfe\xff", "numeric.text": "123", "float.text": "1.5e3",
           "bool.text": "true", "json": '{"a": 1, "b": [true, null, "x"], "c": {"d": 1.5}}',
           "pairs": "a=1 b=two c=", "big": 9007199254740993, "negative": -7,
           "small": 1.5e-9, "huge": 1e22, "third": 1 / 3}
QUERY = {"db.system": "postgresql", "db.statement": "SELECT * FROM users WHERE id = 42",
         "db.user": "svc", "net.peer.name": "db-1", "net.peer.port": 5432,
         "http.status_code": "404", "user.email": "bob@corp.example", "big": -1, "a.b": "x.y",
         "Upper Case": "MiXeD", "unicode": "zürich→東京 😀", "padded": "  trimmed\t"}


def span(number, name, kind, given, **more):
    return {"traceId": f"{number:032x}", "spanId": f"{number % 2**64:016x}",
            "name": name, "kind": kind, "startTimeUnixNano": str(T0 + number % 100 * 1000),
            "endTimeUnixNano": str(T0 + number % 100 * 1000 + 250_000_000 * (number % 7)),
            "attributes": attributes(given), **more}


def traces():
    events = [{"timeUnixNano": str(T0 + 10), "name": "exception",
               "attributes": attributes({"exception.type": "IOError",
                                         "exception.message": "disk full: /var/data"})},
              {"timeUnixNano": str(T0 + 20), "name": "retry", "attributes": attributes(
                  {"attempt": 2, "user.email": "carol@example.com"})}]
    links = [{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331",
              "attributes": attributes({"link": "yes"})}]
    scope = {"name": "io.opentelemetry.http", "version": "1.0.1",
             "attributes": attributes({"scope.attr": "s1"})}
    first = {"resource": {"attributes": attributes(CHECKOUT)}, "schemaUrl": "https://schema/1",
             "scopeSpans": [
                 {"scope": scope, "schemaUrl": "https://schema/2", "spans": [
                     span(0x5b8efff798038103d269b633813fc60c, "GET /cart/{id}", 2, REQUEST,
                          events=events, status={"code": 2, "message": "upstream timed out"},
                          traceState="ot=th:8;rv:9b8233f7e3a151,vendor=x", flags=257),
                     span(0xd269b633813fc60c5b8efff798038103, "GET /healthz", 2, {
                         "http.target": "/healthz", "http.status_code": 200,
                         "http.method": "GET"}),
                     span(3, "SELECT users", 3, QUERY, links=links,
                          parentSpanId="00f067aa0ba902b7", status={"code": 1})]},
                 {"scope": {"name": "lib.two"}, "spans": [
                     span(4, "/api/v1/document/12345678/update", 1, {"n": 1}),
                     span(5, "", 4, {}),
                     span(6, "consume orders", 5, {"messaging.system": "kafka", "n": 2,
                                                   "http.status_code": 503})]}]}
    second = {"resource": {"attributes": attributes(CART)},
              "scopeSpans": [{"spans": [
                  span(7, "op{svc}", 0, {"http.method": "POST", "sampling.priority": 1, "n": 3}),
                  span(8, "op", 2, {"sampling.priority": 0, "http.method": "DELETE",
                                    "service.name": "not-the-resource"})]}]}
    third = {"scopeSpans": [{"scope": {}, "spans": [span(9, "no resource", 1, {"n": 4})]}]}
    no_scopes = {"resource": {"attributes": attributes({"only": "resource too"})}}
    return [{"resourceSpans": [first, second]}, {"resourceSpans": [third, no_scopes]},
            {"resourceSpans": [{"resource": {"attributes": attributes({"only": "resource"})}}]}]


def record(body, severity, text, given, **more):
    return {"timeUnixNano": str(T0), "observedTimeUnixNano": str(T0 + 5),
            "severityNumber": severity, "severityText": text, "body": value(body),
            "attributes": attributes(given), **more}


def logs():
    first = {"resource": {"attributes": attributes(CHECKOUT)},
             "scopeLogs": [{"scope": {"name": "logger", "version": "2"}, "logRecords": [
                 record("user alice@example.com logged in from 10.0.0.1", 9, "INFO", REQUEST,
                        traceId="5b8efff798038103d269b633813fc60c", spanId="eee19b7ec3c1b174",
                        flags=1, eventName="login"),
                 record({"level": "error", "msg": "boom", "nested": {"code": 500}}, 17, "ERROR",
                        QUERY),
                 record('{"level": "warn", "count": 3}', 13, "Warning", {"n": 1}),
                 record(None, 0, "", {}),
                 record(["x", 1, True], 5, "DEBUG", {"n": 2, "sampling.priority": 100.0}),
                 record(42, 1, "TRACE", {"n": 3}),
                 record("level=info msg=\"hello world\" took=12ms", 21, "FATAL",
                        {"http.target": "/healthz"})]}]}
    second = {"resource": {"attributes": attributes(CART)},
              "scopeLogs": [{"logRecords": [record("plain", 10, "info2", {"user.id": "u-1"})]}]}
    return [{"resourceLogs": [first, second]}]


def number(given, **more):
    return {"startTimeUnixNano": str(T0), "timeUnixNano": str(T0 + 1000),
            "attributes": attributes(given), **more}


def metrics():
    gauge = {"name": "process.cpu.usage", "description": "CPU", "unit": "1", "gauge": {
        "dataPoints": [number({"cpu": "0", "state": "user"}, asDouble=0.25),
                       number({"cpu": "1", "state": "idle"}, asInt="7"),
                       number({}, asDouble=0.0, flags=1)]}}
    counter = {"name": "http.server.requests", "unit": "{request}", "sum": {
        "aggregationTemporality": 2, "isMonotonic": True, "dataPoints": [
            number({"http.method": "GET", "http.status_code": 200, "user.id": "u-1"}, asInt="10"),
            number({"http.method": "POST", "http.status_code": 500}, asInt="3", exemplars=[
                {"timeUnixNano": str(T0), "asInt": "1", "traceId": "0" * 31 + "1",
                 "spanId": "0" * 15 + "1"}])]}}
    delta = {"name": "queue.size.delta", "sum": {"aggregationTemporality": 1, "dataPoints": [
        number({"queue": "orders"}, asDouble=-1.5)]}}
    histogram = {"name": "http.server.duration", "unit": "ms", "histogram": {
        "aggregationTemporality": 2, "dataPoints": [number(
            {"http.route": "/cart"}, count="10", sum=123.5, min=0.5, max=60.0,
            bucketCounts=["1", "2", "7"], explicitBounds=[5.0, 50.0])]}}
    exponential = {"name": "rpc.duration", "exponentialHistogram": {
        "aggregationTemporality": 1, "dataPoints": [number(
            {"rpc": "x"}, count="6", sum=9.5, scale=1, zeroCount="1",
            positive={"offset": 2, "bucketCounts": ["1", "4"]},
            negative={"offset": 0, "bucketCounts": []})]}}
    summary = {"name": "gc.pause", "summary": {"dataPoints": [number(
        {"gc": "minor"}, count="5", sum=1.25,
        quantileValues=[{"quantile": 0.5, "value": 0.2}, {"quantile": 0.99, "value": 0.9}])]}}
    empty = {"name": "no.data", "unit": "By"}
    first = {"resource": {"attributes": attributes(CHECKOUT)},
             "scopeMetrics": [{"scope": {"name": "meter"},
                               "metrics": [gauge, counter, delta, histogram]},
                              {"scope": {"name": "other", "version": "3"},
                               "metrics": [exponential, summary, empty]}]}
    second = {"resource": {"attributes": attributes(CART)},
              "scopeMetrics": [{"metrics": [
                  {"name": "process.cpu.usage", "gauge": {"dataPoints": [
                      number({"cpu": "9"}, asDouble=1.0)]}}]}]}
    many = {"resource": {"attributes": attributes({"service.name": "many"})},
            "scopeMetrics": [{"scope": {"name": "points"}, "metrics": many_points()}]}
    return [{"resourceMetrics": [first, second]}, {"resourceMetrics": [many]}]


def many_points():
    """Metrics with several data points that have attributes in common."""
    requests = {"name": "requests", "unit": "1", "sum": {
        "aggregationTemporality": 2, "isMonotonic": True, "dataPoints": [
            number({"method": "GET", "code": 200, "pod": "a"}, asInt="7"),
            number({"method": "GET", "code": 200, "pod": "b"}, asInt="5"),
            number({"method": "GET", "code": 500, "pod": "b"}, asInt="1"),
            number({"method": "PUT", "code": 200, "pod": "a"}, asInt="-2")]}}
    sizes = {"name": "sizes", "gauge": {"dataPoints": [
        number({"pod": pod, "state": state}, asDouble=value_)
        for pod, state, value_ in (("a", "free", 1.5), ("b", "free", 4.0), ("c", "free", 2.25),
                                   ("a", "slab", 8.0), ("b", "cached", 0.5))]}}
    latency = {"name": "latency", "unit": "s", "histogram": {
        "aggregationTemporality": 1, "dataPoints": [
            number({"route": "/a", "pod": pod}, count=count, sum=sum_, min=low, max=high,
                   bucketCounts=buckets, explicitBounds=[0.5, 1.0],
                   exemplars=[{"timeUnixNano": str(T0), "asDouble": high}])
            for pod, count, sum_, low, high, buckets in (
                ("a", "3", 1.25, 0.25, 0.75, ["2", "1", "0"]),
                ("b", "4", 5.5, 0.125, 3.0, ["1", "1", "2"]))]}}
    spread = {"name": "spread", "exponentialHistogram": {
        "aggregationTemporality": 2, "dataPoints": [
            number({"pod": pod}, count=count, sum=sum_, scale=2, zeroCount="1",
                   positive={"offset": offset, "bucketCounts": buckets})
            for pod, count, sum_, offset, buckets in (
                ("a", "4", 2.0, 1, ["1", "2"]), ("b", "6", 3.0, 1, ["2", "2", "1"]),
                ("c", "2", 9.0, 3, ["1"]))]}}
    pauses = {"name": "pauses", "unit": "s", "summary": {"dataPoints": [
        number({"gc": kind}, count=count, sum=sum_, quantileValues=[
            {"quantile": 0.5, "value": sum_ / 2}, {"quantile": 1.0, "value": sum_}])
        for kind, count, sum_ in (("minor", "5", 1.5), ("major", "2", 3.0))]}}
    return [requests, sizes, latency, spread, pauses]


def profiles():
    dictionary = {"mappingTable": [{}], "locationTable": [{}], "functionTable": [{}],
                  "linkTable": [{}], "attributeTable": [{}], "stackTable": [{}],
                  "stringTable": ["", "cpu", "nanoseconds", "samples", "count"]}

    def profile(number_):
        return {"sampleType": {"typeStrindex": 1, "unitStrindex": 2},
                "samples": [{"values": ["10"], "timestampsUnixNano": [str(T0)]},
                            {"values": ["20"], "timestampsUnixNano": [str(T0 + 1)]}],
                "timeUnixNano": str(T0), "durationNano": "1000000000",
                "profileId": f"{number_:032x}", "originalPayloadFormat": f"fmt{number_}"}
    return [{"resourceProfiles": [
        {"resource": {"attributes": attributes(CHECKOUT)},
         "scopeProfiles": [{"scope": {"name": "profiler"}, "profiles": [profile(1), profile(2)]}]},
        {"resource": {"attributes": attributes(CART)},
         "scopeProfiles": [{"profiles": [profile(3)]}]}], "dictionary": dictionary}]


REQUESTS = {"traces": traces(), "logs": logs(), "metrics": metrics(), "profiles": profiles()}
