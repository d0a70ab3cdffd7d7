/* A request written from held spans. Pure but for the buffer. */
#ifndef PROCESSORS_CORRELATION_RELEASE_RELEASE_WRITE_H
#define PROCESSORS_CORRELATION_RELEASE_RELEASE_WRITE_H

#include "lib/base/buffer.h"
#include "processors/correlation/hold/hold.h"

/* The front part of a release list that may stand in one request: of one outlet and metadata, and
 * of a limited size. */
struct release_part {
    struct held *first;
    struct held *behind; /* the first one behind it; NULL: none */
    uint32_t count;
};

/* The first part of a list; at least one span. */
struct release_part release_part(struct held *first);

/* Spans of one resource (and scope) in a row share one entry. Charged to the budget, past its
 * limit too, since the spans were accepted. NULL: no memory. */
struct buffer *release_write(const struct release_part *part, const struct edit_policy *policy,
                             struct budget *budget);

#endif
