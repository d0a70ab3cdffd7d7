/*
 * The span index: which span ids have samples, of which kinds, and how many. Filled from profiles,
 * bounded by id_table.h. Not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_SPAN_INDEX_H
#define PROCESSORS_CORRELATION_KNOWN_SPAN_INDEX_H

#include "processors/correlation/known/id_table.h"
#include "processors/correlation/known/kinds.h"

struct span_index {
    struct id_table table;
};

#define SPAN_CPU_MAX ((UINT64_C(1) << 48) - 1)

/* What is known of a span id; both sums saturate. */
struct span_figures {
    uint64_t id;      /* as in the profile */
    uint32_t samples; /* sum of samples/count values, or number of rows if there is no such type */
    bool timed;       /* its profile has CPU time; as found: any of them has */
    uint64_t cpu_ns;  /* sum of cpu/nanoseconds; 48 bits, 78 hours */
};

/* Makes the table with id_table_init. figures: samples and CPU time are kept; else they are 0 and
 * an id takes half the memory. */
void span_index_init(struct span_index *index, size_t max_bytes, bool figures, uint32_t remember,
                     uint64_t seed, struct budget *budget);

/* Returns an id's key within a scope; both byte orders of the id have the same key. */
uint64_t span_index_key(uint64_t id, uint64_t scope);

/* scope, in all functions: the service's, since a link opens the profiles of its span's own
 * service. */

/* Adds samples of a kind below KIND_OTHER. Of an id that has some of CPU time, those of other
 * profiles do not count: a profiler may send the same ones in several types. True: the id was
 * new. */
bool span_index_add(struct span_index *index, uint64_t scope, const struct span_figures *figures,
                    enum kind kind, uint32_t second);

/* Whether a profile of one of these kinds has the id. */
bool span_index_find(const struct span_index *index, uint64_t scope, uint64_t id, unsigned kinds,
                     uint32_t second, struct span_figures *figures);

/* The same for the id or its bytes in reversed order. */
bool span_index_find_either(const struct span_index *index, uint64_t scope, uint64_t id,
                            unsigned kinds, uint32_t second, struct span_figures *figures);

/* Prefetches an id that will be looked up soon. */
void span_index_prefetch(const struct span_index *index, uint64_t scope, uint64_t id);

/* Notes that the span of a known id arrived; true: for the first time. */
bool span_index_meet(struct span_index *index, uint64_t scope, uint64_t id, uint32_t second);

/* Whether an id has samples, and its span has not arrived. */
bool span_index_is_unmet(const struct span_index *index, uint64_t scope, uint64_t id,
                         uint32_t second);

/* Whether samples with this id that arrived since a second may have been evicted. */
bool span_index_lost(const struct span_index *index, uint64_t scope, uint64_t id, uint32_t since);

#endif
