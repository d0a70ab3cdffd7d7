/*
 * The kafka receiver's instance.
 *
 *     group thread   polls the consumer: assignment, commits, ends of partitions; ends lanes
 *     N workers      read the lanes that are theirs (number % N), a record at a time, and push it
 *                    through the pipelines inline
 *     exporters'     settle receipts: mark a record in its feed's ledger, no more
 *
 * A lane is one partition number across all topics (reader.h); a feed is one of its partitions.
 *
 *     assigned -> where to start (start.h) -> READ by a worker, or paused: its queues fill up to
 *     the prefetch and no further -> taken away -> lane_end -> wait for what is under way ->
 *     commit -> given up
 */
#ifndef RECEIVERS_KAFKA_KAFKA_H
#define RECEIVERS_KAFKA_KAFKA_H

#include "lib/kafka/kafka_settings.h"
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

    /* metrics */
    _Atomic uint64_t rebalances;
    _Atomic uint64_t commits;
    _Atomic uint64_t commit_failures;
    _Atomic uint64_t pauses;
    _Atomic uint64_t replayed; /* records read again for their ids */
    _Atomic uint64_t skipped;  /* records read again whose delivery is known */
    _Atomic uint64_t poisoned;
    _Atomic uint64_t dead_letters;
    _Atomic uint64_t rewinds;
};

/* keys.c */
extern const struct key kafka_receiver_keys[];
/* The topics of a signal: those configured, or the default one. */
const struct key_list *kafka_receiver_topics(const struct kafka_receiver *self, enum signal signal);
void kafka_receiver_check(const void *config, struct key_report *report);
void kafka_receiver_places(const void *config, place_visit_fn *visit, void *ctx);

/* report.c */
extern const struct metric kafka_receiver_metrics[];
void kafka_receiver_measure(void *instance, struct metrics *metrics);
void kafka_receiver_explain(void *instance, struct bytes *out);

#endif
