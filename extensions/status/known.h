/*
 * Joins traces and profiles: the latest decisions about spans, their samples, and totals by service
 * and route (service and span name). Bounded; anything beyond the limits counts as "(others)".
 * Guarded by the watch's lock.
 */
#ifndef EXTENSIONS_STATUS_KNOWN_H
#define EXTENSIONS_STATUS_KNOWN_H

#include "extensions/status/names.h"
#include "pipeline/watch.h"

enum {
    KNOWN_SPANS = 40000,
    KNOWN_SERVICES = 256,
    KNOWN_ROUTES = 512,
    KNOWN_WINDOWS = 1024,
    KNOWN_REASONS = 16,
    KNOWN_HISTORY = 40, /* steps of a service's history */
    KNOWN_SERIES = 80,  /* steps of a route's */
    KNOWN_METERED = 100 /* routes that the metrics page has */
};
#define KNOWN_HISTORY_STEP (30 * NS_PER_S)
#define KNOWN_SERIES_STEP  (15 * NS_PER_S)

/* The decision about a span, and the samples with its id. */
struct known_span {
    uint64_t id;
    uint64_t link;    /* whose samples it opens; 0: none */
    uint64_t trace;   /* last eight bytes of its trace id; 0: not seen */
    uint64_t decided; /* wall; 0: no decision came */
    uint64_t cpu_ns;
    uint64_t owed; /* of cpu_ns, what no route has yet */
    uint32_t samples;
    uint32_t owed_samples;
    uint32_t waited_ms;                 /* from its end to the decision */
    uint32_t owed_at;                   /* wall, s */
    uint32_t first_window, last_window; /* serials of those with its samples; 0: none */
    uint32_t next;                      /* in its bucket, number + 1 */
    uint16_t service, route;            /* route 0: not known */
    uint8_t action;                     /* enum watch_action; WAITING: no decision came */
    uint8_t reason;                     /* of known->reasons */
    bool dealt;                         /* its route counted it */
};

struct known_service {
    uint64_t key;
    uint32_t name;
    bool has_spans, has_profiles;
    uint64_t linked, not_linked, samples, cpu_ns;
    uint64_t reasons[KNOWN_REASONS];
    uint64_t step; /* the newest of the history, in steps since 1970 */
    struct known_step {
        uint32_t linked, reasons[KNOWN_REASONS];
    } history[KNOWN_HISTORY]; /* by step modulo its length */
};

struct known_route {
    uint16_t service;
    uint16_t next; /* in its bucket, number + 1 */
    uint32_t name;
    uint64_t spans, linked, samples, cpu_ns;
    bool metered;
    uint64_t metered_from; /* cpu_ns when the metrics page began to have it */
    uint64_t step;
    float series[KNOWN_SERIES]; /* cpu_ns by step modulo its length */
};

struct known_window {
    uint32_t serial; /* from 1 */
    uint16_t service;
    const char *kind;
    uint64_t start, end, arrived;
};

struct known {
    struct budget *budget;
    size_t charged;
    struct names names;
    struct known_tables *tables; /* what spans, buckets and routes point into */
    struct known_span *spans;    /* a ring */
    _Atomic uint32_t *buckets;   /* read without the lock by known_may_have */
    uint32_t newest;             /* the next to be written */
    uint32_t span_count;
    struct known_service *services[KNOWN_SERVICES]; /* 0: all that there is no room for */
    size_t service_count;
    struct known_route *routes; /* 0: the same */
    uint16_t route_buckets[KNOWN_ROUTES * 2];
    size_t route_count, metered_count;
    uint64_t metered_others; /* cpu_ns of routes while the metrics page does not have them */
    struct known_window windows[KNOWN_WINDOWS];
    uint32_t window_serial;
    const struct watch_reason *reasons[KNOWN_REASONS];
    size_t reason_count;
    uint64_t tokens, tokens_at; /* rows that may yet be looked up in detail; wall */
    uint64_t passed_over;       /* decisions and samples beyond that */
};

/* False: no memory. */
bool known_init(struct known *known, struct budget *budget);
void known_release(struct known *known);

void known_decided(struct known *known, const struct watch_decision *decision);
void known_window_came(struct known *known, const struct watch_window *window);
void known_sampled(struct known *known, const struct watch_window *window,
                   const struct watch_sample *samples, size_t count);

/* A span as it passed: its route is joined with its samples. link: the id that its link opens; 0:
 * none. now: wall. */
struct known_seen {
    uint64_t id, link, trace;
    struct view service, name;
};
void known_seen(struct known *known, const struct known_seen *seen, uint64_t now);

/* Samples whose span has not passed for two minutes count under NAME_OTHERS. now: wall. */
void known_settle(struct known *known, uint64_t now);

/* NULL: not known, or forgotten. */
struct known_span *known_find(const struct known *known, uint64_t id);

/* False: the id is not known; true: it may be. Any thread, without the lock. */
bool known_may_have(const struct known *known, uint64_t id);

/* The n-th span, of known->span_count. */
static inline struct known_span *known_at(const struct known *known, uint32_t n)
{
    return &known->spans[n];
}

/* CPU time of a route in the step of a wall time / step; 0: none, or too long ago. */
double known_route_cpu(const struct known_route *route, uint64_t step);

/* The step of a service's history; NULL: nothing is kept of it. */
const struct known_step *known_service_step(const struct known_service *service, uint64_t step);

#endif
