/* Compares the partition counts of a receiver's topics: lanes need equal ones. */
#ifndef RECEIVERS_KAFKA_TOPICS_H
#define RECEIVERS_KAFKA_TOPICS_H

#include <stdbool.h>
#include <stddef.h>

struct topic_count {
    const char *topic;
    int partitions; /* 0: there is no such topic; -1: not known */
};

/* Whether all known counts are equal. False: error is a sentence with each topic's count. */
bool topics_agree(const struct topic_count *counts, size_t count, char *error, size_t error_size);

/* Returns the first topic that does not exist or whose count is not known; NULL: none. */
const struct topic_count *topics_missing(const struct topic_count *counts, size_t count);

#endif
