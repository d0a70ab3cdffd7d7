/* Writes a request from held spans. Pure except for allocating the buffer. */
#ifndef PROCESSORS_CORRELATION_RELEASE_RELEASE_WRITE_H
#define PROCESSORS_CORRELATION_RELEASE_RELEASE_WRITE_H

#include "lib/base/buffer.h"
#include "lib/base/heap.h"
#include "processors/correlation/hold/hold.h"

/* Messages of a part, bytes: at most, so that a request is smaller than what has a mapping of its
 * own, whose pages would all be new; and while memory is short. */
enum { RELEASE_PART_MAX = HEAP_MAPPED - (32 << 10), RELEASE_PART_SHORT = 256 << 10 };

/* The front part of a release list that fits one request: one outlet and metadata, and a limited
 * size. */
struct release_part {
    struct held *first;
    struct held *behind; /* the first span after it; NULL: none */
    uint32_t count;
    size_t bytes; /* of its messages */
    size_t work;  /* memory that writing it takes for a moment, besides the request */
};

/* Returns the first part of a list; at least one span, further ones up to this many bytes. */
struct release_part release_part(struct held *first, size_t most);

/* Writes the part. Adjacent spans of one resource (and scope) share one entry. Charged to the
 * budget even past its limit, since the spans were accepted. NULL: no memory. */
struct buffer *release_write(const struct release_part *part, const struct edit_policy *policy,
                             struct budget *budget);

#endif
