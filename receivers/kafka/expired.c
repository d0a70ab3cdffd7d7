#include "receivers/kafka/expired.h"

#include "lib/base/log.h"
#include "receivers/kafka/outages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAY_NS (60 * NS_PER_S)

enum { ASK_MS = 1000 };

int64_t gap_expired(struct feed_gap gap, int64_t low)
{
    int64_t end = low < gap.to ? low : gap.to;
    return end > gap.from ? end - gap.from : 0;
}

/* ---- counting ---- */

static struct group_topic *topic_of(struct kafka_group *group, const char *name)
{
    for (size_t i = 0; i < group->topic_count; i++)
        if (strcmp(group->topics[i].name, name) == 0)
            return &group->topics[i];
    return NULL;
}

/* Returns the count of a partition; NULL: no memory. Under the lock. */
static struct expired_count *count_of(struct group_topic *topic, int32_t partition)
{
    size_t needed = (size_t)partition + 1, have = topic->expired_size;
    if (needed > have) {
        struct expired_count *more = reallocarray(topic->expired, needed, sizeof *more);
        if (!more)
            return NULL;
        memset(more + have, 0, (needed - have) * sizeof *more);
        topic->expired = more;
        topic->expired_size = needed;
    }
    return &topic->expired[partition];
}

/* Logs what is new, at most once a minute for a partition. */
static void say(struct kafka_group *group, struct group_topic *topic, int32_t partition,
                struct expired_count *count, uint64_t mono)
{
    if (count->records == count->said || mono < count->say_at)
        return;
    env_error(group->self->env,
              "%" PRIu64
              " records of %s, partition %d, were lost: the broker deleted them before they were "
              "read; the last one had offset %" PRId64
              "; give the topic a longer retention, and the group more members or faster backends "
              "if this lane stays behind",
              count->records - count->said, topic->name, partition, count->last);
    count->said = count->records;
    count->say_at = mono + SAY_NS;
}

void group_add_expired(struct kafka_group *group, const char *topic, int32_t partition,
                       int64_t records, int64_t end)
{
    uint64_t mono = clock_mono(&clock_system);
    pthread_mutex_lock(&group->lock);
    struct group_topic *of = topic_of(group, topic);
    struct expired_count *count = of ? count_of(of, partition) : NULL;
    if (count) {
        count->assigned = true;
        count->records += (uint64_t)records;
        count->last = records ? end - 1 : count->last;
        count->at = records ? clock_wall(group->self->env->clock) : count->at;
        say(group, of, partition, count, mono);
    }
    pthread_mutex_unlock(&group->lock);
}

/* ---- while lanes are read ---- */

static struct feed_gap gap_of(struct feed *feed)
{
    pthread_mutex_lock(&feed->reader->lock);
    struct feed_gap gap = feed->gap;
    pthread_mutex_unlock(&feed->reader->lock);
    return gap;
}

/* The partitions whose offsets jumped, to be asked for the first offset that the broker has. */
static rd_kafka_topic_partition_list_t *jumped(const struct kafka_group *group)
{
    rd_kafka_topic_partition_list_t *list = rdkafka.topic_partition_list_new(4);
    for (size_t i = 0; i < group->reader_count; i++)
        for (size_t f = 0; f < group->readers[i]->feed_count; f++) {
            struct feed *feed = &group->readers[i]->feeds[f];
            struct feed_gap gap = gap_of(feed);
            if (gap.to > gap.from)
                rdkafka.topic_partition_list_add(list, feed->topic, group->readers[i]->number)
                    ->offset = RD_KAFKA_OFFSET_BEGINNING;
        }
    return list;
}

/* Offsets below the low one expired; others have no records, as those of aborted transactions. */
static void explain_gap(struct kafka_group *group, struct feed *feed,
                        rd_kafka_topic_partition_list_t *lows)
{
    int32_t number = feed->reader->number;
    const rd_kafka_topic_partition_t *low =
        rdkafka.topic_partition_list_find(lows, feed->topic, number);
    if (!low || low->err || low->offset < 0)
        return;
    pthread_mutex_lock(&feed->reader->lock);
    struct feed_gap gap = feed->gap;
    feed->gap = (struct feed_gap){0};
    pthread_mutex_unlock(&feed->reader->lock);
    int64_t expired = gap_expired(gap, low->offset);
    if (expired)
        group_add_expired(group, feed->topic, number, expired, gap.from + expired);
}

static void say_rest(struct kafka_group *group, uint64_t mono)
{
    pthread_mutex_lock(&group->lock);
    for (size_t t = 0; t < group->topic_count; t++)
        for (size_t p = 0; p < group->topics[t].expired_size; p++)
            say(group, &group->topics[t], (int32_t)p, &group->topics[t].expired[p], mono);
    pthread_mutex_unlock(&group->lock);
}

void group_look_for_expired(struct kafka_group *group, uint64_t mono)
{
    rd_kafka_topic_partition_list_t *lows = jumped(group);
    bool answered = false;
    if (lows->cnt) {
        group_note_running(group, 0);
        answered = !rdkafka.offsets_for_times(group->client, lows, ASK_MS);
        group_note_running(group, ASK_MS);
    }
    for (size_t i = 0; answered && i < group->reader_count; i++)
        for (size_t f = 0; f < group->readers[i]->feed_count; f++)
            explain_gap(group, &group->readers[i]->feeds[f], lows);
    rdkafka.topic_partition_list_destroy(lows);
    say_rest(group, mono);
}

void group_explain_expired(const struct kafka_group *group, struct bytes *out)
{
    for (size_t t = 0; t < group->topic_count; t++)
        for (size_t p = 0; p < group->topics[t].expired_size; p++)
            if (group->topics[t].expired[p].records)
                bytes_printf(out,
                             "%s: %" PRIu64
                             " records of %s, partition %zu, were lost: the broker deleted them "
                             "before they were read\n",
                             group->self->env->id, group->topics[t].expired[p].records,
                             group->topics[t].name, p);
}
