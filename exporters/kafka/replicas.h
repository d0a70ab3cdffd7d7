/* Why records stay without an acknowledgement though brokers answer: too few replicas in sync. */
#ifndef EXPORTERS_KAFKA_REPLICAS_H
#define EXPORTERS_KAFKA_REPLICAS_H

#include "lib/kafka/kafka_topic.h"

struct replicas {
    pthread_mutex_t lock;
    uint64_t asked; /* when the brokers were asked last, mono; 0: never */
    uint64_t told;  /* when replicas_due was true last, mono; 0: never */
    char text[KAFKA_TROUBLE_SIZE];
};

void replicas_init(struct replicas *replicas);
void replicas_release(struct replicas *replicas);

/* Like kafka_topic_replicas for all topics in use, but asks at most every few seconds. Any
 * thread. */
bool replicas_lack(struct replicas *replicas, rd_kafka_t *client, char *text, size_t size);

/* Whether to log it: true once a minute. Any thread. */
bool replicas_due(struct replicas *replicas);

#endif
