/* A record that is on its way through the pipelines: its batch, its entry in the feed's offsets,
 * and the receipt that settles the entry. */
#ifndef RECEIVERS_KAFKA_IN_FLIGHT_H
#define RECEIVERS_KAFKA_IN_FLIGHT_H

#include "receivers/kafka/reader.h"

/* Takes over a batch, whose delivery settles `count` entries of the feed's offsets; 0: profiles
 * that are read only for their span ids. NULL: no memory; the batch is released. */
struct in_flight *in_flight_new(struct feed *feed, struct batch *batch, const uint64_t *numbers,
                                size_t count);

/* Offers the batch to the pipelines. RETRY: the caller keeps it and offers it again. Otherwise it
 * is freed. After REJECT all its entries have settled except the last, *number, which the caller
 * settles. */
struct outcome in_flight_offer(struct in_flight *in_flight, uint64_t *number);

/* Frees a record whose offer was answered RETRY. Its entries do not settle. */
void in_flight_drop(struct in_flight *in_flight, enum cause cause);

#endif
