/*
 * What is known of each service, by its name on both signals: when it was first seen, whether it
 * is profiled, how far its windows reach, and what became of its spans. At most so many services;
 * past that the least recently seen without spans in the hold is forgotten. Not thread-safe.
 */
#ifndef CORRELATION_SERVICES_H
#define CORRELATION_SERVICES_H

#include "base/budget.h"
#include "base/view.h"
#include "processors/correlation/judge.h"
#include "processors/correlation/kinds.h"

struct segment;

/* The service's name where a resource or profile has none, as Pyroscope calls it. */
#define UNKNOWN_SERVICE VIEW("unknown_service")

/* Windows of one kind of profile. */
struct windows {
    uint64_t watermark; /* wall; newest end seen */
    uint64_t longest;   /* within this and ... */
    uint64_t before;    /* ... the previous span of `remember` */
    uint64_t turned;    /* mono; when the one became the other */
    uint64_t last;      /* mono; when the last one came */
    unsigned count;
};

struct service_counts {
    uint64_t linked;
    uint64_t unlinked[REASON_COUNT]; /* by enum judge_reason */
    uint64_t ids;                    /* span ids that came in samples ... */
    uint64_t ids_met;                /* ... and whose span came, of any service */
    uint64_t waited;                 /* spans that left the hold, ... */
    uint64_t wait_sum, wait_max;     /* ... and how long they had waited, ns */
};

struct service {
    struct service *chain;                                  /* same bucket */
    struct service *older, *newer;                          /* by last_seen */
    uint64_t first_seen, last_seen, profiled_at, unread_at; /* mono */
    bool profiled, unread;  /* ever; see service_judged_as for "within remember" */
    const char *unread_why; /* of the last such profile */
    bool from_go;           /* pyroscope-go sends for it */
    bool from_node;         /* its spans are OpenTelemetry's of Node.js */
    bool wide;              /* spans that are not local roots have samples too */
    struct windows windows[KIND_COUNT];
    struct service_counts counts;
    struct segment *oldest, *newest; /* its spans in the hold */
    uint64_t due;                    /* mono; when the first of them is to be judged */
    unsigned small;                  /* segments since gather.h looked last ... */
    uint64_t small_since;            /* ... and when the first of them came, mono */
    unsigned version;                /* counts its profiles */
    unsigned building;               /* segments being made; keeps it from being forgotten */
    uint32_t hash;
    uint32_t size; /* of the name */
    uint8_t name[];
};

struct services {
    struct service **buckets;
    size_t bucket_count, count, max;
    struct service *oldest, *newest;
    uint64_t remember; /* ns */
    uint64_t forgotten;
    struct budget *budget;
};

/* Which kinds confirm: `confirm_by`. */
struct confirm_by {
    bool automatic; /* process_cpu where the service sends it, else wall */
    unsigned kinds; /* else these */
};

/* One uploaded window. */
struct window {
    enum kind kind;
    uint64_t end;    /* wall, already not past the time of arrival; 0: unknown */
    uint64_t length; /* ns; 0: a moment */
};

void services_init(struct services *services, size_t max, uint64_t remember, struct budget *budget);
void services_release(struct services *services);

/* The service of a name, made where it is new; seen now. One that was silent for `remember` starts
 * anew, but keeps its counts. NULL: no memory, or every one has spans in the hold. */
struct service *services_see(struct services *services, struct view name, uint64_t mono);

/* What its span ids are indexed under. */
static inline uint64_t service_scope(const struct service *service)
{
    return service ? service->hash * UINT64_C(0x9e3779b97f4a7c15) : 0;
}

static inline struct view service_name(const struct service *service)
{
    return (struct view){service->name, service->size};
}

void service_note_window(struct service *service, const struct window *window, uint64_t mono,
                         uint64_t remember);
/* A profile whose spans cannot be read; why is static. */
void service_note_unread(struct service *service, const char *why, uint64_t mono);

/* The kinds whose samples confirm a span of the service now. */
unsigned service_kinds(const struct service *service, const struct confirm_by *confirm,
                       uint64_t mono, uint64_t remember);

/* What the rules need of it. hold: as configured. */
struct judge_service service_judged_as(const struct service *service,
                                       const struct confirm_by *confirm, uint64_t hold,
                                       uint64_t mono, uint64_t remember);

#endif
