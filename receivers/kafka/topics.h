/* Whether the topics of a receiver can be read in lanes: all have the same number of partitions. */
#ifndef RECEIVERS_KAFKA_TOPICS_H
#define RECEIVERS_KAFKA_TOPICS_H

#include <stdbool.h>
#include <stddef.h>

struct topic_count {
    const char *topic;
    int partitions; /* 0: there is no such topic; -1: not known */
};

/* False: error is a sentence that says which topic has how many partitions. */
bool topics_agree(const struct topic_count *counts, size_t count, char *error, size_t error_size);

/* The first topic that is missing or whose partitions are not known; NULL: none. */
const struct topic_count *topics_missing(const struct topic_count *counts, size_t count);

#endif
