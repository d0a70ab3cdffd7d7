/* Converts Kafka records to batches. Any thread. */
#ifndef RECEIVERS_KAFKA_RECORD_H
#define RECEIVERS_KAFKA_RECORD_H

#include "receivers/kafka/kafka.h"

/* Reads a record. value: the message's, or that of all its parts joined. OK: *batch is NULL if the
 * record has no items. RETRY: no memory now. REJECT: the record can never be read; the outcome's
 * text is the reason. */
struct outcome record_read(const struct kafka_receiver *self, enum signal signal,
                           const rd_kafka_message_t *message, struct view value,
                           struct batch **batch);

/* Returns the value of the first header with this name, ignoring case; data NULL: none. */
struct view record_header(const rd_kafka_message_t *message, const char *name);

#endif
