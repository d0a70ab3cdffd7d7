/*
 * The consumer and its thread: joins the group, makes readers of the partitions that it is
 * assigned, commits what they settled, and ends them when they are revoked.
 */
#ifndef RECEIVERS_KAFKA_GROUP_H
#define RECEIVERS_KAFKA_GROUP_H

#include "receivers/kafka/topics.h"
#include "receivers/kafka/worker.h"

struct group_topic {
    const char *name; /* of the settings */
    enum signal signal;
};

/* How far a receiver is. */
enum group_phase {
    GROUP_ASKING,    /* for the topics */
    GROUP_WAITING,   /* a topic is missing, or no broker answers */
    GROUP_DISAGREES, /* the topics have different numbers of partitions */
    GROUP_JOINING,
    GROUP_ASSIGNED,
    GROUP_FAILED
};

struct kafka_group {
    struct kafka_receiver *self;
    struct kafka_peer peer;
    rd_kafka_t *client;
    struct letters *letters; /* NULL: none */
    struct group_topic *topics;
    struct topic_count *counts;
    size_t topic_count;
    struct worker **workers;
    size_t worker_count;
    size_t prefetch; /* bytes that librdkafka may fetch ahead of a partition */
    size_t charged;  /* of the budget, for that */
    pthread_t thread;
    bool started;
    _Atomic bool stopping;
    uint64_t commit_at, ask_at; /* mono */
    _Atomic bool commit_all;    /* the last commit failed */

    pthread_mutex_t lock; /* guards the rest, for others than the group's thread */
    pthread_cond_t changed;
    enum group_phase phase;
    char trouble[256]; /* why it is not assigned; "": nothing */
    struct reader **readers;
    size_t reader_count;
};

/* Checks the topics, waits for that some seconds, and starts. NULL: error is a sentence. */
struct kafka_group *group_open(struct kafka_receiver *self, char *error, size_t error_size);

/* Ends the lanes, waits (bounded) for what is under way, commits, leaves. May be NULL. */
void group_close(struct kafka_group *group);

/* ---- for the group's files ---- */

void group_set_phase(struct kafka_group *group, enum group_phase phase, const char *trouble);

/* members.c: the rebalance callback of librdkafka. */
void group_rebalance(rd_kafka_t *client, rd_kafka_resp_err_t code,
                     rd_kafka_topic_partition_list_t *list, void *opaque);
/* Drops what is held, waits for what is under way, commits, and gives the lanes up. lost: others
 * may read the partitions already, so nothing is waited for or committed. */
void group_end_lanes(struct kafka_group *group, bool lost);
/* Reads lanes again of which something was given up. */
void group_rewind(struct kafka_group *group);

/* commits.c: commits what changed since the last time. all: whatever was committed last. */
void group_commit(struct kafka_group *group, bool all, bool wait);
void group_committed(rd_kafka_t *client, rd_kafka_resp_err_t code,
                     rd_kafka_topic_partition_list_t *list, void *opaque);
/* Adds what is to be committed of a reader to a list. */
void reader_collect(struct reader *reader, bool all, rd_kafka_topic_partition_list_t *list);
/* Asks for the ends of all partitions. */
void group_ask_ends(struct kafka_group *group);

/* check.c: asks for the topics' partitions and sets the phase. */
bool group_check(struct kafka_group *group, rd_kafka_t *client, int timeout_ms);

/* consumer.c: the two clients. NULL: error is a sentence. */
rd_kafka_t *group_asking_client(struct kafka_group *group, char *error, size_t error_size);
rd_kafka_t *group_consumer(struct kafka_group *group, char *error, size_t error_size);

#endif
