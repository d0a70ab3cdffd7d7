/*
 * Which span is whose child, for `children: inherit`: maps a span id to its parent, or a local root
 * to its decision. Bounded by id_table.h. Not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_ANCESTRY_H
#define PROCESSORS_CORRELATION_KNOWN_ANCESTRY_H

#include "processors/correlation/known/id_table.h"

enum ancestry {
    ANCESTRY_UNKNOWN, /* not seen, or an ancestor was not */
    ANCESTRY_CHILD,
    ANCESTRY_WAITING, /* below a local root that is undecided */
    ANCESTRY_LINKED,  /* below a linked one: word is the link's id */
    ANCESTRY_UNLINKED
};

/* Notes a span in the table, which is a wide one. id: the parent's (CHILD) or the link's
 * (LINKED). */
void ancestry_note(struct id_table *table, uint64_t span, enum ancestry what, uint64_t id,
                   uint32_t second);

struct ancestry_step {
    enum ancestry what;
    uint64_t id;    /* as above */
    uint32_t noted; /* second */
};

/* Returns what is known of one span, without following its parents. */
struct ancestry_step ancestry_get(const struct id_table *table, uint64_t span, uint32_t second);

#endif
