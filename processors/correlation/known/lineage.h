/*
 * Who is whose child, for `children: inherit`: by span id its parent, or for a local root what
 * became of it. Bounded by id_table.h. Not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_LINEAGE_H
#define PROCESSORS_CORRELATION_KNOWN_LINEAGE_H

#include "processors/correlation/known/id_table.h"

enum lineage {
    LINEAGE_UNKNOWN, /* not seen, or an ancestor is not */
    LINEAGE_CHILD,
    LINEAGE_WAITING, /* of a local root that is not decided yet */
    LINEAGE_LINKED,  /* of a linked one: word is the link's id */
    LINEAGE_UNLINKED
};

/* The table is a wide one. id: the parent's (CHILD) or the link's (LINKED). */
void lineage_note(struct id_table *table, uint64_t span, enum lineage what, uint64_t id,
                  uint32_t second);

struct lineage_step {
    enum lineage what;
    uint64_t id;    /* as above */
    uint32_t noted; /* second */
};

/* One step: what is known of a span. */
struct lineage_step lineage_get(const struct id_table *table, uint64_t span, uint32_t second);

#endif
