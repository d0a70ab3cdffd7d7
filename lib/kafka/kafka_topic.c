#include "lib/kafka/kafka_topic.h"

#include "lib/base/clock.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_MS = 500, CONFIG_MS = 2000, REFRESH_MS = 1000, LEADS_MS = 5000, TOPIC_MAX = 249 };
enum { TOPICS_LOOKED_AT = 16 }; /* for their replicas */

#define ANSWER_NS (5 * NS_PER_S)

/* Lists all topics, because asking for a single one may create it. NULL: text is the reason. */
static const struct rd_kafka_metadata *list_topics(rd_kafka_t *client, struct kafka_peer *peer,
                                                   char *text, size_t size)
{
    const struct rd_kafka_metadata *metadata;
    kafka_peer_silence(peer);
    uint64_t until = clock_mono(&clock_system) + ANSWER_NS, closed = atomic_load(&peer->closed);
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
        snprintf(text, size, "%s", kafka_peer_wordless(peer, closed));
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
    *text = '\0';
    const struct rd_kafka_metadata_topic *found = NULL;
    for (int i = 0; i < metadata->topic_cnt; i++)
        if (strcmp(metadata->topics[i].topic, topic) == 0)
            found = &metadata->topics[i];
    int partitions = !found ? KAFKA_TOPIC_ABSENT : found->err ? 0 : found->partition_cnt;
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

bool kafka_topic_leads(rd_kafka_t *client, struct kafka_peer *peer, const char *topic,
                       int partitions, char *text, size_t size)
{
    rd_kafka_topic_partition_list_t *list = rdkafka.topic_partition_list_new(partitions);
    for (int i = 0; i < partitions; i++)
        rdkafka.topic_partition_list_add(list, topic, i)->offset = RD_KAFKA_OFFSET_END;
    rd_kafka_resp_err_t code = rdkafka.offsets_for_times(client, list, LEADS_MS);
    for (int i = 0; !code && i < list->cnt; i++)
        code = list->elems[i].err;
    rdkafka.topic_partition_list_destroy(list);
    if (!code || code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        return true;
    rdkafka.poll(client, 0); /* calls kafka_peer_error */
    if (!kafka_peer_is_down(peer, text, size))
        snprintf(text, size, "the brokers that lead topic %s do not answer: %s", topic,
                 rdkafka.err2str(code));
    return false;
}

static void read_entry(struct kafka_topic_config *config, const char *name, const char *value)
{
    if (strcmp(name, "message.timestamp.type") == 0)
        config->append_time = strcmp(value, "LogAppendTime") == 0;
    else if (strcmp(name, "cleanup.policy") == 0)
        config->compacted = strstr(value, "compact") != NULL;
    else if (strcmp(name, "auto.create.topics.enable") == 0)
        config->auto_create = strcmp(value, "true") == 0;
    else if (strcmp(name, "max.message.bytes") == 0 || strcmp(name, "message.max.bytes") == 0)
        config->max_message_bytes = strtoll(value, NULL, 10);
    else if (strcmp(name, "min.insync.replicas") == 0)
        config->least_in_sync = strtoll(value, NULL, 10);
}

static void read_config(rd_kafka_event_t *event, struct kafka_topic_config *config)
{
    size_t resources = 0, entries = 0;
    const rd_kafka_DescribeConfigs_result_t *result = rdkafka.event_DescribeConfigs_result(event);
    const rd_kafka_ConfigResource_t **resource =
        result ? rdkafka.DescribeConfigs_result_resources(result, &resources) : NULL;
    if (resources == 0 || rdkafka.ConfigResource_error(resource[0]))
        return;
    const rd_kafka_ConfigEntry_t **entry = rdkafka.ConfigResource_configs(resource[0], &entries);
    for (size_t i = 0; i < entries; i++) {
        const char *value = rdkafka.ConfigEntry_value(entry[i]);
        if (value)
            read_entry(config, rdkafka.ConfigEntry_name(entry[i]), value);
    }
}

static struct kafka_topic_config describe(rd_kafka_t *client, rd_kafka_ResourceType_t type,
                                          const char *name)
{
    struct kafka_topic_config config = {0};
    rd_kafka_queue_t *queue = rdkafka.queue_new(client);
    rd_kafka_ConfigResource_t *resource = rdkafka.ConfigResource_new(type, name);
    rdkafka.DescribeConfigs(client, &resource, 1, NULL, queue);
    rd_kafka_event_t *event = rdkafka.queue_poll(queue, CONFIG_MS);
    if (event) {
        read_config(event, &config);
        rdkafka.event_destroy(event);
    }
    rdkafka.ConfigResource_destroy(resource);
    rdkafka.queue_destroy(queue);
    return config;
}

struct kafka_topic_config kafka_topic_config(rd_kafka_t *client, const char *topic)
{
    return describe(client, RD_KAFKA_RESOURCE_TOPIC, topic);
}

struct kafka_topic_config kafka_new_topic_config(rd_kafka_t *client)
{
    char id[16];
    int32_t broker = rdkafka.controllerid(client, CONFIG_MS);
    if (broker < 0)
        return (struct kafka_topic_config){0};
    snprintf(id, sizeof id, "%d", broker);
    return describe(client, RD_KAFKA_RESOURCE_BROKER, id);
}

bool kafka_replicas_lack(const struct rd_kafka_metadata_topic *topic, int64_t least_in_sync,
                         char *text, size_t size)
{
    for (int i = 0; i < topic->partition_cnt; i++) {
        const struct rd_kafka_metadata_partition *partition = &topic->partitions[i];
        int all = partition->replica_cnt, now = partition->isr_cnt;
        /* brokers expect no more than the topic has */
        if (!now || now >= (least_in_sync && least_in_sync < all ? least_in_sync : all))
            continue;
        if (least_in_sync)
            snprintf(text, size,
                     "topic %s: brokers refuse records of partition %d, because %d of its %d "
                     "replicas %s in sync and min.insync.replicas is %" PRId64
                     ": start the brokers that are down, or lower that",
                     topic->topic, partition->id, now, all, now == 1 ? "is" : "are", least_in_sync);
        else
            snprintf(text, size,
                     "topic %s: brokers may refuse records of partition %d, because %d of its %d "
                     "replicas %s in sync: start the brokers that are down, or lower "
                     "min.insync.replicas",
                     topic->topic, partition->id, now, all, now == 1 ? "is" : "are");
        return true;
    }
    return false;
}

static bool topic_lacks(rd_kafka_t *client, const struct rd_kafka_metadata_topic *topic,
                        int64_t unknown, char *text, size_t size)
{
    if (topic->err || !kafka_replicas_lack(topic, 0, text, size))
        return false;
    int64_t least = kafka_topic_config(client, topic->topic).least_in_sync;
    if (least)
        return kafka_replicas_lack(topic, least, text, size);
    char not_told[8];
    return !unknown || kafka_replicas_lack(topic, unknown, not_told, sizeof not_told);
}

enum kafka_replicas kafka_topic_replicas(rd_kafka_t *client, const char *topic, int64_t unknown,
                                         char *text, size_t size)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *only = topic ? rdkafka.topic_new(client, topic, NULL) : NULL;
    bool asked = (only || !topic) && !rdkafka.metadata(client, 0, only, &metadata, ASK_MS);
    bool lacks = false;
    for (int i = 0; asked && !lacks && i < metadata->topic_cnt && i < TOPICS_LOOKED_AT; i++)
        lacks = topic_lacks(client, &metadata->topics[i], unknown, text, size);
    if (asked)
        rdkafka.metadata_destroy(metadata);
    if (only)
        rdkafka.topic_destroy(only);
    return !asked ? KAFKA_REPLICAS_UNKNOWN : lacks ? KAFKA_REPLICAS_LACK : KAFKA_REPLICAS_ENOUGH;
}

void kafka_add_warning(char *text, size_t size, const char *format, ...)
{
    va_list list;
    size_t used = strlen(text);
    if (used && used + 2 < size) {
        memcpy(text + used, "; ", 3);
        used += 2;
    }
    va_start(list, format);
    vsnprintf(text + used, size - used, format, list);
    va_end(list);
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

bool kafka_topic_legal(struct view name)
{
    if (!name.size || name.size > TOPIC_MAX || view_eq(name, VIEW(".")) ||
        view_eq(name, VIEW("..")))
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (!isalnum(name.data[i]) && !strchr("._-", name.data[i]))
            return false;
    return true;
}
