/* The receiver's part of `spanlink check` (receivers/kafka/kafka.h); it does not join the group. */
#include "receivers/kafka/kafka.h"

#include "lib/kafka/kafka_topic.h"

#include <stdio.h>

static bool is_joint(enum signal signal)
{
    return signal == SIGNAL_TRACES || signal == SIGNAL_PROFILES;
}

static bool probe_topic(struct kafka_receiver *self, rd_kafka_t *client, struct kafka_peer *peer,
                        enum signal signal, const char *topic, struct probe_result *result)
{
    char *text = result->text;
    size_t size = sizeof result->text;
    int partitions = kafka_topic_partitions(client, peer, topic, text, size);
    if (partitions == 0)
        return false;
    if (!kafka_topic_matches(&self->match, topic, partitions, text, size))
        return false;
    if (is_joint(signal) && kafka_topic_has_append_time(client, topic))
        snprintf(text, size, KAFKA_APPEND_TIME, topic);
    return true;
}

static bool probe_topics(struct kafka_receiver *self, rd_kafka_t *client, struct kafka_peer *peer,
                         enum signal signal, struct probe_result *result)
{
    const struct key_list *topics = kafka_receiver_topics(self, signal);
    bool good = true;
    for (size_t i = 0; good && i < topics->count; i++)
        good = probe_topic(self, client, peer, signal, topics->items[i], result);
    return good;
}

bool kafka_receiver_probe(void *instance, enum signal signal, struct probe_result *result)
{
    struct kafka_receiver *self = instance;
    struct kafka_peer peer;
    *result = (struct probe_result){.key = "brokers"};
    snprintf(result->where, sizeof result->where, "%s", self->kafka.brokers.items[0]);
    kafka_peer_init(&peer, "kafka", NULL);
    rd_kafka_conf_t *conf = kafka_conf_new(&self->kafka, &peer, result->text, sizeof result->text);
    rd_kafka_t *client =
        conf ? kafka_client_new(RD_KAFKA_CONSUMER, conf, result->text, sizeof result->text) : NULL;
    bool good = client && probe_topics(self, client, &peer, signal, result);
    if (client)
        rdkafka.destroy(client);
    kafka_peer_release(&peer);
    return good;
}
