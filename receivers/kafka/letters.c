#include "receivers/kafka/letters.h"

#include "lib/base/log.h"
#include "receivers/kafka/reader.h"

#include <stdio.h>
#include <stdlib.h>

enum { FLUSH_MS = 5000 };

struct letters {
    struct kafka_receiver *self;
    struct kafka_peer peer;
    rd_kafka_t *client;
};

/* What is under way: the record settles when it is acknowledged. */
struct letter {
    struct feed *feed; /* with a reference to its reader */
    uint64_t number;
};

/* A broker that does not take the record, as one that is larger than the topic allows, does not
 * hold the partition up: it was logged, and is counted as not kept. */
static void letter_delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
    struct letters *letters = ((struct kafka_peer *)opaque)->owner;
    struct letter *letter = message->_private;
    bool purged = message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                  message->err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
    (void)client;
    if (!message->err) {
        atomic_fetch_add(&letters->self->dead_letters, 1);
        kafka_peer_works(&letters->peer);
    } else if (!purged) {
        log_error("%s: a record cannot be written to the dead-letter topic %s: %s; it is skipped",
                  letters->self->env->id, letters->self->dead_letter.topic,
                  rdkafka.err2str(message->err));
    }
    if (!purged)
        feed_settle(letter->feed, letter->number);
    reader_end(letter->feed->reader);
    free(letter);
}

struct letters *letters_open(struct kafka_receiver *self, char *error, size_t error_size)
{
    struct letters *letters = calloc(1, sizeof *letters);
    struct tls_material *material;
    if (!letters) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    letters->self = self;
    kafka_peer_init(&letters->peer, self->env->id, letters);
    letters->peer.quiet = true; /* the consumer reports the brokers' state */
    rd_kafka_conf_t *conf =
        kafka_conf_new(&self->kafka, &letters->peer, &material, error, error_size);
    if (conf) {
        kafka_conf_set(conf, "acks", "all", error, error_size);
        kafka_conf_set(conf, "enable.idempotence", "true", error, error_size);
        kafka_conf_set(conf, "message.timeout.ms", "0", error, error_size);
        kafka_conf_set(conf, "message.max.bytes", "100000000", error, error_size);
        kafka_conf_set(conf, "queue.buffering.max.kbytes", "16384", error, error_size);
        rdkafka.conf_set_dr_msg_cb(conf, letter_delivered);
        letters->client = kafka_client_new(RD_KAFKA_PRODUCER, conf, material, error, error_size);
    }
    if (letters->client)
        return letters;
    letters_close(letters);
    return NULL;
}

bool letters_send(struct letters *letters, const rd_kafka_message_t *message, const char *reason,
                  struct feed *feed, uint64_t number)
{
    struct letter *letter = malloc(sizeof *letter);
    char partition[16], offset[24];
    if (!letter)
        return false;
    *letter = (struct letter){feed, number};
    snprintf(partition, sizeof partition, "%d", message->partition);
    snprintf(offset, sizeof offset, "%lld", (long long)message->offset);
    reader_begin(feed->reader);
    rd_kafka_resp_err_t error = rdkafka.producev(
        letters->client, RD_KAFKA_V_TOPIC(letters->self->dead_letter.topic),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(message->payload, message->len),
        RD_KAFKA_V_KEY(message->key, message->key_len), RD_KAFKA_V_HEADER("reason", reason, -1),
        RD_KAFKA_V_HEADER("topic", feed->topic, -1), RD_KAFKA_V_HEADER("partition", partition, -1),
        RD_KAFKA_V_HEADER("offset", offset, -1), RD_KAFKA_V_OPAQUE(letter), RD_KAFKA_V_END);
    if (!error)
        return true;
    reader_end(feed->reader);
    free(letter);
    return false;
}

void letters_poll(struct letters *letters, int timeout_ms)
{
    rdkafka.poll(letters->client, timeout_ms);
}

void letters_close(struct letters *letters)
{
    if (!letters)
        return;
    if (letters->client) {
        rdkafka.flush(letters->client, FLUSH_MS);
        rdkafka.purge(letters->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rdkafka.flush(letters->client, FLUSH_MS);
        rdkafka.destroy(letters->client);
    }
    kafka_peer_release(&letters->peer);
    free(letters);
}
