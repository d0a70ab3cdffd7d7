/* Splits a pprof that is too large for its server by samples into independent profiles. Pure. */
#ifndef LIB_WIRE_PPROF_PPROF_SPLIT_H
#define LIB_WIRE_PPROF_PPROF_SPLIT_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/pprof.h"

struct pprof_split {
    const struct pprof *pprof;
    size_t max_samples; /* per part; 0: no limit */
    size_t max_bytes;   /* per part, inflated; 0: no limit */
    size_t part;        /* parts written so far */
    size_t first;       /* index of the first sample of the last written part */
    size_t samples;     /* samples written or skipped so far */
    struct proto_scan at;
    struct pprof_tables *tables; /* index of the profile's tables, in the arena */
};

/* pprof must be open and outlive the split. False: the arena has no room (64 bytes per location,
 * function and mapping, 8 per string). */
bool pprof_split_begin(struct pprof_split *split, const struct pprof *pprof, size_t max_samples,
                       size_t max_bytes, struct arena *arena);

/* True if the profile is within both limits. */
bool pprof_split_fits(const struct pprof *pprof, size_t max_samples, size_t max_bytes);

/* Skips samples from the start; call it before the first part is written. */
void pprof_split_pass(struct pprof_split *split, size_t samples);

/* Writes the next part to out (cleared first), with the strings, functions, locations and mappings
 * that its samples use, and all other fields. time_nanos, if set, is advanced by one nanosecond per
 * preceding sample, so that no two parts have equal labels and time, wherever the boundaries are.
 * Parts contain unused functions, locations, mappings and empty strings only if all tables together
 * are small (samples then keep their ids), but never if one part is the whole profile. A single
 * sample above max_bytes becomes a part of its own. False: no samples are left (*fault NULL), or
 * *fault says why there is no part: out is full, or the parts would repeat so much that the total
 * size would multiply. */
bool pprof_split_next(struct pprof_split *split, struct bytes *out, const char **fault);

#endif
