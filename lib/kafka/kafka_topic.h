/*
 * What is asked of brokers about topics. The functions block, up to some seconds.
 */
#ifndef LIB_KAFKA_KAFKA_TOPIC_H
#define LIB_KAFKA_KAFKA_TOPIC_H

#include "lib/base/view.h"
#include "lib/kafka/kafka_peer.h"

enum { KAFKA_TOPIC_ABSENT = -1 };

/* Returns the number of partitions of a topic, without creating it; text is then "". 0 and
 * KAFKA_TOPIC_ABSENT: text is a sentence that says why it cannot be used. peer: the client's; it
 * logs nothing from now on. */
int kafka_topic_partitions(rd_kafka_t *client, struct kafka_peer *peer, const char *topic,
                           char *text, size_t size);

/* Whether the leaders of a topic's partitions can be reached, at the addresses that the brokers
 * advertise; text is else a sentence. One that refuses this user can. peer: the client's. */
bool kafka_topic_leads(rd_kafka_t *client, struct kafka_peer *peer, const char *topic,
                       int partitions, char *text, size_t size);

/* What a topic's configuration says, or for a topic that does not exist, the brokers'. */
struct kafka_topic_config {
    bool append_time;          /* message.timestamp.type=LogAppendTime */
    bool compacted;            /* cleanup.policy has compact */
    bool auto_create;          /* of the brokers: a topic that is written to is created */
    int64_t max_message_bytes; /* of a batch of records; 0: not known */
    int64_t least_in_sync;     /* min.insync.replicas; 0: not known */
};

/* Asks for a topic's configuration. All zero: the brokers did not answer, or do not let this user
 * ask. */
struct kafka_topic_config kafka_topic_config(rd_kafka_t *client, const char *topic);

/* Asks a broker for what it would give a new topic; otherwise like kafka_topic_config. */
struct kafka_topic_config kafka_new_topic_config(rd_kafka_t *client);

/* Whether brokers refuse a topic's records with acks=all, because fewer of its replicas are in sync
 * than least_in_sync; text is then a sentence that says what to do. With least_in_sync 0 (not
 * known) it is true if any replica is not in sync. Pure. */
bool kafka_replicas_lack(const struct rd_kafka_metadata_topic *topic, int64_t least_in_sync,
                         char *text, size_t size);

enum kafka_replicas {
    KAFKA_REPLICAS_UNKNOWN, /* no broker answers */
    KAFKA_REPLICAS_ENOUGH,
    KAFKA_REPLICAS_LACK /* text is kafka_replicas_lack's */
};

/* Asks the brokers whether a topic that exists lacks replicas like that, or with topic NULL,
 * whether one of the topics in use does. That is one request, and one more for each topic with a
 * replica that is not in sync. unknown: what counts as min.insync.replicas if this user may not ask
 * for it; 0: as many as there are. */
enum kafka_replicas kafka_topic_replicas(rd_kafka_t *client, const char *topic, int64_t unknown,
                                         char *text, size_t size);

/* Appends a sentence to the warnings in text, which is a string. */
void kafka_add_warning(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

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

/* A warning about a topic with cleanup.policy=compact: a format with the topic's name. */
#define KAFKA_COMPACTED                                                                            \
    "topic %s has cleanup.policy=compact: of the records with one key, such as those of a "        \
    "process, brokers keep only the last, so others are lost before they are read; set it to "     \
    "delete"

/* A warning about a topic whose limits cannot be compared: a format with its name. */
#define KAFKA_LIMIT_UNKNOWN                                                                        \
    "the max.message.bytes of topic %s is not known: this user may not ask for its configuration " \
    "(the operation DescribeConfigs)"

/* A format with what may not be read, "topic" or "group", and its name. */
#define KAFKA_MAY_NOT_READ "this user may not read %s %s: it needs the operation Read"

/* Whether a topic may have this name, by the rules of Kafka's brokers. Pure. */
bool kafka_topic_legal(struct view name);

/* What a topic's name is expected to be. */
#define KAFKA_TOPIC_EXPECTED "expected at most 249 letters, digits, dots, underscores and hyphens"

#endif
