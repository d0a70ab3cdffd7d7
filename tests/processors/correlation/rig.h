/*
 * One instance of the processor between a fake clock and collecting sinks, with spans and profiles
 * in one line each. Times are nanoseconds after RIG_START, the wall time at which the process
 * starts.
 */
#ifndef TESTS_PROCESSORS_CORRELATION_RIG_H
#define TESTS_PROCESSORS_CORRELATION_RIG_H

#include "lib/settings/fill.h"
#include "pipeline/addressees.h"
#include "processors/correlation/correlation.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/fake_clock.h"
#include "tests/support/pprof_build.h"
#include "tests/support/suite.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

extern const struct component processor_correlation;

#define S         NS_PER_S
#define RIG_START (UINT64_C(1767225600) * NS_PER_S)

/* A span as it left. */
struct rig_out {
    uint64_t id;
    uint64_t link;           /* the attribute's id; 0: none, or not an id */
    unsigned attributes;     /* of that name */
    int64_t samples, cpu_ns; /* annotations; -1: none */
    uint64_t left;           /* when, after RIG_START */
    size_t batch;            /* the batch that it was in */
};

struct rig {
    struct fake_clock clock;
    struct budget budget;
    struct meter meter;
    struct env env;
    struct settings *settings;
    void *self;
    struct collecting_sink traces, profiles;
    struct rig_out *out;
    size_t count, batches;
    struct receipt *receipt;         /* of the following requests; NULL: none */
    struct metadata *metadata;       /* of everything that follows; NULL: none */
    struct addressees *delivered_to; /* of spans that follow; NULL: none */
};

struct rig_span {
    const char *service; /* NULL: "shop" */
    uint64_t id;
    uint64_t parent;
    uint64_t start, end; /* after RIG_START */
    unsigned kind, flags;
    const char *language;      /* telemetry.sdk.language; NULL: none */
    const char *instance;      /* service.instance.id; NULL: none */
    const char *attributes[3]; /* values of pyroscope.profile.id */
};

static inline struct correlation *rig_self(struct rig *rig)
{
    return rig->self;
}

/* yaml: the section's content, e.g. "{hold: 5s}". */
static inline void rig_open(struct rig *rig, const char *yaml)
{
    struct problems problems = {0};
    char text[512], error[256] = "";
    snprintf(text, sizeof text, "yaml:{correlation: %s}", yaml);
    struct settings_source source = {SETTINGS_FILE, text};
    memset(rig, 0, sizeof *rig);
    fake_clock_init(&rig->clock);
    budget_init(&rig->budget, SIZE_MAX);
    meter_init(&rig->meter, "correlation");
    collecting_sink_init(&rig->traces);
    collecting_sink_init(&rig->profiles);
    rig->env = (struct env){
        .id = "correlation",
        .clock = &rig->clock.clock,
        .budget = &rig->budget,
        .meter = &rig->meter,
    };
    rig->self = calloc(1, processor_correlation.size);
    rig->settings = settings_load(&source, 1, &problems);
    const struct node *section =
        rig->settings ? node_get(settings_root(rig->settings), "correlation") : NULL;
    bool filled = section && keys_fill(processor_correlation.keys, section, section, "correlation",
                                       rig->self, &problems);
    if (filled)
        keys_check(processor_correlation.check, rig->self, section, section, "correlation",
                   &problems);
    problems_print(&problems, stderr);
    ck_assert_uint_eq(problems.count, 0);
    ck_assert(processor_correlation.open(rig->self, &rig->env, error, sizeof error));
}

/* Closes the instance, once; what it hands on is in the sinks. */
static inline void rig_stop(struct rig *rig)
{
    processor_correlation.close(rig->self);
}

static inline void rig_close(struct rig *rig)
{
    processor_correlation.close(rig->self);
    processor_correlation.close(rig->self);
    meter_release(&rig->meter);
    keys_release(processor_correlation.keys, rig->self);
    free(rig->self);
    settings_free(rig->settings);
    collecting_sink_clear(&rig->traces);
    collecting_sink_clear(&rig->profiles);
    free(rig->out);
    receipt_unref(rig->receipt);
    metadata_unref(rig->metadata);
    addressees_unref(rig->delivered_to);
    ck_assert_uint_eq(budget_used(&rig->budget), 0);
}

static inline uint64_t rig_now(const struct rig *rig)
{
    return rig->clock.wall - RIG_START;
}

/* Advances the clock, with every tick that the instance asks for in between. */
static inline void rig_advance(struct rig *rig, uint64_t ns)
{
    uint64_t target = rig->clock.mono + ns;
    for (;;) {
        uint64_t mono = rig->clock.mono;
        uint64_t next = processor_correlation.tick(rig->self, mono);
        if (mono >= target)
            return;
        CHECK_OFTEN(next > mono, "the next tick is not later");
        fake_clock_advance(&rig->clock, (next < target ? next : target) - mono);
    }
}

static inline void rig_until(struct rig *rig, uint64_t at)
{
    if (at > rig_now(rig))
        rig_advance(rig, at - rig_now(rig));
}

/* Sets the tenant of the following requests; NULL: none. */
static inline void rig_tenant(struct rig *rig, const char *tenant)
{
    bool failed;
    metadata_unref(rig->metadata);
    rig->metadata = metadata_new(view_of(tenant), (struct view){0}, &failed);
}

/* ---- messages written by hand ---- */

static inline void rig_field(struct bytes *out, uint32_t number, struct view content)
{
    uint8_t head[20];
    bytes_append(out, head, (size_t)(proto_len_put(head, number, content.size) - head));
    bytes_append_view(out, content);
}

static inline void rig_number(struct bytes *out, uint32_t number, enum wire_type type,
                              uint64_t value)
{
    uint8_t raw[20];
    uint8_t *end = proto_varint_put(raw, proto_tag(number, type));
    if (type == WIRE_VARINT) {
        end = proto_varint_put(end, value);
    } else {
        uint64_t little = htole64(value);
        memcpy(end, &little, type == WIRE_I64 ? 8 : 4);
        end += type == WIRE_I64 ? 8 : 4;
    }
    bytes_append(out, raw, (size_t)(end - raw));
}

static inline void rig_attribute(struct bytes *out, uint32_t list, const char *key,
                                 const char *value)
{
    uint8_t raw[1024];
    uint8_t *end = otlp_string_attribute_put(raw, list, view_of(key), view_of(value));
    bytes_append(out, raw, (size_t)(end - raw));
}

static inline void rig_id(struct bytes *out, uint32_t number, uint64_t id)
{
    uint64_t big = htobe64(id);
    rig_field(out, number, (struct view){(const uint8_t *)&big, sizeof big});
}

static inline void rig_put_span(struct bytes *out, const struct rig_span *span)
{
    struct bytes body;
    bytes_init(&body, SIZE_MAX, NULL);
    rig_field(&body, 1, VIEW("0123456789abcdef"));
    rig_id(&body, 2, span->id);
    if (span->parent)
        rig_id(&body, 4, span->parent);
    rig_field(&body, 5, VIEW("GET /car"));
    if (span->kind)
        rig_number(&body, 6, WIRE_VARINT, span->kind);
    if (span->start != UINT64_MAX)
        rig_number(&body, 7, WIRE_I64, RIG_START + span->start);
    if (span->end != UINT64_MAX)
        rig_number(&body, 8, WIRE_I64, RIG_START + span->end);
    rig_attribute(&body, 9, "http.method", "GET");
    for (size_t i = 0; i < 3 && span->attributes[i]; i++) {
        rig_attribute(&body, 9, "pyroscope.profile.id", span->attributes[i]);
        rig_attribute(&body, 9, "between", "them");
    }
    if (span->flags)
        rig_number(&body, 16, WIRE_I32, span->flags);
    rig_field(&body, 1000, VIEW("a field of tomorrow"));
    rig_field(out, 2, bytes_view(&body));
    bytes_release(&body);
}

static inline const char *rig_service(const struct rig_span *span)
{
    return span->service ? span->service : "shop";
}

/* Consecutive spans of one service share a resource. */
static inline struct bytes rig_request(const struct rig_span *spans, size_t count)
{
    struct bytes request;
    bytes_init(&request, SIZE_MAX, NULL);
    for (size_t i = 0; i < count;) {
        struct bytes resource, scope, entry;
        bytes_init(&resource, SIZE_MAX, NULL);
        bytes_init(&scope, SIZE_MAX, NULL);
        bytes_init(&entry, SIZE_MAX, NULL);
        const char *service = rig_service(&spans[i]);
        rig_attribute(&resource, 1, "service.name", service);
        if (spans[i].language)
            rig_attribute(&resource, 1, "telemetry.sdk.language", spans[i].language);
        if (spans[i].instance)
            rig_attribute(&resource, 1, "service.instance.id", spans[i].instance);
        rig_field(&scope, 1, VIEW("\x0a\x05scope"));
        for (; i < count && strcmp(rig_service(&spans[i]), service) == 0; i++)
            rig_put_span(&scope, &spans[i]);
        rig_field(&scope, 3, VIEW("https://schema/scope"));
        rig_field(&entry, 1, bytes_view(&resource));
        rig_field(&entry, 2, bytes_view(&scope));
        rig_field(&entry, 3, VIEW("https://schema/resource"));
        rig_field(&request, 1, bytes_view(&entry));
        bytes_release(&resource);
        bytes_release(&scope);
        bytes_release(&entry);
    }
    return request;
}

/* Takes over the bytes. */
static inline struct buffer *rig_buffer(struct rig *rig, struct bytes *bytes)
{
    struct buffer *buffer = buffer_new(bytes->size, &rig->budget, true);
    proto_bytes_put(buffer->data, bytes_view(bytes));
    bytes_release(bytes);
    return buffer;
}

static inline enum verdict rig_consume(struct rig *rig, enum signal signal,
                                       enum batch_encoding encoding, struct bytes *payload,
                                       uint32_t items)
{
    struct buffer *buffer = rig_buffer(rig, payload);
    struct batch *batch = batch_new(signal, encoding, buffer, items, rig->receipt);
    if (rig->metadata)
        batch_set_metadata(batch, metadata_ref(rig->metadata));
    batch->delivered_to = addressees_ref(rig->delivered_to);
    struct collecting_sink *sink = signal == SIGNAL_TRACES ? &rig->traces : &rig->profiles;
    enum verdict verdict = processor_correlation.consume(rig->self, batch, &sink->outlet);
    batch_unref(batch);
    return verdict;
}

static inline enum verdict rig_spans(struct rig *rig, const struct rig_span *spans, size_t count)
{
    struct bytes request = rig_request(spans, count);
    struct proto_fault fault;
    uint32_t items;
    ck_assert(otlp_check(SIGNAL_TRACES, bytes_view(&request), &items, &fault));
    ck_assert_uint_eq(items, count);
    return rig_consume(rig, SIGNAL_TRACES, BATCH_OTLP, &request, items);
}

#define RIG_SPANS(rig, ...)                                                                        \
    rig_spans((rig), (const struct rig_span[]){__VA_ARGS__},                                       \
              sizeof((const struct rig_span[]){__VA_ARGS__}) / sizeof(struct rig_span))

/* A local root of "shop". */
static inline enum verdict rig_root(struct rig *rig, uint64_t id, uint64_t start, uint64_t end)
{
    struct rig_span span = {.id = id, .start = start, .end = end};
    return rig_spans(rig, &span, 1);
}

/* A profile as an SDK sends it: a type, its value for each sample, and ids. */
struct rig_profile {
    const char *service;     /* NULL: "shop" */
    const char *name;        /* of the series; NULL: "process_cpu" */
    const char *type;        /* second sample type; NULL: "cpu" */
    const char *unit;        /* of its values; NULL: "nanoseconds" */
    const char *scope;       /* otel.scope.name; NULL: none */
    const char *label;       /* key of the ids; NULL: "span_id" */
    const char *frame;       /* that its ids were sampled in; NULL: "work" */
    uint64_t time, duration; /* after RIG_START */
    bool no_time;
    bool no_frames;
    bool no_lines;  /* frames without symbols */
    int64_t value;  /* ns per sample; 0: 10 ms */
    bool no_value;  /* 0 ns per sample, though samples were counted */
    uint64_t first; /* this many more, consecutive ids, starting with this one */
    unsigned first_count;
    uint64_t ids[8];
};

static inline void rig_put_sample(struct pprof_build *build, const struct rig_profile *profile,
                                  int64_t value, uint64_t id)
{
    const char *const frames[] = {profile->frame ? profile->frame : "work", "main", NULL};
    const char *const none[] = {NULL};
    char hex[17] = "";
    span_id_format(id, hex);
    pprof_build_sample(build, (const int64_t[]){1, value}, profile->no_frames ? none : frames);
    pprof_build_label(build, profile->label ? profile->label : "span_id", hex);
}

static inline struct bytes rig_pprof(const struct rig_profile *profile)
{
    struct pprof_build *build = pprof_build_new();
    const char *const frames[] = {"work", "main", NULL};
    int64_t value = profile->no_value ? 0 : profile->value ? profile->value : 10000000;
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, profile->type ? profile->type : "cpu",
                     profile->unit ? profile->unit : "nanoseconds");
    if (!profile->no_time)
        pprof_build_time(build, (int64_t)(RIG_START + profile->time), (int64_t)profile->duration);
    pprof_build_lines(build, !profile->no_lines);
    pprof_build_sample(build, (const int64_t[]){1, value}, frames);
    for (size_t i = 0; i < 8 && profile->ids[i]; i++)
        rig_put_sample(build, profile, value, profile->ids[i]);
    for (uint64_t i = 0; i < profile->first_count; i++)
        rig_put_sample(build, profile, value, profile->first + i);
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

static inline struct batch *rig_profile_batch(struct rig *rig, const struct rig_profile *profile)
{
    struct bytes raw = rig_pprof(profile);
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_PPROF, rig_buffer(rig, &raw), 1, NULL);
    struct series_label labels[] = {
        {VIEW("__name__"), view_of(profile->name ? profile->name : "process_cpu")},
        {VIEW("service_name"), view_of(profile->service ? profile->service : "shop")},
        {VIEW("otel.scope.name"), view_of(profile->scope ? profile->scope : "")},
    };
    batch_set_series(batch, series_new(labels, profile->scope ? 3 : 2));
    batch_set_profile(batch, calloc(1, sizeof(struct profile_origin)));
    if (rig->metadata)
        batch_set_metadata(batch, metadata_ref(rig->metadata));
    return batch;
}

static inline enum verdict rig_upload(struct rig *rig, struct batch *batch)
{
    enum verdict verdict = processor_correlation.consume(rig->self, batch, &rig->profiles.outlet);
    batch_unref(batch);
    return verdict;
}

static inline enum verdict rig_push(struct rig *rig, const struct rig_profile *profile)
{
    return rig_upload(rig, rig_profile_batch(rig, profile));
}

#define RIG_PROFILE(rig, ...) rig_push((rig), &(const struct rig_profile){__VA_ARGS__})

/* An ordinary window of the last ten seconds, with samples of up to three ids, or a sample without
 * a span. */
static inline void rig_window(struct rig *rig, uint64_t a, uint64_t b, uint64_t c)
{
    RIG_PROFILE(rig, .time = rig_now(rig) - 10 * S, .duration = 10 * S, .ids = {a, b, c});
}

static inline void rig_read_span(struct rig *rig, struct view body)
{
    struct otlp_span span;
    otlp_span_read(body, &span);
    struct rig_out out = {
        .id = span_id_load(span.span_id.data),
        .attributes = span.profile_attributes,
        .samples = -1,
        .cpu_ns = -1,
        .left = rig_now(rig),
        .batch = rig->batches,
    };
    if (!span.profile_id.data || !span_id_parse(span.profile_id, &out.link))
        out.link = 0;
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field, value, number;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != 9 || !proto_find(field.bytes, 2, WIRE_LEN, &value) ||
            !proto_find(value.bytes, 3, WIRE_VARINT, &number))
            continue;
        if (view_eq(otlp_key(field.bytes), VIEW("pyroscope.profile.samples")))
            out.samples = (int64_t)number.value;
        else if (view_eq(otlp_key(field.bytes), VIEW("pyroscope.profile.cpu_time_ns")))
            out.cpu_ns = (int64_t)number.value;
    }
    if ((rig->count & (rig->count - 1)) == 0)
        rig->out = realloc(rig->out, (rig->count ? 2 * rig->count : 1) * sizeof out);
    rig->out[rig->count++] = out;
}

/* Reads what left since the last call into rig->out. */
static inline void rig_collect(struct rig *rig)
{
    for (size_t i = 0; i < rig->traces.count; i++) {
        struct view request = buffer_view(rig->traces.batches[i]->payload);
        struct proto_fault fault;
        uint32_t items;
        CHECK_OFTEN(otlp_check(SIGNAL_TRACES, request, &items, &fault) &&
                        items == rig->traces.batches[i]->items,
                    "what left is not a request of %u spans", rig->traces.batches[i]->items);
        struct otlp_walk walk;
        otlp_walk_begin(&walk, SIGNAL_TRACES, request);
        enum otlp_step step = otlp_walk_next(&walk);
        for (; step != OTLP_END; step = otlp_walk_next(&walk))
            if (step == OTLP_ITEM)
                rig_read_span(rig, walk.item.bytes);
        rig->batches++;
    }
    collecting_sink_clear(&rig->traces);
}

/* Returns the span that left with this id; NULL: not yet. Leaving twice is a failure. */
static inline const struct rig_out *rig_left(struct rig *rig, uint64_t id)
{
    rig_collect(rig);
    const struct rig_out *found = NULL;
    for (size_t i = 0; i < rig->count; i++)
        if (rig->out[i].id == id) {
            CHECK_OFTEN(!found, "a span left twice");
            found = &rig->out[i];
        }
    return found;
}

static inline bool rig_waits(struct rig *rig, uint64_t id)
{
    return rig_left(rig, id) == NULL;
}

/* Whether it left with exactly one attribute, with this id. */
static inline bool rig_linked_as(struct rig *rig, uint64_t id, uint64_t link)
{
    const struct rig_out *out = rig_left(rig, id);
    return out && out->attributes == 1 && out->link == link;
}

static inline bool rig_linked(struct rig *rig, uint64_t id)
{
    return rig_linked_as(rig, id, id);
}

static inline bool rig_bare(struct rig *rig, uint64_t id)
{
    const struct rig_out *out = rig_left(rig, id);
    return out && out->attributes == 0;
}

/* Ordinary windows of one process until its service's first minute is over; the clock is then at
 * RIG_WARM. */
#define RIG_WARM (100 * S)

static inline void rig_warm(struct rig *rig)
{
    while (rig_now(rig) < RIG_WARM) {
        rig_advance(rig, 10 * S);
        rig_window(rig, 0, 0, 0);
    }
}

/* Whether its explain lines contain this text. */
static inline bool rig_explains(struct rig *rig, const char *text)
{
    struct bytes out;
    bytes_init(&out, 1 << 20, NULL);
    processor_correlation.explain(rig->self, &out);
    bytes_append(&out, "", 1);
    bool found = strstr((const char *)out.data, text);
    if (!found)
        fprintf(stderr, "%s", (const char *)out.data);
    bytes_release(&out);
    return found;
}

#endif
