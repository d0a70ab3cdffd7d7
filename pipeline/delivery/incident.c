#include "pipeline/delivery/incident.h"

#include "pipeline/meter.h"

#include <inttypes.h>
#include <string.h>

#define CALM_NS       (5 * NS_PER_S)
#define CALM_AGAIN_NS (60 * NS_PER_S) /* and it comes back within the same time */

/* Whether none failed for a while, and one succeeded. */
static bool is_calm(const struct incident *incident, uint64_t now)
{
    return incident->succeeded && now >= incident->failed + CALM_NS;
}

bool incident_fail(struct incident *incident, const struct clock *clock, uint64_t began)
{
    uint64_t now = clock_mono(clock);
    bool begins = !incident_lasts(incident, now);
    if (begins) {
        bool again = incident->since && now < incident->failed + CALM_AGAIN_NS;
        *incident = (struct incident){.again = again, .untold.since = began};
    } else if (is_calm(incident, now)) {
        begins = true;
        incident->failed_requests = 0;
        memset(incident->lost, 0, sizeof incident->lost);
        memset(incident->by_cause, 0, sizeof incident->by_cause);
    }
    if (begins)
        incident->since = began;
    incident->open = true;
    incident->failed = now;
    incident->succeeded = 0;
    return begins;
}

void incident_lose(struct incident *incident, enum signal signal, uint64_t items, enum cause cause)
{
    incident->lost[signal] += items;
    incident->by_cause[cause] += items;
    incident->untold.lost[signal] += items;
}

bool incident_succeed(struct incident *incident, const struct clock *clock)
{
    bool first = incident->open && !incident->succeeded;
    if (first) {
        incident->succeeded = clock_mono(clock);
        incident->recovered = clock_wall(clock);
    }
    return first;
}

uint64_t incident_recovered(const struct incident *incident, uint64_t mono_ns)
{
    return is_calm(incident, mono_ns) ? incident->recovered : 0;
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
    meter_put_items(incident->untold.lost, out);
}

bool incident_lost_for_others(const struct incident *incident, enum cause cause)
{
    uint64_t others = 0;
    for (int i = 0; i < CAUSE_COUNT; i++)
        others |= i == (int)cause ? 0 : incident->by_cause[i];
    return others;
}

/* " (12 too large, 8 invalid)" */
static void put_causes(const struct incident *incident, struct bytes *out)
{
    const char *before = " (";
    for (int i = 0; i < CAUSE_COUNT; i++) {
        if (!incident->by_cause[i])
            continue;
        bytes_printf(out, "%s%" PRIu64 " %s", before, incident->by_cause[i],
                     cause_name((enum cause)i));
        before = ", ";
    }
    bytes_printf(out, ")");
}

void incident_put_extent(const struct incident *incident, uint64_t succeeded, bool by_cause,
                         struct bytes *out)
{
    uint64_t failed = incident->failed_requests;
    bool lost = incident_lost_any(incident), share = failed && succeeded;
    meter_put_items(incident->lost, out);
    if (lost)
        bytes_printf(out, " lost");
    if (lost && by_cause)
        put_causes(incident, out);
    if (share)
        bytes_printf(out, "%s%" PRIu64 " of %" PRIu64 " requests failed", lost ? ", " : "", failed,
                     failed + succeeded);
}
