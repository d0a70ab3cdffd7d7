#include "pipeline/delivery/incident.h"

#include <inttypes.h>

#define CALM_NS       (5 * NS_PER_S)
#define CALM_AGAIN_NS (60 * NS_PER_S) /* and it comes back within the same time */

bool incident_fail(struct incident *incident, const struct clock *clock)
{
    uint64_t now = clock_mono(clock);
    bool lasts = incident_lasts(incident, now);
    bool begins = !lasts && (!incident->since || now >= incident->failed + CALM_AGAIN_NS);
    if (begins)
        *incident = (struct incident){.since = clock_wall(clock)};
    incident->again |= !lasts && !begins;
    incident->open = true;
    incident->failed = now;
    incident->succeeded = 0;
    return begins;
}

bool incident_succeed(struct incident *incident, const struct clock *clock)
{
    bool first = incident->open && !incident->succeeded;
    if (first)
        incident->succeeded = clock_mono(clock);
    return first;
}

uint64_t incident_ends(const struct incident *incident)
{
    if (!incident->open || !incident->succeeded)
        return TIME_NEVER;
    uint64_t ends = incident->failed + (incident->again ? CALM_AGAIN_NS : CALM_NS);
    return ends > incident->succeeded ? ends : incident->succeeded;
}

bool incident_lasts(const struct incident *incident, uint64_t mono_ns)
{
    return incident->open && mono_ns < incident_ends(incident);
}

bool incident_close(struct incident *incident, uint64_t mono_ns)
{
    bool over = incident->open && !incident_lasts(incident, mono_ns);
    incident->open &= !over;
    return over;
}

bool incident_lost_any(const struct incident *incident)
{
    uint64_t any = 0;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        any |= incident->lost[i];
    return any;
}

void incident_put_lost(const struct incident *incident, struct bytes *out)
{
    const char *between = "";
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        uint64_t n = incident->lost[i];
        if (!n)
            continue;
        bytes_printf(out, "%s%" PRIu64 " %s", between, n, signal_items((enum signal)i, n));
        between = ", ";
    }
}

void incident_put_extent(const struct incident *incident, uint64_t succeeded, struct bytes *out)
{
    uint64_t failed = incident->failed_requests;
    bool lost = incident_lost_any(incident), share = failed && succeeded;
    incident_put_lost(incident, out);
    if (lost)
        bytes_printf(out, " lost%s", share ? ", " : "");
    if (share)
        bytes_printf(out, "%" PRIu64 " of %" PRIu64 " requests failed", failed, failed + succeeded);
}
