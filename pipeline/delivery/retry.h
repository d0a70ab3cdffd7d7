/* How long to wait before the next attempt, by the Collector's rule. Pure. */
#ifndef PIPELINE_DELIVERY_RETRY_H
#define PIPELINE_DELIVERY_RETRY_H

#include "lib/base/clock.h"
#include "pipeline/delivery/delivery.h"

/* Longest wait that a server may ask for: otherwise a server with a wrong clock could delay
 * accepted data indefinitely. */
#define RETRY_ASKED_MAX (300 * NS_PER_S)

/* Wait before attempt number attempt + 1 (attempt counts from 0): uniform in [(1-r)d, (1+r)d] for d
 * = min(initial * multiplier^attempt, max_interval), and at least what the server asked for, up to
 * RETRY_ASKED_MAX. random is in [0, 1). */
uint64_t retry_wait(const struct retry_settings *settings, unsigned attempt, double random,
                    uint64_t asked_ns);

/* Whether another wait is allowed, elapsed ns after the first attempt. */
bool retry_allowed(const struct retry_settings *settings, uint64_t elapsed_ns, uint64_t wait_ns);

#endif
