#include "lib/kafka/kafka_topic.h"

#include "lib/base/clock.h"

#include <stdio.h>
#include <string.h>

enum { ASK_MS = 500, CONFIG_MS = 2000, REFRESH_MS = 1000 };

#define ANSWER_NS (5 * NS_PER_S)

/* Lists all topics, because asking for a single one may create it. NULL: text is the reason. */
static const struct rd_kafka_metadata *list_topics(rd_kafka_t *client, struct kafka_peer *peer,
                                                   char *text, size_t size)
{
    const struct rd_kafka_metadata *metadata;
    kafka_peer_silence(peer);
    uint64_t until = clock_mono(&clock_system) + ANSWER_NS;
    rd_kafka_resp_err_t code;
    enum cause cause;
    do {
        code = rdkafka.metadata(client, 1, NULL, &metadata, ASK_MS);
        if (!code)
            return metadata;
        rdkafka.poll(client, 0); /* calls kafka_peer_error */
        cause = kafka_peer_trouble(peer, text, size);
    } while (cause != CAUSE_AUTH && cause != CAUSE_TLS && clock_mono(&clock_system) < until);
    if (!*text && code == RD_KAFKA_RESP_ERR__TRANSPORT)
        snprintf(text, size, "the broker closes the connection: it may expect TLS or SASL");
    else if (!*text)
        snprintf(text, size, "no broker answers: %s", rdkafka.err2str(code));
    return NULL;
}

int kafka_topic_partitions(rd_kafka_t *client, struct kafka_peer *peer, const char *topic,
                           char *text, size_t size)
{
    const struct rd_kafka_metadata *metadata = list_topics(client, peer, text, size);
    if (!metadata)
        return 0;
    const struct rd_kafka_metadata_topic *found = NULL;
    for (int i = 0; i < metadata->topic_cnt; i++)
        if (strcmp(metadata->topics[i].topic, topic) == 0)
            found = &metadata->topics[i];
    int partitions = found && !found->err ? found->partition_cnt : 0;
    if (found && found->err)
        snprintf(text, size, "topic %s: %s", topic, rdkafka.err2str(found->err));
    else if (!found)
        snprintf(text, size,
                 "topic %s does not exist, or this user may not see it; brokers with "
                 "auto.create.topics.enable create it when the first record arrives",
                 topic);
    rdkafka.metadata_destroy(metadata);
    return partitions;
}

static bool has_append_time(rd_kafka_event_t *event)
{
    size_t resources = 0, entries = 0;
    const rd_kafka_DescribeConfigs_result_t *result = rdkafka.event_DescribeConfigs_result(event);
    const rd_kafka_ConfigResource_t **resource =
        result ? rdkafka.DescribeConfigs_result_resources(result, &resources) : NULL;
    if (resources == 0 || rdkafka.ConfigResource_error(resource[0]))
        return false;
    const rd_kafka_ConfigEntry_t **entry = rdkafka.ConfigResource_configs(resource[0], &entries);
    for (size_t i = 0; i < entries; i++) {
        const char *value = rdkafka.ConfigEntry_value(entry[i]);
        if (value && strcmp(rdkafka.ConfigEntry_name(entry[i]), "message.timestamp.type") == 0)
            return strcmp(value, "LogAppendTime") == 0;
    }
    return false;
}

bool kafka_topic_has_append_time(rd_kafka_t *client, const char *topic)
{
    rd_kafka_queue_t *queue = rdkafka.queue_new(client);
    rd_kafka_ConfigResource_t *resource =
        rdkafka.ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    rdkafka.DescribeConfigs(client, &resource, 1, NULL, queue);
    rd_kafka_event_t *event = rdkafka.queue_poll(queue, CONFIG_MS);
    bool append = event && has_append_time(event);
    if (event)
        rdkafka.event_destroy(event);
    rdkafka.ConfigResource_destroy(resource);
    rdkafka.queue_destroy(queue);
    return append;
}

void kafka_topic_refresh(rd_kafka_t *client)
{
    const struct rd_kafka_metadata *metadata;
    if (!rdkafka.metadata(client, 0, NULL, &metadata, REFRESH_MS))
        rdkafka.metadata_destroy(metadata);
}

bool kafka_topic_matches(struct kafka_topic_match *match, const char *topic, int partitions,
                         char *text, size_t size)
{
    if (match->partitions == 0)
        *match = (struct kafka_topic_match){topic, partitions};
    if (match->partitions == partitions)
        return true;
    snprintf(text, size,
             "topic %s has %d partitions and topic %s has %d: spans and profiles of a process meet "
             "only if both have equally many",
             match->topic, match->partitions, topic, partitions);
    return false;
}
