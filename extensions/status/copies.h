/* Tells spans that came before from new ones: the newest, by a hash. */
#ifndef EXTENSIONS_STATUS_COPIES_H
#define EXTENSIONS_STATUS_COPIES_H

#include <stdbool.h>
#include <stdint.h>

/* Each hash has a set of COPIES_WAYS places, of which the one used longest ago gives way: so with
 * fewer spans than a fraction of COPIES between them, hardly any two copies count as two. */
enum { COPIES = 1 << 16, COPIES_WAYS = 4 };

/* LINKED: it, or a copy before, was linked. */
enum copy_is { COPY_NEW, COPY_UNLINKED, COPY_LINKED };

/* Notes a span in a zeroed table of COPIES. anew: what was known of it is forgotten. Returns what
 * was known. */
enum copy_is copies_put(uint64_t *table, uint64_t hash, bool linked, bool anew);

#endif
