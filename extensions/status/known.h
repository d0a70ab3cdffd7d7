/*
 * Joins traces and profiles: the latest decisions about spans, their samples, and totals by service
 * and route (service and span name). Bounded: what costs least gives way, and counts as "(others)".
 * Guarded by the watch's lock.
 */
#ifndef EXTENSIONS_STATUS_KNOWN_H
#define EXTENSIONS_STATUS_KNOWN_H

#include "extensions/status/clocks.h"
#include "extensions/status/known_rows.h"
#include "extensions/status/names.h"
#include "pipeline/watch.h"

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
    size_t service_count, service_last;             /* service_last: the one found last */
    bool has_tenants;                               /* some service is of one */
    uint64_t service_turns, service_turned;         /* services that may give way now; wall */
    struct known_route *routes; /* the first KNOWN_UNNAMED are of each service, see there */
    uint16_t route_buckets[KNOWN_NAMED * 2];
    size_t route_count; /* with those of services, which may be unused */
    size_t metered_count;
    uint64_t metered_least;  /* cpu_ns of the least of them, or less */
    uint64_t metered_others; /* CPU time of routes while the metrics page does not have them */
    uint32_t counted_until;  /* wall, s: spans that passed later are kept if they were counted */
    _Atomic bool recalled;   /* samples came that an earlier process had; read without the lock */
    uint64_t missed;         /* spans with samples that passed without being looked at */
    struct known_window windows[KNOWN_WINDOWS];
    uint32_t window_serial;
    const struct watch_reason *reasons[KNOWN_REASONS];
    size_t reason_count;
    struct clocks clocks;
    struct known_row rows[KNOWN_ROWS];
    size_t row_count;
    uint64_t reloaded;          /* what came before is not known; wall; 0: nothing did */
    uint64_t joined_at;         /* when known_may_have_passed last said so; wall */
    uint64_t tokens, tokens_at; /* rows that may yet be looked up in detail; wall */
    uint32_t share;             /* ids whose hash is above it are not looked up; falls with them */
    uint64_t passed_over;       /* decisions and samples beyond that, ... */
    uint64_t passed_over_at;    /* ... and when the last was; wall */
    struct known_figures *gone; /* of forgotten spans; NULL: none since known_take_gone */
    size_t gone_count;
    uint64_t gone_before; /* no trace that passed earlier is kept: wall */
    uint64_t gone_lost;   /* numbers of a span were forgotten for want of room; wall */
};

/* False: no memory. */
bool known_init(struct known *known, struct budget *budget);
void known_release(struct known *known);

/* The span has it after known_fold, or after one of the next three. */
void known_decided(struct known *known, const struct watch_decision *decision);
void known_fold(struct known *known);
void known_window_came(struct known *known, const struct watch_window *window);
void known_sampled(struct known *known, const struct watch_window *window,
                   const struct watch_sample *samples, size_t count);

/* A span as it passed: its route is joined with its samples. link: the id that its link opens; 0:
 * none. ended: wall, by its own clock; 0: not known. now: wall. */
struct known_seen {
    uint64_t id, link, trace;
    struct view service, name, tenant; /* tenant: empty: none, or not known */
    bool child; /* no local root, and without a link of its own: counts only if samples name it */
    bool inherits; /* link is an ancestor's: it counts as a child does, under its own id */
    bool again;    /* an earlier process had it, too */
    uint64_t ended;
    uint64_t passed; /* it passed before, at this wall time: samples may have come since; 0: now */
};
void known_seen(struct known *known, const struct known_seen *seen, uint64_t now);

/* Samples whose span has not passed count under NAME_UNCLAIMED, and go to its route when it does;
 * those of a span that was decided, but not seen to pass since, under NAME_NOT_LOOKED. In the
 * metrics, which cannot take back, they count when it passes, or after ten minutes. Recalled
 * samples count only when it passes. now: wall. */
void known_settle(struct known *known, uint64_t now);

/* The n-th span, of known->span_count. */
static inline struct known_span *known_at(const struct known *known, uint32_t n)
{
    return &known->spans[n];
}

/* As it was decided; if that is not remembered, whether it passed with a profile id (link). */
bool known_is_linked(const struct known *known, uint64_t id, struct view service, uint64_t trace,
                     uint64_t link);

/* Keeps the numbers of a span that is about to be forgotten, if its trace may be kept. */
void known_note_gone(struct known *known, const struct known_span *span);

/* Takes these: to be freed. before: no trace that passed earlier is kept; wall. NULL: none. */
struct known_figures *known_take_gone(struct known *known, uint64_t before, size_t *count);

/* What known_figures have of a service's name. */
uint32_t known_figures_service(struct view name);

/* Whether CPU time of a span is measured: by its samples or, if it has none, by its service's. */
bool known_times_cpu(const struct known *known, const struct known_span *span);

/* Whether any samples name it; whether such of CPU or wall time do, or such that confirm. */
static inline bool known_has_counted(const struct known_span *span)
{
    return span->samples || span->wall_samples || span->beside || span->first_window;
}

static inline bool known_has_samples(const struct known_span *span)
{
    return known_has_counted(span) || span->untimed;
}

/* Its samples: of CPU time or, if that is not measured, of wall time. */
uint64_t known_samples(const struct known *known, const struct known_span *span);

/* The service with this name, the first of those of several tenants; 0: none. */
size_t known_service_find(const struct known *known, struct view name);

/* The tenant of a service; empty: none. */
struct view known_tenant(const struct known *known, size_t service);

/* What a route is: of spans with a name; the rest of these, which there is no room for; samples
 * that name no span which passed; or samples of spans that were not looked at. */
enum known_route_kind {
    KNOWN_ROUTE_NAMED,
    KNOWN_ROUTE_OTHERS,
    KNOWN_ROUTE_UNCLAIMED,
    KNOWN_ROUTE_NOT_LOOKED
};
enum known_route_kind known_route_kind(const struct known *known, const struct known_route *route);

/* The name of its spans, NAME_OTHERS, NAME_UNCLAIMED or NAME_NOT_LOOKED. */
struct view known_route_name(const struct known *known, const struct known_route *route);

/* Whether its CPU time is measured: by its samples or, if it has none, by its service's. */
bool known_route_times_cpu(const struct known *known, const struct known_route *route);

/* The index of a reason in known->reasons, which gets it. */
size_t known_reason_of(struct known *known, const struct watch_reason *reason);

/* The step of a route's series, of a service's history; NULL: none, or too long ago. */
const struct known_route_step *known_route_step(const struct known_route *route, uint64_t step);
const struct known_step *known_service_step(const struct known_service *service, uint64_t step);

#endif
