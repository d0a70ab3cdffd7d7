/*
 * A stream of requests, profiles and passing time from the input, for several processes with
 * consecutive, late and skipped windows and clocks that step: no crash, no leak, every accepted
 * span leaves exactly once, and none waits longer than the time that has passed.
 */
#include "processors/correlation/correlation.h"

#include "lib/base/log.h"
#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/pprof/pprof.h"
#include "pipeline/graph/graph.h"
#include "processors/correlation/known/notes.h"

#include <endian.h>
#include <stdlib.h>

extern const struct component processor_correlation;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BEGIN (1000000 * NS_PER_S)

enum { PROCESSES = 4 };

/* A process that uploads consecutive windows. */
struct uploader {
    uint64_t frontier; /* wall; 0: not begun */
    uint64_t length;
    uint64_t skipped; /* start of a window that may arrive late; 0: none */
};

struct stage {
    struct clock clock;
    uint64_t now;
    uint64_t wall_ahead; /* of now */
    struct uploader uploaders[PROCESSES];
    uint64_t filler; /* the last id of the many spans */
    struct budget budget;
    struct meter meter;
    struct env env;
    struct correlation *self;
    struct instance sink;
    struct outlet outlet;
    enum verdict verdict;
    struct metadata **tenants; /* two; NULL: none */
    unsigned tenant;
    uint64_t in_spans, in_sum, out_spans, out_sum;
    const uint8_t *at, *end;
};

static uint64_t read_now(const struct clock *clock)
{
    return ((const struct stage *)(const void *)clock)->now;
}

static uint64_t wall_of(const struct stage *stage)
{
    return stage->now + stage->wall_ahead;
}

static uint64_t read_wall(const struct clock *clock)
{
    return wall_of((const struct stage *)(const void *)clock);
}

static uint8_t next_byte(struct stage *stage)
{
    return stage->at < stage->end ? *stage->at++ : 0;
}

/* Number of spans in a request, and the sum of their ids' hashes, which is independent of the
 * order. */
static uint64_t sum_spans(struct view request, uint64_t *count)
{
    struct otlp_walk walk;
    struct otlp_span span;
    uint64_t sum = 0;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    enum otlp_step step = otlp_walk_next(&walk);
    for (; step != OTLP_END; step = otlp_walk_next(&walk)) {
        if (step != OTLP_ITEM)
            continue;
        otlp_span_read(walk.item.bytes, &span);
        uint64_t id = span.span_id.size == 8 ? span_id_load(span.span_id.data) : 0;
        sum += (id + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ id << 7;
        ++*count;
    }
    return sum;
}

static enum verdict take(void *self, struct batch *batch, struct outlet *next)
{
    struct stage *stage = self;
    struct proto_fault fault;
    uint32_t items;
    (void)next;
    if (batch->signal != SIGNAL_TRACES || stage->verdict != VERDICT_OK)
        return stage->verdict;
    struct view request = buffer_view(batch->payload);
    if (!otlp_check(SIGNAL_TRACES, request, &items, &fault) || items != batch->items)
        abort();
    stage->out_sum += sum_spans(request, &stage->out_spans);
    return VERDICT_OK;
}

static const struct component taker = {
    .type = "taker", .kind = COMPONENT_PROCESSOR, .consume = take};

static struct batch *batch_of(struct stage *stage, enum signal signal, enum batch_encoding encoding,
                              struct view payload, uint32_t items)
{
    struct buffer *buffer = buffer_new(payload.size, &stage->budget, true);
    proto_bytes_put(buffer->data, payload);
    struct batch *batch = batch_new(signal, encoding, buffer, items, NULL);
    if (stage->tenants)
        batch_set_metadata(batch, metadata_ref(stage->tenants[stage->tenant]));
    return batch;
}

static void push(struct stage *stage, struct batch *batch)
{
    uint64_t count = 0, sum = 0;
    if (batch->signal == SIGNAL_TRACES)
        sum = sum_spans(buffer_view(batch->payload), &count);
    if (processor_correlation.consume(stage->self, batch, &stage->outlet) == VERDICT_OK) {
        stage->in_spans += count;
        stage->in_sum += sum;
    }
    batch_unref(batch);
}

static uint8_t *put_field(uint8_t *out, uint32_t number, struct view content)
{
    return proto_bytes_put(proto_len_put(out, number, content.size), content);
}

/* One of a few ids, so that spans, parents, attributes and samples match. */
static uint64_t next_id(struct stage *stage)
{
    uint64_t id = next_byte(stage) & 31;
    return id & 16 ? span_id_reversed(id & 15) : id;
}

static uint8_t *put_span(struct stage *stage, uint8_t *out)
{
    uint8_t body[512], *at = body, shape = next_byte(stage);
    uint64_t id = htobe64(next_id(stage)), parent = htobe64(next_id(stage));
    at = put_field(at, 2, (struct view){(uint8_t *)&id, 8});
    if (shape & 1)
        at = put_field(at, 4, (struct view){(uint8_t *)&parent, 8});
    uint64_t end = htole64(wall_of(stage) - next_byte(stage) * (NS_PER_S / 8));
    if (shape & 16) {
        uint64_t start = htole64(wall_of(stage) - next_byte(stage) * NS_PER_S);
        at = proto_varint_put(at, proto_tag(7, WIRE_I64));
        at = proto_bytes_put(at, (struct view){(uint8_t *)&start, 8});
    }
    at = proto_varint_put(at, proto_tag(8, WIRE_I64));
    at = proto_bytes_put(at, (struct view){(uint8_t *)&end, 8});
    for (unsigned i = 0; i < (shape >> 1 & 3); i++) {
        char hex[16];
        span_id_format(next_id(stage), hex);
        at = otlp_string_attribute_put(at, 9, VIEW("pyroscope.profile.id"),
                                       (struct view){(uint8_t *)hex, shape & 8 ? 16 : 7});
    }
    return put_field(out, 2, view_between(body, at));
}

static const char *const services[] = {"a", "b", "c", ""};

/* Sends spans of a scope, from a service and one of its processes, as one request. */
static void send_scope(struct stage *stage, struct view scope, uint32_t count, uint8_t from)
{
    static const char *const instances[] = {"", "p-1", "p-2", "p-3"};
    size_t size = scope.size + 256;
    uint8_t resource[128], *entry = malloc(size), *request = malloc(size + 16);
    uint8_t *end =
        otlp_string_attribute_put(resource, 1, VIEW("service.name"), view_of(services[from & 3]));
    if (from & 12)
        end = otlp_string_attribute_put(end, 1, VIEW("service.instance.id"),
                                        view_of(instances[from >> 2 & 3]));
    if (from & 16)
        end = otlp_string_attribute_put(end, 1, VIEW("telemetry.sdk.language"), VIEW("nodejs"));
    uint8_t *entry_end = put_field(entry, 1, view_between(resource, end));
    entry_end = put_field(entry_end, 2, scope);
    uint8_t *request_end = put_field(request, 1, view_between(entry, entry_end));
    push(stage,
         batch_of(stage, SIGNAL_TRACES, BATCH_OTLP, view_between(request, request_end), count));
    free(entry);
    free(request);
}

static void send_spans(struct stage *stage)
{
    uint8_t scope[8192], *at = scope;
    unsigned count = next_byte(stage) & 7;
    for (unsigned i = 0; i < count; i++)
        at = put_span(stage, at);
    send_scope(stage, view_between(scope, at), count, next_byte(stage));
}

/* Sends so many large spans that the hold fills up and is compressed. */
static void send_many(struct stage *stage)
{
    enum { COUNT = 64, TEXT = 500 };
    static uint8_t scope[COUNT * (TEXT + 64)];
    unsigned requests = 1 + (next_byte(stage) & 31);
    uint8_t from = next_byte(stage), text[TEXT];
    for (size_t i = 0; i < TEXT; i++)
        text[i] = (uint8_t)(' ' + i % (1 + from));
    for (; requests > 0; requests--) {
        uint8_t *at = scope;
        for (unsigned i = 0; i < COUNT; i++) {
            uint8_t body[TEXT + 64], *end = body;
            uint64_t id = htobe64(++stage->filler), ended = htole64(wall_of(stage) - i);
            end = put_field(end, 2, (struct view){(uint8_t *)&id, 8});
            end = put_field(end, 5, (struct view){text, TEXT});
            end = proto_varint_put(end, proto_tag(8, WIRE_I64));
            end = proto_bytes_put(end, (struct view){(uint8_t *)&ended, 8});
            at = put_field(at, 2, view_between(body, end));
        }
        send_scope(stage, view_between(scope, at), COUNT, from);
        stage->now += 101 * NS_PER_MS;
    }
}

static uint8_t *put_number(uint8_t *out, uint32_t number, uint64_t value)
{
    return proto_varint_put(proto_varint_put(out, proto_tag(number, WIRE_VARINT)), value);
}

/* Adds a pprof's metadata: kind, service and process. */
static struct batch *label(struct stage *stage, struct view raw, uint8_t kind, uint8_t process)
{
    static const char *const names[] = {"process_cpu", "wall", "memory", "goroutine"};
    static const char *const profiled[] = {"a", "b", "c", "unknown_service"};
    static const char *const pods[] = {"", "p-1", "p-2", "p-3"};
    struct batch *batch = batch_of(stage, SIGNAL_PROFILES, BATCH_PPROF, raw, 1);
    const struct series_label labels[] = {
        {VIEW("__name__"), view_of(names[kind & 3])},
        {VIEW("service_name"), view_of(profiled[kind >> 2 & 3])},
        {VIEW("pod"), view_of(pods[process & 3])},
    };
    batch_set_series(batch, series_new(labels, kind & 16 ? 3 : 2));
    return batch;
}

/* Sends a CPU or wall profile with a sample for each of a few ids, and for some of the many
 * spans. */
static void send_window(struct stage *stage, uint64_t start, uint64_t length, uint8_t process)
{
    uint8_t raw[4096], *at = put_field(raw, 1, VIEW("\x08\x01\x10\x02"));
    uint8_t shape = next_byte(stage), kind = next_byte(stage);
    unsigned count = shape & 7, fillers = shape >> 3 & 7;
    for (unsigned i = 0; i < count + fillers; i++) {
        uint8_t label[] = {0x08, 3, 0x10, (uint8_t)(4 + i)}, sample[32];
        uint8_t *end = put_field(sample, 1, VIEW("\x01"));
        end = put_field(end, 2, VIEW("\x0a"));
        end = put_field(end, 3, (struct view){label, sizeof label});
        at = put_field(at, 2, view_between(sample, end));
    }
    at = put_field(at, 4, VIEW("\x08\x01"));
    static const char *const strings[] = {"", "cpu", "nanoseconds", "span_id"};
    for (unsigned i = 0; i < 4; i++)
        at = put_field(at, 6, view_of(strings[i]));
    for (unsigned i = 0; i < count + fillers; i++) {
        char hex[16];
        uint64_t filler = stage->filler - 7 * i;
        span_id_format(i < count ? next_id(stage) : filler, hex);
        at = put_field(at, 6, (struct view){(uint8_t *)hex, 16});
    }
    at = put_number(put_number(at, 9, start), 10, length);
    push(stage, label(stage, view_between(raw, at), kind, process));
}

static void send_profile(struct stage *stage)
{
    uint64_t length = next_byte(stage) * (NS_PER_S / 4);
    send_window(stage, wall_of(stage) - length, length, 0);
}

/* Sends a process's next window, skips one, or sends a skipped one. */
static void go_on(struct stage *stage)
{
    uint8_t what = next_byte(stage);
    struct uploader *uploader = &stage->uploaders[what & 3];
    if (!uploader->frontier || what >> 5 == 0) { /* begins anew */
        uploader->length = (1 + (what >> 2 & 15)) * NS_PER_S;
        uploader->frontier = wall_of(stage) - uploader->length;
    }
    uint64_t start = uploader->frontier;
    if (what >> 5 == 1) {
        uploader->skipped = start;
    } else if (what >> 5 == 2 && uploader->skipped) {
        send_window(stage, uploader->skipped, uploader->length, what);
        uploader->skipped = 0;
        return;
    } else {
        send_window(stage, start, uploader->length, what);
    }
    uploader->frontier += uploader->length;
    if (uploader->frontier > wall_of(stage))
        stage->now += uploader->frontier - wall_of(stage);
}

static void send_opaque(struct stage *stage)
{
    struct batch *batch = batch_of(stage, SIGNAL_PROFILES, BATCH_OPAQUE, VIEW("jfr"), 1);
    struct opaque_request *request = calloc(1, sizeof *request);
    request->query = strdup(next_byte(stage) & 1 ? "name=a&format=jfr" : "name=b%7Bx%3Dy%7D");
    batch_set_opaque(batch, request);
    push(stage, batch);
}

/* Sends bytes of the input as a request if they pass the check. */
static void send_raw(struct stage *stage)
{
    static const enum signal signals[] = {SIGNAL_TRACES, SIGNAL_PROFILES, SIGNAL_METRICS,
                                          SIGNAL_LOGS};
    enum signal signal = signals[next_byte(stage) & 3];
    size_t size = next_byte(stage) * 4u, left = (size_t)(stage->end - stage->at);
    struct view raw = {stage->at, size < left ? size : left};
    struct proto_fault fault;
    uint32_t items;
    stage->at += raw.size;
    if (otlp_check(signal, raw, &items, &fault))
        push(stage, batch_of(stage, signal, BATCH_OTLP, raw, items));
    if (proto_check(&shape_pprof, raw, &fault))
        push(stage, batch_of(stage, SIGNAL_PROFILES, BATCH_PPROF, raw, 1));
}

/* Recalls notes of a supposed earlier process. */
static void recall(struct stage *stage)
{
    struct span_figures ids[] = {{next_id(stage), 1, false, 1}, {next_id(stage), 1, false, 1}};
    uint8_t shape = next_byte(stage);
    uint64_t ago = next_byte(stage) * NS_PER_S;
    struct upload upload = {
        .service = view_of(services[shape & 3]),
        .unread = shape & 4 ? "why" : NULL,
        .has_samples = shape & 8,
        .window = {.kind = shape >> 4 & 1,
                   .end = wall_of(stage) - ago,
                   .length = next_byte(stage) * (NS_PER_S / 4)},
        .ids = ids,
        .count = shape >> 5 & 1 ? 2 : 0,
    };
    const struct notes notes = {&upload, wall_of(stage) - 2 * ago, wall_of(stage) - ago};
    struct bytes note;
    bytes_init(&note, SIZE_MAX, NULL);
    if (!notes_write(&notes, &note))
        abort();
    processor_correlation.recall(stage->self, bytes_view(&note));
    bytes_release(&note);
}

static void step_of_many(struct stage *stage)
{
    switch (next_byte(stage) % 6) {
    case 0:
    case 1:
    case 2:
        go_on(stage);
        break;
    case 3:
        send_many(stage);
        break;
    case 4: /* the wall clock is set */
        stage->wall_ahead = (UINT64_C(1000) + next_byte(stage)) * NS_PER_S;
        break;
    default:
        stage->tenant = next_byte(stage) & 1;
        break;
    }
}

static void step(struct stage *stage)
{
    switch (next_byte(stage) % 9) {
    case 0:
    case 1:
        send_spans(stage);
        break;
    case 2:
    case 3:
        send_profile(stage);
        break;
    case 4:
        stage->now += next_byte(stage) * (NS_PER_S / 4);
        break;
    case 5:
        send_opaque(stage);
        break;
    case 6:
        send_raw(stage);
        break;
    case 7:
        stage->verdict = next_byte(stage) & 3 ? VERDICT_OK : VERDICT_RETRY;
        break;
    default:
        step_of_many(stage);
        break;
    }
    processor_correlation.tick(stage->self, stage->now);
}

static void configure(struct stage *stage)
{
    static char *kinds[] = {"auto", "wall"};
    static struct key_pair pair = {"service.name", "service_name"};
    uint8_t a = next_byte(stage), b = next_byte(stage);
    stage->self->config = (struct correlation_config){
        .link = a & 8 ? LINK_CONFIRMED : a & 3,
        .candidates = (a >> 4 & 3) % 3,
        .hold = a & 64 ? DURATION_AUTO : (uint64_t)(b & 15) * NS_PER_S,
        .confirm_by = {&kinds[a >> 7], 1},
        .remember = 100 * NS_PER_S,
        .index_max_mib = 1,
        .hold_max_mib = 1,
        .hold_max_spans = b & 16 ? 3 : 0,
        .unconfirmed = b >> 5 & 1,
        .children = b >> 6 & 1,
        .annotate = b >> 7,
        .remap = {&pair, b & 1},
        .trace_id = b >> 1 & 1,
    };
    if (a & 4)
        stage->env.metadata_signals = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES);
    if (stage->self->config.link > LINK_ALL)
        stage->self->config.link = LINK_CONFIRMED;
}

/* No wait is longer than the time that has passed. */
static void check_waits(const struct stage *stage)
{
    const struct service *each = NULL;
    while ((each = services_next(&stage->self->services, each)))
        if (each->counts.wait_max > stage->now - BEGIN)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stage stage = {
        .clock = {.wall = read_wall, .mono = read_now},
        .now = BEGIN,
        .wall_ahead = 1000 * NS_PER_S,
        .filler = UINT64_C(1) << 40,
        .at = data,
        .end = data + size,
    };
    char error[64];
    bool failed;
    struct metadata *tenants[] = {metadata_new(VIEW("x"), (struct view){0}, &failed),
                                  metadata_new(VIEW("y"), (struct view){0}, &failed)};
    log_set_level(LOG_ERROR);
    budget_init(&stage.budget, 4 << 20);
    meter_init(&stage.meter, "correlation");
    stage.env = (struct env){
        .id = "correlation",
        .clock = &stage.clock,
        .budget = &stage.budget,
        .meter = &stage.meter,
    };
    stage.self = calloc(1, sizeof *stage.self);
    stage.sink.component = &taker;
    stage.sink.self = &stage;
    stage.sink.meter = &stage.meter;
    stage.outlet.processor = &stage.sink;
    configure(&stage);
    stage.tenants = stage.env.metadata_signals ? tenants : NULL;
    if (!processor_correlation.open(stage.self, &stage.env, error, sizeof error))
        abort();
    if (size & 1)
        recall(&stage);
    while (stage.at < stage.end)
        step(&stage);
    check_waits(&stage);
    stage.verdict = VERDICT_OK;
    processor_correlation.close(stage.self);
    meter_release(&stage.meter);
    free(stage.self);
    metadata_unref(tenants[0]);
    metadata_unref(tenants[1]);
    if (stage.in_spans != stage.out_spans || stage.in_sum != stage.out_sum ||
        budget_used(&stage.budget) != 0)
        abort();
    return 0;
}
