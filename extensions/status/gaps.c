#include "extensions/status/gaps.h"

#include "extensions/status/known_find.h"
#include "extensions/status/reason.h"

#include <inttypes.h>
#include <stdio.h>

#define RECENT     (600 * NS_PER_S)
#define GAP_LEAST  (3 * NS_PER_S / 2) /* windows of /ingest have whole seconds */
#define CLOCK_STEP NS_PER_S           /* how far an arrival may seem to be before a window's end */

/* A loss is told from so many gaps and spans on, where so many spans of each gap should have had
 * samples. */
enum { LOSSES_LEAST = 3, LOST_SPANS_LEAST = 10, NAMED_LEAST = 7 };

/* The windows of each service, the newest first. */
struct gap_chains {
    uint32_t newest[KNOWN_SERVICES], before[KNOWN_WINDOWS];
};

static uint32_t gap_oldest(const struct known *known)
{
    return known->window_serial >= KNOWN_WINDOWS ? known->window_serial - KNOWN_WINDOWS + 1 : 1;
}

static struct gap_chains gap_chains_of(const struct known *known)
{
    struct gap_chains chains = {0};
    for (uint32_t i = gap_oldest(known); i <= known->window_serial; i++) {
        uint16_t service = known->windows[i % KNOWN_WINDOWS].service;
        chains.before[i % KNOWN_WINDOWS] = chains.newest[service];
        chains.newest[service] = i;
    }
    return chains;
}

/* A gap is longer than what lies between two windows that follow one another. */
static bool gap_is_long(const struct gap *gap, uint64_t shortest)
{
    uint64_t length = gap->to - gap->from;
    return length >= GAP_LEAST && length >= shortest / 2;
}

static enum gap_is gap_find_in(const struct known *known, const struct gap_chains *chains,
                               uint16_t service, uint64_t time, struct gap *gap)
{
    uint64_t shortest = UINT64_MAX;
    *gap = (struct gap){0};
    if (!service || !time || known->services[service]->apart_run)
        return GAP_UNKNOWN;
    uint32_t serial = chains->newest[service];
    for (; serial; serial = chains->before[serial % KNOWN_WINDOWS]) {
        const struct known_window *window = &known->windows[serial % KNOWN_WINDOWS];
        uint64_t ahead = known_ahead(window->end, window->arrived);
        uint64_t start = window->start - ahead, end = window->end - ahead;
        bool timed = window->start && end > start;
        bool past = window->arrived + CLOCK_STEP < time; /* as all before it */
        if (!timed && !past)
            return GAP_UNKNOWN;
        if (timed && start <= time && end >= time)
            return GAP_COVERED;
        if (timed && end - start < shortest)
            shortest = end - start;
        if (timed && start > time && (!gap->to || start < gap->to))
            gap->to = start;
        if (timed && end < time && end > gap->from) {
            gap->from = end;
            gap->before = serial;
        }
        if (past)
            break;
    }
    if (!gap->from || !gap->to)
        return GAP_UNKNOWN;
    return gap_is_long(gap, shortest) ? GAP_FOUND : GAP_COVERED;
}

enum gap_is gap_find(const struct known *known, uint16_t service, uint64_t time, struct gap *gap)
{
    struct gap_chains chains = gap_chains_of(known);
    return gap_find_in(known, &chains, service, time, gap);
}

void gap_tell(const struct gap *gap, uint64_t ended, char *out, size_t size)
{
    snprintf(out, size,
             "No profile of its time has come: one ends %.1f s before the span's end, and the next "
             "begins %.1f s after it. An upload was lost, or the profiler sent none while the "
             "process was idle.",
             (double)(ended - gap->from) / 1e9, (double)(gap->to - ended) / 1e9);
}

static void gaps_add(const struct known *known, const struct gap_chains *chains,
                     const struct known_span *span, struct service_gaps *gaps)
{
    struct gap gap;
    if (span->action == WATCH_LINKED) {
        gaps->linked++;
        return;
    }
    if (span->first_window || !known->reasons[span->told] ||
        !reason_is_unnamed(known->reasons[span->told]))
        return;
    enum gap_is found = gap_find_in(known, chains, span->service, reason_ended(span), &gap);
    gaps->covered += found == GAP_COVERED;
    if (found != GAP_FOUND)
        return;
    gaps->spans++;
    gaps->count += gaps->last != gap.before; /* a gap's spans are decided together */
    gaps->last = gap.before;
}

void gaps_count(const struct known *known, uint64_t now, struct gaps *gaps)
{
    struct gap_chains chains = gap_chains_of(known);
    *gaps = (struct gaps){0};
    for (uint32_t i = 0; i < known->span_count; i++) {
        const struct known_span *span = known_at(known, i);
        if (span->decided && span->decided + RECENT > now)
            gaps_add(known, &chains, span, &gaps->of[span->service]);
    }
}

bool gaps_are_most(const struct service_gaps *gaps)
{
    return gaps->spans > gaps->covered;
}

bool gaps_are_losses(const struct service_gaps *gaps, char *out, size_t size)
{
    uint64_t covered = (uint64_t)gaps->linked + gaps->covered;
    if (gaps->count < LOSSES_LEAST || gaps->spans < LOST_SPANS_LEAST || !covered ||
        (uint64_t)gaps->spans * gaps->linked < NAMED_LEAST * covered * gaps->count)
        return false;
    snprintf(out, size,
             "Of the spans of the last 10 minutes, %" PRIu32 " ended in %" PRIu32
             " gaps between its profiles: uploads were lost.",
             gaps->spans, gaps->count);
    return true;
}
