/* The receiver's part of `spanlink check` (receivers/kafka/kafka.h); it does not join the group. */
#include "receivers/kafka/kafka.h"

#include "lib/kafka/kafka_topic.h"

#include <inttypes.h>
#include <stdio.h>

/* What a dead letter takes beside the record: its headers, and the frames of record and batch. */
enum { LETTER_SPARE = 1024 };

/* What is asked about a signal's topics, and the answers. */
struct asking {
    struct kafka_receiver *self;
    rd_kafka_t *client;
    struct kafka_peer *peer;
    enum signal signal;
    struct probe_result *result;
    const char *largest;   /* the topic with the largest records; NULL: none is known */
    int64_t largest_bytes; /* of such a record */
};

static bool is_joint(enum signal signal)
{
    return signal == SIGNAL_TRACES || signal == SIGNAL_PROFILES;
}

/* ---- the topics that are read ---- */

/* A fetch returns a record of any size that the topic takes, whatever max_fetch_size is. */
static void note_largest(struct asking *asking, const char *topic, int64_t bytes)
{
    struct probe_result *result = asking->result;
    if (!*asking->self->dead_letter.topic)
        return;
    if (bytes == 0)
        kafka_add_warning(result->text, sizeof result->text, KAFKA_LIMIT_UNKNOWN, topic);
    if (bytes <= asking->largest_bytes)
        return;
    asking->largest = topic;
    asking->largest_bytes = bytes;
}

static bool probe_topic(struct asking *asking, const char *topic)
{
    char *text = asking->result->text;
    size_t size = sizeof asking->result->text;
    char why[sizeof asking->result->text] = "";
    int partitions = kafka_topic_partitions(asking->client, asking->peer, topic, why, sizeof why);
    if (partitions <= 0 ||
        !kafka_topic_matches(&asking->self->match, topic, partitions, why, sizeof why)) {
        snprintf(text, size, "%s", why);
        return false;
    }
    struct kafka_topic_config config = kafka_topic_config(asking->client, topic);
    if (is_joint(asking->signal) && config.append_time)
        kafka_add_warning(text, size, KAFKA_APPEND_TIME, topic);
    note_largest(asking, topic, config.max_message_bytes);
    return true;
}

/* ---- the dead-letter topic ---- */

/* Of the dead-letter topic, once it is known to exist or to be created. */
static void compare_limits(struct asking *asking, int64_t limit)
{
    const char *topic = asking->self->dead_letter.topic;
    int64_t needed = asking->largest_bytes + LETTER_SPARE;
    struct probe_result *result = asking->result;
    if (limit == 0)
        kafka_add_warning(result->text, sizeof result->text, KAFKA_LIMIT_UNKNOWN, topic);
    else if (asking->largest && limit < needed)
        kafka_add_warning(result->text, sizeof result->text,
                          "dead_letter.topic %s takes %" PRId64
                          " bytes at once (max.message.bytes), but topic %s takes %" PRId64
                          ": the largest records that cannot be read would be skipped without a "
                          "copy; set max.message.bytes of %s to at least %" PRId64,
                          topic, limit, asking->largest, asking->largest_bytes, topic, needed);
}

static bool probe_absent(struct asking *asking)
{
    struct kafka_receiver *self = asking->self;
    struct probe_result *result = asking->result;
    const char *topic = self->dead_letter.topic;
    struct kafka_topic_config config = kafka_new_topic_config(asking->client);
    if (config.auto_create) {
        kafka_add_warning(result->text, sizeof result->text,
                          "dead_letter.topic %s does not exist yet; the brokers create it when the "
                          "first record cannot be read",
                          topic);
        compare_limits(asking, config.max_message_bytes);
        return true;
    }
    if (self->letters_absent) /* one signal's line is enough */
        return true;
    self->letters_absent = true;
    result->key = "dead_letter.topic";
    snprintf(result->text, sizeof result->text,
             "topic %s does not exist, or this user may not see it%s: records that cannot be read "
             "would be skipped without a copy; create it",
             topic,
             config.max_message_bytes ? ", and the brokers do not create topics"
                                      : "; whether the brokers create topics is not known");
    return false;
}

static bool probe_dead_letters(struct asking *asking)
{
    struct probe_result *result = asking->result;
    const char *topic = asking->self->dead_letter.topic;
    char why[sizeof result->text] = "";
    int partitions = kafka_topic_partitions(asking->client, asking->peer, topic, why, sizeof why);
    if (partitions == KAFKA_TOPIC_ABSENT)
        return probe_absent(asking);
    if (partitions > 0) {
        compare_limits(asking, kafka_topic_config(asking->client, topic).max_message_bytes);
        return true;
    }
    result->key = "dead_letter.topic";
    snprintf(result->text, sizeof result->text, "%s", why);
    return false;
}

/* ---- the probe ---- */

static bool probe_topics(struct asking *asking)
{
    const struct key_list *topics = kafka_receiver_topics(asking->self, asking->signal);
    bool good = true;
    for (size_t i = 0; good && i < topics->count; i++)
        good = probe_topic(asking, topics->items[i]);
    return good && (!*asking->self->dead_letter.topic || probe_dead_letters(asking));
}

bool kafka_receiver_probe(void *instance, enum signal signal, struct probe_result *result)
{
    struct kafka_receiver *self = instance;
    struct kafka_peer peer;
    *result = (struct probe_result){.key = "brokers"};
    snprintf(result->where, sizeof result->where, "%s", self->kafka.brokers.items[0]);
    kafka_peer_init(&peer, "kafka", NULL);
    rd_kafka_conf_t *conf = kafka_conf_new(&self->kafka, &peer, result->text, sizeof result->text);
    struct asking asking = {.self = self, .peer = &peer, .signal = signal, .result = result};
    if (conf)
        asking.client =
            kafka_client_new(RD_KAFKA_CONSUMER, conf, result->text, sizeof result->text);
    bool good = asking.client && probe_topics(&asking);
    if (asking.client)
        rdkafka.destroy(asking.client);
    kafka_peer_release(&peer);
    return good;
}
