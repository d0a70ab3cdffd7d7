/*
 * What is asked of brokers about topics. The functions block, up to some seconds.
 */
#ifndef LIB_KAFKA_KAFKA_TOPIC_H
#define LIB_KAFKA_KAFKA_TOPIC_H

#include "lib/kafka/kafka_peer.h"

/* Returns the number of partitions of a topic, without creating it. 0: text is a sentence that says
 * why it cannot be used. peer: the client's; it logs nothing from now on. */
int kafka_topic_partitions(rd_kafka_t *client, struct kafka_peer *peer, const char *topic,
                           char *text, size_t size);

/* Whether the topic has message.timestamp.type=LogAppendTime; false also if the brokers do not let
 * this user ask. */
bool kafka_topic_has_append_time(rd_kafka_t *client, const char *topic);

/* Asks for the leaders of the partitions of all topics in use. librdkafka asks them for offsets by
 * those that it knows, and after "not leader for partition" it would keep these until
 * metadata.refresh_interval. */
void kafka_topic_refresh(rd_kafka_t *client);

/* Topics whose partitions must have equal numbers, as they are asked about one after another.
 * Zero-initialised. */
struct kafka_topic_match {
    const char *topic; /* the first one; borrowed */
    int partitions;    /* of it; 0: none yet */
};

/* False: the topic has another number than the first one; text is a sentence. Pure. */
bool kafka_topic_matches(struct kafka_topic_match *match, const char *topic, int partitions,
                         char *text, size_t size);

/* A warning about a topic with LogAppendTime: a format with the topic's name. */
#define KAFKA_APPEND_TIME                                                                          \
    "topic %s has message.timestamp.type=LogAppendTime: spans that were accepted just before an "  \
    "outage of the brokers are not linked to profiles that waited in sidecars; set it to "         \
    "CreateTime"

#endif
