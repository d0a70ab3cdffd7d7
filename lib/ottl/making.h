/* A metric that is made of another one. For lib/ottl alone. */
#ifndef LIB_OTTL_MAKING_H
#define LIB_OTTL_MAKING_H

#include "lib/ottl/function.h"
#include "lib/wire/proto/proto_write.h"

struct making {
    struct bytes out;
    struct proto_write write;
    size_t metric, data;
};

/* Begins a metric with the name and the description of another one, up to its data, whose field
 * number is `number`. unit: NULL: that of the other. note: what is appended in brackets to
 * the other's description, or is the description if it has none; NULL: nothing. */
void making_begin(struct making *making, const struct record *metric, struct view suffix,
                  const char *unit, const char *note, uint32_t number);

/* Ends it, and adds it to the request if it is wanted. The run may have failed. */
void making_end(struct making *making, struct ottl_run *run, const struct ottl_node *call,
                bool wanted);

/* Writes the attributes, in field `list`, and the times of a data point as those of a
 * NumberDataPoint. list: 0: without attributes. */
void making_copy_frame(struct making *making, struct view point, uint32_t list);

/* Adds a metric, its field as it is in ScopeMetrics. */
void making_add(struct ottl_run *run, const struct ottl_node *call, struct view field);

#endif
