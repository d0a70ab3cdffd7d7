/*
 * pprof profiles as an SDK sends them, the same bytes in every run: stacks of 5 to 40 frames drawn
 * from a call tree, a span_id label on each sample, and the labels that services add.
 */
#ifndef BENCH_PROFILES_H
#define BENCH_PROFILES_H

#include "pipeline/batch.h"

struct profiles {
    uint32_t samples;
    uint32_t functions; /* of the program; a location or two each */
    uint64_t first;     /* the samples' span ids are spans_id(first + i * step) */
    uint64_t step;
    uint32_t samples_each; /* samples in a row with one span id; 0: 1 */
    uint64_t time_ns, duration_ns;
};

/* Appends an inflated profile. */
void profiles_pprof(const struct profiles *profiles, struct bytes *out);

/* The profile as it comes out of the check, of process_cpu and the service "shop". */
struct batch *profiles_batch(const struct profiles *profiles, struct budget *budget);

#endif
