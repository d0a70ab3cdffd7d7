/* Commits, outages and end offsets (receivers/kafka/group.h). */
#include "lib/base/log.h"
#include "receivers/kafka/restart.h"

#include <stdlib.h>
#include <string.h>

/* If only the log's time has changed, it is committed after this much of it. */
enum { TIME_STEP_MS = 30000, ASK_MS = 1000 };

#define SILENCE_NS          (10 * NS_PER_S)
#define STANDSTILL_LEAST_NS (2 * NS_PER_S)

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
    if (!code) {
        atomic_fetch_add(&group->self->commits, 1);
        kafka_peer_works(&group->peer);
        return;
    }
    if (code == RD_KAFKA_RESP_ERR__NO_OFFSET)
        return;
    atomic_fetch_add(&group->self->commit_failures, 1);
    atomic_store(&group->commit_all, true);
    env_warn(group->self->env, "offsets could not be committed: %s", rdkafka.err2str(code));
}

/* ---- outages ---- */

/* A shorter one does not matter, because spans wait longer for their profiles. */
#define OUTAGE_LEAST_NS   (3 * NS_PER_S)
#define GRACE_MOST_NS     (60 * NS_PER_S)
#define RECONNECT_MOST_NS (5 * NS_PER_S) /* the exporter's reconnect.backoff.max.ms */

/* A producer that backs off waits at most about as long as the outage lasted. */
uint64_t outage_grace(uint64_t away_ns)
{
    if (away_ns < OUTAGE_LEAST_NS)
        return 0;
    return RECONNECT_MOST_NS + (away_ns < GRACE_MOST_NS ? away_ns : GRACE_MOST_NS);
}

uint64_t group_silence(const struct kafka_group *group)
{
    return clock_mono(&clock_system) - atomic_load(&group->answered);
}

void group_note_running(struct kafka_group *group, unsigned most_ms)
{
    uint64_t now = clock_mono(&clock_system), gap = now - group->ran_at;
    group->ran_at = now;
    if (!group_lease_is_over(group))
        group_renew_lease(group, 0);
    if (gap < most_ms * NS_PER_MS + STANDSTILL_LEAST_NS)
        return;
    uint64_t silence = now - atomic_load(&group->answered);
    uint64_t excused = gap < silence ? gap : silence;
    atomic_fetch_add(&group->answered, excused);
    group->answered_wall += excused;
}

/* Notes a topic that does not exist any more, and asks who leads the partitions of the others. */
static void look_for_absent(struct kafka_group *group)
{
    const struct rd_kafka_metadata *metadata;
    const char *absent = NULL;
    if (rdkafka.metadata(group->client, 0, NULL, &metadata, ASK_MS))
        return;
    for (int t = 0; t < metadata->topic_cnt; t++)
        for (size_t i = 0; i < group->topic_count; i++)
            if (metadata->topics[t].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART &&
                strcmp(metadata->topics[t].topic, group->topics[i].name) == 0)
                absent = group->topics[i].name;
    rdkafka.metadata_destroy(metadata);
    if (absent && !group->absent)
        env_warn(group->self->env, "the topic %s does not exist any more", absent);
    pthread_mutex_lock(&group->lock);
    group->absent = absent;
    pthread_mutex_unlock(&group->lock);
}

static void log_silence(struct kafka_group *group)
{
    uint64_t silence = group_silence(group);
    if (group->silence_logged || group->absent || silence < SILENCE_NS)
        return;
    group->silence_logged = true;
    env_warn(group->self->env, "the brokers have not answered for %.0f s; asking again",
             (double)silence / 1e9);
}

void group_note_answer(struct kafka_group *group)
{
    struct kafka_receiver *self = group->self;
    uint64_t wall = clock_wall(self->env->clock);
    uint64_t away = group_silence(group), grace = outage_grace(away), from = group->answered_wall;
    atomic_store(&group->answered, clock_mono(&clock_system));
    group->answered_wall = wall;
    group->silence_logged = false;
    pthread_mutex_lock(&group->lock);
    group->absent = NULL;
    pthread_mutex_unlock(&group->lock);
    if (!grace)
        return;
    if (wall >= atomic_load(&self->outage_until)) /* else the clocks are stopped already */
        atomic_store(&self->outage_from, from);
    atomic_store(&self->outage_until, wall + grace);
    bool joined = group->phase == GROUP_JOINING; /* the brokers may have answered meanwhile */
    env_info(self->env,
             "%s %.0f s; decisions wait %.0f s for records that "
             "producers kept meanwhile",
             joined ? "joining the group took" : "no answer from the brokers for",
             (double)away / 1e9, (double)grace / 1e9);
}

/* ---- ends ---- */

static void set_end(struct kafka_group *group, const rd_kafka_topic_partition_t *at, uint64_t asked)
{
    struct feed *feed = group_feed(group, at);
    if (!feed)
        return;
    atomic_store(&feed->end, at->offset);
    atomic_store(&feed->end_asked, asked);
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
    bool answered = list->cnt && !rdkafka.offsets_for_times(group->client, list, ASK_MS);
    group_note_running(group, ASK_MS);
    for (int i = 0; i < list->cnt; i++)
        answered &= !list->elems[i].err;
    bool idle = !list->cnt && group->phase == GROUP_ASSIGNED;
    if (answered || idle) /* before the ends are set */
        group_note_answer(group);
    else if (list->cnt) {
        look_for_absent(group);
        log_silence(group);
    }
    for (int i = 0; i < list->cnt; i++)
        if (!list->elems[i].err && list->elems[i].offset >= 0)
            set_end(group, &list->elems[i], asked);
    rdkafka.topic_partition_list_destroy(list);
    for (size_t i = 0; i < group->worker_count; i++)
        worker_wake(group->workers[i]);
}
