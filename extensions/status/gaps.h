/*
 * Spans that ended at a time that no profile of their service has, although profiles from before
 * and after it came: an upload was lost, or the profiler sent none. Guarded by the watch's lock.
 */
#ifndef EXTENSIONS_STATUS_GAPS_H
#define EXTENSIONS_STATUS_GAPS_H

#include "extensions/status/known.h"

enum gap_is { GAP_COVERED, GAP_FOUND, GAP_UNKNOWN };

/* The end of the last window before a time and the start of the first after it, wall; before: its
 * serial. */
struct gap {
    uint64_t from, to;
    uint32_t before;
};

/* Whether a window of a service has a time; UNKNOWN: windows are forgotten or state no time, or
 * the time is not known (0). */
enum gap_is gap_find(const struct known *known, uint16_t service, uint64_t time, struct gap *gap);

/* Writes a sentence about a span that ended in a gap, then. */
void gap_tell(const struct gap *gap, uint64_t ended, char *out, size_t size);

#define GAP_FIX "Look in the profiler's log for uploads that failed."

/* Of each service, the spans of the last minutes. */
struct gaps {
    struct service_gaps {
        uint32_t linked,
            covered;           /* not linked, no sample names them, and a profile has their time */
        uint32_t spans, count; /* in gaps, and gaps with such */
        uint32_t last;         /* of the gap counted last */
    } of[KNOWN_SERVICES];
};
void gaps_count(const struct known *known, uint64_t now, struct gaps *gaps);

/* Whether most of a service's spans without samples are in gaps. */
bool gaps_are_most(const struct service_gaps *gaps);

/* Whether uploads must have been lost: an idle profiler, which may send none, would not explain
 * gaps with so many spans, of which samples name a part wherever a profile has their time. Then
 * writes a sentence. */
bool gaps_are_losses(const struct service_gaps *gaps, char *out, size_t size);

#endif
