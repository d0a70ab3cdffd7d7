#include "receivers/kafka/timestamps.h"

#include "lib/base/log.h"

void timestamps_lower(uint64_t *times, size_t count)
{
    for (size_t i = count; i-- > 1;)
        if (times[i] < times[i - 1])
            times[i - 1] = times[i];
}

static void warn_about_append_time(struct feed *feed)
{
    if (!feed->joint || atomic_exchange(&feed->reader->self->append_time, true))
        return;
    env_warn(feed->reader->self->env, "" KAFKA_APPEND_TIME, feed->topic);
}

void feed_read_timestamps(struct feed *feed)
{
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    for (size_t i = 0; i < feed->head_count; i++) {
        int64_t ms = feed->heads[i]->err ? -1 : rdkafka.message_timestamp(feed->heads[i], &type);
        feed->times[i] = feed->heads[i]->err ? UINT64_MAX : ms > 0 ? (uint64_t)ms * NS_PER_MS : 0;
        feed->least[i] = feed->times[i];
    }
    if (feed->signal == SIGNAL_PROFILES)
        timestamps_lower(feed->least, feed->head_count);
    if (type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME)
        warn_about_append_time(feed);
}

/* The time up to which the lane may run. */
static uint64_t feed_limit(const struct feed *feed, uint64_t now)
{
    const struct kafka_receiver *self = feed->reader->self;
    uint64_t until = atomic_load_explicit(&self->outage_until, memory_order_acquire);
    return now < until ? atomic_load_explicit(&self->outage_from, memory_order_relaxed)
                       : UINT64_MAX;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void feed_set_clock(struct feed *feed)
{
    uint64_t now = clock_wall(feed->reader->self->env->clock), limit = feed_limit(feed, now);
    uint64_t own = sooner(feed->times[feed->head], now);
    uint64_t least = sooner(feed->least[feed->head], now);
    uint64_t done = sooner(feed->reached, limit);
    feed->dated = own > done ? own : done;
    feed->next = least > done ? least : done;
    if (least > feed->reached)
        feed->reached = least;
    if (feed->joint)
        lane_reached(feed->reader->lane, feed->signal,
                     feed->reached < limit ? feed->reached : limit);
}

void feed_at_end(struct feed *feed)
{
    /* The time first: the group's thread may set both meanwhile, and that one last. */
    uint64_t asked = atomic_load(&feed->end_asked);
    int64_t end = atomic_load(&feed->log_end);
    uint64_t limit = feed_limit(feed, clock_wall(feed->reader->self->env->clock));
    asked = asked < limit ? asked : limit;
    if (end < 0 || feed->behind < end || asked <= feed->reached)
        return;
    feed->reached = asked;
    if (feed->joint)
        lane_at_end(feed->reader->lane, feed->signal, asked);
}

size_t feeds_choose(const struct feed_head *heads, size_t count)
{
    size_t chosen = count;
    for (size_t i = 0; i < count; i++)
        if (heads[i].known && (chosen == count || heads[i].time < heads[chosen].time))
            chosen = i;
    for (size_t i = 0; chosen < count && i < count; i++)
        if (!heads[i].known && heads[chosen].time > heads[i].time + FEED_AHEAD_NS)
            return count;
    return chosen;
}
