/*
 * Computes the growth of a cumulative profile since the previous one of the same target, as needed
 * for Go's allocs, mutex and block profiles. Values of the types inuse_* are momentary and stay
 * unchanged; all others count from the start of the process. Keeps state from the previous profile.
 * One thread at a time.
 */
#ifndef LIB_WIRE_PPROF_PPROF_DELTA_H
#define LIB_WIRE_PPROF_PPROF_DELTA_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/pprof.h"

struct pprof_delta {
    struct bytes before; /* identity and cumulative values of each sample, sorted by identity */
    uint64_t types;      /* hash of the types that `before` has values of; 0: no previous profile */
};

enum pprof_delta_result {
    PPROF_DELTA_OK,
    PPROF_DELTA_EMPTY,  /* nothing has grown and nothing is in use */
    PPROF_DELTA_NO_ROOM /* out, the state or the arena is full; the next profile counts as the first
                         */
};

/* Initialises; state may take up to max bytes (8 per sample and 8 per cumulative value), charged to
 * the budget. Allocates nothing yet. */
void pprof_delta_init(struct pprof_delta *delta, size_t max, struct budget *budget);

/* Writes the growth of an open profile to out, which must be empty, with only the table entries
 * that it uses; time, duration and everything else are kept. Cumulative values of the first profile
 * are 0, as the time in which they accumulated is unknown. The same applies if the types changed,
 * or if any sample has shrunk or disappeared, which means that the process restarted. Samples with
 * equal stack and labels are merged, samples without values are dropped. */
enum pprof_delta_result pprof_delta_next(struct pprof_delta *delta, const struct pprof *pprof,
                                         struct arena *arena, struct bytes *out);

/* Frees the state. May be called repeatedly. */
void pprof_delta_release(struct pprof_delta *delta);

#endif
