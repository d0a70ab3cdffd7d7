/* Reads the samples that name a span (exporters/debug/debug.h). */
#include "exporters/debug/debug.h"

#include "lib/wire/http/http_query.h"
#include "lib/wire/jfr/jfr_labels.h"
#include "lib/wire/jfr/jfr_parts.h"
#include "lib/wire/jfr/jfr_stacks.h"
#include "lib/wire/pprof/pprof_count.h"
#include "lib/wire/pprof/pprof_stacks.h"
#include "lib/wire/profiles/profiles_to_pprof.h"

#include <stdio.h>
#include <stdlib.h>

enum { INDEX_CAP = 64 << 20, MAX_RATE = 1000000, DEFAULT_RATE = 100 };

static void samples_arena_init(struct arena *arena, const struct span_profiles *profiles)
{
    arena_init(arena, INDEX_CAP);
    arena_charge(arena, span_profiles_budget(profiles), budget_use, ARENA_SMALL);
}

/* ---- pprof ---- */

struct columns {
    int cpu, wall;                /* indexes of a profile's values; -1: none */
    uint64_t cpu_unit, wall_unit; /* of these, ns */
    struct pprof_count count;
    struct view service; /* that the profile is of */
};

/* A value as ns, which is at most UINT64_MAX. */
static uint64_t time_at(const struct pprof_sample *sample, int column, uint64_t unit)
{
    uint64_t value =
        column >= 0 && sample->values[column] > 0 ? (uint64_t)sample->values[column] : 0;
    return unit && value > UINT64_MAX / unit ? UINT64_MAX : value * unit;
}

static void add_sample(struct span_profiles *profiles, const struct pprof_stacks *stacks,
                       const struct columns *columns, const struct pprof_sample *sample)
{
    bool stated = columns->count.column >= 0 && !columns->count.period;
    bool only_wall = columns->wall >= 0 && columns->cpu < 0;
    uint64_t samples = pprof_count_samples(&columns->count, sample);
    struct span_stack stack = {
        .cpu_ns = time_at(sample, columns->cpu, columns->cpu_unit),
        .wall_ns = time_at(sample, columns->wall, columns->wall_unit),
        .times_cpu = columns->cpu >= 0,
        .service = columns->service,
    };
    uint32_t frames[STACK_DEPTH];
    bool cut = false;
    if ((!(stated && samples) && !stack.cpu_ns && !stack.wall_ns) || !sample->span_id.data ||
        !span_id_parse(sample->span_id, &stack.id))
        return;
    if (stack.cpu_ns || (stated && !only_wall))
        stack.samples = samples;
    else /* of OTLP, the samples of CPU time may be counted in another profile */
        stack.wall_samples = samples;
    stack.count = pprof_stacks_read(stacks, sample, frames, STACK_DEPTH, &cut);
    if (!stack.count)
        return; /* a server drops it */
    for (size_t i = 0; i < stack.count; i++)
        stack.names[i] = pprof_stacks_text(stacks, frames[i]);
    span_profiles_count(profiles, &stack);
}

/* The CPU times of a request's profiles, by their type; a ring. */
struct times_seen {
    struct {
        uint64_t hash, type;
    } of[256];
    size_t count; /* ever */
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* A hash of who was profiled: the labels but for the name, which differs by type. */
static uint64_t series_hash(const struct series *series)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < series->count; i++)
        if (!view_eq(series->labels[i].name, VIEW("__name__")))
            hash = mix(mix(hash, view_hash(series->labels[i].name)),
                       view_hash(series->labels[i].value));
    return hash;
}

static uint64_t times_hash(const struct series *series, const struct pprof *pprof,
                           const struct columns *columns)
{
    uint64_t hash = mix(series_hash(series), (uint64_t)pprof->time_nanos), id;
    hash = mix(mix(hash, (uint64_t)pprof->duration_nanos), pprof->sample_count);
    struct proto_scan scan = pprof_samples(pprof);
    struct pprof_sample sample;
    while (pprof_next_sample(pprof, &scan, &sample))
        if (sample.span_id.data && span_id_parse(sample.span_id, &id))
            hash = mix(mix(hash, id), time_at(&sample, columns->cpu, columns->cpu_unit));
    return hash;
}

/* An OTLP request may contain a profiler's CPU times twice: as sample counts, which the server's
 * rules convert to times, and as times. As in correlation, a profile repeats one of another type if
 * its window and the CPU times of its spans are the same; threads may have equal ones of a type. */
static bool repeats_times(struct times_seen *seen, const struct series *series,
                          const struct pprof *pprof, const struct columns *columns)
{
    const size_t most = sizeof seen->of / sizeof *seen->of;
    size_t own = 0, others = 0;
    if (columns->cpu < 0)
        return false;
    uint64_t hash = times_hash(series, pprof, columns);
    uint64_t type = view_hash(series_get(series, VIEW("__name__")));
    for (size_t i = 0; i < seen->count && i < most; i++) {
        own += seen->of[i].hash == hash && seen->of[i].type == type;
        others += seen->of[i].hash == hash && seen->of[i].type != type;
    }
    seen->of[seen->count % most].hash = hash;
    seen->of[seen->count++ % most].type = type;
    return others > own;
}

/* seen, series: of the OTLP request that it is of; NULL: of none. */
static void samples_add_pprof(struct span_profiles *profiles, struct view service, struct view raw,
                              struct times_seen *seen, const struct series *series)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct pprof_stacks stacks;
    struct pprof_sample sample;
    samples_arena_init(&arena, profiles);
    if (pprof_open(&pprof, raw, &arena, &fault) && pprof_stacks_open(&stacks, &pprof, &arena)) {
        struct columns columns = {.count = pprof_count_of(&pprof), .service = service};
        columns.cpu = pprof_time_column(&pprof, VIEW("cpu"), &columns.cpu_unit);
        columns.wall = pprof_time_column(&pprof, VIEW("wall"), &columns.wall_unit);
        struct proto_scan scan = pprof_samples(&pprof);
        if (pprof.time_nanos > 0 && pprof.duration_nanos > 0)
            span_profiles_cover(profiles, service, (uint64_t)pprof.time_nanos,
                                (uint64_t)pprof.time_nanos + (uint64_t)pprof.duration_nanos);
        bool repeats = seen && repeats_times(seen, series, &pprof, &columns);
        while (!repeats && pprof_next_sample(&pprof, &scan, &sample))
            add_sample(profiles, &stacks, &columns, &sample);
    }
    arena_release(&arena);
}

void span_profiles_add(struct span_profiles *profiles, struct view service, struct view raw)
{
    samples_add_pprof(profiles, service, raw, NULL, NULL);
}

/* ---- OTLP ---- */

void span_profiles_add_otlp(struct span_profiles *profiles, struct view request)
{
    const struct profiles_policy policy = {0};
    struct profiles_to_pprof conversion;
    struct profiles_part part;
    struct arena arena;
    struct bytes pprof;
    const char *reason;
    struct times_seen seen = {.count = 0};
    samples_arena_init(&arena, profiles);
    bytes_init(&pprof, INDEX_CAP, span_profiles_budget(profiles));
    bool good = profiles_to_pprof_begin(&conversion, request, &policy, &arena, &reason);
    while (good) {
        if (profiles_to_pprof_next(&conversion, &part, &pprof, &reason)) {
            samples_add_pprof(profiles, series_get(part.series, VIEW("service_name")),
                              bytes_view(&pprof), &seen, part.series);
            series_unref(part.series);
        } else if (!reason) {
            break;
        }
    }
    bytes_release(&pprof);
    arena_release(&arena);
}

/* ---- JFR ---- */

/* A JFR upload, with room for the names of one stack. */
struct reading_jfr {
    struct jfr_parts parts;
    struct jfr jfr;
    struct jfr_stacks stacks;
    struct jfr_labels labels;
    uint64_t period; /* ns that a sample represents */
    struct jfr_stack_frame frames[STACK_DEPTH];
    char names[STACK_DEPTH][2 * FUNCTION_NAME_SIZE];
    struct span_stack stack;
};

static uint64_t period_of(const char *query)
{
    char text[32];
    long rate = 0;
    if (http_query_get(query, "sampleRate", text, sizeof text))
        rate = strtol(text, NULL, 10);
    return NS_PER_S / (uint64_t)(rate > 0 && rate <= MAX_RATE ? rate : DEFAULT_RATE);
}

/* The span id from the labels of an event's context, else the event's own, as in correlation. */
static uint64_t event_id(const struct jfr_labels *labels, const struct jfr_event *event)
{
    static const char *const names[] = {"span_id", "profile_id"};
    for (size_t i = 0; event->context && i < 2; i++) {
        uint64_t id;
        struct view hex = jfr_labels_of_context(labels, event->context, view_of(names[i]));
        if (hex.data && span_id_parse(hex, &id))
            return id;
    }
    return event->span_id;
}

static void add_event(struct span_profiles *profiles, struct reading_jfr *reading,
                      const struct jfr_event *event)
{
    struct span_stack *stack = &reading->stack;
    if (!event->has_stack || !event->samples || (!event->counts_cpu && !event->counts_wall) ||
        !(stack->id = event_id(&reading->labels, event)))
        return;
    stack->samples = event->counts_cpu ? event->samples : 0;
    stack->wall_samples = event->counts_cpu ? 0 : event->samples;
    stack->cpu_ns = event->counts_cpu ? event->samples * reading->period : 0;
    stack->wall_ns = event->counts_wall ? event->samples * reading->period : 0;
    stack->times_cpu = event->counts_cpu;
    stack->count = jfr_stacks_read(&reading->stacks, event, reading->frames, STACK_DEPTH);
    for (size_t i = 0; i < stack->count; i++) {
        const struct jfr_stack_frame *frame = &reading->frames[i];
        snprintf(reading->names[i], sizeof reading->names[i], "%.*s%s%.*s", VIEW_ARG(frame->class),
                 frame->class.size ? "." : "", VIEW_ARG(frame->method));
        stack->names[i] = view_of(reading->names[i]);
    }
    span_profiles_count(profiles, stack);
}

static void add_recording(struct span_profiles *profiles, struct reading_jfr *reading,
                          struct arena *arena)
{
    struct jfr_event event;
    struct jfr_fault fault;
    struct proto_fault labels_fault;
    if (!jfr_open(&reading->jfr, reading->parts.jfr, arena, &fault) ||
        !jfr_stacks_open(&reading->stacks, &reading->jfr, arena) ||
        !jfr_labels_open(&reading->labels, reading->parts.labels, arena, &labels_fault))
        return;
    const struct jfr *jfr = &reading->jfr;
    if (jfr->start_nanos > 0 && jfr->end_nanos > 0)
        span_profiles_cover(profiles, reading->stack.service, (uint64_t)jfr->start_nanos,
                            (uint64_t)jfr->end_nanos);
    struct jfr_scan scan = jfr_scan_begin(&reading->jfr);
    while (jfr_next_event(&reading->jfr, &scan, &event))
        add_event(profiles, reading, &event);
}

void span_profiles_add_ingest(struct span_profiles *profiles, struct view service,
                              const char *query, const char *content_type, struct view body)
{
    char format[16] = "";
    struct arena arena;
    if (!query || !http_query_get(query, "format", format, sizeof format) ||
        strcmp(format, "jfr") != 0)
        return; /* the text formats have no span ids */
    samples_arena_init(&arena, profiles);
    struct reading_jfr *reading = arena_alloc(&arena, sizeof *reading);
    if (reading) {
        reading->period = period_of(query);
        reading->stack.service = service;
        if (jfr_parts_open(&reading->parts, content_type, body, span_profiles_budget(profiles)))
            add_recording(profiles, reading, &arena);
        jfr_parts_release(&reading->parts);
    }
    arena_release(&arena);
}
