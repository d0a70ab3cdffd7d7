#include "bench/spans.h"

#include "bench/stage.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/otlp/otlp_span.h"

#include <endian.h>
#include <stdio.h>

/* Field numbers: opentelemetry-proto 1.11. */
enum { REQUEST_RESOURCES = 1, ENTRY_RESOURCE = 1, ENTRY_SCOPES = 2, SCOPE_SCOPE = 1 };
enum { SCOPE_SPANS = 2, RESOURCE_ATTRIBUTES = 1, SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum { TRACE_ID = 1, SPAN_ID = 2, PARENT_ID = 4, NAME = 5, KIND = 6, START = 7, END = 8 };
enum { ATTRIBUTES = 9, EVENTS = 11, STATUS = 15, FLAGS = 16 };
enum { EVENT_TIME = 1, EVENT_NAME = 2, EVENT_ATTRIBUTES = 3 };

uint64_t spans_id(uint64_t number)
{
    /* splitmix64's step: distinct ids, distributed like an SDK's random ids. */
    uint64_t id = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    id = (id ^ id >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    id = (id ^ id >> 27) * UINT64_C(0x94d049bb133111eb);
    return id ^ id >> 31;
}

static void put(struct bytes *out, const void *data, size_t size)
{
    if (bytes_append(out, data, size) != BYTES_OK)
        stage_fail("no memory");
}

static void put_message(struct bytes *out, uint32_t number, struct view content)
{
    uint8_t head[20];
    put(out, head, (size_t)(proto_len_put(head, number, content.size) - head));
    put(out, content.data, content.size);
}

static void put_fixed64(struct bytes *out, uint32_t number, uint64_t value)
{
    uint8_t raw[20], *end = proto_varint_put(raw, proto_tag(number, WIRE_I64));
    value = htole64(value);
    memcpy(end, &value, sizeof value);
    put(out, raw, (size_t)(end - raw) + sizeof value);
}

static void put_id(struct bytes *out, uint32_t number, uint64_t id)
{
    id = htobe64(id);
    put_message(out, number, (struct view){(const uint8_t *)&id, sizeof id});
}

static void put_text(struct bytes *out, uint32_t list, const char *key, const char *value)
{
    uint8_t raw[256];
    uint8_t *end = otlp_string_attribute_put(raw, list, view_of(key), view_of(value));
    put(out, raw, (size_t)(end - raw));
}

static void put_int(struct bytes *out, uint32_t list, const char *key, int64_t value)
{
    uint8_t raw[256], *end = otlp_int_attribute_put(raw, list, view_of(key), value);
    put(out, raw, (size_t)(end - raw));
}

static void put_attributes(struct bytes *out, uint64_t id)
{
    char text[64];
    put_text(out, ATTRIBUTES, "http.request.method", id % 4 ? "GET" : "POST");
    snprintf(text, sizeof text, "/api/v1/orders/%llu", (unsigned long long)(id >> 44));
    put_text(out, ATTRIBUTES, "url.path", text);
    put_text(out, ATTRIBUTES, "url.scheme", "http");
    put_text(out, ATTRIBUTES, "http.route", "/api/v1/orders/{id}");
    put_int(out, ATTRIBUTES, "http.response.status_code", id % 50 ? 200 : 503);
    put_text(out, ATTRIBUTES, "server.address", "shop.example.org");
    put_int(out, ATTRIBUTES, "server.port", 8080);
    snprintf(text, sizeof text, "10.%u.%u.%u", (unsigned)(id >> 8 & 3), (unsigned)(id >> 16 & 255),
             (unsigned)(id >> 24 & 255));
    put_text(out, ATTRIBUTES, "client.address", text);
    put_text(out, ATTRIBUTES, "network.protocol.version", "1.1");
    put_text(out, ATTRIBUTES, "user_agent.original", "okhttp/4.12.0");
    put_int(out, ATTRIBUTES, "thread.id", (int64_t)(id & 63) + 20);
    snprintf(text, sizeof text, "http-worker-%u", (unsigned)(id & 63));
    put_text(out, ATTRIBUTES, "thread.name", text);
    put_text(out, ATTRIBUTES, "db.system.name", "postgresql");
    snprintf(text, sizeof text, "user-%llx", (unsigned long long)(id >> 40));
    put_text(out, ATTRIBUTES, "enduser.id", text);
}

static void put_event(struct bytes *out, uint64_t id, uint64_t time)
{
    struct bytes event;
    bytes_init(&event, SIZE_MAX, NULL);
    put_fixed64(&event, EVENT_TIME, time);
    put_message(&event, EVENT_NAME, VIEW("cache.miss"));
    put_text(&event, EVENT_ATTRIBUTES, "cache.region", "orders");
    put_int(&event, EVENT_ATTRIBUTES, "cache.size", (int64_t)(id >> 50));
    put_message(out, EVENTS, bytes_view(&event));
    bytes_release(&event);
}

static void put_span(struct bytes *out, const struct spans *spans, uint64_t number)
{
    struct bytes body;
    uint64_t id = spans_id(number), trace[2] = {spans_id(number / 10), spans_id(~(number / 10))};
    bool root = spans->root_each && number % spans->root_each == 0;
    uint64_t start = spans->end_ns - 1000000 - (id & 0xffffff);
    const uint8_t kind[] = {KIND << 3, root ? SPAN_KIND_SERVER : SPAN_KIND_INTERNAL};
    const uint8_t flags[] = {0x85, 0x01, 0x01, 0x01, 0, 0}; /* sampled, parent not remote */
    bytes_init(&body, SIZE_MAX, NULL);
    put_message(&body, TRACE_ID, (struct view){(const uint8_t *)trace, sizeof trace});
    put_id(&body, SPAN_ID, id);
    if (!root)
        put_id(&body, PARENT_ID, spans_id(number - 1));
    put_message(&body, NAME, VIEW("GET /api/v1/orders/{id}"));
    put(&body, kind, sizeof kind);
    put_fixed64(&body, START, start);
    put_fixed64(&body, END, spans->end_ns);
    put_attributes(&body, id);
    if (number % 3 == 0)
        put_event(&body, id, spans->end_ns);
    put_message(&body, STATUS, VIEW(""));
    put(&body, flags, sizeof flags);
    put_message(out, SCOPE_SPANS, bytes_view(&body));
    bytes_release(&body);
}

void spans_request(const struct spans *spans, struct bytes *out)
{
    struct bytes resource, scope, entry;
    bytes_init(&resource, SIZE_MAX, NULL);
    bytes_init(&scope, SIZE_MAX, NULL);
    bytes_init(&entry, SIZE_MAX, NULL);
    put_text(&resource, RESOURCE_ATTRIBUTES, "host.name", "shop-6d4b75cb6d-hx7k2");
    put_text(&resource, RESOURCE_ATTRIBUTES, "service.name", spans->service);
    put_text(&resource, RESOURCE_ATTRIBUTES, "telemetry.sdk.language", "java");
    put_text(&resource, RESOURCE_ATTRIBUTES, "telemetry.sdk.name", "opentelemetry");
    put_text(&resource, RESOURCE_ATTRIBUTES, "telemetry.sdk.version", "1.51.0");
    put_message(&scope, SCOPE_SCOPE,
                VIEW("\x0a\x12io.example.tomcat1\x12\x05"
                     "2.1.0"));
    for (uint32_t i = 0; i < spans->count; i++)
        put_span(&scope, spans, spans->first + i);
    put_message(&entry, ENTRY_RESOURCE, bytes_view(&resource));
    put_message(&entry, ENTRY_SCOPES, bytes_view(&scope));
    put_message(out, REQUEST_RESOURCES, bytes_view(&entry));
    bytes_release(&resource);
    bytes_release(&scope);
    bytes_release(&entry);
}
