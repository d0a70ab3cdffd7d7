/*
 * The span index: which span ids have samples, of which kinds, and how many. Filled by profiles,
 * bounded by id_table.h. Not thread-safe.
 */
#ifndef CORRELATION_SPAN_INDEX_H
#define CORRELATION_SPAN_INDEX_H

#include "processors/correlation/id_table.h"
#include "processors/correlation/kinds.h"

struct span_index {
    struct id_table table;
};

/* What is known of a span id; both figures stop at their largest value. */
struct span_figures {
    uint64_t id;      /* as the profile has it */
    uint32_t samples; /* sum of samples/count values, or rows where there is no such type */
    uint64_t cpu_ns;  /* sum of cpu/nanoseconds; 48 bits, 78 hours */
};

/* scope, of all three: the service's, since a link opens the profiles of its span's own service.
 */

/* Counts samples of a kind below KIND_OTHER. True: the id was not known before. */
bool span_index_add(struct span_index *index, uint64_t scope, const struct span_figures *figures,
                    enum kind kind, uint32_t second);

/* Whether a profile of one of these kinds has the id. */
bool span_index_find(const struct span_index *index, uint64_t scope, uint64_t id, unsigned kinds,
                     uint32_t second, struct span_figures *figures);

/* Notes that the span of a known id came; true: for the first time. */
bool span_index_meet(struct span_index *index, uint64_t scope, uint64_t id, uint32_t second);

#endif
