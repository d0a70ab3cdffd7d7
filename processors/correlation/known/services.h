/*
 * What is known of each service, by its tenant and name on both signals: when it was first seen,
 * its windows, its processes, and what became of its spans. At most so many services; past that the
 * least recently seen without spans in the hold is forgotten. Not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_SERVICES_H
#define PROCESSORS_CORRELATION_KNOWN_SERVICES_H

#include "lib/base/budget.h"
#include "lib/base/view.h"
#include "processors/correlation/known/judge.h"
#include "processors/correlation/known/kinds.h"
#include "processors/correlation/known/process.h"
#include "processors/correlation/known/tally.h"
#include "processors/correlation/known/timeline.h"

/* The service's name where a resource or profile has none, as Pyroscope calls it. */
#define UNKNOWN_SERVICE VIEW("unknown_service")

struct service_counts {
    uint64_t linked;
    uint64_t unlinked[REASON_COUNT]; /* by enum judge_reason */
    uint64_t ids;                    /* span ids that came in samples ... */
    uint64_t ids_met;                /* ... and whose span came, of any service */
    uint64_t missed;                 /* spans that left without a link before their sample came */
    uint64_t waited;                 /* spans that left the hold, ... */
    uint64_t wait_sum, wait_max;     /* ... and how long they had waited, ns */
};

/* What the log says once in a while of a service. */
enum advice { ADVICE_NAMES, ADVICE_NO_IDS, ADVICE_COUNT };

struct service {
    struct service *chain;                     /* same bucket */
    struct service *older, *newer;             /* by last_seen */
    uint64_t scope;                            /* what its span ids are indexed under */
    uint64_t first_seen, last_seen, unread_at; /* mono */
    uint64_t first_candidate;                  /* mono; when a span first might wait; 0: none did */
    bool unread;                               /* ever; service_is_unread for "within remember" */
    const char *unread_why;                    /* of the last such profile */
    bool from_go;                              /* pyroscope-go sends for it */
    bool from_node;                            /* its spans are OpenTelemetry's of Node.js */
    bool named;                                /* a sample of a confirming kind named a span */
    bool wide;                  /* spans that are not local roots have samples too ... */
    uint64_t wide_at;           /* ... and the last such sample came then, mono */
    unsigned nameless;          /* windows with samples since first_candidate, none of which did */
    uint8_t others[KIND_COUNT]; /* profiles of kinds that do not confirm since then, up to 255 */
    struct timeline *timelines[KIND_COUNT]; /* NULL: none of that kind came */
    uint64_t skew;                          /* its spans' clock is behind its windows', ns */
    struct process *processes;              /* seen most recently first */
    unsigned process_count;
    struct service_counts counts;
    struct tally *tally;      /* where metrics pages read the same; NULL: among the others */
    uint64_t untallied;       /* spans that were counted there in a minute, ... */
    uint64_t untallied_since; /* ... which began then, mono */
    uint64_t untallied_look;  /* so many lead to the next look for a slot */
    uint64_t held;            /* its spans in the hold */
    unsigned noted;           /* children noted in note_second (recent.h) */
    uint32_t note_second;
    unsigned version;  /* counts changes of what its spans are judged by */
    unsigned building; /* segments being made, profiles being read; keeps it from being forgotten */
    uint64_t told[ADVICE_COUNT]; /* mono; when the log said so last; 0: never */
    const char *language;        /* telemetry.sdk.language, where it is a known one; static */
    uint32_t tenant_size;
    uint32_t size; /* of the name, behind the tenant */
    uint8_t text[];
};

struct services {
    struct service **buckets;
    size_t bucket_count, count, max;
    struct service *oldest, *newest;
    uint64_t remember; /* ns */
    uint64_t forgotten;
    struct tallies tallies;
    struct budget *budget;
};

/* Which kinds confirm: `confirm_by`. */
struct confirm_by {
    bool automatic; /* process_cpu where the service sends it, else wall */
    unsigned kinds; /* else these */
};

void services_init(struct services *services, size_t max, uint64_t remember, struct budget *budget);
void services_release(struct services *services);

/* The service of a name, made where it is new; seen now. tenant: empty where tenants are not told
 * apart. One that was silent for `remember` starts anew, but keeps its counts. NULL: no memory, or
 * every one has spans in the hold. */
struct service *services_see(struct services *services, struct view tenant, struct view name,
                             uint64_t mono);

static inline uint64_t service_scope(const struct service *service)
{
    return service ? service->scope : 0;
}

static inline struct view service_tenant(const struct service *service)
{
    return (struct view){service->text, service->tenant_size};
}

static inline struct view service_name(const struct service *service)
{
    return (struct view){service->text + service->tenant_size, service->size};
}

/* The timeline of a kind, made where there is none. NULL: no memory. */
struct timeline *service_timeline(struct service *service, enum kind kind, struct budget *budget);

/* A profile whose spans cannot be read; why is static. */
void service_note_unread(struct service *service, const char *why, uint64_t mono);

/* A sample came for a span that is no local root. */
void service_note_wide(struct service *service, uint64_t mono);

/* Whether spans that are no local roots are waited for; not any more when no sample of one came for
 * `remember`. */
bool service_is_wide(const struct service *service, uint64_t mono, uint64_t remember);

/* The kinds whose samples confirm a span of the service now. */
unsigned service_kinds(const struct service *service, const struct confirm_by *confirm,
                       uint64_t mono, uint64_t remember);

#endif
