/*
 * The dead-letter topic: records that can never be read, with the reason and where they were found
 * as headers. A record settles when its letter was acknowledged.
 */
#ifndef RECEIVERS_KAFKA_LETTERS_H
#define RECEIVERS_KAFKA_LETTERS_H

#include "receivers/kafka/kafka.h"

struct letters;
struct feed;

/* NULL: error is a sentence. self's dead_letter.topic is set. */
struct letters *letters_open(struct kafka_receiver *self, char *error, size_t error_size);

/* Sends a copy of a record; `number` of the feed's ledger settles when the broker has it. False: it
 * cannot be queued now; try again. */
bool letters_send(struct letters *letters, const rd_kafka_message_t *message, const char *reason,
                  struct feed *feed, uint64_t number);

/* Serves acknowledgements; from one thread. */
void letters_poll(struct letters *letters, int timeout_ms);

/* Gives up what is not acknowledged. May be NULL. */
void letters_close(struct letters *letters);

#endif
