/* What GET /api/flamegraph is asked for: the span ids whose samples that is, and what is missing.
 */
#ifndef EXTENSIONS_STATUS_FLAME_WANTED_H
#define EXTENSIONS_STATUS_FLAME_WANTED_H

#include "extensions/status/figures.h"
#include "extensions/status/flame.h"
#include "extensions/status/known_routes.h"
#include "extensions/status/status.h"

/* How far a request's time may be from its window's arrival as correlation recorded it. */
#define ARRIVAL_NEAR (2 * NS_PER_S)

struct flame_query {
    char span[32], trace[64], service[PARAMETER_SIZE], from[64], to[64];
    struct asked_name name;
    char type[FLAME_TYPE_SIZE], format[16];
    uint64_t from_ns, to_ns;
    uint64_t span_id;
    uint8_t trace_id[16];
};

/* The span ids whose samples are drawn. */
struct wanted {
    struct status *self;
    struct flame_query *query;
    struct flame_id *ids;
    size_t count, capacity;
    size_t beyond; /* more of them than there is room for */
    uint64_t first,
        last;  /* wall time, ns, between which their profiles arrived; all if not known */
    bool kept; /* a span that matches the query is kept */
    bool seen; /* or known */
    char service[64], name[64]; /* of such a span, cut; "": none is kept */
    const char *text, *fix;     /* of a profile with their samples that was not kept; NULL: none */
    /* Wall time, ns; 0: not known. */
    uint64_t earliest;      /* when the first profile with such samples came, or earlier */
    uint64_t began;         /* when the first of the kept spans began by its own clock */
    bool forgets;           /* there may be more such spans, whose ids are not remembered */
    bool predates;          /* a span that is not kept may have passed before a reload */
    bool unknown;           /* of some of them it is not known how many samples came */
    bool recalled;          /* samples of some of them came to an earlier process */
    struct known_sum came;  /* what is known of their samples */
    struct figures figures; /* of a span or trace: what is kept of forgotten ids */
};

/* Finds the ids of a span, a trace or a route. wanted_release must follow. */
void wanted_find(struct status *self, struct wanted *wanted);
void wanted_release(struct wanted *wanted);

/* Adds to what is known of their samples. */
void wanted_add_came(struct wanted *wanted, const struct known_sum *more);

/* Under the watch's lock: notes whether a service's profiles between these times were not kept. */
void wanted_note_left_out(struct status *self, struct wanted *wanted, struct view service,
                          uint64_t from, uint64_t to);

/* flame_missing.c: says in a drawn graph what it lacks of what was asked for. */
void wanted_say_missing(struct status *self, struct wanted *wanted, struct flame *flame);

#endif
