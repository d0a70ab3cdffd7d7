/* Commits, and what is asked of the log each second (receivers/kafka/group.h). */
#include "lib/base/log.h"
#include "receivers/kafka/group.h"

#include <stdlib.h>
#include <string.h>

/* The log's time alone is committed only after this has passed. */
enum { TIME_STEP_MS = 30000, ASK_MS = 1000 };

static void feed_collect(struct feed *feed, bool all, rd_kafka_topic_partition_list_t *list)
{
    char text[MARKS_TEXT];
    struct reader *reader = feed->reader;
    int64_t reached = (int64_t)(atomic_load(&feed->reached) / NS_PER_MS);
    pthread_mutex_lock(&reader->lock);
    int64_t offset = ledger_commit(&feed->ledger);
    int64_t oldest = ledger_oldest_ms(&feed->ledger), time = oldest >= 0 ? oldest : reached;
    bool due = all || offset != feed->committed ||
               feed->ledger.settled != feed->committed_settled ||
               time >= feed->committed_ms + TIME_STEP_MS;
    if (due) {
        marks_write(&feed->ledger, time, text);
        feed->committed = offset;
        feed->committed_settled = feed->ledger.settled;
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
    if (list->cnt) {
        rd_kafka_resp_err_t code = rdkafka.commit(group->client, list, !wait);
        if (wait || code)
            group_committed(group->client, code, list, &group->peer);
    }
    rdkafka.topic_partition_list_destroy(list);
}

void group_committed(rd_kafka_t *client, rd_kafka_resp_err_t code,
                     rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct kafka_group *group = ((struct kafka_peer *)opaque)->owner;
    (void)client;
    for (int i = 0; list && !code && i < list->cnt; i++)
        code = list->elems[i].err;
    if (!code) {
        atomic_fetch_add(&group->self->commits, 1);
        kafka_peer_works(&group->peer);
        return;
    }
    if (code == RD_KAFKA_RESP_ERR__NO_OFFSET)
        return;
    atomic_fetch_add(&group->self->commit_failures, 1);
    atomic_store(&group->commit_all, true);
    log_warn("%s: offsets could not be committed: %s", group->self->env->id, rdkafka.err2str(code));
}

/* ---- ends ---- */

static void set_end(struct kafka_group *group, const rd_kafka_topic_partition_t *at, uint64_t asked)
{
    for (size_t i = 0; i < group->reader_count; i++)
        for (size_t f = 0; f < group->readers[i]->feed_count; f++) {
            struct feed *feed = &group->readers[i]->feeds[f];
            if (group->readers[i]->number != at->partition || strcmp(feed->topic, at->topic) != 0)
                continue;
            atomic_store(&feed->end, at->offset);
            atomic_store(&feed->end_asked, asked);
        }
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
    if (list->cnt && !rdkafka.offsets_for_times(group->client, list, ASK_MS))
        for (int i = 0; i < list->cnt; i++)
            if (!list->elems[i].err && list->elems[i].offset >= 0)
                set_end(group, &list->elems[i], asked);
    rdkafka.topic_partition_list_destroy(list);
    for (size_t i = 0; i < group->worker_count; i++)
        worker_wake(group->workers[i]);
}
