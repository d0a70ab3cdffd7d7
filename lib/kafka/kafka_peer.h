/*
 * What a Kafka client's brokers complain about, as sentences for the log and for outcomes: an
 * unreachable broker is logged once a minute, refused credentials once until a broker accepts them.
 * Also whether an error of Kafka's may pass when the same is tried again.
 */
#ifndef LIB_KAFKA_KAFKA_PEER_H
#define LIB_KAFKA_KAFKA_PEER_H

#include "lib/base/verdict.h"
#include "lib/kafka/rdkafka.h"

#include <pthread.h>

enum { KAFKA_TROUBLE_SIZE = 240 };

/* The opaque pointer of a client, which all its callbacks get. Zero-initialised except for the
 * first three. */
struct kafka_peer {
    const char *id; /* the component's, for the log; borrowed */
    void *owner;    /* the caller's */
    bool quiet;     /* log no trouble: outcomes tell it */
    bool scram;     /* logs in by SCRAM; kafka_conf_new sets it */

    pthread_mutex_t mutex;            /* guards the rest */
    char trouble[KAFKA_TROUBLE_SIZE]; /* since the last success; "": none */
    enum cause cause;                 /* of it */
    uint64_t told_ns[CAUSE_COUNT];    /* when such trouble was logged, mono; 0: never */
};

void kafka_peer_init(struct kafka_peer *peer, const char *id, void *owner);
void kafka_peer_release(struct kafka_peer *peer);

/* Callbacks of rd_kafka_conf_t; kafka_conf_new sets them. The second runs in whatever polls. */
void kafka_peer_log(const rd_kafka_t *client, int level, const char *facility, const char *text);
void kafka_peer_error(rd_kafka_t *client, int code, const char *reason, void *opaque);

/* A broker answered as it should: what was wrong is over. Any thread, cheap. */
void kafka_peer_works(struct kafka_peer *peer);

/* Copies the current trouble for the caller to report; "" if there is none. Returns its cause. It
 * is then not logged here for a while. Any thread. */
enum cause kafka_peer_trouble(struct kafka_peer *peer, char *out, size_t size);

/* Translates an error that a broker or librdkafka reported for records: RETRY if it may pass,
 * REJECT if not. The text is Kafka's, after the topic. topic: NULL: none. */
struct outcome kafka_outcome(rd_kafka_resp_err_t code, const char *topic);

/* Rewrites a broker's complaint ("sasl_ssl://b:9093/bootstrap: Connect to ... failed: Connection
 * refused (after 0ms in state CONNECT)") as a sentence; returns its cause, CAUSE_NONE for what is
 * not worth telling. Pure. */
enum cause kafka_complaint(rd_kafka_resp_err_t code, const char *reason, char *out, size_t size);

#endif
