/* The clients of a group (receivers/kafka/group.h). */
#include "receivers/kafka/group.h"

#include <stdio.h>

enum {
    MAX_MS = 3600 * 1000,
    PREFETCH_MIN = 64 << 10,
    BUDGET_SHARE = 8,         /* the part of the budget that librdkafka's prefetch may take */
    FETCH_DEFAULT = 16 << 20, /* of one answer, without max_fetch_size */
    FETCH_LEAST = 1 << 20,
    RESPONSE_SPARE = 1 << 20,
};

rd_kafka_t *group_asking_client(struct kafka_group *group, char *error, size_t error_size)
{
    struct tls_material *material;
    rd_kafka_conf_t *conf =
        kafka_conf_new(&group->self->kafka, &group->peer, &material, error, error_size);
    return conf ? kafka_client_new(RD_KAFKA_CONSUMER, conf, material, error, error_size) : NULL;
}

/* Each partition of the topics may be this member's. */
static size_t prefetch_of(const struct kafka_group *group)
{
    size_t partitions = 1, most = (size_t)group->self->max_partition_fetch_size;
    for (size_t i = 0; i < group->topic_count; i++)
        partitions += (size_t)(group->counts[i].partitions > 0 ? group->counts[i].partitions : 0);
    size_t limit = group->self->env->budget ? group->self->env->budget->limit : 0;
    size_t share = limit ? limit / BUDGET_SHARE / partitions / 2 : most;
    share = share < most ? share : most;
    return share > PREFETCH_MIN ? share : PREFETCH_MIN;
}

static void set_fetch(struct kafka_group *group, rd_kafka_conf_t *conf, char *error, size_t size)
{
    const struct kafka_receiver *self = group->self;
    int64_t limit = self->env->budget ? (int64_t)(self->env->budget->limit / BUDGET_SHARE) : 0;
    int64_t answer = self->max_fetch_size ? self->max_fetch_size : FETCH_DEFAULT;
    answer = limit && limit < answer ? limit : answer;
    answer = answer > FETCH_LEAST ? answer : FETCH_LEAST;
    group->prefetch = prefetch_of(group);
    kafka_conf_set_int(conf, "fetch.min.bytes", self->min_fetch_size, error, size);
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
    struct tls_material *material;
    rd_kafka_conf_t *conf = kafka_conf_new(&self->kafka, &group->peer, &material, error, size);
    if (!conf)
        return NULL;
    kafka_conf_set(conf, "group.id", self->group_id, error, size);
    if (*self->group_instance_id)
        kafka_conf_set(conf, "group.instance.id", self->group_instance_id, error, size);
    kafka_conf_set(conf, "partition.assignment.strategy", "range", error, size);
    kafka_conf_set(conf, "enable.auto.commit", "false", error, size);
    kafka_conf_set(conf, "enable.auto.offset.store", "false", error, size);
    kafka_conf_set(conf, "enable.partition.eof", "true", error, size);
    /* Only for a committed offset that the broker has deleted: then as much as is left. */
    kafka_conf_set(conf, "auto.offset.reset", "earliest", error, size);
    kafka_conf_set_int(conf, "session.timeout.ms", kafka_ms(self->session_timeout, 1, MAX_MS),
                       error, size);
    kafka_conf_set_int(conf, "heartbeat.interval.ms", kafka_ms(self->heartbeat_interval, 1, MAX_MS),
                       error, size);
    set_fetch(group, conf, error, size);
    rdkafka.conf_set_rebalance_cb(conf, group_rebalance);
    rdkafka.conf_set_offset_commit_cb(conf, group_committed);
    rd_kafka_t *client = kafka_client_new(RD_KAFKA_CONSUMER, conf, material, error, size);
    if (client)
        rdkafka.poll_set_consumer(client);
    return client;
}
