#include "pipeline/delivery/retry.h"

uint64_t retry_wait(const struct retry_settings *settings, unsigned attempt, double random,
                    uint64_t asked_ns)
{
    double most = (double)settings->max_interval;
    double wait = (double)settings->initial_interval;
    for (unsigned i = 0; i < attempt && wait < most && settings->multiplier > 1; i++)
        wait *= settings->multiplier;
    if (wait > most)
        wait = most;
    wait *= 1 + settings->randomization_factor * (2 * random - 1);
    asked_ns = asked_ns < RETRY_ASKED_MAX ? asked_ns : RETRY_ASKED_MAX;
    return wait > (double)asked_ns ? (uint64_t)wait : asked_ns;
}

bool retry_allowed(const struct retry_settings *settings, uint64_t elapsed_ns, uint64_t wait_ns)
{
    uint64_t most = settings->max_elapsed_time;
    return settings->enabled && (most == 0 || (wait_ns <= most && elapsed_ns <= most - wait_ns));
}
