/*
 * Random worlds: processes of one service with equal labels, their windows, idle gaps, late
 * uploads, restarts and exports.
 */
#ifndef TESTS_PROCESSORS_CORRELATION_WORLD_H
#define TESTS_PROCESSORS_CORRELATION_WORLD_H

#include "tests/processors/correlation/rig.h"

enum { WORLD_SEEDS = 30, MAX_PROCESSES = 5, SAMPLES = 3 };

struct sim_span {
    struct rig_span span;
    char attribute[17];
    unsigned process;
    uint64_t samples[SAMPLES]; /* when it was sampled, after RIG_START; 0: not */
    bool uploaded;             /* a sample arrived in time */
    bool late; /* a sample arrived later than the rules allow, or it cannot be known */
};

struct sim_event {
    uint64_t at;
    bool is_upload;
    unsigned process;
    uint64_t from, until; /* spans that ended, or the window */
};

struct world {
    struct rig rig;
    uint64_t random;
    uint64_t window;   /* as configured in the SDK */
    bool go;           /* windows of 15 or 30 s */
    bool marks;        /* the SDK sets the attribute at span start */
    bool all_spans;    /* children have samples of their own, and marks */
    uint64_t at_least; /* length, set before it is drawn; 0: any */
    uint64_t length;
    unsigned processes;
    struct sim_span *spans;
    size_t span_count;
    struct sim_event *events;
    size_t event_count;
};

static inline uint64_t draw(struct world *world, uint64_t below)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random % below;
}

static inline bool chance(struct world *world, unsigned percent)
{
    return draw(world, 100) < percent;
}

static inline void add_event(struct world *world, struct sim_event event)
{
    world->events = realloc(world->events, (world->event_count + 1) * sizeof *world->events);
    world->events[world->event_count++] = event;
}

static inline void add_span(struct world *world, unsigned process, uint64_t start, uint64_t end,
                            uint64_t parent, bool busy)
{
    world->spans = realloc(world->spans, (world->span_count + 1) * sizeof *world->spans);
    struct sim_span *span = &world->spans[world->span_count++];
    bool candidate = !parent || world->all_spans;
    memset(span, 0, sizeof *span);
    span->span = (struct rig_span){
        .id = UINT64_C(0x1000000000000000) + world->span_count,
        .parent = parent,
        .start = start,
        .end = end,
    };
    span->process = process;
    for (size_t i = 0; candidate && busy && i < SAMPLES && chance(world, 40); i++)
        span->samples[i] = start + draw(world, end - start);
    if (world->marks && candidate)
        span_id_format(span->span.id, span->attribute);
}

/* Load alternates: busy periods have samples, idle ones have at most spans. */
static inline void draw_load(struct world *world, unsigned process, uint64_t from, uint64_t until)
{
    uint64_t at = from + 1;
    bool busy = true;
    while (at < until) {
        /* The first windows are busy: a service without uploads is not profiled. */
        uint64_t spell = (busy ? 10 + draw(world, 40) : draw(world, 90)) * S;
        uint64_t end = at + spell < until ? at + spell : until;
        while (at < end) {
            uint64_t length = chance(world, 10) ? S + draw(world, 40 * S) : 1 + draw(world, S);
            if (at + length >= until)
                break;
            add_span(world, process, at, at + length, 0, busy);
            uint64_t root = world->spans[world->span_count - 1].span.id;
            if (chance(world, 50))
                add_span(world, process, at, at + length, root, busy);
            at += draw(world, 2 * S) + 1;
        }
        at = end;
        busy = at < 40 * S || chance(world, 50);
    }
}

static inline uint64_t window_length(struct world *world)
{
    if (world->go)
        return (chance(world, 30) ? 15 * S : 30 * S) - draw(world, S / 5);
    return world->window;
}

/* How late after the end of its window rule 2 allows an upload. */
static inline uint64_t allowed(const struct world *world)
{
    uint64_t window = world->go ? 30 * S : world->window;
    return window / 4 > 2 * S ? window / 4 : 2 * S;
}

/* The windows of a process from its start to its end, one after the other. */
static inline void draw_windows(struct world *world, unsigned process, uint64_t from,
                                uint64_t until, bool crashes)
{
    while (from < until) {
        uint64_t end = from + window_length(world);
        if (end > until && crashes)
            return;
        if (end > until)
            end = until;
        uint64_t delay = draw(world, allowed(world) * 9 / 10);
        if (from > 60 * S && chance(world, 3))
            delay = allowed(world) + draw(world, 60 * S);
        add_event(world, (struct sim_event){end + delay, true, process, from, end});
        from = end;
    }
}

static inline void draw_exports(struct world *world, unsigned process, uint64_t until)
{
    for (uint64_t at = 0; at < until + 5 * S; at += 5 * S)
        add_event(world,
                  (struct sim_event){at + 5 * S + draw(world, S), false, process, at, at + 5 * S});
}

/* A process, restarted now and then: its last window is flushed, or lost with its samples. */
static inline void draw_process(struct world *world, unsigned process)
{
    uint64_t from = process == 0 ? 0 : draw(world, 20 * S);
    while (from < world->length) {
        uint64_t until = world->length;
        if (chance(world, 60))
            until = from + 150 * S + draw(world, 100 * S);
        if (until > world->length)
            until = world->length;
        draw_load(world, process, from, until);
        draw_windows(world, process, from, until, chance(world, 50));
        from = until + S + draw(world, 30 * S);
    }
    draw_exports(world, process, world->length);
}

static inline int by_time(const void *a, const void *b)
{
    const struct sim_event *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static inline void draw_world(struct world *world, unsigned seed)
{
    static const uint64_t windows[] = {10, 10, 15, 20, 30, 60};
    *world = (struct world){.at_least = world->at_least};
    world->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    world->window = windows[draw(world, 6)] * S;
    world->go = chance(world, 30);
    world->marks = chance(world, 60);
    world->all_spans = world->marks && chance(world, 40);
    world->length = (300 + draw(world, 300)) * S;
    if (world->at_least > world->length)
        world->length = world->at_least;
    world->processes = 1 + (unsigned)draw(world, MAX_PROCESSES);
    for (unsigned i = 0; i < world->processes; i++)
        draw_process(world, i);
    qsort(world->events, world->event_count, sizeof *world->events, by_time);
}

/* The ids in a process's window, and their effect on its spans. */
static inline size_t collect_window(struct world *world, const struct sim_event *event,
                                    uint64_t *ids)
{
    bool in_time = event->at < event->until + allowed(world);
    size_t count = 0;
    for (size_t i = 0; i < world->span_count; i++) {
        struct sim_span *span = &world->spans[i];
        for (size_t k = 0; span->process == event->process && k < SAMPLES; k++) {
            if (span->samples[k] <= event->from || span->samples[k] > event->until)
                continue;
            ids[count++] = span->span.id;
            *(in_time ? &span->uploaded : &span->late) = true;
        }
    }
    return count;
}

/* Few spans are near an event, so arrays for all of them would be mostly empty. */
static inline size_t count_near(const struct world *world, const struct sim_event *event)
{
    size_t count = 0;
    for (size_t i = 0; i < world->span_count; i++) {
        const struct rig_span *span = &world->spans[i].span;
        count += world->spans[i].process == event->process && span->end > event->from &&
                 span->start <= event->until;
    }
    return count;
}

/* NULL: an idle process sends nothing at all. */
static inline struct batch *upload_of(struct world *world, const struct sim_event *event)
{
    uint64_t *ids = calloc(count_near(world, event) * SAMPLES + 1, sizeof *ids);
    size_t count = collect_window(world, event, ids);
    const char *const frames[] = {"work", "main", NULL};
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_time(build, (int64_t)(RIG_START + event->from),
                     (int64_t)(event->until - event->from));
    for (size_t i = 0; i < count; i++) {
        char hex[17] = "";
        span_id_format(ids[i], hex);
        pprof_build_sample(build, (const int64_t[]){10000000}, frames);
        pprof_build_label(build, "span_id", hex);
    }
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    free(ids);
    struct batch *batch =
        batch_new(SIGNAL_PROFILES, BATCH_PPROF, rig_buffer(&world->rig, &raw), 1, NULL);
    const struct series_label labels[] = {
        {VIEW("__name__"), VIEW("process_cpu")},
        {VIEW("service_name"), VIEW("shop")},
        {VIEW("otel.scope.name"),
         world->go ? VIEW("com.grafana.pyroscope/go") : VIEW("com.grafana.pyroscope/python")},
    };
    batch_set_series(batch, series_new(labels, 3));
    if (count > 0)
        return batch;
    batch_unref(batch);
    return NULL;
}

/* NULL: no span ended. */
static inline struct batch *export_of(struct world *world, const struct sim_event *event)
{
    struct rig_span *spans = calloc(count_near(world, event) + 1, sizeof *spans);
    struct batch *batch = NULL;
    size_t count = 0;
    for (size_t i = 0; i < world->span_count; i++) {
        struct sim_span *span = &world->spans[i];
        if (span->process != event->process || span->span.end <= event->from ||
            span->span.end > event->until)
            continue;
        if (*span->attribute)
            span->span.attributes[0] = span->attribute;
        spans[count++] = span->span;
    }
    if (count > 0) {
        struct bytes request = rig_request(spans, count);
        batch = batch_new(SIGNAL_TRACES, BATCH_OTLP, rig_buffer(&world->rig, &request),
                          (uint32_t)count, NULL);
    }
    free(spans);
    return batch;
}

/* What is sent at the event; NULL: nothing. */
static inline struct batch *batch_of(struct world *world, const struct sim_event *event)
{
    return event->is_upload ? upload_of(world, event) : export_of(world, event);
}

static inline struct outlet *outlet_of(struct world *world, const struct batch *batch)
{
    return batch->signal == SIGNAL_TRACES ? &world->rig.traces.outlet : &world->rig.profiles.outlet;
}

/* Plays it live, by the wall clock. */
static inline void play(struct world *world)
{
    for (size_t i = 0; i < world->event_count; i++) {
        rig_until(&world->rig, world->events[i].at);
        struct batch *batch = batch_of(world, &world->events[i]);
        CHECK_OFTEN(!batch || processor_correlation.consume(world->rig.self, batch,
                                                            outlet_of(world, batch)) == VERDICT_OK,
                    "event %zu was refused", i);
        batch_unref(batch);
        collecting_sink_clear(&world->rig.profiles);
        rig_collect(&world->rig);
    }
    rig_advance(&world->rig, 200 * S);
}

struct score {
    size_t spans, linked, sampled, undecidable;
};

static inline void check(struct world *world, unsigned seed, struct score *score)
{
    rig_collect(&world->rig);
    ck_assert_uint_eq(world->rig.count, world->span_count);
    const struct rig_out **outs = calloc(world->span_count, sizeof(struct rig_out *));
    for (size_t i = 0; i < world->rig.count; i++) {
        size_t n = (size_t)(world->rig.out[i].id & 0xffffffff) - 1;
        CHECK_OFTEN(!outs[n], "seed %u: span %zu left twice", seed, n);
        outs[n] = &world->rig.out[i];
    }
    for (size_t i = 0; i < world->span_count; i++) {
        const struct sim_span *span = &world->spans[i];
        bool linked = outs[i]->attributes == 1 && outs[i]->link == span->span.id;
        CHECK_OFTEN(linked || outs[i]->attributes == 0, "seed %u: span %zu", seed, i);
        score->spans++;
        score->undecidable += !span->uploaded && span->late;
        if (!span->uploaded && span->late)
            continue;
        score->linked += linked;
        score->sampled += span->uploaded;
        CHECK_OFTEN(linked == span->uploaded,
                    "seed %u: span %zu, %.3f to %.3f s, is %s, left at %.3f s", seed, i,
                    (double)span->span.start / (double)S, (double)span->span.end / (double)S,
                    linked ? "linked without samples" : "not linked for all its samples",
                    (double)outs[i]->left / (double)S);
    }
    free(outs);
}

/* Windows of a minute are longer than the hold of a service that is not known yet. */
static inline const char *world_settings(const struct world *world)
{
    return world->window == 60 * S && !world->go ? "{hold: 100s}" : "{}";
}

static inline void world_free(struct world *world)
{
    free(world->spans);
    free(world->events);
}

#endif
