/*
 * CPU time, wall time and samples of spans: of those that are remembered, and of those whose
 * numbers are kept beside their traces since they were forgotten (known_note_gone). `looking` is
 * held.
 */
#ifndef EXTENSIONS_STATUS_FIGURES_H
#define EXTENSIONS_STATUS_FIGURES_H

#include "extensions/status/status.h"

/* The kept numbers of forgotten spans, by id. */
struct figures {
    struct known_figures *rows; /* NULL: none */
    size_t count, capacity;
    uint64_t lost;     /* wall: of spans that began earlier, some numbers are not known */
    uint64_t reloaded; /* wall: samples that came earlier are not known; 0: all are */
};

/* Collects those of a trace (the last eight bytes of its id), or, where that is 0, of a span or
 * link id. Release them afterwards. */
void figures_collect(struct status *self, uint64_t trace, uint64_t id, struct figures *out);
void figures_release(struct figures *figures);

/* Calls visit for all that are kept. */
typedef void figures_visit_fn(void *ctx, const struct known_figures *each);
void figures_walk(struct status *self, figures_visit_fn *visit, void *ctx);

/* When numbers were last lost, since more spans came than are remembered, or since they have given
 * way to newer data; wall. 0: none were. Takes the watch's lock. */
uint64_t figures_lost(struct status *self);

/* The numbers of a span, as they are reported. */
struct span_figures_told {
    uint64_t samples, cpu_ns, wall_ns;
    bool times_cpu; /* cpu_ns is a measurement */
    bool unknown;   /* nothing is known of its samples, and it may have some */
};

/* A span that is asked about. */
struct figures_asked {
    uint64_t id;         /* that its samples have */
    uint64_t start, end; /* its own */
    struct view service;
    bool samples; /* it has samples, or may: it is linked, or a local root */
};

/* Those of a span. span: what is remembered; NULL: nothing. Under the watch's lock. */
struct span_figures_told figures_of(const struct known *known, const struct figures *figures,
                                    const struct known_span *span,
                                    const struct figures_asked *asked);

#define FIGURES_UNKNOWN                                                                            \
    "Its samples and CPU time are not remembered, since more than 2,000 spans and samples came a " \
    "second, since they have given way to newer data, or since a reload changed the extension."

#endif
