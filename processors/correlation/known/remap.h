/* The remap table at work on both signals. Pure; the texts of pairs are borrowed. */
#ifndef PROCESSORS_CORRELATION_KNOWN_REMAP_H
#define PROCESSORS_CORRELATION_KNOWN_REMAP_H

#include "lib/wire/edit/otlp_remap.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/pprof/series.h"

struct remap {
    struct remap_pair *pairs;
    size_t count;
};

/* All of a Resource* entry but its scopes, as a request of that one entry. Data NULL: no room. */
struct view remap_bare(struct view entry, struct arena *arena);

/* The entry of a bare request, remapped. Data NULL: no room. */
struct view remap_header(const struct remap *remap, struct view bare, struct arena *arena);

/* Series with the labels that the table adds: taken over and another one returned, or the same.
 * NULL: no memory (and the one given is gone). */
struct series *remap_series(const struct remap *remap, struct series *series);

#endif
