/* Compares the partition counts of topics: spans and profiles meet only if they are equal. */
#ifndef LIB_KAFKA_TOPICS_H
#define LIB_KAFKA_TOPICS_H

#include "lib/kafka/rdkafka.h"

#include <stddef.h>

struct topic_count {
    const char *topic;
    int partitions; /* 0: there is no such topic; -1: not known */
};

/* Whether all known counts are equal. False: error is a sentence with each topic's count. */
bool topics_agree(const struct topic_count *counts, size_t count, char *error, size_t error_size);

/* Returns the first topic that does not exist or whose count is not known; NULL: none. */
const struct topic_count *topics_missing(const struct topic_count *counts, size_t count);

enum topics_news {
    TOPICS_SAME,
    TOPICS_CHANGED, /* to equal ones */
    TOPICS_DISAGREE /* now */
};

/* Compares counts with those known before, of the same topics; unknown ones count as unchanged.
 * Unless TOPICS_SAME, text is a sentence with the numbers. */
enum topics_news topics_compare(const struct topic_count *before, const struct topic_count *now,
                                size_t count, char *text, size_t size);

/* Asks the brokers for the counts of those topics that the client uses already; the others stay as
 * they are. Creates no topic. False: no broker answered in time. */
bool topics_ask(rd_kafka_t *client, struct topic_count *counts, size_t count, int timeout_ms);

#endif
