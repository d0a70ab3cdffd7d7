/*
 * Spans that left without a link a moment ago, so that a sample which comes too late is noticed:
 * then the rules learn. Bounded, and a part of the children only where there are many. Not
 * thread-safe.
 */
#ifndef CORRELATION_RECENT_H
#define CORRELATION_RECENT_H

#include "processors/correlation/services.h"
#include "processors/correlation/span_index.h"

struct recent {
    struct id_table table;
};

enum recent_what {
    RECENT_NONE,
    RECENT_CHILD,   /* passed at once, since it is no local root */
    RECENT_UNLINKED /* given up, or passed since its service's samples name no spans */
};

struct recent_now {
    uint64_t mono;
    uint32_t second;
};

void recent_init(struct recent *recent, uint64_t seed, struct budget *budget);
void recent_release(struct recent *recent);

/* ended: local time. */
void recent_note(struct recent *recent, struct service *service, uint64_t id, enum recent_what what,
                 uint64_t ended, uint32_t second);

/* What became of the span; *ended as noted, to the millisecond. Each is told once. */
enum recent_what recent_take(struct recent *recent, const struct service *service, uint64_t id,
                             struct recent_now now, uint64_t *ended);

#endif
