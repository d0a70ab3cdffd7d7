/*
 * Who is whose child, for `children: inherit`: by span id its parent, or for a local root what
 * became of it. Bounded by id_table.h. Not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_ANCESTRY_H
#define PROCESSORS_CORRELATION_KNOWN_ANCESTRY_H

#include "processors/correlation/known/id_table.h"

enum ancestry {
    ANCESTRY_UNKNOWN, /* not seen, or an ancestor is not */
    ANCESTRY_CHILD,
    ANCESTRY_WAITING, /* of a local root that is not decided yet */
    ANCESTRY_LINKED,  /* of a linked one: word is the link's id */
    ANCESTRY_UNLINKED
};

/* The table is a wide one. id: the parent's (CHILD) or the link's (LINKED). */
void ancestry_note(struct id_table *table, uint64_t span, enum ancestry what, uint64_t id,
                   uint32_t second);

struct ancestry_step {
    enum ancestry what;
    uint64_t id;    /* as above */
    uint32_t noted; /* second */
};

/* One step: what is known of a span. */
struct ancestry_step ancestry_get(const struct id_table *table, uint64_t span, uint32_t second);

#endif
