/* A pprof too large for its server, cut by samples into profiles that each stand alone. Pure. */
#ifndef LIB_WIRE_PPROF_PPROF_SPLIT_H
#define LIB_WIRE_PPROF_PPROF_SPLIT_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/pprof.h"

struct pprof_split {
    const struct pprof *pprof;
    size_t max_samples; /* a part; 0: no limit */
    size_t max_bytes;   /* a part, inflated; 0: no limit */
    size_t part;        /* parts written so far */
    size_t first;       /* the number, from 0, of the first sample of the part written last */
    size_t samples;     /* those in parts, and passed over */
    struct proto_scan at;
    struct pprof_tables *tables; /* index of the profile's tables, in the arena */
};

/* The profile has to be an open one and to outlive the split. False: the arena has no room (64
 * bytes a location, function and mapping, 8 a string). */
bool pprof_split_begin(struct pprof_split *split, const struct pprof *pprof, size_t max_samples,
                       size_t max_bytes, struct arena *arena);

/* True where the profile is within both limits and needs no splitting. */
bool pprof_split_fits(const struct pprof *pprof, size_t max_samples, size_t max_bytes);

/* Passes over samples from the start, before the first part is written. */
void pprof_split_pass(struct pprof_split *split, size_t samples);

/* Writes the next part to out (cleared first), with the strings, functions, locations and mappings
 * that its samples use, all other fields kept, and time_nanos moved on by as many nanoseconds as
 * samples stand before it, so that no two parts share labels and time, wherever cuts lie (a profile
 * without a time stays so).
 * False: no samples are left (*fault NULL), or *fault says why there is no part: out is full, or
 * cutting this profile would repeat so much in each part that its size would multiply. Unused
 * functions, locations, mappings and empty strings are in it only where all of them together are
 * small (then samples need no new numbers), and nowhere in a part that is the whole. A single
 * sample above max_bytes makes a part of its own. */
bool pprof_split_next(struct pprof_split *split, struct bytes *out, const char **fault);

#endif
