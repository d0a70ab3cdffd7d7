/*
 * Copies records that can never be read to the dead-letter topic, with the headers reason, topic,
 * partition and offset. A record settles when the broker has acknowledged its copy.
 */
#ifndef RECEIVERS_KAFKA_DEAD_LETTERS_H
#define RECEIVERS_KAFKA_DEAD_LETTERS_H

#include "receivers/kafka/kafka.h"

struct dead_letters;
struct feed;

/* Requires self's dead_letter.topic. NULL: error is a sentence. */
struct dead_letters *dead_letters_open(struct kafka_receiver *self, char *error, size_t error_size);

/* Sends a copy of a record. Entry `number` of the feed's offsets settles when the broker
 * acknowledges the copy. False: no memory, or librdkafka refuses it, which is logged. */
bool dead_letters_send(struct dead_letters *letters, const rd_kafka_message_t *message,
                       const char *reason, struct feed *feed, uint64_t number);

/* Counts a record that could not be read and that no dead letter keeps. Any thread. */
void dead_letters_lack(struct kafka_receiver *self);

/* Handles acknowledgements. Call from one thread. Blocks for up to a second more, at most every 5
 * s, while the topic refuses copies. */
void dead_letters_poll(struct dead_letters *letters, int timeout_ms);

/* Waits some seconds for acknowledgements; records without one do not settle. May be NULL. */
void dead_letters_close(struct dead_letters *letters);

#endif
