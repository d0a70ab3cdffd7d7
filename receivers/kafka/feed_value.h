/* The value of a feed's next record, of which a large one comes in several records. Call on the
 * lane's worker. */
#ifndef RECEIVERS_KAFKA_FEED_VALUE_H
#define RECEIVERS_KAFKA_FEED_VALUE_H

#include "receivers/kafka/reader.h"

struct feed_value {
    struct view value;              /* the head's own, or that of all its parts joined */
    struct partial_record *partial; /* NULL: the head is no part, or one that came before */
    bool whole;                     /* nothing is missing */
};

/* Finds the head's value. RETRY: no memory. REJECT: a part whose earlier parts are missing. */
struct outcome feed_value(struct feed *feed, struct feed_value *found);

/* Drops a value that is incomplete, and settles the parts that were read. */
void feed_drop_partial(struct feed *feed, struct partial_record *partial);

/* Refuses values whose parts have not arrived for PARTS_WAIT_NS: counts and logs them, and sends
 * what came of them to the dead-letter topic. */
void feed_expire_parts(struct feed *feed);

#endif
