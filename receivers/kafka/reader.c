#include "receivers/kafka/reader.h"

#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "receivers/kafka/feed_value.h"
#include "receivers/kafka/in_flight.h"
#include "receivers/kafka/record.h"
#include "receivers/kafka/restart.h"
#include "receivers/kafka/timestamps.h"

#include <stdio.h>
#include <stdlib.h>

/* Records that the worker reads of a lane before it continues with the next one. */
enum { STEP_RECORDS = 64 };

/* Longer than any span waits for its profile. */
#define PAST_FULL_NS (180 * NS_PER_S)

/* ---- life ---- */

static bool feed_open(struct reader *reader, struct feed *feed, struct feed_start *start)
{
    *feed =
        (struct feed){.reader = reader,
                      .topic = strdup(start->topic),
                      .signal = start->signal,
                      .joint = start->signal == SIGNAL_TRACES || start->signal == SIGNAL_PROFILES,
                      .queue = start->queue,
                      .popped = start->from,
                      .behind = start->from,
                      .deliver_from = start->deliver_from,
                      .commit_metadata = start->commit_metadata,
                      .committed = -1};
    atomic_init(&feed->end, start->end);
    atomic_init(&feed->end_asked, start->end_asked);
    atomic_init(&feed->log_end, -1);
    atomic_init(&feed->at, start->from);
    atomic_init(&feed->restart_at, -1);
    feed->acknowledged = start->committed ? start->deliver_from : -1;
    feed->native = reader->self->signals[start->signal].encoding == KAFKA_NATIVE;
    record_parts_init(&feed->parts, reader->self->env->budget);
    offsets_init(&feed->offsets, start->deliver_from, reader->self->env->budget);
    return feed->topic;
}

/* Returns the time from which on all feeds read every profile; 0: not known; or SINCE_EVER. */
static uint64_t starts_since(const struct feed_start *starts, size_t count)
{
    uint64_t since = 0;
    for (size_t i = 0; i < count; i++) {
        if (starts[i].signal != SIGNAL_PROFILES)
            continue;
        if (!starts[i].since)
            return 0;
        since = starts[i].since > since ? starts[i].since : since;
    }
    return since;
}

struct reader *reader_new(struct kafka_receiver *self, struct dead_letters *letters, int32_t number,
                          struct feed_start *starts, size_t count)
{
    struct reader *reader = calloc(1, sizeof *reader + count * sizeof *reader->feeds);
    unsigned signals = 0, joint = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES);
    for (size_t i = 0; i < count; i++)
        signals |= SIGNAL_BIT(starts[i].signal);
    for (size_t i = 0; !reader && i < count; i++) {
        commit_metadata_release(&starts[i].commit_metadata);
        if (starts[i].queue)
            rdkafka.queue_destroy(starts[i].queue);
    }
    if (!reader)
        return NULL;
    reader->refs = 1;
    reader->self = self;
    reader->letters = letters;
    reader->number = number;
    reader->lease = TIME_NEVER;
    reader->on_error = self->marking.on_error;
    reader->on_permanent_error = self->marking.on_permanent_error;
    pthread_mutex_init(&reader->step, NULL);
    pthread_mutex_init(&reader->lock, NULL);
    thread_cond_init(&reader->idle);
    bool opened = true;
    for (; reader->feed_count < count; reader->feed_count++)
        opened &=
            feed_open(reader, &reader->feeds[reader->feed_count], &starts[reader->feed_count]);
    /* Metrics and logs do not take part in the lane's clock if there are traces or profiles. */
    reader->lane =
        lane_new(self->env->id, (uint32_t)number, signals & joint ? signals & joint : signals);
    uint64_t since = starts_since(starts, count);
    reader->ever = since == SINCE_EVER;
    if (reader->lane && !reader->ever)
        lane_set_since(reader->lane, since);
    if (opened && reader->lane)
        return reader;
    reader_stop(reader, CAUSE_MEMORY);
    reader_unref(reader);
    return NULL;
}

struct reader *reader_ref(struct reader *reader)
{
    atomic_fetch_add(&reader->refs, 1);
    return reader;
}

void reader_unref(struct reader *reader)
{
    if (!reader || atomic_fetch_sub(&reader->refs, 1) != 1)
        return;
    for (size_t i = 0; i < reader->feed_count; i++) {
        offsets_release(&reader->feeds[i].offsets);
        commit_metadata_release(&reader->feeds[i].commit_metadata);
        free(reader->feeds[i].topic);
    }
    lane_unref(reader->lane);
    pthread_mutex_destroy(&reader->step);
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->idle);
    free(reader);
}

void reader_begin(struct reader *reader)
{
    reader_ref(reader);
    pthread_mutex_lock(&reader->lock);
    reader->under_way++;
    pthread_mutex_unlock(&reader->lock);
}

void reader_end(struct reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    if (--reader->under_way == 0)
        pthread_cond_broadcast(&reader->idle);
    pthread_mutex_unlock(&reader->lock);
    reader_unref(reader);
}

void feed_settle(struct feed *feed, uint64_t number)
{
    pthread_mutex_lock(&feed->reader->lock);
    offsets_settle(&feed->offsets, number);
    pthread_mutex_unlock(&feed->reader->lock);
}

void feed_drop_heads(struct feed *feed, size_t from)
{
    for (size_t i = from; i < feed->head_count; i++)
        rdkafka.message_destroy(feed->heads[i]);
    feed->head_count = from < feed->head_count ? from : feed->head_count;
}

static void feed_close(struct feed *feed, enum cause cause)
{
    if (feed->waiting)
        in_flight_drop(feed->waiting, cause);
    feed->waiting = NULL;
    feed_drop_heads(feed, feed->head);
    record_parts_release(&feed->parts);
    if (feed->queue) {
        rdkafka.queue_io_event_enable(feed->queue, -1, NULL, 0);
        rdkafka.queue_destroy(feed->queue);
    }
    feed->queue = NULL;
}

void reader_stop(struct reader *reader, enum cause cause)
{
    atomic_store(&reader->leaving, true);
    pthread_mutex_lock(&reader->step);
    for (size_t i = 0; i < reader->feed_count; i++)
        feed_close(&reader->feeds[i], cause);
    if (reader->lane)
        lane_end(reader->lane, cause);
    pthread_mutex_unlock(&reader->step);
}

bool reader_drain(struct reader *reader, uint64_t mono_ns)
{
    pthread_mutex_lock(&reader->lock);
    while (reader->under_way && clock_mono(&clock_system) < mono_ns)
        thread_cond_wait_until(&reader->idle, &reader->lock, mono_ns);
    bool drained = reader->under_way == 0;
    pthread_mutex_unlock(&reader->lock);
    return drained;
}

/* ---- pausing ---- */

static void feed_pause(struct feed *feed, uint64_t mono_ns)
{
    const struct kafka_backoff *backoff = &feed->reader->self->backoff;
    if (!feed->pause_ns) {
        atomic_fetch_add(&feed->reader->self->pauses, 1);
        atomic_fetch_add(&feed->reader->paused, 1);
        feed->pause_ns = backoff->initial_interval;
    } else {
        double longer = (double)feed->pause_ns * backoff->multiplier;
        feed->pause_ns =
            longer < (double)backoff->max_interval ? (uint64_t)longer : backoff->max_interval;
    }
    feed->paused_until = mono_ns + feed->pause_ns;
}

static void feed_resume(struct feed *feed)
{
    if (feed->pause_ns)
        atomic_fetch_sub(&feed->reader->paused, 1);
    feed->pause_ns = feed->paused_until = 0;
}

/* ---- the next record ---- */

/* Sets the offset after what was read. Offsets without records, as of aborted transactions, count
 * as read. */
static void feed_read_to(struct feed *feed, int64_t behind)
{
    if (behind <= feed->behind)
        return;
    feed->behind = behind;
    atomic_store_explicit(&feed->at, behind, memory_order_relaxed);
}

static void feed_event(struct feed *feed, const rd_kafka_message_t *message)
{
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        feed_read_to(feed, message->offset);
        pthread_mutex_lock(&feed->reader->lock);
        offsets_skip_to(&feed->offsets, message->offset);
        pthread_mutex_unlock(&feed->reader->lock);
    } else {
        env_warn(feed->reader->self->env, "%s/%d: %s", feed->topic, feed->reader->number,
                 rdkafka.message_errstr(message));
    }
}

/* Notes offsets that were skipped: retention may have deleted them. */
static void feed_note_gap(struct feed *feed, const rd_kafka_message_t *message)
{
    int64_t from = feed->popped > feed->deliver_from ? feed->popped : feed->deliver_from;
    int64_t size = message->offset - from;
    if (message->err && message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        return;
    if (size > 0) {
        pthread_mutex_lock(&feed->reader->lock);
        if (size > feed->gap.to - feed->gap.from)
            feed->gap = (struct feed_gap){from, message->offset};
        pthread_mutex_unlock(&feed->reader->lock);
    }
    int64_t next = message->offset + !message->err;
    feed->popped = next > feed->popped ? next : feed->popped;
}

static void feed_fill(struct feed *feed)
{
    if (feed->head < feed->head_count || !feed->queue || atomic_load(&feed->restart_at) >= 0)
        return;
    ssize_t got = rdkafka.consume_batch_queue(feed->queue, 0, feed->heads, FEED_HEADS);
    feed->head = 0;
    feed->head_count = got > 0 ? (size_t)got : 0;
    for (size_t i = 0; i < feed->head_count; i++)
        if (feed_begins_again(feed, feed->heads[i]))
            feed_drop_heads(feed, i);
        else
            feed_note_gap(feed, feed->heads[i]);
    feed_read_timestamps(feed);
}

/* Finds the feed's next record, popping events on the way. */
static struct feed_head feed_look(struct feed *feed)
{
    for (;;) {
        feed_fill(feed);
        if (feed->head == feed->head_count)
            break;
        rd_kafka_message_t *message = feed->heads[feed->head];
        if (!message->err) {
            feed_set_clock(feed);
            return (struct feed_head){true, feed->next};
        }
        feed_event(feed, message);
        rdkafka.message_destroy(message);
        feed->head++;
    }
    if (atomic_load(&feed->restart_at) < 0)
        feed_at_end(feed);
    return (struct feed_head){false, feed->reached};
}

/* ---- one record ---- */

static void feed_advance(struct feed *feed)
{
    rd_kafka_message_t *message = feed->heads[feed->head++];
    feed_read_to(feed, message->offset + 1);
    rdkafka.message_destroy(message);
    feed_resume(feed);
}

/* Adds the head to the offsets. False: full, or no memory. */
static bool feed_list(struct feed *feed, bool settled, uint64_t *number)
{
    const rd_kafka_message_t *message = feed->heads[feed->head];
    pthread_mutex_lock(&feed->reader->lock);
    bool listed =
        offsets_add(&feed->offsets, message->offset, (int64_t)(feed->reached / NS_PER_MS), number);
    if (listed && settled)
        offsets_settle(&feed->offsets, *number);
    pthread_mutex_unlock(&feed->reader->lock);
    return listed;
}

static void log_unreadable(const struct feed *feed, const rd_kafka_message_t *message,
                           const char *why)
{
    env_warn(feed->reader->self->env,
             "a record of %s cannot be read, partition %d, offset %lld: %s; %s", feed->topic,
             feed->reader->number, (long long)message->offset, why,
             feed->reader->letters ? "it goes to the dead-letter topic"
                                   : "it is skipped, dead_letter.topic is not set");
}

/* Sends an unreadable record to the dead-letter topic, or counts and skips it. It already has
 * an entry in the offsets. */
static void feed_refuse(struct feed *feed, uint64_t number, const struct outcome *why)
{
    struct kafka_receiver *self = feed->reader->self;
    const rd_kafka_message_t *message = feed->heads[feed->head];
    const struct refusal refusal = {
        .transport = ADMISSION_PULL, .signal = (int)feed->signal, .why = why};
    meter_refused(self->env->meter, &refusal);
    if (atomic_fetch_add(&self->poisoned, 1) < UNREADABLE_TOLD || log_enabled(LOG_DEBUG))
        log_unreadable(feed, message, why->text);
    if (!feed->reader->letters ||
        !dead_letters_send(feed->reader->letters, message, why->text, feed, number))
        feed_settle(feed, number);
    if (!feed->reader->letters)
        dead_letters_lack(self);
    feed_advance(feed);
}

/* Whether the head was delivered to an earlier reader. */
static bool feed_had(const struct feed *feed)
{
    int64_t offset = feed->heads[feed->head]->offset;
    return offset < feed->deliver_from || commit_metadata_has(&feed->commit_metadata, offset);
}

/* False: the lane waits. */
static bool feed_offer(struct feed *feed, uint64_t mono_ns)
{
    uint64_t number = 0;
    struct outcome outcome = in_flight_offer(feed->waiting, &number);
    if (outcome.verdict == VERDICT_RETRY) {
        feed_pause(feed, mono_ns);
        return false;
    }
    feed->waiting = NULL;
    if (outcome.verdict == VERDICT_REJECT && !feed_had(feed))
        feed_refuse(feed, number, &outcome);
    else
        feed_advance(feed);
    return true;
}

static void feed_set_lane(struct feed *feed, struct batch *batch)
{
    struct reader *reader = feed->reader;
    uint64_t replay = reader->self->replay;
    if (reader->ever) /* earlier than any span in the log needs */
        lane_set_since(reader->lane, feed->reached > replay ? feed->reached - replay : 1);
    reader->ever = false;
    batch_set_lane(batch, reader->lane, feed->dated);
}

/* Reads the head as profiles that were delivered before. Without memory its ids are missed, and a
 * span may stay unlinked. */
static bool feed_again(struct feed *feed, uint64_t mono_ns)
{
    struct reader *reader = feed->reader;
    struct batch *batch = NULL;
    struct feed_value found = {0};
    uint64_t number;
    bool listed = feed->heads[feed->head]->offset >= feed->deliver_from;
    if (listed && !feed_list(feed, true, &number)) {
        feed_pause(feed, mono_ns);
        return false;
    }
    atomic_fetch_add(
        feed->signal == SIGNAL_PROFILES ? &reader->self->replayed : &reader->self->skipped, 1);
    if (feed->signal == SIGNAL_PROFILES && feed_value(feed, &found).verdict == VERDICT_OK &&
        found.whole)
        record_read(reader->self, feed->signal, feed->heads[feed->head], found.value, &batch);
    if (found.partial && found.whole)
        record_parts_close(&feed->parts, found.partial);
    if (batch) {
        feed_set_lane(feed, batch);
        feed->waiting = in_flight_new(feed, batch, &number, 0);
    }
    if (feed->waiting)
        return feed_offer(feed, mono_ns);
    feed_advance(feed);
    return true;
}

/* Pushes a record that has an entry in the offsets, with its earlier parts, into the pipelines. */
static bool feed_hand(struct feed *feed, struct batch *batch, uint64_t number,
                      struct partial_record *partial, uint64_t mono_ns)
{
    bool noted = !partial || partial_record_note(partial, number);
    feed_set_lane(feed, batch);
    if (noted)
        feed->waiting = partial
                            ? in_flight_new(feed, batch, partial->numbers, partial->number_count)
                            : in_flight_new(feed, batch, &number, 1);
    else
        batch_unref(batch);
    if (partial)
        record_parts_close(&feed->parts, partial);
    if (feed->waiting)
        return feed_offer(feed, mono_ns);
    atomic_store(&feed->reader->rewind, true); /* listed and lost: read it again */
    feed_advance(feed);
    return true;
}

/* Counts a record for unreadable.c. why: NULL if it could be read. */
static void feed_count(struct feed *feed, const struct outcome *why)
{
    if (!why) {
        atomic_fetch_add_explicit(&feed->read, 1, memory_order_relaxed);
        return;
    }
    pthread_mutex_lock(&feed->reader->lock);
    if (atomic_fetch_add_explicit(&feed->unreadable, 1, memory_order_relaxed) == 0)
        snprintf(feed->unreadable_why, sizeof feed->unreadable_why, "%s", why->text);
    pthread_mutex_unlock(&feed->reader->lock);
}

/* Handles a record without a batch: a part, an empty record, or one that cannot be read. */
static void feed_without_batch(struct feed *feed, uint64_t number, const struct feed_value *found,
                               const struct outcome *why)
{
    if (found->partial && !found->whole && partial_record_note(found->partial, number)) {
        feed_advance(feed);
        return;
    }
    if (found->partial)
        feed_drop_partial(feed, found->partial);
    feed_count(feed, why->verdict == VERDICT_REJECT ? why : NULL);
    if (why->verdict == VERDICT_REJECT) {
        feed_refuse(feed, number, why);
    } else {
        feed_settle(feed, number);
        feed_advance(feed);
    }
}

static bool feed_first(struct feed *feed, uint64_t mono_ns)
{
    struct batch *batch = NULL;
    struct feed_value found = {0};
    uint64_t number;
    feed_expire_parts(feed);
    struct outcome outcome = feed_value(feed, &found);
    if (outcome.verdict == VERDICT_OK && found.whole)
        outcome = record_read(feed->reader->self, feed->signal, feed->heads[feed->head],
                              found.value, &batch);
    if (outcome.verdict == VERDICT_RETRY || !feed_list(feed, false, &number)) {
        batch_unref(batch);
        if (found.partial)
            record_parts_undo(&feed->parts, found.partial);
        feed_pause(feed, mono_ns);
        return false;
    }
    if (batch) {
        feed_count(feed, NULL);
        return feed_hand(feed, batch, number, found.partial, mono_ns);
    }
    feed_without_batch(feed, number, &found, &outcome);
    return true;
}

/* Pushes the next record into the pipelines. False: the feed is paused. */
static bool feed_next(struct feed *feed, uint64_t mono_ns)
{
    if (feed->waiting)
        return feed_offer(feed, mono_ns);
    return feed_had(feed) ? feed_again(feed, mono_ns) : feed_first(feed, mono_ns);
}

/* ---- steps ---- */

/* A joint feed with as many records in flight as there may be stands still, and with it the clock,
 * for which the spans of these records wait. So the others are read on, and the clock with them, as
 * far as any span can wait. Returns the one to read next; NULL: none. */
static struct feed *reader_past(struct reader *reader, struct feed *const *feeds,
                                const struct feed_head *heads, size_t count, size_t full,
                                uint64_t mono_ns)
{
    uint64_t until = clock_wall(reader->self->env->clock);
    uint64_t most = heads[full].time + PAST_FULL_NS;
    size_t next = count;
    until = until < most ? until : most;
    for (size_t i = 0; i < count; i++) {
        if (feeds[i]->signal == feeds[full]->signal)
            continue;
        until = heads[i].time < until ? heads[i].time : until;
        if (heads[i].known && heads[i].time < most && feeds[i]->paused_until <= mono_ns &&
            (next == count || heads[i].time < heads[next].time))
            next = i;
    }
    lane_at_end(reader->lane, feeds[full]->signal, until);
    return next < count ? feeds[next] : NULL;
}

static bool feed_is_full(const struct feed *feed)
{
    pthread_mutex_lock(&feed->reader->lock);
    bool full = offsets_is_full(&feed->offsets);
    pthread_mutex_unlock(&feed->reader->lock);
    return full;
}

/* Returns the joint feed to read next. NULL: wait until *wake. */
static struct feed *reader_joint(struct reader *reader, uint64_t mono_ns, uint64_t *wake)
{
    struct feed_head heads[SIGNAL_COUNT * 4];
    struct feed *feeds[SIGNAL_COUNT * 4];
    size_t count = 0;
    for (size_t i = 0; i < reader->feed_count && count < SIGNAL_COUNT * 4; i++)
        if (reader->feeds[i].joint) {
            feeds[count] = &reader->feeds[i];
            heads[count++] = feed_look(&reader->feeds[i]);
        }
    size_t chosen = feeds_choose(heads, count);
    if (chosen == count)
        return NULL;
    if (feeds[chosen]->paused_until > mono_ns) {
        *wake = feeds[chosen]->paused_until < *wake ? feeds[chosen]->paused_until : *wake;
        return feed_is_full(feeds[chosen])
                   ? reader_past(reader, feeds, heads, count, chosen, mono_ns)
                   : NULL;
    }
    return feeds[chosen];
}

/* Pushes the next record of each feed that is not joint. True: there may be more. */
static bool reader_rest(struct reader *reader, uint64_t mono_ns, uint64_t *wake)
{
    bool more = false;
    for (size_t i = 0; i < reader->feed_count; i++) {
        struct feed *feed = &reader->feeds[i];
        if (feed->joint || !feed_look(feed).known)
            continue;
        bool ready = feed->paused_until <= mono_ns;
        if (ready && feed_next(feed, mono_ns))
            more = true;
        else if (feed->paused_until < *wake)
            *wake = feed->paused_until;
    }
    return more;
}

uint64_t reader_step(struct reader *reader, uint64_t mono_ns)
{
    uint64_t wake = TIME_NEVER;
    bool more = true;
    pthread_mutex_lock(&reader->step);
    for (int i = 0; more && i < STEP_RECORDS && !atomic_load(&reader->leaving); i++) {
        wake = TIME_NEVER;
        struct feed *feed = reader_joint(reader, mono_ns, &wake);
        more = feed && feed_next(feed, mono_ns);
        if (feed && !more && feed->paused_until < wake)
            wake = feed->paused_until;
        more |= reader_rest(reader, mono_ns, &wake);
    }
    pthread_mutex_unlock(&reader->step);
    return more && !atomic_load(&reader->leaving) ? 0 : wake;
}
