/* Repeated numbers of data points. For lib/ottl alone. */
#ifndef LIB_OTTL_COUNTS_H
#define LIB_OTTL_COUNTS_H

#include "lib/ottl/node.h"

struct counts {
    uint64_t *of; /* in the request's arena; NULL: no room */
    size_t count;
};

/* The numbers of a repeated field of a message, packed or not: varints, else 64 bits each. */
struct counts ottl_read_counts(struct ottl_run *run, struct view message, uint32_t number,
                               bool varints);

#endif
