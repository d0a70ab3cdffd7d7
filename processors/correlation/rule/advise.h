/*
 * What the log says to whoever set things up so that links cannot be: once an hour and service, or
 * once a minute. Sentences are put together under the instance's lock and logged without it.
 */
#ifndef PROCESSORS_CORRELATION_RULE_ADVISE_H
#define PROCESSORS_CORRELATION_RULE_ADVISE_H

#include "processors/correlation/correlation.h"

enum { ADVICE_MAX = 16 << 10 }; /* bytes that wait to be logged */

/* Samples of one service name spans of another. Under the lock. */
void advise_names(struct correlation *self, struct service *profiled, const struct service *traced,
                  uint64_t mono);

/* A service is profiled, and no sample of it ever names a span. Under the lock. */
void advise_no_ids(struct correlation *self, struct service *service, uint64_t mono);

/* So many spans left unjudged, since the hold was full, or (by_budget) the process's memory. Under
 * the lock. */
void advise_hold_full(struct correlation *self, uint64_t spans, bool by_budget, uint64_t mono);

/* Logs what is to be said. Without the lock. */
void advise_speak(struct correlation *self);

#endif
