/*
 * The consumer and its thread. It joins the group, makes a reader for each assigned lane, commits
 * the offsets that settled, and ends the readers when their partitions are revoked.
 */
#ifndef RECEIVERS_KAFKA_GROUP_H
#define RECEIVERS_KAFKA_GROUP_H

#include "lib/kafka/topics.h"
#include "receivers/kafka/stale.h"
#include "receivers/kafka/worker.h"

struct unreadable_count {
    uint64_t records, unreadable;
};

struct group_topic {
    const char *name; /* of the settings */
    enum signal signal;

    /* written by the group's thread, under the group's lock */
    uint64_t records, unreadable;  /* since the start */
    uint64_t in_a_row;             /* unreadable ones since the last readable one */
    struct unreadable_count said;  /* the counts that were logged last */
    uint64_t say_at;               /* mono */
    char why[192];                 /* why the first one since then could not be read */
    size_t restarts;               /* partitions that began again, for group_restart_feeds */
    struct expired_count *expired; /* expired.h; by partition */
    size_t expired_size;
};

/* How long a poll of the consumer takes at most, without its callbacks. */
enum { POLL_MS = 100 };

/* The state of the receiver. */
enum group_phase {
    GROUP_ASKING,    /* asks for the topics */
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
    struct dead_letters *letters; /* NULL: none */
    struct group_topic *topics;
    struct topic_count *counts;
    struct worker **workers;
    size_t topic_count, worker_count;
    size_t prefetch;             /* bytes that librdkafka may prefetch of a partition */
    size_t charged;              /* to the budget, for that */
    size_t said_prefetch;        /* the value that was logged; 0: none */
    _Atomic uint64_t answered;   /* when the brokers last knew all that they were asked, mono */
    uint64_t answered_wall;      /* the same, unix ns; at first the start */
    uint64_t heard;              /* when any of them last answered anything, unix ns */
    bool outage, silence_logged; /* outage: since answered, none answered anything for some time */
    bool said_answer;            /* that answers are smaller than configured */
    bool look_at_counts;         /* they were not asked for since the last assignment */
    uint64_t refusing;           /* brokers refuse records, since then, mono; 0: they do not */
    uint64_t refusing_wall;      /* where lanes stand still for that, unix ns */
    uint64_t taking_wall; /* when brokers were seen to take records last, unix ns; 0: never */
    int64_t ends;         /* sum of all partitions' ends */
    uint64_t written;     /* when that was seen to change last, mono */
    pthread_t thread;
    bool started, refused; /* refused: it may not join, as a broker said */
    _Atomic bool stopping, may_join;
    _Atomic bool commit_all;                 /* the last commit failed */
    uint64_t commit_at, ask_at, replicas_at; /* when to do so next, mono */
    uint64_t look_at, lease;        /* mono; look_at: when to ask about all that is committed */
    uint64_t lacking, lacking_wall; /* a right, since then, until it has partitions; 0: it is not */
    uint64_t short_since;           /* start_offsets.h */
    uint64_t errors_before;         /* the peer's when partitions were assigned last */
    uint64_t ran_at;                /* when the group's thread last noted that it runs, mono */
    struct stale stale;

    pthread_mutex_t lock; /* guards the rest; the group's thread may read without it */
    pthread_cond_t changed;
    enum group_phase phase;
    const char *absent;    /* a topic that was deleted meanwhile; NULL: none is known */
    const char *forbidden; /* a topic that this user may not read; NULL: none is known */
    uint64_t silent;       /* no broker answers, since then, unix ns; 0: one does */
    char trouble[512];     /* why nothing is assigned; "": something is */
    struct reader **readers;
    size_t reader_count;
};

/* Starts the threads, and waits some seconds until the brokers have answered about the topics. The
 * group is joined only after group_may_join. NULL: error is a sentence. */
struct kafka_group *group_open(struct kafka_receiver *self, char *error, size_t error_size);

/* From now on the group may be joined. Any thread. */
void group_may_join(struct kafka_group *group);

/* Ends the lanes, waits up to some seconds for records in flight, commits, and leaves the group.
 * May be NULL. */
void group_close(struct kafka_group *group);

/* ---- for the group's files ---- */
void group_set_phase(struct kafka_group *group, enum group_phase phase, const char *trouble);
/* group.c: waits, unless the group stops. */
void group_pause(struct kafka_group *group, int ms);

/* group.c: sets until when (mono) the session lasts at most. Records in flight are not sent after
 * that: a process that was stopped for a while, such as a paused container, may have lost its
 * partitions. */
void group_set_lease(struct kafka_group *group, uint64_t mono_ns);
/* Sets it to session_timeout from now, plus longer_ns, and notes that the thread runs. */
void group_renew_lease(struct kafka_group *group, uint64_t longer_ns);
bool group_lease_is_over(const struct kafka_group *group);

/* assignment.c: the rebalance callback of librdkafka. */
void group_rebalance(rd_kafka_t *client, rd_kafka_resp_err_t code,
                     rd_kafka_topic_partition_list_t *list, void *opaque);
/* Drops held spans, waits for records in flight, commits, and frees the readers. What is still
 * queued is no longer sent. lost: other members may read the partitions already, so this neither
 * waits nor commits. */
void group_end_lanes(struct kafka_group *group, bool lost);
/* Restarts the lanes of records that an exporter gave up. */
void group_rewind(struct kafka_group *group);

/* commits.c: commits what changed since the last commit; all: everything. wait: for the answer. */
void group_commit(struct kafka_group *group, bool all, bool wait);
void group_committed(rd_kafka_t *client, rd_kafka_resp_err_t code,
                     rd_kafka_topic_partition_list_t *list, void *opaque);
/* Adds a reader's offsets to commit to a list. */
void reader_collect(struct reader *reader, bool all, rd_kafka_topic_partition_list_t *list);
/* Asks the brokers for the end offsets of all partitions. */
void group_ask_ends(struct kafka_group *group);

/* unreadable.c: counts the records of the last second that could not be read, and logs them once a
 * minute. */
void group_count_unreadable(struct kafka_group *group, uint64_t mono);
/* Whether the last records of a topic were all unreadable; appends why. Under the lock. */
bool group_has_unreadable(const struct kafka_group *group, struct bytes *out);
/* Appends a line for each topic with records that could not be read. Under the lock. */
void group_explain_unreadable(const struct kafka_group *group, struct bytes *out);

/* partition_counts.c: asks for the topics' partitions and sets the phase. */
bool group_check_partitions(struct kafka_group *group, rd_kafka_t *client, int timeout_ms);
/* After an assignment: asks for the counts again, and logs those that changed. */
void group_look_at_counts(struct kafka_group *group);

/* consumer.c: the two clients. NULL: error is a sentence. */
rd_kafka_t *group_asking_client(struct kafka_group *group, char *error, size_t error_size);
rd_kafka_t *group_consumer(struct kafka_group *group, char *error, size_t error_size);

#endif
