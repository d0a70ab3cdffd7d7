/* Names of the functions in a pprof's samples, for display. Pure. */
#ifndef LIB_WIRE_PPROF_PPROF_SYMBOLS_H
#define LIB_WIRE_PPROF_PPROF_SYMBOLS_H

#include "lib/wire/pprof/pprof.h"

struct pprof_symbol {
    uint64_t id;
    uint64_t value; /* locations: the function's id; functions: the name's string index */
};

struct pprof_symbols {
    const struct pprof *pprof;
    struct pprof_symbol *locations, *functions; /* by id */
    size_t location_count, function_count;
};

/* Indexes an open profile. False: the arena has no room. */
bool pprof_symbols_open(struct pprof_symbols *symbols, const struct pprof *pprof,
                        struct arena *arena);

/* The function of a sample's leaf frame (the innermost if inlined); empty: unknown. */
struct view pprof_symbols_leaf(const struct pprof_symbols *symbols,
                               const struct pprof_sample *sample);

#endif
