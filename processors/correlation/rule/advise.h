/*
 * Log lines about setups in which spans cannot be linked: at most once an hour for each service, or
 * once a minute, and when they are in order again. Lines are built under the instance's lock and
 * logged without it.
 */
#ifndef PROCESSORS_CORRELATION_RULE_ADVISE_H
#define PROCESSORS_CORRELATION_RULE_ADVISE_H

#include "processors/correlation/correlation.h"

enum { ADVICE_MAX = 16 << 10 }; /* bytes of lines that wait to be logged */

/* Samples of one service carry ids of another service's spans. Under the lock. */
void advise_names(struct correlation *self, struct service *profiled, const struct service *traced,
                  uint64_t mono);

/* The same where the services are of two tenants. Under the lock. */
void advise_tenants(struct correlation *self, struct service *profiled,
                    const struct service *traced, uint64_t mono);

/* A service is profiled, but none of its samples has a span id. Under the lock. */
void advise_no_ids(struct correlation *self, struct service *service, uint64_t mono);

/* The samples of a service name spans, but none of its own; then one was its own. Under the lock.
 */
void advise_unmatched(struct correlation *self, struct service *service, uint64_t mono);
void advise_ids_match(struct correlation *self, struct service *service, uint64_t mono);

/* Spans left undecided because the hold was full, or (by_budget) the process's memory. Under the
 * lock. */
void advise_hold_full(struct correlation *self, uint64_t spans, bool by_budget, uint64_t mono);

/* Spans of a service for which there was no place passed undecided. Under the lock. */
void advise_crowded(struct correlation *self, struct view tenant, struct view name, uint64_t spans);

/* The window of a profile of a service is wrong. Under the lock. */
void advise_window(struct correlation *self, const struct service *service);

/* No profile of a service has come for long, although its spans go on. Under the lock. */
void advise_silent(struct correlation *self, struct service *service, uint64_t mono);

/* A profile of the service has come. Under the lock. */
void advise_profile_came(struct correlation *self, struct service *service, uint64_t mono);

/* Adds the lines of what is logged once a minute; returns when to call it again, mono. */
uint64_t advise_minutely(struct correlation *self, uint64_t mono);

/* Logs the waiting lines. Without the lock. */
void advise_log(struct correlation *self);

#endif
