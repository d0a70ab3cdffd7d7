#include "receivers/kafka/restart.h"

#include "lib/base/log.h"
#include "receivers/kafka/outages.h"

#include <stdlib.h>
#include <string.h>

enum { ASK_MS = 1000, MOVE_MS = 5000 };

/* For how long a partition must end before what was read until its log counts as cut: a broker that
 * was stopped answers as the leader that it was. */
#define SURE_NS (10 * NS_PER_S)

struct feed *group_feed(const struct kafka_group *group, const rd_kafka_topic_partition_t *at)
{
    for (size_t i = 0; i < group->reader_count; i++)
        for (size_t f = 0;
             group->readers[i]->number == at->partition && f < group->readers[i]->feed_count; f++)
            if (strcmp(group->readers[i]->feeds[f].topic, at->topic) == 0)
                return &group->readers[i]->feeds[f];
    return NULL;
}

/* ---- found ---- */

bool feed_begins_again(struct feed *feed, const rd_kafka_message_t *message)
{
    int64_t none = -1;
    if ((message->err && message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) ||
        message->offset >= feed->popped)
        return false;
    if (atomic_load(&feed->restart_at) < 0) {
        feed->asked_before = atomic_load(&feed->end_asked);
        atomic_store(&feed->suspected, clock_mono(&clock_system));
        atomic_compare_exchange_strong(&feed->restart_at, &none, message->offset);
    }
    return true;
}

static bool is_suspected(const struct feed *feed)
{
    return atomic_load(&feed->restart_at) >= 0 && atomic_load(&feed->suspected);
}

static bool is_asked_about(const struct feed *feed, bool whole)
{
    if (feed->acknowledged < 0)
        return false;
    return is_suspected(feed) || (whole && atomic_load(&feed->restart_at) < 0);
}

/* Feeds of which something is committed: those in the list, or all; and those suspected. */
static rd_kafka_topic_partition_list_t *list_committed(const struct kafka_group *group,
                                                       const rd_kafka_topic_partition_list_t *list,
                                                       bool whole)
{
    rd_kafka_topic_partition_list_t *asked = rdkafka.topic_partition_list_new(list->cnt + 1);
    for (int i = 0; !whole && i < list->cnt; i++) {
        const struct feed *feed = group_feed(group, &list->elems[i]);
        if (feed && is_asked_about(feed, true) && !is_suspected(feed))
            rdkafka.topic_partition_list_add(asked, feed->topic, list->elems[i].partition);
    }
    for (size_t i = 0; i < group->reader_count; i++)
        for (size_t f = 0; f < group->readers[i]->feed_count; f++)
            if (is_asked_about(&group->readers[i]->feeds[f], whole))
                rdkafka.topic_partition_list_add(asked, group->readers[i]->feeds[f].topic,
                                                 group->readers[i]->number);
    return asked;
}

/* Leaves those partitions in the list for which nothing is committed. */
static void keep_forgotten(struct kafka_group *group, rd_kafka_topic_partition_list_t *asked)
{
    group_note_running(group, 0);
    bool answered = asked->cnt && !rdkafka.committed(group->client, asked, ASK_MS);
    group_note_running(group, ASK_MS);
    for (int i = asked->cnt; i-- > 0;) {
        rd_kafka_topic_partition_t *at = &asked->elems[i];
        if (!answered || at->err || at->offset >= 0)
            rdkafka.topic_partition_list_del(asked, at->topic, at->partition);
        else
            at->offset = RD_KAFKA_OFFSET_BEGINNING;
    }
}

/* Takes a partition out of a list to be committed. */
static void commit_later(struct feed *feed, rd_kafka_topic_partition_list_t *list,
                         const rd_kafka_topic_partition_t *at)
{
    int32_t partition = at->partition;
    pthread_mutex_lock(&feed->reader->lock);
    feed->committed = -1;
    pthread_mutex_unlock(&feed->reader->lock);
    rdkafka.topic_partition_list_del(list, feed->topic, partition);
}

/* A partition for which nothing is committed any more is a new one if it has its first record. If
 * that is not known, as between the deletion and the creation, nothing is committed. Returns
 * whether it is a new one. */
static bool judge(struct kafka_group *group, const rd_kafka_topic_partition_t *low,
                  rd_kafka_topic_partition_list_t *list)
{
    struct feed *feed = group_feed(group, low);
    bool known = !low->err && low->offset >= 0;
    bool begins = feed && known && low->offset == 0;
    if (begins) {
        atomic_store(&feed->restart_at, 0);
        atomic_store(&feed->suspected, 0);
    }
    if (known || !feed)
        return begins;
    commit_later(feed, list, low);
    return false;
}

/* The next owner of such a partition begins where this member does. Of one that is suspected
 * nothing is committed, which would hide that the brokers have forgotten it. */
static void put_restarts(const struct kafka_group *group, rd_kafka_topic_partition_list_t *list)
{
    for (int i = list->cnt; i-- > 0;) {
        rd_kafka_topic_partition_t *at = &list->elems[i];
        struct feed *feed = group_feed(group, at);
        int64_t offset = feed ? atomic_load(&feed->restart_at) : -1;
        if (offset < 0)
            continue;
        if (is_suspected(feed)) {
            commit_later(feed, list, at);
            continue;
        }
        at->offset = offset;
        free(at->metadata);
        at->metadata = NULL;
        at->metadata_size = 0;
    }
}

/* Returns whether a topic was made again. */
static bool look(struct kafka_group *group, rd_kafka_topic_partition_list_t *list, bool whole)
{
    rd_kafka_topic_partition_list_t *asked = list_committed(group, list, whole);
    bool found = false;
    keep_forgotten(group, asked);
    if (asked->cnt) {
        group_note_running(group, 0);
        rd_kafka_resp_err_t code = rdkafka.offsets_for_times(group->client, asked, ASK_MS);
        group_note_running(group, ASK_MS);
        for (int i = 0; i < asked->cnt; i++) {
            if (code)
                asked->elems[i].err = code;
            found |= judge(group, &asked->elems[i], list);
        }
    }
    rdkafka.topic_partition_list_destroy(asked);
    return found;
}

void group_find_restarts(struct kafka_group *group, rd_kafka_topic_partition_list_t *list,
                         bool whole)
{
    if (look(group, list, whole) && !whole)
        look(group, list, true); /* the topic's other partitions */
    put_restarts(group, list);
}

/* ---- moved ---- */

static void feed_moved(struct feed *feed)
{
    atomic_store(&feed->suspected, 0);
    atomic_store(&feed->restart_at, -1);
}

/* The feed goes on in the new log. What is under way of the old one is still delivered. */
static void feed_restart(struct feed *feed, int64_t offset)
{
    feed_drop_heads(feed, feed->head);
    record_parts_release(&feed->parts);
    record_parts_init(&feed->parts, feed->reader->self->env->budget);
    commit_metadata_release(&feed->commit_metadata);
    feed->popped = feed->behind = feed->deliver_from = offset;
    atomic_store(&feed->at, offset);
    atomic_store(&feed->end, -1);
    atomic_store(&feed->log_end, -1);
    pthread_mutex_lock(&feed->reader->lock);
    offsets_restart(&feed->offsets, offset);
    feed->gap = (struct feed_gap){0};
    feed->committed = feed->acknowledged = -1;
    pthread_mutex_unlock(&feed->reader->lock);
    feed_moved(feed);
}

int64_t feed_moves_to(const struct feed *feed, uint64_t mono_ns)
{
    int64_t offset = atomic_load(&feed->restart_at);
    uint64_t since = atomic_load(&feed->suspected);
    if (offset < 0 || feed->waiting) /* it belongs to the head */
        return -1;
    if (!since || feed->acknowledged < 0)
        return offset;
    if (atomic_load(&feed->end_asked) == feed->asked_before)
        return -1;
    if (atomic_load(&feed->end) >= feed->popped)
        return feed->popped;
    return mono_ns >= since + SURE_NS ? offset : -1;
}

/* The feeds to move, with their offsets. Under reader->step. */
static rd_kafka_topic_partition_list_t *list_restarts(const struct reader *reader)
{
    rd_kafka_topic_partition_list_t *list = rdkafka.topic_partition_list_new(4);
    for (size_t i = 0; i < reader->feed_count; i++) {
        const struct feed *feed = &reader->feeds[i];
        int64_t offset = feed_moves_to(feed, clock_mono(&clock_system));
        if (offset >= 0)
            rdkafka.topic_partition_list_add(list, feed->topic, reader->number)->offset = offset;
    }
    return list;
}

static rd_kafka_resp_err_t seek(rd_kafka_t *client, rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_error_t *failed = rdkafka.seek_partitions(client, list, MOVE_MS);
    rd_kafka_resp_err_t code = failed ? rdkafka.error_code(failed) : 0;
    for (int i = 0; !code && i < list->cnt; i++)
        code = list->elems[i].err;
    if (failed)
        rdkafka.error_destroy(failed);
    return code;
}

/* A suspected feed whose log still has what comes next goes on there: its broker was behind. */
static void feed_move(struct kafka_group *group, struct feed *feed, int64_t offset)
{
    if (is_suspected(feed) && offset == feed->popped) {
        env_info(group->self->env, "%s/%d: a broker was behind; reading goes on at offset %lld",
                 feed->topic, feed->reader->number, (long long)offset);
        feed_moved(feed);
        return;
    }
    feed_restart(feed, offset);
    atomic_fetch_add(&group->self->restarts, 1);
    for (size_t t = 0; t < group->topic_count; t++)
        group->topics[t].restarts += strcmp(group->topics[t].name, feed->topic) == 0;
}

/* If the client cannot move them, the next round tries again. */
static void restart_reader(struct kafka_group *group, struct reader *reader)
{
    pthread_mutex_lock(&reader->step);
    rd_kafka_topic_partition_list_t *list = list_restarts(reader);
    rd_kafka_resp_err_t code = list->cnt ? seek(group->client, list) : 0;
    for (int i = 0; !code && i < list->cnt; i++)
        feed_move(group, group_feed(group, &list->elems[i]), list->elems[i].offset);
    pthread_mutex_unlock(&reader->step);
    if (code)
        env_warn(group->self->env, "partition %d cannot be read on now: %s", reader->number,
                 rdkafka.err2str(code));
    rdkafka.topic_partition_list_destroy(list);
}

void group_restart_feeds(struct kafka_group *group)
{
    for (size_t i = 0; i < group->reader_count; i++) {
        group_note_running(group, 0);
        restart_reader(group, group->readers[i]);
        group_note_running(group, MOVE_MS);
    }
    for (size_t t = 0; t < group->topic_count; t++) {
        struct group_topic *topic = &group->topics[t];
        if (topic->restarts)
            env_error(group->self->env,
                      "topic %s was deleted and made again, or lost its last records: %zu "
                      "partitions are read from their first record; what was not read before is "
                      "lost, and what they still have may be delivered twice",
                      topic->name, topic->restarts);
        topic->restarts = 0;
    }
}
