/* The tables of known.h: their sizes, and what a row has. */
#ifndef EXTENSIONS_STATUS_KNOWN_ROWS_H
#define EXTENSIONS_STATUS_KNOWN_ROWS_H

#include "lib/base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    KNOWN_SPANS = 40000,
    KNOWN_SERVICES = 256,
    KNOWN_NAMED = 512,                  /* routes with a name, ... */
    KNOWN_UNNAMED = 3 * KNOWN_SERVICES, /* ... and before them, of each service three */
    KNOWN_ROUTES = KNOWN_UNNAMED + KNOWN_NAMED,
    KNOWN_WINDOWS = 1024,
    KNOWN_REASONS = 28,
    KNOWN_BESIDE = 16,
    KNOWN_UPLOADS = 16,  /* of a service, the newest */
    KNOWN_HISTORY = 40,  /* steps of a service's history */
    KNOWN_SERIES = 80,   /* steps of a route's */
    KNOWN_METERED = 100, /* routes that the metrics page has */
    KNOWN_ROWS = 512     /* decisions that spans do not have yet */
};
#define KNOWN_HISTORY_STEP (30 * NS_PER_S)
#define KNOWN_SERIES_STEP  (15 * NS_PER_S)

/* As waited_ms: by its clock the span ended after it arrived, and it is not known when. */
#define KNOWN_AHEAD INT32_MIN

/* The decision about a span, and the samples with its id. Spans of two services may have the same
 * id, as where a client's and a server's span share it; those of one service count as one. */
struct known_span {
    uint64_t id;
    uint64_t link;    /* whose samples it opens; 0: none */
    uint64_t trace;   /* last eight bytes of its trace id; 0: not seen */
    uint64_t decided; /* wall; 0: no decision came */
    uint64_t cpu_ns, wall_ns;
    uint64_t owed, owed_wall; /* of these, what may yet turn out to be another route's */
    uint64_t held; /* bit n: its samples are in the nth window of its service since the first */
    uint32_t samples, wall_samples; /* of windows that measure CPU time, and of others */
    uint32_t owed_samples, owed_wall_samples;
    uint32_t owed_from, owed_to; /* wall, s: when what is owed was sampled, ... */
    uint32_t owed_at; /* ... and when the first of it came; owes nothing: when it counted */
    /* From its end to the decision; below 0: its clock is ahead; or KNOWN_AHEAD. */
    int32_t waited_ms;
    uint32_t first_window, last_window; /* serials of those with its samples; 0: none */
    uint32_t next;                      /* in its bucket, number + 1 */
    uint16_t service, under;   /* under: whose samples it has, which may be another's; 0: none */
    uint16_t route, turn;      /* valid if dealt, while the route's turn is this one */
    uint8_t action;            /* enum watch_action; WAITING: no decision came */
    uint8_t reason;            /* of known->reasons, as decided */
    uint8_t told;              /* the same as reported: see reason.h */
    bool dealt : 1;            /* it passed: its route counted it */
    bool missed : 1;           /* it passed in a request that was not looked at */
    bool times_cpu : 1;        /* some of its samples have CPU time */
    bool metered : 1;          /* the metrics page has what it owes, as no span's */
    bool beside : 1;           /* it has samples of CPU or wall time that do not confirm */
    bool tried : 1;            /* it was looked for among the spans that had passed before */
    bool unproven : 1;         /* linked without a sample that names it, as configured */
    unsigned char untimed : 2; /* enum known_untimed */
};

/* Which samples of neither CPU nor wall time name a span, of those that do not confirm. */
enum known_untimed { UNTIMED_NONE, UNTIMED_MEMORY, UNTIMED_LOCKS, UNTIMED_OTHER };

struct known_service {
    uint64_t key;
    uint32_t name, tenant; /* tenant: 0: none */
    const char *language;  /* of its SDK; static; NULL: not known */
    bool has_spans, has_profiles;
    bool times_cpu; /* some of its profiles measure CPU time */
    uint64_t linked, not_linked, cpu_ns, wall_ns;
    uint64_t samples, wall_samples; /* as a span's */
    uint64_t uses, last; /* decisions and profiles, with those of what gave way to it; the newest */
    uint64_t reasons[KNOWN_REASONS];
    uint8_t no_ids; /* the reason of known->reasons that says so; 0: samples name spans, or may */
    uint16_t profiles_under;    /* where samples of its spans came instead; 0: nowhere */
    uint32_t windows;           /* came so far */
    uint64_t first_came;        /* the oldest profile */
    uint64_t began;             /* its start, of those of kinds that confirm; 0: none came */
    uint64_t any_came, any_end; /* of the newest profile: when it arrived, and its end */
    uint64_t last_came;         /* the newest of a kind that confirms */
    uint64_t beside[KNOWN_BESIDE], beside_count; /* hashes of the newest of other kinds */
    bool repeats;                                /* the last of these came before */
    struct {
        uint64_t upload;
        const void *source; /* who told of it first */
    } uploads[KNOWN_UPLOADS];
    uint64_t upload_count;
    uint64_t apart;   /* linked spans whose samples are far from their time, ... */
    int64_t apart_ns; /* ... and how far those of the last: below 0, before it */
    uint64_t step;    /* the newest of the history, in steps since 1970 */
    struct known_step {
        uint32_t linked, reasons[KNOWN_REASONS];
    } history[KNOWN_HISTORY]; /* by step modulo its length */
};

/* Of a step: the spans that ended in it, and the samples taken in it. */
struct known_route_step {
    uint64_t cpu_ns, wall_ns;
    uint32_t samples, wall_samples, spans, linked;
};

/* Service and name of spans; or the others of a service, whose number is that of the service; or
 * what its samples have that name no span which passed, whose number is KNOWN_SERVICES more; or
 * that of spans which were not looked at, as many more again. */
struct known_route {
    bool used;
    bool metered;           /* the metrics page has it */
    uint16_t turn;          /* changes when the route gives way to another */
    uint16_t service, next; /* next: in its bucket, number + 1 */
    uint32_t name;
    uint64_t spans, linked, cpu_ns, wall_ns, samples, wall_samples;
    uint64_t inherited;  /* cpu_ns of what gave way to it: its rank has that, too */
    uint64_t metered_ns; /* CPU time that the metrics page has of it */
    uint64_t step;       /* the newest of the series, in steps since 1970 */
    struct known_route_step
        *series; /* KNOWN_SERIES of them, by step modulo that; NULL: no memory */
};

struct known_window {
    uint32_t serial; /* from 1 */
    uint32_t nth;    /* of its service */
    uint16_t service;
    const char *kind;
    uint64_t start, end, arrived;
};

/* A decision that spans do not have yet: they are looked up together, which costs less. */
struct known_row {
    uint64_t id, link, decided;
    int32_t waited_ms;
    uint16_t service;
    uint8_t action, reason;
    bool has_reason;
    bool unproven;
};

#endif
