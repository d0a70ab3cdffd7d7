/* Applies the remap table to both signals. Pure; the texts of pairs are borrowed. */
#ifndef PROCESSORS_CORRELATION_KNOWN_REMAP_H
#define PROCESSORS_CORRELATION_KNOWN_REMAP_H

#include "lib/wire/edit/otlp_remap.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/pprof/series.h"

struct remap {
    struct remap_pair *pairs;
    size_t count;
};

/* Returns a Resource* entry without its scopes, as a request with that one entry. Data NULL: no
 * memory. */
struct view remap_bare(struct view entry, struct arena *arena);

/* Returns the entry of a bare request, remapped. Data NULL: no memory. */
struct view remap_header(const struct remap *remap, struct view bare, struct arena *arena);

/* Adds the table's labels to a series: takes it over and returns another, or the same. NULL: no
 * memory (the given one is released). */
struct series *remap_series(const struct remap *remap, struct series *series);

#endif
