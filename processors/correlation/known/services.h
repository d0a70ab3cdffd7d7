/*
 * What is known of each service, by tenant and name across both signals: when it was first seen,
 * its windows, its processes, and how its spans left. Number and memory (budget_may_remember) are
 * bounded. Past either the least recently seen one without profiles is given up, so that names
 * without profiles, however many, do not displace a service with profiles. Not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_SERVICES_H
#define PROCESSORS_CORRELATION_KNOWN_SERVICES_H

#include "lib/base/budget.h"
#include "lib/base/view.h"
#include "processors/correlation/known/judge.h"
#include "processors/correlation/known/kinds.h"
#include "processors/correlation/known/match.h"
#include "processors/correlation/known/process.h"
#include "processors/correlation/known/tally.h"
#include "processors/correlation/known/timeline.h"

/* The name of a service whose resource or profile has none, as in Pyroscope. */
#define UNKNOWN_SERVICE VIEW("unknown_service")

struct service_counts {
    uint64_t linked;
    uint64_t unlinked[REASON_COUNT]; /* by enum judge_reason */
    uint64_t ids;                    /* span ids found in samples ... */
    uint64_t ids_met;                /* ... whose span, of any service, was seen */
    uint64_t missed;                 /* spans that left unlinked before their sample arrived */
    uint64_t waited;                 /* spans that left the hold, ... */
    uint64_t wait_sum, wait_max;     /* ... and how long they had waited, ns */
};

/* What the log reports from time to time about a service. NAMES: or tenants. */
enum advice { ADVICE_NAMES, ADVICE_NO_IDS, ADVICE_UNMATCHED, ADVICE_SILENT, ADVICE_COUNT };

struct service {
    struct service *chain;                     /* same bucket */
    struct service *older, *newer;             /* by last_seen, of those as profiled as it */
    uint64_t scope;                            /* key under which its span ids are indexed */
    uint64_t first_seen, last_seen, unread_at; /* mono */
    bool profiled;                             /* a profile of it arrived within `remember` ... */
    uint64_t profiled_at;                      /* ... the last one then, mono; 0: none ever did */
    uint64_t first_candidate;    /* mono; when a span first had to be held; 0: none did */
    bool unread;                 /* ever; service_is_unread for "within remember" */
    const char *unread_why;      /* why the last such profile could not be read */
    bool unsymbolized;           /* samples named spans and did not count: no frame had symbols */
    bool from_go, from_node;     /* pyroscope-go uploads for it; its SDK is that of Node.js */
    bool misnamed, other_tenant; /* samples of its spans came under another name, or tenant */
    bool named;                  /* a sample of a confirming kind had a span id */
    bool wide;                   /* spans that are not local roots have samples too ... */
    uint64_t wide_at;            /* ... and the last such sample arrived then, mono */
    unsigned nameless; /* windows with samples since first_candidate, none with a span id */
    uint8_t others[KIND_COUNT]; /* profiles of kinds that do not confirm since then, up to 255 */
    struct timeline *timelines[KIND_COUNT]; /* NULL: none of that kind arrived */
    uint64_t skew;             /* how far its spans' clock is behind its windows', ns */
    struct process *processes; /* most recently seen first */
    unsigned process_count;
    struct service_counts counts;
    struct match match;
    struct tally *tally;      /* the copy for metrics pages; NULL: counted among the others */
    uint64_t untallied;       /* spans counted among the others in a minute, ... */
    uint64_t untallied_since; /* ... which began then, mono */
    uint64_t untallied_look;  /* how many lead to the next search for a slot */
    uint64_t held;            /* its spans in the hold */
    uint64_t silent_since; /* profiled_at if its profiler seems to have stopped; 0: it does not */
    bool silent_said;      /* that was logged */
    unsigned noted;        /* children noted in note_second (recent.h) */
    uint32_t note_second;
    uint64_t looks;    /* for samples of its spans elsewhere: 16 * second + number in that */
    unsigned version;  /* changes when what decisions are based on changes */
    size_t counted;    /* bytes of it in services.bytes */
    unsigned building; /* segments being built, profiles being read: it cannot be forgotten */
    uint64_t advised[ADVICE_COUNT]; /* mono; when it was last logged; 0: never */
    const char *language;           /* telemetry.sdk.language, if known; static */
    uint32_t tenant_size, size;     /* size: of the name, which follows the tenant */
    uint8_t text[];
};

struct services {
    struct service **buckets;
    size_t bucket_count, count, max;
    size_t bytes; /* of all, with what is known of each when it was last seen */
    struct service_order {
        struct service *oldest, *newest;
    } orders[2];       /* without profiles, and with */
    uint64_t remember; /* ns */
    uint64_t forgotten;
    struct service_counts gone; /* of those, and of spans for which there was no place */
    /* Lets go the spans of a service that is given up. NULL: no service has any. */
    void (*let_go)(void *ctx, struct service *service);
    void *ctx;
    struct tallies *tallies; /* borrowed; of lanes NULL, and not used */
    struct budget *budget;
};

/* Which kinds confirm a span: `confirm_by`. */
struct confirm_by {
    bool automatic; /* process_cpu if the service sends it, else wall */
    unsigned kinds; /* if not automatic */
};

void services_init(struct services *services, size_t max, uint64_t remember, struct budget *budget);
void services_release(struct services *services);

/* Returns the service of a name, making it if it is new, and marks it as seen now. tenant: empty if
 * tenants are not separated. A service that was silent for `remember` starts over but keeps its
 * counts. NULL: no memory, or all that could be given up for it have profiles or are being read. */
struct service *services_see(struct services *services, struct view tenant, struct view name,
                             uint64_t mono);

/* The same for a profile; services with profiles are given up for it too. NULL: no memory. */
struct service *services_see_profile(struct services *services, struct view tenant,
                                     struct view name, uint64_t mono);

/* Iterates over all: NULL returns the first, the last one NULL. */
struct service *services_next(const struct services *services, const struct service *after);

void service_counts_add(struct service_counts *sum, const struct service_counts *counts);

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

/* Returns the timeline of a kind, making it if needed. NULL: no memory. */
struct timeline *service_timeline(struct service *service, enum kind kind, struct budget *budget);

/* Notes a profile whose span ids cannot be read; why is static. */
void service_note_unread(struct service *service, const char *why, uint64_t mono);

/* Notes a sample for a span that is not a local root. */
void service_note_wide(struct service *service, uint64_t mono);

/* Whether spans that are not local roots are held too: until `remember` after the last sample. */
bool service_is_wide(const struct service *service, uint64_t mono, uint64_t remember);

/* Returns the kinds whose samples confirm a span of the service now. */
unsigned service_kinds(const struct service *service, const struct confirm_by *confirm,
                       uint64_t mono, uint64_t remember);

#endif
