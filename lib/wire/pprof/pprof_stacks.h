/* The stacks of a pprof's samples, as names of functions. Pure. */
#ifndef LIB_WIRE_PPROF_PPROF_STACKS_H
#define LIB_WIRE_PPROF_PPROF_STACKS_H

#include "lib/wire/pprof/pprof.h"

struct pprof_stack_location {
    uint64_t id;
    uint32_t first, count; /* of the frames; several where functions were inlined */
};

struct pprof_stack_function {
    uint64_t id;
    uint32_t name; /* index of the string table */
};

struct pprof_stacks {
    const struct pprof *pprof;
    struct pprof_stack_location *locations; /* by id */
    struct pprof_stack_function *functions; /* by id */
    size_t location_count, function_count;
    uint32_t *frames; /* indices of the string table, a location's innermost first */
    size_t frame_count;
};

/* Indexes an open profile. False: the arena has no room. */
bool pprof_stacks_open(struct pprof_stacks *stacks, const struct pprof *pprof, struct arena *arena);

/* Fills names with the frames of a sample, indices of the string table, the leaf first; returns
 * how many. A location without a line has none, as in Pyroscope. Of more than max frames those
 * nearest to the leaf are left out, so that the stack still begins at its root; *cut then is true.
 */
size_t pprof_stacks_read(const struct pprof_stacks *stacks, const struct pprof_sample *sample,
                         uint32_t *names, size_t max, bool *cut);

#endif
