/* The Kafka exporter's instance and its parts. */
#ifndef EXPORTERS_KAFKA_H
#define EXPORTERS_KAFKA_H

#include "exporters/kafka/absent_topics.h"
#include "lib/base/arena.h"
#include "lib/kafka/kafka_settings.h"
#include "lib/kafka/kafka_topic.h"
#include "pipeline/component.h"
#include "pipeline/delivery/delivery.h"

enum kafka_encoding { KAFKA_UNSET, KAFKA_OTLP_PROTO, KAFKA_OTLP_JSON, KAFKA_NATIVE };

struct kafka_route {
    char *topic;
    int encoding; /* enum kafka_encoding */
};

struct kafka_compression_params {
    int64_t level;
};

struct kafka_produce {
    int64_t max_message_bytes;
    int required_acks;
    int compression;
    struct kafka_compression_params params;
    int64_t flush_max_messages;
    uint64_t linger;
};

/* What decides the partition of a record. */
enum kafka_key {
    KAFKA_KEY_NONE,
    KAFKA_KEY_PROCESS, /* service and source */
    KAFKA_KEY_TRACE,
    KAFKA_KEY_RESOURCE
};

struct kafka_exporter {
    struct kafka_settings kafka;
    struct kafka_route routes[SIGNAL_COUNT];
    struct kafka_route all; /* the old top-level keys */
    struct kafka_produce produce;
    bool traces_by_id;
    bool metrics_by_resource, logs_by_resource;
    struct key_list partition_by;
    char *source;
    struct key_list metadata_keys;
    char *topic_from_attribute;
    uint64_t timeout;
    struct delivery delivery;

    const struct env *env;
    struct kafka_peer peer;
    bool open;
    char own_source[256];               /* resolved */
    struct topic_limit *_Atomic limits; /* topic_limits.h */
    _Atomic size_t batch_bytes;         /* the lowest limit of a topic: of records in one request */
    _Atomic bool aborted;
    _Atomic bool undated; /* a broker refuses records with the time at which they were accepted */
    struct producer *producer;
    struct kafka_topic_match match; /* of probes */
    struct absent_topics *absent;
    pthread_mutex_t concern_lock;
    char unequal[512]; /* topics whose partition counts differ, a sentence; "": none */

    _Atomic uint64_t records, bytes, record_parts, records_refused, records_redirected;
    _Atomic uint64_t acknowledged; /* when a broker last acknowledged a record, mono */
    _Atomic uint64_t under_way;    /* records that sends wait for */
};

/* The settings of a signal with their defaults. */
const char *kafka_topic(const struct kafka_exporter *self, enum signal signal);
enum kafka_encoding kafka_encoding(const struct kafka_exporter *self, enum signal signal);
enum kafka_key kafka_key_of(const struct kafka_exporter *self, enum signal signal);

/* Says that several of these signals go into one topic, which no receiver can read: the component's
 * `misplaced`. */
const char *kafka_misplaced(const void *config, unsigned signals, bool *severe);

/* ---- shares: what of a batch has one topic and key (share.c) ---- */

struct share {
    const char *topic;
    struct view key;     /* data NULL: none */
    struct batch *batch; /* one reference; receipts, metadata and encoding are the whole batch's */
    bool redirected;     /* the topic that it names is absent */
};

struct shares {
    struct share *all;
    size_t count;
};

/* Divides a batch in wire form, in the order of first appearance; texts are in the arena. The
 * caller releases the shares in both cases. False: no memory. */
bool shares_of(const struct kafka_exporter *self, struct batch *batch, struct shares *shares,
               struct arena *arena);
void shares_release(struct shares *shares);

/* The service of the first resource of an OTLP batch; empty: unknown. */
struct view service_of_otlp(const struct batch *batch, struct arena *arena);

/* The service of profiles that are not OTLP, as correlation names it; empty: unknown. The result is
 * in the batch or the arena. */
struct view service_of_profile(const struct batch *batch, struct arena *arena);

/* The key of a process: SERVICE, NUL, source. Data NULL: no memory. */
struct view process_key(const struct kafka_exporter *self, struct view service,
                        struct arena *arena);

/* ---- records (records.c) ---- */

struct record {
    const char *topic;
    struct view key;
    struct batch *batch; /* one reference */
    struct buffer *made; /* a converted value; NULL: the value is in the batch */
    struct view value;
    uint32_t items; /* that are lost with it */
    char part[48];  /* header spanlink.part; "": none */
    bool native;
    bool redirected;            /* as its share */
    bool dated;                 /* sent with the time at which it was accepted */
    bool divisible;             /* smaller records can be made of it */
    struct flight *flight;      /* the send that waits for it */
    struct record *next;        /* in the accumulator */
    rd_kafka_resp_err_t result; /* once it landed */
    size_t together;            /* if it was refused for its size: bytes of what it was sent with */
};

struct records {
    struct record *all;
    size_t count, capacity;
};

/* Makes the records of a batch, none larger than *limit unless a single item is; *limit becomes the
 * lowest limit of a topic of the batch. The order depends on batch, settings and that limit alone.
 * The caller releases the records in both cases; texts are in the arena. Other than OK: nothing may
 * be sent. */
struct outcome records_of(const struct kafka_exporter *self, struct batch *batch, size_t *limit,
                          struct records *records, struct arena *arena);
void records_release(struct records *records);

/* Bytes that a record takes beside its value: key, headers and their lengths. */
size_t record_overhead(const struct kafka_exporter *self, const struct batch *batch,
                       struct view key, bool native);

#endif
