/*
 * What a cumulative profile has grown by since the last one of the same target, as Go's allocs,
 * mutex and block profiles need it before they are stored. Values of the types inuse_* are what is
 * there at the moment and stay as they are; those of all others are counted from the start of the
 * process. Pure but for its own memory of the last profile. One thread at a time.
 */
#ifndef LIB_WIRE_PPROF_PPROF_DELTA_H
#define LIB_WIRE_PPROF_PPROF_DELTA_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/pprof.h"

struct pprof_delta {
    struct bytes before; /* identity and cumulative values of each sample, by identity */
    uint64_t types;      /* of the last profile: what `before` has values of; 0: there was none */
};

enum pprof_delta_result {
    PPROF_DELTA_OK,
    PPROF_DELTA_EMPTY,  /* nothing has grown, and nothing is in use */
    PPROF_DELTA_NO_ROOM /* out, the memory or the arena is too small; the next one is a first one */
};

/* Remembers up to max bytes (8 a sample and 8 more for each of its cumulative values), charged to
 * the budget. Allocates nothing. */
void pprof_delta_init(struct pprof_delta *delta, size_t max, struct budget *budget);

/* Writes to out (empty) the growth of an open profile, with only the tables that it uses; time,
 * duration and all else of the profile stay. Cumulative values of a first profile are 0: how long
 * they took to grow is not known. So are those of one with other types than the last, and of one
 * where any sample has shrunk or is gone: then the process began anew. Samples of equal stack and
 * labels become one, and samples without a value fall away. */
enum pprof_delta_result pprof_delta_next(struct pprof_delta *delta, const struct pprof *pprof,
                                         struct arena *arena, struct bytes *out);

/* Forgets the last profile. Legal twice. */
void pprof_delta_release(struct pprof_delta *delta);

#endif
