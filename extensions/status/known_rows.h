/* The tables of known.h: what a row has. */
#ifndef EXTENSIONS_STATUS_KNOWN_ROWS_H
#define EXTENSIONS_STATUS_KNOWN_ROWS_H

#include "extensions/status/known_service.h"

/* A lane as the tables have it. */
static inline uint16_t known_lane(uint32_t lane)
{
    return lane ? (uint16_t)((lane - 1) % UINT16_MAX + 1) : 0;
}

/* The decision about a span, and the samples with its id. Spans of two services may have the same
 * id, as where a client's and a server's span share it; those of one service count as one. */
struct known_span {
    uint64_t id;
    uint64_t link;    /* whose samples it opens; 0: none, or not known */
    uint64_t trace;   /* last eight bytes of its trace id; 0: not seen */
    uint64_t decided; /* wall; 0: no decision came */
    uint64_t cpu_ns, wall_ns;
    uint64_t owed, owed_wall; /* of these, what may yet turn out to be another route's */
    uint64_t held; /* bit n: its samples are in the nth window of its service since the first */
    uint32_t samples, wall_samples; /* of windows that measure CPU time, and of others */
    uint32_t owed_samples, owed_wall_samples;
    uint32_t owed_from, owed_to; /* wall, s: when what is owed was sampled, ... */
    uint32_t owed_at; /* ... and when the first of it came; owes nothing: when it counted */
    /* From its end to the decision; below 0: its clock is ahead. If `ahead`: from its arrival. */
    int32_t waited_ms;
    uint32_t first_window, last_window; /* serials of those with its samples; 0: none */
    uint16_t next;                      /* in its bucket, number + 1 */
    uint16_t lane;                      /* as the decision's, cut; 0: none */
    uint16_t service, under;   /* under: whose samples it has, which may be another's; 0: none */
    uint16_t route, turn;      /* valid if dealt or inherits, while the route's turn is this one */
    unsigned char action : 2;  /* enum watch_action; WAITING: no decision came */
    bool recalled : 1;         /* some of its samples came to an earlier process */
    bool missed : 1;           /* it passed in a request that was not looked at */
    bool passed : 1;           /* it passed with this id and `link`, not as what a link opens */
    bool inherits : 1;         /* it passed, and its link is an ancestor's */
    bool ahead : 1;            /* its end is not known, since its clock is ahead */
    bool reversed : 1;         /* its samples name it by its id with the bytes reversed */
    uint8_t reason;            /* of known->reasons, as decided */
    uint8_t told;              /* the same as reported: see reason.h */
    bool dealt : 1;            /* it passed: its route counted it */
    bool times_cpu : 1;        /* some of its samples have CPU time */
    bool metered : 1;          /* the metrics page has what it owes, as no span's */
    bool beside : 1;           /* it has samples of CPU or wall time that do not confirm */
    bool tried : 1;            /* it was looked for among the spans that had passed before */
    bool unproven : 1;         /* linked without a sample that names it, as configured */
    unsigned char untimed : 2; /* enum known_untimed */
};

/* Which samples of neither CPU nor wall time name a span, of those that do not confirm. */
enum known_untimed { UNTIMED_NONE, UNTIMED_MEMORY, UNTIMED_LOCKS, UNTIMED_OTHER };

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

/* The numbers of a span that is remembered no more. */
struct known_figures {
    uint64_t id, trace; /* as those of a known_span */
    uint64_t cpu_ns, wall_ns;
    uint32_t samples;
    uint32_t service; /* known_figures_service, and FIGURES_TIME_CPU: its samples have CPU time */
};
enum { FIGURES_TIME_CPU = 1 };

struct known_window {
    uint32_t serial; /* from 1 */
    uint32_t nth;    /* of its service */
    uint16_t service;
    uint16_t lane; /* as a span's */
    const char *kind;
    uint64_t start, end, arrived;
};

/* A decision that spans do not have yet: they are looked up together, which costs less. */
struct known_row {
    uint64_t id, link, decided;
    int32_t waited_ms;
    uint16_t service, lane;
    uint8_t action, reason;
    bool has_reason;
    bool unproven;
    bool ahead; /* as that of a known_span */
};

#endif
