#include "exporters/kafka/producer.h"

#include "exporters/kafka/accumulator.h"
#include "exporters/kafka/partition_counts.h"
#include "exporters/kafka/replicas.h"
#include "exporters/kafka/turns.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "pipeline/native_record.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    POLL_MS = 500,
    MISSING_MS = 2000, /* how long a topic may be missing until records of it fail */
    VALUES = 8,
    ASK_MS = 500,
    LINGER_MS = 900000, /* the most that librdkafka takes */
    STICKY_MS = 10,     /* at least: records that are sent together have one partition */
    DAY_MS = 24 * 3600 * 1000
};

#define ATTEMPT_TIMEOUT_NS (30 * NS_PER_S)

/* How long no record is acknowledged until the attempt counts as failed, and again. */
#define STALL_NS (5 * NS_PER_S)

/* How long an outdated client may still deliver what it has. */
#define OUTDATED_NS (5 * NS_PER_S)

/* The client is replaced after a fatal error, when it cannot send, and when the TLS files have
 * changed. */
struct producer {
    struct kafka_exporter *self;
    pthread_rwlock_t lock; /* guards client; a send holds it for reading */
    rd_kafka_t *client;
    struct accumulator accumulator;
    struct replicas replicas;
    struct turns turns;             /* of those that give the client records and serve it */
    struct partition_counts counts; /* of who has the turn, as the next two */
    size_t given;                   /* records without an answer */
    size_t given_bytes; /* of these, and of those that were answered since there were none */
    _Atomic bool aborted;
    _Atomic uint64_t outdated; /* since when the TLS files differ from the client's, mono; 0: they
                                  do not */
};

/* ---- the client ---- */

static void land(struct producer *producer, struct record *record, rd_kafka_resp_err_t result)
{
    atomic_fetch_sub_explicit(&producer->self->under_way, 1, memory_order_relaxed);
    record->result = result;
    turns_land(&producer->turns, record->flight);
}

/* Purged records of an outdated client are sent again by the next one. */
static rd_kafka_resp_err_t result_of(const struct producer *producer, rd_kafka_resp_err_t code)
{
    bool purged =
        code == RD_KAFKA_RESP_ERR__PURGE_QUEUE || code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
    return purged && !atomic_load(&producer->aborted) ? RD_KAFKA_RESP_ERR__MSG_TIMED_OUT : code;
}

static bool is_too_large(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
           code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

static void delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
    const struct kafka_exporter *self = ((struct kafka_peer *)opaque)->owner;
    (void)client;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        const struct record *record = message->_private;
        atomic_store_explicit(&self->producer->self->acknowledged, clock_mono(&clock_system),
                              memory_order_relaxed);
        kafka_peer_works(opaque, rdkafka.message_broker_id(message));
        partition_counts_note(&self->producer->counts, record->batch->signal);
    }
    if (is_too_large(message->err))
        ((struct record *)message->_private)->together = self->producer->given_bytes;
    self->producer->given--;
    land(self->producer, message->_private, result_of(self->producer, message->err));
}

/* Makes the client report all records as purged. */
static void purge(rd_kafka_t *client)
{
    rdkafka.purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

/* Notices changed TLS files. The next send replaces the client when all others have ended, so what
 * it could not deliver in time must fail, to be sent again. */
static void look_for_new_files(struct producer *producer)
{
    uint64_t now = clock_mono(&clock_system), since = atomic_load(&producer->outdated);
    if (!since && kafka_peer_is_outdated(&producer->self->peer))
        atomic_store(&producer->outdated, now);
    if (since && now > since + OUTDATED_NS)
        purge(producer->client);
}

/* ---- records ---- */

static bool add_header(void *ctx, const char *name, struct view value)
{
    return rdkafka.header_add(ctx, name, (ssize_t)strlen(name),
                              value.data ? (const void *)value.data : "",
                              (ssize_t)value.size) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* The sender's metadata named in include_metadata_keys. */
static void add_metadata(const struct kafka_exporter *self, const struct record *record,
                         rd_kafka_headers_t *headers)
{
    const struct metadata *sender = record->batch->metadata;
    for (size_t i = 0; sender && i < self->metadata_keys.count; i++) {
        const char *key = self->metadata_keys.items[i];
        bool tenant = strcasecmp(key, NATIVE_TENANT) == 0;
        const char *value = tenant ? sender->tenant : sender->authorization;
        if (value && !(tenant && record->native))
            add_header(headers, key, view_of(value));
    }
}

static rd_kafka_headers_t *headers_of(const struct kafka_exporter *self,
                                      const struct record *record)
{
    rd_kafka_headers_t *headers = rdkafka.headers_new(4);
    if (headers && record->native)
        native_record_headers(record->batch, add_header, headers);
    if (headers && *record->part)
        add_header(headers, NATIVE_PART, view_of(record->part));
    if (headers)
        add_metadata(self, record, headers);
    if (headers && rdkafka.header_cnt(headers) > 0)
        return headers;
    if (headers)
        rdkafka.headers_destroy(headers);
    return NULL;
}

static rd_kafka_resp_err_t produce(struct producer *producer, struct record *record)
{
    rd_kafka_headers_t *headers = headers_of(producer->self, record);
    rd_kafka_vu_t values[VALUES];
    size_t n = 0;
    values[n++] = (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = record->topic};
    values[n++] = (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = 0};
    values[n++] = (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = record};
    values[n++] = (rd_kafka_vu_t){
        .vtype = RD_KAFKA_VTYPE_VALUE,
        .u.mem = {.ptr = (void *)(uintptr_t)record->value.data, .size = record->value.size}};
    if (record->key.data)
        values[n++] = (rd_kafka_vu_t){
            .vtype = RD_KAFKA_VTYPE_KEY,
            .u.mem = {.ptr = (void *)(uintptr_t)record->key.data, .size = record->key.size}};
    record->dated = record->batch->recorded &&
                    !atomic_load_explicit(&producer->self->undated, memory_order_relaxed);
    if (record->dated)
        values[n++] = (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_TIMESTAMP,
                                      .u.i64 = (int64_t)(record->batch->recorded / NS_PER_MS)};
    if (headers)
        values[n++] = (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers};
    rd_kafka_error_t *error = rdkafka.produceva(producer->client, values, n);
    if (!error)
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_resp_err_t code = rdkafka.error_code(error);
    rdkafka.error_destroy(error);
    if (headers)
        rdkafka.headers_destroy(headers);
    return code;
}

/* ---- a turn ---- */

static void give(struct producer *producer, struct record *record)
{
    producer->given_bytes = 0;
    for (const struct record *each = record; each; each = each->next)
        producer->given_bytes += accumulator_size(each);
    for (struct record *next; record; record = next) {
        next = record->next;
        rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__PURGE_QUEUE;
        if (!atomic_load(&producer->aborted))
            code = produce(producer, record);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            producer->given++;
        else
            land(producer, record, code);
    }
}

/* Gives the client the records that are due once it has none. */
static int give_due(struct producer *producer)
{
    int wait_ms = POLL_MS;
    uint64_t now = atomic_load(&producer->aborted) ? UINT64_MAX : clock_mono(&clock_system);
    if (producer->given == 0)
        give(producer, accumulator_take(&producer->accumulator, now, &wait_ms));
    return wait_ms;
}

static void serve(void *ctx, bool waits)
{
    struct producer *producer = ctx;
    int wait_ms = waits ? give_due(producer) : 0;
    if (producer->given > 0) /* sends them now rather than after linger.ms */
        rdkafka.flush(producer->client, POLL_MS);
    else
        rdkafka.poll(producer->client, wait_ms);
    if (atomic_load(&producer->aborted))
        purge(producer->client);
    look_for_new_files(producer);
    partition_counts_look(&producer->counts, producer->self, producer->client);
}

/* 0: none. An attempt that never ends keeps the records of an outage in order, since librdkafka
 * sends what it has in order; it must end if a client waits or retries do. */
static uint64_t attempt_timeout(const struct kafka_exporter *self)
{
    const struct delivery *delivery = &self->delivery;
    bool waits = !delivery->queue.enabled || delivery->queue.wait_for_result;
    bool ends = !delivery->retry.enabled || delivery->retry.max_elapsed_time;
    if (self->timeout == 0 && (waits || ends))
        return ATTEMPT_TIMEOUT_NS;
    return self->timeout;
}

static const char *const acks[] = {"all", "all", "1", "0"};

static bool acks_all(const struct kafka_exporter *self)
{
    return strcmp(acks[self->produce.required_acks], "all") == 0;
}

static void set_produce(const struct kafka_exporter *self, rd_kafka_conf_t *conf, char *error,
                        size_t size)
{
    static const char *const codecs[] = {"none", "gzip", "snappy", "lz4", "zstd"};
    const struct kafka_produce *produce = &self->produce;
    int64_t together = (int64_t)atomic_load(&self->batch_bytes);
    uint64_t attempt = attempt_timeout(self);
    int64_t timeout = attempt ? kafka_ms(attempt, 1000, DAY_MS) : 0;
    int64_t request = timeout ? timeout / 3 : 10000;
    bool all = acks_all(self);
    kafka_conf_set(conf, "acks", acks[produce->required_acks], error, size);
    kafka_conf_set(conf, "enable.idempotence", all ? "true" : "false", error, size);
    kafka_conf_set(conf, "partitioner", "murmur2_random", error, size);
    kafka_conf_set(conf, "compression.codec", codecs[produce->compression], error, size);
    kafka_conf_set_int(conf, "compression.level", produce->params.level, error, size);
    kafka_conf_set_int(conf, "message.max.bytes", produce->max_message_bytes, error, size);
    kafka_conf_set_int(conf, "batch.size", together, error, size);
    if (produce->flush_max_messages)
        kafka_conf_set_int(conf, "batch.num.messages", produce->flush_max_messages, error, size);
    /* The accumulator lingers. */
    int64_t linger = kafka_ms(produce->linger, STICKY_MS, LINGER_MS);
    kafka_conf_set_int(conf, "sticky.partitioning.linger.ms", linger, error, size);
    kafka_conf_set_int(conf, "linger.ms", timeout ? timeout / 2 : LINGER_MS, error, size);
    kafka_conf_set_int(conf, "message.timeout.ms", timeout, error, size);
    /* A broker that hangs must not use up the attempt. */
    request = request < 1000 ? 1000 : request > 30000 ? 30000 : request;
    kafka_conf_set_int(conf, "request.timeout.ms", request, error, size);
    kafka_conf_set_int(conf, "socket.timeout.ms", request, error, size);
    kafka_conf_set_int(conf, "topic.metadata.propagation.max.ms", MISSING_MS, error, size);
    kafka_conf_set_int(conf, "reconnect.backoff.max.ms", 5000, error, size);
    /* The memory is the pipeline's: records are not copied. */
    kafka_conf_set_int(conf, "queue.buffering.max.kbytes", INT32_MAX, error, size);
}

static bool client_start(struct producer *producer, char *error, size_t size)
{
    struct kafka_exporter *self = producer->self;
    rd_kafka_conf_t *conf = kafka_conf_new(&self->kafka, &self->peer, error, size);
    if (!conf)
        return false;
    rdkafka.conf_set_dr_msg_cb(conf, delivered);
    set_produce(self, conf, error, size);
    producer->client = kafka_client_new(RD_KAFKA_PRODUCER, conf, error, size);
    if (!producer->client)
        return false;
    accumulator_set(&producer->accumulator, self->produce.linger,
                    (size_t)self->produce.flush_max_messages, atomic_load(&self->batch_bytes));
    producer->given = 0;
    atomic_store(&producer->outdated, 0);
    bool started = turns_start(&producer->turns);
    if (!started)
        snprintf(error, size, "cannot start a thread");
    return started;
}

/* Ends the wait of who serves the client. */
static void wake(rd_kafka_t *client)
{
    rd_kafka_queue_t *queue = rdkafka.queue_get_main(client);
    rdkafka.queue_yield(queue);
    rdkafka.queue_destroy(queue);
}

static void client_stop(struct producer *producer)
{
    turns_stop(&producer->turns);
    if (producer->client)
        rdkafka.destroy(producer->client);
    producer->client = NULL;
}

struct producer *producer_new(struct kafka_exporter *self, char *error, size_t error_size)
{
    struct producer *producer = calloc(1, sizeof *producer);
    if (!producer) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    producer->self = self;
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&producer->lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    turns_init(&producer->turns, serve, producer);
    accumulator_init(&producer->accumulator);
    replicas_init(&producer->replicas);
    if (client_start(producer, error, error_size))
        return producer;
    producer_free(producer);
    return NULL;
}

void producer_free(struct producer *producer)
{
    if (!producer)
        return;
    client_stop(producer);
    accumulator_release(&producer->accumulator);
    replicas_release(&producer->replicas);
    turns_release(&producer->turns);
    pthread_rwlock_destroy(&producer->lock);
    free(producer);
}

/* Under the lock, for writing. */
static void client_again(struct producer *producer)
{
    char text[512];
    client_stop(producer);
    if (!client_start(producer, text, sizeof text))
        env_error(producer->self->env, "%s", text);
}

/* Replaces a client that failed for good, that could not be started, or that is outdated. That the
 * user may not write is said by kafka_peer_error or the outcome, not again at each attempt. */
static void replace_client(struct producer *producer)
{
    char text[256];
    pthread_rwlock_wrlock(&producer->lock);
    rd_kafka_resp_err_t fatal =
        producer->client ? rdkafka.fatal_error(producer->client, text, sizeof text) : 0;
    bool outdated = atomic_load(&producer->outdated);
    if (fatal && fatal != RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
        env_warn(producer->self->env, "starting a new producer after: %s", text);
    else if (outdated)
        env_info(producer->self->env, "starting a new producer with the new TLS files");
    if (!atomic_load(&producer->aborted) && (fatal || outdated || !producer->client))
        client_again(producer);
    pthread_rwlock_unlock(&producer->lock);
}

void producer_resize(struct producer *producer)
{
    pthread_rwlock_wrlock(&producer->lock);
    if (!atomic_load(&producer->aborted))
        client_again(producer);
    pthread_rwlock_unlock(&producer->lock);
}

size_t producer_ask_limit(struct producer *producer, const char *topic)
{
    int64_t limit = 0;
    pthread_rwlock_rdlock(&producer->lock);
    if (producer->client && !atomic_load(&producer->aborted))
        limit = kafka_topic_config(producer->client, topic).max_message_bytes;
    pthread_rwlock_unlock(&producer->lock);
    return limit > 0 ? (size_t)limit : 0;
}

/* Under the lock. */
static bool lacks_replicas(struct producer *producer, char *text, size_t size)
{
    return acks_all(producer->self) && producer->client && !atomic_load(&producer->aborted) &&
           replicas_lack(&producer->replicas, producer->client, text, size);
}

bool producer_lacks_replicas(struct producer *producer, char *text, size_t size)
{
    pthread_rwlock_rdlock(&producer->lock);
    bool lacks = lacks_replicas(producer, text, size);
    pthread_rwlock_unlock(&producer->lock);
    return lacks;
}

/* An attempt may have no end: says that it fails meanwhile, and why. */
static void stall(struct producer *producer, const struct progress *progress, uint64_t ns)
{
    const struct rd_kafka_metadata *metadata;
    struct kafka_peer *peer = &producer->self->peer;
    char trouble[KAFKA_TROUBLE_SIZE];
    rd_kafka_resp_err_t code = rdkafka.metadata(producer->client, 0, NULL, &metadata, ASK_MS);
    if (!code)
        rdkafka.metadata_destroy(metadata);
    else if (code == RD_KAFKA_RESP_ERR__TRANSPORT)
        kafka_peer_no_broker(peer);
    enum cause cause = CAUSE_UNAVAILABLE;
    bool lacks = !code && lacks_replicas(producer, trouble, sizeof trouble);
    if (lacks && replicas_due(&producer->replicas))
        env_warn(producer->self->env, "%s", trouble);
    if (!lacks)
        cause = kafka_peer_why(peer, trouble, sizeof trouble);
    struct outcome why =
        *trouble ? outcome_of(VERDICT_RETRY, cause, "%s", trouble)
                 : outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE,
                              "no broker has acknowledged a record for %.0f s", (double)ns / 1e9);
    progress_stalls(progress, &why);
}

/* Waits until all records have landed. */
static void await(struct producer *producer, struct flight *flight, const struct progress *progress)
{
    uint64_t since = clock_mono(&clock_system), told = since;
    while (!turns_wait(&producer->turns, flight)) {
        uint64_t now = clock_mono(&clock_system);
        uint64_t last = atomic_load(&producer->self->acknowledged);
        last = last > since ? last : since;
        if (!producer->client || now < last + STALL_NS || now < told + STALL_NS)
            continue;
        told = now;
        stall(producer, progress, now - last);
    }
}

static bool fly(struct producer *producer, struct record *const *records, size_t count,
                const struct progress *progress)
{
    struct flight flight;
    char text[8];
    if (count == 0)
        return producer->client;
    turns_begin(&producer->turns, &flight, count);
    atomic_fetch_add_explicit(&producer->self->under_way, count, memory_order_relaxed);
    for (size_t i = 0; i < count; i++) {
        records[i]->flight = &flight;
        if (!producer->client)
            land(producer, records[i], RD_KAFKA_RESP_ERR__STATE);
    }
    if (producer->client && accumulator_add(&producer->accumulator, records, count))
        wake(producer->client);
    await(producer, &flight, progress);
    return producer->client &&
           rdkafka.fatal_error(producer->client, text, sizeof text) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* librdkafka keeps these errors of a topic until it asks again, every metadata.refresh_interval.
 * Asks now, to notice rights and topics that were added meanwhile. */
static void ask_again(struct producer *producer, struct record *const *records, size_t count)
{
    bool due = false;
    for (size_t i = 0; i < count; i++)
        due |= records[i]->result == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
               records[i]->result == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
               records[i]->result == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    if (due)
        kafka_topic_refresh(producer->client);
}

void producer_send(struct producer *producer, struct record *const *records, size_t count,
                   const struct progress *progress)
{
    if (atomic_load(&producer->outdated))
        replace_client(producer);
    pthread_rwlock_rdlock(&producer->lock);
    bool usable = fly(producer, records, count, progress);
    if (usable)
        ask_again(producer, records, count);
    pthread_rwlock_unlock(&producer->lock);
    if (!usable)
        replace_client(producer);
}

void producer_abort(struct producer *producer)
{
    /* Who serves the client purges too, soon: sends may hold the lock while a writer waits for it.
     */
    atomic_store(&producer->aborted, true);
    if (pthread_rwlock_tryrdlock(&producer->lock) != 0)
        return;
    if (producer->client) {
        purge(producer->client);
        wake(producer->client);
    }
    pthread_rwlock_unlock(&producer->lock);
}

/* ---- probe ---- */

static void warn_of_limit(const struct kafka_exporter *self, const char *topic, int64_t limit,
                          char *text, size_t size)
{
    int64_t most = self->produce.max_message_bytes;
    if (limit == 0)
        kafka_add_warning(text, size, KAFKA_LIMIT_UNKNOWN, topic);
    else if (limit < most)
        kafka_add_warning(text, size,
                          "topic %s takes %" PRId64 " bytes at once (max.message.bytes), but "
                          "producer.max_message_bytes is %" PRId64
                          ": larger records may be refused, "
                          "and are then halved; set producer.max_message_bytes to %" PRId64
                          ", or the topic's max.message.bytes to at least %" PRId64,
                          topic, limit, most, limit, most);
}

/* Of a topic that exists: compares it with the settings. */
static bool probe_topic(struct producer *producer, enum signal signal, int partitions, char *text,
                        size_t size)
{
    struct kafka_exporter *self = producer->self;
    const char *topic = kafka_topic(self, signal);
    bool paired = kafka_key_of(self, signal) == KAFKA_KEY_PROCESS;
    if (!kafka_topic_leads(producer->client, &self->peer, topic, partitions, text, size))
        return false;
    if (acks_all(self) &&
        kafka_topic_replicas(producer->client, topic, 0, text, size) == KAFKA_REPLICAS_LACK)
        return false;
    if (paired && !kafka_topic_matches(&self->match, topic, partitions, text, size))
        return false;
    struct kafka_topic_config config = kafka_topic_config(producer->client, topic);
    if (paired && config.append_time)
        kafka_add_warning(text, size, KAFKA_APPEND_TIME, topic);
    if (config.compacted)
        kafka_add_warning(text, size, KAFKA_COMPACTED, topic);
    warn_of_limit(self, topic, config.max_message_bytes, text, size);
    return true;
}

bool producer_probe(struct producer *producer, enum signal signal, char *text, size_t size)
{
    struct kafka_exporter *self = producer->self;
    const char *topic = kafka_topic(self, signal);
    pthread_rwlock_rdlock(&producer->lock);
    int partitions = producer->client
                         ? kafka_topic_partitions(producer->client, &self->peer, topic, text, size)
                         : 0;
    bool good = partitions > 0 && probe_topic(producer, signal, partitions, text, size);
    pthread_rwlock_unlock(&producer->lock);
    return good;
}
