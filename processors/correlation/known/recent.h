/*
 * Spans that left unlinked a moment ago, to notice samples that arrive too late; the rules learn
 * from these. A table of a fixed size in which new spans replace old ones; of many children only
 * some are noted. Not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_RECENT_H
#define PROCESSORS_CORRELATION_KNOWN_RECENT_H

#include "processors/correlation/known/services.h"

enum recent_what {
    RECENT_NONE,
    RECENT_CHILD,   /* passed at once, since it is not a local root */
    RECENT_UNLINKED /* given up, or passed since its service's samples have no span ids */
};

struct recent_entry {
    uint64_t key;   /* of the id and its service; 0: free */
    uint64_t ended; /* local time << 2 | enum recent_what */
};

struct recent {
    struct recent_entry *entries; /* NULL until the first span */
    uint64_t seed;                /* random, so that nobody can choose ids that collide */
    struct budget *budget;        /* borrowed */
};

void recent_init(struct recent *recent, uint64_t seed, struct budget *budget);
void recent_release(struct recent *recent);

/* Whether a child that passes should be noted: in each second the first 64 of a service, then one
 * in sixteen. second: of now, any origin. */
static inline bool recent_wants_child(struct service *service, uint64_t id, uint32_t second)
{
    if (service->note_second != second) {
        service->note_second = second;
        service->noted = 0;
    }
    return (id & 0x0f) == 0 || service->noted++ < 64;
}

/* Notes a span. ended: local time. Does nothing without memory. */
void recent_note(struct recent *recent, const struct service *service, uint64_t id,
                 enum recent_what what, uint64_t ended);

/* Returns how the span left, once; *ended as noted. */
enum recent_what recent_take(struct recent *recent, const struct service *service, uint64_t id,
                             uint64_t *ended);

#endif
