#include "receivers/kafka/concerns.h"

#include "lib/kafka/kafka_throttle.h"
#include "receivers/kafka/expired.h"
#include "receivers/kafka/outages.h"

#include <inttypes.h>

/* From when on a lane is far behind. */
#define FAR_NS (10 * NS_PER_S)

/* Brokers are asked each second. */
#define SILENT_NS (3 * NS_PER_S)

/* From when on the parts of a value should have come: they are sent one after another. */
#define PARTS_LATE_NS (30 * NS_PER_S)

/* How long a loss is told. */
#define TOLD_NS (600 * NS_PER_S)

uint64_t reader_behind(const struct reader *reader, uint64_t now)
{
    uint64_t clock = lane_clock(reader->lane);
    return clock && clock < now ? now - clock : 0;
}

int64_t feed_held(struct feed *feed)
{
    int64_t end = atomic_load(&feed->end), at = atomic_load(&feed->at);
    int64_t log_end = atomic_load(&feed->log_end), from = at > end ? at : end;
    return atomic_load(&feed->held_since) && log_end > from ? log_end - from : 0;
}

static bool has_transaction(struct reader *reader)
{
    bool held = false;
    for (size_t i = 0; i < reader->feed_count; i++)
        held |= feed_held(&reader->feeds[i]) > 0;
    return held;
}

bool reader_put_wait(struct reader *reader, uint64_t now, struct bytes *out)
{
    uint64_t until = atomic_load(&reader->self->outage_until);
    uint64_t silence = group_silence(reader->self->group);
    char at[CLOCK_TEXT];
    if (atomic_load(&reader->paused))
        bytes_printf(out, "it pauses, since queues are full or memory is short");
    else if (silence >= SILENT_NS)
        bytes_printf(out, "the brokers have not answered for %.0f s", (double)silence / 1e9);
    else if (now < until)
        bytes_printf(out,
                     "decisions wait until %s for records that producers kept while brokers were "
                     "away, refused them, or the group was joined",
                     clock_text(until, at));
    else if (has_transaction(reader))
        bytes_printf(out, "an open transaction of another producer holds back records");
    else
        return false;
    return true;
}

static void begin(struct bytes *out)
{
    if (out->size)
        bytes_printf(out, "; ");
}

static void put_silence(const struct kafka_group *group, struct bytes *out)
{
    uint64_t silence = group_silence(group);
    if (silence < SILENT_NS)
        return;
    begin(out);
    bytes_printf(out, "the brokers have not answered for %.0f s", (double)silence / 1e9);
}

static int64_t unread_of(struct reader *reader)
{
    int64_t unread = 0;
    for (size_t i = 0; i < reader->feed_count; i++) {
        int64_t end = atomic_load(&reader->feeds[i].end), at = atomic_load(&reader->feeds[i].at);
        unread += end > at ? end - at : 0;
    }
    return unread;
}

static void put_throttle(struct kafka_group *group, struct bytes *out)
{
    char text[KAFKA_TROUBLE_SIZE];
    if (!kafka_throttle_lasts(&group->peer, text, sizeof text))
        return;
    begin(out);
    bytes_printf(out, "%s", text);
}

static void put_refusal(const struct kafka_receiver *self, struct bytes *out)
{
    if (!*self->refusal)
        return;
    begin(out);
    bytes_printf(out, "%s", self->refusal);
}

/* How many lanes are far behind, by how much, and why the last of them is. */
static void put_behind(const struct kafka_group *group, uint64_t now, struct bytes *out)
{
    size_t count = 0;
    struct reader *last = NULL;
    for (size_t i = 0; i < group->reader_count; i++) {
        uint64_t behind = reader_behind(group->readers[i], now);
        count += behind >= FAR_NS;
        if (behind >= FAR_NS && (!last || behind > reader_behind(last, now)))
            last = group->readers[i];
    }
    if (!last)
        return;
    begin(out);
    bytes_printf(out, "%zu of %zu lanes are behind, lane %d the most, by %.0f s", count,
                 group->reader_count, last->number, (double)reader_behind(last, now) / 1e9);
    if (group_silence(group) >= SILENT_NS) /* that was said */
        return;
    struct bytes why;
    bytes_init(&why, 256, NULL);
    if (reader_put_wait(last, now, &why))
        bytes_printf(out, ": %.*s", VIEW_ARG(bytes_view(&why)));
    else if (unread_of(last) > 0)
        bytes_printf(out, ": %" PRId64 " of its records are not read yet", unread_of(last));
    bytes_release(&why);
}

/* Values whose parts do not come: what was read behind them is not committed. */
static void put_parts(const struct kafka_group *group, uint64_t now, struct bytes *out)
{
    char at[CLOCK_TEXT];
    for (size_t i = 0; i < group->reader_count; i++)
        for (size_t f = 0; f < group->readers[i]->feed_count; f++) {
            struct feed *feed = &group->readers[i]->feeds[f];
            uint64_t since = atomic_load_explicit(&feed->parts.since, memory_order_relaxed);
            if (!since || now < since + PARTS_LATE_NS)
                continue;
            begin(out);
            bytes_printf(out,
                         "the rest of a profile in %s, partition %d, has not come since %s; until "
                         "it does, or 10 minutes are over, no offset behind it is committed",
                         feed->topic, feed->reader->number, clock_text(since, at));
        }
}

static bool is_recent(uint64_t at, uint64_t now)
{
    return at && now < at + TOLD_NS;
}

static void put_expired(const struct kafka_group *group, uint64_t now, struct bytes *out)
{
    char at[CLOCK_TEXT];
    for (size_t t = 0; t < group->topic_count; t++) {
        const struct group_topic *topic = &group->topics[t];
        uint64_t records = 0, last = 0;
        for (size_t p = 0; p < topic->expired_size; p++) {
            records += topic->expired[p].records;
            last = topic->expired[p].at > last ? topic->expired[p].at : last;
        }
        if (!is_recent(last, now))
            continue;
        begin(out);
        bytes_printf(out,
                     "%" PRIu64 " records of %s were lost, the last at %s: the broker deleted them "
                     "before they were read; give the topic a longer retention",
                     records, topic->name, clock_text(last, at));
    }
}

static void put_skipped(const struct kafka_receiver *self, uint64_t now, struct bytes *out)
{
    uint64_t last = atomic_load(&self->lost_at);
    char at[CLOCK_TEXT];
    if (!is_recent(last, now))
        return;
    begin(out);
    bytes_printf(out, "%" PRIu64 " records could not be read and were lost, the last at %s: %s",
                 atomic_load(&self->lost), clock_text(last, at),
                 *self->dead_letter.topic ? "their dead letters could not be written, see the log"
                                          : "set dead_letter.topic to keep such records");
}

bool kafka_receiver_concern(void *instance, struct bytes *out)
{
    const struct kafka_receiver *self = instance;
    struct kafka_group *group = self->group;
    uint64_t now = clock_wall(self->env->clock);
    if (!group)
        return false;
    pthread_mutex_lock(&group->lock);
    if (group->reader_count)
        put_silence(group, out);
    put_throttle(group, out);
    put_refusal(self, out);
    put_behind(group, now, out);
    put_parts(group, now, out);
    put_expired(group, now, out);
    pthread_mutex_unlock(&group->lock);
    put_skipped(self, now, out);
    return out->size > 0;
}
