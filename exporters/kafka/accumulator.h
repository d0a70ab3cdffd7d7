/*
 * Records that wait to be given to librdkafka together. librdkafka 2 polls without a pause while
 * records of a partition wait for five or more in flight, and in the last millisecond of linger.ms.
 * So it gets records only when it can send them at once, and these wait here.
 */
#ifndef EXPORTERS_KAFKA_ACCUMULATOR_H
#define EXPORTERS_KAFKA_ACCUMULATOR_H

#include "exporters/kafka/kafka.h"

#include <pthread.h>

struct accumulator {
    pthread_mutex_t lock;
    struct record *first, **end; /* linked by next */
    size_t count, bytes;
    uint64_t taken; /* when records were last taken, mono; 0: never */
    bool lent;      /* records were taken: the next accumulator_take comes by itself */
    uint64_t linger;
    size_t most, most_bytes; /* of records that are taken together; a few are taken of any size */
};

void accumulator_init(struct accumulator *accumulator);
void accumulator_release(struct accumulator *accumulator);

/* Sets the limits; only while it is empty. linger: ns; most: 0: none. */
void accumulator_set(struct accumulator *accumulator, uint64_t linger, size_t most,
                     size_t most_bytes);

/* Adds records, which stay the caller's. True: wake who waits for the linger of those before, as
 * there are enough now. Any thread. */
bool accumulator_add(struct accumulator *accumulator, struct record *const *records, size_t count);

/* Takes the records that are due, linked by next: none were taken for linger, or there are enough.
 * NULL: none; *wait_ms says when some will be, unless more are added, at most as it says
 * before. Call it only once the brokers have answered for all that were taken before. */
struct record *accumulator_take(struct accumulator *accumulator, uint64_t now, int *wait_ms);

/* Bytes of a record as this counts them: about what it takes in a batch. */
size_t accumulator_size(const struct record *record);

#endif
