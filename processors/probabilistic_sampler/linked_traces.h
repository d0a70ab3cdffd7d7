/*
 * The traces of which a span was linked lately, so that those of their spans that come later are
 * kept too. Made at the first; charged to the budget. Any thread.
 */
#ifndef PROCESSORS_PROBABILISTIC_SAMPLER_LINKED_TRACES_H
#define PROCESSORS_PROBABILISTIC_SAMPLER_LINKED_TRACES_H

#include "lib/base/budget.h"
#include "lib/base/view.h"

#include <pthread.h>

/* Traces of one age; after so many, or so long, the older of two ages is forgotten. */
enum { LINKED_TRACES_MOST = 16384 };
#define LINKED_TRACES_NS (120 * NS_PER_S)

struct linked_traces {
    struct budget *budget;
    pthread_mutex_t lock; /* guards the rest */
    uint64_t seed;
    uint64_t *young, *old; /* hashes in open addressing, 0: free; NULL: none was linked yet */
    size_t count;          /* in the young ones */
    uint64_t since;        /* mono, ns: when they began */
};

void linked_traces_init(struct linked_traces *traces, struct budget *budget);
void linked_traces_release(struct linked_traces *traces);

/* Notes a trace id of 16 bytes. now: mono, ns. Without memory, nothing is noted. */
void linked_traces_add(struct linked_traces *traces, const uint8_t id[16], uint64_t now);

bool linked_traces_has(struct linked_traces *traces, const uint8_t id[16], uint64_t now);

#endif
