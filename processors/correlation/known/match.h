/*
 * Whether the span ids in a service's samples are those of its spans. Where many ids in a row
 * belong to no span, and many spans in a row have no sample, they are not. Pure; not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_MATCH_H
#define PROCESSORS_CORRELATION_KNOWN_MATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Times are monotonic, 0: never. A zeroed one is that of a new service. */
struct match {
    uint64_t found; /* when an id last was that of a span */
    uint64_t since; /* when the first id came that is counted */
    uint64_t ids;   /* in samples, since one was found, ... */
    uint64_t spans; /* ... and spans without samples, since the first of these ids */
    bool differ;    /* the ids are not those of its spans */
    bool said;      /* that was logged */
};

/* Notes that ids came which had not come before. */
void match_note_ids(struct match *match, uint64_t count, uint64_t mono);

/* Notes that an id was that of a span, of any service. */
void match_note_found(struct match *match, uint64_t mono);

/* Notes a span that no sample of its time names. Returns whether the ids differ. remember: for how
 * long one that was found shows that they do not. */
bool match_note_span(struct match *match, uint64_t mono, uint64_t remember);

#endif
