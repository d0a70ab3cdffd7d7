/* Metrics and explain lines of the kafka receiver (receivers/kafka/kafka.h). */
#include "receivers/kafka/concerns.h"
#include "receivers/kafka/expired.h"
#include "receivers/kafka/outages.h"

#include <inttypes.h>
#include <stdio.h>

/* Lanes beyond these are reported together, so that a topic with many partitions does not make as
 * many series. */
enum { LANES_SHOWN = 64 };

enum { LAG, UNREAD, AGE, BEHIND, LANES, PAUSED, READY, SILENCE, EXPIRED };

const struct metric kafka_receiver_metrics[] = {
    [LAG] = METRIC_ROW("spanlink_kafka_lag", METRIC_GAUGE, METRIC_BASIC, "{records}",
                       "Records of a lane that are not committed, by signal; lanes beyond 64 are "
                       "added up as lane=\"other\"."),
    [UNREAD] = METRIC_ROW("spanlink_kafka_unread", METRIC_GAUGE, METRIC_BASIC, "{records}",
                          "Records of all lanes that are not read yet; those that were read and "
                          "wait for their samples are only in the lag."),
    [AGE] = METRIC_ROW("spanlink_kafka_oldest_record_age_seconds", METRIC_GAUGE, METRIC_BASIC, "s",
                       "Age of the oldest record that is not delivered, of all lanes; 0: none."),
    [BEHIND] = METRIC_ROW("spanlink_kafka_clock_behind_seconds", METRIC_GAUGE, METRIC_BASIC, "s",
                          "How far the clock of the last of all lanes is behind the present."),
    [LANES] = METRIC_ROW("spanlink_kafka_lanes", METRIC_GAUGE, METRIC_BASIC, "{lanes}",
                         "Partition numbers assigned to this member."),
    [PAUSED] = METRIC_ROW("spanlink_kafka_lanes_paused", METRIC_GAUGE, METRIC_BASIC, "{lanes}",
                          "Of these, the ones paused because queues are full or memory is short."),
    [READY] = METRIC_ROW("spanlink_kafka_assigned", METRIC_GAUGE, METRIC_BASIC, "1",
                         "Whether the group has assigned partitions to this member."),
    [SILENCE] = METRIC_ROW("spanlink_kafka_silence_seconds", METRIC_GAUGE, METRIC_BASIC, "s",
                           "Time since the brokers last answered; they are asked each second."),
    [EXPIRED] =
        METRIC_ROW("spanlink_kafka_expired_records", METRIC_COUNTER, METRIC_BASIC, "{records}",
                   "Records that the broker deleted before they were read, by topic and "
                   "partition; partitions beyond 64 are added up as partition=\"other\"."),
    METRIC_FIELD(struct kafka_receiver, rebalances, "spanlink_kafka_rebalances", METRIC_COUNTER,
                 METRIC_BASIC, "{rebalances}", "Assignments by the consumer group."),
    METRIC_FIELD(struct kafka_receiver, commits, "spanlink_kafka_commits", METRIC_COUNTER,
                 METRIC_BASIC, "{commits}", "Commits of offsets."),
    METRIC_FIELD(struct kafka_receiver, commit_failures, "spanlink_kafka_commit_failures",
                 METRIC_COUNTER, METRIC_BASIC, "{commits}", "Commits that failed; repeated."),
    METRIC_FIELD(struct kafka_receiver, pauses, "spanlink_kafka_pauses", METRIC_COUNTER,
                 METRIC_BASIC, "{pauses}", "Pauses of partitions for lack of room."),
    METRIC_FIELD(struct kafka_receiver, poisoned, "spanlink_kafka_unreadable_records",
                 METRIC_COUNTER, METRIC_BASIC, "{records}", "Records that could not be read."),
    METRIC_FIELD(struct kafka_receiver, dead_letters, "spanlink_kafka_dead_letters", METRIC_COUNTER,
                 METRIC_BASIC, "{records}", "Of these, those written to the dead-letter topic."),
    METRIC_FIELD(struct kafka_receiver, lost, "spanlink_kafka_unreadable_records_lost",
                 METRIC_COUNTER, METRIC_BASIC, "{records}",
                 "Of these, those that were skipped and have no dead letter."),
    METRIC_FIELD(struct kafka_receiver, replayed, "spanlink_kafka_replayed_records", METRIC_COUNTER,
                 METRIC_NORMAL, "{records}",
                 "Profiles that were read again for their span ids alone."),
    METRIC_FIELD(struct kafka_receiver, skipped, "spanlink_kafka_skipped_records", METRIC_COUNTER,
                 METRIC_NORMAL, "{records}",
                 "Records that were read again and known to be delivered."),
    METRIC_FIELD(
        struct kafka_receiver, restarts, "spanlink_kafka_restarted_partitions", METRIC_COUNTER,
        METRIC_BASIC, "{partitions}",
        "Partitions that are read from their first record, because their topic was deleted "
        "and made again."),
    METRIC_FIELD(struct kafka_receiver, rewinds, "spanlink_kafka_rewinds", METRIC_COUNTER,
                 METRIC_NORMAL, "{rewinds}",
                 "Lanes that were read again because an exporter gave records up."),
    METRIC_END,
};

/* How far a feed is behind. */
struct feed_lag {
    int64_t records, unread;
    uint64_t age_ns;
};

static int64_t end_of(struct feed *feed)
{
    int64_t end = atomic_load(&feed->end), log_end = atomic_load(&feed->log_end);
    return log_end > end ? log_end : end;
}

static struct feed_lag lag_of(struct feed *feed, uint64_t now)
{
    struct reader *reader = feed->reader;
    int64_t end = end_of(feed), at = atomic_load(&feed->at);
    uint64_t since = atomic_load(&feed->reached);
    pthread_mutex_lock(&reader->lock);
    int64_t commit = offsets_to_commit(&feed->offsets), oldest = offsets_oldest_ms(&feed->offsets);
    pthread_mutex_unlock(&reader->lock);
    struct feed_lag lag = {.records = end > commit ? end - commit : 0,
                           .unread = end > at ? end - at : 0};
    if (oldest >= 0)
        since = (uint64_t)oldest * NS_PER_MS;
    else if (at >= end)
        since = now;
    lag.age_ns = lag.records && since && since < now ? now - since : 0;
    return lag;
}

static void add_lag(struct metrics *metrics, const char *lane, enum signal signal, int64_t records)
{
    metrics_add(metrics, &kafka_receiver_metrics[LAG], (double)records,
                METRIC_LABELS({"lane", view_of(lane)}, {"signal", view_of(signal_name(signal))}));
}

/* Adds to lags and *unread; returns the age of the oldest record. */
static uint64_t measure_reader(struct reader *reader, uint64_t now, int64_t lags[SIGNAL_COUNT],
                               int64_t *unread)
{
    uint64_t age = 0;
    for (size_t i = 0; i < reader->feed_count; i++) {
        struct feed_lag lag = lag_of(&reader->feeds[i], now);
        lags[reader->feeds[i].signal] += lag.records;
        *unread += lag.unread;
        age = lag.age_ns > age ? lag.age_ns : age;
    }
    return age;
}

static unsigned signals_of(const struct kafka_group *group)
{
    unsigned signals = 0;
    for (size_t i = 0; i < group->topic_count; i++)
        signals |= SIGNAL_BIT(group->topics[i].signal);
    return signals;
}

static void add_lags(struct metrics *metrics, const struct kafka_group *group, const char *lane,
                     const int64_t lags[SIGNAL_COUNT])
{
    for (int s = 0; s < SIGNAL_COUNT; s++)
        if (signals_of(group) & SIGNAL_BIT(s))
            add_lag(metrics, lane, (enum signal)s, lags[s]);
}

static void add_expired(struct metrics *metrics, const char *topic, const char *partition,
                        uint64_t records)
{
    metrics_add(metrics, &kafka_receiver_metrics[EXPIRED], (double)records,
                METRIC_LABELS({"topic", view_of(topic)}, {"partition", view_of(partition)}));
}

static void measure_expired(struct metrics *metrics, const struct group_topic *topic)
{
    uint64_t other = 0;
    for (size_t p = 0; p < topic->expired_size; p++) {
        char partition[24];
        snprintf(partition, sizeof partition, "%zu", p);
        if (p >= LANES_SHOWN)
            other += topic->expired[p].records;
        else if (topic->expired[p].assigned)
            add_expired(metrics, topic->name, partition, topic->expired[p].records);
    }
    add_expired(metrics, topic->name, "other",
                other); /* always: the metric exists from the start */
}

void kafka_receiver_measure(void *instance, struct metrics *metrics)
{
    const struct kafka_receiver *self = instance;
    struct kafka_group *group = self->group;
    int64_t other[SIGNAL_COUNT] = {0}, unread = 0;
    uint64_t now = clock_wall(self->env->clock), oldest = 0, behind = 0;
    size_t paused = 0;
    pthread_mutex_lock(&group->lock);
    for (size_t i = 0; i < group->reader_count; i++) {
        struct reader *reader = group->readers[i];
        int64_t own[SIGNAL_COUNT] = {0};
        bool shown = reader->number < LANES_SHOWN;
        uint64_t age = measure_reader(reader, now, shown ? own : other, &unread);
        char lane[16];
        snprintf(lane, sizeof lane, "%d", reader->number);
        if (shown)
            add_lags(metrics, group, lane, own);
        oldest = age > oldest ? age : oldest;
        behind = reader_behind(reader, now) > behind ? reader_behind(reader, now) : behind;
        paused += atomic_load(&reader->paused) > 0;
    }
    bool more = group->counts && group->counts[0].partitions > LANES_SHOWN;
    if (more)
        add_lags(metrics, group, "other", other);
    metrics_add(metrics, &kafka_receiver_metrics[UNREAD], (double)unread, NO_LABELS);
    metrics_add(metrics, &kafka_receiver_metrics[AGE], (double)oldest / 1e9, NO_LABELS);
    metrics_add(metrics, &kafka_receiver_metrics[BEHIND], (double)behind / 1e9, NO_LABELS);
    metrics_add(metrics, &kafka_receiver_metrics[LANES], (double)group->reader_count, NO_LABELS);
    metrics_add(metrics, &kafka_receiver_metrics[PAUSED], (double)paused, NO_LABELS);
    metrics_add(metrics, &kafka_receiver_metrics[READY], group->phase == GROUP_ASSIGNED, NO_LABELS);
    metrics_add(metrics, &kafka_receiver_metrics[SILENCE], (double)group_silence(group) / 1e9,
                NO_LABELS);
    for (size_t t = 0; t < group->topic_count; t++)
        measure_expired(metrics, &group->topics[t]);
    pthread_mutex_unlock(&group->lock);
}

static void explain_held(const char *id, struct feed *feed, struct bytes *out)
{
    uint64_t since = atomic_load(&feed->held_since);
    int64_t held = feed_held(feed);
    if (held)
        bytes_printf(out,
                     "%s: lane %d: an open transaction of another producer has held back %" PRId64
                     " records of %s for %.0fs\n",
                     id, feed->reader->number, held, feed->topic,
                     (double)(clock_mono(&clock_system) - since) / 1e9);
}

static void explain_reader(const char *id, struct reader *reader, uint64_t now, struct bytes *out)
{
    int64_t lags[SIGNAL_COUNT] = {0}, unread = 0;
    uint64_t age = measure_reader(reader, now, lags, &unread);
    bytes_printf(out, "%s: lane %d:", id, reader->number);
    for (size_t i = 0; i < reader->feed_count; i++) {
        struct feed *feed = &reader->feeds[i];
        /* The end is the one of a second ago. */
        int64_t at = atomic_load(&feed->at), end = end_of(feed);
        bytes_printf(out, "%s %s at %" PRId64 " of %" PRId64, i ? "," : "", feed->topic, at,
                     end > at ? end : at);
    }
    bytes_printf(out, "; clock %.1fs behind, oldest record %.1fs",
                 (double)reader_behind(reader, now) / 1e9, (double)age / 1e9);
    struct bytes why;
    bytes_init(&why, 256, NULL);
    if (reader_put_wait(reader, now, &why))
        bytes_printf(out, ": %.*s", VIEW_ARG(bytes_view(&why)));
    bytes_release(&why);
    bytes_printf(out, "\n");
    for (size_t i = 0; i < reader->feed_count; i++)
        explain_held(id, &reader->feeds[i], out);
}

void kafka_receiver_explain(void *instance, struct bytes *out)
{
    const struct kafka_receiver *self = instance;
    struct kafka_group *group = self->group;
    const char *id = self->env->id;
    uint64_t now = clock_wall(self->env->clock);
    pthread_mutex_lock(&group->lock);
    bytes_printf(out, "%s: %zu lanes of the group %s", id, group->reader_count, self->group_id);
    struct bytes trouble;
    bytes_init(&trouble, 256, NULL);
    if (group_put_trouble(group, &trouble))
        bytes_printf(out, ", not ready: %.*s", VIEW_ARG(bytes_view(&trouble)));
    bytes_release(&trouble);
    bytes_printf(out,
                 "; %" PRIu64 " rebalances, %" PRIu64 " commits, %" PRIu64 " pauses, %" PRIu64
                 " unreadable records (%" PRIu64 " dead letters)\n",
                 self->rebalances, self->commits, self->pauses, self->poisoned, self->dead_letters);
    group_explain_unreadable(group, out);
    group_explain_expired(group, out);
    for (size_t i = 0; i < group->reader_count && i < LANES_SHOWN; i++)
        explain_reader(id, group->readers[i], now, out);
    pthread_mutex_unlock(&group->lock);
}
