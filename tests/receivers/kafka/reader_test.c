#include "receivers/kafka/reader.h"

#include "receivers/kafka/timestamps.h"

#include "tests/support/fake_clock.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define S NS_PER_S

/* A lane of a topic of spans and one of profiles, without a queue: the test sets the heads. Empty
 * records make no batch. */
struct rig {
    struct fake_clock clock;
    struct budget budget;
    struct env env;
    struct kafka_receiver self;
    struct reader *reader;
    struct feed *spans, *profiles;
    uint64_t begin; /* unix ns, ten minutes ago */
};

static int64_t record_ms;

static int64_t stub_timestamp(const rd_kafka_message_t *message, rd_kafka_timestamp_type_t *type)
{
    (void)message;
    *type = RD_KAFKA_TIMESTAMP_CREATE_TIME;
    return record_ms;
}

static void stub_destroy(rd_kafka_message_t *message)
{
    free(message);
}

static void rig_init(struct rig *rig)
{
    struct feed_start starts[] = {{.topic = "spans", .signal = SIGNAL_TRACES, .end = 5},
                                  {.topic = "profiles", .signal = SIGNAL_PROFILES, .end = 5}};
    memset(rig, 0, sizeof *rig);
    rdkafka.message_timestamp = stub_timestamp;
    rdkafka.message_destroy = stub_destroy;
    fake_clock_init(&rig->clock);
    rig->begin = rig->clock.wall - 600 * S;
    budget_init(&rig->budget, SIZE_MAX);
    rig->env = (struct env){.id = "kafka", .clock = &rig->clock.clock, .budget = &rig->budget};
    rig->self.env = &rig->env;
    rig->self.backoff = (struct kafka_backoff){S, S, 1.0};
    rig->reader = reader_new(&rig->self, NULL, 0, starts, 2);
    ck_assert_ptr_nonnull(rig->reader);
    rig->spans = &rig->reader->feeds[0];
    rig->profiles = &rig->reader->feeds[1];
}

static void rig_release(struct rig *rig)
{
    reader_stop(rig->reader, CAUSE_SHUTDOWN);
    reader_unref(rig->reader);
}

/* The next record of a feed, at a time. */
static void arrives(struct feed *feed, uint64_t time)
{
    rd_kafka_message_t *message = calloc(1, sizeof *message);
    message->offset = feed->popped++;
    feed->heads[0] = message;
    feed->head = 0;
    feed->head_count = 1;
    record_ms = (int64_t)(time / NS_PER_MS);
    feed_read_timestamps(feed);
}

static void fill(struct feed *feed)
{
    uint64_t number;
    for (int64_t offset = 0; offsets_add(&feed->offsets, offset, 0, &number); offset++)
        ;
    ck_assert(offsets_is_full(&feed->offsets));
}

static void at_end(struct feed *feed, uint64_t asked)
{
    atomic_store(&feed->end_asked, asked);
    atomic_store(&feed->log_end, feed->behind);
}

START_TEST(the_clock_goes_on_past_a_lane_that_is_full)
{
    struct rig rig;
    rig_init(&rig);
    fill(rig.spans);
    arrives(rig.spans, rig.begin);
    at_end(rig.profiles, rig.begin + 600 * S);
    reader_step(rig.reader, 1);
    ck_assert_uint_eq(atomic_load(&rig.reader->paused), 1);
    ck_assert_uint_eq(lane_clock(rig.reader->lane), rig.begin);
    reader_step(rig.reader, 2); /* and still full */
    ck_assert_uint_eq(lane_clock(rig.reader->lane), rig.begin + 180 * S);
    ck_assert_uint_eq(rig.spans->head, 0);
    rig_release(&rig);
}
END_TEST

START_TEST(profiles_are_read_on_past_a_lane_that_is_full)
{
    struct rig rig;
    rig_init(&rig);
    fill(rig.spans);
    arrives(rig.spans, rig.begin);
    arrives(rig.profiles, rig.begin + 100 * S);
    reader_step(rig.reader, 1);
    ck_assert_uint_eq(rig.profiles->head, 0);
    reader_step(rig.reader, 2);
    ck_assert_uint_eq(rig.profiles->head, 1);
    ck_assert_uint_eq(lane_clock(rig.reader->lane), rig.begin + 100 * S);
    arrives(rig.profiles, rig.begin + 200 * S); /* later than any span of that time waits */
    reader_step(rig.reader, 3);
    ck_assert_uint_eq(rig.profiles->head, 0);
    ck_assert_uint_eq(lane_clock(rig.reader->lane), rig.begin + 180 * S);
    rig_release(&rig);
}
END_TEST

SUITE_MAIN("reader", the_clock_goes_on_past_a_lane_that_is_full,
           profiles_are_read_on_past_a_lane_that_is_full)
