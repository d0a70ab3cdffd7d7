#include "lib/base/verdict.h"

#include "lib/base/clock.h"

#include <stdarg.h>
#include <stdio.h>

struct outcome outcome_of(enum verdict verdict, enum cause cause, const char *format, ...)
{
    struct outcome outcome = {.verdict = verdict, .cause = cause};
    va_list args;
    va_start(args, format);
    vsnprintf(outcome.text, sizeof outcome.text, format, args);
    va_end(args);
    return outcome;
}

/* As good as random: the clock's nanoseconds. */
static unsigned spread_seconds(void)
{
    uint64_t hash = clock_mono(&clock_system) * UINT64_C(0x9e3779b97f4a7c15);
    return RETRY_AFTER_S + (unsigned)((hash >> 32) % (RETRY_MEMORY_MOST_S - RETRY_AFTER_S + 1));
}

unsigned outcome_retry_seconds(const struct outcome *outcome)
{
    if (outcome->verdict != VERDICT_RETRY)
        return 0;
    if (outcome->cause == CAUSE_MEMORY && !outcome->retry_after_ns)
        return spread_seconds();
    unsigned seconds = (unsigned)((outcome->retry_after_ns + NS_PER_S - 1) / NS_PER_S);
    return seconds > RETRY_AFTER_S ? seconds : RETRY_AFTER_S;
}

struct outcome outcome_no_memory(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "data refused due to high memory usage");
}
