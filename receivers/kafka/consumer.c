/* The clients of a group (receivers/kafka/group.h). */
#include "lib/base/heap.h"
#include "lib/base/log.h"
#include "receivers/kafka/group.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    MAX_MS = 3600 * 1000,
    PREFETCH_MIN = 64 << 10,
    BUDGET_SHARE = 8, /* the part of the budget that librdkafka's prefetch may take */
    /* Bytes of a fetch response by default. librdkafka reads it into one allocation, which the heap
     * reuses only if it is not mmapped. */
    FETCH_DEFAULT = HEAP_MAPPED - (64 << 10),
    FETCH_LEAST = 64 << 10,
    FETCH_MESSAGE = 1000, /* librdkafka accepts no fetch.max.bytes below message.max.bytes */
    RESPONSE_SPARE = 1 << 20,
};

rd_kafka_t *group_asking_client(struct kafka_group *group, char *error, size_t error_size)
{
    rd_kafka_conf_t *conf = kafka_conf_new(&group->self->kafka, &group->peer, error, error_size);
    return conf ? kafka_client_new(RD_KAFKA_CONSUMER, conf, error, error_size) : NULL;
}

static size_t count_partitions(const struct kafka_group *group)
{
    size_t partitions = 0;
    for (size_t i = 0; i < group->topic_count; i++)
        partitions += (size_t)(group->counts[i].partitions > 0 ? group->counts[i].partitions : 0);
    return partitions;
}

/* This member may be assigned every partition of the topics. */
static size_t prefetch_of(const struct kafka_group *group)
{
    size_t partitions = count_partitions(group) + 1;
    size_t most = (size_t)group->self->max_partition_fetch_size;
    size_t limit = group->self->env->budget ? group->self->env->budget->limit : 0;
    size_t share = limit ? limit / BUDGET_SHARE / partitions / 2 : most;
    share = share < most ? share : most;
    return share > PREFETCH_MIN ? share : PREFETCH_MIN;
}

/* Logs once that less than configured is fetched, since the memory limit is low. */
static void say_limits(struct kafka_group *group, int64_t answer, int64_t wanted)
{
    const struct kafka_receiver *self = group->self;
    size_t limit = self->env->budget ? self->env->budget->limit : 0;
    if (answer < wanted && !group->said_answer)
        env_info(self->env,
                 "a broker's answer has at most %" PRId64 " bytes instead of %" PRId64
                 " (max_fetch_size), which would exceed an eighth of the memory limit of %zu MiB",
                 answer, wanted, limit >> 20);
    group->said_answer |= answer < wanted;
    if (group->prefetch >= (size_t)self->max_partition_fetch_size ||
        group->prefetch == group->said_prefetch)
        return;
    env_info(self->env,
             "at most %zu bytes of each of the %zu partitions are fetched ahead instead of %" PRId64
             " (max_partition_fetch_size): if this member has all of them, that takes %zu MiB of "
             "the memory limit of %zu MiB",
             group->prefetch, count_partitions(group), self->max_partition_fetch_size,
             count_partitions(group) * group->prefetch * 2 >> 20, limit >> 20);
    group->said_prefetch = group->prefetch;
}

static void set_fetch(struct kafka_group *group, rd_kafka_conf_t *conf, char *error, size_t size)
{
    const struct kafka_receiver *self = group->self;
    int64_t limit = self->env->budget ? (int64_t)(self->env->budget->limit / BUDGET_SHARE) : 0;
    int64_t answer = self->max_fetch_size ? self->max_fetch_size : FETCH_DEFAULT;
    answer = limit && limit < answer ? limit : answer;
    answer = answer > FETCH_LEAST ? answer : FETCH_LEAST;
    group->prefetch = prefetch_of(group);
    say_limits(group, answer, self->max_fetch_size ? self->max_fetch_size : FETCH_DEFAULT);
    kafka_conf_set_int(conf, "fetch.min.bytes", self->min_fetch_size, error, size);
    kafka_conf_set_int(conf, "message.max.bytes", FETCH_MESSAGE, error, size);
    kafka_conf_set_int(conf, "fetch.max.bytes", answer, error, size);
    kafka_conf_set_int(conf, "receive.message.max.bytes", answer + 100000000, error, size);
    kafka_conf_set_int(conf, "fetch.wait.max.ms", kafka_ms(self->max_fetch_wait, 0, 300000), error,
                       size);
    kafka_conf_set_int(conf, "fetch.message.max.bytes", (int64_t)group->prefetch, error, size);
    kafka_conf_set_int(conf, "queued.max.messages.kbytes", (int64_t)(group->prefetch >> 10), error,
                       size);
}

rd_kafka_t *group_consumer(struct kafka_group *group, char *error, size_t size)
{
    const struct kafka_receiver *self = group->self;
    rd_kafka_conf_t *conf = kafka_conf_new(&self->kafka, &group->peer, error, size);
    if (!conf)
        return NULL;
    kafka_conf_set(conf, "group.id", self->group_id, error, size);
    if (*self->group_instance_id)
        kafka_conf_set(conf, "group.instance.id", self->group_instance_id, error, size);
    kafka_conf_set(conf, "partition.assignment.strategy", "range", error, size);
    kafka_conf_set(conf, "enable.auto.commit", "false", error, size);
    kafka_conf_set(conf, "enable.auto.offset.store", "false", error, size);
    kafka_conf_set(conf, "enable.partition.eof", "true", error, size);
    /* Used only if the broker has deleted the committed offset: reads the earliest that is left. */
    kafka_conf_set(conf, "auto.offset.reset", "earliest", error, size);
    kafka_conf_set_int(conf, "session.timeout.ms", kafka_ms(self->session_timeout, 1, MAX_MS),
                       error, size);
    kafka_conf_set_int(conf, "heartbeat.interval.ms", kafka_ms(self->heartbeat_interval, 1, MAX_MS),
                       error, size);
    set_fetch(group, conf, error, size);
    rdkafka.conf_set_rebalance_cb(conf, group_rebalance);
    rdkafka.conf_set_offset_commit_cb(conf, group_committed);
    rd_kafka_t *client = kafka_client_new(RD_KAFKA_CONSUMER, conf, error, size);
    if (client)
        rdkafka.poll_set_consumer(client);
    return client;
}
