/*
 * A number for what a sample stands for, its stack and labels, that is the same in every profile of
 * a process: ids and string indices, which writers hand out anew each time, do not go into it. Two
 * that differ have the same number with the odds of 64 random bits. Pure.
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

/* The profile has to be an open one and to outlive this. False: the arena has no room (16 bytes a
 * function and location). */
bool pprof_identity_open(struct pprof_identity *identity, const struct pprof *pprof,
                         struct arena *arena);

/* The order of labels does not matter, nor do values. */
uint64_t pprof_identity_of(const struct pprof_identity *identity, const struct proto_field *sample);

#endif
