#include "exporters/kafka/replicas.h"

#include "lib/base/clock.h"

#include <stdio.h>

/* The workers of an exporter ask at the same time, and so do all sidecars of a cluster. */
#define ASK_EVERY_NS  (4 * NS_PER_S)
#define TELL_EVERY_NS (60 * NS_PER_S)

void replicas_init(struct replicas *replicas)
{
    *replicas = (struct replicas){0};
    pthread_mutex_init(&replicas->lock, NULL);
}

void replicas_release(struct replicas *replicas)
{
    pthread_mutex_destroy(&replicas->lock);
}

bool replicas_lack(struct replicas *replicas, rd_kafka_t *client, char *text, size_t size)
{
    pthread_mutex_lock(&replicas->lock);
    if (!replicas->asked || clock_mono(&clock_system) > replicas->asked + ASK_EVERY_NS) {
        if (kafka_topic_replicas(client, NULL, 0, replicas->text, sizeof replicas->text) !=
            KAFKA_REPLICAS_LACK)
            *replicas->text = '\0';
        replicas->asked = clock_mono(&clock_system);
    }
    bool lack = *replicas->text;
    snprintf(text, size, "%s", replicas->text);
    pthread_mutex_unlock(&replicas->lock);
    return lack;
}

bool replicas_due(struct replicas *replicas)
{
    uint64_t now = clock_mono(&clock_system);
    pthread_mutex_lock(&replicas->lock);
    bool due = !replicas->told || now > replicas->told + TELL_EVERY_NS;
    replicas->told = due ? now : replicas->told;
    pthread_mutex_unlock(&replicas->lock);
    return due;
}
