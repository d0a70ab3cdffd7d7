/*
 * The places of this process's static members. A broker gives the place of a static member to
 * whoever joins last with its group_instance_id, and refuses the commits of the one before. So a
 * receiver that a reload has replaced gives its place up, with what it read delivered and
 * committed, before its successor joins.
 */
#ifndef RECEIVERS_KAFKA_PLACES_H
#define RECEIVERS_KAFKA_PLACES_H

#include <stdbool.h>

struct kafka_receiver;

struct kafka_place {
    const struct kafka_receiver *self;
    struct kafka_place *next;
};

/* Takes the place of a receiver's member, which need not be static. The caller keeps `place` until
 * it gives it back. False: another receiver of the process has it. Any thread. */
bool kafka_place_take(struct kafka_place *place, const struct kafka_receiver *self);

/* Gives a place back, which must have been taken. Any thread. */
void kafka_place_give(struct kafka_place *place);

#endif
