/* Adds bodies of /ingest to a flame graph: JFR, and the formats of flame_text.c. Types are named as
 * Pyroscope names them. */
#include "extensions/status/flame_add.h"

#include "extensions/status/left_out.h"
#include "lib/base/clock.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/jfr/jfr_labels.h"
#include "lib/wire/jfr/jfr_parts.h"
#include "lib/wire/jfr/jfr_stacks.h"
#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/pprof/ingest_text.h"
#include "lib/wire/pprof/pprof_count.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_INFLATED = 64 << 20, DEEPEST = 1024, NAME_SIZE = 1024, RATE = 100 };

#define CPU_TYPE  "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define WALL_TYPE "wall:wall:nanoseconds:wall:nanoseconds"

/* A JFR upload. */
struct recording {
    struct flame *flame;
    struct jfr_parts parts;
    struct jfr jfr;
    struct jfr_stacks stacks;
    struct jfr_labels labels;
    bool labelled;
    uint64_t period;                /* ns per sample */
    struct jfr_stack_frame *frames; /* room for DEEPEST */
};

uint64_t flame_period(const char *query)
{
    char text[32];
    long rate = RATE;
    if (http_query_get(query, "sampleRate", text, sizeof text) && *text)
        rate = strtol(text, NULL, 10);
    return NS_PER_S / (uint64_t)(rate > 0 && rate < 1000000 ? rate : RATE);
}

/* The span id from the labels of an event's context, else the event's own, as in correlation. */
static uint64_t span_of(const struct recording *recording, const struct jfr_event *event)
{
    static const char *const names[] = {"span_id", "profile_id"};
    for (size_t i = 0; recording->labelled && event->context && i < 2; i++) {
        uint64_t id;
        struct view hex =
            jfr_labels_of_context(&recording->labels, event->context, view_of(names[i]));
        if (hex.data && span_id_parse(hex, &id))
            return id;
    }
    return event->span_id;
}

static uint32_t name_of(struct flame *flame, const struct jfr_stack_frame *frame)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%.*s%s%.*s", VIEW_ARG(frame->class), frame->class.size ? "." : "",
             VIEW_ARG(frame->method));
    return names_put(&flame->names, *name ? view_of(name) : VIEW("(unknown)"));
}

/* Adds a value to the stack of an event. */
static void add_value(struct recording *recording, const struct jfr_event *event, uint64_t value)
{
    struct flame *flame = recording->flame;
    size_t count = jfr_stacks_read(&recording->stacks, event, recording->frames, DEEPEST);
    uint32_t node = 0;
    if (count == 0 && flame->filter.ids)
        return;
    while (count-- > 0)
        node = flame_child(flame, node, name_of(flame, &recording->frames[count]));
    flame_weigh(flame, node, value);
    flame->samples += event->samples;
}

static void add_time(struct recording *recording, const struct jfr_event *event)
{
    struct flame *flame = recording->flame;
    uint64_t time = flame_product(event->samples, recording->period);
    bool cpu = event->counts_cpu && flame_takes(flame, CPU_TYPE);
    bool wall = event->counts_wall && flame_takes(flame, WALL_TYPE);
    if (cpu && wall) /* wall came second: it was drawn only if it replaced CPU */
        cpu = strcmp(flame->type, CPU_TYPE) == 0;
    if (event->counts_cpu)
        flame_sum_type(flame, CPU_TYPE, time);
    if (event->counts_wall)
        flame_sum_type(flame, WALL_TYPE, time);
    if (cpu || wall)
        add_value(recording, event, time < PPROF_TIME_MAX ? time : PPROF_TIME_MAX);
}

/* Each such event has two values: 1, and its amount. */
static void add_amount(struct recording *recording, const struct jfr_event *event)
{
    static const char *const types[][2] = {
        [JFR_ALLOCATION] = {"memory:alloc_in_new_tlab_objects:count:space:bytes",
                            "memory:alloc_in_new_tlab_bytes:bytes:space:bytes"},
        [JFR_ALLOCATION_OUTSIDE] = {"memory:alloc_outside_tlab_objects:count:space:bytes",
                                    "memory:alloc_outside_tlab_bytes:bytes:space:bytes"},
        [JFR_LOCK] = {"mutex:contentions:count:mutex:count", "mutex:delay:nanoseconds:mutex:count"},
    };
    for (size_t i = 0; i < 2; i++)
        if (flame_takes(recording->flame, types[event->kind][i]))
            add_value(recording, event, i ? event->amount : event->samples);
}

static void add_event(struct recording *recording, const struct jfr_event *event)
{
    bool timed = event->kind == JFR_EXECUTION || event->kind == JFR_WALL;
    if (!event->has_stack || !event->samples ||
        (timed && !event->counts_cpu && !event->counts_wall) ||
        !flame_wants_id(recording->flame, span_of(recording, event)))
        return;
    if (timed)
        add_time(recording, event);
    else
        add_amount(recording, event);
}

static bool add_recording(struct recording *recording, uint64_t arrived, struct arena *arena)
{
    struct flame *flame = recording->flame;
    struct jfr_event event;
    struct jfr_fault fault;
    struct proto_fault labels_fault;
    if (!jfr_open(&recording->jfr, recording->parts.jfr, arena, &fault) ||
        !jfr_stacks_open(&recording->stacks, &recording->jfr, arena))
        return false;
    recording->labelled =
        jfr_labels_open(&recording->labels, recording->parts.labels, arena, &labels_fault);
    if (!flame_overlaps(flame, (uint64_t)recording->jfr.start_nanos,
                        (uint64_t)recording->jfr.end_nanos, arrived))
        return true;
    recording->frames = arena_array_raw(arena, DEEPEST, sizeof *recording->frames);
    struct jfr_scan scan = jfr_scan_begin(&recording->jfr);
    while (recording->frames && jfr_next_event(&recording->jfr, &scan, &event))
        add_event(recording, &event);
    uint64_t start = (uint64_t)recording->jfr.start_nanos, end = (uint64_t)recording->jfr.end_nanos;
    if (flame->samples) {
        flame->start = flame->start && flame->start < start ? flame->start : start;
        flame->end = flame->end > end ? flame->end : end;
        flame->period = (int64_t)recording->period;
    }
    return recording->frames;
}

static void add_jfr(struct flame *flame, const char *query, const char *type, struct view body)
{
    struct recording recording = {.flame = flame, .period = flame_period(query)};
    struct arena arena;
    arena_init(&arena, (size_t)MAX_INFLATED);
    arena_charge(&arena, flame->budget, budget_take_spare, 0);
    if (!jfr_parts_open(&recording.parts, type, body, flame->budget) ||
        !add_recording(&recording, flame->current.arrived, &arena))
        flame->truncated = true;
    arena_release(&arena);
    jfr_parts_release(&recording.parts);
}

/* The hash of the application name's service, as Pyroscope determines it. */
static uint64_t service_of(const char *name, const char *format)
{
    const char *reason;
    struct series *series = series_parse(view_of(name), &reason);
    uint64_t service = series ? left_out_service(ingest_text_service(series, format)) : 0;
    series_unref(series);
    return service;
}

void flame_add_ingest(struct flame *flame, const char *query, const char *content_type,
                      struct view body, uint64_t arrived)
{
    char format[32] = "", name[NAME_SIZE] = "";
    query = query ? query : "";
    http_query_get(query, "format", format, sizeof format);
    if (!http_query_get(query, "name", name, sizeof name))
        return;
    uint64_t service = service_of(name, format);
    if (flame->filter.service && service != left_out_service(view_of(flame->filter.service)))
        return;
    flame_begin_profile(flame, left_out_service(view_of(name)), service, arrived);
    if (strcmp(format, "jfr") == 0)
        add_jfr(flame, query, content_type, body);
    else if (!flame->filter.ids && flame_overlaps(flame, 0, 0, arrived))
        flame_add_text(flame, &(struct flame_text){.format = format,
                                                   .content_type = content_type,
                                                   .application = name,
                                                   .period = flame_period(query),
                                                   .body = body});
}
