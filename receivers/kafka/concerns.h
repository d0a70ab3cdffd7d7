/* What an operator should see of the kafka receiver though it reads: lanes that are far behind, and
 * records that were lost lately. Any thread. */
#ifndef RECEIVERS_KAFKA_CONCERNS_H
#define RECEIVERS_KAFKA_CONCERNS_H

#include "receivers/kafka/group.h"

/* Returns how many records of a feed an open transaction of another producer holds back. */
int64_t feed_held(struct feed *feed);

/* Appends why a lane may be behind the present (now: unix ns): "queues are full ...". False: it is
 * not, or only has records to read. Under the group's lock. */
bool reader_put_wait(struct reader *reader, uint64_t now, struct bytes *out);

/* Returns how far the clock of a lane is behind the present, ns; 0: it is not, or has none yet. */
uint64_t reader_behind(const struct reader *reader, uint64_t now);

/* The component's concern. */
bool kafka_receiver_concern(void *instance, struct bytes *out);

#endif
