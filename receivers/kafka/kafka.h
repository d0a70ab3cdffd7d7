/*
 * The kafka receiver's instance.
 *
 *     group thread        polls the consumer, starts and ends lanes, commits offsets
 *     N workers           each reads the lanes with number % N, and pushes one record at a time
 *                         through the pipelines
 *     exporters' threads  settle receipts, which marks a record in its feed's offsets
 *
 * A lane is one partition number across all topics (reader.h); a feed is one of its partitions. A
 * lane is assigned, gets its start offsets (start_offsets.h), and is read by a worker or paused; a
 * paused lane's queues fill up to the prefetch. When it is revoked, it ends (lane_end), the group
 * waits for its records in flight, commits, and unassigns it.
 */
#ifndef RECEIVERS_KAFKA_KAFKA_H
#define RECEIVERS_KAFKA_KAFKA_H

#include "lib/kafka/kafka_settings.h"
#include "lib/kafka/kafka_topic.h"
#include "pipeline/component.h"

enum { KAFKA_OTLP_PROTO, KAFKA_OTLP_JSON, KAFKA_NATIVE };

struct kafka_signal {
    struct key_list topics;
    int encoding;
};

struct kafka_autocommit {
    uint64_t interval;
};

struct kafka_marking {
    bool on_error;
    bool on_permanent_error;
};

struct kafka_extraction {
    bool extract_headers;
    struct key_list headers;
};

struct kafka_backoff {
    uint64_t initial_interval;
    uint64_t max_interval;
    double multiplier;
};

struct kafka_dead_letter {
    char *topic;
};

struct kafka_group;

struct kafka_receiver {
    struct kafka_settings kafka;
    struct kafka_signal signals[SIGNAL_COUNT];
    char *group_id;
    char *group_instance_id;
    int initial_offset; /* 0: latest */
    uint64_t session_timeout;
    uint64_t heartbeat_interval;
    struct key_list strategies;
    int64_t min_fetch_size;
    int64_t max_fetch_size;
    uint64_t max_fetch_wait;
    int64_t max_partition_fetch_size;
    struct kafka_autocommit autocommit;
    struct kafka_marking marking;
    struct kafka_extraction extraction;
    struct kafka_backoff backoff;
    struct kafka_dead_letter dead_letter;
    uint64_t replay;
    bool include_metadata;

    const struct env *env;
    struct kafka_group *group;
    uint64_t ticked;                  /* when tick was called first, mono; 0: not yet */
    char refusal[KAFKA_TROUBLE_SIZE]; /* why brokers refuse records; the group's lock */
    struct kafka_topic_match match;   /* of probes */
    bool letters_absent;              /* a probe has reported that dead_letter.topic is missing */

    /* After the brokers did not answer, lanes stand still at outage_from until outage_until:
     * producers may still have records of that time. Unix ns. */
    _Atomic uint64_t outage_from, outage_until;
    _Atomic bool append_time; /* a topic has LogAppendTime, which was logged */

    /* metrics */
    _Atomic uint64_t rebalances;
    _Atomic uint64_t commits;
    _Atomic uint64_t commit_failures;
    _Atomic uint64_t pauses;
    _Atomic uint64_t replayed; /* records read again for their ids */
    _Atomic uint64_t skipped;  /* records read again whose delivery is known */
    _Atomic uint64_t poisoned;
    _Atomic uint64_t dead_letters;
    _Atomic uint64_t lost;    /* of those that could not be read: no dead letter keeps them */
    _Atomic uint64_t lost_at; /* when the last one was, unix ns; 0: never */
    _Atomic uint64_t rewinds;
    _Atomic uint64_t restarts; /* partitions of topics that were made again */
};

/* keys.c */
extern const struct key kafka_receiver_keys[];
/* Returns the configured topics of a signal, or the default one. */
const struct key_list *kafka_receiver_topics(const struct kafka_receiver *self, enum signal signal);
void kafka_receiver_check(const void *config, struct key_report *report);
void kafka_receiver_places(const void *config, place_visit_fn *visit, void *ctx);

/* probe.c */
bool kafka_receiver_probe(void *instance, enum signal signal, struct probe_result *result);

/* report.c */
extern const struct metric kafka_receiver_metrics[];
void kafka_receiver_measure(void *instance, struct metrics *metrics);
void kafka_receiver_explain(void *instance, struct bytes *out);

#endif
