#include "receivers/kafka/kafka.h"

#include "receivers/kafka/concerns.h"
#include "receivers/kafka/outages.h"

#define START_FAILS_NS (NS_PER_S / 5)

static bool kafka_receiver_open(void *instance, const struct env *env, char *error,
                                size_t error_size)
{
    struct kafka_receiver *self = instance;
    self->env = env;
    self->group = group_open(self, error, error_size);
    return self->group != NULL;
}

/* A join takes the place of a running member with the same group_instance_id. So it waits until
 * everything is open, and a start that has failed elsewhere has had time to close this. */
static uint64_t kafka_receiver_tick(void *instance, uint64_t mono_ns)
{
    struct kafka_receiver *self = instance;
    if (!self->ticked) {
        self->ticked = mono_ns;
        return mono_ns + START_FAILS_NS;
    }
    group_may_join(self->group);
    return TIME_NEVER;
}

static void kafka_receiver_close(void *instance)
{
    struct kafka_receiver *self = instance;
    group_close(self->group);
    self->group = NULL;
}

static enum metadata_of kafka_metadata(const void *instance)
{
    const struct kafka_receiver *self = instance;
    return self->include_metadata ? METADATA_OF_ALL : METADATA_OF_NONE;
}

static bool kafka_receiver_trouble(void *instance, struct bytes *out)
{
    struct kafka_receiver *self = instance;
    struct kafka_group *group = self->group;
    if (!group)
        return false;
    pthread_mutex_lock(&group->lock);
    bool trouble = group_put_trouble(group, out);
    pthread_mutex_unlock(&group->lock);
    return trouble;
}

const struct component receiver_kafka = {
    .type = "kafka",
    .text = "traces, metrics, logs and profiles from Apache Kafka",
    .stability = "beta",
    .kind = COMPONENT_RECEIVER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP) | BATCH_BIT(BATCH_PPROF) | BATCH_BIT(BATCH_OPAQUE),
    .size = sizeof(struct kafka_receiver),
    .keys = kafka_receiver_keys,
    .check = kafka_receiver_check,
    .metadata = kafka_metadata,
    .places = kafka_receiver_places,
    .open = kafka_receiver_open,
    .probe = kafka_receiver_probe,
    .tick = kafka_receiver_tick,
    .trouble = kafka_receiver_trouble,
    .concern = kafka_receiver_concern,
    .explain = kafka_receiver_explain,
    .metrics = kafka_receiver_metrics,
    .measure = kafka_receiver_measure,
    .close = kafka_receiver_close,
};
