#include "receivers/kafka/topics.h"

#include <stdio.h>

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
