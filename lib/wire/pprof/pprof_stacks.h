/*
 * The stacks of a pprof's samples, as names of functions. A frame without symbols, whose location
 * has an address but no line, is named as Pyroscope's symbolizer names one that it cannot resolve:
 * "libc.so.6!0x1a2b", the base name of the mapping's file and the address. Pure.
 */
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

struct pprof_stack_mapping {
    uint64_t id;
    uint32_t file; /* index of the string table */
};

struct pprof_stacks {
    const struct pprof *pprof;
    struct pprof_stack_location *locations; /* by id */
    struct pprof_stack_function *functions; /* by id */
    struct pprof_stack_mapping *mappings;   /* by id */
    size_t location_count, function_count, mapping_count;
    uint32_t *frames; /* names, a location's innermost first */
    size_t frame_count;
    struct view *addresses; /* names of the frames without symbols */
    size_t address_count;
};

/* Indexes an open profile; the names of frames without symbols are in the arena. False: it has no
 * room. */
bool pprof_stacks_open(struct pprof_stacks *stacks, const struct pprof *pprof, struct arena *arena);

/* Fills names with the frames of a sample, the leaf first, and returns how many. Of more than max
 * frames those nearest to the leaf are left out, so that the stack still begins at its root; *cut
 * then is true. A location with neither line nor address has no frame. */
size_t pprof_stacks_read(const struct pprof_stacks *stacks, const struct pprof_sample *sample,
                         uint32_t *names, size_t max, bool *cut);

/* How many names there are: those that pprof_stacks_read gives are below it. */
static inline size_t pprof_stacks_names(const struct pprof_stacks *stacks)
{
    return stacks->pprof->string_count + stacks->address_count;
}

/* The text of a name; empty: the profile does not say. */
static inline struct view pprof_stacks_text(const struct pprof_stacks *stacks, uint32_t name)
{
    size_t strings = stacks->pprof->string_count;
    return name < strings ? pprof_string_at(stacks->pprof, name)
                          : stacks->addresses[name - strings];
}

#endif
