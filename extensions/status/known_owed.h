/* Samples that may yet be found to be another's: what a span owes is with its route if it passed,
 * else with what none claims, and moves when that changes. Guarded by the watch's lock. */
#ifndef EXTENSIONS_STATUS_KNOWN_OWED_H
#define EXTENSIONS_STATUS_KNOWN_OWED_H

#include "extensions/status/known_routes.h"

static inline bool known_owes(const struct known_span *span)
{
    return span->owed || span->owed_wall || span->owed_samples || span->owed_wall_samples;
}

/* Adds samples to what a span owes. now: wall. */
void known_owe(struct known *known, struct known_span *span, const struct known_sum *sum,
               const struct known_stretch *over, uint64_t now);

/* The time over which its samples are spread. */
struct known_stretch known_owed_over(const struct known_span *span);

/* Lets that time have this stretch, too. What it owes must have been taken back. */
void known_widen(struct known_span *span, const struct known_stretch *over);

/* Takes what a span owes from where it is, before something about the span changes, and puts it
 * where it belongs then. */
void known_take_back(struct known *known, const struct known_span *span);
void known_lend(struct known *known, const struct known_span *span);

/* A span that was decided has passed: if it was not looked at then, what it owes says so. */
void known_miss(struct known *known, struct known_span *span);

/* What it owes stays where it is. */
void known_pay(struct known *known, struct known_span *span);

/* Whether samples with the id of a span came from another tenant, of which no such span passed. */
bool known_sampled_elsewhere(const struct known *known, const struct known_span *span);

/* Whether samples came of spans that may have passed before without being held. Each is told once:
 * at once while the first profiles of a service have just come, then within a minute, or within
 * seconds if somebody looks. now: wall. */
bool known_may_have_passed(struct known *known, uint64_t now, bool looks);

#endif
