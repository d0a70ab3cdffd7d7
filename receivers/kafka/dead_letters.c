#include "receivers/kafka/dead_letters.h"

#include "lib/base/log.h"
#include "receivers/kafka/reader.h"

#include <stdio.h>
#include <stdlib.h>

enum { FLUSH_MS = 5000 };

#define REFRESH_NS (5 * NS_PER_S)

struct dead_letters {
    struct kafka_receiver *self;
    struct kafka_peer peer;
    rd_kafka_t *client;
    _Atomic bool refused; /* the topic is missing, or may not be written to */
    uint64_t refresh_at;  /* mono */
};

/* A copy that is not acknowledged yet. */
struct dead_letter {
    struct feed *feed; /* with a reference to its reader */
    uint64_t number;
};

void dead_letters_lack(struct kafka_receiver *self)
{
    atomic_fetch_add(&self->lost, 1);
    atomic_store(&self->lost_at, clock_wall(self->env->clock));
}

static void letter_lost(struct dead_letters *letters, rd_kafka_resp_err_t code)
{
    const struct outcome why = kafka_outcome(code, letters->self->dead_letter.topic);
    env_error(letters->self->env, "a dead letter cannot be written, so its record is skipped: %s",
              why.text);
    dead_letters_lack(letters->self);
    atomic_store(&letters->refused, code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                                        code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
                                        code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
                                        code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
}

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
        atomic_store(&letters->refused, false);
        kafka_peer_works(&letters->peer, rdkafka.message_broker_id(message));
    } else if (!purged) {
        letter_lost(letters, message->err);
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
        /* Not idempotent: without a right to write, such a client would fail for good. */
        kafka_conf_set(conf, "acks", "all", error, error_size);
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
    letter_lost(letters, error);
    reader_end(feed->reader);
    free(letter);
    return false;
}

/* After a refusal, librdkafka keeps copies until it asks about the topic again, every
 * metadata.refresh_interval. Asks earlier, to notice a topic or a right that was added meanwhile.
 */
static void refresh(struct dead_letters *letters)
{
    uint64_t mono = clock_mono(&clock_system);
    if (!atomic_load(&letters->refused) || mono < letters->refresh_at)
        return;
    letters->refresh_at = mono + REFRESH_NS;
    kafka_topic_refresh(letters->client);
}

void dead_letters_poll(struct dead_letters *letters, int timeout_ms)
{
    rdkafka.poll(letters->client, timeout_ms);
    refresh(letters);
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
