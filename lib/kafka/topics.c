#include "lib/kafka/topics.h"

#include <stdio.h>
#include <string.h>

const struct topic_count *topics_missing(const struct topic_count *counts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (counts[i].partitions <= 0)
            return &counts[i];
    return NULL;
}

static bool counts_equal(const struct topic_count *counts, size_t count)
{
    int seen = 0;
    for (size_t i = 0; i < count; i++) {
        if (counts[i].partitions <= 0)
            continue;
        if (seen && counts[i].partitions != seen)
            return false;
        seen = counts[i].partitions;
    }
    return true;
}

bool topics_agree(const struct topic_count *counts, size_t count, char *error, size_t error_size)
{
    if (counts_equal(counts, count))
        return true;
    size_t at = 0;
    for (size_t i = 0; i < count && at < error_size; i++)
        if (counts[i].partitions > 0)
            at += (size_t)snprintf(error + at, error_size - at, "%s%s has %d", at ? ", " : "",
                                   counts[i].topic, counts[i].partitions);
    if (at < error_size)
        snprintf(
            error + at, error_size - at,
            " partitions: spans and profiles of a process meet only if all topics have equally "
            "many");
    return false;
}

/* Names the counts that were known and changed; returns whether any changed or became known. */
static bool describe_changes(const struct topic_count *before, const struct topic_count *now,
                             size_t count, char *text, size_t size)
{
    bool changed = false;
    size_t at = 0;
    *text = '\0';
    for (size_t i = 0; i < count; i++) {
        if (now[i].partitions <= 0 || now[i].partitions == before[i].partitions)
            continue;
        changed = true;
        if (before[i].partitions > 0 && at < size)
            at += (size_t)snprintf(text + at, size - at,
                                   "%stopic %s has %d partitions now, %d before", at ? ", " : "",
                                   now[i].topic, now[i].partitions, before[i].partitions);
    }
    return changed;
}

enum topics_news topics_compare(const struct topic_count *before, const struct topic_count *now,
                                size_t count, char *text, size_t size)
{
    char all[512];
    if (!describe_changes(before, now, count, text, size))
        return TOPICS_SAME;
    bool agree = topics_agree(now, count, all, sizeof all);
    size_t used = strlen(text);
    if (!agree)
        snprintf(text + used, size - used, "%s%s", used ? "; " : "", all);
    return !agree ? TOPICS_DISAGREE : used ? TOPICS_CHANGED : TOPICS_SAME;
}

bool topics_ask(rd_kafka_t *client, struct topic_count *counts, size_t count, int timeout_ms)
{
    const struct rd_kafka_metadata *metadata;
    if (rdkafka.metadata(client, 0, NULL, &metadata, timeout_ms))
        return false;
    for (int t = 0; t < metadata->topic_cnt; t++)
        for (size_t i = 0; i < count; i++)
            if (!metadata->topics[t].err && strcmp(metadata->topics[t].topic, counts[i].topic) == 0)
                counts[i].partitions = metadata->topics[t].partition_cnt;
    rdkafka.metadata_destroy(metadata);
    return true;
}
