/* What is kept for a trace that is not complete yet (exporters/debug/kept.h). */
#include "exporters/debug/kept.h"

#include "lib/base/shown.h"
#include "lib/wire/otlp/otlp.h"

#include <stdlib.h>

enum { MAX_TRACES = 2000, MAX_SPANS = 20000, MAX_TRACE_SPANS = 1000 };

/* A trace is shown when no span of it has arrived for this long. Spans that wait for profiles
 * arrive after their children, and each service's at another time, so a trace without its root or
 * the parent of a span waits longer. */
static const uint64_t quiet_ns = NS_PER_S, incomplete_ns = 60 * NS_PER_S;

static void kept_show(struct kept_traces *traces, struct kept_trace **link,
                      const struct span_profiles *profiles, bool ends, struct bytes *out)
{
    struct kept_trace *trace = *link;
    *link = trace->next;
    if (trace->count)
        tree_write(trace, profiles, ends, out);
    memcpy(traces->shown[traces->shown_count++ % SHOWN_TRACES], trace->id, sizeof trace->id);
    traces->span_count -= trace->count;
    traces->trace_count--;
    free(trace->spans);
    free(trace);
}

static void show_last(struct kept_traces *traces, const struct span_profiles *profiles,
                      struct bytes *out)
{
    struct kept_trace **link = &traces->first;
    while ((*link)->next)
        link = &(*link)->next;
    kept_show(traces, link, profiles, false, out);
}

/* Finds or creates the trace of an id and moves it to the front. NULL: no memory. */
static struct kept_trace *find_trace(struct kept_traces *traces, const uint8_t id[16])
{
    struct kept_trace **link = &traces->first;
    while (*link && memcmp((*link)->id, id, 16) != 0)
        link = &(*link)->next;
    struct kept_trace *trace = *link;
    if (trace) {
        *link = trace->next;
    } else if ((trace = calloc(1, sizeof *trace))) {
        memcpy(trace->id, id, 16);
        traces->trace_count++;
    }
    if (trace) {
        trace->next = traces->first;
        traces->first = trace;
    }
    return trace;
}

static struct kept_span *new_span(struct kept_traces *traces, struct kept_trace *trace)
{
    if (trace->count == trace->capacity && trace->count < MAX_TRACE_SPANS) {
        size_t capacity = trace->capacity ? trace->capacity * 2 : 8;
        struct kept_span *spans = realloc(trace->spans, capacity * sizeof *spans);
        if (spans) {
            trace->spans = spans;
            trace->capacity = capacity;
        }
    }
    if (trace->count == trace->capacity || trace->count == MAX_TRACE_SPANS) {
        trace->omitted++;
        return NULL;
    }
    traces->span_count++;
    return &trace->spans[trace->count++];
}

static uint64_t kept_id_of(struct view bytes)
{
    return bytes.size == 8 ? span_id_load(bytes.data) : 0;
}

static void keep_span(struct kept_traces *traces, const struct otlp_span *span, struct view service,
                      uint64_t now)
{
    struct kept_trace *trace =
        span->trace_id.size == 16 ? find_trace(traces, span->trace_id.data) : NULL;
    struct kept_span *kept = trace ? new_span(traces, trace) : NULL;
    if (trace)
        trace->last_seen = now;
    if (!kept)
        return;
    *kept = (struct kept_span){.id = kept_id_of(span->span_id),
                               .parent = kept_id_of(span->parent_span_id),
                               .start_ns = span->start_ns,
                               .end_ns = span->end_ns};
    if (span->profile_id.data)
        span_id_parse(span->profile_id, &kept->profile);
    shown_copy(span->name, kept->name, sizeof kept->name);
    shown_copy(service, kept->service, sizeof kept->service);
}

void kept_traces_add(struct kept_traces *traces, struct view request, uint64_t now,
                     const struct span_profiles *profiles, struct bytes *out)
{
    struct otlp_walk walk;
    struct otlp_span span;
    struct view service = {0};
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step == OTLP_RESOURCE)
            service = otlp_resource_attribute(walk.resource_entry.bytes, VIEW("service.name"));
        if (step != OTLP_ITEM)
            continue;
        otlp_span_read(walk.item.bytes, &span);
        keep_span(traces, &span, service, now);
        while (traces->trace_count > MAX_TRACES || traces->span_count > MAX_SPANS)
            show_last(traces, profiles, out);
    }
}

static bool was_shown(const struct kept_traces *traces, const struct kept_trace *trace)
{
    for (size_t i = 0; i < traces->shown_count && i < SHOWN_TRACES; i++)
        if (memcmp(traces->shown[i], trace->id, sizeof trace->id) == 0)
            return true;
    return false;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Whether the root and the parents of all spans are there. */
static bool has_parents(const struct kept_trace *trace)
{
    uint64_t ids[MAX_TRACE_SPANS];
    bool root = false, parents = true;
    for (size_t i = 0; i < trace->count; i++)
        ids[i] = trace->spans[i].id;
    qsort(ids, trace->count, sizeof *ids, by_id);
    for (size_t i = 0; i < trace->count && parents; i++) {
        uint64_t parent = trace->spans[i].parent;
        root |= !parent;
        parents = !parent || bsearch(&parent, ids, trace->count, sizeof *ids, by_id);
    }
    return root && parents;
}

/* Parts of a trace that was shown before have no root to wait for, and of a trace that is too large
 * to be kept it cannot be told. */
static bool is_complete(const struct kept_traces *traces, struct kept_trace *trace)
{
    if (trace->judged != trace->count || !trace->count) {
        trace->judged = trace->count;
        trace->complete = was_shown(traces, trace) || has_parents(trace);
    }
    return trace->complete || trace->omitted;
}

/* When the profiles that cover the ends of its spans should have come: with an upload a span is
 * decided, and the rest of its samples come with the next. 0: they have. */
static uint64_t grown_at(const struct kept_trace *trace, const struct span_profiles *profiles)
{
    uint64_t last = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct span_profile *profile = kept_profile_of(&trace->spans[i], profiles);
        uint64_t due = 0;
        if (span_profiles_may_grow(profiles, profile, trace->spans[i].end_ns, &due) && due > last)
            last = due;
    }
    return last;
}

uint64_t kept_traces_show(struct kept_traces *traces, uint64_t now,
                          const struct span_profiles *profiles, struct bytes *out)
{
    uint64_t next = TIME_NEVER;
    struct kept_trace **link = &traces->first;
    while (*link) {
        uint64_t due = (*link)->last_seen + (is_complete(traces, *link) ? quiet_ns : incomplete_ns);
        uint64_t grown = due <= now && now != TIME_NEVER ? grown_at(*link, profiles) : 0;
        due = grown > due ? grown : due;
        if (due <= now) {
            kept_show(traces, link, profiles, now == TIME_NEVER, out);
        } else {
            next = due < next ? due : next;
            link = &(*link)->next;
        }
    }
    return next;
}
