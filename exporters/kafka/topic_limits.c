#include "exporters/kafka/topic_limits.h"

#include "exporters/kafka/attempt.h"

#include <stdlib.h>
#include <string.h>

struct topic_limit {
    char *topic;
    _Atomic size_t bytes; /* of a record's value, key and headers */
    struct topic_limit *next;
};

static struct topic_limit *limit_find(const struct kafka_exporter *self, const char *topic)
{
    struct topic_limit *each = atomic_load_explicit(&self->limits, memory_order_acquire);
    while (each && strcmp(each->topic, topic) != 0)
        each = each->next;
    return each;
}

size_t topic_limit(const struct kafka_exporter *self, const char *topic)
{
    const struct topic_limit *found = limit_find(self, topic);
    return found ? atomic_load(&found->bytes) : (size_t)self->produce.max_message_bytes;
}

size_t topic_limit_next(size_t limit, size_t together, size_t told)
{
    if (told && told < limit)
        return told > LEAST_RECORD ? told : LEAST_RECORD;
    size_t half = (together && together < limit ? together : limit) / 2;
    return half > LEAST_RECORD ? half : LEAST_RECORD;
}

static bool limit_add(struct kafka_exporter *self, const char *topic, size_t bytes)
{
    struct topic_limit *made = calloc(1, sizeof *made);
    if (!made || !(made->topic = strdup(topic))) {
        free(made);
        return false;
    }
    atomic_init(&made->bytes, bytes);
    made->next = atomic_load(&self->limits);
    while (!atomic_compare_exchange_weak(&self->limits, &made->next, made))
        continue;
    return true;
}

/* Lowers a size. False: it is as low. */
static bool lower(_Atomic size_t *size, size_t bytes)
{
    size_t now = atomic_load(size);
    while (now > bytes)
        if (atomic_compare_exchange_weak(size, &now, bytes))
            return true;
    return false;
}

bool topic_limit_lower(struct kafka_exporter *self, const char *topic, size_t bytes)
{
    struct topic_limit *found = limit_find(self, topic);
    bool lowered = found ? lower(&found->bytes, bytes) : limit_add(self, topic, bytes);
    if (lowered)
        batch_bytes_lower(self, bytes);
    return lowered;
}

bool batch_bytes_lower(struct kafka_exporter *self, size_t bytes)
{
    return lower(&self->batch_bytes, bytes);
}

void topic_limits_release(struct kafka_exporter *self)
{
    struct topic_limit *next;
    for (struct topic_limit *each = atomic_exchange(&self->limits, NULL); each; each = next) {
        next = each->next;
        free(each->topic);
        free(each);
    }
}
