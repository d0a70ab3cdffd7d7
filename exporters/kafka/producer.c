/* librdkafka's producer, and sends that wait for acknowledgements. */
#include "exporters/kafka/kafka.h"

#include "lib/base/log.h"
#include "pipeline/native_record.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { POLL_MS = 500, PROBE_MS = 5000, VALUES = 8, DAY_MS = 24 * 3600 * 1000 };

/* After a fatal error the client is replaced: it can send nothing any more. */
struct producer {
    struct kafka_exporter *self;
    pthread_rwlock_t lock; /* guards client; a send holds it for reading */
    rd_kafka_t *client;
    pthread_t thread; /* serves the client's callbacks */
    bool started;
    _Atomic bool stopping;
    _Atomic bool aborted;
};

/* Records on their way, of one send. */
struct flight {
    pthread_mutex_t mutex;
    pthread_cond_t landed;
    size_t waiting;
};

/* ---- the client ---- */

static void land(struct record *record, rd_kafka_resp_err_t result)
{
    struct flight *flight = record->flight;
    pthread_mutex_lock(&flight->mutex);
    record->result = result;
    if (--flight->waiting == 0)
        pthread_cond_signal(&flight->landed);
    pthread_mutex_unlock(&flight->mutex);
}

static void delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
    (void)client;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
        kafka_peer_works(opaque);
    land(message->_private, message->err);
}

/* All records get their result, an error. */
static void purge(rd_kafka_t *client)
{
    rdkafka.purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

static void *serve(void *ctx)
{
    struct producer *producer = ctx;
    while (!atomic_load(&producer->stopping)) {
        rdkafka.poll(producer->client, POLL_MS);
        if (atomic_load(&producer->aborted))
            purge(producer->client);
    }
    return NULL;
}

static void set_produce(const struct kafka_exporter *self, rd_kafka_conf_t *conf, char *error,
                        size_t size)
{
    static const char *const acks[] = {"all", "all", "1", "0"};
    static const char *const codecs[] = {"none", "gzip", "snappy", "lz4", "zstd"};
    const struct kafka_produce *produce = &self->produce;
    int64_t bytes = (int64_t)atomic_load(&self->record_bytes);
    int64_t timeout = self->timeout ? kafka_ms(self->timeout, 1000, DAY_MS) : 0;
    int64_t request = timeout ? timeout / 3 : 10000;
    bool all = strcmp(acks[produce->required_acks], "all") == 0;
    kafka_conf_set(conf, "acks", acks[produce->required_acks], error, size);
    kafka_conf_set(conf, "enable.idempotence", all ? "true" : "false", error, size);
    kafka_conf_set(conf, "partitioner", "murmur2_random", error, size);
    kafka_conf_set(conf, "compression.codec", codecs[produce->compression], error, size);
    kafka_conf_set_int(conf, "compression.level", produce->params.level, error, size);
    kafka_conf_set_int(conf, "message.max.bytes", bytes, error, size);
    kafka_conf_set_int(conf, "batch.size", bytes, error, size);
    if (produce->flush_max_messages)
        kafka_conf_set_int(conf, "batch.num.messages", produce->flush_max_messages, error, size);
    kafka_conf_set_int(conf, "linger.ms", kafka_ms(produce->linger, 0, 900000), error, size);
    kafka_conf_set_int(conf, "message.timeout.ms", timeout, error, size);
    /* One broker that hangs must not take all of the attempt. */
    request = request < 1000 ? 1000 : request > 30000 ? 30000 : request;
    kafka_conf_set_int(conf, "request.timeout.ms", request, error, size);
    kafka_conf_set_int(conf, "socket.timeout.ms", request, error, size);
    kafka_conf_set_int(conf, "topic.metadata.propagation.max.ms", request, error, size);
    kafka_conf_set_int(conf, "reconnect.backoff.max.ms", 5000, error, size);
    /* The memory is the pipeline's: records are not copied. */
    kafka_conf_set_int(conf, "queue.buffering.max.kbytes", INT32_MAX, error, size);
}

static bool client_start(struct producer *producer, char *error, size_t size)
{
    struct kafka_exporter *self = producer->self;
    struct tls_material *material;
    rd_kafka_conf_t *conf = kafka_conf_new(&self->kafka, &self->peer, &material, error, size);
    if (!conf)
        return false;
    rdkafka.conf_set_dr_msg_cb(conf, delivered);
    set_produce(self, conf, error, size);
    producer->client = kafka_client_new(RD_KAFKA_PRODUCER, conf, material, error, size);
    if (!producer->client)
        return false;
    atomic_store(&producer->stopping, false);
    producer->started = pthread_create(&producer->thread, NULL, serve, producer) == 0;
    if (!producer->started)
        snprintf(error, size, "cannot start a thread");
    return producer->started;
}

/* Ends the wait of the thread that serves the client. */
static void wake(rd_kafka_t *client)
{
    rd_kafka_queue_t *queue = rdkafka.queue_get_main(client);
    rdkafka.queue_yield(queue);
    rdkafka.queue_destroy(queue);
}

static void client_stop(struct producer *producer)
{
    atomic_store(&producer->stopping, true);
    if (producer->client)
        wake(producer->client);
    if (producer->started)
        pthread_join(producer->thread, NULL);
    producer->started = false;
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
    pthread_rwlock_destroy(&producer->lock);
    free(producer);
}

/* ---- sending ---- */

static bool add_header(void *ctx, const char *name, struct view value)
{
    return rdkafka.header_add(ctx, name, (ssize_t)strlen(name),
                              value.data ? (const void *)value.data : "",
                              (ssize_t)value.size) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* The sender's metadata that this exporter was asked to pass on. */
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

/* Under the lock, for writing. */
static void client_again(struct producer *producer)
{
    char text[512];
    client_stop(producer);
    if (!client_start(producer, text, sizeof text))
        log_error("%s: %s", producer->self->env->id, text);
}

/* Replaces a client that can send nothing any more, or that could not be started before. */
static void replace_client(struct producer *producer)
{
    char text[256];
    pthread_rwlock_wrlock(&producer->lock);
    bool fatal = producer->client && rdkafka.fatal_error(producer->client, text, sizeof text);
    if (fatal)
        log_warn("%s: starting a new producer after: %s", producer->self->env->id, text);
    if (!atomic_load(&producer->aborted) && (fatal || !producer->client))
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

static bool fly(struct producer *producer, struct record *const *records, size_t count)
{
    struct flight flight = {.waiting = count};
    char text[8];
    pthread_mutex_init(&flight.mutex, NULL);
    pthread_cond_init(&flight.landed, NULL);
    for (size_t i = 0; i < count; i++) {
        records[i]->flight = &flight;
        rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__PURGE_QUEUE;
        if (!atomic_load(&producer->aborted))
            code = producer->client ? produce(producer, records[i]) : RD_KAFKA_RESP_ERR__STATE;
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            land(records[i], code);
    }
    pthread_mutex_lock(&flight.mutex);
    while (flight.waiting)
        pthread_cond_wait(&flight.landed, &flight.mutex);
    pthread_mutex_unlock(&flight.mutex);
    pthread_cond_destroy(&flight.landed);
    pthread_mutex_destroy(&flight.mutex);
    return producer->client &&
           rdkafka.fatal_error(producer->client, text, sizeof text) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* librdkafka keeps such an error of a topic until it asks about it again, every
 * metadata.refresh_interval; what was granted or created meanwhile would go unnoticed. */
static void ask_again(struct producer *producer, struct record *const *records, size_t count)
{
    const struct rd_kafka_metadata *metadata;
    bool due = false;
    for (size_t i = 0; i < count; i++)
        due |= records[i]->result == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
               records[i]->result == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
               records[i]->result == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    if (due && rdkafka.metadata(producer->client, 0, NULL, &metadata, PROBE_MS) ==
                   RD_KAFKA_RESP_ERR_NO_ERROR)
        rdkafka.metadata_destroy(metadata);
}

void producer_send(struct producer *producer, struct record *const *records, size_t count)
{
    pthread_rwlock_rdlock(&producer->lock);
    bool usable = fly(producer, records, count);
    if (usable)
        ask_again(producer, records, count);
    pthread_rwlock_unlock(&producer->lock);
    if (!usable)
        replace_client(producer);
}

void producer_abort(struct producer *producer)
{
    /* The client's thread purges too, soon: sends may hold the lock while a writer waits for it. */
    atomic_store(&producer->aborted, true);
    if (pthread_rwlock_tryrdlock(&producer->lock) != 0)
        return;
    if (producer->client)
        purge(producer->client);
    pthread_rwlock_unlock(&producer->lock);
}

/* ---- probe ---- */

/* All topics are listed, because asking for one may create it. */
bool producer_probe(struct producer *producer, const char *topic, char *text, size_t size)
{
    const struct rd_kafka_metadata *metadata;
    pthread_rwlock_rdlock(&producer->lock);
    rd_kafka_resp_err_t code =
        producer->client ? rdkafka.metadata(producer->client, 1, NULL, &metadata, PROBE_MS)
                         : RD_KAFKA_RESP_ERR__STATE;
    pthread_rwlock_unlock(&producer->lock);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        kafka_peer_trouble(&producer->self->peer, text, size);
        if (!*text)
            snprintf(text, size, "no broker answers: %s", rdkafka.err2str(code));
        return false;
    }
    const struct rd_kafka_metadata_topic *found = NULL;
    for (int i = 0; i < metadata->topic_cnt; i++)
        if (strcmp(metadata->topics[i].topic, topic) == 0)
            found = &metadata->topics[i];
    bool good = found && found->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (found && !good)
        snprintf(text, size, "topic %s: %s", topic, rdkafka.err2str(found->err));
    else if (!found)
        snprintf(text, size,
                 "topic %s does not exist, or this user may not see it; brokers with "
                 "auto.create.topics.enable create it when the first record arrives",
                 topic);
    rdkafka.metadata_destroy(metadata);
    return good;
}
