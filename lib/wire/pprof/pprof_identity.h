/*
 * A hash of a sample's stack and labels that is stable across all profiles of a process: it does
 * not depend on ids and string indices, which differ from profile to profile. 64 bits, so
 * collisions are improbable. Pure.
 */
#ifndef LIB_WIRE_PPROF_PPROF_IDENTITY_H
#define LIB_WIRE_PPROF_PPROF_IDENTITY_H

#include "lib/wire/pprof/pprof.h"

struct pprof_identified {
    uint64_t id;
    uint64_t identity;
};

struct pprof_identity {
    const struct pprof *pprof;
    struct pprof_identified *functions, *locations; /* by id */
    size_t function_count, location_count;
};

/* pprof must be open and outlive this. False: the arena has no room (16 bytes per function and
 * location). */
bool pprof_identity_open(struct pprof_identity *identity, const struct pprof *pprof,
                         struct arena *arena);

/* The hash of a sample. Ignores values and the order of labels. */
uint64_t pprof_identity_of(const struct pprof_identity *identity, const struct proto_field *sample);

#endif
