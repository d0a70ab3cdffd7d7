/* Wraps librdkafka's producer: a send waits for the brokers' acknowledgements. */
#ifndef EXPORTERS_KAFKA_PRODUCER_H
#define EXPORTERS_KAFKA_PRODUCER_H

#include "exporters/kafka/kafka.h"

/* NULL: error is a sentence. */
struct producer *producer_new(struct kafka_exporter *self, char *error, size_t error_size);
void producer_free(struct producer *producer); /* may be NULL */

/* Sends records and waits until each has its result. While no broker acknowledges any record for
 * seconds, it says so by progress_stalls. Any thread. */
void producer_send(struct producer *producer, struct record *const *records, size_t count,
                   const struct progress *progress);

/* Whether brokers refuse records, because too few replicas of a topic are in sync; text is then a
 * sentence that names it. Blocks for up to some seconds. Any thread. */
bool producer_lacks_replicas(struct producer *producer, char *text, size_t size);

/* Asks for a topic's max.message.bytes; 0: not known. Blocks for up to some seconds. Any thread. */
size_t producer_ask_limit(struct producer *producer, const char *topic);

/* Waits for all sends, then replaces the client by one with the instance's batch_bytes. Any
 * thread. */
void producer_resize(struct producer *producer);

/* Ends all sends at once, also later ones. */
void producer_abort(struct producer *producer);

/* Asks the brokers about the topic of a signal: whether it exists; if records of spans and profiles
 * have the key of their process, whether it has as many partitions as the topic of the signal asked
 * about before; whether enough of its replicas are in sync; and whether it takes records as large
 * as this exporter sends. text is "" before.
 * False: text says what is wrong; else it has warnings or is "". Blocks. */
bool producer_probe(struct producer *producer, enum signal signal, char *text, size_t size);

#endif
