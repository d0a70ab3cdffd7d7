#include "receivers/kafka/dead_letters.h"

#include "lib/base/log.h"
#include "receivers/kafka/reader.h"

#include <stdio.h>
#include <stdlib.h>

enum { FLUSH_MS = 5000 };

struct dead_letters {
    struct kafka_receiver *self;
    struct kafka_peer peer;
    rd_kafka_t *client;
};

/* A copy that is not acknowledged yet. */
struct dead_letter {
    struct feed *feed; /* with a reference to its reader */
    uint64_t number;
};

/* If the broker refuses a copy, for example because it is too large, the record is logged and
 * skipped: it must not stop the partition. */
static void dead_letter_delivered(rd_kafka_t *client, const rd_kafka_message_t *message,
                                  void *opaque)
{
    struct dead_letters *letters = ((struct kafka_peer *)opaque)->owner;
    struct dead_letter *letter = message->_private;
    bool purged = message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                  message->err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
    (void)client;
    if (!message->err) {
        atomic_fetch_add(&letters->self->dead_letters, 1);
        kafka_peer_works(&letters->peer);
    } else if (!purged) {
        env_error(letters->self->env,
                  "a record cannot be written to the dead-letter topic %s: %s; it is skipped",
                  letters->self->dead_letter.topic, rdkafka.err2str(message->err));
    }
    if (!purged)
        feed_settle(letter->feed, letter->number);
    reader_end(letter->feed->reader);
    free(letter);
}

struct dead_letters *dead_letters_open(struct kafka_receiver *self, char *error, size_t error_size)
{
    struct dead_letters *letters = calloc(1, sizeof *letters);
    if (!letters) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    letters->self = self;
    kafka_peer_init(&letters->peer, self->env->id, letters);
    letters->peer.quiet = true; /* the consumer reports the brokers' state */
    rd_kafka_conf_t *conf = kafka_conf_new(&self->kafka, &letters->peer, error, error_size);
    if (conf) {
        kafka_conf_set(conf, "acks", "all", error, error_size);
        kafka_conf_set(conf, "enable.idempotence", "true", error, error_size);
        kafka_conf_set(conf, "message.timeout.ms", "0", error, error_size);
        kafka_conf_set(conf, "message.max.bytes", "100000000", error, error_size);
        kafka_conf_set(conf, "queue.buffering.max.kbytes", "16384", error, error_size);
        rdkafka.conf_set_dr_msg_cb(conf, dead_letter_delivered);
        letters->client = kafka_client_new(RD_KAFKA_PRODUCER, conf, error, error_size);
    }
    if (letters->client)
        return letters;
    dead_letters_close(letters);
    return NULL;
}

bool dead_letters_send(struct dead_letters *letters, const rd_kafka_message_t *message,
                       const char *reason, struct feed *feed, uint64_t number)
{
    struct dead_letter *letter = malloc(sizeof *letter);
    char partition[16], offset[24];
    if (!letter)
        return false;
    *letter = (struct dead_letter){feed, number};
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

void dead_letters_poll(struct dead_letters *letters, int timeout_ms)
{
    rdkafka.poll(letters->client, timeout_ms);
}

void dead_letters_close(struct dead_letters *letters)
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
