/* From a record to a batch. Any thread. */
#ifndef RECEIVERS_KAFKA_RECORD_H
#define RECEIVERS_KAFKA_RECORD_H

#include "receivers/kafka/kafka.h"

/* Reads a record of a signal; value: the message's, or that of all its parts. OK: *batch, or NULL:
 * the record is empty. RETRY: no memory now. REJECT: it can never be read, and the text says why.
 */
struct outcome record_read(const struct kafka_receiver *self, enum signal signal,
                           const rd_kafka_message_t *message, struct view value,
                           struct batch **batch);

/* The value of the first header with this name, in any case of letters; data NULL: none. */
struct view record_header(const rd_kafka_message_t *message, const char *name);

#endif
