/* Watches whether the exporter's topics of spans and profiles have equal numbers of partitions,
 * which records with the key of their process need. Call from the thread that serves the client. */
#ifndef EXPORTERS_KAFKA_PARTITION_COUNTS_H
#define EXPORTERS_KAFKA_PARTITION_COUNTS_H

#include "exporters/kafka/kafka.h"
#include "lib/kafka/topics.h"

enum { PAIRED_TOPICS = 2 };

/* Zero-initialised. */
struct partition_counts {
    unsigned written; /* signals with records that brokers acknowledged */
    struct topic_count known[PAIRED_TOPICS];
    uint64_t ask_at; /* mono */
};

/* Notes that a broker acknowledged a record: its topic exists. */
static inline void partition_counts_note(struct partition_counts *counts, enum signal signal)
{
    counts->written |= 1U << signal;
}

/* Asks the brokers, once both topics have records and then every metadata.refresh_interval, and
 * logs counts that changed or differ. Blocks for up to a second if it asks. */
void partition_counts_look(struct partition_counts *counts, struct kafka_exporter *self,
                           rd_kafka_t *client);

#endif
