/* The receiver's part of `spanlink check` (receivers/kafka/kafka.h); it neither joins the group nor
 * commits anything. */
#include "receivers/kafka/kafka.h"

#include "lib/base/clock.h"
#include "lib/kafka/kafka_topic.h"

#include <inttypes.h>
#include <stdio.h>

/* What a dead letter takes beside the record: its headers, and the frames of record and batch. */
enum { LETTER_SPARE = 1024 };

/* How long the group's offsets may take, and a fetch. */
enum { READ_S = 8, COMMITTED_MS = 500, POLL_MS = 100 };

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

/* ---- rights ---- */

static bool is_refused(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/* Why what was asked of a topic, or else of the group, failed. */
static bool read_failed(struct asking *asking, rd_kafka_resp_err_t code, const char *topic)
{
    const char *kind = topic ? "topic" : "group", *name = topic ? topic : asking->self->group_id;
    char *text = asking->result->text;
    size_t size = sizeof asking->result->text;
    if (is_refused(code))
        snprintf(text, size, KAFKA_MAY_NOT_READ, kind, name);
    else if (!kafka_peer_is_down(asking->peer, text, size))
        snprintf(text, size, "the brokers did not say within %d s %s of %s %s: %s", READ_S,
                 topic ? "what is at the end" : "what is committed", kind, name,
                 rdkafka.err2str(code));
    return false;
}

/* A refusal to name the group's coordinator is an error of the consumer. */
static rd_kafka_resp_err_t poll_error(rd_kafka_t *client)
{
    rd_kafka_message_t *message = rdkafka.consumer_poll(client, POLL_MS);
    rd_kafka_resp_err_t code = message ? message->err : RD_KAFKA_RESP_ERR_NO_ERROR;
    if (message)
        rdkafka.message_destroy(message);
    return code;
}

/* Asks again until there is a coordinator: a cluster's first group waits for one. */
static bool may_read_group(struct asking *asking, rd_kafka_topic_partition_list_t *list)
{
    uint64_t until = clock_mono(&clock_system) + READ_S * NS_PER_S;
    rd_kafka_resp_err_t code, told;
    do {
        code = rdkafka.committed(asking->client, list, COMMITTED_MS);
        for (int i = 0; !code && i < list->cnt; i++)
            code = list->elems[i].err;
        if (!code)
            return true;
        told = is_refused(code) ? code : poll_error(asking->client);
    } while (!is_refused(told) && clock_mono(&clock_system) < until);
    return read_failed(asking, is_refused(told) ? told : code, NULL);
}

/* Takes the partition of a message, a record or the end, off the list. Returns its error. */
static rd_kafka_resp_err_t note_fetched(rd_kafka_topic_partition_list_t *list,
                                        const rd_kafka_message_t *message, char *topic, size_t size)
{
    bool fetched = !message->err || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (!message->rkt)
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    snprintf(topic, size, "%s", rdkafka.topic_name(message->rkt));
    if (fetched)
        rdkafka.topic_partition_list_del(list, topic, message->partition);
    return fetched ? RD_KAFKA_RESP_ERR_NO_ERROR : message->err;
}

/* Fetches at the end of the list's partitions; each is deleted from the list. */
static bool may_read_topics(struct asking *asking, rd_kafka_topic_partition_list_t *list)
{
    uint64_t until = clock_mono(&clock_system) + READ_S * NS_PER_S;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    char topic[256] = "";
    for (int i = 0; i < list->cnt; i++)
        list->elems[i].offset = RD_KAFKA_OFFSET_END;
    rdkafka.assign(asking->client, list);
    while (list->cnt && !is_refused(code) && clock_mono(&clock_system) < until) {
        rd_kafka_message_t *message = rdkafka.consumer_poll(asking->client, POLL_MS);
        if (!message)
            continue;
        code = note_fetched(list, message, topic, sizeof topic);
        rdkafka.message_destroy(message);
    }
    if (!list->cnt)
        return true;
    if (is_refused(code))
        return read_failed(asking, code, topic);
    return read_failed(asking, code ? code : RD_KAFKA_RESP_ERR__TIMED_OUT, list->elems[0].topic);
}

/* Of every partition the same is true, so one of each topic is enough. */
static bool probe_rights(struct asking *asking)
{
    const struct key_list *topics = kafka_receiver_topics(asking->self, asking->signal);
    rd_kafka_topic_partition_list_t *list = rdkafka.topic_partition_list_new((int)topics->count);
    for (size_t i = 0; i < topics->count; i++)
        rdkafka.topic_partition_list_add(list, topics->items[i], 0);
    bool good = may_read_group(asking, list) && may_read_topics(asking, list);
    rdkafka.topic_partition_list_destroy(list);
    return good;
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

/* Beside a topic that is missing as well. */
static void add_absent_letters(struct asking *asking)
{
    struct kafka_receiver *self = asking->self;
    const char *topic = self->dead_letter.topic;
    char why[sizeof asking->result->text];
    if (!*topic || self->letters_absent ||
        kafka_topic_partitions(asking->client, asking->peer, topic, why, sizeof why) !=
            KAFKA_TOPIC_ABSENT)
        return;
    self->letters_absent = true;
    kafka_add_warning(asking->result->text, sizeof asking->result->text,
                      "dead_letter.topic %s does not exist either", topic);
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
        if (partitions == KAFKA_TOPIC_ABSENT)
            add_absent_letters(asking);
        return false;
    }
    if (!kafka_topic_leads(asking->client, asking->peer, topic, partitions, text, size))
        return false;
    struct kafka_topic_config config = kafka_topic_config(asking->client, topic);
    if (is_joint(asking->signal) && config.append_time)
        kafka_add_warning(text, size, KAFKA_APPEND_TIME, topic);
    if (config.compacted)
        kafka_add_warning(text, size, KAFKA_COMPACTED, topic);
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
        struct kafka_topic_config config = kafka_topic_config(asking->client, topic);
        if (config.compacted)
            kafka_add_warning(result->text, sizeof result->text, KAFKA_COMPACTED, topic);
        compare_limits(asking, config.max_message_bytes);
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
    return good && (!*asking->self->dead_letter.topic || probe_dead_letters(asking)) &&
           probe_rights(asking);
}

/* It fetches from partitions that it chooses itself, so it is no member of the group. */
static rd_kafka_t *probe_client(const struct kafka_receiver *self, struct kafka_peer *peer,
                                char *error, size_t size)
{
    rd_kafka_conf_t *conf = kafka_conf_new(&self->kafka, peer, error, size);
    if (!conf)
        return NULL;
    kafka_conf_set(conf, "group.id", self->group_id, error, size);
    kafka_conf_set(conf, "enable.auto.commit", "false", error, size);
    kafka_conf_set(conf, "enable.partition.eof", "true", error, size);
    kafka_conf_set_int(conf, "fetch.wait.max.ms", POLL_MS, error, size);
    return kafka_client_new(RD_KAFKA_CONSUMER, conf, error, size);
}

static void say_found(const struct kafka_receiver *self, struct probe_result *result)
{
    const char *letters = self->dead_letter.topic;
    snprintf(result->found, sizeof result->found,
             "can be read from %.100s; joining group %.100s%s%.100s %s not tested", result->where,
             self->group_id, *letters ? " and writing to " : "", letters,
             *letters ? "were" : "was");
}

bool kafka_receiver_probe(void *instance, enum signal signal, struct probe_result *result)
{
    struct kafka_receiver *self = instance;
    struct kafka_peer peer;
    *result = (struct probe_result){.key = "brokers"};
    snprintf(result->where, sizeof result->where, "%s", self->kafka.brokers.items[0]);
    kafka_peer_init(&peer, "kafka", NULL);
    struct asking asking = {.self = self, .peer = &peer, .signal = signal, .result = result};
    asking.client = probe_client(self, &peer, result->text, sizeof result->text);
    say_found(self, result);
    bool good = asking.client && probe_topics(&asking);
    if (asking.client)
        rdkafka.destroy(asking.client);
    kafka_peer_release(&peer);
    return good;
}
