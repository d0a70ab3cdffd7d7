/* Size limits of topics that a broker told by refusing a record. Any thread. */
#ifndef EXPORTERS_KAFKA_TOPIC_LIMITS_H
#define EXPORTERS_KAFKA_TOPIC_LIMITS_H

#include "exporters/kafka/kafka.h"

/* The size limit of a topic's records: producer.max_message_bytes, unless a lower one was set. */
size_t topic_limit(const struct kafka_exporter *self, const char *topic);

/* Pure. The limit after a broker refused a record for its size. limit: the one it was made with.
 * together: bytes of all records that its batch may have had; 0: not known. told: the topic's
 * max.message.bytes; 0: not known. */
size_t topic_limit_next(size_t limit, size_t together, size_t told);

/* Sets a lower limit. False: it has that or a lower one already, or no memory. */
bool topic_limit_lower(struct kafka_exporter *self, const char *topic, size_t bytes);

/* Lowers batch_bytes. False: it is as low. */
bool batch_bytes_lower(struct kafka_exporter *self, size_t bytes);

void topic_limits_release(struct kafka_exporter *self);

#endif
