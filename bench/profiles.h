/*
 * pprof profiles like an SDK's, with the same bytes in every run: stacks of 5 to 40 frames from a
 * call tree, a span_id label on each sample, and typical labels of services.
 */
#ifndef BENCH_PROFILES_H
#define BENCH_PROFILES_H

#include "pipeline/batch.h"

struct profiles {
    uint32_t samples;
    uint32_t functions; /* of the program; a location or two each */
    uint64_t first;     /* the samples' span ids are spans_id(first + i * step) */
    uint64_t step;
    uint32_t samples_each; /* consecutive samples with the same span id; 0: 1 */
    uint64_t time_ns, duration_ns;
};

/* Appends an uncompressed profile. */
void profiles_pprof(const struct profiles *profiles, struct bytes *out);

/* The profile as a checked batch, with __name__ process_cpu and service "shop". One reference. */
struct batch *profiles_batch(const struct profiles *profiles, struct budget *budget);

#endif
