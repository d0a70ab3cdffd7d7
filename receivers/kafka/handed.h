/* A record on its way: its batch, the number in its feed's ledger, and the receipt that settles
 * it. */
#ifndef RECEIVERS_KAFKA_HANDED_H
#define RECEIVERS_KAFKA_HANDED_H

#include "receivers/kafka/reader.h"

/* Prepares a batch (taken over), which settles `count` entries of the feed's ledger; 0: profiles
 * for their ids only. NULL: no memory, the batch is freed. */
struct handed *handed_new(struct feed *feed, struct batch *batch, const uint64_t *numbers,
                          size_t count);

/* Offers it to the pipelines. RETRY: it is still the caller's, to be offered again. Otherwise it is
 * gone; with REJECT all of its entries but the last one settle, and that is the caller's: *number.
 */
struct outcome handed_offer(struct handed *handed, uint64_t *number);

/* Drops one that was answered RETRY; it is not settled. */
void handed_drop(struct handed *handed, enum cause cause);

#endif
