/* Asks the brokers for the topics' partition counts (receivers/kafka/group.h). */
#include "lib/base/log.h"
#include "receivers/kafka/outages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 1000 };

/* Returns a topic's partition count; -1: not known; 0: there is no such topic. *forbidden: the
 * broker does not tell this user. */
static int ask_partitions(struct kafka_peer *peer, rd_kafka_t *client, const char *name,
                          int timeout_ms, bool *forbidden)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rdkafka.topic_new(client, name, NULL);
    int count = -1;
    *forbidden = false;
    if (!topic)
        return -1;
    rd_kafka_resp_err_t failed = rdkafka.metadata(client, 0, topic, &metadata, timeout_ms);
    if (failed == RD_KAFKA_RESP_ERR__TRANSPORT)
        kafka_peer_no_broker(peer);
    if (!failed) {
        rdkafka.poll(client, 0); /* tells kafka_peer_error what came before this answer */
        kafka_peer_answers(peer, metadata->orig_broker_id);
        rd_kafka_resp_err_t code = metadata->topic_cnt ? metadata->topics[0].err : 0;
        if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
            count = 0;
        else if (!code && metadata->topic_cnt)
            count = metadata->topics[0].partition_cnt;
        *forbidden = code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
        rdkafka.metadata_destroy(metadata);
    }
    rdkafka.topic_destroy(topic);
    return count;
}

static void set_waiting(struct kafka_group *group, const struct topic_count *missing,
                        bool forbidden)
{
    char trouble[KAFKA_TROUBLE_SIZE], text[256];
    kafka_peer_trouble(&group->peer, trouble, sizeof trouble);
    if (missing->partitions == 0)
        snprintf(text, sizeof text, "the topic %s does not exist yet", missing->topic);
    else if (forbidden)
        snprintf(text, sizeof text, KAFKA_MAY_NOT_READ, "topic", missing->topic);
    else if (*trouble)
        snprintf(text, sizeof text, "%s", trouble);
    else
        return; /* no answer yet */
    if ((missing->partitions == 0 || forbidden) && strcmp(text, group->trouble) != 0)
        env_warn(group->self->env, "%s", text);
    group_set_phase(group, GROUP_WAITING, text);
}

bool group_check_partitions(struct kafka_group *group, rd_kafka_t *client, int timeout_ms)
{
    char text[256];
    bool forbidden = false;
    for (size_t i = 0; i < group->topic_count; i++) {
        group->counts[i].topic = group->topics[i].name;
        group->counts[i].partitions =
            ask_partitions(&group->peer, client, group->topics[i].name, timeout_ms, &forbidden);
        if (group->counts[i].partitions < 0)
            break; /* nor will the others be */
    }
    group_note_heard(group, group->counts[0].partitions >= 0 || forbidden);
    rdkafka.poll(client, 0); /* calls kafka_peer_error */
    const struct topic_count *missing = topics_missing(group->counts, group->topic_count);
    if (!topics_agree(group->counts, group->topic_count, text, sizeof text)) {
        if (strcmp(text, group->trouble) != 0)
            env_error(group->self->env, "%s", text);
        group_set_phase(group, GROUP_DISAGREES, text);
        return false;
    }
    if (forbidden)
        group_note_lacking(group);
    if (missing)
        set_waiting(group, missing, forbidden);
    return !missing;
}

static void note_counts(struct kafka_group *group, const struct topic_count *now)
{
    char text[800];
    enum topics_news news =
        topics_compare(group->counts, now, group->topic_count, text, sizeof text);
    if (news == TOPICS_DISAGREE)
        env_warn(group->self->env, "%s", text);
    else if (news == TOPICS_CHANGED)
        env_info(group->self->env,
                 "%s: keys move to other partitions, so spans of the next minutes may miss their "
                 "profiles",
                 text);
    pthread_mutex_lock(&group->lock);
    memcpy(group->counts, now, group->topic_count * sizeof *now);
    pthread_mutex_unlock(&group->lock);
    if (group->phase == GROUP_DISAGREES &&
        !topics_agree(now, group->topic_count, text, sizeof group->trouble))
        group_set_phase(group, GROUP_DISAGREES, text);
}

void group_look_at_counts(struct kafka_group *group)
{
    size_t size = group->topic_count * sizeof *group->counts;
    struct topic_count *now = group->look_at_counts ? malloc(size) : NULL;
    if (!now)
        return;
    memcpy(now, group->counts, size);
    group_note_running(group, 0);
    bool answered = topics_ask(group->client, now, group->topic_count, LOOK_MS);
    group_note_running(group, LOOK_MS);
    if (answered)
        note_counts(group, now);
    group->look_at_counts = !answered;
    free(now);
}
