/* Writes a request from held spans. Pure except for allocating the buffer. */
#ifndef PROCESSORS_CORRELATION_RELEASE_RELEASE_WRITE_H
#define PROCESSORS_CORRELATION_RELEASE_RELEASE_WRITE_H

#include "lib/base/buffer.h"
#include "processors/correlation/hold/hold.h"

/* The front part of a release list that fits one request: one outlet and metadata, and a limited
 * size. */
struct release_part {
    struct held *first;
    struct held *behind; /* the first span after it; NULL: none */
    uint32_t count;
};

/* Returns the first part of a list; at least one span. */
struct release_part release_part(struct held *first);

/* Writes the part. Adjacent spans of one resource (and scope) share one entry. Charged to the
 * budget even past its limit, since the spans were accepted. NULL: no memory. */
struct buffer *release_write(const struct release_part *part, const struct edit_policy *policy,
                             struct budget *budget);

#endif
