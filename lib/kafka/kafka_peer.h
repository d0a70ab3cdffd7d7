/*
 * The state of a Kafka client that spanlink keeps beside librdkafka's: its errors and its TLS
 * files. Errors become sentences for the log and for outcomes, and a decision whether to retry. An
 * unreachable broker is logged once a minute, refused credentials once until a broker accepts them.
 */
#ifndef LIB_KAFKA_KAFKA_PEER_H
#define LIB_KAFKA_KAFKA_PEER_H

#include "lib/base/verdict.h"
#include "lib/kafka/rdkafka.h"

#include <pthread.h>
#include <stdatomic.h>

enum { KAFKA_TROUBLE_SIZE = 240, KAFKA_DOWN_MOST = 8 };

/* Which broker works: any of them. */
enum { KAFKA_SOME_BROKER = -1 };

/* A broker that cannot be reached. */
struct kafka_down {
    char address[80];
    int32_t id;  /* -1: not known */
    bool leads;  /* the group: it is as its coordinator that it was wanted */
    uint64_t at; /* of its last complaint, mono */
    char text[KAFKA_TROUBLE_SIZE];
};

/* Delays by a broker for a quota (kafka_throttle.h). Mono; 0: never. */
struct kafka_throttle {
    uint64_t until, logged;
    int ms;
    char broker[80];
};

/* The opaque pointer that all callbacks of a client get. kafka_peer_init zeroes the rest. */
struct kafka_peer {
    const char *id;                /* the component's, for the log; borrowed */
    void *owner;                   /* the caller's */
    bool quiet;                    /* log no errors: the owner reports them */
    bool scram;                    /* logs in by SCRAM; kafka_conf_new sets it */
    struct tls_client *tls;        /* reads the TLS files; NULL: none. kafka_conf_new sets it */
    struct tls_material *material; /* those that kafka_conf_new used last */

    _Atomic uint64_t errors; /* reported by brokers, and failed connections */
    _Atomic uint64_t closed; /* connections, whoever closed them */
    bool single;             /* only one broker is configured; kafka_conf_new sets it */

    pthread_mutex_t mutex;            /* guards the rest */
    uint64_t silent_since;            /* kafka_peer_no_broker; mono; 0: a broker answered since */
    uint64_t silent_closed;           /* `closed` at that time */
    int certificate;                  /* X509_V_ERR_* of the last certificate refused; 0: none */
    char trouble[KAFKA_TROUBLE_SIZE]; /* the last error since the last success; "": none */
    enum cause cause;                 /* of it */
    uint64_t told_ns[CAUSE_COUNT];    /* when an error of a cause was last logged, mono; 0: never */
    struct kafka_down down[KAFKA_DOWN_MOST];
    size_t down_count;
    struct kafka_throttle throttle;
};

/* What is said of a broker that closes connections and gives no reason, and of one that does not
 * close them either. */
#define KAFKA_CLOSES "the broker closes the connection: it may expect TLS or SASL"
#define KAFKA_MUTE   "the broker accepts connections and does not answer: it may hang"

void kafka_peer_init(struct kafka_peer *peer, const char *id, void *owner);
void kafka_peer_release(struct kafka_peer *peer);

/* Whether the TLS files have changed since kafka_conf_new. librdkafka reads them only once, so a
 * new client is needed to use them. Reads the files at most once a second. Not at the same time as
 * kafka_conf_new. */
bool kafka_peer_is_outdated(struct kafka_peer *peer);

/* Stops logging errors: the caller reports them. Any thread. */
void kafka_peer_silence(struct kafka_peer *peer);

/* Callbacks of rd_kafka_conf_t; kafka_conf_new sets them. kafka_peer_error runs on the thread that
 * polls the client. */
void kafka_peer_log(const rd_kafka_t *client, int level, const char *facility, const char *text);
void kafka_peer_error(rd_kafka_t *client, int code, const char *reason, void *opaque);

/* rd_kafka_conf_set_ssl_cert_verify_cb's: keeps why a broker's certificate is refused. A broker's
 * thread calls it. */
int kafka_peer_verify(rd_kafka_t *client, const char *broker, int32_t id, int *error, int depth,
                      const char *der, size_t size, char *text, size_t text_size, void *opaque);

/* rd_kafka_conf_set_closesocket_cb's: counts the connection as closed. A broker's thread calls
 * it. */
int kafka_peer_close_socket(int socket, void *opaque);

/* Notes that librdkafka has no connection to a broker that answers (RD_KAFKA_RESP_ERR__TRANSPORT to
 * a request for metadata). If that lasts for seconds and nothing was reported, brokers close the
 * connections without a word, or leave them without an answer: that is then the trouble, and is
 * logged. Any thread. */
void kafka_peer_no_broker(struct kafka_peer *peer);

/* KAFKA_CLOSES or KAFKA_MUTE. closed: peer->closed when the brokers were first asked. */
const char *kafka_peer_wordless(const struct kafka_peer *peer, uint64_t closed);

/* Like kafka_peer_trouble, for a caller that does not log it. */
enum cause kafka_peer_why(struct kafka_peer *peer, char *out, size_t size);

/* Whether a broker complained in the last 45 s that it cannot be reached, and has not answered
 * since; out is then a sentence with its address, else "". Any thread. */
bool kafka_peer_is_down(struct kafka_peer *peer, char *out, size_t size);

/* Clears earlier errors: the broker with this id (or KAFKA_SOME_BROKER) answered as it should. What
 * another broker complained of in the last 45 s stays, as it may be needed still. Any thread,
 * cheap. */
void kafka_peer_works(struct kafka_peer *peer, int32_t broker);

/* The same of what says that no broker can be reached: this one told of the topics, which does not
 * need what others were refused. */
void kafka_peer_answers(struct kafka_peer *peer, int32_t broker);

/* Copies the current error for the caller to report; "" if there is none. Returns its cause. The
 * error is then not logged for a minute. Any thread. */
enum cause kafka_peer_trouble(struct kafka_peer *peer, char *out, size_t size);

/* Translates an error that a broker or librdkafka reported for records: RETRY if a later attempt
 * may succeed, REJECT if not. The text is the topic (NULL: none), then Kafka's own text. */
struct outcome kafka_outcome(rd_kafka_resp_err_t code, const char *topic);

/* Rewrites a broker's complaint ("sasl_ssl://b:9093/bootstrap: Connect to ... failed: Connection
 * refused (after 0ms in state CONNECT)") as a sentence. Returns its cause; CAUSE_NONE: not worth
 * reporting. Pure. */
enum cause kafka_complaint(rd_kafka_resp_err_t code, const char *reason, char *out, size_t size);

#endif
