/*
 * A time in which requests of an exporter fail or accepted data are lost: from the first failure
 * until one succeeded and none failed for five seconds. One that follows within a minute is told as
 * over only when none has failed for a minute; but it begins, and counts, anew, as does a failure
 * in that minute after five seconds without one. Not thread-safe.
 */
#ifndef PIPELINE_DELIVERY_INCIDENT_H
#define PIPELINE_DELIVERY_INCIDENT_H

#include "lib/base/bytes.h"
#include "lib/base/clock.h"
#include "lib/base/verdict.h"
#include "lib/wire/otlp/signal.h"

#include <stdbool.h>

struct incident {
    bool open;                      /* until incident_close */
    uint64_t since;                 /* wall, ns: of its first failure, also once it is over */
    uint64_t lost[SIGNAL_COUNT];    /* items, since then */
    uint64_t by_cause[CAUSE_COUNT]; /* the same items by enum cause */
    uint64_t failed_requests;       /* since then */
    struct {
        uint64_t since;
        uint64_t lost[SIGNAL_COUNT];
    } untold;           /* the same since the end of one was told */
    uint64_t failed;    /* mono: the last failure */
    uint64_t succeeded; /* mono: the first success after it; 0: none */
    uint64_t recovered; /* the same, wall */
    bool again;         /* it followed another within a minute */
};

/* A request failed, or what was accepted is lost; it was begun at `began` (wall). True: another
 * incident begins. */
bool incident_fail(struct incident *incident, const struct clock *clock, uint64_t began);
/* Counts items that are lost, after incident_fail. */
void incident_lose(struct incident *incident, enum signal signal, uint64_t items, enum cause cause);
/* A request succeeded. True: it is the first one since the last failure. */
bool incident_succeed(struct incident *incident, const struct clock *clock);

/* When the first request after the last failure succeeded, wall, if none has failed for five
 * seconds; else 0. */
uint64_t incident_recovered(const struct incident *incident, uint64_t mono_ns);
/* When it is over if nothing fails, mono; TIME_NEVER: there is none, or no success yet. */
uint64_t incident_ends(const struct incident *incident);
/* Whether there is one at a time of mono. */
bool incident_lasts(const struct incident *incident, uint64_t mono_ns);
/* Marks one that is over. True: it was not marked yet. */
bool incident_close(struct incident *incident, uint64_t mono_ns);

bool incident_lost_any(const struct incident *incident);
/* Appends "20 spans, 3 profiles", nothing if none was lost since the end of one was told. */
void incident_put_lost(const struct incident *incident, struct bytes *out);
/* Whether items were lost for another cause than this one, too. */
bool incident_lost_for_others(const struct incident *incident, enum cause cause);
/* Appends "20 spans lost, 2 of 9 requests failed", or what of it is to be told, after so many
 * requests that succeeded since it began. by_cause: with the items of each cause, "20 spans lost
 * (12 too large, 8 invalid)". */
void incident_put_extent(const struct incident *incident, uint64_t succeeded, bool by_cause,
                         struct bytes *out);

#endif
