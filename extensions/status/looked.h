/*
 * A table of the kept traces. Each request to the API adds the blocks received since the last one;
 * the table is freed when requests stop. Guarded by `looking`.
 */
#ifndef EXTENSIONS_STATUS_LOOKED_H
#define EXTENSIONS_STATUS_LOOKED_H

#include "extensions/status/status.h"
#include "extensions/status/trace_services.h"
#include "lib/wire/otlp/otlp.h"

enum { LOOKED_TRACES = 1 << 16, TRACE_NAMES = 12 };

/* There are tens of thousands: small. */
struct looked_trace {
    uint8_t id[16];
    uint64_t root, start, end;     /* of the root, or of the span that is most likely one */
    uint64_t first;                /* serials of the first block that has its spans, ... */
    uint64_t newest[KEPT_CLASSES]; /* ... and of the last of each class; 0: none */
    uint64_t cpu_ns, wall_ns;      /* filled by looked_figures */
    uint32_t samples;
    uint32_t spans, linked;
    uint32_t next;               /* in its bucket, number + 1 */
    uint32_t services;           /* a list of looked->services */
    uint16_t name, service;      /* of the root */
    uint16_t names[TRACE_NAMES]; /* of its spans, the first that came; 0: none */
    uint8_t owing, counted; /* spans linked by samples of their own; filled by looked_figures: spans
                               with samples; up to 255 */
    uint8_t rank;           /* of its root: 0 any span, 1 a local root, 2 one without a parent */
    bool root_linked;
    bool services_cut; /* it has further services */
    bool failed;       /* the status of a span is an error */
    bool times_cpu;    /* cpu_ns is a measurement; filled by looked_figures */
    bool skipped;      /* linked spans of it may not have been kept; likewise */
};

struct looked {
    struct budget *budget;
    size_t charged;
    struct names names; /* up to LOOKED_TRACES, so that a number has 16 bits */
    struct trace_services services;
    struct looked_trace *traces; /* a ring */
    uint32_t *buckets;
    uint32_t capacity, newest, count;
    uint64_t *seen; /* of copies.h; NULL: no memory */
    struct {
        uint64_t serial; /* of the newest block that was read, ... */
        size_t offset;   /* ... and how far */
        uint64_t oldest; /* serial of the oldest kept block */
    } of[KEPT_CLASSES];
};

/* Adds new blocks to the table, and creates it if needed. NULL: no memory. */
struct looked *looked_update(struct status *self);

/* Sets cpu_ns, wall_ns, samples, times_cpu, counted and skipped of all. */
void looked_figures(struct status *self, struct looked *looked);

/* What began so much earlier than the extension was opened is old data that came after that. */
#define LOOKED_EARLIER (3600 * NS_PER_S)

/* Whether a part of what began then (wall, ns; 0: not known) may have passed before the extension
 * was opened: before a reload, or in an earlier process, of which the journal is read. */
static inline bool looked_opened_amid(const struct status *self, uint64_t began)
{
    bool earlier = atomic_load_explicit(&self->known.recalled, memory_order_relaxed);
    return began && began < self->opened &&
           (self->reloaded || (earlier && self->opened - began < LOOKED_EARLIER));
}

/* Whatever passed later is kept, or was never taken; wall, ns. */
static inline uint64_t looked_whole_since(struct status *self)
{
    uint64_t since = keep_reach(&self->keep).whole_since;
    return since > self->reloaded ? since : self->reloaded;
}

/* From the end of a span to when it passes, at most: its export, and the hold. */
#define PASSES_WITHIN (90 * NS_PER_S)

/* Whether numbers of its spans, or spans with numbers, are missing. lost: figures_lost. */
static inline bool looked_unsure(const struct status *self, const struct looked_trace *trace,
                                 uint64_t lost)
{
    return looked_opened_amid(self, trace->start) ||
           (trace->start <= lost && (trace->counted < trace->owing || !trace->counted)) ||
           trace->skipped;
}

/* NULL: not kept. */
struct looked_trace *looked_find(const struct looked *looked, const uint8_t id[16]);

/* Whether spans of it are kept. */
static inline bool looked_live(const struct looked *looked, const struct looked_trace *trace)
{
    for (int class = 0; class < KEPT_CLASSES; class ++)
        if (trace->newest[class] >= looked->of[class].oldest)
            return true;
    return false;
}

/* The serial of the last block that has its spans. */
static inline uint64_t looked_last(const struct looked_trace *trace)
{
    uint64_t last = 0;
    for (int class = 0; class < KEPT_CLASSES; class ++)
        last = trace->newest[class] > last ? trace->newest[class] : last;
    return last;
}

/* Calls visit for every span of the blocks first to last, until it returns false. */
struct looked_span {
    struct otlp_span span;
    struct view resource; /* ResourceSpans */
    struct view service;
    uint64_t arrived; /* wall; that or later */
};
typedef bool looked_visit_fn(void *ctx, const struct looked_span *span);
void looked_walk(struct status *self, uint64_t first, uint64_t last, looked_visit_fn *visit,
                 void *ctx);

/* The last eight bytes of the id of its trace; 0: not known. */
static inline uint64_t looked_low(const struct otlp_span *span)
{
    return span->trace_id.size == 16 ? span_id_load(span->trace_id.data + 8) : 0;
}

/* The trace of a kept span. False: no kept span has the id. */
bool looked_trace_of(struct status *self, uint64_t span_id, uint8_t trace_id[16]);

#endif
