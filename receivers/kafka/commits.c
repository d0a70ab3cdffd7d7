/* Commits and end offsets (receivers/kafka/group.h). */
#include "lib/base/log.h"
#include "receivers/kafka/outages.h"
#include "receivers/kafka/restart.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* If only the log's time has changed, it is committed after this much of it. */
enum { TIME_STEP_MS = 30000, ASK_MS = 1000 };

/* Transactions that are open for less are not worth a warning. */
#define HELD_NS (5 * NS_PER_S)

/* Whether the brokers forget what is committed for a topic that is deleted is asked at each commit
 * of its partitions, and for all of them at least this often. */
#define LOOK_NS (10 * NS_PER_S)

static void feed_collect(struct feed *feed, bool all, rd_kafka_topic_partition_list_t *list)
{
    char text[COMMIT_METADATA_SIZE];
    struct reader *reader = feed->reader;
    int64_t reached = (int64_t)(atomic_load(&feed->reached) / NS_PER_MS);
    pthread_mutex_lock(&reader->lock);
    int64_t offset = offsets_to_commit(&feed->offsets);
    int64_t oldest = offsets_oldest_ms(&feed->offsets), time = oldest >= 0 ? oldest : reached;
    bool due = all || offset != feed->committed ||
               feed->offsets.settled != feed->committed_settled ||
               time >= feed->committed_ms + TIME_STEP_MS;
    if (due) {
        commit_metadata_write(&feed->offsets, time, text);
        feed->committed = offset;
        feed->committed_settled = feed->offsets.settled;
        feed->committed_ms = time;
    }
    pthread_mutex_unlock(&reader->lock);
    rd_kafka_topic_partition_t *at =
        due ? rdkafka.topic_partition_list_add(list, feed->topic, reader->number) : NULL;
    if (!at)
        return;
    at->offset = offset;
    at->metadata = strdup(text); /* freed with the list */
    at->metadata_size = at->metadata ? strlen(text) : 0;
}

void reader_collect(struct reader *reader, bool all, rd_kafka_topic_partition_list_t *list)
{
    for (size_t i = 0; i < reader->feed_count; i++)
        feed_collect(&reader->feeds[i], all, list);
}

void group_commit(struct kafka_group *group, bool all, bool wait)
{
    rd_kafka_topic_partition_list_t *list = rdkafka.topic_partition_list_new(16);
    all |= atomic_exchange(&group->commit_all, false);
    for (size_t i = 0; i < group->reader_count; i++)
        reader_collect(group->readers[i], all, list);
    /* Not at a stop, when librdkafka no longer answers. */
    uint64_t now = clock_mono(&clock_system);
    bool whole = now >= group->look_at;
    if (!atomic_load(&group->stopping))
        group_find_restarts(group, list, whole);
    group->look_at = whole ? now + LOOK_NS : group->look_at;
    if (list->cnt) {
        rd_kafka_resp_err_t code = rdkafka.commit(group->client, list, !wait);
        if (wait || code)
            group_committed(group->client, code, list, &group->peer);
    }
    rdkafka.topic_partition_list_destroy(list);
}

/* Unless it is of an earlier reader of the lane, or of the log before a restart. */
static void note_acknowledged(const struct kafka_group *group, const rd_kafka_topic_partition_t *at)
{
    struct feed *feed = group_feed(group, at);
    if (!feed)
        return;
    pthread_mutex_lock(&feed->reader->lock);
    if (feed->committed == at->offset)
        feed->acknowledged = at->offset;
    pthread_mutex_unlock(&feed->reader->lock);
}

/* Notes the topic of which a commit is forbidden, as reading is; list NULL: none is. Without the
 * operation Read a member is assigned lanes, and gets no record of them. */
static void note_forbidden(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
    const char *forbidden = NULL;
    for (int i = 0; list && i < list->cnt; i++)
        for (size_t t = 0; t < group->topic_count; t++)
            if (list->elems[i].err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED &&
                strcmp(list->elems[i].topic, group->topics[t].name) == 0)
                forbidden = group->topics[t].name;
    if (forbidden && !group->forbidden)
        env_error(group->self->env, KAFKA_MAY_NOT_READ, "topic", forbidden);
    pthread_mutex_lock(&group->lock);
    group->forbidden = forbidden;
    pthread_mutex_unlock(&group->lock);
}

void group_committed(rd_kafka_t *client, rd_kafka_resp_err_t code,
                     rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct kafka_group *group = ((struct kafka_peer *)opaque)->owner;
    (void)client;
    for (int i = 0; list && !code && i < list->cnt; i++)
        code = list->elems[i].err;
    for (int i = 0; list && i < list->cnt; i++)
        if (!code && !list->elems[i].err)
            note_acknowledged(group, &list->elems[i]);
    if (!code || code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        note_forbidden(group, code ? list : NULL);
    if (!code) {
        atomic_fetch_add(&group->self->commits, 1);
        kafka_peer_works(&group->peer, KAFKA_SOME_BROKER);
        return;
    }
    if (code == RD_KAFKA_RESP_ERR__NO_OFFSET)
        return;
    atomic_fetch_add(&group->self->commit_failures, 1);
    atomic_store(&group->commit_all, true);
    if (!group->forbidden)
        env_warn(group->self->env, "offsets could not be committed: %s", rdkafka.err2str(code));
}

/* ---- ends ---- */

/* Notes whether a record that was in the log a second ago still cannot be read. */
static void note_held(struct kafka_group *group, struct feed *feed, int64_t end, int64_t log_end)
{
    uint64_t now = clock_mono(&clock_system), since = atomic_load(&feed->held_since);
    bool held = atomic_load(&feed->log_end) > end;
    since = !held ? 0 : since ? since : now;
    atomic_store(&feed->held_since, since);
    if (!since || now < since + HELD_NS || feed->said_held)
        return;
    feed->said_held = true;
    env_warn(group->self->env,
             "%s/%d: an open transaction of another producer holds back %" PRId64
             " records: they cannot be read until it ends%s; if it does not, look for it with "
             "kafka-transactions.sh",
             feed->topic, feed->reader->number, log_end - end,
             feed->joint ? ", and what this lane has of later times waits as well" : "");
}

/* Brokers tell a reader of committed records the end of these. librdkafka knows the end of the log
 * from the last answer to a fetch; below 0: it has none yet. */
static void set_end(struct kafka_group *group, const rd_kafka_topic_partition_t *at, uint64_t asked)
{
    int64_t low, high = -1;
    struct feed *feed = group_feed(group, at);
    if (!feed)
        return;
    rdkafka.get_watermark_offsets(group->client, at->topic, at->partition, &low, &high);
    int64_t log_end = high < 0 || high > at->offset ? high : at->offset;
    note_held(group, feed, at->offset, log_end);
    atomic_store(&feed->end, at->offset);
    atomic_store(&feed->log_end, log_end < 0 ? -1 : log_end);
    atomic_store(&feed->end_asked, asked);
}

/* A broker that refuses this user does answer. */
static bool is_answer(rd_kafka_resp_err_t code)
{
    return !code || code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/* Notes whether producers wrote anything since the ends were asked for last. */
static void note_written(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
    int64_t all = 0;
    for (int i = 0; i < list->cnt; i++)
        all += list->elems[i].offset;
    if (all != group->ends)
        group->written = clock_mono(&clock_system);
    group->ends = all;
}

void group_ask_ends(struct kafka_group *group)
{
    rd_kafka_topic_partition_list_t *list = rdkafka.topic_partition_list_new(16);
    uint64_t asked = clock_wall(group->self->env->clock);
    for (size_t i = 0; i < group->reader_count; i++)
        for (size_t f = 0; f < group->readers[i]->feed_count; f++)
            rdkafka
                .topic_partition_list_add(list, group->readers[i]->feeds[f].topic,
                                          group->readers[i]->number)
                ->offset = RD_KAFKA_OFFSET_END;
    group_note_running(group, 0);
    bool answered = list->cnt && is_answer(rdkafka.offsets_for_times(group->client, list, ASK_MS));
    group_note_running(group, ASK_MS);
    for (int i = 0; i < list->cnt; i++)
        answered &= is_answer(list->elems[i].err);
    if (answered)
        note_written(group, list);
    bool idle = !list->cnt && group->phase == GROUP_ASSIGNED;
    if (answered || idle) /* before the ends are set */
        group_note_answer(group);
    else
        group_ask_brokers(group);
    if (!answered && list->cnt)
        group_log_silence(group);
    uint64_t silence = group_silence(group), refusing = group_refuses_for(group);
    bool waits = !answered && (silence > refusing ? silence : refusing) < OUTAGE_OTHERS_NS;
    for (int i = 0; i < list->cnt && !waits; i++)
        if (!list->elems[i].err && list->elems[i].offset >= 0)
            set_end(group, &list->elems[i], asked);
    rdkafka.topic_partition_list_destroy(list);
    for (size_t i = 0; i < group->worker_count; i++)
        worker_wake(group->workers[i]);
}
