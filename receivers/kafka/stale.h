/*
 * Assignments of a former configuration. If a member with a group_instance_id joins again within
 * session_timeout, the broker gives it the assignment that it had, without a rebalance, whatever it
 * subscribes to now. If that does not match the topics, nothing is read, and the member leaves the
 * group and joins it anew, which rebalances it.
 */
#ifndef RECEIVERS_KAFKA_STALE_H
#define RECEIVERS_KAFKA_STALE_H

#include "lib/kafka/rdkafka.h"

struct kafka_group;

struct stale {
    uint64_t again_at; /* when to join anew, mono; 0: never */
    unsigned wait_s;   /* before that */
    unsigned lacking;  /* how many assignments of this client without a topic may still be stale */
    char why[256];     /* what is wrong with the last assignment; "": nothing */
};

/* The group's thread calls all of this. Subscribes to the topics. */
rd_kafka_resp_err_t group_subscribe(struct kafka_group *group);

/* When a client is new: its first assignment may be stale. */
void stale_begin(struct kafka_group *group);

/* Whether an assignment is stale. Then it must not be read; the phase and group->stale are set.
 * Logs when that begins and when it is over. */
bool stale_is(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list);

/* Leaves the group and joins it anew if it is time to. */
void stale_join_anew(struct kafka_group *group);

#endif
